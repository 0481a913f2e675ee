"""Batches, loss, loop, schedule, progress; beam search against every sequence."""

import io
import itertools
import os
import sys

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from helpers import training
from helpers.corpora.numbers import END, PAD, START
from helpers.experiments.translation import (
    collate,
    exact_match,
    misses,
    number_task,
    pair_batches,
    translation_loss,
)
from helpers.figures import png
from helpers.figures.training import loss_curve, smooth
from helpers.generation.beam import beam_search, log_probability
from helpers.generation.decoding import greedy_decode
from helpers.models.masks import padding_mask
from helpers.models.transformer import Transformer, TransformerConfig
from helpers.training import History, noam_schedule, repeat, train

PAIRS = [([1, n + 3, 2], [1, *[n + 3] * (n % 3), 2]) for n in range(7)]


def small(dropout=0.0):
    torch.manual_seed(0)
    config = TransformerConfig(11, 5, 12, 3, 20, 1, 16, dropout)
    return Transformer(config).double().eval()


# --- batches --------------------------------------------------------------------------


def test_collate_fills_each_side_to_its_own_longest():
    source, target = collate([([1, 5, 2], [1, 2]), ([1, 2], [1, 7, 8, 2])])
    assert source.tolist() == [[1, 5, 2], [1, 2, 0]]
    assert target.tolist() == [[1, 2, 0, 0], [1, 7, 8, 2]]
    assert source.dtype == target.dtype == torch.long


def test_a_pass_uses_each_pair_once_and_passes_differ():
    batches = pair_batches(PAIRS, 3, seed=0)
    passes = []
    for _ in range(2):
        rows = [row for _ in range(2) for row in next(batches)[0][:, 1].tolist()]
        assert len(rows) == len(set(rows)) == 6  # 7 pairs: one is left out
        passes.append(rows)
    assert passes[0] != passes[1]


def test_batches_depend_on_the_seed_alone():
    def first(seed):
        torch.manual_seed(int(torch.randint(100, ())))
        return [next(pair_batches(PAIRS, 5, seed))[0].tolist() for _ in range(2)]

    assert first(1) == first(1) != first(2)


def test_too_few_pairs_are_refused_with_both_numbers():
    with pytest.raises(ValueError, match="7 pairs do not fill a batch of 8"):
        next(pair_batches(PAIRS, 8, seed=0))


# --- the loss -------------------------------------------------------------------------


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_the_loss_is_the_mean_over_real_labels_one_sentence_at_a_time(smoothing):
    model = small()
    source = torch.tensor([[4, 5, 6, 0], [7, 8, 0, 0]])
    target = torch.tensor([[1, 3, 4, 2], [1, 2, 0, 0]])
    total, count = 0.0, 0
    for row in range(2):
        s, t = (ids[row : row + 1][ids[row : row + 1] != 0][None] for ids in
                (source, target))  # fmt: skip
        for place in range(1, t.shape[1]):  # nothing of the future is even there
            logits = model(s, t[:, :place], None, None)
            if place > 1:
                length = torch.ones(place, place, dtype=torch.bool).tril()
                logits = model(s, t[:, :place], None, length)
            log = logits[0, -1].log_softmax(-1)
            total -= (1 - smoothing) * log[t[0, place]] + smoothing * log.mean()
            count += 1
    loss = translation_loss(model, (source, target), smoothing)
    torch.testing.assert_close(loss, total / count, rtol=0, atol=1e-9)


# --- the loop -------------------------------------------------------------------------


class Line(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.tensor([3.0, -2.0]))


def bowl(model, batch):
    return (model.weight * batch).square().sum()


def go(steps, **more):
    model = Line()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    history = train(model, itertools.repeat(1.0), bowl, optimizer, steps, **more)
    return model, history


def test_a_step_is_gradient_descent():
    model, history = go(1)
    torch.testing.assert_close(model.weight.data, torch.tensor([2.4, -1.6]))
    assert history.loss == [13.0] and history.rate == [0.1]
    assert history.norm == [pytest.approx(2 * 13**0.5)]


