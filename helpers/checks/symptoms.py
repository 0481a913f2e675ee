"""What can be seen of an answer that is wrong in a way that has no name."""

import inspect
import linecache
import re
from collections import defaultdict
from collections.abc import Iterator
from contextlib import suppress
from itertools import combinations
from typing import Any

import torch
from torch import Tensor, nn

from helpers.checks import blanks
from helpers.checks.compare import Yardstick
from helpers.checks.exercise import Case
from helpers.checks.influence import influence
from helpers.checks.observe import Run, keep, run_case
from helpers.checks.recognise import Trial
from helpers.checks.relations import relation

ENOUGH = 4  # different numbers that no result holds by chance
NEAR = 1e-6  # what is less apart counts as equal; float32 is no nearer
WEIGHT, NUMBER = re.compile(r"weight (\(.*\))"), re.compile(r"\d+")
UNFILLED = re.compile(r"\btorch\.empty|\.new_empty")
EVERY = "every case where it came and is wrong"
NOT_RESULTS = ("gradient of ", "part ", "inputs")


def symptoms(trial: Trial) -> list[str]:
    """What is odd about an answer, a sentence each, read off its first failing case."""
    odd = [*_one_object(trial.runs[0].module), *_random(trial), *_unfilled(trial)]
    return odd or [*_gradients_alone(trial), *_related(trial)]


def influences(trial: Trial) -> list[str]:
    """What a wrong result hangs on, or does not, unlike the right one: a sentence."""
    return influence(
        trial,
        lambda place: _wrong(
            trial.runs[place], trial.expected[place], trial.yardsticks[place]
        ),
    )


def _related(trial: Trial) -> Iterator[str]:
    """How a wrong result is related to the right one, in all cases alike."""
    wrong = [
        (run.judged, right.judged, _wrong(run, right, yardstick))
        for (_, run, yardstick), right in zip(trial.rows, trial.expected, strict=True)
    ]
    if any(run.raised is not None for run in (*trial.runs, *trial.expected)):
        return
    for name in wrong[0][2]:
        if name.startswith("part "):
            yield from _sizes(trial, name)
            return
        if name not in wrong[0][0] or name.startswith(NOT_RESULTS):
            continue
        some = [
            (case, got[name], want[name])
            for case, (got, want, bad) in zip(trial.cases, wrong, strict=True)
            if name in bad and name in got
        ]
        cases, got, want = zip(*some, strict=True)
        if isinstance(want[0], str) and not _is_result(trial, name):
            return  # a verdict in our own words, not a text of the student's
        axes = trial.answer.returns.get(name, "")
        said = ""
        with suppress(Exception):  # no check may fall over what comes on top of it
            kind = trial.answer.reference
            said = _given(kind, cases, got) or relation(got, want, axes)
            said = said or _beside(cases, got, want)
        if len(some) < sum(bool(bad) for *_, bad in wrong):  # another result is wrong
            said = said.replace("every case that fails", EVERY)
        if said:
            yield f"{name}: {said}"
        return


def _sizes(trial: Trial, name: str) -> Iterator[str]:
    """The shape of a weight in terms of what the class is built with."""
    asked = []
    for case, run, right in zip(trial.cases, trial.runs, trial.expected, strict=True):
        shapes = (WEIGHT.fullmatch(str(one.judged.get(name))) for one in (run, right))
        shapes = [
            tuple(map(int, NUMBER.findall(found[1]))) for found in shapes if found
        ]
        if len(shapes) < 2:
            return
        asked.append((built_with(trial.answer.reference, case), *shapes))
    got, want = (_in_words(asked, place) for place in (1, 2))
    if got and want and got != want:
        part = name.removeprefix("part ")
        yield (
            f"In every case the weight of `{part}` is {got}; it should be {want}. "
            "A weight has the size of the output first."
        )


