"""Today's decoder: what Llama and Qwen changed in GPT-2's, one class for each part.

RMS norm for layer norm, rotary positions for learned ones, SwiGLU for two layers, fewer
heads of keys and values than of queries, no biases. The attention itself, the cache and
the loop that writes are those of `helpers.models.gpt`.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from helpers.models.attention import attention
from helpers.models.gpt import Cache, initialise, no_future
from helpers.models.multi_head import merge_heads, split_heads


@dataclass(frozen=True)
class ModernConfig:
    """The sizes of a `ModernGPT`."""

    vocab_size: int  # V
    max_length: int = 256  # how many tokens a cache has room for
    d_model: int = 256
    num_heads: int = 4  # H, of the queries
    num_kv_heads: int = 2  # of keys and values; each serves H / num_kv_heads queries
    d_head: int = 64  # K, even; d_model / num_heads in Llama, 128 in Qwen3
    num_layers: int = 4
    d_ff: int = 688  # about 8/3 of d_model, for three matrices in place of two
    base: float = 10_000.0  # of the angles; the larger, the more slowly the last turns
    eps: float = 1e-6  # of the RMS norms
    norm_qk: bool = False  # norm every query and key, as Qwen3 does
    tied: bool = False  # score with the table of the embedding, as GPT-2 does
    first_std: float = 0.02  # of all matrices and tables before training


class RMSNorm(nn.Module):
    """Divide a vector by its root mean square, and scale every feature.

    RMSNorm(x) = g * x / sqrt(mean(x^2) + eps). The mean of x stays in it and there is
    no bias. Of float16 and bfloat16 the squares are taken in float32.

    Args:
        width: of the vectors
        eps: inside the root

    Source: Zhang and Sennrich 2019 (arXiv 1910.07467), section 4.
    """

    def __init__(self, width: int, eps: float = 1e-6) -> None:
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x: Tensor) -> Tensor:
        """(..., width) -> the same shape and dtype."""
        wide = x.to(torch.promote_types(x.dtype, torch.float32))
        root = torch.sqrt(wide.square().mean(-1, keepdim=True) + self.eps)
        return self.weight * (wide / root).to(x.dtype)


# --- rotary positions -----------------------------------------------------------------


def rotation(
    positions: Tensor, d_head: int, base: float, like: Tensor
) -> tuple[Tensor, Tensor]:
    """The cosines and sines that turn the vectors of these positions.

    Pair i of a vector at position t is turned by t / base^(2i / d_head) radians, the
    angles of `positional_encoding` where d_head is d_model. They are computed in
    float64; `transformers` computes them in float32.

    Args:
        positions: (T,), whole numbers, counted from 0
        d_head: K, even
        base: 10,000 in the paper; larger in models for long texts
        like: a tensor with the dtype and the device of the result

    Returns:
        cosines and sines, (T, K / 2) each

    Source: Su et al. 2021 (arXiv 2104.09864), section 3.2.2.
    """
    even = torch.arange(0, d_head, 2, dtype=torch.float64)  # 2i
    angles = positions.cpu().double()[:, None] / base ** (even / d_head)  # (T, K / 2)
    return angles.cos().to(like), angles.sin().to(like)


def rotate(x: Tensor, cos: Tensor, sin: Tensor, neighbours: bool = False) -> Tensor:
    """Turn every pair of features by the angle of its position and of its pair.

    A pair (a, b) becomes (a cos - b sin, a sin + b cos). What a rotated query and a
    rotated key multiply to depends on the distance of their positions alone.

    Args:
        x: (..., T, K), queries or keys; values are not rotated
        cos: (T, K / 2), from `rotation`
        sin: (T, K / 2)
        neighbours: what makes a pair. False: features i and i + K / 2, as in the Llama
            of `transformers`; True: features 2i and 2i + 1, as in the paper and in
            Meta's own Llama. Weights trained with one can't be read with the other, but
            `halves_from_neighbours` turns them into it.

    Returns:
        (..., T, K)

    Source: Su et al. 2021 (arXiv 2104.09864), section 3.4.2.
    """
    if neighbours:
        first, second = x[..., 0::2], x[..., 1::2]  # (..., T, K / 2)
    else:
        first, second = x.chunk(2, -1)
    turned = first * cos - second * sin, first * sin + second * cos
    return torch.stack(turned, -1).flatten(-2) if neighbours else torch.cat(turned, -1)


def halves_from_neighbours(weight: Tensor, num_heads: int) -> Tensor:
    """Reorder W_q or W_k, trained on neighbouring pairs, for pairs by halves.

    In every head the rows 0, 2, 4, ... come first and 1, 3, 5, ... behind them. Scores
    stay as they are, because queries and keys are reordered alike.

    Args:
        weight: (heads * K, D)
        num_heads: of queries for W_q, of keys for W_k

    Returns:
        (heads * K, D)
    """
    pairs = weight.unflatten(0, (num_heads, -1, 2))  # (heads, K / 2, 2, D)
    return pairs.transpose(1, 2).flatten(0, 2)


# --- the block ------------------------------------------------------------------------


class SwiGLU(nn.Module):
    """A feed-forward with a gate: one linear layer decides how much of another passes.

    FFN(x) = (SiLU(x W_gate) * x W_up) W_down with SiLU(z) = z sigmoid(z); the paper
    calls the three W, V and W_2. None has a bias.

    Args:
        d_model: width of the vectors that come in and go out
        d_ff: width in between. With 2/3 of the width of a feed-forward of two layers it
            has as many entries in its three matrices as that has in two.

    Source: Shazeer 2020 (arXiv 2002.05202), section 2.
    """

    def __init__(self, d_model: int, d_ff: int) -> None:
        super().__init__()
        self.W_gate = nn.Linear(d_model, d_ff, bias=False)
        self.W_up = nn.Linear(d_model, d_ff, bias=False)
        self.W_down = nn.Linear(d_ff, d_model, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        """(..., D) -> (..., D)."""
        return self.W_down(F.silu(self.W_gate(x)) * self.W_up(x))  # F in between


class GroupedQueryAttention(nn.Module):
    """Causal self-attention whose queries share heads of keys and values.

    With G = num_heads / num_kv_heads, the query heads 0 to G - 1 read head 0 of the
    keys and values, the next G read head 1, and so on. The cache holds num_kv_heads
    heads; they are repeated after it. G = 1 is multi-head attention, and one head of
    keys and values is multi-query attention (Shazeer 2019, arXiv 1911.02150).

    Args:
        config: the sizes

    Raises:
        ValueError: The heads don't divide evenly, or d_head is odd.

    Source: Ainslie et al. 2023 (arXiv 2305.13245), section 2.2; for the norms of
    queries and keys Qwen Team 2025 (arXiv 2505.09388), section 2.
    """

    def __init__(self, config: ModernConfig) -> None:
        super().__init__()
        heads, kv_heads, d_head = config.num_heads, config.num_kv_heads, config.d_head
        if heads % kv_heads:
            raise ValueError(f"{heads} heads are not a multiple of {kv_heads} kv_heads")
        if d_head % 2:
            raise ValueError(f"{d_head=} is odd: rotations need pairs")
        self.num_heads, self.num_kv_heads = heads, kv_heads
        self.W_q = nn.Linear(config.d_model, heads * d_head, bias=False)
        self.W_k = nn.Linear(config.d_model, kv_heads * d_head, bias=False)
        self.W_v = nn.Linear(config.d_model, kv_heads * d_head, bias=False)
        self.W_o = nn.Linear(heads * d_head, config.d_model, bias=False)
        norm = partial(RMSNorm, d_head, config.eps) if config.norm_qk else nn.Identity
        self.q_norm, self.k_norm = norm(), norm()

    def forward(
        self,
        x: Tensor,
        turns: tuple[Tensor, Tensor] | None = None,
        mask: Tensor | None = None,
        cache: Cache | None = None,
        layer: int = 0,
        *,
        need_weights: bool = False,
    ) -> Tensor | tuple[Tensor, Tensor]:
        """Let every token look at itself and at the tokens before it.

        Args:
            x: (B, T, D), the new tokens
            turns: their `rotation`; None leaves queries and keys as they are
            mask: boolean, True = may attend, broadcastable to (B, H, T, S), the future
                blocked; None where all of the past may be seen
            cache: what has been read before; the new keys and values are appended
            layer: which of the cache's layers this is
            need_weights: also return the weights, (B, H, T, S)

        Returns:
            (B, T, D); with `need_weights` a pair (output, weights).
        """
        query = self.q_norm(split_heads(self.W_q(x), self.num_heads))  # (B, H, T, K)
        key = self.k_norm(split_heads(self.W_k(x), self.num_kv_heads))
        value = split_heads(self.W_v(x), self.num_kv_heads)
        if turns is not None:
            query, key = rotate(query, *turns), rotate(key, *turns)
        if cache is not None:
            if mask is None and cache.length:
                mask = cache.mask(x.shape[1])
            key, value = cache.extend(layer, key, value)  # (B, num_kv_heads, S, K)
        groups = self.num_heads // self.num_kv_heads
        mixed = attention(
            query,
            key.repeat_interleave(groups, 1),  # (B, H, S, K)
            value.repeat_interleave(groups, 1),
            mask,
            is_causal=mask is None and query.shape[2] == key.shape[2],
            need_weights=need_weights,
        )
        if not need_weights:
            return self.W_o(merge_heads(mixed))  # (B, T, D)
        output, weights = mixed
        return self.W_o(merge_heads(output)), weights


class ModernBlock(nn.Module):
    """A layer of today's decoder: pre-norm as in GPT-2, with the newer parts.

    Args:
        config: the sizes

    Source: Touvron et al. 2023 (arXiv 2302.13971), section 2.2.
    """

    def __init__(self, config: ModernConfig) -> None:
        super().__init__()
        self.norm1 = RMSNorm(config.d_model, config.eps)
        self.attention = GroupedQueryAttention(config)
        self.norm2 = RMSNorm(config.d_model, config.eps)
        self.feed_forward = SwiGLU(config.d_model, config.d_ff)

    def forward(
        self,
        x: Tensor,
        turns: tuple[Tensor, Tensor] | None = None,
        mask: Tensor | None = None,
        cache: Cache | None = None,
        layer: int = 0,
    ) -> Tensor:
        """(B, T, D) -> (B, T, D); the other arguments are those of the attention."""
        x = x + self.attention(self.norm1(x), turns, mask, cache, layer)
        return x + self.feed_forward(self.norm2(x))


class ModernGPT(nn.Module):
    """A decoder that writes, as Llama and Qwen3 are built; `write_greedily` takes it.

    Positions enter by rotation alone, so there is no table of them and no longest text;
    only a cache has an end.

    Args:
        config: the sizes

    Source: Touvron et al. 2023 (arXiv 2302.13971), section 2.2; with `norm_qk` Qwen
    Team 2025 (arXiv 2505.09388), section 2.
    """

    def __init__(self, config: ModernConfig) -> None:
        super().__init__()
        self.config = config
        self.embedding = nn.Embedding(config.vocab_size, config.d_model)
        self.layers = nn.ModuleList(
            ModernBlock(config) for _ in range(config.num_layers)
        )
        self.norm = RMSNorm(config.d_model, config.eps)
        if not config.tied:
            self.output = nn.Linear(config.d_model, config.vocab_size, bias=False)
        self.apply(partial(initialise, std=config.first_std))

    def forward(
        self, ids: Tensor, cache: Cache | None = None, real: Tensor | None = None
    ) -> Tensor:
        """Score the next token at every place.

        Args:
            ids: (B, T), the tokens that are not in the cache yet
            cache: what has been read before; it then holds T tokens more
            real: (B, S), boolean, False = padding, of all tokens read and to be read;
                None where there is no padding. Texts of different lengths are padded on
                the left, so that all end in the last column. Positions count from the
                first column: rotated scores depend on distances alone.

        Returns:
            logits, (B, T, V): row t scores the token after ids[:, t]. Those of padding
            mean nothing.

        Raises:
            ValueError: The cache is too short, or `real` does not fit the text.
        """
        return self.score(self.last_vectors(ids, cache, real))

    def score(self, x: Tensor) -> Tensor:
        """Multiply last vectors with every row of the output: (..., D) -> (..., V)."""
        table = self.embedding if self.config.tied else self.output
        return F.linear(x, table.weight)

    def last_vectors(
        self, ids: Tensor, cache: Cache | None = None, real: Tensor | None = None
    ) -> Tensor:
        """What `forward` does before it scores: (B, T) -> (B, T, D).

        Raises:
            ValueError: The cache is too short, or `real` does not fit the text.
        """
        start = 0 if cache is None else cache.length
        end = start + ids.shape[1]
        if cache is not None and end > self.config.max_length:
            raise ValueError(f"{end} tokens, but room for {self.config.max_length}")
        mask = None if real is None else _mask(ids, end, real)
        x, turns = self.place(ids, torch.arange(start, end))
        for number, layer in enumerate(self.layers):
            x = layer(x, turns, mask, cache, number)
        if cache is not None:
            cache.length = end
        return self.norm(x)

    def place(
        self, ids: Tensor, positions: Tensor
    ) -> tuple[Tensor, tuple[Tensor, Tensor] | None]:
        """Vectors of the tokens, (B, T, D), and the `rotation` of positions (T,)."""
        x = self.embedding(ids)
        return x, rotation(positions, self.config.d_head, self.config.base, x)

    def new_cache(self, batch: int) -> Cache:
        """An empty cache for this many texts."""
        return Cache(self.config, batch, self.embedding.weight)


def _mask(ids: Tensor, everything: int, real: Tensor) -> Tensor:
    """Neither the future nor padding: (B, H=1, T, S), or (B, 1, 1, S) for one token."""
    wanted = len(ids), everything
    if real.shape != wanted:
        raise ValueError(f"real has the shape {tuple(real.shape)}, not {wanted}")
    mask = real.bool()[:, None, None, :]
    past = no_future(ids.shape[1], everything, ids.device)
    return mask if past is None else mask & past


# --- weights of `transformers` --------------------------------------------------------

_TOP = {"embedding": "model.embed_tokens", "norm": "model.norm", "output": "lm_head"}
_PARTS = {
    "norm1": "input_layernorm",
    "attention.W_q": "self_attn.q_proj",
    "attention.W_k": "self_attn.k_proj",
    "attention.W_v": "self_attn.v_proj",
    "attention.W_o": "self_attn.o_proj",
    "attention.q_norm": "self_attn.q_norm",
    "attention.k_norm": "self_attn.k_norm",
    "norm2": "post_attention_layernorm",
    "feed_forward.W_gate": "mlp.gate_proj",
    "feed_forward.W_up": "mlp.up_proj",
    "feed_forward.W_down": "mlp.down_proj",
}
# What a config.json may say that a `ModernGPT` can't do, and the value that it can.
_PLAIN = {
    "hidden_act": "silu",
    "attention_bias": False,
    "mlp_bias": False,
    "use_sliding_window": False,
}


def read_config(facts: Mapping[str, Any]) -> ModernConfig:
    """The sizes that a config.json of a Llama or a Qwen3 tells.

    Args:
        facts: the file, read; of `transformers` 4 or 5, which name the base of the
            angles in different places

    Raises:
        ValueError: It is of another family, or has a part that `ModernGPT` lacks.
    """
    kind = facts["model_type"]
    if kind not in ("llama", "qwen3"):
        raise ValueError(f"model_type {kind}, but only llama and qwen3 here")
    for name, plain in _PLAIN.items():
        if facts.get(name, plain) != plain:
            raise ValueError(f"{name} is {facts[name]}, but only {plain} here")
    angles = facts.get("rope_parameters") or facts.get("rope_scaling") or {}
    scaling = angles.get("rope_type", angles.get("type", "default"))
    if scaling != "default":
        raise ValueError(f"angles are scaled ({scaling}), but only plain ones here")
    heads = facts["num_attention_heads"]
    return ModernConfig(
        vocab_size=facts["vocab_size"],
        max_length=facts["max_position_embeddings"],
        d_model=facts["hidden_size"],
        num_heads=heads,
        num_kv_heads=facts.get("num_key_value_heads") or heads,
        d_head=facts.get("head_dim") or facts["hidden_size"] // heads,
        num_layers=facts["num_hidden_layers"],
        d_ff=facts["intermediate_size"],
        base=float(angles.get("rope_theta") or facts.get("rope_theta") or 10_000),
        eps=facts["rms_norm_eps"],
        norm_qk=kind == "qwen3",
        tied=facts.get("tie_word_embeddings", False),
    )


def from_transformers(
    theirs: Mapping[str, Tensor], config: ModernConfig
) -> dict[str, Tensor]:
    """Turn the state of a Llama or Qwen3 of `transformers` into that of a `ModernGPT`.

    Args:
        theirs: name -> tensor, of a `LlamaForCausalLM` or a `Qwen3ForCausalLM`
        config: from `read_config`

    Raises:
        ValueError: They have a tensor that has no place here, such as a bias, or lack
            one that is needed.
    """
    names = {f"{ours}.weight": f"{name}.weight" for ours, name in _TOP.items()}
    if config.tied:
        del names["output.weight"]  # it is the table of the embedding
    for number in range(config.num_layers):
        for ours, name in _PARTS.items():
            if config.norm_qk or not ours.endswith(("q_norm", "k_norm")):
                place = f"layers.{number}.{ours}.weight"
                names[place] = f"model.layers.{number}.{name}.weight"
    spare = {"lm_head.weight"} if config.tied else set()
    for text, odd in (
        ("has no place in this model", theirs.keys() - set(names.values()) - spare),
        ("is missing from the weights", set(names.values()) - theirs.keys()),
    ):
        if odd:
            raise ValueError(f"{min(odd)} {text}")
    return {ours: theirs[name] for ours, name in names.items()}


def load_modern(folder: str | Path) -> ModernGPT:
    """A model with the weights of a Llama or Qwen3, in float32 and evaluation mode.

    Args:
        folder: has config.json and model.safetensors, as `save_pretrained` writes them

    Raises:
        ValueError: The checkpoint has something that a `ModernGPT` lacks.
    """
    from safetensors.torch import load_file

    file = Path(folder) / "config.json"
    config = read_config(json.loads(file.read_text(encoding="utf-8")))
    theirs = load_file(file.with_name("model.safetensors"))
    model = ModernGPT(config)
    state = from_transformers(theirs, config)
    model.load_state_dict({name: value.float() for name, value in state.items()})
    return model.eval()
