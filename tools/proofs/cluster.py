"""Grade on a cluster and compare: `python -m tools.proofs.cluster`.

Generated hand-ins, those of `tools.proofs.hand_ins`, are graded with `--jobs 2`, then
by two workers of Dask distributed, of which one is killed half-way. Each must get the
points of its checks, in both ways, and have one result.

    python -m tools.proofs.cluster --stand-in 2000

tries the scheduling alone: a stand-in takes the place of what grades a submission.
Both run the commands of docs/grading.md, TLS and all, on this machine.
"""

import argparse
import json
import os
import random
import re
import shlex
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import nbformat

from helpers.files import write_whole
from tools.grading import cluster, runner
from tools.grading.__main__ import _options as grading_options
from tools.grading.__main__ import grade_all
from tools.grading.course import chosen
from tools.grading.find import Submission
from tools.grading.tables import Grade
from tools.proofs import hand_ins, stand_in

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "grading.md"
FOLDER = ROOT / "build" / "cluster"
LESSON = "02_attention"
SHOWN = 20  # lines about what is wrong
UP = 300.0  # seconds for scheduler and workers to be there


# --- a cluster on this machine, as the page says --------------------------------------


def commands(page: str) -> dict[str, str]:
    """The commands of the page's section on other machines: name -> command."""
    section = page.partition("\n## On other machines\n")[2].partition("\n## ")[0]
    block = "\n".join(re.findall(r"^```\n(.*?)^```", section, re.DOTALL | re.MULTILINE))
    lines = re.sub(r" *\\\n *", " ", block).splitlines()
    short = {}
    for line in lines:
        name, sign, value = line.partition("=")
        if sign and name.isidentifier():
            short[f"${name}"] = shlex.split(value, comments=True)[0]
    names = {"openssl": "certificate", "scheduler": "scheduler", "worker": "worker"}
    found = {"tls": short["$tls"]}
    for line in lines:
        for word, name in names.items():
            if word in line.split():
                for one, value in short.items():
                    line = line.replace(one, value)
                found[name] = line
    return found


@contextmanager
def started(folder: Path, workers: int = 2) -> Iterator[list[str]]:
    """Run a scheduler and workers on this machine; gives options for `make grade`.

    Args:
        folder: For certificates and what the processes say.
        workers: How many submissions at a time.
    """
    said = commands(PAGE.read_text("utf-8"))
    folder.mkdir(parents=True, exist_ok=True)
    subprocess.run(
        shlex.split(said["certificate"]), cwd=folder, check=True, capture_output=True
    )
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = str(free.getsockname()[1])
    put = {".venv/bin/python": sys.executable, "8786": port, "HOST": "127.0.0.1"}
    put |= {"grading.": f"{folder}/grading.", "--nworkers 2": f"--nworkers {workers}"}
    running = []
    with tempfile.TemporaryDirectory() as scratch:
        environment = os.environ | {"DASK_TEMPORARY_DIRECTORY": scratch}
        environment.pop("PYTHONPATH", None)  # the page does not speak of it
        try:
            for name in ("scheduler", "worker"):
                line = said[name]
                for old, new in put.items():
                    line = line.replace(old, new)
                with (folder / f"{name}.log").open("wb") as log:
                    running.append(
                        subprocess.Popen(
                            [*shlex.split(line), "--host", "127.0.0.1"],
                            cwd=ROOT,
                            env=environment,
                            stdout=log,
                            stderr=log,
                            start_new_session=True,
                        )
                    )
            files = [
                str(folder / word) if word.startswith("grading.") else word
                for word in said["tls"].split()
            ]
            options = ["--scheduler", f"tls://127.0.0.1:{port}", *files]
            _await(options, workers)
            yield options
        finally:
            for one in reversed(running):
                with suppress(ProcessLookupError):
                    os.killpg(one.pid, signal.SIGTERM)
                try:
                    one.wait(20)
                except subprocess.TimeoutExpired:
                    os.killpg(one.pid, signal.SIGKILL)
                    one.wait()


@contextmanager
def client(options: list[str]) -> Iterator[Any]:
    """Dask's client for a cluster that was started."""
    from distributed import Client, Security

    given = grading_options(options)
    ca, cert, key = cluster.checked(given)
    security = Security(
        tls_ca_file=ca,
        tls_client_cert=cert,
        tls_client_key=key,
        require_encryption=True,
    )
    with Client(
        given.scheduler, security=security, timeout=UP, set_as_default=False
    ) as one:
        yield one


