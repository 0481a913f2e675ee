"""The engine on small made-up exercises: outcomes, evidence, borrowing, time limits."""

import re
import signal
import sys
import threading
import time
from dataclasses import replace
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch import nn

import helpers.checks.engine as engine
from helpers.checks import CheckFailed, NotAttempted, Report, borrow, check, judge
from helpers.checks import report as told
from helpers.checks.compare import Yardstick, difference
from helpers.checks.exercise import (
    Answer,
    Case,
    Exercise,
    Look,
    Property,
    mistake,
    value_cases,
)
from helpers.checks.observe import cases_of, keep, lost_in_float32, run_case
from helpers.exercises.attention.module import SelfAttention
from helpers.exercises.attention.softmax import softmax
from helpers.exercises.kit import exchanging
from helpers.models.positions import positional_encoding
from tools.build.lesson_cells import typed

# --- the made-up lesson 99 ------------------------------------------------------------


def numbers(*size, dtype=torch.float64, seed=0):
    draw = torch.Generator().manual_seed(seed)
    return torch.randn(size, generator=draw, dtype=torch.float64).to(dtype)


def unary(name, seed, **more):
    return [
        Case(f"{size} numbers", (numbers(size, seed=seed),), inputs=("x",), **more)
        for size in (3, 5)
    ]


def positive(case, outputs):
    least = outputs["y"].min().item()
    return f"one is {least:.1f}" if least <= 0 else None


DOUBLED = Exercise(
    "99.1",
    "Double",
    "function",
    difficulty=1,
    minutes=1,
    answers=(Answer("double", lambda x: 2 * x, {"y": "n"}),),
    cases=partial(unary, "double"),
    proves="two sizes",
    properties=(Property("Is all of it positive", positive),),
    misconceptions=(
        mistake("squared", "It was squared.", "Where?", lambda x: x**2),
        mistake("raised", "It raised.", "Where?", lambda x: x @ x.T @ x),
        mistake("one", "One twin.", "Where?", lambda x: x + 1),
        mistake("two", "The other twin.", "Where?", lambda x: 1 + x),
    ),
)
PAIR = Exercise(
    "99.2",
    "There and back",
    "function",
    difficulty=1,
    minutes=1,
    answers=(
        Answer("there", lambda x: x.exp(), {"y": "n"}),
        Answer("back", lambda x: x.log(), {"y": "n"}),
    ),
    cases=lambda seed: [
        Case("there", (numbers(3, seed=seed),), inputs=("x",), gradient=True),
        Case("back", (numbers(4, seed=seed).exp(),), inputs=("x",), of=1),
    ],
    proves="both ways",
    misconceptions=(
        mistake("base 2", "2 was the base.", "?", torch.exp2),
        mistake("base 10", "10 was the base.", "?", torch.log10, of=1),
    ),
)
HALF = Exercise(
    "99.3",
    "In half precision",
    "function",
    difficulty=1,
    minutes=1,
    answers=(Answer("root", lambda x: x.sqrt(), {"y": "n"}),),
    cases=lambda seed: [
        Case("half", (torch.tensor([2.0, 5.0], dtype=dtype),), tolerance=1e-2)
        for dtype in (torch.float16, torch.bfloat16)
    ],
    proves="two kinds of half precision",
)


class Scale(nn.Module):
    """y = W x + W x."""

    def __init__(self, width):
        super().__init__()
        self.W = nn.Linear(width, 3, bias=False)
        self.drop = nn.Dropout(0.0)

    def forward(self, x):
        return self.W(x) * 2


CLASS = Exercise(
    "99.4",
    "A layer",
    "class",
    difficulty=1,
    minutes=1,
    answers=(Answer("Scale", Scale, {"y": "n, 3"}, parts=("W", "drop")),),
    cases=lambda seed: [
        Case("five", (numbers(2, 5, seed=seed),), inputs=("x",), init=(5,)),
        Case("slope", (numbers(2, 5),), inputs=("x",), init=(5,), gradient=True),
    ],
    proves="a layer and its gradient",
)
VALUE = Exercise(
    "99.5",
    "A number and a choice",
    "value",
    difficulty=1,
    minutes=1,
    answers=(Answer("number", 2.5), Answer("choice", (1, 3))),
    cases=lambda seed: value_cases(2, within=0.01),
    proves="you can count",
    misconceptions=(
        mistake("double", "That is twice as much.", "?", 5.0),
        mistake("not a number", "NaN.", "?", float("nan")),
        mistake("the other", "The other one.", "?", (0, 2), of=1),
    ),
)
PROBE = Exercise(
    "99.6",
    "A test",
    "probe",
    difficulty=1,
    minutes=1,
    answers=(Answer("is_even", lambda f: f(2) == 2, {"verdict": ""}),),
    cases=lambda seed: [Case("identity", (lambda x: x,)), Case("plus", (lambda x: 3,))],
    proves="a right and a wrong one",
)
WRITTEN = Exercise("99.7", "Words", "written", difficulty=1, minutes=1)
STATED = Exercise(
    "99.8",
    "What it looks at",
    "function",
    difficulty=1,
    minutes=1,
    answers=(Answer("sampled", lambda: torch.rand(1000)),),
    cases=lambda seed: [
        Case("mean", look=lambda f: Look({"mean near a half": abs(f().mean()) < 0.6}))
    ],
    proves="the mean",
)


def _affine(x, factor=3.0, shift=1.0, turn=lambda y: y):
    return turn(factor * x + shift)


def affine(x):
    return _affine(x)


SWAP = exchanging(_affine)
STEPS = Exercise(
    "99.9",
    "Three steps",
    "function",
    difficulty=1,
    minutes=1,
    answers=(Answer("affine", affine, {"y": "n"}),),
    cases=lambda seed: [
        Case("float64", (numbers(4, seed=seed),), inputs=("x",)),
        Case("float32", (numbers(5, seed=seed).float(),), inputs=("x",)),
    ],
    proves="factor and shift",
    misconceptions=(
        mistake("half", "The factor was halved.", "Factor?", SWAP(factor=1.5)),
        mistake("no shift", "Nothing was added.", "Shift?", SWAP(shift=0.0)),
        mistake("negated", "The sign is wrong.", "Sign?", SWAP(turn=torch.neg)),
        mistake("four", "The factor was 4.", "Factor?", SWAP(factor=4.0)),
    ),
)


def hinted(call, x):
    """Judged by its sum; which way it came about is a clue."""
    result = call(x)
    return Look({"sum": result.sum()}, {"first": result[0]})


HINTED = Exercise(
    "99.10",
    "A sum",
    "function",
    difficulty=1,
    minutes=1,
    answers=(Answer("double", lambda x: 2 * x),),
    cases=lambda seed: [Case("sum", (numbers(3),), inputs=("x",), look=hinted)],
    proves="the sum",
    misconceptions=(
        mistake("tripled", "It was tripled.", "?", lambda x: 3 * x),
        mistake("left", "Moved left.", "?", lambda x: 4 * x.roll(1)),
        mistake("right", "Moved right.", "?", lambda x: 4 * x.roll(-1)),
    ),
)
LESSON = (DOUBLED, PAIR, HALF, CLASS, VALUE, PROBE, WRITTEN, STATED, STEPS, HINTED)


