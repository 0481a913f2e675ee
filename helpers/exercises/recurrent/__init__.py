"""Lesson 07: recurrent networks, from an activation to the LSTM, and what they forget.

Cells are compared by their numbers, on the student's own weights where a class holds
them; loops (an epoch of training, a sample) by what they leave behind.
"""

from helpers.exercises.kit import exercises_in

EXERCISES = exercises_in(__name__, __path__)
