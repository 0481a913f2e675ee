"""12.G: the whole decoder."""

from typing import Any
from zlib import crc32

import torch
from torch import Tensor, nn

from helpers.checks.exercise import Answer, Case, Exercise, Look, mistake
from helpers.exercises.kit import exchanging, normal
from helpers.exercises.modern.attention import GroupedQueryAttention, Pair
from helpers.exercises.modern.feed_forward import SwiGLU
from helpers.exercises.modern.norm import RMSNorm
from helpers.models.gpt import initialise
from helpers.models.modern import ModernConfig
from helpers.models.positions import positional_encoding

PARTS = ("embedding", "layers", "norm", "output")


class ModernBlock(nn.Module):
    """The block that the lesson gives, made of the course's own answers."""

    def __init__(self, config: ModernConfig) -> None:
        super().__init__()
        self.norm1 = RMSNorm(config.d_model, config.eps)
        self.attention = GroupedQueryAttention(config)
        self.norm2 = RMSNorm(config.d_model, config.eps)
        self.feed_forward = SwiGLU(config.d_model, config.d_ff)

    def forward(
        self, x: Tensor, past: Pair | None = None, mask: Tensor | None = None
    ) -> tuple[Tensor, Pair]:
        """(B, T, D) -> (B, T, D), and keys and values of all S tokens."""
        found, pair = self.attention(self.norm1(x), past, mask)
        x = x + found
        return x + self.feed_forward(self.norm2(x)), pair


class ModernGPT(nn.Module):
    """The course's own answer to 12.G; misconceptions exchange one of its steps."""

    biased, tied = False, False  # said here: the parts may be a student's

    def __init__(self, config: ModernConfig) -> None:
        """Create the parts."""
        super().__init__()
        self.config = config
        self.embedding = nn.Embedding(config.vocab_size, config.d_model)
        self.layers = self.stack()
        self.norm = RMSNorm(config.d_model, config.eps)
        self.output = nn.Linear(config.d_model, config.vocab_size, bias=self.biased)
        if self.tied:
            self.output.weight = self.embedding.weight
        self.apply(initialise)  # it may train where a student's own is not there yet

    def stack(self) -> Any:
        """As many blocks as asked for."""
        return nn.ModuleList(
            ModernBlock(self.config) for _ in range(self.config.num_layers)
        )

    def forward(
        self, ids: Tensor, past: list[Pair] | None = None, mask: Tensor | None = None
    ) -> tuple[Tensor, list[Pair]]:
        """(B, T) -> logits (B, T, V), and a pair for each layer."""
        x, new = self.climb(self.embed(ids, past), past, mask)
        return self.score(self.finish(x)), self.kept(past, new)

    def embed(self, ids: Tensor, past: list[Pair] | None) -> Tensor:
        """Rows of the table, and nothing else."""
        return self.embedding(ids)

    def climb(
        self, x: Tensor, past: list[Pair] | None, mask: Tensor | None
    ) -> tuple[Tensor, list[Pair]]:
        """Block after block."""
        new = []
        for number, layer in enumerate(self.layers):
            x, pair = layer(x, self.of_layer(past, number), self.seen(mask))
            x = self.between(x)
            new.append(pair)
        return x, new

    def of_layer(self, past: list[Pair] | None, number: int) -> Pair | None:
        """What this layer has read before."""
        return None if past is None else past[number]

    def seen(self, mask: Tensor | None) -> Tensor | None:
        """The mask that a block gets."""
        return mask

    def between(self, x: Tensor) -> Tensor:
        """What happens behind a block: nothing."""
        return x

    def finish(self, x: Tensor) -> Tensor:
        """The last norm."""
        return self.norm(x)

    def score(self, x: Tensor) -> Tensor:
        """A logit for each row of the output's matrix."""
        return self.output(x)

    def kept(self, past: list[Pair] | None, new: list[Pair]) -> Any:
        """What the next call needs."""
        return new


@torch.no_grad()
def _prepare(call: nn.Module) -> None:
    """Numbers of our own everywhere, by name: initial ones would hide mistakes."""
    call.double()
    for name, value in call.named_parameters():
        draw = torch.Generator().manual_seed(crc32(name.encode()))
        gain = value.dim() == 1 and name.endswith("weight")
        value.copy_(float(gain) + 0.4 * normal(draw, *value.shape))


