"""Lesson 11: greedy, temperature, three filters, beam search, and a text's perplexity.

The models are toys: a table of scores that depends on every token so far. Nothing in a
check downloads or loads a real one.
"""

from helpers.checks.exercise import Exercise
from helpers.exercises.generation import (
    batch,
    beam,
    greedy,
    ngrams,
    perplexity,
    temperature,
    text,
    top_k,
    top_p,
)

_FILES = (greedy, temperature, top_k, top_p, ngrams, beam, text, batch, perplexity)
_ALL = (exercise for file in _FILES for exercise in file.EXERCISES)


def _place(exercise: Exercise) -> tuple[int, str]:
    """11.10 comes after 11.9, and 11.5b after 11.5."""
    number = exercise.id.split(".")[1]
    letters = number.lstrip("0123456789")
    return int(number.removesuffix(letters)), letters


EXERCISES = tuple(sorted(_ALL, key=_place))
