"""Learning-rate schedules: the paper's warm-up, and half a cosine."""

import math


def noam_schedule(step: int, d_model: int, warmup: int) -> float:
    """The paper's learning rate: a straight line up, then down with the root.

    d_model^-0.5 * min(step^-0.5, step * warmup^-1.5), with step counted from 1.

    Raises:
        ValueError: A step is below 1.

    Source: Vaswani et al. 2017, section 5.3.
    """
    if step < 1:
        raise ValueError(f"steps are counted from 1, not {step}")
    return d_model**-0.5 * min(step**-0.5, step * warmup**-1.5)


def half_cosine(rate: float, step: int, steps: int) -> float:
    """A learning rate that falls from `rate` to 0 along half a cosine.

    Args:
        rate: at step 0
        step: counted from 0
        steps: where the rate would be 0

    Source: Loshchilov and Hutter 2017 (arXiv 1608.03983), without the restarts.
    """
    return rate * (1 + math.cos(math.pi * step / steps)) / 2
