"""Lesson 07: recurrent networks, from an activation to the LSTM, and what they forget.

Cells are compared by their numbers, on the student's own weights where a class holds
them; loops (a pass of training, a sample) by what they leave behind.
"""

import re

from helpers.checks.exercise import Exercise
from helpers.exercises.recurrent import (
    activations,
    alphabet,
    chances,
    epoch,
    gru,
    hunts,
    layer,
    lstm,
    memory,
    sampling,
    step,
    streams,
)

_FILES = (
    activations, alphabet, streams, step, layer, hunts, epoch, chances, sampling, lstm,
    gru, memory,
)  # fmt: skip


def _place(exercise: Exercise) -> tuple[int, str]:
    """Where it stands in the lesson: 7.9, 7.10, 7.10b."""
    number, letter = re.fullmatch(r"\d+\.(\d+)(\w*)", exercise.id).groups()
    return int(number), letter


_ALL = (exercise for file in _FILES for exercise in file.EXERCISES)
EXERCISES = tuple(sorted(_ALL, key=_place))
