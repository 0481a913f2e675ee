"""Lesson 05: decoder layer, decoder, Transformer, greedy decoding, and three bugs.

Source and target have different lengths in most cases, and the same one in some: with
equal lengths wrong layers run that would raise otherwise.
"""

from helpers.exercises.decoder import greedy, hunts, layer, model, stack

_FILES = (layer, stack, model, greedy, hunts)
_ALL = (exercise for file in _FILES for exercise in file.EXERCISES)
EXERCISES = tuple(sorted(_ALL, key=lambda exercise: exercise.id))
