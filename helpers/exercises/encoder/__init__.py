"""Lesson 04: feed-forward, layer norm, encoder layer, encoder; and it is BERT.

Gains and biases of the norms get random numbers before a class is asked: fresh ones
are all 1 and 0, and hide which norm was used where.
"""

from helpers.exercises.encoder import (
    bert,
    depth,
    feed_forward,
    hunts,
    layer,
    norm,
    search,
    stack,
)

_FILES = (feed_forward, norm, layer, stack, hunts, bert, depth, search)
_ALL = (exercise for file in _FILES for exercise in file.EXERCISES)
EXERCISES = tuple(sorted(_ALL, key=lambda exercise: exercise.id))
