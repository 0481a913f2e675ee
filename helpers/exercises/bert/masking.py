"""9.A: choose 15 % of the tokens, and hide most of them.

The answer is random, so it is judged by rates: each must lie within 5 sigma of what is
asked for. By chance, one of them fails to in about one of 250,000 checks.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from helpers.checks.compare import Share
from helpers.checks.exercise import Answer, Case, Exercise, Look, mistake
from helpers.exercises import kit
from helpers.exercises.kit import exchanging

NOT_ASKED = -100
RATES = {"selected": 0.15, "[MASK]": 0.8, "another word": 0.1, "unchanged": 0.1}


def mask_tokens(
    ids: Tensor, special: Tensor, mask_id: int, vocab_size: int
) -> tuple[Tensor, Tensor]:
    """The course's own answer to 9.A."""
    return _masked(ids, special, mask_id, vocab_size)


def _masked(
    ids: Tensor,
    special: Tensor,
    mask_id: int,
    vocab_size: int,
    *,
    choose: Callable = lambda ids, special: (torch.rand(ids.shape) < 0.15) & ~special,
    fate: Callable = lambda ids, selected: torch.rand(ids.shape),
    masks: float = 0.8,
    draws: float = 0.9,
    words: Callable = lambda ids, size: torch.randint(0, size, ids.shape),
    label: Callable = lambda ids, inputs, selected: ids.masked_fill(~selected, -100),
) -> tuple[Tensor, Tensor]:
    """Masking with one step exchanged."""
    selected = choose(ids, special)
    by = fate(ids, selected)
    inputs = torch.where(selected & (by < masks), mask_id, ids)
    drawn = selected & (by >= masks) & (by < draws)
    inputs = torch.where(drawn, words(ids, vocab_size), inputs)
    return inputs, label(ids, inputs, selected)


# --- what is looked at ----------------------------------------------------------------


EXPECTED = {
    "result": "inputs and labels, integers, shaped like ids",
    "labels where selected": "as promised",
    "inputs where not selected": "as promised",
    "special tokens": "as promised",
    "share selected": "about 15%",
    "of these [MASK]": "about 80%",
    "of these another word": "about 10%",
    "of these unchanged": "about 10%",
    "random words": "from the whole vocabulary",
    "choice": "different in each row",
    "what becomes of them": "drawn for each token",
    "the vocabulary's last word": "drawn as well",
}
FEW = 8  # words of the small vocabulary, of which all must be drawn in their turn


def _verdict(name: str, count: int, total: int) -> str | Share:
    """The rate asked for, if the count is within 5 sigma of it; else what it is."""
    rate = RATES[name]
    if kit.near(count, total, rate):
        return f"about {rate:.0%}"
    return Share(count, total)


def _kinds(inputs: Tensor, ids: Tensor, labels: Tensor, mask_id: int) -> dict:
    """The selected positions, by what became of them."""
    asked = labels != NOT_ASKED
    hidden = asked & (inputs == mask_id)
    same = asked & (inputs == ids)
    return {
        "[MASK]": hidden,
        "another word": asked & ~hidden & ~same,
        "unchanged": same,
    }


def _place(what: str, wrong: Tensor) -> str:
    return f"{what} in some places" if wrong.any() else "as promised"


def _labels(inputs: Tensor, labels: Tensor, ids: Tensor, asked: Tensor) -> str:
    """Whether they are the original ids, or those that the model gets to see."""
    wrong = asked & (labels != ids)
    seen = wrong.any() and bool((labels == inputs)[asked].all())
    return _place("the id in inputs" if seen else "not the original id", wrong)


def _elsewhere(inputs: Tensor, ids: Tensor, asked: Tensor, mask_id: int) -> str:
    """What became of the tokens that were not selected."""
    changed = ~asked & (inputs != ids)
    count, masks = int(changed.sum()), int((changed & (inputs == mask_id)).sum())
    if masks <= count / 50:  # a random word may be [MASK], too
        return _place("other words", changed)
    kind = "[MASK]" if masks == count else "[MASK] and other words"
    return f"{kind} in some places"


def _look(
    call: Callable, ids: Tensor, special: Tensor, mask_id: int, vocab_size: int
) -> Look:
    before = ids.clone()
    result = call(ids, special, mask_id, vocab_size)
    if odd := _odd(result, before):  # only this is shown: the rest can't be judged
        return Look(EXPECTED | {"result": odd})
    judged = EXPECTED | _judged(before, special, *result, mask_id, vocab_size)
    return Look(judged | {"result": EXPECTED["result"]})


