"""What encoder and decoder share: embedding, positions, layers and a last norm."""

from typing import NamedTuple

from torch import Tensor, nn

from helpers.models.positions import PositionalEncoding, TokenEmbedding


class StackConfig(NamedTuple):
    """Sizes and options of an encoder or a decoder: `Encoder(vocab_size, *config)`."""

    d_model: int  # width of all vectors
    num_heads: int  # H, a divisor of d_model
    d_ff: int  # width inside the feed-forwards
    num_layers: int  # how many layers, each with weights of its own
    max_length: int = 512  # the longest sequence
    dropout: float = 0.1  # in the layers, and on the sum of embedding and positions
    activation: str = "relu"  # or "gelu"
    norm_first: bool = False  # pre-norm layers; the paper has post-norm


class Stack(nn.Module):
    """Token ids in, one vector per token out; the base of `Encoder` and `Decoder`.

    embedding * sqrt(d_model) + positions, dropout, then the layers. With `norm_first` a
    last layer norm follows; the paper's post-norm layers end with one of their own.

    Args:
        vocab_size: V
        d_model: width of all vectors
        num_heads: H, a divisor of d_model
        d_ff: width inside the feed-forwards
        num_layers: how many layers, each with weights of its own
        max_length: the longest sequence
        dropout: in the layers, and on the sum of embedding and positions
        activation: "relu" or "gelu"
        norm_first: pre-norm layers
        eps: of the layer norms

    Source: Vaswani et al. 2017, sections 3.1 and 3.4.
    """

    layer: type[nn.Module]  # what is stacked

    def __init__(
        self,
        vocab_size: int,
        d_model: int,
        num_heads: int,
        d_ff: int,
        num_layers: int,
        max_length: int = 512,
        dropout: float = 0.1,
        activation: str = "relu",
        norm_first: bool = False,
        eps: float = 1e-5,
    ) -> None:
        super().__init__()
        self.embedding = TokenEmbedding(vocab_size, d_model)
        self.positions: nn.Module = PositionalEncoding(d_model, max_length)
        self.dropout = nn.Dropout(dropout)
        options = (dropout, activation, norm_first, eps)
        self.layers = nn.ModuleList(
            self.layer(d_model, num_heads, d_ff, *options) for _ in range(num_layers)
        )
        self.norm = nn.LayerNorm(d_model, eps) if norm_first else nn.Identity()

    def read(self, ids: Tensor, *context: Tensor | None) -> Tensor:
        """Embed ids (B, T) and run every layer on them: (B, T, D).

        Args:
            ids: (B, T), token ids
            *context: what each layer gets beside x: memory, masks
        """
        x = self.dropout(self.positions(self.embedding(ids)))  # (B, T, D)
        for layer in self.layers:
            x = layer(x, *context)
        return self.norm(x)
