"""Characters, batches, training, bits per character and samples."""

import io
import math
import sys

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from helpers.corpora.sonnets import load_text, split_text
from helpers.experiments.character_models import (
    bits_per_character,
    chances,
    half_cosine,
    sample,
    train_on_characters,
)
from helpers.models.recurrent import CharacterModel
from helpers.text.characters import Characters, batches, nearest

TEXT = "a cat sat on a mat and that was that, said the cat. " * 12
VOCABULARY = Characters.of(TEXT)
IDS = VOCABULARY.encode(TEXT)


class Table(nn.Module):
    """Predicts from the last character alone, or always the same; counts its state."""

    def __init__(self, logits):
        super().__init__()
        self.logits = nn.Parameter(logits)  # (V, V)
        self.states = []

    def forward(self, ids, state=None):
        self.states.append(state)
        return self.logits[ids], (0 if state is None else state) + self.logits.sum()


# --- vocabulary -----------------------------------------------------------------------


def test_text_to_ids_and_back():
    assert VOCABULARY.characters == "".join(sorted(set(TEXT)))
    assert VOCABULARY.decode(IDS) == TEXT
    assert VOCABULARY.decode(IDS.tolist()) == TEXT
    assert IDS.dtype == torch.long and IDS.max() == len(VOCABULARY) - 1


def test_unknown_characters_are_named():
    with pytest.raises(ValueError, match=r"no \['X', '~'\]"):
        VOCABULARY.encode("a~X")


def test_the_sonnets_have_61_characters():
    assert len(Characters.of(load_text())) == 61


def test_144_sonnets_are_read_and_16_held_out():
    assert [len(part.split("\n\n")) for part in split_text(load_text())] == [144, 16]


# --- batches --------------------------------------------------------------------------


@pytest.mark.parametrize("letters", [21, 24, 25, 26, 49])
def test_batches_by_hand(letters):
    ids = torch.arange(letters)
    if letters < 25:  # 2 * 12 characters and one more, to predict
        with pytest.raises(ValueError, match=f"{letters} characters do not fill .* 25"):
            batches(ids, 2, 12)
        return
    found = batches(ids, 2, 12)
    count = (letters - 1) // 24
    assert len(found) == count
    for number, (x, y) in enumerate(found):
        for row in range(2):
            first = row * 12 * count + 12 * number
            assert x[row].tolist() == list(range(first, first + 12))
            assert y[row].tolist() == list(range(first + 1, first + 13))


def test_rows_go_on_from_batch_to_batch():
    found = batches(IDS, 3, 7)
    assert len(found) == (len(IDS) - 1) // 21
    for (_, before), (after, _) in zip(found, found[1:], strict=False):
        assert torch.equal(before[:, -1], after[:, 0])


# --- training -------------------------------------------------------------------------


@pytest.mark.parametrize("cell", ["rnn", "lstm", "gru"])
def test_training_learns_and_measures(cell):
    torch.manual_seed(0)
    model = CharacterModel(len(VOCABULARY), 24, cell, dropout=0.1)
    history = train_on_characters(model, IDS, 60, batch_size=4, length=16, rate=0.02,
                    held_out=IDS[:99], every=25)  # fmt: skip
    assert len(history.loss) == len(history.norm) == len(history.rate) == 60
    assert history.steps == [0, 25, 50, 60]
    assert history.times == sorted(history.times) and history.times[0] == 0.0
    assert history.times[-1] == history.seconds > 0
    assert history.bits[0] > 3.5 and history.bits[-1] < 2.5
    assert history.rate[0] == 0.02 and history.rate[-1] < 0.0001


def test_the_same_seed_trains_the_same_and_measuring_changes_nothing():
    def losses(**more):
        torch.manual_seed(5)
        model = CharacterModel(len(VOCABULARY), 8)
        return train_on_characters(model, IDS, 7, batch_size=4, length=16, **more).loss

    assert losses() == losses(held_out=IDS[:60], every=2)


