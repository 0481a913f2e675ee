"""The masks against loops, against torch's own triangle and its attention."""

import pytest
import torch
from torch import nn

from helpers.models.attention import attention
from helpers.models.masks import blocked, look_ahead_mask, padding_mask, target_mask

IDS = torch.tensor([[1, 7, 8, 9, 2], [1, 5, 2, 0, 0], [1, 0, 6, 2, 0]])


@pytest.mark.parametrize("padding_id", [0, 7])
def test_padding_is_hidden_from_every_query_and_head(padding_id):
    mask = padding_mask(IDS, padding_id)
    assert mask.shape == (3, 1, 1, 5) and mask.dtype == torch.bool
    for row in range(3):
        for key in range(5):
            assert mask[row, 0, 0, key] == (IDS[row, key] != padding_id)


@pytest.mark.parametrize("length", [1, 2, 7])
def test_no_query_sees_a_later_key(length):
    mask = look_ahead_mask(length)
    assert mask.shape == (length, length) and mask.dtype == torch.bool
    for query in range(length):
        for key in range(length):
            assert mask[query, key] == (key <= query)
    theirs = nn.Transformer.generate_square_subsequent_mask(length)
    assert torch.equal(mask, theirs == 0)


def test_a_target_mask_is_both():
    mask = target_mask(IDS)
    assert mask.shape == (3, 1, 5, 5) and mask.dtype == torch.bool
    for row in range(3):
        for query in range(5):
            for key in range(5):
                expected = key <= query and IDS[row, key] != 0
                assert mask[row, 0, query, key] == expected


def test_every_query_of_a_target_has_a_key_since_each_begins_with_a_start():
    assert target_mask(IDS).any(-1).all()


def test_padding_at_the_end_is_hidden_by_the_look_ahead_mask_already():
    mask, ahead = target_mask(IDS), look_ahead_mask(5)
    for row in range(2):  # row 2 has padding inside
        real = IDS[row] != 0
        assert torch.equal(mask[row, 0][real], ahead[real])
    real = IDS[2] != 0
    assert not torch.equal(mask[2, 0][real], ahead[real])


def test_multihead_attention_of_torch_wants_the_opposite():
    torch.manual_seed(0)
    layer = nn.MultiheadAttention(6, 1, batch_first=True, dtype=torch.float64)
    x = torch.randn(2, 5, 6, dtype=torch.float64)
    mask = look_ahead_mask(5)
    theirs, _ = layer(x, x, x, attn_mask=blocked(mask))
    query, key, value = (
        x @ weight.T + bias
        for weight, bias in zip(
            layer.in_proj_weight.chunk(3), layer.in_proj_bias.chunk(3), strict=True
        )
    )
    ours = layer.out_proj(attention(query, key, value, mask))
    torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-9)


def test_changing_padding_or_the_future_changes_nothing():
    draw = torch.Generator().manual_seed(1)
    x = torch.randn(2, 1, 5, 4, generator=draw, dtype=torch.float64)
    mask = target_mask(IDS[:2])
    before = attention(x, x, x, mask)
    other = x.clone()
    other[1, :, 3:] += 9.0  # the padding of row 1
    assert torch.equal(attention(x, other, other, mask)[1, :, :3], before[1, :, :3])
    other = x.clone()
    other[0, :, 4] -= 9.0
    after = attention(other, other, other, mask)
    assert torch.equal(after[0, :, :4], before[0, :, :4])
    assert not torch.equal(after[0, :, 4], before[0, :, 4])
