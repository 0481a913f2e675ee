"""`OwnParts`: a student's answers where they pass, the course's elsewhere."""

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
    mine.take("4.2", LayerNorm)
    assert mine.LayerNorm is LayerNorm
    assert capsys.readouterr().out == "mine.LayerNorm: yours\n"


@pytest.mark.parametrize("wrong", [WithoutEps, ..., None])
def test_for_anything_else_the_course_steps_in(wrong, capsys):
    mine = OwnParts()
    mine.take("4.2", wrong)
    assert mine.LayerNorm is find("4.2").answers[0].reference
    assert "the course's, until 4.2 passes" in capsys.readouterr().out


def test_a_borrowed_answer_stays_the_courses(capsys):
    mine = OwnParts()
    mine.take("4.2", borrow("4.2"))
    assert "until 4.2 passes" in capsys.readouterr().out


def test_a_part_can_be_taken_again_once_it_is_right():
    mine = OwnParts()
    mine.take("4.2", WithoutEps)
    mine.take("4.2", LayerNorm)
    assert mine.LayerNorm is LayerNorm
