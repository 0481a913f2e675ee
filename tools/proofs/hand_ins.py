"""Grade generated hand-ins and compare: `python -m tools.proofs.hand_ins`.

Each hand-in answers every exercise of a lesson at random: rightly, with a mistake, with
what crashes, or not at all. Its checks, called here one by one, say what it is worth;
then `make grade` grades all of them, and must give the same points.

A mistake in code is a mutant of the solution, one that the check knows by name where
there is one; a mistake in values is one of those that the exercise knows.

All is kept in build/hand-ins/, a folder for each seed, and a second run goes on where
the first one stopped. When checks or lessons have changed, delete the folder.
"""

import argparse
import ast
import csv
import io
import json
import random
import sys
import time
from collections.abc import Iterator
from contextlib import redirect_stdout
from functools import cache
from pathlib import Path
from typing import Any
from unittest import mock

import nbformat
from nbformat import NotebookNode

from helpers.checks import engine
from helpers.checks.engine import examine, find, judge
from helpers.checks.exercise import Exercise
from helpers.checks.report import Report
from helpers.files import write_whole
from tools.build.lesson_cells import imports, run_cell, solutions
from tools.build.notebooks import checked_exercise
from tools.grading import __main__ as grading
from tools.grading.course import chosen
from tools.grading.tables import ENCODING
from tools.proofs import hunt
from tools.proofs.kill_matrix import answers_with
from tools.proofs.mutants import mutants

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "build" / "hand-ins"
SHARES = {"right": 8, "mistake": 7, "untouched": 3, "crash": 2}
TRIED, KEPT = 12, 4  # mutants of a solution, or until one is wrong; those handed in
# Only the verdict of a check is asked for, not the line that is to blame.
VERDICT = mock.patch.object(engine, "locate", lambda *_: None)

Points = dict[str, float]  # exercise -> points


def hand_in(lesson: str, luck: random.Random) -> tuple[NotebookNode, dict[str, str]]:
    """A notebook as a student might hand it in, and how each exercise was answered.

    It holds only what is graded and what that needs: imports, answers, locked cells.

    Args:
        lesson: its name, such as "02_attention"
        luck: decides
    """
    given, solved = (
        nbformat.read(ROOT / kind / f"{lesson}.ipynb", 4)
        for kind in ("notebooks", "solutions")
    )
    right = {cell.id: cell.source for cell in solved.cells}
    given.cells = [
        cell
        for cell in given.cells
        if "nbgrader" in cell.metadata
        or cell.cell_type == "code"
        and imports(cell.source)
    ]
    numbers = {
        cell.id.removesuffix("-check"): checked_exercise(cell.source)
        for cell in given.cells
        if cell.id.endswith("-check")
    }
    ways = {}
    for cell in given.cells:
        if cell.id in numbers:
            number = numbers[cell.id]
            [way] = luck.choices(list(SHARES), SHARES.values())
            answers = _answers(way, number, right[cell.id])
            ways[number] = way if answers else "untouched"
            cell.source = luck.choice(answers or [cell.source])
    return given, ways


def _answers(way: str, number: str, right: str) -> list[str]:
    """Cells that answer an exercise in this way; [] leaves it untouched."""
    if way == "right":
        return [right]
    if way == "mistake":
        return mistakes(number)
    return _crashes(find(number), right) if way == "crash" else []


@cache
def mistakes(exercise_id: str) -> list[str]:
    """Wrong answers to an exercise as they stand in a cell, first those with a name."""
    exercise = find(exercise_id)
    if exercise.kind == "value":
        return list(_values(exercise))
    cell, lines = hunt.solution_cell(exercise)
    found = list(mutants(cell, lines))
    random.Random(exercise_id).shuffle(found)
    named, others = [], []
    for number, mutant in enumerate(found):
        if number >= TRIED and named + others:
            break
        report = _report(exercise, mutant.source)
        if report and report.outcome == "wrong":  # one that never ends has "raised"
            (named if report.misconception else others).append(mutant.source)
    return [*named, *others][:KEPT]


def _report(exercise: Exercise, source: str) -> Report | None:
    """What a check says of a cell; None where the cell can't be executed."""
    answers = hunt.answers_of(exercise, source, solutions(exercise.lesson))
    with VERDICT:
        return answers and examine(exercise, answers, limit=hunt.LIMIT)


def _values(exercise: Exercise) -> Iterator[str]:
    """The known mistakes of an exercise that asks for values, written as code."""
    for known in exercise.misconceptions:
        for one in known.spellings:
            values = answers_with(exercise, known.of, one)
            lines = map("{} = {!r}".format, exercise.names, values)
            source = "\n".join(lines)
            try:
                [ast.literal_eval(repr(value)) for value in values]
            except (ValueError, SyntaxError):  # a tensor, infinity
                continue
            yield source


def _crashes(exercise: Exercise, right: str) -> list[str]:
    """Cells that break: at once, before or after an answer is there, or when called."""
    typo = "def {}(*inputs, **more):\n    return inptus"
    return [
        f"{right}\n)",
        "\n".join(f"{name} = not_there" for name in exercise.names),
        f"{right}\nraise RuntimeError('after the answer')",
        "\n\n\n".join(map(typo.format, exercise.names)),
    ]


