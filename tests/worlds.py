"""What an answer could leave behind: the global state that a check puts back."""

import random
import sys
import warnings

import numpy as np
import torch


def world():
    """All of it, in a form that can be compared."""
    return [
        random.getstate(),
        [str(part) for part in np.random.get_state()],
        torch.get_rng_state().tolist(),
        torch.get_default_dtype(),
        torch.is_grad_enabled(),
        torch.get_num_threads(),
        torch.get_default_device(),
        list(warnings.filters),
        sys.getrecursionlimit(),
        sys.stdout,
        sys.stderr,
    ]