def test_a_long_gradient_is_shortened_and_a_short_one_is_not():
    start = torch.tensor([3.0, -2.0])
    model, history = go(1, clip=0.5)
    moved = (model.weight.data - start).norm() / 0.1
    assert moved.item() == pytest.approx(0.5, abs=1e-4)
    assert history.norm[0] == pytest.approx(2 * 13**0.5)
    model, _ = go(1, clip=100.0)
    moved = (model.weight.data - start).norm() / 0.1
    assert moved.item() == pytest.approx(2 * 13**0.5, abs=1e-4)


def test_the_schedule_rules_every_step_counted_from_1():
    asked = []

    def schedule(step):
        asked.append(step)
        return 0.1 / step

    model, history = go(3, schedule=schedule)
    assert asked == [1, 2, 3] and history.rate == [0.1, 0.05, 0.1 / 3]
    expected = 3.0 * 0.8 * 0.9 * (1 - 0.2 / 3)
    assert model.weight[0].item() == pytest.approx(expected)


def test_a_second_call_goes_on_where_the_first_one_stopped():
    schedule = lambda step: 0.1 / step  # noqa: E731
    whole, history = go(5, schedule=schedule)
    model = Line()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    batches = itertools.repeat(1.0)
    parts = train(model, batches, bowl, optimizer, 2, schedule=schedule)
    again = train(model, batches, bowl, optimizer, 3, schedule=schedule, history=parts)
    assert again is parts and again.loss == history.loss
    assert torch.equal(model.weight, whole.weight)


def test_somebodys_own_step_is_repeated_as_the_loop_would_do_it():
    def step(model, optimizer, source, target):
        assert model.training and source == target == 1.0
        loss = bowl(model, source)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.item()

    schedule = lambda step: 0.1 / step  # noqa: E731
    whole, history = go(5, schedule=schedule)
    model = Line().eval()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    batches = iter([(1.0, 1.0)] * 6)
    parts = repeat(step, model, optimizer, batches, 2, schedule=schedule)
    more = {"schedule": schedule, "history": parts}
    assert repeat(step, model, optimizer, batches, 3, **more) is parts
    assert parts.loss == history.loss and parts.rate == history.rate
    assert torch.equal(model.weight, whole.weight)
    assert list(batches) == [(1.0, 1.0)]  # none is taken that is not used


def test_no_batch_is_taken_that_is_not_used_and_too_few_are_an_error():
    model = Line()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    batches = iter([1.0, 1.0, 1.0])
    train(model, batches, bowl, optimizer, 2)
    assert list(batches) == [1.0]
    with pytest.raises(ValueError, match="3 steps, but only 1 batches"):
        train(model, iter([1.0]), bowl, optimizer, 3)


def test_dropout_is_on_while_training():
    model = small(dropout=0.5)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
    batch = (torch.tensor([[4, 5, 6]]), torch.tensor([[1, 3, 4, 2]]))
    losses = train(model, itertools.repeat(batch), translation_loss, optimizer, 2).loss
    assert model.training and losses[0] != losses[1]


# --- the schedule ---------------------------------------------------------------------


def test_the_rate_peaks_at_the_end_of_the_warm_up():
    rates = [noam_schedule(step, 512, 4000) for step in range(1, 12_001)]
    assert rates.index(max(rates)) + 1 == 4000
    assert max(rates) == pytest.approx((512 * 4000) ** -0.5)  # about 7e-4
    assert rates[999] == pytest.approx(max(rates) / 4)
    with pytest.raises(ValueError, match="counted from 1, not 0"):
        noam_schedule(0, 512, 4000)


# --- progress -------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["COURSE_PROGRESS", "NBGRADER_EXECUTION"])
def test_the_bar_is_silent_where_nobody_watches(name, monkeypatch, capfd):
    monkeypatch.delenv("COURSE_PROGRESS", raising=False)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    monkeypatch.setenv(name, "off")
    go(3)
    assert capfd.readouterr() == ("", "")


def test_the_bar_is_silent_in_a_pipe(monkeypatch, capfd):
    monkeypatch.delenv("COURSE_PROGRESS", raising=False)
    go(3)
    assert capfd.readouterr() == ("", "")


