"""The exercises of lesson 11: choosing the next word."""

from helpers.checks.exercise import Exercise

EXERCISES: list[Exercise] = []
