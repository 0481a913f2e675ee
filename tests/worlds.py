"""What an answer could leave behind: the global state that a check puts back."""

import os
import random
import signal
import sys
import warnings

import numpy as np
import torch
from torch.nn.modules import module


def world():
    """All of it, in a form that can be compared."""
    return [
        random.getstate(),
        [str(part) for part in np.random.get_state()],
        torch.get_rng_state().tolist(),
        torch.get_default_dtype(),
        torch.is_grad_enabled(),
        torch.is_inference_mode_enabled(),
        torch.is_autocast_enabled("cpu"),
        torch.is_anomaly_enabled(),
        torch.are_deterministic_algorithms_enabled(),
        torch.get_num_threads(),
        torch.get_default_device(),
        [len(hooks or ()) for name, hooks in vars(module).items() if "_hooks" in name],
        str(torch.tensor(1 / 3)),
        str(np.float64(1 / 3) * np.ones(1)),
        np.geterr(),
        list(warnings.filters),
        sys.getrecursionlimit(),
        sys.stdout,
        sys.stderr,
        signal.getsignal(signal.SIGINT),
        os.getcwd(),
        dict(os.environ),
    ]