def test_a_terminal_gets_a_bar_on_stdout(monkeypatch, capsys):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    terminal = Terminal()
    monkeypatch.delenv("COURSE_PROGRESS", raising=False)
    monkeypatch.delenv("NBGRADER_EXECUTION", raising=False)
    monkeypatch.setattr(sys, "stdout", terminal)
    go(3, name="a line")
    assert "a line: 100%" in terminal.getvalue() and "loss" in terminal.getvalue()
    assert capsys.readouterr().err == ""


@pytest.mark.notebooks
def test_a_watched_notebook_keeps_one_line_and_no_litter(tmp_path, monkeypatch):
    import nbformat

    from tools.build import execute as runner

    quiet = runner.quiet_environment

    def watched(root):
        return {k: v for k, v in quiet(root).items() if k != "COURSE_PROGRESS"}

    monkeypatch.setattr(runner, "quiet_environment", watched)
    monkeypatch.delenv("COURSE_PROGRESS", raising=False)
    source = (
        "from helpers.training import progress\n"
        "with progress(3, 'three') as bar:\n"
        "    for _ in range(3):\n"
        "        bar.update()\n"
    )
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source)])
    root = training.__file__.rsplit(os.sep, 2)[0]
    runner.execute(notebook, tmp_path, root)
    (output,) = notebook.cells[0].outputs
    assert output.output_type == "display_data"
    text = output.data["text/plain"]
    assert text.startswith("three: 100%") and "\r" not in text and "\n" not in text


# --- the curve ------------------------------------------------------------------------


def test_smoothing_a_curve_is_a_running_mean():
    assert smooth([4.0, 2.0, 0.0, 2.0], 2).tolist() == [4.0, 3.0, 1.0, 1.0]
    assert smooth([4.0, 2.0], 25).tolist() == [4.0, 3.0]


def test_the_curve_is_drawn():
    history = History([3.0, 2.0, 1.0], [0.1, 0.2, 0.1], [1.0, 1.0, 1.0], 0.1)
    assert png(loss_curve(history, floor=0.5))[:4] == b"\x89PNG"


# --- the number task ------------------------------------------------------------------


def test_held_out_numbers_are_in_no_training_pair():
    task = number_task(high=300)
    train_numbers = {pair.number for pair in task.train}
    assert not train_numbers & {pair.number for pair in task.held_out}
    assert len(task.train) == 270 and len(task.held_out) == 30


def test_texts_come_back_from_their_ids():
    task = number_task(high=300)
    written = collate(task.ids(task.held_out))[1]
    texts = task.texts(written)
    assert exact_match(task.held_out, texts) == 1.0 and not misses(task, texts)
    texts[4] = "elf"
    assert exact_match(task.held_out, texts) == pytest.approx(29 / 30)
    assert misses(task, texts) == [(task.held_out[4], "elf")]


# --- beam search ----------------------------------------------------------------------

SOURCE = torch.tensor([[4, 5, 6, 0], [7, 8, 0, 0], [9, 3, 4, 5]])
REAL = padding_mask(SOURCE)


def every_sequence(words, length):
    """All targets of at most so many tokens; what has ended is followed by padding."""
    for tokens in itertools.product(range(1, words), repeat=length):
        ends = tokens.index(END) + 1 if END in tokens else length
        yield (START, *tokens[:ends], *[PAD] * (length - ends))


def wild(seed, **bias):
    """A model whose weights are drawn again, so that sources differ."""
    model = small()
    torch.manual_seed(seed)
    for parameter in model.parameters():
        nn.init.normal_(parameter, std=0.7)
    for token, value in bias.items():
        model.final_layer.bias.data[{"pad": PAD, "end": END}[token]] = value
    return model


