"""nbgrader's `Execute` with a kernel in the sandbox, and with patience that ends.

Beyond nbgrader's own: all cells together have a deadline; a kernel that died or does
not answer ends the execution, and what was passed before still counts; output beyond
a limit is dropped; and a check cell earns its points only if the check itself reported
that it passed, whatever its output looks like.
"""

import json
import os
import resource
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

import zmq
from jupyter_client import AsyncKernelManager
from nbclient.exceptions import CellTimeoutError, DeadKernelError
from nbclient.util import run_sync
from nbformat import NotebookNode
from nbgrader.preprocessors import Execute
from traitlets import Bool, Float, Integer, Unicode, default

from tools.grading.messages import Client, TimeIsUp, at_most
from tools.grading.moved import UNANSWERED, moved
from tools.grading.safe import PICTURES
from tools.grading.sandbox import KERNEL

PRINTED = 1_000_000  # characters that are kept of a cell's output
PATIENCE = 20.0  # seconds beyond a cell's limit until nobody waits any more
LEAVING = 15.0  # seconds that the end of a kernel may take
CHECK = "-check"


class ShutIn(AsyncKernelManager):
    """Starts `tools.grading.kernel`, which shuts itself in."""

    transport = Unicode("ipc", config=True)  # files instead of a network
    shutdown_wait_time = Float(1.0, config=True)

    @default("ip")
    def _beginning_of_the_files(self) -> str:
        return str(Path(os.environ["GRADING_JOB"]) / KERNEL / "ipc")

    @default("client_factory")
    def _client_that_waits_for_nothing(self) -> type:
        return Client

    async def _async_launch_kernel(self, kernel_cmd: list[str], **options: Any) -> None:
        """Start the judge beside the kernel, with a socket between them."""
        judges, students = socket.socketpair()
        with judges, students:
            Sandboxed.judge = _start_judge(judges.fileno())
            end = students.fileno()
            options["pass_fds"] = (*options.get("pass_fds", ()), end)
            place = kernel_cmd.index("SOCKET")
            kernel_cmd[place] = str(end)
            await super()._async_launch_kernel(kernel_cmd, **options)

    def format_kernel_cmd(self, extra_arguments: list[str] | None = None) -> list[str]:
        """The command of a kernel; the job's folder and lesson are in the environment.

        Args:
            extra_arguments: Of no use here.
        """
        job, lesson = Path(os.environ["GRADING_JOB"]), os.environ["GRADING_LESSON"]
        command = [sys.executable, "-m", "tools.grading.kernel"]
        command += [str(job / "records"), lesson, str(job / KERNEL), "SOCKET"]
        arguments = ["-f", self.connection_file, "--log-level=50"]
        history = "--HistoryManager.enabled=False"
        return [*command, *arguments, history]


def _start_judge(end: int) -> subprocess.Popen:
    """Start what judges, in a folder that the kernel can't write to.

    Args:
        end: The socket to the kernel.
    """
    folder = Path(os.environ["GRADING_JOB"]) / "judge"
    folder.mkdir(exist_ok=True)
    own = dict.fromkeys(("HOME", "TMPDIR", "MPLCONFIGDIR", "IPYTHONDIR"), str(folder))
    verdicts, seed = Sandboxed.verdicts.fileno(), os.environ["GRADING_SEED"]
    command = [sys.executable, "-m", "tools.grading.judge", str(end), str(verdicts)]
    before, most = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (most, most))  # until PyTorch is there
    try:
        return subprocess.Popen(
            [*command, seed],
            cwd=folder,
            env=os.environ | own,
            pass_fds=(end, verdicts),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
        )
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (before, most))


