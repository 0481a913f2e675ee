"""What is judged through a pipe gets the report that it gets without one.

`make test` tries a sample; `make deep` every exercise with the course's answer, all
independent solutions and all known mistakes.
"""

import os
import re
import socket
import struct
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn
from variants import variants

from helpers.checks import CheckFailed
from helpers.checks.engine import examine, exercises, find
from helpers.checks.plain import Odd
from helpers.models.transformer import TransformerConfig
from tools.build.notebooks import lesson_paths
from tools.grading import answering, judge
from tools.grading.link import Link
from tools.grading.moved import CLOSED, STAYS, moved
from tools.grading.rebuilt import described
from tools.grading.wire import FRAME, Broken, Pipe, pack, unpack

PAGE = Path(__file__).resolve().parents[1] / "docs" / "grading.md"
DEEP = "COURSE_DEEP" in os.environ
SEED = 7
SAMPLE = {"0.A", "0.B", "1.J", "2.B", "2.C", "2.D", "2.E", "4.C", "4.D", "6.E", "9.A"}
VARIANTS = variants()
MOVED = [one for one in exercises() if one.answers and moved(one.id)]


def piped(exercise, answers, seed=SEED, kernel=None):
    """Judge answers that are in another process; `kernel` runs there instead."""
    here, there = socket.socketpair()
    child = os.fork()
    if not child:
        here.close()
        try:
            link = Link(Pipe(there), trusting=True)
            (kernel or answering.ask)(link, exercise.id, answers)
        finally:
            os._exit(0)
    there.close()
    link = Link(Pipe(here), trusting=False)
    try:
        message = link.receive(60)
        for thing in message["things"]:
            thing.pop("borrowed", None)  # here most answers are the course's own
        report = judge.judged(link, exercise, message["things"], seed)
        link.send({"do": "verdict", "outcome": report.outcome, "said": ""})
        return report
    finally:
        here.close()
        os.waitpid(child, 0)


def told(report):
    """What a report says, without lines of the student's own cell."""
    kept = [text for text in report.evidence if not re.match("Your line|In ", text)]
    return report.outcome, report.misconception, report.second, report.note, kept


def says_so(spelling):
    """Whether a wrong class only says what its parts lack; its parts do have it.

    The judge takes no such word from the other side: it looks at the parts themselves.
    """
    own = vars(spelling) if isinstance(spelling, type) else {}
    return any(isinstance(own.get(name), str) for name in own if name[0] != "_")


def answers_to(exercise):
    """Return (name, answers): right ones, independent ones and known mistakes."""
    yield "the course's", exercise.references
    found = VARIANTS.get(exercise.id, ())
    for number, one in enumerate(found if DEEP else found[:1]):
        yield f"solution {number}", one if isinstance(one, tuple) else (one,)
    mistakes = [m for m in exercise.misconceptions if not says_so(m.spellings[0])]
    for one in mistakes if DEEP else mistakes[:3]:
        answers = list(exercise.references)
        answers[one.of] = one.spellings[0]
        yield one.name, tuple(answers)


@pytest.mark.parametrize(
    ("exercise", "answers"),
    [
        pytest.param(one, answers, id=f"{one.id}-{name}",
                     marks=pytest.mark.lesson(str(one.lesson)))
        for one in MOVED
        if DEEP or one.id in SAMPLE
        for name, answers in answers_to(one)
    ],
)  # fmt: skip
def test_a_pipe_changes_no_report(exercise, answers, monkeypatch):
    monkeypatch.setenv("NBGRADER_EXECUTION", "here")  # no line is pointed at
    expected = examine(exercise, answers, seed=SEED)
    assert told(piped(exercise, answers)) == told(expected)


