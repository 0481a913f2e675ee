"""3.E: a real layer's weights in the student's own module."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from helpers import pretrained
from helpers.checks.exercise import Answer, Case, Exercise, Look, mistake
from helpers.exercises.kit import exchanging, normal
from helpers.exercises.multi_head.module import MultiHeadAttention


def load_pretrained_attention(mine: nn.Module, theirs: nn.Module) -> nn.Module:
    """The course's own answer to 3.E."""
    return _load(mine, theirs)


def _load(
    mine: nn.Module,
    theirs: nn.Module,
    *,
    order: str = "qkv",
    skip: str = "",
    kinds: tuple[str, ...] = ("weight", "bias"),
    parts: int = 4,
    change: Callable = lambda number: number,
    copy: Callable = lambda target, number: target.data.copy_(number.data),
) -> nn.Module:
    """The copy, in steps that a mistake can exchange."""
    asked = theirs.self
    sources = [asked.query, asked.key, asked.value]
    sources = [sources["qkv".index(name)] for name in order] + [theirs.output.dense]
    for name, source in list(zip("qkvo", sources, strict=True))[:parts]:
        target = getattr(mine, f"W_{name}")
        for kind in () if name in skip else kinds:
            copy(getattr(target, kind), change(getattr(source, kind)))
    return mine


swap = exchanging(_load)


def _cases(seed: int) -> list[Case]:
    with torch.random.fork_rng(devices=[]):  # building a layer draws numbers
        return _layers_to_load(seed)


def _layers_to_load(seed: int) -> list[Case]:
    draw = torch.Generator().manual_seed(seed)

    def case(name: str, d_model: int, heads: int, theirs: nn.Module) -> Case:
        mine = MultiHeadAttention(d_model, heads)
        for number in mine.parameters():
            number.data = normal(draw, *number.shape, dtype=number.dtype) / 3
        args = (mine, theirs, normal(draw, 2, 5, d_model, dtype=torch.float32))
        return Case(name, args, inputs=("mine", "theirs"), look=_look)

    return [
        case("three heads of four", 12, 3, _bert_attention(draw, 12, 3)),
        case("two heads of five", 10, 2, _bert_attention(draw, 10, 2)),
        case("layer 0 of the bundled encoder", 384, 12, _real_layer()),
    ]


def _bert_attention(draw: torch.Generator, d_model: int, heads: int) -> nn.Module:
    """A BERT layer's attention with random weights, and biases that are not 0."""
    from transformers import BertConfig
    from transformers.models.bert.modeling_bert import BertAttention

    config = BertConfig(hidden_size=d_model, num_attention_heads=heads)
    layer = BertAttention(config).eval()
    for number in layer.parameters():
        number.data = normal(draw, *number.shape, dtype=torch.float32) / 2
    return layer


def _real_layer() -> nn.Module:
    """The first layer of the bundled checkpoint, whatever COURSE_SOURCE says."""
    from safetensors import safe_open

    layer = _bert_attention(torch.Generator(), 384, 12)
    file = pretrained.bundled("encoder") / "model.safetensors"
    with safe_open(file, framework="pt") as checkpoint:
        prefix = "encoder.layer.0.attention."
        numbers = {
            name.removeprefix(prefix): checkpoint.get_tensor(name)
            for name in checkpoint.keys()
            if name.startswith(prefix)
        }
    layer.load_state_dict(numbers)
    return layer


def _look(call: Callable, mine: nn.Module, theirs: nn.Module, x: Tensor) -> Look:
    before = [number.detach().clone() for number in theirs.parameters()]
    result = call(mine, theirs)
    came_back = "mine" if result is mine else type(result).__name__
    with torch.no_grad():
        output, weights = mine(x, x, x)
    kept = all(map(torch.equal, before, theirs.parameters()))
    memory = {number.data_ptr() for number in theirs.parameters()}
    shared = any(number.data_ptr() in memory for number in mine.parameters())
    return Look(
        {
            "what came back": came_back,
            "weights": weights,
            "output": output,
            "theirs unchanged": kept,
            "memory shared with theirs": shared,
        },
    )


def _share(target: nn.Parameter, number: Tensor) -> None:
    target.data = number.data


def _without_no_grad(target: nn.Parameter, number: Tensor) -> None:
    target.copy_(number)


