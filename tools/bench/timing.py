"""Two pieces of work in turns, after a warm-up: a busy machine slows both alike."""

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass

SHORT = 0.02  # seconds: shorter works are repeated within one run


@dataclass(frozen=True)
class Race:
    """What a piece of work takes our way and the peer's way, and their ratio."""

    work: str
    peer: str
    ours: float  # in `unit`
    theirs: float
    aim: float | None = None  # the ratio should be at most this
    unit: str = "s"  # or "MB"

    @property
    def ratio(self) -> float:
        """Ours divided by the peer's: below 1 we take less."""
        return self.ours / self.theirs

    @property
    def met(self) -> bool | None:
        """Whether the aim is met; None where there is none."""
        return None if self.aim is None else self.ratio <= self.aim


def race(
    work: str,
    ours: Callable[[], object],
    peer: str,
    theirs: Callable[[], object],
    aim: float | None = None,
    rounds: int = 7,
) -> Race:
    """Run two pieces of work in turns and take the medians.

    Args:
        work: what is done
        ours: does it our way
        peer: the name of the other way
        theirs: does it the other way
        aim: the ratio should be at most this
        rounds: how often each runs, after one run to warm up
    """
    repeats = [_repeats(one) for one in (ours, theirs)]
    times: tuple[list[float], list[float]] = [], []
    for number in range(rounds):
        order = (0, 1) if number % 2 else (1, 0)
        for place in order:
            one = (ours, theirs)[place]
            times[place].append(seconds(one, repeats[place]))
    mine, other = map(statistics.median, times)
    return Race(work, peer, mine, other, aim)


def seconds(work: Callable[[], object], repeats: int = 1) -> float:
    """The mean time of repeated work."""
    start = time.perf_counter()
    for _ in range(repeats):
        work()
    return (time.perf_counter() - start) / repeats


def _repeats(work: Callable[[], object]) -> int:
    """Warm up; how often the work fits into the shortest run that can be timed."""
    work()
    return max(1, round(SHORT / max(seconds(work), 1e-6)))
