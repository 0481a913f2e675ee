"""What is heard of a kernel, which may send anything, or nothing, or break off midway.

A student's code shares a process with the kernel's sockets. So a message that is none
is dropped and counted, nobody waits longer than they said, and nothing is sent to a
kernel that has stopped reading.
"""

import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from queue import Empty
from typing import Any

from jupyter_client.asynchronous import AsyncKernelClient
from jupyter_client.channels import AsyncZMQSocketChannel
from traitlets import Type

SENDING = 5.0  # seconds until a kernel that takes no message is given up
AGAIN = 5.0  # seconds until an alarm that was caught rings once more
ERROR = {"ename": str, "evalue": str, "traceback": list}
# Of each kind that is read: what it has to hold.
PARTS: dict[str, dict[str, type]] = {
    "stream": {"name": str, "text": str},
    "display_data": {"data": dict, "metadata": dict},
    "execute_result": {"data": dict, "metadata": dict, "execution_count": int},
    "error": ERROR,
    "status": {"execution_state": str},
    "execute_reply": {"status": str},
}


def sound(message: dict[str, Any]) -> bool:
    """Whether a message has the parts that those who read it rely on.

    Args:
        message: What came, signed and unpacked.
    """
    kind, content = message["msg_type"], message["content"]
    if not isinstance(content, dict) or not isinstance(message["parent_header"], dict):
        return False
    if not isinstance(kind, str) or not _int_or_none(content.get("execution_count")):
        return False
    parts = PARTS.get(kind, {})
    if kind == "execute_reply" and content.get("status") == "error":
        parts = ERROR
    lines = content.get("traceback", []) if parts is ERROR else []
    return all(
        isinstance(content.get(name), known) for name, known in parts.items()
    ) and all(isinstance(line, str) for line in lines)


def _int_or_none(value: object) -> bool:
    return value is None or type(value) is int


class Channel(AsyncZMQSocketChannel):
    """One on which only messages come in, and none after the time is over."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.socket.sndtimeo = int(1000 * SENDING)
        self.odd = 0  # what came and was no message

    async def get_msg(self, timeout: float | None = None) -> dict[str, Any]:
        """The next message that is one.

        Args:
            timeout: Seconds; None to wait without an end.

        Raises:
            Empty: None came in time.
        """
        end = None if timeout is None else time.monotonic() + timeout
        while True:
            left = None if end is None else end - time.monotonic()
            if left is not None and left <= 0:
                raise Empty
            try:
                message = await super().get_msg(left)
                if sound(message):
                    return message
            except Empty:
                raise
            except Exception:  # whatever the bytes were, they were no message
                if self.socket is None or self.socket.closed:
                    raise
            self.odd += 1


class Client(AsyncKernelClient):
    """Without a heartbeat: it may wait for ever, and nobody asks for it here."""

    shell_channel_class = Type(Channel)
    iopub_channel_class = Type(Channel)

    def start_channels(self, *args: bool, **options: bool) -> None:
        """Start all others."""
        super().start_channels(*args, **(options | {"hb": False}))

    @property
    def odd(self) -> int:
        """How much came that was no message."""
        return self.shell_channel.odd + self.iopub_channel.odd


class TimeIsUp(KeyboardInterrupt):
    """Like Ctrl-C: an event loop lets no other exception of a signal through."""


@contextmanager
def at_most(seconds: float) -> Iterator[None]:
    """End a block of the main thread, whatever it waits for.

    Args:
        seconds: Until it ends.

    Raises:
        TimeIsUp: It had to be ended.
    """

    def ring(*_: object) -> None:
        raise TimeIsUp

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds, AGAIN)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
