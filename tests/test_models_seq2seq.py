"""The recurrent translators against loops, torch's parts and the attention formula."""

import math
import re

import pytest
import torch
from torch import nn

from helpers.checks.engine import find
from helpers.checks.observe import cases_of
from helpers.corpora.numbers import END, START
from helpers.experiments import bottleneck
from helpers.experiments import translators as seq2seq
from helpers.experiments.translation import translation_loss
from helpers.figures import translation as draw
from helpers.generation.beam import beam_search, log_probability
from helpers.generation.decoding import greedy_decode
from helpers.models.masks import padding_mask, target_mask
from helpers.models.seq2seq import (
    AdditiveAttention,
    AttentionDecoder,
    RecurrentDecoder,
    RecurrentEncoder,
    Seq2Seq,
    last_state,
)
from tools.build.notebooks import ROOT
from tools.experiments import page

pytestmark = pytest.mark.lesson("8")

SOURCE = torch.tensor([[1, 5, 6, 7, 2], [1, 8, 2, 0, 0], [1, 4, 4, 2, 0]])
TARGET = torch.tensor([[1, 3, 4, 5], [1, 6, 2, 0], [1, 2, 0, 0]])


def in_double(module):
    torch.manual_seed(0)
    for value in module.parameters():
        nn.init.normal_(value)
    return module.double()


@pytest.fixture
def numbers():
    draw = torch.Generator().manual_seed(1)
    return lambda *size: torch.randn(size, generator=draw, dtype=torch.float64)


# --- parts ----------------------------------------------------------------------------


def test_scores_are_those_of_a_loop_over_the_formula(numbers):
    attention = in_double(AdditiveAttention(4))
    query, memory = numbers(2, 3, 4), numbers(2, 5, 4)
    output, weights = attention(query, memory, need_weights=True)
    W_q, W_k, v = (part.weight for part in attention.children())
    for row in range(2):
        for t in range(3):
            scores = []
            for s in range(5):
                bent = [
                    math.tanh((W_q[d] @ query[row, t] + W_k[d] @ memory[row, s]).item())
                    for d in range(4)
                ]
                scores.append(sum(v[0, d].item() * bent[d] for d in range(4)))
            powers = [math.exp(score) for score in scores]
            shares = [power / sum(powers) for power in powers]
            expected = torch.tensor(shares, dtype=torch.float64)
            torch.testing.assert_close(weights[row, t], expected, rtol=0, atol=1e-9)
            mixed = weights[row, t] @ memory[row]
            torch.testing.assert_close(output[row, t], mixed, rtol=0, atol=1e-12)


def test_a_blocked_place_is_as_good_as_none(numbers):
    attention = in_double(AdditiveAttention(4))
    query, memory = numbers(2, 3, 4), numbers(2, 5, 4)
    mask = (torch.arange(5) < 3).expand(2, 1, 5)
    got, weights = attention(query, memory, mask, need_weights=True)
    assert (weights[..., 3:] == 0).all()
    torch.testing.assert_close(got, attention(query, memory[:, :3]), rtol=0, atol=1e-12)


def test_without_its_tanh_every_query_gets_the_same(numbers):
    """What the lesson says: then the query's part cancels in the softmax."""
    query, keys = numbers(1, 3, 1), numbers(1, 1, 5)
    rows = (query + keys).softmax(-1)
    torch.testing.assert_close(rows, rows[:, :1].expand_as(rows), rtol=0, atol=1e-12)


def test_keys_may_be_known_already(numbers):
    attention = in_double(AdditiveAttention(4))
    query, memory = numbers(2, 3, 4), numbers(2, 5, 4)
    again = attention(query, memory, keys=attention.W_k(memory))
    assert torch.equal(attention(query, memory), again)


def test_the_last_state_is_that_of_the_last_real_word(numbers):
    memory = numbers(3, 5, 4)
    found = last_state(memory, padding_mask(SOURCE))
    expected = torch.stack([memory[0, 4], memory[1, 2], memory[2, 3]])
    assert torch.equal(found, expected)
    assert torch.equal(last_state(memory), memory[:, 4])


