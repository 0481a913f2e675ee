"""Lesson 12: a GPT-2 whose layer norms no longer subtract the mean, and says the same.

The mean that a layer norm subtracts can be taken out of everything that is written to
the residual stream instead. What arrives at a norm then has mean 0 already, and an RMS
norm gives what the layer norm gave.
"""

import copy
from functools import partial

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from helpers.models.gpt import GPT


class BiasedRMSNorm(nn.Module):
    """An RMS norm with the gain, the bias and the eps of a layer norm.

    Args:
        norm: the layer norm whose numbers it takes
    """

    def __init__(self, norm: nn.LayerNorm) -> None:
        super().__init__()
        self.weight, self.bias, self.eps = norm.weight, norm.bias, norm.eps

    def forward(self, x: Tensor) -> Tensor:
        """(..., D) -> (..., D); the mean of x stays in it."""
        return F.rms_norm(x, x.shape[-1:], self.weight, self.eps) + self.bias


def with_rms_norms(model: GPT, centred: bool) -> GPT:
    """A copy with an RMS norm in place of each layer norm.

    Args:
        model: a GPT-2; stays as it is
        centred: first take the mean out of each vector that the tables and the
            sublayers write to the stream; tokens are scored with the table as it was

    Source: for the step itself Zhang and Sennrich 2019 (arXiv 1910.07467), section 4.
    """
    table = model.embedding.weight.detach().clone()
    copied = copy.deepcopy(model)
    if centred:
        _centre(copied)
        copied.score = partial(F.linear, weight=table)
    for layer in copied.layers:
        layer.norm1, layer.norm2 = map(BiasedRMSNorm, (layer.norm1, layer.norm2))
    copied.norm = BiasedRMSNorm(copied.norm)
    return copied.eval()


@torch.no_grad()
def _centre(model: GPT) -> None:
    for table in (model.embedding, model.positions):
        table.weight -= table.weight.mean(1, keepdim=True)
    for layer in model.layers:
        for part in (layer.attention.W_o, layer.feed_forward.W_2):
            part.weight -= part.weight.mean(0, keepdim=True)  # (out, in)
            part.bias -= part.bias.mean()


@torch.no_grad()
def share_of_the_mean(model: GPT, ids: Tensor) -> float:
    """How much of the squared length that reaches the norms is that of the mean.

    Args:
        model: a GPT-2
        ids: (B, T), a text

    Returns:
        Of every vector that a norm reads: mean squared by mean of squares, averaged.
    """
    found: list[Tensor] = []

    def look(norm: nn.Module, args: tuple) -> None:
        (x,) = args
        found.append(x.mean(-1).square() / x.square().mean(-1))

    norms = [part for part in model.modules() if isinstance(part, nn.LayerNorm)]
    hooks = [norm.register_forward_pre_hook(look) for norm in norms]
    try:
        model(ids)
    finally:
        for hook in hooks:
            hook.remove()
    return torch.stack(found).mean().item()
