"""10.E: GPT-2's weights, loaded into the student's own model."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from helpers.checks.exercise import Answer, Case, Exercise, Look, mistake
from helpers.exercises.gpt.shared import filled, tokens
from helpers.exercises.kit import exchanging
from helpers.models.gpt import GPT, GPTConfig

MATRICES = ("to_qkv", "W_o", "W_1", "W_2")


def load_gpt2(mine: Any, theirs: Any) -> Any:
    """The course's own answer to 10.E."""
    return _load(mine, theirs)


def _pairs(mine: Any, theirs: Any, blocks: Callable = zip) -> dict[str, tuple]:
    """What belongs to what: name -> (ours, theirs)."""
    body = theirs.transformer
    found = {
        "embedding": (mine.embedding, body.wte),
        "positions": (mine.positions, body.wpe),
        "norm": (mine.norm, body.ln_f),
    }
    for number, (ours, other) in enumerate(blocks(mine.layers, body.h)):
        found |= {
            f"{number} norm1": (ours.norm1, other.ln_1),
            f"{number} to_qkv": (ours.attention.to_qkv, other.attn.c_attn),
            f"{number} W_o": (ours.attention.W_o, other.attn.c_proj),
            f"{number} norm2": (ours.norm2, other.ln_2),
            f"{number} W_1": (ours.feed_forward.W_1, other.mlp.c_fc),
            f"{number} W_2": (ours.feed_forward.W_2, other.mlp.c_proj),
        }
    return found


def _load(
    mine: Any,
    theirs: Any,
    *,
    turned: tuple[str, ...] = MATRICES,
    without: tuple[str, ...] = (),
    kinds: tuple[str, ...] = ("weight", "bias"),
    unbiased: tuple[str, ...] = (),
    renamed: Callable = lambda name: name,
    blocks: Callable = zip,
    copy: Callable = lambda target, number: target.data.copy_(number.data),
) -> Any:
    """Copy with one step exchanged."""
    pairs = _pairs(mine, theirs, blocks)
    for name, (ours, _) in pairs.items():
        last = name.split()[-1]
        if last in without:
            continue
        other = pairs[renamed(name)][1]
        for kind, number in other.named_parameters():
            if kind in kinds and not (kind == "bias" and last in unbiased):
                turn = last in turned and kind == "weight"
                copy(getattr(ours, kind), number.T if turn else number)
    return mine


# --- a GPT-2 as `transformers` builds it, without the import --------------------------


class Conv1D(nn.Module):
    """GPT-2's linear layer: the matrix is (in, out)."""

    def __init__(self, size_out: int, size_in: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(size_in, size_out))
        self.bias = nn.Parameter(torch.empty(size_out))


def _module(**parts: nn.Module) -> nn.Module:
    module = nn.Module()
    for name, part in parts.items():
        module.add_module(name, part)
    return module


def theirs_like(config: GPTConfig) -> nn.Module:
    """Names and shapes of a `GPT2LMHeadModel`; the numbers are still to come."""
    width = config.d_model
    blocks = [
        _module(
            ln_1=nn.LayerNorm(width),
            attn=_module(c_attn=Conv1D(3 * width, width), c_proj=Conv1D(width, width)),
            ln_2=nn.LayerNorm(width),
            mlp=_module(c_fc=Conv1D(4 * width, width), c_proj=Conv1D(width, 4 * width)),
        )
        for _ in range(config.num_layers)
    ]
    body = _module(
        wte=nn.Embedding(config.vocab_size, width),
        wpe=nn.Embedding(config.max_length, width),
        h=nn.ModuleList(blocks),
        ln_f=nn.LayerNorm(width),
    )
    head = nn.Linear(width, config.vocab_size, bias=False)
    head.weight = body.wte.weight
    return _module(transformer=body, lm_head=head)


def _cases(seed: int) -> list[Case]:
    draw = torch.Generator().manual_seed(seed)

    def case(name: str, *sizes: int) -> Case:
        config = GPTConfig(*sizes)
        mine, theirs = filled(GPT(config), draw), filled(theirs_like(config), draw)
        ids = tokens(draw, config.vocab_size, 2, 5)
        return Case(name, (mine, theirs, ids), inputs=("mine", "theirs"), look=_look)

    return [
        case("two blocks", 13, 9, 6, 3, 2),
        case("three blocks", 11, 7, 8, 2, 3),
        case("one block", 17, 8, 5, 1, 1),
    ]


def _look(call: Callable, mine: Any, theirs: Any, ids: Tensor) -> Look:
    before = [number.detach().clone() for number in theirs.parameters()]
    result = call(mine, theirs)
    with torch.no_grad():
        logits = mine(ids)
    kept = all(map(torch.equal, before, theirs.parameters()))
    memory = {number.data_ptr() for number in theirs.parameters()}
    shared = any(number.data_ptr() in memory for number in mine.parameters())
    return Look(
        {
            "what came back": "mine" if result is mine else type(result).__name__,
            "logits": logits,
            "theirs unchanged": kept,
            "memory shared with theirs": shared,
        }
    )


# --- what goes wrong ------------------------------------------------------------------


