"""Memory and time that a hub needs for each student, and what a class would need.

Every student has a server and a kernel that runs a lesson's solution, one after
another; then all of them are looked at together. Memory is the proportional set size:
what several processes share is divided between them. Linux only.
"""

import json
import os
import platform
import shutil
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import psutil

from tools.hub import client, config
from tools.hub.config import ROOT, Class, HubError

DOCS = ROOT / "docs"
KEPT = DOCS / "hub.json"
PAGE = DOCS / "hub.md"
BEGIN = "<!-- measured: written by `python -m tools.hub measure --write` -->\n"
END = "<!-- end of measured -->\n"
PORT = 19000
CLASSES = (40, 200, 1000)
MB = 2**20


def run(users: int, lesson: str, write: bool) -> list[str]:
    """Measure servers that run a lesson; returns the lines to print.

    Args:
        users: How many, at once.
        lesson: Its number.
        write: Whether docs/hub.json and docs/hub.md are renewed.

    Raises:
        HubError: There is no such lesson, or it does not run.
    """
    found = sorted((ROOT / "solutions").glob(f"{lesson}_*.ipynb"))
    if len(found) != 1:
        raise HubError(f"There is no lesson {lesson!r}: name one as 00 or 02.")
    folder = Path(tempfile.mkdtemp())
    try:
        measured = _measure(folder, users, found[0])
    finally:
        shutil.rmtree(folder)
    if write:
        kept = json.loads(KEPT.read_text("utf-8")) if KEPT.exists() else {}
        kept[lesson] = measured
        text = json.dumps(dict(sorted(kept.items())), indent=1)
        KEPT.write_text(text + "\n", encoding="utf-8")
        PAGE.write_text(
            on_page(PAGE.read_text("utf-8"), tables(kept)), encoding="utf-8"
        )
    return json.dumps(measured, indent=1).splitlines()


def _measure(folder: Path, users: int, lesson: Path) -> dict[str, Any]:
    names = tuple(f"student{number:02}" for number in range(users))
    new = config.write(
        Class(folder, "measured", "instructor", names, port=PORT, trial=True)
    )
    cells = json.loads(lesson.read_text("utf-8"))["cells"]
    sources = ["".join(one["source"]) for one in cells if one["cell_type"] == "code"]
    started, kernels, people = [], [], []
    with client.running(new) as address:
        try:
            for name in names:
                person = client.Person(address, name, new.password)
                people.append(person)
                started.append(person.start())
                shutil.copy(lesson, new.folder / "homes" / name)
                manager = person.kernel(lesson.name)
                kernels.append((manager, manager.__enter__()))
                _run(kernels[-1][1], sources, name)
            time.sleep(2)
            return _look(names, started) | {"users": users, **_machine()}
        finally:
            for manager, _ in kernels:
                manager.__exit__(None, None, None)
            for person in people:
                person.session.close()


def _run(kernel: client.Kernel, sources: list[str], name: str) -> None:
    for source in sources:
        for output in kernel.run(source):
            if output["output_type"] == "error":
                raise HubError(f"{name}: a cell failed, {output['evalue'][:300]}")


def _look(names: tuple[str, ...], started: list[float]) -> dict[str, Any]:
    """What every server and kernel takes, as medians; and the hub with its proxy."""
    servers, kernels, rest = {}, {}, 0.0
    for process in psutil.Process().children(recursive=True):
        command = " ".join(process.cmdline())
        user = process.environ().get("JUPYTERHUB_USER", "")
        if user in names and "ipykernel" in command:
            kernels[user] = process
        elif user in names and "singleuser" in command:
            servers[user] = process
        elif "jupyterhub" in command or "configurable-http-proxy" in command:
            rest += process.memory_full_info().pss / MB
    if not set(servers) == set(kernels) == set(names):
        raise HubError("a server or a kernel is gone")

    def median(processes: dict, look: Any, digits: int = 0) -> float:
        return round(statistics.median(map(look, processes.values())), digits)

    def memory(process: psutil.Process) -> float:
        return process.memory_full_info().pss / MB

    def seconds(process: psutil.Process) -> float:
        return process.cpu_times().user + process.cpu_times().system

    return {
        "hub_mb": round(rest),
        "server_mb": median(servers, memory),
        "kernel_mb": median(kernels, memory),
        "start_seconds": round(statistics.median(started), 1),
        "server_cpu_seconds": median(servers, seconds, 1),
        "kernel_cpu_seconds": median(kernels, seconds, 1),
    }


def _machine() -> dict[str, Any]:
    return {
        "cores": os.cpu_count(),
        "load": round(psutil.getloadavg()[0], 1),
        "python": platform.python_version(),
    }


# --- the page -------------------------------------------------------------------------


def on_page(page: str, made: str) -> str:
    """The page with its measured part renewed."""
    before, found, rest = page.partition(BEGIN)
    _, ended, after = rest.partition(END)
    if not found or not ended:
        raise HubError("docs/hub.md has lost the lines around what is measured")
    return before + BEGIN + made + END + after


def tables(kept: dict[str, dict]) -> str:
    """What was measured, and what follows for classes."""
    lines = [
        "| | servers | memory of a server | of its kernel | processor time of a server "
        "| of its kernel, the whole lesson | load while measured |",
        "|---|--:|--:|--:|--:|--:|--:|",
    ]
    for lesson, one in kept.items():
        lines.append(
            f"| lesson {lesson} | {one['users']} | {one['server_mb']:.0f} MB "
            f"| {one['kernel_mb']:.0f} MB | {one['server_cpu_seconds']:.0f} s "
            f"| {one['kernel_cpu_seconds']:.0f} s | {one['load']:.0f} |"
        )
    heads = [f"memory, all in lesson {lesson}" for lesson in kept]
    lines += [
        "",
        f"| students | {' | '.join(heads)} | processor time to start all servers |",
        "|--:|" + "--:|" * (len(kept) + 1),
    ]
    first = next(iter(kept.values()))
    for students in CLASSES:
        each = (f"{needed_gb(one, students):.0f} GB" for one in kept.values())
        minutes = students * first["server_cpu_seconds"] / 60
        lines.append(f"| {students:,} | {' | '.join(each)} | {minutes:.0f} minutes |")
    return "\n".join(["", *lines, "", ""])


def needed_gb(one: dict, students: int) -> float:
    """Memory for a class whose servers and kernels all run: extrapolated."""
    return (one["hub_mb"] + students * (one["server_mb"] + one["kernel_mb"])) / 1024