def worth(notebook: NotebookNode, seed: int) -> Points:
    """The points of each exercise, by its check, on the inputs of a seed.

    The cells run one after the other, as in a notebook whose errors do not stop it.
    """
    passed: dict[str, bool] = {}

    def check(number: str, *answers: Any) -> None:
        with VERDICT:
            report = judge(number, *answers, seed=seed)
        passed[number] = report.outcome == "passed" and not report.borrowed

    space: dict[str, Any] = {"__name__": "__main__"}
    points = {}
    for cell in notebook.cells:
        if cell.cell_type != "code":
            continue
        number = checked_exercise(cell.source)
        if number:
            space["check"] = check
        try:
            with redirect_stdout(io.StringIO()):
                run_cell(cell.source, space)
        except Exception:
            pass  # the next cell runs as well
        if number:
            points[number] = passed.get(number, False) * cell.metadata.nbgrader.points
    return points


def generate(folder: Path, count: int, lessons: list[str], seed: int) -> dict:
    """Write hand-ins that are not there yet.

    Args:
        folder: for all of this seed; they get the folder handed-in/ in it
        count: how many, over all lessons
        lessons: their names
        seed: of the answers, and of the inputs that they are checked on

    Returns:
        student -> {"lesson": name, "ways": exercise -> how it was answered, "points":
        exercise -> points}
    """
    kept = folder / "expected.json"
    known = json.loads(kept.read_text("utf-8")) if kept.exists() else {}
    wanted = {}
    for number in range(count):
        lesson = lessons[number % len(lessons)]
        student = f"{lesson[:2]}-{number:03}"
        if student not in known:
            notebook, ways = hand_in(lesson, random.Random(f"{seed} {student}"))
            place = folder / "handed-in" / student / f"{lesson}.ipynb"
            place.parent.mkdir(parents=True, exist_ok=True)
            write_whole(place, nbformat.writes(notebook).encode())
            points = worth(notebook, seed)
            known[student] = {"lesson": lesson, "ways": ways, "points": points}
            write_whole(kept, json.dumps(known, indent=1).encode())
        wanted[student] = known[student]
    return wanted


def graded(table: Path) -> dict[str, Points]:
    """Student -> points of each exercise, from grades.csv; {} for one without."""
    with table.open(encoding=ENCODING, newline="") as file:
        return {
            row["student"]: {
                name.removeprefix("ex "): float(cell)
                for name, cell in row.items()
                if name.startswith("ex ") and cell
            }
            for row in csv.DictReader(file)
        }


def differences(wanted: dict, got: dict[str, Points]) -> Iterator[str]:
    """A line for each exercise whose points are not those of its check."""
    for student, one in wanted.items():
        points = got.get(student, {})
        for number in sorted({*one["points"], *points}):
            mine, theirs = one["points"].get(number), points.get(number)
            if mine != theirs:
                way = one["ways"].get(number, "not asked")
                yield f"{student}, {number} ({way}): {mine} by its check, not {theirs}"


def main(arguments: list[str] | None = None) -> int:
    """Generate, grade and compare; returns the exit status."""
    options = _options(arguments)
    folder = FOLDER / str(options.seed)
    names = [path.stem for path in chosen(ROOT, options.lesson)]
    start = time.perf_counter()
    wanted = generate(folder, options.count, names, options.seed)
    made = time.perf_counter() - start
    said = f"{folder / 'handed-in'}", f"{folder / 'graded'}"
    status = grading.main(
        ["--submissions", said[0], "--out", said[1], "--seed", str(options.seed)]
        + ["--jobs", str(options.jobs)]
        + ["--unsafe"] * options.unsafe
    )
    took = time.perf_counter() - start - made
    if status:
        return status
    failures = list(differences(wanted, graded(folder / "graded" / "grades.csv")))
    print(*failures, sep="\n", end="\n" if failures else "")
    ways = [way for one in wanted.values() for way in one["ways"].values()]
    print(
        f"{len(wanted)} hand-ins, {len(ways)} answers: "
        + ", ".join(f"{ways.count(way)} {way}" for way in SHARES)
        + f". {len(failures)} with other points than by their checks. "
        f"Generating took {made:.0f} s, grading {took:.0f} s."
    )
    return 1 if failures else 0


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m tools.proofs.hand_ins", description=__doc__.split("\n")[0]
    )
    add = parser.add_argument
    add("--count", type=int, default=200, help="hand-ins in all; default: 200")
    add("--lesson", action="append", help="number; default: 02 and 03")
    add("--seed", type=int, default=1, help="of answers and inputs; default: 1")
    add("--jobs", type=int, default=1, help="graded at a time; default: 1")
    add("--unsafe", action="store_true", help="also where there is no sandbox")
    options = parser.parse_args(arguments)
    if min(options.count, options.seed, options.jobs) < 1:
        parser.error("--count, --seed and --jobs are at least 1.")
    options.lesson = options.lesson or ["02", "03"]
    return options


if __name__ == "__main__":
    sys.exit(main())
