"""Numbers by which two computations are told apart."""

import numpy as np

HUGE = 1e8  # -1e9, -inf and the like stand for "blocked"


def telling(numbers: np.ndarray) -> np.ndarray:
    """The numbers that tell something: not 0, 1, 0.5 or -inf, each of them once."""
    numbers = numbers[np.isfinite(numbers) & (np.abs(numbers) < HUGE)]
    numbers = numbers[np.abs(numbers) > 1e-12]
    return np.unique(numbers[numbers * 4 != np.round(numbers * 4)])


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