def _await(options: list[str], workers: int) -> None:
    with client(options) as one:
        one.wait_for_workers(workers, timeout=UP)


def kill_one(options: list[str]) -> int:
    """Kill the process of one worker, and not what watches over it; returns its id."""
    with client(options) as one:
        number = sorted(one.run(os.getpid).values())[0]
    os.kill(number, signal.SIGKILL)
    return number


@contextmanager
def killing(options: list[str], now: Callable[[], bool]) -> Iterator[list[int]]:
    """While the body runs, kill a worker once `now` is true; gives what was killed."""
    killed, over = [], threading.Event()

    def watch() -> None:
        while not over.wait(0.2):
            if now():
                killed.append(kill_one(options))
                return

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield killed
    finally:
        over.set()
        thread.join()


# --- the scheduling alone -------------------------------------------------------------


class StandIn(cluster.Far):
    """Has the stand-in called in place of what grades a submission."""

    task = staticmethod(stand_in.grade)
    halt = staticmethod(stand_in.stop)


def class_of(
    count: int, folder: Path, kills: dict[int, int], seconds: float
) -> tuple[list[Submission], dict[str, float]]:
    """Submissions that say their own points.

    Args:
        count: How many.
        folder: Where they are written, with the released notebook and the log.
        kills: Number of a submission -> how often it kills its worker.
        seconds: How long each takes.

    Returns:
        The submissions, and student -> points.
    """
    notebook = nbformat.read(ROOT / "notebooks" / f"{LESSON}.ipynb", 4)
    notebook.cells = [
        cell
        for cell in notebook.cells
        if cell.metadata.get("nbgrader", {}).get("grade")
    ]
    released = folder / "run" / "course" / "release" / LESSON / f"{LESSON}.ipynb"
    write_whole(released, nbformat.writes(notebook).encode())
    write_whole(folder / "run" / "course" / "gradebook.db", b"")
    log = folder / "log"
    log.touch()
    most, luck = runner.most_points(notebook), random.Random(count)
    found, points = [], {}
    for number in range(count):
        student = f"student-{number:05}"
        scores = {
            name: [None if by_hand else luck.choice([0.0, worth]), by_hand]
            for name, (worth, by_hand) in most.items()
        }
        points[student] = sum(score or 0.0 for score, _ in scores.values())
        told = {
            "student": student,
            "result": {"scores": scores, "outcomes": [], "notes": [], "suspects": []},
            "seconds": seconds,
            "log": str(log),
            "kills": kills.get(number, 0),
        }
        path = folder / "handed-in" / student / f"{LESSON}.ipynb"
        path.parent.mkdir(parents=True)
        path.write_text(json.dumps(told), "utf-8")
        found.append(Submission(student, LESSON, path))
    return found, points


def scheduled(
    folder: Path,
    submissions: list[Submission],
    one: Any,
    address: str,
    kind: type[StandIn] = StandIn,
) -> list[Grade]:
    """Grade them by the stand-in.

    Args:
        folder: What `class_of` filled.
        submissions: What it returned.
        one: Dask's client.
        address: Of its scheduler.
        kind: Who has them graded.
    """
    options = grading_options([])
    joined = cluster.Cluster(address, one, unsafe=False)
    no_solutions = folder  # else each submission has them read
    grader = kind(
        *(folder / "run", folder / "out", no_solutions, True, options, 1),
        cluster=joined,
    )
    try:
        return grade_all(grader, submissions, joined.jobs, lambda _: None)
    finally:
        grader.close()


def wrong(folder: Path, grades: list[Grade], points: dict[str, float]) -> list[str]:
    """What is not as it should be, a line for each."""
    found = Counter(one.student for one in grades)
    lines = [f"{name}: {count} grades" for name, count in found.items() if count != 1]
    lines += [f"{name}: no grade" for name in points if name not in found]
    for one in grades:
        if one.reason or one.total != points[one.student]:
            lines.append(f"{one}, not {points[one.student]:g}")
    kept = [json.loads(path.read_text("utf-8")) for path in _results(folder / "out")]
    told = Counter(one["student"] for one in kept)
    lines += [f"{name}: {told[name]} results" for name in points if told[name] != 1]
    return lines


def _results(out: Path) -> list[Path]:
    return list((out / "results").glob("*/*.json"))


