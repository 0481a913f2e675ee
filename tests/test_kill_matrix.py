"""The kill matrix, and the line of the README that counts what it is made of."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from helpers.checks import exercises
from tools.build import readme
from tools.build.notebooks import lesson_paths, read
from tools.build.stubs import LessonError
from tools.proofs import kill_matrix
from tools.proofs.kill_matrix import Line, main, page

ROOT = Path(__file__).resolve().parent.parent
LINES = [
    Line("2.B", "no scaling", 3, 60, 60, 58, 1),
    Line("2.B", "half scaling", 1, 20, 19, 19, 0),
    Line("10.A", "post-norm", 2, 40, 40, 40, 0),
]


def test_the_readme_counts_every_known_mistake():
    known = [one.misconceptions for one in exercises() if one.misconceptions]
    mistakes = sum(map(len, known))
    spellings = sum(len(one.spellings) for some in known for one in some)
    line = (
        f"{len(known)} exercises, {mistakes:,} known mistakes in {spellings:,} "
        "spellings: all rejected, and all called by their name."
    )
    assert line in (ROOT / "README.md").read_text("utf-8").splitlines(), (
        f"README.md should say {line!r}: run `make build`."
    )


def test_a_count_that_is_out_of_date_is_noticed_and_corrected(tmp_path):
    lessons = [read(path) for path in lesson_paths(ROOT)]
    path, text = tmp_path / "README.md", (ROOT / "README.md").read_text("utf-8")
    path.write_text(re.sub(r"^\d+ exercises, ", "99 exercises, ", text, flags=re.M))
    [said] = readme.stale(tmp_path, lessons)
    assert said.startswith("README.md: its badges, its table of lessons or its count")
    readme.write(tmp_path, lessons)
    assert readme.mistakes(lessons) in path.read_text("utf-8").splitlines()
    path.write_text(text.replace("<!-- /mistakes -->", ""))
    with pytest.raises(LessonError, match="README.md needs the lines <!-- mistakes"):
        readme.stale(tmp_path, lessons)


def test_a_page_has_a_row_per_mistake_and_the_sums():
    text = page(LINES, seeds=20)
    assert "on the inputs of 20 seeds" in text
    assert "2 exercises, 3 misconceptions, 120 wrong answers: 99.2% rejected" in text
    assert "| 2.B | no scaling | 3 | 60/60 | 58/60 | 1 |" in text.splitlines()
    assert len(re.findall(r"^\| \d", text, re.MULTILINE)) == len(LINES)


def test_a_run_over_all_exercises_writes_the_table(tmp_path, monkeypatch, capsys):
    table = tmp_path / "build" / "kill-matrix.md"
    monkeypatch.setattr(kill_matrix, "TABLE", table)
    monkeypatch.setattr(kill_matrix, "exercises", lambda: [kill_matrix.find("0.A")])
    assert main(["--exercise", "0.A", "--seeds", "1"]) == 0
    assert not table.exists()  # the table is of all exercises or of none
    assert main(["--seeds", "2"]) == 0
    assert "100.0% rejected" in capsys.readouterr().out
    known = kill_matrix.find("0.A").misconceptions
    written = re.findall(r"^\| 0\.A \| ([^|]+) \|", table.read_text("utf-8"), re.M)
    assert written == [one.name for one in known]


def test_a_mistake_that_passes_fails_the_run(monkeypatch, capsys):
    found = kill_matrix.find("0.A")
    right = replace(found.misconceptions[0], spellings=(found.references[0],))
    monkeypatch.setattr(
        kill_matrix, "exercises", lambda: [replace(found, misconceptions=(right,))]
    )
    [lines] = kill_matrix._lines(["0.A"], 2, 1)
    assert [one.rejected for one in lines] == [0]
    assert kill_matrix._totals(lines) == 1
    assert f"0.A {right.name!r}, spelling 1, seed 0: passed" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        (["--exercise", "2.99"], "There is no exercise '2.99': lesson 2 has 2.A, "),
        (["--exercise", "abc"], "There is no exercise 'abc': lessons are 0, 1, "),
        (["--exercise", "2.K"], "Exercise 2.K has no known mistakes."),
        (["--seeds", "0"], "--seeds and --jobs are at least 1."),
        (["--jobs", "0"], "--seeds and --jobs are at least 1."),
    ],
)
def test_nothing_to_do_is_one_clear_sentence(wrong, sentence, capsys):
    assert main(wrong) == 2
    said = capsys.readouterr()
    assert (
        said.out == "" and said.err.startswith(sentence) and said.err.count("\n") == 1
    )
