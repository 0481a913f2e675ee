"""Today's decoder against `transformers`: whole, cached, padded, and part by part."""

import json
import math
from dataclasses import replace

import pytest
import torch
from torch import nn

from helpers import pretrained
from helpers.models.gpt import Cache, write_greedily
from helpers.models.modern import (
    GroupedQueryAttention,
    ModernConfig,
    ModernGPT,
    RMSNorm,
    SwiGLU,
    from_transformers,
    halves_from_neighbours,
    load_modern,
    read_config,
    rotate,
    rotation,
)
from helpers.models.multi_head import MultiHeadAttention
from helpers.models.positions import positional_encoding

pytestmark = pytest.mark.lesson("12")
B, T = 2, 7
SIZES = {
    "vocab_size": 17,
    "hidden_size": 24,
    "intermediate_size": 19,
    "num_hidden_layers": 2,
    "num_attention_heads": 6,
    "num_key_value_heads": 2,
    "max_position_embeddings": 23,
    "rms_norm_eps": 1e-3,  # large enough to matter
    "rope_parameters": {"rope_type": "default", "rope_theta": 50.0},
}
KINDS = {
    "llama": {},
    "llama, tied": {"tie_word_embeddings": True},
    "llama, one key": {"num_key_value_heads": 1, "head_dim": 8},
    "qwen3": {"head_dim": 10},
}
CLOSE = {torch.float32: 1e-5, torch.float64: 1e-6}


@pytest.fixture
def draw():
    return torch.Generator().manual_seed(12)


@pytest.fixture
def ids(draw):
    return torch.randint(SIZES["vocab_size"], (B, T), generator=draw)


def shaken(module, draw, dtype=torch.float64):
    """The module with random numbers everywhere, norms included."""
    module.to(dtype)
    with torch.no_grad():
        for name, value in module.named_parameters():
            numbers = torch.randn(value.shape, generator=draw, dtype=torch.float64)
            value.copy_(0.15 * numbers + ("norm" in name))
    return module.eval()


def gap(one, other):
    return (one - other).abs().max().item()


def library(kind, draw, dtype=torch.float64, **more):
    """A tiny random model of `transformers`."""
    import transformers

    family = kind.split(",")[0]
    name = {"llama": "Llama", "qwen3": "Qwen3"}[family]
    config = getattr(transformers, f"{name}Config")(**(SIZES | KINDS[kind] | more))
    model = getattr(transformers, f"{name}ForCausalLM")(config)
    return shaken(model, draw, dtype)


def mine_like(theirs):
    """Our model with their weights, in their dtype."""
    config = read_config(theirs.config.to_dict())
    model = ModernGPT(config).to(theirs.dtype)
    model.load_state_dict(from_transformers(theirs.state_dict(), config))
    return model.eval()


@pytest.fixture(params=KINDS)
def kind(request):
    return request.param


# --- the whole ---


@pytest.mark.parametrize("dtype", CLOSE, ids=str)
@torch.no_grad()
def test_the_model_is_transformers(kind, dtype, draw, ids):
    theirs = library(kind, draw, dtype)
    wanted = theirs(ids).logits
    assert wanted.std() > 0.3  # large enough that the tolerance says something
    mine = mine_like(theirs)
    assert gap(mine(ids), wanted) < CLOSE[dtype]
    counts = (sum(p.numel() for p in one.parameters()) for one in (mine, theirs))
    assert len(set(counts)) == 1


class Wide:
    """torch, except that its float32 is float64."""

    float32 = float = torch.float64

    def __getattr__(self, name):
        return getattr(torch, name)


@torch.no_grad()
def test_what_differs_is_the_librarys_float32(kind, draw, ids, monkeypatch):
    family = kind.split(",")[0]
    module = f"transformers.models.{family}.modeling_{family}"
    monkeypatch.setattr(f"{module}.torch", Wide())
    theirs = library(kind, draw)
    assert gap(mine_like(theirs)(ids), theirs(ids).logits) < 1e-12


@pytest.mark.parametrize("pieces", [(1,) * T, (3, 4), (2, 1, 4)])
@pytest.mark.parametrize("dtype", CLOSE, ids=str)
@torch.no_grad()
def test_with_a_cache_it_is_transformers_with_its_cache(kind, dtype, pieces, draw, ids):
    theirs = library(kind, draw, dtype)
    mine = mine_like(theirs)
    cache, past = mine.new_cache(B), None
    for piece in ids.split(pieces, 1):
        wanted = theirs(piece, past_key_values=past, use_cache=True)
        past = wanted.past_key_values
        assert gap(mine(piece, cache), wanted.logits) < CLOSE[dtype]
    assert cache.length == T
    for (keys, values), layer in zip(cache.layers, past.layers, strict=True):
        assert gap(keys[:, :, :T], layer.keys) < CLOSE[dtype]
        assert gap(values[:, :, :T], layer.values) < CLOSE[dtype]


