"""What stands between the attentions: feed-forward, and "add & norm" in both orders."""

from collections.abc import Callable

import torch.nn.functional as F
from torch import Tensor, nn

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "relu": F.relu,  # the paper's
    "gelu": F.gelu,  # BERT's, exact; GPT-2 takes the tanh approximation
    "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"),
}


class FeedForward(nn.Module):
    """Two linear layers, an activation function between them, at every position alike.

    FFN(x) = activation(x W_1 + b_1) W_2 + b_2

    Args:
        d_model: width of the vectors that come in and go out
        d_ff: width in between; the paper has 4 times d_model
        activation: a name in `ACTIVATIONS`

    Raises:
        ValueError: There is no such activation.

    Source: Vaswani et al. 2017, section 3.3.
    """

    def __init__(self, d_model: int, d_ff: int, activation: str = "relu") -> None:
        super().__init__()
        if activation not in ACTIVATIONS:
            raise ValueError(f"{activation=}, not in {tuple(ACTIVATIONS)}")
        self.activation = activation
        self.W_1 = nn.Linear(d_model, d_ff)
        self.W_2 = nn.Linear(d_ff, d_model)

    def forward(self, x: Tensor) -> Tensor:
        """(..., D) -> (..., D)."""
        return self.W_2(ACTIVATIONS[self.activation](self.W_1(x)))  # F in between


def add_and_norm(
    x: Tensor,
    sublayer: Callable[[Tensor], Tensor],
    norm: nn.Module,
    dropout: nn.Module,
    norm_first: bool,
) -> Tensor:
    """Run a sublayer beside a residual connection, with one layer norm.

    Post-norm (the paper, BERT): norm(x + dropout(sublayer(x))).
    Pre-norm (GPT-2 and later): x + dropout(sublayer(norm(x))); a stack of such layers
    needs one more norm at its end.

    Args:
        x: (B, T, D)
        sublayer: attention or feed-forward, as a function of x alone
        norm: the layer norm that belongs to this sublayer
        dropout: applied to what the sublayer returns, never to x itself
        norm_first: pre-norm

    Source: Vaswani et al. 2017, section 5.4; Xiong et al. 2020 (arXiv 2002.04745).
    """
    if norm_first:
        return x + dropout(sublayer(norm(x)))
    return norm(x + dropout(sublayer(x)))
