"""What changed: in a student's notebook, and in the course's since they had it.

A notebook that was opened, or run, is not the same file any more: JupyterLab writes the
version of Python into it, outputs, and which cells are folded. Whether a student
changed it is a question of its cells alone.

Needs the standard library.
"""

import hashlib
import json
import re

CHANGES = "CHANGELOG.md"
OURS = ("nbgrader", "slideshow", "tags")  # metadata that the first edition's cells had


def digest(content: bytes | str) -> str:
    """Return the sha256 of a file's content."""
    data = content.encode() if isinstance(content, str) else content
    return hashlib.sha256(data).hexdigest()


def identities(content: bytes) -> list[str]:
    """Return digests by which a notebook is known again after it was opened or run.

    The first is that of its cells: type, id and text, empty cells left out, because
    JupyterLab adds one when the last cell is run. The second is that of the file as
    version 1 of the course wrote it, because folders from then remember whole files.
    A file that is not a notebook has neither.
    """
    try:
        notebook = json.loads(content)
        written = [cell for cell in notebook["cells"] if _text(cell).strip()]
        notebook["cells"] = written
        cells = [(cell["cell_type"], cell["id"], _text(cell)) for cell in written]
        return [digest(json.dumps(cells)), digest(_as_written(notebook))]
    except (ValueError, KeyError, TypeError, AttributeError):
        return []


def _text(cell: dict) -> str:
    source = cell["source"]
    return source if isinstance(source, str) else "".join(source)


def _as_written(notebook: dict) -> str:
    """Return the text of a notebook of version 1 before it was opened."""
    notebook["metadata"] = notebook["metadata"] | {"language_info": {"name": "python"}}
    for cell in notebook["cells"]:
        meta = cell["metadata"]
        cell["metadata"] = {key: meta[key] for key in OURS if key in meta}
        if cell["cell_type"] == "code":
            cell |= {"outputs": [], "execution_count": None}
    return json.dumps(notebook, ensure_ascii=False, indent=1, sort_keys=True) + "\n"


def entries(changelog: str) -> list[str]:
    """Return the lines of CHANGELOG.md, newest first: "02, 06: what is new".

    An entry is an item of a list; it names the lessons that it concerns, or "all".
    """
    items = re.findall(r"^- (.+(?:\n  .+)*)", changelog, re.MULTILINE)
    return [" ".join(item.replace("**", "").split()) for item in items]


def concerning(items: list[str], lessons: set[str]) -> list[str]:
    """Return the entries that concern some lessons, named by numbers such as "02"."""
    named = [(item, set(item.split(":")[0].split(", "))) for item in items]
    return [
        item
        for item, about in named
        if about & lessons or (about == {"all"} and lessons)
    ]
