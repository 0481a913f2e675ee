"""Lesson 02's small task: one head learns to write a row of digits backwards."""

import pytest
import torch
import torch.nn.functional as F

from helpers.exercises.attention.module import SelfAttention
from helpers.experiments.one_head import Head
from helpers.experiments.reversal import (
    DIGITS,
    LENGTH,
    OneHeadModel,
    commonest_of_the_others,
    digit_rows,
    reversal_loss,
    share_reversed,
)
from helpers.figures import attention as draw
from helpers.figures import png
from helpers.training.loop import train

pytestmark = pytest.mark.lesson("02")


@pytest.fixture(scope="module")
def unseen():
    (rows,) = digit_rows(1, 2000, seed=1000)
    return rows


def trained(loss_of, steps=200, **more):
    torch.manual_seed(0)
    model = OneHeadModel(SelfAttention, **more)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.001)
    train(model, digit_rows(steps, 64, seed=0), loss_of, optimizer, steps)
    return model.eval()


def test_one_head_learns_to_reverse_and_looks_along_the_anti_diagonal(unseen):
    model = trained(reversal_loss)
    assert share_reversed(model, unseen) > 0.99
    _, weights = model(unseen[:5])
    assert weights.argmax(-1).tolist() == [list(range(LENGTH))[::-1]] * 5


def test_without_positions_it_knows_no_more_than_which_digits_there_are(unseen):
    right = share_reversed(trained(reversal_loss, with_positions=False), unseen)
    assert abs(right - commonest_of_the_others(unseen)) < 0.03


class Unscaled(SelfAttention):
    def scale(self, query):
        return 1.0


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_so_small_a_head_learns_without_the_root_as_well(unseen, seed):
    torch.manual_seed(seed)
    model = OneHeadModel(Unscaled)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.001)
    train(model, digit_rows(200, 64, seed), reversal_loss, optimizer, 200)
    assert share_reversed(model.eval(), unseen) > 0.99


def test_a_shift_by_one_is_a_line_beside_the_diagonal(unseen):
    def loss_of(model, rows):
        return F.cross_entropy(model(rows)[0].mT, rows.roll(1, 1))

    _, weights = trained(loss_of)(unseen[:5])
    assert weights.argmax(-1).tolist() == [[LENGTH - 1, *range(LENGTH - 1)]] * 5


@pytest.mark.slow
@pytest.mark.parametrize("steps, least, most", [(200, 0.5, 0.75), (1000, 0.93, 1)])
def test_sorting_takes_more_than_200_steps(unseen, steps, least, most):
    def loss_of(model, rows):
        return F.cross_entropy(model(rows)[0].mT, rows.sort(1).values)

    logits, _ = trained(loss_of, steps)(unseen)
    right = (logits.argmax(-1) == unseen.sort(1).values).float().mean()
    assert least < right < most


def test_the_commonest_of_the_others_counted_by_hand():
    rows = torch.tensor([[1, 1, 1, 2, 3, 4, 5, 6], [0, 1, 2, 3, 4, 5, 6, 7]])
    # Row 0: a 1 sees two other 1s; each other digit sees three. Row 1: one of each.
    assert commonest_of_the_others(rows) == pytest.approx(
        (3 * 2 + 5 * 3 + 8 * 1) / (2 * LENGTH * (LENGTH - 1))
    )


def test_rows_hang_on_the_seed_alone():
    first, again, other = (list(digit_rows(2, 3, seed)) for seed in (0, 0, 1))
    assert [rows.shape for rows in first] == [(3, LENGTH)] * 2
    assert torch.stack(first).equal(torch.stack(again))
    assert not torch.stack(first).equal(torch.stack(other))
    assert max(rows.max() for rows in first) < DIGITS


def test_a_word_that_is_no_token_gets_a_sentence():
    empty = torch.zeros(2, 4)
    weights = torch.tensor([[0.3, 0.7], [0.6, 0.4]])
    head = Head(["the", "ducks"], empty, empty, empty, empty, weights)
    assert head.asked_by("ducks").tolist() == weights[1].tolist()
    with pytest.raises(ValueError, match="“Ducks” is not one of .* are: the ducks$"):
        head.asked_by("Ducks")


@pytest.mark.parametrize("stage", draw.STAGES)
def test_the_diagram_grows(stage):
    figure = draw.flow(["it", "was"], 0, stage)
    full = [patch for patch in figure.axes[0].patches if patch.get_facecolor()[3]]
    names = {"projections": 4, "scores": 6, "output": 7}
    fields = [2 * columns for columns in (6, 3, 3, 3, 2, 2, 3)]
    assert len(full) == sum(fields[: names[stage]])
    assert len(figure.axes[0].patches) == sum(fields)
    assert png(figure)


def test_the_learning_figure_has_a_map_for_each_step_kept():
    figure = draw.learning([2.0, 1.0, 0.5], {1: torch.eye(3), 3: torch.eye(3)})
    assert [axes.get_title() for axes in figure.axes] == ["loss", "step 1", "step 3"]
