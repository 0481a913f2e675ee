"""torch's first optimizer imports for seconds: it is created off a check's clock."""

from functools import cache

import torch
from torch.optim import SGD, Adam


@cache
def warm_up() -> None:
    """Create optimizers and take a step with them, once per process."""
    weight = torch.zeros(1, requires_grad=True)
    for kind in (SGD, Adam):
        optimizer = kind([weight], lr=0.1)
        optimizer.zero_grad()
        with torch.enable_grad():
            weight.sum().backward()
        optimizer.step()