@pytest.mark.parametrize("seed", [0, 2, 3])
def test_a_beam_that_drops_nothing_finds_the_best_of_all_sequences(seed):
    model = wild(seed, end=0.0)
    written, scores = beam_search(model, SOURCE, REAL, START, END, 3, width=4**3)
    assert (written == END).any()
    every = torch.tensor(sorted(set(every_sequence(5, 3))))
    for row in range(3):
        source = SOURCE[row : row + 1].expand(len(every), -1)
        values = log_probability(model, source, padding_mask(source), every)
        best = every[values.argmax()][: written.shape[1]]
        assert written[row].tolist() == best.tolist()
        assert scores[row].item() == pytest.approx(values.max().item(), abs=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_a_beam_of_one_is_greedy_decoding(seed):
    model = wild(seed, pad=-100.0)  # greedy decoding takes padding for a word
    greedy = greedy_decode(model, SOURCE, REAL, START, END, 6)
    beam, scores = beam_search(model, SOURCE, REAL, START, END, 6, width=1)
    assert torch.equal(beam, greedy)
    mine = log_probability(model, SOURCE, REAL, greedy)
    torch.testing.assert_close(scores, mine, rtol=0, atol=1e-9)


def test_a_beam_writes_padding_only_behind_an_end():
    model = wild(0, pad=100.0, end=3.0)
    written, scores = beam_search(model, SOURCE, REAL, START, END, 6, width=3)
    for row in written.tolist():
        ends = row.index(END) if END in row else len(row)
        assert PAD not in row[:ends] and not any(row[ends + 1 :])
    assert (written == END).any() and scores.isfinite().all()


def test_the_probability_of_a_text_is_the_product_over_its_tokens():
    model = small()
    text = torch.tensor([[START, 3, 4, END, PAD]])
    expected = 0.0
    for place in (1, 2, 3):
        mask = torch.ones(place, place, dtype=torch.bool).tril()
        logits = model(SOURCE[:1], text[:, :place], REAL[:1], mask)
        expected += F.log_softmax(logits[0, -1], -1)[text[0, place]]
    mine = log_probability(model, SOURCE[:1], REAL[:1], text)
    torch.testing.assert_close(mine[0], expected.detach(), rtol=0, atol=1e-9)


class Table(nn.Module):
    """The lesson's example: A (0.51) has one sure end, B (0.49) looks better at first.

    Ids: 3 is A, 4 is B; 5 to 7 follow A, 8 and 9 follow B; 10 to 19 come last.
    """

    def encode(self, source, source_mask):
        return torch.zeros(len(source), 1, 1, dtype=torch.float64)

    def decode(self, target, memory, target_mask, source_mask):
        rows = [self.step(ids) for ids in target.tolist()]
        return torch.stack(rows)[:, None].log()

    def forward(self, source, target, source_mask, target_mask):
        each = range(1, target.shape[1] + 1)
        steps = [self.decode(target[:, :n], None, None, None)[:, 0] for n in each]
        return torch.stack(steps, 1)

    def step(self, ids):
        options = {1: {3: 0.51, 4: 0.49}, 2: {5: 1 / 3, 6: 1 / 3, 7: 1 / 3},
                   3: {10: 1.0}}  # fmt: skip
        if 4 in ids:
            options |= {2: {8: 0.5, 9: 0.5}, 3: {n: 0.1 for n in range(10, 20)}}
        row = torch.full((20,), 1e-12, dtype=torch.float64)
        for token, chance in options.get(len(ids), {END: 1.0}).items():
            row[token] = chance
        return row


def test_a_beam_can_lose_to_greedy_decoding():
    arguments = (Table(), torch.tensor([[4]]), None, START, END, 4)
    greedy = log_probability(*arguments[:3], greedy_decode(*arguments))
    _, beam = beam_search(*arguments, width=2)
    assert greedy.exp().item() == pytest.approx(0.17, abs=1e-6)
    assert beam.exp().item() == pytest.approx(0.0245, abs=1e-6)
    _, wide = beam_search(*arguments, width=5)
    assert wide.exp().item() == pytest.approx(0.17, abs=1e-6)


def test_a_beam_of_the_real_thing_scores_what_it_says():
    model = small()
    written, scores = beam_search(model, SOURCE, REAL, START, END, 5, width=3)
    mine = log_probability(model, SOURCE, REAL, written)
    torch.testing.assert_close(scores, mine, rtol=0, atol=1e-9)