def test_the_encoder_is_a_gru_cell_word_by_word():
    encoder = in_double(RecurrentEncoder(9, 4))
    cell = nn.GRUCell(4, 4).double()
    cell.load_state_dict(
        {
            name.removesuffix("_l0"): value
            for name, value in encoder.rnn.state_dict().items()
        }
    )
    state, memory = torch.zeros(3, 4).double(), encoder(SOURCE)
    for place in range(5):
        state = cell(encoder.embedding(SOURCE[:, place]), state)
        torch.testing.assert_close(memory[:, place], state, rtol=0, atol=1e-9)


def test_the_decoder_writes_the_same_word_by_word(numbers):
    """Once with all words, once with one more word at a time."""
    memory, mask = numbers(3, 5, 4), padding_mask(SOURCE)
    for kind in (RecurrentDecoder, AttentionDecoder):
        decoder = in_double(kind(7, 4))
        whole = decoder(TARGET, memory, mask)
        for length in range(1, 5):
            part = decoder(TARGET[:, :length], memory, mask)
            torch.testing.assert_close(part, whole[:, :length], rtol=0, atol=1e-9)


def test_a_look_back_is_a_loop_of_torchs_own_parts(numbers):
    decoder, memory = in_double(AttentionDecoder(7, 4)), numbers(3, 5, 4)
    mask = padding_mask(SOURCE)
    logits, weights = decoder(TARGET, memory, mask, need_weights=True)
    state = torch.stack([memory[0, 4], memory[1, 2], memory[2, 3]])
    for place in range(4):
        part = decoder.attention
        scores = part.v((part.W_q(state)[:, None] + part.W_k(memory)).tanh())[..., 0]
        shares = scores.masked_fill(~mask[:, 0, 0], -torch.inf).softmax(-1)
        torch.testing.assert_close(weights[:, place], shares, rtol=0, atol=1e-9)
        found = (shares[..., None] * memory).sum(1)
        word = decoder.embedding(TARGET[:, place])
        state = decoder.cell(torch.cat([word, found], 1), state)
        expected = decoder.final_layer(state)
        torch.testing.assert_close(logits[:, place], expected, rtol=0, atol=1e-9)


# --- the whole ------------------------------------------------------------------------


@pytest.mark.parametrize("attention", [False, True])
def test_company_and_padding_change_nothing(attention):
    model = in_double(Seq2Seq(9, 7, 4, attention))
    batch = model(SOURCE, TARGET, padding_mask(SOURCE), target_mask(TARGET))
    for row, length in enumerate((5, 3, 4)):
        source, target = SOURCE[row : row + 1, :length], TARGET[row : row + 1]
        alone = model(source, target, padding_mask(source), target_mask(target))
        torch.testing.assert_close(alone, batch[row : row + 1], rtol=0, atol=1e-9)


@pytest.mark.parametrize("attention", [False, True])
def test_no_word_depends_on_a_later_one(attention):
    model = in_double(Seq2Seq(9, 7, 4, attention))
    mask = padding_mask(SOURCE)
    before = model(SOURCE, TARGET, mask, None)
    for place in range(1, 4):
        other = TARGET.clone()
        other[:, place] = (other[:, place] + 1) % 7
        after = model(SOURCE, other, mask, None)
        assert torch.equal(before[:, :place], after[:, :place])
        assert not torch.equal(before[:, place], after[:, place])


@pytest.mark.parametrize("attention", [False, True])
def test_decoding_takes_them_as_it_takes_a_transformer(attention):
    torch.manual_seed(0)
    model, mask = Seq2Seq(9, 7, 4, attention).eval(), padding_mask(SOURCE)
    with torch.no_grad():  # a beam never writes padding, so nor may the other
        model.decoder.final_layer.bias[0] = -100.0
    written = greedy_decode(model, SOURCE, mask, START, END, 6)
    beam, scores = beam_search(model, SOURCE, mask, START, END, 6, width=1)
    rows = min(written.shape[1], beam.shape[1])
    assert torch.equal(written[:, :rows], beam[:, :rows])
    again = log_probability(model, SOURCE, mask, beam)
    torch.testing.assert_close(again, scores, rtol=0, atol=1e-5)


def test_a_gradient_reaches_every_weight():
    for attention in (False, True):
        model = Seq2Seq(9, 7, 4, attention)
        translation_loss(model, (SOURCE, TARGET)).backward()
        assert all(value.grad.abs().sum() > 0 for value in model.parameters())


# --- what the lesson is made of -------------------------------------------------------


