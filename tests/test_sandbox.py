"""The sandbox of a graded kernel: how it is entered, and what it refuses inside."""

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tools.grading import far, runner, sandbox

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


# --- through podman -------------------------------------------------------------------

DENIED = "unshare: Operation not permitted"


@pytest.mark.parametrize(
    ("installed", "alone", "through", "found"),
    [
        (True, None, "never asked", ((), None)),
        (True, DENIED, None, (sandbox.PODMAN, None)),
        (True, DENIED, "no map", ((), f"{DENIED}; through podman: no map")),
        (False, DENIED, None, ((), DENIED)),
    ],
)
def test_podman_is_tried_where_a_process_alone_may_not(
    tmp_path, monkeypatch, installed, alone, through, found
):
    def probe(folder, patience, by=()):
        assert folder == tmp_path and patience == 7.0
        assert by != sandbox.PODMAN or alone
        return through if by else alone

    monkeypatch.setattr(sandbox, "probe", probe)
    monkeypatch.setattr(sandbox.sys, "platform", "linux")
    monkeypatch.setattr(sandbox.shutil, "which", lambda name: installed or None)
    assert sandbox.way(tmp_path, 7.0) == found


def test_podman_can_not_do_it_on_macos(tmp_path, monkeypatch):
    monkeypatch.setattr(sandbox, "probe", lambda *asked: DENIED[: 99 // len(asked)])
    monkeypatch.setattr(sandbox.sys, "platform", "darwin")
    monkeypatch.setattr(sandbox.shutil, "which", lambda name: name)
    assert sandbox.way(tmp_path) == ((), DENIED)


PRETENDER = """#!/bin/sh
test "$1 $2 $3" = "--log-level error unshare" || exit 1
shift 3
THROUGH=podman exec "$@"
"""
TOLD = """
import json, os
print(json.dumps({"reason": os.environ.get("THROUGH", "nothing")}))
"""


@pytest.fixture
def pretender(tmp_path, monkeypatch):
    """A podman that runs the command, and leaves a sign."""
    (tmp_path / "bin").mkdir()
    program = tmp_path / "bin" / "podman"
    program.write_text(PRETENDER)
    program.chmod(0o755)
    path = os.pathsep.join([str(program.parent), os.environ["PATH"]])
    monkeypatch.setenv("PATH", path)


def asked(processes):
    """What a worker answers."""
    try:
        return processes.run({"memory": 1 << 40, "seconds": 60}, b"")["reason"]
    finally:
        processes.close()


def test_workers_start_in_the_way_that_was_found(tmp_path, pretender, monkeypatch):
    monkeypatch.setattr(runner, "WORKER", TOLD)
    for through, told in (((), "nothing"), (sandbox.PODMAN, "podman")):
        folder = tmp_path / told
        folder.mkdir()
        assert asked(runner.Processes(folder, through)) == told


def test_so_they_do_on_other_machines(pretender, monkeypatch):
    monkeypatch.setattr(runner, "WORKER", TOLD)
    monkeypatch.setattr(sandbox, "way", lambda *_: (sandbox.PODMAN, None))
    monkeypatch.setattr(far, "_mine", [])
    far._way.cache_clear()
    try:
        assert far.barrier() is None and asked(far._processes()) == "podman"
    finally:
        far._way.cache_clear()


WAITS = """
import time
from tools.grading import sandbox, worker
job = worker.json.loads(worker.sys.stdin.buffer.readline())
folder = sandbox.enter(worker.Path(job["folder"]), 1 << 20)
sandbox.enter_again(folder / sandbox.KERNEL)
print(len(list(worker.Path("/proc").glob("[0-9]*"))), flush=True)
time.sleep(600)
"""
GRADER = """
import sys
from pathlib import Path
from tools.grading import runner, sandbox
runner.WORKER = sys.argv[2]
processes = runner.Processes(Path(sys.argv[1]), sandbox.PODMAN)
print(processes.run({"memory": 1 << 40, "seconds": 600}, b""))
"""


@pytest.fixture
def podman(folder):
    """A place to try podman in; skips where it can't make a user namespace."""
    if sys.platform != "linux" or not shutil.which("podman"):
        pytest.skip("podman is not installed")
    if os.geteuid() == 0:
        pytest.skip("podman unshare is for ordinary users, and this is root")
    tried = subprocess.run(
        [*sandbox.PODMAN, "true"], capture_output=True, text=True, timeout=60
    )
    if tried.returncode:
        pytest.skip(f"podman can't make a user namespace: {tried.stderr.strip()}")
    return folder


def test_a_process_that_podman_starts_is_sandboxed(podman):
    assert sandbox.probe(podman / "probe", through=sandbox.PODMAN) is None


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_what_podman_started_ends_with_the_grader(podman, number):
    place = podman / "grading"
    place.mkdir()
    command = [sys.executable, "-c", GRADER, str(place), f"{WAITS}# {podman}"]
    grader = subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        until(lambda: len(waiting(podman)) >= 5)  # podman's two, the sandboxes'
    finally:
        grader.send_signal(number)
        grader.wait(20)
    until(lambda: not waiting(podman) and not place.exists())


def until(true):
    """Wait for something to become true."""
    end = time.monotonic() + 60
    while not true():
        assert time.monotonic() < end
        time.sleep(0.1)


def waiting(sign):
    """The numbers of the workers that wait, in whatever namespace."""
    found = set()
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            command = path.read_bytes().decode()
        except OSError:
            continue
        if f"# {sign}" in command and "runner.WORKER" not in command:
            found.add(int(path.parent.name))
    return found


# --- in a container -------------------------------------------------------------------

RECIPE = (ROOT / "tools" / "grading" / "Containerfile").read_text("utf-8").splitlines()


def test_what_a_container_is_made_of_is_there_and_is_all_that_is_sent():
    copied = {
        x for line in RECIPE if line.startswith("COPY") for x in line.split()[1:-1]
    }
    ignored = (ROOT / ".dockerignore").read_text("utf-8").splitlines()
    assert [line for line in ignored if line[0] not in "#!"] == ["*"]
    assert {line[1:] for line in ignored if line[0] == "!"} == copied
    assert all((ROOT / name).is_file() for name in copied)


def test_the_page_mounts_the_course_where_the_container_looks_for_it():
    page = (ROOT / "docs" / "grading.md").read_text("utf-8")
    [place] = [line.split()[1] for line in RECIPE if line.startswith("WORKDIR")]
    assert f'-v "$PWD:{place}:ro"' in page
    assert "build -t grading -f tools/grading/Containerfile ." in page