@pytest.fixture(autouse=True)
def lesson_99(monkeypatch):
    monkeypatch.setitem(engine.LESSONS, 99, "made_up")
    made_up = SimpleNamespace(EXERCISES=LESSON)
    monkeypatch.setitem(sys.modules, "helpers.exercises.made_up", made_up)
    monkeypatch.delenv("NBGRADER_EXECUTION", raising=False)


# --- the four outcomes ----------------------------------------------------------------


def test_passed():
    report = judge("99.1", typed("def double(x):\n    return x + x", "double"))
    assert report == Report("99.1", "passed", proven="two sizes")
    assert str(report) == "✓ 99.1 passed. Shown: two sizes."


def test_wrong_and_known():
    report = judge("99.1", typed("def double(x):\n    return x * x", "double"))
    assert (report.outcome, report.misconception) == ("wrong", "squared")
    text = str(report)
    assert "Case: 3 numbers. x (3,) float64" in text or "x tensor [" in text
    assert "What happened: It was squared." in text
    assert "Where to look: Where?" in text


def test_wrong_and_unknown_reports_evidence_and_never_guesses():
    report = judge("99.1", typed("def double(x):\n    return -2 * x.abs()", "double"))
    assert (report.outcome, report.misconception) == ("wrong", None)
    text = str(report)
    assert "y: " in text and "entries differ, the first at [" in text
    assert "Is all of it positive? No: one is -" in text
    assert "What happened" not in text and "Line" not in text


def test_properties_are_asked_only_of_results_of_the_right_kind():
    text = str(judge("99.1", lambda x: torch.complex(2 * x, x)))
    assert "y: expected float64, got complex128." in text
    assert "positive" not in text


def test_wrong_names_the_place_the_expected_and_the_number_given():
    source = "def double(x):\n    y = 2 * x\n    y[1] = 77.0\n    return y"
    text = str(judge("99.1", typed(source, "double")))
    wanted = 2 * numbers(3)[1].item()
    assert (
        f"1 of 3 entries differ, the first at [1]: expected {wanted:.5g}, got 77."
        in text
    )


def test_raised_shows_the_students_line_and_the_inputs_and_none_of_ours():
    source = "\n\ndef double(x):\n    y = x\n    return y + None"
    report = judge("99.1", typed(source, "double"))
    assert (report.outcome, report.misconception) == ("raised", None)
    assert report.evidence[0] == "Your line 5: return y + None"
    assert report.evidence[1].startswith("TypeError: unsupported operand")
    assert "Something there is None" in report.evidence[2]
    assert "x tensor [" in report.evidence[3]
    assert "helpers" not in str(report)


def test_raised_and_known():
    report = judge("99.1", typed("def double(x):\n    return x @ x.T @ x", "double"))
    assert (report.outcome, report.misconception) == ("raised", "raised")
    assert "What happened: It raised." in str(report)


def test_twins_are_not_told_apart():
    report = judge("99.1", typed("def double(x):\n    return x + 1.0", "double"))
    assert (report.outcome, report.misconception) == ("wrong", None)


STUB = '''
def double(x):
    """Double it."""
    y = ...
    raise NotImplementedError("exercise 99.1")
'''


def test_a_stub_is_not_attempted():
    double = typed(STUB, "double")
    report = judge("99.1", double)
    assert report.outcome == "not attempted"
    assert "double is still to be written, line 4: y = ..." in str(report)
    with pytest.raises(NotAttempted, match="still to be written"):
        check("99.1", double)


def test_a_stub_without_blanks_names_its_last_line():
    source = STUB.replace("    y = ...\n", "    y = 2 * x\n")
    text = str(judge("99.1", typed(source, "double")))
    assert 'line 5: raise NotImplementedError("exercise 99.1")' in text
    assert "which may stay" in text


def test_code_that_returns_before_the_last_line_passes():
    source = STUB.replace("y = ...", "return 2 * x")
    assert judge("99.1", typed(source, "double")).outcome == "passed"


def test_a_left_over_blank_is_not_attempted():
    source = "def double(x):\n    y = x\n    factor: int = ...\n    return factor"
    report = judge("99.1", typed(source, "double"))
    assert report.outcome == "not attempted"
    assert "line 3: factor: int = ..." in str(report)
    assert judge("99.5", ..., (1, 3)).outcome == "not attempted"
    assert "choice is still" in str(judge("99.5", 2.5, ...))


@pytest.mark.lesson(6)
@pytest.mark.parametrize("typed_in", [{1, 2, 3}, 3, "1, 2, 3"])
def test_where_a_tuple_is_due_other_values_are_told_so(typed_in):
    assert "A tuple is asked for, such as `(5, 6)`" in str(judge("6.D", typed_in))
    assert "tuple" not in str(judge("6.D", (5, 6)))


def test_an_embedding_of_vectors_is_explained_without_dtypes():
    source = "def double(x):\n    return nn.Embedding(4, 2)(x)"
    text = str(judge("99.1", typed(source, "double")))
    assert "An embedding looks up ids" in text and "float64. Often" not in text


def test_a_blank_that_does_no_harm_is_none():
    source = "def double(x):\n    unused = ...\n    return 2 * x"
    assert judge("99.1", typed(source, "double")).outcome == "passed"


def test_a_blank_in_a_class_is_not_attempted():
    source = """
class Other:
    size = 3

class Scale(nn.Module):
    @torch.no_grad()
    def forward(self, x):
        return self.W(x) * 2

    def __init__(self, width):
        super().__init__()
        self.W = ...
        self.drop = nn.Dropout(0.0)
"""
    report = judge("99.4", typed(source, "Scale"))
    assert report.outcome == "not attempted"
    assert "line 12: self.W = ..." in str(report)


def test_torchs_own_not_implemented_error_is_the_students():
    own = typed("def double(x):\n    return x.long().softmax(0)", "double")
    report = judge("99.1", own)
    assert report.outcome == "raised"
    assert report.evidence[0] == "Your line 2: return x.long().softmax(0)"
    assert "NotImplementedError" in report.evidence[1]
    another = typed("def double(x):\n    raise NotImplementedError('x')", "double")
    assert judge("99.1", another).outcome == "raised"
    class_ = typed("class Scale(nn.Linear):\n  def __init__(self, n):\n"
                   "    nn.Module.__init__(self)\n    self.W = nn.Linear(n, 3)\n"
                   "    self.drop = nn.Identity()\n  forward = nn.Module().forward",
                   "Scale")  # fmt: skip
    assert judge("99.4", class_).outcome == "raised"


def test_another_exercises_stub_is_not_a_stub_of_this_one():
    other = typed("def double(x):\n    raise NotImplementedError('exercise 99.2')",
                  "double")  # fmt: skip
    assert judge("99.1", other).outcome == "raised"


