"""Run one worker process for each submission, and believe only what can be so."""

import argparse
import hashlib
import json
import os
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import jsonschema
import nbformat

from helpers.files import write_whole
from tools.grading import guard, held, likeness, sandbox
from tools.grading.course import CourseError
from tools.grading.find import Submission
from tools.grading.restore import MOST, usual_names
from tools.grading.safe import safe_notebook
from tools.grading.tables import Grade

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
VERSION = 5  # of the way of grading: another one grades everything again
# What a worker may say. Its process is sandboxed with the student's code: it may have
# been talked into anything.
TEXTS = {"type": "array", "items": {"type": "string"}, "maxItems": 20_000}
DIGEST = {"type": "integer", "minimum": 0, "maximum": 2**32 - 1}
SHAPE = {"type": "array", "items": DIGEST, "maxItems": likeness.MOST}
LINE = {
    "type": "object",
    "required": ["exercise", "outcome", "misconception", "borrowed"],
    "properties": {
        "exercise": {"type": "string", "pattern": r"^\d{1,3}\.[A-Z]\Z"},
        "outcome": {"enum": ["passed", "wrong", "raised", "not attempted"]},
        "misconception": {"type": ["string", "null"], "maxLength": 200},
        "borrowed": {"type": "boolean"},
    },
}
RESULT = {
    "type": "object",
    "properties": {
        "reason": {"type": "string", "minLength": 1},
        "scores": {
            "type": "object",
            "additionalProperties": {
                "type": "array",
                "prefixItems": [{"type": ["number", "null"]}, {"type": "boolean"}],
                "minItems": 2,
                "maxItems": 2,
            },
        },
        "outcomes": {"type": "array", "items": LINE, "maxItems": 5000},
        "notes": TEXTS,
        "suspects": TEXTS,
        "shapes": {
            "type": "object",
            "additionalProperties": SHAPE,
            "maxProperties": 100,
        },
        "notebook": {"type": "string"},
        "written": {"type": "object", "additionalProperties": {"type": "string"}},
    },
    "anyOf": [
        {"required": ["reason"]},
        {"required": ["scores", "outcomes", "notes", "suspects"]},
    ],
}
CHECKER = jsonschema.Draft202012Validator(RESULT)


class Processes:
    """Runs a process for each submission, and ends it in time; threads may share it.

    Args:
        folder: Where these processes work; it is removed when this one ends.
        through: What to put before the command of each, so that it can be sandboxed.
    """

    def __init__(self, folder: Path, through: Sequence[str] = ()) -> None:
        self.folder, self.through = folder, through
        self.running: dict[subprocess.Popen, str] = {}
        self.stopped: set[str] = set()
        self.lock = threading.Lock()
        self.caches = _caches()
        self.guard = guard.start(folder)

    def stop(self, run: str = "") -> None:
        """Kill every worker of a grading run and start no other of it."""
        with self.lock:
            self.stopped.add(run)
            for worker, of in self.running.items():
                if of == run:
                    _kill(worker)

    def close(self) -> None:
        """Let the guard clean up."""
        self.guard.stdin.close()
        self.guard.wait()

    def _tell_guard(self, sign: str, worker: subprocess.Popen) -> None:
        with suppress(OSError):  # grading goes on without it
            self.guard.stdin.write(f"{sign}{worker.pid}\n".encode())

    def run(self, job: dict, content: bytes) -> dict:
        """Run a worker to its end, or kill it when its time is over.

        Args:
            job: What `Grader._job` says.
            content: The submitted file.
        """
        run, folder = job.get("run", ""), tempfile.mkdtemp(dir=self.folder)
        job = job | {"folder": folder, "caches": self.caches}
        command = [*self.through, sys.executable, "-P", "-c", WORKER]
        log = Path(folder).with_suffix(".log")
        try:
            with log.open("wb") as errors, self.lock:
                if run in self.stopped:
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
                self.running[worker] = run
                self._tell_guard("+", worker)
            result = self._answer(worker, job, content, log)
            self._tell_guard("-", worker)
            return result
        finally:
            shutil.rmtree(folder, ignore_errors=True)
            log.unlink(missing_ok=True)

    def _answer(
        self, worker: subprocess.Popen, job: dict, content: bytes, log: Path
    ) -> dict:
        over, much, ended = (threading.Event() for _ in range(3))

        def end() -> None:
            over.set()
            _kill(worker)

        def burst() -> None:
            much.set()
            _kill(worker)

        alarm = threading.Timer(job["seconds"] + GRACE, end)
        alarm.start()
        most = job["memory"] + held.OVERHEAD
        looking = worker.pid, most, ended, burst
        threading.Thread(target=held.watch, args=looking, daemon=True).start()
        try:
            worker.stdin.write(json.dumps(job).encode() + b"\n" + content)
            worker.stdin.close()
            text = worker.stdout.read(ANSWER)
        except OSError:
            text = b""
        finally:
            ended.set()
            alarm.cancel()
            _kill(worker)
            worker.wait()
            worker.stdout.close()
            with suppress(OSError):  # what it did not read
                worker.stdin.close()
            with self.lock:
                self.running.pop(worker, None)
        if over.is_set():
            return {"reason": f"it was killed after {job['seconds'] + GRACE:.0f} s"}
        if much.is_set():
            return {"reason": f"its processes held over {most / 1e9:g} GB together"}
        try:
            result = json.loads(text)
            CHECKER.validate(result)
            return result
        except (ValueError, RecursionError):
            return {"reason": _last_words(log)}
        except jsonschema.ValidationError as error:
            where = ".".join(map(str, error.absolute_path))
            return {"reason": f"its result makes no sense ({_plain(where) or 'all'})"}


