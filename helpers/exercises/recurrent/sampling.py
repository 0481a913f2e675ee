"""7.E: writing, character by character, with a state that goes along."""

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from helpers.checks.exercise import Answer, Case, Exercise, Look, mistake
from helpers.exercises import kit
from helpers.experiments.character_models import chances

ROWS, LENGTH = 40, 32  # 1280 draws
RATE = 0.7
SPREAD = 8 * (RATE * (1 - RATE) / (ROWS * LENGTH)) ** 0.5  # of the difference of two


class Oracle(nn.Module):
    """Predicts a single character, which depends on every character read so far.

    In training mode it predicts another one, as dropout might make it do.
    """

    def __init__(self, sure: float) -> None:
        """Give that character a logit of `sure`, and the others 0."""
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
    """Predicts 1 or 2 after whatever it has read, and never anything else."""

    def __init__(self, gap: float) -> None:
        """Give 2 a logit that is larger by `gap`."""
        super().__init__()
        self.row = nn.Parameter(torch.tensor([-90.0, 0.0, gap, -90.0]))

    def forward(self, ids: Tensor, state: Tensor | None = None) -> tuple:
        """(B, T) -> logits (B, T, V); there is nothing to remember."""
        return self.row.expand(*ids.shape, 4), torch.zeros(1)


class Level(nn.Module):
    """Finds all its characters about equally likely, and keeps what it reads."""

    def __init__(self) -> None:
        """Logits that differ a little: with `top_k`, it is clear which are meant."""
        super().__init__()
        self.row = nn.Parameter(torch.linspace(0.0, 0.1, 11))
        self.read: list[Tensor] = []

    def forward(self, ids: Tensor, state: Tensor | None = None) -> tuple:
        """(B, T) -> logits (B, T, V); the state counts the characters."""
        self.read.append(ids.clone())
        seen = torch.zeros(1) if state is None else state
        return self.row.expand(*ids.shape, 11), seen + ids.shape[1]


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
    feed: Callable = lambda whole, new, ids: new,
    remember: Callable = lambda new, old: new,
    result: Callable = lambda whole, start: whole,
    more: int = 0,
) -> Tensor:
    """The course's own answer to 7.E, in steps that a mistake can exchange."""
    mode(model)
    with torch.no_grad():
        whole, (read, state) = ids, begin(model, ids)
        for _ in range(length + more):
            logits, after = model(read, state)
            new = draw(shape(pick(logits), temperature, top_k))
            whole = torch.cat([whole, new], 1)
            read, state = feed(whole, new, ids), remember(after, state)
    return result(whole, ids.shape[1])


def _look(
    call: Callable,
    ids: Tensor,
    length: int,
    temperature: float,
    top_k: int | None,
    make: Callable,
) -> Look:
    """Let it write; the model counts what it reads. Up to twice the text is fine."""
    model = make().train()
    found = call(model, ids, length, temperature, top_k)
    often = model.read > 2 * (ids.shape[1] + length)
    again = "again and again" if often else "once"
    return Look({"ids": found, "how often a character is read": again})


def _counted(
    call: Callable, ids: Tensor, length: int, temperature: float, top_k: int | None
) -> Look:
    """How often was the more likely of two characters drawn?

    Its probability is 0.7. The verdict allows 5 sigma either way, which a right answer
    misses once in a million times. (The seed is set before each case, so the draw is
    always the same anyway.) Ignoring the temperature is 21 sigma off at one of the two
    temperatures and 11 at the other, argmax 23. The share tells one mistake from the
    other.
    """
    found = call(Coin(0.8473 * temperature), ids, length, temperature, top_k)
    if not isinstance(found, Tensor) or found.dim() != 2:
        return Look({"ids": found})
    drawn = found[:, -length:]
    count, total = int((drawn == 2).sum()), drawn.numel()
    if kit.near(count, total, RATE):
        said = f"in {RATE} of the draws"
    elif count == total:
        said = "always"
    else:
        said = "too often" if count > RATE * total else "too rarely"
    often = "how often the more likely of two is drawn"
    return Look({often: said, "its share of the draws": count / total})


def _drawn(
    call: Callable, ids: Tensor, length: int, temperature: float, top_k: int | None
) -> Look:
    """Is what it reads what it wrote? May each character be drawn, in each row anew?

    None of the eleven is missing in 1280 draws but once in 10^50 times.
    """
    model = Level()
    found = call(model, ids, length, temperature, top_k)
    if not isinstance(found, Tensor) or found.shape != (ROWS, 1 + LENGTH):
        return Look({"ids": found})
    read, new = torch.cat(model.read, 1), found[:, 1:]
    ends = [one for one in (new, new[:, :-1]) if read.shape[1] >= one.shape[1]]
    same = any(torch.equal(read[:, -one.shape[1] :], one) for one in ends)
    rows = len(new.unique(dim=0)) > 1
    again = call(Level(), ids, length, temperature, top_k)
    return Look(
        {
            "what is read": "what was written" if same else "something else",
            "characters drawn": "all" if len(new.unique()) == 11 else "some never",
            "rows": "different" if rows else "all the same",
            "a second text": "the same" if torch.equal(found, again) else "another",
        }
    )


