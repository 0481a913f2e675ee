"""Every check lets right answers pass, whoever wrote them, and names the wrong ones.

All tests run over `exercises()`: an exercise is under them from its first day.
"""

import os
import random
import re
import sys
import time
import warnings
from dataclasses import replace

import memory
import numpy as np
import pytest
import torch
from torch import nn
from variants import variants
from worlds import world

from conftest import seeds
from helpers.checks import CheckFailed, check, exercises, judge
from helpers.checks.compare import Yardstick
from helpers.checks.engine import examine
from helpers.checks.exercise import Answer, Exercise, mistake
from helpers.checks.observe import cases_of, run_case
from helpers.exercises import kit
from tools.build.lesson_cells import solutions, stubs
from tools.proofs.kill_matrix import answers_with, tried

QUICK = "COURSE_QUICK" in os.environ  # one seed and one spelling: `make quick`
DEEP = "COURSE_DEEP" in os.environ  # every bad answer to every exercise: `make deep`
SEEDS = seeds()
OTHER_PROCESSOR = "ATEN_CPU_CAPABILITY" in os.environ
CODE = ("function", "class", "probe")

RANDOM = {"7.E", "9.A", "9.K", "11.G"}  # judged by how often something happens
CHECKABLE = [exercise for exercise in exercises() if exercise.answers]
CODED = [exercise for exercise in CHECKABLE if exercise.kind in CODE]
VARIANTS = variants()


def param(exercise, *values, name="", marks=()):
    """A parameter that `make quick LESSON=02` finds: "2.B-no scaling"."""
    return pytest.param(
        exercise,
        *values,
        id="-".join(filter(None, (exercise.id, name))),
        marks=[pytest.mark.lesson(str(exercise.lesson)), *marks],
    )


def each(some):
    return pytest.mark.parametrize("exercise", [param(one) for one in some])


def sharing(exercise, *values, name):
    """A parameter whose tests share remembered runs: one worker for each exercise."""
    group = pytest.mark.xdist_group(exercise.id)
    return param(exercise, *values, name=name, marks=[group])


each_sharing = pytest.mark.parametrize(
    "exercise", [sharing(one, name="") for one in CHECKABLE]
)

each_misconception = pytest.mark.parametrize(
    ("exercise", "misconception"),
    [sharing(e, m, name=m.name) for e in CHECKABLE for m in e.misconceptions],
)


def name_of(variant):
    one = variant[0] if isinstance(variant, tuple) else variant
    return getattr(one, "__name__", str(one))


# --- right answers pass ---------------------------------------------------------------


@pytest.mark.processor
@each(CHECKABLE)
def test_the_reference_passes(exercise):
    for seed in SEEDS:
        report = examine(exercise, exercise.references, seed=seed)
        assert report.outcome == "passed", report


@pytest.mark.processor
@pytest.mark.parametrize(
    ("exercise", "variant"),
    [
        param(exercise, variant, name=name_of(variant))
        for exercise in CODED
        for variant in VARIANTS.get(exercise.id, ())
    ],
)
def test_an_independent_solution_passes(exercise, variant):
    answers = variant if isinstance(variant, tuple) else (variant,)
    for seed in SEEDS:
        report = examine(exercise, answers, seed=seed)
        assert report.outcome == "passed", report


@each(CHECKABLE)
def test_the_solution_of_the_lesson_passes_and_says_so(exercise, capsys):
    names = solutions(exercise.lesson)
    answers = [names[name] for name in exercise.names]
    assert check(exercise.id, *answers) is None
    shown = capsys.readouterr()
    assert shown.out.startswith(f"✓ {exercise.id} passed. Shown: ")
    assert shown.out.count("\n") == 1
    assert shown.err == ""
    assert len(exercise.proves) > 10


@each(CHECKABLE)
def test_the_untouched_stub_is_not_attempted(exercise):
    names = stubs(exercise.lesson)
    report = judge(exercise.id, *(names[name] for name in exercise.names))
    assert report.outcome == "not attempted" and not report.borrowed, report
    assert exercise.names[0] in str(report)
    if exercise.kind != "value":
        assert re.search(
            r"line \d+: (raise NotImplementedError|.* = \.\.\.)", str(report)
        )


@each(CODED)
def test_the_reference_never_raises(exercise):
    for seed in SEEDS:
        for case in cases_of(exercise, seed):
            answer = exercise.answers[case.of]
            assert run_case(answer.reference, answer, case).raised is None, case.name


@each(CODED)
def test_properties_hold_for_the_reference(exercise):
    for seed in SEEDS:
        for case in cases_of(exercise, seed):
            answer = exercise.answers[case.of]
            seen = run_case(answer.reference, answer, case)
            broken = [rule.broken(case, seen.judged) for rule in exercise.properties]
            assert not any(broken), f"{case.name}: {broken}"


