"""What of an executed notebook leaves the sandbox: text, code and pictures.

The formgrader and the feedback of nbgrader draw a notebook in the browser of the person
who grades, where script could do whatever that person's Jupyter can. So nothing is kept
that a browser runs or fetches: no HTML, SVG or JavaScript among the outputs, no tags,
pictures or odd addresses in Markdown, no metadata but the course's own. What the course
itself wrote stays as it is.
"""

import json
import re
from collections.abc import Iterator

from nbformat import NotebookNode

# Characters that are kept of what a student wrote and printed: nbconvert takes seconds
# for 20,000 of Markdown where somebody means it badly, and half a minute for 90,000.
ROOM = {"cell": 20_000, "markdown": 100_000, "code": 1_000_000, "output": 10_000_000}
TAG = re.compile(r"<(?=[A-Za-z/!?])")
LINK = re.compile(r"\](?=\((?!https?://|#))|\](?=:(?![ \t]*https?://))", re.IGNORECASE)
MACRO = re.compile(r"\\(?=(?:href|require)\b)")  # of MathJax, which make links and load
PICTURES = ("image/png", "image/jpeg")
BASE64 = re.compile(r"[A-Za-z0-9+/\s]*=?=?")  # linear: nothing follows a blank


def safe_notebook(text: str, released: NotebookNode) -> str:
    """An executed notebook, safe to be drawn by nbgrader.

    Args:
        text: The notebook as JSON; anything may stand in it.
        released: The same notebook as students got it.

    Returns:
        The notebook as JSON, of at most a few times `ROOM`.

    Raises:
        KeyError, TypeError, ValueError: It isn't a notebook.
    """
    given = {cell.source for cell in released.cells}
    known = {
        cell.metadata.nbgrader.grade_id: dict(cell.metadata)
        for cell in released.cells
        if "nbgrader" in cell.metadata
    }
    room = dict(ROOM)
    cells = []
    for number, cell in enumerate(json.loads(text)["cells"]):
        kind, source = cell["cell_type"], _text(cell["source"])
        name = cell["metadata"].get("nbgrader", {}).get("grade_id")
        fresh = {
            "id": f"g-{number}",
            "cell_type": kind if kind == "code" else "markdown",
            "metadata": known.get(name, {}) if isinstance(name, str) else {},
            "source": source,
        }
        if kind == "code":
            fresh["source"] = source if source in given else _cut(source, "code", room)
            fresh["outputs"] = list(_outputs(cell["outputs"], room))
            fresh["execution_count"] = None
        elif source not in given or kind != "markdown":
            source = _cut(source[: room["cell"]], "markdown", room, len(source))
            fresh["source"] = safe_markdown(source)
            if kind != "markdown":  # drawn as HTML where it is raw
                fresh["source"] = "    " + fresh["source"].replace("\n", "\n    ")
        cells.append(fresh)
    whole = {"nbformat": 4, "nbformat_minor": 5, "cells": cells}
    return json.dumps(whole | {"metadata": released.metadata}, indent=1)


def safe_markdown(source: str) -> str:
    """Markdown without tags, pictures, and links that lead anywhere but to a page.

    A space is put where it keeps one from being read as such: `< img`, `] (`, `! [`.
    """
    source = TAG.sub("< ", source).replace("![", "! [")
    return MACRO.sub(r"\\ ", LINK.sub("] ", source))


def _outputs(outputs: list[dict], room: dict[str, int]) -> Iterator[dict]:
    """Those outputs that a browser only shows."""
    for output in outputs:
        kind = output["output_type"]
        if kind == "stream":
            name = "stderr" if output["name"] == "stderr" else "stdout"
            text = _cut(_text(output["text"]), "output", room)
            yield {"output_type": kind, "name": name, "text": text}
        elif kind == "error":
            lines = [_cut(_text(line), "output", room) for line in output["traceback"]]
            name, value = _text(output["ename"]), _text(output["evalue"])
            found = {"ename": name[:200], "evalue": _cut(value, "output", room)}
            yield {"output_type": kind, "traceback": lines} | found
        else:
            data = dict(_data(output["data"], room))
            yield {"output_type": "display_data", "metadata": {}, "data": data}


def _data(data: dict, room: dict[str, int]) -> Iterator[tuple[str, str]]:
    text = data.get("text/plain")
    if text is None:
        text = f"(left out: {', '.join(sorted(map(_text, data)))[:200]})"
    yield "text/plain", _cut(_text(text), "output", room)
    for kind in PICTURES:
        picture = _text(data.get(kind, ""))
        if (
            picture
            and BASE64.fullmatch(picture.rstrip())
            and len(picture) < room["output"]
        ):
            room["output"] -= len(picture)
            yield kind, picture


def _text(text: object) -> str:
    """Text that can be written and shown: no control characters, no half ones."""
    if isinstance(text, list):  # a file holds the lines of a text
        text = "".join(text)
    if not isinstance(text, str):
        raise TypeError(f"{type(text).__name__} in the place of text")
    text = text.encode("utf-8", "replace").decode()
    return re.sub(r"[\0-\x08\x0b\x0c\x0e-\x1a\x1c-\x1f\x7f]", "", text)  # escape stays


def _cut(text: str, kind: str, room: dict[str, int], length: int | None = None) -> str:
    """As much of a text as there is room for; it says where it was cut."""
    kept = text[: room[kind]]
    room[kind] -= len(kept)
    length = len(text) if length is None else length
    return kept if len(kept) == length else f"{kept}\n\n[cut: {length} characters]"