def built_with(kind: Any, case: Case) -> dict[str, int]:
    """The whole numbers that a class is built with, by their names."""
    try:
        names = inspect.signature(kind).parameters
    except (TypeError, ValueError):
        return {}
    given = zip(names, case.init, strict=False)
    return {name: one for name, one in given if type(one) is int}


def _in_words(asked: list[tuple], place: int) -> str:
    """A shape that has the same words in all cases: (d_head, d_model)."""
    first = asked[0][place]
    if len(first) != 2 or any(len(one[place]) != len(first) for one in asked):
        return ""
    words = []
    for axis in range(len(first)):
        fitting = [
            name
            for name in asked[0][0]
            if all(sizes.get(name) == one[place - 1][axis] for sizes, *one in asked)
        ]
        if not fitting:
            fitting = [
                f"{one} * {two}"
                for one, two in combinations(asked[0][0], 2)
                if all(
                    one in sizes
                    and sizes[one] * sizes.get(two, 0) == row[place - 1][axis]
                    for sizes, *row in asked
                )
            ]
        sizes = {one[place][axis] for one in asked}
        if not fitting and len(sizes) == 1 and len(asked) > 1:
            fitting = [str(*sizes)]  # the same, whatever the class is built with
        if len(fitting) != 1:
            return ""
        words += fitting
    return f"({', '.join(words)})"


def _is_result(trial: Trial, name: str) -> bool:
    """Whether it is what the answer returned, not what a look says about it."""
    looked = any(case.look is not None for case in trial.cases)
    return not looked and (name in trial.answer.returns or name == "result")


def _tensors(case: Case) -> dict[str, Tensor]:
    """The tensors among the inputs of a case, by their names."""
    named = zip(case.inputs, case.args, strict=False)
    return {name: one for name, one in named if isinstance(one, Tensor)}


def _wholes(kind: Any, case: Case) -> dict[str, int]:
    """The whole numbers that an answer is built with, or given."""
    given = zip(case.inputs, case.args, strict=False)
    built = built_with(kind, case) if case.init else {}
    return built | {name: one for name, one in given if type(one) is int}


def _given(kind: Any, cases: tuple[Case, ...], got: tuple) -> str:
    """Whether the result is an input, as it was given."""
    for place, name in enumerate(cases[0].inputs[: len(cases[0].args)]):
        if all(
            place < len(case.args)
            and isinstance(mine, tuple | str)
            and len(mine) > 1
            and mine == keep(case.args[place])
            for case, mine in zip(cases, got, strict=True)
        ):
            return f"Yours is `{name}`, as it was given."
    if all(type(mine) is int for mine in got) and len(set(got)) > 1:
        for name in _wholes(kind, cases[0]):
            given = [_wholes(kind, case).get(name) for case in cases]
            if given == [*got]:
                return f"In every case that fails, yours is `{name}`."
    for name in _tensors(cases[0]):
        if all(
            isinstance(mine, Tensor)
            and isinstance(value := _tensors(case).get(name), Tensor)
            and mine.shape == value.shape
            and not mine.is_complex()
            and torch.equal(mine.double(), value.double())
            for case, mine in zip(cases, got, strict=True)
        ) and any(len(_tensors(case)[name].unique()) >= ENOUGH for case in cases):
            return f"Yours holds the numbers of `{name}`, as they were given."
    return ""


def _beside(cases: tuple[Case, ...], got: tuple, want: tuple) -> str:
    """Whether just those entries differ at whose places an input is False, or 0."""
    pairs = list(zip(got, want, strict=True))
    if not all(
        isinstance(one, Tensor) and not one.is_complex()
        for pair in pairs
        for one in pair
    ) or any(one.shape != two.shape for one, two in pairs):
        return ""
    apart = [
        ~torch.isclose(one.double(), two.double(), NEAR, NEAR, equal_nan=True)
        for one, two in pairs
    ]
    if any(bool(at.all()) for at in apart):
        return ""
    for name, value in _tensors(cases[0]).items():
        if value.is_floating_point():
            continue
        kinds = (("is True", False), ("is False", True))
        if value.dtype != torch.bool:
            kinds = (("is not 0", False), ("is 0", True))
        for text, turned in kinds:
            for start in range(apart[0].dim()):
                if all(
                    _is_at(at, _tensors(case).get(name), start, turned)
                    for at, case in zip(apart, cases, strict=True)
                ):
                    return f"Exactly the entries differ at which `{name}` {text}."
    return ""


