"""`OwnParts`: a student's answers where they pass, the course's elsewhere."""

import re

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from helpers.checks.engine import borrow, find
from helpers.student.own_parts import OwnParts

pytestmark = pytest.mark.lesson(4)


class LayerNorm(nn.Module):
    def __init__(self, d_model, eps=1e-5):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(d_model))
        self.bias = nn.Parameter(torch.zeros(d_model))
        self.eps = eps

    def forward(self, x):
        return F.layer_norm(x, x.shape[-1:], self.weight, self.bias, self.eps)


class WithoutEps(LayerNorm):
    def forward(self, x):
        return F.layer_norm(x, x.shape[-1:], self.weight, self.bias)


def test_a_right_answer_is_taken(capsys):
    mine = OwnParts()
    mine.take("4.C", LayerNorm)
    assert mine.LayerNorm is LayerNorm
    assert capsys.readouterr().out == "mine.LayerNorm: yours\n"


def test_a_graded_notebook_that_sees_no_exercises_uses_its_own(monkeypatch, capsys):
    def hidden(name):
        raise ModuleNotFoundError(name)

    monkeypatch.setattr("helpers.checks.engine.import_module", hidden)
    mine = OwnParts()
    with pytest.raises(ModuleNotFoundError):
        mine.take("4.C", LayerNorm)
    monkeypatch.setenv("NBGRADER_EXECUTION", "autograde")
    mine.take("4.C", LayerNorm)
    assert mine.LayerNorm is LayerNorm
    assert capsys.readouterr().out == ""
    with pytest.raises(ModuleNotFoundError):
        mine.take("4.C")


@pytest.mark.parametrize("wrong", [WithoutEps, ..., None])
def test_for_anything_else_the_course_steps_in(wrong, capsys):
    mine = OwnParts()
    mine.take("4.C", wrong)
    assert mine.LayerNorm is find("4.C").answers[0].reference
    assert "the course's, until 4.C passes" in capsys.readouterr().out


def test_a_borrowed_answer_stays_the_courses(capsys):
    mine = OwnParts()
    mine.take("4.C", borrow("4.C"))
    assert "until 4.C passes" in capsys.readouterr().out


def test_a_part_can_be_taken_again_once_it_is_right():
    mine = OwnParts()
    mine.take("4.C", WithoutEps)
    mine.take("4.C", LayerNorm)
    assert mine.LayerNorm is LayerNorm


# --- a part that is too slow to train with --------------------------------------------


class Slow(LayerNorm):
    def forward(self, x):
        for _ in range(5_000):  # more than 20 milliseconds, on any machine
            y = super().forward(x)
        return y


class Slower(LayerNorm):
    def forward(self, x):
        for _ in range(8):  # eight times as long, and still less than a millisecond
            y = super().forward(x)
        return y


class Narrow(LayerNorm):
    def forward(self, x):
        return super().forward(x[..., : 1 << 62]) if len(x) < 64 else x.wide


def step(part):
    return part(6)(torch.ones(64, 6))


@pytest.fixture
def at_home(monkeypatch):
    monkeypatch.delenv("COURSE_PROGRESS")


@pytest.mark.parametrize(
    "own, said",
    [
        (Slow, r"since a step takes [\d,]+ ms with yours and 0 with it"),
        (Narrow, "since a step raises AttributeError with yours"),
    ],
)
def test_for_a_part_that_can_t_be_trained_with_the_course_steps_in(
    own, said, capsys, at_home
):
    mine = OwnParts()
    mine.take("4.C", own, step=step)
    assert mine.LayerNorm is find("4.C").answers[0].reference
    line = capsys.readouterr().out
    assert re.fullmatch(f"mine.LayerNorm: the course's, {said}\n", line)
    assert str(mine) == "This run uses the course's LayerNorm."


@pytest.mark.parametrize("own", [LayerNorm, Slower])
def test_a_part_that_is_fast_enough_is_trained(own, at_home):
    mine = OwnParts()
    mine.take("4.C", own, step=step)
    assert mine.LayerNorm is own
    assert str(mine) == "This run uses your LayerNorm."


def test_under_nbval_no_step_is_measured():
    mine = OwnParts()
    mine.take("4.C", LayerNorm, step=lambda part: 1 / 0)
    assert mine.LayerNorm is LayerNorm


def test_a_graded_notebook_trains_no_slow_part(monkeypatch):
    monkeypatch.setenv("NBGRADER_EXECUTION", "autograde")
    mine = OwnParts()
    mine.take("4.C", Slow, step=step)
    assert mine.the_courses() == ["LayerNorm"]


# --- whose parts ----------------------------------------------------------------------


def test_a_run_says_whose_parts_it_uses():
    mine = OwnParts()
    assert str(mine) == "This run uses no parts."
    mine.take("4.C", LayerNorm)
    mine.take("4.B", ...)
    assert str(mine) == "This run uses your LayerNorm and the course's FeedForward."


def test_several_answers_of_one_exercise_are_taken():
    mine = OwnParts()
    mine.take("3.A")
    assert mine.the_courses() == ["split_heads", "merge_heads"]
    x = torch.randn(2, 5, 6)
    assert torch.equal(mine.merge_heads(mine.split_heads(x, 3)), x)