def test_recursion_is_raised_with_a_line():
    report = judge("99.1", typed("def double(x):\n    return double(x)", "double"))
    assert report.outcome == "raised"
    assert report.evidence[0] == "Your line 2: return double(x)"
    assert "RecursionError" in report.evidence[1]


def test_what_the_student_printed_is_shown_where_it_failed(capsys):
    source = "def double(x):\n    print('x is', x[0] > 9)\n    return None"
    text = str(judge("99.1", typed(source, "double")))
    assert "Your code printed: x is tensor(False)" in text
    assert "expected tensor" in text and "got None. Is there a `return`?" in text
    assert capsys.readouterr() == ("", "")


def test_none_among_other_results_was_returned():
    text = str(judge("10.G", lambda past, key, value: (past, value, None)))
    assert "got None" in text and "Is there a `return`?" not in text


class Falsy(Exception):
    def __bool__(self):
        return False


def raises_falsy(x):
    raise Falsy("odd")


def test_an_error_counts_whatever_its_truth_value_is(monkeypatch):
    monkeypatch.setattr(engine, "_expected", lambda answer, cases, runs: runs)
    report = judge("99.1", raises_falsy)
    assert report.outcome == "raised" and "Falsy: odd" in str(report)


def test_numbers_that_differ_are_shown_with_digits_enough_to_see_it():
    text = str(judge("99.1", lambda x: 2 * x * (1 + 4e-6)))
    first, second = re.search(r"expected (\S+), got (\S+?)\.\s", text).groups()
    assert first != second and first[:4] == second[:4]


@pytest.mark.parametrize(
    ("want", "got", "shown"),
    [(1 / 3, 2 / 3, "0.33333, got 0.66667"), (1.0, 1.0000001, "1, got 1.0000001")],
)
def test_floats_are_shown_as_scalars_of_tensors_are(want, got, shown):
    assert told._differs("loss", got, want, "", 1e-9) == f"loss: expected {shown}."


@pytest.mark.parametrize("bit", [-1e-15, 0.0, 1e-15])
@pytest.mark.parametrize("place", range(1, 4))
def test_the_last_bit_of_a_tie_does_not_change_the_evidence(place, bit):
    """Three entries are off by as much: rounding decides which is off the most."""
    want = torch.tensor([1.0, 2.0, 2.0, 2.0], dtype=torch.float64)
    got = want + torch.tensor([1e-10, 0.5, 0.5, 0.5])  # the first is within tolerance
    got[place] += bit
    assert told._differs("y", got, want, "", 1e-9) == (
        "y: 3 of 4 entries differ, the first at [1]: expected 2, got 2.5."
    )


def test_what_is_off_and_still_allowed_is_not_called_equal():
    want = torch.tensor([1.0, 2.0, 3.0])
    got = want + torch.tensor([5e-5, 0.0, 0.5])
    text = told._differs("y", got, want, "", 1e-4)
    assert text.startswith("y: 1 of 3 entries differ by more than is allowed, the fi")
    exact = want + torch.tensor([0.0, 0.0, 0.5])
    assert "allowed" not in told._differs("y", exact, want, "", 1e-4)


def test_a_number_far_below_rounding_is_no_zero():
    small = torch.tensor(2.9e-160, dtype=torch.float64)
    assert "got 2.9e-160." in told._differs("y", small, small + 0.5, "", 1e-9)


def test_a_list_is_shown_as_a_list():
    assert difference(keep([1, 2]), keep((1, 2))) == 0
    assert difference(keep([[1], 2]), keep(([1], 2))) == 0
    assert told._differs("y", keep([[1, 2], 3]), keep((1, 2)), "", 1e-9) == (
        "y: expected (1, 2), got [[1, 2], 3]."
    )
    assert told._describe(keep([1 / 3])) == "[0.3333333]"


@pytest.mark.parametrize("zero", [0.0, -0.0, 6e-17, -6e-17])
def test_a_zero_up_to_rounding_is_shown_as_zero(zero):
    assert told._differs("y", 0.5, zero, "", 1e-9) == "y: expected 0, got 0.5."
    want, got = torch.tensor([zero]), torch.tensor([0.5])
    assert told._differs("y", got, want, "", 1e-9).endswith("expected 0, got 0.5.")


def test_the_last_bits_of_a_float_are_not_shown_beside_something_else():
    assert "expected 0.3, got None." in told._differs("y", None, 0.1 + 0.2, "", 1e-9)
    text = told._differs("y", "?", (0.1 + 0.2, 3, True), "", 1e-9)
    assert text == "y: expected (0.3, 3, True), got '?'."


def test_what_a_look_does_not_find_is_said_to_be_missing():
    case = Case("both", (), look=lambda call: Look({"one": 1, "two": 2}))
    right = run_case(lambda: None, DOUBLED.answers[0], case)
    rest = {name: value for name, value in right.judged.items() if name != "two"}
    short = replace(right, judged=rest)
    lines = told._wrong(DOUBLED, DOUBLED.answers[0], case, short, right, Yardstick())
    assert lines[-1] == "two: expected 2, but there is none."
    other = replace(right, judged={"inputs": "unchanged", "three": 3})
    lines = told._wrong(DOUBLED, DOUBLED.answers[0], case, other, right, Yardstick())
    assert lines[-1] == "Expected: one 1. What came instead: three 3."


def test_where_a_mistake_has_no_name_the_cases_that_are_right_have():
    unnamed = typed("def double(x):\n    return 2 * x + (len(x) > 3)", "double")
    assert "Right in 1 of 2 cases: 3 numbers." in str(judge("99.1", unnamed))
    assert told._some(list("abcdef")) == ": a; b; c; d and 2 more"
    wrong = typed("def double(x):\n    return 2 * x + 1", "double")
    assert "Right in 0 of 2 cases." in str(judge("99.1", wrong))


def test_what_a_class_is_built_with_has_names():
    class Scaled(nn.Module):
        def __init__(self, width, *more):
            super().__init__()

    case = Case("one", (), init=(4, 2))
    [line] = told._inputs(Answer("Scaled", Scaled), case)
    assert line == "Case: one. built with width 4, more 2"


def test_where_the_course_s_code_fails_on_the_student_s_layers_it_says_so(monkeypatch):
    def fails(answer, cases, runs):
        return [run_case(lambda x: x.nothing, answer, case) for case in cases]

    monkeypatch.setattr(engine, "_expected", fails)
    text = str(judge("99.1", lambda x: 3 * x))
    assert "The course's own code does not run with your layers" in text
    assert "nothing" not in text and "AttributeError" not in text


def test_a_student_who_has_not_begun_learns_where_help_is():
    text = str(judge("99.1", typed("def double(x):\n    y = ...", "double")))
    assert 'hints are under the exercise, and borrow("99.1") lends you' in text


# --- several answers, values, probes --------------------------------------------------


