"""Bring missing notebooks to `work/` and open JupyterLab there: `python -m tools.lab`.

The student's notebooks live in `work/`, which git ignores. A notebook that the student
changed is never overwritten. When the course has a newer version of it, that is placed
beside it, once, as `02_attention.new-2.ipynb`; a copy that nobody changed is updated.
Opened or run is not changed: what counts are the cells, see tools/changes.py.
`work/.course.json` remembers which course versions came, and which lines CHANGELOG.md
had; its presence also tells the checks that they may record progress in this folder.
Before anything is brought, `backups/` gets a dated copy of a `work/` that has changed
since the newest one.

Needs the standard library, and JupyterLab in the same Python.
"""

import argparse
import importlib.util
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

from helpers.files import Locked, locked, utf8_output, write_whole
from tools.backup import back_up
from tools.changes import CHANGES, concerning, digest, entries, identities

ROOT = Path(__file__).resolve().parent.parent
MARKER = ".course.json"
LOCK = ".course.lock"  # who brings notebooks or writes progress holds it
PATIENCE = 30.0  # seconds for another `make lab` to bring its notebooks
START = "00_start_here.ipynb"
JUPYTER = Path(__file__).with_name("jupyter")  # settings and style of JupyterLab
LAYOUT = ".layout"  # in work/: which tabs and side bars of JupyterLab are open


class LabError(Exception):
    """Something the student can put right; its text is one clear sentence."""


# --- copying --------------------------------------------------------------------


def copy_notebooks(source: Path, work: Path, backups: Path | None = None) -> list[str]:
    """Copy missing notebooks from `source` to `work` and keep every changed file there.

    Args:
        source: the course's folder of notebooks; beside it lies CHANGELOG.md.
        work: the student's folder; it is made when it is missing.
        backups: where to keep a copy of `work` as it was before; None: nowhere.

    Returns:
        What was done, one sentence each; empty when nothing had to be done.

    Raises:
        LabError: the notebooks are missing, or `work` cannot be read or written.
    """
    notebooks = sorted(source.glob("*.ipynb"))
    if not notebooks:
        raise LabError(
            f"There are no notebooks in {source}: get the whole course again, "
            "or run `make build` if you edit its lessons."
        )
    try:
        work.mkdir(parents=True, exist_ok=True)
        with locked(work / LOCK, PATIENCE):
            told = back_up(work, backups) if backups else []
            return told + _bring(notebooks, work)
    except Locked:
        raise LabError(
            f"Another `make lab` has been bringing notebooks to {work} for more than "
            f"{PATIENCE:.0f} seconds: end it, and try again."
        ) from None
    except OSError as error:
        raise LabError(
            f"Could not bring the notebooks to {work} ({error.strerror or error}): "
            "make sure that this folder can be written and that the disk has room, "
            "then try again; your own files there are unchanged."
        ) from error


def _bring(notebooks: list[Path], work: Path) -> list[str]:
    before, told = read_marker(work / MARKER)
    known = {name: list(seen) for name, seen in before["notebooks"].items()}
    copied, renewed = 0, set()
    for notebook in notebooks:
        new = not (work / notebook.name).exists()
        sentence = _bring_one(notebook, work, known.setdefault(notebook.name, []))
        copied += new
        if sentence:
            told.append(sentence)
            renewed.add(notebook.name[:2])
    if copied:
        told.insert(0, f"Copied {copied} notebook{'s'[: copied > 1]} to {work}.")
    lines = _changes(notebooks[0].parent.with_name(CHANGES))
    seen = set(before["changes"])
    fresh = [line for line in lines if digest(line)[:12] not in seen]
    if news := concerning(fresh, renewed):
        told += ["What is new there:", *(f"  {line}" for line in news)]
    seen |= {digest(line)[:12] for line in lines}
    after = {"notebooks": known, "changes": sorted(seen)}
    if after != before or not (work / MARKER).exists():
        text = json.dumps(after, indent=1, sort_keys=True) + "\n"
        write_whole(work / MARKER, text.encode())
    return told


def _bring_one(notebook: Path, work: Path, versions: list[str]) -> str | None:
    """Bring one notebook; `versions` are digests of what the course brought before."""
    content, mine = notebook.read_bytes(), work / notebook.name
    earlier = set(versions)
    now = [digest(content), *identities(content)[:1]]  # the file, its cells
    versions += [one for one in now if one not in earlier]
    if not mine.exists():
        write_whole(mine, content)
    elif now[0] in earlier:
        return None
    elif earlier & {digest(mine.read_bytes()), *identities(mine.read_bytes())}:
        write_whole(mine, content)
        return f"Updated {mine.name}, which you had not changed."
    elif now[-1] not in earlier and (beside := _place_beside(mine, content)):
        return (
            f"{mine.name} differs from the course's newest version: yours is "
            f"unchanged, and that one is beside it as {beside.name}."
        )
    return None


def _changes(path: Path) -> list[str]:
    try:
        return entries(path.read_text("utf-8"))
    except OSError:  # a course without one
        return []


def _place_beside(mine: Path, content: bytes) -> Path | None:
    """Write `content` beside the student's file unless it is there already."""
    present = [mine, *mine.parent.glob(f"{mine.stem}.new-*{mine.suffix}")]
    same = {digest(content), *identities(content)}
    for path in present:
        there = path.read_bytes()
        if same & {digest(there), *identities(there)}:
            return None
    number = 2
    while (beside := mine.with_suffix(f".new-{number}{mine.suffix}")).exists():
        number += 1
    write_whole(beside, content)
    return beside


