"""Lesson 10: a GPT block, GPT, its loss, byte pairs, a cache, GPT-2's weights, heads.

Parts of a model get numbers of our own, norms included, before they are compared:
fresh ones hide which was used where.
"""

from helpers.exercises.gpt import block, cache, heads, loading, loss, model, pairs

_FILES = (block, model, loss, pairs, cache, loading, heads)
EXERCISES = tuple(exercise for file in _FILES for exercise in file.EXERCISES)
