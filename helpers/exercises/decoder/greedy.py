"""5.D: greedy decoding, on a scripted model that ends sentences at given places."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from helpers.checks.exercise import Answer, Case, Exercise, Look, mistake
from helpers.exercises.encoder.shared import ids_from
from helpers.exercises.kit import exchanging, normal, padded, words
from helpers.generation import decoding
from helpers.models.transformer import Transformer, TransformerConfig, look_ahead_mask

VOCAB = 23
LOUD = 1e3  # drowns every other score


class Scripted(nn.Module):
    """A stand-in for a Transformer: the source's first number says when to end.

    Its scores depend on every visible word of the target, directly and through a
    second attention, and on every visible word of the source. Padding and the start
    token are never the best.
    """

    def __init__(self, draw: torch.Generator, start: int, end: int) -> None:
        super().__init__()
        self.table, self.other = (normal(draw, 99, VOCAB) for _ in range(2))
        self.silent, self.end = [0, start], end
        self.encoded = self.decoded = 0  # sentences, however they are batched
        self.scored = 0.0  # tells mistakes apart that led to the same words

    def encode(self, source: Tensor, source_mask: Tensor | None = None) -> Tensor:
        """(B, S) -> (B, S, V + 1): a row per word, and when to end."""
        self.encoded += len(source)
        due = source[:, :1].expand_as(source).unsqueeze(-1)
        mixed = _visible(source_mask, source.shape[1]) @ self.other[source]
        return torch.cat([self.other[source] + mixed, due.double()], -1)

    def decode(
        self,
        target: Tensor,
        memory: Tensor,
        target_mask: Tensor | None,
        source_mask: Tensor | None = None,
    ) -> Tensor:
        """(B, T) -> scores (B, T, V)."""
        self.decoded += len(target)
        length = target.shape[1]
        may = _visible(target_mask, length)
        place = 1 / torch.arange(1, length + 1).double()[:, None]
        first = (may @ (self.table[target] * place)).tanh()
        seen = _visible(source_mask, memory.shape[1]) @ memory[..., :-1].tanh()
        scores = 2 * may @ first + 3 * first.roll(1, -1) + 4 * seen
        scores[..., self.silent] -= LOUD
        due = memory[:, 0, -1:] == torch.arange(1, length + 1)  # (B, T)
        scores[..., self.end] += LOUD * (2 * due.double() - 1)
        self.scored += scores[:, -1].sum().item()
        return scores

    def forward(
        self, source: Tensor, target: Tensor, source_mask: Any, target_mask: Any
    ) -> Tensor:
        """Both in one call."""
        memory = self.encode(source, source_mask)
        return self.decode(target, memory, target_mask, source_mask)


def _visible(mask: Tensor | None, length: int) -> Tensor:
    """A mask as numbers, (B or 1, T or 1, S)."""
    if mask is None:
        return torch.ones(1, 1, length, dtype=torch.float64)
    mask = mask.squeeze(1) if mask.dim() == 4 else mask
    return mask.double() if mask.dim() == 3 else mask.double()[None]


def greedy_decode(
    model: Any,
    source: Tensor,
    source_mask: Tensor | None,
    start: int,
    end: int,
    max_new_tokens: int,
) -> Tensor:
    """The course's own answer to 5.D."""
    return decoding.greedy_decode(
        model, source, source_mask, start, end, max_new_tokens
    )


def _look(call: Callable, model: Any, source: Tensor, *inputs: Any) -> Look:
    ids = call(model, source, *inputs)
    if not isinstance(model, Scripted):
        return Look({"ids": ids})
    times = model.encoded / len(source)
    seen = {
        "ids": ids,
        "times the source was encoded": int(times) if times % 1 == 0 else times,
        "decode": "once per word" if model.decoded <= _written(ids) else "more often",
    }
    return Look(seen, {"scored": model.scored})


def _written(ids: Any) -> float:
    """How many words these ids are, sentence by sentence; infinity if unknown."""
    whole = isinstance(ids, Tensor) and ids.dim() == 2
    return ids[:, 1:].numel() if whole else float("inf")


def _case(name: str, model: Any, source: Tensor, *rest: Any) -> Case:
    names = ("model", "source", "source_mask", "start", "end", "max_new_tokens")
    return Case(name, (model, source, *rest), inputs=names, look=_look)


def _cases(seed: int) -> list[Case]:
    draw = torch.Generator().manual_seed(seed)

    def scripted(name: str, due: list[int], length: int, most: int, *lengths: int):
        start, end = 9, 7
        source = words(draw, 90, len(due), length) + 8
        source[:, 0] = torch.tensor(due)
        mask = padded(*lengths, length=length) if lengths else None
        model = Scripted(draw, start, end)
        return _case(name, model, source, mask, start, end, most)

    return [
        scripted("one sentence of 6 words", [6], 5, 9),
        scripted("sentences of 6, 2 and 4 words", [6, 2, 4], 5, 9),
        scripted("padding in the source", [4, 7, 8, 6], 6, 9, 6, 2, 1, 3),
        scripted("no time to end", [4, 2, 7], 3, 5, 3, 1, 2),
        scripted("room for one word", [3, 2], 4, 1),
        _real_model(draw),
    ]


