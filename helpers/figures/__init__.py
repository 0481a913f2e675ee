"""What all figures share: one palette, axes, and a text for readers who can't see.

Figures are PNG, because a fresh clone of a notebook shows nothing else, with twice the
pixels that the page gives them. `show_figure` puts one into the notebook together with
its alternative text.
"""

import base64
import io
from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from PIL import Image
from torch import Tensor

from helpers import first_edition

# Okabe and Ito's colours, which colour-blind readers can tell apart.
BLUE, ORANGE, GREEN, RED = "#0072B2", "#E69F00", "#009E73", "#D55E00"
PURPLE, SKY, YELLOW, GREY = "#CC79A7", "#56B4E9", "#F0E442", "#888888"
WEIGHTS_MAP = "Blues"  # for weights from 0 to 1; readable when printed in grey
SIGNED_MAP = "PuOr"  # for values on both sides of 0
DENSITY = 100  # of a page's own pixels, to the inch
COLOURS = 128  # in a PNG: enough for letters with soft edges, and half the bytes

__all__ = ["canvas", "described", "heat_map", "png", "show_figure"]
__getattr__ = first_edition.forwarding(__name__)


def canvas(
    width: float, height: float, columns: int = 1, rows: int = 1
) -> tuple[Figure, list[Axes]]:
    """A figure and its axes, row by row.

    Args:
        width: inches
        height: inches
        columns: axes beside each other
        rows: axes below each other
    """
    figure = Figure(figsize=(width, height), layout="constrained", dpi=DENSITY)
    axes = figure.subplots(rows, columns, squeeze=False)
    return figure, list(axes.flat)


def png(figure: Figure, sharpness: int = 2) -> bytes:
    """The figure as PNG, the same bytes for the same figure.

    Args:
        figure: what to draw
        sharpness: pixels for each that the page gives it, across and down; modern
            screens have two
    """
    drawn, small = io.BytesIO(), io.BytesIO()
    density = sharpness * DENSITY
    figure.savefig(drawn, format="png", dpi=density)
    colours = Image.open(drawn).convert("RGB").quantize(COLOURS)
    colours.save(small, format="PNG", dpi=(density, density), optimize=True)
    return small.getvalue()


def show_figure(picture: Figure | bytes, alt: str) -> None:
    """Display a figure, or a finished PNG, in a notebook.

    Args:
        picture: A figure, or the bytes of a PNG (an animated one, for example).
        alt: What it shows, for readers who can't see it.
    """
    from IPython.display import display

    data = picture if isinstance(picture, bytes) else png(picture)
    bundle = {"image/png": base64.b64encode(data).decode(), "text/plain": alt}
    display(bundle, raw=True, metadata=described(data, alt))


def described(data: bytes, alt: str) -> dict:
    """What a notebook has to know of a PNG: its text, and its size on the page."""
    image = Image.open(io.BytesIO(data))
    density = image.info.get("dpi", (DENSITY, DENSITY))[0]
    width, height = (round(pixels * DENSITY / density) for pixels in image.size)
    return {"image/png": {"alt": alt, "width": width, "height": height}}


def heat_map(
    axes: Axes,
    weights: Tensor | np.ndarray,
    queries: Sequence[str] = (),
    keys: Sequence[str] = (),
    title: str = "",
    numbers: bool | None = None,
    largest: float | None = None,
) -> None:
    """Draw weights: a row per query, a column per key.

    Args:
        axes: where to draw
        weights: (T, S), from 0 to 1
        queries: words at the rows
        keys: words at the columns
        title: above the map
        numbers: write the numbers into the fields; by default where there is room
        largest: the weight that gets the darkest colour; by default the largest one
    """
    if isinstance(weights, Tensor):
        weights = weights.detach().cpu().numpy()
    table = np.asarray(weights)
    top = largest or float(table.max()) or 1.0
    axes.imshow(table, cmap=WEIGHTS_MAP, vmin=0, vmax=top, aspect="equal")
    axes.set(title=title, xlabel="key", ylabel="query")
    axes.set_xticks(range(len(keys)), keys, rotation=45, ha="right")
    axes.set_yticks(range(len(queries)), queries)
    if numbers if numbers is not None else table.size <= 100:
        for (row, column), value in np.ndenumerate(table):
            colour = "white" if value > 0.6 * top else "black"
            place = {"ha": "center", "va": "center", "fontsize": 8}
            axes.text(column, row, f"{value:.2f}", color=colour, **place)
