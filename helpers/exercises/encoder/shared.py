"""What the exercises share: parts computed from their weights.

The references only take the weights from the student's parts and compute everything
else themselves, so a part that was built with the wrong options is noticed.
"""

from collections.abc import Callable, Iterator
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from helpers.checks.exercise import Misconception, mistake
from helpers.models.layers import ACTIVATIONS
from helpers.models.multi_head import MultiHeadAttention

ORDERS = {False: "post-norm", True: "pre-norm"}  # by norm_first


def normalise(norm: Any, x: Tensor, eps: float) -> Tensor:
    """Layer norm with the gain and bias of a norm."""
    return F.layer_norm(x, x.shape[-1:], norm.weight, norm.bias, eps)


def linears(part: nn.Module) -> tuple[nn.Linear, nn.Linear]:
    """The two linear layers of a feed-forward network."""
    if hasattr(part, "W_1") and hasattr(part, "W_2"):
        return part.W_1, part.W_2
    first, second = [one for one in part.modules() if isinstance(one, nn.Linear)][:2]
    return first, second


def run_feed_forward(part: nn.Module, x: Tensor, activation: str) -> Tensor:
    """The feed-forward formula with the weights of a network."""
    first, second = linears(part)
    return second(ACTIVATIONS[activation](first(x)))


def lacking(**parts: Any) -> str:
    """Which parts lack a bias, in words.

    A module built without one has a `bias` that is None. What is not a module is left
    out here: the check of the parts names it.

    Args:
        **parts: name -> modules that should all have biases
    """
    found = [
        name
        for name, modules in parts.items()
        if any(
            getattr(one, "bias", 0) is None
            for module in modules
            if isinstance(module, nn.Module)
            for one in module.modules()
        )
    ]
    return f"missing in {' and '.join(found)}" if found else "there"


def heads_in(part: nn.Module) -> nn.Module:
    """The course's attention inside a part, which may wrap it; else the part itself.

    A wrapper may lose the mask, so the references ask what it wraps.
    """
    inside = (one for one in part.modules() if isinstance(one, MultiHeadAttention))
    return next(inside, part)


class Deaf(nn.Module):
    """A wrapper around an attention that loses the mask."""

    def __init__(self, inner: nn.Module) -> None:
        super().__init__()
        self.inner = inner

    def forward(self, query: Tensor, key: Tensor, value: Tensor, mask: Any) -> Tensor:
        """Attend, whatever the mask says."""
        return self.inner(query, key, value)


def is_foreign(part: Any) -> bool:
    """Whether it is an attention that does not hold the course's."""
    if not isinstance(part, nn.Module):
        return False  # it is missing, which is said elsewhere
    return not isinstance(heads_in(part), MultiHeadAttention)


@torch.no_grad()
def influence(run: Callable, x: Tensor, hidden: Tensor) -> str:
    """Whether the last vector of x changes results that a mask hides it from.

    For an attention that is not the course's: what it does with a mask can't be read
    off its weights.

    Args:
        run: (B, S, D) -> (B, T, D)
        x: (B, S, D)
        hidden: (B, T), True = this result must not know the last vector of x
    """
    other = x.clone()
    other[:, -1] = other[:, -1].roll(1, -1)
    outputs = run(x), run(other)
    if not all(isinstance(one, Tensor) for one in outputs):
        return "none"  # what is wrong with the output is said elsewhere
    one, other = outputs
    if one.shape[:2] != hidden.shape:
        return "none"
    moved = (one - other).abs().amax(-1)  # (B, T)
    lost = (moved[hidden] > 1e-6).any()
    return "some, although a mask hides them" if lost else "none"


def ids_from(draw: torch.Generator, vocab_size: int, *size: int) -> Tensor:
    """Random token ids (B, T) from the whole vocabulary; 0, no padding here, is one."""
    ids = torch.randint(vocab_size, size, generator=draw)
    ids[0, 1] = 0
    return ids


def in_one_order(reference: type, *known: Misconception) -> Iterator[Misconception]:
    """Mistakes about a layer, each made in one norm order alone.

    Args:
        reference: the layer, whose steps are methods, with an attribute `norm_first`
        *known: mistakes spelt as that layer with some steps exchanged
    """
    for one in known:
        for norm_first, order in ORDERS.items():
            done = one.done[0].lower() + one.done[1:]
            yield mistake(
                f"{one.name}, in {order} only",
                f"In {order}, {done} In {ORDERS[not norm_first]} your layer is right.",
                "Compare the two norm orders in your `forward`, line by line.",
                *(
                    _half(reference, wrong, norm_first)
                    for wrong in one.spellings
                    if "__init__" not in vars(wrong)
                ),
            )


def _half(reference: type, wrong: type, norm_first: bool) -> type:
    """A layer with the steps of a wrong one in this norm order, else the right ones."""

    def step(name: str) -> Callable:
        def run(self: Any, *inputs: Any) -> Any:
            layer = wrong if self.norm_first == norm_first else reference
            return getattr(layer, name)(self, *inputs)

        return run

    exchanged = (name for name in vars(wrong) if callable(vars(reference).get(name)))
    return type("_Wrong", (reference,), {name: step(name) for name in exchanged})
