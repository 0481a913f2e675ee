"""Pack the notebooks of the first edition: `python tests/first_edition/pack.py`.

Needs a clone that reaches back to their commit. Only code cells are kept, without
outputs; each notebook is one JSON file.
"""

import io
import json
import subprocess
import tarfile
from pathlib import Path

COMMIT = "a7f0f17"
ARCHIVE = Path(__file__).with_name("notebooks.tar.xz")


def git(*arguments: str) -> str:
    """What git prints."""
    return subprocess.run(
        ["git", *arguments],
        cwd=ARCHIVE.parent,
        capture_output=True,
        text=True,
        check=True,
    ).stdout


def packed() -> dict[str, str]:
    """Path in the commit -> the notebook, cut to its code cells."""
    listed = git("ls-tree", "-r", "--full-tree", "--name-only", COMMIT)
    paths = [path for path in listed.split() if path.endswith(".ipynb")]
    return {path: cut(git("show", f"{COMMIT}:{path}")) for path in paths}


def cut(notebook: str) -> str:
    """A notebook without prose and outputs."""
    whole = json.loads(notebook)
    cells = [cell for cell in whole["cells"] if cell["cell_type"] == "code"]
    for cell in cells:
        cell |= {"outputs": [], "execution_count": None}
    return json.dumps(whole | {"cells": cells}, indent=1, ensure_ascii=False)


def write() -> None:
    """Write the archive, the same bytes every time."""
    with tarfile.open(ARCHIVE, "w:xz") as archive:
        for path, text in packed().items():
            entry = tarfile.TarInfo(path)
            entry.size = len(text.encode())
            archive.addfile(entry, io.BytesIO(text.encode()))


def notebooks() -> dict[str, str]:
    """Path in the commit -> notebook, from the archive."""
    with tarfile.open(ARCHIVE) as archive:
        return {
            one.name: archive.extractfile(one).read().decode()
            for one in archive.getmembers()
        }


if __name__ == "__main__":
    write()