def _cases(seed: int) -> list[Case]:
    draw = torch.Generator().manual_seed(seed)

    def case(name: str, batch: int, start: int, *options: Any, sure: float = 60.0):
        ids = torch.randint(11, (batch, start), generator=draw)
        look = partial(_look, make=partial(Oracle, sure))
        names = ("ids", "length", "temperature", "top_k")
        return Case(name, (ids, *options), inputs=names, look=look)

    def coin(name: str, temperature: float) -> Case:
        return Case(
            f"two characters, probabilities 0.7 and 0.3, {name}",
            (torch.ones(ROWS, 1, dtype=torch.long), LENGTH, temperature, None),
            inputs=("ids", "length", "temperature", "top_k"),
            look=_counted,
            tolerance=SPREAD,
        )

    return [
        case("a beginning of 4 characters", 1, 4, 9, 1.0, None),
        case("two texts at once", 2, 3, 7, 0.7, 5),
        case("k = 1, and a model that is not sure", 1, 5, 8, 2.0, 1, sure=1.0),
        case("one character to begin with", 1, 1, 6, 1.0, 11),
        coin("hotter", 4.0),
        coin("cooler", 0.25),
        Case(
            "eleven characters, nearly equally likely",
            (torch.ones(ROWS, 1, dtype=torch.long), LENGTH, 1.0, None),
            inputs=("ids", "length", "temperature", "top_k"),
            look=_drawn,
        ),
    ]


def _no_temperature(logits: Tensor, temperature: float, top_k: int | None) -> Tensor:
    return chances(logits, 1.0, top_k)


def _multiplied(logits: Tensor, temperature: float, top_k: int | None) -> Tensor:
    return chances(logits, 1 / temperature, top_k)


def _twice(logits: Tensor, temperature: float, top_k: int | None) -> Tensor:
    return chances(logits / temperature, temperature, top_k)


def _some_k(logits: Tensor, temperature: float, top_k: int | None) -> Tensor:
    return chances(logits, temperature, top_k or min(5, logits.shape[-1]))


def _seeded(chances: Tensor) -> Tensor:
    draw = torch.Generator().manual_seed(0)
    return torch.multinomial(chances, 1, generator=draw)


def _begin_seeded(model: nn.Module, ids: Tensor) -> tuple:
    torch.manual_seed(0)
    return ids, None


def _no_k(logits: Tensor, temperature: float, top_k: int | None) -> Tensor:
    return chances(logits, temperature)


def _draw_twice(
    model: nn.Module,
    ids: Tensor,
    length: int,
    temperature: float = 1.0,
    top_k: int | None = None,
) -> Tensor:
    model.eval()
    read, state = ids, None
    with torch.no_grad():
        for _ in range(length):
            logits, state = model(read, state)
            given = chances(logits[:, -1], temperature, top_k)
            read = torch.multinomial(given, 1)
            ids = torch.cat([ids, torch.multinomial(given, 1)], 1)
    return ids


