"""Lesson 01: look-up, similarity of words, and where a word stands.

Tables are never square except where a case means it, rows differ in length, and
positions start early enough that float32 can't blur a wrong frequency.
"""

from helpers.exercises.embeddings import (
    bug,
    encoding,
    inputs,
    lookup,
    rotation,
    similar,
)

_FILES = (lookup, similar, encoding, inputs, bug, rotation)
_ALL = (exercise for file in _FILES for exercise in file.EXERCISES)
EXERCISES = tuple(sorted(_ALL, key=lambda exercise: exercise.id))
