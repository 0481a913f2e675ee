"""Lesson 12: RMS norm, rotary positions, SwiGLU, shared keys, the whole decoder.

Parts of a model get numbers of our own, norms included, before they are compared:
initial ones would hide which part was used where.
"""

from helpers.exercises.kit import exercises_in

EXERCISES = exercises_in(__name__, __path__)
