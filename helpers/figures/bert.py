"""Figures of lesson 09: who sees what, words in context, and how a classifier does."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch
from torch import Tensor

from helpers.figures import (
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    RED,
    WEIGHTS_MAP,
    canvas,
)
from helpers.figures.masks import mask_grid


def contexts(words: Sequence[str]) -> Figure:
    """Draw which words each word's vector may use: BERT, GPT and ELMo's two LSTMs."""
    import torch

    size = len(words)
    everything = torch.ones(size, size, dtype=torch.bool)
    panels = {
        "BERT: both sides": everything,
        "GPT: the left side": everything.tril(),
        "ELMo, one LSTM": everything.tril(),
        "ELMo, the other": everything.triu(),
    }
    figure, axes = canvas(13, 4.3, columns=4)
    for one, (title, mask) in zip(axes, panels.items(), strict=True):
        mask_grid(one, mask, words, words, title)
        one.set(xlabel="word that is seen", ylabel="vector of this word")
    for one in axes[1:]:
        one.set(ylabel="")
        one.set_yticklabels([])
    return figure


def similarities(maps: Mapping[str, Tensor], names: Sequence[str]) -> Figure:
    """Draw cosines between the same things, title -> (N, N), in one colour scale."""
    figure, panels = canvas(4.6 * len(maps) + 1.4, 4.4, columns=len(maps))
    for axes, (title, table) in zip(panels, maps.items(), strict=True):
        cosines = table.detach().numpy()
        axes.imshow(cosines, cmap=WEIGHTS_MAP, vmin=0, vmax=1)
        axes.set(title=title)
        axes.set_xticks(range(len(names)), names, rotation=35, ha="right")
        axes.set_yticks(range(len(names)), names)
        for (row, column), value in np.ndenumerate(cosines):
            colour = "white" if value > 0.6 else "black"
            place = {"ha": "center", "va": "center", "color": colour}
            axes.text(column, row, f"{value:.2f}", **place)
    for axes in panels[1:]:
        axes.set_yticklabels([])
    return figure


def falling(
    losses: Sequence[float], floor: float, start: float, over: int = 20
) -> Figure:
    """Draw the loss of guessing words, with two lines to compare it with.

    Args:
        losses: of each step
        floor: what word counts alone reach
        start: what knowing nothing gives
        over: steps of which the thick line shows the mean
    """
    figure, (axes,) = canvas(7, 3.2)
    axes.plot(range(1, len(losses) + 1), losses, color=BLUE, alpha=0.25, lw=1)
    window = min(over, len(losses))
    means = np.convolve(losses, np.ones(window) / window, "valid")
    axes.plot(
        range(window, len(losses) + 1),
        means,
        color=BLUE,
        lw=2,
        label=f"the loss, mean of {window} steps",
    )
    axes.axhline(
        start, color=GREY, linestyle="--", label=f"no idea: ln V = {start:.2f}"
    )
    axes.axhline(floor, color=ORANGE, label=f"word counts alone: {floor:.2f}")
    axes.set(xlabel="step", ylabel="loss at hidden words", ylim=(0, None))
    axes.legend(frameon=False, ncols=3, loc="lower center", bbox_to_anchor=(0.5, 1))
    return figure


def two_heads() -> Figure:
    """Draw BERT with its two heads: one that guesses words, one that gives stars."""
    figure, (axes,) = canvas(9, 4.6)
    axes.set(xlim=(-0.3, 18.4), ylim=(-0.6, 8.9))
    axes.axis("off")
    tokens = ("[CLS]", "the", "soup", "was", "[MASK]", "[SEP]")
    places = [2.0 + 1.75 * n for n in range(len(tokens))]
    for at, token in zip(places, tokens, strict=True):
        axes.text(at, 0.1, token, ha="center", va="center", fontsize=10)
        _arrow(axes, (at, 0.45), (at, 1.35))
        _arrow(axes, (at, 3.5), (at, 4.3))
        _part(axes, (at, 4.65), (1.2, 0.6), "", GREEN)
    middle = (places[0] + places[-1]) / 2
    _part(axes, (middle, 2.45), (11.0, 2.0), "", BLUE)
    axes.text(middle, 2.75, "BERT: embeddings and 6 encoder layers", ha="center",
              va="center", fontsize=10)  # fmt: skip
    axes.text(middle, 2.0, "pretrained weights, the same for every head", ha="center",
              va="center", fontsize=8.5, color=GREY)  # fmt: skip
    _label(axes, (0.75, 0.9), "ids (B, T)")
    _label(axes, (0.6, 4.65), "(B, T, D)")
    word, stars = places[4], places[1] + 0.6
    _arrow(axes, (word, 4.98), (word, 6.05))
    _part(axes, (word, 6.6), (3.9, 1.0), "masked language head", ORANGE)
    _arrow(axes, (word, 7.12), (word, 7.95))
    axes.text(word, 8.3, "a score for each of V words", ha="center", fontsize=9)
    _label(axes, (word + 0.2, 5.5), "(N, D)", "left")
    _label(axes, (word + 0.2, 7.5), "(N, V)", "left")
    for at in places:
        axes.plot([at, stars], [4.98, 5.75], color=GREY, lw=0.7, zorder=0)
    _part(axes, (stars, 6.6), (3.9, 1.0), "mean, then linear", RED)
    _arrow(axes, (stars, 5.75), (stars, 6.08))
    _arrow(axes, (stars, 7.12), (stars, 7.95))
    axes.text(stars, 8.3, "a score for each of 5 labels", ha="center", fontsize=9)
    _label(axes, (stars - 0.2, 5.75), "(B, D)", "right")
    _label(axes, (stars - 0.2, 7.5), "(B, 5)", "right")
    for height, text in (
        (6.6, "a head, with initial weights:\nrandom until it is trained"),
        (4.65, "one vector in context\nfor each token"),
        (2.45, "trained before,\nwithout your labels"),
    ):
        axes.text(13.5, height, text, va="center", fontsize=9, color="#333333")
    return figure


def _arrow(axes: Axes, start: tuple, end: tuple) -> None:
    style = {"arrowstyle": "-|>", "color": "#555555", "lw": 1.3, "shrinkA": 0,
             "shrinkB": 0}  # fmt: skip
    axes.annotate("", end, start, arrowprops=style, zorder=1)


def _part(axes: Axes, at: tuple, size: tuple, text: str, colour: str) -> None:
    wide, high = size
    corner = at[0] - wide / 2, at[1] - high / 2
    shape = FancyBboxPatch(
        corner, wide, high, boxstyle="round,pad=0,rounding_size=0.12",
        facecolor="white", edgecolor=colour, linewidth=1.8, zorder=2,
    )  # fmt: skip
    axes.add_patch(shape)
    axes.text(*at, text, ha="center", va="center", fontsize=10, zorder=3)


def _label(axes: Axes, at: tuple, text: str, side: str = "center") -> None:
    """A shape, beside the arrow that it belongs to."""
    axes.text(*at, text, ha=side, va="center", fontsize=8.5, color="#7A3E65")


def seeds(accuracies: Sequence[float], chance: float, title: str) -> Figure:
    """Draw the accuracy of each of some random heads, and chance."""
    figure, (axes,) = canvas(6.5, 2.2)
    axes.scatter(accuracies, [0] * len(accuracies), color=BLUE, alpha=0.6, s=60)
    axes.axvline(chance, color=GREY, linestyle="--", label=f"chance: {chance:.0%}")
    axes.set(title=title, xlabel="accuracy", xlim=(0, 1), yticks=[])
    axes.legend(frameon=False)
    return figure


def bars(
    accuracies: Mapping[str, float], errors: Sequence[float], chance: float
) -> Figure:
    """Draw accuracies, name -> share, with two standard errors to each side."""
    figure, (axes,) = canvas(8, 0.55 * len(accuracies) + 1.3)
    names, values = list(accuracies), list(accuracies.values())
    colours = [BLUE if "fine-tuned" in name else GREY for name in names]
    reach = [2 * error for error in errors]
    axes.barh(names, values, color=colours, xerr=reach, ecolor="black", capsize=3)
    axes.axvline(chance, color="black", linestyle=":", label=f"chance: {chance:.0%}")
    axes.invert_yaxis()
    axes.set(xlabel="accuracy on the test reviews, with 2 standard errors")
    axes.set(xlim=(0, 1))
    axes.legend(frameon=False, loc="lower right")
    return figure


def confusions(tables: Mapping[str, np.ndarray], names: Sequence[str]) -> Figure:
    """Draw confusion matrices, title -> counts (true label, guess)."""
    figure, panels = canvas(4.6 * len(tables), 4.3, columns=len(tables))
    top = max(table.max() for table in tables.values())
    for axes, (title, table) in zip(panels, tables.items(), strict=True):
        axes.imshow(table, cmap=WEIGHTS_MAP, vmin=0, vmax=top)
        axes.set(title=title, xlabel="guess", ylabel="written as")
        axes.set_xticks(range(len(names)), names, rotation=35, ha="right")
        axes.set_yticks(range(len(names)), names)
        for (row, column), count in np.ndenumerate(table):
            colour = "white" if count > 0.6 * top else "black"
            place = {"ha": "center", "va": "center", "color": colour}
            axes.text(column, row, str(count), **place)
    for axes in panels[1:]:
        axes.set(ylabel="")
    return figure


def learning_curves(
    curves: Mapping[str, Mapping[int, float]], error: float, chance: float
) -> Figure:
    """Draw accuracy against the number of training reviews, name -> {count: share}.

    Args:
        curves: what was measured
        error: standard error of a point
        chance: accuracy of guessing
    """
    figure, (axes,) = canvas(7, 3.4)
    styles = ((BLUE, "o-"), (ORANGE, "s--"), (GREEN, "^:"))
    for (name, points), (colour, style) in zip(curves.items(), styles, strict=False):
        counts, values = list(points), list(points.values())
        axes.errorbar(
            counts, values, yerr=2 * error, fmt=style, color=colour, label=name,
            capsize=3,
        )  # fmt: skip
    axes.axhline(chance, color=GREY, linestyle=":", label=f"chance: {chance:.0%}")
    axes.set(xscale="log", xlabel="training reviews", ylabel="accuracy", ylim=(0, 0.8))
    ticks = sorted({count for points in curves.values() for count in points})
    axes.set_xticks(ticks, map(str, ticks))
    axes.minorticks_off()
    axes.legend(frameon=False, loc="lower right")
    return figure


def padding_shares(shares: Mapping[str, float]) -> Figure:
    """Draw which share of what a model computes is padding, name -> share."""
    figure, (axes,) = canvas(7.5, 0.5 * len(shares) + 1.1)
    names = list(shares)
    filled = [shares[name] for name in names]
    axes.barh(names, [1 - share for share in filled], color=BLUE, label="words")
    axes.barh(
        names, filled, left=[1 - share for share in filled], color="white",
        edgecolor=GREY, hatch="//", label="padding",
    )  # fmt: skip
    axes.invert_yaxis()
    axes.set(xlabel="share of all places", xlim=(0, 1))
    axes.legend(frameon=False, ncols=2, loc="lower center", bbox_to_anchor=(0.5, 1))
    return figure
