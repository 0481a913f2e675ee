"""From the scores of a language model to the token that is written next.

A model is anything that takes ids (B, T) and answers with scores (B, T, V), either as
they are or as the `.logits` of an output of `transformers`. The filters take the scores
of one place, (B, V), and block a token by giving it minus infinity. They agree with the
logits processors of `transformers`, edge cases included.
"""

from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

NEVER = float("-inf")


@dataclass(frozen=True)
class Settings:
    """How the next token is drawn; by default from all that the model says."""

    temperature: float = 1.0  # below 1 sharper, above 1 flatter
    top_k: int | None = None  # only this many of the most likely tokens
    top_p: float = 1.0  # only the most likely that together reach this probability
    no_repeat_ngram_size: int = 0  # no run of this many tokens twice; 0 allows repeats


# --- what the model says --------------------------------------------------------------


def logits_of(model: Any, ids: Tensor, mask: Tensor | None = None) -> Tensor:
    """Scores (B, T, V) for ids (B, T).

    Args:
        model: as above
        ids: token ids; a batch of prompts of different lengths is padded on the left
        mask: (B, T), boolean, True = a real token; without it all are
    """
    if mask is None:
        output = model(ids)
    else:
        places = (mask.long().cumsum(-1) - 1).clamp(min=0)  # counted without padding
        output = model(ids, attention_mask=mask.long(), position_ids=places)
    return getattr(output, "logits", output)


@torch.no_grad()
def next_logits(model: Any, ids: Tensor, mask: Tensor | None = None) -> Tensor:
    """Scores (B, V) for the token after the last one; arguments as in `logits_of`."""
    return logits_of(model, ids, mask)[:, -1]


@torch.no_grad()
def perplexity(model: Any, ids: Tensor) -> float:
    """Among how many equally likely tokens the model chose, on average: exp(loss).

    Args:
        model: as above, in eval mode
        ids: (1, T), at least two; the first one has nothing before it and is not asked
    """
    scores = logits_of(model, ids[:, :-1]).double()  # (1, T - 1, V)
    return F.cross_entropy(scores.mT, ids[:, 1:]).exp().item()


# --- filters --------------------------------------------------------------------------


def apply_temperature(logits: Tensor, temperature: float) -> Tensor:
    """Sharpen (below 1) or flatten (above 1) logits (B, V): logits / temperature.

    Raises:
        ValueError: The temperature is not above 0; its limit there is greedy choice.
    """
    if temperature <= 0:
        raise ValueError(f"temperature={temperature}: it has to be above 0")
    return logits / temperature


def top_k_filter(logits: Tensor, k: int) -> Tensor:
    """Block all but the k highest scores (B, V), and those that equal the k-th.

    Raises:
        ValueError: k is below 1.
    """
    if k < 1:
        raise ValueError(f"k={k}: at least one token has to be left")
    size = logits.shape[-1]
    lowest = logits.kthvalue(max(size - k + 1, 1), dim=-1, keepdim=True).values
    return logits.masked_fill(logits < lowest, NEVER)


def top_p_filter(logits: Tensor, p: float) -> Tensor:
    """Keep the fewest tokens, most likely first, that have probability p; (B, V).

    The token that crosses p is kept, and the most likely one always. The sum is taken
    from the unlikely end, where small numbers are added before large ones, as
    `transformers` does: with p = 1 nothing gets lost to rounding.

    Raises:
        ValueError: p is not between 0 and 1.

    Source: Holtzman et al. 2020 (arXiv 1904.09751), "nucleus sampling".
    """
    if not 0 <= p <= 1:
        raise ValueError(f"p={p}: a probability is between 0 and 1")
    rising, place = logits.sort(dim=-1)
    blocked = rising.softmax(-1).cumsum(-1) <= 1 - p
    blocked[..., -1] = False
    return logits.masked_fill(blocked.scatter(-1, place, blocked), NEVER)


def min_p_filter(logits: Tensor, p: float) -> Tensor:
    """Keep tokens that have at least p times the best one's probability; (B, V).

    Raises:
        ValueError: p is not between 0 and 1.

    Source: Nguyen et al. 2024 (arXiv 2407.01082), section 3.
    """
    if not 0 <= p <= 1:
        raise ValueError(f"p={p}: a share is between 0 and 1")
    shares = logits.softmax(-1)
    return logits.masked_fill(shares < p * shares.amax(-1, keepdim=True), NEVER)


