"""Counted costs against models that are built, and against torch's own counter."""

import re
from dataclasses import replace

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from helpers.models.counting import (
    PUBLISHED,
    cache_bytes,
    flops_per_token,
    parameters,
)
from helpers.models.modern import ModernConfig, ModernGPT, read_config

pytestmark = pytest.mark.lesson("12")
CONFIG = ModernConfig(
    17, max_length=11, d_model=12, num_heads=6, num_kv_heads=2, d_head=4, num_layers=3,
    d_ff=19,
)  # fmt: skip
CONFIGS = {
    "plain": CONFIG,
    "tied": replace(CONFIG, tied=True),
    "norms of queries and keys": replace(CONFIG, norm_qk=True, d_head=8),
}
PARTS = {
    "embedding": ("embedding",),
    "attention": ("attention.W_",),
    "feed-forward": ("feed_forward",),
    "norms": ("norm",),
    "output": ("output",),
}


@pytest.fixture(params=CONFIGS)
def config(request):
    return CONFIGS[request.param]


def test_parameters_are_those_of_the_model_part_by_part(config):
    weights = dict(ModernGPT(config).named_parameters())
    counted = parameters(config)
    assert sum(counted.values()) == sum(p.numel() for p in weights.values())
    for part, (name,) in PARTS.items():
        found = sum(p.numel() for key, p in weights.items() if name in key)
        assert counted[part] == found, part


@pytest.mark.parametrize("family", ["Llama", "Qwen3"])
@pytest.mark.parametrize("tied", [False, True])
def test_parameters_are_those_of_transformers(family, tied):
    import transformers

    facts = getattr(transformers, f"{family}Config")(
        vocab_size=17, hidden_size=12, intermediate_size=19, num_hidden_layers=3,
        num_attention_heads=6, num_key_value_heads=2, head_dim=4,
        tie_word_embeddings=tied,
    )  # fmt: skip
    with torch.device("meta"):
        theirs = getattr(transformers, f"{family}ForCausalLM")(facts)
    counted = parameters(read_config(facts.to_dict()))
    assert sum(counted.values()) == sum(p.numel() for p in theirs.parameters())


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
def test_bytes_are_those_of_the_cache(config, dtype):
    cache = ModernGPT(config).to(dtype).new_cache(5)
    held = sum(part.nbytes for layer in cache.layers for part in layer)
    assert cache_bytes(config, 11, 5, dtype.itemsize) == held
    assert cache_bytes(config, 1) == held // (11 * 5) // (dtype.itemsize // 2)


@torch.inference_mode()
def test_operations_are_those_that_torch_counts(config):
    model = ModernGPT(config).eval()
    cache = model.new_cache(1)
    for length in (1, 7):  # after so many tokens the next one is counted
        model(torch.zeros(1, length - cache.length, dtype=torch.long), cache)
        one = torch.zeros(1, 1, dtype=torch.long)
        kernel = torch.nn.attention.SDPBackend.MATH  # as matrix products
        with (
            torch.nn.attention.sdpa_kernel(kernel),
            FlopCounterMode(display=False) as f,
        ):
            model(one, cache)
        assert f.get_total_flops() == flops_per_token(config, length + 1)


def test_published_sizes():
    known = {  # tensors of each file, counted by others
        "SmolLM2 135M": 134_515_008,
        "Qwen3 0.6B": 596_049_920,
        "Llama 3 8B": 8_030_261_248,
    }
    for name, published in PUBLISHED.items():
        with torch.device("meta"):
            built = ModernGPT(published.config)
        counted = sum(parameters(published.config).values())
        assert counted == known[name] == sum(p.numel() for p in built.parameters())
        digits = published.tells.split(",")[0].rstrip("MB")
        unit = 1e6 if "M" in published.tells else 1e9
        assert round(counted / unit, digits.count(".") and 1) == float(digits)
    qwen = parameters(PUBLISHED["Qwen3 0.6B"].config)
    assert "without the embedding 0.44B" in PUBLISHED["Qwen3 0.6B"].tells
    assert round((sum(qwen.values()) - qwen["embedding"]) / 1e9, 2) == 0.44


def test_a_published_page_and_its_month_are_named():
    for published in PUBLISHED.values():
        assert re.fullmatch(r"https://huggingface.co/[\w.-]+/[\w.-]+", published.page)
        assert re.fullmatch(r"20\d\d-\d\d", published.released)
