"""One HTML file with everything in it: reveal.js, its notes, fonts and pictures."""

import base64
import html
import io
import re
from importlib.resources import files
from pathlib import Path

import matplotlib
from fontTools import subset
from fontTools.ttLib import TTFont

from tools.slides import html as draw
from tools.slides.cells import Slide

HERE = Path(__file__).parent
# The face's name, its file in matplotlib, weight and style.
FONTS = (
    ("Slides", "DejaVuSans", 400, "normal"),
    ("Slides", "DejaVuSans-Bold", 700, "normal"),
    ("Slides", "DejaVuSans-Oblique", 400, "italic"),
    ("Slides Mono", "DejaVuSansMono", 400, "normal"),
    ("Slides Mono", "DejaVuSansMono-Bold", 700, "normal"),
)
# What the browser itself writes: page numbers.
ALWAYS = "0123456789/.-"
PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
<div class="reveal"><div class="slides">
{slides}
</div></div>
<script>{script}</script>
</body>
</html>
"""


def page(title: str, deck: list[Slide]) -> str:
    """The whole deck as text of one file that asks for nothing else."""
    reveal = files("sphinx_revealjs") / "_static" / "revealjs"
    slides = draw.sections(deck)
    used = set(html.unescape(re.sub(r'(src|d)="[^"]*"', "", slides))) | set(ALWAYS)
    styles = [
        (reveal / "dist" / "reset.css").read_text("utf-8"),
        (reveal / "dist" / "reveal.css").read_text("utf-8"),
        fonts("".join(used)),
        draw.STYLE,
        (HERE / "deck.css").read_text("utf-8"),
    ]
    scripts = [
        (reveal / "dist" / "reveal.js").read_text("utf-8"),
        (reveal / "plugin" / "notes" / "notes.js").read_text("utf-8"),
        (HERE / "deck.js").read_text("utf-8"),
    ]
    return PAGE.format(
        title=html.escape(title),
        style="\n".join(styles),
        slides=slides,
        script=inline("\n;\n".join(scripts)),
    )


def inline(script: str) -> str:
    """A script that may stand in a page: it must not seem to end early."""
    script = re.sub(r"//# sourceMappingURL=\S+", "", script)
    return script.replace("</script", r"<\\/script").replace("<!--", r"<\\!--")


def fonts(characters: str) -> str:
    """The fonts, cut to the characters that occur, as CSS."""
    folder = Path(matplotlib.get_data_path(), "fonts", "ttf")
    return "\n".join(
        f"@font-face {{ font-family: '{name}'; font-weight: {weight}; "
        f"font-style: {style}; src: url(data:font/woff;base64,"
        f"{font(folder / f'{file}.ttf', characters)}) format('woff'); }}"
        for name, file, weight, style in FONTS
    )


def font(path: Path, characters: str) -> str:
    """One font file with these characters alone, base64."""
    options = subset.Options(layout_features=["kern"])
    options.drop_tables += ["FFTM"]
    face = TTFont(path)
    subsetter = subset.Subsetter(options)
    subsetter.populate(text=characters)
    subsetter.subset(face)
    face.flavor, face.recalcTimestamp = "woff", False
    data = io.BytesIO()
    face.save(data)
    return base64.b64encode(data.getvalue()).decode()
