"""Hunt for wrong answers that a check lets pass: `make hunt EXERCISE=2.B`.

Every first-order mutant of the lesson's own solution is put to its check. One that
passes is asked again, on inputs that the check does not have: larger, negative, cut
and constant ones. Where it then differs from the solution, the check has a hole.
Survivors of core exercises need a reason in `tools/proofs/equivalent_mutants.toml`.
"""

import argparse
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from helpers.checks.compare import Yardstick
from helpers.checks.engine import examine, exercises, find
from helpers.checks.exercise import Case, Exercise
from helpers.checks.observe import cases_of, run_case
from helpers.checks.report import CheckFailed
from tools.build.lesson_cells import lesson, run_cell, solutions
from tools.build.stubs import SCAFFOLD, regions, solved
from tools.proofs.mutants import Mutant, mutants

REASONS = Path(__file__).with_name("equivalent_mutants.toml")
CODE = ("function", "class", "probe")
LIMIT = 2.0  # seconds until a mutant is stopped
SEEDS = range(3)


@dataclass(frozen=True)
class Survivor:
    """A mutant that its check lets pass."""

    exercise: Exercise
    mutant: Mutant
    differs: str  # on which other inputs it differs from the solution, or ""


@dataclass(frozen=True)
class Catch:
    """What the hunt in one exercise brought in."""

    exercise: Exercise
    tried: int
    survivors: tuple[Survivor, ...]


def hunt(exercise: Exercise) -> Catch:
    """Put every mutant of an exercise's solution to its check."""
    cell, lines = solution_cell(exercise)
    world = solutions(exercise.lesson)
    unnamed = replace(exercise, misconceptions=())  # only the verdict is asked for
    tried, survivors = 0, []
    for mutant in mutants(cell, lines):
        answers = answers_of(exercise, mutant.source, world)
        tried += 1
        if answers is None or not all(_passes(unnamed, answers, s) for s in SEEDS):
            continue
        survivors.append(Survivor(exercise, mutant, _differs(exercise, answers, world)))
    return Catch(exercise, tried, tuple(survivors))


def solution_cell(exercise: Exercise) -> tuple[str, set[int]]:
    """The solved cell of an exercise, and the numbers of the lines to be written.

    Raises:
        ValueError: No cell of the lesson solves it.
    """
    for cell in lesson(exercise.lesson).cells:
        if cell.cell_type == "code" and cell.metadata.get("exercise") == exercise.id:
            break
    else:
        raise ValueError(f"No cell of lesson {exercise.lesson} solves {exercise.id}.")
    where = f"exercise {exercise.id}"
    source, inside, numbers = cell.source, set(), set()
    for region in regions(source, where):
        inside |= set(range(region.first + 1, region.last))
    kept = 0
    markers = {n for r in regions(source, where) for n in (r.first, r.last)}
    for number, line in enumerate(source.splitlines()):
        if number in markers or line.lstrip().startswith(SCAFFOLD):
            continue
        kept += 1
        if number in inside:
            numbers.add(kept)
    return solved(source, where), numbers


def answers_of(exercise: Exercise, source: str, world: dict[str, Any]) -> tuple | None:
    """What a mutant's cell defines; None where it can't even be executed."""
    namespace = dict(world)
    try:
        run_cell(source, namespace)
    except Exception:
        return None
    return tuple(namespace[name] for name in exercise.names)


def _passes(exercise: Exercise, answers: tuple, seed: int) -> bool:
    return examine(exercise, answers, seed=seed, limit=LIMIT).outcome == "passed"


def _differs(exercise: Exercise, answers: tuple, world: dict[str, Any]) -> str:
    """The first input of another kind on which the answers differ from the solution."""
    right = [world[name] for name in exercise.names]
    for seed in SEEDS:
        for case in cases_of(exercise, seed):
            if exercise.kind == "probe":
                continue  # its inputs are models, judged right or wrong
            for other in _others(case):
                answer, of = exercise.answers[case.of], case.of
                ours = run_case(right[of], answer, other, LIMIT)
                mine = run_case(answers[of], answer, other, LIMIT, donor=ours.module)
                if "raised" in ours.judged:
                    continue
                if not Yardstick(other.tolerance).agree(mine.judged, ours.judged):
                    return other.name
    return ""


def _others(case: Case) -> Iterator[Case]:
    """The case with inputs that are like none in the check."""
    changes = {
        "100 times as large": lambda x: x * 100,
        "negative": lambda x: -x.abs(),
        "all zero": torch.zeros_like,
        "all the same": torch.ones_like,
        "in reverse order": lambda x: x.flip(-1),
    }
    for name, change in changes.items():
        floats = [_changed(arg, change) for arg in case.args]
        if any(a is not b for a, b in zip(floats, case.args, strict=True)):
            yield replace(case, name=f"{case.name}, {name}", args=tuple(floats))
    shorter = [
        arg[:1] if isinstance(arg, Tensor) and arg.dim() > 1 else arg
        for arg in case.args
    ]
    yield replace(case, name=f"{case.name}, first of the batch", args=tuple(shorter))


def _changed(arg: Any, change: Any) -> Any:
    if isinstance(arg, Tensor) and arg.is_floating_point():
        return change(arg)
    return arg


def reasons() -> dict[str, dict[str, str]]:
    """Exercise id -> mutant -> why it may pass."""
    written = tomllib.loads(REASONS.read_text(encoding="utf-8"))
    return {
        exercise: {mutant: one["why"] for one in some for mutant in one["mutants"]}
        for exercise, some in written.items()
    }


def main(arguments: list[str] | None = None) -> int:
    """Print the survivors; returns 1 if one needs a reason and has none."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.proofs.hunt", description=__doc__
    )
    parser.add_argument("exercise", nargs="*", help="such as 2.B; default: all")
    options = parser.parse_args(arguments)
    torch.set_num_threads(1)
    try:
        asked = [find(name) for name in options.exercise] or exercises()
    except CheckFailed as error:
        print(error, file=sys.stderr)
        return 2
    code = [one for one in asked if one.kind in CODE]
    if options.exercise and len(code) < len(asked):
        idle = ", ".join(one.id for one in asked if one not in code)
        print(
            f"No code is asked for in {idle}: nothing to hunt there.", file=sys.stderr
        )
        return 2
    why = reasons()
    holes = sum(_told(one, why) for one in code)
    print(f"{holes} survivors need a reason or a better check.")
    return 1 if holes else 0


def _told(exercise: Exercise, why: dict[str, dict[str, str]]) -> int:
    """Hunt in one exercise and print the catch; returns how many need a reason."""
    catch, given = hunt(exercise), why.get(exercise.id, {})
    star, holes = " *" if exercise.core else "", 0
    print(
        f"{exercise.id}{star} {exercise.title}: {catch.tried} mutants, "
        f"{len(catch.survivors)} survive"
    )
    for one in catch.survivors:
        verdict = f"differs ({one.differs})" if one.differs else "no difference seen"
        reason = given.get(str(one.mutant), "")
        holes += (exercise.core or bool(one.differs)) and not reason
        print(f"  line {one.mutant.line}: {one.mutant}\n    {reason or verdict}")
    sys.stdout.flush()
    return holes


if __name__ == "__main__":
    sys.exit(main())
