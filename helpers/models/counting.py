"""What a decoder costs, counted from its sizes: parameters, cache, FLOPs per token.

Nothing is built or downloaded. `PUBLISHED` holds the sizes of three checkpoints, from
the config.json on each model's page.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from helpers.models.modern import ModernConfig, read_config


def parameters(config: ModernConfig) -> dict[str, int]:
    """How many numbers a `ModernGPT` learns, part by part, all layers together.

    Args:
        config: the sizes; a tied output layer counts 0, because it is the embedding

    Returns:
        part -> numbers; the sum of the values is the size of the model
    """
    d_model, d_head = config.d_model, config.d_head
    heads = 2 * config.num_heads + 2 * config.num_kv_heads  # W_q and W_o, W_k and W_v
    norms = 2 * d_model + (2 * d_head if config.norm_qk else 0)
    return {
        "embedding": config.vocab_size * d_model,
        "attention": config.num_layers * heads * d_head * d_model,
        "feed-forward": config.num_layers * 3 * d_model * config.d_ff,
        "norms": config.num_layers * norms + d_model,
        "output": 0 if config.tied else config.vocab_size * d_model,
    }


def cache_bytes(
    config: ModernConfig, length: int, batch: int = 1, bytes_each: int = 2
) -> int:
    """How many bytes the keys and values of all layers take.

    Args:
        config: the sizes
        length: tokens of each text
        batch: texts that are written at the same time
        bytes_each: of one number: 2 in bfloat16, 4 in float32
    """
    numbers = 2 * config.num_layers * config.num_kv_heads * config.d_head
    return numbers * length * batch * bytes_each


def flops_per_token(config: ModernConfig, length: int) -> int:
    """Floating-point operations of all matrix products that one new token needs.

    An entry of a matrix costs two, a product and a sum. The keys and values of the
    tokens before come from a cache. Norms, rotations, the softmax and the look-up in
    the embedding are not matrix products and are left out.

    Args:
        config: the sizes
        length: S, how many tokens the new one attends to, itself among them

    Source: Kaplan et al. 2020 (arXiv 2001.08361), section 2.1; there a token attends
    to half of a full context, here to `length` tokens.
    """
    count = parameters(config)
    matrices = count["attention"] + count["feed-forward"]
    matrices += config.vocab_size * config.d_model  # the output, also where it is tied
    looked_at = 2 * config.num_layers * config.num_heads * config.d_head * length
    return 2 * (matrices + looked_at)  # looked_at: scores, and the sum of the values


# --- published checkpoints ------------------------------------------------------------


@dataclass(frozen=True)
class Published:
    """A checkpoint's config.json, typed in November 2026: what its sizes depend on."""

    page: str  # of the model, which has the file
    released: str  # year and month
    tells: str  # how large the model is, in the page's own words
    facts: Mapping[str, Any]  # names and values of the file

    @property
    def config(self) -> ModernConfig:
        """The sizes, as a `ModernGPT` takes them."""
        return read_config(self.facts)


_ALIKE = {
    "hidden_act": "silu",
    "attention_bias": False,
    "rope_scaling": None,
}
PUBLISHED: Mapping[str, Published] = MappingProxyType(
    {
        "SmolLM2 135M": Published(
            "https://huggingface.co/HuggingFaceTB/SmolLM2-135M",
            "2024-11",
            "135M",
            {
                **_ALIKE,
                "model_type": "llama",
                "vocab_size": 49_152,
                "hidden_size": 576,
                "intermediate_size": 1536,
                "num_hidden_layers": 30,
                "num_attention_heads": 9,
                "num_key_value_heads": 3,
                "max_position_embeddings": 8192,
                "rms_norm_eps": 1e-5,
                "rope_theta": 100_000,
                "tie_word_embeddings": True,
            },
        ),
        "Qwen3 0.6B": Published(
            "https://huggingface.co/Qwen/Qwen3-0.6B",
            "2025-04",
            "0.6B, without the embedding 0.44B",
            {
                **_ALIKE,
                "model_type": "qwen3",
                "vocab_size": 151_936,
                "hidden_size": 1024,
                "intermediate_size": 3072,
                "num_hidden_layers": 28,
                "num_attention_heads": 16,
                "num_key_value_heads": 8,
                "head_dim": 128,
                "max_position_embeddings": 40_960,
                "rms_norm_eps": 1e-6,
                "rope_theta": 1_000_000,
                "tie_word_embeddings": True,
            },
        ),
        "Llama 3 8B": Published(
            "https://huggingface.co/meta-llama/Meta-Llama-3-8B",
            "2024-04",
            "8B",
            {
                **_ALIKE,
                "model_type": "llama",
                "vocab_size": 128_256,
                "hidden_size": 4096,
                "intermediate_size": 14_336,
                "num_hidden_layers": 32,
                "num_attention_heads": 32,
                "num_key_value_heads": 8,
                "max_position_embeddings": 8192,
                "rms_norm_eps": 1e-5,
                "rope_theta": 500_000,
                "tie_word_embeddings": False,
            },
        ),
    }
)
