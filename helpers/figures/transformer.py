"""Figures of lesson 05: the architecture and its three readings, who reaches whom."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch
from torch import Tensor, nn

from helpers.figures import (
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    PURPLE,
    RED,
    WEIGHTS_MAP,
    canvas,
    heat_map,
)

PALE = "#D0D0D0"  # what a model leaves out
LEFT, RIGHT = 2.5, 7.5  # the middle of each column
WIDE, HIGH = 3.3, 0.66  # a box
NORM = "add & norm"
COLOURS = {
    "self-attention": BLUE,
    "self-attention\nwithout the future": BLUE,
    "cross-attention": ORANGE,
    "feed-forward": GREEN,
    NORM: GREY,
    "embedding + positions": PURPLE,
    "final layer, softmax": RED,
}
ENCODER = ("self-attention", "feed-forward")
DECODER = ("self-attention\nwithout the future", "cross-attention", "feed-forward")
FIRST, STEP = 3.3, 2.1  # height of the first sublayer, distance to the next


def architecture() -> Figure:
    """Draw the Transformer, with the inputs of each attention and its mask.

    The encoder stands on the left, the decoder on the right.
    """
    figure, (axes,) = canvas(9.4, 7.4)
    _panel(axes, ENCODER, DECODER)
    axes.set_xlim(-3.1, 12.9)
    for at, number in ((LEFT, 0), (RIGHT, 0)):
        _letter(axes, (at + 0.55, FIRST + STEP * number - 0.57), "Q K V")
    _letter(axes, (RIGHT + 0.3, FIRST + STEP - 0.57), "Q", BLUE)
    edge, height = RIGHT - WIDE / 2, FIRST + STEP
    _letter(axes, (edge - 0.62, height + 0.45), "K", ORANGE)
    _letter(axes, (edge - 0.62, height - 0.48), "V", ORANGE)
    _mask(axes, LEFT, FIRST, "padding mask\nof the source", -1)
    _mask(axes, RIGHT, FIRST, "causal mask\n(and padding)", 1)
    _mask(axes, RIGHT, FIRST + STEP, "padding mask\nof the source", 1)
    return figure


def _letter(axes: Axes, place: tuple, text: str, ink: str = "black") -> None:
    """A small letter that says what an arrow brings."""
    style = {"ha": "center", "va": "center", "fontsize": 10, "weight": "bold"}
    style["bbox"] = {"facecolor": "white", "edgecolor": "none", "pad": 0.5}
    axes.text(*place, text, color=ink, zorder=3, **style)


def _mask(axes: Axes, at: float, height: float, text: str, side: int) -> None:
    """A mask that enters an attention from the right (1) or from the left (-1)."""
    edge, start = at + side * WIDE / 2, at + side * (WIDE / 2 + 1.15)
    _arrow(axes, (start, height), (edge, height), RED)
    style = {"va": "center", "fontsize": 9, "color": RED}
    align = "left" if side > 0 else "right"
    axes.text(start + 0.1 * side, height, text, ha=align, **style)


def readings() -> Figure:
    """Draw the same figure three times; each model leaves out another part."""
    figure, panels = canvas(13, 6.2, columns=3)
    _panel(panels[0], ENCODER, DECODER, "encoder-decoder: T5", small=True)
    _panel(panels[1], ENCODER, (), "encoder only: BERT", small=True)
    kept = (DECODER[0], DECODER[2])
    _panel(panels[2], (), kept, "decoder only: GPT", small=True)
    return figure


def _panel(
    axes: Axes,
    encoder: Sequence[str],
    decoder: Sequence[str],
    title: str = "",
    small: bool = False,
) -> None:
    """Draw both columns, what is left out in pale lines."""
    axes.set(xlim=(-0.3, 10.3), ylim=(-0.2, 11.7), title=title)
    axes.axis("off")
    size = 8 if small else 10
    _column(axes, LEFT, ENCODER, encoder, "source words", size)
    _column(axes, RIGHT, DECODER, decoder, "words written so far", size)
    tops = FIRST + STEP * 2, FIRST + STEP * 3
    for at, kept, top in ((LEFT, encoder, tops[0]), (RIGHT, decoder, tops[1])):
        _arrow(axes, (at, top - 0.55), (at, top + 0.35), _ink(bool(kept)))
    label = "memory" if decoder else "words in context"
    ink = _ink(bool(encoder))
    if encoder:
        axes.text(LEFT, tops[0] + 0.55, label, ha="center", fontsize=size, color=ink)
    _box(axes, RIGHT, tops[1] + 0.7, "final layer, softmax", bool(decoder), size)
    _arrow(axes, (RIGHT, tops[1] + 1.03), (RIGHT, tops[1] + 1.6), _ink(bool(decoder)))
    place = (RIGHT, tops[1] + 1.75)
    ink = _ink(bool(decoder))
    axes.text(*place, "next word", ha="center", fontsize=size, color=ink)
    _memory(axes, tops[0], bool(encoder and decoder))


def _column(
    axes: Axes,
    at: float,
    every: Sequence[str],
    kept: Sequence[str],
    words: str,
    size: int,
) -> None:
    """One half: words, embedding, and a layer with its sublayers."""
    ink = _ink(bool(kept))
    axes.text(at, 0, words, ha="center", fontsize=size, color=ink)
    _arrow(axes, (at, 0.4), (at, 0.87), ink)
    _box(axes, at, 1.2, "embedding + positions", bool(kept), size)
    _arrow(axes, (at, 1.53), (at, FIRST - HIGH / 2), ink)
    for number, name in enumerate(every):
        height, here = FIRST + STEP * number, name in kept
        _box(axes, at, height, name, here, size)
        _box(axes, at, height + 0.85, NORM, here, size)
        _arrow(axes, (at, height + 0.33), (at, height + 0.52), _ink(here))
        _around(axes, at, height, _ink(here))
        if number:
            below = height - STEP + 0.85 + HIGH / 2
            _arrow(axes, (at, below), (at, height - HIGH / 2), ink)
    top = FIRST + STEP * len(every) - 0.55
    frame = {"facecolor": "none", "edgecolor": ink, "linewidth": 1, "linestyle": "--"}
    corner, bottom = at - WIDE / 2 - 0.55, FIRST - 0.95
    axes.add_patch(
        FancyBboxPatch(
            (corner, bottom),
            WIDE + 0.8,
            top - bottom,
            boxstyle="round,pad=0.05",
            **frame,
        )
    )
    axes.text(corner, top + 0.15, "N ×", fontsize=size, color=ink, ha="left")


def _box(
    axes: Axes, at: float, height: float, text: str, here: bool, size: int
) -> None:
    colour = COLOURS[text] if here else PALE
    style = {"facecolor": "white", "edgecolor": colour, "linewidth": 1.8, "zorder": 2}
    corner = at - WIDE / 2, height - HIGH / 2
    axes.add_patch(
        FancyBboxPatch(corner, WIDE, HIGH, boxstyle="round,pad=0.0", **style)
    )
    middle = {"ha": "center", "va": "center", "zorder": 3, "linespacing": 0.95}
    ink = "black" if here else PALE
    smaller = size - 1.5 if "\n" in text else size
    axes.text(at, height, text, fontsize=smaller, color=ink, **middle)


def _ink(here: bool) -> str:
    return "black" if here else PALE


def _arrow(axes: Axes, start: tuple, end: tuple, ink: str) -> None:
    arrow = {"arrowstyle": "-|>", "color": ink, "shrinkA": 0, "shrinkB": 0}
    axes.annotate("", xy=end, xytext=start, arrowprops=arrow, zorder=1)


def _around(axes: Axes, at: float, height: float, ink: str) -> None:
    """The residual connection: around a sublayer, into its norm."""
    side, edge = at - WIDE / 2 - 0.3, at - WIDE / 2
    low, high = height - 0.55, height + 0.85
    axes.plot([at, side, side], [low, low, high], color=ink, linewidth=1, zorder=1)
    _arrow(axes, (side, high), (edge, high), ink)


def _memory(axes: Axes, top: float, here: bool) -> None:
    """The line from the encoder's top to the decoder's cross-attention."""
    height, ink = FIRST + STEP, _ink(here)
    middle = (LEFT + RIGHT) / 2 - 0.05
    line = {"color": ORANGE if here else ink, "linewidth": 1.8, "zorder": 1}
    high = top + 0.2
    axes.plot([LEFT, middle, middle], [high, high, height - 0.2], **line)
    edge = RIGHT - WIDE / 2
    for branch in (height + 0.2, height - 0.2):  # keys, and values
        _arrow(axes, (middle, branch), (edge, branch), line["color"])


def losses(places: Mapping[str, Sequence[float]], floor: float) -> Figure:
    """Draw the loss at each place of the target, and the floor of an honest one.

    Args:
        places: for each model the mean loss at each place
        floor: the entropy of the target
    """
    figure, (axes,) = canvas(7, 3)
    looks = ((BLUE, "o-"), (RED, "s--"))
    for (name, values), (colour, style) in zip(places.items(), looks, strict=True):
        axes.plot(range(1, len(values) + 1), values, style, color=colour, label=name)
    axes.axhline(floor, color=GREY, linestyle=":", label=f"floor: {floor:.3f}")
    axes.set(xlabel="place in the target", ylabel="loss", ylim=(-0.1, floor * 1.25))
    axes.legend(frameon=False, loc="center left")
    return figure


def cross_attention(
    weights: Tensor, source: Sequence[str], target: Sequence[str]
) -> Figure:
    """Draw where the decoder looked in the source for each word that it wrote."""
    figure, (axes,) = canvas(4.6, 4.4)
    heat_map(axes, weights, target, source)
    axes.set(xlabel="key: read", ylabel="query: written next")
    return figure


def two_sides(maps: Mapping[str, Tensor], real: int) -> Figure:
    """Draw cross-attentions beside each other, the source's padding marked.

    Args:
        maps: title -> (T, S) weights
        real: how many of the S source words are not padding
    """
    figure, panels = canvas(4.4 * len(maps), 3.6, columns=len(maps))
    for axes, (title, weights) in zip(panels, maps.items(), strict=True):
        queries, keys = weights.shape
        read = [f"word {n + 1}" if n < real else "padding" for n in range(keys)]
        written = [f"word {n + 1}" for n in range(queries)]
        heat_map(axes, weights, written, read, title, largest=0.5)
        axes.axvline(real - 0.5, color=RED, linestyle="--")
    return figure


def influence(
    maps: Mapping[str, tuple[Tensor, Sequence[str], Sequence[str]]],
) -> Figure:
    """Draw which input word reaches which output: dark where it does.

    Args:
        maps: title -> (T, S) table of influence, the words of its rows and columns
    """
    figure, panels = canvas(3.7 * len(maps), 3.9, columns=len(maps))
    for axes, (title, (table, rows, columns)) in zip(panels, maps.items(), strict=True):
        reached = (np.asarray(table) > 0).astype(float)
        axes.imshow(reached, cmap=WEIGHTS_MAP, vmin=0, vmax=1.4)
        axes.set(title=title, xlabel="word that goes in", ylabel="output at")
        axes.set_xticks(range(len(columns)), columns, rotation=45, ha="right")
        axes.set_yticks(range(len(rows)), rows)
        axes.set_xticks(np.arange(0.5, len(columns)), minor=True)
        axes.set_yticks(np.arange(0.5, len(rows)), minor=True)
        axes.grid(which="minor", color="white", linewidth=1.5)
        axes.tick_params(which="minor", length=0)
    return figure


def reach(run: Callable[[], Tensor], *tables: nn.Module) -> Tensor:
    """Which input words an output depends on, measured by the gradient.

    Args:
        run: runs a model on one sequence and returns its output, (1, T, D)
        *tables: the embeddings at which words go in; each looks up (1, S, D)

    Returns:
        (T, S): 0 where output t does not depend on word s; S counts all tables' words
    """
    caught: list[Tensor] = []

    def keep(table: nn.Module, args: tuple, vectors: Tensor) -> None:
        caught.append(vectors)

    hooks = [table.register_forward_hook(keep) for table in tables]
    try:
        outputs = run()[0]  # (T, D)
    finally:
        for hook in hooks:
            hook.remove()
    probe = torch.randn(outputs.shape[1], generator=torch.Generator().manual_seed(0))
    slopes = [
        torch.autograd.grad((output * probe).sum(), caught, retain_graph=True)
        for output in outputs
    ]
    return torch.stack([torch.cat(row, 1)[0].norm(dim=-1) for row in slopes])
