"""Figures of lesson 03: the way through the heads, W_o, what heads look at."""

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
HEAD_COLOURS = (BLUE, ORANGE, GREEN, PURPLE)


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
    """Draw the way from the words' vectors through the heads to the output.

    Colours are heads. Each of them has two numbers of a width that they share.
    """
    tokens, width, field = 3, 2 * num_heads, 0.3
    wide, high = width * field, tokens * field
    figure, (axes,) = canvas(9.5, 4.3)
    axes.set(xlim=(0, 13.3 + 3 * wide), ylim=(-0.2, 8.7), aspect="equal")
    axes.axis("off")
    middle, striped = 4.2, [_head_colour(column // 2) for column in range(width)]

    def matrix(name, left, below, colours, rows=tokens):
        _matrix(axes, left, below, field, [colours] * rows)
        above = (left + len(colours) * field / 2, below + rows * field + 0.12)
        axes.text(*above, name, ha="center", fontsize=9)

    def arrow(start, end, text="", above=0.2):
        style = {"arrowstyle": "-|>", "color": "#666666", "shrinkA": 0, "shrinkB": 0}
        axes.annotate("", end, start, arrowprops=style)
        at = (start[0] + end[0]) / 2, (start[1] + end[1]) / 2 + above
        axes.text(*at, text, ha="center", fontsize=9, color="#444444")

    left = 0.3
    matrix("X  (T, D)", left, middle - high / 2, [GREY] * width)
    big = left + wide + 1.6
    for name, at, above in (("q", 6.9, 0.5), ("k", middle, 0.2), ("v", 1.5, -0.75)):
        matrix(f"{name.upper()}  (T, D)", big, at - high / 2, striped)
        label = f"$W_{name}$"
        start = middle + (at - middle) * 0.15
        arrow((left + wide + 0.1, start), (big - 0.1, at), label, above)
    heads, found = big + wide + 2.1, big + wide + 4.4
    for head in range(num_heads):
        at, colour = 7.3 - head * 6.2 / (num_heads - 1), _head_colour(head)
        sharp = [(row + head) % tokens for row in range(tokens)]  # each looks elsewhere
        pale = [
            [(colour, 0.95 if key == most else 0.25) for key in range(tokens)]
            for most in (sharp if head < tokens else [None] * tokens)
        ]
        _matrix(axes, heads, at - high / 2, field, pale)
        _matrix(axes, found, at - high / 2, field, [[colour] * 2] * tokens)
        axes.text(heads - 0.15, at, str(head), ha="right", va="center", fontsize=9)
        arrow((heads + high + 0.1, at), (found - 0.1, at))
    axes.text(heads + high / 2, 8.0, "weights\n(T, T)", ha="center", fontsize=9)
    axes.text(found + field, 8.0, "answer\n(T, K)", ha="center", fontsize=9)
    arrow((big + wide + 0.15, middle), (heads - 0.5, middle), "cut\n(H, T, K)", 0.2)
    joined = found + 2 * field + 1.6
    arrow((joined - 1.5, middle), (joined - 0.1, middle), "join", 0.2)
    matrix("side by side\n(T, D)", joined, middle - high / 2, striped)
    output = joined + wide + 1.3
    arrow((joined + wide + 0.1, middle), (output - 0.1, middle), "$W_o$", 0.2)
    matrix("output\n(T, D)", output, middle - high / 2, [GREY] * width)
    return figure


def writing(num_heads: int) -> Figure:
    """Draw how W_o lets every head write into the whole vector of one word.

    Colours are heads, as in `way`.
    """
    width, field = 2 * num_heads, 0.34
    wide = width * field
    figure, (axes,) = canvas(9, 2.8)
    axes.set(xlim=(0, 3 * wide + 6.4), ylim=(-0.4, wide + 0.6), aspect="equal")
    axes.axis("off")
    striped = [_head_colour(column // 2) for column in range(width)]
    middle = wide / 2

    def matrix(name, left, below, rows):
        _matrix(axes, left, below, field, rows)
        at = (left + len(rows[0]) * field / 2, below + len(rows) * field + 0.15)
        axes.text(*at, name, ha="center", fontsize=9)

    def sign(at, text, height=middle):
        axes.text(at, height, text, ha="center", va="center", fontsize=13)

    matrix("the heads' answers\nside by side  (D)", 0.2, middle - field / 2, [striped])
    sign(wide + 0.75, "×")
    slices = [[(colour, 0.55)] * width for colour in striped]
    matrix("$W_o$  (D, D)", wide + 1.3, 0, slices)
    sign(2 * wide + 1.95, "=")
    total = 2 * wide + 3.0
    for head in range(num_heads):
        height = wide - (head + 0.5) * wide / (num_heads + 1) - field / 2 + 0.1
        _matrix(axes, total, height, field, [[(_head_colour(head), 0.75)] * width])
        told = f"written by head {head}"
        axes.text(total + wide + 0.2, height + 0.08, told, fontsize=9)
        if head:
            sign(total - 0.35, "+", height + field / 2)
    axes.plot([total - 0.5, total + wide], [0.42, 0.42], color="#444444", linewidth=1)
    _matrix(axes, total, -0.1, field, [[GREY] * width])
    axes.text(total + wide + 0.2, -0.02, "output of the word  (D)", fontsize=9)
    return figure


def _head_colour(head: int) -> str:
    return HEAD_COLOURS[head % len(HEAD_COLOURS)]


def _matrix(axes: Axes, left: float, below: float, field: float, rows) -> None:
    """Small fields, row by row; each a colour, or a colour and how strong it is."""
    from matplotlib.colors import to_rgba
    from matplotlib.patches import Rectangle

    for number, row in enumerate(rows):
        height = below + (len(rows) - 1 - number) * field
        for column, colour in enumerate(row):
            inside = to_rgba(*((colour, 0.75) if isinstance(colour, str) else colour))
            style = {"facecolor": inside, "edgecolor": "white", "linewidth": 0.6}
            corner = (left + column * field, height)
            axes.add_patch(Rectangle(corner, field, field, **style))


def compared(
    losses: Mapping[str, Sequence[float]], maps: Mapping[str, Tensor]
) -> Figure:
    """Draw the loss curves of several models, and what heads look at afterwards.

    Args:
        losses: model -> its loss in each step
        maps: head -> weights (T, T)
    """
    figure, panels = canvas(9.5, 2.8, columns=1 + len(maps))
    styles = ((RED, "-"), (BLUE, "--"), (GREEN, ":"), (PURPLE, "-."))
    for (name, values), (colour, line) in zip(losses.items(), styles, strict=False):
        steps = range(1, len(values) + 1)
        panels[0].plot(steps, values, color=colour, linestyle=line, label=name)
    panels[0].set(title="loss", xlabel="step", ylim=(0, None))
    panels[0].legend(frameon=False)
    for axes, (name, weights) in zip(panels[1:], maps.items(), strict=True):
        heat_map(axes, weights, title=name, numbers=False, largest=1.0)
        axes.set(xticks=[], yticks=[])
    for axes in panels[2:]:
        axes.set_ylabel("")
    return figure


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
