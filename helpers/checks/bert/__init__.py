"""The exercises of lesson 09: a pretrained encoder."""

from helpers.checks.exercise import Exercise

EXERCISES: list[Exercise] = []