def _look(call: Any, ids: Tensor, past: Tensor | None, mask: Tensor | None) -> Look:
    """Past comes as one tensor (L, 2, B, H_kv, S, K)."""
    if not isinstance(call.layers, nn.ModuleList):
        return Look({"part layers": f"a {type(call.layers).__name__}"})
    biased, tied = (getattr(call, name, None) for name in ("biased", "tied"))
    output = getattr(call, "output", None)
    if biased is None:
        biased = getattr(output, "bias", None) is not None
    if tied is None:
        tied = getattr(output, "weight", None) is call.embedding.weight
    if tied:
        return Look({"part layers": "a ModuleList", "part tables of tokens": "one"})
    seen = {
        "part layers": "a ModuleList",
        "part tables of tokens": "two",
        "different layers": len({id(layer) for layer in call.layers}),
        "parameters": sum(value.numel() for value in call.parameters()),
        "bias of the output": "there" if biased else "none",
    }
    _prepare(call)
    before = None if past is None else [(one[0], one[1]) for one in past]
    result = call(ids, before, mask)
    if before is not None:
        same = len(before) == len(past) and all(
            pair[0] is not None and torch.equal(pair[0], one[0])
            for pair, one in zip(before, past, strict=True)
        )
        seen["the past"] = "as it was" if same else "changed"
    if not (isinstance(result, tuple | list) and len(result) == 2):
        return Look({**seen, "logits": result})
    logits, new = result
    seen["logits"] = logits
    if not isinstance(new, tuple | list):
        return Look({**seen, "new past": new})
    seen["pairs in the new past"] = len(new)
    for number, pair in enumerate(new):
        if isinstance(pair, tuple | list | Tensor) and len(pair) == 2:
            seen |= {f"keys of layer {number}": pair[0]}
            seen |= {f"values of layer {number}": pair[1]}
        else:
            seen[f"pair of layer {number}"] = pair
    return Look(seen)


