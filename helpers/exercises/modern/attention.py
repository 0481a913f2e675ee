"""12.F: attention whose queries share heads of keys and values, with rotation."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from helpers.checks.exercise import Answer, Case, Exercise, Look, mistake
from helpers.exercises.kit import exchanging, normal
from helpers.exercises.modern.rotation import rotate
from helpers.models.attention import attention
from helpers.models.gpt import no_future
from helpers.models.modern import ModernConfig
from helpers.models.multi_head import merge_heads, split_heads

PARTS = ("W_q", "W_k", "W_v", "W_o")
Pair = tuple[Tensor, Tensor]  # keys and values, (B, H_kv, S, K) each


class GroupedQueryAttention(nn.Module):
    """The course's own answer to 12.F; misconceptions replace one of its steps."""

    biases = ()  # said here: the reference's parts may be a student's

    def __init__(self, config: ModernConfig) -> None:
        """Create the four matrices."""
        super().__init__()
        self.config = config
        for name, (width, out) in self.sizes(config).items():
            setattr(self, name, nn.Linear(width, out, bias=name in self.biases))

    def sizes(self, config: ModernConfig) -> dict[str, tuple[int, int]]:
        """What goes into each matrix, and what comes out."""
        few, width = config.num_kv_heads * config.d_head, config.d_model
        many = config.num_heads * config.d_head
        return dict(zip(PARTS, ((width, many), *2 * ((width, few),), (many, width)),
                        strict=True))  # fmt: skip

    def forward(
        self, x: Tensor, past: Pair | None = None, mask: Tensor | None = None
    ) -> tuple[Tensor, Pair]:
        """(B, T, D) -> (B, T, D), and keys and values of all S tokens."""
        start = self.start(past)
        places = torch.arange(start, start + x.shape[1])
        query, key, value = self.turn(*self.project(x, places), places)
        keys, values = self.append(past, key, value)
        served = self.serve(keys, values)
        mixed = self.mix(query, *served, self.mask(mask, x.shape[1], keys.shape[2]))
        return self.finish(mixed, places), self.kept((keys, values), key, value)

    def start(self, past: Pair | None) -> int:
        """How many tokens have been read before."""
        return 0 if past is None else past[0].shape[2]

    def project(self, x: Tensor, places: Tensor) -> tuple[Tensor, ...]:
        """Queries (B, H, T, K), keys and values (B, H_kv, T, K)."""
        few = self.config.num_kv_heads
        heads = zip(PARTS, (self.config.num_heads, few, few), strict=False)
        return tuple(split_heads(getattr(self, name)(x), n) for name, n in heads)

    def rotate(self, x: Tensor, places: Tensor) -> Tensor:
        """Turn one of them."""
        return rotate(x, places, self.config.base)

    def turn(
        self, query: Tensor, key: Tensor, value: Tensor, places: Tensor
    ) -> tuple[Tensor, ...]:
        """Turn what has to be turned."""
        return self.rotate(query, places), self.rotate(key, places), value

    def append(self, past: Pair | None, key: Tensor, value: Tensor) -> Pair:
        """Keys and values of all tokens."""
        if past is None:
            return key, value
        return torch.cat([past[0], key], 2), torch.cat([past[1], value], 2)

    def serve(self, keys: Tensor, values: Tensor) -> Pair:
        """A head of keys and values for each head of queries."""
        groups = self.config.num_heads // self.config.num_kv_heads
        return keys.repeat_interleave(groups, 1), values.repeat_interleave(groups, 1)

    def mask(self, mask: Tensor | None, queries: int, keys: int) -> Tensor | None:
        """The one that was given, or the future."""
        return no_future(queries, keys) if mask is None else mask

    def mix(
        self, query: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None
    ) -> Tensor:
        """Scores, softmax and weighted sums."""
        return attention(query, keys, values, mask)

    def finish(self, mixed: Tensor, places: Tensor) -> Tensor:
        """Join the heads."""
        return self.W_o(merge_heads(mixed))

    def kept(self, everything: Pair, key: Tensor, value: Tensor) -> Pair:
        """What the next call needs."""
        return everything