# --- wrong answers are rejected and named ---------------------------------------------


@pytest.fixture
def shared_runs(monkeypatch, exercise):
    memory.remember(monkeypatch, exercise.id)


@pytest.mark.processor
@each_misconception
def test_a_misconception_is_rejected_and_named(exercise, misconception, shared_runs):
    """Each spelling: so no two mistakes do the same, or neither would be named."""
    spellings = len(misconception.spellings)
    for spelling in range(1 if QUICK or OTHER_PROCESSOR else spellings):
        for seed in SEEDS if spelling == 0 else [spelling % 3]:  # all: make kill-matrix
            trial = tried(exercise, misconception, spelling, seed)
            assert trial.named, f"{trial}\n{trial.report}"
            assert misconception.done in str(trial.report)
            assert misconception.where in str(trial.report)
            assert "'Misconception' object" not in str(trial.report)  # its own slip


@pytest.mark.slow
@each_misconception
def test_a_misconception_is_far_from_right(exercise, misconception, shared_runs):
    """Ten times farther than float32 may be, where that counts as right."""
    answer = exercise.answers[misconception.of]
    for number, spelling in enumerate(misconception.spellings):
        apart = []
        for case in memory.cases_of(exercise.id, number % 3):
            if case.of == misconception.of:
                run = memory.run_case(spelling, answer, case)
                donor = run.module
                right = memory.run_case(answer.reference, answer, case, donor=donor)
                yardstick = yardstick_of(exercise, case)
                apart.append(yardstick.distance(run.judged, right.judged))
        assert max(apart) >= 10, f"spelling {number + 1}: {apart}"


def yardstick_of(exercise, case):
    """The widest that a check compares a case with."""
    if exercise.exact or exercise.kind == "value":
        return Yardstick(case.tolerance)
    return Yardstick(
        case.tolerance, memory.lost_in_float32(exercise.answers[case.of], case)
    )


@each([one for one in CHECKABLE if one.id in RANDOM])
def test_a_rate_that_is_wrong_is_far_from_right(exercise, monkeypatch):
    def asked(*what, sigmas=5.0):
        seen.append(what)
        return near(*what, max(10.0, sigmas))

    near, seen = kit.near, []
    monkeypatch.setattr(kit, "near", asked)
    memory.remember(monkeypatch, f"{exercise.id}, within 10 sigma")
    for known in exercise.misconceptions:
        for spelling in range(len(known.spellings)):
            trial = tried(exercise, known, spelling, 0)
            assert trial.named, f"not so within 10 sigma: {trial}"
    assert seen


def test_rates_are_asked_for_where_the_tests_think_so(monkeypatch):
    asking = set()
    for exercise in CODED:
        told = lambda *_, of=exercise.id, **__: asking.add(of) or True  # noqa: E731
        monkeypatch.setattr(kit, "near", told)
        examine(exercise, exercise.references)
    assert asking == RANDOM


@each(CHECKABLE)
def test_no_two_misconceptions_have_one_name(exercise):
    names = [known.name for known in exercise.misconceptions]
    assert len(names) == len(set(names))


def lacking(exercise, solutions):
    """What CONTRIBUTING asks of an exercise and it lacks, a sentence each."""
    coded = exercise.kind in CODE
    found, enough = len(exercise.misconceptions), 2
    if coded:
        enough = 6 if exercise.core else 3
    if found < enough:
        kind = "a core exercise" if coded and exercise.core else "an exercise"
        form = "in code" if coded else f"of kind {exercise.kind}"
        yield (
            f"Exercise {exercise.id} has {found} known mistakes, and {kind} {form} "
            f"needs {enough}: write {enough - found} more with `mistake`."
        )
    if coded and len(solutions) < 3:
        yield (
            f"Exercise {exercise.id} has {len(solutions)} independent solutions and "
            f"needs 3: write {3 - len(solutions)} more in its lesson's variants/."
        )
    asked = {case.of for case in cases_of(exercise, 0)}
    for place, answer in enumerate(exercise.answers):
        if place not in asked:
            yield (
                f"Exercise {exercise.id} has no case for {answer.name}: give it at "
                f"least one Case with of={place}."
            )


@each(CHECKABLE)
def test_there_are_enough_mistakes_solutions_and_cases(exercise):
    if sentences := list(lacking(exercise, VARIANTS.get(exercise.id, ()))):
        pytest.fail("\n".join(sentences), pytrace=False)


