"""Independent solutions to 8.H."""

from collections import deque

import torch


def by_queue(reads):
    steps, waiting = {0: 0}, deque([0])
    while waiting:
        place = waiting.popleft()
        for reader in range(len(reads)):
            if reads[reader, place] and reader not in steps:
                steps[reader] = steps[place] + 1
                waiting.append(reader)
    return steps[len(reads) - 1]


def by_powers(reads):
    power, steps = torch.eye(len(reads)), 0
    while not power[-1, 0]:
        power, steps = (reads.float() @ power).clamp(max=1), steps + 1
    return steps


def by_relaxing(reads):
    far = [0] + [len(reads)] * (len(reads) - 1)
    for _ in range(len(reads)):
        for reader, read in reads.nonzero().tolist():
            far[reader] = min(far[reader], far[read] + 1)
    return far[-1]


def from_the_end(reads):
    """Backwards: all the places that the last one can have heard it from."""
    sources, steps = {len(reads) - 1}, 0
    while 0 not in sources:
        sources |= {s for t in sources for s in reads[t].nonzero().flatten().tolist()}
        steps += 1
    return steps


VARIANTS = {
    "8.H": (by_queue, by_powers, by_relaxing, from_the_end),
}
