"""The encoder: self-attention and feed-forward in layers; and BERT as one of them."""

from collections.abc import Mapping

import torch
from torch import Tensor, nn

from helpers.models.layers import FeedForward, add_and_norm
from helpers.models.multi_head import MultiHeadAttention
from helpers.models.stack import Stack, StackConfig


class EncoderLayer(nn.Module):
    """Self-attention, then feed-forward, each with a residual and a layer norm.

    Args:
        d_model: width of the vectors that come in and go out
        num_heads: H, a divisor of d_model
        d_ff: width inside the feed-forward
        dropout: fraction of what each sublayer adds that is dropped in training
        activation: "relu" as in the paper, "gelu" as in BERT
        norm_first: layer norm before each sublayer (pre-norm), not after the sum
        eps: of the layer norms

    Source: Vaswani et al. 2017, section 3.1.
    """

    def __init__(
        self,
        d_model: int,
        num_heads: int,
        d_ff: int,
        dropout: float = 0.1,
        activation: str = "relu",
        norm_first: bool = False,
        eps: float = 1e-5,
    ) -> None:
        super().__init__()
        self.norm_first = norm_first
        self.attention = MultiHeadAttention(d_model, num_heads)
        self.feed_forward = FeedForward(d_model, d_ff, activation)
        self.norm1 = nn.LayerNorm(d_model, eps)
        self.norm2 = nn.LayerNorm(d_model, eps)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        """Let the tokens exchange information, then transform each on its own.

        Args:
            x: (B, T, D)
            mask: boolean, True = may attend, broadcastable to (B, H, T, S=T)

        Returns:
            (B, T, D)
        """

        def attend(y: Tensor) -> Tensor:
            return self.attention(y, y, y, mask)

        rest = (self.dropout, self.norm_first)
        x = add_and_norm(x, attend, self.norm1, *rest)
        return add_and_norm(x, self.feed_forward, self.norm2, *rest)


class Encoder(Stack):
    """Token ids in, one vector in context per token out. Its arguments: see `Stack`."""

    layer = EncoderLayer

    def forward(self, ids: Tensor, mask: Tensor | None = None) -> Tensor:
        """Read a batch of sequences.

        Args:
            ids: (B, T), token ids
            mask: boolean, True = may attend, broadcastable to (B, H, T, S=T)

        Returns:
            (B, T, D); the vectors at padding mean nothing.
        """
        return self.read(ids, mask)


class BertPositions(nn.Module):
    """What BERT adds to a word's vector: where it stands, and which sentence it is in.

    layer norm(x + position + token type 0). It takes the place of the sinusoidal
    `PositionalEncoding`.

    Args:
        d_model: width of the vectors
        max_length: how many positions have a learned row
        eps: of the layer norm

    Source: Devlin et al. 2019 (arXiv 1810.04805), section 3; one sentence, all type 0.
    """

    def __init__(self, d_model: int, max_length: int, eps: float = 1e-12) -> None:
        super().__init__()
        self.position = nn.Embedding(max_length, d_model)
        self.token_type = nn.Embedding(2, d_model)
        self.norm = nn.LayerNorm(d_model, eps)

    def forward(self, x: Tensor, token_type: Tensor | None = None) -> Tensor:
        """Add both, then normalise.

        Args:
            x: (B, T, D)
            token_type: (B, T) of 0 and 1; by default all 0

        Returns:
            (B, T, D)
        """
        if token_type is None:
            token_type = x.new_zeros(x.shape[:-1], dtype=torch.long)
        position = self.position.weight[: x.shape[-2]]  # (T, D)
        return self.norm(x + position + self.token_type(token_type))


# Where `Encoder` keeps what BERT's checkpoints store under these names.
_FRONT = {
    "position_embeddings": "positions.position",
    "token_type_embeddings": "positions.token_type",
    "LayerNorm": "positions.norm",
}
_LAYER = {
    "attention.output.dense": "attention.W_o",
    "attention.output.LayerNorm": "norm1",
    "intermediate.dense": "feed_forward.W_1",
    "output.dense": "feed_forward.W_2",
    "output.LayerNorm": "norm2",
}


def bert_encoder(weights: Mapping[str, Tensor], num_heads: int = 12) -> Encoder:
    """An `Encoder` that holds the weights of a BERT checkpoint, in eval mode.

    The sizes are read off the weights; the number of heads can't be. The pooler and the
    heads for pre-training are left out.

    Args:
        weights: a state dict of `transformers`' BertModel
        num_heads: H, from the checkpoint's configuration

    Returns:
        An encoder of the weights' dtype.
    """
    words = weights["embeddings.word_embeddings.weight"]  # (V, D)
    length = len(weights["embeddings.position_embeddings.weight"])
    d_ff = len(weights["encoder.layer.0.intermediate.dense.bias"])
    layers = 1 + max(int(n.split(".")[2]) for n in weights if ".layer." in n)
    vocab_size, d_model = words.shape
    config = StackConfig(d_model, num_heads, d_ff, layers, length, activation="gelu")
    with torch.device("meta"):  # nothing is drawn that would be overwritten
        encoder = Encoder(vocab_size, *config, eps=1e-12)
        encoder.positions = BertPositions(d_model, length)
    encoder.load_state_dict(_renamed(weights, layers), assign=True)
    return encoder.requires_grad_().eval()


def _renamed(weights: Mapping[str, Tensor], layers: int) -> dict[str, Tensor]:
    words = weights["embeddings.word_embeddings.weight"]
    ours = {"embedding.table.weight": words / words.shape[1] ** 0.5}
    names = {f"embeddings.{theirs}": mine for theirs, mine in _FRONT.items()}
    for n in range(layers):
        names |= {
            f"encoder.layer.{n}.{theirs}": f"layers.{n}.{mine}"
            for theirs, mine in _LAYER.items()
        }
    for kind in ("weight", "bias"):
        for n in range(layers):
            start = f"encoder.layer.{n}.attention.self"
            three = [weights[f"{start}.{p}.{kind}"] for p in ("query", "key", "value")]
            ours[f"layers.{n}.attention.to_qkv.{kind}"] = torch.cat(three)
        for theirs, mine in names.items():
            if f"{theirs}.{kind}" in weights:
                ours[f"{mine}.{kind}"] = weights[f"{theirs}.{kind}"].clone()
    return ours
