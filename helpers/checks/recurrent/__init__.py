"""The exercises of lesson 07: recurrent networks."""

from helpers.checks.exercise import Exercise

EXERCISES: list[Exercise] = []
