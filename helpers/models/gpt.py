"""GPT as an engineer would ship it: fused attention, tied embeddings, a cache.

The architecture is GPT-2's in every detail, so that its weights can be loaded.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from helpers.models.layers import FeedForward
from helpers.models.multi_head import MultiHeadAttention

if TYPE_CHECKING:
    from helpers.models.modern import ModernConfig


@dataclass(frozen=True)
class GPTConfig:
    """The sizes of a `GPT`."""

    vocab_size: int  # V
    max_length: int = 256  # how many positions have a vector
    d_model: int = 256
    num_heads: int = 4
    num_layers: int = 4
    dropout: float = 0.0  # on embeddings, attention weights and every sublayer
    eps: float = 1e-5  # of the layer norms
    first_std: float = 0.02  # of all matrices and tables before training

    @property
    def d_ff(self) -> int:
        """Width inside the feed-forwards: four times d_model, as in GPT-2."""
        return 4 * self.d_model

    @property
    def d_head(self) -> int:
        """Width of one head: the heads share the width of the model."""
        return self.d_model // self.num_heads

    @property
    def num_kv_heads(self) -> int:
        """Heads of keys and values: as many as there are heads of queries."""
        return self.num_heads


class Cache:
    """Keys and values of every layer, for all tokens that a model has read so far.

    The memory for all positions is allocated at once: appending a token copies two
    vectors per layer, however long the text has become.

    Args:
        config: of the model; heads are those of keys and values
        batch: B, how many texts
        like: a tensor with the dtype and the device of keys and values
    """

    def __init__(
        self, config: "GPTConfig | ModernConfig", batch: int, like: Tensor
    ) -> None:
        size = (batch, config.num_kv_heads, config.max_length, config.d_head)
        self.layers = [
            (like.new_empty(size), like.new_empty(size))
            for _ in range(config.num_layers)
        ]
        self.length = 0  # how many tokens have been read
        self._mask: Tensor | None = None  # of the tokens that are being read

    def extend(self, layer: int, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        """Append keys and values (B, H, T, K) of T new tokens; returns those of all S.

        `length` stays as it is: the model moves it on when all layers are done.
        """
        end = self.length + key.shape[2]
        keys, values = self.layers[layer]
        keys[:, :, self.length : end] = key
        values[:, :, self.length : end] = value
        return keys[:, :, :end], values[:, :, :end]  # (B, H, S, K)

    def mask(self, new: int) -> Tensor | None:
        """`no_future` for new tokens after those read: made once for all layers."""
        everything = self.length + new
        if self._mask is None or self._mask.shape != (new, everything):
            self._mask = no_future(new, everything, self.layers[0][0].device)
        return self._mask


def no_future(
    queries: int, keys: int, device: torch.device | None = None
) -> Tensor | None:
    """The look-ahead mask (T, S) of the last T of S tokens; None where T = 1: all past.

    The kernel's `is_causal` can't take its place where T < S: torch would let the first
    query see the first key only, as if nothing had been read before.
    """
    if queries == 1:
        return None
    every_pair = torch.ones(queries, keys, dtype=torch.bool, device=device)
    return every_pair.tril(keys - queries)


class CausalSelfAttention(MultiHeadAttention):
    """Multi-head attention in which no token sees a later one, with or without a cache.

    Its arguments are those of `MultiHeadAttention`.
    """

    def forward(
        self,
        x: Tensor,
        cache: Cache | None = None,
        layer: int = 0,
        *,
        need_weights: bool = False,
    ) -> Tensor | tuple[Tensor, Tensor]:
        """Let every token look at itself and at the tokens before it.

        Args:
            x: (B, T, D), the new tokens
            cache: what has been read before; the new keys and values are appended
            layer: which of the cache's layers this is
            need_weights: also return the weights, (B, H, T, S), before dropout

        Returns:
            (B, T, D); with `need_weights` a pair (output, weights).
        """
        query, key, value = self.project(x, x, x)  # (B, H, T, K) each
        mask, is_causal = None, True
        if cache is not None:
            if cache.length:
                mask, is_causal = cache.mask(x.shape[1]), False
            key, value = cache.extend(layer, key, value)  # (B, H, S, K) each
        return self.mix(
            query, key, value, mask, is_causal=is_causal, need_weights=need_weights
        )


class GPTBlock(nn.Module):
    """A decoder layer without cross-attention, in pre-norm.

    Args:
        d_model: width of the vectors
        num_heads: H
        d_ff: width inside the feed-forward
        dropout: on the attention weights and on what each sublayer adds
        eps: of the layer norms

    Source: Radford et al. 2019, section 2.3.
    """

    def __init__(
        self,
        d_model: int,
        num_heads: int,
        d_ff: int,
        dropout: float = 0.0,
        eps: float = 1e-5,
    ) -> None:
        super().__init__()
        self.norm1 = nn.LayerNorm(d_model, eps)
        self.attention = CausalSelfAttention(d_model, num_heads, dropout)
        self.norm2 = nn.LayerNorm(d_model, eps)
        self.feed_forward = FeedForward(d_model, d_ff, "gelu_tanh")
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor, cache: Cache | None = None, layer: int = 0) -> Tensor:
        """(B, T, D) -> (B, T, D); `cache` and `layer` as in the attention."""
        x = x + self.dropout(self.attention(self.norm1(x), cache, layer))
        return x + self.dropout(self.feed_forward(self.norm2(x)))


def initialise(module: nn.Module, std: float = 0.02) -> None:
    """GPT's initial weights, for `Module.apply`: small matrices, biases of zero.

    The table of tokens also scores the next token. With nn.Embedding's own weights,
    N(0, 1), the first scores would be about sqrt(d_model) in size.

    Source: Radford et al. 2018, section 4.1 (standard deviation 0.02).
    """
    if isinstance(module, nn.Linear | nn.Embedding):
        nn.init.normal_(module.weight, std=std)
    if isinstance(module, nn.Linear) and module.bias is not None:
        nn.init.zeros_(module.bias)


class GPT(nn.Module):
    """A decoder that writes: ids in, a score for every possible next id out.

    The table that turns ids into vectors also scores them at the end: logit v is the
    product of the last vector with row v. It is counted, stored and trained once.

    Args:
        config: the sizes

    Source: Radford et al. 2019, section 2.3; Press and Wolf 2017 (arXiv 1608.05859).
    """

    def __init__(self, config: GPTConfig) -> None:
        super().__init__()
        self.config = config
        self.embedding = nn.Embedding(config.vocab_size, config.d_model)
        self.positions = nn.Embedding(config.max_length, config.d_model)
        self.dropout = nn.Dropout(config.dropout)
        sizes = (config.d_model, config.num_heads, config.d_ff)
        self.layers = nn.ModuleList(
            GPTBlock(*sizes, config.dropout, config.eps)
            for _ in range(config.num_layers)
        )
        self.norm = nn.LayerNorm(config.d_model, config.eps)
        self.apply(partial(initialise, std=config.first_std))

    def forward(self, ids: Tensor, cache: Cache | None = None) -> Tensor:
        """Score the next token at every place.

        Args:
            ids: (B, T), the tokens that are not in the cache yet
            cache: what has been read before; it then holds T tokens more

        Returns:
            logits, (B, T, V): row t scores the token after ids[:, t]

        Raises:
            ValueError: The text is longer than the positions.
        """
        return self.score(self.last_vectors(ids, cache))

    def score(self, x: Tensor) -> Tensor:
        """Multiply last vectors with every row of the table: (..., D) -> (..., V)."""
        return F.linear(x, self.embedding.weight)

    def last_vectors(self, ids: Tensor, cache: Cache | None = None) -> Tensor:
        """What `forward` does before it scores: (B, T) -> (B, T, D).

        Raises:
            ValueError: There are more tokens than positions.
        """
        start = 0 if cache is None else cache.length
        end = start + ids.shape[1]
        if end > self.config.max_length:
            raise ValueError(f"{end} tokens, but {self.config.max_length} positions")
        x = self.dropout(self.embedding(ids) + self.positions.weight[start:end])
        for number, layer in enumerate(self.layers):
            x = layer(x, cache, number)
        if cache is not None:
            cache.length = end
        return self.norm(x)

    def new_cache(self, batch: int) -> Cache:
        """An empty cache for this many texts."""
        return Cache(self.config, batch, self.embedding.weight)


def write_greedily(
    model: GPT, ids: Tensor, max_new_tokens: int, cached: bool = True
) -> Tensor:
    """Append the most likely token, again and again.

    Args:
        model: is put into evaluation mode while it writes
        ids: (B, T), the beginnings, all of one length
        max_new_tokens: how many are appended; there is no token that ends a text
        cached: read each token once; otherwise the whole text again for each new one

    Returns:
        (B, T + max_new_tokens)
    """
    training = model.training
    model.eval()
    text = torch.cat([ids, ids.new_zeros(len(ids), max_new_tokens)], 1)
    with torch.inference_mode():
        cache = model.new_cache(len(ids)) if cached else None
        read = 0
        for end in range(ids.shape[1], text.shape[1]):
            x = model.last_vectors(text[:, read:end], cache)[:, -1]  # (B, D)
            text[:, end] = model.score(x).argmax(-1)
            read = end if cached else 0
    model.train(training)
    return text


@torch.no_grad()
def attention_weights(model: GPT, ids: Tensor) -> list[Tensor]:
    """Where every head looks while a model reads.

    Args:
        model: stays as it is
        ids: (B, T)

    Returns:
        for each layer (B, H, T, T)
    """
    found: list[Tensor] = []

    def look(part: nn.Module, args: tuple) -> None:
        found.append(part.forward(*args, need_weights=True)[1])

    hooks = [layer.attention.register_forward_pre_hook(look) for layer in model.layers]
    try:
        model(ids)
    finally:
        for hook in hooks:
            hook.remove()
    return found


# --- GPT-2's own weights --------------------------------------------------------------

# Ours -> theirs. GPT-2's `Conv1D` keeps a matrix as (in, out), nn.Linear as (out, in).
_TOP = {"embedding": "wte", "positions": "wpe", "norm": "ln_f"}
_NORMS = {"norm1": "ln_1", "norm2": "ln_2"}
_MATRICES = {
    "attention.to_qkv": "attn.c_attn",
    "attention.W_o": "attn.c_proj",
    "feed_forward.W_1": "mlp.c_fc",
    "feed_forward.W_2": "mlp.c_proj",
}


def from_gpt2(theirs: Mapping[str, Tensor], num_layers: int) -> dict[str, Tensor]:
    """Turn the state of a GPT-2 of `transformers` into the state of a `GPT`.

    Args:
        theirs: name -> tensor, with or without "transformer." in front of the names
        num_layers: how many blocks there are
    """
    theirs = {k.removeprefix("transformer."): value for k, value in theirs.items()}
    state = {}
    for ours, name in _TOP.items():
        for kind in ("weight", "bias") if ours == "norm" else ("weight",):
            state[f"{ours}.{kind}"] = theirs[f"{name}.{kind}"]
    for number in range(num_layers):
        for ours, name in (_NORMS | _MATRICES).items():
            for kind in ("weight", "bias"):
                value = theirs[f"h.{number}.{name}.{kind}"]
                turn = ours in _MATRICES and kind == "weight"
                state[f"layers.{number}.{ours}.{kind}"] = value.T if turn else value
    return state


def load_gpt2(folder: str | Path) -> GPT:
    """A GPT with the weights of a GPT-2 checkpoint, in float32 and evaluation mode.

    Args:
        folder: has config.json and model.safetensors: `helpers.pretrained.path("gpt2")`

    Raises:
        ValueError: Its activation is not GPT-2's.
    """
    from safetensors.torch import load_file

    facts = json.loads((Path(folder) / "config.json").read_text(encoding="utf-8"))
    if facts["activation_function"] != "gelu_new":
        raise ValueError(f"activation {facts['activation_function']}, not gelu_new")
    model = GPT(
        GPTConfig(
            vocab_size=facts["vocab_size"],
            max_length=facts["n_positions"],
            d_model=facts["n_embd"],
            num_heads=facts["n_head"],
            num_layers=facts["n_layer"],
            eps=facts["layer_norm_epsilon"],
        )
    )
    file = load_file(Path(folder) / "model.safetensors")
    theirs = {name: value.float() for name, value in file.items()}
    state = from_gpt2(theirs, facts["n_layer"])
    # One row times a matrix is faster if its columns are contiguous. Those of the
    # transposed matrices are, once assigned and not copied; the table needs a copy.
    state["embedding.weight"] = state["embedding.weight"].T.contiguous().T
    model.load_state_dict(state, assign=True)
    return model.eval()