def _real_model(draw: torch.Generator) -> Case:
    """A small random Transformer; the end is a word that it does write, not start."""
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(int(words(draw, 10_000, 1)))
        config = TransformerConfig(17, 19, 12, 3, 11, 2, 23, norm_first=True)
        model = Transformer(config).double().eval()
        for value in model.parameters():
            nn.init.normal_(value, std=0.5)
        with torch.no_grad():
            model.final_layer.bias[[0, 18]] = -LOUD  # padding and start: never best
    source, mask = ids_from(draw, 17, 3, 7), padded(7, 4, 2, length=7)
    free = decoding.greedy_decode(model, source, mask, 18, -1, 6)
    end = int(free[0, 4])
    return _case("a small Transformer", model, source, mask, 18, end, 8)


def _greedy(
    model: Any,
    source: Tensor,
    source_mask: Tensor | None,
    start: int,
    end: int,
    max_new_tokens: int,
    *,
    begin: Callable = lambda source, start, end: source.new_full(
        (len(source), 1), start
    ),
    future: Callable = look_ahead_mask,
    fed: Callable = lambda ids: ids,
    memory_mask: bool = True,
    encoder_mask: bool = True,
    again: Callable = lambda step: False,
    place: Callable = lambda logits, start, end: logits[:, -1],
    choose: Callable = lambda scores: scores.argmax(-1),
    fill: Callable = lambda best, ended, end: best.masked_fill(ended, 0),
    stop: Callable = lambda ended: ended.all(),
    before: bool = False,
    early: bool = False,
    fewer: int = 0,
    finish: Callable = lambda ids: ids,
) -> Tensor:
    """Greedy decoding with one step exchanged."""
    mask = source_mask if encoder_mask else None
    memory = model.encode(source, mask)
    ids = begin(source, start, end)
    ended = torch.zeros(len(source), dtype=torch.bool)
    for step in range(max_new_tokens - fewer):
        if again(step):
            memory = model.encode(source, mask)
        given = fed(ids)
        logits = model.decode(
            given,
            memory,
            future(given.shape[1]),
            source_mask if memory_mask else None,
        )
        best = choose(place(logits, start, end))
        if before:
            ended |= best == end
        best = fill(best, ended, end)
        if early and stop(ended | (best == end)):
            break
        ids = torch.cat([ids, best[:, None]], 1)
        ended |= best == end
        if stop(ended):
            break
    return finish(ids)


swap = exchanging(_greedy)


def _never(ended: Tensor) -> bool:
    return False


def _unfilled(best: Tensor, ended: Tensor, end: int) -> Tensor:
    return best


