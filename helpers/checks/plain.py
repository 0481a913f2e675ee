"""What came back from a student's code, as plain tensors, numbers and texts.

Whoever compares a value asks it for its `__eq__` or its `__torch_function__`, and those
may be the student's own. So everything is rebuilt, with the methods of the built-in
classes, before anything asks it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from types import GeneratorType
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch._C import TensorBase

DEEP = 50  # lists within lists
LAZY = (GeneratorType, filter, map, zip)
PLAIN = (type(None), bool, int, float, complex, str, bytes, range)


@dataclass(frozen=True)
class Odd:
    """A result other than a tensor, a number or a text: only its kind is remembered."""

    kind: str

    def __str__(self) -> str:
        """The kind, as it is shown to people."""
        return self.kind


class Listed(tuple):
    """A list as it stood: it equals a tuple of the same, and is shown as the list."""

    def __repr__(self) -> str:
        return repr([*self])


def plain(value: Any, depth: int = 0) -> Any:
    """A value without methods of its own; the same object where it has none.

    Args:
        value: A tensor (its history stays), number, text, or a tuple, list, dict or set
            of them. Objects of other classes, such as a model, stay as they are.
        depth: In how many lists it stands.
    """
    kind = type(value)
    if kind in PLAIN:
        return value
    if depth > DEEP:
        return Odd("list that is too deep")
    if issubclass(kind, Tensor):
        return _tensor(value)
    for base, rebuilt in REBUILT.items():
        if issubclass(kind, base):
            return rebuilt(value)
    for base in (tuple, list, set, frozenset):
        if issubclass(kind, base):
            old = list(base.__iter__(value))
            new = [plain(item, depth + 1) for item in old]
            return value if kind is base and _same(old, new) else base(new)
    if issubclass(kind, dict):
        old = [item for pair in dict.items(value) for item in pair]
        new = [plain(item, depth + 1) for item in old]
        whole = kind is dict and _same(old, new)
        return value if whole else dict(zip(new[::2], new[1::2], strict=True))
    return value


def kind_of(value: Any) -> str:
    """The name of a value's class, with its package where it has one.

    Of what is only on the way to a result, that is said as well.
    """
    kind = type(value)
    module = str(kind.__module__).split(".")[0]
    name = kind.__name__
    name = name if module in ("builtins", "__main__") else f"{module}.{name}"
    if issubclass(kind, nn.Module):
        return f"{name}, which is a module and not what it makes"
    return f"{name}, of which nothing was taken yet" if kind in LAZY else name


def _same(old: list, new: list) -> bool:
    return all(one is other for one, other in zip(old, new, strict=True))


def _tensor(value: Tensor) -> Any:
    """A tensor of torch's own class, in the same memory and with the same history."""
    with torch._C.DisableTorchFunctionSubclass():
        if torch._C._dispatch_keys(value).has(torch._C.DispatchKey.Python):
            return Odd(kind_of(value))  # its numbers are whatever its class says
        if TensorBase.is_nested.__get__(value):
            return Odd("nested tensor")  # it has no shape
        if type(value) in (Tensor, nn.Parameter) and not value.__dict__:
            return value
        return TensorBase.as_subclass(value, Tensor)


def _number(value: np.generic) -> Any:
    return plain(np.generic.item(value))


def _array(value: np.ndarray) -> Any:
    if np.ndarray.view(value, np.ndarray).dtype.hasobject:
        return Odd("array of objects")
    return value if type(value) is np.ndarray else np.ndarray.view(value, np.ndarray)


REBUILT: dict[type, Callable] = {
    np.generic: _number,
    np.ndarray: _array,
    int: int.__int__,
    float: float.__float__,
    complex: complex.__pos__,
    str: str.__str__,
    bytes: bytes.__bytes__,
}
