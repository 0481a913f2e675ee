"""Independent solutions, from `helpers/exercises/<lesson>/variants/`.

Each file there holds, for the exercises of the file of its name beside `variants/`,

    VARIANTS = {"2.2": (function, function, function), "3.1": ((split, merge), ...)}

an exercise's id and at least three answers, each of them a tuple where the exercise
asks for several.
"""

import pkgutil
from importlib import import_module

from helpers.checks.engine import LESSONS


def variants() -> dict[str, tuple]:
    """Exercise id -> independent solutions, from every lesson."""
    found: dict[str, tuple] = {}
    for lesson in LESSONS.values():
        package = import_module(f"helpers.exercises.{lesson}.variants")
        for file in pkgutil.iter_modules(package.__path__):
            module = import_module(f"{package.__name__}.{file.name}")
            mine = getattr(module, "VARIANTS", {})
            twice = ", ".join(found.keys() & mine)
            if twice:
                raise ValueError(f"{module.__name__} repeats {twice}.")
            found |= mine
    return found