def _look(
    call: Any, x: Tensor, keys: Tensor | None, values: Tensor | None, mask: Any
) -> Look:
    past = None if keys is None else (keys, values)
    biased = getattr(call, "biases", None)
    if biased is None:
        parts = (getattr(call, name, None) for name in PARTS)
        biased = [part for part in parts if getattr(part, "bias", None) is not None]
    seen: dict[str, Any] = {"biases": f"in {len(biased)} of four parts"}
    result = call(x, past, mask)
    if not (isinstance(result, tuple | list) and len(result) == 2):
        return Look({**seen, "output": result})  # and no keys, no values
    output, pair = result
    seen["output"] = output
    if isinstance(pair, tuple | list | Tensor) and len(pair) == 2:
        return Look(seen | {"keys": pair[0], "values": pair[1]})
    return Look({**seen, "pair": pair})


def _cases(seed: int) -> list[Case]:
    draw = torch.Generator().manual_seed(seed)

    def case(
        name: str,
        size: tuple[int, int, int],
        heads: tuple[int, int, int],
        past: int = 0,
        padded: int = 0,
        dtype: Any = torch.float64,
        **more: Any,
    ) -> Case:
        batch, new, width = size
        config = ModernConfig(11, 32, width, *heads, 1, 8, 20.0)
        x = 2 * normal(draw, *size, dtype=dtype)
        keys, values, mask = None, None, None
        if past:
            before = (batch, heads[1], past, heads[2])
            keys, values = (normal(draw, *before, dtype=dtype) for _ in range(2))
        if padded:
            everything = past + new
            late = torch.ones(new, everything, dtype=torch.bool).tril(past)
            real = torch.ones(batch, 1, 1, everything, dtype=torch.bool)
            real[-1, ..., :padded] = False
            itself = torch.eye(everything, dtype=torch.bool)[past:]
            mask = late & real | itself  # (B, 1, T, S)
        return Case(
            name,
            (x, keys, values, mask),
            inputs=("x", "past keys", "past values", "mask"),
            init=(config,),
            look=_look,
            **more,
        )

    return [
        case("six heads share two", (2, 5, 12), (6, 2, 4)),
        case("three heads share one", (3, 4, 12), (3, 1, 6)),
        case("a head of keys for each of four", (2, 5, 8), (4, 4, 6)),
        case("one new token after three", (2, 1, 12), (6, 2, 4), 3),
        case("two new tokens after five", (3, 2, 10), (4, 2, 6), 5),
        case("a mask that hides padding", (2, 5, 12), (6, 2, 4), 0, 2),
        case("a mask, two new tokens after four", (2, 2, 12), (6, 3, 4), 4, 3),
        case("float32", (4, 4, 10), (4, 2, 6), dtype=torch.float32),
        case("the gradient", (2, 3, 12), (6, 2, 4), gradient=True),
    ]


swap = exchanging(GroupedQueryAttention)
Course = GroupedQueryAttention


def _sized(q: str, k: str, o: str) -> Callable:
    """Other numbers of heads for W_q, for W_k and W_v, and for W_o."""

    def sizes(self: Any, config: ModernConfig) -> dict[str, tuple[int, int]]:
        width = config.d_model
        out = {name: getattr(config, name) * config.d_head for name in {q, k, o}}
        return {
            "W_q": (width, out[q]),
            "W_k": (width, out[k]),
            "W_v": (width, out[k]),
            "W_o": (out[o], width),
        }

    return sizes


MANY, FEW = "num_heads", "num_kv_heads"


def _split(q: str, k: str) -> Callable:
    def project(self: Any, x: Tensor, places: Tensor) -> tuple[Tensor, ...]:
        heads = zip(PARTS, (q, k, k), strict=False)
        return tuple(
            split_heads(getattr(self, name)(x), getattr(self.config, count))
            for name, count in heads
        )

    return project


def _queries_served(
    self: Any, query: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None
) -> Tensor:
    groups = self.config.num_heads // self.config.num_kv_heads
    return attention(query.repeat_interleave(groups, 1), keys, values, mask)


def _as_they_are(self: Any, keys: Tensor, values: Tensor) -> Pair:
    return keys, values


def _in_turns(self: Any, keys: Tensor, values: Tensor) -> Pair:
    groups = self.config.num_heads // self.config.num_kv_heads
    return keys.repeat(1, groups, 1, 1), values.repeat(1, groups, 1, 1)


def _first_for_all(self: Any, keys: Tensor, values: Tensor) -> Pair:
    heads = self.config.num_heads
    return keys[:, :1].expand(-1, heads, -1, -1), values[:, :1].expand(
        -1, heads, -1, -1
    )


