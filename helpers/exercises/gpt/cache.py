"""10.H: the key/value cache: what has been read is not read again."""

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor

from helpers.checks.exercise import Answer, Case, Exercise, Look, mistake
from helpers.exercises.gpt.shared import filled, tokens
from helpers.exercises.kit import exchanging, normal
from helpers.models.attention import attention
from helpers.models.gpt import GPT, CausalSelfAttention, GPTConfig
from helpers.models.multi_head import merge_heads, split_heads

NEVER = float("-inf")
Pair = tuple[Tensor, Tensor]  # keys and values, (B, H, S, K) each


class _Pair(tuple):
    """A pair that looks short in messages."""

    def __repr__(self) -> str:
        return f"keys and values, {tuple(self[0].shape)} each"


class _Pairs(list):
    """A pair for each layer that looks short in messages."""

    def __repr__(self) -> str:
        return f"{len(self)} layers, {self[0]!r}"


def _appended(past: Pair | None, key: Tensor, value: Tensor) -> Pair:
    if past is None:
        return key, value
    return torch.cat([past[0], key], 2), torch.cat([past[1], value], 2)


def _lower(queries: int, keys: int) -> Tensor:
    """The last T of S tokens as queries."""
    return torch.ones(queries, keys, dtype=torch.bool).tril(keys - queries)


def attend_on(layer: Any, x: Tensor, past: Pair | None) -> tuple[Tensor, Pair]:
    """The course's own answer to 10.H, first part."""
    return _attend(layer, x, past)


def read_on(model: Any, ids: Tensor, past: list | None) -> tuple[Tensor, list]:
    """The course's own answer to 10.H, second part."""
    return _read(model, ids, past)


def _attend(
    layer: Any,
    x: Tensor,
    past: Pair | None,
    *,
    append: Callable = _appended,
    mask: Callable = _lower,
    mix: Callable = attention,
    seen: Callable = lambda past, key, value, everything: everything,
    kept: Callable = lambda everything, key, value: everything,
    finish: Callable = lambda layer, mixed: layer.W_o(mixed),
) -> tuple[Tensor, Pair]:
    """One layer with one step exchanged."""
    query, key, value = (
        split_heads(part, layer.num_heads) for part in layer.to_qkv(x).chunk(3, -1)
    )
    everything = append(past, key, value)
    keys, values = seen(past, key, value, everything)
    may_attend = mask(query.shape[2], keys.shape[2])
    mixed = mix(query, keys, values, may_attend)
    return finish(layer, merge_heads(mixed)), kept(everything, key, value)


def _read(
    model: Any,
    ids: Tensor,
    past: list | None,
    *,
    start: Callable = lambda past: past[0][0].shape[2],
    locate: Callable = lambda model, places: model.positions(places),
    one: Callable = lambda past, number: past[number],
    finish: Callable = lambda model, x: model.norm(x),
    kept: Callable = lambda past, new: new,
    norm: Callable = lambda block, x: block.norm1(x),
    join: Callable = lambda x, found: x + found,
    think: Callable = lambda block, x: x + block.feed_forward(block.norm2(x)),
) -> tuple[Tensor, list]:
    """The whole model with one step exchanged."""
    first = 0 if past is None else start(past)
    places = torch.arange(first, first + ids.shape[1]) % model.config.max_length
    x = model.embedding(ids) + locate(model, places)
    new = []
    for number, block in enumerate(model.layers):
        before = None if past is None else one(past, number)
        found, pair = _attend(block.attention, norm(block, x), before)
        x = think(block, join(x, found))
        new.append(pair)
    return finish(model, x) @ model.embedding.weight.T, kept(past, new)


# --- cases ----------------------------------------------------------------------------


def _numbers(past: Any) -> list[Tensor]:
    """All tensors of a cache, whether it is a pair or a list of pairs."""
    if isinstance(past, Tensor):
        return [past]
    return [] if past is None else [one for part in past for one in _numbers(part)]


def _look(call: Callable, model: Any, inputs: Tensor, past: Any) -> Look:
    before = [one.clone() for one in _numbers(past)]
    result = call(model, inputs, past)
    after = _numbers(past)
    kept = len(before) == len(after) and all(map(torch.equal, before, after))
    judged = {"the past": "as it was" if kept else "changed"}
    if not (isinstance(result, tuple | list) and len(result) == 2):
        return Look({**judged, "result": result})
    output, new = result
    name = "output" if isinstance(past, tuple) or _is_layer(model) else "logits"
    return Look({**judged, name: output, **_cache(new, _is_layer(model))})


def _is_layer(model: Any) -> bool:
    return hasattr(model, "to_qkv")