swap = exchanging(_load)


def _exchanged(one: str, other: str) -> Callable:
    names = {one: other, other: one}

    def renamed(name: str) -> str:
        *place, last = name.split()
        return " ".join([*place, names.get(last, last)])

    return renamed


def _first_for_all(ours: Any, theirs: Any) -> list:
    return [(block, theirs[0]) for block in ours]


def _reversed(ours: Any, theirs: Any) -> list:
    return list(zip(ours, reversed(theirs), strict=True))


def _first_only(ours: Any, theirs: Any) -> list:
    return [(ours[0], theirs[0])]


def _only_where_it_must(target: Tensor, number: Tensor) -> None:
    fits = target.shape == number.shape
    target.data.copy_(number.data if fits else number.data.T)


def _share(target: nn.Parameter, number: Tensor) -> None:
    target.data = number.data


def _back(target: nn.Parameter, number: Tensor) -> None:
    number.data.copy_(target.data)


def _under_autograd(target: nn.Parameter, number: Tensor) -> None:
    target.copy_(number)


def _nothing(mine: Any, theirs: Any) -> None:
    _load(mine, theirs)


MISTAKES = (
    mistake(
        "no matrix transposed",
        "GPT-2 keeps its matrices as (in, out), nn.Linear as (out, in), but they were "
        "copied as they are.",
        "Print the shapes of to_qkv.weight and c_attn.weight.",
        swap(turned=()),
        swap(turned=(), kinds=("weight",)),
    ),
    mistake(
        "transposed only where the shapes demand it",
        "The square matrix W_o was not transposed: nothing complains, and everything "
        "is wrong.",
        "A square matrix fits both ways. Is it stored the same way as the others?",
        swap(turned=("to_qkv", "W_1", "W_2")),
        swap(turned=(), copy=_only_where_it_must),
    ),
    mistake(
        "biases left out",
        "Not all biases were copied: those of the linear layers, of the norms or of "
        "both are still your own.",
        "How many tensors does one layer hold?",
        swap(kinds=("weight",)),
        swap(unbiased=MATRICES),
        swap(unbiased=("norm1", "norm2", "norm")),
        swap(unbiased=("norm1", "norm2")),
        swap(unbiased=("norm",)),
    ),
    mistake(
        "a linear layer left out",
        "In the blocks, one of the linear layers still has its initial numbers.",
        "How many layers of a block hold numbers?",
        *(swap(without=(name,)) for name in MATRICES),
    ),
    mistake(
        "tokens left out",
        "The table of tokens still has its initial numbers.",
        "Print `theirs.transformer`: how many tables are there?",
        swap(without=("embedding",)),
    ),
    mistake(
        "norms swapped",
        "Your norm1 has the numbers of their ln_2, and your norm2 those of their ln_1.",
        "Match the names on both sides.",
        swap(renamed=_exchanged("norm1", "norm2")),
    ),
    mistake(
        "norms left out",
        "In the blocks, at least one of the norms still has its initial numbers.",
        "How many layers of a block hold numbers?",
        swap(without=("norm1", "norm2")),
        swap(without=("norm2",)),
        swap(without=("norm1",)),
    ),
    mistake(
        "last norm left out",
        "The norm after the blocks still has its initial numbers.",
        "Print `theirs.transformer`: what comes after the list h?",
        swap(without=("norm",)),
    ),
    mistake(
        "positions left out",
        "The table of positions still has its initial numbers.",
        "Print `theirs.transformer`: how many tables are there?",
        swap(without=("positions",)),
    ),
    mistake(
        "first block everywhere",
        "All of your blocks have the weights of their first one.",
        "Which of their blocks belongs to your second?",
        swap(blocks=_first_for_all),
    ),
    mistake(
        "first block only",
        "Only your first block was filled.",
        "How far does your loop go? Is the `return` inside it?",
        swap(blocks=_first_only),
    ),
    mistake(
        "blocks in reverse",
        "Your first block has the weights of their last one.",
        "In which order does a text go through the blocks?",
        swap(blocks=_reversed),
    ),
    mistake(
        "copied the wrong way round",
        "Their model was overwritten with your random weights.",
        "In `a.copy_(b)`, which one changes?",
        swap(copy=_back),
    ),
    mistake(
        "memory shared",
        "Your model uses their tensors: train yours, and theirs changes too.",
        "Copy the numbers, not the tensor.",
        swap(copy=_share),
    ),
    mistake(
        "nothing returned",
        "Your model has their weights, but the function does not return it.",
        "Read the docstring's last line again.",
        _nothing,
    ),
    mistake(
        "copied while autograd records",
        "A parameter can't be changed in place while torch records gradients.",
        "Which context manager switches the recording off?",
        swap(copy=_under_autograd),
    ),
)

EXERCISES = (
    Exercise(
        "10.E",
        "GPT-2's weights in your own model",
        "function",
        difficulty=3,
        points=3,
        core=True,
        answers=(Answer("load_gpt2", load_gpt2, {"what came back": ""}),),
        cases=_cases,
        proves="logits of one, two and three blocks, theirs untouched",
        misconceptions=MISTAKES,
    ),
)
