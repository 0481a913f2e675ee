"""Shared code of the course "Transformers, step by step".

Notebooks import from here; nothing in here knows about lessons, tools or grading.
PyTorch is imported by what needs it: `helpers.student.doctor` has to run without.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from helpers import first_edition

if TYPE_CHECKING:
    import numpy as np
    import torch
    from torch import Tensor

__all__ = ["device", "show"]

first_edition.install()


def device() -> torch.device:
    """The device for training cells: a CUDA GPU where there is one, else the CPU."""
    import torch

    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def show(name: str, value: Tensor | np.ndarray | float, digits: int = 4) -> None:
    """Print a tensor with its name, its shape and rounded numbers.

    The same numbers print the same on every machine: rounded, and never "-0.0".

    Args:
        name: What to call it in the output.
        value: A tensor, an array or a number.
        digits: Digits after the point.
    """
    import numpy as np
    from torch import Tensor

    array = value.detach().cpu().numpy() if isinstance(value, Tensor) else value
    array = np.asarray(array)
    if array.dtype.kind == "f":
        array = np.round(array, digits) + 0.0  # -0.0 + 0.0 is 0.0
    text = np.array2string(
        array,
        formatter={"float_kind": lambda number: f"{number:.{digits}f}"},
        threshold=200,
        max_line_width=88,
    )
    shape = f" {tuple(array.shape)}" if array.ndim else ""
    print(f"{name}{shape}" + ("\n" if "\n" in text else "  ") + text)
