"""7.7b: writing, character by character, with a state that goes along."""

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from helpers.checks.exercise import Answer, Case, Exercise, Look, Misconception, mistake
from helpers.exercises import kit
from helpers.experiments.character_models import chances

ROWS, LENGTH = 20, 32  # 640 draws


class Oracle(nn.Module):
    """Says one character only, which hangs on every character read so far.

    In training mode it says another one, as dropout might make it do.
    """

    def __init__(self, sure: float) -> None:
        """Say the character with a logit of `sure`, the others with 0."""
        super().__init__()
        self.sure = nn.Parameter(torch.tensor(sure))
        self.read = 0

    def forward(self, ids: Tensor, state: Tensor | None = None) -> tuple:
        """(B, T), (B,) -> logits (B, T, V), state."""
        total = torch.zeros(len(ids), dtype=torch.long) if state is None else state
        said = []
        self.read += ids.shape[1]
        for one in ids.unbind(1):
            total = (5 * total + 3 * one + 1) % 1009
            said.append((total + self.training) % 11)
        return self.sure * F.one_hot(torch.stack(said, 1), 11), total


class Coin(nn.Module):
    """Says 1 or 2 after whatever it read, the others never."""

    def __init__(self, gap: float) -> None:
        """Say 2 with a logit that is larger by `gap`."""
        super().__init__()
        self.row = nn.Parameter(torch.tensor([-90.0, 0.0, gap, -90.0]))

    def forward(self, ids: Tensor, state: Tensor | None = None) -> tuple:
        """(B, T) -> logits (B, T, V); there is nothing to remember."""
        return self.row.expand(*ids.shape, 4), torch.zeros(1)


def sample(
    model: nn.Module,
    ids: Tensor,
    length: int,
    temperature: float = 1.0,
    top_k: int | None = None,
    *,
    mode: Callable = nn.Module.eval,
    begin: Callable = lambda model, ids: (ids, None),
    pick: Callable = lambda logits: logits[:, -1],
    draw: Callable = lambda chances: torch.multinomial(chances, 1),
    shape: Callable = chances,
    feed: Callable = lambda whole, new: new,
    remember: Callable = lambda new, old: new,
    result: Callable = lambda whole, start: whole,
    more: int = 0,
) -> Tensor:
    """The course's own answer to 7.7b, in steps that a mistake can exchange."""
    mode(model)
    with torch.no_grad():
        whole, (read, state) = ids, begin(model, ids)
        for _ in range(length + more):
            logits, after = model(read, state)
            new = draw(shape(pick(logits), temperature, top_k))
            whole = torch.cat([whole, new], 1)
            read, state = feed(whole, new), remember(after, state)
    return result(whole, ids.shape[1])


def _look(
    call: Callable,
    ids: Tensor,
    length: int,
    temperature: float,
    top_k: int | None,
    make: Callable,
) -> Look:
    """Let it write; the model counts what it reads. Twice the text is no offence."""
    model = make().train()
    found = call(model, ids, length, temperature, top_k)
    often = model.read > 2 * (ids.shape[1] + length)
    again = "again and again" if often else "once"
    return Look({"ids": found, "how often a character is read": again})


def _counted(
    call: Callable, ids: Tensor, length: int, temperature: float, top_k: int | None
) -> Look:
    """How often was the likelier of two characters drawn?

    It has the chance 0.7. The verdict allows 5 sigma either way: a right answer misses
    it once in a million times. (The seed is set before each case, so it is always the
    same draw anyway.) Never looking at the temperature is 15 sigma off, argmax 17.
    """
    found = call(Coin(0.8473 * temperature), ids, length, temperature, top_k)
    if not isinstance(found, Tensor) or found.dim() != 2:
        return Look({"ids": found})
    drawn = found[:, -length:]
    count, total = int((drawn == 2).sum()), drawn.numel()
    if kit.near(count, total, 0.7):
        said = "in 0.7 of the draws"
    elif count == total:
        said = "always"
    else:
        said = "too often" if count > 0.7 * total else "too seldom"
    return Look({"how often the likelier of two is drawn": said})


def _cases(seed: int) -> list[Case]:
    draw = torch.Generator().manual_seed(seed)

    def case(name: str, batch: int, start: int, *options: Any, sure: float = 60.0):
        ids = torch.randint(11, (batch, start), generator=draw)
        look = partial(_look, make=partial(Oracle, sure))
        names = ("ids", "length", "temperature", "top_k")
        return Case(name, (ids, *options), inputs=names, look=look)

    coin = Case(
        "two characters, chances 0.7 and 0.3",
        (torch.ones(ROWS, 1, dtype=torch.long), LENGTH, 4.0, None),
        inputs=("ids", "length", "temperature", "top_k"),
        look=_counted,
    )
    return [
        case("a beginning of 4 characters", 1, 4, 9, 1.0, None),
        case("two texts at once", 2, 3, 7, 0.7, 5),
        case("k = 1, and a model that is not sure", 1, 5, 8, 2.0, 1, sure=1.0),
        case("one character to begin with", 1, 1, 6, 1.0, 11),
        coin,
    ]