def _divided(self: Any, config: ModernConfig) -> dict[str, tuple[int, int]]:
    """A head as wide as d_model / num_heads."""
    width = config.d_model
    head = width // config.num_heads
    many, few = config.num_heads * head, config.num_kv_heads * head
    return {
        "W_q": (width, many),
        "W_k": (width, few),
        "W_v": (width, few),
        "W_o": (many, width),
    }


def _before_the_split(self: Any, x: Tensor, places: Tensor) -> tuple[Tensor, ...]:
    few = self.config.num_kv_heads
    query, key = self.rotate(self.W_q(x), places), self.rotate(self.W_k(x), places)
    return (
        split_heads(query, self.config.num_heads),
        split_heads(key, few),
        split_heads(self.W_v(x), few),
    )


def _nothing_turned(
    self: Any, query: Tensor, key: Tensor, value: Tensor, places: Tensor
) -> tuple[Tensor, ...]:
    return query, key, value


def _turning(*which: int) -> Callable:
    def turn(self: Any, *three: Tensor) -> tuple[Tensor, ...]:
        *three, places = three
        return tuple(
            self.rotate(one, places) if number in which else one
            for number, one in enumerate(three)
        )

    return turn


def _turned_heads(self: Any, mixed: Tensor, places: Tensor) -> Tensor:
    return self.W_o(merge_heads(self.rotate(mixed, places)))


def _turned_whole(self: Any, mixed: Tensor, places: Tensor) -> Tensor:
    return self.W_o(self.rotate(merge_heads(mixed), places))


def _turned_output(self: Any, mixed: Tensor, places: Tensor) -> Tensor:
    output = self.W_o(merge_heads(mixed))
    return self.rotate(output, places)


def _turned_again(self: Any, past: Pair | None, key: Tensor, value: Tensor) -> Pair:
    """All keys are turned once the past is there, whose keys are turned already."""
    keys, values = Course.append(self, past, key, value)
    return self.rotate(keys, torch.arange(keys.shape[2])), values


def _wide_queries(self: Any, config: ModernConfig) -> dict[str, tuple[int, int]]:
    """W_q and W_o as wide as the model."""
    width, few = config.d_model, config.num_kv_heads * config.d_head
    return dict(zip(PARTS, ((width, width), *2 * ((width, few),), (width, width)),
                    strict=True))  # fmt: skip


class _TurnedLate(Course):
    """Keys are kept as they are, and all of them are turned in each call."""

    turn = _turning(0)

    def serve(self, keys: Tensor, values: Tensor) -> Pair:
        turned = self.rotate(keys, torch.arange(keys.shape[2]))
        return Course.serve(self, turned, values)


class _KeptAsTheyWere(Course):
    """The right output; what is kept of the new keys was never turned."""

    def project(self, x: Tensor, places: Tensor) -> tuple[Tensor, ...]:
        self.raw = Course.project(self, x, places)[1]
        return Course.project(self, x, places)

    def kept(self, everything: Pair, key: Tensor, value: Tensor) -> Pair:
        keys, values = everything
        old = keys[:, :, : keys.shape[2] - self.raw.shape[2]]
        return torch.cat([old, self.raw], 2), values


def _over_the_tokens(self: Any, x: Tensor, places: Tensor) -> Tensor:
    """The heads are taken for the tokens."""
    turned = rotate(x.transpose(1, 2), torch.arange(x.shape[1]), self.config.base)
    return turned.transpose(1, 2)


def _open(self: Any, mask: Tensor | None, queries: int, keys: int) -> Tensor | None:
    return mask


def _given_ignored(
    self: Any, mask: Tensor | None, queries: int, keys: int
) -> Tensor | None:
    return no_future(queries, keys)


def _inverted(self: Any, mask: Tensor | None, queries: int, keys: int) -> Tensor:
    seen = torch.ones(queries, keys, dtype=torch.bool).tril(keys - queries)
    return ~(seen if mask is None else mask)


def _own_inverted(self: Any, mask: Tensor | None, queries: int, keys: int) -> Tensor:
    return _inverted(self, None, queries, keys) if mask is None else mask


def _unscaled(
    self: Any, query: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None
) -> Tensor:
    return attention(query * query.shape[-1] ** 0.5, keys, values, mask)


def _corner(self: Any, mask: Tensor | None, queries: int, keys: int) -> Tensor:
    first = torch.ones(queries, keys, dtype=torch.bool).tril()
    return first if mask is None else mask