def test_long_numbers_are_the_same_in_every_language():
    german, dutch = (
        seq2seq.long_number_task("en", language, digits=5, count=300)
        for language in ("de", "nl")
    )
    for one, other in zip(german.held_out, dutch.held_out, strict=True):
        assert (one.number, one.source) == (other.number, other.source)
    every = [pair.number for pair in (*german.train, *german.held_out)]
    assert len(set(every)) == 300 and len(german.held_out) == 30
    assert max(every) < 100_000 and sum(10_000 <= n for n in every) > 50
    again = seq2seq.long_number_task("en", "de", digits=5, count=300)
    assert again.train == german.train


def test_an_unknown_kind_of_translator_is_refused():
    task = seq2seq.long_number_task(digits=3, count=200)
    with pytest.raises(ValueError, match="kind='GRU'"):
        seq2seq.new_translator("GRU", task)


@pytest.mark.slow
def test_each_kind_learns_and_writes():
    task = seq2seq.long_number_task(digits=2, count=100)
    for kind in seq2seq.KINDS:
        torch.manual_seed(0)
        model = seq2seq.new_translator(kind, task, d_model=32)
        history = seq2seq.teach(model, task, steps=60)
        assert history.loss[-1] < 0.6 * history.loss[0] and not model.training
        assert history.rate[0] < max(history.rate) and history.rate[-1] < 0.01
        texts = seq2seq.translate(model, task, task.held_out)
        assert len(texts) == len(task.held_out)


def test_a_chain_is_counted_along_its_longest_way():
    x = torch.ones(3, requires_grad=True)
    short, long = x * 2, ((x + 1) * 3).exp()
    assert seq2seq.longest_chain(short) == 2  # the product, and the leaf's own node
    assert seq2seq.longest_chain(short + long) == 5


def test_recurrence_waits_longer_for_longer_texts_and_the_transformer_does_not():
    task = seq2seq.long_number_task(digits=4, count=900)
    models = {kind: seq2seq.new_translator(kind, task) for kind in seq2seq.KINDS}
    chains = {
        kind: [seq2seq.waiting(model, n) for n in (4, 8, 16)]
        for kind, model in models.items()
    }
    assert len(set(chains["Transformer"])) == 1
    for kind in ("RNN", "RNN with attention"):
        first, second, third = chains[kind]
        assert third - second == 2 * (second - first) > 0


def test_a_path_needs_a_way():
    with pytest.raises(ValueError, match="never hears"):
        seq2seq.path_length(torch.eye(3, dtype=torch.bool))


def test_the_course_counts_as_its_checks_do():
    """Written twice, so that a check needs nothing that draws or trains."""
    for case in cases_of(find("8.H"), seed=0):
        assert seq2seq.path_length(*case.args) == find("8.H").references[0](*case.args)
    for case in cases_of(find("8.G"), seed=0):
        expected = find("8.G").references[0](*case.args)
        assert seq2seq.match_by_length(*case.args) == expected


def test_paths_are_as_the_lesson_says():
    place = torch.arange(9)
    behind = place[:, None] - place
    assert seq2seq.path_length((behind >= 0) & (behind <= 1)) == 8
    assert seq2seq.path_length(behind.abs() <= 2) == 4
    assert seq2seq.path_length(behind.abs() <= 9) == 1
    assert int(((behind >= 0) & (behind <= 1)).sum()) == 17


def test_lengths_are_counted_without_start_and_end():
    task = seq2seq.long_number_task(digits=3, count=200)
    pairs = task.held_out
    for pair, length in zip(pairs, seq2seq.target_lengths(task, pairs), strict=True):
        assert length == len(task.target.tokens(pair.target))


# --- figures --------------------------------------------------------------------------


def test_curves_are_drawn_from_their_numbers():
    curves = {"RNN": {"1": 0.5, "2": 0.25}, "Transformer": {"1": 1.0, "2": 0.75}}
    figure = draw.match_curves(curves, {"1": 30, "2": 4})
    (axes,) = figure.axes
    assert [list(line.get_ydata()) for line in axes.lines] == [[0.5, 0.25], [1.0, 0.75]]
    assert axes.get_xticklabels()[1].get_text() == "2\n(4 texts)"