@pytest.mark.parametrize("dtype", CLOSE, ids=str)
@torch.no_grad()
def test_padded_on_the_left_it_is_transformers(kind, dtype, draw, ids):
    theirs = library(kind, draw, dtype)
    mine = mine_like(theirs)
    real = torch.ones(B, T, dtype=torch.bool)
    real[1, :3] = False
    wanted = theirs(ids, attention_mask=real.long()).logits[real]
    assert gap(mine(ids, real=real)[real], wanted) < CLOSE[dtype]
    cache, found = mine.new_cache(B), []
    for piece in ids.split((4, 1, 2), 1):
        end = cache.length + piece.shape[1]
        found.append(mine(piece, cache, real[:, :end]))
    assert gap(torch.cat(found, 1)[real], wanted) < CLOSE[dtype]


@torch.no_grad()
def test_padding_changes_nothing(kind, draw, ids):
    mine = mine_like(library(kind, draw))
    padded = torch.cat([ids[:, :3] * 0, ids], 1)
    real = torch.arange(T + 3)[None].expand(B, -1) >= 3
    assert gap(mine(padded, real=real)[:, 3:], mine(ids)) < 1e-9
    assert gap(mine(padded)[:, 3:], mine(ids)) > 1e-3


def test_the_gradient_is_transformers(kind, draw, ids):
    theirs = library(kind, draw)
    mine = mine_like(theirs)
    for logits in (mine(ids), theirs(ids).logits):
        logits.logsumexp(-1).sum().backward()
    table, other = mine.embedding.weight.grad, theirs.model.embed_tokens.weight.grad
    assert other.abs().max() > 0.1 and gap(table, other) < 1e-5


def test_greedy_writing_is_generate(kind, draw, ids):
    theirs = library(kind, draw)
    theirs.generation_config.eos_token_id = None
    with pretrained.quiet():
        wanted = theirs.generate(
            ids, attention_mask=torch.ones_like(ids), max_new_tokens=9,
            do_sample=False, pad_token_id=0,
        )  # fmt: skip
    mine = mine_like(theirs)
    assert torch.equal(write_greedily(mine, ids, 9), wanted)
    assert torch.equal(write_greedily(mine, ids, 9, cached=False), wanted)


def test_a_saved_checkpoint_is_read(kind, draw, ids, tmp_path):
    theirs = library(kind, draw, torch.float32)
    theirs.save_pretrained(tmp_path)
    mine = load_modern(tmp_path)
    assert not mine.training
    with torch.no_grad():
        assert gap(mine(ids), theirs(ids).logits) < 1e-5


# --- the parts ---


def test_rms_norm_is_torchs(draw):
    x = torch.randn(3, 5, 11, generator=draw, dtype=torch.float64)
    mine, theirs = RMSNorm(11, 0.1), nn.RMSNorm(11, 0.1).double()
    theirs.load_state_dict(shaken(mine, draw).state_dict())
    assert gap(mine(x), theirs(x)) < 1e-12
    assert abs(RMSNorm(11, 0.0).double()(x + 4).square().mean() - 1) < 1e-12


def test_rms_norm_takes_squares_in_float32():
    x = torch.tensor([300.0, -400.0], dtype=torch.float16)  # squares above 65504
    found = RMSNorm(2).half()(x)
    assert found.dtype == torch.float16
    assert gap(found.float(), torch.tensor([0.8485, -1.1314])) < 1e-3


def test_the_angles_are_those_of_the_sinusoidal_encoding():
    cos, sin = rotation(torch.arange(9), 10, 10_000.0, torch.zeros(1).double())
    table = positional_encoding(9, 10, torch.float64)
    assert cos.shape == sin.shape == (9, 5)
    assert gap(sin, table[:, 0::2]) < 1e-12 and gap(cos, table[:, 1::2]) < 1e-12


@pytest.mark.parametrize("neighbours", [False, True])
def test_a_rotation_is_a_product_of_complex_numbers(neighbours, draw):
    x = torch.randn(3, 5, 8, generator=draw, dtype=torch.float64)
    cos, sin = rotation(torch.arange(2, 7), 8, 30.0, x)
    if neighbours:
        pairs = torch.view_as_complex(x.unflatten(-1, (4, 2)))
    else:
        pairs = torch.complex(x[..., :4], x[..., 4:])
    turned = pairs * torch.complex(cos, sin)
    found = rotate(x, cos, sin, neighbours)
    first, second = (found[..., ::2], found[..., 1::2]) if neighbours else (
        found[..., :4], found[..., 4:]
    )  # fmt: skip
    assert gap(first, turned.real) < 1e-12 and gap(second, turned.imag) < 1e-12


