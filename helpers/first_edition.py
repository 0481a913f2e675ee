"""Old names for notebooks of the first edition; this file goes with version 3.

`make lab` never overwrites a notebook in work/, so notebooks of version 1 still import
`helpers.characters` or `helpers.training.loss_curve`, and call `check("2.3", ...)`. The
tables below say what those are called now. Nothing else in helpers/ uses an old name.
"""

import sys
from collections.abc import Callable
from importlib import import_module
from importlib.abc import Loader
from importlib.machinery import ModuleSpec
from importlib.util import find_spec, spec_from_loader
from types import CodeType, ModuleType
from typing import Any

# Modules that moved: the old name imports the new module.
MODULES = {
    "helpers.baselines": "helpers.reading.baselines",
    "helpers.beam": "helpers.generation.beam",
    "helpers.byte_pairs": "helpers.text.byte_pairs",
    "helpers.characters": "helpers.experiments.character_models",
    "helpers.contest": "helpers.experiments.character_contest",
    "helpers.decoding": "helpers.generation.decoding",
    "helpers.deep_stack": "helpers.experiments.deep_stack",
    "helpers.doctor": "helpers.student.doctor",
    "helpers.figures.seq2seq": "helpers.figures.translation",
    "helpers.fine_tuning": "helpers.reading.fine_tuning",
    "helpers.leaderboard": "helpers.student.leaderboard",
    "helpers.masked_language": "helpers.text.masked_language",
    "helpers.mean_classifier": "helpers.reading.mean_classifier",
    "helpers.one_head": "helpers.experiments.one_head",
    "helpers.own_parts": "helpers.student.own_parts",
    "helpers.prompts": "helpers.generation.prompts",
    "helpers.recall": "helpers.experiments.recall",
    "helpers.reviews": "helpers.reading.reviews",
    "helpers.rewards": "helpers.generation.rewards",
    "helpers.sampling": "helpers.generation.sampling",
    "helpers.sentence_search": "helpers.text.sentence_search",
    "helpers.seq2seq": "helpers.experiments.translators",
    "helpers.small_trials": "helpers.reading.small_trials",
    "helpers.translation": "helpers.experiments.translation",
    "helpers.word_vectors": "helpers.text.word_vectors",
}
# Names that left their module or changed there. An old module that also stands above
# becomes a namespace: these names, and the new module's for all others.
NAMES = {
    "helpers.characters": {
        "Batch": "helpers.text.characters.Batch",
        "Characters": "helpers.text.characters.Characters",
        "batches": "helpers.text.characters.batches",
        "falling": "helpers.training.half_cosine",
        "train": "helpers.experiments.character_models.train_on_characters",
    },
    "helpers.contest": {
        "train": "helpers.experiments.character_contest.train_gpt",
    },
    "helpers.figures": {
        "show": "helpers.figures.show_figure",
    },
    "helpers.recall": {
        "train": "helpers.experiments.recall.train_to_recall",
    },
    "helpers.training": {
        "Ids": "helpers.experiments.translation.Ids",
        "collate": "helpers.experiments.translation.collate",
        "loss_curve": "helpers.figures.training.loss_curve",
        "pair_batches": "helpers.experiments.translation.pair_batches",
        "smooth": "helpers.figures.training.smooth",
        "translation_loss": "helpers.experiments.translation.translation_loss",
    },
}
# Exercises: their numbers had gaps and did not follow the lessons. Letters can't be
# mistaken for them, so an old number means the same exercise as ever. No I, no O.
# fmt: off
EXERCISES = {
    "0.1": "0.A", "0.2": "0.B",
    "1.1": "1.A", "1.1b": "1.B", "1.8": "1.C", "1.2": "1.D", "1.3": "1.E", "1.4": "1.F",
    "1.1c": "1.G", "1.3b": "1.H", "1.4b": "1.J", "1.4c": "1.K", "1.5": "1.L",
    "1.6": "1.M", "1.7": "1.N",
    "2.1": "2.A", "2.2": "2.B", "2.4": "2.C", "2.5": "2.D", "2.5b": "2.E", "2.3": "2.F",
    "2.3b": "2.G", "2.5c": "2.H", "2.6": "2.J", "2.8": "2.K",
    "3.1": "3.A", "3.7": "3.B", "3.2": "3.C", "3.7b": "3.H", "3.3": "3.J", "3.4": "3.E",
    "3.5": "3.F", "3.5b": "3.G", "3.6": "3.K", "3.7c": "3.L", "3.8": "3.D",
    "3.9": "3.M",
    "4.1": "4.B", "4.1b": "4.M", "4.2": "4.C", "4.5": "4.K", "4.3": "4.D",
    "4.5b": "4.L", "4.4": "4.E", "4.6": "4.F", "4.6b": "4.G", "4.6c": "4.H",
    "4.8": "4.J", "4.7": "4.N", "4.9": "4.P",
    "5.1": "5.A", "5.2": "5.B", "5.3": "5.C", "5.4": "5.H", "5.5": "5.D", "5.6": "5.E",
    "5.6b": "5.F", "5.6c": "5.G", "5.7": "5.J",
    "6.1": "6.A", "6.2": "6.B", "6.3": "6.C", "6.4": "6.D", "6.4b": "6.H", "6.5": "6.J",
    "6.6": "6.E", "6.7": "6.F", "6.8": "6.K",
    "7.1": "7.P", "7.2": "7.Q", "7.3": "7.C", "7.4": "7.A", "7.4b": "7.B", "7.5": "7.G",
    "7.5b": "7.H", "7.5c": "7.J", "7.6": "7.D", "7.7": "7.L", "7.7b": "7.E",
    "7.8": "7.F", "7.9": "7.K", "7.10": "7.M", "7.10b": "7.N",
    "8.1": "8.A", "8.2": "8.B", "8.3": "8.D", "8.3b": "8.E", "8.3c": "8.F",
    "8.4": "8.G", "8.5": "8.H", "8.6": "8.J",
    "9.1": "9.H", "9.1b": "9.J", "9.2": "9.A", "9.3": "9.K", "9.4": "9.B",
    "9.4b": "9.G", "9.5": "9.C", "9.6": "9.L", "9.5b": "9.D", "9.7": "9.E",
    "9.8": "9.F", "9.9": "9.M", "9.10": "9.N",
    "10.1": "10.A", "10.1b": "10.F", "10.2": "10.B", "10.3": "10.C", "10.4": "10.D",
    "10.5": "10.H", "10.6": "10.E", "10.7": "10.J",
    "11.1": "11.A", "11.1b": "11.J", "11.2": "11.B", "11.3": "11.C", "11.4": "11.D",
    "11.5": "11.E", "11.5b": "11.F", "11.6": "11.L", "11.7": "11.G", "11.7b": "11.M",
    "11.8": "11.H", "11.9": "11.K",
}
# fmt: on
# Exercises that no lesson sets any more. Their letters are not given away again.
GONE = frozenset({"7.H", "7.L", "7.P", "7.Q"})


