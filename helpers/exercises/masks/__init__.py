"""Lesson 06: three masks, a test for leaks, batches, a training step, a schedule.

Masks are compared exactly: shape, boolean type and every entry. A training step is
compared by its loss and by the weights it leaves behind, twice in a row.
"""

from helpers.exercises.masks import (
    ahead,
    batches,
    causal,
    hunts,
    padding,
    schedule,
    step,
    target,
)

_FILES = (padding, ahead, target, hunts, causal, batches, step, schedule)
_ALL = (exercise for file in _FILES for exercise in file.EXERCISES)
EXERCISES = tuple(sorted(_ALL, key=lambda exercise: exercise.id))
