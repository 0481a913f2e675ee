"""Lesson 09: pieces of words, tasks for pre-training, and fine-tuning a classifier.

What is random is judged by its rates, within 5 sigma. What needs a model is judged on
a BERT of one layer and six features.
"""

from helpers.exercises.kit import exercises_in

EXERCISES = exercises_in(__name__, __path__)
