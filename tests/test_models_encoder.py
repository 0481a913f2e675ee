"""The reference encoder against torch.nn and transformers, in float64."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from helpers.models.encoder import BertPositions, Encoder, EncoderLayer, bert_encoder
from helpers.models.layers import FeedForward, add_and_norm

pytestmark = pytest.mark.lesson(4)
B, T, D, H, D_FF = 2, 7, 15, 3, 11


@pytest.fixture
def draw():
    return torch.Generator().manual_seed(4)


def normal(draw, *size):
    return torch.randn(size, generator=draw, dtype=torch.float64)


def shaken(module, draw):
    """The module in float64 with random numbers everywhere, norms included."""
    module.double()
    with torch.no_grad():
        for value in module.parameters():
            value.copy_(0.5 * normal(draw, *value.shape))
    return module


def gap(one, other):
    return (one - other).abs().max().item()


def copied(theirs: nn.TransformerEncoderLayer, mine: EncoderLayer) -> EncoderLayer:
    """Our layer with the numbers of torch's."""
    attention = theirs.self_attn
    with torch.no_grad():
        mine.attention.to_qkv.weight.copy_(attention.in_proj_weight)
        mine.attention.to_qkv.bias.copy_(attention.in_proj_bias)
    mine.attention.W_o.load_state_dict(attention.out_proj.state_dict())
    mine.feed_forward.W_1.load_state_dict(theirs.linear1.state_dict())
    mine.feed_forward.W_2.load_state_dict(theirs.linear2.state_dict())
    mine.norm1.load_state_dict(theirs.norm1.state_dict())
    mine.norm2.load_state_dict(theirs.norm2.state_dict())
    return mine


@pytest.mark.parametrize("norm_first", [False, True])
@pytest.mark.parametrize("activation", ["relu", "gelu"])
@pytest.mark.parametrize("padded", [False, True])
def test_layer_is_torchs(norm_first, activation, padded, draw):
    theirs = nn.TransformerEncoderLayer(
        D, H, D_FF, 0.1, activation, 1e-3, batch_first=True, norm_first=norm_first
    )
    theirs = shaken(theirs, draw).eval()
    mine = EncoderLayer(D, H, D_FF, 0.1, activation, norm_first, 1e-3).double().eval()
    copied(theirs, mine)
    x, real = normal(draw, B, T, D), torch.arange(T) < torch.tensor([[T], [4]])
    more = {"src_key_padding_mask": ~real} if padded else {}
    mask = real[:, None, None] if padded else None
    x.requires_grad_()
    expected, got = theirs(x, **more), mine(x, mask)
    assert gap(got[real], expected[real]) < 1e-9
    expected = torch.autograd.grad(expected[real].square().sum(), x)[0]
    assert gap(torch.autograd.grad(got[real].square().sum(), x)[0], expected) < 1e-9


@pytest.mark.parametrize("norm_first", [False, True])
def test_stack_is_torchs(norm_first, draw):
    one = nn.TransformerEncoderLayer(
        D, H, D_FF, 0.1, batch_first=True, norm_first=norm_first
    )
    end = nn.LayerNorm(D) if norm_first else None
    theirs = nn.TransformerEncoder(one, 3, end, enable_nested_tensor=False)
    theirs = shaken(theirs, draw).eval()
    mine = Encoder(20, D, H, D_FF, 3, norm_first=norm_first).double().eval()
    for a, b in zip(theirs.layers, mine.layers, strict=True):
        copied(a, b)
    if norm_first:
        mine.norm.load_state_dict(end.state_dict())
    ids = torch.randint(20, (B, T), generator=draw)
    x = mine.positions(mine.embedding(ids))
    assert gap(mine(ids), theirs(x)) < 1e-9


def test_encoder_scales_and_places(draw):
    encoder = Encoder(20, 16, 4, D_FF, 0).double().eval()
    ids = torch.tensor([[5, 5]])
    start = encoder.embedding.table.weight[5] * 4
    waves = torch.tensor([0.0, 1.0] * 8)
    assert gap(encoder(ids)[0, 0], start + waves) < 1e-6
    assert gap(encoder(ids)[0, 1], encoder(ids)[0, 0]) > 0.1


