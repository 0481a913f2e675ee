"""One setting says where the course is published; links and a first cell follow."""

import json
import subprocess
import sys
import types

import nbformat
import pytest

from tools.build import notebooks, published, readme
from tools.build.notebooks import ROOT, lesson_paths, read
from tools.build.stubs import LessonError
from tools.changes import identities

US = "https://github.com/us/it"
COLAB = "https://colab.research.google.com/github/us/it/blob/main/"


def setting(folder, address):
    (folder / "pyproject.toml").write_text(f"[tool.course]\nrepository = '{address}'\n")
    return folder


@pytest.fixture(scope="module")
def lesson():
    """A lesson of a course that is published."""
    made = read(next(path for path in lesson_paths() if path.name.startswith("02")))
    return notebooks.replace(made, address=US)


def test_the_setting_is_one_address_or_empty(tmp_path):
    assert published.address(setting(tmp_path, US)) == US
    assert published.address(setting(tmp_path, "")) == ""
    assert isinstance(published.address(ROOT), str)
    for wrong in ("git@github.com:us/it", "https://github.com/us", f"{US}/tree/main"):
        with pytest.raises(LessonError, match="OWNER/NAME.*leave it empty"):
            published.address(setting(tmp_path, wrong))


def test_links_are_of_the_form_that_the_services_ask_for():
    path = "notebooks/02_attention.ipynb"
    assert published.ways(US, path) == {
        "Colab": COLAB + path,
        "Binder": f"https://mybinder.org/v2/gh/us/it/main?urlpath=lab/tree/{path}",
        "Codespaces": "https://codespaces.new/us/it",
    }
    assert (ROOT / published.START).exists()
    assert set(published.BADGES) == set(published.ways(US, path))


def test_without_an_address_nothing_is_linked():
    assert published.badges("") == published.invitation("", "x") == ""
    assert published.first_cell("") == []


def test_the_badges_are_written_into_the_readme():
    lessons = [read(path) for path in lesson_paths()]
    text = (ROOT / "README.md").read_text("utf-8")
    there = [notebooks.replace(one, address=US) for one in lessons]
    shown = readme.updated(text, there, {})
    assert f"]({COLAB}notebooks/00_start_here.ipynb)" in shown
    assert shown.count("[![Open in ") == 3
    none = [notebooks.replace(one, address="") for one in lessons]
    hidden = readme.updated(shown, none, {})
    assert "Open in" not in hidden and "\n".join(readme.BADGES) in hidden
    assert readme.updated(hidden, there, {}) == shown


def test_both_notebooks_lead_to_themselves_and_begin_with_the_cell(lesson):
    for folder, book in (
        ("notebooks", notebooks.student(lesson)),
        ("solutions", notebooks.solution(lesson)),
    ):
        assert [cell.id for cell in book.cells[1:3]] == ["nav-0", published.CELL]
        top = book.cells[1].source
        assert f"[Colab]({COLAB}{folder}/02_attention.ipynb)" in top
        assert "[Binder](" in top and "or [Codespaces](" in top
        assert "![" not in top  # nothing is loaded from elsewhere
        first = next(cell for cell in book.cells if cell.cell_type == "code")
        assert first.id == published.CELL
        nbformat.validate(book)


def test_the_cell_is_folded_everywhere_and_on_no_slide(lesson):
    [cell] = published.first_cell(US)
    assert cell.metadata.jupyter.source_hidden and "hide-input" in cell.metadata.tags
    assert cell.metadata.cellView == "form" and cell.source.startswith("# @title ")
    assert cell.metadata.slideshow.slide_type == "skip"
    assert max(map(len, cell.source.splitlines())) <= 88


def test_all_else_of_a_notebook_is_as_without_an_address(lesson):
    unpublished = notebooks.replace(lesson, address="")
    for make in (notebooks.student, notebooks.solution):
        there, nowhere = make(lesson).cells, make(unpublished).cells
        kept = [cell for cell in there if cell.id != published.CELL]
        assert [cell.id for cell in kept] == [cell.id for cell in nowhere]
        differ = [a.id for a, b in zip(kept, nowhere, strict=True) if a != b]
        assert differ == ["nav-0"]


def test_a_notebook_that_was_only_opened_is_still_known(lesson):
    """The cell is there before a student opens it; folding is no change of theirs."""
    book = notebooks.student(lesson)
    given = identities(nbformat.writes(book).encode())
    del book.cells[2].metadata["jupyter"], book.cells[2].metadata["cellView"]
    book.cells[2].outputs = [nbformat.v4.new_output("stream", text="Getting ...")]
    assert identities(nbformat.writes(book).encode())[0] == given[0]


# --- what the cell does ---------------------------------------------------------------


@pytest.fixture
def run_cell(monkeypatch):
    """Run the cell; returns the commands that it ran."""

    def do(on_colab, status=0, installed=True):
        ran = []

        def run(command):
            ran.append(command)
            return subprocess.CompletedProcess(command, status)

        monkeypatch.setattr(subprocess, "run", run)
        monkeypatch.delitem(sys.modules, "google.colab", raising=False)
        if on_colab:
            fake = types.ModuleType("google.colab")
            monkeypatch.setitem(sys.modules, "google.colab", fake)
        found = "importlib.util.find_spec"
        monkeypatch.setattr(found, lambda name: installed and object())
        [cell] = published.first_cell(US)
        exec(cell.source, {})
        return ran

    return do


def test_at_home_it_does_nothing(run_cell, capsys):
    assert run_cell(on_colab=False, installed=True) == []
    assert run_cell(on_colab=False, installed=False) == []
    assert capsys.readouterr() == ("", "")


def test_on_colab_it_installs_the_course_once(run_cell, capsys):
    [command] = run_cell(on_colab=True, installed=False)
    assert command[1:4] == ["-m", "pip", "install"]
    assert command[-1] == f"{US}/archive/refs/heads/main.zip"
    assert capsys.readouterr().out.startswith("Getting the course")
    assert run_cell(on_colab=True, installed=True) == []


def test_on_colab_a_failure_is_one_sentence(run_cell):
    with pytest.raises(RuntimeError, match="could not install.*run this cell again"):
        run_cell(on_colab=True, status=1, installed=False)


# --- files that Binder and Codespaces read --------------------------------------------


def test_codespaces_sets_up_as_make_does():
    container = json.loads((ROOT / ".devcontainer" / "devcontainer.json").read_text())
    made, brought = container["postCreateCommand"].split(" && ")
    assert made == "make setup"
    assert brought == ".venv/bin/python -m tools.lab --copy-only"
    assert container["image"].endswith(":3.11-bookworm")
    settings = container["customizations"]["vscode"]["settings"]
    interpreter = settings["python.defaultInterpreterPath"]
    assert interpreter == "${containerWorkspaceFolder}/.venv/bin/python"


def test_binder_gets_what_is_tested_without_cuda():
    lines = (ROOT / ".binder" / "requirements.txt").read_text("utf-8").splitlines()
    told = [line for line in lines if line and not line.startswith("#")]
    assert told == [
        "--extra-index-url https://download.pytorch.org/whl/cpu",
        "-c ../requirements.txt",
        ".[lab]",
    ]
