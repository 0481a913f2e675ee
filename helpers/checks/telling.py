"""Numbers by which two computations are told apart."""

from typing import Any

import numpy as np

HUGE = 1e8  # -1e9, -inf and the like stand for "blocked"
WITHIN = 1e-9  # relative: how far two computations of a number may be apart


def exactness(dtype: Any) -> float:
    """How far two computations of a number may be apart in a dtype of NumPy."""
    return max(WITHIN, 64 * float(np.finfo(dtype).eps))


def telling(numbers: np.ndarray, exact: float = WITHIN) -> np.ndarray:
    """The numbers that tell something: not 0, 1, 0.5 or -inf, each of them once.

    Nor what lies so near to 0 or 1 that it is one of these, but for rounding.
    """
    numbers = numbers[np.isfinite(numbers) & (np.abs(numbers) < HUGE)]
    apart = np.abs(numbers - plain(numbers))
    return np.unique(numbers[apart > exact * np.maximum(np.abs(numbers), 1)])


def plain(numbers: np.ndarray) -> np.ndarray:
    """The quarters that lie nearest: what numbers are that tell nothing."""
    with np.errstate(all="ignore"):  # four times the largest is inf
        return np.round(numbers * 4) / 4 + 0.0  # without a zero below zero


def among(numbers: np.ndarray, known: np.ndarray, exact: float) -> bool:
    """Whether all these numbers are known, which are sorted.

    Args:
        numbers: Those that are looked for.
        known: Those to look for them in, in ascending order.
        exact: How far apart equal numbers may be, relative.
    """
    if not len(known):
        return not len(numbers)
    place = np.searchsorted(known, numbers)
    apart = np.minimum(
        np.abs(known[place.clip(max=len(known) - 1)] - numbers),
        np.abs(known[(place - 1).clip(min=0)] - numbers),
    )
    return bool((apart <= exact * np.abs(numbers) + 1e-13).all())