def _wrong(name: str, done: str, where: str, *changes: dict) -> Misconception:
    spellings = tuple(partial(sample, **change) for change in changes)
    return mistake(name, done, where, *spellings)


def _no_temperature(logits: Tensor, temperature: float, top_k: int | None) -> Tensor:
    return chances(logits, 1.0, top_k)


def _no_k(logits: Tensor, temperature: float, top_k: int | None) -> Tensor:
    return chances(logits, temperature)


MISTAKES = (
    _wrong(
        "argmax",
        "The likeliest character is taken each time; nothing is drawn.",
        "Which function of torch draws by given chances?",
        {"draw": lambda chances: chances.argmax(-1, keepdim=True)},
    ),
    _wrong(
        "dropout while sampling",
        "The model wrote in training mode: its dropout was active.",
        "Which method switches a module to evaluation?",
        {"mode": lambda model: None},
        {"mode": nn.Module.train},
    ),
    _wrong(
        "state forgotten",
        "Each step read one character with an empty memory.",
        "What does the model return beside the logits, and who gets it next?",
        {"remember": lambda new, old: None},
    ),
    _wrong(
        "state never renewed",
        "Each new character was read with the state of the beginning: the new ones "
        "before it are forgotten.",
        "Each call of the model returns a state. Which one does the next call get?",
        {"remember": lambda new, old: new if old is None else old},
    ),
    _wrong(
        "last character read again",
        "The beginning was read, and then its last character once more.",
        "What came back when the beginning was read, and what can be drawn from it?",
        {"begin": lambda model, ids: (ids[:, -1:], model(ids, None)[1])},
    ),
    _wrong(
        "read twice",
        "The whole text was read again in each step, on top of a state that knows it "
        "already.",
        "The state stands for all that was read. What is left to read?",
        {"feed": lambda whole, new: whole},
    ),
    _wrong(
        "all read again, no state",
        "The whole text was read again for each new character, and the state never "
        "went along: the longer the text, the slower.",
        "What does the model return beside the logits, and who gets it next?",
        {"feed": lambda whole, new: whole, "remember": lambda new, old: None},
    ),
    _wrong(
        "beginning not read",
        "Only the last character of the beginning was read.",
        "What does the first call of the model get?",
        {"begin": lambda model, ids: (ids[:, -1:], None)},
    ),
    _wrong(
        "the beginning's first prediction",
        "The first new character was chosen behind the first character of the "
        "beginning, not behind its last.",
        "Which of the T rows of logits stands behind the whole beginning?",
        {"pick": lambda logits: logits[:, 0]},
    ),
    _wrong(
        "beginning not returned",
        "Only the new characters come back.",
        "The result is (B, T + length): the beginning stands first.",
        {"result": lambda whole, start: whole[:, start:]},
    ),
    _wrong(
        "one character too many",
        "The text is longer by one than it should be.",
        "How often does your loop draw?",
        {"more": 1},
    ),
    _wrong(
        "one character too few",
        "The text is shorter by one than it should be.",
        "How often does your loop draw? The beginning does not count.",
        {"more": -1},
    ),
    _wrong(
        "temperature not used",
        "The temperature does not reach the chances.",
        "Follow `temperature` through your function.",
        {"shape": _no_temperature},
    ),
    _wrong(
        "k not used",
        "`top_k` does not reach the chances.",
        "Follow `top_k` through your function.",
        {"shape": _no_k},
    ),
    _wrong(
        "neither temperature nor k used",
        "Neither the temperature nor `top_k` reaches the chances.",
        "What do you draw from? Exercise 7.7 made something for it.",
        {"shape": lambda logits, temperature, top_k: logits.softmax(-1)},
    ),
)

EXERCISES = (
    Exercise(
        "7.7b",
        "Write on",
        "function",
        difficulty=3,
        minutes=8,
        points=2,
        answers=(Answer("sample", sample, {"ids": "batch, length"}),),
        cases=_cases,
        proves="the whole beginning read, nothing again and again, the state carried, "
        "dropout off, temperature and k used, drawn by chance",
        misconceptions=MISTAKES,
    ),
)