class Grader(Processes):
    """Grades submissions, each in a process of its own; threads may share it."""

    def __init__(
        self,
        folder: Path,
        out: Path,
        root: Path,
        namespaces: bool,
        options: argparse.Namespace,
        seed: int,
        through: Sequence[str] = (),
    ) -> None:
        super().__init__(folder, through)
        self.out, self.root, self.seed = out, root, seed
        self.namespaces, self.options = namespaces, options

    def grade(self, one: Submission) -> Grade:
        """Grade a submission, or fetch its grade where nothing has changed since.

        Args:
            one: A submission that names a file.

        Returns:
            Its grade. Whatever fails is the reason why this one has none.

        Raises:
            CourseError: No other one could be graded either.
        """
        try:
            return self._grade(one)
        except CourseError:  # none can be graded
            raise
        except Exception as error:  # one submission costs only itself
            what = (
                getattr(error, "strerror", None) or f"{type(error).__name__}: {error}"
            )
            reason = f"grading it broke off ({_plain(what)})"
            return Grade(one.student, one.lesson, reason=reason)

    def _grade(self, one: Submission) -> Grade:
        try:
            content = read(one.path)
        except OSError as error:
            reason = f"the file can't be read ({error.strerror or error})"
            return Grade(one.student, one.lesson, reason=reason)
        name = hashlib.sha256(one.student.encode()).hexdigest()[:32]
        place = self.out / "results" / one.lesson / f"{name}.json"
        key = self._key(one, content)
        kept = _kept(place)
        if kept and kept["key"] == key and not self.options.again:
            return self._believed(one, kept["result"], kept["seconds"])
        result, seconds = self._timed(self._job(one), content)
        self._keep_notebook(one, result)
        grade = self._believed(one, result, seconds)
        if not self.stopped:
            found = {"student": one.student, "key": key, "seconds": seconds}
            text = json.dumps(found | {"result": result}, indent=1)
            write_whole(place, f"{text}\n".encode())
        return grade

    def _timed(self, job: dict, content: bytes) -> tuple[dict, float]:
        """Run a worker; returns its result and the seconds that it took."""
        start = time.monotonic()
        result = self.run(job, content)
        return result, round(time.monotonic() - start, 1)

    def _released(self, lesson: str) -> Path:
        return self.folder / "course" / "release" / lesson / f"{lesson}.ipynb"

    def _key(self, one: Submission, content: bytes) -> str:
        """What the grade depends on, as a digest."""
        digest = hashlib.sha256()
        for part in (content, self._released(one.lesson).read_bytes()):
            digest.update(hashlib.sha256(part).digest())
        options = self.options
        limits = [options.memory, options.seconds, options.cell_seconds]
        digest.update(repr((VERSION, limits, self.seed)).encode())
        return digest.hexdigest()

    def _job(self, one: Submission) -> dict:
        options = self.options
        return {
            "name": one.lesson,
            "released": str(self._released(one.lesson)),
            "gradebook": str(self.folder / "course" / "gradebook.db"),
            "namespaces": self.namespaces,
            "memory": int(options.memory * 1e9),
            "seconds": options.seconds,
            "cell_seconds": options.cell_seconds,
            "seed": self.seed,
            "usual": self._usual(one.lesson),
        }

    def _usual(self, lesson: str) -> dict[str, list[str]]:
        path = self.root / "solutions" / f"{lesson}.ipynb"
        return usual_names(nbformat.read(path, 4)) if path.exists() else {}

    def _believed(self, one: Submission, result: dict, seconds: float) -> Grade:
        """A grade made of those parts of a worker's result that can be so."""
        grade = Grade(one.student, one.lesson, seconds=seconds)
        if "reason" in result:
            grade.reason = _plain(result["reason"])
            return grade
        released = nbformat.read(self._released(one.lesson), 4)
        try:
            _fill(grade, result, most_points(released))
        except (KeyError, ValueError) as error:
            reason = f"its result makes no sense ({_plain(error)})"
            return Grade(one.student, one.lesson, reason=reason)
        return grade

    def _keep_notebook(self, one: Submission, result: dict) -> None:
        """Move the notebook of a result to autograded/, made safe to look at."""
        text = result.pop("notebook", None)
        path = (
            self.out / "autograded" / one.student / one.lesson / f"{one.lesson}.ipynb"
        )
        if text is None or "reason" in result:
            return
        released = nbformat.read(self._released(one.lesson), 4)
        try:
            text = safe_notebook(text, released)
        except (KeyError, TypeError, ValueError, AttributeError, RecursionError):
            result.clear()
            result["reason"] = "what came of executing it is not a notebook"
            return
        result["written"] = _written(json.loads(text), released)
        if not self.stopped:
            write_whole(path, text.encode())


