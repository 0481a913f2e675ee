"""What a wrong result hangs on, and the right one does not."""

from dataclasses import replace

import pytest
import torch

from helpers.checks import engine
from helpers.checks import influence as asked
from helpers.checks.exercise import Answer, Case, Exercise, Look
from tools.build.lesson_cells import typed


def numbers(*size, seed=0):
    draw = torch.Generator().manual_seed(seed)
    return torch.randn(size, generator=draw, dtype=torch.float64)


def so_far(x, mask):
    """The running mean over the places, without those that a mask leaves out."""
    kept = mask[:, None].to(x)
    return (x * kept).cumsum(0) / kept.cumsum(0).clamp(min=1)


def total(x, mask):
    """One number: the spread of the entries that a mask keeps, but for the last."""
    kept = x[:-1][mask[:-1]]
    return (kept - kept.mean()).square().mean()


MASKS = torch.tensor([True, True, False, True, True, True])


def exercise(reference, axes="", look=None):
    return Exercise(
        "99.1",
        "Hangs",
        "function",
        difficulty=1,
        minutes=1,
        answers=(Answer("mine", reference, {"y": axes}),),
        cases=lambda seed: [
            Case("six", (numbers(6, 3), MASKS), inputs=("x", "mask"), look=look),
            Case("five", (numbers(5, 4, seed=1), MASKS[1:]), inputs=("x", "mask")),
        ],
        proves="what it hangs on",
        locates=False,
    )


FAR = exercise(so_far, "place, feature")
ONE = exercise(total)


def told(body, of=FAR, **more):
    thing = typed(f"import torch\ndef mine(x, mask):\n    {body}", "mine")
    return str(engine.examine(of, (thing,), **more))


KEPT = "kept = mask[:, None].to(x); "
SENTENCES = {
    KEPT + "return ((x * kept).mean(0) + x * kept) / 2": (
        'some places of your result along the axis "place" changed with later places '
        "of `x` (axis 0); in the right one they did not."
    ),
    KEPT + "return x * kept * 1.3 + 0.2": (
        'some places of the right result along the axis "place" changed with earlier '
        "places of `x` (axis 0); in yours they did not."
    ),
    "return (x.cumsum(0) / (torch.arange(len(x)) + 2)[:, None])": (
        "we put other entries into `mask`: your result stayed as it was; the right one "
        "changed."
    ),
}


@pytest.mark.parametrize(("body", "said"), SENTENCES.items())
def test_the_places_that_a_result_hangs_on_are_told(body, said):
    assert f"y: In every case that fails, {said}" in told(body)


NUMBERS = {
    "kept = x[mask]; return (kept - kept.mean()).square().mean()": (
        "we put other entries at the last place of `x` (axis 0): your result changed; "
        "the right one stayed as it was."
    ),
    "kept = x[1:-1][mask[1:-1]]; return (kept - kept.mean()).square().mean()": (
        "we put other entries at the first place of `x` (axis 0): your result stayed "
        "as it was; the right one changed."
    ),
    "kept = x[:-1][mask[:-1]]; return (kept - kept.mean()).abs().pow(3).mean() "
    "+ kept.mean()": (
        "we added 1 to every entry of `x`: your result changed; the right one "
        "stayed as it was."
    ),
}


@pytest.mark.parametrize(("body", "said"), NUMBERS.items())
def test_so_are_those_that_one_number_hangs_on(body, said):
    assert f"y: In every case that fails, {said}" in told(body, ONE)


def test_a_case_in_which_another_result_is_wrong_is_not_spoken_of():
    """It fails as well, and nothing of the kind was seen there."""

    def two(x, mask):
        return so_far(x, mask), x.mean() * mask.sum()

    of = replace(FAR, answers=(Answer("mine", two, {"y": "place, feature", "z": ""}),))
    mean = "y = (x * kept).cumsum(0) / kept.cumsum(0).clamp(min=1)\n    "
    body = KEPT + mean + "if len(x) == {}: y = x * kept * 1.3 + 0.2\n"
    body += "    return y, 1 + x.mean()"
    assert "y: In the case shown, " in told(body.format(6), of)
    both = body.replace("1 + x.mean()", "x.mean() * mask.sum()")
    assert "y: In every case that fails, " in told(both.format(6), of)


def test_what_hangs_on_the_same_is_not_told_apart():
    mean = "mean = (x * kept).cumsum(0) / kept.cumsum(0).clamp(min=1); "
    bent = KEPT + mean + "return mean * torch.linspace(1, 2, x.numel()).view_as(x)"
    text = told(bent)
    assert "entries differ" in text and "In every case that fails" not in text


def test_what_is_so_in_one_case_only_is_not_said_of_others():
    later = KEPT + (
        "return (x * kept).mean(0) + x if len(x) == 6 else x.cos().cumsum(0) * kept"
    )
    assert "changed with later places" not in told(later)


def test_other_cases_that_can_not_be_asked_make_it_the_case_shown():
    def both(x, mask):
        return so_far(x, mask) if x.dim() == 2 else x.cumsum(0)

    def cases(seed):
        more = Case("a row", (numbers(7, seed=2), MASKS), inputs=("x", "mask"))
        return [*FAR.cases(seed), more]

    some = exercise(both, "place, feature")
    object.__setattr__(some, "cases", cases)
    text = told("return x.mean(0) + x", some)
    assert "y: In the case shown, " in text


def test_silent_where_a_look_judges_or_an_answer_fails_or_it_is_right():
    seen = exercise(so_far, look=lambda call, x, mask: Look({"y": call(x, mask)}))
    assert "In every case" not in told("return x.mean(0) + x", seen)
    fails = "return x.mean(0) + x if len(x) == 6 else 1 / 0"
    assert "In the case" not in told(fails) and "In every case" not in told(fails)
    assert "In every case" not in told("return None")


def test_what_is_not_finite_is_not_said_to_stay_as_it_was():
    for odd in ("(x - x) / 0", "x.abs() / 0"):
        text = told(f"return {odd}")
        assert "differ" in text or "NaN" in text
        assert "stayed as it was" not in text and "in yours they did not" not in text


@pytest.mark.parametrize("cap", ["RUNS", "SECONDS"])
def test_silent_where_there_is_no_time(cap, monkeypatch):
    leak = "return x.mean(0) + x"
    assert "In every case that fails, " in told(leak)
    monkeypatch.setattr(asked, cap, 0)
    assert "In every case that fails, " not in told(leak)


def test_grading_asks_nothing(monkeypatch):
    monkeypatch.setenv("NBGRADER_EXECUTION", "validate")
    assert "In every case that fails, " not in told("return x.mean(0) + x")
