"""What can be seen of an answer that is wrong in a way that has no name."""

from collections import defaultdict
from typing import Any

from torch import nn

from helpers.checks.compare import Yardstick
from helpers.checks.observe import run_case
from helpers.checks.recognise import Trial


def symptoms(trial: Trial) -> list[str]:
    """What is odd about an answer, a sentence each, read off its first failing case."""
    return [*_one_object(trial.runs[0].module), *_random(trial)]


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
