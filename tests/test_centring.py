"""Layer norms without their mean: what is folded into the weights, and what is lost."""

import pytest
import torch
from torch import nn

from helpers.experiments.centring import (
    BiasedRMSNorm,
    share_of_the_mean,
    with_rms_norms,
)
from helpers.models.gpt import GPT, GPTConfig

pytestmark = pytest.mark.lesson("12")


@pytest.fixture
def model():
    """A GPT whose every number says something, and whose stream has a mean."""
    draw = torch.Generator().manual_seed(0)
    model = GPT(GPTConfig(17, 9, 12, 3, 2)).double().eval()
    with torch.no_grad():
        for name, value in model.named_parameters():
            numbers = torch.randn(value.shape, generator=draw, dtype=torch.float64)
            gain = "norm" in name and name.endswith("weight")
            value.copy_(0.3 * numbers + 0.2 + gain)
    return model


@pytest.fixture
def ids():
    return torch.randint(17, (2, 7), generator=torch.Generator().manual_seed(1))


@torch.no_grad()
def test_a_mean_that_is_folded_into_the_weights_changes_nothing(model, ids):
    before = model(ids)
    folded = with_rms_norms(model, centred=True)
    assert not any(isinstance(part, nn.LayerNorm) for part in folded.modules())
    assert (folded(ids) - before).abs().max() < 1e-9
    assert torch.equal(model(ids), before)  # the model itself is as it was


@torch.no_grad()
def test_a_mean_that_is_left_in_changes_much(model, ids):
    left = with_rms_norms(model, centred=False)(ids)
    assert (left - model(ids)).abs().max() > 0.01


def test_a_biased_norm_of_centred_vectors_is_a_layer_norm():
    norm = nn.LayerNorm(5, 1e-2).double()
    nn.init.uniform_(norm.weight)
    nn.init.uniform_(norm.bias)
    x = torch.randn(3, 5, dtype=torch.float64)
    centred = x - x.mean(-1, keepdim=True)
    assert torch.allclose(BiasedRMSNorm(norm)(centred), norm(x), atol=1e-12)


def test_the_share_of_the_mean(model, ids):
    share = share_of_the_mean(model, ids)
    assert 0 < share < 1
    assert not any(norm._forward_pre_hooks for norm in model.modules())
    one = GPT(GPTConfig(17, 9, 12, 3, 0)).double()
    nn.init.ones_(one.embedding.weight)
    nn.init.ones_(one.positions.weight)
    assert share_of_the_mean(one, ids) == pytest.approx(1)
    with torch.no_grad():
        one.embedding.weight[:, ::2] = -3.0  # -2 and 2 by turns: no mean
    assert share_of_the_mean(one, ids) == pytest.approx(0)
