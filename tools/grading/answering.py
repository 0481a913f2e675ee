"""The kernel's side of a check: it answers calls, and is told how the check went."""

from collections.abc import Callable
from typing import Any

from torch import Tensor, nn

from helpers.checks import CheckFailed, NotAttempted, blanks, engine
from tools.grading.link import Link
from tools.grading.rebuilt import described
from tools.grading.wire import Broken


def ask(link: Link, exercise_id: str, answers: tuple) -> tuple[str, str]:
    """Have answers judged in the other process.

    Args:
        link: To the judge.
        exercise_id: The number in the exercise's title.
        answers: The functions, classes or values.

    Returns:
        The outcome, and what is said to somebody who asked in the wrong way.

    Raises:
        Broken: The judge is gone.
    """
    link.forget()
    things = [_presented(link, thing) for thing in answers]
    link.send({"do": "check", "exercise": exercise_id, "things": things})
    while True:
        message = link.receive(None)
        if message["do"] == "verdict":
            link.forget()
            return message["outcome"], message["said"]
        link.send(link.serve(message))


def check_with(link: Link) -> Callable[..., None]:
    """What takes the place of `check` for the exercises that are judged elsewhere."""

    def check(exercise_id: str, *answers: Any) -> None:
        try:
            outcome, said = ask(link, exercise_id, answers)
        except Broken as error:
            raise CheckFailed(f"This could not be checked: {error}.") from None
        if outcome == "passed":
            print(f"✓ {exercise_id} passed.")
            return
        kind = NotAttempted if outcome == "not attempted" else CheckFailed
        raise kind(said or f"✗ {exercise_id} {outcome}")

    return check


def borrow_with(link: Link) -> Callable[[str], None]:
    """What takes the place of `borrow` for these exercises: it lends nothing."""

    def borrow(exercise_id: str) -> None:
        link.send({"do": "borrow", "exercise": exercise_id})
        link.receive(None)
        raise CheckFailed(f"Exercise {exercise_id} is borrowed: no points.")

    return borrow


def _presented(link: Link, thing: Any) -> dict:
    """What the judge is told about an answer before it calls it."""
    if not callable(thing) or isinstance(thing, Tensor | nn.Module):
        return {"kind": "value", "value": thing}
    line = blanks.blank(thing)
    told = {
        "kind": "class" if isinstance(thing, type) else "function",
        "name": str(getattr(thing, "__name__", type(thing).__name__))[:100],
        "blank": (line.number, line.text[:200]) if line else None,
        "borrowed": engine.is_borrowed(thing),
        "number": link.lend(thing),
    }
    return told | {"maker": link.lend(_Maker(link, thing))}


class _Maker:
    """Creates an instance of a class, and says what it consists of."""

    def __init__(self, link: Link, thing: Any) -> None:
        self.link, self.thing = link, thing

    def __call__(self, parts: tuple[str, ...], init: tuple) -> dict | None:
        """The parts of a new instance; None if it is not a module."""
        made = self.thing(*init)
        if not isinstance(made, nn.Module):
            return None
        return described(self.link, made, parts)