def test_after_each_measure_one_may_look_at_the_model():
    torch.manual_seed(5)
    model = CharacterModel(len(VOCABULARY), 8, dropout=0.2)
    looks = []

    def look(given, history):
        assert given is model
        looks.append((history.steps[-1], history.bits[-1]))
        draws = torch.Generator().manual_seed(0)
        sample(given, VOCABULARY, "a ", 5, generator=draws)
        assert given.training or not history.loss

    options = {"batch_size": 4, "length": 16, "held_out": IDS[:60], "every": 2}
    seen = train_on_characters(model, IDS, 5, after=look, **options)
    assert looks == list(zip(seen.steps, seen.bits, strict=True))
    torch.manual_seed(5)
    model = CharacterModel(len(VOCABULARY), 8, dropout=0.2)
    assert train_on_characters(model, IDS, 5, **options).loss == seen.loss


def test_the_state_is_carried_cut_off_and_new_in_each_pass():
    model = Table(torch.randn(len(VOCABULARY), len(VOCABULARY)))
    per_pass = len(batches(IDS, 4, 16))
    train_on_characters(model, IDS, per_pass + 2, batch_size=4, length=16)
    for step, state in enumerate(model.states):
        if step % per_pass == 0:
            assert state is None
        else:
            assert state is not None and not state.requires_grad


def test_training_switches_the_dropout_on():
    model = CharacterModel(len(VOCABULARY), 4, dropout=0.5).eval()
    train_on_characters(model, IDS, 1, batch_size=4, length=16)
    assert model.training


def test_a_step_is_adam_with_a_clipped_gradient():
    torch.manual_seed(1)
    start = torch.randn(len(VOCABULARY), len(VOCABULARY))
    model, twin = Table(start.clone()), Table(start.clone())
    history = train_on_characters(
        model, IDS, 3, batch_size=4, length=16, rate=0.1, clip=0.05
    )
    optimizer = torch.optim.Adam(twin.parameters())
    for step, (x, y) in zip(range(3), batches(IDS, 4, 16), strict=False):
        optimizer.param_groups[0]["lr"] = 0.1 * (1 + math.cos(math.pi * step / 3)) / 2
        optimizer.zero_grad()
        loss = F.cross_entropy(twin(x)[0].mT, y)
        loss.backward()
        assert history.loss[step] == pytest.approx(loss.item(), abs=1e-6)
        assert history.norm[step] == pytest.approx(twin.logits.grad.norm().item())
        twin.logits.grad *= 0.05 / twin.logits.grad.norm()
        optimizer.step()
    torch.testing.assert_close(model.logits, twin.logits, rtol=0, atol=1e-5)


def test_the_rate_falls_to_nothing():
    rates = [half_cosine(2.0, step, 10) for step in range(11)]
    assert rates == sorted(rates, reverse=True)
    assert rates[0] == 2.0 and rates[5] == pytest.approx(1.0) and rates[10] < 1e-9


def test_training_is_silent(capfd, monkeypatch):
    monkeypatch.setattr(sys, "stdout", io.StringIO())
    train_on_characters(
        CharacterModel(len(VOCABULARY), 4), IDS, 2, batch_size=4, length=16
    )
    assert sys.stdout.getvalue() == "" and capfd.readouterr().err == ""


# --- bits per character ---------------------------------------------------------------


def test_knowing_nothing_costs_log2_of_the_vocabulary():
    model = Table(torch.zeros(len(VOCABULARY), len(VOCABULARY)))
    bits = bits_per_character(model, IDS)
    assert bits == pytest.approx(math.log2(len(VOCABULARY)))


@pytest.mark.parametrize("length", [1, 2, 50, 98, 99, 100, 1000])
def test_bits_do_not_depend_on_the_pieces(length):
    torch.manual_seed(2)
    model = CharacterModel(len(VOCABULARY), 6, dropout=0.5).double()
    ids = IDS[:100]
    with torch.no_grad():
        logits = model.eval()(ids[None, :-1])[0][0]
    model.train()
    expected = -(logits.log_softmax(-1)[torch.arange(99), ids[1:]].mean()) / math.log(2)
    bits = bits_per_character(model, ids, length)
    assert bits == pytest.approx(expected.item(), abs=1e-9)
    assert model.training