class Sandboxed(Execute):
    """Executes a notebook and tells what kept it from its end."""

    cell_seconds = Float(300.0).tag(config=True)
    all_seconds = Float(900.0).tag(config=True)
    startup_timeout = Integer(120).tag(config=True)
    iopub_timeout = Integer(10).tag(config=True)
    raise_on_iopub_timeout = Bool(False).tag(config=True)
    # Shared by all instances: a process grades one notebook.
    told: list[str] = []
    outcomes: list[dict] = []
    silent: list[str] = []  # exercises whose check said nothing
    changed: list[str] = []  # exercises whose check had been tampered with
    judge: subprocess.Popen | None = None
    verdicts: IO[bytes]  # what it found; a file without a name

    def __init__(self, **settings: object) -> None:
        super().__init__(**(settings | {"kernel_manager_class": ShutIn}))

    def preprocess(self, nb: NotebookNode, resources: dict, km: object = None) -> tuple:
        """Execute all cells, as far as that goes."""
        self.job = Path(os.environ["GRADING_JOB"])
        folder = self.job / KERNEL
        resources["metadata"]["path"] = str(folder)
        self.ended, self.end = "", time.monotonic() + self.all_seconds
        os.environ["JUPYTER_RUNTIME_DIR"] = str(folder)
        Sandboxed.verdicts = tempfile.TemporaryFile(dir=self.job)
        try:
            return super().preprocess(nb, resources, km)
        except RuntimeError as error:
            if isinstance(error, DeadKernelError) or self.ended:
                return nb, resources
            raise
        finally:
            if self.judge is not None:
                self.judge.kill()
                self.judge.wait()

    def preprocess_cell(
        self, cell: NotebookNode, resources: dict, index: int
    ) -> tuple[NotebookNode, dict]:
        """Execute one cell, or note why it could not be executed."""
        if cell.cell_type != "code":
            return cell, resources
        left = self.end - time.monotonic()
        if not self.ended and left < 1:
            self._end(f"all cells together took over {self.all_seconds:.0f} s", index)
        if self.ended:
            _fail(cell, "NotExecuted", self.ended)
            return cell, resources
        self.timeout = max(1, int(min(self.cell_seconds, left)))
        self.kept, start = 0, time.monotonic()
        before, odd = self._recorded(), self.kc.odd
        try:
            with at_most(self.timeout + PATIENCE):
                super().preprocess_cell(cell, resources, index)
        except DeadKernelError:
            self._end(f"its kernel ended in cell {index}", index)
            _fail(cell, "DeadKernel", self.ended)
        except (TimeIsUp, zmq.ZMQError):
            self._end(
                f"its kernel could not be reached any more in cell {index}", index
            )
            _fail(cell, "DeadKernel", self.ended)
        except CellTimeoutError as error:
            _fail(cell, "CellTimeoutError", str(error))
        if self.kc.odd > odd:
            self.told.append(f"cell {index} sent what is no message: it was dropped")
        if reason := _reason(cell):
            self.told.append(f"cell {index} {reason}")
        if self.kept > PRINTED:
            self.told.append(f"cell {index} printed too much: the rest was dropped")
        if not self.ended and time.monotonic() - start >= self.timeout:
            self._after_timeout(index)
        self._judge(cell, before)
        return cell, resources

    def process_message(self, msg: dict, cell: NotebookNode, cell_index: int) -> object:
        """Keep outputs up to a limit."""
        if msg["msg_type"] in ("stream", "display_data", "execute_result", "error"):
            _keep_what_is_shown(msg["content"])
            size = _size(msg["content"])
            self.kept += size
            if self.kept > PRINTED and msg["msg_type"] != "error":
                return None
            if size > PRINTED:
                msg["content"]["evalue"], msg["content"]["traceback"] = "too long", []
        elif msg["msg_type"].startswith(("comm", "update_display")):
            return None  # widgets of a student are nothing to grade
        return super().process_message(msg, cell, cell_index)

    def _end(self, reason: str, index: int) -> None:
        self.ended = reason
        self.told.append(f"{reason}; the cells after it were not run")

    def _after_timeout(self, index: int) -> None:
        """Go on if the interrupted kernel answers, else give it up."""
        self.told.append(f"cell {index} was stopped after {self.timeout} s")
        answers = False
        with suppress(TimeIsUp, zmq.ZMQError), at_most(PATIENCE):
            answers = run_sync(self._answers)()
        if not answers:
            self._end(f"its kernel did not answer after cell {index}", index)

    def _cleanup_kernel(self) -> None:
        """End the kernel; one that has to be asked for too long is killed."""
        for way in ["immediate"] if self.ended else ["graceful", "immediate"]:
            self.shutdown_kernel = way
            with suppress(TimeIsUp, zmq.ZMQError), at_most(LEAVING):
                super()._cleanup_kernel()
                return

    async def _answers(self) -> bool:
        number = self.kc.kernel_info()
        end = time.monotonic() + 5
        while (left := end - time.monotonic()) > 0:
            try:
                message = await self.kc.shell_channel.get_msg(timeout=left)
            except Exception:  # nothing came
                return False
            if message["parent_header"].get("msg_id") == number:
                return True
        return False

    def _recorded(self) -> tuple[int, int]:
        """How much the kernel and the judge have written."""
        records = self.job / "records"
        own = records.stat().st_size if records.exists() else 0
        return own, os.fstat(self.verdicts.fileno()).st_size

    def _judge(self, cell: NotebookNode, before: tuple[int, int]) -> None:
        """Take a check's own word, not its output's, for what it found."""
        name = cell.metadata.get("nbgrader", {}).get("grade_id", "")
        found = list(self._since(before))
        if not name.endswith(CHECK):
            self.outcomes += [line for line in found if line["borrowed"]]
            return
        exercise = name.removeprefix("ex-").removesuffix(CHECK).replace("-", ".")
        mine = [line for line in found if line["exercise"] == exercise]
        self.outcomes += mine[-1:]
        if mine and (text := mine[-1].pop("text")):
            _show(cell, text, mine[-1]["outcome"])
            if UNANSWERED in text:
                self.told.append(f"{exercise}: {text.splitlines()[-1].strip()}")
        passed = bool(mine) and mine[-1]["outcome"] == "passed" and mine[-1]["intact"]
        if mine and not mine[-1]["intact"]:
            self.changed.append(exercise)
        elif not passed and not _error(cell):
            self.silent.append(exercise)
        if not passed:
            _fail(cell, "NotPassed", f"exercise {exercise}: its check did not pass")
        else:  # neither a warning nor a number in the output changes the points
            cell.outputs = [out for out in cell.outputs if out.get("name") == "stdout"]

    def _since(self, before: tuple[int, int]) -> list[dict]:
        """What each of the two found of the exercises that it may judge."""
        own, verdicts = before
        records = self.job / "records"
        if records.exists():
            with records.open("rb") as file:
                file.seek(own)
                here = [line for line in map(_line, file.read(PRINTED).splitlines())
                        if line and not moved(line["exercise"])]  # fmt: skip
        else:
            here = []
        text = os.pread(self.verdicts.fileno(), PRINTED, verdicts)
        return [*here, *filter(None, map(_line, text.splitlines()))]


