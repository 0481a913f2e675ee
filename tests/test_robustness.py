"""Bad answers, drawn at random: each ends in a clear outcome.

An answer is put together from three things: what it does on the way (print, warn,
change the world or its input, never end), what it hands back, and what it is itself (a
function, a class, or neither).
"""

import os
import random
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from torch import Tensor, nn
from worlds import world

from helpers.checks import exercises
from helpers.checks.engine import examine
from tools.proofs.kill_matrix import answers_with

# `make deep` draws 2,000, `make test` a fifth of them.
PARTS, EXAMPLES = 8, 250 if "COURSE_DEEP" in os.environ else 50
LIMIT = 0.2  # seconds until an answer is stopped
CHECKABLE = [exercise for exercise in exercises() if exercise.answers]

pytestmark = [
    pytest.mark.slow,
    # The alarm may ring while garbage is collected: Python then drops the exception
    # with a warning, and the alarm rings again.
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


# --- what it does on the way ----------------------------------------------------------


def prints(*_):
    print("hello " * 5000)
    print("to stderr", file=sys.stderr)


def warns(*_):
    warnings.warn("careful", stacklevel=1)
    warnings.simplefilter("error")


def seeds(*_):
    torch.manual_seed(7), np.random.seed(7), random.seed(7)


def changes_defaults(*_):
    torch.set_default_dtype(torch.float16)
    torch.set_grad_enabled(False)
    torch.set_num_threads(torch.get_num_threads() + 1)
    sys.setrecursionlimit(sys.getrecursionlimit() + 7)


def modifies_its_input(*args):
    for arg in args:
        if isinstance(arg, Tensor) and arg.is_floating_point():
            arg.mul_(2).add_(1)


def deletes_its_input(*args):
    for arg in args:
        if isinstance(arg, Tensor):
            arg.resize_(0)


def leaves(*_):
    sys.exit("bye")


def raises(*_):
    raise KeyError("mine")


def recurses(*args):
    return recurses(*args)


def loops(*_):
    while True:
        pass


DEEDS = (
    prints, warns, seeds, changes_defaults, modifies_its_input, deletes_its_input,
    leaves, raises, recurses,
)  # fmt: skip


# --- what it hands back ---------------------------------------------------------------

DTYPES = (
    torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.int64,
    torch.bool, torch.complex64,
)  # fmt: skip
NUMBERS = st.one_of(
    st.integers(), st.floats(), st.just(10**400), st.just(float("nan")), st.booleans()
)


@st.composite
def tensors(draw) -> Tensor:
    """A tensor of any kind, perhaps with NaN or infinities, perhaps a leaf."""
    size = draw(st.lists(st.integers(0, 7), max_size=4))
    value = torch.full(size, draw(st.sampled_from([0.0, 1.0, -3.0, 1e30])))
    if value.numel() and draw(st.booleans()):
        worst = draw(st.sampled_from([float("nan"), float("inf"), -float("inf")]))
        value.view(-1)[0] = worst
    dtype = draw(st.sampled_from(DTYPES))
    with warnings.catch_warnings():  # infinity as an integer
        warnings.simplefilter("ignore")
        value = value.to(dtype)
    if value.is_floating_point() and draw(st.booleans()):
        value.requires_grad_()
    return value


THINGS = st.recursive(
    st.one_of(
        st.none(),
        st.text(max_size=9),
        NUMBERS,
        tensors(),
        tensors().map(
            lambda t: (t.real if t.is_complex() else t).detach().float().numpy()
        ),
        st.just(...),
        st.builds(object),
        st.just(len),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.lists(inner, max_size=3).map(tuple),
        st.dictionaries(st.text(max_size=3), inner, max_size=2),
        st.lists(inner, max_size=2).map(iter),
    ),
    max_leaves=4,
)


def each(change: Callable) -> Callable:
    """The change, on every tensor of a result."""

    def changed(result):
        if isinstance(result, tuple | list):
            return tuple(changed(one) for one in result)
        return change(result) if isinstance(result, Tensor) else result

    return changed


SPOILT = {  # what becomes of a right result
    "half": each(lambda t: t.half()),
    "NaN": each(lambda t: t * float("nan")),
    "infinite": each(lambda t: t.double() / 0),
    "detached": each(lambda t: t.detach()),
    "numpy": each(lambda t: t.detach().numpy()),
    "a list": each(lambda t: t.tolist()),
    "transposed": each(lambda t: t.mT if t.dim() > 1 else t[None]),
    "one axis more": each(lambda t: t[..., None]),
    "a scaled one": each(lambda t: t * 1.01),
    "reversed": each(lambda t: t.flip(-1) if t.dim() else -t),
    "its first part": lambda result: next(iter(result), None),
    "twice": lambda result: (result, result),
    "wrapped": lambda result: [result],
}


# --- what it is -----------------------------------------------------------------------


@dataclass
class Bad:
    """A bad answer: the thing itself, and whether a right one is hidden in it."""

    thing: Any
    told: str
    knows: bool  # its result comes from the reference: it may turn out right

    def __repr__(self) -> str:
        return self.told


@st.composite
def bad_answers(draw, reference) -> Bad:
    """Anything that a student may hand in where `reference` is asked for."""
    if draw(st.integers(0, 9)) == 0 or not callable(reference):
        thing = draw(THINGS)
        return Bad(thing, f"not code but a {type(thing).__name__}", False)
    deed = draw(st.none() | st.sampled_from(DEEDS))
    if draw(st.integers(0, 79)) == 0:
        deed = loops  # rarely: each takes the whole of LIMIT
    name = draw(st.none() | st.sampled_from(sorted(SPOILT)))
    result = draw(THINGS)
    arity = draw(st.sampled_from([None, None, None, 0, 1]))
    told = (
        f"{getattr(deed, '__name__', 'does nothing')}, returns {name or result!r:.50}"
    )

    def answer(right, *args):
        if arity is not None and len(args) != arity:
            raise TypeError("wrong arity")
        if deed:
            deed(*args)
        return SPOILT[name](right(*args)) if name else result

    if not isinstance(reference, type):
        return Bad(lambda *args: answer(reference, *args), told, name is not None)
    kind = draw(st.sampled_from(["derived", "bare", "needs more", "no module"]))
    body = {"forward": lambda self, *args: answer(super(mine, self).forward, *args)}
    if kind == "needs more":
        body["__init__"] = lambda self, one, two, three, four, five, six, seven: None
    base = {"derived": reference, "no module": object}.get(kind, nn.Module)
    if base is not reference:
        body["forward"] = lambda self, *args: answer(lambda *args: args, *args)
    mine = type("Mine", (base,), body)
    return Bad(mine, f"a class ({kind}) that {told}", name is not None)


@pytest.mark.parametrize("part", range(PARTS))
def test_a_bad_answer_drawn_at_random_ends_in_an_outcome(part, capsys):
    seen = {}

    @seed(part)
    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        database=None,
        phases=[Phase.generate],  # shrinking takes minutes: the draw is printed
        suppress_health_check=list(HealthCheck),
    )
    @given(st.data())
    def one(data):
        exercise = data.draw(st.sampled_from(CHECKABLE[part::PARTS]))
        place = data.draw(st.integers(0, len(exercise.answers) - 1))
        bad = data.draw(bad_answers(exercise.references[place]))
        answers = answers_with(exercise, place, bad.thing)
        kept = bad.thing.clone() if isinstance(bad.thing, Tensor) else None
        before, start = world(), time.monotonic()
        report = examine(exercise, answers, limit=LIMIT)
        assert time.monotonic() - start < 20
        assert world() == before
        assert capsys.readouterr() == ("", "")
        if kept is not None:
            assert torch.equal(kept.nan_to_num(), bad.thing.nan_to_num())
        expected = ("not attempted", "raised", "wrong") + ("passed",) * bad.knows
        if exercise.kind != "value":
            assert report.outcome in expected, f"{exercise.id}: {report}"
        text = str(report)
        assert text[:1] in "✓✗○" and len(text) < 3000
        for ours in ("Traceback", "helpers/", " at 0x"):
            assert ours not in text, text
        seen[report.outcome] = seen.get(report.outcome, 0) + 1

    one()
    assert sum(seen.values()) >= EXAMPLES
    enough = EXAMPLES // 12
    assert seen["wrong"] >= enough and seen["raised"] >= enough