def test_one_character_has_nothing_to_predict():
    with pytest.raises(ValueError, match="1 characters"):
        bits_per_character(CharacterModel(5, 4), torch.tensor([1]))


# --- samples --------------------------------------------------------------------------


LOGITS = torch.tensor([[0.5, 2.0, -1.0, 1.0], [3.0, 0.0, 1.0, 2.0]])


def test_temperature_and_k_shape_the_chances():
    found = chances(LOGITS, temperature=0.5, top_k=2)
    p = 1 / (1 + math.exp(-2.0))  # (2 - 1) / 0.5, and (3 - 2) / 0.5
    expected = torch.tensor([[0, p, 0, 1 - p], [p, 0, 0, 1 - p]])
    torch.testing.assert_close(found, expected)
    torch.testing.assert_close(chances(LOGITS), LOGITS.softmax(-1))


@pytest.mark.parametrize("temperature", [0.1, 1.0, 5.0])
def test_k_of_one_takes_the_most_likely(temperature):
    assert chances(LOGITS, temperature, top_k=1).tolist() == [
        [0, 1, 0, 0],
        [1, 0, 0, 0],
    ]


def test_k_may_exceed_the_vocabulary_and_ties_keep_exactly_k():
    torch.testing.assert_close(chances(LOGITS, top_k=100), LOGITS.softmax(-1))
    assert chances(torch.zeros(3, 5), top_k=2).count_nonzero(-1).tolist() == [2, 2, 2]


@pytest.mark.parametrize("wrong", [{"temperature": 0.0}, {"top_k": 0}])
def test_nothing_positive_is_refused(wrong):
    with pytest.raises(ValueError, match="not positive"):
        chances(torch.zeros(1, 3), **wrong)


def test_samples_are_drawn_from_the_chances():
    """A model that always says the same: 600 draws, 5 sigma (odds below 1e-6)."""
    size = len(VOCABULARY)
    model = Table(torch.full((size, size), -30.0))
    with torch.no_grad():
        model.logits[:, :2] = torch.tensor([0.0, 1.0])
    draw = torch.Generator().manual_seed(0)
    text = sample(model, VOCABULARY, "a", 600, temperature=0.5, generator=draw)[1:]
    p = 1 / (1 + math.exp(-2.0))
    share = text.count(VOCABULARY.characters[1]) / 600
    assert abs(share - p) < 5 * math.sqrt(p * (1 - p) / 600)


def test_a_sample_follows_the_model_and_its_state():
    """A model that was told the text by heart writes it on."""
    torch.manual_seed(0)
    model = CharacterModel(len(VOCABULARY), 48, dropout=0.1)
    train_on_characters(model, IDS, 150, batch_size=4, length=16, rate=0.02)
    written = sample(model, VOCABULARY, TEXT[:30], 40, top_k=1)
    assert written == TEXT[:70]
    assert model.training


def test_a_sample_depends_on_its_generator_alone():
    model = CharacterModel(len(VOCABULARY), 8, dropout=0.5)

    def write(seed):
        draw = torch.Generator().manual_seed(seed)
        return sample(model, VOCABULARY, "that", 50, generator=draw)

    assert write(1) == write(1) != write(2)
    assert write(1).startswith("that") and len(write(1)) == 54


@pytest.mark.parametrize(("start", "said"), [("", "is empty"), ("cat!", r"\['!'\]")])
def test_a_beginning_must_be_known_characters(start, said):
    with pytest.raises(ValueError, match=said):
        sample(CharacterModel(len(VOCABULARY), 8), VOCABULARY, start, 5)


def test_no_sonnet_is_in_both_parts():
    train_text, held_out = split_text(load_text())
    assert not set(train_text.split("\n\n")) & set(held_out.split("\n\n"))


def test_the_nearest_character_is_another_one_by_distance():
    points = torch.tensor([[0.0, 0.0], [9.0, 9.0], [0.0, 3.0], [2.0, 2.0]])
    assert nearest("abcd", points) == {"a": "d", "b": "d", "c": "d", "d": "c"}
