"""Lesson 08: a context vector, a decoder, additive attention, and what they buy.

Classes are compared on the student's own weights; what an encoder leaves at padding is
not looked at, and a mask may have any shape that broadcasts to the scores.
"""

from helpers.exercises.kit import exercises_in

EXERCISES = exercises_in(__name__, __path__)
