"""Independent solutions to 12.H."""

from functools import partial

import torch

from helpers.models import counting
from helpers.models.modern import ModernConfig, ModernGPT


def _config(facts):
    heads, width = facts["num_attention_heads"], facts["hidden_size"]
    return ModernConfig(
        facts["vocab_size"],
        d_model=width,
        num_heads=heads,
        num_kv_heads=facts["num_key_value_heads"],
        d_head=facts.get("head_dim", width // heads),
        num_layers=facts["num_hidden_layers"],
        d_ff=facts["intermediate_size"],
        tied=facts["tie_word_embeddings"],
    )


def count_a_model(facts):
    """A model without numbers is built."""
    with torch.device("meta"):
        return sum(p.numel() for p in ModernGPT(_config(facts)).parameters())


def count_by_parts(facts):
    return sum(counting.parameters(_config(facts)).values())


def bytes_by_parts(facts, length):
    return counting.cache_bytes(_config(facts), length)


def flops_by_parts(facts, length):
    return counting.flops_per_token(_config(facts), length)


def _shapes(facts):
    """Every matrix of a layer, as (out, in)."""
    config = _config(facts)
    many, few = (n * config.d_head for n in (config.num_heads, config.num_kv_heads))
    wide, inner = config.d_model, config.d_ff
    return [(many, wide), (few, wide), (few, wide), (wide, many),
            (inner, wide), (inner, wide), (wide, inner)]  # fmt: skip


def count_by_shapes(facts):
    wide, layers = facts["hidden_size"], facts["num_hidden_layers"]
    total = wide * (2 * layers + 1)
    for out, into in _shapes(facts) * layers:
        total += out * into
    table = facts["vocab_size"] * wide
    total += table
    if not facts["tie_word_embeddings"]:
        total += table
    return total


def bytes_by_shapes(facts, length):
    (few, _), layers = _shapes(facts)[1], facts["num_hidden_layers"]
    return sum(2 * few * 2 for _ in range(layers)) * length


def flops_by_shapes(facts, length):
    shapes = _shapes(facts)
    (many, _), layers = shapes[0], facts["num_hidden_layers"]
    work = layers * sum(2 * out * into for out, into in shapes)
    work += layers * 2 * (2 * many * length)
    return work + 2 * facts["vocab_size"] * facts["hidden_size"]


def bytes_of_tensors(facts, length):
    width = facts.get("head_dim", facts["hidden_size"] // facts["num_attention_heads"])
    one = partial(torch.empty, dtype=torch.bfloat16, device="meta")
    keys = one(facts["num_hidden_layers"], facts["num_key_value_heads"], length, width)
    return 2 * keys.nbytes


VARIANTS = {
    "12.H": (
        (count_a_model, bytes_of_tensors, flops_by_parts),
        (count_by_parts, bytes_by_parts, flops_by_shapes),
        (count_by_shapes, bytes_by_shapes, flops_by_parts),
    )
}