def test_feed_forward_is_the_formula(draw):
    for name, bend in (("relu", F.relu), ("gelu", F.gelu)):
        layer = shaken(FeedForward(D, D_FF, name), draw)
        x = normal(draw, B, T, D)
        inside = bend(x @ layer.W_1.weight.T + layer.W_1.bias)
        assert gap(layer(x), inside @ layer.W_2.weight.T + layer.W_2.bias) < 1e-9


def test_unknown_activation_is_refused():
    with pytest.raises(ValueError, match="swish"):
        FeedForward(D, D_FF, "swish")


def test_dropout_is_for_training_only(draw):
    x = normal(draw, B, T, D)
    layer = EncoderLayer(D, H, D_FF, dropout=0.5).double()
    assert gap(layer(x), layer(x)) > 0.1
    layer.eval()
    assert torch.equal(layer(x), layer(x))


def test_dropout_spares_the_residual(draw):
    x = normal(draw, B, T, D)
    nothing, whole = nn.Dropout(1.0), nn.Identity()
    assert torch.equal(add_and_norm(x, torch.exp, whole, nothing, True), x)
    assert torch.equal(add_and_norm(x, torch.exp, whole, nothing, False), x)


def tiny_bert(draw):
    from transformers import BertConfig, BertModel

    config = BertConfig(
        vocab_size=31,
        hidden_size=D,
        num_hidden_layers=3,
        num_attention_heads=H,
        intermediate_size=D_FF,
        max_position_embeddings=13,
        attn_implementation="eager",
    )
    return shaken(BertModel(config, add_pooling_layer=False), draw).eval()


def test_bert_positions_know_both_sentences(draw):
    bert = tiny_bert(draw)
    mine = BertPositions(D, 13).double()
    mine.position.load_state_dict(bert.embeddings.position_embeddings.state_dict())
    mine.token_type.load_state_dict(bert.embeddings.token_type_embeddings.state_dict())
    mine.norm.load_state_dict(bert.embeddings.LayerNorm.state_dict())
    ids = torch.randint(31, (B, T), generator=draw)
    kind = torch.randint(2, (B, T), generator=draw)
    words = bert.embeddings.word_embeddings(ids)
    assert gap(mine(words, kind), bert.embeddings(ids, kind)) < 1e-9
    assert gap(mine(words), bert.embeddings(ids)) < 1e-9


def test_random_bert_in_float64(draw):
    bert = tiny_bert(draw)
    ids = torch.randint(31, (B, T), generator=draw)
    real = torch.arange(T) < torch.tensor([[T], [4]])
    mine = bert_encoder(bert.state_dict(), H)
    expected = bert(ids, real.long()).last_hidden_state
    assert gap(mine(ids, real[:, None, None])[real], expected[real]) < 1e-9
    assert not mine.training and all(p.requires_grad for p in mine.parameters())


def test_it_shares_no_memory_with_the_checkpoint(draw):
    weights = tiny_bert(draw).state_dict()
    before = {name: value.clone() for name, value in weights.items()}
    with torch.no_grad():
        for value in bert_encoder(weights, H).parameters():
            value.zero_()
    assert all(torch.equal(before[name], value) for name, value in weights.items())


SENTENCES = [
    "The cat sleeps.",
    "Where did you leave the keys to the garden shed?",
    "No",
]


@pytest.mark.parametrize(
    ("dtype", "most"), [(torch.float32, 5e-5), (torch.float64, 1e-9)]
)
def test_the_bundled_checkpoint(dtype, most):
    from helpers.pretrained import load_encoder, load_tokenizer

    bert = load_encoder().to(dtype)
    batch = load_tokenizer()(SENTENCES, padding=True, return_tensors="pt")
    mine = bert_encoder(bert.state_dict(), bert.config.num_attention_heads)
    real = batch["attention_mask"].bool()
    with torch.no_grad():
        expected = bert(**batch).last_hidden_state
        got = mine(batch["input_ids"], real[:, None, None])
    assert got.dtype == dtype
    assert gap(got[real], expected[real]) < most
