"""Who may attend to whom: padding is hidden from all, the future from the decoder.

A mask is boolean, True = may attend, and broadcasts to (B, H, T, S). Masks are combined
with `&`. torch's `nn.MultiheadAttention` reads masks the other way round: `blocked`.
"""

import torch
from torch import Tensor


def padding_mask(ids: Tensor, padding_id: int = 0) -> Tensor:
    """(B, S) token ids -> (B, H=1, T=1, S), True where the key is a real token."""
    return (ids != padding_id)[:, None, None, :]


def look_ahead_mask(length: int, device: torch.device | None = None) -> Tensor:
    """(T, T), True where the key stands at the query or before it: no future."""
    place = torch.arange(length, device=device)
    return place[None, :] <= place[:, None]


def target_mask(ids: Tensor, padding_id: int = 0) -> Tensor:
    """(B, T) target ids -> (B, H=1, T, T): neither the future nor padding."""
    return look_ahead_mask(ids.shape[1], ids.device) & padding_mask(ids, padding_id)


def blocked(mask: Tensor) -> Tensor:
    """Our mask, in its shape, as `nn.MultiheadAttention` wants it: True = blocked."""
    return ~mask
