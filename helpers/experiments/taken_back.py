"""Lesson 12: today's decoder with parts of GPT-2 back in it, at a size that is given.

With all of `PARTS` back it is GPT-2: it gives the logits of a `GPT` with its weights.
"""

from collections.abc import Collection
from dataclasses import replace
from functools import partial

import torch
from torch import Tensor, nn

from helpers.models.gpt import initialise
from helpers.models.layers import FeedForward
from helpers.models.modern import ModernConfig, ModernGPT

NORM, POSITIONS, FEED = "layer norm", "learned positions", "two-layer feed-forward"
HEADS, BIASES, TIED = "all heads of keys", "biases", "tied output"
PARTS = (NORM, POSITIONS, FEED, HEADS, BIASES, TIED)


class WithPositions(ModernGPT):
    """A vector is added for each position, and nothing is rotated."""

    def __init__(self, config: ModernConfig) -> None:
        super().__init__(config)
        self.positions = nn.Embedding(config.max_length, config.d_model)
        initialise(self.positions, config.first_std)

    def place(self, ids: Tensor, positions: Tensor) -> tuple[Tensor, None]:
        """Vectors (B, T, D), the positions (T,) in them; no rotation."""
        return self.embedding(ids) + self.positions(positions.to(ids.device)), None


def taken_back(parts: Collection[str], config: ModernConfig) -> ModernGPT:
    """Today's decoder with these parts as GPT-2 has them.

    Args:
        parts: some of `PARTS`
        config: the sizes; `d_ff` is that of either feed-forward

    Raises:
        ValueError: There is no such part.
    """
    if unknown := set(parts) - set(PARTS):
        raise ValueError(f"{min(unknown)!r} is not among the parts {PARTS}")
    if HEADS in parts:
        config = replace(config, num_kv_heads=config.num_heads)
    config = replace(config, tied=TIED in parts)
    model = (WithPositions if POSITIONS in parts else ModernGPT)(config)
    for layer in model.layers:
        if FEED in parts:
            layer.feed_forward = _two_layers(config)
        if NORM in parts:
            layer.norm1 = nn.LayerNorm(config.d_model, config.eps)
            layer.norm2 = nn.LayerNorm(config.d_model, config.eps)
    if NORM in parts:
        model.norm = nn.LayerNorm(config.d_model, config.eps)
    if BIASES in parts:
        for part in model.layers.modules():
            if isinstance(part, nn.Linear):
                part.bias = nn.Parameter(part.weight.new_zeros(part.out_features))
    return model


def _two_layers(config: ModernConfig) -> FeedForward:
    """GPT-2's feed-forward, without its biases: they are a part of their own."""
    layers = FeedForward(config.d_model, config.d_ff, "gelu_tanh")
    layers.W_1.bias = layers.W_2.bias = None
    return layers.apply(partial(initialise, std=config.first_std))


def at_size(parts: Collection[str], config: ModernConfig, parameters: int) -> ModernGPT:
    """The same, with feed-forwards as wide as this number of parameters allows.

    Args:
        parts: some of `PARTS`
        config: the other sizes; its `d_ff` is not used
        parameters: how many; the result is the closest to it

    Raises:
        ValueError: With feed-forwards of width 1 there are more.
    """

    def count(d_ff: int) -> int:
        with torch.device("meta"):
            model = taken_back(parts, replace(config, d_ff=d_ff))
        return sum(p.numel() for p in model.parameters())

    one = count(1)
    d_ff = 1 + round((parameters - one) / (count(2) - one))
    if d_ff < 1:
        raise ValueError(f"{parameters:,} parameters, but {one:,} with a width of 1")
    return taken_back(parts, replace(config, d_ff=d_ff))
