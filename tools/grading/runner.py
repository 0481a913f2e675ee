"""Run one worker process for each submission, and believe only what can be so."""

import argparse
import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

import nbformat

from tools.grading import sandbox
from tools.grading.find import Submission
from tools.grading.restore import usual_names
from tools.grading.tables import Grade
from tools.lab import write_whole

GRACE = 60.0  # seconds beyond the limit until a worker is killed
ANSWER = 64_000_000  # bytes of a worker's result
# Without that module jsonschema does not build its grammar of web addresses, which no
# notebook needs; it is a third of a worker's own time.
WORKER = """
import sys
sys.modules["rfc3987_syntax"] = None
from tools.grading.worker import main
sys.exit(main())
"""
VERSION = 1  # of the way of grading: another one grades everything again


class Grader:
    """Grades submissions, each in a process of its own; threads may share it."""

    def __init__(
        self,
        folder: Path,
        out: Path,
        root: Path,
        namespaces: bool,
        options: argparse.Namespace,
    ) -> None:
        self.folder, self.out, self.root = folder, out, root
        self.namespaces, self.options = namespaces, options
        self.running: set[subprocess.Popen] = set()
        self.stopped = False
        self.lock = threading.Lock()
        self.caches = _caches()

    def grade(self, one: Submission) -> Grade:
        """Grade a submission, or fetch its grade where nothing has changed since."""
        place = self.out / "results" / one.lesson / f"{one.student}.json"
        try:
            key = self._key(one)
        except OSError as error:
            reason = f"the file can't be read ({error.strerror})"
            return Grade(one.student, one.lesson, reason=reason)
        kept = _kept(place)
        if kept and kept["key"] == key and not self.options.again:
            return Grade(**kept["grade"])
        start = time.monotonic()
        result = self._run(self._job(one))
        grade = self._believed(one, result)
        grade.seconds = round(time.monotonic() - start, 1)
        if not self.stopped:
            if "notebook" in result and not grade.reason:
                self._keep_notebook(one, result["notebook"])
            text = json.dumps({"key": key, "grade": asdict(grade)}, indent=1)
            write_whole(place, f"{text}\n".encode())
        return grade

    def stop(self) -> None:
        """Kill every worker and start no other."""
        with self.lock:
            self.stopped = True
            for worker in self.running:
                _kill(worker)

    def _released(self, lesson: str) -> Path:
        return self.folder / "course" / "release" / lesson / f"{lesson}.ipynb"

    def _key(self, one: Submission) -> str:
        """What the grade depends on, as a digest."""
        digest = hashlib.sha256()
        for path in (one.path, self._released(one.lesson)):
            with path.open("rb") as file:
                digest.update(hashlib.file_digest(file, "sha256").digest())
        options = self.options
        limits = [options.memory, options.seconds, options.cell_seconds]
        digest.update(repr((VERSION, limits)).encode())
        return digest.hexdigest()

    def _job(self, one: Submission) -> dict:
        options = self.options
        return {
            "name": one.lesson,
            "submission": str(one.path.resolve()),
            "released": str(self._released(one.lesson)),
            "gradebook": str(self.folder / "course" / "gradebook.db"),
            "folder": tempfile.mkdtemp(dir=self.folder),
            "namespaces": self.namespaces,
            "memory": int(options.memory * 1e9),
            "seconds": options.seconds,
            "cell_seconds": options.cell_seconds,
            "usual": self._usual(one.lesson),
            "caches": self.caches,
        }

    def _usual(self, lesson: str) -> dict[str, list[str]]:
        path = self.root / "solutions" / f"{lesson}.ipynb"
        return usual_names(nbformat.read(path, 4)) if path.exists() else {}

    def _run(self, job: dict) -> dict:
        """Run a worker to its end, or kill it when its time is over."""
        command = [sys.executable, "-P", "-c", WORKER]
        log = Path(job["folder"]).with_suffix(".log")
        try:
            with log.open("wb") as errors, self.lock:
                if self.stopped:
                    return {"reason": "grading was stopped"}
                worker = subprocess.Popen(
                    command,
                    cwd=sandbox.ROOT,
                    env=_environment(),
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=errors,
                    start_new_session=True,
                )
                self.running.add(worker)
            return self._answer(worker, job, log)
        finally:
            shutil.rmtree(job["folder"], ignore_errors=True)

    def _answer(self, worker: subprocess.Popen, job: dict, log: Path) -> dict:
        over = threading.Event()

        def end() -> None:
            over.set()
            _kill(worker)

        alarm = threading.Timer(job["seconds"] + GRACE, end)
        alarm.start()
        try:
            worker.stdin.write(json.dumps(job).encode())
            worker.stdin.close()
            text = worker.stdout.read(ANSWER)
        except OSError:
            text = b""
        finally:
            alarm.cancel()
            _kill(worker)
            worker.wait()
            worker.stdout.close()
            with self.lock:
                self.running.discard(worker)
        if over.is_set():
            return {"reason": f"it was killed after {job['seconds'] + GRACE:.0f} s"}
        try:
            return dict(json.loads(text))
        except (ValueError, TypeError):
            return {"reason": _last_words(log)}

    def _believed(self, one: Submission, result: dict) -> Grade:
        """A grade made of those parts of a worker's result that can be so."""
        grade = Grade(one.student, one.lesson)
        try:
            if "reason" in result:
                grade.reason = _plain(result["reason"])
                return grade
            released = nbformat.read(self._released(one.lesson), 4)
            _fill(grade, result, most_points(released))
        except (KeyError, TypeError, ValueError, AttributeError):
            return Grade(one.student, one.lesson, reason="its result makes no sense")
        return grade

    def _keep_notebook(self, one: Submission, text: str) -> None:
        name = f"{one.lesson}.ipynb"
        folder = self.out / "autograded" / one.student / one.lesson
        write_whole(folder / name, text.encode())


