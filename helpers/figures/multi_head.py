"""Figures of lesson 03: a projection, the way through the heads, what heads look at."""

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from torch import Tensor

from helpers.figures import (
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    PURPLE,
    RED,
    SKY,
    WEIGHTS_MAP,
    YELLOW,
    canvas,
    heat_map,
)
from helpers.figures.play import QUICK, Labels, Scene, Slider, Words

TOKEN_COLOURS = (SKY, ORANGE, GREEN, PURPLE, YELLOW)


def plane(matrix: Tensor, vector: Tensor) -> Figure:
    """Draw the plane before and after a projection, with one vector in it.

    Args:
        matrix: (2, 2)
        vector: (2,)
    """
    figure, panels = canvas(8.5, 4.2, columns=2)
    turn, arrow = np.asarray(matrix), np.asarray(vector)
    for axes, matrix, name in zip(
        panels, (np.eye(2), turn), ("before: v", "after: A v"), strict=True
    ):
        _grid(axes, matrix)
        for unit, colour in ((0, BLUE), (1, GREEN)):
            _arrow(axes, matrix[:, unit], colour, f"e{unit + 1}")
        at = matrix @ arrow
        _arrow(axes, at, RED, f"({at[0]:.1f}, {at[1]:.1f})")
        axes.set(title=name, xlim=(-2, 2), ylim=(-2, 2), aspect="equal")
        axes.set(xlabel="first number", ylabel="second number")
    return figure


def _grid(axes: Axes, matrix: np.ndarray) -> None:
    reach = np.array([-4.0, 4.0])
    for step in np.arange(-4, 4.1, 0.5):
        for line in ([reach, [step, step]], [[step, step], reach]):
            style = {"color": GREY, "linewidth": 0.5, "alpha": 0.6}
            axes.plot(*(matrix @ np.array(line)), **style)


def _arrow(axes: Axes, to: np.ndarray, colour: str, name: str) -> None:
    style = {"arrowstyle": "-|>", "color": colour, "linewidth": 2.5}
    axes.annotate("", to, (0, 0), arrowprops={**style, "shrinkA": 0, "shrinkB": 0})
    box = {"facecolor": "white", "edgecolor": "none", "alpha": 0.8, "pad": 1}
    text = {"color": colour, "weight": "bold", "bbox": box}
    axes.annotate(name, to, (6, 6), textcoords="offset points", **text)


def way(num_heads: int) -> Figure:
    """Draw the way from query, key and value through the heads to the output."""
    figure, (axes,) = canvas(8.5, 4.6)
    axes.set(xlim=(0, 12), ylim=(-0.3, 8.2))
    axes.axis("off")
    inputs = ((2, "query", "T"), (6, "key", "S"), (10, "value", "S"))
    for at, name, length in inputs:
        _box(axes, at, 0.2, 2.2, f"{name}\n(B, {length}, D)", GREY)
        layer = f"W_{name[0]}"
        _box(axes, at, 1.9, 2.2, f"{layer}: D → D", BLUE)
        _line(axes, at, 0.7, at, 1.5)
        for head in range(num_heads):
            _line(axes, at, 2.3, *_foot(head, num_heads), alpha=0.45)
    for head in range(num_heads):
        at, foot = _foot(head, num_heads)
        colour = TOKEN_COLOURS[head % len(TOKEN_COLOURS)]
        _box(axes, at, foot + 0.55, 2.6, f"head {head}\nattention in d_head", colour)
        _line(axes, at, foot + 1.1, 6, 5.75, alpha=0.7)
    _box(axes, 6, 6.15, 5.6, "side by side: heads × d_head = D", GREY)
    _box(axes, 6, 7.6, 2.6, "W_o: D → D", BLUE)
    _line(axes, 6, 6.5, 6, 7.2)
    axes.text(7.6, 7.6, "output (B, T, D)", va="center")
    return figure


def _foot(head: int, num_heads: int) -> tuple[float, float]:
    return 6 + (head - (num_heads - 1) / 2) * 11.4 / num_heads, 3.6


