"""The exercises of lesson 08: translation before and after attention."""

from helpers.checks.exercise import Exercise

EXERCISES: list[Exercise] = []