def _layers_taken_over(mine: Any, theirs: Any) -> Any:
    mine.W_q, mine.W_k, mine.W_v = theirs.self.query, theirs.self.key, theirs.self.value
    mine.W_o = theirs.output.dense
    return mine


def _whole_block_loaded(mine: Any, theirs: Any) -> Any:
    mine.W_q.load_state_dict(theirs.self.query.state_dict())
    mine.W_k.load_state_dict(theirs.self.key.state_dict())
    mine.W_v.load_state_dict(theirs.self.value.state_dict())
    mine.W_o.load_state_dict(theirs.output.state_dict())
    return mine


def _whole_block_copied(mine: Any, theirs: Any) -> Any:
    _load(mine, theirs, parts=3)
    mine.W_o.weight.data.copy_(theirs.output.weight)
    return mine


def _whole_block_taken_over(mine: Any, theirs: Any) -> Any:
    mine.W_o = theirs.output
    return mine


MISTAKES = (
    mistake(
        "weights transposed",
        "The matrices were transposed on the way, but both sides are nn.Linear and "
        "hold them as (out, in).",
        "Compare the shapes on both sides before you transpose anything.",
        swap(change=lambda number: number.T),
        swap(change=lambda number: number.t()),
    ),
    mistake(
        "biases left out",
        "The weights were copied, but the biases were not.",
        "How many tensors does one nn.Linear hold?",
        swap(kinds=("weight",)),
    ),
    mistake(
        "query and key swapped",
        "Their query went into your key layer, and the other way round.",
        "Match the names on both sides.",
        swap(order="kqv"),
    ),
    mistake(
        "key in place of the value",
        "Your value layer holds their key.",
        "Match the names on both sides.",
        swap(order="qkk"),
    ),
    mistake(
        "a projection left out",
        "One of W_q, W_k and W_v still has its own random numbers.",
        "Which of the four layers does your code never touch?",
        *(swap(skip=name) for name in "qkv"),
    ),
    mistake(
        "nothing loaded",
        "Your module came back as it was: all four layers still hold their own random "
        "numbers.",
        "Which of your lines changes a tensor of `mine`, and does it run?",
        lambda mine, theirs: mine,
    ),
    mistake(
        "output projection left out",
        "The attention weights are right, but W_o still has its own random numbers.",
        "Print `theirs`: there is a fourth linear layer outside `theirs.self`.",
        swap(parts=3),
    ),
    mistake(
        "copied the wrong way round",
        "Their layer was overwritten with your random numbers.",
        "In `a.copy_(b)` and `a.load_state_dict(b)`, which one changes?",
        swap(copy=lambda target, number: number.data.copy_(target.data)),
    ),
    mistake(
        "nothing returned",
        "Your module has their weights, but the function does not return it.",
        "Read the docstring's last line again.",
        lambda mine, theirs: None if _load(mine, theirs) else None,
    ),
    mistake(
        "theirs returned",
        "Your module has their weights, but what came back is their layer.",
        "Read the docstring's last line again.",
        lambda mine, theirs: theirs if _load(mine, theirs) else None,
    ),
    mistake(
        "memory shared",
        "Your module uses their tensors: if you train yours, their model changes, too.",
        "Copy the numbers, not the layer or the tensor.",
        swap(copy=_share),
        _layers_taken_over,
    ),
    mistake(
        "copied while autograd records",
        "A parameter can't be changed in place while torch records gradients.",
        "Which context switches recording off? `load_state_dict` does so by itself.",
        swap(copy=_without_no_grad),
    ),
    mistake(
        "the whole block for W_o",
        "W_o was to become all of `theirs.output`, but that is a block of three: a "
        "linear layer, a layer norm and a dropout.",
        "Print `theirs.output`. What is its linear layer called?",
        _whole_block_taken_over,
        _whole_block_loaded,
        _whole_block_copied,
    ),
)


EXERCISES = (
    Exercise(
        "3.E",
        "A real layer in your own module",
        "function",
        difficulty=3,
        points=3,
        core=True,
        answers=(Answer("load_pretrained_attention", load_pretrained_attention),),
        cases=_cases,
        proves="weights and output of small layers and of the real layer 0, to 1e-5",
        misconceptions=MISTAKES,
    ),
)
