"""What depth does to a stack of encoder layers before any training."""

from collections.abc import Iterable
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from helpers.models.encoder import EncoderLayer


@dataclass(frozen=True)
class Stack:
    """Fresh layers, and the loss of guessing one of 100 words from their output."""

    layers: nn.ModuleList
    x: Tensor  # (B, T, D), what goes in
    norm: nn.Module  # the last norm of a pre-norm stack
    head: nn.Linear  # D -> V
    words: Tensor  # (B, T), the right word at each place

    def loss_of(self, x: Tensor) -> Tensor:
        """Cross-entropy, in nats, of the last layer's output, (B, T, D)."""
        guesses = self.head(self.norm(x))  # (B, T, V)
        return F.cross_entropy(guesses.flatten(0, 1), self.words.flatten())

    def gradients(self) -> Tensor:
        """The gradient norm of each layer's first feed-forward matrix, (layers,)."""
        x = self.x
        for layer in self.layers:
            x = layer(x)
        wanted = [layer.feed_forward.W_1.weight for layer in self.layers]
        slopes = torch.autograd.grad(self.loss_of(x), wanted)
        return torch.stack([slope.norm() for slope in slopes])

    @torch.no_grad()
    def spread(self) -> Tensor:
        """The standard deviation of each layer's output, (layers,)."""
        x, seen = self.x, []
        for layer in self.layers:
            x = layer(x)
            seen.append(x.std())
        return torch.stack(seen)


def fresh_stack(
    num_layers: int, norm_first: bool, seed: int, d_model: int = 48, num_heads: int = 4
) -> Stack:
    """Layers as they are at the start of training: Xavier weights, no dropout.

    Args:
        num_layers: how many
        norm_first: pre-norm layers, with a last norm; else post-norm layers
        seed: of the weights and the input; the caller's random numbers are left alone
        d_model: width
        num_heads: a divisor of d_model

    Source: Xiong et al. 2020 (arXiv 2002.04745), section 3.3, at a smaller size.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        options = (d_model, num_heads, 4 * d_model, 0.0, "relu", norm_first)
        layers = nn.ModuleList(EncoderLayer(*options) for _ in range(num_layers))
        for value in layers.parameters():
            if value.dim() == 2:
                nn.init.xavier_uniform_(value)
        norm = nn.LayerNorm(d_model) if norm_first else nn.Identity()
        x, head = torch.randn(8, 12, d_model), nn.Linear(d_model, 100)
        return Stack(layers, x, norm, head, torch.randint(100, (8, 12)))


def gradients(num_layers: int, norm_first: bool, seeds: Iterable[int]) -> Tensor:
    """`Stack.gradients` of several fresh stacks, (seeds, layers)."""
    stacks = (fresh_stack(num_layers, norm_first, seed) for seed in seeds)
    return torch.stack([stack.gradients() for stack in stacks])


def spreads(num_layers: int, norm_first: bool, seeds: Iterable[int]) -> Tensor:
    """`Stack.spread` of several fresh stacks, (seeds, layers)."""
    stacks = (fresh_stack(num_layers, norm_first, seed) for seed in seeds)
    return torch.stack([stack.spread() for stack in stacks])


@torch.no_grad()
def likeness_by_depth(layers: nn.ModuleList, x: Tensor) -> list[float]:
    """How similar the tokens are before the first layer and after each: mean cosine.

    Args:
        layers: encoder layers, or attentions, which get x three times
        x: (B=1, T, D)
    """
    seen = [_likeness(x)]
    for layer in layers:
        x = layer(x) if isinstance(layer, EncoderLayer) else layer(x, x, x)
        seen.append(_likeness(x))
    return seen


def _likeness(x: Tensor) -> float:
    unit = F.normalize(x[0], dim=-1)  # (T, D)
    cosines = unit @ unit.T
    others = ~torch.eye(len(cosines), dtype=torch.bool)
    return cosines[others].mean().item()


def collapse(
    attentions: nn.ModuleList, x: Tensor, added: bool
) -> tuple[list[float], float]:
    """How similar tokens become in a stack of attentions, and what gradient arrives.

    Args:
        attentions: called with query, key and value
        x: (B=1, T, D)
        added: each output is added to its input, as by a residual connection

    Returns:
        The mean cosine before the first attention and after each; the norm of the
        gradient, at x, of a random projection of what comes out.
    """
    start = x.detach().requires_grad_()
    stream, seen = start, [_likeness(x)]
    for attention in attentions:
        found = attention(stream, stream, stream)
        stream = stream + found if added else found
        seen.append(_likeness(stream.detach()))
    goal = torch.randn(x.shape, generator=torch.Generator().manual_seed(1))
    (slope,) = torch.autograd.grad((stream * goal).sum(), start)
    return seen, slope.norm().item()
