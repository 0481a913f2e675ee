"""A GPT in place of lesson 07's recurrent model: training, and the same measure.

Both read the same number of characters per step. A recurrent model carries a state
from piece to piece; a GPT has no state, but a window of text that it can see.
"""

from collections.abc import Iterator

import torch
from torch import Tensor, nn

from helpers.experiments.character_models import CharacterHistory, bits_per_character
from helpers.models.gpt import GPT
from helpers.training import half_cosine, train

__all__ = ["AsRecurrent", "next_token_loss", "train_gpt", "windows"]


class AsRecurrent(nn.Module):
    """A GPT behind the interface of lesson 07: its state is what it has read last.

    Half of the positions hold text from before, the other half new text; so a
    character is predicted from at least half a window, except at the beginning.
    """

    def __init__(self, model: GPT) -> None:
        """Wrap a model; it stays the same object."""
        super().__init__()
        self.model = model
        self.keep = model.config.max_length // 2

    def forward(self, ids: Tensor, state: Tensor | None = None) -> tuple:
        """(B, T) and the text before -> logits (B, T, V), the text before the next."""
        text = ids if state is None else torch.cat([state, ids], 1)
        logits = self.model(text)[:, -ids.shape[1] :]
        return logits, text[:, -self.keep :]


def windows(ids: Tensor, batch_size: int, length: int, seed: int) -> Iterator[Tensor]:
    """Yield (B, T + 1) pieces from random places of a text, without end.

    Args:
        ids: (tokens), the text
        batch_size: B
        length: T
        seed: draws the places

    Raises:
        ValueError: The text is too short for one piece.
    """
    if len(ids) <= length:
        raise ValueError(f"{len(ids)} tokens have no window of {length + 1}")
    draw = torch.Generator().manual_seed(seed)
    inside = torch.arange(length + 1)
    while True:
        starts = torch.randint(len(ids) - length, (batch_size, 1), generator=draw)
        yield ids[starts + inside]


def next_token_loss(model: nn.Module, text: Tensor) -> Tensor:
    """Cross-entropy of each next token of a piece (B, T + 1), in nats."""
    logits = model(text[:, :-1])
    return nn.functional.cross_entropy(logits.transpose(1, 2), text[:, 1:])


def train_gpt(
    model: GPT,
    ids: Tensor,
    steps: int,
    *,
    batch_size: int = 32,
    rate: float = 2e-3,
    held_out: Tensor | None = None,
    every: int = 100,
    seed: int = 0,
    name: str = "GPT",
) -> CharacterHistory:
    """Train with AdamW on windows as long as the positions; the rate as in lesson 07.

    Args:
        model: its `max_length` is the length of the windows
        ids: (L,), the text
        steps: how many
        batch_size: B
        rate: the first learning rate; it rises over 50 steps, then falls to 0
        held_out: ids to measure bits per character on, every so many steps
        every: how many
        seed: of the windows
        name: in front of the progress bar
    """
    where = next(model.parameters()).device
    pieces = windows(ids.to(where), batch_size, model.config.max_length, seed)
    optimizer = torch.optim.AdamW(model.parameters(), lr=rate, betas=(0.9, 0.98))
    history = CharacterHistory()
    _measure(model, held_out, history)
    for first in range(0, steps, every):
        train(
            model,
            pieces,
            next_token_loss,
            optimizer,
            min(every, steps - first),
            schedule=lambda step: min(1, step / 50) * half_cosine(rate, step, steps),
            clip=1.0,
            history=history,
            name=name,
        )
        _measure(model, held_out, history)
    return history


def _measure(model: GPT, held_out: Tensor | None, history: CharacterHistory) -> None:
    if held_out is None:
        return
    reader = AsRecurrent(model)
    history.steps.append(len(history.loss))
    history.times.append(history.seconds)
    history.bits.append(bits_per_character(reader, held_out, reader.keep))
