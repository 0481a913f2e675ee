"""Print which check names which known mistake: `python -m tools.kill_matrix`.

Every spelling of every misconception is handed to its exercise's check, over several
seeds. A check that lets one pass, or gives it another's name, is a check to repair.
"""

import argparse
import sys
from dataclasses import dataclass
from typing import Any

import torch

from helpers.checks.engine import examine, exercises
from helpers.checks.exercise import Exercise, Misconception
from helpers.checks.report import Report

SEEDS = 20


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
        prog="python -m tools.kill_matrix", description=__doc__
    )
    parser.add_argument("--seeds", type=int, default=SEEDS, help=f"default: {SEEDS}")
    parser.add_argument("--exercise", help="one exercise, such as 2.2; default: all")
    options = parser.parse_args(arguments)
    torch.set_num_threads(1)  # the inputs are small: threads only wait for each other
    chosen = [
        exercise
        for exercise in exercises()
        if exercise.misconceptions and options.exercise in (None, exercise.id)
    ]
    if not chosen or options.seeds < 1:
        print("Nothing to do: no such exercise, or no seeds.", file=sys.stderr)
        return 2
    done = [trial for one in chosen for trial in _table(one, range(options.seeds))]
    return _totals(done)


def _table(exercise: Exercise, seeds: range) -> list[Trial]:
    """Print a line for each misconception of an exercise."""
    print(f"{exercise.id} {exercise.title} ({exercise.kind})")
    print(f"  {'misconception':36} {'spellings':>9} {'rejected':>11} {'named':>11}")
    every = []
    for known in exercise.misconceptions:
        mine = [
            tried(exercise, known, spelling, seed)
            for seed in seeds
            for spelling in range(len(known.spellings))
        ]
        rejected, named = sum(t.rejected for t in mine), sum(t.named for t in mine)
        print(
            f"  {known.name:36} {len(known.spellings):9}"
            f" {f'{rejected}/{len(mine)}':>11} {f'{named}/{len(mine)}':>11}"
        )
        every += mine
    print(flush=True)
    return every


def _totals(done: list[Trial]) -> int:
    """Print the sums and what went wrong; returns the exit status."""
    known = {(trial.exercise.id, trial.misconception.name) for trial in done}
    rejected, named = sum(t.rejected for t in done), sum(t.named for t in done)
    failures = [trial for trial in done if not trial.named]
    wrong = sum(trial.report.misconception is not None for trial in failures)
    print(
        f"{len(known)} misconceptions, {len(done)} wrong answers: "
        f"{rejected / len(done):.1%} rejected, {named / len(done):.1%} named, "
        f"{wrong} with a wrong name."
    )
    first: dict[tuple, Trial] = {}
    for trial in failures:
        key = trial.exercise.id, trial.misconception.name, trial.spelling
        first.setdefault(key, trial)
    print(*first.values(), sep="\n", end="\n" if first else "")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