def _cases(seed: int) -> list[Case]:
    draw = torch.Generator().manual_seed(seed)

    def case(
        name: str,
        size: tuple[int, int],
        sizes: tuple,
        past: int = 0,
        padded: int = 0,
        **more: Any,
    ) -> Case:
        batch, new = size
        config = ModernConfig(*sizes, 9, 20.0, 1e-3)
        ids = torch.randint(0, config.vocab_size, size, generator=draw)
        ids[-1, new // 2] = 0
        before, mask = None, None
        if past:
            heads = config.num_kv_heads, past, config.d_head
            before = normal(draw, config.num_layers, 2, batch, *heads)
        if padded:
            everything = past + new
            mask = torch.ones(new, everything, dtype=torch.bool).tril(past)
            mask = mask.expand(batch, 1, new, everything).clone()
            mask[-1, ..., :padded] = False
            mask |= torch.eye(everything, dtype=torch.bool)[past:]
        return Case(
            name,
            (ids, before, mask),
            inputs=("ids", "past", "mask"),
            init=(config,),
            look=_look,
            **more,
        )

    # vocabulary, max_length, d_model, heads, heads of keys, d_head, layers
    two, three = (13, 32, 8, 4, 2, 4, 2), (17, 32, 10, 3, 1, 6, 3)
    return [
        case("two blocks", (2, 5), two),
        case("three blocks", (3, 4), three),
        case("one block, one token", (4, 1), (11, 32, 6, 2, 2, 4, 1)),
        case("one new token after four", (2, 1), two, 4),
        case("two new tokens after three, three blocks", (3, 2), three, 3),
        case("a mask that hides padding", (2, 5), two, 0, 2),
        case("the gradient", (2, 3), two, gradient=True),
    ]


swap = exchanging(ModernGPT)


def _first_only(self: Any, x: Tensor, past: Any, mask: Any) -> tuple[Tensor, list]:
    x, pair = self.layers[0](x, self.of_layer(past, 0), mask)
    return x, [pair]


def _never_climbed(self: Any, x: Tensor, past: Any, mask: Any) -> tuple[Tensor, list]:
    """Every block reads what came from the table."""
    new, found = [], x
    for number, layer in enumerate(self.layers):
        found, pair = layer(x, self.of_layer(past, number), mask)
        new.append(pair)
    return found, new


def _one_for_all(self: Any) -> nn.ModuleList:
    return nn.ModuleList([ModernBlock(self.config)] * self.config.num_layers)


def _list(self: Any) -> list:
    return [ModernBlock(self.config) for _ in range(self.config.num_layers)]


def _placed(self: Any, ids: Tensor, past: Any) -> Tensor:
    x = self.embedding(ids)
    start = 0 if past is None else past[0][0].shape[2]
    table = positional_encoding(start + ids.shape[1], x.shape[-1])
    return x + table[start:].to(x)


def _in_place(self: Any, past: list | None, new: list) -> list:
    if past is None:
        return new
    past[:] = new
    return past


MISTAKES = (
    mistake(
        "scored with the embedding",
        "The table of the embedding scores the tokens, as in GPT-2, and the output's "
        "own matrix is not used.",
        "Which part of `__init__` does `forward` never use?",
        swap(score=lambda self, x: x @ self.embedding.weight.T),
    ),
    mistake(
        "output tied",
        "The output and the embedding share one table.",
        "Here the output has a matrix of its own.",
        swap(tied=True),
    ),
    mistake(
        "bias in the output",
        "The output layer has a bias.",
        "`nn.Linear` adds a bias unless you say that it should not.",
        swap(biased=True),
    ),
    mistake(
        "last norm missing",
        "The vectors were scored without the last norm.",
        "Which part of `__init__` does `forward` never use?",
        swap(finish=lambda self, x: x),
    ),
    mistake(
        "norm after every block",
        "The last norm was applied after every block, not once at the end.",
        "Is it inside your loop?",
        swap(between=lambda self, x: self.norm(x), finish=lambda self, x: x),
    ),
    mistake(
        "norm twice",
        "The last norm was applied after every block, and once more at the end.",
        "Is it inside your loop as well as behind it?",
        swap(between=lambda self, x: self.norm(x)),
    ),
    mistake(
        "norm first",
        "The last norm was applied before the first block.",
        "What is normed by the block itself, and what only here?",
        swap(
            embed=lambda self, ids, past: self.norm(self.embedding(ids)),
            finish=lambda self, x: x,
        ),
    ),
    mistake(
        "positions added",
        "Vectors of positions were added to those of the tokens.",
        "Where do positions come in, in this decoder?",
        swap(embed=_placed),
    ),
    mistake(
        "embedding scaled",
        "The tokens' vectors were multiplied by the root of d_model, as in lesson 04.",
        "Does this decoder scale its rows? GPT did not.",
        swap(
            embed=lambda self, ids, past: self.embedding(ids) * self.config.d_model**0.5
        ),
    ),
    mistake(
        "first block only",
        "Only the first block was used.",
        "How far does your loop go? Is the `return` inside it?",
        swap(climb=_first_only),
    ),
    mistake(
        "blocks not chained",
        "Every block read the tokens' vectors, and what the block before it gave was "
        "lost.",
        "Does your loop put what comes out of a block into the next one?",
        swap(climb=_never_climbed),
    ),
    mistake(
        "one block many times",
        "There is one block, used as often as there should be blocks.",
        "Create a new block for each place of the list.",
        swap(stack=_one_for_all),
    ),
    mistake(
        "blocks in a plain list",
        "The blocks stand in a plain list, where no optimizer finds their weights.",
        "Which class of torch.nn is a list of modules?",
        swap(stack=_list),
    ),
    mistake(
        "past not passed on",
        "The blocks never got their past.",
        "Follow `past` to the call of a block.",
        swap(of_layer=lambda self, past, number: None),
    ),
    mistake(
        "one past for all blocks",
        "Every block got the keys and values of the same layer.",
        "Which pair of the past belongs to which block?",
        swap(of_layer=lambda self, past, number: past and past[0]),
        swap(of_layer=lambda self, past, number: past and past[-1]),
    ),
    mistake(
        "mask not passed on",
        "The blocks never got the mask.",
        "Follow `mask` to the call of a block.",
        swap(seen=lambda self, mask: None),
    ),
    mistake(
        "old past returned",
        "What came back is the past that came in.",
        "What does the next call need?",
        swap(kept=lambda self, past, new: new if past is None else past),
    ),
    mistake(
        "only the last pair returned",
        "Only the last block's keys and values came back.",
        "Collect the pairs: how many are there after the loop?",
        swap(kept=lambda self, past, new: new[-1:]),
    ),
    mistake(
        "past changed in place",
        "The list that came in was changed, so nobody can try two continuations of "
        "the same text.",
        "Collect the new pairs in a list of their own.",
        swap(kept=_in_place),
    ),
)

EXERCISES = (
    Exercise(
        "12.G",
        "Today's decoder",
        "class",
        difficulty=2,
        points=3,
        core=True,
        answers=(
            Answer(
                "ModernGPT",
                ModernGPT,
                {"logits": "batch, new, vocabulary"},
                parts=PARTS,
            ),
        ),
        cases=_cases,
        proves="blocks of their own, one past for each, the mask, the last norm, an "
        "output of its own, a gradient in every part",
        misconceptions=MISTAKES,
    ),
)
