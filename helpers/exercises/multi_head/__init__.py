"""Lesson 03: split and merge heads, multi-head attention, a real checkpoint's heads.

Sizes differ wherever a wrong axis could hide: batch 2, query 5, key 7, 3 heads of 4
features. Where a mistake needs equal sizes to run at all, there is a case for it.
"""

from helpers.exercises.multi_head import (
    by_head,
    fused,
    hunts,
    loading,
    module,
    scores,
    split,
)

_FILES = (split, module, fused, loading, scores, by_head, hunts)
_ALL = (exercise for file in _FILES for exercise in file.EXERCISES)
EXERCISES = tuple(sorted(_ALL, key=lambda exercise: exercise.id))
