"""Lesson 00: the first check."""

from helpers.exercises.kit import exercises_in

EXERCISES = exercises_in(__name__, __path__)
