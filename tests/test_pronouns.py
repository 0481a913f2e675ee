"""Interventions on a translator: twins, exchanged vectors, heads that are cut."""

import pytest
import torch

from helpers.corpora.language.pairs import pronouns as pronouns_of
from helpers.corpora.language.words import parted
from helpers.experiments import language, pronouns
from helpers.experiments.language import similar_batches, with_rare_words
from helpers.experiments.translation import translation_loss


@pytest.fixture(scope="module")
def task():
    return language.language_task("de", "core", 2_000)


@pytest.fixture(scope="module")
def model(task):
    torch.manual_seed(0)
    return language.new_translator(task).eval()


@pytest.fixture(scope="module")
def twins():
    return pronouns.find_twins("de", "core", 20)


def test_twins_differ_in_one_adjective_and_in_their_pronoun(twins):
    for one in twins:
        first, second = (parted(pair.source) for pair in one.both)
        assert [a == b for a, b in zip(first, second, strict=True)].count(False) == 1
        said = [pronouns_of(pair.target) for pair in one.both]
        assert said[0] != said[1] and len(said[0]) == len(said[1]) == 1
        assert one.subject.meaning.because.subject == one.subject.meaning.main.subject
        assert one.object.meaning.because.subject == one.object.meaning.main.object


def test_twins_are_written_alike_up_to_the_pronoun(twins, task):
    for one in twins:
        (written, first), (same, second) = (
            pronouns.before_pronoun(task, pair) for pair in one.both
        )
        assert written.equal(same) and first != second


def test_another_noun_takes_another_pronoun(twins, task):
    changed = [
        (pair, other)
        for one in twins
        for pair in one.both
        if (other := pronouns.with_other_noun(task, pair))
    ]
    assert len(changed) > 10
    for pair, other in changed:
        assert pronouns_of(pair.target) != pronouns_of(other.target)


def test_every_place_of_a_source_is_named_once(twins, task):
    for one in twins:
        ids = pronouns.source_ids(task, one.subject)[0]
        named = pronouns.places(task, one.subject)
        assert sorted(sum(named.values(), [])) == list(range(len(ids)))
        words = [
            task.source.pieces[ids[named[name][0]]] for name in ("it", "adjective")
        ]
        assert words == ["it", one.subject.meaning.because.adjective]


def test_shares_are_shares(twins, task, model):
    shares = pronouns.exchanged(model, task, [one.both for one in twins[:3]])
    assert shares.keys() == {*pronouns.PLACES}
    assert all(0 <= share <= 1 for share in shares.values())
    alone = pronouns.exchanged(model, task, [twins[0].both], alone=True)
    assert alone.keys() == shares.keys()
    looks = pronouns.looked_at(model, task, [one.subject for one in twins])
    assert sum(looks.values()) == pytest.approx(1, abs=1e-5)


def test_a_batch_finds_the_pronouns_that_single_sentences_find(twins, task, model):
    pairs = [pair for one in twins for pair in one.both]
    written = [pronouns.before_pronoun(task, pair) for pair in pairs]
    with torch.no_grad():
        likely = pronouns.next_word(
            model, model.encode(pronouns.source_ids(task, pairs[0])), written[0][0]
        )
        model.final_layer.bias[written[0][1]] += 50  # now it always writes this one
        share = pronouns.right_pronouns(model, task, pairs)
        model.final_layer.bias[written[0][1]] -= 50
    right = [pronoun == written[0][1] for _, pronoun in written]
    assert share == pytest.approx(sum(right) / len(right))
    assert 0 <= likely < len(task.target)


def test_a_cut_head_adds_nothing_and_comes_back(model):
    attention = model.encoder.layers[0].attention
    x = torch.randn(1, 5, 64, generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        before = attention(x, x, x)
        with pronouns.without(attention, range(4)):
            nothing = attention(x, x, x)
        with pronouns.without(attention, [0]):
            some = attention(x, x, x)
        after = attention(x, x, x)
    assert torch.allclose(nothing, attention.W_o.bias.expand_as(x), atol=1e-6)
    assert not torch.allclose(some, before) and after.equal(before)


def test_words_that_are_read_alone_know_only_themselves(twins, task, model):
    first, second = (pronouns.source_ids(task, pair) for pair in twins[0].both)
    same = (first == second)[0]  # all places but the adjective's
    with torch.no_grad():
        before = model.encode(first)
        assert not before[0, same].equal(model.encode(second)[0, same])
        with pronouns.words_alone(model):
            assert model.encode(first)[0, same].equal(model.encode(second)[0, same])
            assert not model.encode(first)[0, ~same].equal(
                model.encode(second)[0, ~same]
            )
        assert model.encode(first).equal(before)


def test_batches_hold_every_pair_once_an_epoch_and_are_alike_in_length():
    pairs = [([1] * (3 + number % 17), [number]) for number in range(2_560)]
    batches = similar_batches(pairs, 64, seed=0)
    epoch = [next(batches) for _ in range(40)]
    assert sorted(torch.cat([target for _, target in epoch]).flatten().tolist()) == [
        *range(2_560)
    ]
    lengths = [(source != 0).sum(1) for source, _ in epoch]
    assert max(int(some.max() - some.min()) for some in lengths) <= 3
    with pytest.raises(ValueError, match="100 pairs are fewer than 1280"):
        next(similar_batches(pairs[:100], 64, seed=0))


def test_a_pair_with_a_rare_word_is_read_again_and_no_other():
    common, rare, once = ([7], [1, 3, 2]), ([8], [1, 3, 4, 2]), ([9], [1, 5, 2])
    read = with_rare_words([*[common] * 60, *[rare] * 20, once], often=60, most=8)
    assert [read.count(pair) for pair in (common, rare, once)] == [60, 60, 8]
    assert len(read) == 128


def test_translators_learn_with_rare_words_and_label_smoothing(task):
    torch.manual_seed(0)
    fresh = language.new_translator(task)
    pairs = with_rare_words(task.ids(task.train))
    assert len(pairs) > len(task.train)
    batch = next(similar_batches(pairs, 64, seed=3))
    wanted = translation_loss(fresh, batch, smoothing=0.1).item()
    history = language.teach(fresh, task, steps=1, seed=3)
    assert history.loss == [pytest.approx(wanted, abs=1e-5)]
