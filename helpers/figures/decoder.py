"""Figures of lesson 05: a translator that writes, cross-attention, teacher forcing."""

from collections.abc import Mapping, Sequence

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from helpers.experiments.writing import Step
from helpers.figures import BLUE, GREEN, GREY, ORANGE, PURPLE, RED, WEIGHTS_MAP, canvas
from helpers.figures.play import Choice, Labels, Scene, Slider

FIELD = 0.36  # the side of a small field of a matrix
LINE = "#666666"


def writing(runs: Mapping[str, tuple[Sequence[str], Sequence[Step]]]) -> Scene:
    """Let the reader step through translations while they are written.

    Args:
        runs: a name -> the words read and the steps, as `writing.watch` gives them;
            every run reads as many words
    """
    names, first = tuple(runs), next(iter(runs.values()))
    count = len(first[1][0].words)
    longest = min(len(steps) for _, steps in runs.values())
    figure, (axes,) = canvas(9.5, 4.3)
    figure.set_layout_engine("none")
    axes.set_position((0.01, 0.02, 0.98, 0.96))
    axes.set(xlim=(0, 100), ylim=(1, 43))
    axes.axis("off")
    for height, text in ((41, "read"), (27.5, "written"), (20, "what comes next")):
        axes.text(1, height, text, color=GREY, va="center", fontsize=10)
    spots = _spread(first[0])
    fields = [Rectangle((0, 32.5), 1, 4, linewidth=0, zorder=1) for _ in first[0]]
    bars = [
        Rectangle((20, 14 - 3.2 * row), 1, 2.2, facecolor=BLUE, linewidth=0)
        for row in range(count)
    ]
    for patch in (*fields, *bars):
        axes.add_patch(patch)
    read, shares = Labels(axes, 10), Labels(axes, 8)
    written = Labels(axes, 11, "left")
    likely, odds = Labels(axes, 10, "right"), Labels(axes, 9, "left")
    colour = mpl.colormaps[WEIGHTS_MAP]

    def move(step: int, run: str) -> str:
        words, steps = runs[run]
        now = steps[step - 1]
        looks = now.looks.tolist()
        for field, word, share, at in zip(fields, words, looks, spots, strict=True):
            field.set_x(at - _width(word) / 2 - 0.4)
            field.set_width(_width(word) + 0.8)
            field.set_facecolor(colour(0.9 * share))
        places = [(at, 34.5) for at in spots]
        inks = ["white" if share > 0.6 else "black" for share in looks]
        read.write(words, places, inks)
        seen = [
            (f"{share:.2f}", (at, 31))
            for share, at in zip(looks, spots, strict=True)
            if share >= 0.005
        ]
        shares.write([text for text, _ in seen], [place for _, place in seen], LINE)
        text = " ".join((*now.before, "▸", now.words[0]))
        written.write([text], [(1, 24.3)])
        heights = [15.1 - 3.2 * row for row in range(count)]
        likely.write(now.words, [(19, height) for height in heights])
        for bar, share in zip(bars, now.odds, strict=True):
            bar.set_width(60 * share)
        odds.write(
            [f"{share:.2f}" for share in now.odds],
            [
                (21 + 60 * share, height)
                for share, height in zip(now.odds, heights, strict=True)
            ],
        )
        most = sorted(zip(looks, words, strict=True), reverse=True)[:3]
        return (
            f"Step {step} of a translation ({run}). Written so far: "
            f"{' '.join(now.before) or 'nothing'}. Next comes {now.words[0]}, with a "
            f"probability of {now.odds[0]:.2f}. The cross-attention of this step goes "
            f"to {', '.join(f'{word} {share:.2f}' for share, word in most)}."
        )

    start = min(9, longest)
    controls = {
        "step": Slider("step", tuple(range(1, longest + 1)), start),
        "run": Choice("the animal was too", names, names[0]),
    }
    return Scene(
        figure, controls, move, [*fields, *bars, read, shares, written, likely, odds]
    )


def _width(word: str) -> float:
    """What a word takes, on an axis from 0 to 100."""
    return 0.95 * len(word) + 0.4


def _spread(words: Sequence[str]) -> list[float]:
    """The middles of words that stand beside each other."""
    gap = (98 - sum(map(_width, words))) / len(words)
    found, end = [], 1.0
    for word in words:
        found.append(end + (gap + _width(word)) / 2)
        end += gap + _width(word)
    return found


# --- cross-attention, with Q, K and V -------------------------------------------------


