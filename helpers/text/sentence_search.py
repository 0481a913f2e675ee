"""Semantic search: sentences as unit vectors, and the nearest ones to a query."""

from collections.abc import Callable, Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn


def mean_of_tokens(hidden: Tensor, real: Tensor) -> Tensor:
    """The mean of each sentence's real tokens.

    Args:
        hidden: (B, T, D)
        real: (B, T), True = a real token, at least one in each row

    Returns:
        (B, D)
    """
    return (hidden * real[..., None]).sum(1) / real.sum(1, keepdim=True)


@torch.no_grad()
def sentence_vectors(
    sentences: Sequence[str],
    encoder: nn.Module,
    tokenizer: Any,
    pool: Callable[[Tensor, Tensor], Tensor] = mean_of_tokens,
    size: int = 64,
) -> Tensor:
    """One vector of length 1 per sentence.

    Args:
        sentences: N texts
        encoder: takes ids (B, T) and a mask (B, 1, 1, S), returns (B, T, D)
        tokenizer: of `transformers`, the one that the encoder was trained with
        pool: makes one vector of a sentence's tokens
        size: sentences per batch

    Returns:
        (N, D)
    """
    found = []
    for start in range(0, len(sentences), size):
        some = list(sentences[start : start + size])
        batch = tokenizer(some, padding=True, return_tensors="pt")
        real = batch["attention_mask"].bool()  # (B, S)
        hidden = encoder(batch["input_ids"], real[:, None, None])
        found.append(F.normalize(pool(hidden, real), dim=-1))
    return torch.cat(found)


def nearest(query: Tensor, vectors: Tensor, count: int = 5) -> list[tuple[int, float]]:
    """The places of the most similar vectors, each with its cosine, best first.

    Args:
        query: (D,), of length 1
        vectors: (N, D), of length 1
        count: how many
    """
    best = (vectors @ query).topk(count)
    return list(zip(best.indices.tolist(), best.values.tolist(), strict=True))
