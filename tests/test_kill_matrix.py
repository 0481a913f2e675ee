"""The table of mistakes in docs/ tells of the course as it is."""

from dataclasses import replace

import pytest

from helpers.checks import exercises
from tools.proofs import kill_matrix
from tools.proofs.kill_matrix import TABLE, Line, main, merged, page, read

LINES = [
    Line("2.2", "no scaling", 3, 60, 60, 58, 1),
    Line("2.2", "half scaling", 1, 20, 19, 19, 0),
    Line("10.1", "post-norm", 2, 40, 40, 40, 0),
]


def test_the_table_has_every_known_mistake():
    known = {
        (exercise.id, one.name): len(one.spellings)
        for exercise in exercises()
        for one in exercise.misconceptions
    }
    told = {(x.exercise, x.name): x.spellings for x in read(TABLE.read_text("utf-8"))}
    differ = {exercise for (exercise, _), _ in told.items() ^ known.items()}
    assert not differ, (
        f"{TABLE.name} is older than the mistakes of {', '.join(sorted(differ))}; "
        "for each: python -m tools.proofs.kill_matrix --exercise 2.2 --write"
    )


def test_what_the_table_tells_is_what_is_promised():
    lines = read(TABLE.read_text("utf-8"))
    tried = sum(one.tried for one in lines)
    assert all(one.tried >= 20 * one.spellings for one in lines)
    assert sum(one.rejected for one in lines) == tried
    assert sum(one.named for one in lines) >= 0.95 * tried
    assert sum(one.misnamed for one in lines) == 0


def test_a_page_is_read_as_it_was_written():
    assert read(page(LINES)) == LINES
    assert "2 exercises, 3 misconceptions, 120 wrong answers: 99.2% rejected" in page(
        LINES
    )


def test_an_exercise_that_was_tried_again_replaces_its_lines():
    again = [replace(LINES[0], named=60, misnamed=0)]
    assert merged(LINES, again) == [*again, LINES[2]]
    assert merged([], LINES) == LINES


def test_one_exercise_is_written_into_the_page(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(kill_matrix, "TABLE", tmp_path / "page.md")
    kill_matrix.TABLE.write_text(page(LINES[2:]), "utf-8")
    assert main(["--exercise", "0.1", "--seeds", "2", "--write"]) == 0
    first, *_, last = read(kill_matrix.TABLE.read_text("utf-8"))
    assert first.exercise == "0.1" and first.named == first.tried > 0
    assert last == LINES[2]
    assert "100.0% rejected" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        (["--exercise", "2.99"], "There is no exercise '2.99': lesson 2 has 2.1, "),
        (["--exercise", "abc"], "There is no exercise 'abc': lessons are 0, 1, "),
        (["--exercise", "2.8"], "Exercise 2.8 has no known mistakes."),
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
