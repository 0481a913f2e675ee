"""The reference attention against torch's fused kernel, and what it promises."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from helpers.models.attention import SelfAttention, attention

pytestmark = pytest.mark.lesson("02")

B, H, T, S, K, W = 2, 3, 5, 7, 4, 6
LEADS = [(), (B,), (B, H)]


def inputs(*lead, dtype=torch.float64, seed=0):
    draw = torch.Generator().manual_seed(seed)
    sizes = (T, K), (S, K), (S, W)
    query, key, value = (
        torch.randn(*lead, *size, generator=draw, dtype=torch.float64) for size in sizes
    )
    return query.to(dtype), key.to(dtype), value.to(dtype)


def mask_of(*size, seed=1):
    """A random mask in which every row may attend to something."""
    mask = torch.rand(size, generator=torch.Generator().manual_seed(seed)) < 0.5
    mask[..., 2] = True
    return mask


def by_formula(query, key, value, mask=None):
    """One number after the other, as the paper's formula reads."""
    output = torch.zeros(*query.shape[:-1], value.shape[-1], dtype=query.dtype)
    for place in torch.cartesian_prod(*(torch.arange(n) for n in query.shape[:-1])):
        *lead, t = place.tolist() if place.dim() else [place.item()]
        seen = range(S) if mask is None else mask[(*lead, t)].nonzero().flatten()
        scores = [query[(*lead, t)] @ key[(*lead, s)] / K**0.5 for s in seen]
        powers = torch.stack(scores).exp()
        for s, power in zip(seen, powers, strict=True):
            output[(*lead, t)] += power / powers.sum() * value[(*lead, s)]
    return output


MASKS = [
    ((), (T, S)),
    ((B,), (T, S)),
    ((B,), (B, T, S)),
    ((B,), (B, 1, S)),
    ((B, H), (B, 1, 1, S)),
    ((B, H), (H, T, S)),
]


@pytest.mark.parametrize("lead", LEADS)
def test_without_a_mask_it_is_torchs_kernel(lead):
    query, key, value = inputs(*lead)
    expected = F.scaled_dot_product_attention(query, key, value)
    output, weights = attention(query, key, value, need_weights=True)
    for result in (attention(query, key, value), output, weights @ value):
        torch.testing.assert_close(result, expected, atol=1e-9, rtol=0)
    assert weights.shape == (*lead, T, S)


@pytest.mark.parametrize(("lead", "size"), MASKS)
def test_with_a_mask_it_is_torchs_kernel(lead, size):
    query, key, value = inputs(*lead)
    mask = mask_of(*size)
    expected = F.scaled_dot_product_attention(query, key, value, attn_mask=mask)
    output, weights = attention(query, key, value, mask, need_weights=True)
    for result in (attention(query, key, value, mask), output, weights @ value):
        torch.testing.assert_close(result, expected, atol=1e-9, rtol=0)
    assert (weights[~mask.expand(weights.shape)] == 0).all()


@pytest.mark.parametrize("lead", LEADS)
def test_causal_attention_is_attention_under_a_look_ahead_mask(lead):
    query, key, value = (x.requires_grad_() for x in inputs(*lead))
    key, value = key[..., :T, :], value[..., :T, :]
    expected, weights = attention(
        query, key, value, torch.ones(T, T).tril().bool(), need_weights=True
    )
    flagged = attention(query, key, value, is_causal=True)
    both = attention(query, key, value, is_causal=True, need_weights=True)
    for result in (flagged, both[0]):
        torch.testing.assert_close(result, expected, atol=1e-9, rtol=0)
        slopes = torch.autograd.grad(result.square().sum(), query, retain_graph=True)
        wanted = torch.autograd.grad(expected.square().sum(), query, retain_graph=True)
        torch.testing.assert_close(slopes, wanted, atol=1e-9, rtol=0)
    torch.testing.assert_close(both[1], weights, atol=1e-9, rtol=0)


def test_causal_attention_refuses_what_torch_would_read_otherwise():
    query, key, value = inputs(B)  # torch would align query 0 with key 0
    with pytest.raises(ValueError, match=f"{T} queries, {S} keys, mask None"):
        attention(query, key, value, is_causal=True)
    key, value = key[:, :T], value[:, :T]
    with pytest.raises(ValueError, match="mask given"):
        attention(query, key, value, mask_of(B, T, T), is_causal=True)


@pytest.mark.parametrize("lead", LEADS)
def test_it_is_the_formula(lead):
    query, key, value = inputs(*lead)
    mask = mask_of(*lead, T, S)
    for blocked in (None, mask):
        expected = by_formula(query, key, value, blocked)
        result = attention(query, key, value, blocked)
        torch.testing.assert_close(result, expected, atol=1e-9, rtol=0)