def _no_mask(self: Any, mask: Tensor | None, queries: int, keys: int) -> None:
    return None


def _new_first(self: Any, past: Pair | None, key: Tensor, value: Tensor) -> Pair:
    if past is None:
        return key, value
    return torch.cat([key, past[0]], 2), torch.cat([value, past[1]], 2)


def _starting(place: Callable) -> type:
    return swap(start=lambda self, past: 0 if past is None else place(past))


MISTAKES = (
    mistake(
        "heads of keys in turns",
        "The heads of keys and values were repeated as 0, 1, 0, 1: neighbouring "
        "queries read different heads.",
        "Heads 0 and 1 of the queries should share a head. Print what `repeat` and "
        "`repeat_interleave` make of [0, 1].",
        swap(serve=_in_turns),
    ),
    mistake(
        "the first head for all",
        "All queries read the first head of keys and values.",
        "Which head do the last queries read?",
        swap(serve=_first_for_all),
    ),
    mistake(
        "as many keys as queries",
        "There are as many heads of keys and values as of queries, so nothing is "
        "shared.",
        "How many heads should W_k give?",
        swap(
            sizes=_sized(MANY, MANY, MANY),
            project=_split(MANY, MANY),
            serve=_as_they_are,
        ),
    ),
    mistake(
        "fewer queries",
        "The queries have as few heads as the keys.",
        "Which of the three is kept in the cache, and should become smaller?",
        swap(sizes=_sized(FEW, FEW, FEW), project=_split(FEW, FEW), serve=_as_they_are),
    ),
    mistake(
        "queries shared",
        "The queries have few heads, and the keys and values have many.",
        "Which of the three is kept in the cache, and should become smaller?",
        swap(
            sizes=_sized(FEW, MANY, MANY),
            project=_split(FEW, MANY),
            serve=_as_they_are,
            mix=_queries_served,
        ),
    ),
    mistake(
        "width of a head by division",
        "The heads are d_model / num_heads wide, not d_head.",
        "The configuration says how wide a head is. Where do you use it?",
        swap(sizes=_divided),
    ),
    mistake(
        "queries as wide as the model",
        "W_q makes vectors of d_model numbers, whatever the number and width of the "
        "heads.",
        "How many numbers do all heads of queries have together?",
        swap(sizes=_wide_queries),
    ),
    mistake(
        "repeated heads kept",
        "What came back holds the repeated heads, so the cache is as large as with "
        "one head of keys for each of queries.",
        "Which is smaller: the keys before they are repeated or after?",
        swap(kept=lambda self, everything, key, value: self.serve(*everything)),
    ),
    mistake(
        "values rotated",
        "The values were rotated as well.",
        "What of a token should depend on its position: how it is found, or what it "
        "hands over?",
        swap(turn=_turning(0, 1, 2)),
    ),
    mistake(
        "values rotated instead of keys",
        "Queries and values were rotated, and the keys were not.",
        "Which two meet in a score?",
        swap(turn=_turning(0, 2)),
    ),
    mistake(
        "only the queries rotated",
        "The keys were not rotated.",
        "Which two meet in a score?",
        swap(turn=_turning(0)),
    ),
    mistake(
        "only the keys rotated",
        "The queries were not rotated.",
        "Which two meet in a score?",
        swap(turn=_turning(1)),
    ),
    mistake(
        "nothing rotated",
        "Neither queries nor keys were rotated: the layer knows nothing of positions.",
        "Where is `rotate` called?",
        swap(turn=_nothing_turned),
    ),
    mistake(
        "output rotated",
        "What the attention gives was rotated, and its queries and keys were not.",
        "Which two vectors should meet at an angle that tells their distance?",
        swap(turn=_nothing_turned, finish=_turned_heads),
        swap(turn=_nothing_turned, finish=_turned_whole),
        swap(turn=_nothing_turned, finish=_turned_output),
    ),
    mistake(
        "rotated before the split",
        "Queries and keys were rotated before they were cut into heads, so the pairs "
        "reach across heads.",
        "How wide is what `rotate` gets? It should be as wide as one head.",
        swap(project=_before_the_split, turn=_nothing_turned),
    ),
    mistake(
        "heads taken for tokens",
        "The angles depend on the head and not on the token.",
        "In which order are the axes of what `rotate` gets? It should be (..., T, K).",
        swap(rotate=_over_the_tokens),
    ),
    mistake(
        "positions restarted",
        "With a past, the new tokens are counted from 0 again.",
        "How many tokens have been read before? The past knows.",
        _starting(lambda past: 0),
    ),
    mistake(
        "positions one off",
        "With a past, the new tokens are counted from one place too late or too early.",
        "After three tokens, 0 to 2, which position comes next?",
        _starting(lambda past: past[0].shape[2] + 1),
        _starting(lambda past: past[0].shape[2] - 1),
    ),
    mistake(
        "length read from another axis",
        "The number of heads, or their width, was taken for the number of tokens.",
        "Keys are (batch, heads, length, width).",
        _starting(lambda past: past[0].shape[1]),
        _starting(lambda past: past[0].shape[3]),
        _starting(lambda past: past[0].shape[0]),
        _starting(len),
    ),
    mistake(
        "rotated twice",
        "The keys were kept unrotated, and those of the past were rotated again.",
        "The docstring says in which state the past's keys are.",
        _TurnedLate,
    ),
    mistake(
        "the past rotated again",
        "The keys of the past were rotated already, and were rotated once more.",
        "Which keys are new, and which has an earlier call rotated?",
        swap(turn=_turning(0), append=_turned_again),
    ),
    mistake(
        "keys kept unrotated",
        "The keys came back as they were before the rotation.",
        "Which keys does the next call expect, by the docstring?",
        _KeptAsTheyWere,
    ),
    mistake(
        "base left at its default",
        "The angles have the base 10,000, whatever the configuration says.",
        "Which argument of `rotate` did you leave out?",
        swap(rotate=lambda self, x, places: rotate(x, places)),
    ),
    mistake(
        "no mask",
        "Where no mask is given, every token sees the tokens after it.",
        "What does None mean for `mask`, by the docstring?",
        swap(mask=_open),
    ),
    mistake(
        "given mask ignored",
        "The mask that was given has no influence.",
        "Follow `mask` from the arguments to the attention.",
        swap(mask=_given_ignored),
    ),
    mistake(
        "never a mask",
        "There is no mask at all: not the one that was given, nor one of your own.",
        "Follow `mask` from the arguments to the attention.",
        swap(mask=_no_mask),
    ),
    mistake(
        "mask in the wrong corner",
        "The first new token sees only the first key: the mask ignores the past.",
        "Draw the mask for two new tokens after five: two rows, seven columns.",
        swap(mask=_corner),
    ),
    mistake(
        "mask upside down",
        "True was taken for *may not attend*.",
        "In this course True means: may attend.",
        swap(mask=_inverted),
        swap(mask=_own_inverted),
    ),
    mistake(
        "not divided by the root of d_head",
        "The scores were not divided by the root of d_head.",
        "What does `attention` do between the product and the softmax?",
        swap(mix=_unscaled),
    ),
    mistake(
        "new before old",
        "The new keys and values were put in front of the old ones.",
        "In which order were the tokens written?",
        swap(append=_new_first),
    ),
    mistake(
        "the past lost",
        "Only the new keys and values came back, so the next step would know no "
        "others.",
        "What does the next call need?",
        swap(kept=lambda self, everything, key, value: (key, value)),
    ),
    mistake(
        "keys and values swapped",
        "The pair came back as (values, keys).",
        "In which order does the docstring name them?",
        swap(kept=lambda self, everything, key, value: everything[::-1]),
    ),
    mistake(
        "without W_o",
        "The last matrix was not used.",
        "Which part of `__init__` does `forward` never use?",
        swap(finish=lambda self, mixed, places: merge_heads(mixed)),
    ),
    mistake(
        "biases kept",
        "At least one of the four layers has a bias.",
        "`nn.Linear` adds a bias unless you say that it should not.",
        swap(biases=PARTS),
        swap(biases=("W_q", "W_k", "W_v")),
        swap(biases=("W_o",)),
    ),
)

EXERCISES = (
    Exercise(
        "12.F",
        "Queries that share their keys",
        "class",
        difficulty=4,
        points=5,
        core=True,
        answers=(
            Answer(
                "GroupedQueryAttention",
                GroupedQueryAttention,
                {"output": "batch, new, d_model"},
                parts=PARTS,
            ),
        ),
        cases=_cases,
        proves="four sizes, which queries share which keys, rotation that goes on "
        "after a past, both masks, a small cache, the gradient",
        misconceptions=MISTAKES,
    ),
)
