"""What can be seen of an answer that is wrong in a way that has no name."""

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from torch import nn

from helpers.checks.compare import Yardstick
from helpers.checks.observe import Run, run_case
from helpers.checks.recognise import Trial
from helpers.checks.relations import relation

NOT_RESULTS = ("gradient of ", "part ", "inputs")


def symptoms(trial: Trial) -> list[str]:
    """What is odd about an answer, a sentence each, read off its first failing case."""
    odd = [*_one_object(trial.runs[0].module), *_random(trial)]
    return odd or [*_gradients_alone(trial), *_related(trial)]


def _related(trial: Trial) -> Iterator[str]:
    """How a wrong result is related to the right one, in all cases alike."""
    wrong = [
        (run.judged, right.judged, _wrong(run, right, yardstick))
        for (_, run, yardstick), right in zip(trial.rows, trial.expected, strict=True)
    ]
    if any(run.raised is not None for run in (*trial.runs, *trial.expected)):
        return
    for name in wrong[0][2]:
        if name not in wrong[0][0] or name.startswith(NOT_RESULTS):
            continue
        some = [
            (got[name], want[name])
            for got, want, bad in wrong
            if name in bad and name in got
        ]
        axes = trial.answer.returns.get(name, "")
        if said := relation(*zip(*some, strict=True), axes):
            yield f"{name}: {said}"
        return


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
