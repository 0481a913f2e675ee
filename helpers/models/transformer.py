"""The decoder, and the Transformer: an encoder that reads, a decoder that writes.

No mask that hides the future has a default here: the caller of a decoder passes it.
"""

from dataclasses import dataclass

from torch import Tensor, nn

from helpers.models.encoder import Encoder
from helpers.models.layers import FeedForward, add_and_norm

# Decoding needs them together with the model.
from helpers.models.masks import look_ahead_mask as look_ahead_mask
from helpers.models.masks import padding_mask as padding_mask
from helpers.models.masks import target_mask as target_mask
from helpers.models.multi_head import MultiHeadAttention
from helpers.models.stack import Stack, StackConfig


class DecoderLayer(nn.Module):
    """Self-attention, attention to the encoder's output, feed-forward.

    Each has a residual connection and a layer norm. In the second attention the queries
    come from the decoder, keys and values from `memory`, the encoder's output.

    Args:
        d_model: width of the vectors that come in and go out
        num_heads: H, a divisor of d_model
        d_ff: width inside the feed-forward
        dropout: fraction of what each sublayer adds that is dropped in training
        activation: "relu" as in the paper, or "gelu"
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
        self.self_attention = MultiHeadAttention(d_model, num_heads)
        self.cross_attention = MultiHeadAttention(d_model, num_heads)
        self.feed_forward = FeedForward(d_model, d_ff, activation)
        self.norm1 = nn.LayerNorm(d_model, eps)
        self.norm2 = nn.LayerNorm(d_model, eps)
        self.norm3 = nn.LayerNorm(d_model, eps)
        self.dropout = nn.Dropout(dropout)

    def forward(
        self,
        x: Tensor,
        memory: Tensor,
        target_mask: Tensor | None,
        source_mask: Tensor | None = None,
    ) -> Tensor:
        """Attend to what is written, then to the source, then transform each token.

        Args:
            x: (B, T, D)
            memory: (B, S, D), the encoder's output
            target_mask: boolean, True = may attend, broadcastable to (B, H, T, T);
                None lets the decoder see the future, so there is no default
            source_mask: the same for memory, broadcastable to (B, H, T, S)

        Returns:
            (B, T, D)
        """

        def attend(y: Tensor) -> Tensor:
            return self.self_attention(y, y, y, target_mask)

        def consult(y: Tensor) -> Tensor:
            return self.cross_attention(y, memory, memory, source_mask)

        rest = (self.dropout, self.norm_first)
        x = add_and_norm(x, attend, self.norm1, *rest)
        x = add_and_norm(x, consult, self.norm2, *rest)
        return add_and_norm(x, self.feed_forward, self.norm3, *rest)


class Decoder(Stack):
    """What is written so far in, one vector per token out. Its arguments: see `Stack`.

    It has no output layer: that one is the Transformer's.
    """

    layer = DecoderLayer

    def forward(
        self,
        ids: Tensor,
        memory: Tensor,
        target_mask: Tensor | None,
        source_mask: Tensor | None = None,
    ) -> Tensor:
        """Give each written token a vector that knows the source.

        Args:
            ids: (B, T), target token ids
            memory: (B, S, D), the encoder's output
            target_mask: boolean, True = may attend, broadcastable to (B, H, T, T)
            source_mask: the same for memory, broadcastable to (B, H, T, S)

        Returns:
            (B, T, D)
        """
        return self.read(ids, memory, target_mask, source_mask)


@dataclass(frozen=True)
class TransformerConfig:
    """The sizes and options of a `Transformer`."""

    source_vocab: int  # V of the language that is read
    target_vocab: int  # V of the language that is written
    d_model: int = 512
    num_heads: int = 8
    d_ff: int = 2048
    num_layers: int = 6  # in the encoder, and again in the decoder
    max_length: int = 512  # the longest sequence, on either side
    dropout: float = 0.1
    norm_first: bool = False  # pre-norm; the paper has post-norm

    @property
    def stack(self) -> StackConfig:
        """What `Encoder` and `Decoder` take after the size of their vocabulary."""
        return StackConfig(
            d_model=self.d_model,
            num_heads=self.num_heads,
            d_ff=self.d_ff,
            num_layers=self.num_layers,
            max_length=self.max_length,
            dropout=self.dropout,
            norm_first=self.norm_first,
        )


class Transformer(nn.Module):
    """Encoder and decoder, and a last layer that scores every word of the target.

    Unlike the paper's, the two embeddings and the last layer share no weights.

    Args:
        config: sizes and options

    Source: Vaswani et al. 2017, figure 1.
    """

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.config = config
        self.encoder = Encoder(config.source_vocab, *config.stack)
        self.decoder = Decoder(config.target_vocab, *config.stack)
        self.final_layer = nn.Linear(config.d_model, config.target_vocab)

    def encode(self, source: Tensor, source_mask: Tensor | None = None) -> Tensor:
        """Read the source: once, however long the output gets.

        Args:
            source: (B, S), token ids
            source_mask: boolean, True = may attend, broadcastable to (B, H, S, S)

        Returns:
            memory, (B, S, D)
        """
        return self.encoder(source, source_mask)

    def decode(
        self,
        target: Tensor,
        memory: Tensor,
        target_mask: Tensor | None,
        source_mask: Tensor | None = None,
    ) -> Tensor:
        """Score the next word at every place of the target.

        Args:
            target: (B, T), token ids, the start token first
            memory: (B, S, D), from `encode`
            target_mask: boolean, True = may attend, broadcastable to (B, H, T, T)
            source_mask: the same for memory, broadcastable to (B, H, T, S)

        Returns:
            logits, (B, T, V): row t scores the word that follows target[t]
        """
        x = self.decoder(target, memory, target_mask, source_mask)
        return self.final_layer(x)

    def forward(
        self,
        source: Tensor,
        target: Tensor,
        source_mask: Tensor | None,
        target_mask: Tensor | None,
    ) -> Tensor:
        """Both in one call, as in training.

        Args:
            source: (B, S), token ids
            target: (B, T), token ids
            source_mask: (B, 1, 1, S), boolean, True = may attend: for the encoder and
                again for the decoder's cross-attention
            target_mask: broadcastable to (B, H, T, T)

        Returns:
            logits, (B, T, V)
        """
        memory = self.encode(source, source_mask)
        return self.decode(target, memory, target_mask, source_mask)


def cross_weights(model: nn.Module, *inputs: Tensor | None) -> list[Tensor]:
    """The weights of every cross-attention while the model reads these inputs.

    Args:
        model: the model, which stays as it is; the attention of its layers returns its
            weights where it is called with `need_weights=True`
        *inputs: what `Transformer.forward` takes

    Returns:
        for each decoder layer (B, H, T, S)
    """
    found: list[Tensor] = []

    def look(attention: nn.Module, args: tuple, options: dict) -> None:
        options = options | {"need_weights": True}
        found.append(type(attention).forward(attention, *args, **options)[1])

    layers = [layer.cross_attention for layer in model.decoder.layers]
    hooks = [
        layer.register_forward_pre_hook(look, with_kwargs=True) for layer in layers
    ]
    try:
        model(*inputs)
    finally:
        for hook in hooks:
            hook.remove()
    return found


def copy_weights(theirs: nn.Transformer, mine: nn.Module) -> None:
    """Give a `Transformer` the weights of torch's own.

    torch's has neither embeddings nor a last layer. It ends both stacks with a layer
    norm, even where the layers are post-norm; neither the paper nor we have one there.

    Args:
        theirs: as many layers of the same sizes, with biases
        mine: has `encoder` and `decoder`

    Raises:
        ValueError: A stack has a last norm on one side only.
    """
    for name in ("encoder", "decoder"):
        stack, ours = getattr(theirs, name), getattr(mine, name)
        for layer, our_layer in zip(stack.layers, ours.layers, strict=True):
            _copy_layer(layer, our_layer)
        if (stack.norm is None) != isinstance(ours.norm, nn.Identity):
            raise ValueError(f"{name}: a last norm on one side only")
        if stack.norm is not None:
            ours.norm.load_state_dict(stack.norm.state_dict())


def _copy_layer(theirs: nn.Module, mine: nn.Module) -> None:
    """Copy an encoder layer or a decoder layer of torch's into ours."""
    pairs = {"linear1": mine.feed_forward.W_1, "linear2": mine.feed_forward.W_2}
    if isinstance(theirs, nn.TransformerDecoderLayer):
        _copy_attention(theirs.self_attn, mine.self_attention)
        _copy_attention(theirs.multihead_attn, mine.cross_attention)
        pairs["norm3"] = mine.norm3
    else:
        _copy_attention(theirs.self_attn, mine.attention)
    pairs |= {"norm1": mine.norm1, "norm2": mine.norm2}
    for name, part in pairs.items():
        part.load_state_dict(getattr(theirs, name).state_dict())


def _copy_attention(theirs: nn.MultiheadAttention, mine: MultiHeadAttention) -> None:
    rows = {"weight": theirs.in_proj_weight, "bias": theirs.in_proj_bias}
    mine.to_qkv.load_state_dict(rows)
    mine.W_o.load_state_dict(theirs.out_proj.state_dict())
