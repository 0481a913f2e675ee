"""Figures of lesson 07: cells in steps, curves, what a unit knows, influence."""

from collections.abc import Mapping, Sequence

import numpy as np
import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Circle, FancyBboxPatch
from torch import Tensor

from helpers.experiments.character_models import CharacterHistory
from helpers.figures import BLUE, GREEN, GREY, ORANGE, RED, SIGNED_MAP, canvas
from helpers.figures.play import QUICK, Choice, Labels, Scene, Slider

Point = tuple[float, float]

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


def influences(typical: Mapping[tuple[str, str], Tensor]) -> Figure:
    """Draw how the influence of a state falls with the distance, on a log scale.

    Args:
        typical: cell and part of its state, such as ("lstm", "c") -> the norm for each
            distance from 1 on; notebooks of the first edition give label -> (norms,
            style of the line)
    """
    figure, (axes,) = canvas(7.5, 3.8)
    for name, norms in typical.items():
        if isinstance(name, str):
            label, (norms, style) = name, norms
        else:
            cell, part = name
            style = {**CELL_STYLES[cell], "marker": "" if part == "h" else "."}
            label = f"{cell.upper()}, by ${part}_0$"
        axes.plot(range(1, len(norms) + 1), norms, label=label, **style)
    axes.axhline(1, color=GREY, linewidth=0.6)
    axes.set(xlabel="distance in characters", ylabel="influence on $h_t$")
    axes.set(yscale="log", xlim=(0, None))
    axes.legend(frameon=False, loc="lower left")
    return figure


# --- one step of a cell, drawn in three -----------------------------------------------

NEW, OLD, LATER = BLUE, "#444444", "#d4d4d4"  # in this panel, before it, after it


class _Panel:
    """One of the drawings: what belongs to a later one is pale."""

    def __init__(self, axes: Axes, now: int, title: str) -> None:
        self.axes, self.now = axes, now
        axes.set(xlim=(0, 10), ylim=(-0.4, 7.2), aspect="equal")
        axes.set_title(title, fontsize=10)
        axes.axis("off")

    def _colour(self, stage: int) -> str:
        return OLD if stage < self.now else NEW if stage == self.now else LATER

    def box(self, at: Point, text: str, stage: int) -> None:
        """A small layer: its own weights, and a function."""
        colour, (x, y) = self._colour(stage), at
        shape = FancyBboxPatch(
            (x - 0.62, y - 0.36),
            1.24,
            0.72,
            boxstyle="round,pad=0.06",
            facecolor="white",
            edgecolor=colour,
            zorder=3,
        )
        self.axes.add_patch(shape)
        self.word(at, text, stage)

    def dot(self, at: Point, text: str, stage: int) -> None:
        """An operation on two vectors, entry by entry, or a function."""
        colour = self._colour(stage)
        style = {"facecolor": "white", "edgecolor": colour, "zorder": 3}
        self.axes.add_patch(Circle(at, 0.42, **style))
        self.word(at, text, stage)

    def word(self, at: Point, text: str, stage: int, size: float = 9) -> None:
        style = {"ha": "center", "va": "center", "fontsize": size, "zorder": 4}
        self.axes.text(*at, text, color=self._colour(stage), **style)

    def arrow(self, start: Point, end: Point, stage: int, *, head: bool = True) -> None:
        style = {"arrowstyle": "-|>" if head else "-", "shrinkA": 0, "shrinkB": 0}
        arrow = {**style, "color": self._colour(stage), "linewidth": 1.2}
        self.axes.annotate("", end, start, arrowprops=arrow)


