"""Lesson 10: a GPT block, GPT, its loss, byte pairs, a cache, GPT-2's weights, heads.

Parts of a model get numbers of our own, norms included, before they are compared:
initial ones would hide which part was used where.
"""

from helpers.exercises.kit import exercises_in

EXERCISES = exercises_in(__name__, __path__)
