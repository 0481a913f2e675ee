"""Plans for a term of 6, 8 or 12 weeks, and the first week: docs/syllabus.md."""

from dataclasses import dataclass

from helpers.checks.standing import TITLES
from tools.build import minutes
from tools.build.notebooks import Lesson, known_exercises

START = """# A syllabus for 6, 8 or 12 weeks

Each week has a class of 45 minutes, a lab of two hours, and work at home. *Core* is how
long the text and the exercises of the core path (★) take a student who meets the
subject for the first time, *all* the whole lesson; both are minutes, counted as in the
lessons themselves. What the class and the lab take of a lesson stands in
[For instructors](instructors.md#lesson-by-lesson). The dates are yours to fill in.

No plan asks for a lesson before the lessons that it needs. Ask everybody to set up and
to do lesson 00 at home before the first week."""


@dataclass(frozen=True)
class Plan:
    """A term: what is done before it, and the lessons of each week."""

    intro: str
    before: tuple[int, ...]  # at home
    weeks: tuple[tuple[int, ...], ...]


PLANS = {
    6: Plan(
        "The Transformer and how it writes, core path only: what came before it, "
        "fine-tuning and pretraining are left out. Lesson 01 is read at home: its core "
        "path is enough.",
        (0, 1),
        ((2,), (3,), (4,), (5,), (6,), (11,)),
    ),
    8: Plan(
        "The same with time for word vectors and for a pretrained model that is "
        "fine-tuned. Lessons 07, 08, 10 and 12 are left for those who want more.",
        (0,),
        ((1,), (2,), (3,), (4,), (5,), (6,), (9,), (11,)),
    ),
    12: Plan(
        "All of it. If the term has another week, use it for projects: each pair shows "
        "in ten minutes one experiment that it ran, with its numbers over several "
        "seeds, and what it does not show.",
        (0,),
        tuple((number,) for number in range(1, 13)),
    ),
}

# When, what, and how long: a lesson's number and minutes are filled in.
FIRST = (
    (
        "two weeks before",
        "ask everybody to run `make lab` and to finish lesson 00; whoever is stuck "
        "sends what `.venv/bin/python -m helpers.student.doctor` prints",
        "{start} minutes of theirs",
    ),
    (
        "three days before",
        "do the core path of lesson {first:02} yourself in `make lab`, as a student "
        "would",
        "{core} minutes",
    ),
    (
        "the evening before",
        "`make slides LESSON={first:02}`, and go through the deck with the speaker's "
        "window (`S`); `make guide LESSON={first:02}`, and pick two usual mistakes to "
        "make on purpose",
        "1 hour",
    ),
    ("class, 0:00", "the class, as the speaker's notes plan it", "45 minutes"),
    ("class, 0:45", "set-up: whoever's lesson 00 does not run stays", "15 minutes"),
    ("lab, 0:00", "the question of the lesson again, other numbers", "10 minutes"),
    (
        "lab, 0:10",
        "the core path, alone or in pairs; whoever calls you reads the check aloud "
        "first",
        "50 minutes",
    ),
    ("lab, 1:00", "together: two mistakes on the board, unnamed", "10 minutes"),
    (
        "lab, 1:10",
        "the rest of the list; hints before help, help before `borrow`",
        "50 minutes",
    ),
    (
        "at home",
        "the rest of the core path, and what they like of the others",
        "up to {home} minutes of theirs, the lab included",
    ),
    (
        "the day it is due",
        "`make grade` with the zip of your platform "
        "([how](grading.md#from-moodle-or-canvas-and-back)); it works alone",
        "",
    ),
    (
        "after that",
        "open `class.html`; read what waits in `reading.html`, by keyboard; "
        "`make grade` with the points",
        "1 hour and more",
    ),
    ("the same day", "import grades and feedback into the platform", "10 minutes"),
    (
        "next class, 0:00",
        "the two commonest mistakes of this class, with their sentences and the slide",
        "5 minutes",
    ),
)


def page(lessons: list[Lesson]) -> str:
    """The page of plans.

    Args:
        lessons: All of them, in their order.
    """
    times = {one.number: _minutes(one) for one in lessons}
    parts = [START]
    for weeks, plan in PLANS.items():
        parts += [f"## {weeks} weeks", plan.intro, _before(plan, times)]
        parts.append(_table(plan, times))
    first = PLANS[12].weeks[0][0]
    core, whole = times[first]
    start = times[0][0]
    rows = (f"| {' | '.join(row)} |" for row in FIRST)
    table = "\n".join(["| when | what | time |", "|---|---|---|", *rows])
    parts += [
        "## The first week, hour by hour",
        f"Of the plan for 12 weeks, which begins with lesson {first:02}. With another "
        "plan, put its first lesson in that place. How long things take you is a "
        "guess; what they take your students is counted as above.",
        table.format(first=first, start=start, core=core, home=whole),
    ]
    return "\n\n".join(parts) + "\n"


def _minutes(lesson: Lesson) -> tuple[int, int]:
    """How long the core path and the whole of a lesson take."""
    core, whole = minutes.of_lesson(lesson.cells, known_exercises(lesson))
    return core.rounded, whole.rounded


def _name(number: int) -> str:
    return f"{number:02} {TITLES[number]}"


def _before(plan: Plan, times: dict[int, tuple[int, int]]) -> str:
    named = (f"{_name(one)} (core {times[one][0]})" for one in plan.before)
    return f"At home before: {', '.join(named)}."


def _table(plan: Plan, times: dict[int, tuple[int, int]]) -> str:
    rows = ["| week | date | lesson | core | all |", "|---|---|---|---|---|"]
    for week, numbers in enumerate(plan.weeks, 1):
        core, whole = (sum(times[one][part] for one in numbers) for part in (0, 1))
        what = ", ".join(map(_name, numbers))
        rows.append(f"| {week} | | {what} | {core} | {whole} |")
    total = (sum(times[one][part] for week in plan.weeks for one in week)
             for part in (0, 1))  # fmt: skip
    rows.append("| | | in all | {} | {} |".format(*total))
    return "\n".join(rows)