def exercise(number: str) -> str:
    """The number that an exercise has now: "2.F" for "2.3", and for "2.f"."""
    return EXERCISES.get(number, number.upper())


def cell(name: str) -> str:
    """The name that an exercise's cell has now: "ex-2-F-check" for "ex-2-3-check"."""
    start, *rest = name.split("-")
    now = EXERCISES.get(".".join(rest[:2]))
    if start != "ex" or now is None:
        return name
    return "-".join([start, now.replace(".", "-"), *rest[2:]])


def forwarding(module: str) -> Callable[[str], Any]:
    """The `__getattr__` of a module in `NAMES`; nothing is imported before it is asked.

    Args:
        module: the full name that the module has, or had
    """

    def __getattr__(name: str) -> Any:
        if name == "__file__":  # inspect asks every module for it
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        if name in NAMES[module]:
            home, _, new = NAMES[module][name].rpartition(".")
            return getattr(import_module(home), new)
        if module in MODULES:
            return getattr(import_module(MODULES[module]), name)
        raise AttributeError(f"module {module!r} has no attribute {name!r}")

    return __getattr__


class OldModules(Loader):
    """Finds the modules of `MODULES` by their old names, after all other finders."""

    @classmethod
    def find_spec(cls, name: str, path: Any, target: Any = None) -> ModuleSpec | None:
        """What the import system asks of a finder."""
        if name not in MODULES:
            return None
        origin = find_spec(MODULES[name]).origin
        return spec_from_loader(name, cls(), origin=origin)

    def exec_module(self, module: ModuleType) -> None:
        """Put the new module in the old one's place, or fill the namespace."""
        name = module.__name__
        if name in NAMES:
            module.__getattr__ = forwarding(name)
        else:
            sys.modules[name] = import_module(MODULES[name])

    def get_code(self, name: str) -> CodeType | None:
        """The new module's code, for `python -m helpers.doctor`."""
        spec = find_spec(MODULES[name])
        return spec.loader.get_code(spec.name)


def install() -> None:
    """Let `import` know the old modules; `helpers` does this once."""
    if OldModules not in sys.meta_path:
        sys.meta_path.append(OldModules)
