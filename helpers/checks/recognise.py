"""Which known mistake an answer makes: the one that did the same on every case."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from typing import Any

from torch import Tensor
from torch.overrides import TorchFunctionMode

from helpers.checks.compare import Yardstick
from helpers.checks.exercise import Answer, Case, Exercise, Misconception
from helpers.checks.limit import TimeUp, stopwatch
from helpers.checks.observe import Run, run_case, said

IN_PLACE = Misconception(
    "input changed in place",
    "The results are right, but an input was changed on the way to them; it belongs to "
    "the caller, who may need it again.",
    "Look for `+=`, `/=`, `x[...] =` and names ending in `_`: do they touch an input, "
    "perhaps under a second name (`y = x` makes no copy)? Work on a copy.",
    (),
)
PATIENCE = 1.0  # seconds that may be spent on pairs of mistakes
WRITTEN = {"__module__", "__doc__", "__dict__", "__weakref__"}  # by Python itself
SPELT_ALIKE = {
    "bmm": "matmul",
    "mm": "matmul",
    "mv": "matmul",
    "rmatmul": "matmul",
    "truediv": "div",
    "rtruediv": "div",
    "radd": "add",
    "iadd": "add",
    "rsub": "sub",
    "isub": "sub",
    "rmul": "mul",
    "imul": "mul",
}


@dataclass(frozen=True)
class Trial:
    """An answer on its cases, the course's beside it, and how they are compared.

    Failing cases come first, where most mistakes can be ruled out at once.
    """

    answer: Answer
    thing: Any
    cases: Sequence[Case]
    runs: Sequence[Run]
    expected: Sequence[Run]
    yardsticks: Sequence[Yardstick]

    @property
    def rows(self) -> Iterator[tuple[Case, Run, Yardstick]]:
        """What another answer's runs are compared with, case by case."""
        return zip(self.cases, self.runs, self.yardsticks, strict=True)


@dataclass(frozen=True)
class Known:
    """The mistakes that explain an answer: mostly one, sometimes two at once."""

    mistakes: tuple[Misconception, ...]
    certain: bool = True  # False: the same message, perhaps from another operation


def recognise(exercise: Exercise, index: int, trial: Trial) -> Known | None:
    """The only mistake, or pair of mistakes, that did the same on every case."""
    if _only_in_place(trial):
        return Known((IN_PLACE,))
    mine = [known for known in exercise.misconceptions if known.of == index]
    matches = [(known, spelling) for known in mine for spelling in _alike(known, trial)]
    matches = _narrowed(matches, lambda spelling: _same_clues(spelling, trial))
    raised = next((run.raised for run in trial.runs if run.raised is not None), None)
    if raised is not None and not isinstance(raised, TimeUp):
        alike = _kept(matches, lambda spelling: _fails_alike(spelling, trial))
        if not alike and len({known.name for known, _ in matches}) == 1:
            return Known((matches[0][0],), certain=False)
        matches = alike
    names = {known.name for known, _ in matches}
    if len(names) == 1:
        return Known((matches[0][0],))
    return None if names else _pair(mine, trial)


def _alike(known: Misconception, trial: Trial) -> list[Any]:
    return [spelling for spelling in known.spellings if _does_the_same(spelling, trial)]


def _kept(matches: list, rule: Callable[[Any], bool]) -> list:
    return [(known, spelling) for known, spelling in matches if rule(spelling)]


def _narrowed(matches: list, rule: Callable[[Any], bool]) -> list:
    """Those that a rule keeps, where more than one mistake is left."""
    if len({known.name for known, _ in matches}) < 2:
        return matches
    return _kept(matches, rule)


def _does_the_same(spelling: Any, trial: Trial) -> bool:
    for case, run, yardstick in trial.rows:
        other = run_case(spelling, trial.answer, case, donor=run.module)
        if not yardstick.agree(run.judged, other.judged):
            return False
    return True


def _same_clues(spelling: Any, trial: Trial) -> bool:
    for case, run, yardstick in trial.rows:
        other = run_case(spelling, trial.answer, case, donor=run.module)
        if not yardstick.agree(run.clues, other.clues):
            return False
    return True


def _fails_alike(spelling: Any, trial: Trial) -> bool:
    """Whether the same operation failed, on the same shapes."""
    place = next(n for n, run in enumerate(trial.runs) if run.raised is not None)
    case, donor = trial.cases[place], trial.runs[place].module
    mine, other = (
        failure(thing, trial.answer, case, donor) for thing in (trial.thing, spelling)
    )
    return mine == other


def failure(thing: Any, answer: Answer, case: Case, donor: Any) -> tuple:
    """The operation that failed and the shapes it was given.

    An error of plain Python, between two operations, is placed by the one before it.
    """
    with Watch() as watch:
        run = run_case(thing, answer, case, donor=donor)
    if watch.error is not None and run.raised is watch.error:
        return ("in", *watch.failed)
    return ("after", *watch.last)


class Watch(TorchFunctionMode):
    """Remembers the last operation of torch, and the one that failed."""

    def __init__(self) -> None:
        super().__init__()
        self.last: tuple = ()
        self.failed: tuple = ()
        self.error: BaseException | None = None

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        name = getattr(func, "__name__", "").strip("_")
        name = SPELT_ALIKE.get(name, name)
        try:
            result = func(*args, **(kwargs or {}))
        except BaseException as error:
            self.failed, self.error = (name, *_shapes(args)), error
            raise
        if name not in ("get", "set"):  # an attribute was read
            self.last = (name, *_shapes((result,)))
        return result


def _shapes(values: Any) -> tuple:
    return tuple(tuple(one.shape) for one in values if isinstance(one, Tensor))


def _only_in_place(trial: Trial) -> bool:
    """Whether everything is right, apart from inputs that were changed.

    Where a gradient is asked for, autograd may refuse such a change; that error counts
    as the same mistake.
    """
    runs = trial.runs
    changed = any(run.judged.get("inputs", "").startswith("changed") for run in runs)
    for (_, run, yardstick), right in zip(trial.rows, trial.expected, strict=True):
        raised = run.raised is not None
        if changed and raised and "inplace operation" in said(run.raised):
            continue
        if not yardstick.agree(run.judged | {"inputs": "unchanged"}, right.judged):
            return False
    return True


def _pair(mistakes: list[Misconception], trial: Trial) -> Known | None:
    """The only two mistakes that do the same when they are made at once."""
    spent, found = stopwatch(), []
    exchanges = [(known, *_exchange(known)) for known in mistakes]
    for (one, base, first), (two, other, second) in combinations(exchanges, 2):
        if base is not None and base is other and not first.keys() & second.keys():
            if _does_the_same(_exchanged(base, first | second), trial):
                found.append((one, two))
        if len(found) > 1 or spent() > PATIENCE:
            return None
    return Known(found[0]) if found else None


def _exchange(known: Misconception) -> tuple[Any, dict[str, Any]]:
    """What the mistake exchanges steps of, as `kit.exchanging` does, and which."""
    for spelling in known.spellings:
        if isinstance(spelling, partial) and not spelling.args:
            return spelling.func, dict(spelling.keywords)
        if isinstance(spelling, type) and len(spelling.__bases__) == 1:
            steps = vars(spelling).items()
            [base] = spelling.__bases__
            return base, {name: one for name, one in steps if name not in WRITTEN}
    return None, {}


def _exchanged(base: Any, steps: dict[str, Any]) -> Any:
    if isinstance(base, type):
        return type("_Wrong", (base,), steps)
    return partial(base, **steps)
