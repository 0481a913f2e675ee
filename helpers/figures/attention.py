"""Figures of lesson 02: look-up, flow, scale, learning, cost, a sentence in motion."""

import io
from collections.abc import Mapping, Sequence

import numpy as np
import torch
from matplotlib.colors import is_color_like, to_rgba
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from PIL import Image
from torch import Tensor

from helpers.figures import (
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    PURPLE,
    RED,
    SKY,
    canvas,
    heat_map,
    png,
)
from helpers.figures.play import Choice, Labels, Scene, Slider

DIVISORS = {  # what the scores are divided by, as a function of d_head
    "nothing": lambda d_head: 1.0,
    "√d_head": lambda d_head: d_head**0.5,
    "d_head": lambda d_head: float(d_head),
}


Colour = str | tuple[float, float, float]
STAGES = ("projections", "scores", "output")  # of the diagram that grows


def lookup(
    query: str,
    keys: Sequence[str],
    colours: Sequence[Colour],
    weights: Sequence[float],
    result: Colour,
) -> Figure:
    """Draw a soft dictionary of colours: a query, its weight on every key, the mix."""
    figure, (axes,) = canvas(8, 0.75 * len(keys) + 0.9)
    axes.set(xlim=(0, 10), ylim=(-0.7, len(keys) - 0.1))
    axes.axis("off")
    middle = (len(keys) - 1) / 2
    for place, (key, colour, weight) in enumerate(
        zip(keys, colours, weights, strict=True)
    ):
        height = len(keys) - 1 - place
        line = {"color": BLUE, "alpha": 0.15 + 0.85 * weight, "zorder": 1}
        axes.plot([0.9, 4.4], [middle, height], linewidth=0.5 + 9 * weight, **line)
        axes.plot([6.2, 9.2], [height, middle], linewidth=0.5 + 9 * weight, **line)
        _label(axes, 4.4, height, key, GREEN)
        _patch(axes, 6.2, height, colour)
        axes.text(5.3, height, f"{weight:.2f}", ha="center", va="center", color=BLUE)
    _label(axes, 0.9, middle, query, BLUE)
    _patch(axes, 9.2, middle, result)
    for at, name in ((0.9, "query"), (4.4, "keys"), (5.3, "weights"), (6.2, "values")):
        axes.text(at, -0.65, name, ha="center", color=GREY)
    axes.text(9.2, -0.65, "output", ha="center", color=GREY)
    return figure


def _label(axes, at: float, height: float, text: str, colour: str) -> None:
    box = {"boxstyle": "round,pad=0.35", "facecolor": "white", "edgecolor": colour}
    axes.text(at, height, text, ha="center", va="center", bbox=box, zorder=2)


def _patch(axes, at: float, height: float, colour: Colour) -> None:
    if not is_color_like(colour):  # notebooks of the first edition say it in words
        _label(axes, at, height, str(colour), ORANGE)
        return
    box = {"boxstyle": "round,pad=0.35", "facecolor": colour, "edgecolor": GREY}
    axes.text(at, height, " " * 8, ha="center", va="center", bbox=box, zorder=2)


