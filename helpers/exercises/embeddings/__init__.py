"""Lesson 01: look-up, similarity of words, and where a word stands.

Tables are never square except where a case means it, rows differ in length, and
positions start early enough that float32 can't blur a wrong frequency.
"""

from helpers.exercises.kit import exercises_in

EXERCISES = exercises_in(__name__, __path__)
