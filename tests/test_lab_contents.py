"""The course's folders in JupyterLab: they can be read, and nothing else."""

import asyncio
from pathlib import Path

import pytest
from tornado.web import HTTPError

from tools import lab_contents

LESSON = "solutions/02_attention.ipynb"
MODEL = {"type": "file", "format": "text", "content": "x"}


@pytest.fixture
def folders(tmp_path, monkeypatch):
    """Return (course, work): a course of one solution, and a student's folder."""
    monkeypatch.setattr(lab_contents, "ROOT", tmp_path)
    for folder in (*lab_contents.READ_ONLY, "work"):
        (tmp_path / folder).mkdir()
    (tmp_path / "docs" / "page.md").write_text("read me")
    (tmp_path / LESSON).write_text(
        '{"cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}'
    )
    (tmp_path / "secret.txt").write_text("not part of any folder")
    (tmp_path / "work" / "mine.txt").write_text("mine")
    return tmp_path, tmp_path / "work"


@pytest.fixture
def contents(folders):
    return lab_contents.Contents(root_dir=str(folders[1]))


def run(coroutine):
    return asyncio.run(coroutine)


def tree(folder):
    """Return {path: bytes or None} of everything below a folder."""
    return {
        path: path.read_bytes() if path.is_file() else None
        for path in folder.rglob("*")
    }


def test_the_course_is_listed_and_read(contents):
    names = {one["name"] for one in run(contents.get(""))["content"]}
    assert names == {"mine.txt", *lab_contents.READ_ONLY}
    [page] = run(contents.get("docs"))["content"]
    assert page["path"] == "docs/page.md" and not page["writable"]
    assert run(contents.get("docs/page.md"))["content"] == "read me"
    solution = run(contents.get(LESSON))
    assert solution["type"] == "notebook" and not solution["writable"]
    assert run(contents.get("mine.txt"))["writable"]


ATTEMPTS = {
    "save": lambda on: on.save(MODEL, "docs/page.md"),
    "save under another spelling": lambda on: on.save(MODEL, "/docs//page.md"),
    "save a new file": lambda on: on.save(MODEL, "docs/new.txt"),
    "save a piece": lambda on: on.save(MODEL | {"chunk": 1}, "docs/page.md"),
    "make a folder": lambda on: on.save({"type": "directory"}, "docs/new"),
    "new file": lambda on: on.new_untitled("docs", type="file"),
    "delete": lambda on: on.delete("docs/page.md"),
    "delete the folder": lambda on: on.delete("docs"),
    "rename": lambda on: on.rename("docs/page.md", "docs/other.md"),
    "move away": lambda on: on.rename("docs/page.md", "page.md"),
    "move there": lambda on: on.rename("mine.txt", "docs/mine.txt"),
    "move over": lambda on: on.rename("mine.txt", "docs"),
    "copy there": lambda on: on.copy("mine.txt", "docs"),
    "copy beside": lambda on: on.copy("docs/page.md"),
    "copy a folder there": lambda on: on.copy("docs", "solutions"),
    "copy a whole folder": lambda on: on.copy("docs", ""),
    "checkpoint": lambda on: on.create_checkpoint("docs/page.md"),
    "restore": lambda on: on.restore_checkpoint("checkpoint", "docs/page.md"),
    "forget": lambda on: on.delete_checkpoint("checkpoint", "docs/page.md"),
}


@pytest.mark.parametrize("attempt", ATTEMPTS.values(), ids=list(ATTEMPTS))
def test_nothing_can_be_changed(contents, folders, attempt):
    before = tree(folders[0])
    with pytest.raises(HTTPError) as refused:
        run(attempt(contents))
    assert refused.value.status_code == 403
    assert "can only be read" in refused.value.log_message
    assert tree(folders[0]) == before


@pytest.mark.parametrize(
    "path", ["docs/../secret.txt", "docs/../../secret.txt", "../secret.txt"]
)
def test_no_way_leads_out_of_the_folders(contents, path):
    with pytest.raises(HTTPError) as refused:
        run(contents.get(path))
    assert refused.value.status_code == 404


def test_looking_leaves_no_trace(contents, folders):
    before = tree(folders[0])
    run(contents.get(LESSON))
    assert run(contents.list_checkpoints(LESSON)) == []
    assert tree(folders[0]) == before


def test_the_student_s_own_files_are_what_they_were(contents, folders):
    run(contents.save(MODEL, "mine.txt"))
    run(contents.rename("mine.txt", "yours.txt"))
    run(contents.copy(LESSON, ""))  # a solution may be taken away to try things out
    names = {path.name for path in folders[1].iterdir() if path.name[0] != "."}
    assert names == {"yours.txt", Path(LESSON).name}


def test_a_folder_of_the_student_s_comes_first(contents, folders):
    own = folders[1] / "docs"
    own.mkdir()
    run(contents.save(MODEL, "docs/page.md"))
    assert (own / "page.md").read_text() == "x"
    assert (folders[0] / "docs" / "page.md").read_text() == "read me"
    names = [one["name"] for one in run(contents.get(""))["content"]]
    assert sorted(names) == ["docs", "helpers", "mine.txt", "solutions"]


def test_a_solution_s_kernel_starts_outside_work(contents, folders):
    for path, expected in (
        (LESSON, folders[0] / "solutions"),
        ("mine.txt", folders[1]),
    ):
        start = run(contents.get_kernel_path(path))
        assert (folders[1] / start).resolve() == expected