def _error(cell: NotebookNode) -> str:
    """The name of the error in a cell's output, if there is one."""
    errors = (out for out in cell.get("outputs", []) if out.output_type == "error")
    return next((error.ename for error in errors), "")


def _reason(cell: NotebookNode) -> str:
    """Plain words for an error that has to do with the limits."""
    for error in cell.get("outputs", []):
        if error.output_type != "error":
            continue
        if error.ename == "MemoryError" or "allocate memory" in error.evalue:
            return "ran out of memory"
        if error.ename == "SystemExit":
            return "called exit"
    return ""


def _line(text: bytes) -> dict | None:
    """A record, if it is one."""
    wanted = {"exercise": str, "outcome": str, "borrowed": bool, "intact": bool}
    try:
        line = json.loads(text)
        misconception, said = line.pop("misconception"), line.pop("text", "")
        if {name: type(value) for name, value in line.items()} != wanted:
            return None
        if not isinstance(misconception, str | None) or not isinstance(said, str):
            return None
        return line | {"misconception": misconception, "text": said}
    except (ValueError, TypeError, AttributeError, KeyError, RecursionError):
        return None


def _show(cell: NotebookNode, text: str, outcome: str) -> None:
    """Let a check's cell show what the judge found; the kernel was not told that."""
    if outcome == "passed":
        output = {"output_type": "stream", "name": "stdout", "text": f"{text}\n"}
    else:
        kind = "NotAttempted" if outcome == "not attempted" else "CheckFailed"
        output = {"output_type": "error", "ename": kind, "evalue": text}
        output["traceback"] = text.splitlines()
    cell.outputs = [NotebookNode(output)]


def _keep_what_is_shown(content: dict) -> None:
    """Drop what `safe_notebook` would drop: an output may be of any size."""
    content.pop("transient", None)
    if "metadata" in content:
        content["metadata"] = {}
    if isinstance(data := content.get("data"), dict):
        shown = ("text/plain", *PICTURES)
        kept = {kind: data[kind] for kind in shown if isinstance(data.get(kind), str)}
        left = ", ".join(sorted(map(str, data)))[:200]
        content["data"] = kept or {"text/plain": f"(left out: {left})"}


def _size(content: dict) -> int:
    """How much an output takes in a notebook."""
    return len(json.dumps(content, default=str))


def _fail(cell: NotebookNode, name: str, reason: str) -> None:
    """Give a cell the output that earns no points."""
    if _error(cell):
        return
    output = {"output_type": "error", "ename": name, "evalue": reason}
    kept = list(cell.get("outputs", []))
    cell.outputs = [*kept, NotebookNode(output | {"traceback": [f"{name}: {reason}"]})]
