"""What a submission's processes hold together, and that it ends."""

import argparse
import subprocess
import sys
import threading
import time

import pytest

from tools.grading import __main__ as grade
from tools.grading import held, runner

MB = 1_000_000
linux = pytest.mark.skipif(sys.platform != "linux", reason="read from /proc")
# Four children that hold 30 MB each, two of them in memory that is shared.
FAMILY = """
import mmap, os, time
children = []
for number in range(4):
    if not os.fork():
        place = mmap.mmap(-1, 30_000_000) if number % 2 else bytearray(30_000_000)
        for start in range(0, 30_000_000, 4096):
            place[start] = 1
        os.write(1, b"x")
        time.sleep(600)
time.sleep(600)
"""


@pytest.fixture
def family():
    """A process and its children, when they hold what they hold."""
    command = [sys.executable, "-S", "-c", FAMILY]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, start_new_session=True
    )  # fmt: skip
    assert process.stdout.read(4) == b"xxxx"
    yield process
    runner._kill(process)
    process.wait()
    process.stdout.close()


@linux
def test_what_children_hold_counts_also_where_it_is_shared(family):
    assert 120 * MB < held.held(family.pid) < 300 * MB


def test_what_has_ended_holds_nothing():
    process = subprocess.Popen([sys.executable, "-S", "-c", ""])
    process.wait()
    assert held.held(process.pid) == 0


@linux
def test_a_watch_ends_what_holds_too_much(family, monkeypatch):
    monkeypatch.setattr(held, "PAUSE", 0.01)
    told, late = [], threading.Event()
    alarm = threading.Timer(20, late.set)
    alarm.start()
    held.watch(family.pid, 100 * MB, late, lambda: told.append("over"))
    alarm.cancel()
    assert told == ["over"]
    ended = threading.Event()
    threading.Timer(0.3, ended.set).start()
    start = time.monotonic()
    held.watch(family.pid, 400 * MB, ended, lambda: told.append("under"))
    assert told == ["over"] and time.monotonic() - start > 0.25


@linux
def test_a_worker_whose_children_hold_too_much_is_killed(tmp_path, monkeypatch):
    monkeypatch.setattr(runner, "WORKER", FAMILY)
    monkeypatch.setattr(held, "OVERHEAD", 0)
    processes = runner.Processes(tmp_path)
    start = time.monotonic()
    result = processes.run({"memory": 100 * MB, "seconds": 300}, b"")
    processes.close()
    assert result == {"reason": "its processes held over 0.1 GB together"}
    assert time.monotonic() - start < 60


def test_it_is_said_what_is_held_and_how():
    options = argparse.Namespace(memory=4.0, seconds=900.0)
    for told in (grade._conditions(options, None), grade._conditions(options, "no")):
        assert "4 GB of memory for each process, 7 GB for all together" in told
        assert "twice a second" in told