def test_the_list_of_those_that_have_not_moved_is_on_the_page():
    page = PAGE.read_text()
    known = {one.id for one in exercises() if one.answers}
    assert set(STAYS) <= known
    [listed] = re.findall(r"^\| judged in the kernel.*?\n\n", page, re.M | re.S)
    rows = re.findall(r"^\| ([\d., A-Z]+) \| (.+) \|$", listed, re.MULTILINE)
    found = {name: why for names, why in rows for name in names.split(", ")}
    assert found == STAYS


def test_lessons_without_references_need_none():
    sources = {int(path.name[:2]): path.read_text() for path in lesson_paths()}
    for lesson in CLOSED:
        here = [one.id for one in exercises() if one.lesson == lesson and one.answers]
        assert here and not set(here) & set(STAYS)
        assert not re.search(r"\.take\([^,)]*\)", sources[lesson])  # without an answer
        assert "helpers.exercises" not in sources[lesson]


# --- values ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        -3,
        0.1,
        float("inf"),
        "ä\n",
        (1, [2, {"a": (3,)}], {4}, range(5)),
        {(1, 2): "pair"},
        TransformerConfig(5, 7, 4, 2, 8, 1),
        Odd("something"),
        ...,
    ],
)
def test_a_value_comes_back_as_it_was(value):
    found = unpack(pack(value)[8:], None)
    assert type(found) is type(value) and found == value


@pytest.mark.parametrize(
    "dtype", [torch.float32, torch.float64, torch.bfloat16, torch.int64, torch.bool]
)
def test_a_tensor_comes_back_as_it_was(dtype):
    for shape in ((), (0, 3), (2, 3)):
        value = torch.ones(shape).to(dtype)
        found = unpack(pack(value)[8:], None)
        assert found.dtype == dtype and torch.equal(found, value)
    turned = torch.arange(6.0).view(2, 3).T.requires_grad_()
    found = unpack(pack(turned)[8:], None, strides=True)
    assert found.stride() == (1, 3) and found.requires_grad
    assert torch.equal(found, turned)


def test_one_number_of_several_comes_back_as_it_was():
    """Its stride is not 1, and torch calls it contiguous."""
    value = torch.arange(6).view(1, 6)[:, 2]
    assert value.stride() == (6,) and value.is_contiguous()
    assert torch.equal(unpack(pack(value)[8:], None), value)


def test_a_tensor_without_numbers_comes_back_without_numbers():
    value = torch.empty(2, 3, dtype=torch.float16, device="meta")
    found = unpack(pack(value)[8:], None)
    assert (found.device, found.dtype) == (value.device, value.dtype)
    assert found.shape == value.shape


def test_a_module_within_one_in_a_plain_list_is_described_too():
    made = nn.Module()
    made.layers = [nn.Sequential(nn.Linear(2, 2))]
    here, there = socket.socketpair()
    with here, there:
        tree = described(Link(Pipe(here), trusting=True), made, ("layers",))["tree"]
    assert [len(node["children"]) for node in tree] == [0, 1, 0]


def test_an_array_comes_back_as_it_was():
    value = np.arange(6.0).reshape(2, 3)
    found = unpack(pack(value)[8:], None)
    assert found.dtype == value.dtype and np.array_equal(found, value)


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (10**20, "huge int"),
        (torch.ones(1).expand(2**31), "tensor that is too large"),
        (torch.eye(2).to_sparse(), "sparse tensor"),
        (object(), "object"),
        (nn.Linear(2, 2), "torch.Linear, which is a module and not what it makes"),
    ],
)
def test_of_what_can_not_be_sent_its_kind_is(value, kind):
    assert unpack(pack(value)[8:], None) == Odd(kind)


def header(text, rest=b""):
    return struct.pack("<I", len(text)) + text.encode() + rest


