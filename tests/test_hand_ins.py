"""Generated hand-ins: how they answer, what they are worth, and what is compared."""

import random

import nbformat
import pytest

from helpers.checks.engine import exercises, find
from tools.proofs import hand_ins

LESSON = "02_attention"


@pytest.fixture(autouse=True)
def few(monkeypatch):
    """Fewer mutants than are handed in elsewhere."""
    monkeypatch.setattr(hand_ins, "TRIED", 6)


@pytest.fixture
def always(monkeypatch):
    """Makes every exercise be answered in one way."""

    def answer(way):
        monkeypatch.setattr(hand_ins, "SHARES", {way: 1})
        return hand_ins.hand_in(LESSON, random.Random(0))

    return answer


def total(notebook):
    return sum(hand_ins.worth(notebook, seed=3).values())


def test_right_answers_get_all_points(always):
    notebook, ways = always("right")
    most = {one.id: one.points for one in exercises() if one.id in ways}
    assert len(most) >= 5 and all(most.values())
    assert hand_ins.worth(notebook, seed=3) == most


@pytest.mark.slow
@pytest.mark.parametrize("way", ["mistake", "untouched"])
def test_wrong_and_missing_answers_get_none(always, way):
    notebook, ways = always(way)
    assert set(ways.values()) == {way} and total(notebook) == 0
    given = nbformat.read(hand_ins.ROOT / "notebooks" / f"{LESSON}.ipynb", 4)
    stubs = {cell.id: cell.source for cell in given.cells}
    changed = [c.id for c in notebook.cells if c.source != stubs[c.id]]
    assert len(changed) == (len(ways) if way == "mistake" else 0)


@pytest.mark.parametrize("number", ["2.A", "2.C", "2.E"])
def test_what_breaks_after_the_answer_costs_nothing(always, number):
    notebook, _ = always("right")
    name = f"ex-{number.replace('.', '-')}"
    answer = next(cell for cell in notebook.cells if cell.id == name)
    found = []
    for source in hand_ins._crashes(find(number), answer.source):
        answer.source = source
        found.append(hand_ins.worth(notebook, seed=3)[number])
    assert found == [0, 0, find(number).points, 0]


@pytest.mark.parametrize("number", ["2.B", "2.G"])
def test_mistakes_are_wrong_and_those_with_a_name_come_first(number):
    found = hand_ins.mistakes(number)
    reports = [hand_ins._report(find(number), source) for source in found]
    assert reports and {one.outcome for one in reports} <= {"wrong", "raised"}
    named = [one.misconception is not None for one in reports]
    assert named == sorted(named, reverse=True)


@pytest.mark.slow
def test_the_same_seed_hands_in_the_same(tmp_path, monkeypatch):
    def texts(folder, seed, count):
        hand_ins.generate(folder, count, [LESSON], seed)
        return {p.parent.name: p.read_text() for p in folder.rglob("*.ipynb")}

    one, other = (texts(tmp_path / n, 1, 2) for n in "ab")
    assert len(one) == 2 and one == other != texts(tmp_path / "c", 2, 2)
    monkeypatch.setattr(hand_ins, "worth", lambda *_: pytest.fail("known already"))
    assert texts(tmp_path / "a", 1, 2) == one  # goes on where it stopped


def test_other_points_are_told(tmp_path):
    table = tmp_path / "grades.csv"
    rows = "student,lesson,ex 0.A,ex 0.B\na,00,1,2\nb,00,1,\nd,00,0,2\n"
    table.write_text(rows, hand_ins.ENCODING)
    one = {"ways": {"0.A": "right", "0.B": "crash"}, "points": {"0.A": 1, "0.B": 2}}
    wanted = dict.fromkeys("abcd", one)
    assert list(hand_ins.differences(wanted, hand_ins.graded(table))) == [
        "b, 0.B (crash): 2 by its check, not None",
        "c, 0.A (right): 1 by its check, not None",
        "c, 0.B (crash): 2 by its check, not None",
        "d, 0.A (right): 1 by its check, not 0.0",
    ]
