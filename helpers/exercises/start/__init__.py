"""Lesson 00: the first check."""

from helpers.exercises.start import first_check

EXERCISES = first_check.EXERCISES