swap = kit.exchanging(sample)
MISTAKES = (
    mistake(
        "argmax",
        "The most likely character is taken each time; nothing is drawn at random.",
        "Which torch function draws from given probabilities?",
        swap(draw=lambda chances: chances.argmax(-1, keepdim=True)),
    ),
    mistake(
        "an axis lost",
        "The new characters have shape (B,), which can't be joined to a text (B, T).",
        "Print the shape of what you draw. Which axis is missing for `torch.cat`?",
        swap(draw=lambda chances: torch.multinomial(chances, 1)[:, 0]),
        swap(draw=lambda chances: chances.argmax(-1)),
    ),
    mistake(
        "a softmax of probabilities",
        "Probabilities went through a second softmax and came out almost equal.",
        "Does `chances` return logits or probabilities? And what does the draw expect?",
        swap(shape=lambda *given: chances(*given).softmax(-1)),
    ),
    mistake(
        "dropout while sampling",
        "The model wrote in training mode, with its dropout active.",
        "Which method switches a module to evaluation mode?",
        swap(mode=lambda model: None),
        swap(mode=nn.Module.train),
    ),
    mistake(
        "state forgotten",
        "Each new character was read with an empty memory.",
        "What does the model return besides the logits, and who gets it next?",
        swap(remember=lambda new, old: None),
    ),
    mistake(
        "state never updated",
        "Each new character was read with the state from the end of the beginning, so "
        "the new characters before it are forgotten.",
        "Each call of the model returns a state. Which one does the next call get?",
        swap(remember=lambda new, old: new if old is None else old),
    ),
    mistake(
        "last character read again",
        "The beginning was read, and then its last character once more.",
        "What did the model return when it read the beginning, and what can be drawn "
        "from that?",
        swap(begin=lambda model, ids: (ids[:, -1:], model(ids, None)[1])),
    ),
    mistake(
        "read twice",
        "The whole text was read again in each step, on top of a state that already "
        "knows it.",
        "The state stands for all that was read. What is left to read?",
        swap(feed=lambda whole, new, ids: whole),
    ),
    mistake(
        "all read again, no state",
        "The whole text was read again for each new character, and the state was "
        "never passed on: the longer the text, the slower.",
        "What does the model return besides the logits, and who gets it next?",
        swap(feed=lambda whole, new, ids: whole, remember=lambda new, old: None),
    ),
    mistake(
        "beginning not read",
        "Only the last character of the beginning was read.",
        "What does the first call of the model get?",
        swap(begin=lambda model, ids: (ids[:, -1:], None)),
    ),
    mistake(
        "the beginning's first prediction",
        "The first new character was drawn from the prediction after the first "
        "character of the beginning, not after its last.",
        "Which of the T rows of logits has seen the whole beginning?",
        swap(pick=lambda logits: logits[:, 0]),
    ),
    mistake(
        "beginning not returned",
        "Only the new characters come back.",
        "The result is (B, T + length): the beginning comes first.",
        swap(result=lambda whole, start: whole[:, start:]),
    ),
    mistake(
        "one character too many",
        "The text is one character longer than it should be.",
        "How many times does your loop draw?",
        swap(more=1),
    ),
    mistake(
        "one character too few",
        "The text is one character shorter than it should be.",
        "How many times does your loop draw? The beginning does not count.",
        swap(more=-1),
    ),
    mistake(
        "the beginning read again",
        "Each step read the beginning again, with the state from the step before; the "
        "new characters were never read.",
        "What does the model have to read in the second step?",
        swap(feed=lambda whole, new, ids: ids),
    ),
    mistake(
        "another one read than written",
        "There were two draws in a step: the character that the model read is not the "
        "one that was written.",
        "Draw once, keep the result under a name, and use it twice.",
        _draw_twice,
    ),
    mistake(
        "one draw for all rows",
        "Every row got the same character.",
        "How many rows do the probabilities have, and how many of them do you draw "
        "from?",
        swap(
            draw=lambda chances: torch.multinomial(chances[:1], 1).expand(
                len(chances), 1
            )
        ),
    ),
    mistake(
        "the last row",
        "The logits of the last row of the batch were taken, not those of the last "
        "position.",
        "The logits are (B, T, V). Which axis does your index stand on?",
        swap(pick=lambda logits: logits[-1]),
    ),
    mistake(
        "the same text every time",
        "Two calls wrote the same text: the random numbers begin at the same place in "
        "each call, or in each step.",
        "A seed is set once, outside. What do your lines do to the random numbers?",
        swap(draw=_seeded),
        swap(begin=_begin_seeded),
    ),
    mistake(
        "a k where none is given",
        "Where `top_k` is None, some characters could never be drawn.",
        "What does the docstring say that None means?",
        swap(shape=_some_k),
    ),
    mistake(
        "temperature used twice",
        "The logits were divided by the temperature twice.",
        "`character_models.chances` divides by it. Does another line of yours?",
        swap(shape=_twice),
    ),
    mistake(
        "temperature not used",
        "The temperature has no effect on the probabilities.",
        "Follow `temperature` through your function.",
        swap(shape=_no_temperature),
    ),
    mistake(
        "multiplied by the temperature",
        "The temperature works the wrong way round: a high one makes the likely "
        "characters likelier still.",
        "Divide or multiply? Try a temperature close to 0.",
        swap(shape=_multiplied),
    ),
    mistake(
        "k not used",
        "`top_k` has no effect on the probabilities.",
        "Follow `top_k` through your function.",
        swap(shape=_no_k),
    ),
    mistake(
        "neither temperature nor k used",
        "Neither the temperature nor `top_k` has any effect on the probabilities.",
        "What do you draw from? `character_models.chances` takes both.",
        swap(shape=lambda logits, temperature, top_k: logits.softmax(-1)),
    ),
)

EXERCISES = (
    Exercise(
        "7.E",
        "Keep writing",
        "function",
        difficulty=2,
        points=2,
        core=True,
        answers=(Answer("sample", sample, {"ids": "batch, length"}),),
        cases=_cases,
        proves="the whole beginning read and then what was written, nothing again and "
        "again, the state carried along, dropout off, temperature and k used, drawn at "
        "random in each row",
        misconceptions=MISTAKES,
    ),
)
