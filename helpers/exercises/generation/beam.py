"""11.L: beam search for a language model."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from helpers.checks.exercise import Answer, Case, Exercise, Look, mistake
from helpers.exercises.generation.shared import ROUNDED, Toy
from helpers.exercises.gpt.shared import tokens
from helpers.exercises.kit import exchanging, number
from helpers.generation import beam

VOCAB = 7


def beam_search(
    model: Any, ids: Tensor, max_new_tokens: int, width: int, end: int | None = None
) -> tuple[Tensor, float]:
    """The course's own answer to 11.L."""
    return beam.continue_text(model, ids, max_new_tokens, width, end)


def _look(call: Callable, model: Toy, *inputs: Any) -> Look:
    result = call(model, *inputs)
    if not (isinstance(result, tuple | list) and len(result) == 2):
        return Look({"result": result})
    ids, score = result
    return Look({"ids": ids, "score": number(score)}, {"read": model.read})


def _cases(seed: int) -> list[Case]:
    """Models are drawn until a certain mistake shows: on most it does not."""
    draw = torch.Generator().manual_seed(seed)

    def case(
        width: int,
        new: int,
        length: int,
        end: int | None,
        wrong: Callable | None,
        prompted: bool = False,
    ) -> Case:
        for _ in range(100):
            model = Toy(draw, VOCAB, sharp=1.2, likes=end)
            ids = tokens(draw, VOCAB, 1, length)
            ids = ids.masked_fill(ids == end, 0) if end else ids  # not in the prompt
            if prompted:
                ids[0, -1] = end
            args = model, ids, new, width, end
            if wrong is None or not torch.equal(_search(*args)[0], wrong(*args)[0]):
                break
        model.read = 0
        ends = "nothing ends it" if end is None else f"{end} ends it"
        ends += ", and the prompt ends in it" if prompted else ""
        name = f"width {width}, {new} new tokens after {length}, {ends}"
        names = ("model", "ids", "max_new_tokens", "width", "end")
        return Case(name, args, inputs=names, look=_look, tolerance=ROUNDED)

    return [
        case(1, 4, 3, None, None),
        case(2, 5, 4, None, _greedy),
        case(3, 4, 2, None, _one_each),
        case(6, 1, 2, None, None),
        case(2, 4, 2, 1, swap(best=_first)),
        # By sums the end stays and hides the sure thing; by means it would give way.
        _forked(draw, "a better end", 3, 0.40, 0.35, sure=True),
        _forked(draw, "an early end that stays", 3, 0.20, 0.35, sure=True),
        # It wins by its mean, if nothing may push it out before.
        _forked(draw, "an early end that is pushed out", 12, 0.325, 0.675, sure=False),
        case(4, 4, 1, 3, _dropped),
        case(5, 4, 2, 4, swap(ends=False)),
        case(2, 5, 3, 6, _one_each),
        case(3, 5, 2, 5, swap(best=_longest)),
        case(5, 2, 3, None, swap(each=2)),
        case(2, 3, 3, 2, None, prompted=True),
        case(3, 5, 2, 1, swap(stop=_best_ended)),
    ]


class Script(Toy):
    """A model whose scores depend on the last token only: (V, V) probabilities."""

    def __init__(self, shares: Tensor) -> None:
        self.table, self.read = shares.log(), 0

    def scores(self, ids: Tensor) -> Tensor:
        """(B, T) -> (B, T, V)."""
        return self.table[ids]


def _forked(
    draw: torch.Generator, name: str, new: int, ended: float, fork: float, sure: bool
) -> Case:
    """After the prompt comes the end, or a token with two successors.

    Args:
        draw: which token plays which part
        name: of the case
        new: how many tokens are written at most
        ended: probability of the end
        fork: probability of the other token; both up to a factor
        sure: whether the less likely successor leads to a sure thing
    """
    start, end, forked, dull, good, *others = torch.randperm(7, generator=draw).tolist()
    unlike = 1 + 0.1 * torch.rand(7, 7, generator=draw, dtype=torch.float64)
    shares = torch.ones_like(unlike)
    rare = 0.01 if sure else 1e-4
    shares[:, end] = shares[start] = shares[forked] = rare
    if not sure:  # no way back to where tokens are likely
        shares[:, start] = shares[[dull, good, *others], forked] = rare
    else:
        shares[good] = 0.002
    shares *= unlike  # no two are equally likely: a tie would be broken by chance
    shares[start, end], shares[start, forked] = ended, fork
    shares[forked, dull], shares[forked, good] = 0.53, 0.50
    if sure:
        shares[good, others[0]] = 0.988
    args = Script(shares), torch.tensor([[start]]), new, 2, end
    names = ("model", "ids", "max_new_tokens", "width", "end")
    return Case(name, args, inputs=names, look=_look, tolerance=ROUNDED)