def test_several_answers_are_judged_one_by_one():
    there, back = (lambda x: x.exp()), (lambda x: x.log())
    assert judge("99.2", there, back).outcome == "passed"
    assert judge("99.2", torch.exp2, back).misconception == "base 2"
    assert judge("99.2", there, torch.log10).misconception == "base 10"
    assert judge("99.2", back, there).outcome == "wrong"
    assert "back is still" in str(judge("99.2", there, ...))


def test_the_second_answer_is_judged_although_the_first_is_wrong():
    right = typed("def back(x):\n    return x.log()", "back")
    report = judge("99.2", torch.exp2, torch.log10)
    assert (report.outcome, report.misconception) == ("wrong", "base 2")
    assert [line for line in report.evidence if line.endswith(": wrong.")] == [
        "there: wrong.",
        "back: wrong.",
    ]
    assert "10 was the base." in str(report) and str(report).count("Stuck?") == 1
    assert "back: right." in str(judge("99.2", torch.exp2, right))
    report = judge("99.2", torch.exp2, ...)
    assert report.outcome == "wrong" and "back is still to be written" in str(report)


def test_no_gradient_is_asked_of_weights_that_are_only_looked_at():
    from helpers.exercises.attention.scaled import scaled_dot_product_attention as right

    def looked_at(query, key, value, mask=None):
        output, weights = right(query, key, value, mask)
        return output, weights.detach()

    def cut(query, key, value, mask=None):
        output, weights = right(query, key, value, mask)
        return output.detach(), weights

    assert judge("2.B", looked_at).outcome == "passed"
    assert "cut off from autograd" in str(judge("2.B", cut))


# --- two mistakes, clues, symptoms ----------------------------------------------------


def test_two_steps_exchanged_at_once_are_both_named():
    report = judge("99.9", lambda x: -(1.5 * x + 1))
    assert (report.misconception, report.second) == ("half", "negated")
    lines = str(report).splitlines()
    assert lines[1:5] == [
        "  What happened: The factor was halved.",
        "  Where to look: Factor?",
        "  What else happened: The sign is wrong.",
        "  Where to look: Sign?",
    ]
    assert judge("99.9", lambda x: 1.5 * x + 1).second is None
    assert judge("99.9", lambda x: 5 * x + 1).misconception is None


def test_two_pairs_that_do_the_same_are_not_told_apart(monkeypatch):
    again = mistake("mirrored", "Mirrored.", "?", SWAP(turn=lambda y: 0 - y))
    twins = replace(STEPS, misconceptions=(*STEPS.misconceptions, again))
    report = engine.examine(twins, (lambda x: -(1.5 * x + 1),))
    assert (report.misconception, report.second) == (None, None)


def test_a_clue_tells_two_mistakes_apart_and_vetoes_none():
    assert judge("99.10", lambda x: 4 * x.roll(1)).misconception == "left"
    assert judge("99.10", lambda x: 4 * x.roll(-1)).misconception == "right"
    assert judge("99.10", lambda x: 3 * x.roll(1)).misconception == "tripled"
    assert judge("99.10", lambda x: 4 * x).misconception is None


NOISY = """
def double(x):
    return 2 * x + torch.rand(len(x))
"""
ONE_LAYER = """
class Scale(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.W = nn.Linear(width, 3, bias=False)
        self.again = self.W
        self.drop = nn.Dropout(0.5)

    def forward(self, x):
        return self.drop(self.W(x)) * 3
"""


def test_what_is_random_is_said_to_be():
    text = str(judge("99.1", typed(NOISY, "double")))
    assert "Asked twice with the same inputs, it answered differently" in text
    assert "Asked twice" not in str(judge("99.1", lambda x: 2.5 * x))
    assert "Asked twice" in str(judge("99.4", typed(ONE_LAYER, "Scale")))


def test_two_parts_that_are_one_object_are_found():
    text = str(judge("99.4", typed(ONE_LAYER, "Scale")))
    assert "`W` and `again` are one object: they share their weights." in text
    source = ONE_LAYER.replace("self.again = self.W\n", "\n")
    assert "one object" not in str(judge("99.4", typed(source, "Scale")))


def test_a_result_that_is_there_in_some_cases_only_stops_no_check():
    exercise = engine.find("12.G")

    class LastPairAlone(exercise.references[0]):
        def kept(self, past, new):
            return new[-1]

    report = engine.examine(exercise, (LastPairAlone,))
    assert report.outcome == "wrong"
    assert "keys of layer 0: expected" in str(report)


# --- float32 --------------------------------------------------------------------------


def rounding(x):
    return (3 * x.float() + 1).to(x.dtype)


@pytest.mark.parametrize(
    ("answer", "note"),
    [
        (lambda x: 3 * x + 1, ""),
        (lambda x: 3 * x.float() + 1, "Computed in float32."),
        (rounding, "Right to the precision of float32."),
        (
            lambda x: 3 * x.double() + 1,
            "Computed in float64, where the inputs are float32.",
        ),
    ],
)
def test_what_is_computed_in_another_precision_passes_and_says_so(answer, note):
    report = judge("99.9", answer)
    assert (report.outcome, report.note) == ("passed", note)
    assert str(report) == f"✓ 99.9 passed. Shown: factor and shift. {note}".strip()


@pytest.mark.parametrize(
    "answer",
    [
        lambda x: (3 * x + 1).half().to(x.dtype),
        lambda x: (3 * x + 1).half(),
        lambda x: (3 * x + 1).bfloat16(),
        lambda x: (3 * x + 1).to(torch.complex128),
        lambda x: 3 * x + 1 + 1e-5,
        lambda x: (3 * x.float() + 1 + 1e-5).double(),
    ],
)
def test_what_is_less_precise_than_float32_fails(answer):
    assert judge("99.9", answer).outcome == "wrong"


def test_a_mistake_is_named_in_float32_too():
    assert judge("99.9", lambda x: 1.5 * x.float() + 1).misconception == "half"
    text = str(judge("99.9", lambda x: 1.4 * x.float() + 1))
    assert "entries differ" in text and "expected float64" not in text


def test_where_the_dtype_is_asked_for_float32_is_not_enough(monkeypatch):
    exact = replace(STEPS, exact=True)
    right = engine.examine(exact, (lambda x: 3 * x + 1,))
    assert (right.outcome, right.note) == ("passed", "")
    text = str(engine.examine(exact, (lambda x: 3 * x.float() + 1,)))
    assert "y: expected float64, got float32." in text
    assert engine.examine(exact, (rounding,)).outcome == "wrong"


