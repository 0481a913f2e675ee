"""6.J: a test for leaks, judged on models that are right and on models that leak."""

import random
from collections.abc import Callable

import torch
from torch import Tensor, nn

from helpers.checks.exercise import Answer, Case, Exercise, Look, mistake
from helpers.exercises.kit import exchanging, reordered
from helpers.models.masks import look_ahead_mask

IDS = 11  # the patients take ids from 0 to 10
MOST = 16  # and at most this many tokens, as the stub's docstring says
LENGTH, PLACES = 10, range(1, 10)
TRIES = 40  # a test that misses one leak in eleven misses one of these: 98 % sure


class Patient(nn.Module):
    """One layer of attention with a mask of its own: (B, T) ids -> logits (B, T, V).

    Args:
        seen: T -> (T, T), True = may attend
        rounding: multiply some results by 1 + 1.2e-7, as another order of sums might
        faint: squash the leak to less than this
    """

    def __init__(
        self,
        seen: Callable[[int], Tensor] = look_ahead_mask,
        rounding: bool = False,
        faint: float | None = None,
    ) -> None:
        """Draw fixed weights."""
        super().__init__()
        draw = torch.Generator().manual_seed(5)
        self.seen, self.rounding, self.faint = seen, rounding, faint
        self.register_buffer("table", torch.randn(IDS, 8, generator=draw))
        self.register_buffer("last", torch.randn(8, IDS, generator=draw))

    def forward(self, ids: Tensor) -> Tensor:
        """(B, T) -> (B, T, V)."""
        length = ids.shape[1]
        if length > MOST:
            raise ValueError(f"{length=}: this model reads at most {MOST} tokens")
        logits = self.compute(ids, self.seen(length))
        if self.faint is not None:
            honest = self.compute(ids, look_ahead_mask(length))
            logits = honest + self.faint * (logits - honest).tanh()
        if self.rounding:
            odd = ids.sum(-1, keepdim=True)[..., None] % 2
            logits = logits * (1 + odd * torch.finfo(logits.dtype).eps)
        return logits

    def compute(self, ids: Tensor, mask: Tensor) -> Tensor:
        """Attention, a residual and an output layer."""
        x = self.table[ids]  # (B, T, 8)
        scores = x @ x.mT / 8**0.5  # (B, T, T)
        scores = scores.masked_fill(~mask, float("-inf"))
        return (x + scores.softmax(-1) @ x).tanh() @ self.last


class Whisper(Patient):
    """Has a right mask, but adds token 1 to row 0, whatever token it is."""

    def forward(self, ids: Tensor) -> Tensor:
        """(B, T) -> (B, T, V)."""
        logits, second = super().forward(ids), self.table[ids[:, 1:2]] @ self.last
        logits[:, : second.shape[1]] += second
        return logits


def _everything(length: int) -> Tensor:
    return torch.ones(length, length, dtype=torch.bool)


def _future(length: int) -> Tensor:
    mask = _everything(length).triu(1)
    mask[-1, -1] = True  # the last query has to look somewhere
    return mask


def _one_place(length: int) -> Tensor:
    mask = look_ahead_mask(length)
    mask[2:3, 3:4] = True
    return mask


def _at_the_end(length: int) -> Tensor:
    mask = look_ahead_mask(length)
    mask[-2:-1, -1] = True
    return mask


def _two_ahead(length: int) -> Tensor:
    return look_ahead_mask(length) | _everything(length).triu(2).tril(2)


def _first_place(length: int) -> Tensor:
    mask = look_ahead_mask(length)
    mask[:1, 1:2] = True
    return mask


def _late(length: int) -> Tensor:
    mask = look_ahead_mask(length)
    mask[5:6, 6:7] = True
    return mask


