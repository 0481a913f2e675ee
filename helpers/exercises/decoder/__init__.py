"""Lesson 05: decoder layer, decoder, Transformer, greedy decoding, and three bugs.

Source and target have different lengths in most cases, and the same one in some: with
equal lengths wrong layers run that would raise otherwise.
"""

from helpers.exercises.kit import exercises_in

EXERCISES = exercises_in(__name__, __path__)
