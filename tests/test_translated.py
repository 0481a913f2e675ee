"""A translation may change what is read, and nothing that is done."""

import shutil
from pathlib import Path

import pytest

from tools.build import __main__ as build
from tools.build import translated
from tools.build.notebooks import read
from tools.build.stubs import LessonError

ROOT = Path(__file__).resolve().parent.parent
NAME = "00_start_here"
SAME = [
    ("# # 00 Start here", "# # 00 Hier geht es los"),  # a text
    ("# %%\n", "# %%\n# ein Kommentar\n"),
    ('print(f"', 'print(f"So: '),  # a string
]
OTHER = [
    ("torch.manual_seed(", "torch.manual_seed(1 + ", "does something else"),
    ('\ncheck("0.A"', '\nprint()\ncheck("0.A"', "does something else"),
    ('# %% [markdown] exercise="0.B"', "# %% [markdown]", "exercise"),
]


@pytest.fixture
def course(tmp_path):
    """A course of one lesson, whose translation is still a copy."""
    for folder in ("", "translations/xx"):
        place = tmp_path / folder / "lessons"
        place.mkdir(parents=True)
        shutil.copy(ROOT / "lessons" / f"{NAME}.py", place)
    return tmp_path


def translate(course, old, new):
    path = course / "translations" / "xx" / "lessons" / f"{NAME}.py"
    text = path.read_text("utf-8")
    assert old in text, old
    path.write_text(text.replace(old, new), "utf-8")
    return read(path)


@pytest.mark.parametrize(("old", "new"), SAME)
def test_what_is_read_may_differ(course, old, new):
    assert [*translated.problems(translate(course, old, new), course)] == []


@pytest.mark.parametrize(("old", "new", "told"), OTHER)
def test_what_is_done_may_not(course, old, new, told):
    try:
        problems = [*translated.problems(translate(course, old, new), course)]
    except LessonError as error:
        problems = [str(error)]
    assert len(problems) == 1 and told in problems[0], problems


@pytest.mark.parametrize(
    ("source", "other", "same"),
    [
        ('f"{a} of {b:.2f}"', 'f"von {b:.2f} sind {a}"', True),
        ('f"{a} of {b:.2f}"', 'f"{a} von {b:.3f}"', True),
        ('f"{a} of {b}"', 'f"{a} von {a}"', False),
        ('show("x", x)', 'show("das x", x)', True),
        ("x = 1", "x = 2", False),
        ("%timeit f()", "%timeit g()", False),
    ],
)
def test_words_are_no_code(source, other, same):
    assert (translated._code(source) == translated._code(other)) == same


def test_a_cell_too_many_is_told(course):
    lesson = translate(course, "# %% [markdown]", "# %% [markdown]")
    path = course / "translations" / "xx" / "lessons" / f"{NAME}.py"
    path.write_text(path.read_text("utf-8") + "\n# %%\nprint()\n", "utf-8")
    assert [*translated.problems(lesson, course)] == []
    [told] = translated.problems(read(path), course)
    assert "cells of code" in told


def test_a_translation_of_no_lesson_is_told(course):
    lesson = translate(course, "# %%", "# %%")
    (course / "lessons" / f"{NAME}.py").unlink()
    [told] = translated.problems(lesson, course)
    assert f"no lessons/{NAME}.py" in told


def test_the_build_refuses_another_code_and_writes_nothing(course, capsys):
    translate(course, *OTHER[0][:2])
    assert build.main(["--language", "xx"], course) == 1
    assert "does something else" in capsys.readouterr().err
    assert not (course / "translations" / "xx" / "notebooks").exists()


def test_the_build_writes_beside_the_translation(course, monkeypatch, capsys):
    monkeypatch.setattr(build, "execute", lambda *arguments: None)
    translate(course, *SAME[0])
    assert build.main(["--language", "xx"], course) == 0
    made = course / "translations" / "xx" / "notebooks" / f"{NAME}.ipynb"
    assert "Hier geht es los" in made.read_text("utf-8")
    assert not (course / "notebooks").exists()
    made.unlink()
    assert build.main(["--language", "xx", "--check"], course) == 1
    assert "is missing or damaged" in capsys.readouterr().err


def test_an_unknown_language_is_one_sentence(course, capsys):
    assert build.main(["--language", "yy"], course) == 2
    told = capsys.readouterr().err
    assert "translations/yy/lessons" in told and told.count("\n") == 1
