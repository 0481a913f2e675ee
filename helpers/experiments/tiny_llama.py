"""Lesson 12: a tiny random Llama or Qwen3 of `transformers`, to be compared with."""

from typing import Any

import torch

from helpers import pretrained

SIZES = {
    "vocab_size": 3584,  # of the storyteller's tokenizer
    "hidden_size": 48,
    "intermediate_size": 128,
    "num_hidden_layers": 2,
    "num_attention_heads": 6,
    "num_key_value_heads": 2,
    "max_position_embeddings": 128,
    "rope_parameters": {"rope_type": "default", "rope_theta": 100.0},
}


@torch.no_grad()
def tiny(family: str = "Llama", dtype: torch.dtype = torch.float32) -> Any:
    """A `LlamaForCausalLM` or a `Qwen3ForCausalLM` with random numbers everywhere.

    Also its norms get numbers that differ, so that none of them can be left out
    unnoticed. The same in every run.

    Args:
        family: "Llama" or "Qwen3", whose heads are wider than hidden_size / heads
        dtype: of its weights
    """
    import transformers

    wider = {"head_dim": 16} if family == "Qwen3" else {}
    config = getattr(transformers, f"{family}Config")(**SIZES, **wider)
    with pretrained.quiet():
        model = getattr(transformers, f"{family}ForCausalLM")(config).to(dtype)
    draw = torch.Generator().manual_seed(0)
    for name, value in model.named_parameters():
        numbers = torch.randn(value.shape, generator=draw, dtype=torch.float64)
        value.copy_(0.08 * numbers + ("norm" in name))
    return model.eval()