def _stand_ins(count: int) -> int:
    with tempfile.TemporaryDirectory(prefix="cluster-") as temporary:
        folder = Path(temporary)
        submissions, points = class_of(count, folder, {}, seconds=0.02)
        with started(folder / "cluster") as options, client(options) as one:

            def half() -> bool:
                return len(_results(folder / "out")) >= count / 2

            with killing(options, half) as killed:
                start = time.perf_counter()
                grades = scheduled(folder, submissions, one, options[1])
                took = time.perf_counter() - start
        lines = wrong(folder, grades, points)
        log = (folder / "log").read_text("utf-8").split()
    twice = [name for name, times in Counter(log[::2]).items() if times > 1]
    if not killed:
        lines.append("no worker was killed")
    if len({*log[1::2]}) < 2:
        lines.append("one worker did it all")
    print(*lines[:SHOWN], sep="\n", end="\n" if lines else "")
    print(
        f"{count} submissions, a stand-in of 0.02 s for each, two workers, one killed "
        f"half-way: {len(lines)} wrong. Begun twice: {', '.join(twice) or 'none'}. "
        f"{took:.0f} s, {count / took:.1f} a second."
    )
    return 1 if lines else 0


# --- the real thing -------------------------------------------------------------------


def _graded(folder: Path, name: str, seed: int, *more: str) -> tuple[float, float]:
    """Grade in a process of its own; returns seconds, and those of its processors."""
    command = [sys.executable, "-m", "tools.grading", "--seed", str(seed)]
    command += ["--submissions", str(folder / "handed-in"), "--again"]
    command += ["--out", str(folder / name), *more]
    before, start = os.times(), time.perf_counter()
    done = subprocess.run(command, cwd=ROOT, env=os.environ | {"PYTHONPATH": str(ROOT)})
    if done.returncode:
        raise SystemExit(done.returncode)
    after = os.times()
    spent = sum(after[2:4]) - sum(before[2:4])
    return time.perf_counter() - start, spent


def _real(count: int, lessons: list[str], seed: int) -> int:
    folder = FOLDER / f"{seed}-{count}"
    names = [path.stem for path in chosen(ROOT, lessons)]
    wanted = hand_ins.generate(folder, count, names, seed)
    here, there = folder / "here", folder / "there"
    took, spent = {}, {}
    took["--jobs 2"], spent["--jobs 2"] = _graded(folder, "here", seed, "--jobs", "2")
    again = time.time()
    before = sum(os.times()[2:4])
    with started(folder / "cluster") as options:

        def half() -> bool:
            done = [p for p in _results(there) if p.stat().st_mtime > again]
            return len(done) >= count / 2

        with killing(options, half) as killed:
            took["two workers"], _ = _graded(folder, "there", seed, *options)
    spent["two workers"] = sum(os.times()[2:4]) - before
    lines = []
    for out in (here, there):
        found = hand_ins.graded(out / "grades.csv")
        lines += [f"{out.name}: {one}" for one in hand_ins.differences(wanted, found)]
        kept = Counter(json.loads(p.read_bytes())["student"] for p in _results(out))
        lines += [f"{out.name}: {one}: {kept[one]} results" for one in wanted
                  if kept[one] != 1]  # fmt: skip
    if (here / "grades.csv").read_bytes() != (there / "grades.csv").read_bytes():
        lines.append("grades.csv is not the same")
    if not killed:
        lines.append("no worker was killed")
    print(*lines[:SHOWN], sep="\n", end="\n" if lines else "")
    print(f"{count} hand-ins, one of two workers killed half-way: {len(lines)} wrong.")
    for name in took:
        rate = took[name] / count
        processor = spent[name] / count
        print(f"{name}: {rate:.1f} s a hand-in, {processor:.1f} s of processors.")
    return 1 if lines else 0


def main(arguments: list[str] | None = None) -> int:
    """Grade and compare; returns the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.proofs.cluster", description=__doc__.split("\n")[0]
    )
    add = parser.add_argument
    add("--count", type=int, default=200, help="hand-ins; default: 200")
    add("--stand-in", type=int, default=0, help="submissions for the scheduling alone")
    add("--lesson", action="append", help="number; default: 02 and 03")
    add("--seed", type=int, default=1, help="of answers and inputs; default: 1")
    options = parser.parse_args(arguments)
    if options.stand_in:
        return _stand_ins(options.stand_in)
    return _real(options.count, options.lesson or ["02", "03"], options.seed)


if __name__ == "__main__":
    sys.exit(main())
