"""What all figures share: sharp, small, the same each time, and said in words."""

import io
import os
import re
import subprocess
import sys
from pathlib import Path

import nbformat
from PIL import Image

from helpers.figures import canvas, described, png, show_figure
from tools.lab import lab_environment

ROOT = Path(__file__).resolve().parent.parent


def drawn():
    figure, (axes,) = canvas(4, 3)
    axes.plot([0, 1, 4, 9])
    return figure


def test_a_figure_has_two_pixels_for_each_of_the_page():
    data = png(drawn())
    image = Image.open(io.BytesIO(data))
    about = described(data, "A curve.")["image/png"]
    assert about == {"alt": "A curve.", "width": 400, "height": 300}
    assert image.size == (800, 600)
    assert data == png(drawn())
    assert described(png(drawn(), 1), "")["image/png"]["width"] == 400


def test_a_figure_is_small_and_keeps_its_white():
    data = png(drawn())
    plain = io.BytesIO()
    drawn().savefig(plain, format="png", dpi=200)
    assert len(data) < 0.7 * len(plain.getvalue())
    assert Image.open(io.BytesIO(data)).convert("RGB").getpixel((0, 0)) == (255,) * 3


def test_a_png_that_says_nothing_of_its_density_stands_as_it_is():
    buffer = io.BytesIO()
    Image.new("RGB", (30, 20)).save(buffer, format="PNG")
    about = described(buffer.getvalue(), "Black.")["image/png"]
    assert (about["width"], about["height"]) == (30, 20)


def test_an_export_from_the_lab_says_what_figures_show(tmp_path, monkeypatch):
    bundles = []
    monkeypatch.setattr(
        "IPython.display.display",
        lambda data, raw, metadata: bundles.append((data, metadata)),
    )
    show_figure(drawn(), 'A "curve" & more.')
    [(data, metadata)] = bundles
    output = nbformat.v4.new_output("display_data", data=data, metadata=metadata)
    cell = nbformat.v4.new_code_cell("", outputs=[output])
    path = tmp_path / "figure.ipynb"
    nbformat.write(nbformat.v4.new_notebook(cells=[cell]), path)
    command = [
        sys.executable,
        "-m",
        "nbconvert",
        "--to",
        "html",
        "--template",
        "course",
    ]
    environment = os.environ | {"JUPYTER_PATH": lab_environment()["JUPYTER_PATH"]}
    run = subprocess.run(
        [*command, str(path)], env=environment, capture_output=True, text=True
    )
    assert run.returncode == 0, run.stderr
    page = path.with_suffix(".html").read_text("utf-8")
    [image] = re.findall(r"<img[^>]*>", page)
    assert 'alt="A &quot;curve&quot; &amp; more."' in image or (
        "alt='A \"curve\" &amp; more.'" in image
    )
    assert re.search(r'width="?400', image)
