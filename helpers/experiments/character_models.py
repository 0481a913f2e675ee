"""Models that read and write characters: training, a measure, and samples.

The models here take `model(ids, state) -> (logits, state)`, as
`helpers.models.recurrent.CharacterModel` does.
"""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from helpers.models.recurrent import State, detached
from helpers.text.characters import Batch, Characters, batches
from helpers.training import History, half_cosine, progress


@dataclass
class CharacterHistory(History):
    """Loss of each step, in nats; and now and then the bits on held-out text."""

    steps: list[int] = field(default_factory=list)  # when it was measured
    times: list[float] = field(default_factory=list)  # seconds of training by then
    bits: list[float] = field(default_factory=list)  # per held-out character


def train_on_characters(
    model: nn.Module,
    ids: Tensor,
    steps: int,
    *,
    batch_size: int = 32,
    length: int = 64,
    rate: float = 2e-3,
    clip: float = 5.0,
    held_out: Tensor | None = None,
    every: int = 100,
    name: str = "training",
    after: Callable[[nn.Module, CharacterHistory], None] | None = None,
) -> CharacterHistory:
    """Train with Adam for a number of steps, epoch after epoch.

    The state goes on from batch to batch, cut off from its history (truncated
    backpropagation through time); each epoch begins with zeros. The learning rate goes
    down to 0 along half a cosine.

    Args:
        model: takes (ids, state), returns (logits, state)
        ids: (L,), the text
        steps: how many
        batch_size: B
        length: T, characters through which gradients flow
        rate: the first learning rate
        clip: the longest gradient; a longer one is shortened to this norm
        held_out: ids to measure bits per character on, every so many steps
        every: how many
        name: in front of the progress bar
        after: called with the model and the history whenever the bits were measured
    """
    where = next(model.parameters()).device
    pieces = batches(ids.to(where), batch_size, length)
    optimizer = torch.optim.Adam(model.parameters(), lr=rate)
    history, state = CharacterHistory(), None
    _measure(model, held_out, history, after)
    with progress(steps, name) as bar:
        for step in range(steps):
            start, place = time.perf_counter(), step % len(pieces)
            state = detached(state) if place else None
            optimizer.param_groups[0]["lr"] = half_cosine(rate, step, steps)
            loss, state = _step(model, optimizer, pieces[place], state, clip, history)
            history.loss.append(loss)
            history.rate.append(optimizer.param_groups[0]["lr"])
            history.seconds += time.perf_counter() - start
            bar.set_postfix_str(f"loss {loss:.3f}", refresh=False)
            bar.update()
            if (step + 1) % every == 0 or step + 1 == steps:
                _measure(model, held_out, history, after)
    return history


def _step(
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    batch: Batch,
    state: State | None,
    clip: float,
    history: CharacterHistory,
) -> tuple[float, State]:
    model.train()
    ids, targets = batch
    optimizer.zero_grad()
    logits, state = model(ids, state)
    loss = F.cross_entropy(logits.flatten(0, 1), targets.flatten())
    loss.backward()
    norm = nn.utils.clip_grad_norm_(model.parameters(), clip)
    optimizer.step()
    history.norm.append(norm.item())
    return loss.item(), state


def _measure(
    model: nn.Module,
    held_out: Tensor | None,
    history: CharacterHistory,
    after: Callable[[nn.Module, CharacterHistory], None] | None,
) -> None:
    if held_out is None:
        return
    history.steps.append(len(history.loss))
    history.times.append(history.seconds)
    history.bits.append(bits_per_character(model, held_out))
    if after:
        after(model, history)


@torch.no_grad()
def bits_per_character(model: nn.Module, ids: Tensor, length: int = 512) -> float:
    """How many bits a character costs: the mean of -log2 p(next character).

    The text is read once, from its beginning to its end, so that every character but
    the first is predicted from all before it. Dropout is off.

    Args:
        model: takes (ids, state), returns (logits, state)
        ids: (L,), at least two
        length: characters read in one call; it does not change the result

    Raises:
        ValueError: There are fewer than two characters.
    """
    if len(ids) < 2:
        raise ValueError(f"{len(ids)} characters: there is nothing to predict")
    was_training, state, nats = model.training, None, 0.0
    model.eval()
    ids = ids.to(next(model.parameters()).device)
    for x, y in zip(ids[:-1].split(length), ids[1:].split(length), strict=True):
        logits, state = model(x[None], state)  # (B=1, T, V)
        nats += F.cross_entropy(logits[0], y, reduction="sum").item()
    model.train(was_training)
    return nats / (len(ids) - 1) / math.log(2)


def chances(
    logits: Tensor, temperature: float = 1.0, top_k: int | None = None
) -> Tensor:
    """Probabilities: softmax(logits / temperature), of the k best characters alone.

    Args:
        logits: (B, V)
        temperature: below 1 the probable becomes more probable, above 1 less so
        top_k: None for all

    Returns:
        (B, V), each row adds up to 1; exactly k of a row are above 0.

    Raises:
        ValueError: The temperature or k is not positive.
    """
    if temperature <= 0 or (top_k is not None and top_k < 1):
        raise ValueError(f"temperature={temperature}, top_k={top_k}: not positive")
    words = logits.shape[-1]
    best = logits.topk(min(top_k or words, words), -1)
    kept = torch.full_like(logits, float("-inf"))
    return (kept.scatter(-1, best.indices, best.values) / temperature).softmax(-1)


@torch.no_grad()
def sample(
    model: nn.Module,
    characters: Characters,
    start: str,
    length: int,
    *,
    temperature: float = 1.0,
    top_k: int | None = None,
    generator: torch.Generator | None = None,
) -> str:
    """Read a beginning, then write on, character by character. Dropout is off.

    Args:
        model: takes (ids, state), returns (logits, state)
        characters: the vocabulary
        start: at least one character
        length: how many to write
        temperature: see `chances`
        top_k: see `chances`
        generator: where the chance comes from

    Returns:
        The beginning and what was written.

    Raises:
        ValueError: The beginning is empty, or has an unknown character.
    """
    if not start:
        raise ValueError("The beginning is empty: the model needs something to read.")
    was_training, device = model.training, next(model.parameters()).device
    model.eval()
    read, state, written = characters.encode(start)[None].to(device), None, []
    for _ in range(length):
        logits, state = model(read, state)
        drawn_from = chances(logits[:, -1].cpu(), temperature, top_k)  # (B=1, V)
        read = torch.multinomial(drawn_from, 1, generator=generator).to(device)
        written.append(read.item())
    model.train(was_training)
    return start + characters.decode(written)