def test_a_map_of_width_and_length_shows_its_numbers():
    shares = {"without": {16: (0.5, 0.25), 64: (1.0, 0.75)}, "with": {16: (1.0, 0.9)}}
    left, right = draw.width_by_length(shares, ("1 to 3", "4")).axes
    assert [text.get_text() for text in left.texts] == ["50%", "25%", "100%", "75%"]
    assert [text.get_text() for text in right.texts] == ["100%", "90%"]
    assert [tick.get_text() for tick in left.get_yticklabels()] == ["16", "64"]


@pytest.mark.parametrize("looks_back", [False, True])
def test_encoder_and_decoder_have_shapes_on_their_arrows(looks_back):
    (axes,) = draw.encoder_decoder(["a", "b", "c"], ["start", "x"], looks_back).axes
    said = " ".join(text.get_text() for text in axes.texts)
    assert "(B, S, D)" in said and ("weights" in said) == looks_back
    assert ("the context: one vector, (B, D)" in said) != looks_back


def test_what_the_lesson_says_of_width_is_what_was_measured():
    """The lesson has the first seed of docs/experiments.md."""
    found = page.measured((ROOT / "docs" / "experiments.md").read_text("utf-8"))
    rows = re.findall(r"^\| (\d) \|(.*)\| (\S+) \| \d+ \|$", found["bottleneck"], re.M)
    (first, shares, _), *others = rows
    narrow, wide = bottleneck.WITHOUT[16], bottleneck.WITHOUT[64]
    numbers = [narrow[1000], narrow[2000], wide[400], wide[1000]]
    numbers.append(bottleneck.WITH[16][2000])
    shown = [f"{100 * number:.1f}" for number in numbers]
    assert first == "0" and [one.strip() for one in shares.split("|")] == shown
    assert others and {held for *_, held in rows} == {"yes"}


def test_the_lesson_tells_of_the_narrow_context_what_the_table_says():
    found = page.measured((ROOT / "docs" / "experiments.md").read_text("utf-8"))
    cells = r"^\| \d \| (\S+) \| (\S+) \| (\S+) \| yes"
    rows = re.findall(cells, found["narrow_context"], re.M)
    columns = [[float(share) for share in one] for one in zip(*rows, strict=True)]
    two, six, narrow = (f"{min(one):.0f} to {max(one):.0f} %" for one in columns)
    lesson = (ROOT / "lessons" / "08_translation.py").read_text("utf-8")
    told = re.sub(r"\s+(# )?", " ", lesson)
    assert len(rows) == 3
    assert f"{two} were right after 2,000 steps and {six} after 6,000" in told
    assert f"the narrow networks got {narrow}" in told
    assert f"6000: {columns[2][0] / 100:.3f}" in told  # of the lesson's seed


def test_of_a_narrow_context_so_many_numbers_get_through():
    torch.manual_seed(0)
    whole = Seq2Seq(20, 9, 8, attention=False)
    masks = padding_mask(SOURCE), target_mask(TARGET)
    logits = {}
    for context in (3, 8):
        narrow = bottleneck.NarrowContext(20, 9, 8, context)
        narrow.load_state_dict(whole.state_dict())
        first = last_state(narrow.encode(SOURCE, masks[0]), masks[0])
        assert (first != 0).sum(1).tolist() == [context] * len(SOURCE)
        logits[context] = narrow(SOURCE, TARGET, *masks)
    assert torch.equal(logits[8], whole(SOURCE, TARGET, *masks))
    assert not torch.allclose(logits[3], logits[8])


def test_numbers_are_grouped_by_their_digits():
    numbers = (7, 42, 999, 1000, 54_321, 987_654)
    groups = ["1 to 3", "1 to 3", "1 to 3", "4", "5", "6"]
    assert [bottleneck.group(number) for number in numbers] == groups


def test_costs_and_tables_name_their_axes():
    both = {"RNN": [1, 2], "Transformer": [3, 3]}
    left, right = draw.costs((8, 16), both, both).axes
    assert left.get_xlabel() == right.get_xlabel() == "length of source and target"
    reads = torch.eye(3, dtype=torch.bool)
    (axes,) = draw.who_reads_whom({"itself": reads}).axes
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("what is read", "who reads")
    (axes,) = draw.alignments({"a": torch.eye(2)}, ["x", "y"], ["u", "w"]).axes
    assert axes.get_ylabel() == "query: what is written next"