def _box(axes: Axes, at: float, height: float, width: float, text: str, colour: str):
    from matplotlib.patches import FancyBboxPatch

    corner = (at - width / 2, height - 0.42)
    style = {"boxstyle": "round,pad=0.05", "facecolor": "white", "edgecolor": colour}
    axes.add_patch(FancyBboxPatch(corner, width, 0.84, linewidth=2, zorder=2, **style))
    axes.text(at, height, text, ha="center", va="center", fontsize=9, zorder=3)


def _line(axes: Axes, x: float, y: float, to_x: float, to_y: float, alpha: float = 1.0):
    style = {"arrowstyle": "-", "color": GREY, "alpha": alpha}
    axes.annotate("", (to_x, to_y), (x, y), arrowprops={**style, "shrinkA": 0})


def cuts(ways: Mapping[str, Tensor]) -> Figure:
    """Draw what lies in each head, one row of tables for each way to split.

    Args:
        ways: name -> (H, T, K); a number's tens are its token, its ones the feature
    """
    heads, tokens, width = next(iter(ways.values())).shape
    figure, panels = canvas(2.6 * heads, 1.9 * len(ways), columns=heads, rows=len(ways))
    for row, (name, split) in enumerate(ways.items()):
        for head in range(heads):
            axes = panels[row * heads + head]
            axes.set(xlim=(0, width), ylim=(tokens, 0), title=f"{name}, head {head}")
            axes.set_yticks(np.arange(tokens) + 0.5, range(tokens))
            axes.set(xticks=[], ylabel="row" if head == 0 else "")
            for (line, column), number in np.ndenumerate(split[head].numpy()):
                _field(axes, line, column, int(number))
    return figure


