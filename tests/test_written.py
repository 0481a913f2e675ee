"""Model answers open to whoever has written an answer, and never while grading."""

import json

import nbformat
import pytest

from helpers.checks import CheckFailed, exercises
from helpers.student import written
from helpers.student.written import ENOUGH, model_answer, own_words
from tools.build import guide
from tools.build.notebooks import MODEL_ANSWER, lesson_paths, read, solution, student
from tools.build.stubs import YOUR_ANSWER
from tools.grading.course import _self_reliant

LESSONS = [read(path) for path in lesson_paths()]
KNOWN = json.loads(written.ANSWERS.read_text("utf-8"))
ANY = next(iter(KNOWN))
NAME = f"ex-{ANY.replace('.', '-')}"
WORDS = [f"word{number}" for number in range(ENOUGH)]


def test_a_question_is_found_by_its_number_in_the_first_edition(shown):
    model_answer("2.8", " ".join(WORDS))
    assert "2.K, to compare yours with" in str(shown[0])


@pytest.fixture
def shown(monkeypatch):
    """What is displayed."""
    found = []
    monkeypatch.delenv("NBGRADER_EXECUTION", raising=False)
    monkeypatch.setattr(written, "display", found.append)
    return found


@pytest.fixture
def save(tmp_path, monkeypatch):
    """Save the answer's cell in the running notebook."""

    def saved(text):
        for lesson in LESSONS:
            book = student(lesson)
            for cell in book.cells:
                if cell.id == NAME:
                    cell.source = text
                    nbformat.write(book, tmp_path / "02.ipynb")

    monkeypatch.setattr(written, "notebook_path", lambda: tmp_path / "02.ipynb")
    return saved


def test_every_written_question_has_its_model_answer_and_its_rubric():
    assert set(KNOWN) == {one.id for one in exercises() if one.kind == "written"}
    assert guide.opened(LESSONS) == written.ANSWERS.read_text("utf-8")
    for one in KNOWN.values():
        assert YOUR_ANSWER in one["untouched"]
        assert "**Model answer.**" in one["answer"] and "**Rubric" in one["answer"]


def test_forty_words_open_it(shown, save, capsys):
    save(f"{YOUR_ANSWER}\n\n{' '.join(WORDS)}")
    model_answer(ANY)
    assert capsys.readouterr().out == ""
    [bundle] = shown
    assert KNOWN[ANY]["answer"] in bundle["text/markdown"]
    assert "A person gives the points." in bundle["text/plain"]


@pytest.mark.parametrize("count", [0, 1, ENOUGH - 1])
def test_fewer_do_not_and_one_sentence_says_how_many_are_missing(
    count, shown, save, capsys
):
    save(" ".join([YOUR_ANSWER, *WORDS[:count]]))
    model_answer(ANY)
    assert not shown
    said = capsys.readouterr().out
    assert f"Your answer to {ANY} has {count} of the 40 words" in said
    assert f"write {ENOUGH - count} more, save the notebook" in said
    assert said.count(". ") == 0 and said.endswith(".\n")


def test_the_words_may_be_given_as_text(shown, capsys):
    model_answer(ANY, " ".join(WORDS))
    assert len(shown) == 1
    model_answer(ANY, "too few")
    assert "write 38 more" in capsys.readouterr().out


@pytest.mark.parametrize("content", [None, "", "{}", '{"cells": [{"id": "other"}]}'])
def test_where_the_notebook_can_t_be_read_it_says_what_to_do(
    content, shown, tmp_path, monkeypatch, capsys
):
    path = tmp_path / "02.ipynb"
    if content is not None:
        path.write_text(content)
    monkeypatch.setattr(written, "notebook_path", lambda: path)
    model_answer(ANY)
    assert not shown
    assert f'call model_answer("{ANY}", "your text")' in capsys.readouterr().out


def test_words_that_stood_there_are_nobody_s_own():
    assert own_words("Write your answer here, *it's* an e-mail", "write YOUR here") == 4
    assert own_words(YOUR_ANSWER, YOUR_ANSWER) == 0


def test_under_grading_nothing_is_shown_or_read(shown, monkeypatch, capsys):
    monkeypatch.setenv("NBGRADER_EXECUTION", "autograde")
    monkeypatch.setattr(written, "ANSWERS", None)
    model_answer(ANY, " ".join(WORDS))
    assert not shown and capsys.readouterr().out == ""


def test_an_exercise_that_is_not_written_is_refused(shown):
    with pytest.raises(CheckFailed, match="There is no written question '0.A'"):
        model_answer("0.A")


@pytest.mark.parametrize("make", [student, solution])
def test_the_build_puts_a_cell_behind_each_answer(make):
    found = {}
    for lesson in LESSONS:
        cells = make(lesson).cells
        for before, cell in zip(cells, cells[1:], strict=False):
            if MODEL_ANSWER in cell.metadata.get("tags", []):
                assert cell.id == f"{before.id}-model" and not cell.get("outputs")
                assert before.metadata.nbgrader.solution
                found[cell.id] = cell.source
    assert set(found) == {f"ex-{one.replace('.', '-')}-model" for one in KNOWN}
    assert f'model_answer("{ANY}")' in found[f"{NAME}-model"]


def test_a_release_can_leave_the_cells_out(tmp_path):
    with_it = next(one for one in LESSONS if one.number == int(ANY.split(".")[0]))
    path = tmp_path / "lesson.ipynb"
    nbformat.write(student(with_it), path)
    assert "model_answer(" in _self_reliant(path, True)
    bare = _self_reliant(path, False)
    assert "model_answer(" not in bare and "ex-" in bare
