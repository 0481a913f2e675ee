"""Whatever a kernel sends, or does not, the grader goes on in time."""

import asyncio
import threading
import time
from contextlib import contextmanager, suppress
from queue import Empty

import pytest
import zmq
import zmq.asyncio
from jupyter_client.session import Session

from tools.grading import messages
from tools.grading.messages import Channel, Client, TimeIsUp, at_most

GENEROUS = 20.0  # seconds that a busy machine may take for less than one
GOOD = ("stream", {"name": "stdout", "text": "a"})
ERROR = {"ename": "E", "evalue": "", "traceback": []}
ODD = [
    ("error", {}),
    ("error", ERROR | {"traceback": [3]}),
    ("stream", {"name": ["stdout"], "text": {"a": 1}}),
    ("stream", "[]"),
    ("display_data", {"data": ["a"], "metadata": {}}),
    ("execute_result", {"data": {}, "metadata": {}, "execution_count": "1"}),
    ("execute_input", {"execution_count": [1]}),
    ("status", {}),
    ("execute_reply", {}),
    ("execute_reply", {"status": "error"}),
    (["stream"], GOOD[1]),
    (None, {}),
]
GARBAGE = [[b"\x00garbage"], [b"<IDS|MSG>"], [b"<IDS|MSG>", b"a", b"{", b"", b"", b""]]


@pytest.fixture
def ends():
    """What a kernel sends with, its session, and where that is heard."""
    context, session = zmq.asyncio.Context(), Session(key=b"a")
    theirs = zmq.Context.shadow(context).socket(zmq.PAIR)
    theirs.bind("inproc://kernel")
    ours = context.socket(zmq.PAIR)
    channel = Channel(ours, Session(key=b"a"))
    ours.connect("inproc://kernel")
    yield theirs, session, channel
    theirs.close(linger=0)
    channel.close()
    context.term()


@contextmanager
def in_time():
    """Fail where something goes on for ever."""
    try:
        with at_most(GENEROUS):
            yield
    except TimeIsUp:
        pytest.fail("it does not end")


def heard(channel, seconds):
    """Return what comes in some seconds."""
    with in_time():
        return asyncio.run(channel.get_msg(seconds))


@contextmanager
def flood(socket):
    """Send garbage without end."""
    over = threading.Event()

    def run():
        while not over.is_set():
            with suppress(zmq.Again):  # more than is read
                socket.send(b"garbage", zmq.NOBLOCK)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


@pytest.mark.parametrize(("kind", "content"), ODD)
def test_a_message_that_lacks_something_is_dropped(ends, kind, content):
    theirs, session, channel = ends
    session.send(theirs, kind, content)
    session.send(theirs, *GOOD)
    assert heard(channel, GENEROUS)["content"] == GOOD[1]
    assert channel.odd == 1


@pytest.mark.parametrize("frames", GARBAGE)
def test_garbage_is_dropped(ends, frames):
    theirs, session, channel = ends
    theirs.send_multipart(frames)
    session.send(theirs, *GOOD)
    assert heard(channel, GENEROUS)["content"] == GOOD[1]
    assert channel.odd == 1


def test_what_honest_kernels_send_is_heard(ends):
    theirs, session, channel = ends
    data = {"data": {"text/plain": "1"}, "metadata": {}}
    for kind, content in [
        GOOD,
        ("error", ERROR),
        ("display_data", data | {"transient": {}}),
        ("execute_result", data | {"execution_count": 1}),
        ("status", {"execution_state": "idle"}),
        ("execute_reply", {"status": "ok", "execution_count": 1}),
        ("execute_reply", {"status": "error", **ERROR}),
        ("execute_reply", {"status": "aborted"}),
        ("clear_output", {"wait": True}),
    ]:
        session.send(theirs, kind, content)
        assert heard(channel, GENEROUS)["content"] == content
    assert channel.odd == 0


def test_a_flood_of_garbage_ends_in_time(ends):
    theirs, _, channel = ends
    start = time.monotonic()
    with flood(theirs), pytest.raises(Empty):
        heard(channel, 0.3)
    assert channel.odd and time.monotonic() - start < GENEROUS


def test_a_flood_of_messages_ends_where_the_time_is_over(ends):
    theirs, session, channel = ends
    session.send(theirs, *GOOD)
    with pytest.raises(Empty):
        heard(channel, 0)


def test_others_get_their_turn_in_a_flood(ends):
    theirs, session, channel = ends
    for _ in range(500):
        theirs.send(b"garbage")
    session.send(theirs, *GOOD)
    turns = []

    async def other():
        while True:
            turns.append(channel.odd)
            await asyncio.sleep(0)

    async def both():
        beside = asyncio.create_task(other())
        await channel.get_msg(GENEROUS)
        beside.cancel()

    with in_time():
        asyncio.run(both())
    assert set(turns) >= set(range(500))


def test_a_kernel_that_reads_nothing_is_given_up(monkeypatch):
    monkeypatch.setattr(messages, "SENDING", 0.2)
    context = zmq.asyncio.Context()
    channel = Channel(context.socket(zmq.DEALER), Session(key=b"a"))
    with in_time(), pytest.raises(zmq.Again):
        channel.send(channel.session.msg("execute_request", {}))
    channel.close()
    context.term()


def test_there_is_no_heartbeat_to_wait_for(tmp_path):
    client = Client(transport="ipc", ip=str(tmp_path / "ipc"))
    client.start_channels()
    assert client.shell_channel.is_alive() and not client.hb_channel.is_alive()
    assert client.odd == 0
    with in_time():
        client.stop_channels()


def test_whatever_is_waited_for_ends():
    with pytest.raises(TimeIsUp), at_most(0.2):
        threading.Event().wait(GENEROUS)


def test_an_alarm_that_is_caught_rings_again(monkeypatch):
    monkeypatch.setattr(messages, "AGAIN", 0.2)
    with pytest.raises(TimeIsUp), at_most(0.2):
        try:
            threading.Event().wait(GENEROUS)
        except TimeIsUp:
            threading.Event().wait(GENEROUS)


def test_no_alarm_rings_later():
    with at_most(0.2):
        pass
    time.sleep(0.4)