def test_the_room_for_float32_is_what_the_reference_loses():
    def wavy(x):
        return (1000 * x).cos()

    loses = Exercise(
        "99.11",
        "A function that loses digits",
        "function",
        difficulty=1,
        minutes=1,
        answers=(Answer("wavy", wavy, {"y": "n"}),),
        cases=partial(unary, "wavy"),
        proves="x",
    )
    [case, _] = cases_of(loses, 0)
    lost = lost_in_float32(loses.answers[0], case)["y"]
    assert lost > 1e-6
    yardstick = Yardstick(lost={"y": lost})
    wanted = wavy(case.args[0])
    assert yardstick.within("y", wanted) == pytest.approx(4 * lost)
    assert yardstick.within("z", wanted) == 1e-6
    assert yardstick.within("y", torch.tensor(3)) == 1e-5  # an integer: equal or not
    assert Yardstick(lost={"y": 1.0}).within("y", wanted) == 1e-3
    assert Yardstick(1e-8, lost={}).within("y", wanted) == 1e-8
    assert engine.examine(loses, (lambda x: wavy(x.float()),)).outcome == "passed"
    assert engine.examine(loses, (lambda x: wavy(x + 20 * lost),)).outcome == "wrong"


# --- errors ---------------------------------------------------------------------------


MEETING = Exercise(
    "99.12",
    "A product",
    "function",
    difficulty=1,
    minutes=1,
    answers=(Answer("meet", lambda a, b: a @ b.mT, {"y": "n, m"}),),
    cases=lambda seed: [
        Case("a case", (numbers(3, 4), numbers(5, 4, seed=1)), inputs=("a", "b"))
    ],
    proves="a product",
    misconceptions=(
        mistake("not turned", "b was not turned.", "Which axes meet?", torch.matmul),
    ),
)


def elsewhere(a, b):
    return (a @ b.mT @ a) @ torch.zeros(5, 4, dtype=a.dtype)


def test_an_error_is_named_only_if_the_same_operation_failed_on_the_same_shapes():
    for same in (lambda a, b: a @ b, lambda a, b: torch.mm(a, b).relu()):
        report = engine.examine(MEETING, (same,))
        assert report.misconception == "not turned"
        assert "What happened: b was not turned." in str(report)

    def later(a, b):
        c = torch.zeros(5, 4, dtype=a.dtype)
        return torch.nn.functional.linear(a[:, :4], c.mT)  # the same message

    report = engine.examine(MEETING, (later,))
    assert (report.outcome, report.misconception) == ("raised", None)
    text = str(report)
    assert "What this often means here: b was not turned." in text
    assert "What happened" not in text


@pytest.mark.parametrize(
    ("source", "meaning"),
    [
        ("return double(x, 1)", "It accepts 1 by position and was given 2."),
        ("return double()", "A function was called with fewer arguments than"),
        ("return double(y=x)", "with a keyword argument (`name=...`) that it does not"),
        ("return (x, x).sum()", "Often a function returned several values at once"),
        ("return None + x", "Something there is None: often a function of your own"),
        ("return double.nothing().x", ""),
        ("if x > 0: return x", "ask for one True or False"),
        ("return torch.ones(2, 3).T.view(6)", "`reshape` copies them where it must"),
        (
            "return torch.ones(2, 3) @ torch.ones(2, 3)",
            "needs as many columns (here 3)",
        ),
        (
            "return torch.ones(7) + torch.ones(6)",
            "On one of them the sizes are 7 and 6",
        ),
        ("return x.reshape(2, 99)", "only if the number of entries stays the same"),
        ("return x.logits", "have a head return an object with `.logits`"),
        ("return nn.Linear(2, 2).generate(x)", "with the head of a language model"),
        (
            "w = torch.ones(3, requires_grad=True)\n    w += 1",
            "Set a weight under `torch.no_grad()`",
        ),
        ("return nn.ModuleList(['a'])", "A layer was expected, and something else"),
        ("return nn.Linear(3, 3, True, 'a')(x)", ""),
        ("return x[[99]]", "An index lies outside of what it is used on"),
        ("return x.sum().backward()", "has no history to go back through"),
        ("return nothing", "There is no `nothing` at this point"),
        ("y = y + x\n    return y", "`y` has no value yet at this point"),
    ],
)
def test_errors_that_every_beginner_meets_are_explained(source, meaning):
    report = judge("99.1", typed(f"def double(x):\n    {source}", "double"))
    assert report.outcome == "raised"
    assert meaning in str(report)
    assert len(report.evidence) == (6 if meaning else 5)


def test_a_gradient_through_a_changed_tensor_is_explained():
    source = "y = x.exp()\n    y += 1\n    return y.exp() * y"
    there = typed(f"def there(x):\n    {source}", "there")
    right = typed("def back(x):\n    return x.log()", "back")
    text = str(judge("99.2", there, right))
    assert "whose old numbers the gradient still needs" in text, text


def test_a_gradient_that_is_cut_off_is_wrong():
    cut = typed("def there(x):\n    return x.detach().exp()", "there")
    text = str(judge("99.2", cut, torch.log))
    assert "gradient of x" in text and "cut off from autograd" in text


@pytest.mark.parametrize("number", [2.5, np.float64(2.51), np.float32(2.5),
                                    torch.tensor(2.5), torch.tensor(2.49)])  # fmt: skip
@pytest.mark.parametrize("choice", [(1, 3), [1, 3], (1.0, 3.0), (np.int64(1), 3)])
def test_a_value_is_judged_by_its_number(number, choice):
    assert judge("99.5", number, choice).outcome == "passed"


def test_wrong_values_are_named():
    assert judge("99.5", 5, (1, 3)).misconception == "double"
    assert judge("99.5", float("nan"), (1, 3)).misconception == "not a number"
    assert judge("99.5", 2.5, [0, 2]).misconception == "the other"
    report = judge("99.5", 2.6, (1, 3))
    assert report.misconception is None
    assert "number = 2.6 is not right." in str(report) and "borrow" not in str(report)


@pytest.mark.parametrize("kind", [bool, np.bool_, torch.tensor])
def test_a_verdict_is_any_kind_of_bool(kind):
    assert judge("99.6", lambda f: kind(f(2) == 2)).outcome == "passed"
    assert judge("99.6", lambda f: kind(True)).outcome == "wrong"


def test_a_number_is_not_a_verdict():
    assert judge("99.6", lambda f: int(f(2) == 2)).outcome == "wrong"


def test_a_look_is_judged_in_its_own_words():
    assert judge("99.8", lambda: torch.rand(1000)).outcome == "passed"
    text = str(judge("99.8", lambda: torch.ones(1000)))
    assert "mean near a half: expected True, got " in text


# --- classes --------------------------------------------------------------------------


LAYER = """
class Scale(nn.Module):
    def __init__(self, width):
        super().__init__()
        torch.manual_seed({seed})
        self.{first} = nn.{layer}
        self.{second} = nn.{other}

    def forward(self, x):
        return self.W(x) + self.W(x)
"""
LINEAR, DROP = "Linear(width, 3, bias=False)", "Dropout(0.0)"


@pytest.mark.parametrize("seed", [0, 12345])
@pytest.mark.parametrize("linear", [LINEAR, "Linear(width, 3)"])
@pytest.mark.parametrize("turned", [False, True])
def test_a_class_is_compared_on_its_own_weights(seed, linear, turned):
    parts = ["W", linear], ["drop", DROP]
    (first, layer), (second, other) = reversed(parts) if turned else parts
    source = LAYER.format(
        seed=seed, first=first, layer=layer, second=second, other=other
    )
    report = judge("99.4", typed(source, "Scale"))
    assert report.outcome == "passed", report


