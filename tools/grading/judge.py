"""The process that judges: it knows inputs, references and expected values.

    python -m tools.grading.judge SOCKET VERDICTS SEED

It runs beside the kernel of a graded notebook and asks it, over a socket, to call the
student's functions. What comes back are numbers. Each check adds a line to VERDICTS, an
open file that has no name and that the kernel does not hold. The kernel is told whether
an answer passed, and nothing of what was expected.
"""

import ctypes
import json
import os
import socket
import sys
from collections import Counter
from typing import Any

from helpers.checks import engine
from helpers.checks import report as told
from helpers.checks.blanks import Line
from helpers.checks.exercise import Exercise
from helpers.checks.report import CheckFailed, Report
from tools.grading import sandbox
from tools.grading.link import Far, Link
from tools.grading.moved import UNANSWERED, moved
from tools.grading.rebuilt import mirror
from tools.grading.wire import NONSENSE, Broken, Pipe

DUMPABLE = 4
CHECKS = 10  # of one exercise: each of them says whether it passed


def judged(link: Link, exercise: Exercise, things: list[dict], seed: int) -> Report:
    """The report on answers that are on the other side.

    Args:
        link: To the other side.
        exercise: What is asked.
        things: What it says about each answer.
        seed: Picks the inputs.

    Raises:
        Broken: It does not keep to the rules.
        CheckFailed: There are more answers than asked for, or fewer.
    """
    answers = tuple(
        _answer(link, thing, part)
        for thing, part in zip(things, exercise.answers, strict=False)
    )
    if len(things) != len(answers):
        answers += (None,) * (len(things) - len(answers))
    lent = [n for n, thing in enumerate(things) if thing.get("borrowed") is True]
    report = engine.judged(exercise, answers, lent, seed)
    if link.pipe.dead:
        raise Broken("it broke off")
    return report


def _answer(link: Link, thing: dict, part: Any) -> Any:
    """What stands here for an answer."""
    if thing.get("kind") == "value":
        return thing.get("value")
    name, line = str(thing["name"]), thing["blank"]
    if isinstance(part.reference, type):
        found: Any = mirror(link, thing["maker"], name, part.parts)
    else:
        found = Far(link, thing["number"])
        found.__name__ = name
    if line is not None:
        found.left_blank = Line(int(line[0]), str(line[1]))
    return found


class Judge:
    """Judges what one kernel asks for, and writes it down."""

    def __init__(self, link: Link, verdicts: int, seed: int) -> None:
        self.link, self.verdicts, self.seed = link, verdicts, seed
        self.asked: Counter[str] = Counter()

    def run(self) -> None:
        """Judge until the kernel is gone, or breaks the rules."""
        while True:
            self.link.forget()
            self.link.pipe.refill()
            try:
                message = self.link.receive(None)
                self._one(message)
            except Broken:
                return

    def _one(self, message: dict) -> None:
        name = message.get("exercise")
        if message["do"] not in ("check", "borrow") or type(name) is not str:
            raise Broken("a message of another kind")
        try:
            exercise = engine.find(name)
            self.asked[name] += 1
            if not moved(name) or self.asked[name] > CHECKS:
                raise CheckFailed(f"Exercise {name} has been asked about too often.")
            if message["do"] == "borrow" and exercise.kind != "value":
                report = told.borrowed(exercise, "")
            else:
                report = judged(self.link, exercise, message["things"], self.seed)
        except CheckFailed as error:
            self._say("wrong", str(error))
            return
        except (Broken, *NONSENSE) as error:
            report = Report(name, "wrong", evidence=(f"{UNANSWERED} ({error}).",))
            self._write(report)
            raise Broken(UNANSWERED) from None
        self._write(report)
        self._say(report.outcome, "")

    def _say(self, outcome: str, said: str) -> None:
        self.link.send({"do": "verdict", "outcome": outcome, "said": said})

    def _write(self, report: Report) -> None:
        line = {
            "exercise": report.exercise,
            "outcome": report.outcome,
            "misconception": report.misconception,
            "borrowed": report.borrowed,
            "intact": True,
            "text": str(report)[:20_000],
        }
        os.write(self.verdicts, json.dumps(line).encode() + b"\n")


def main(arguments: list[str]) -> None:
    """Judge for one kernel."""
    end, verdicts, seed = map(int, arguments)
    if sys.platform == "linux":  # nobody of the same user may look into this process
        ctypes.CDLL(None).prctl(DUMPABLE, 0, 0, 0, 0)
    os.environ["NBGRADER_EXECUTION"] = "judge"
    most = json.loads(os.environ.pop("GRADING_LIMITS"))
    sandbox.limit({"AS": most["AS"] + sandbox.address_space(), "CPU": most["CPU"]})
    link = Link(Pipe(socket.socket(fileno=end)), trusting=False)
    Judge(link, verdicts, seed).run()


if __name__ == "__main__":
    main(sys.argv[1:])
