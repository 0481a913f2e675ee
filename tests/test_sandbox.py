"""The sandbox of a graded kernel: what it refuses, asked from the inside."""

import subprocess
import sys
from pathlib import Path

import pytest

from tools.grading import sandbox

ROOT = Path(__file__).resolve().parent.parent
ENTER = """
import ctypes, os, sys
from pathlib import Path
from tools.grading import sandbox
job = sandbox.enter(Path(sys.argv[1]), 1 << 20)
sandbox.enter_again(job / sandbox.KERNEL)
library = ctypes.CDLL(None, use_errno=True)
def call(name, *arguments):
    ctypes.set_errno(0)
    done = getattr(library, name)(*map(ctypes.c_long, arguments))
    return done if done >= 0 else os.strerror(ctypes.get_errno())
"""


def inside(code, folder):
    """What a process in the sandbox prints, line by line."""
    if refused := sandbox.probe(folder / "probe"):
        pytest.skip(f"no sandbox here: {refused}")
    (folder / "root").mkdir()
    command = [sys.executable, "-c", ENTER + code, str(folder / "root")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


UNCOUNTED = """
try:
    os.memfd_create("held")
    print("held")
except OSError as error:
    print(error.strerror)
print(call("shmget", 0, 1 << 30, 0o1600))
print(call("msgget", 0, 0o1600), flush=True)
child = os.fork()  # nor a child of it
if not child:
    print(call("shmget", 0, 1 << 30, 0o1600), flush=True)
    os._exit(0)
os.waitpid(child, 0)
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "probe").mkdir()
    return tmp_path


def test_memory_that_no_limit_counts_is_refused(folder):
    """Otherwise a notebook could hold all that the machine has."""
    assert inside(UNCOUNTED, folder) == ["Function not implemented"] * 4


QUEUES = """
import errno
from tools.grading.worker import _limits
job = {"memory": 1 << 40, "seconds": 600, "namespaces": False}
sandbox.limit(_limits(job))
handle = library.mq_open(b"/held", os.O_CREAT | os.O_RDWR, 0o600, None)
print(handle, ctypes.get_errno() == errno.EMFILE)
"""


def test_there_are_no_message_queues_of_posix(folder):
    """Their memory is the system's, and no limit on address space counts it."""
    assert inside(QUEUES, folder) == ["-1 True"]


def test_files_pipes_and_threads_are_as_everywhere(folder):
    code = """
import subprocess, threading
Path("mine").write_text("kept")
print(Path("mine").read_text())
print(subprocess.check_output(["/bin/echo", "a child"], text=True).strip())
thread = threading.Thread(target=lambda: print("a thread"))
thread.start()
thread.join()
"""
    assert inside(code, folder) == ["kept", "a child", "a thread"]
