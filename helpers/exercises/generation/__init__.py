"""Lesson 11: greedy, temperature, three filters, beam search, and a text's perplexity.

The models are toys: a table of scores that depends on every token so far. Nothing in a
check downloads or loads a real one.
"""

from helpers.exercises.kit import exercises_in

EXERCISES = exercises_in(__name__, __path__)