def cross_flow(read: Sequence[str], written: Sequence[str], hidden: int = 0) -> Figure:
    """Draw one head of cross-attention: from two sentences to a vector per query.

    Args:
        read: the S words of the source
        written: the T words of the target, which ask
        hidden: so many words at the end of the source are padding
    """
    figure, (axes,) = canvas(9.5, 4.9)
    axes.set(xlim=(0, 19), ylim=(-0.2, 9.6), aspect="equal")
    axes.axis("off")
    keys, queries = len(read), len(written)
    real = [True] * (keys - hidden) + [False] * hidden
    low, high = 0.6, 6.4  # the lower edges of memory and of the decoder's vectors

    _matrix(axes, "decoder's x  (T, D)", (2.6, high), queries, 6, PURPLE, written)
    _matrix(axes, "memory  (S, D)", (2.6, low), keys, 6, GREY, read)
    _matrix(axes, "Q  (T, K)", (6.9, high), queries, 3, BLUE)
    _matrix(axes, "K  (S, K)", (6.9, low + 2.9), keys, 3, GREEN)
    _matrix(axes, "V  (S, W)", (6.9, low - 0.6), keys, 3, ORANGE)
    middle = high + FIELD * queries / 2
    _arrow(axes, (4.85, middle), (6.8, middle), r"$W^Q$", 0.15)
    source = low + FIELD * keys / 2
    _arrow(axes, (4.85, source + 0.3), (6.8, low + 3.6), r"$W^K$", 0.35)
    _arrow(axes, (4.85, source - 0.3), (6.8, low + 0.3), r"$W^V$", -0.75)
    at = 10.3, 5.9
    _matrix(axes, "scores  (T, S)", at, queries, keys, BLUE, blocked=real)
    _arrow(axes, (8.1, middle), (10.2, 6.7), "", 0)
    _arrow(axes, (8.1, low + 3.9), (10.2, 6.1), r"$QK^\top\!/\sqrt{d_{head}}$", -1.05)
    wide = FIELD * keys
    _matrix(axes, "weights  (T, S)", (13.9, 5.9), queries, keys, BLUE, blocked=real)
    height = 5.9 + FIELD * queries / 2
    _arrow(axes, (at[0] + wide + 0.1, height), (13.8, height), "softmax", 0.15)
    _matrix(axes, "output  (T, W)", (17.2, 2.2), queries, 3, ORANGE)
    _arrow(axes, (13.9 + wide + 0.1, 5.8), (17.9, 3.9), "", 0)
    _arrow(axes, (8.1, low + 0.2), (17.1, 2.6), "weights · V", -0.75)
    note = {"ha": "center", "va": "center", "fontsize": 9, "color": RED}
    place = at[0] + wide - FIELD * hidden / 2
    axes.text(place + 0.7, 9.0, "padding mask:\nthe score becomes −∞", **note)
    _arrow(axes, (place, 8.55), (place, 6.5 + FIELD * queries), "", 0, RED)
    return figure


def _matrix(
    axes: Axes,
    name: str,
    corner: tuple[float, float],
    rows: int,
    columns: int,
    colour: str,
    words: Sequence[str] = (),
    blocked: Sequence[bool] = (),
) -> None:
    """A matrix of small fields with its name above and words at its rows."""
    at, below = corner
    for row in range(rows):
        height = below + FIELD * (rows - 1 - row)
        for column in range(columns):
            open_ = not blocked or blocked[column]
            face = to_rgba(colour, 0.55) if open_ else "white"
            side = {"linewidth": 0.6, "edgecolor": "white" if open_ else RED}
            spot = at + FIELD * column, height
            axes.add_patch(Rectangle(spot, FIELD, FIELD, facecolor=face, **side))
        if words:
            style = {"ha": "right", "va": "center", "fontsize": 9}
            axes.text(at - 0.12, height + FIELD / 2, words[row], **style)
    above = below + FIELD * rows + 0.14
    axes.text(at + FIELD * columns / 2, above, name, ha="center", fontsize=9)


def _arrow(
    axes: Axes,
    start: tuple[float, float],
    end: tuple[float, float],
    text: str,
    above: float,
    colour: str = LINE,
) -> None:
    style = {"arrowstyle": "-|>", "color": colour, "shrinkA": 0, "shrinkB": 0}
    axes.annotate("", end, start, arrowprops=style)
    spot = (start[0] + end[0]) / 2, (start[1] + end[1]) / 2 + above
    axes.text(*spot, text, ha="center", fontsize=9, color=colour)


# --- training and writing -------------------------------------------------------------


def forcing(words: Sequence[str]) -> Figure:
    """Draw what the decoder gets and what it has to say, in training and in use.

    Args:
        words: of a target, without start and end
    """
    figure, (left, right) = canvas(9.5, 3.6, columns=2)
    given, wanted = ["start", *words], [*words, "end"]
    count = len(given)
    for axes, title in (
        (left, "training: all rows at once"),
        (right, "use: row by row"),
    ):
        axes.set(xlim=(-0.6, count + 2.1), ylim=(count + 0.3, -1.6), title=title)
        axes.axis("off")
        for row in range(count):
            for column in range(count):
                seen = column <= row
                face = to_rgba(BLUE, 0.5) if seen else "white"
                style = {"facecolor": face, "edgecolor": "#cccccc", "linewidth": 0.8}
                axes.add_patch(Rectangle((column - 0.5, row - 0.5), 1, 1, **style))
            name = wanted[row]
            own = axes is right
            colour = ORANGE if own else GREEN
            left_of = {"ha": "left", "va": "center", "fontsize": 10}
            axes.text(count - 0.1, row, f"→ {name}", color=colour, **left_of)
        for column, name in enumerate(given):
            ink = "black" if axes is left or column == 0 else ORANGE
            style = {"rotation": 35, "ha": "left", "va": "bottom", "fontsize": 10}
            axes.text(column - 0.2, -0.65, name, color=ink, **style)
    left.text(count / 2, count + 0.1, "given: the true words", ha="center", va="center")
    text = "given: the words that it wrote itself"
    right.text(count / 2, count + 0.1, text, ha="center", va="center", color=ORANGE)
    return figure
