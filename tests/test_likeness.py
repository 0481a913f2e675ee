"""Answers that are copies: what is flagged, and that honest people are not."""

import ast
import json
from collections import Counter
from itertools import count
from pathlib import Path

import nbformat
import pytest
from unaided import ANSWERS

from helpers.checks.engine import examine, find
from tests import submissions as handed
from tools.build.lesson_cells import solutions
from tools.grading import likeness, restore
from tools.grading.likeness import ALIKE, ENOUGH, Known
from tools.grading.tables import Grade
from tools.proofs.hunt import answers_of

ROOT = Path(__file__).resolve().parents[1]
PAGE = " ".join((ROOT / "docs" / "grading.md").read_text("utf-8").split())
LESSONS = sorted(path.stem for path in (ROOT / "notebooks").glob("*.ipynb"))


def shape(source):
    return likeness.shape(ast.parse(source).body[0])


def alike(one, other):
    return likeness.likeness(shape(one), shape(other))


class Renamed(ast.NodeTransformer):
    """Gives new names to what a piece of code names itself."""

    def __init__(self, tree):
        numbers = count()
        own = likeness._own_names(tree)
        self.new = {name: f"v{next(numbers)}" for name in sorted(own)}

    def visit_Name(self, node):  # noqa: N802
        return ast.Name(self.new.get(node.id, node.id), node.ctx)

    def visit_arg(self, node):
        return ast.arg(self.new.get(node.arg, node.arg))


def disguised(source):
    """The same code, with other names, no comments and no annotations."""
    tree = ast.parse(source)
    for node in tree.body:
        for number, inner in enumerate(node.body):
            if isinstance(inner, ast.FunctionDef):
                node.body[number] = Renamed(inner).visit(inner)
    whole = [node if isinstance(node, ast.ClassDef) else Renamed(node).visit(node)
             for node in tree.body]  # fmt: skip
    return "\n\n".join(map(ast.unparse, map(ast.fix_missing_locations, whole)))


def grade(student, answers, lesson="02_attention"):
    """The grade of a notebook with these answers: "ex-2-B" -> its source."""
    released = nbformat.read(ROOT / "notebooks" / f"{lesson}.ipynb", 4)
    mine = handed.filled(answers, nbformat.from_dict(released))
    content = json.dumps(mine).encode()
    submitted, _ = restore.restore(restore.parse(content), released)
    return Grade(student, lesson, shapes=likeness.shapes(submitted, released))


def flagged(*grades):
    likeness.flag(grades, ROOT)
    return [one.suspects for one in grades]


# --- two pieces of code ---------------------------------------------------------------


def test_names_comments_and_annotations_make_no_difference():
    one = (
        "def f(x: Tensor) -> Tensor:\n    '''Sum.'''\n    y: int = x + 1\n    return y"
    )
    other = "def g(a):\n    b = a + 1  # one more\n    return b"
    assert alike(one, other) == 1.0


@pytest.mark.parametrize(
    "other",
    ["return torch.cumsum(y, 0) * 2", "return y.exp(dim=1)", "return y.exp() + 3"],
)
def test_functions_that_are_called_and_numbers_do(other):
    start = "def f(x):\n    y = x.exp()\n    "
    assert alike(f"{start}return torch.cumsum(y, 0) * 3", f"{start}{other}") < ALIKE


def test_what_the_stub_has_given_is_no_likeness():
    name = "2.C"
    stub = next(c for c in handed.released().cells if c.id == "ex-2-C").source
    assert grade("anna", {"ex-2-C": f"{stub}\n# later"}).shapes == {}
    ours = grade("anna", {"ex-2-C": handed.solution("ex-2-C")}).shapes
    assert list(ours) == ["SelfAttention"] and find(name).names == tuple(ours)


@pytest.mark.parametrize(
    "source",
    [
        "def softmax(x, dim):\n    return " + "+".join("x" * 30_000),
        "def softmax(x, dim):\n    return " + "-" * 3000 + "x",
        "def softmax(x, dim):\n    return x\n" + "    x += 1\n" * 4000,
        "def softmax(",
        "def softmax(x, dim):\n    return x" + ".x" * 15_000,
    ],
)
def test_code_that_is_made_to_break_it_is_left_out(source):
    assert grade("mallory", {"ex-2-A": source}).shapes == {}


# --- copies ---------------------------------------------------------------------------


COPIED = ("ex-2-A", "ex-2-B", "ex-2-C", "ex-2-D")


def copies(change=lambda source: source):
    return {name: change(handed.solution(name)) for name in COPIED}


def test_copies_of_the_course_s_answers_are_flagged_under_other_names_too():
    renamed = "".join(copies(disguised).values())
    assert "scores = " in "".join(copies().values()) and "scores = " not in renamed
    told = ["2.A, 2.B, 2.C, 2.D are much like code that the course has published"]
    assert flagged(grade("ben", copies())) == [told]
    assert flagged(grade("ben", copies(disguised))) == [told]


