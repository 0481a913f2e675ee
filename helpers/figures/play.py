"""A figure that moves under the reader's hand, and stands still where nobody watches.

A `Scene` is a figure with controls. Whenever a control changes, `move` updates the
artists. `play` shows it: with sliders where a person ran the cell, as one PNG with its
alternative text elsewhere. What never moves is drawn once and kept as a background.
"""

import base64
import html
import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import PathCollection
from matplotlib.figure import Figure
from matplotlib.path import Path
from matplotlib.textpath import TextPath
from matplotlib.transforms import Affine2D
from PIL import Image

from helpers.figures import show_figure
from helpers.student.presence import person_present

VIEW = "application/vnd.jupyter.widget-view+json"
CARD = "max-width:100%;height:auto;padding:6px;border-radius:4px;background:white"

# For tables that move: each field gets its colour once, not each of its pixels.
QUICK = {"interpolation": "nearest", "interpolation_stage": "rgba"}


@dataclass(frozen=True)
class Slider:
    """A control that goes through values in order."""

    name: str
    values: Sequence[Any]
    start: Any


@dataclass(frozen=True)
class Switch:
    """A control that is on or off."""

    name: str
    start: bool


@dataclass(frozen=True)
class Choice:
    """A control that takes one of a few options."""

    name: str
    values: Sequence[str]
    start: str


@dataclass(frozen=True)
class Words:
    """A line that the reader writes; it counts when Enter is pressed."""

    name: str
    start: str


@dataclass(frozen=True)
class Scene:
    """A figure with controls.

    Args:
        figure: all that is drawn
        controls: argument of `move` -> the control that sets it
        move: sets the moving artists and returns the alternative text of what they show
        moving: the artists that `move` touches
    """

    figure: Figure
    controls: Mapping[str, Slider | Switch | Choice | Words]
    move: Callable[..., str]
    moving: Sequence[Artist]

    def start(self) -> str:
        """Set every control to where it starts, and return the alternative text."""
        return self.move(**{key: one.start for key, one in self.controls.items()})


def play(scene: Scene) -> None:
    """Show a scene: with its controls to a person, as a still picture elsewhere."""
    alt = scene.start()
    if not person_present():
        show_figure(scene.figure, alt)
        return
    from IPython.display import display

    camera = Camera(scene)
    still = base64.b64encode(camera.shot()).decode()  # where no widget is drawn
    model = hands_on(camera).model_id
    view = {"version_major": 2, "version_minor": 0, "model_id": model}
    bundle = {VIEW: view, "image/png": still, "text/plain": alt}
    display(bundle, raw=True, metadata={"image/png": {"alt": alt}})


def hands_on(camera: "Camera") -> Any:
    """The widget of a scene: an `ipywidgets.VBox`, the controls above the picture."""
    import ipywidgets

    scene = camera.scene
    handles = {key: _handle(one) for key, one in scene.controls.items()}
    picture = ipywidgets.HTML()

    def move(_change: object = None) -> None:
        alt = scene.move(**{key: handle.value for key, handle in handles.items()})
        picture.value = _tag(camera.shot(), scene.figure, alt)

    for handle in handles.values():
        handle.observe(move, "value")
    move()
    return ipywidgets.VBox([*handles.values(), picture])


def _handle(control: Slider | Switch | Choice | Words) -> Any:
    """The widget of one control; a keyboard moves each of them."""
    import ipywidgets

    common = {
        "description": control.name,
        "value": control.start,
        "style": {"description_width": "initial"},
    }
    if isinstance(control, Switch):
        return ipywidgets.Checkbox(indent=False, **common)
    if isinstance(control, Words):
        wide = ipywidgets.Layout(width="40em", max_width="100%")
        return ipywidgets.Text(continuous_update=False, layout=wide, **common)
    if isinstance(control, Choice):
        return ipywidgets.RadioButtons(
            options=control.values, orientation="horizontal", **common
        )
    wide = ipywidgets.Layout(width="30em", max_width="100%")
    options = [(str(value), value) for value in control.values]
    return ipywidgets.SelectionSlider(options=options, layout=wide, **common)


def _tag(picture: bytes, figure: Figure, alt: str) -> str:
    """The picture in HTML: as large as drawn, so that nothing jumps, with its text."""
    width, height = figure.canvas.get_width_height()
    return (
        f'<img src="data:image/png;base64,{base64.b64encode(picture).decode()}" '
        f'width="{width}" height="{height}" decoding="sync" style="{CARD}" '
        f'alt="{html.escape(alt)}">'
    )


class Camera:
    """Takes pictures of a scene, and draws each time only what moves."""

    def __init__(self, scene: Scene) -> None:
        self.scene = scene
        self.canvas = FigureCanvasAgg(scene.figure)
        scene.start()
        self.canvas.draw()  # finds the layout, which stays
        scene.figure.set_layout_engine("none")
        self.moving = sorted(scene.moving, key=Artist.get_zorder)
        for artist in self.moving:
            artist.set_animated(True)  # left out when the canvas is drawn
        self.canvas.draw()
        self.background = self.canvas.copy_from_bbox(scene.figure.bbox)

    def shot(self) -> bytes:
        """What the scene shows now, as PNG."""
        self.canvas.restore_region(self.background)
        for artist in self.moving:
            artist.draw(self.canvas.get_renderer())
        picture = Image.fromarray(np.asarray(self.canvas.buffer_rgba())).convert("RGB")
        buffer = io.BytesIO()
        picture.save(buffer, "PNG", compress_level=1)
        return buffer.getvalue()


class Labels(PathCollection):
    """Many short texts as one artist, drawn much faster than a `Text` for each.

    Args:
        axes: where they stand, in coordinates of the data
        size: points
        align: the side of a text that stands at its place: "left", "center", "right"
        turn: degrees
        monospace: whether all letters are equally wide
    """

    def __init__(
        self,
        axes: Axes,
        size: float = 9,
        align: str = "center",
        turn: float = 0,
        monospace: bool = False,
    ) -> None:
        super().__init__([], linewidths=0, offset_transform=axes.transData, zorder=3)
        self.set_transform(Affine2D().scale(1 / 72) + axes.figure.dpi_scale_trans)
        self.set_clip_on(False)
        family = "monospace" if monospace else "sans-serif"
        self._style = size, align, turn, family
        axes.add_artist(self)

    def write(
        self,
        texts: Sequence[str],
        places: Sequence[tuple[float, float]],
        colours: str | Sequence[str] = "black",
    ) -> None:
        """Replace the texts by others.

        Args:
            texts: N texts of one line
            places: N pairs (x, y)
            colours: one for all, or N
        """
        self.set_paths([_outline(text, *self._style) for text in texts])
        self.set_offsets(np.reshape(places, (-1, 2)))
        self.set_facecolor(colours)


@lru_cache(maxsize=2000)
def _outline(text: str, size: float, align: str, turn: float, family: str) -> Path:
    """The letters of a text as a path, in points from where the text stands."""
    if not text.strip():
        return Path(np.empty((0, 2)))
    font = {"family": [family]}
    path = TextPath((0, 0), text.replace("$", r"\$"), size=size, prop=font)
    # Outlines of letters have a point at each of their ends. Asking for the extents of
    # the path would solve every curve of it, which takes ten times as long.
    across = path.vertices[path.codes != Path.CLOSEPOLY, 0]
    left, right = across.min(), across.max()
    anchor = {"left": left, "center": (left + right) / 2, "right": right}[align]
    middle = 0.36 * size  # half the height of a capital letter
    return path.transformed(Affine2D().translate(-anchor, -middle).rotate_deg(turn))
