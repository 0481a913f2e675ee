"""Train the small models that the course bundles.

    gpt2         a GPT-2 that has read the docstrings of installed packages
    storyteller  a GPT-2 that has read stories
    guesser      a BERT that has read the same stories

Stages, each resumable and each a sub-command of ``python -m tools.pretrain``:

    corpus       gpt2: collect the docstrings
    train        make tokenizer and tokens, then train; continues where it stopped
    export       write the bundled folder: fp16 weights, tokenizer, card, curve
    perplexity   recompute the held-out perplexity of the exported files
    evaluate     storyteller, guesser: measure again what the card tells, and print it
    blind        storyteller: write samples in mixed order for a reader, and the key
"""

import argparse
import math
from dataclasses import replace
from pathlib import Path

import torch
import transformers

from tools.pretrain import settings as plans
from tools.pretrain.corpus import prepare
from tools.pretrain.export import export, recompute
from tools.pretrain.guesser import GuesserTrainer, prepare_guesser
from tools.pretrain.guesser_export import (
    evaluate_guesser,
    export_guesser,
    print_guesses,
    recompute_guesser,
)
from tools.pretrain.settings import BUILD, SITE, Settings
from tools.pretrain.stories import prepare_stories
from tools.pretrain.story_export import (
    evaluate_exported,
    export_storyteller,
    print_shown,
    recompute_stories,
    write_blind_sheet,
)
from tools.pretrain.storyteller import StoryTrainer
from tools.pretrain.training import train

TARGETS = {
    "gpt2": plans.TARGET,
    "storyteller": plans.STORYTELLER,
    "guesser": plans.GUESSER,
}


def parse(arguments: list[str] | None) -> argparse.Namespace:
    """The options; folders that were not named are those of the model.

    Raises:
        SystemExit: An option makes no sense.
    """
    parser = argparse.ArgumentParser(
        prog="python -m tools.pretrain",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    stages = ["corpus", "train", "export", "perplexity", "evaluate", "blind"]
    add("stage", nargs="?", default="train", choices=stages, help="default: train")
    add("--model", default="gpt2", choices=list(TARGETS), help="default: gpt2")
    add("--folder", type=Path, help="where a run keeps its files")
    add("--target", type=Path, help="where the checkpoint is written")
    add("--site", type=Path, default=SITE, help="gpt2: the site-packages to read")
    add("--steps", type=int, help="planned steps of training, at most")
    add("--minutes", type=float, default=math.inf, help="stop for now after so many")
    add("--within", type=float, default=math.inf, help="minutes to be finished in")
    add("--threads", type=int, default=1, help="0: all cores; default 1")
    add("--text", choices=("world", "books", "both"), help="what is read")
    add("--books", type=Path, help="a file of books, packed with xz")
    add("--stories", type=int, help="how many stories are told for training")
    add("--width", type=int, help="d_model")
    add("--layers", type=int, help="how many layers")
    options = parser.parse_args(arguments)
    if options.steps is not None and options.steps < 1:
        raise SystemExit(f"--steps is {options.steps}: give at least 1.")
    if not options.site.is_dir():
        raise SystemExit(
            f"--site is {options.site}, which is not a folder: give another."
        )
    build = BUILD if options.model == "gpt2" else BUILD / options.model
    options.folder = options.folder or build
    options.target = options.target or TARGETS[options.model]
    return options


def settings_for(options: argparse.Namespace) -> Settings:
    """The model's settings, with what the options change."""
    wanted = {
        "steps": options.steps,
        "text": options.text,
        "stories": options.stories,
        "d_model": options.width,
        "num_layers": options.layers,
    }
    kinds = {
        "gpt2": Settings,
        "storyteller": plans.StorySettings,
        "guesser": plans.GuesserSettings,
    }
    chosen = {name: value for name, value in wanted.items() if value is not None}
    try:
        return replace(kinds[options.model](), **chosen)
    except TypeError as error:
        raise SystemExit(f"The model gpt2 has no such option: {error}.") from None


def main(arguments: list[str] | None = None) -> None:
    """Run one stage; `train` runs what is missing before it."""
    options = parse(arguments)
    settings = settings_for(options)
    transformers.utils.logging.disable_progress_bar()
    torch.set_num_threads(options.threads or torch.get_num_threads())
    {"gpt2": _gpt2, "storyteller": _storyteller, "guesser": _guesser}[options.model](
        options, settings
    )


def _gpt2(options: argparse.Namespace, settings: Settings) -> None:
    if options.stage in ("corpus", "train"):
        prepare(options.folder, options.site, settings)
    if options.stage == "train":
        train(options.folder, settings, options.minutes, options.within)
    if options.stage == "export":
        export(options.folder, options.target)
    if options.stage == "perplexity" and not recompute(options.target, options.site):
        raise SystemExit("The text is the card's, but the perplexity is another.")
    _refuse(options, "evaluate", "blind")


def _storyteller(options: argparse.Namespace, settings: Settings) -> None:
    if options.stage in ("corpus", "train"):
        prepare_stories(options.folder, settings, options.books)
    if options.stage == "train":
        limits = options.minutes, options.within
        train(options.folder, settings, *limits, StoryTrainer)
    if options.stage == "export":
        export_storyteller(options.folder, options.target)
    if options.stage == "perplexity" and not recompute_stories(options.target):
        raise SystemExit("The perplexity is not the card's.")
    if options.stage == "evaluate":
        print_shown(evaluate_exported(options.target))
    if options.stage == "blind":
        write_blind_sheet(options.target, options.folder)


def _guesser(options: argparse.Namespace, settings: Settings) -> None:
    if options.stage in ("corpus", "train"):
        prepare_guesser(options.folder, settings, options.books)
    if options.stage == "train":
        limits = options.minutes, options.within
        train(options.folder, settings, *limits, GuesserTrainer)
    if options.stage == "export":
        export_guesser(options.folder, options.target)
    if options.stage == "perplexity" and not recompute_guesser(options.target):
        raise SystemExit("The perplexity is not the card's.")
    if options.stage == "evaluate":
        print_guesses(evaluate_guesser(options.target))
    _refuse(options, "blind")


def _refuse(options: argparse.Namespace, *stages: str) -> None:
    if options.stage in stages:
        raise SystemExit(f"{options.model} has no stage `{options.stage}`.")


if __name__ == "__main__":
    main()