MISTAKES = (
    mistake(
        "no start token",
        "The target begins with another token than `start`.",
        "What does the decoder read before it has written a word?",
        swap(begin=lambda source, start, end: source.new_zeros(len(source), 1)),
        swap(begin=lambda source, start, end: source.new_full((len(source), 1), end)),
        swap(begin=lambda source, start, end: source[:, :1]),
    ),
    mistake(
        "start token cut off",
        "The words are right, but the start token was taken off the result.",
        "Read the docstring's last line again.",
        swap(finish=lambda ids: ids[:, 1:]),
    ),
    mistake(
        "never stops",
        "Decoding goes on until max_new_tokens, even when all sentences have ended.",
        "When is there nothing left to write? Where does your code test it?",
        swap(stop=_never),
    ),
    mistake(
        "end token ignored",
        "The end token is treated like any other word: nothing stops after it.",
        "Where does your code use `end`?",
        swap(stop=_never, fill=_unfilled),
    ),
    mistake(
        "stops the batch at the first end",
        "As soon as one sentence has ended, decoding stops and the others are cut off.",
        "When may the loop end: when one sentence has ended, or when all have?",
        swap(stop=lambda ended: ended.any()),
        swap(stop=lambda ended: ended.any(), fill=_unfilled),
    ),
    mistake(
        "waits for the first sentence only",
        "Decoding stops when the first sentence of the batch has ended.",
        "How many sentences does your test for the end look at?",
        swap(stop=lambda ended: ended[0]),
    ),
    mistake(
        "all ends in the same step",
        "Decoding stops only if all sentences write the end token in the very same "
        "step.",
        "Which variable remembers the sentences that ended in an earlier step?",
        lambda *inputs: _forgetful(*inputs),
        lambda *inputs: _forgetful(*inputs, fill=True),
    ),
    mistake(
        "words after the end",
        "A sentence that has ended is not filled with padding: words follow its end.",
        "What is written in a sentence that has ended, while others go on?",
        swap(fill=_unfilled),
    ),
    mistake(
        "padded with the end token",
        "After its end a sentence is filled with end tokens, not with padding.",
        "Which id is padding in this course?",
        swap(fill=lambda best, ended, end: best.masked_fill(ended, end)),
    ),
    mistake(
        "end token lost",
        "The end token of a sentence is missing: it was replaced by padding, or never "
        "written.",
        "What comes first in your loop: writing the word, or noting that the sentence "
        "has ended?",
        swap(before=True),
        swap(before=True, early=True),
        swap(before=True, stop=_never),
        swap(early=True),
    ),
    mistake(
        "reads the wrong position",
        "The next word is taken from the scores at the first place, which never "
        "change.",
        "Row t scores the word after word t. Which row scores the word after the last?",
        swap(place=lambda logits, start, end: logits[:, 0]),
    ),
    mistake(
        "the last word only",
        "The decoder gets the last word alone, not all that was written before it.",
        "What must the decoder know to write the next word?",
        swap(fed=lambda ids: ids[:, -1:]),
    ),
    mistake(
        "no look-ahead mask",
        "The decoder runs without a mask that hides the future: early words see later "
        "ones, which never happened in training.",
        "Which mask did training use at these places?",
        swap(future=lambda length: None),
        swap(future=lambda length: torch.ones(length, length, dtype=torch.bool)),
    ),
    mistake(
        "source mask not passed to decode",
        "While writing, the decoder reads the padding of the source.",
        "Follow `source_mask`: how many calls need it?",
        swap(memory_mask=False),
    ),
    mistake(
        "source mask not passed to encode",
        "The encoder read the source with its padding.",
        "Follow `source_mask`: how many calls need it?",
        swap(encoder_mask=False),
    ),
    mistake(
        "source mask ignored",
        "The source's mask has no effect, neither in `encode` nor in `decode`.",
        "Follow `source_mask`: how many calls need it?",
        swap(encoder_mask=False, memory_mask=False),
    ),
    mistake(
        "encoder in the loop",
        "The words are right, but the source was read again for each word.",
        "Does the source change while you write?",
        swap(again=lambda step: step > 0),
        swap(again=lambda step: True),
    ),
    mistake(
        "decode called too often",
        "The words are right, but `decode` ran more often than once per word.",
        "Where do you call `decode`, and when is there nothing left to write?",
        lambda *inputs: _cut_afterwards(*inputs),
        lambda *inputs: _filled_afterwards(*inputs),
        lambda model, *inputs: _greedy(_Stutter(model), *inputs),
    ),
    mistake(
        "not cut to the longest sentence",
        "The result is as wide as max_new_tokens allows, even when all sentences ended "
        "earlier.",
        "The docstring says how far the padding goes: up to which sentence?",
        lambda *inputs: _as_wide_as_may_be(*inputs),
    ),
    mistake(
        "one word too few",
        "One word too few may be written, as if the start token were a new one.",
        "How many tokens may be written, and how many are there already?",
        swap(fewer=1),
    ),
    mistake(
        "one word too many",
        "One word more may be written than max_new_tokens allows.",
        "How often does your loop run, if no sentence ends?",
        swap(fewer=-1),
    ),
    mistake(
        "least likely word",
        "The word with the lowest score was taken.",
        "Does a good word have a high score or a low one?",
        swap(choose=lambda scores: scores.argmin(-1)),
    ),
)


def _cut_afterwards(*inputs: Any) -> Tensor:
    """All words that may be written, then without the columns of padding alone."""
    ids = _greedy(*inputs, stop=_never)
    return ids[:, (ids != 0).any(0)]


def _filled_afterwards(*inputs: Any) -> Tensor:
    """The same, with padding after each end only when all is written."""
    ids, end = _greedy(*inputs, stop=_never, fill=_unfilled), inputs[-2]
    ends = (ids == end).long()
    ids[ends.cumsum(1) > ends] = 0
    return ids[:, (ids != 0).any(0)]


def _as_wide_as_may_be(*inputs: Any) -> Tensor:
    ids = _greedy(*inputs)
    return nn.functional.pad(ids, (0, inputs[-1] + 1 - ids.shape[1]))


class _Stutter:
    """Asks the model twice for each word."""

    def __init__(self, model: Any) -> None:
        self.model = model
        self.encode = model.encode

    def decode(self, *inputs: Any) -> Tensor:
        """Decode, and decode again."""
        self.model.decode(*inputs)
        return self.model.decode(*inputs)


def _forgetful(
    model, source, source_mask, start, end, max_new_tokens, fill=False
) -> Tensor:
    memory = model.encode(source, source_mask)
    ids = source.new_full((len(source), 1), start)
    best = torch.zeros(len(source)) - 1
    for _ in range(max_new_tokens):
        mask = look_ahead_mask(ids.shape[1])
        ended = (best == end) & fill
        best = model.decode(ids, memory, mask, source_mask)[:, -1].argmax(-1)
        best = best.masked_fill(ended, 0)
        ids = torch.cat([ids, best[:, None]], 1)
        if (best == end).all():
            break
    return ids


EXERCISES = (
    Exercise(
        "5.D",
        "Greedy decoding",
        "function",
        difficulty=3,
        points=4,
        core=True,
        answers=(
            Answer("greedy_decode", greedy_decode, {"ids": "batch, 1 + written"}),
        ),
        cases=_cases,
        proves="start, end and padding in a batch, both masks, the source read once, "
        "one call of decode per word, a real model",
        misconceptions=MISTAKES,
    ),
)
