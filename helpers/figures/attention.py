"""Figures of lesson 02: the look-up, the scale, the cost, one sentence in motion."""

import io
from collections.abc import Mapping, Sequence

import numpy as np
import torch
from matplotlib.figure import Figure
from PIL import Image
from torch import Tensor

from helpers.figures import BLUE, GREEN, GREY, ORANGE, RED, canvas, heat_map, png
from helpers.figures.play import Choice, Labels, Scene, Slider

DIVISORS = {  # what the scores are divided by, as a function of d_head
    "nothing": lambda d_head: 1.0,
    "√d_head": lambda d_head: d_head**0.5,
    "d_head": lambda d_head: float(d_head),
}


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
