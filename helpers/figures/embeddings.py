"""Figures of lesson 01: words in the plane, how alike they are, and positions."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.transforms import Bbox
from torch import Tensor

from helpers.figures import (
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    PURPLE,
    RED,
    SIGNED_MAP,
    WEIGHTS_MAP,
    canvas,
)
from helpers.figures.play import Labels, Scene, Slider
from helpers.figures.training import smooth
from helpers.text.characters import VOWELS, nearest

COLOURS = (BLUE, RED, GREEN, PURPLE, ORANGE)
MARKERS = "os^Dv"
PLACES = [  # where a label may stand: points right and up of its dot, and its own edge
    (step * right, step * up, side)
    for step in (7, 11, 15, 20, 26)
    for right, up, side in (
        (1, 0, "left"),
        (-1, 0, "right"),
        (0, 1.3, "center"),
        (0, -1.3, "center"),
        (0.8, 0.9, "left"),
        (0.8, -0.9, "left"),
        (-0.8, 0.9, "right"),
        (-0.8, -0.9, "right"),
    )
]


def plane(vectors: Tensor) -> np.ndarray:
    """The two directions in which vectors differ most: (n, D) -> (n, 2)."""
    from sklearn.decomposition import PCA

    return PCA(2, svd_solver="full").fit_transform(vectors.double().numpy())


def word_map(groups: Mapping[str, Sequence[str]], points: np.ndarray) -> Figure:
    """Draw words as points, each group with a colour and a marker of its own.

    Args:
        groups: name of a group -> its words
        points: (n, 2), in the order of the words
    """
    figure, (axes,) = canvas(8.5, 5)
    rest = iter(points)
    kinds = zip(groups.items(), COLOURS, MARKERS, strict=False)
    for (name, words), colour, marker in kinds:
        mine = np.array([next(rest) for _ in words])
        axes.scatter(*mine.T, color=colour, marker=marker, label=name)
    _principal(axes)
    legend = {"loc": "upper center", "bbox_to_anchor": (0.5, 1.12)}
    axes.legend(frameon=False, ncols=len(groups), **legend)
    _write(axes, [word for words in groups.values() for word in words], points)
    return figure


def steps(pairs: Sequence[tuple[str, str]], points: np.ndarray) -> Figure:
    """Draw an arrow from the first to the second word of each pair.

    Args:
        pairs: n pairs of words
        points: (2n, 2): all first words, then all second words
    """
    figure, (axes,) = canvas(6, 3.4)
    first, second = points[: len(pairs)], points[len(pairs) :]
    axes.scatter(*first.T, color=BLUE)
    axes.scatter(*second.T, color=RED, marker="s")
    for start, end in zip(first, second, strict=True):
        style = {"arrowstyle": "-|>", "color": GREY, "shrinkA": 6, "shrinkB": 6}
        axes.annotate("", end, start, arrowprops=style)
    _principal(axes)
    _write(axes, [word for side in zip(*pairs, strict=True) for word in side], points)
    return figure


def _principal(axes: Axes) -> None:
    axes.set(xlabel="first principal component", ylabel="second principal component")
    axes.margins(x=0.14, y=0.12)


def _write(axes: Axes, words: Sequence[str], points: np.ndarray) -> None:
    """Write each word beside its point, where it covers no point and no other word."""
    axes.figure.draw_without_rendering()  # fixes where the points are, in pixels
    dots = axes.transData.transform(points)
    taken = [Bbox.from_bounds(x - 5, y - 5, 10, 10) for x, y in dots]
    for word, place in zip(words, points, strict=True):
        style = {"xytext": (0, 0), "textcoords": "offset points", "va": "center"}
        text = axes.annotate(word, place, **style)
        for right, up, side in PLACES:
            text.set(position=(right, up), ha=side, fontsize=9)
            box = text.get_window_extent()
            if not box.count_overlaps(taken):
                break
        taken.append(box)


def letters(
    characters: str, stages: Mapping[int, Tensor], losses: Sequence[float]
) -> Scene:
    """Vectors of letters in the plane, as they move in training.

    Args:
        characters: n of them, a space and small letters
        stages: steps taken -> the vectors then, (n, 2); the last is shown first
        losses: of every step
    """
    figure, (plane, curve) = canvas(9, 4.4, columns=2)
    last = max(stages)
    points = {step: table.double().numpy() for step, table in stages.items()}
    reach = 1.1 * max(np.abs(one).max() for one in points.values())
    plane.set(xlim=(-reach, reach), ylim=(-reach, reach), aspect="equal")
    plane.set(xlabel="first number", ylabel="second number")
    curve.plot(range(1, len(losses) + 1), losses, color=GREY, linewidth=0.6)
    mean = [losses[0], *smooth(losses).tolist()]  # by steps taken, from none on
    curve.plot(mean, color=BLUE, label="mean of 25 steps")
    curve.set(xlabel="steps taken", ylabel="loss")
    curve.legend(frameon=False)
    (dot,) = curve.plot([], [], "o", color=RED)
    vowel = np.array([one in VOWELS for one in characters])
    kinds, texts = (vowel, ~vowel), (Labels(plane, size=17), Labels(plane, size=11))

    def move(step: int) -> str:
        table = stages[step]
        for label, kind, colour in zip(texts, kinds, (RED, BLUE), strict=True):
            some = [characters[place] for place in np.flatnonzero(kind)]
            names = ["space" if one == " " else one for one in some]
            label.write(names, points[step][kind], colour)
        dot.set_data([step], [mean[step]])
        spoken = [place for place, one in enumerate(characters) if one != " "]
        beside = nearest("".join(characters[one] for one in spoken), table[spoken])
        pairs = ", ".join(f"{one}: {beside[one]}" for one in VOWELS if one in beside)
        return (
            f"{len(characters)} letters in the plane after {step} steps, the vowels "
            f"large and red; beside it the loss of each step, {mean[step]:.2f} here. "
            f"The letter nearest to each vowel is {pairs}."
        )

    control = Slider("steps of training", sorted(stages), last)
    return Scene(figure, {"step": control}, move, [*texts, dot])


def similarity_map(words: Sequence[str], cosines: Tensor) -> Figure:
    """Draw the cosine of every word with every other, with the numbers."""
    figure, (axes,) = canvas(6.5, 5.6)
    axes.imshow(cosines.numpy(), cmap=WEIGHTS_MAP, vmin=0, vmax=1)
    axes.set_xticks(range(len(words)), words, rotation=45, ha="right")
    axes.set_yticks(range(len(words)), words)
    axes.set(xlabel="word", ylabel="word", title="cosine similarity")
    for (row, column), value in np.ndenumerate(cosines.numpy()):
        colour = "white" if value > 0.6 else "black"
        text = f"{value:.1f}".replace("-0.0", "0.0")
        axes.text(column, row, text, ha="center", va="center", color=colour, fontsize=8)
    return figure


def histograms(cosines: Mapping[str, Tensor]) -> Figure:
    """Draw how often each cosine occurs between different rows, one panel per table.

    Args:
        cosines: title -> the cosines of all pairs
    """
    figure, panels = canvas(3.1 * len(cosines), 2.8, columns=len(cosines))
    for axes, (title, values) in zip(panels, cosines.items(), strict=True):
        bins = np.linspace(-0.5, 1, 61)
        axes.hist(values.clamp(-0.5, 1).numpy(), bins, color=BLUE)
        axes.set(title=title, xlabel="cosine of two rows", yscale="log")
        axes.set_ylim(0.7, None)
        axes.axvline(0, color=GREY, linewidth=0.8)
    panels[0].set_ylabel("pairs")
    return figure


def encoding_map(table: Tensor) -> Figure:
    """Draw a table of positions: a row per position, a column per dimension."""
    figure, (axes,) = canvas(8.5, 3.6)
    style = {"cmap": SIGNED_MAP, "vmin": -1, "vmax": 1, "aspect": "auto"}
    image = axes.imshow(table.numpy(), interpolation="nearest", **style)
    axes.set(xlabel="dimension", ylabel="position")
    figure.colorbar(image, ax=axes, label="value")
    return figure


def robot(words: Sequence[str], table: Tensor, fine: Tensor, per_step: int) -> Figure:
    """Draw each word's row of a narrow table, and the waves that the rows come from.

    Args:
        words: n words
        table: (n, D), the rows of the words
        fine: (m, D), the same waves between the positions
        per_step: rows of `fine` for one position
    """
    width = table.shape[1]
    figure, panels = canvas(8.5, 4, rows=2)
    waves, rows = panels
    at = np.arange(len(fine)) / per_step
    for column in range(width):
        style = {"color": COLOURS[column], "label": f"dimension {column}"}
        waves.plot(at, fine[:, column], "-" if column % 2 == 0 else "--", **style)
        waves.plot(
            table[:, column], MARKERS[column], color=COLOURS[column], markersize=5
        )
    waves.set(ylabel="value", xlim=(-0.5, len(words) - 0.5), xlabel="position")
    waves.set_xticks(range(len(words)))
    waves.legend(frameon=False, fontsize=8, loc="center left", bbox_to_anchor=(1, 0.5))
    style = {"cmap": SIGNED_MAP, "vmin": -1.5, "vmax": 1.5, "aspect": "auto"}
    rows.imshow(table.T.numpy(), **style)
    for (place, column), value in np.ndenumerate(table.numpy()):
        style = {"color": "white" if abs(value) > 0.8 else "black", "fontsize": 11}
        rows.text(place, column, f"{value:.4f}", ha="center", va="center", **style)
    rows.set_xticks(range(len(words)), words, fontsize=11)
    rows.set_yticks(range(width), [f"dimension {column}" for column in range(width)])
    return figure


def nearness(lines: Mapping[str, Tensor]) -> Figure:
    """Draw how alike the rows of two positions are, against their distance.

    Args:
        lines: name -> dot products at distance 0, 1, 2, ...
    """
    figure, (axes,) = canvas(7, 2.8)
    for (name, values), colour, style in zip(
        lines.items(), COLOURS, ("-", "--", ":"), strict=False
    ):
        axes.plot(values.numpy(), style, color=colour, label=name)
    axes.set(xlabel="distance between two positions", ylabel="dot product")
    axes.legend(frameon=False)
    return figure