def _search(
    model: Any,
    ids: Tensor,
    max_new_tokens: int,
    width: int,
    end: int | None = None,
    *,
    start: float = 0.0,
    value: Callable = lambda logits: logits.log_softmax(-1),
    add: Callable = lambda total, more: total + more,
    stop: Callable = lambda ended: False,
    pick: Callable = lambda found, width: sorted(found, key=_sum, reverse=True)[:width],
    each: int | None = None,
    best: Callable = lambda beams, length: max(
        beams, key=lambda one: one[0] / (one[1].shape[1] - length)
    ),
    score: Callable = lambda total, ids, length: total / (ids.shape[1] - length),
    ends: bool = True,
    new: Callable = lambda text, ids: text.shape[1] > ids.shape[1],
) -> tuple[Tensor, float]:
    """Beam search with lists, with one step exchanged."""
    beams = [(start, ids)]
    for _ in range(max_new_tokens):
        found = []
        for total, text in beams:
            if ends and new(text, ids) and end is not None and text[0, -1] == end:
                found.append((total, text))
                continue
            values = value(model(text).logits[0, -1])
            for token in values.topk(min(each or VOCAB, VOCAB)).indices.tolist():
                more = torch.cat([text, text.new_tensor([[token]])], 1)
                found.append((add(total, values[token].item()), more))
        beams = pick(found, width)
        if stop([text[0, -1] == end for _, text in beams]):
            break
    total, text = best(beams, ids.shape[1])
    return text, score(total, text, ids.shape[1])


def _sum(beam: tuple[float, Tensor]) -> float:
    return beam[0]


swap = exchanging(_search)


def _first(beams: list, length: int) -> tuple[float, Tensor]:
    return beams[0]


def _one_each(
    model: Any, ids: Tensor, max_new_tokens: int, width: int, end: int | None = None
) -> tuple[Tensor, float]:
    """The best first tokens, each continued greedily."""

    def pick(found: list, width: int) -> list:
        if found[0][1].shape[1] == ids.shape[1] + 1:
            return sorted(found, key=_sum, reverse=True)[:width]
        best: dict[tuple, tuple] = {}
        for total, text in found:
            longer = text.shape[1] > ids.shape[1] + 1
            past = tuple(text[0, : -1 if longer else None].tolist())
            if past not in best or total > best[past][0]:
                best[past] = (total, text)
        return list(best.values())

    return _search(model, ids, max_new_tokens, width, end, pick=pick)


def _mean_while(
    model: Any, ids: Tensor, max_new_tokens: int, width: int, end: int | None = None
) -> tuple[Tensor, float]:
    """Compared by their means even while searching."""

    def pick(found: list, width: int) -> list:
        length = ids.shape[1]
        found = sorted(
            found, key=lambda one: one[0] / (one[1].shape[1] - length), reverse=True
        )
        return found[:width]

    return _search(model, ids, max_new_tokens, width, end, pick=pick)


def _mean_of_all_while(
    model: Any, ids: Tensor, max_new_tokens: int, width: int, end: int | None = None
) -> tuple[Tensor, float]:
    """The same, with the prompt counted among the tokens."""

    def pick(found: list, width: int) -> list:
        found = sorted(found, key=lambda one: one[0] / one[1].shape[1], reverse=True)
        return found[:width]

    return _search(model, ids, max_new_tokens, width, end, pick=pick)


