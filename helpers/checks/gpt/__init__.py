"""The exercises of lesson 10: a decoder that writes."""

from helpers.checks.exercise import Exercise

EXERCISES: list[Exercise] = []
