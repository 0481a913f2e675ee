"""Lesson 03's small task: a layer of attention answers two questions at once."""

import re

import pytest
import torch

from helpers.exercises.multi_head.module import MultiHeadAttention, as_layer
from helpers.experiments.one_head import attention_layer, one_head
from helpers.experiments.reversal import LENGTH, commonest_of_the_others, digit_rows
from helpers.experiments.two_questions import (
    TwoQuestionsModel,
    answers,
    learn,
    shares_right,
    two_questions_loss,
)
from helpers.models.multi_head import MultiHeadAttention as Layer
from tools.experiments import __main__ as tool
from tools.experiments import page

pytestmark = pytest.mark.lesson("03")
PLACES = torch.arange(LENGTH)


@pytest.fixture(scope="module")
def unseen():
    (rows,) = digit_rows(1, 2000, seed=1000)
    return rows


def trained(num_heads, attention=Layer):
    torch.manual_seed(0)
    model = TwoQuestionsModel(attention, num_heads)
    return model, learn(model, steps=300, rate=0.003, seed=0)


def test_the_answers_of_a_row():
    row = torch.tensor([[3, 1, 4, 1, 5, 9, 2, 6]])
    mirror, before = answers(row)[0].unbind(-1)
    assert mirror.tolist() == [6, 2, 9, 5, 1, 4, 1, 3]
    assert before.tolist() == [6, 3, 1, 4, 1, 5, 9, 2]


def test_two_heads_divide_the_questions(unseen):
    model, losses = trained(2)
    assert len(losses) == 300 and losses[-1] < 0.01 < losses[0]
    assert min(shares_right(model, unseen)) > 0.99
    looks = model(unseen[:1])[1][0].argmax(-1).tolist()  # (H, T)
    wanted = [PLACES.flip(0).tolist(), PLACES.roll(1).tolist()]
    assert sorted(looks) == sorted(wanted)


def test_one_head_looks_at_both_places_and_answers_one(unseen):
    model, _ = trained(1, as_layer(MultiHeadAttention))
    one, other = sorted(shares_right(model, unseen))
    assert other > 0.95 and abs(one - commonest_of_the_others(unseen)) < 0.06
    weights = model(unseen[:1])[1][0, 0]  # (T, T)
    mirror, before = PLACES.flip(0), PLACES.roll(1)
    differ = mirror != before
    assert (~differ).nonzero().flatten().tolist() == [0, 4]
    for wanted in (mirror, before):
        share = weights[PLACES[differ], wanted[differ]]
        assert 0.4 < share.min() and share.max() < 0.6


def test_a_hidden_layer_is_put_between_attention_and_scores(unseen):
    plain, deep = TwoQuestionsModel(Layer, 1), TwoQuestionsModel(Layer, 1, hidden=64)
    sizes = [sum(p.numel() for p in one.parameters()) for one in (plain, deep)]
    assert sizes[1] - sizes[0] == 32 * 64 + 64 + (64 - 32) * 20
    assert deep(unseen[:3])[0].shape == plain(unseen[:3])[0].shape == (3, LENGTH, 2, 10)
    assert two_questions_loss(deep, unseen[:3]).item() == pytest.approx(2.3, abs=0.5)


def test_a_students_layer_gives_its_weights_on_request():
    torch.manual_seed(0)
    layer, x = as_layer(MultiHeadAttention)(12, 3), torch.randn(2, 5, 12)
    output, weights = layer(x, x, x, need_weights=True)
    assert output.equal(layer(x, x, x)) and weights.shape == (2, 3, 5, 5)
    assert weights.equal(layer.own(x, x, x)[1])


@pytest.mark.parametrize("number", [0, 2, 5])
def test_a_layer_of_the_encoder_has_the_librarys_weights(number):
    head = one_head("it was too tired", layer=number, head=7)
    layer, x = attention_layer(number), head.vectors[None]
    _, weights = layer(x, x, x, need_weights=True)
    assert (weights[0, 7] - head.weights).abs().max() < 1e-5
    assert not any(number.requires_grad for number in layer.parameters())


def test_the_lesson_tells_what_the_table_says():
    table = page.measured(tool.PAGE.read_text("utf-8"))["two_questions"]
    rows = [line.split("|")[2:6] for line in re.findall(r"^\| \d.*$", table, re.M)]
    two, one, wide, deep = zip(*([float(x) for x in row] for row in rows), strict=True)
    assert len(rows) == 3 and min(two + deep) > 99 and max(one + wide) < 75
    lesson = (tool.ROOT / "lessons" / "03_multi_head_attention.py").read_text("utf-8")
    told = re.sub(r"\s+(# )?", " ", lesson)
    assert "below 75 % of all answers" in told and "more than 99 % as well" in told