@pytest.mark.parametrize("neighbours", [False, True])
def test_rotated_scores_depend_on_the_distance_alone(neighbours, draw):
    query, key = torch.randn(2, 1, 8, generator=draw, dtype=torch.float64)

    def score(at, other):
        turns = rotation(torch.tensor([at, other]), 8, 30.0, query)
        (turned, _), (_, found) = (
            rotate(one.expand(2, -1), *turns, neighbours) for one in (query, key)
        )
        return (turned @ found).item()

    assert score(5, 2) == pytest.approx(score(90, 87), abs=1e-12)
    assert abs(score(5, 2) - score(5, 3)) > 1e-3
    assert score(4, 4) == pytest.approx((query @ key.T).item(), abs=1e-12)


def test_weights_of_one_convention_become_those_of_the_other(draw):
    heads, x = 3, torch.randn(5, 7, generator=draw, dtype=torch.float64)
    turns = rotation(torch.arange(5), 4, 30.0, x)
    W_q, W_k = torch.randn(2, heads * 4, 7, generator=draw, dtype=torch.float64)

    def scores(query, key, neighbours):
        split = (
            (x @ weight.T).unflatten(-1, (heads, 4)).transpose(0, 1)
            for weight in (query, key)
        )
        query, key = (rotate(one, *turns, neighbours) for one in split)
        return query @ key.mT

    wanted = scores(W_q, W_k, True)
    turned = (halves_from_neighbours(weight, heads) for weight in (W_q, W_k))
    assert gap(scores(*turned, False), wanted) < 1e-12
    unturned = scores(W_q, W_k, False)
    assert gap(unturned[:, 0, 0], wanted[:, 0, 0]) < 1e-12  # position 0 alone agrees
    assert gap(unturned, wanted) > 0.1


def test_swiglu_is_its_formula(draw):
    layer = shaken(SwiGLU(5, 7), draw)
    x = torch.randn(2, 3, 5, generator=draw, dtype=torch.float64)
    gate, up = x @ layer.W_gate.weight.T, x @ layer.W_up.weight.T
    wanted = (gate / (1 + torch.exp(-gate)) * up) @ layer.W_down.weight.T
    assert gap(layer(x), wanted) < 1e-12
    assert sum(p.numel() for p in layer.parameters()) == 3 * 5 * 7


def grouped(draw, **sizes):
    config = ModernConfig(
        17, d_model=12, num_heads=6, num_kv_heads=2, d_head=4, num_layers=1
    )
    return shaken(GroupedQueryAttention(replace(config, **sizes)), draw)


def test_each_head_of_keys_serves_neighbouring_queries(draw):
    layer = grouped(draw)
    x = torch.randn(B, T, 12, generator=draw, dtype=torch.float64)
    output, weights = layer(x, need_weights=True)
    query, key, value = (
        part(x).unflatten(-1, (-1, 4)) for part in (layer.W_q, layer.W_k, layer.W_v)
    )
    mixed = torch.zeros(B, T, 6, 4, dtype=torch.float64)
    for head in range(6):
        shared = head // 3
        for t in range(T):
            scores = key[:, : t + 1, shared] @ query[:, t, head, :, None]
            share = (scores[..., 0] / 2).softmax(-1)  # (B, t + 1)
            assert gap(weights[:, head, t, : t + 1], share) < 1e-12
            mixed[:, t, head] = (share[..., None] * value[:, : t + 1, shared]).sum(1)
    assert gap(output, layer.W_o(mixed.flatten(2))) < 1e-12
    assert gap(layer(x), output) < 1e-12
    assert weights.triu(1).abs().max() == 0


def test_with_as_many_keys_it_is_multi_head_attention(draw):
    mine = grouped(draw, num_heads=3, num_kv_heads=3)
    other = MultiHeadAttention(12, 3, bias=False).double()
    other.copy_layers(mine.W_q, mine.W_k, mine.W_v, mine.W_o)
    x = torch.randn(B, T, 12, generator=draw, dtype=torch.float64)
    assert gap(mine(x), other(x, x, x, is_causal=True)) < 1e-12


def test_values_are_not_rotated(draw):
    layer = grouped(draw)
    x = torch.randn(B, 1, 12, generator=draw, dtype=torch.float64)
    turns = rotation(torch.tensor([5]), 4, 30.0, x)
    assert gap(layer(x, turns), layer(x)) < 1e-12  # one token: its value alone