def _aside(
    model: Any,
    ids: Tensor,
    max_new_tokens: int,
    width: int,
    end: int | None = None,
    *,
    each: int = VOCAB,
    filled: bool = False,
    shrinks: bool = False,
) -> tuple[Tensor, float]:
    """Finished texts leave the beam and wait for the end.

    The next best candidates take their places at once (`filled`), or nobody ever does
    (`shrinks`); else there are `width` new places in each round.
    """
    length = ids.shape[1]
    texts, done = [(0.0, ids)], []
    for _ in range(max_new_tokens):
        found = []
        for total, text in texts:
            values = model(text).logits[0, -1].log_softmax(-1)
            for token in values.topk(min(each, VOCAB)).indices.tolist():
                more = torch.cat([text, text.new_tensor([[token]])], 1)
                found.append((total + values[token].item(), more))
        places = width - len(done) if shrinks else width
        texts = []
        for rank, one in enumerate(sorted(found, key=_sum, reverse=True)):
            if len(texts) == places or (rank >= places and not filled):
                break
            (done if one[1][0, -1] == end else texts).append(one)
        if not texts:
            break
    total, text = max(done + texts, key=lambda one: one[0] / (one[1].shape[1] - length))
    return text, total / (text.shape[1] - length)


def _dropped(
    model: Any, ids: Tensor, max_new_tokens: int, width: int, end: int | None = None
) -> tuple[Tensor, float]:
    """Finished texts fall out of the search."""
    texts = [(0.0, ids)]
    for _ in range(max_new_tokens):
        found = []
        for total, text in texts:
            if text.shape[1] > ids.shape[1] and text[0, -1] == end:
                continue
            values = model(text).logits[0, -1].log_softmax(-1)
            for token in range(VOCAB):
                more = torch.cat([text, text.new_tensor([[token]])], 1)
                found.append((total + values[token].item(), more))
        if not found:
            break
        texts = sorted(found, key=_sum, reverse=True)[:width]
    length = ids.shape[1]
    total, text = max(texts, key=lambda one: one[0] / (one[1].shape[1] - length))
    return text, total / (text.shape[1] - length)


def _greedy(
    model: Any, ids: Tensor, max_new_tokens: int, width: int, end: int | None = None
) -> tuple[Tensor, float]:
    """A width of 1, whatever was asked for."""
    return _search(model, ids, max_new_tokens, 1, end)


def _twins(
    model: Any, ids: Tensor, max_new_tokens: int, width: int, end: int | None = None
) -> tuple[Tensor, float]:
    """All beams begin alike and stay alike: greedy, with more work."""
    for _ in range(width - 1):
        _greedy(model, ids, max_new_tokens, 1, end)
    return _greedy(model, ids, max_new_tokens, 1, end)


def _best_ended(ended: list) -> bool:
    """Whether the beam with the highest sum has ended."""
    return bool(ended[0])


def _first_end(
    model: Any, ids: Tensor, max_new_tokens: int, width: int, end: int | None = None
) -> tuple[Tensor, float]:
    """The first text that ends is the answer."""

    def best(beams: list, length: int) -> tuple[float, Tensor]:
        ended = [one for one in beams if one[1][0, -1] == end]
        return max(ended or beams, key=lambda one: one[0] / (one[1].shape[1] - length))

    return _search(model, ids, max_new_tokens, width, end, stop=any, best=best)


def _by_all(total: float, ids: Tensor, length: int) -> float:
    return total / ids.shape[1]


def _uncounted(
    model: Any, ids: Tensor, max_new_tokens: int, width: int, end: int | None = None
) -> tuple[Tensor, float]:
    """The mean of a finished text leaves out its end."""

    def mean(total: float, text: Tensor, length: int) -> float:
        return total / max(text.shape[1] - length - int(text[0, -1] == end), 1)

    return _search(
        model,
        ids,
        max_new_tokens,
        width,
        end,
        score=mean,
        best=lambda beams, length: max(beams, key=lambda one: mean(*one, length)),
    )


def _longest(beams: list, length: int) -> tuple[float, Tensor]:
    return max(beams, key=lambda one: one[0] / one[1].shape[1])


