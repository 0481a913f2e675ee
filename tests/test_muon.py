"""The optimizer for matrices, beside torch's own."""

import pytest
import torch

from helpers.training.muon import Muon, orthogonal


def drawn(*size, seed=0):
    return torch.randn(size, generator=torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("size", [(8, 8), (6, 20), (20, 6)])
def test_singular_values_are_brought_near_to_one(size):
    values = torch.linalg.svdvals(orthogonal(100 * drawn(*size)))
    assert 0.6 < values.min() and values.max() < 1.3


def test_directions_stay():
    matrix = drawn(5, 9, seed=1)
    left, _, right = torch.linalg.svd(matrix, full_matrices=False)
    turned = left.mT @ orthogonal(matrix) @ right.mT
    assert (turned - turned.diagonal().diag()).abs().max() < 1e-5


@pytest.mark.parametrize("size", [(6, 20), (20, 6)])
@pytest.mark.parametrize("like_adam", [False, True])
def test_it_steps_as_torch_does(size, like_adam):
    """Torch's computes in bfloat16, which keeps two digits."""
    ours, theirs = drawn(*size).requires_grad_(), drawn(*size).requires_grad_()
    options = {"lr": 0.1, "weight_decay": 0.3}
    adjust = "match_rms_adamw" if like_adam else "original"
    torchs = torch.optim.Muon([theirs], adjust_lr_fn=adjust, **options)
    both = Muon([ours], like_adam=like_adam, **options), torchs
    for step in range(5):
        for value, optimizer in zip((ours, theirs), both, strict=True):
            value.grad = drawn(*size, seed=step + 1)
            optimizer.step()
    moved = (theirs - drawn(*size)).norm()
    assert moved > 1
    assert (ours - theirs).norm() < 0.02 * moved


def test_what_is_no_matrix_is_refused():
    with pytest.raises(ValueError, match=r"has the shape \(3,\): give it to another"):
        Muon([torch.zeros(3)])


def test_a_weight_without_gradient_stays_and_a_closure_is_asked():
    still, moving = drawn(2, 2).requires_grad_(), drawn(3, 3).requires_grad_()
    optimizer = Muon([still, moving])

    def loss():
        optimizer.zero_grad()
        value = moving.square().sum()
        value.backward()
        return value

    first = optimizer.step(loss).item()
    assert torch.equal(still, drawn(2, 2)) and loss().item() < first


def test_steps_like_adams_are_as_large_as_promised():
    weight = torch.zeros(32, 64, requires_grad=True)
    weight.grad = drawn(32, 64)
    Muon([weight], lr=0.01, like_adam=True).step()
    size = weight.detach().square().mean().sqrt().item()
    assert size == pytest.approx(0.2 * 0.01, rel=0.25)
    assert (weight.detach() * weight.grad).sum() < 0