def test_rows_of_the_weights_sum_to_one_in_float32_as_well():
    query, key, value = inputs(B, H, dtype=torch.float32)
    mask = mask_of(B, 1, T, S)
    output, weights = attention(query, key, value, mask, need_weights=True)
    assert output.dtype == weights.dtype == torch.float32
    torch.testing.assert_close(weights.sum(-1), torch.ones(B, H, T))
    precise = attention(*(x.double() for x in (query, key, value)), mask)
    torch.testing.assert_close(output.double(), precise, atol=1e-5, rtol=0)


@pytest.mark.parametrize("need_weights", [False, True])
def test_a_query_that_may_attend_to_nothing_gets_zeros(need_weights):
    query, key, value = (x.requires_grad_() for x in inputs(B))
    mask = mask_of(B, T, S)
    mask[1, 3] = False
    result = attention(query, key, value, mask, need_weights=need_weights)
    output, weights = result if need_weights else (result, torch.zeros(B, T, S))
    assert (output[1, 3] == 0).all() and (weights[1, 3] == 0).all()
    assert (output[1, :3] != 0).all() and output.isfinite().all()
    output.sum().backward()
    assert query.grad.isfinite().all() and (query.grad[1, 3] == 0).all()
    assert key.grad.isfinite().all() and value.grad.isfinite().all()


@pytest.mark.parametrize("masked", [False, True])
def test_gradients_are_those_of_torchs_kernel(masked):
    mask = mask_of(B, T, S) if masked else None
    found = []
    for way in (
        lambda *x: attention(*x, mask),
        lambda *x: attention(*x, mask, need_weights=True)[0],
        lambda *x: F.scaled_dot_product_attention(*x, attn_mask=mask),
    ):
        leaves = [x.requires_grad_() for x in inputs(B)]
        mixture = torch.linspace(-1, 1, B * T * W, dtype=torch.float64).view(B, T, W)
        found.append(torch.autograd.grad((way(*leaves) * mixture).sum(), leaves))
    for ours in found[:2]:
        for one, other in zip(ours, found[2], strict=True):
            torch.testing.assert_close(one, other, atol=1e-9, rtol=0)


def test_inputs_are_left_alone():
    given, mask = inputs(B), mask_of(B, T, S)
    before = [x.clone() for x in (*given, mask)]
    attention(*given, mask, need_weights=True)
    for one, other in zip(before, (*given, mask), strict=True):
        assert torch.equal(one, other)


def test_dropout_drops_from_the_output_and_not_from_the_weights():
    query, key, value = inputs(B)
    _, whole = attention(query, key, value, need_weights=True)
    torch.manual_seed(0)
    output, weights = attention(query, key, value, dropout=0.5, need_weights=True)
    torch.testing.assert_close(weights, whole)
    assert not torch.allclose(output, whole @ value)


def test_sizes_that_do_not_fit_are_refused_with_both_numbers():
    query, key, value = inputs(B)
    with pytest.raises(ValueError, match="query width 3, key width 4"):
        attention(query[..., :3], key, value)
    with pytest.raises(ValueError, match="7 keys, but 6 values"):
        attention(query, key, value[:, :6])


# --- one head -------------------------------------------------------------------------

D = 11


@pytest.mark.parametrize("bias", [False, True])
def test_self_attention_is_attention_of_three_projections(bias):
    head = SelfAttention(D, K, bias=bias).double()
    x = inputs(B)[0].new_ones(B, T, D).cumsum(1) * torch.linspace(-1, 1, D).double()
    real = torch.arange(T) < torch.tensor([[T], [2]])
    output, weights = head(x, real, need_weights=True)
    expected = F.scaled_dot_product_attention(
        head.W_q(x), head.W_k(x), head.W_v(x), attn_mask=real[:, None, :]
    )
    torch.testing.assert_close(output, expected, atol=1e-9, rtol=0)
    torch.testing.assert_close(head(x, real), expected, atol=1e-9, rtol=0)
    torch.testing.assert_close(head(x, real.long()), expected, atol=1e-9, rtol=0)
    assert (weights[1, :, 2:] == 0).all() and weights.shape == (B, T, T)
    assert head(x).shape == (B, T, K)
    assert sum(p.numel() for p in head.parameters()) == 3 * (D * K + bias * K)


def test_self_attention_is_torchs_module_with_one_head():
    head = SelfAttention(K, K).double()
    module = nn.MultiheadAttention(K, 1, bias=False, batch_first=True).double()
    with torch.no_grad():
        parts = (head.W_q, head.W_k, head.W_v)
        module.in_proj_weight.copy_(torch.cat([part.weight for part in parts]))
        module.out_proj.weight.copy_(torch.eye(K))
    x = inputs(B)[0]
    real = torch.arange(T) < torch.tensor([[T], [3]])
    expected, shares = module(x, x, x, key_padding_mask=~real)
    output, weights = head(x, real, need_weights=True)
    torch.testing.assert_close(output, expected, atol=1e-9, rtol=0)
    torch.testing.assert_close(weights, shares, atol=1e-9, rtol=0)
