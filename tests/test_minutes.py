"""The minutes of exercises and lessons are counted, and within their budgets."""

import re
from dataclasses import replace

import jupytext
import pytest

from helpers.checks.engine import find
from helpers.checks.exercise import Answer, Exercise
from tools.build import minutes, readme
from tools.build.minutes import Minutes, of_exercise, of_lesson
from tools.build.notebooks import known_exercises, lesson_paths, read, student

LESSONS = {path.stem: read(path) for path in lesson_paths()}
KNOWN = {
    "7.A": Exercise("7.A", "Code", "open", difficulty=2, minutes=20, core=True),
    "7.B": Exercise("7.B", "Words", "open", difficulty=1, minutes=7),
}
TOP = "# %% [markdown]\n# # 07 Tiny\n# " + "word " * 148 + "- § {minutes}\n\n"
FIRST = """\
# %% [markdown]
# ## First
# <details><summary>A fold</summary>
# that is not read
# </details>

# %% [markdown] exercise="7.A"
# Do it.

# %% exercise="7.A"
### BEGIN SOLUTION
# a remark
first = max(
    1,
    2,
)

second = [
    #: scaffold
    3,
]
### END SOLUTION

# %%
check("7.A", first, second)

# %%
print(first)
assert first

# %%
assert folded

# %% [markdown] slide="notes"
# For the speaker alone.

"""
SECOND = """\
# %% [markdown]
# ## {}

# %% [markdown] exercise="7.B"
# Say it.

# %% [markdown] answer="7.B"
# ### BEGIN SOLUTION
# One line,
# two,
# three.
#
# **Rubric (2 points).** Not counted.
# ### END SOLUTION
"""


def cells_of(*texts):
    return jupytext.reads("".join(texts), fmt="py:percent").cells


def test_what_is_read_is_counted():
    core, whole = of_lesson(cells_of(TOP, FIRST), KNOWN)
    assert core == whole == Minutes(words=151 + 1 + 2, cells=1, exercises=20)
    assert whole.rounded == 20  # 1.0 + 0.5 + 20
    assert Minutes(words=450, cells=3).rounded == 5
    assert Minutes(words=450, cells=6, exercises=2).rounded == 10


def test_an_exercise_takes_its_difficulty_and_its_lines():
    cells = cells_of(TOP, FIRST, SECOND.format("Second"))
    asked = (Answer("first", 2), Answer("second", [3]))
    code = Exercise("7.A", "Code", "value", difficulty=2, minutes=99, answers=asked)
    words = Exercise("7.B", "Words", "written", difficulty=3, minutes=99)
    assert of_exercise(code, cells) == round(2.25 * 2 + 0.85 * 2)
    assert of_exercise(words, cells) == round(2.25 * 3 + 0.85 * 1.5)
    assert of_exercise(KNOWN["7.A"], cells) == 20


def test_core_is_what_stands_before_going_further():
    core, whole = of_lesson(
        cells_of(TOP, FIRST, SECOND.format("Going further"), "# %%\nprint(1)\n"), KNOWN
    )
    assert (core.exercises, whole.exercises) == (20, 27)
    assert (core.cells, whole.cells) == (1, 2)
    core, _ = of_lesson(cells_of(SECOND.format("Other"), FIRST), KNOWN)
    assert core.exercises == 20  # a section with nothing but more is left out
    core, _ = of_lesson(
        cells_of(SECOND.format("Other"), FIRST, "# %% [markdown]\n# ## Going further"),
        KNOWN,
    )
    assert core.exercises == 27  # all that stands before the heading


@pytest.mark.parametrize("name", LESSONS)
def test_the_header_and_the_readme_say_what_is_counted(name):
    lesson = LESSONS[name]
    known = known_exercises(lesson)
    core, whole = (one.rounded for one in of_lesson(lesson.cells, known))
    assert f"| {whole} ({core} ★) |" in readme.row(lesson, {})
    first = " ".join(lesson.cells[0].source.split())
    assert minutes.TOKEN not in first
    counted = lesson.number > 2 or minutes.ends_in_further(lesson.cells)
    if counted:
        said = f"Time: about {whole} minutes, of which {core} are the core path (★)."
        assert said in first


def test_lessons_that_were_rewritten_keep_to_their_budgets():
    for lesson in LESSONS.values():
        assert minutes.over(lesson.cells, known_exercises(lesson)) == "", lesson.name


def test_a_lesson_that_takes_too_long_is_named():
    known = {"7.A": replace(KNOWN["7.A"], minutes=93), "7.B": KNOWN["7.B"]}
    further = SECOND.format("Going further")
    assert minutes.over(cells_of(TOP, FIRST, SECOND.format("Other")), known) == ""
    said = minutes.over(cells_of(TOP, FIRST, further), known)
    assert said == "core: 95 of at most 90 minutes"
    known = {"7.A": KNOWN["7.A"], "7.B": replace(KNOWN["7.B"], minutes=131)}
    said = minutes.over(cells_of(TOP, FIRST, further), known)
    assert said == "all: 155 of at most 150 minutes"
    known = {"7.A": KNOWN["7.A"], "7.B": replace(KNOWN["7.B"], minutes=130)}
    assert minutes.over(cells_of(TOP, FIRST, further), known) == ""


def test_the_box_says_the_minutes_by_the_rule():
    lesson = next(one for one in LESSONS.values() if one.number == 4)
    known = known_exercises(lesson)
    text = "\n".join(cell.source for cell in student(lesson).cells)
    found = re.findall(r"### ★? ?Exercise (\d+\.[A-Z]):.*\n\n.*about (\d+) min", text)
    assert dict(found) == {one: str(it.minutes) for one, it in known.items()}
    assert find("4.D").minutes == 0  # nobody gives them by hand


def test_the_command_prints_a_line_for_each_lesson(capsys):
    minutes.main()
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == ["lesson", *LESSONS]
