"""Right answers that are written differently pass: the course's, changed by rule.

An answer that computes in float32, detaches weights that are only looked at, fills a
mask with another large number, or stands on the student's own parts is as right as the
course's. A change that does not apply to an answer is left out by a rule, never by a
list: it changes nothing in the code, the course's own code can't run with it, or what
it changes is what the exercise returns.
"""

import ast
import inspect
import math
import sys
import textwrap
from collections import Counter
from functools import cache, partial
from pathlib import Path

import pytest
import torch
from torch import Tensor
from variants import variants

from conftest import seeds
from helpers.checks import exercises
from helpers.checks.engine import examine
from helpers.checks.observe import cases_of, in_float32, run_case
from tools.proofs.kill_matrix import answers_with

CODE = ("function", "class")
EXERCISES = {one.id: one for one in exercises() if one.kind in CODE}
VARIANTS = variants()
FILLS = {
    "minus infinity": "float('-inf')",
    "-1e9": "-1e9",
    "finfo.min": "torch.finfo(torch.float32).min",
}
LARGE = ("-torch.inf", "-math.inf", "-inf", "float('-inf')", "-1000000000.0")


# --- wrapped: what goes in and what comes out -----------------------------------------


def converted(value, kinds, dtype):
    """Tensors of some dtypes in another one; also inside tuples and lists."""
    if isinstance(value, tuple | list):
        return type(value)(converted(one, kinds, dtype) for one in value)
    if isinstance(value, Tensor) and value.dtype in kinds:
        return value.to(dtype)
    return value


def wrapped(reference, before=lambda value: value, after=lambda result: result):
    """The reference between two conversions."""

    def answer(*args, **options):
        args = tuple(map(before, args))
        options = {name: before(value) for name, value in options.items()}
        return after(getattr(reference, "forward", reference)(*args, **options))

    if not isinstance(reference, type):
        return answer
    return type(reference.__name__, (reference,), {"forward": answer})


def single(exercise, answer):
    """Left out where a model is given: its weights are in float64."""
    for case, _ in ours(exercise.id):
        if exercise.answers[case.of] is answer and any(map(callable, case.args)):
            return None
    return None if exercise.exact else in_float32(answer.reference)


def detached(exercise, answer):
    """Its weights are detached; where a result has that name, it is only drawn."""
    place = list(answer.returns).index("weights") if "weights" in answer.returns else -1
    if place < 0:
        return None

    def after(result):
        return tuple(
            one.detach() if number == place else one
            for number, one in enumerate(result)
        )

    return wrapped(answer.reference, lambda value: value, after)


def with_int32(exercise, answer):
    """Ids in int32, where the course's own code can read them and returns none."""
    if exercise.exact:
        return None
    small = lambda value: converted(value, (torch.int64,), torch.int32)  # noqa: E731
    answered = wrapped(answer.reference, small)
    for case, right in ours(exercise.id):
        if exercise.answers[case.of] is answer:
            whole = [value for value in right.judged.values() if _whole(value)]
            if whole or run_case(answered, answer, case).raised is not None:
                return None
    return answered


def _whole(value):
    return isinstance(value, Tensor) and not value.is_floating_point()


# --- rewritten: the reference's source with something exchanged -----------------------


def rewritten(thing, change):
    """An answer from its file with the source changed; None where nothing changes."""
    tree = _module(inspect.getsourcefile(thing))
    before = ast.dump(tree)
    tree = ast.fix_missing_locations(change.visit(tree))
    if ast.dump(tree) == before:
        return None
    names = {"__name__": "another_spelling", "_single": _single, "torch": torch}
    exec(compile(tree, "<another spelling>", "exec"), names)
    return names.get(thing.__name__)


def _module(file):
    return ast.parse(Path(file).read_text(encoding="utf-8"))


def each_written(exercise):
    """The independent solutions, each as a tuple."""
    for variant in VARIANTS.get(exercise.id, ()):
        yield variant if isinstance(variant, tuple) else (variant,)


def respelt(exercise, change):
    """Every independent solution with its source changed."""
    for things in each_written(exercise):
        changed = [_respelt(thing, change) for thing in things]
        if any(one is not None for one in changed):
            yield things[0].__name__, tuple(map(_either, changed, things))


def _respelt(thing, change):
    named = inspect.isfunction(thing) or isinstance(thing, type)
    return rewritten(thing, change) if named else None


def _either(changed, thing):
    return thing if changed is None else changed


def _single(value):
    """A Python number rounded to float32; tensors stay."""
    if isinstance(value, float):
        return torch.tensor(value, dtype=torch.float32).item()
    return value


class Constants(ast.NodeTransformer):
    """Roots and powers of numbers come from float32."""

    def visit_Call(self, node):
        self.generic_visit(node)
        called = ast.unparse(node.func)
        return self._rounded(node) if called in ("math.sqrt", "math.log") else node

    def visit_BinOp(self, node):
        self.generic_visit(node)
        return self._rounded(node) if isinstance(node.op, ast.Pow) else node

    def _rounded(self, node):
        return ast.Call(ast.Name("_single", ast.Load()), [node], [])


