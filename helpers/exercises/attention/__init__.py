"""Lesson 02: softmax, scaled dot-product attention, one self-attention head.

Every size is different and most values are small, so that no wrong axis and no
missing scale can hide behind a square shape or a saturated softmax.
"""

from helpers.exercises.attention import fetch, hunts, module, scaled, softmax

_FILES = (softmax, scaled, module, hunts, fetch)
_ALL = (exercise for file in _FILES for exercise in file.EXERCISES)
EXERCISES = tuple(sorted(_ALL, key=lambda exercise: exercise.id))