def repetition_penalty(logits: Tensor, ids: Tensor, penalty: float) -> Tensor:
    """Make the tokens of a text less likely to come again; (B, V).

    A score above 0 is divided by the penalty, one below 0 multiplied by it.

    Args:
        logits: (B, V)
        ids: (B, T), all that stands there so far, the prompt included
        penalty: above 1 it discourages, below 1 it encourages

    Raises:
        ValueError: The penalty is not above 0.

    Source: Keskar et al. 2019 (arXiv 1909.05858), section 4.1, for the division.
    """
    if penalty <= 0:
        raise ValueError(f"penalty={penalty}: it has to be above 0")
    scores = logits.gather(1, ids)
    scores = torch.where(scores > 0, scores / penalty, scores * penalty)
    return logits.scatter(1, ids, scores)


def no_repeat_ngram_filter(logits: Tensor, ids: Tensor, n: int) -> Tensor:
    """Block every token that would write a run of n tokens for the second time.

    Args:
        logits: (B, V)
        ids: (B, T), all that stands there so far, the prompt included
        n: at least 1, which blocks every token that was used before

    Raises:
        ValueError: n is below 1.

    Source: Paulus et al. 2018 (arXiv 1705.04304), section 2.5.
    """
    if n < 1:
        raise ValueError(f"n={n}: a run has at least one token")
    if ids.shape[1] < n:
        return logits.clone()
    runs = ids.unfold(1, n, 1)  # (B, T - n + 1, n)
    last = ids[:, None, ids.shape[1] - n + 1 :]  # (B, 1, n - 1)
    again = (runs[..., :-1] == last).all(-1)  # (B, T - n + 1)
    times = logits.new_zeros(logits.shape).scatter_add(
        1, runs[..., -1], again.to(logits.dtype)
    )
    return logits.masked_fill(times > 0, NEVER)


def filtered(logits: Tensor, ids: Tensor, how: Settings) -> Tensor:
    """All filters, in the order of `transformers`: n-grams, temperature, k, p.

    Args:
        logits: (B, V)
        ids: (B, T), all that stands there so far
        how: which filters, and how strong
    """
    if how.no_repeat_ngram_size:
        logits = no_repeat_ngram_filter(logits, ids, how.no_repeat_ngram_size)
    logits = apply_temperature(logits, how.temperature)
    if how.top_k is not None:
        logits = top_k_filter(logits, how.top_k)
    return top_p_filter(logits, how.top_p) if how.top_p < 1 else logits


# --- writing --------------------------------------------------------------------------


def greedy(
    model: Any, ids: Tensor, max_new_tokens: int, mask: Tensor | None = None
) -> Tensor:
    """Write the most likely token, again and again: (B, T) -> (B, T + max_new_tokens).

    Args:
        model: as above, in eval mode
        ids: (B, T)
        max_new_tokens: how many tokens are added to each row
        mask: (B, T), boolean, True = a real token; padding stands on the left
    """
    for _ in range(max_new_tokens):
        best = next_logits(model, ids, mask).argmax(-1, keepdim=True)  # (B, 1)
        ids, mask = _longer(ids, best), _longer(mask, torch.ones_like(best))
    return ids


def sample(
    model: Any,
    ids: Tensor,
    max_new_tokens: int,
    how: Settings,
    generator: torch.Generator | None = None,
    end: int | None = None,
) -> Tensor:
    """Draw token after token: (B, T) -> (B, T + n), n at most max_new_tokens.

    Args:
        model: as above, in eval mode
        ids: (B, T)
        max_new_tokens: how many tokens are added at most
        how: the filters
        generator: where the randomness comes from
        end: a row that has written it is filled up with it; None: nothing ends a row
    """
    ended = torch.zeros(len(ids), 1, dtype=torch.bool, device=ids.device)
    for _ in range(max_new_tokens):
        scores = filtered(next_logits(model, ids), ids, how)
        token = torch.multinomial(scores.softmax(-1), 1, generator=generator)  # (B, 1)
        if end is not None:
            token = token.masked_fill(ended, end)
            ended |= token == end
        ids = _longer(ids, token)
        if ended.all():
            break
    return ids


def _longer(table: Tensor | None, column: Tensor) -> Tensor | None:
    """A table with one more column, if there is one."""
    return None if table is None else torch.cat([table, column.to(table)], dim=1)