PATIENTS = {
    "a right model": Patient(),
    "a right model whose sums are rounded differently": Patient(rounding=True),
    "a model without a mask": Patient(_everything),
    "a model that sees the future and not the past": Patient(_future),
    "a model whose future is open by one": Patient(lambda n: _everything(n).tril(1)),
    "a model that leaks at one place: token 2 sees token 3": Patient(_one_place),
    "a model that leaks at one place: token 0 sees token 1": Patient(_first_place),
    "a model in which only the second-to-last token sees the last": Patient(
        _at_the_end
    ),
    "a model whose tokens see the one after the next, and not the next": Patient(
        _two_ahead
    ),
    "a model that leaks at one place: token 5 sees token 6": Patient(_late),
    "a model that leaks less than 0.03": Patient(_everything, faint=0.03),
}


def _largest(difference: Tensor) -> bool:
    return bool((difference.abs() < 1e-4).all())


def _below(difference: Tensor) -> bool:
    return difference.abs().max() < 1e-4


def is_causal(
    model: Callable,
    *,
    places: range | tuple = PLACES,
    rows: Callable[[int], slice] = slice,
    same: Callable[[Tensor], bool] = _largest,
    length: int = LENGTH,
    copy: Callable[[Tensor], Tensor] = torch.clone,
    read: Callable[[Tensor], Tensor] = torch.clone,
    new: Callable[[Tensor], Tensor] = lambda old: (old + 1) % IDS,
) -> bool:
    """The course's own answer to 6.J; the keywords are for the misconceptions.

    Change one token after another; for each of them, `rows` must stay the same. The ids
    are drawn as the stub draws them.
    """
    ids = torch.randint(0, IDS, (1, length))
    before = read(model(ids))
    for place in places:
        other = copy(ids)
        other[:, place] = new(other[:, place])
        if not same((read(model(other)) - before)[:, rows(place)]):
            return False
    return True


def _drawn_again(model: Callable) -> bool:
    """Draws the changed token and all behind it."""
    ids = torch.randint(0, IDS, (1, LENGTH))
    before = model(ids)
    for place in PLACES:
        other = torch.randint(0, IDS, ids.shape)
        other[:, :place] = ids[:, :place]
        if not _largest((model(other) - before)[:, :place]):
            return False
    return True


swap = exchanging(is_causal)