def _field(axes: Axes, row: int, column: int, number: int) -> None:
    from matplotlib.patches import Rectangle

    colour = TOKEN_COLOURS[number // 10 % len(TOKEN_COLOURS)]
    style = {"facecolor": colour, "edgecolor": "white", "alpha": 0.8, "linewidth": 2}
    axes.add_patch(Rectangle((column, row), 1, 1, **style))
    middle = {"ha": "center", "va": "center"}
    axes.text(column + 0.5, row + 0.5, f"{number:02}", **middle)


def head_maps(weights: Tensor, tokens: Sequence[str], columns: int = 4) -> Figure:
    """Draw the weights of all heads of a layer beside each other, with the words.

    Args:
        weights: (H, T, S)
        tokens: at rows and columns; T = S
        columns: maps in a row
    """
    rows = -(-len(weights) // columns)
    figure, panels = canvas(2.5 * columns + 0.6, 2.5 * rows + 0.6, columns, rows)
    for number, axes in enumerate(panels):
        axes.set_visible(number < len(weights))
        if number >= len(weights):
            continue
        first, last = number % columns == 0, number // columns == rows - 1
        title = f"head {number}"
        words = (tokens if first else (), tokens if last else ())
        heat_map(axes, weights[number], *words, title, numbers=False, largest=1.0)
        axes.set(xlabel="key" if last else "", ylabel="query" if first else "")
        axes.tick_params(labelsize=8)
        if not first:
            axes.set_yticks([])
        if not last:
            axes.set_xticks([])
    return figure


def all_heads(attentions: Sequence[Tensor]) -> Figure:
    """Draw every head of every layer as a small map: layers down, heads across.

    Args:
        attentions: one (H, T, T) for each layer
    """
    layers, heads = len(attentions), len(attentions[0])
    figure, panels = canvas(0.75 * heads + 0.5, 0.75 * layers + 0.5, heads, layers)
    for number, axes in enumerate(panels):
        layer, head = divmod(number, heads)
        weights = np.asarray(attentions[layer][head])
        axes.imshow(weights, cmap=WEIGHTS_MAP, vmin=0, vmax=1)
        axes.set(xticks=[], yticks=[])
        if layer == 0:
            axes.set_title(f"{head}", fontsize=9)
        if head == 0:
            axes.set_ylabel(f"{layer}", rotation=0, ha="right", va="center", fontsize=9)
    figure.supxlabel("head (in each map: key across, query down)", fontsize=9)
    figure.supylabel("layer", fontsize=9)
    return figure


def score_maps(scores: Mapping[str, Tensor]) -> Figure:
    """Draw how much every head gives to each kind of token.

    Args:
        scores: kind of token -> (layers, heads)
    """
    layers, heads = next(iter(scores.values())).shape
    figure, panels = canvas(9.5, 0.25 * layers + 0.9, columns=len(scores))
    for axes, (name, table) in zip(panels, scores.items(), strict=True):
        picture = axes.imshow(np.asarray(table), cmap=WEIGHTS_MAP, vmin=0, vmax=1)
        axes.set(title=name, xlabel="head", ylabel="layer")
        axes.set(xticks=range(0, heads, 2), yticks=range(layers))
    figure.colorbar(picture, ax=panels, label="mean weight", shrink=0.6)
    return figure


def own_sentence(
    look: Callable[[str], tuple[Tensor, Sequence[str]]],
    sentence: str,
    layer: int,
    head: int,
) -> Scene:
    """Let the reader write a sentence and go through the heads of a model.

    Args:
        look: text -> the weights of all heads (layers, H, T, T), and T tokens; the
            first token and the last one are special
        sentence: to begin with
        layer: to begin with
        head: to begin with
    """
    look = lru_cache(maxsize=1)(look)
    layers, heads = look(sentence)[0].shape[:2]
    figure, (axes,) = canvas(8, 4.8)
    figure.set_layout_engine("none")
    axes.set_position((0.155, 0.19, 0.445, 0.445 * 8 / 4.8))
    axes.set(xticks=[], yticks=[])
    axes.spines[:].set_visible(False)
    image = axes.imshow(
        np.zeros((1, 1)), cmap=WEIGHTS_MAP, vmin=0, vmax=1, extent=(0, 1, 1, 0), **QUICK
    )
    axes.text(1.08, 0.03, "strongest looks at another word", va="center")
    axes.text(0.5, 1.21, "key", ha="center")
    axes.text(-0.3, 0.5, "query", va="center", rotation=90)
    queries, keys = Labels(axes, 9, "right"), Labels(axes, 9, "right", turn=45)
    title, asking, asked = (
        Labels(axes, 12),
        Labels(axes, align="right"),
        Labels(axes, align="left"),
    )

    def move(text: str, layer: int, head: int) -> str:
        weights, tokens = look(text)
        table = weights[layer, head].numpy()
        image.set_data(table)
        spots = (np.arange(len(tokens)) + 0.5) / len(tokens)
        queries.write(tokens, [(-0.015, spot) for spot in spots])
        keys.write(tokens, [(spot, 1.02) for spot in spots])
        title.write([f"layer {layer}, head {head}"], [(0.5, -0.04)])
        looks = _strongest(table, tokens)
        heights = [0.12 + 0.075 * at for at in range(len(looks))]
        asking.write([one for one, _, _ in looks], [(1.48, y) for y in heights])
        asked.write(
            [part for _, one, share in looks for part in (f"{share:.2f}", "→", one)],
            [(x, y) for y in heights for x in (1.08, 1.51, 1.58)],
        )
        best = "; ".join(f"{one} → {other} {share:.2f}" for one, other, share in looks)
        return (
            f"Attention of layer {layer}, head {head} in “{text}”, a row for each "
            f"token that asks. Strongest looks at another word: {best or 'none'}."
        )

    controls = {
        "text": Words("your sentence", sentence),
        "layer": Slider("layer", range(layers), layer),
        "head": Slider("head", range(heads), head),
    }
    return Scene(figure, controls, move, [image, queries, keys, title, asking, asked])


def _strongest(
    table: np.ndarray, tokens: Sequence[str], count: int = 10
) -> list[tuple[str, str, float]]:
    """The largest weights (T, T) between two different tokens: who, whom, how much.

    The first token and the last one, which are special, are left out.
    """
    inner = table[1:-1, 1:-1].round(2)
    looks = sorted(
        (-share, row, column)
        for (row, column), share in np.ndenumerate(inner)
        if row != column and share >= 0.01
    )
    return [
        (tokens[row + 1], tokens[column + 1], -share)
        for share, row, column in looks[:count]
    ]
