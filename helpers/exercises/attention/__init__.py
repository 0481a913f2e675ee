"""Lesson 02: softmax, scaled dot-product attention, one self-attention head.

Every size is different and most values are small, so that no wrong axis and no
missing scale can hide behind a square shape or a saturated softmax.
"""

from helpers.exercises.kit import exercises_in

EXERCISES = exercises_in(__name__, __path__)
