"""Lesson 05: decoder layer, decoder, Transformer, greedy decoding, and three bugs.

Source and target differ in length in most cases. In some they do not, because wrong
layers that would raise otherwise run where the lengths are equal.
"""

from helpers.exercises.kit import exercises_in

EXERCISES = exercises_in(__name__, __path__)
