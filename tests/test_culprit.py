"""Which line did it: changed an input, returned None, went round, never ran."""

import sys
from dataclasses import replace

import pytest
import torch
from torch import nn

from helpers.checks import engine
from helpers.checks.exercise import Answer, Case, Exercise
from tools.build.lesson_cells import typed


def numbers(*size, seed=0):
    draw = torch.Generator().manual_seed(seed)
    return torch.randn(size, generator=draw, dtype=torch.float64)


TWICE = Exercise(
    "99.1",
    "Twice",
    "function",
    difficulty=1,
    minutes=1,
    answers=(Answer("twice", lambda x: 2 * x, {"y": "rows, columns"}),),
    cases=lambda seed: [
        Case("three rows", (numbers(3, 4),), inputs=("x",)),
        Case("two rows", (numbers(2, 5, seed=1),), inputs=("x",)),
    ],
    proves="twice",
)


def told(source, name="twice", of=TWICE, **more):
    return str(engine.examine(of, (typed("import torch\n" + source, name),), **more))


def test_the_line_that_changes_an_input_is_named():
    text = told("def twice(x):\n    y = x + 0\n    x *= 2\n    return y * 2")
    assert "`x` was changed in line 4: x *= 2." in text
    assert "one tensor" not in text


def test_a_second_name_and_a_view_are_told():
    text = told("def twice(x):\n    y = x\n    y *= 2\n    return y")
    assert "`x` was changed in line 4: y *= 2." in text
    assert (
        "`y` and `x` are one tensor there: neither `=` nor a call makes a copy." in text
    )
    text = told(
        "def twice(x):\n    for n in range(len(x)):\n        row = x[n]\n"
        "        row *= 2\n    return x"
    )
    assert "`x` was changed in line 5: row *= 2." in text
    assert "`row` is a view of `x` there: they share their numbers." in text


def test_a_change_deeper_in_the_students_code_is_found():
    text = told(
        "def double(rows):\n    rows.mul_(2)\n    return rows\n"
        "def twice(x):\n    return double(x)"
    )
    assert "`x` was changed in line 3: rows.mul_(2)." in text
    assert "`rows` and `x` are one tensor there: neither" in text


def test_a_change_is_told_beside_a_wrong_result():
    text = told("def twice(x):\n    y = x\n    y *= 3\n    return y + 1")
    assert "`x` was changed in line 4: y *= 3." in text


def test_a_copy_that_is_changed_is_not_accused():
    text = told("def twice(x):\n    y = x.clone()\n    y *= 3\n    return y")
    assert "was changed in line" not in text


class Doubling(nn.Module):
    def forward(self, x):
        return 2 * x


def test_in_a_class_it_is_the_input_of_forward():
    asked = Exercise(
        "99.2",
        "Doubling",
        "class",
        difficulty=1,
        minutes=1,
        answers=(Answer("Doubling", Doubling, {"y": "n"}),),
        cases=lambda seed: [Case("four", (numbers(4),), inputs=("x",))],
        proves="twice",
    )
    source = (
        "from torch import nn\nclass Doubling(nn.Module):\n"
        "    def forward(self, given):\n        y = given\n        y += given\n"
        "        return y"
    )
    text = told(source, "Doubling", asked)
    assert "`given` was changed in line 6: y += given." in text


NOTHING = "def halves(x):\n    {}\ndef twice(x):\n    return halves(x) * 4"


def test_a_function_that_returns_none_is_named_where_that_fails():
    text = told(NOTHING.format("x / 2"))
    assert (
        "`halves`, which begins in line 2, returned None: is there a `return`?" in text
    )
    assert "which begins" not in told(NOTHING.format("return x / 2"))
    assert "which begins" not in told(NOTHING.format("return None + x"))
    kept = "def quiet(x):\n    pass\ndef some(x):\n    return x\n"
    text = told(
        kept + "def twice(x):\n    quiet(x)\n    y = some(x)\n    return y.no()"
    )
    assert "which begins" not in text


LOOPS = {
    "n = 3\n    while n > 1:\n        y = x + n\n    return y": (
        "The loop in line 4: while n > 1 went round 200 times and went on, and `n` "
        "kept its value."
    ),
    "n = 3\n    while n > 1:\n        n = n + 1\n    return x": (
        "The loop in line 4: while n > 1 went round 200 times and went on."
    ),
    "while True:\n        for n in range(3):\n            y = x + n\n    return y": (
        "The loop in line 3: while True went round 200 times and went on."
    ),
    "rows = [x]\n    for row in rows:\n        rows.append(row)\n    return x": (
        "The loop in line 4: for row in rows went round 200 times and went on."
    ),
}


@pytest.mark.parametrize(("body", "said"), LOOPS.items())
def test_a_loop_that_does_not_end_is_named(body, said):
    assert f"  {said}\n" in told(f"def twice(x):\n    {body}", limit=0.3)


NEVER = {
    "for row in x[:0]:\n        row += 1\n    return x": "line 4: row += 1",
    "return x\n    return 2 * x": "line 4: return 2 * x",
    "if x.ndim > 2:\n        return 2 * x\n    return x": "line 4: return 2 * x",
    "def two(x):\n        return 2 * x\n    return x": "line 4: return 2 * x",
}


@pytest.mark.parametrize(("body", "line"), NEVER.items())
def test_a_line_that_no_case_comes_to_is_named(body, line):
    text = told(f"def twice(x):\n    {body}")
    assert f"  No case of this check comes to {line}.\n" in text


ELSEWHERE = (
    "if x is None:\n        x = 0\n    return x",
    "if isinstance(x, list):\n        x = x[0]\n    return x",
    "if x.ndim > 9:\n        raise ValueError\n    return x",
    "'''Twice it.'''\n    n: int\n    for row in x:\n        pass\n    return x",
    "return (\n        x\n        + 0\n    )",
)


@pytest.mark.parametrize("body", ELSEWHERE)
def test_of_what_runs_or_is_for_other_inputs_nothing_is_said(body):
    assert "comes to" not in told(f"def twice(x):\n    {body}")


def test_a_lambda_is_not_taken_for_the_function_around_it():
    source = "def make(x):\n    return lambda x: x\n    return 0\ntwice = make(2)"
    assert "comes to" not in told(source)


def test_of_a_class_only_its_methods_are_asked():
    source = (
        "from torch import nn\nclass Twice(nn.Module):\n    '''It.'''\n    n = 2\n"
        "    def forward(self, x):\n        return x\n"
        "    def two(self, x):\n        return 2 * x\n"
    )
    answer = Answer("Twice", Doubling, {"y": "rows, columns"})
    of = replace(TWICE, kind="class", answers=(answer,))
    assert "comes to line 9: return 2 * x." in told(source, "Twice", of)


def test_grading_looks_at_no_line(monkeypatch):
    source = "def twice(x):\n    x *= 2\n    return x"
    assert "was changed in line" in told(source)
    monkeypatch.setenv("NBGRADER_EXECUTION", "validate")
    assert "was changed in line" not in told(source)


def test_it_leaves_the_tracer_as_it_was():
    def tracer(*_):
        return None

    sys.settrace(tracer)
    try:
        told("def twice(x):\n    x *= 2\n    return x")
        assert sys.gettrace() is tracer
    finally:
        sys.settrace(None)
    assert torch.equal(TWICE.cases(0)[0].args[0], numbers(3, 4))
