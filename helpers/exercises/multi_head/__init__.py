"""Lesson 03: split and merge heads, multi-head attention, a real checkpoint's heads.

Sizes differ wherever a wrong axis could hide: batch 2, query 5, key 7, 3 heads of 4
features. Where a mistake needs equal sizes to run at all, there is a case for it.
"""

from helpers.exercises.kit import exercises_in

EXERCISES = exercises_in(__name__, __path__)
