"""How long an answer may take, and how one is stopped that takes longer."""

import ctypes
import gc
import signal
import sys
import threading
import time
from collections.abc import Callable
from types import FrameType

IMPORTING = "<frozen importlib._bootstrap>"  # whose frames are those of an import


class TimeUp(BaseException):
    """Raised inside an answer that runs too long.

    Python 3.13 raises what another thread sends one step late: at times on the first
    step of `TimeLimit.__exit__`, before it has done anything. Then it ends here.
    """

    def __init__(self, *args: object) -> None:
        super().__init__(*args)
        frame = sys._getframe(1)  # where it is raised
        if frame.f_code is TimeLimit.__exit__.__code__:
            frame.f_locals["self"].__exit__()


def stopwatch(work: Callable[[], float] = time.thread_time) -> Callable[[], float]:
    """Starts; call it for the seconds of the processor, or a third of the clock's.

    On a busy machine a right answer may wait longer than it works.

    Args:
        work: The clock of the processor: this thread's, or `time.process_time`.
    """
    worked, clock = work(), time.monotonic()
    return lambda: max(work() - worked, (time.monotonic() - clock) / 3)


class TimeLimit:
    """Raises `TimeUp` in the body of a `with` after so many seconds of a `stopwatch`.

    In the main thread an alarm of the operating system does it, where there is one.
    Elsewhere, so on Windows, another thread does: it counts the processor's seconds of
    the whole process, and unlike an alarm it waits for the end of a `time.sleep`.

    Neither can stop one long call into C, nor a bare `except:` inside a loop. Both try
    again every second, and wait for the end of an import and of a garbage collection.
    """

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds

    def __enter__(self) -> None:
        self.armed, self.outside = True, delicate(sys._getframe().f_back)
        main = threading.current_thread() is threading.main_thread()
        self.by_alarm = main and hasattr(signal, "SIGALRM")
        if self.by_alarm:
            self.spent = stopwatch()
            self.before = signal.signal(signal.SIGALRM, self._ring)
            signal.setitimer(signal.ITIMER_REAL, self.seconds, 1.0)
        else:
            self.spent = stopwatch(time.process_time)
            self.thread, self.lock = threading.get_ident(), threading.RLock()
            self.ended = threading.Event()
            threading.Thread(target=self._watch, daemon=True).start()

    def __exit__(self, *_: object) -> None:
        if self.by_alarm:
            self.armed = False
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, self.before)
            return
        while True:
            try:
                with self.lock:
                    self.armed = False
                self.ended.set()
                return
            except TimeUp:  # sent while this waited for the lock: the body has ended
                continue

    def _ring(self, _signal: int, frame: FrameType | None) -> None:
        if not self.armed:
            return
        left = self.seconds - self.spent()
        if left <= 0 and delicate(frame) == self.outside:
            raise TimeUp
        signal.setitimer(signal.ITIMER_REAL, max(left, 0.05), 1.0)

    def _watch(self) -> None:
        left = self.seconds
        while not self.ended.wait(max(left, 0.05)):
            left = self.seconds - self.spent()
            if left > 0:
                continue
            with self.lock:
                there = delicate(sys._current_frames().get(self.thread))
                if self.armed and there == self.outside:
                    _raise_in(self.thread)
                    left = 1.0


def _raise_in(thread: int) -> None:
    """Raise `TimeUp` in a thread as soon as it runs Python.

    Never take it back by sending None: Python 3.11 would go on looking for an error at
    every call, and hang where a debugger traces.
    """
    number, error = ctypes.c_ulong(thread), ctypes.py_object(TimeUp)
    ctypes.pythonapi.PyThreadState_SetAsyncExc(number, error)


def delicate(frame: FrameType | None) -> int:
    """How many frames, from this one outwards, must not be interrupted.

    An import that is cut short leaves half a module behind, which fails for as long as
    the kernel runs; what a callback of the collector raises is lost; and a limit that
    is stopped while it begins or ends would go on.
    """
    places = {getattr(one, "__code__", None) for one in gc.callbacks}
    places |= {TimeLimit.__enter__.__code__, TimeLimit.__exit__.__code__}
    count = 0
    while frame is not None:
        code = frame.f_code
        count += code in places or code.co_filename == IMPORTING
        frame = frame.f_back
    return count
