"""Figures of lesson 07: activations, memory of a series, an RNN, curves, influence."""

from collections.abc import Mapping, Sequence

import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from torch import Tensor

from helpers.experiments.character_models import CharacterHistory
from helpers.figures import BLUE, GREEN, GREY, ORANGE, RED, canvas

# Name -> colour, line and marker: three cells, told apart in grey too.
CELL_STYLES = {
    "rnn": {"color": ORANGE, "linestyle": "--", "marker": "s"},
    "lstm": {"color": BLUE, "linestyle": "-", "marker": "o"},
    "gru": {"color": GREEN, "linestyle": "-.", "marker": "^"},
}


def activations() -> Figure:
    """Draw sigmoid, tanh and ReLU, each with its slope."""
    x = torch.linspace(-4, 4, 201, requires_grad=True)
    figure, panels = canvas(9, 2.7, columns=3)
    functions = {"sigmoid": torch.sigmoid, "tanh": torch.tanh, "ReLU": torch.relu}
    for axes, (name, function) in zip(panels, functions.items(), strict=True):
        (slope,) = torch.autograd.grad(function(x).sum(), x)
        axes.axhline(0, color=GREY, linewidth=0.6)
        axes.plot(x.detach(), function(x).detach(), color=BLUE, label="value")
        axes.plot(x.detach(), slope, "--", color=RED, label="slope")
        axes.set(title=name, xlabel="x", ylim=(-1.2, 2.2))
    panels[0].legend(frameon=False, loc="upper left")
    return figure


def echoes(series: Mapping[str, Sequence[float]]) -> Figure:
    """Draw what is left of one push after each step: name -> values."""
    figure, panels = canvas(9, 2.4, columns=len(series))
    for axes, (name, values) in zip(panels, series.items(), strict=True):
        places = range(len(values))
        axes.vlines(places, 0, values, color=BLUE)
        axes.plot(places, values, "o", color=BLUE, markersize=5)
        axes.axhline(0, color=GREY, linewidth=0.6)
        axes.set(title=name, xlabel="step t", ylim=(-0.05, 1.15))
    panels[0].set_ylabel("value")
    return figure


def _box(axes: Axes, place: tuple[float, float], text: str, colour: str) -> None:
    box = {"boxstyle": "round,pad=0.45", "facecolor": "white", "edgecolor": colour}
    axes.text(*place, text, ha="center", va="center", bbox=box)


def unrolled(read: str, states: Sequence[str] = ()) -> Figure:
    """Draw an RNN that reads a word, one column per character, and predicts the next.

    Args:
        read: the word; its last character is only predicted
        states: names of the states, h_0 first
    """
    steps = len(read) - 1
    names = states or [f"$h_{t}$" for t in range(steps + 1)]
    figure, (axes,) = canvas(1.5 * steps + 2.4, 3.0)
    axes.set(xlim=(-0.75, steps + 0.8), ylim=(-0.5, 2.5))
    axes.axis("off")
    _box(axes, (0, 1), names[0], GREY)
    arrow = {"arrowstyle": "-|>", "color": "black", "shrinkA": 12, "shrinkB": 12}
    for t in range(1, steps + 1):
        _box(axes, (t, 0), repr(read[t - 1]), ORANGE)
        _box(axes, (t, 1), names[t], BLUE)
        _box(axes, (t, 2), repr(read[t]), GREEN)
        for begin, end in (((t - 1, 1), (t, 1)), ((t, 0), (t, 1)), ((t, 1), (t, 2))):
            axes.annotate("", end, begin, arrowprops=arrow)
    for height, name in ((0.5, "$W_x$"), (1.5, "$W_y$")):
        axes.text(steps + 0.12, height, name, va="center")
    axes.text(0.5, 1.2, "$W_h$", ha="center")
    for height, name in ((0, "reads"), (1, "remembers"), (2, "predicts")):
        axes.text(steps + 0.4, height, name, va="center", color=GREY)
    return figure


def learning_curves(
    histories: Mapping[str, CharacterHistory], levels: Mapping[str, float]
) -> Figure:
    """Draw bits per held-out character against steps and against seconds.

    Args:
        histories: cell -> what `train_on_characters` returned
        levels: name -> bits that a simpler model needs, drawn as lines
    """
    figure, panels = canvas(9, 3.6, columns=2)
    for name, history in histories.items():
        for axes, along in zip(panels, (history.steps, history.times), strict=True):
            style = {**CELL_STYLES[name], "markersize": 4, "label": name.upper()}
            axes.plot(along[1:], history.bits[1:], **style)
    for axes, along in zip(panels, ("steps", "seconds of training"), strict=True):
        for height in levels.values():
            axes.axhline(height, color="black", linewidth=0.8, linestyle=":")
        axes.set(xlabel=along, xlim=(0, None))
    for name, height in levels.items():  # on the right, where no curve ends so high
        place = {"xy": (0.99, height), "xycoords": ("axes fraction", "data")}
        above = {"xytext": (0, 3), "textcoords": "offset points", "ha": "right"}
        panels[1].annotate(name, **place, **above, fontsize=8)
    panels[0].set_ylabel("bits per held-out character")
    panels[1].legend(frameon=False)
    return figure


def influences(curves: Mapping[str, tuple[Tensor, dict]]) -> Figure:
    """Draw how the influence of a state falls with the distance, on a log scale.

    Args:
        curves: label -> (the norm for each distance from 1 on, style of the line)
    """
    figure, (axes,) = canvas(7.5, 3.8)
    for name, (norms, style) in curves.items():
        axes.plot(range(1, len(norms) + 1), norms, label=name, **style)
    axes.axhline(1, color=GREY, linewidth=0.6)
    axes.set(xlabel="distance in characters", ylabel="influence on $h_t$")
    axes.set(yscale="log", xlim=(0, None))
    axes.legend(frameon=False, loc="lower left")
    return figure
