"""Figures of lesson 02: the look-up, the scale, the cost, one sentence in motion."""

import io
from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.figure import Figure
from PIL import Image
from torch import Tensor

from helpers.figures import BLUE, GREEN, GREY, ORANGE, RED, canvas, heat_map, png


def lookup(
    query: str,
    keys: Sequence[str],
    values: Sequence[str],
    weights: Sequence[float],
    result: str,
) -> Figure:
    """Draw a soft dictionary: one query, its weight on every key, what comes back."""
    figure, (axes,) = canvas(8, 0.75 * len(keys) + 0.9)
    axes.set(xlim=(0, 10), ylim=(-0.7, len(keys) - 0.1))
    axes.axis("off")
    middle = (len(keys) - 1) / 2
    for place, (key, value, weight) in enumerate(
        zip(keys, values, weights, strict=True)
    ):
        height = len(keys) - 1 - place
        line = {"color": BLUE, "alpha": 0.15 + 0.85 * weight, "zorder": 1}
        axes.plot([1.7, 3.6], [middle, height], linewidth=0.5 + 9 * weight, **line)
        axes.plot([6.7, 8.3], [height, middle], linewidth=0.5 + 9 * weight, **line)
        _label(axes, 4.4, height, key, GREEN)
        _label(axes, 6.2, height, value, ORANGE)
        axes.text(5.3, height, f"{weight:.2f}", ha="center", va="center", color=BLUE)
    _label(axes, 0.9, middle, query, BLUE)
    _label(axes, 9.2, middle, result, ORANGE)
    for at, name in ((0.9, "query"), (4.4, "keys"), (5.3, "weights"), (6.2, "values")):
        axes.text(at, -0.65, name, ha="center", color=GREY)
    axes.text(9.2, -0.65, "output", ha="center", color=GREY)
    return figure


def _label(axes, at: float, height: float, text: str, colour: str) -> None:
    box = {"boxstyle": "round,pad=0.35", "facecolor": "white", "edgecolor": colour}
    axes.text(at, height, text, ha="center", va="center", bbox=box, zorder=2)


def scale_curves(
    widths: Sequence[int], measured: Mapping[str, Sequence[float]]
) -> Figure:
    """Draw variance, largest weight and slope against d_head, raw and scaled.

    Args:
        widths: the sizes d_head that were measured
        measured: "variance", "largest" and "slope", each also with " scaled" added
    """
    figure, panels = canvas(9.5, 2.9, columns=3)
    titles = {
        "variance": "variance of the scores",
        "largest": "largest weight of a row",
        "slope": "mean slope p (1 - p)",
    }
    for axes, (name, title) in zip(panels, titles.items(), strict=True):
        axes.plot(widths, measured[name], "o-", color=RED, label="raw")
        scaled = measured[f"{name} scaled"]
        axes.plot(widths, scaled, "s--", color=BLUE, label="divided by √d_head")
        axes.set_xscale("log", base=2)
        axes.set(title=title, xlabel="d_head")
    panels[0].set_yscale("log")
    panels[0].legend(frameon=False)
    return figure


def cost_curves(
    lengths: Sequence[int],
    quadratic: Sequence[float],
    linear: Sequence[float],
    megabytes: Sequence[float],
) -> Figure:
    """Draw measured seconds of the two parts of a layer, and the size of the scores."""
    figure, (time, memory) = canvas(9, 3.2, columns=2)
    label = "scores, softmax, mixing"
    time.plot(lengths, quadratic, "o-", color=RED, label=label)
    label = "projections and feed-forward"
    time.plot(lengths, linear, "s--", color=BLUE, label=label)
    memory.plot(lengths, megabytes, "o-", color=RED)
    for axes, title in ((time, "seconds, one layer"), (memory, "MB of scores")):
        axes.set(title=title, xlabel="length", xscale="log", yscale="log")
        axes.set_xticks(lengths, [str(length) for length in lengths])
        axes.minorticks_off()
    time.legend(frameon=False)
    return figure


def in_motion(weights: Tensor, words: Sequence[str], milliseconds: int = 900) -> bytes:
    """Draw attention word by word, as an animated PNG.

    Where animation is not shown, the first frame stays: the whole map.

    Args:
        weights: (T, T), row = query
        words: the T words
        milliseconds: how long each frame stays
    """
    table = weights.detach().cpu().numpy()
    frames = [
        _whole(table, words),
        *(_frame(table, words, n) for n in range(len(words))),
    ]
    pictures = [
        Image.open(io.BytesIO(png(frame, 1))).convert("RGB") for frame in frames
    ]
    small = [picture.quantize(64) for picture in pictures]
    buffer = io.BytesIO()
    small[0].save(
        buffer,
        format="PNG",
        save_all=True,
        append_images=small[1:],
        duration=milliseconds,
        loop=0,
    )
    return buffer.getvalue()


def _whole(table: np.ndarray, words: Sequence[str]) -> Figure:
    figure, (axes,) = canvas(7, 3.6)
    heat_map(axes, table, words, words, "all words", numbers=False)
    return figure


def _frame(table: np.ndarray, words: Sequence[str], asking: int) -> Figure:
    """One word asks; a line to every word, as thick as its weight."""
    figure, (axes,) = canvas(7, 3.6)
    places = np.linspace(0.6, 9.4, len(words))
    axes.set(xlim=(0, 10), ylim=(-0.4, 2.5))
    axes.axis("off")
    for place, (at, word) in enumerate(zip(places, words, strict=True)):
        weight = table[asking, place]
        line = {"linewidth": 0.3 + 12 * weight, "alpha": 0.2 + 0.8 * weight}
        axes.plot([places[asking], at], [1.85, 0.35], color=BLUE, **line)
        axes.text(at, 0, f"{word}\n{weight:.2f}", ha="center", va="center")
        style = (
            {"weight": "bold", "color": BLUE} if place == asking else {"color": GREY}
        )
        axes.text(at, 2.1, word, ha="center", va="center", **style)
    axes.text(0, 2.45, "query", color=GREY)
    axes.text(0, -0.4, "key", color=GREY)
    return figure
