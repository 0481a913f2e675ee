"""Runs of wrong answers, remembered: many tests ask for the same ones.

A check puts every known mistake to the cases of an answer that is wrong, so the tests
of an exercise with n mistakes run each of them n times. What a run does depends on the
answer, on the case and, for a class, on the module whose weights it takes over.

The runs of one exercise are remembered at a time: those of all would fill gigabytes.
"""

import io
import pickle
from functools import cache

from torch import Tensor

from helpers.checks import engine, observe, recognise
from helpers.checks.limit import TimeUp
from helpers.checks.observe import Run

_runs: dict[tuple, tuple] = {}
_lost: dict[int, tuple] = {}
_failures: dict[tuple, tuple] = {}
_written: dict[tuple, tuple] = {}
_of: list[str] = []  # the exercise that all these runs are of
_run_case = observe.run_case
_failure, _exchanged = recognise.failure, recognise._exchanged


@cache
def cases_of(exercise_id: str, seed: int) -> list:
    """The cases of an exercise, the same objects each time."""
    return observe.cases_of(engine.find(exercise_id), seed)


def run_case(thing, answer, case, limit=60.0, donor=None, seed=0) -> Run:
    """`observe.run_case`, or what it gave before."""
    weights = weights_of(donor, answer.parts)
    if weights is None:
        return _run_case(thing, answer, case, limit, donor, seed)
    key = (id(thing), id(case), weights, seed)
    if key not in _runs:
        run = _run_case(thing, answer, case, limit, donor, seed)
        if isinstance(run.raised, TimeUp):
            return run
        _runs[key] = run, thing, case  # kept alive: their ids stay their own
    return _runs[key][0]


def lost_in_float32(answer, case) -> dict[str, float]:
    """`observe.lost_in_float32`, asked once for each case."""
    if id(case) not in _lost:
        _lost[id(case)] = observe.lost_in_float32(answer, case), case
    return _lost[id(case)][0]


def weights_of(donor, parts) -> bytes | None:
    """`_weights`, asked once for each donor: no run changes what it takes from."""
    key = id(donor), parts
    if key not in _written:
        _written[key] = _weights(donor, parts), donor
    return _written[key][0]


class _Weights(pickle.Pickler):
    """Writes equal tensors as equal bytes, which torch does not."""

    def reducer_override(self, thing):
        if not isinstance(thing, Tensor):
            return NotImplemented
        values = thing.detach().cpu().numpy().tobytes()
        return tuple, ([str(thing.dtype), tuple(thing.shape), values],)


def _weights(donor, parts) -> bytes | None:
    """Everything that an answer may take over; None if that can't be compared."""
    if donor is None:
        return b""
    written = io.BytesIO()
    try:
        _Weights(written).dump([getattr(donor, part, None) for part in parts])
    except (pickle.PicklingError, AttributeError, TypeError):  # a local class
        return None
    return written.getvalue()


def failure(thing, answer, case, donor) -> tuple:
    """`recognise.failure`, or what it gave before; what it watches really runs."""
    weights = weights_of(donor, answer.parts)
    key = (id(thing), id(case), weights)
    if weights is None or key not in _failures:
        mine, recognise.run_case = recognise.run_case, _run_case
        try:
            _failures[key] = _failure(thing, answer, case, donor), thing, case
        finally:
            recognise.run_case = mine
    return _failures[key][0]


@cache
def exchanged(base, names, steps):
    """`recognise._exchanged`, the same object each time."""
    return _exchanged(base, dict(zip(names, steps, strict=True)))


def _pair_of(base, steps):
    try:
        return exchanged(base, tuple(steps), tuple(steps.values()))
    except TypeError:  # a step that has no hash
        return _exchanged(base, steps)


def forget(exercise_id: str = "") -> None:
    """Drop all runs, but for those of one exercise."""
    if _of != [exercise_id]:
        for remembered in (_runs, _lost, _failures, _written):
            remembered.clear()
        cases_of.cache_clear()
        exchanged.cache_clear()
    _of[:] = [exercise_id]


def remember(patch, exercise_id: str = "") -> None:
    """Make the engine ask here, as long as a monkeypatch lasts.

    Args:
        patch: puts the engine's own functions back
        exercise_id: the exercise that is tested: runs of another one are dropped
    """
    forget(exercise_id)
    patch.setattr(recognise, "failure", failure)
    patch.setattr(recognise, "_exchanged", _pair_of)
    patch.setattr(engine, "lost_in_float32", lost_in_float32)
    patch.setattr(observe, "run_case", run_case)
    patch.setattr(engine, "run_case", run_case)
    patch.setattr(recognise, "run_case", run_case)
    patch.setattr(engine, "cases_of", lambda one, seed: cases_of(one.id, seed))