def read_marker(path: Path) -> tuple[dict, list[str]]:
    """Return what came here, and what to tell the student.

    "notebooks" holds digests of the course's versions by name of the notebook,
    "changes" the beginnings of the digests of CHANGELOG.md's entries.
    """
    none = {"notebooks": {}, "changes": []}
    try:
        marker = json.loads(path.read_bytes())
        known = {
            str(name): [str(one) for one in seen]
            for name, seen in marker["notebooks"].items()
        }
        changes = [str(one) for one in marker.get("changes", [])]
        return {"notebooks": known, "changes": changes}, []
    except FileNotFoundError:
        if not any(path.parent.glob("*.ipynb")):
            return none, []  # the first time
        state = "missing"
    except (ValueError, KeyError, TypeError, AttributeError):
        state = "damaged"
    return none, [
        f"{path.name}, which remembers the versions of the notebooks, was {state} and "
        "is written again."
    ]


# --- JupyterLab --------------------------------------------------------------------


def lab_command(work: Path, extra: list[str]) -> list[str]:
    """Return the command that serves `work` on this machine alone, with a token."""
    page = f"/lab/tree/{START}" if (work / START).exists() else "/lab"
    command = [sys.executable, "-m", "jupyterlab", "--ServerApp.ip=127.0.0.1"]
    command += ["--ServerApp.identity_provider_class=tools.lab_token.OwnToken"]
    command += ["--ServerApp.contents_manager_class=tools.lab_contents.Contents"]
    command += [f"--ServerApp.root_dir={work}", f"--LabApp.default_url={page}"]
    command += ["--MappingKernelManager.transport_encryption=auto"]  # no warning of it
    command += [f"--LabApp.workspaces_dir={work / LAYOUT}"]  # not that of other courses
    command += ["--ServerApp.answer_yes=True"]  # one Ctrl-C ends it
    command += ["--Application.log_level=ERROR"]  # the address alone
    command += ["--LabApp.extension_manager=readonly", "--LabApp.news_url=None"]
    never = "jupyterlab.handlers.announcements.NeverCheckForUpdate"
    command += [f"--LabApp.check_for_updates_class={never}"]  # no call to the network
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        command += ["--allow-root"]  # in a container there may be no other user
    return command + extra


def lab_environment() -> dict[str, str]:
    """Return an environment in which the kernel `python3` is this very Python."""
    environment = os.environ.copy()
    first_paths = {
        # its kernels; how pages are shown and exported
        "JUPYTER_PATH": [Path(sys.prefix, "share", "jupyter"), JUPYTER],
        # asks the student no question, and leaves nbgrader's menus to instructors
        "JUPYTER_CONFIG_PATH": [JUPYTER],
        "PYTHONPATH": [ROOT],
    }
    for name, first in first_paths.items():
        others = filter(None, [environment.get(name)])
        environment[name] = os.pathsep.join([*map(str, first), *others])
    return environment


def lay_out(work: Path) -> None:
    """Open the table of contents, the first time; afterwards JupyterLab remembers."""
    from jupyterlab_server.workspaces_handler import WorkspacesManager

    if not (work / LAYOUT).exists():
        first = (JUPYTER / "layout.json").read_text("utf-8")
        WorkspacesManager(str(work / LAYOUT)).save("default", first)


def serve(work: Path, extra: list[str]) -> int:
    """Run JupyterLab until it ends or the student presses Ctrl-C.

    Raises:
        LabError: JupyterLab or ipykernel is not installed.
    """
    for package in ("jupyterlab", "ipykernel"):
        if importlib.util.find_spec(package) is None:
            raise LabError(
                f"{package} is not installed for {sys.executable}: run `make setup`, "
                "or `python -m pip install -r requirements.txt -e .`, and try again."
            )
    lay_out(work)
    lab = subprocess.Popen(lab_command(work, extra), env=lab_environment())
    signal.signal(signal.SIGTERM, lambda *_: lab.terminate())
    while True:
        try:
            return lab.wait()
        except KeyboardInterrupt:  # Jupyter got it too, and is shutting down
            continue


def main(arguments: list[str] | None = None) -> int:
    """Copy what is missing, say what was done, and open JupyterLab."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.lab",
        description="Copy missing notebooks to work/ and open JupyterLab on them.",
        epilog="Other options go to JupyterLab, for example --port=8899.",
    )
    parser.add_argument("--copy-only", action="store_true", help="do not open it")
    parser.add_argument("--no-browser", action="store_true", help="print the address")
    chosen, extra = parser.parse_known_args(arguments)
    folders = (ROOT / "notebooks", ROOT / "work", ROOT / "backups")
    try:
        for sentence in copy_notebooks(*folders):
            print(sentence, flush=True)
        if chosen.copy_only:
            return 0
        print("JupyterLab opens at the address below; Ctrl-C ends it.", flush=True)
        return serve(ROOT / "work", extra + ["--no-browser"] * chosen.no_browser)
    except LabError as error:
        print(error, file=sys.stderr)
        return 1


if __name__ == "__main__":
    utf8_output()
    sys.exit(main())