def _look_at_the_last(
    call: Callable, ids: Tensor, special: Tensor, mask_id: int, vocab_size: int
) -> Look:
    """Of a small vocabulary each word is drawn; that one is not has a chance of 1e-20.

    Answers that draw few different words are left to the other cases.
    """
    before = ids.clone()
    result = call(ids, special, mask_id, vocab_size)
    if odd := _odd(result, before):
        return Look(EXPECTED | {"result": odd})
    inputs, last = result[0], vocab_size - 1
    found = EXPECTED["the vocabulary's last word"]
    drawn = inputs[inputs != before].unique()
    if last not in drawn and len(drawn) > vocab_size / 2:
        found = "never drawn"
    if (inputs >= vocab_size).any():
        found = "not the last: there are ids beyond it"
    return Look(EXPECTED | {"the vocabulary's last word": found})


def _odd(result: Any, ids: Tensor) -> str | None:
    """What is wrong with the form of an answer, if anything is."""
    if result is None:
        return "None. Is there a `return`?"
    if not isinstance(result, tuple | list) or len(result) != 2:
        return f"a {type(result).__name__}"
    for name, value in zip(("inputs", "labels"), result, strict=True):
        if not isinstance(value, Tensor):
            return f"{name} that are a {type(value).__name__}"
        if value.shape != ids.shape or value.is_floating_point():
            return f"{name} of shape {tuple(value.shape)} and {value.dtype}"
    return None


def _judged(
    ids: Tensor,
    special: Tensor,
    inputs: Tensor,
    labels: Tensor,
    mask_id: int,
    vocab_size: int,
) -> dict[str, str | Share]:
    asked = labels != NOT_ASKED
    kinds = _kinds(inputs, ids, labels, mask_id)
    judged = {
        "labels where selected": _labels(inputs, labels, ids, asked),
        "inputs where not selected": _elsewhere(inputs, ids, asked, mask_id),
        "special tokens": _place("selected", asked & special),
    }
    count = int((asked & ~special).sum())
    judged["share selected"] = _verdict("selected", count, int((~special).sum()))
    judged["what becomes of them"] = _fates(kinds)
    each = judged["what becomes of them"] == EXPECTED["what becomes of them"]
    for name, places in kinds.items():  # else a few draws decide about the shares
        found = _verdict(name, int(places.sum()), int(asked.sum()))
        judged[f"of these {name}"] = found if each else f"about {RATES[name]:.0%}"
    judged["random words"] = _variety(inputs[kinds["another word"]], ids, vocab_size)
    judged["choice"] = _rows(asked, special)
    return judged


def _variety(drawn: Tensor, ids: Tensor, vocab_size: int) -> str:
    """Whether they come from the whole vocabulary, of which the batch holds half."""
    if len(drawn) < 20:
        return "hardly any"
    if len(drawn.unique()) < len(drawn) / 3:
        return "too few different ones"
    new = int((~torch.isin(drawn, ids)).sum())
    if kit.near(new, len(drawn), 1 - len(ids.unique()) / vocab_size):
        return "from the whole vocabulary"
    few = new < len(drawn) / 4
    return "mostly words of the batch" if few else "not evenly from the vocabulary"


def _rows(asked: Tensor, special: Tensor) -> str:
    """A column is selected in all rows or in none, special tokens aside."""
    same = ((asked | special).all(0) | (~asked | special).all(0)).all()
    return "the same positions in all rows" if same else "different in each row"


def _fates(kinds: dict[str, Tensor]) -> str:
    """If each token is drawn on its own, many sentences hold two or three kinds."""
    several = sum(places.any(1).long() for places in kinds.values()) > 1
    one = not several.any() and all(places.any() for places in kinds.values())
    return "the same for a whole sentence" if one else "drawn for each token"