def _rnn(panel: _Panel) -> None:
    panel.word((0.4, 1.0), "$x$\n(B, D)", 1)
    panel.box((2.9, 1.0), "$W_x$", 1)
    panel.arrow((1.2, 1.0), (2.2, 1.0), 1)
    panel.arrow((3.6, 1.0), (5.0, 1.0), 1, head=False)
    panel.arrow((5.0, 1.0), (5.0, 3.5), 1)
    panel.word((5.9, 1.9), "(B, N)", 1, 8)
    panel.word((0.4, 4.0), "$h$\n(B, N)", 2)
    panel.box((2.9, 4.0), "$W_h$", 2)
    panel.arrow((1.2, 4.0), (2.2, 4.0), 2)
    panel.arrow((3.6, 4.0), (4.5, 4.0), 2)
    panel.dot((5.0, 4.0), "+", 2)
    panel.word((5.0, 5.5), "$b$", 2)
    panel.arrow((5.0, 5.2), (5.0, 4.5), 2)
    panel.arrow((5.5, 4.0), (6.3, 4.0), 3)
    panel.box((7.0, 4.0), "tanh", 3)
    panel.arrow((7.7, 4.0), (8.7, 4.0), 3)
    panel.word((9.4, 4.0), "$h'$\n(B, N)", 3)


def _lstm(panel: _Panel) -> None:
    first, gate, cell = 0.2, 1.9, 5.9  # heights: what is read, the gates, the cell
    panel.word((0.1, cell), "$c$", 1)
    panel.arrow((0.5, cell), (1.85, cell), 1)
    panel.word((1.1, cell + 0.5), "(B, N)", 1, 8)
    panel.dot((2.3, cell), "⊙", 1)
    for start, place, name, function, stage in (
        (0.4, 2.3, "f", "σ", 1),
        (2.3, 4.0, "i", "σ", 2),
        (4.0, 5.6, "g", "tanh", 2),
        (5.6, 8.9, "o", "σ", 3),
    ):
        panel.box((place, gate), function, stage)
        panel.word((place - 0.35, gate + 0.8), f"${name}$", stage, 10)
        panel.arrow((place, first), (place, gate - 0.45), stage)
        panel.arrow((start, first), (place, first), stage, head=False)
    panel.word((0.1, first + 0.3), "$x, h$", 1)
    panel.arrow((2.3, gate + 0.45), (2.3, cell - 0.45), 1)
    middle = (5.6, 4.2)
    panel.arrow((4.0, gate + 0.45), (4.0, middle[1]), 2, head=False)
    panel.arrow((4.0, middle[1]), (middle[0] - 0.45, middle[1]), 2)
    panel.arrow((5.6, gate + 0.45), (5.6, middle[1] - 0.45), 2)
    panel.dot(middle, "⊙", 2)
    panel.arrow((5.6, middle[1] + 0.45), (5.6, cell - 0.45), 2)
    panel.arrow((2.75, cell), (5.15, cell), 1)
    panel.dot((5.6, cell), "+", 2)
    panel.arrow((6.05, cell), (9.5, cell), 2)
    panel.word((9.85, cell), "$c'$", 2)
    panel.arrow((7.3, cell), (7.3, middle[1] + 0.3), 3, head=False)
    panel.arrow((7.3, middle[1]), (8.45, middle[1]), 3)
    panel.box((7.3, middle[1]), "tanh", 3)
    panel.arrow((8.9, gate + 0.45), (8.9, middle[1] - 0.45), 3)
    panel.dot((8.9, middle[1]), "⊙", 3)
    panel.arrow((9.32, middle[1]), (9.65, middle[1]), 3)
    panel.word((9.95, middle[1]), "$h'$", 3)