def test_the_norms_of_queries_and_keys_bound_the_scores(draw):
    layer = grouped(draw, norm_qk=True)
    with torch.no_grad():
        layer.q_norm.weight.fill_(1.0)
        layer.k_norm.weight.fill_(1.0)
        layer.W_q.weight.mul_(1e6)
    x = torch.randn(B, T, 12, generator=draw, dtype=torch.float64)
    weights = layer(x, need_weights=True)[1]
    # Vectors of length sqrt(4) multiply to at most 4: scores lie between -2 and 2.
    assert weights[:, :, -1].min() > 1 / (1 + 6 * math.exp(4))


def test_a_cache_holds_the_heads_of_keys_alone():
    config = ModernConfig(17, 11, 12, 6, 2, 4, num_layers=3)
    cache = ModernGPT(config).double().new_cache(5)
    assert isinstance(cache, Cache) and len(cache.layers) == 3
    for part in cache.layers[0]:
        assert part.shape == (5, 2, 11, 4) and part.dtype == torch.float64


def test_no_token_sees_a_later_one(kind, draw, ids):
    mine = mine_like(library(kind, draw))
    for place in range(T):
        other = ids.clone()
        other[:, place] = (ids[:, place] + 1) % SIZES["vocab_size"]
        moved = (mine(other) - mine(ids)).abs().amax((0, 2))
        assert (moved[:place] == 0).all() and moved[place] > 1e-6


def test_there_are_no_biases_and_first_numbers_are_small():
    torch.manual_seed(0)
    model = ModernGPT(ModernConfig(500, first_std=0.07))
    assert not any("bias" in name for name, _ in model.named_parameters())
    for one in (model.embedding, model.output, model.layers[0].attention.W_k):
        assert abs(one.weight.std().item() - 0.07) < 0.002
    assert (model.layers[1].norm2.weight == 1).all()


# --- what is refused ---


def test_bad_sizes_are_refused(ids):
    config = ModernConfig(17, max_length=6, num_heads=5)
    with pytest.raises(ValueError, match="5 heads are not a multiple of 2"):
        ModernGPT(config)
    with pytest.raises(ValueError, match="d_head=7 is odd"):
        ModernGPT(replace(config, num_heads=4, d_head=7))
    model = ModernGPT(replace(config, num_heads=4))
    assert model(ids).shape == (B, T, 17)  # without a cache nothing ends
    with pytest.raises(ValueError, match="7 tokens, but room for 6"):
        model(ids, model.new_cache(B))
    with pytest.raises(ValueError, match=r"real has the shape \(2, 5\), not \(2, 7\)"):
        model(ids, real=torch.ones(B, 5))


FACTS = SIZES | {"model_type": "llama"}


@pytest.mark.parametrize(
    ("facts", "said"),
    [
        ({"model_type": "gpt2"}, "model_type gpt2, but only llama and qwen3"),
        ({"hidden_act": "gelu"}, "hidden_act is gelu, but only silu"),
        ({"attention_bias": True}, "attention_bias is True, but only False"),
        ({"mlp_bias": True}, "mlp_bias is True"),
        ({"use_sliding_window": True}, "use_sliding_window is True"),
        ({"rope_parameters": {"rope_type": "yarn"}}, r"scaled \(yarn\)"),
        ({"rope_parameters": None, "rope_scaling": {"type": "linear"}}, "linear"),
    ],
)
def test_what_the_model_cannot_do_is_refused(facts, said):
    with pytest.raises(ValueError, match=said):
        read_config(FACTS | facts)


def test_files_of_transformers_4_are_read_as_well():
    facts = FACTS | {"rope_parameters": None, "rope_scaling": None, "rope_theta": 7}
    assert read_config(facts).base == 7.0
    del facts["rope_theta"], facts["rope_parameters"], facts["num_key_value_heads"]
    found = read_config(json.loads(json.dumps(facts)))
    assert (found.base, found.num_kv_heads, found.d_head) == (10_000.0, 6, 4)


def test_a_bias_or_a_missing_tensor_is_named(draw):
    theirs = library("llama", draw, attention_bias=True)
    config = read_config(theirs.config.to_dict() | {"attention_bias": False})
    with pytest.raises(ValueError, match="layers.0.self_attn.k_proj.bias has no place"):
        from_transformers(theirs.state_dict(), config)
    state = library("qwen3", draw).state_dict()
    config = read_config(library("qwen3", draw).config.to_dict())
    del state["model.layers.1.self_attn.q_norm.weight"]
    with pytest.raises(ValueError, match="layers.1.self_attn.q_norm.weight is missing"):
        from_transformers(state, config)
