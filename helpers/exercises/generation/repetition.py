"""11.P: make tokens that stand in the text already less likely."""

from collections.abc import Callable

import torch
from torch import Tensor

from helpers.checks.exercise import Answer, Case, Exercise, Look, mistake
from helpers.exercises.kit import normal
from helpers.generation import sampling


def reference(logits: Tensor, ids: Tensor, penalty: float) -> Tensor:
    """The course's own answer to 11.P."""
    return sampling.repetition_penalty(logits, ids, penalty)


def _look(call: Callable, logits: Tensor, ids: Tensor, penalty: float) -> Look:
    return Look({"logits": call(logits, ids, penalty)})


def _cases(seed: int) -> list[Case]:
    draw = torch.Generator().manual_seed(seed)

    def case(
        name: str, penalty: float, rows: list[list[int]], size: int, dtype=torch.float64
    ) -> Case:
        signs = torch.arange(size) % 2 * 2 - 1.0  # as many above 0 as below
        logits = (normal(draw, len(rows), size).abs() + 0.2) * signs
        order = torch.randperm(size, generator=draw)  # which token plays which part
        args = logits[:, order].to(dtype), order[torch.tensor(rows)], penalty
        return Case(name, args, inputs=("logits", "ids", "penalty"), look=_look)

    return [
        case("penalty 1.3", 1.3, [[0, 1, 2, 4]], 7),
        case("penalty 2, two texts", 2.0, [[0, 1, 5], [2, 3, 4]], 8),
        case("penalty 1.5, tokens that came twice", 1.5, [[3, 2, 3, 3], [0, 0, 1, 1]],
             6),
        case("penalty 1.2, float32", 1.2, [[1, 4, 2], [0, 3, 0], [5, 5, 1]], 9,
             torch.float32),
        case("penalty 0.8: repeating is encouraged", 0.8, [[0, 3], [1, 2]], 5),
        case("penalty 1: nothing changes", 1.0, [[0, 1, 2]], 4),
    ]  # fmt: skip


def _seen(logits: Tensor, ids: Tensor) -> Tensor:
    """Which tokens stand in each text, (B, V)."""
    return torch.zeros_like(logits, dtype=torch.bool).scatter(1, ids, True)


def _lowered(logits: Tensor, penalty: float) -> Tensor:
    return torch.where(logits > 0, logits / penalty, logits * penalty)


@mistake(
    "negative scores raised",
    "Scores below 0 were divided as well, which makes those tokens more likely, "
    "not less.",
    "What is -4 divided by 2, and which of the two is the higher score?",
)
def _divided(logits: Tensor, ids: Tensor, penalty: float) -> Tensor:
    return torch.where(_seen(logits, ids), logits / penalty, logits)


@mistake(
    "positive scores raised",
    "Scores above 0 were multiplied as well, which makes those tokens more likely.",
    "What is 4 times 2, and which of the two is the higher score?",
)
def _multiplied(logits: Tensor, ids: Tensor, penalty: float) -> Tensor:
    return torch.where(_seen(logits, ids), logits * penalty, logits)


@mistake(
    "the wrong way round",
    "Repeated tokens became more likely instead of less.",
    "Which scores does your code divide, those above 0 or those below?",
)
def _inverted(logits: Tensor, ids: Tensor, penalty: float) -> Tensor:
    return torch.where(_seen(logits, ids), _lowered(logits, 1 / penalty), logits)


@mistake(
    "once for each time",
    "A token that came twice was punished twice.",
    "How often does your loop meet a token that stands in the text three times?",
)
def _each_time(logits: Tensor, ids: Tensor, penalty: float) -> Tensor:
    scores = logits.clone()
    for row, text in enumerate(ids.tolist()):
        for token in text:
            scores[row, token] = _lowered(scores[row, token], penalty)
    return scores


@mistake(
    "all tokens",
    "Every token was punished, whether it stands in the text or not.",
    "Where does your code use `ids`?",
)
def _everything(logits: Tensor, ids: Tensor, penalty: float) -> Tensor:
    return _lowered(logits, penalty)


@mistake(
    "texts of the batch mixed up",
    "What stands in one text was punished in all of them.",
    "Which text's tokens should decide about a row?",
)
def _pooled(logits: Tensor, ids: Tensor, penalty: float) -> Tensor:
    seen = _seen(logits, ids).any(0)
    return torch.where(seen, _lowered(logits, penalty), logits)


@mistake(
    "subtracted",
    "The penalty was subtracted; here scores are divided or multiplied by it.",
    "Read the rule once more: which operation does it name?",
)
def _subtracted(logits: Tensor, ids: Tensor, penalty: float) -> Tensor:
    return logits - penalty * _seen(logits, ids)


@mistake(
    "blocked",
    "Repeated tokens were blocked; they should only become less likely.",
    "What would a text be like in which no token may come twice?",
)
def _blocked(logits: Tensor, ids: Tensor, penalty: float) -> Tensor:
    return logits.masked_fill(_seen(logits, ids), -torch.inf)


@mistake(
    "the last token only",
    "Only the last token of each text was punished.",
    "Which of the tokens in `ids` does your code look at?",
)
def _last(logits: Tensor, ids: Tensor, penalty: float) -> Tensor:
    return torch.where(_seen(logits, ids[:, -1:]), _lowered(logits, penalty), logits)


EXERCISES = (
    Exercise(
        "11.P",
        "A penalty for repetition",
        "function",
        difficulty=2,
        points=2,
        answers=(Answer("repetition_penalty", reference, {"logits": "batch, token"}),),
        cases=_cases,
        proves="scores above and below 0, tokens that came twice, each text by itself",
        misconceptions=(
            _divided,
            _multiplied,
            _inverted,
            _each_time,
            _everything,
            _pooled,
            _subtracted,
            _blocked,
            _last,
        ),
    ),
)