def _cache(new: Any, one_layer: bool) -> dict[str, Any]:
    """Keys and values that came back, by layer."""
    layers = [new] if one_layer else new
    if not isinstance(layers, tuple | list):
        return {"new past": layers}
    seen: dict[str, Any] = {"layers in the new past": len(layers)}
    for number, pair in enumerate(layers):
        of = "" if one_layer else f" of layer {number}"
        if isinstance(pair, tuple | list | Tensor) and len(pair) == 2:
            seen |= {f"keys{of}": pair[0], f"values{of}": pair[1]}
        else:
            seen[f"pair{of}"] = pair
    return seen


def _cases(seed: int) -> list[Case]:
    draw = torch.Generator().manual_seed(seed)

    def one_layer(
        name: str, batch: int, past: int, new: int, heads: int, width: int, dtype: Any
    ) -> Case:
        layer = filled(CausalSelfAttention(width, heads), draw, dtype)
        x = normal(draw, batch, new, width, dtype=dtype)
        size = (batch, heads, past, width // heads)
        pair = _Pair(normal(draw, *size, dtype=dtype) for _ in range(2))
        names = ("layer", "x", "past")
        args = (layer, x, pair if past else None)
        return Case(name, args, inputs=names, look=_look)

    def whole(name: str, batch: int, past: int, new: int, *sizes: int) -> Case:
        config = GPTConfig(*sizes)
        model = filled(GPT(config), draw)
        ids = tokens(draw, config.vocab_size, batch, new)
        before = None
        if past:
            with torch.no_grad():
                read = tokens(draw, config.vocab_size, batch, past)
                before = _Pairs(map(_Pair, _read(model, read, None)[1]))
        names = ("model", "ids", "past")
        return Case(name, (model, ids, before), of=1, inputs=names, look=_look)

    double, single = torch.float64, torch.float32
    sizes = (13, 11, 6, 3, 2)  # vocabulary, max_length, d_model, heads, layers
    return [
        one_layer("the beginning: four tokens, no past", 2, 0, 4, 3, 6, double),
        one_layer("one new token after three", 2, 3, 1, 3, 12, double),
        one_layer("three new tokens after five", 2, 5, 3, 3, 6, double),
        one_layer("four after four, float32", 3, 4, 4, 2, 10, single),
        one_layer("two after one", 1, 1, 2, 3, 15, double),
        whole("a beginning of four tokens", 2, 0, 4, *sizes),
        whole("one new token after four", 2, 4, 1, *sizes),
        whole("two new tokens after five, three layers", 3, 5, 2, 17, 9, 8, 4, 3),
        whole("three new tokens after one", 2, 1, 3, *sizes),
    ]


# --- what goes wrong in a layer -------------------------------------------------------


attending = exchanging(_attend)


def _twice(past: Pair | None, key: Tensor, value: Tensor) -> Pair:
    once = _appended(past, key, value)
    return _appended(once, key, value)


def _twice_with_a_past(past: Pair | None, key: Tensor, value: Tensor) -> Pair:
    once = _appended(past, key, value)
    return once if past is None else _appended(once, key, value)


def _before(past: Pair | None, key: Tensor, value: Tensor) -> Pair:
    if past is None:
        return key, value
    return torch.cat([key, past[0]], 2), torch.cat([value, past[1]], 2)


def _along(axis: int) -> Callable:
    def append(past: Pair | None, key: Tensor, value: Tensor) -> Pair:
        if past is None:
            return key, value
        return torch.cat([past[0], key], axis), torch.cat([past[1], value], axis)

    return append


def _keys_alone(past: Pair | None, key: Tensor, value: Tensor) -> Pair:
    return _appended(past, key, value)[0], value


def _corner(queries: int, keys: int) -> Tensor:
    return torch.ones(queries, keys, dtype=torch.bool).tril()


def _strictly(queries: int, keys: int) -> Tensor:
    return torch.ones(queries, keys, dtype=torch.bool).tril(keys - queries - 1)


def _wrong_way(queries: int, keys: int) -> Tensor:
    return ~_lower(queries, keys)


def _blocking(mask: Callable) -> list[Callable]:
    """A mask that leaves rows without a key: what then comes depends on the fill."""
    by_hand = [
        attending(mask=mask, mix=partial(_filled, fill=fill)) for fill in (NEVER, -1e9)
    ]
    return [attending(mask=mask), *by_hand]


def _filled(
    query: Tensor, keys: Tensor, values: Tensor, mask: Tensor, fill: float
) -> Tensor:
    """Attention by hand."""
    scores = query @ keys.mT / query.shape[-1] ** 0.5
    return scores.masked_fill(~mask, fill).softmax(-1) @ values


def _past_alone(past: Any, key: Tensor, value: Tensor, everything: Pair) -> Pair:
    return everything if past is None else past


ATTENDING = (
    mistake(
        "appended twice",
        "The new keys and values are in the cache twice.",
        "Count the entries of the cache after one step: how many tokens have been "
        "read?",
        attending(append=_twice),
        attending(append=_twice_with_a_past),
        attending(
            kept=lambda everything, key, value: _appended(everything, key, value)
        ),
    ),
    mistake(
        "the past not attended to",
        "The new tokens attend only to each other; the past is kept, but not used.",
        "Which keys does the attention get?",
        attending(seen=lambda past, key, value, everything: (key, value)),
    ),
    mistake(
        "the new tokens not attended to",
        "The new tokens attend only to the past, not to themselves.",
        "Which keys does the attention get?",
        attending(seen=_past_alone, mask=lambda queries, keys: _open(queries, keys)),
    ),
    mistake(
        "the past lost",
        "Only the new keys and values came back, so the next step would know no "
        "others.",
        "What does the next call need?",
        attending(kept=lambda everything, key, value: (key, value)),
        attending(append=lambda past, key, value: (key, value)),
    ),
    mistake(
        "the past returned as it was",
        "The new keys and values are not in what came back: they will be forgotten.",
        "What does the next call need?",
        lambda layer, x, past: (
            _attend(layer, x, past)[0],
            past if past is not None else _attend(layer, x, past)[1],
        ),
    ),
    mistake(
        "new before old",
        "The new keys and values were put in front of the old ones.",
        "In which order were the tokens written?",
        attending(append=_before),
    ),
    mistake(
        "no mask among the new tokens",
        "When several tokens are new, each of them sees the later ones as well.",
        "A prompt is read in one call. May its first token see its last one?",
        attending(mask=lambda queries, keys: None),
        attending(
            mask=lambda queries, keys: None if keys > queries else _lower(queries, keys)
        ),
    ),
    mistake(
        "mask of numbers",
        "The mask holds ones and zeros, not True and False: they were added to the "
        "scores, and nothing is hidden.",
        "Print the dtype of your mask. What does lesson 06 say it should be?",
        attending(mask=lambda queries, keys: _lower(queries, keys).float()),
        attending(mask=lambda queries, keys: _wrong_way(queries, keys).float()),
    ),
    mistake(
        "mask the wrong way round",
        "What a new token may see is hidden from it, and the later tokens are not.",
        "In this course True means: may attend.",
        *_blocking(_wrong_way),
    ),
    mistake(
        "mask in the wrong corner",
        "The first new token sees only the first key: the mask ignores the past.",
        "Draw the mask for two new tokens after three: two rows, five columns.",
        attending(mask=_corner),
    ),
    mistake(
        "mask without the past",
        "The mask has one column for each new token, but there are more keys than "
        "that.",
        "Draw the mask for two new tokens after three: two rows, five columns.",
        attending(mask=lambda queries, keys: _lower(queries, queries)),
    ),
    mistake(
        "mask off by one",
        "The new tokens do not see themselves.",
        "Draw the mask for two new tokens after three: two rows, five columns.",
        *_blocking(_strictly),
    ),
    mistake(
        "appended along another axis",
        "The new keys were joined to the old ones along the axis of the heads, the "
        "batch or the width.",
        "Which of the four axes (batch, heads, length, width) grows with the text?",
        attending(append=_along(1)),
        attending(append=_along(0)),
        attending(append=_along(3)),
    ),
    mistake(
        "values forgotten",
        "Only the keys were appended: the values are only those of the new tokens.",
        "How many values does a row of weights need?",
        attending(append=_keys_alone),
    ),
    mistake(
        "keys and values swapped",
        "The pair came back as (values, keys).",
        "In which order does the docstring name them?",
        attending(kept=lambda everything, key, value: everything[::-1]),
    ),
    mistake(
        "without W_o",
        "The heads' results came back as they are.",
        "What is the last step of multi-head attention?",
        attending(finish=lambda layer, mixed: mixed),
    ),
)


def _open(queries: int, keys: int) -> Tensor | None:
    return _lower(queries, keys) if queries == keys else None


# --- what goes wrong in the model -----------------------------------------------------


reading = exchanging(_read)


def _bare(block: Any, x: Tensor) -> Tensor:
    return x + block.feed_forward(x)


def _replaced(block: Any, x: Tensor) -> Tensor:
    return block.feed_forward(block.norm2(x))


def _whole_blocks(model: Any, ids: Tensor, past: list | None) -> tuple[Tensor, list]:
    """Blocks called as they are; the cache is filled beside them."""
    first = 0 if past is None else past[0][0].shape[2]
    x = model.embedding(ids) + model.positions(torch.arange(ids.shape[1]) + first)
    new = []
    for number, block in enumerate(model.layers):
        before = None if past is None else past[number]
        new.append(_attend(block.attention, block.norm1(x), before)[1])
        x = block(x)
    return model.norm(x) @ model.embedding.weight.T, new


def _in_place(past: list | None, new: list) -> list:
    if past is None:
        return new
    past[:] = new
    return past


READING = (
    mistake(
        "positions restarted",
        "The positions of the new tokens start from 0 again.",
        "How many tokens have been read before? The past knows.",
        reading(start=lambda past: 0),
        of=1,
    ),
    mistake(
        "positions forgotten",
        "The tokens have no positions.",
        "Compare with the model's `forward`: what is added to the tokens' vectors?",
        reading(locate=lambda model, places: 0.0),
        of=1,
    ),
    mistake(
        "positions one too far",
        "The new tokens begin one position too late.",
        "After four tokens, 0 to 3, which position comes next?",
        reading(start=lambda past: past[0][0].shape[2] + 1),
        of=1,
    ),
    mistake(
        "positions one too early",
        "The new tokens begin one position too early.",
        "After four tokens, 0 to 3, which position comes next?",
        reading(start=lambda past: past[0][0].shape[2] - 1),
        of=1,
    ),
    mistake(
        "length read from another axis",
        "The number of heads, or the width of a head, was taken for the number of "
        "tokens.",
        "Keys are (batch, heads, length, width).",
        reading(start=lambda past: past[0][0].shape[1]),
        reading(start=lambda past: past[0][0].shape[3]),
        of=1,
    ),
    mistake(
        "layers counted",
        "The number of layers was taken for the number of tokens: the past is a list "
        "with one pair for each layer.",
        "What is in that pair, and which axis of it is the length?",
        reading(start=lambda past: len(past)),
        of=1,
    ),
    mistake(
        "one past for all layers",
        "Every layer got the keys and values of the same layer.",
        "Each layer has keys of its own. Which pair of the past belongs to which "
        "layer?",
        reading(one=lambda past, number: past[0]),
        reading(one=lambda past, number: past[-1]),
        of=1,
    ),
    mistake(
        "past not passed on",
        "The layers never got their past.",
        "Follow `past` to the call of the attention layer.",
        reading(one=lambda past, number: None),
        of=1,
    ),
    mistake(
        "blocks called as they are",
        "The blocks, or the model, were called as they are: they know nothing of a "
        "past, so the new tokens see only each other.",
        "Which call gets the past, and does what it returns reach the logits?",
        _whole_blocks,
        lambda model, ids, past: (model(ids), _read(model, ids, past)[1]),
        of=1,
    ),
    mistake(
        "a norm left out",
        "In a block, what goes into a sublayer does not go through its norm first.",
        "Compare your loop with the block of 10.A, line by line.",
        reading(norm=lambda block, x: x),
        reading(think=_bare),
        reading(norm=lambda block, x: x, think=_bare),
        of=1,
    ),
    mistake(
        "a residual left out",
        "In a block, a sublayer's output replaces the vectors, instead of being added "
        "to them.",
        "Compare your loop with the block of 10.A, line by line.",
        reading(join=lambda x, found: found),
        reading(think=_replaced),
        reading(join=lambda x, found: found, think=_replaced),
        of=1,
    ),
    mistake(
        "old past returned",
        "What came back is the past that came in.",
        "What does the next call need?",
        reading(kept=lambda past, new: new if past is None else past),
        of=1,
    ),
    mistake(
        "past changed in place",
        "The list that came in was changed, so nobody can try two continuations of "
        "the same text.",
        "Collect the new pairs in a list of their own.",
        reading(kept=_in_place),
        of=1,
    ),
    mistake(
        "last norm missing",
        "The vectors were scored without the model's last norm.",
        "Compare with `forward`: what comes after the blocks?",
        reading(finish=lambda model, x: x),
        of=1,
    ),
)

EXERCISES = (
    Exercise(
        "10.H",
        "Read each token once: the cache",
        "function",
        difficulty=3,
        points=5,
        answers=(
            Answer("attend_on", attend_on, {"output": "batch, new, d_model"}),
            Answer("read_on", read_on, {"logits": "batch, new, vocabulary"}),
        ),
        cases=_cases,
        proves="one and several new tokens, with and without a past, each layer's own "
        "pair, positions that continue",
        misconceptions=(*ATTENDING, *READING),
    ),
)
