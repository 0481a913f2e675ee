"""Locks that one process holds at a time, also where it is killed."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from helpers.files import Locked, locked

ROOT = Path(__file__).resolve().parent.parent
HOLD = """
import sys, time
from pathlib import Path
from helpers.files import locked
with locked(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(600)
"""


def test_a_lock_is_held_by_one_and_given_back(tmp_path):
    file = tmp_path / "lock"
    for _ in range(2):
        with locked(file):
            with pytest.raises(Locked):
                with locked(file, patience=0.05):
                    pytest.fail("two of them hold it")
    with pytest.raises(ZeroDivisionError):
        with locked(file):
            raise ZeroDivisionError
    with locked(file):
        assert file.read_bytes() == b""


def test_a_lock_of_a_killed_process_is_free(tmp_path):
    file = tmp_path / "lock"
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(file)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
    )
    with holder:
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(Locked):
            with locked(file):
                pytest.fail("two of them hold it")
        holder.kill()
    with locked(file):
        pass


def test_where_no_lock_can_be_made_the_body_runs(tmp_path):
    ran = []
    with locked(tmp_path / "missing" / "lock"):
        ran.append(os.listdir(tmp_path))
    assert ran == [[]]