def test_a_copy_under_a_name_of_its_own_is_found():
    answers = copies()
    answers["ex-2-C"] = answers["ex-2-C"].replace("SelfAttention", "Mine")
    answers["ex-2-C"] += "\nSelfAttention = Mine"
    assert "2.A, 2.B, 2.C, 2.D are" in flagged(grade("ben", answers))[0][0]


def test_one_short_answer_tells_nothing():
    assert flagged(grade("anna", {"ex-2-B": handed.solution("ex-2-B")})) == [[]]


def test_two_who_share_answers_are_flagged_and_nobody_else():
    answers = {f"ex-5-{letter}": ANSWERS[f"5.{letter}"] for letter in "ABD"}
    ben = {name: disguised(source) for name, source in answers.items()}
    class_ = [
        grade(student, mine, "05_decoder")
        for student, mine in (("anna", answers), ("ben", ben), ("cleo", {}))
    ]
    said = "5.A, 5.B, 5.D are much like those of"
    assert flagged(*class_) == [[f"{said} ben"], [f"{said} anna"], []]


def test_what_many_write_is_taken_to_be_natural():
    answers = {f"ex-5-{letter}": ANSWERS[f"5.{letter}"] for letter in "ABD"}
    one = grade("anna", answers, "05_decoder")
    for size, wanted in ((4, 3), (5, 0)):
        group = [Grade(f"s{n}", one.lesson, shapes=one.shapes) for n in range(size)]
        assert [len(said) for said in flagged(*group)] == [wanted] * size


def test_answers_to_different_exercises_are_not_added_up_over_students():
    """Each of two others shares one answer: that is too little for either."""
    whole = {f"ex-5-{letter}": ANSWERS[f"5.{letter}"] for letter in "AD"}
    parts = ({name: source} for name, source in whole.items())
    class_ = [grade(str(n), it, "05_decoder") for n, it in enumerate((whole, *parts))]
    assert flagged(*class_) == [[], [], []]


# --- honest people --------------------------------------------------------------------


@pytest.mark.parametrize("number", ANSWERS)
def test_an_unaided_answer_is_right(number):
    found = answers_of(find(number), ANSWERS[number], solutions(find(number).lesson))
    report = examine(find(number), found)
    assert report.outcome == "passed", str(report)


@pytest.fixture(scope="module")
def comparable():
    """What is public of each answer that is long enough: its name and that."""
    return [
        (name, one)
        for lesson in LESSONS
        for name, one in likeness.published(ROOT, lesson).items()
        if one.course
    ]


def test_where_independent_solutions_agree_nothing_is_compared(comparable):
    silent = {one.exercise for _, one in comparable if not one.tells}
    assert silent == {"1.E", "10.J"}
    assert f"{len(comparable) - 2} answers are compared" in PAGE


def test_how_often_independent_solutions_agree_with_what_is_public(comparable):
    """Each against the course's answer and the other independent ones."""
    near = []
    for _, one in comparable:
        for place, answer in enumerate(one.others):
            rest = one.others[:place] + one.others[place + 1 :]
            near.append(Known("", one.course, rest).like(answer))
    agree = sum(number >= ALIKE for number in near)
    print(f"{agree} of {len(near)}, the nearest {sorted(near)[-6:]}")
    assert f"Of {len(near)} independent solutions {agree} are" in PAGE


def test_how_near_unaided_answers_come(comparable):
    public = {(one.exercise, name): one for name, one in comparable if one.tells}
    near, sizes = {}, Counter()
    for number, source in ANSWERS.items():
        lesson = next(one for one in LESSONS if int(one[:2]) == find(number).lesson)
        answers = {f"ex-{number.replace('.', '-')}": source}
        for name, found in grade("anna", answers, lesson).shapes.items():
            if one := public.get((number, name)):
                near[number, name] = one.like(Counter(found))
                sizes[lesson] += (near[number, name] >= ALIKE) * len(found)
    agree = [key for key, number in near.items() if number >= ALIKE]
    print(agree, sorted(near.values())[-6:], sizes)
    assert f"Of {len(near)} written from the stub alone {len(agree)} are" in PAGE
    assert max(sizes.values()) < ENOUGH


@pytest.mark.parametrize("lesson", LESSONS)
def test_nobody_who_worked_alone_is_flagged(lesson):
    mine = {
        f"ex-{number.replace('.', '-')}": source
        for number, source in ANSWERS.items()
        if find(number).lesson == int(lesson[:2])
    }
    public = likeness.published(ROOT, lesson)
    independent = [
        Grade(
            f"s{place}",
            lesson,
            shapes={
                name: sorted(one.others[place].elements())
                for name, one in public.items()
                if place < len(one.others)
            },
        )
        for place in range(3)
    ]
    told = [grade("unaided", mine, lesson), *independent]
    assert flagged(told[0]) == [[]]
    known = {name: one for name, one in public.items() if one.tells}
    answers = [{n: Counter(s) for n, s in one.shapes.items() if n in known}
               for one in independent]  # fmt: skip
    likeness._against_one_another(independent, answers, known)
    assert [one.suspects for one in independent] == [[], [], []]