@pytest.mark.parametrize(
    "frame",
    [
        b"",
        header("{"),
        header("[" * 99_999),
        header("9" * 5_000),
        header("1" + "0" * 30),
        header('{"t": "nodes"}'),
        header('{"t": "handle", "number": 0}'),
        header('{"t": "tensor", "dtype": "float32", "shape": [1000000000, 1000000000],'
               ' "at": 0, "bytes": 4, "grad": false}', b"1234"),
        header('{"t": "tensor", "dtype": "float32", "shape": [-1], "at": 0, "bytes": 4,'
               ' "grad": false}', b"1234"),
        header('{"t": "array", "dtype": "O", "shape": [1], "at": 0, "bytes": 8}',
               b"12345678"),
        header('{"t": "config", "name": "object", "of": []}'),
        header('{"t": "set", "of": [{"t": "list", "of": []}]}'),
    ],
)  # fmt: skip
def test_a_frame_that_makes_no_sense_is_refused(frame):
    here, there = socket.socketpair()
    with here, there:
        link = Link(Pipe(here), trusting=False)
        there.sendall(struct.pack("<Q", len(frame)) + frame)
        with pytest.raises(Broken):
            link.receive(5)


def test_a_damaged_frame_is_refused_or_read_and_nothing_else():
    whole = pack([1, 2.5, "text", torch.arange(6.0), {"a": (True, None)}])[8:]
    broken = 0
    for place in range(0, len(whole), 2):
        try:
            unpack(whole[:place] + bytes([whole[place] ^ 0x15]) + whole[place + 1 :],
                   None)  # fmt: skip
        except Broken:
            broken += 1
    assert broken > 20


def test_a_frame_may_be_so_long_and_no_longer():
    here, there = socket.socketpair()
    with here, there:
        there.sendall(struct.pack("<Q", FRAME + 1))
        with pytest.raises(Broken, match="too long"):
            Pipe(here).receive(5)


def test_who_says_nothing_is_not_waited_for():
    here, there = socket.socketpair()
    with here, there, pytest.raises(Broken, match="in time"):
        Pipe(here).receive(0.05)


# --- a kernel that lies ---------------------------------------------------------------


def sends(*messages):
    """A kernel that presents a function, and then says what it likes."""

    def kernel(link, name, answers):
        things = [{"kind": "function", "name": "f", "blank": None, "number": 0}]
        link.send({"do": "check", "exercise": name, "things": things})
        for message in messages:
            link.receive(20)
            link.send(message)

    return kernel


@pytest.mark.parametrize(
    "message",
    [
        {"do": "verdict", "outcome": "passed"},
        {"do": "gave", "result": "right"},
        {"do": "gave", "result": torch.zeros(3, 4), "states": 7},
        {"do": "call", "number": 0, "method": "__class__", "args": [], "options": {}},
        {"do": "call", "number": 5, "method": "", "args": [], "options": {}},
        {"do": "back", "graph": 0, "slopes": []},
        {"do": "raised", "name": "passed", "base": "BaseException", "text": "x"},
        {"passed": True},
    ],
)
def test_a_kernel_that_breaks_the_rules_does_not_pass(message):
    exercise = find("2.B")
    try:
        report = piped(exercise, (), kernel=sends(*[message] * 20))
    except Broken:
        return
    assert report.outcome in ("raised", "wrong"), report


def test_a_class_that_overrides_what_it_returns_is_asked_for_its_numbers():
    class Same(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return True

    def answer(x, dim=-1):
        return torch.zeros_like(x).as_subclass(Same)

    assert piped(find("2.A"), (answer,)).outcome == "wrong"


def test_another_number_of_answers_is_said():
    exercise = find("2.A")
    with pytest.raises(CheckFailed, match=r'checked with check\("2.A", softmax\)'):
        piped(exercise, (len, len))


def test_a_loop_without_end_is_stopped_and_the_next_check_runs(monkeypatch):
    from tools.grading import link

    monkeypatch.setattr(link, "LIMIT", 0.5)

    def answer(x, dim=-1):
        while True:
            pass

    report = piped(find("2.A"), (answer,))
    assert report.outcome == "raised"
    assert "still running" in str(report)
