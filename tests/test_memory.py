"""Remembered runs are the runs that the engine would have made."""

import copy

import memory
import pytest
import torch
from torch import nn

from helpers.checks import observe
from helpers.checks.engine import find
from tools.proofs.kill_matrix import tried


@pytest.mark.parametrize("exercise", ["2.A", "2.C"])
def test_a_report_is_the_same_with_and_without_memory(exercise, monkeypatch):
    exercise = find(exercise)
    known = exercise.misconceptions[:3]
    plain = [tried(exercise, one, 0, 1).report for one in known]
    memory.remember(monkeypatch)
    asked = []
    monkeypatch.setattr(memory, "_run_case", counting(memory._run_case, asked))
    assert [tried(exercise, one, 0, 1).report for one in known] == plain
    first = len(asked)
    assert [tried(exercise, one, 0, 1).report for one in known] == plain
    assert first > 0 and len(asked) == first


def counting(run_case, asked):
    def counted(thing, *args, **more):
        asked.append(thing)
        return run_case(thing, *args, **more)

    return counted


def test_other_weights_and_other_settings_are_other_runs():
    exercise = find("2.C")
    [answer] = exercise.answers
    [case, *_] = [one for one in memory.cases_of("2.C", 0) if one.init]
    donor = observe.run_case(answer.reference, answer, case).module
    other = copy.deepcopy(donor)
    run = memory.run_case(answer.reference, answer, case, donor=donor)
    assert memory.run_case(answer.reference, answer, case, donor=other) is run
    other = copy.deepcopy(donor)
    with torch.no_grad():
        next(getattr(other, answer.parts[0]).parameters()).add_(1.0)
    before = memory._weights(other, answer.parts)
    assert memory.run_case(answer.reference, answer, case, donor=other) is not run
    assert memory._weights(other, answer.parts) == before  # so it is asked for once


def test_the_runs_of_one_exercise_are_remembered_at_a_time(monkeypatch):
    exercise = find("2.A")
    with monkeypatch.context() as patch:
        memory.remember(patch, "2.A")
        tried(exercise, exercise.misconceptions[0], 0, 1)
    held, cases = len(memory._runs), memory.cases_of("2.A", 1)
    assert held > 0
    memory.forget("2.A")
    assert len(memory._runs) == held and memory.cases_of("2.A", 1) is cases
    memory.forget("2.B")
    assert not memory._runs and memory.cases_of("2.A", 1) is not cases


def test_what_cannot_be_compared_is_run_again():
    class Local(nn.Module):
        pass

    donor = nn.Module()
    donor.part = Local()
    assert memory._weights(donor, ("part",)) is None
    assert memory._weights(nn.Module(), ("part",)) == memory._weights(
        nn.Module(), ("part",)
    )