def flow(words: Sequence[str], asking: int, stage: str) -> Figure:
    """Draw how a head computes, from the words' vectors to its output.

    What comes after the stage is an outline. Until the last stage one word asks; then
    all of them do.

    Args:
        words: the T words
        asking: which of them asks, from 0
        stage: one of STAGES
    """
    figure, (axes,) = canvas(9.5, 4.6)
    axes.set(xlim=(0, 19), ylim=(0, 9.2), aspect="equal")
    axes.axis("off")
    reached, field, every = STAGES.index(stage), 0.36, range(len(words))
    asks = every if stage == STAGES[-1] else (asking,)

    def grid(name, at, below, columns, colour, since, rows):
        wide, high = columns * field, len(words) * field
        _grid(
            axes,
            (at, below, wide, high),
            (len(words), columns),
            colour if since <= reached else None,
            [1.0 if row == asking else 0.4 if row in rows else 0.1 for row in every],
        )
        style = {"ha": "center", "color": "black" if since <= reached else "#bbbbbb"}
        axes.text(at + wide / 2, below + high + 0.12, name, fontsize=9, **style)

    def arrow(start, end, text, since, above=0.18):
        colour = "#666666" if since <= reached else "#cccccc"
        style = {"arrowstyle": "-|>", "color": colour, "shrinkA": 0, "shrinkB": 0}
        axes.annotate("", end, start, arrowprops=style)
        middle = (start[0] + end[0]) / 2, (start[1] + end[1]) / 2 + above
        axes.text(*middle, text, ha="center", fontsize=9, color=colour)

    grid("X  (T, D)", 2.1, 3.3, 6, PURPLE, 0, every)
    for row, word in enumerate(words):
        style = {"weight": "bold"} if row == asking else {}
        height = 3.3 + field * (len(words) - row - 0.5)
        axes.text(1.95, height, word, ha="right", va="center", fontsize=9, **style)
    grid("Q  (T, K)", 6.6, 6.4, 3, BLUE, 0, asks)
    grid("K  (T, K)", 6.6, 3.3, 3, GREEN, 0, every)
    grid("V  (T, W)", 6.6, 0.2, 3, ORANGE, 0, every)
    arrow((4.4, 4.8), (6.5, 7.2), r"$W^Q$", 0, 0.3)
    arrow((4.4, 4.38), (6.5, 4.38), r"$W^K$", 0)
    arrow((4.4, 3.9), (6.5, 1.6), r"$W^V$", 0, -0.75)
    grid("scores  (T, T)", 9.9, 4.8, len(words), SKY, 1, asks)
    arrow((7.8, 7.4), (9.8, 6.4), "", 1)
    arrow((7.8, 4.6), (9.8, 5.5), r"$QK^\top\!/\sqrt{d_{head}}$", 1, -0.85)
    grid("weights  (T, T)", 13.5, 4.8, len(words), BLUE, 1, asks)
    arrow((12.15, 5.88), (13.4, 5.88), "softmax", 1)
    grid("output  (T, W)", 17.2, 2.6, 3, ORANGE, 2, asks)
    arrow((15.75, 5.5), (17.1, 4.3), "", 2)
    arrow((7.8, 1.3), (17.1, 3.2), "weights · V", 2, -0.65)
    return figure


def _grid(
    axes,
    box: tuple[float, float, float, float],
    size: tuple[int, int],
    colour: str | None,
    strengths: Sequence[float],
) -> None:
    """A matrix of small fields, each row as strong as asked; without colour a shadow.

    Args:
        axes: where to draw
        box: left, below, width, height
        size: rows and columns
        colour: None for an outline
        strengths: from 0 to 1, one for each row
    """
    at, below, width, height = box
    rows, columns = size
    side = {"linewidth": 0.6, "edgecolor": "white" if colour else "#dddddd"}
    across, down = width / columns, height / rows
    for row, strength in enumerate(strengths):
        inside = to_rgba(colour, strength) if colour else "none"
        for column in range(columns):
            corner = at + column * across, below + (rows - 1 - row) * down
            field = Rectangle(corner, across, down, facecolor=inside, **side)
            axes.add_patch(field)


def learning(losses: Sequence[float], maps: Mapping[int, Tensor]) -> Figure:
    """Draw a loss curve, and what a head looked at on the way.

    Args:
        losses: one for each step
        maps: step -> weights (T, T)
    """
    figure, panels = canvas(9.5, 2.7, columns=1 + len(maps))
    panels[0].plot(range(1, len(losses) + 1), losses, color=BLUE)
    panels[0].set(title="loss", xlabel="step", ylim=(0, None))
    for axes, (step, weights) in zip(panels[1:], maps.items(), strict=True):
        panels[0].axvline(step, color=GREY, linewidth=0.8, linestyle=":")
        heat_map(axes, weights, title=f"step {step}", numbers=False, largest=1.0)
        axes.set(xticks=[], yticks=[])
    for axes in panels[2:]:
        axes.set_ylabel("")
    return figure


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


