"""Time limits: by an alarm, and by a thread where there is none."""

import functools
import gc
import signal
import sys
import threading
import time

import pytest

from helpers.checks import limit
from helpers.checks.limit import TimeLimit, TimeUp


@pytest.fixture(autouse=True, params=["alarm", "thread"])
def way(request, monkeypatch):
    """How a time limit stops its body: Windows has no SIGALRM."""
    if request.param == "thread":
        monkeypatch.delattr(signal, "SIGALRM", raising=False)
    elif not hasattr(signal, "SIGALRM"):
        pytest.skip("there is no SIGALRM")
    return request.param


def spin(seconds):
    """Work for so long, in a frame of its own.

    CPython 3.12 and 3.13 (issue 130279) leave the jump at the end of a `while` out of
    the `try` or `with` around it: what is raised there ends the whole function.
    """
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        pass


def nothing_left():
    """Nothing rings, no thread watches, and nothing is raised any more."""
    spin(0.05)
    watchers = [one for one in threading.enumerate() if "_watch" in one.name]
    if hasattr(signal, "getitimer"):
        assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)
    return not watchers


def test_a_time_limit_that_ends_while_garbage_is_collected_still_counts(monkeypatch):
    def slow(*_):
        spin(0.2)

    dropped = []
    monkeypatch.setattr(sys, "unraisablehook", dropped.append)
    gc.collect()  # no object of other tests ends within the limit
    gc.callbacks.append(slow)
    try:
        with pytest.raises(TimeUp), TimeLimit(0.1):
            gc.collect()
            spin(5)
    finally:
        gc.callbacks.remove(slow)
    assert not dropped


def test_a_time_limit_that_ends_within_an_import_waits_for_its_end(
    monkeypatch, tmp_path
):
    (tmp_path / "slow_to_import.py").write_text(
        "import time\nend = time.monotonic() + 0.3\n"
        "while time.monotonic() < end:\n    pass\nended = time.monotonic()\n",
        "utf-8",
    )
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(TimeUp), TimeLimit(0.1):
        import slow_to_import  # noqa: F401

        spin(2)
    assert time.monotonic() < sys.modules.pop("slow_to_import").ended + 2


def test_a_time_limit_within_an_import_holds_as_well(monkeypatch, tmp_path):
    (tmp_path / "checks_itself.py").write_text(
        "import time\nfrom helpers.checks.limit import TimeLimit, TimeUp\n"
        "def spin(end):\n    while time.monotonic() < end:\n        pass\n"
        "stopped = False\n"
        "try:\n    with TimeLimit(0.1):\n        spin(time.monotonic() + 2)\n"
        "except TimeUp:\n    stopped = True\n",
        "utf-8",
    )
    monkeypatch.syspath_prepend(tmp_path)
    import checks_itself

    del sys.modules["checks_itself"]
    assert checks_itself.stopped


def test_a_limit_that_is_up_while_it_ends_leaves_nothing_behind():
    def slow(frame, *_):
        if frame.f_code is TimeLimit.__exit__.__code__:
            spin(0.5)

    ending = TimeLimit(0.1)
    ending.__enter__()
    traced = sys.gettrace()
    sys.settrace(slow)
    try:
        ending.__exit__(None, None, None)
    finally:
        sys.settrace(traced)
    assert nothing_left()


def test_a_limit_that_is_up_once_the_body_has_ended_is_not_raised(way, monkeypatch):
    if way == "alarm":
        pytest.skip("an alarm rings between two lines of the body")
    send = limit._raise_in
    monkeypatch.setattr(limit, "_raise_in", lambda to: (time.sleep(0.4), send(to)))
    with TimeLimit(0.1):
        spin(0.3)
    monkeypatch.undo()
    assert nothing_left()


def test_it_is_raised_again_where_it_was_caught():
    caught = []
    with pytest.raises(TimeUp), TimeLimit(0.1):
        try:
            spin(3)
        except:  # noqa: E722
            caught.append(True)
        spin(3)
    assert caught == [True] and nothing_left()


def test_a_debugger_does_not_hang_after_a_limit():
    with pytest.raises(TimeUp), TimeLimit(0.1):
        spin(3)
    traced, seen = sys.gettrace(), []
    sys.settrace(lambda frame, *_: seen.append(frame.f_code.co_name))
    try:
        spin(0.01)
    finally:
        sys.settrace(traced)
    assert "spin" in seen


def test_bodies_that_end_just_as_their_time_is_up_leave_nothing_behind():
    stopped = 0
    for number in range(200):
        each = TimeLimit(0.004)
        try:
            with each:
                spin(0.003 + number % 20 / 10_000)
        except TimeUp:
            stopped += 1
        assert not each.armed
    assert nothing_left() and stopped < 200


def test_what_is_raised_on_the_first_step_of_the_end_ends_the_limit():
    """As Python 3.13 does: here that step is where `by_alarm` is looked up."""
    ended = []

    class Ending:
        by_alarm = property(functools.partial(TimeUp))

        def __exit__(self):
            ended.append(True)

    with pytest.raises(AttributeError):
        TimeLimit.__exit__(Ending())
    assert ended == [True]


def test_a_limit_within_a_limit_leaves_the_outer_one(way):
    if way == "alarm":
        pytest.skip("the alarm of the operating system is one")
    with pytest.raises(TimeUp):
        with TimeLimit(0.6):
            with pytest.raises(TimeUp), TimeLimit(0.1):
                spin(5)
            spin(5)
    assert nothing_left()