@pytest.mark.parametrize(
    ("part", "sentence"),
    [
        (
            "Linear(3, width)",
            "W: expected a weight of shape (3, 5), got a weight of shape (5, 3).",
        ),
        ("Dropout(0.1)", "W: expected a weight of shape (3, 5), got no weight."),
        (
            "Parameter(torch.ones(3, width))",
            "W: expected a weight of shape (3, 5), got a Parameter",
        ),
    ],
)
def test_a_part_of_another_shape_gets_a_sentence(part, sentence):
    source = LAYER.format(seed=0, first="W", layer=part, second="drop", other=DROP)
    source = source.replace("self.W(x) + self.W(x)", "x[:, :3] * 2")
    assert sentence in str(judge("99.4", typed(source, "Scale")))


def test_a_missing_part_gets_a_sentence_that_names_it():
    source = LAYER.format(seed=0, first="w", layer=LINEAR, second="drop", other=DROP)
    source = source.replace("self.W(", "self.w(")
    report = judge("99.4", typed(source, "Scale"))
    assert report.outcome == "wrong"
    assert "The attribute W is missing: the stub names it" in str(report)


def test_an_instance_in_place_of_the_class_gets_a_clear_answer():
    report = judge("99.4", typed(LAYER.format(
        seed=0, first="W", layer=LINEAR, second="drop", other=DROP), "Scale")(5)
    )  # fmt: skip
    assert report.outcome in ("raised", "wrong")
    assert "the class itself" in str(report)


# --- inputs, precision, distances -----------------------------------------------------


@pytest.mark.parametrize("line", ["x *= 2", "x.mul_(2)", "x[:] = 2 * x"])
def test_an_input_that_is_changed_in_place_is_a_mistake_with_a_name(line):
    report = judge("99.1", typed(f"def double(x):\n    {line}\n    return x", "double"))
    assert (report.outcome, report.misconception) == ("wrong", "input changed in place")
    assert "The answer changed x in place." in str(report)


def test_a_change_in_place_keeps_its_name_where_autograd_refuses_it():
    source = """def softmax(x, dim):
    x -= x.amax(dim, keepdim=True)
    return x.exp() / x.exp().sum(dim, keepdim=True)"""
    report = judge("2.A", typed(source, "softmax"))
    assert report.misconception == "input changed in place"


def test_own_numbers_overwritten_before_the_gradient_get_a_sentence():
    source = """def softmax(x, dim):
    x = (x - x.amax(dim, keepdim=True)).exp()
    x /= x.sum(dim, keepdim=True)
    return x"""
    report = judge("2.A", typed(source, "softmax"))
    assert (report.outcome, report.misconception) == ("raised", None)
    assert "whose old numbers the gradient still needs" in str(report)


def test_a_sparse_tensor_of_the_right_shape_is_wrong_not_an_error():
    report = judge("99.1", lambda x: (2 * x).to_sparse())
    assert report.outcome == "wrong"
    assert "got a sparse tensor" in str(report)


def test_a_neighbour_of_a_known_mistake_does_not_get_its_name():
    def clamped(x, dim):  # was taken for "maximum of everything"
        powers = x.clamp(max=80).exp()
        return powers / powers.sum(dim, keepdim=True)

    class TooLong(nn.Module):  # was taken for "a plain attribute"
        def __init__(self, d_model, max_length):
            super().__init__()
            self.table = nn.Buffer(positional_encoding(512, d_model))

        def forward(self, x):
            return x + self.table[: x.shape[1]]

    for exercise, answer in (("2.A", clamped), ("1.J", TooLong)):
        report = judge(exercise, answer)
        assert (report.outcome, report.misconception) == ("wrong", None)
    assert "rows of the table in a buffer: expected 11, got 512" in str(report)


@pytest.mark.parametrize(("verdict", "many"), [([True, False], True), (False, False)])
def test_only_many_verdicts_are_told_to_become_one(verdict, many):
    text = str(judge("2.D", lambda attend: torch.tensor(verdict)))
    assert ("`.all()`" in text) == many


@pytest.mark.parametrize(
    ("exercise", "answers"),
    [("2.G", (np.array([3, 1]),)), ("3.G", ((0, 2), " Previous"))],
)
def test_a_right_value_passes_however_it_is_written(exercise, answers):
    assert judge(exercise, *answers).outcome == "passed"


def test_changing_inputs_and_being_wrong_is_not_a_known_mistake():
    source = "def double(x):\n    x *= 3\n    return x"
    report = judge("99.1", typed(source, "double"))
    assert (report.outcome, report.misconception) == ("wrong", None)


def test_half_precision_is_compared_with_room_and_keeps_its_dtype():
    assert judge("99.3", lambda x: x**0.5).outcome == "passed"
    assert judge("99.3", lambda x: x.float().sqrt().to(x.dtype)).outcome == "passed"
    text = str(judge("99.3", lambda x: x.float().sqrt()))
    assert "y: expected float16, got float32. Give new tensors the dtype" in text
    assert judge("99.3", lambda x: x**0.4).outcome == "wrong"


INF, NAN = float("inf"), float("nan")


@pytest.mark.parametrize(
    ("one", "other", "apart"),
    [
        (torch.tensor([1.0, NAN, INF]), torch.tensor([1.0, NAN, INF]), 0.0),
        (torch.tensor([1.0, NAN]), torch.tensor([1.0, 2.0]), INF),
        (torch.tensor([1.0, 2.0]), torch.tensor([1.0, NAN]), INF),
        (torch.tensor([INF]), torch.tensor([-INF]), INF),
        (torch.tensor([1.5]), torch.tensor([1.0]), 0.5),
        (torch.tensor([300.0]), torch.tensor([100.0]), 2.0),
        (torch.tensor([1]), torch.tensor([2]), INF),
        (torch.tensor([1.0]), torch.tensor([1]), INF),
        (torch.tensor([1.0]), torch.tensor([[1.0]]), INF),
        (torch.zeros(0), torch.zeros(0), 0.0),
        (torch.tensor(True), True, 0.0),
        (torch.tensor(1.0), True, INF),
        (torch.tensor([1, 2]), (1, 2), 0.0),
        (torch.tensor([2, 1]), (1, 2), INF),
        (torch.tensor([1.0, 2.0]), (1, 2), INF),
        (torch.tensor([[1, 2]]), (1, 2), INF),
        (NAN, NAN, 0.0),
        (NAN, 1.0, INF),
        (1, True, INF),
        (2.0, 1, 1.0),
        ("a", "a", 0.0),
        (None, 0, INF),
    ],
)
def test_the_distance_of_two_results(one, other, apart):
    assert difference(one, other) == apart


