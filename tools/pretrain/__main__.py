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
    blind        storyteller: write samples in mixed order for a reader, and the key;
                 with --verdicts, keep in the card what the reader said
"""

import argparse
import math
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
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
    enter_verdicts,
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


@dataclass(frozen=True)
class StoryWork:
    """What the stages do for a model that reads stories."""

    prepare: Callable
    trainer: type
    export: Callable
    recompute: Callable
    evaluate: Callable


WORK = {
    "storyteller": StoryWork(
        prepare_stories,
        StoryTrainer,
        export_storyteller,
        recompute_stories,
        lambda target: print_shown(evaluate_exported(target)),
    ),
    "guesser": StoryWork(
        prepare_guesser,
        GuesserTrainer,
        export_guesser,
        recompute_guesser,
        lambda target: print_guesses(evaluate_guesser(target)),
    ),
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
    add("--further", action="store_true", help="go on with a run that has ended")
    add("--start", type=Path, help="guesser: a bundled model to begin with")
    add("--threads", type=int, default=1, help="0: all cores; default 1")
    add("--text", choices=("world", "scenes", "books", "both"), help="what is read")
    add("--books", type=Path, help="a file of books, packed with xz")
    add("--stories", type=int, help="how many stories are told for training")
    add("--width", type=int, help="d_model")
    add("--layers", type=int, help="how many layers")
    add(
        "--verdicts",
        type=Path,
        nargs="+",
        help='blind: a file of each reader, of lines such as "12 y", "13 n"',
    )
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
    kind = kinds[options.model]
    if unknown := sorted(chosen.keys() - {one.name for one in fields(kind)}):
        raise SystemExit(
            f"The model {options.model} has no setting {', '.join(unknown)}: "
            "leave it out."
        )
    return replace(kind(), **chosen)


def main(arguments: list[str] | None = None) -> None:
    """Run one stage; `train` runs what is missing before it."""
    options = parse(arguments)
    settings = settings_for(options)
    transformers.utils.logging.disable_progress_bar()
    torch.set_num_threads(options.threads or torch.get_num_threads())
    if options.model == "gpt2":
        _read_docstrings(options, settings)
    else:
        _read_stories(options, settings, WORK[options.model])


def _read_docstrings(options: argparse.Namespace, settings: Settings) -> None:
    if options.stage in ("corpus", "train"):
        prepare(options.folder, options.site, settings)
    if options.stage == "train":
        limits = options.minutes, options.within
        train(options.folder, settings, *limits, further=options.further)
    if options.stage == "export":
        export(options.folder, options.target)
    if options.stage == "perplexity" and not recompute(options.target, options.site):
        raise SystemExit("The text is the card's, but the perplexity is another.")
    _refuse(options, "evaluate", "blind")


def _read_stories(
    options: argparse.Namespace, settings: Settings, work: StoryWork
) -> None:
    if options.stage in ("corpus", "train"):
        work.prepare(options.folder, settings, options.books)
    if options.stage == "train":
        limits = options.minutes, options.within
        more = options.further, options.start
        train(options.folder, settings, *limits, work.trainer, *more)
    if options.stage == "export":
        work.export(options.folder, options.target)
    if options.stage == "perplexity" and not work.recompute(options.target):
        raise SystemExit("The perplexity is not the card's.")
    if options.stage == "evaluate":
        work.evaluate(options.target)
    if options.stage == "blind" and options.model == "storyteller":
        if options.verdicts:
            enter_verdicts(options.target, options.folder, options.verdicts)
        else:
            write_blind_sheet(options.target, options.folder)
    elif options.stage == "blind":
        _refuse(options, "blind")


def _refuse(options: argparse.Namespace, *stages: str) -> None:
    if options.stage in stages:
        raise SystemExit(f"{options.model} has no stage `{options.stage}`.")


if __name__ == "__main__":
    main()
