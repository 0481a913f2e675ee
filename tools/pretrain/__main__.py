"""Train the small GPT-2 that the course bundles, from the docstrings around it.

Stages, each resumable and each a sub-command of ``python -m tools.pretrain``:

    corpus       collect English prose from the docstrings of installed packages
    train        train the tokenizer, then the model; continues where it stopped
    export       write helpers/corpora/gpt2: fp16 weights, tokenizer, card, curve
    perplexity   recompute the held-out perplexity of the exported files
"""

import argparse
import math
from pathlib import Path

import torch
import transformers

from tools.pretrain.corpus import prepare
from tools.pretrain.export import export, recompute
from tools.pretrain.settings import BUILD, SITE, TARGET, Settings
from tools.pretrain.training import train


def main(arguments: list[str] | None = None) -> None:
    """Run one stage; `train` runs what is missing before it."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.pretrain",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    stages = ["corpus", "train", "export", "perplexity"]
    add("stage", nargs="?", default="train", choices=stages, help="default: train")
    add("--folder", type=Path, default=BUILD, help="where a run keeps its files")
    add("--target", type=Path, default=TARGET, help="where the checkpoint is written")
    add("--site", type=Path, default=SITE, help="the site-packages folder to read")
    add("--steps", type=int, default=Settings.steps, help="planned steps of training")
    add("--minutes", type=float, default=math.inf, help="stop for now after so many")
    options = parser.parse_args(arguments)
    if options.steps < 1:
        raise SystemExit(f"--steps is {options.steps}: give at least 1.")
    if not options.site.is_dir():
        raise SystemExit(
            f"--site is {options.site}, which is not a folder: give another."
        )
    settings = Settings(steps=options.steps)
    transformers.utils.logging.disable_progress_bar()
    torch.set_num_threads(1)
    if options.stage in ("corpus", "train"):
        prepare(options.folder, options.site, settings)
    if options.stage == "train":
        train(options.folder, settings, options.minutes)
    if options.stage == "export":
        export(options.folder, options.target)
    if options.stage == "perplexity" and not recompute(options.target, options.site):
        raise SystemExit("The text is the card's, but the perplexity is another.")


if __name__ == "__main__":
    main()