def most_points(released: nbformat.NotebookNode) -> dict[str, tuple[float, bool]]:
    """Graded cell -> its points, and whether a person gives them."""
    found = {}
    for cell in released.cells:
        graded = cell.metadata.get("nbgrader", {})
        if graded.get("grade"):
            found[graded.grade_id] = float(graded.points), graded.solution
    return found


def _fill(grade: Grade, result: dict, most: Mapping[str, tuple[float, bool]]) -> None:
    for name, (points, by_hand) in most.items():
        score, unread = result["scores"][name]
        exercise = name.removeprefix("ex-").removesuffix("-check").replace("-", ".")
        if by_hand:
            grade.to_read += points if unread else 0.0
            continue
        score = float(score or 0.0)
        if not 0.0 <= score <= points:
            raise ValueError(f"{name}: {score} of {points}")
        grade.points[exercise], grade.most[exercise] = score, points
    kinds = {"exercise": str, "outcome": str, "borrowed": bool}
    for line in result["outcomes"]:
        if all(isinstance(line[key], kind) for key, kind in kinds.items()):
            grade.outcomes.append({key: line[key] for key in (*kinds, "misconception")})
    grade.notes = [_plain(text) for text in result["notes"]][:20]
    grade.suspects = [_plain(text) for text in result["suspects"]][:20]


def _plain(text: object) -> str:
    """One line that a terminal and a table can show."""
    words = "".join(c if c.isprintable() else " " for c in str(text)[:300]).split()
    return " ".join(words)


def _kept(place: Path) -> dict | None:
    """An earlier result; None where there is none, or it is damaged."""
    try:
        kept = json.loads(place.read_text("utf-8"))
        Grade(**kept["grade"])
        return kept
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _last_words(log: Path) -> str:
    try:
        text = log.read_bytes()[-4000:].decode(errors="replace")
    except OSError:
        text = ""
    if "MemoryError" in text:
        return "it needs more memory than a submission gets"
    lines = [line for line in text.splitlines() if line.strip()]
    return (
        f"its process broke off ({_plain(lines[-1])})"
        if lines
        else ("its process broke off without a word")
    )


def _environment() -> dict[str, str]:
    """No keys or tokens of the person who grades."""
    kept = ("PATH", "LD_LIBRARY_PATH", "SYSTEMROOT", "LANG", "TMPDIR", "HOME")
    found = {name: os.environ[name] for name in kept if name in os.environ}
    found |= {"PYTHONPATH": str(sandbox.ROOT), "PYTHONDONTWRITEBYTECODE": "1"}
    return found | {"OMP_NUM_THREADS": "1"}


def _kill(worker: subprocess.Popen) -> None:
    """Kill a worker and all in its process group."""
    try:
        os.killpg(worker.pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        pass


def _caches() -> dict[str, str]:
    """Matplotlib's list of fonts, so that no kernel has to make it again."""
    import matplotlib
    from matplotlib import font_manager  # noqa: F401  makes the list

    folder = Path(matplotlib.get_cachedir())
    return {path.name: path.read_text() for path in folder.glob("fontlist-v*.json")}