def test_what_an_exercise_lacks_is_told_in_sentences():
    rich = next(one for one in CODED if one.core and len(one.answers) == 1)
    poor = replace(rich, misconceptions=rich.misconceptions[:5], cases=lambda seed: [])
    value = next(one for one in CHECKABLE if one.kind == "value")
    value = replace(value, misconceptions=value.misconceptions[:1])
    assert list(lacking(rich, (abs, abs, abs))) == []
    assert list(lacking(poor, (abs,))) == [
        f"Exercise {rich.id} has 5 known mistakes, and a core exercise in code "
        "needs 6: write 1 more with `mistake`.",
        f"Exercise {rich.id} has 1 independent solutions and needs 3: write 2 more in "
        "its lesson's variants/.",
        f"Exercise {rich.id} has no case for {rich.names[0]}: give it at least one "
        "Case with of=0.",
    ]
    assert list(lacking(value, ())) == [
        f"Exercise {value.id} has 1 known mistakes, and an exercise of kind value "
        "needs 2: write 1 more with `mistake`."
    ]


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (
            {"kind": "essay"},
            "kind='essay' should be one of function, class, value, probe, written, "
            "open.",
        ),
        ({"difficulty": 6}, "difficulty=6 should be 1 to 5."),
        ({"answers": ()}, "kind='function' needs at least one Answer."),
        ({"kind": "open"}, "kind='open' has no check: give it no answers."),
        (
            {"misconceptions": (3.5,)},
            "3.5 is not a Misconception: write it with mistake.",
        ),
        (
            {"misconceptions": (mistake("half", "Halved.", "How much?"),)},
            "the mistake 'half' needs at least one spelling.",
        ),
        (
            {"misconceptions": (mistake("half", "Halved.", "How much?", abs, of=1),)},
            "the mistake 'half' stands in for answer 1, and there are 1, counted from "
            "0.",
        ),
    ],
)
def test_an_exercise_that_cannot_be_is_refused_in_a_sentence(change, sentence):
    right = Exercise("99.1", "T", "function", 2, 5, answers=(Answer("double", abs),))
    with pytest.raises(ValueError) as error:
        replace(right, **change)
    assert str(error.value) == f"Exercise 99.1: {sentence}"


def test_every_variant_belongs_to_an_exercise():
    assert set(VARIANTS) <= {exercise.id for exercise in CODED}


@each(CHECKABLE)
def test_sentences_are_sentences(exercise):
    for known in exercise.misconceptions:
        for sentence in (known.done, known.where):
            assert not re.match("[a-z]{2}", sentence) and sentence[-1] in ".?!"
            assert "  " not in sentence, sentence


# --- anything else that a student may hand in -----------------------------------------


class OfManyKinds:
    """A class of the student's own that can't even be shown."""

    def __repr__(self):
        raise RuntimeError("no picture")

    __str__ = __repr__


class Unspeakable(Exception):
    __str__ = OfManyKinds.__repr__


def raises(*_, **__):
    raise ValueError("my own mistake")


def raises_unspeakably(*_, **__):
    raise Unspeakable


def loops(*_, **__):
    while True:
        pass


def recurses(*_, **__):
    return recurses()


def leaves(*_, **__):
    sys.exit("bye")


def prints_a_lot(*_, **__):
    for _ in range(2000):
        print("hello " * 100)
    print("to stderr", file=sys.stderr)
    warnings.warn("careful", stacklevel=1)


def generates(*_, **__):
    yield torch.zeros(3)


def takes_nothing():
    return torch.zeros(3)


def nan_like(*args, **__):
    return torch.full_like(args[0], float("nan")) if args else torch.tensor(np.nan)


def of_bools(*args, **__):
    return tuple(torch.ones(5, 7, dtype=torch.bool) for _ in range(2))


RESULTS = {
    "None": lambda *_, **__: None,
    "a str": lambda *_, **__: "0.5",
    "a wrong shape": lambda *_, **__: torch.zeros(11, 13),
    "an empty tensor": lambda *_, **__: torch.zeros(0),
    "a sparse tensor": lambda *_, **__: torch.eye(3).to_sparse(),
    "NaN": nan_like,
    "a numpy array": lambda *_, **__: np.zeros((5, 7)),
    "a tuple of numpy arrays": lambda *_, **__: (np.zeros(3), np.zeros(3)),
    "bool tensors": of_bools,
    "a list of lists": lambda *_, **__: [[1.0], [2.0]],
    "a dict": lambda *_, **__: {"output": 1},
    "a huge int": lambda *_, **__: 10**5000,
    "something unshowable": lambda *_, **__: OfManyKinds(),
    "itself": lambda *args, **__: args,
}
DEEDS = {
    "raises": raises,
    "raises unspeakably": raises_unspeakably,
    "loops": loops,
    "recurses": recurses,
    "exits": leaves,
    "prints a lot": prints_a_lot,
    "a generator": generates,
    "wrong arity": takes_nothing,
}
THINGS = {
    "not a function but None": None,
    "not a function but a str": "softmax",
    "not a function but a number": 3.5,
    "not a function but NaN": float("nan"),
    "not a function but a huge int": -(10**5000),
    "not a function but a tensor": torch.zeros(3),
    "not a function but a numpy array": np.zeros((2, 2)),
    "not a function but a generator": (number for number in ()),
    "not a function but unshowable": OfManyKinds(),
    "not a function but a tuple": (1, ..., None),
    "the builtin len": len,
    "a class without anything": type("Empty", (), {}),
}
LIMIT = 0.2  # seconds until `loops` is stopped
BAD = RESULTS | DEEDS | THINGS
SOME = 1 if DEEP else 8 if QUICK else 4  # of these one to each exercise, in turn
DTYPES = ("bool", "int64", "float16", "complex128")