def sharpness() -> Scene:
    """Let d_head and the scale of the scores move: how hard does the softmax get?"""
    count = 8
    figure, (left, right) = canvas(8, 3.3, columns=2)
    places, start = range(count), [1e-9] * count
    scores_bars = left.bar(places, start, color=GREY, width=0.7)
    left.axhline(0, color="black", linewidth=0.8)
    left.set_yscale("symlog", linthresh=1)
    left.set(ylim=(-200, 200), title="scores of one query", ylabel="score")
    ticks = [-100, -10, -1, 0, 1, 10, 100]
    left.set_yticks(ticks, [str(tick).replace("-", "−") for tick in ticks])
    weights_bars = right.bar(places, start, color=BLUE, width=0.7)
    label = f"all {count} alike: {1 / count:.3f}"
    right.axhline(1 / count, color=GREY, linestyle="--", linewidth=1, label=label)
    right.set(ylim=(0, 1.3), title="its weights", yticks=[0, 0.25, 0.5, 0.75, 1])
    right.legend(frameon=False, loc="upper left")
    for axes in (left, right):
        axes.set(xlabel="key", xlim=(-0.6, count - 0.4))
        axes.set_xticks(places, [str(place + 1) for place in places])
    beside_scores, above_weights = Labels(left), Labels(right)
    told = Labels(right, size=10, align="right")

    def move(d_head: int, divisor: str, draw: int) -> str:
        scores = _random_scores(d_head, count, draw) / DIVISORS[divisor](d_head)
        weights = scores.softmax(0)
        largest, winner = weights.max(0)
        slope = (weights * (1 - weights)).mean()
        for bars, heights in ((scores_bars, scores), (weights_bars, weights)):
            for bar, height in zip(bars, heights.tolist(), strict=True):
                bar.set_height(height)
        beside_scores.write(
            [_signed(score) for score in scores.tolist()],
            [(place, _beyond(score)) for place, score in enumerate(scores.tolist())],
        )
        above_weights.write(
            [f"{share:.2f}" for share in weights.tolist()],
            [(place, share + 0.05) for place, share in enumerate(weights.tolist())],
        )
        told.write([f"mean slope {slope:.3f}"], [(count - 0.55, 1.2)])
        return (
            f"One query and {count} keys of {d_head} random numbers, scores divided by "
            f"{divisor}: the scores lie between {scores.min():.2f} and "
            f"{scores.max():.2f}, the largest weight is {largest:.2f}, at key "
            f"{winner + 1}, and the mean slope p(1-p) is {slope:.3f}."
        )

    controls = {
        "d_head": Slider("d_head", (1, 4, 16, 64, 256, 1024), 64),
        "divisor": Choice("scores divided by", tuple(DIVISORS), "nothing"),
        "draw": Slider("random draw", (1, 2, 3, 4, 5, 6), 1),
    }
    moving = [*scores_bars, *weights_bars, beside_scores, above_weights, told]
    return Scene(figure, controls, move, moving)


def _beyond(score: float) -> float:
    """Where a bar's number stands on an axis that is straight up to 1, then log."""
    size = abs(score)
    return (size + 0.4 if size < 1 else 1.8 * size) * (1 if score >= 0 else -1)


def _signed(score: float) -> str:
    """One digit after the point, a long minus, and no −0.0."""
    return f"{round(score, 1) + 0.0:.1f}".replace("-", "−")


def _random_scores(d_head: int, count: int, seed: int) -> Tensor:
    """Dot products of one random query with `count` random keys: (count,)."""
    draws = torch.Generator().manual_seed(seed)
    query, keys = (torch.randn(n, 1024, generator=draws) for n in (1, count))
    return (query * keys)[:, :d_head].sum(-1)


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


def in_motion(
    weights: Tensor,
    words: Sequence[str],
    first: str | None = None,
    milliseconds: int = 900,
) -> bytes:
    """Draw attention word by word, as an animated PNG.

    Args:
        weights: (T, T), row = query
        words: the T words
        first: the word that asks first, and stays where animation is not shown; by
            default the first one
        milliseconds: how long each frame stays
    """
    table = weights.detach().cpu().numpy()
    order = [words.index(first) if first else 0, *range(len(words))]
    frames = [_frame(table, words, asking) for asking in order]
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
