"""Recurrent layers against torch's on the same weights, and the model of characters."""

import pytest
import torch

from helpers.models.recurrent import (
    CELLS,
    CharacterModel,
    Recurrent,
    detached,
    influence,
)


def both(cell, seed=0):
    """Our layer and torch's, in float64, with the same weights."""
    torch.manual_seed(seed)
    ours = Recurrent(5, 7, cell).double()
    theirs = CELLS[cell][2](5, 7, batch_first=True).double()
    ours.load_state_dict(theirs.state_dict())
    return ours, theirs


def random_state(cell, batch):
    h, c = torch.randn(2, 1, batch, 7, dtype=torch.float64)
    return (h, c) if cell == "lstm" else h


def parts(state):
    return state if isinstance(state, tuple) else (state,)


@pytest.mark.parametrize("cell", CELLS)
@pytest.mark.parametrize("given", [False, True])
def test_a_layer_equals_torchs(cell, given):
    ours, theirs = both(cell)
    x = torch.randn(3, 11, 5, dtype=torch.float64)
    state = random_state(cell, 3) if given else None
    (out, last), (out_, last_) = ours(x, state), theirs(x, state)
    torch.testing.assert_close(out, out_, rtol=0, atol=1e-9)
    for one, other in zip(parts(last), parts(last_), strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=1e-9)


@pytest.mark.parametrize("cell", CELLS)
def test_gradients_equal_torchs(cell):
    ours, theirs = both(cell)
    x = torch.randn(2, 6, 5, dtype=torch.float64)
    for layer in (ours, theirs):
        out, last = layer(x)
        (out.square().sum() + parts(last)[-1].sum()).backward()
    named = dict(theirs.named_parameters())
    for name, weight in ours.named_parameters():
        torch.testing.assert_close(weight.grad, named[name].grad, rtol=0, atol=1e-9)


@pytest.mark.parametrize("cell", CELLS)
def test_two_halves_with_the_state_between_are_the_whole(cell):
    ours, _ = both(cell)
    x = torch.randn(2, 9, 5, dtype=torch.float64)
    whole, _ = ours(x)
    first, state = ours(x[:, :4])
    second, _ = ours(x[:, 4:], state)
    torch.testing.assert_close(torch.cat([first, second], 1), whole, rtol=0, atol=1e-9)


@pytest.mark.parametrize("cell", CELLS)
def test_new_weights_lie_within_torchs_bounds(cell):
    torch.manual_seed(1)
    for weight in Recurrent(5, 16, cell).parameters():
        assert weight.abs().max() <= 0.25
        assert weight.abs().max() > 0.15  # the smallest has 16 numbers: odds 5e-4


@pytest.mark.parametrize("cell", CELLS)
def test_a_character_model_is_the_layer_on_one_hot_characters(cell):
    torch.manual_seed(2)
    model = CharacterModel(13, 7, cell, dropout=0.5).double().eval()
    ours = Recurrent(13, 7, cell).double()
    ours.load_state_dict(model.recurrent.state_dict())
    ids = torch.randint(13, (2, 6))
    logits, last = model(ids)
    hidden, last_ = ours(torch.eye(13, dtype=torch.float64)[ids])
    assert logits.shape == (2, 6, 13)
    torch.testing.assert_close(logits, model.output(hidden), rtol=0, atol=1e-9)
    for one, other in zip(parts(last), parts(last_), strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=1e-9)


def test_dropout_acts_in_training_only():
    torch.manual_seed(3)
    model, ids = CharacterModel(5, 64, dropout=0.5), torch.randint(5, (1, 9))
    assert not torch.equal(model(ids)[0], model(ids)[0])
    model.eval()
    assert torch.equal(model(ids)[0], model(ids)[0])


@pytest.mark.parametrize(
    ("cell", "blocks"), [("rnn", 1), ("lstm", 4), ("gru", 3)]
)  # fmt: skip
def test_parameters_are_what_the_formulas_say(cell, blocks):
    model = CharacterModel(61, 512, cell)
    count = sum(weight.numel() for weight in model.parameters())
    assert count == blocks * (61 * 512 + 512**2 + 2 * 512) + 512 * 61 + 61
    if cell == "rnn":
        assert count == 325_181 + 512  # torch keeps two biases where one would do


@pytest.mark.parametrize("cell", CELLS)
def test_a_detached_state_is_the_same_without_history(cell):
    model = CharacterModel(5, 7, cell)
    _, state = model(torch.tensor([[1, 2, 3]]))
    for before, after in zip(parts(state), parts(detached(state)), strict=True):
        assert torch.equal(before, after)
        assert before.requires_grad and not after.requires_grad
    assert type(detached(state)) is type(state)
    assert detached(None) is None


@pytest.mark.parametrize("make", [Recurrent, CharacterModel])
def test_an_unknown_cell_is_refused(make):
    with pytest.raises(ValueError, match="cell='tree' is not one of rnn, lstm, gru"):
        make(3, 4, "tree")


@pytest.mark.parametrize("cell", CELLS)
def test_influence_is_the_derivative_through_torchs_layer(cell):
    torch.manual_seed(4)
    model = CharacterModel(5, 6, cell).double()
    ids = torch.randint(5, (2, 9))
    found = influence(model, ids, warm_up=4)
    assert set(found) == ({"h", "c"} if cell == "lstm" else {"h"})
    x = torch.eye(5, dtype=torch.float64)[ids]
    for row in range(2):
        _, state = model.recurrent(x[row : row + 1, :4])
        for length in (1, 5):
            piece = x[row : row + 1, 4 : 4 + length]

            def last(*first, piece=piece):
                given = first if cell == "lstm" else first[0]
                return model.recurrent(piece, given)[0][0, -1]

            slopes = torch.autograd.functional.jacobian(last, parts(state))
            for name, slope in zip(("h", "c"), slopes, strict=False):
                norm = found[name][row, length - 1]
                torch.testing.assert_close(
                    norm, slope.norm() / 6**0.5, rtol=0, atol=1e-9
                )
