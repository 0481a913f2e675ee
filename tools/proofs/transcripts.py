"""What every check says, exercise by exercise: `python -m tools.proofs.transcripts`.

One file per lesson in `tests/transcripts/`: an untouched stub, an answer that raises, a
mistake known by name, one that is not, and the right answer. A test compares them, so
that no sentence changes unread. `python -m tools.proofs.transcripts 02` writes the file
of lesson 02 alone.
"""

import argparse
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import torch
from torch import Tensor

from helpers.checks import engine
from helpers.checks.engine import LESSONS, examine, exercises
from helpers.checks.exercise import Exercise
from helpers.checks.report import Report
from tools.build.lesson_cells import solutions, stubs, typed
from tools.proofs.kill_matrix import answers_with

FOLDER = Path(__file__).resolve().parents[2] / "tests" / "transcripts"
LINE = re.compile(r"\bline \d+:")
NUMBER = re.compile(r"-?\d+\.\d+(e[-+]\d+)?")


def transcript(number: int) -> str:
    """All that the checks of a lesson say."""
    asked = [one for one in exercises() if one.lesson == number and one.answers]
    with mock.patch.object(engine, "locate", lambda *_: None):  # lines of this file
        parts = [f"== {one.id} {one.title}\n\n{_of(one)}" for one in asked]
    return "\n".join(parts)


def _of(exercise: Exercise) -> str:
    said = []
    for name, report in _reports(exercise):
        text = NUMBER.sub(
            lambda found: (
                found[0] if exercise.id.startswith(found[0]) else _rounded(found)
            ),
            LINE.sub("line N:", str(report)),
        )
        said.append(f"-- {name}\n{text}\n")
    return "\n".join(said)


def _rounded(found: re.Match) -> str:
    """Three digits: the others differ from processor to processor."""
    value = float(found[0])
    return f"{value:.3g}" if "e" in found[0] or abs(value) < 100 else found[0]


def _reports(exercise: Exercise) -> Iterator[tuple[str, Report]]:
    untouched, solved = stubs(exercise.lesson), solutions(exercise.lesson)
    yield (
        "an untouched stub",
        examine(exercise, tuple(untouched[name] for name in exercise.names)),
    )
    if exercise.kind != "value":
        yield "a name that is not there", examine(exercise, _raising(exercise))
    known = exercise.misconceptions[0]
    answers = answers_with(exercise, known.of, known.spellings[0])
    yield f"known: {known.name}", examine(exercise, answers)
    unknown = _unknown(exercise)
    if unknown:
        yield "not known", unknown
    yield (
        "the solution",
        examine(exercise, tuple(solved[name] for name in exercise.names)),
    )


def _raising(exercise: Exercise) -> tuple:
    name = exercise.names[0]
    if isinstance(exercise.references[0], type):
        source = (
            f"class {name}(nn.Module):\n    def __init__(self, *sizes):\n"
            "        super().__init__()\n        self.layer = layr"
        )
    else:
        source = f"def {name}(*inputs, **more):\n    return inptus[0]"
    return answers_with(exercise, 0, typed(source, name))


def _unknown(exercise: Exercise) -> Report | None:
    """The first slip that the check rejects without knowing it by name."""
    reference = exercise.references[0]
    for slip in (_more, _negative, _nothing):
        wrong = _slipped(reference, slip)
        report = examine(exercise, answers_with(exercise, 0, wrong))
        if report.outcome in ("wrong", "raised") and report.misconception is None:
            return report
    return None


def _slipped(reference: Any, slip: Callable) -> Any:
    if isinstance(reference, type):
        forward = {"forward": lambda self, *args: slip(reference.forward(self, *args))}
        return type(reference.__name__, (reference,), forward)
    if callable(reference):
        return lambda *args, **more: slip(reference(*args, **more))
    return slip(reference)


def _each(result: Any, change: Callable) -> Any:
    if isinstance(result, tuple | list):
        return type(result)(_each(one, change) for one in result)
    number = isinstance(result, float | int) and not isinstance(result, bool)
    if number or isinstance(result, Tensor) and result.is_floating_point():
        return change(result)
    return result


def _more(result: Any) -> Any:
    return _each(result, lambda x: x * 1.03 + 0.01)


def _negative(result: Any) -> Any:
    return _each(result, lambda x: -x)


def _nothing(result: Any) -> Any:
    return None


def path(number: int) -> Path:
    """Where the transcript of a lesson lies."""
    return FOLDER / f"{number:02}_{LESSONS[number]}.txt"


def main(arguments: list[str] | None = None) -> int:
    """Write the transcripts; returns the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.proofs.transcripts", description=__doc__
    )
    parser.add_argument("lessons", nargs="*", help="numbers such as 02; default: all")
    asked = parser.parse_args(arguments).lessons
    known = {f"{number:02}": number for number in LESSONS}
    known |= {str(number): number for number in LESSONS}
    if unknown := [name for name in asked if name not in known]:
        last = max(LESSONS)
        print(
            f"There is no lesson {unknown[0]!r}: give 00 to {last:02}.", file=sys.stderr
        )
        return 2
    torch.set_num_threads(1)
    FOLDER.mkdir(exist_ok=True)
    for number in sorted({known[name] for name in asked}) or LESSONS:
        path(number).write_text(transcript(number), encoding="utf-8")
        print(f"Wrote {path(number).name}.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