def handed_in(exercise, bad):
    """A bad answer in the place of the first one: a class where a class is asked."""
    if not isinstance(exercise.references[0], type) or bad in THINGS:
        return answers_with(exercise, 0, BAD[bad])
    forward = {"forward": lambda self, *args: BAD[bad](*args)}
    return answers_with(exercise, 0, type("Mine", (nn.Module,), forward))


# Where recursion ends, Python may drop an exception while it closes a generator.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize(
    ("exercise", "bad"),
    [
        sharing(exercise, bad, name=bad)
        for number, exercise in enumerate(CHECKABLE)
        for place, bad in enumerate(BAD)
        if (place - number) % SOME == 0
    ],
)
def test_a_bad_answer_ends_in_a_clear_outcome(exercise, bad, shared_runs, capsys):
    start = time.monotonic()
    report = examine(exercise, handed_in(exercise, bad), limit=LIMIT)
    assert time.monotonic() - start < 20
    assert report.outcome in ("raised", "wrong"), report
    text = str(report)
    assert text.startswith(f"✗ {exercise.id} {report.outcome}\n")
    assert "Stuck?" in text and len(text) < 2500
    for ours in (
        "Traceback",
        "helpers/checks",
        "helpers/exercises",
        " at 0x",
        "<lambda>",
    ):
        assert ours not in text, text
    assert capsys.readouterr() == ("", "")


def cast(result, dtype):
    if isinstance(result, tuple | list):
        return tuple(cast(one, dtype) for one in result)
    return result.to(dtype) if isinstance(result, torch.Tensor) else result


@pytest.mark.slow
@pytest.mark.parametrize(
    ("exercise", "dtype"),
    [
        sharing(exercise, dtype, name=dtype)
        for number, exercise in enumerate(CODED)
        for place, dtype in enumerate(DTYPES)
        if (place - number) % min(SOME, len(DTYPES)) == 0
    ],
)
def test_the_right_result_in_another_dtype_ends_in_an_outcome(
    exercise, dtype, shared_runs
):
    reference, dtype = exercise.references[0], getattr(torch, dtype)

    def forward(*args):
        return cast(getattr(reference, "forward", reference)(*args), dtype)

    mine = forward
    if isinstance(reference, type):
        mine = type("Mine", (reference,), {"forward": forward})
    report = examine(exercise, answers_with(exercise, 0, mine))
    assert report.outcome in ("wrong", "raised", "passed")  # passed: where it may


@each_sharing
def test_a_failed_check_raises_what_judge_reports(exercise, shared_runs):
    answers = handed_in(exercise, "None")
    with pytest.raises(CheckFailed) as error:
        check(exercise.id, *answers)
    assert str(error.value) == str(judge(exercise.id, *answers))


# --- and nothing is left behind -------------------------------------------------------


def vandal(*_, **__):
    """Change everything that an answer could leave behind, then fail."""
    torch.manual_seed(7), np.random.seed(7), random.seed(7)
    torch.rand(3), np.random.rand(3), random.random()
    torch.set_default_dtype(torch.float16)
    torch.set_grad_enabled(False)
    torch.set_num_threads(torch.get_num_threads() + 1)
    torch.set_default_device("meta")
    warnings.simplefilter("error")
    sys.setrecursionlimit(sys.getrecursionlimit() + 77)
    print("I was here")
    raise ValueError("done")


@pytest.mark.parametrize(
    ("exercise", "deed"),
    [
        sharing(exercise, deed, name=deed)
        for exercise in CODED
        for deed in ("the reference", "vandal", "loops")
    ],
)
def test_a_check_leaves_the_world_as_it_was(exercise, deed, monkeypatch):
    answers = exercise.references
    if deed != "the reference":  # an answer has to run, the usual mistakes have not
        memory.remember(monkeypatch, exercise.id)
        monkeypatch.setitem(BAD, "vandal", lambda *_, **__: vandal())  # a new one
        answers = handed_in(exercise, deed)
    with torch.no_grad():  # the answer itself runs with gradients
        before = world()
        examine(exercise, answers, limit=LIMIT)
        assert world() == before