def _gru(panel: _Panel) -> None:
    first, gate, state = 0.2, 1.9, 5.9
    panel.word((0.1, state), "$h$", 1)
    panel.arrow((0.4, state), (1.1, state), 1, head=False)
    panel.arrow((1.1, state), (1.1, 4.2), 1, head=False)
    panel.arrow((1.1, 4.2), (1.85, 4.2), 1)
    panel.word((1.5, 4.65), "$W_h$", 1)
    panel.dot((2.3, 4.2), "⊙", 1)
    panel.word((0.1, first + 0.3), "$x, h$", 1)
    for place, name, stage, start in ((2.3, "r", 1, 0.4), (7.7, "z", 3, 5.0)):
        panel.box((place, gate), "σ", stage)
        panel.word((place - 0.35, gate + 0.8), f"${name}$", stage, 10)
        panel.arrow((start, first), (place, first), stage, head=False)
        panel.arrow((place, first), (place, gate - 0.45), stage)
    panel.arrow((2.3, gate + 0.45), (2.3, 3.75), 1)
    panel.arrow((2.75, 4.2), (4.3, 4.2), 2)
    panel.box((5.0, 4.2), "tanh", 2)
    panel.word((4.4, 4.9), "$n$", 2, 10)
    panel.arrow((2.3, first), (5.0, first), 2, head=False)
    panel.arrow((5.0, first), (5.0, 3.75), 2)
    panel.word((5.55, 2.9), "$W_x x$", 2)
    panel.arrow((5.7, 4.2), (7.25, 4.2), 3)
    panel.dot((7.7, 4.2), "⊙", 3)
    panel.arrow((7.7, gate + 0.45), (7.7, 3.75), 3)
    panel.word((8.35, 3.15), "$1-z$", 3)
    panel.arrow((1.1, state), (5.15, state), 3)
    panel.dot((5.6, state), "⊙", 3)
    panel.word((5.6, 6.85), "$z$", 3)
    panel.arrow((5.6, 6.65), (5.6, 6.35), 3)
    panel.arrow((6.05, state), (7.25, state), 3)
    panel.arrow((7.7, 4.65), (7.7, state - 0.45), 3)
    panel.dot((7.7, state), "+", 3)
    panel.arrow((8.15, state), (9.5, state), 3)
    panel.word((9.85, state), "$h'$", 3)


STEPS = {
    "rnn": (_rnn, ("what is read", "what is remembered", "the new state")),
    "lstm": (_lstm, ("forget", "write", "show")),
    "gru": (_gru, ("reset", "the candidate", "old or new")),
}


def cell_steps(cell: str) -> Figure:
    """Draw one step of a cell three times, each time with more of it in black.

    Args:
        cell: "rnn", "lstm" or "gru"
    """
    paint, titles = STEPS[cell]
    figure, panels = canvas(9.5, 2.7, columns=3)
    for now, (axes, title) in enumerate(zip(panels, titles, strict=True), start=1):
        paint(_Panel(axes, now, f"{now}. {title}"))
    return figure


# --- what one unit knows --------------------------------------------------------------


def one_unit(text: str, states: Mapping[str, Tensor], start: tuple[str, int]) -> Scene:
    """Let the reader go through the hidden units of networks that have read a text.

    Args:
        text: T characters, in lines
        states: name of a network -> its state after each character, (T, N)
        start: the network and the unit, counted from 0, that are shown first
    """
    lines = text.splitlines()
    wide = max(map(len, lines))
    figure, (axes,) = canvas(9.5, 0.31 * len(lines) + 0.5)
    field = np.full((len(lines), wide), np.nan)
    style = {"cmap": SIGNED_MAP, "vmin": -1.7, "vmax": 1.7, "aspect": "auto", **QUICK}
    image = axes.imshow(field, **style)
    axes.axis("off")
    places = [(x, y) for y, line in enumerate(lines) for x in range(len(line))]
    letters = Labels(axes, 9, monospace=True)
    letters.write([lines[y][x] for x, y in places], places)
    spots = np.cumsum([0, *(len(line) + 1 for line in lines)])
    headline = Labels(axes, 10, "left")

    def move(network: str, unit: int) -> str:
        values = states[network][:, unit].tolist()
        for y, line in enumerate(lines):
            field[y, : len(line)] = values[spots[y] : spots[y] + len(line)]
        image.set_data(field)
        name = f"{network}, unit {unit}"
        headline.write([f"{name}: orange below 0, purple above"], [(-0.5, -1.1)])
        rows = [np.nanmean(field[:, : wide // 3]), np.nanmean(field[:, wide // 2 :])]
        return (
            f"A sonnet, each character on a colour: {name}, after reading it. Mean "
            f"over the beginnings of the lines {rows[0]:.2f}, over their ends "
            f"{rows[1]:.2f}."
        )

    axes.set_ylim(len(lines) - 0.5, -1.7)
    names, size = tuple(states), next(iter(states.values())).shape[1]
    controls = {
        "network": Choice("network", names, start[0]),
        "unit": Slider("unit", tuple(range(size)), start[1]),
    }
    return Scene(figure, controls, move, [image, letters, headline])