def test_observations_agree_or_are_tolerances_apart():
    one = {"y": torch.tensor([1.0]), "inputs": "unchanged"}
    near = {"y": torch.tensor([1.000001]), "inputs": "unchanged"}
    other = {"y": torch.tensor([1.0001]), "inputs": "unchanged"}
    strict, wide = Yardstick(), Yardstick(1e-3)
    assert strict.agree(one, near) and not strict.agree(one, other)
    assert wide.agree(one, other)
    assert strict.distance(other, one) == pytest.approx(10, rel=0.1)
    assert strict.distance(one, {"y": one["y"]}) == INF


# --- answers that do not end ----------------------------------------------------------


LOOPS = ["while True:\n        pass", "while True:\n        x = x.exp().log()",
         "import time; time.sleep(60)"]  # fmt: skip


@pytest.fixture(params=["alarm", "thread"])
def way(request, monkeypatch):
    """How a time limit stops an answer: Windows has no SIGALRM."""
    if request.param == "thread":
        monkeypatch.delattr(signal, "SIGALRM", raising=False)
    elif not hasattr(signal, "SIGALRM"):
        pytest.skip("there is no SIGALRM")
    return request.param


def alarm():
    """What is done when an alarm rings, and when one will; None without alarms."""
    if hasattr(signal, "SIGALRM"):
        timer = signal.getitimer(signal.ITIMER_REAL)
        return signal.getsignal(signal.SIGALRM), timer
    return None


@pytest.mark.parametrize("loop", LOOPS)
def test_a_runaway_answer_is_stopped_and_torch_works_afterwards(loop, way):
    if way == "thread":
        loop = loop.replace("sleep(60)", "sleep(2)")  # it is stopped when that ends
    double = typed(f"def double(x):\n    {loop}\n    return x", "double")
    before, start = alarm(), time.monotonic()
    report = judge("99.1", double, limit=0.3)
    assert time.monotonic() - start < 5
    assert report.outcome == "raised"
    assert report.evidence[0].startswith("Your line ")
    assert "has been stopped. Does every loop end?" in str(report)
    assert alarm() == before
    assert torch.equal(torch.eye(3) @ torch.ones(3), torch.ones(3))


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_an_alarm_that_rings_while_garbage_is_collected_rings_again(way):
    class Slow:
        def __del__(self):
            end = time.monotonic() + 0.4
            while time.monotonic() < end:  # the first alarm is dropped in here
                pass

    def loops(x):
        Slow()
        while True:
            pass

    start = time.monotonic()
    report = judge("99.1", loops, limit=0.2)
    assert report.outcome == "raised" and "has been stopped" in str(report)
    assert time.monotonic() - start < 9


@pytest.mark.parametrize(
    ("body", "said"),
    [("import time; time.sleep(2)", "has been stopped"), ("x.nothing", "nothing")],
)
def test_what_raises_does_not_pass_where_the_reference_raises(
    body, said, monkeypatch, way
):
    answer = typed(f"def double(x):\n    {body}", "double")
    monkeypatch.setattr(engine, "_expected", lambda answer, cases, runs: runs)
    report = judge("99.1", answer, limit=0.2)
    assert report.outcome == "raised" and said in str(report)


def test_the_limit_is_for_all_cases_together(way):
    source = """
from time import thread_time
def double(x):
    start = thread_time()
    while thread_time() - start < 0.5:
        pass
    return 2 * x
"""
    report = judge("99.1", typed(source, "double"), limit=0.8)
    assert report.outcome == "raised"
    assert "Right in 1 of the 2 cases that were run: 3 numbers." in str(report)


def test_an_answer_may_wait_longer_than_it_works(way):
    """On a busy machine all of them wait."""
    source = "import time\ndef double(x):\n    time.sleep(1)\n    return 2 * x"
    assert judge("99.1", typed(source, "double"), limit=1.5).outcome == "passed"


def test_except_exception_does_not_swallow_the_alarm(way):
    source = """
def double(x):
    while True:
        try:
            while True:
                pass
        except Exception:
            pass
"""
    assert judge("99.1", typed(source, "double"), limit=0.3).outcome == "raised"


@pytest.mark.parametrize("body", ["return 2 * x", "while True:\n        pass"])
def test_an_answer_has_its_limit_in_every_thread(body):
    reports = []
    double = typed(f"def double(x):\n    {body}", "double")
    thread = threading.Thread(
        target=lambda: reports.append(judge("99.1", double, limit=0.3))
    )
    thread.start()
    thread.join(timeout=20)
    assert reports[0].outcome == ("passed" if "return" in body else "raised")


def test_the_students_keyboard_interrupt_is_not_swallowed():
    source = "def double(x):\n    raise KeyboardInterrupt"
    with pytest.raises(KeyboardInterrupt):
        judge("99.1", typed(source, "double"))


# --- what is raised -------------------------------------------------------------------


def plain(lines):
    for colour in ("\x1b[31m", "\x1b[0m"):
        lines = [line.replace(colour, "") for line in lines]
    return "\n".join(lines)


@pytest.mark.parametrize("source", [STUB, "def double(x):\n    return x * x",
                                    "def double(x):\n    return 1 / 0"])  # fmt: skip
def test_an_error_draws_itself_twice_in_the_same_plain_lines(source):
    with pytest.raises(CheckFailed) as caught:
        check("99.1", typed(source, "double"))
    error = caught.value
    assert isinstance(error, AssertionError) and error.__cause__ is None
    assert error.__suppress_context__
    first, second = error._render_traceback_(), error._render_traceback_()
    assert first == second and isinstance(first, list)
    assert all(type(line) is str and "\n" not in line for line in first)
    assert plain(first) == str(error)
    assert error.args == (str(error),)


def test_an_error_without_arguments_can_be_drawn():
    error = CheckFailed("text")
    error.args = ()
    assert all(type(line) is str for line in error._render_traceback_())


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("99.1",), 'Exercise 99.1 is checked with check("99.1", double).'),
        (("99.1", abs, abs), 'Exercise 99.1 is checked with check("99.1", double).'),
        (("99.2", abs), 'is checked with check("99.2", there, back).'),
        (("99.99", abs), "There is no exercise '99.99': lesson 99 has 99.1, 99.2, "),
        (("98.1", abs), "There is no exercise '98.1': lessons are 0, "),
        (("softmax", abs), "There is no exercise 'softmax': lessons are "),
        (("²", abs), "There is no exercise '²': lessons are "),
        (("", abs), "There is no exercise '': lessons are "),
        ((99.1, abs), 'in quotes: check("2.B", ...).'),
        ((abs, "99.1"), 'in quotes: check("2.B", ...).'),
        (
            ("99.7", "my text"),
            "Exercise 99.7 has no check: a person reads your answer.",
        ),
    ],
)
def test_a_wrong_call_gets_one_clear_sentence(arguments, sentence):
    with pytest.raises(CheckFailed) as caught:
        check(*arguments)
    assert sentence in str(caught.value)
    assert "\n" not in str(caught.value)


# --- borrowed answers -----------------------------------------------------------------


class Sub(SelfAttention):
    pass


