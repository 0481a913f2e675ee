"""Right answers in other hands: every check must let them pass.

One file per lesson, named like its module in `helpers/checks`. It holds

    VARIANTS = {"2.2": (function, function, function), "3.1": ((split, merge), ...)}

an exercise's id and at least three answers, each of them a tuple where the exercise
asks for several.
"""

import pkgutil
from importlib import import_module


def variants() -> dict[str, tuple]:
    """Exercise id -> alternative right answers, from every file beside this one."""
    found: dict[str, tuple] = {}
    for file in pkgutil.iter_modules(__path__):
        mine = import_module(f"{__name__}.{file.name}").VARIANTS
        twice = ", ".join(found.keys() & mine)
        if twice:
            raise ValueError(f"tests/variants/{file.name}.py repeats {twice}.")
        found |= mine
    return found
