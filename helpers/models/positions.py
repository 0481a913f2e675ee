"""Where a token stands: the paper's sinusoidal positional encoding."""

import torch
from torch import Tensor, nn


def positional_encoding(
    length: int, d_model: int, dtype: torch.dtype = torch.float32
) -> Tensor:
    """The table of sines and cosines that tells positions apart.

    PE[pos, 2i] = sin(pos / 10000^(2i / d_model)), PE[pos, 2i + 1] = cos(the same). An
    odd d_model ends with a sine. The angles are computed in float64.

    Args:
        length: how many positions, counted from 0
        d_model: width of a row
        dtype: of the result

    Returns:
        (length, D)

    Source: Vaswani et al. 2017, section 3.5.
    """
    position = torch.arange(length, dtype=torch.float64)[:, None]  # (T, 1)
    even = torch.arange(0, d_model, 2, dtype=torch.float64)  # 2i
    angles = position / 10000 ** (even / d_model)  # (T, ceil(D / 2))
    table = torch.empty(length, d_model, dtype=torch.float64)
    table[:, 0::2] = angles.sin()
    table[:, 1::2] = angles.cos()[:, : d_model // 2]
    return table.to(dtype)


class PositionalEncoding(nn.Module):
    """Add to each vector the row of its position.

    The table is a buffer: it moves with the module from device to device, but is not a
    parameter, and it is not saved because it can be computed again.

    Args:
        d_model: width of the vectors
        max_length: how many positions the table has

    Source: Vaswani et al. 2017, section 3.5; its dropout is left to the caller.
    """

    def __init__(self, d_model: int, max_length: int = 5000) -> None:
        super().__init__()
        table = positional_encoding(max_length, d_model, torch.get_default_dtype())
        self.register_buffer("table", table, persistent=False)

    def forward(self, x: Tensor) -> Tensor:
        """(..., T, D) -> the same, with position 0 on the first of the T vectors.

        Raises:
            ValueError: The sequence is longer than the table.
        """
        length, most = x.shape[-2], len(self.table)
        if length > most:
            raise ValueError(f"length {length}, but the table has {most} positions")
        return x + self.table[:length].to(x.dtype)


class TokenEmbedding(nn.Module):
    """Look up a vector for each token id, scaled by sqrt(d_model).

    Args:
        vocab_size: rows of the table
        d_model: width of a row
        padding_id: a row that is zero and is never trained; None for no such row

    Source: Vaswani et al. 2017, section 3.4.
    """

    def __init__(
        self, vocab_size: int, d_model: int, padding_id: int | None = None
    ) -> None:
        super().__init__()
        self.scale = d_model**0.5
        self.table = nn.Embedding(vocab_size, d_model, padding_id)
        with torch.no_grad():  # small enough that scaled entries have variance 1
            self.table.weight.div_(self.scale)

    def forward(self, ids: Tensor) -> Tensor:
        """(...) -> (..., D)."""
        return self.table(ids) * self.scale