def read(path: Path) -> bytes:
    """A submitted file: what is needed of it, never waiting for it.

    Args:
        path: The file; one that is larger than `MOST` is read that far and a byte more.

    Raises:
        OSError: It can't be opened, or isn't a regular file.
    """
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK
    with open(os.open(path, flags), "rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise OSError("it isn't a file")
        return file.read(MOST + 1)


def _written(notebook: dict, released: nbformat.NotebookNode) -> dict[str, str]:
    """Written answer -> a digest of its text, "" where it is as it was released."""
    given = {
        cell.metadata.nbgrader.grade_id: cell.source
        for cell in released.cells
        if cell.metadata.get("nbgrader", {}).get("grade")
        and cell.metadata.nbgrader.solution
    }
    found = dict.fromkeys(given, "")
    for cell in notebook["cells"]:
        name = cell["metadata"].get("nbgrader", {}).get("grade_id")
        if name in given and cell["source"].strip() != given[name].strip():
            found[name] = hashlib.sha256(cell["source"].encode()).hexdigest()
    return found


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
    keys = LINE["required"]
    grade.outcomes = [{key: line[key] for key in keys} for line in result["outcomes"]]
    grade.notes = [_plain(text) for text in result["notes"][:20]]
    grade.suspects = [_plain(text) for text in result["suspects"][:20]]
    grade.shapes = dict(result.get("shapes", {}))
    grade.written = dict(result.get("written", {}))


def _plain(text: object) -> str:
    """One line that a terminal and a table can show."""
    words = "".join(c if c.isprintable() else " " for c in str(text)[:300]).split()
    return " ".join(words)


def _kept(place: Path) -> dict | None:
    """An earlier result; None where there is none, or it is damaged."""
    try:
        kept = json.loads(place.read_text("utf-8"))
        CHECKER.validate(kept["result"])
        return kept | {"key": kept["key"], "seconds": float(kept["seconds"])}
    except (OSError, ValueError, KeyError, TypeError, jsonschema.ValidationError):
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
    kept = "PATH LD_LIBRARY_PATH SYSTEMROOT LANG TMPDIR HOME XDG_RUNTIME_DIR".split()
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
