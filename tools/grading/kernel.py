"""The kernel of a graded notebook: it tells the grader what each check found.

    python -m tools.grading.kernel RECORDS LESSON FOLDER SOCKET -f CONNECTION_FILE

Most exercises are judged by `tools.grading.judge`, in another process: over the SOCKET,
which is open already, this one calls the student's functions for it. The others are
judged here. For those, before any code of the student runs, it opens the file RECORDS,
which lies where nothing can be written once the kernel is sandboxed, keeps its own
references to the checks, and remembers which functions they consist of. Each check
then adds one line to the file: the exercise, the outcome, and whether the checks were
still as they had been.
"""

import json
import os
import socket
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from types import FunctionType

from tools.grading import sandbox
from tools.grading.moved import CLOSED, moved

MOST = 4000  # lines; each check of an honest notebook writes one


def recorder(descriptor: int, lesson: int) -> Callable:
    """What takes the place of `progress.record` while a notebook is graded."""
    from helpers.checks import engine

    if lesson not in CLOSED:
        import_module(f"helpers.exercises.{engine.LESSONS[lesson]}")
    whole, kept = _fingerprint()  # what is kept can't hand its address to another
    left, write, dumps, fingerprint = [MOST], os.write, json.dumps, _fingerprint

    def record(report: object, folder: Path | None = None) -> None:
        left[0] -= 1
        if left[0] < 0:
            return
        now, _ = fingerprint()
        line = {
            "exercise": report.exercise,
            "outcome": report.outcome,
            "misconception": report.misconception,
            "borrowed": report.borrowed,
            "intact": all(now.get(name) == whole[name] for name in whole),
        }
        write(descriptor, dumps(line).encode() + b"\n")

    return record


def _fingerprint() -> tuple[dict[tuple[str, str], tuple[int, ...]], list]:
    """Which objects and which code the checks and the reference models consist of."""
    found, kept = {}, []
    for name, module in list(sys.modules.items()):
        if name.startswith(("helpers.checks", "helpers.exercises", "helpers.models")):
            for key, value in list(vars(module).items()):
                if parts := _parts(name, key, value):
                    found[name, key] = tuple(map(id, parts))
                    kept += parts
    return found, kept


def _parts(module: str, name: str, value: object) -> list[object]:
    """What of a module's entry must stay as it is; nothing where it may change."""
    if isinstance(value, FunctionType):
        return [value, value.__code__]
    if isinstance(value, type) and value.__module__ == module:
        methods = list(vars(value).values())
        codes = [one.__code__ for one in methods if isinstance(one, FunctionType)]
        return [value, *codes]
    return [value] if name.isupper() else []


def install(descriptor: int, lesson: int, seed: int, end: int) -> None:
    """Make `check` and `borrow` report to the grader.

    Args:
        descriptor: Of the file for exercises that are judged here.
        lesson: Its number.
        seed: Picks the inputs of these exercises.
        end: The socket to the judge of the others.
    """
    import helpers.checks
    from helpers.checks import engine, progress, report
    from tools.grading import answering
    from tools.grading.link import Link
    from tools.grading.wire import Pipe

    lent, find, checked = engine.borrow, engine.find, engine.check
    link = Link(Pipe(socket.socket(fileno=end)), trusting=True)
    check_there, borrow_there = answering.check_with(link), answering.borrow_with(link)
    engine.SEED = seed

    def check(exercise_id: str, *answers: object) -> None:
        there = moved(exercise_id)
        (check_there if there else checked)(exercise_id, *answers)

    def borrow(exercise_id: str) -> object:
        if moved(exercise_id):
            return borrow_there(exercise_id)
        exercise = find(exercise_id)
        if exercise.answers and exercise.kind != "value":
            progress.record(report.borrowed(exercise, ""))
        return lent(exercise_id)

    borrow.__doc__, check.__doc__ = lent.__doc__, checked.__doc__
    helpers.checks.borrow = engine.borrow = borrow
    helpers.checks.check = engine.check = check
    progress.record = None  # so that the fingerprint is taken with what follows
    progress.record = recorder(descriptor, lesson)


def shut_in(records: Path, folder: Path, hidden: bool) -> int:
    """Open the records, then shut this process in; return what writes to them."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
    descriptor = os.open(records, flags, 0o600)
    nothing = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1):
        os.dup2(nothing, number)
    os.environ.pop("JPY_PARENT_PID", None)  # a number of the world outside
    if os.environ.pop("GRADING_SANDBOX", "") == "namespaces":
        sandbox.enter_again(folder, hidden)
    return descriptor


def main(arguments: list[str]) -> None:
    """Either enter the sandbox and start again without privileges, or be the kernel."""
    first, lesson, folder, end, *rest = arguments
    if not first.isdecimal():
        descriptor = shut_in(Path(first), Path(folder), int(lesson) in CLOSED)
        for number in (descriptor, int(end)):
            os.set_inheritable(number, True)
        sandbox.limit({"AS": 1 << 50}, for_good=False)  # until PyTorch is there
        again = [str(descriptor), lesson, folder, end, *rest]
        command = [sys.executable, "-m", "tools.grading.kernel", *again]
        os.execv(sys.executable, command)
    for number in (int(first), int(end)):
        os.set_inheritable(number, False)
    seed = int(os.environ.pop("GRADING_SEED"))
    install(int(first), int(lesson), seed, int(end))
    most = json.loads(os.environ.pop("GRADING_LIMITS"))
    sandbox.limit(most | {"AS": most["AS"] + sandbox.address_space()})
    from ipykernel.kernelapp import launch_new_instance

    launch_new_instance(argv=rest)


if __name__ == "__main__":
    main(sys.argv[1:])
