"""The reference multi-head attention against torch's own, in float64."""

import pytest
import torch
from torch import nn

from helpers.models.multi_head import MultiHeadAttention, merge_heads, split_heads

pytestmark = pytest.mark.lesson("03")
B, T, S, D, H = 2, 5, 7, 12, 3


@pytest.fixture
def draw():
    return torch.Generator().manual_seed(3)


def normal(draw, *size):
    return torch.randn(size, generator=draw, dtype=torch.float64)


def pair(bias=True):
    """Ours and torch's on the same weights."""
    torch.manual_seed(0)
    theirs = nn.MultiheadAttention(D, H, bias=bias, batch_first=True).double()
    ours = MultiHeadAttention(D, H, bias=bias).double()
    with torch.no_grad():
        ours.to_qkv.weight.copy_(theirs.in_proj_weight)
        ours.W_o.weight.copy_(theirs.out_proj.weight)
        if bias:
            theirs.in_proj_bias.normal_()
            theirs.out_proj.bias.normal_()
            ours.to_qkv.bias.copy_(theirs.in_proj_bias)
            ours.W_o.bias.copy_(theirs.out_proj.bias)
    return ours, theirs


def close(one, other):
    torch.testing.assert_close(one, other, rtol=0, atol=1e-9)


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("masked", [True, False])
def test_equals_torch_with_another_key_sequence(draw, bias, masked):
    ours, theirs = pair(bias)
    query, key, value = (
        normal(draw, B, T, D),
        normal(draw, B, S, D),
        normal(draw, B, S, D),
    )
    mask = None
    if masked:
        mask = torch.rand(B, H, T, S, generator=draw) < 0.6
        mask[..., 0] = True
    blocked = None if mask is None else ~mask.flatten(0, 1)  # theirs: True = blocked
    expected, weights = theirs(
        query, key, value, attn_mask=blocked, average_attn_weights=False
    )
    output, ours_weights = ours(query, key, value, mask, need_weights=True)
    close(output, expected)
    close(ours_weights, weights)
    close(ours(query, key, value, mask), expected)


def test_equals_torch_in_self_attention_with_padding(draw):
    ours, theirs = pair()
    x = normal(draw, B, T, D)
    real = torch.arange(T) < torch.tensor([[5], [3]])
    expected, _ = theirs(x, x, x, key_padding_mask=~real)
    close(ours(x, x, x, real[:, None, None, :]), expected)


def test_one_product_or_three_is_the_same(draw):
    ours, _ = pair()
    x = normal(draw, B, T, D)
    close(ours(x, x, x), ours(x, x.clone(), x.clone()))


def test_gradients_equal_torch(draw):
    ours, theirs = pair()
    x = normal(draw, B, T, D)
    for module in (ours, theirs):
        result = module(x, x, x)
        (
            result if isinstance(result, torch.Tensor) else result[0]
        ).sin().sum().backward()
    close(ours.to_qkv.weight.grad, theirs.in_proj_weight.grad)
    close(ours.W_o.bias.grad, theirs.out_proj.bias.grad)


def test_heads_are_cut_and_laid_back(draw):
    x = normal(draw, B, T, D)
    heads = split_heads(x, H)
    assert heads.shape == (B, H, T, D // H)
    for h in range(H):
        close(heads[:, h], x[..., h * D // H : (h + 1) * D // H])
    close(merge_heads(heads), x)


def test_copies_the_numbers_of_four_layers(draw):
    layers = [nn.Linear(D, D).double() for _ in range(4)]
    ours = MultiHeadAttention(D, H).double().copy_layers(*layers)
    x = normal(draw, B, T, D)
    query, key, value = (split_heads(layer(x), H) for layer in layers[:3])
    mixed = nn.functional.scaled_dot_product_attention(query, key, value)
    close(ours(x, x, x), layers[3](merge_heads(mixed)))


def test_dropout_only_while_training(draw):
    torch.manual_seed(0)
    ours = MultiHeadAttention(D, H, dropout=0.5).double()
    x = normal(draw, B, T, D)
    assert not torch.equal(ours(x, x, x), ours(x, x, x))
    ours.eval()
    assert torch.equal(ours(x, x, x), ours(x, x, x))


def test_a_width_that_does_not_divide_is_refused():
    with pytest.raises(
        ValueError, match="d_model=300 is not a multiple of num_heads=7"
    ):
        MultiHeadAttention(300, 7)


def test_the_number_of_heads_costs_nothing():
    counts = {
        heads: sum(p.numel() for p in MultiHeadAttention(512, heads).parameters())
        for heads in (1, 8, 16)
    }
    assert set(counts.values()) == {1_050_624}