def _table(
    draw: torch.Generator, batch: int, length: int, vocab_size: int
) -> tuple[Tensor, Tensor]:
    """Ids with [CLS] first, [SEP] and padding at the end; and where these are.

    Half of the vocabulary occurs: random words should come from the other half too.
    """
    words = 5 + torch.randperm(vocab_size - 5, generator=draw)[: vocab_size // 2]
    ids = words[torch.randint(0, len(words), (batch, length), generator=draw)]
    real = torch.randint(length // 2, length + 1, (batch, 1), generator=draw)
    place = torch.arange(length)
    ids[:, 0] = 2
    ids[place.expand(batch, -1) == real - 1] = 3
    ids[place.expand(batch, -1) >= real] = 0
    return ids, ids < 4


def _cases(seed: int) -> list[Case]:
    draw = torch.Generator().manual_seed(seed)
    names = ("ids", "special", "mask_id", "vocab_size")
    cases = []
    for name, batch, length, size in (
        ("150 sentences of up to 128 tokens", 150, 128, 5003),
        ("230 sentences of up to 80 tokens", 230, 80, 3001),
    ):
        ids, special = _table(draw, batch, length, size)
        cases.append(Case(name, (ids, special, 4, size), inputs=names, look=_look))
    ids, special = _table(draw, 600, 80, FEW)
    few = Case(
        f"{FEW} words, of which only the last is looked at",
        (ids, special, 4, FEW),
        inputs=names,
        look=_look_at_the_last,
    )
    return [*cases, few]


# --- what goes wrong ------------------------------------------------------------------

swap = exchanging(_masked)


def _one_draw(ids: Tensor, special: Tensor) -> Tensor:
    return (torch.rand(ids.shape[-1]) < 0.15).expand(ids.shape) & ~special


def _of_all_tokens(
    ids: Tensor, special: Tensor, mask_id: int, vocab_size: int
) -> tuple[Tensor, Tensor]:
    """The second draw takes a tenth of what did not become [MASK]."""
    selected = (torch.rand(ids.shape) < 0.15) & ~special
    inputs = torch.where(selected & (torch.rand(ids.shape) < 0.8), mask_id, ids)
    drawn = selected & (torch.rand(ids.shape) < 0.1) & (inputs != mask_id)
    words = torch.randint(0, vocab_size, ids.shape)
    return torch.where(drawn, words, inputs), ids.masked_fill(~selected, NOT_ASKED)


def _twice(
    ids: Tensor, special: Tensor, mask_id: int, vocab_size: int, share: float
) -> tuple[Tensor, Tensor]:
    """The second draw does not leave out what has become [MASK]."""
    selected = (torch.rand(ids.shape) < 0.15) & ~special
    inputs = torch.where(selected & (torch.rand(ids.shape) < 0.8), mask_id, ids)
    drawn = selected & (torch.rand(ids.shape) < share)
    words = torch.randint(0, vocab_size, ids.shape)
    return torch.where(drawn, words, inputs), ids.masked_fill(~selected, NOT_ASKED)


def _second_draw(
    ids: Tensor,
    special: Tensor,
    mask_id: int,
    vocab_size: int,
    *,
    share: float,
    among: Callable,
) -> tuple[Tensor, Tensor]:
    """The second draw is made among all tokens, selected or not."""
    selected = (torch.rand(ids.shape) < 0.15) & ~special
    inputs = torch.where(selected & (torch.rand(ids.shape) < 0.8), mask_id, ids)
    drawn = among(selected, special) & (torch.rand(ids.shape) < share)
    words = torch.randint(0, vocab_size, ids.shape)
    return torch.where(drawn, words, inputs), ids.masked_fill(~selected, NOT_ASKED)


def _swapped(
    ids: Tensor, special: Tensor, mask_id: int, vocab_size: int
) -> tuple[Tensor, Tensor]:
    return _masked(ids, special, mask_id, vocab_size)[::-1]


def _over_all(
    ids: Tensor,
    special: Tensor,
    mask_id: int,
    vocab_size: int,
    *,
    masked: Callable = lambda selected, special: selected,
    drawn: Callable = lambda selected, special: selected,
) -> tuple[Tensor, Tensor]:
    """[MASK], random words or both also where nothing was selected."""
    selected = (torch.rand(ids.shape) < 0.15) & ~special
    by = torch.rand(ids.shape)
    inputs = torch.where(masked(selected, special) & (by < 0.8), mask_id, ids)
    words = torch.randint(0, vocab_size, ids.shape)
    some = drawn(selected, special) & (by >= 0.8) & (by < 0.9)
    return torch.where(some, words, inputs), ids.masked_fill(~selected, NOT_ASKED)


def _labels_at(asked: Callable) -> Callable:
    """Labels at some of the selected tokens alone."""

    def answer(
        ids: Tensor, special: Tensor, mask_id: int, vocab_size: int
    ) -> tuple[Tensor, Tensor]:
        inputs, _ = _masked(ids, special, mask_id, vocab_size)
        return inputs, ids.masked_fill(~asked(inputs, ids, mask_id), NOT_ASKED)

    return answer


beyond = exchanging(_over_all)
again = exchanging(_second_draw)


def _everywhere(selected: Tensor, special: Tensor) -> Tensor:
    return torch.ones_like(special)


def _all_words(selected: Tensor, special: Tensor) -> Tensor:
    return ~special


MISTAKES = (
    mistake(
        "labels everywhere",
        "Every token has its own id as its label, so the model is also asked to copy.",
        "Which positions should the loss skip, and which label tells it to?",
        swap(label=lambda ids, inputs, selected: ids.clone()),
    ),
    mistake(
        "0 in place of -100",
        "Tokens that were not selected got the label 0, and the loss takes that for a "
        "word.",
        "Which label does the loss skip?",
        swap(label=lambda ids, inputs, selected: ids.masked_fill(~selected, 0)),
    ),
    mistake(
        "labels of the unselected",
        "The labels were kept for tokens that were not selected, and dropped for "
        "those that were.",
        "Which tokens should the model guess?",
        swap(label=lambda ids, inputs, selected: ids.masked_fill(selected, -100)),
    ),
    mistake(
        "labels taken after masking",
        "The labels were taken from the masked input, so the model learns to answer "
        "[MASK].",
        "Which tensor still holds the original words?",
        swap(
            label=lambda ids, inputs, selected: inputs.masked_fill(~selected, NOT_ASKED)
        ),
    ),
    mistake(
        "special tokens masked",
        "[CLS], [SEP] and padding were selected as well.",
        "What does `special` say, and where do you use it?",
        swap(choose=lambda ids, special: torch.rand(ids.shape) < 0.15),
    ),
    mistake(
        "only special tokens",
        "Only special tokens were selected, but `special` is True for what must stay "
        "as it is.",
        "What does True mean in `special`?",
        swap(choose=lambda ids, special: (torch.rand(ids.shape) < 0.15) & special),
    ),
    mistake(
        "always [MASK]",
        "Every selected token became [MASK]: none is random, none unchanged.",
        "What should happen to the last two tenths?",
        swap(masks=1.0),
    ),
    mistake(
        "never random",
        "Selected tokens become [MASK] or stay; none is replaced by a random word.",
        "80, 10, 10: which of the three is missing?",
        swap(draws=0.8),
    ),
    mistake(
        "never unchanged",
        "Every selected token was changed: a fifth of them became random words.",
        "80, 10, 10: which of the three is missing?",
        swap(draws=1.0),
    ),
    mistake(
        "a tenth of what is left",
        "Only about 2 % of the selected tokens became random words: a tenth of what "
        "[MASK] had left over, not a tenth of all.",
        "One tenth of which tokens? What share is that of those still unmasked?",
        _of_all_tokens,
    ),
    mistake(
        "[MASK] overwritten",
        "Some tokens that had become [MASK] were then replaced by random words.",
        "Which of the selected tokens may still become random words?",
        exchanging(_twice)(share=0.1),
        exchanging(_twice)(share=0.5),
    ),
    mistake(
        "second draw among all tokens",
        "Random words also replaced tokens that were not selected, and some that had "
        "become [MASK]: a second draw was made among all tokens.",
        "Which positions may differ from `ids` at all, and which of them are left "
        "after [MASK]?",
        again(share=0.1, among=_all_words),
        again(share=0.1, among=_everywhere),
        again(share=0.5, among=_all_words),
        again(share=0.5, among=_everywhere),
    ),
    mistake(
        "labels first",
        "Inputs and labels came back in the wrong order.",
        "Which of the two does the docstring promise first?",
        _swapped,
    ),
    mistake(
        "random words everywhere",
        "Random words also replaced tokens that were not selected.",
        "Which positions may differ from `ids` at all?",
        beyond(drawn=_all_words),
        beyond(drawn=_everywhere),
    ),
    mistake(
        "[MASK] everywhere",
        "[MASK] also replaced tokens that were not selected.",
        "Which positions may differ from `ids` at all?",
        beyond(masked=_all_words),
        beyond(masked=_everywhere),
    ),
    mistake(
        "[MASK] and random words everywhere",
        "[MASK] and random words also replaced tokens that were not selected.",
        "Which positions may differ from `ids` at all?",
        beyond(masked=_all_words, drawn=_all_words),
        beyond(masked=_everywhere, drawn=_everywhere),
    ),
    mistake(
        "one fate for a sentence",
        "All selected tokens of a sentence share one fate: they all became [MASK], or "
        "random words, or stayed as they were.",
        "How many random numbers decide what becomes of the selected tokens?",
        swap(fate=lambda ids, selected: torch.rand(len(ids), 1).expand(ids.shape)),
    ),
    mistake(
        "[MASK] and random swapped",
        "One tenth became [MASK] and most became random words.",
        "Which of the three gets the 80 %?",
        swap(fate=lambda ids, selected: 0.8 + _flipped(torch.rand(ids.shape))),
    ),
    mistake(
        "every token selected",
        "All tokens were selected, not 15 % of them.",
        "Where does the 15 % come in?",
        swap(choose=lambda ids, special: ~special),
    ),
    mistake(
        "85 % selected",
        "85 % of the tokens were selected, and 15 % left alone.",
        "Which side of 0.15 is the selected one?",
        swap(choose=lambda ids, special: (torch.rand(ids.shape) > 0.15) & ~special),
    ),
    mistake(
        "the same positions in each row",
        "One draw was used for the whole batch, so all sentences hide the same "
        "positions.",
        "How many random numbers does a batch of B sentences of T tokens need?",
        swap(choose=_one_draw),
        swap(choose=lambda ids, special: _first_row(ids) & ~special),
    ),
    mistake(
        "one random word for all",
        "All random replacements are the same word.",
        "How many random ids did you draw?",
        swap(
            words=lambda ids, size: (
                torch.randint(0, size, (1,)).expand(ids.shape).clone()
            )
        ),
    ),
    mistake(
        "the last word never drawn",
        "The last word of the vocabulary is never drawn.",
        "`torch.randint(a, b, ...)` draws from a to b - 1. What is your b?",
        swap(words=lambda ids, size: torch.randint(0, size - 1, ids.shape)),
    ),
    mistake(
        "ids beyond the vocabulary",
        "Some random words have an id that the vocabulary does not have.",
        "`torch.randint(a, b, ...)` draws from a to b - 1. What is your b?",
        swap(words=lambda ids, size: torch.randint(0, size + 1, ids.shape)),
    ),
    mistake(
        "labels at [MASK] alone",
        "Only where [MASK] stands there is a label; the selected tokens that became "
        "another word or stayed as they were have none.",
        "At which tokens is the model asked: at the hidden ones, or at all selected "
        "ones?",
        _labels_at(lambda inputs, ids, mask_id: inputs == mask_id),
    ),
    mistake(
        "labels at changed tokens alone",
        "Selected tokens that stayed as they were have no label.",
        "At which tokens is the model asked: at the changed ones, or at all selected "
        "ones?",
        _labels_at(lambda inputs, ids, mask_id: inputs != ids),
    ),
    mistake(
        "words of the batch",
        "Random words were taken from the batch itself, not from the vocabulary.",
        "From which range does the docstring draw them?",
        swap(words=lambda ids, size: ids.flatten()[_places(ids)].view_as(ids)),
        swap(words=lambda ids, size: ids[torch.randperm(len(ids))]),
    ),
)


def _flipped(by: Tensor) -> Tensor:
    """Numbers below 0 in one tenth, from 0 to 0.1 in eight, above it in one."""
    return torch.where(by < 0.1, -0.1, torch.where(by < 0.9, 0.05, 0.15))


def _places(ids: Tensor) -> Tensor:
    return torch.randint(0, ids.numel(), (ids.numel(),))


def _first_row(ids: Tensor) -> Tensor:
    count = max(1, round(0.15 * ids.shape[-1]))
    row = torch.zeros(ids.shape[-1], dtype=torch.bool)
    row[torch.randperm(ids.shape[-1])[:count]] = True
    return row.expand(ids.shape)


EXERCISES = (
    Exercise(
        "9.A",
        "Hide tokens: 80, 10, 10",
        "function",
        difficulty=3,
        points=3,
        core=True,
        answers=(
            Answer(
                "mask_tokens",
                mask_tokens,
                {"inputs": "batch, length", "labels": "batch, length"},
            ),
        ),
        cases=_cases,
        proves="four rates within 5 sigma, labels, special tokens, a draw for each row",
        misconceptions=MISTAKES,
    ),
)