MISTAKES = (
    mistake(
        "a test that can't fail",
        "The test calls all of them causal.",
        "Which rows must not change when a token is changed, and do you compare any of "
        "them?",
        lambda model: True,
        swap(places=(0,)),
        swap(rows=lambda place: slice(0)),
    ),
    mistake(
        "a leak in all of them",
        "The test finds a leak in all of them, the right models included.",
        "Token t was changed. May row t change? And are all other tokens still what "
        "they were: is it a copy that you change?",
        swap(copy=lambda ids: ids),
        swap(rows=lambda place: slice(None)),
        swap(rows=lambda place: slice(place + 1)),
        lambda model: False,
    ),
    mistake(
        "only the end looked at",
        "Of the leaks at a single place only that from the last token is noticed.",
        "Where else could a leak be? Follow the token that you change, place by place.",
        swap(places=(LENGTH - 1,)),
        swap(places=(LENGTH - 2, LENGTH - 1)),
    ),
    mistake(
        "some positions left out",
        "Leaks at some positions go unnoticed: a token there is never changed, or a "
        "row before it is never compared.",
        "Follow your loop: which token is changed in each turn, and which rows are "
        "compared?",
        swap(rows=lambda place: slice(1)),
        swap(places=(LENGTH // 2,)),
        swap(places=(1,)),
        swap(places=(1, 2)),
    ),
    mistake(
        "one clean position is enough",
        "The test calls a model causal as soon as one token has no influence on the "
        "rows before it.",
        "When do you know that nothing leaks: after one turn of the loop, or at its "
        "end?",
        lambda model: any(is_causal(model, places=(place,)) for place in PLACES),
    ),
    mistake(
        "an id that the model doesn't know",
        "The changed token got an id that the model does not have.",
        "From which number to which do the ids go, and what becomes of the last one?",
        swap(new=lambda old: old + 1),
        swap(new=lambda old: torch.full_like(old, IDS)),
    ),
    mistake(
        "replaced by chance",
        "A token is at times replaced by itself, and then no row can change: a leak "
        "is noticed on some days and not on others.",
        "Which numbers can your new token be, and what if it is the old one?",
        swap(new=lambda old: torch.randint(0, IDS, old.shape)),
        swap(new=torch.zeros_like),
        _drawn_again,
    ),
    mistake(
        "row 0 never compared",
        "A leak from token 1 into row 0 goes unnoticed.",
        "Which is the first token that an earlier row must not know about?",
        swap(places=range(2, LENGTH)),
        swap(rows=lambda place: slice(1, place)),
    ),
    mistake(
        "last token never changed",
        "A leak from the last token into the row before it goes unnoticed.",
        "Where does your loop end? `range` leaves out its end.",
        swap(places=range(1, LENGTH - 1)),
    ),
    mistake(
        "nothing to compare",
        "At one position there are no rows left to compare, and the maximum of an "
        "empty tensor is an error.",
        "Which position has no rows before it? Where does your loop begin?",
        swap(places=range(LENGTH), same=_below),
        swap(rows=lambda place: slice(place - 1), same=_below),
    ),
    mistake(
        "one row too few",
        "A leak from a token into the row right before it goes unnoticed.",
        "Token t was changed. Which is the last row that must not know about it?",
        swap(rows=lambda place: slice(max(place - 1, 0))),
    ),
    mistake(
        "only the row before",
        "A leak from a token into the row two before it goes unnoticed.",
        "Token t was changed. Which rows must not know about it: only the nearest?",
        swap(rows=lambda place: slice(place - 1, place)),
    ),
    mistake(
        "the end of the text never looked at",
        "A leak from token 6 into row 5 goes unnoticed.",
        "How long is the text that you try, and which of its tokens do you change?",
        swap(places=(1, 2, 3), length=4),
        swap(places=range(1, 5), length=5),
        swap(places=range(1, 6), length=6),
    ),
    mistake(
        "too coarse",
        "The comparison is too coarse: a leak of a few hundredths goes unnoticed.",
        "How much can a row change by rounding alone? Which numbers do you compare?",
        swap(same=lambda difference: difference.abs().max() < 0.1),
        swap(read=lambda logits: logits.argmax(-1)),
    ),
    mistake(
        "the rows after it compared",
        "The rows after the changed token are compared, but those may know about it.",
        "Which rows would have to know the future to change?",
        lambda model: not is_causal(model, rows=lambda place: slice(place + 1, None)),
    ),
    mistake(
        "exact comparison",
        "A right model is said to leak because its sums were rounded differently: the "
        "comparison leaves no room for that.",
        "How far apart can two roundings of the same float32 number be?",
        swap(same=lambda difference: bool((difference == 0).all())),
        swap(same=lambda difference: difference.abs().sum() == 0),
    ),
    mistake(
        "verdict reversed",
        "The test finds a leak in the right models and calls the others causal.",
        "True means that nothing leaks.",
        lambda model: not is_causal(model),
    ),
)


def _again(call: Callable, model: Callable) -> Look:
    """Whether the verdict on one model is always the same, whatever is drawn."""
    verdicts = set()
    for seed in range(TRIES):
        torch.default_generator.manual_seed(seed)
        random.seed(seed)
        verdicts.add(bool(call(model)))
        if len(verdicts) == 2:
            break
    said = str(*verdicts) if len(verdicts) == 1 else "now True, now False"
    return Look({f"verdict on {TRIES} tries": said})


def _patients(seed: int) -> list[Case]:
    again = "a model in which token 1 gets into row 0, again and again"
    cases = (Case(name, (one,), inputs=("model",)) for name, one in PATIENTS.items())
    last = Case(again, (Whisper(),), inputs=("model",), look=_again)
    return [*reordered(cases, seed), last]


EXERCISES = (
    Exercise(
        "6.J",
        "Is it causal? Write the test",
        "probe",
        difficulty=4,
        points=3,
        answers=(Answer("is_causal", is_causal, {"verdict": ""}),),
        cases=_patients,
        proves="two right models pass your test, nine that leak do not, and one more "
        f"is caught {TRIES} times out of {TRIES}",
        misconceptions=MISTAKES,
    ),
)