MISTAKES = (
    mistake(
        "adds probabilities",
        "Probabilities were added up. The probability of a text is a product.",
        "What turns a product into a sum?",
        swap(value=lambda logits: logits.softmax(-1)),
    ),
    mistake(
        "adds raw scores",
        "The raw scores were added up; they are not log-probabilities.",
        "What has to happen to scores before rows can be compared with each other?",
        swap(value=lambda logits: logits),
    ),
    mistake(
        "last step only",
        "The beams were compared by their last token alone.",
        "What does a beam have to remember from its earlier tokens?",
        swap(add=lambda total, more: more),
    ),
    mistake(
        "divides by the wrong length",
        "The sum was divided by the length of the whole text, the prompt included.",
        "How many log-probabilities are in the sum?",
        swap(score=_by_all, best=_longest),
        swap(score=_by_all),
    ),
    mistake(
        "the end not counted",
        "The sum of a finished text was divided by one token too few: `end` was "
        "written as well.",
        "How many log-probabilities are in the sum of a finished text?",
        _uncounted,
    ),
    mistake(
        "no length rule",
        "The sum was divided neither for the choice nor for the score, so short texts "
        "win.",
        "By which number should finished texts of different lengths be compared?",
        swap(best=_first, score=lambda total, ids, length: total),
    ),
    mistake(
        "sum returned",
        "The text is right, but its score is the sum.",
        "What does the docstring say about the score?",
        swap(score=lambda total, ids, length: total),
    ),
    mistake(
        "length rule forgotten in the choice",
        "The score was divided, but the text had already been chosen by its sum.",
        "What is compared in your last line?",
        swap(best=_first),
    ),
    mistake(
        "length rule while searching",
        "The beams were compared by their means in every round. There the sum should "
        "decide, and the mean only at the end.",
        "Which of the two numbers do you sort by inside the loop?",
        _mean_while,
        _mean_of_all_while,
    ),
    mistake(
        "extends finished beams",
        "Texts that had ended were continued.",
        "What becomes of a beam whose last token is `end`?",
        swap(ends=False),
    ),
    mistake(
        "a prompt taken for a finished text",
        "The prompt ended in `end`, and it was not continued.",
        "Only a token that was written can finish a text. How can you tell it from a "
        "token of the prompt?",
        swap(new=lambda text, ids: True),
        swap(
            new=lambda text, ids: True,
            score=lambda total, ids, length: total / max(ids.shape[1] - length, 1),
            best=lambda beams, length: max(
                beams, key=lambda one: one[0] / max(one[1].shape[1] - length, 1)
            ),
        ),
    ),
    mistake(
        "stops at the first end",
        "The search stopped when a text had ended, though others could still win.",
        "Which texts may go on after one of them has written `end`?",
        swap(stop=any),
        swap(stop=_best_ended),
        _first_end,
    ),
    mistake(
        "drops finished beams",
        "A text that had ended was thrown away.",
        "What becomes of a beam whose last token is `end`?",
        _dropped,
    ),
    mistake(
        "finished beams set aside",
        "A text that had ended was set aside, where nothing could push it out any "
        "more.",
        "Which candidates does a finished text have to beat in every round to keep "
        "its place?",
        _aside,
        lambda *inputs: _aside(*inputs, filled=True),
        lambda *inputs: _aside(*inputs, filled=True, each=inputs[3]),
        lambda *inputs: _aside(*inputs, shrinks=True),
    ),
    mistake(
        "one survivor of each beam",
        "Only the best continuation of each beam was kept, but the best ones may all "
        "come from one beam.",
        "How many candidates do you choose from in each round?",
        _one_each,
    ),
    mistake(
        "all beams alike",
        "The width has no effect: this is greedy decoding, with one beam or with "
        "several that are all alike.",
        "After the first round, how many different texts are there to go on from?",
        _twins,
        _greedy,
    ),
    mistake(
        "worst beam returned",
        "Of the texts that were left, the one with the lowest score was returned.",
        "Which end of your list holds the best text?",
        swap(
            best=lambda beams, length: min(
                beams, key=lambda one: one[0] / (one[1].shape[1] - length)
            )
        ),
    ),
    mistake(
        "keeps the least likely",
        "In each round the least likely beginnings were kept.",
        "In which order is your list when you cut it?",
        swap(pick=lambda found, width: sorted(found, key=_sum)[:width]),
    ),
    mistake(
        "one beam too few",
        "One beam fewer than `width` was kept.",
        "How many are left after you cut the list?",
        swap(
            pick=lambda found, width: sorted(found, key=_sum, reverse=True)[
                : max(width - 1, 1)
            ]
        ),
    ),
)

EXERCISES = (
    Exercise(
        "11.L",
        "Beam search",
        "function",
        difficulty=4,
        points=5,
        answers=(
            Answer("beam_search", beam_search, {"ids": "1, prompt + new", "score": ""}),
        ),
        cases=_cases,
        proves="six widths, sums while searching, finished texts, the mean at the end",
        misconceptions=MISTAKES,
    ),
)
