"""Lesson 09: pieces of words, tasks for pre-training, and fine-tuning a classifier.

What is random is judged by its rates, within 5 sigma. What needs a model is judged on
a BERT of one layer and six features.
"""

from helpers.exercises.bert import (
    head,
    judging,
    loading,
    masking,
    pairs,
    tuning,
    wordpiece,
)

_FILES = (wordpiece, masking, pairs, head, loading, judging, tuning)
_ALL = (exercise for file in _FILES for exercise in file.EXERCISES)


def _place(exercise_id: str) -> tuple[int, str]:
    """9.9 before 9.10, and 9.1 before 9.1b."""
    digits = exercise_id.split(".")[1]
    number = digits.rstrip("abc")
    return int(number), digits[len(number) :]


EXERCISES = tuple(sorted(_ALL, key=lambda exercise: _place(exercise.id)))
