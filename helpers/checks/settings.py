"""What code can set for the whole process, and how each of it is read and put back."""

import os
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np
import torch
from torch.nn.modules import module
from torch.utils import deterministic

DEVICES = ("cpu", "cuda")
HOOKS = [  # of all modules at once
    hooks
    for name, hooks in vars(module).items()
    if name.startswith("_global_") and isinstance(hooks, dict)
]


def read() -> list[Any]:
    """All settings, as they are now."""
    return [get() for get, _ in SETTINGS]


def put_back(before: list[Any]) -> None:
    """Make all settings what they were when they were read."""
    for (get, put), value in zip(SETTINGS, before, strict=True):
        if get() != value:  # some take long to be set
            put(value)


def _folder() -> str | None:
    with suppress(OSError):  # it may have been removed
        return os.getcwd()


def _go_to(folder: str | None) -> None:
    with suppress(OSError):
        os.chdir(folder or ".")


def _set_environment(values: dict[str, str]) -> None:
    os.environ.clear()
    os.environ.update(values)


def _autocast() -> tuple:
    torch.autocast_increment_nesting()
    depth = torch.autocast_decrement_nesting()
    kinds = [(torch.is_autocast_enabled(kind), torch.get_autocast_dtype(kind))
             for kind in DEVICES]  # fmt: skip
    return depth, torch.is_autocast_cache_enabled(), *kinds


def _set_autocast(state: tuple) -> None:
    depth, cache, *kinds = state
    while _autocast()[0] > depth:
        torch.autocast_decrement_nesting()
    torch.clear_autocast_cache()
    torch.set_autocast_cache_enabled(cache)
    for kind, (enabled, dtype) in zip(DEVICES, kinds, strict=True):
        torch.set_autocast_enabled(kind, enabled)
        torch.set_autocast_dtype(kind, dtype)


def _hooks() -> tuple:
    return module._global_is_full_backward_hook, *map(dict, HOOKS)


def _set_hooks(state: tuple) -> None:
    module._global_is_full_backward_hook, *before = state
    for hooks, old in zip(HOOKS, before, strict=True):
        hooks.clear()
        hooks.update(old)


def _set_interrupt(handler: Any) -> None:
    with suppress(ValueError, TypeError):  # another thread; a handler that is not ours
        signal.signal(signal.SIGINT, handler)


def _deterministic() -> tuple:
    return (
        torch.get_deterministic_debug_mode(),
        deterministic.fill_uninitialized_memory,
        torch.backends.cudnn.deterministic,
        torch.backends.cudnn.benchmark,
    )


def _set_deterministic(state: tuple) -> None:
    torch.set_deterministic_debug_mode(state[0])
    deterministic.fill_uninitialized_memory = state[1]
    torch.backends.cudnn.deterministic, torch.backends.cudnn.benchmark = state[2:]


SETTINGS: tuple[tuple[Callable[[], Any], Callable[[Any], Any]], ...] = (
    (_folder, _go_to),
    (lambda: dict(os.environ), _set_environment),
    (sys.getrecursionlimit, sys.setrecursionlimit),
    (sys.gettrace, sys.settrace),
    (lambda: signal.getsignal(signal.SIGINT), _set_interrupt),
    (np.get_printoptions, lambda options: np.set_printoptions(**options)),
    (np.geterr, lambda kinds: np.seterr(**kinds)),
    (np.geterrcall, np.seterrcall),
    (torch._tensor_str.get_printoptions, lambda them: torch.set_printoptions(**them)),
    (torch.get_default_dtype, torch.set_default_dtype),
    (torch.get_default_device, torch.set_default_device),
    (torch.get_num_threads, torch.set_num_threads),
    (torch.get_float32_matmul_precision, torch.set_float32_matmul_precision),
    (
        lambda: (torch.is_anomaly_enabled(), torch.is_anomaly_check_nan_enabled()),
        lambda state: torch.autograd.set_detect_anomaly(*state),
    ),
    (_autocast, _set_autocast),
    (_hooks, _set_hooks),
    (_deterministic, _set_deterministic),
)
