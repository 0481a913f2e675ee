"""Where the course is published, and what follows from it: links, badges, a first cell.

The one setting is `repository` in [tool.course] of pyproject.toml. Without it nothing
leads anywhere, and the notebooks have no such cell.
"""

import re
import tomllib
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from tools.build.folds import TAG
from tools.build.stubs import LessonError

HOST = "https://github.com/"
ADDRESS = re.compile(re.escape(HOST) + r"[\w.-]+/[\w.-]+")
BRANCH = "main"
START = "notebooks/00_start_here.ipynb"
CELL = "colab"  # the id of the cell
# In this order: the name of a service, and the picture that it gives out.
BADGES = {
    "Colab": "https://colab.research.google.com/assets/colab-badge.svg",
    "Binder": "https://mybinder.org/badge_logo.svg",
    "Codespaces": "https://github.com/codespaces/badge.svg",
}
KEEP = (
    "Colab keeps what you write only after *File, Save a copy in Drive*, and Binder "
    "forgets it when the session ends: download the notebook before that."
)
# Colab folds a cell that begins with a title; it needs nothing that is installed.
GET = """\
# @title On Colab, run this first: it gets the course. Elsewhere it does nothing.
import sys
from importlib import invalidate_caches, util

if "google.colab" in sys.modules and not util.find_spec("helpers"):
    import subprocess

    course = "{}"
    print("Getting the course, which takes a minute or two ...")
    pip = [sys.executable, "-m", "pip", "install", "--quiet", course]
    if subprocess.run(pip).returncode:
        raise RuntimeError("pip could not install the course: run this cell again.")
    invalidate_caches()"""


def address(root: Path) -> str:
    """Where the repository is published; "" where that is not said.

    Raises:
        LessonError: The setting is no address of a repository.
    """
    try:
        settings = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))
    except FileNotFoundError:  # of a translation
        return ""
    said = settings.get("tool", {}).get("course", {}).get("repository", "")
    if said and not ADDRESS.fullmatch(said):
        raise LessonError(
            f"pyproject.toml, [tool.course]: repository = {said!r} is not of the form "
            f'"{HOST}OWNER/NAME". Correct it, or leave it empty.'
        )
    return said


def ways(address: str, path: str) -> dict[str, str]:
    """Where a notebook can be run without installing anything, by service.

    Args:
        address: of the repository
        path: of the notebook in it, such as "notebooks/02_attention.ipynb"
    """
    repository = address.removeprefix(HOST)
    return {
        "Colab": "https://colab.research.google.com/github/"
        f"{repository}/blob/{BRANCH}/{path}",
        "Binder": f"https://mybinder.org/v2/gh/{repository}/{BRANCH}"
        f"?urlpath=lab/tree/{path}",
        "Codespaces": f"https://codespaces.new/{repository}",
    }


def badges(address: str) -> str:
    """The line of the README with a badge for each service; "" without an address."""
    if not address:
        return ""
    return "\n".join(
        f"[![Open in {name}]({BADGES[name]})]({way})"
        for name, way in ways(address, START).items()
    )


def invitation(address: str, path: str) -> str:
    """The sentences of a lesson that lead there; "" without an address."""
    if not address:
        return ""
    linked = [f"[{name}]({way})" for name, way in ways(address, path).items()]
    several = f"{', '.join(linked[:-1])} or {linked[-1]}"
    return f"Run it without installing anything: on {several}. {KEEP}"


def first_cell(address: str) -> list[NotebookNode]:
    """The cell that gets the course on Colab; none without an address.

    pip makes the course's wheel from the archive of the branch that the notebook is of.
    """
    if not address:
        return []
    source = GET.format(f"{address}/archive/refs/heads/{BRANCH}.zip")
    meta = {"slideshow": {"slide_type": "skip"}, "tags": [TAG]}
    meta |= {"jupyter": {"source_hidden": True}, "cellView": "form"}
    return [nbformat.v4.new_code_cell(source, metadata=meta, id=CELL)]
