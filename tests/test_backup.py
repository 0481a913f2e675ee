"""Backups of work/ and the copy to take away: what they hold, and that all returns."""

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from helpers.checks import kept, progress
from tools import backup, lab

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture
def work(tmp_path):
    """A student's folder: a notebook, the course's files, and some that stay out."""
    work = tmp_path / "work"
    (work / ".ipynb_checkpoints").mkdir(parents=True)
    (work / ".ipynb_checkpoints" / "02.ipynb").write_text("old")
    (work / "plots").mkdir()
    (work / "plots" / "mine.txt").write_text("mine")
    (work / "02.ipynb").write_text("answers")
    (work / lab.MARKER).write_text("{}")
    (work / lab.LOCK).touch()
    (work / ".secret").write_text("no")
    (work / progress.NAME).write_text('{"2.A": "passed"}')
    (work / kept.FOLDER).mkdir()
    (work / kept.FOLDER / "2.A.py").write_text("softmax = 1")
    return work


@pytest.fixture
def clock(monkeypatch):
    """Every copy has a date of its own."""
    seconds = iter(range(100, 999))
    monkeypatch.setattr(
        backup.time, "strftime", lambda form: f"2026-11-22-000{next(seconds)}"
    )


INSIDE = {
    "work/.answers/2.A.py",
    "work/.course.json",
    "work/.progress.json",
    "work/02.ipynb",
    "work/plots/mine.txt",
}


def names(copy):
    with zipfile.ZipFile(copy) as archive:
        assert archive.testzip() is None
        return set(archive.namelist())


def copies(work):
    return sorted((work.parent / "backups").glob("*"))


def back_up(work):
    return backup.back_up(work, work.parent / "backups")


def test_the_course_s_hidden_files_are_known():
    assert backup.COURSE == (progress.MARKER, progress.NAME, kept.FOLDER)


def test_a_change_is_backed_up_once(work, clock):
    [told] = back_up(work)
    [copy] = copies(work)
    assert names(copy) == INSIDE
    assert told == (
        f"Backed up {work} to {copy} (5 files); the newest 10 backups are kept."
    )
    assert back_up(work) == []  # nothing has changed
    (work / "02.ipynb").write_text("more answers")
    assert len(back_up(work)) == 1 and len(copies(work)) == 2
    (work / "plots" / "mine.txt").unlink()
    assert len(back_up(work)) == 1 and len(copies(work)) == 3


def test_a_damaged_backup_does_not_stand_for_a_good_one(work, clock):
    back_up(work)
    copies(work)[0].write_bytes(b"half")
    assert back_up(work) and names(copies(work)[1]) == INSIDE


def test_the_oldest_backups_go(work, clock):
    for number in range(backup.KEPT + 3):
        (work / "02.ipynb").write_text(f"answer {number}")
        assert back_up(work)
    assert len(copies(work)) == backup.KEPT
    with zipfile.ZipFile(copies(work)[0]) as archive:
        assert archive.read("work/02.ipynb") == b"answer 3"
    with zipfile.ZipFile(copies(work)[-1]) as archive:
        assert archive.read("work/02.ipynb") == b"answer 12"


def test_a_backup_has_bounds_and_notebooks_come_first(work, clock, monkeypatch):
    monkeypatch.setattr(backup, "LARGEST", 1000)
    monkeypatch.setattr(backup, "MOST", 1500)
    (work / "weights.bin").write_bytes(b"0" * 1001)
    (work / "data.csv").write_text("0" * 900)
    (work / "03.ipynb").write_text("0" * 990)
    [told] = back_up(work)
    assert "(6 files, 2 too large for it)" in told
    assert names(copies(work)[0]) == INSIDE | {"work/03.ipynb"}
    assert back_up(work) == []  # a file that was left out does not count as a change


def test_a_backup_that_fails_is_one_sentence_and_stops_nothing(work):
    (work.parent / "backups").write_text("a file where the folder should be")
    [told] = back_up(work)
    assert told.startswith(f"Could not back up {work} (") and "unchanged" in told


def test_a_full_disk_leaves_no_half_copy(work, clock):
    resource = pytest.importorskip("resource")
    (work / "02.ipynb").write_bytes(os.urandom(5000))
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2000, hard))
    try:
        [told] = back_up(work)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert "Could not back up" in told and copies(work) == []


def test_an_export_goes_on_elsewhere(work, tmp_path):
    """Unpacked in another clone it is the work; nothing is brought over it."""
    (work / "large.bin").write_bytes(b"0" * 2_000_000)
    there = tmp_path / "there"
    there.mkdir()
    told = backup.export(work, there)
    [copy] = there.iterdir()
    assert told.startswith(f"Packed 6 files of {work} into {copy} (")
    assert names(copy) == INSIDE | {"work/large.bin"}
    shutil.unpack_archive(copy, there)
    notebooks = tmp_path / "notebooks"
    notebooks.mkdir()
    (notebooks / "03.ipynb").write_text("new")
    lab.copy_notebooks(notebooks, there / "work")
    assert (there / "work" / "02.ipynb").read_text() == "answers"
    assert progress.read(there / "work") == {"2.A": "passed"}


@pytest.mark.parametrize(
    ("state", "sentence"),
    [
        ("empty", "There is nothing in {work} yet: `make lab` begins it."),
        ("nowhere", "There is no folder {there}: name one that is there."),
    ],
)
def test_an_export_that_cannot_be_is_one_sentence(
    tmp_path, monkeypatch, capsys, state, sentence
):
    monkeypatch.setattr(backup, "ROOT", tmp_path)
    work, there = tmp_path / "work", tmp_path / "there"
    if state == "nowhere":
        work.mkdir()
        (work / "02.ipynb").write_text("answers")
    assert backup.main(["--to", str(there)]) == 1
    said = capsys.readouterr()
    assert said.out == "" and said.err == sentence.format(work=work, there=there) + "\n"


def test_it_runs_without_the_course_s_packages(work, tmp_path):
    """`make export` takes any Python: the environment may be what is broken."""
    shutil.copytree(ROOT / "tools", tmp_path / "tools")
    command = [sys.executable, "-I", "-S", "-c", RUN.format(str(tmp_path))]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert len(list(tmp_path.glob("my-work-*.zip"))) == 1


RUN = """
import sys
sys.path.insert(0, {!r})
from tools import backup
sys.exit(backup.main([]))
"""
