"""Old names for notebooks of the first edition; this file goes with version 3.

`make lab` never overwrites a notebook in work/, so notebooks of version 1 still import
`helpers.characters` or `helpers.training.loss_curve`. The two tables below say where
those are now. Nothing else in helpers/ uses an old name.
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