BORROWED = [
    ("2.A", softmax),
    ("2.A", partial(softmax)),
    ("2.A", partial(softmax, dim=0)),
    ("2.C", SelfAttention),
    ("2.C", Sub),
    ("2.C", type("Deeper", (Sub,), {})),
]


@pytest.mark.parametrize(("exercise", "answer"), BORROWED)
def test_a_borrowed_answer_is_reported_and_not_counted(exercise, answer, capsys):
    report = judge(exercise, answer)
    assert report.borrowed and report.outcome == "not attempted"
    assert check(exercise, answer) is None
    shown = capsys.readouterr()
    assert shown.out.startswith(f"○ {exercise} borrowed, not counted")
    assert shown.err == "" and "passed" not in shown.out


@pytest.mark.parametrize(("exercise", "answer"), BORROWED)
def test_a_borrowed_answer_fails_while_grading(exercise, answer, monkeypatch):
    monkeypatch.setenv("NBGRADER_EXECUTION", "autograde")
    with pytest.raises(CheckFailed, match="borrowed, not counted"):
        check(exercise, answer)


def test_an_own_answer_beside_a_borrowed_one_is_judged():
    lent, right = softmax, typed("def back(x):\n    return x.log()", "back")
    report = judge("99.2", lent, torch.log10)
    assert (report.outcome, report.misconception) == ("wrong", "base 10")
    assert not report.borrowed
    report = judge("99.2", lent, right)
    assert report.borrowed and report.outcome == "not attempted"


def test_borrow_lends_the_reference(capsys):
    assert borrow("2.A") is softmax
    assert "○ 2.A borrowed: softmax. Not counted as done." in capsys.readouterr().out
    assert borrow("99.2") == PAIR.references


@pytest.mark.parametrize("exercise", ["99.5", "99.7"])
def test_what_cannot_be_told_apart_from_an_own_answer_is_not_lent(exercise):
    with pytest.raises(CheckFailed, match="nothing to borrow"):
        borrow(exercise)


def test_nothing_is_lent_while_grading(monkeypatch):
    monkeypatch.setenv("NBGRADER_EXECUTION", "autograde")
    with pytest.raises(CheckFailed, match="no points"):
        borrow("2.A")


def test_calling_the_course_is_not_borrowing():
    own = typed("def softmax(x, dim):\n    return torch.softmax(x, dim)", "softmax")
    assert not judge("2.A", own).borrowed


# --- in a real shell ------------------------------------------------------------------


@pytest.fixture
def shell():
    from IPython.core.interactiveshell import InteractiveShell
    from traitlets.config import Config

    quiet = Config({"HistoryManager": {"enabled": False}})
    shell = InteractiveShell(config=quiet)
    hooks = sys.displayhook, sys.excepthook
    yield shell
    sys.displayhook, sys.excepthook = hooks
    InteractiveShell.clear_instance()


def run(shell, source):
    return shell.run_cell(source, store_history=True)


def test_in_a_shell_the_line_of_the_cell_is_found(shell, capsys):
    run(shell, "from helpers.checks import check, judge")
    run(shell, "first = 1")
    run(shell, "def double(x):\n    z = x\n    y = z.nothing\n    return y")
    run(shell, "report = judge('99.1', double)")
    report = shell.user_ns["report"]
    assert report.evidence[0] == "Your line 3: y = z.nothing"
    capsys.readouterr()
    done = run(shell, "check('99.1', double)")
    assert type(done.error_in_exec) is CheckFailed
    shown = capsys.readouterr()
    assert plain(shown.out.splitlines()) == str(report) and shown.err == ""


def test_in_a_shell_blanks_of_functions_and_classes_are_found(shell):
    run(shell, "import torch\nfrom torch import nn\nfrom helpers.checks import judge")
    run(shell, STUB.strip())
    run(shell, LAYER.format(seed=0, first="W", layer="X", second="drop", other=DROP)
        .replace("nn.X", "..."))  # fmt: skip
    run(shell, "reports = judge('99.1', double), judge('99.4', Scale)")
    function, class_ = shell.user_ns["reports"]
    assert "double is still to be written, line 3: y = ..." in str(function)
    assert "Scale is still to be written, line 5: self.W = ..." in str(class_)


def test_a_run_remembers_what_was_printed_and_not_more():
    answer = DOUBLED.answers[0]
    chatty = typed("def double(x):\n    print('x' * 10**6)\n    return x", "double")
    run = run_case(chatty, answer, DOUBLED.cases(0)[0])
    assert set(run.printed) == {"x"} and len(run.printed) <= 2000


# --- what is said once ----------------------------------------------------------------


def test_a_return_is_asked_for_where_there_is_none_with_a_value():
    one = replace(
        DOUBLED,
        answers=(Answer("half", lambda x: x / 2, {"y": ""}),),
        cases=lambda seed: [Case("two", (2.0,))],
        misconceptions=(),
        properties=(),
    )
    forgot = "got None. Is there a `return`?"
    assert forgot in str(
        engine.examine(one, (typed("def half(x):\n    x / 2", "half"),))
    )
    empty = "def half(x):\n    best = None\n    return best"
    assert "got None." in str(engine.examine(one, (typed(empty, "half"),)))
    assert forgot not in str(engine.examine(one, (typed(empty, "half"),)))
    inside = "def half(x):\n    def inner():\n        return x\n    inner()"
    assert forgot in str(engine.examine(one, (typed(inside, "half"),)))
    assert forgot in str(engine.examine(one, (lambda x: None,)))

    def made():
        return lambda x: None

    assert forgot in str(engine.examine(one, (made(),)))


def test_a_property_does_not_tell_of_nan_again():
    def off(case, outputs):
        return f"one of them is {outputs['y'].max().item():.4f}"

    halves = replace(
        DOUBLED,
        answers=(Answer("half", lambda x: x / 2, {"y": "n"}),),
        cases=lambda seed: [Case("two", (torch.ones(2),))],
        misconceptions=(),
        properties=(Property("Are all small", off),),
    )
    text = str(engine.examine(halves, (lambda x: x / 0 - x / 0,)))
    assert "entries are NaN" in text and "small" not in text
    assert "Are all small? No: one" in str(engine.examine(halves, (lambda x: x * 3,)))


def test_shares_and_cases_of_masking_are_called_what_they_are():
    source = (
        "def hide(ids, special, mask_id, vocab_size):\n"
        "    chosen = (torch.rand(ids.shape) < 0.15) & ~special\n"
        "    words = torch.where(chosen, ids + 7, ids)\n"
        "    return words, ids.masked_fill(~chosen, -100)"
    )
    text = str(engine.judge("9.A", typed(source, "hide"), limit=60))
    assert "of these another word: expected 'about 10%', got '100%'." in text
    source = source.replace("ids + 7", "mask_id").replace("0.15", "0.5")
    text = str(engine.judge("9.A", typed(source, "hide"), limit=60))
    assert "1 of 3 cases: 8 words, of which only the last is looked at." in text