class Fill(ast.NodeTransformer):
    """Every large negative number is exchanged for another."""

    def __init__(self, to):
        self.to = ast.parse(to, mode="eval").body

    def visit(self, node):
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
            return node  # 0 times infinity is not a number: no fill
        text = ast.unparse(node) if isinstance(node, ast.expr) else ""
        large = text in (
            "-torch.inf",
            "-math.inf",
            "-inf",
            "float('-inf')",
            "-1000000000.0",
        )
        return self.to if large or text.endswith(").min") else self.generic_visit(node)


def with_constants(exercise):
    yield from () if exercise.exact else respelt(exercise, Constants())


def filled(exercise, fill):
    """Left out where a result is minus infinity itself: the fill is returned."""
    results = [
        value for _, right in ours(exercise.id) for value in right.judged.values()
    ]
    if not any(map(_infinite, results)):
        yield from respelt(exercise, Fill(fill))


def _infinite(value):
    if isinstance(value, Tensor) and value.is_floating_point():
        return bool(value.isneginf().any())
    return isinstance(value, float) and value == -math.inf


# --- own parts ------------------------------------------------------------------------


@cache
def parts():
    """The course's own answers, and somebody else's in their place."""
    found = {}
    for exercise in EXERCISES.values():
        for variant in VARIANTS.get(exercise.id, ())[:1]:
            others = variant if isinstance(variant, tuple) else (variant,)
            for answer, other in zip(exercise.answers, others, strict=True):
                found[id(answer.reference)] = other
    return found


def on_own_parts(exercise):
    """An answer calls a student's answers to other exercises, not the course's."""
    for things in (exercise.references, *each_written(exercise)):
        changed = [_with_parts(thing) for thing in things]
        answers = tuple(map(_either, changed, things))
        if any(one is not None for one in changed) and _runs(exercise, answers):
            yield things[0].__name__, answers


def _with_parts(thing):
    if not (inspect.isfunction(thing) or isinstance(thing, type)):
        return None
    names = vars(sys.modules[thing.__module__])
    tree = _module(inspect.getsourcefile(thing))
    used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    other = {
        name: parts()[id(names[name])]
        for name in used & names.keys()
        if id(names[name]) in parts() and names[name] is not thing
    }
    if not other:
        return None
    names = names | other
    source = textwrap.dedent(inspect.getsource(thing))
    exec(compile(source, "<own parts>", "exec"), names)
    return names[thing.__name__]


def _runs(exercise, answers):
    """Whether it raises nothing: the course's may ask its parts for more."""
    return all(
        run_case(answers[case.of], exercise.answers[case.of], case).raised is None
        for case, _ in ours(exercise.id)
    )


# --- and all of them pass -------------------------------------------------------------

WRAPPED = {"in float32": single, "weights detached": detached, "int32": with_int32}
WRITTEN = {"constants in float32": with_constants, "own parts": on_own_parts} | {
    f"filled with {name}": partial(filled, fill=fill) for name, fill in FILLS.items()
}


@cache
def ours(exercise_id):
    """The cases of an exercise with what the course's own answer gives."""
    exercise = EXERCISES[exercise_id]
    return [
        (
            case,
            run_case(
                exercise.answers[case.of].reference, exercise.answers[case.of], case
            ),
        )
        for case in cases_of(exercise, 0)
    ]


def family(exercise):
    """Each change that applies to an exercise: the change, whose, and the answers."""
    for name, change in WRAPPED.items():
        for place, answer in enumerate(exercise.answers):
            if (changed := change(exercise, answer)) is not None:
                yield name, answer.name, answers_with(exercise, place, changed)
    for name, change in WRITTEN.items():
        yield from ((name, whose, answers) for whose, answers in change(exercise))


@pytest.mark.parametrize(
    "exercise",
    [
        pytest.param(one, id=one.id, marks=pytest.mark.lesson(str(one.lesson)))
        for one in EXERCISES.values()
    ],
)
def test_right_answers_that_are_written_differently_pass(exercise):
    refused = []
    for name, whose, answers in family(exercise):
        for seed in seeds():
            report = examine(exercise, answers, seed=seed)
            if report.outcome != "passed":
                refused.append(f"{whose} {name}, seed {seed}: {report}")
                break
    assert not refused, "\n".join(refused)


def test_each_change_applies_to_some():
    """A rule that leaves every answer out would prove nothing."""
    some = [one for one in EXERCISES.values() if one.lesson in (2, 3, 6)]
    counts = Counter(name for exercise in some for name, *_ in family(exercise))
    assert counts.keys() == WRAPPED.keys() | WRITTEN.keys(), counts
    assert min(counts.values()) >= 2 and counts.total() >= 60, counts
