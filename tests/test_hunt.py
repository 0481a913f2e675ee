"""The hunt: small changes to a solution, and a check that lets some of them pass."""

from dataclasses import replace

import pytest

from helpers.checks import exercises
from tools.proofs import hunt
from tools.proofs.mutants import mutants

SOURCE = '''
def scaled(x, y, *, size=4):
    """Not changed."""
    if size > 2:
        x = x / size
    return (x + y)[1:].sum(-1, keepdim=True)
'''


def changed(source, line):
    return {mutant.after for mutant in mutants(source, {line})}


def test_each_kind_of_change_is_made():
    assert {"if size >= 2:", "if size < 2:", "if size > 3:"} <= changed(SOURCE, 4)
    assert {"if True:", "if False:"} <= changed(SOURCE, 4)
    assert {"x = x * size", "x = size / x", "pass", "x = y / size"} <= changed(
        SOURCE, 5
    )
    assert {
        "return (x - y)[1:].sum(-1, keepdim=True)",
        "return (x + y)[2:].sum(-1, keepdim=True)",
        "return (x + y)[:].sum(-1, keepdim=True)",
        "return (x + y)[1:].sum(-2, keepdim=True)",
        "return (x + y)[1:].sum(1, keepdim=True)",
        "return (x + y)[1:].sum(-1, keepdim=False)",
        "return (x + y)[1:].sum(-1)",
        "return (x + y)[1:]",
        "return x[1:].sum(-1, keepdim=True)",
    } <= changed(SOURCE, 6)


def test_arguments_are_swapped_unless_that_changes_nothing():
    assert changed("a = f(x, y)", 1) == {"a = f(y, x)", "pass"}
    assert changed("a = x.transpose(p, q)", 1) == {"a = x", "pass"}


def test_other_lines_and_docstrings_stay():
    for mutant in mutants(SOURCE, {3, 5}):
        assert "Not changed." in mutant.source and "size > 2" in mutant.source
        assert "sum(-1, keepdim=True)" in mutant.source and mutant.line == 5
    every = [mutant.source for mutant in mutants(SOURCE, range(9))]
    assert len(every) == len(set(every)) > 20


def by_id(number):
    return next(one for one in exercises() if one.id == number)


def test_only_the_lines_of_the_solution_are_hunted():
    source, lines = hunt.solution_cell(by_id("2.B"))
    lines_of_it = source.splitlines()
    inside = [lines_of_it[number - 1] for number in sorted(lines)]
    assert any("softmax" in line for line in inside)
    assert not any(line.startswith("def ") or '"""' in line for line in inside)
    assert not any("SOLUTION" in line for line in lines_of_it)


def test_a_whole_check_lets_nothing_pass_and_one_with_a_hole_does():
    exercise = by_id("2.B")
    assert not hunt.hunt(exercise).survivors
    unmasked = replace(exercise, cases=lambda seed: exercise.cases(seed)[:3])
    left = hunt.hunt(unmasked).survivors
    assert left and all("mask" in str(one.mutant) for one in left)


def test_a_survivor_that_differs_elsewhere_is_reported():
    exercise = by_id("2.A")  # without large numbers nothing overflows
    small = replace(exercise, cases=lambda seed: exercise.cases(seed)[:1])
    assert any(one.differs for one in hunt.hunt(small).survivors)


@pytest.mark.parametrize("number", sorted(hunt.reasons()))
def test_a_reason_belongs_to_a_mutant_of_today(number):
    cell, lines = hunt.solution_cell(by_id(number))
    possible = {str(mutant) for mutant in mutants(cell, lines)}
    assert set(hunt.reasons()[number]) <= possible


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        (["2.99"], "There is no exercise '2.99': lesson 2 has 2.A, "),
        (["2.B", "2.K"], "No code is asked for in 2.K: nothing to hunt there."),
    ],
)
def test_what_can_not_be_hunted_is_one_clear_sentence(asked, sentence, capsys):
    assert hunt.main(asked) == 2
    said = capsys.readouterr()
    assert (
        said.out == "" and said.err.startswith(sentence) and said.err.count("\n") == 1
    )
