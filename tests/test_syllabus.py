"""The plans for a term: each lesson after those that it needs, and right minutes."""

import re
from pathlib import Path

import pytest

from tools.build import guide, minutes, syllabus
from tools.build.notebooks import known_exercises, lesson_paths, read

ROOT = Path(__file__).resolve().parents[1]
LESSONS = [read(path) for path in lesson_paths(ROOT)]


def needed(lesson):
    """The lessons that a lesson needs, by its first cell; "best also" is left out."""
    text = guide._needs(lesson).partition(", best")[0].partition(", or its ideas")[0]
    found = {int(number) for number in re.findall(r"\b\d\d\b", text)}
    for first, last in re.findall(r"\b(\d\d) to (\d\d)\b", text):
        found |= set(range(int(first), int(last) + 1))
    return found


def test_what_lessons_need_is_read():
    read = {lesson.number: needed(lesson) for lesson in LESSONS}
    assert read[2] == {1} and read[3] == {2}
    assert read[6] == {2, 3, 4, 5} and read[11] == {2, 5, 6}


@pytest.mark.parametrize("weeks", syllabus.PLANS)
def test_no_lesson_comes_before_those_that_it_needs(weeks):
    plan = syllabus.PLANS[weeks]
    assert len(plan.weeks) == weeks
    needs = {lesson.number: needed(lesson) for lesson in LESSONS}
    done = set(plan.before)
    for week in plan.weeks:
        for number in week:
            assert number not in done and needs[number] <= done, number
            done.add(number)


def test_the_longest_plan_has_every_lesson():
    plan = syllabus.PLANS[12]
    taken = [*plan.before, *(number for week in plan.weeks for number in week)]
    assert taken == [lesson.number for lesson in LESSONS]


def test_the_minutes_are_those_of_the_lessons():
    page = (ROOT / "docs" / "syllabus.md").read_text("utf-8")
    rows = re.findall(r"^\| \d+ \| \| (\d\d) [^|]+ \| (\d+) \| (\d+) \|$", page, re.M)
    assert len(rows) == 6 + 8 + 12
    for number, core, whole in rows:
        lesson = LESSONS[int(number)]
        times = minutes.of_lesson(lesson.cells, known_exercises(lesson))
        assert [int(core), int(whole)] == [one.rounded for one in times]
    sums = re.findall(r"^\| \| \| in all \| (\d+) \| (\d+) \|$", page, re.M)
    assert int(sums[-1][0]) == sum(int(core) for _, core, _ in rows[14:])


def test_the_first_lab_takes_two_hours():
    rows = [row for row in syllabus.FIRST if row[0].startswith("lab, ")]
    at = 0
    for when, _, lasts in rows:
        hour, minute = re.fullmatch(r"lab, (\d):(\d\d)", when).groups()
        assert 60 * int(hour) + int(minute) == at
        at += int(lasts.removesuffix(" minutes"))
    assert at == 120