def _is_at(apart: Tensor, value: Tensor | None, start: int, turned: bool) -> bool:
    """Whether entries differ where an input, laid on axes from one on, is not 0."""
    if value is None or value.is_floating_point():
        return False
    rest = apart.dim() - start - value.dim()
    if rest < 0:
        return False
    flags = (value != 0) ^ turned
    flags = flags.reshape(*[1] * start, *value.shape, *[1] * rest)
    sizes = zip(flags.shape, apart.shape, strict=True)
    fits = all(one in (1, two) for one, two in sizes)
    return fits and torch.equal(flags.expand(apart.shape), apart)


def _gradients_alone(trial: Trial) -> Iterator[str]:
    """Whether all results are right, and gradients are not."""
    names = {
        name
        for (_, run, yardstick), right in zip(trial.rows, trial.expected, strict=True)
        for name in _wrong(run, right, yardstick)
    }
    if not names or not all(name.startswith("gradient of ") for name in names):
        return
    if any(run.raised is not None for run in trial.runs):
        return
    cut = any(
        isinstance(value := run.judged.get(name), str) and value.startswith("none")
        for run in trial.runs
        for name in names
    )
    yield "Every result is right, and only gradients are not." + (
        " A gradient ends at `detach`, `.data`, `.item()`, `torch.no_grad()`, "
        "`torch.tensor(...)` and NumPy."
        if cut
        else ""
    )


def _wrong(run: Run, right: Run, yardstick: Yardstick) -> list[str]:
    """The names of what differs."""
    return [
        name
        for name, want in right.judged.items()
        if name not in run.judged or not yardstick.same(name, run.judged[name], want)
    ]


def _one_object(module: Any) -> list[str]:
    """Whether two of its parts are one: mostly a list made with `*`."""
    if not isinstance(module, nn.Module):
        return []
    names = defaultdict(list)
    for name, part in module.named_modules(remove_duplicate=False):
        if any(True for _ in part.parameters(recurse=False)):
            names[id(part)].append(name)
    return [
        f"`{same[0]}` and `{same[1]}` are one object: they share their weights."
        for same in names.values()
        if len(same) > 1
    ][:1]


def _unfilled(trial: Trial) -> Iterator[str]:
    """Whether entries are NaN as in a new tensor, and the code makes one."""
    file = blanks.file_of(trial.thing)
    code = "".join(linecache.getlines(file)) if file else ""
    odd = _any_nan(trial.runs[0]) and not _any_nan(trial.expected[0])
    if odd and UNFILLED.search(code):
        yield "In a check, what `torch.empty` makes is NaN until it is filled."


def _any_nan(run: Run) -> bool:
    tensors = (one for one in run.judged.values() if isinstance(one, Tensor))
    return any(bool(one.isnan().any()) for one in tensors)


def _random(trial: Trial) -> list[str]:
    """Whether it answers differently when it is asked again, and the course's not."""
    answer, case, run = trial.answer, trial.cases[0], trial.runs[0]
    strict = Yardstick(0.0)

    def steady(thing: Any) -> bool:
        one, two = (
            run_case(thing, answer, case, donor=run.module, seed=seed)
            for seed in (1, 2)
        )
        return strict.agree(one.judged, two.judged)

    if steady(trial.thing) or not steady(answer.reference):
        return []
    if isinstance(run.module, nn.Module) and not run.module.training:
        return [
            "Asked twice in eval mode, it answered differently: often a dropout is on."
        ]
    return ["Asked twice with the same inputs, it answered differently."]
