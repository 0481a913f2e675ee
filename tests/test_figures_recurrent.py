"""The cells of lesson 07 in three steps, and a sonnet coloured by one unit."""

import pytest
import torch
from matplotlib.image import AxesImage

from helpers.figures import recurrent as draw


@pytest.mark.parametrize("cell", ["rnn", "lstm", "gru"])
def test_each_step_of_a_cell_has_more_in_black_and_the_last_one_all(cell):
    later = [
        sum(text.get_color() == draw.LATER for text in axes.texts if text.get_text())
        for axes in draw.cell_steps(cell).axes
    ]
    assert later[0] > later[1] > later[2] == 0
    for axes in draw.cell_steps(cell).axes:
        assert any(text.get_color() == draw.NEW for text in axes.texts)


def test_the_lstm_shows_three_gates_and_a_tanh_for_what_is_written():
    words = [text.get_text() for text in draw.cell_steps("lstm").axes[2].texts]
    assert [words.count(one) for one in ("σ", "tanh", "⊙", "+")] == [3, 2, 3, 1]


def test_a_letter_has_the_colour_of_the_state_after_it():
    text = "ab\ncde"
    states = {"LSTM": torch.arange(12.0).reshape(6, 2) / 12, "GRU": torch.zeros(6, 2)}
    scene = draw.one_unit(text, states, ("LSTM", 1))
    scene.start()
    (image,) = (one for one in scene.moving if isinstance(one, AxesImage))
    field = image.get_array().filled(float("nan"))
    shown = torch.tensor(field)
    torch.testing.assert_close(shown[0, :2], states["LSTM"][:2, 1], check_dtype=False)
    # the line break itself has no field
    torch.testing.assert_close(shown[1], states["LSTM"][3:, 1], check_dtype=False)
    assert shown[0, 2].isnan()
    scene.move(network="GRU", unit=0)
    assert (torch.tensor(image.get_array().filled(0)) == 0).all()
