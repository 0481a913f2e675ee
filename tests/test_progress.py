"""Progress is written atomically, where a person works or where `make lab` was."""

import json
import os
import re
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from helpers import files
from helpers.checks import CheckFailed, borrow, check, progress, standing
from helpers.checks import __main__ as progress_page
from helpers.checks.exercise import LESSONS
from helpers.checks.report import Report
from helpers.student import overview
from tools import lab

ROOT = Path(__file__).resolve().parent.parent
PASSED = Report("2.A", "passed", proven="all")
WRONG = Report("2.A", "wrong")
LENT = Report("2.A", "not attempted", borrowed=True)


@pytest.fixture
def work(tmp_path, monkeypatch):
    """The student's folder, as the kernel's working folder."""
    monkeypatch.delenv("COURSE_PROGRESS", raising=False)
    monkeypatch.delenv("NBGRADER_EXECUTION", raising=False)
    monkeypatch.chdir(tmp_path)
    (tmp_path / progress.MARKER).write_text("{}")
    return tmp_path


def right(x):
    return x.mean(-1)


def wrong(x):
    return x.mean(0)


def test_the_marker_and_the_lock_are_the_lab_s():
    assert (progress.MARKER, progress.LOCK) == (lab.MARKER, lab.LOCK)


def test_a_check_is_recorded(work):
    check("0.A", right)
    assert json.loads((work / progress.NAME).read_text()) == {"0.A": "passed"}
    assert progress.read(work) == {"0.A": "passed"}


def test_what_passed_in_the_first_edition_stays_passed(work):
    old = {"2.3": "passed", "2.F": "wrong", "2.1": "wrong", "2.A": "borrowed"}
    (work / progress.NAME).write_text(json.dumps(old))
    assert progress.read(work) == {"2.F": "passed", "2.A": "borrowed"}
    progress.record(PASSED)
    written = json.loads((work / progress.NAME).read_text())
    assert written == {"2.F": "passed", "2.A": "passed"}


def test_every_outcome_is_recorded_and_passed_stays(work, capsys):
    with pytest.raises(CheckFailed):
        check("0.A", wrong)
    assert progress.read(work) == {"0.A": "wrong"}
    borrow("0.A")
    assert progress.read(work) == {"0.A": "borrowed"}
    check("0.A", right)
    assert progress.read(work) == {"0.A": "passed"}
    with pytest.raises(CheckFailed):
        check("0.A", wrong)
    borrow("0.A")
    assert progress.read(work) == {"0.A": "passed"}


def test_a_borrowed_answer_is_never_recorded_as_passed(work):
    check("0.A", borrow("0.A"))
    assert progress.read(work) == {"0.A": "borrowed"}


def test_other_exercises_are_kept(work):
    progress.record(PASSED)
    progress.record(Report("2.B", "raised"))
    assert progress.read(work) == {"2.A": "passed", "2.B": "raised"}


@pytest.mark.parametrize(
    ("name", "value"), [("COURSE_PROGRESS", "off"), ("NBGRADER_EXECUTION", "autograde")]
)
def test_nothing_is_recorded_under_tests_and_graders(work, monkeypatch, name, value):
    monkeypatch.setenv(name, value)
    progress.record(PASSED)
    assert not (work / progress.NAME).exists()


def test_nothing_is_recorded_without_the_marker(work):
    (work / progress.MARKER).unlink()
    progress.record(PASSED)
    assert list(work.iterdir()) == []


def test_model_answers_that_pass_are_nobody_s_progress(work):
    (work / "solutions").mkdir()
    (work / "solutions" / progress.MARKER).write_text("{}")
    progress.record(PASSED, work / "solutions")
    assert progress.read(work / "solutions") == {}
    progress.record(PASSED, work)
    assert progress.read(work) == {"2.A": "passed"}


def test_these_tests_record_nothing_here():
    assert os.environ["COURSE_PROGRESS"] == "off"


@pytest.mark.parametrize("content", ["", "{", "[1]", "null", "\x00\xff", '{"a": '])
def test_a_damaged_file_is_started_again(work, content):
    (work / progress.NAME).write_text(content, "latin-1")
    assert progress.read(work) == {}
    progress.record(PASSED)
    assert progress.read(work) == {"2.A": "passed"}


def test_a_file_is_replaced_whole_or_not_at_all(work, monkeypatch):
    progress.record(WRONG)

    def full(*_, **__):
        raise OSError("disk full")

    monkeypatch.setattr(files.os, "fsync", full)
    progress.record(PASSED)  # a check goes on
    assert progress.read(work) == {"2.A": "wrong"}
    names = sorted(path.name for path in work.iterdir())
    assert names == [progress.MARKER, progress.LOCK, progress.NAME]  # and no halves


def test_a_reader_never_sees_half_a_file(work):
    done = threading.Event()
    seen = []

    def watch():
        while not done.is_set():
            if (work / progress.NAME).exists():
                seen.append(json.loads((work / progress.NAME).read_text()))

    reader = threading.Thread(target=watch)
    reader.start()
    for number in range(200):
        progress.record(Report(f"2.{number}", "passed"))
    done.set()
    reader.join()
    assert seen and len(progress.read(work)) == 200


