"""Print which check names which known mistake: `python -m tools.proofs.kill_matrix`.

Every spelling of every misconception is handed to its exercise's check, over several
seeds. A check that lets one pass, or calls it by another's name, needs repair. The
table of all exercises is also written to build/kill-matrix.md.
"""

import argparse
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import torch

from helpers.checks.engine import examine, exercises, find
from helpers.checks.exercise import Exercise, Misconception
from helpers.checks.report import CheckFailed, Report

SEEDS = 20
TABLE = Path(__file__).resolve().parents[2] / "build" / "kill-matrix.md"


@dataclass(frozen=True)
class Trial:
    """One spelling of a misconception, checked on the inputs of one seed."""

    exercise: Exercise
    misconception: Misconception
    spelling: int  # its place among the spellings
    seed: int
    report: Report

    @property
    def rejected(self) -> bool:
        """Whether the check found the answer wrong."""
        return self.report.outcome in ("wrong", "raised")

    @property
    def named(self) -> bool:
        """Whether it gave the mistake its own name."""
        return self.rejected and self.report.misconception == self.misconception.name

    def __str__(self) -> str:
        """What was found, for a list of failures."""
        called = self.report.misconception
        name = f"named {called!r}" if called else "not named"
        return (
            f"{self.exercise.id} {self.misconception.name!r}, spelling "
            f"{self.spelling + 1}, seed {self.seed}: {self.report.outcome}, {name}"
        )


@dataclass(frozen=True)
class Line:
    """What became of one misconception, over all its spellings and seeds."""

    exercise: str
    name: str
    spellings: int
    tried: int
    rejected: int
    named: int
    misnamed: int  # called by another's name
    failures: tuple[str, ...] = ()  # the first few


def answers_with(exercise: Exercise, place: int, one: Any) -> tuple:
    """The course's own answers, with one in place of the answer at `place`."""
    answers = list(exercise.references)
    answers[place] = one
    return tuple(answers)


def tried(
    exercise: Exercise, misconception: Misconception, spelling: int, seed: int
) -> Trial:
    """Check one spelling of a misconception on the inputs of one seed."""
    wrong = misconception.spellings[spelling]
    answers = answers_with(exercise, misconception.of, wrong)
    report = examine(exercise, answers, seed=seed)
    return Trial(exercise, misconception, spelling, seed, report)


def main(arguments: list[str] | None = None) -> int:
    """Print the table; returns 1 if a mistake is not rejected or wrongly named."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.proofs.kill_matrix", description=__doc__
    )
    parser.add_argument("--seeds", type=int, default=SEEDS, help=f"default: {SEEDS}")
    parser.add_argument("--exercise", help="one exercise, such as 2.B; default: all")
    parser.add_argument("--jobs", type=int, default=1, help="processes; default: 1")
    options = parser.parse_args(arguments)
    if min(options.seeds, options.jobs) < 1:
        print("--seeds and --jobs are at least 1.", file=sys.stderr)
        return 2
    try:
        asked = [find(options.exercise)] if options.exercise else exercises()
    except CheckFailed as error:
        print(error, file=sys.stderr)
        return 2
    chosen = [exercise.id for exercise in asked if exercise.misconceptions]
    if not chosen:
        print(f"Exercise {options.exercise} has no known mistakes.", file=sys.stderr)
        return 2
    lines: list[Line] = []
    for one in _lines(chosen, options.seeds, options.jobs):
        _print(one)
        lines += one
    if not options.exercise:
        TABLE.parent.mkdir(parents=True, exist_ok=True)
        TABLE.write_text(page(lines, options.seeds), encoding="utf-8")
    return _totals(lines)


def _lines(chosen: list[str], seeds: int, jobs: int) -> Iterator[list[Line]]:
    """The lines of each exercise, in order."""
    work = [(name, seeds) for name in chosen]
    if jobs == 1:
        yield from map(_lines_of, work)
        return
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        yield from pool.map(_lines_of, work)


def _lines_of(work: tuple[str, int]) -> list[Line]:
    """Try every misconception of an exercise on every seed."""
    torch.set_num_threads(1)  # the inputs are small: threads only wait for each other
    name, seeds = work
    exercise = next(one for one in exercises() if one.id == name)
    lines = []
    for known in exercise.misconceptions:
        mine = [
            tried(exercise, known, spelling, seed)
            for seed in range(seeds)
            for spelling in range(len(known.spellings))
        ]
        failures = [trial for trial in mine if not trial.named]
        lines.append(
            Line(
                exercise.id,
                known.name,
                len(known.spellings),
                len(mine),
                sum(trial.rejected for trial in mine),
                sum(trial.named for trial in mine),
                sum(trial.report.misconception is not None for trial in failures),
                tuple(str(trial) for trial in failures[:3]),
            )
        )
    return lines


def _print(lines: list[Line]) -> None:
    print(f"Exercise {lines[0].exercise}")
    print(f"  {'misconception':36} {'spellings':>9} {'rejected':>11} {'named':>11}")
    for one in lines:
        print(
            f"  {one.name:36} {one.spellings:9}"
            f" {f'{one.rejected}/{one.tried}':>11} {f'{one.named}/{one.tried}':>11}"
        )
    print(flush=True)


def page(lines: list[Line], seeds: int) -> str:
    """The table as a page."""
    rows = [
        f"| {one.exercise} | {one.name} | {one.spellings} "
        f"| {one.rejected}/{one.tried} | {one.named}/{one.tried} | {one.misnamed} |"
        for one in lines
    ]
    return "\n".join(
        [
            "# Which check names which mistake",
            "",
            f"Every known mistake was put to its check on the inputs of {seeds} seeds.",
            "",
            _sum(lines),
            "",
            "| exercise | known mistake | spellings | rejected | called by its name "
            "| called by another's |",
            "|---|---|---|---|---|---|",
            *rows,
            "",
        ]
    )


def _sum(lines: list[Line]) -> str:
    tried = sum(one.tried for one in lines)
    rejected = sum(one.rejected for one in lines) / tried
    named = sum(one.named for one in lines) / tried
    count = len({one.exercise for one in lines})
    return (
        f"{count} exercises, {len(lines)} misconceptions, "
        f"{tried} wrong answers: {rejected:.1%} rejected, {named:.1%} named, "
        f"{sum(one.misnamed for one in lines)} with a wrong name."
    )


def _totals(lines: list[Line]) -> int:
    """Print the sums and what went wrong; returns the exit status."""
    print(_sum(lines))
    failures = [text for one in lines for text in one.failures]
    print(*failures, sep="\n", end="\n" if failures else "")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