def test_a_folder_that_cannot_be_written_does_not_stop_a_check(work, monkeypatch):
    def refuse(*_):
        raise PermissionError("read-only")

    monkeypatch.setattr(progress, "write_whole", refuse)
    assert check("0.A", right) is None


def test_a_lock_that_nobody_gives_back_does_not_stop_a_check(work, monkeypatch):
    monkeypatch.setattr(progress, "PATIENCE", 0.1)
    with files.locked(work / progress.LOCK):
        progress.record(PASSED)
    assert progress.read(work) == {}
    progress.record(PASSED)
    assert progress.read(work) == {"2.A": "passed"}


def test_six_at_once_lose_nothing(work):
    """Threads in place of kernels: they too open the lock's file one by one."""
    begin = threading.Barrier(6)

    def pass_ten(lesson):
        begin.wait()
        for number in range(10):
            progress.record(Report(f"{lesson}.{number}", "passed"))

    threads = [threading.Thread(target=pass_ten, args=(one,)) for one in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(progress.read(work)) == 60


def test_a_folder_that_the_lab_never_saw_is_reported(work, capsys):
    (work / progress.MARKER).unlink()
    progress_page.main(work)
    assert "`make lab`" in capsys.readouterr().out.splitlines()[-1]
    (work / progress.NAME).write_text("{}")  # opened in VS Code, say
    progress_page.main(work)
    assert "`make lab`" not in capsys.readouterr().out


@pytest.mark.parametrize("asked", [["--help"], ["nowhere"], ["a", "b"]])
def test_another_folder_has_to_be_there(asked):
    command = [sys.executable, "-m", "helpers.checks", *asked]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert run.returncode == 1 and run.stdout == ""
    assert run.stderr.startswith("Give the folder") and run.stderr.count("\n") == 1


def test_progress_is_printed_by_lesson(work, capsys):
    for number in ("0.A", "2.B", "2.F"):
        progress.record(Report(number, "passed"))
    progress.record(WRONG)
    progress_page.main(work)
    lines = capsys.readouterr().out.splitlines()
    assert [line[:2] for line in lines[: len(LESSONS)]] == [f"{n:02}" for n in LESSONS]
    assert lines[0].split("here")[1].split() == "★☆ 1 of 2 ★ 1 of 2 passed".split()
    assert lines[2].split("Attention")[1].split()[:5] == "★☆☆☆ 1 of 4 ★".split()
    assert lines[2].endswith(" 2 of 9 passed")
    assert re.fullmatch(
        r"3 of \d+ exercises passed; core path: 2 of \d+ ★\.", lines[-2]
    )
    assert lines[-1].startswith("Next: ★ 2.C ")
    assert max(map(len, lines)) <= 88


def test_each_exercise_is_printed_on_request(work, capsys):
    progress.record(PASSED)
    progress.record(Report("2.B", "not attempted", borrowed=True))
    progress_page.main(work, every=True)
    lines = [line.strip() for line in capsys.readouterr().out.splitlines()]
    assert any(line.startswith("✓ 2.A ") and line.endswith("passed") for line in lines)
    assert any(line.startswith("○ 2.B ") for line in lines)
    assert any(line.startswith("0.A ") for line in lines)
    assert not any(line.split()[:1] == ["2.K"] for line in lines)  # a person reads it
    assert max(map(len, lines)) <= 85


def test_what_comes_next_is_ahead_before_it_is_behind():
    course = standing.of_course({"2.B": "passed"})
    assert standing.upcoming(course).id == "2.C"
    core = [one.id for lesson in course for one in lesson.core]
    course = standing.of_course(dict.fromkeys(core[1:], "passed"))
    assert standing.upcoming(course).id == core[0]
    course = standing.of_course(dict.fromkeys(core, "passed"))
    assert standing.upcoming(course) is None
    assert len(standing.summed_up(course)) == 1


def test_every_lesson_has_a_title():
    assert set(standing.TITLES) == set(LESSONS)


def test_all_lessons_are_drawn_at_a_glance(work, monkeypatch):
    shown = []
    monkeypatch.setattr(overview, "display", shown.append)
    monkeypatch.setattr(overview, "person_present", lambda: True)
    for name in ("02_attention.ipynb", "02_attention.new-2.ipynb"):
        (work / name).write_text("")
    progress.record(Report("2.B", "passed"))
    overview.progress()
    text, page = shown[0]["text/plain"], shown[0]["text/html"]
    assert len(text.splitlines()) == len(LESSONS) + 2
    assert page.count("<tr>") == len(LESSONS) and "★☆☆☆ 1 of 4" in page
    assert "width:11%" in page  # 1 of 9
    links = re.findall('href="([^"]+)"', page)
    assert links == ["02_attention.ipynb", "02_attention.ipynb#cell-id=ex-2-C-task"]


def test_nothing_is_drawn_where_nobody_looks(work, capsys):
    progress.record(PASSED)
    overview.progress()
    assert capsys.readouterr().out == overview.NOBODY + "\n"
