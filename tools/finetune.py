"""Fine-tune the encoder on the reviews, on one process or on several.

    python -m tools.finetune                                           one process
    accelerate launch --multi_gpu --num_processes 2 -m tools.finetune  two of them

`--multi_gpu` is right without a GPU, too: it means several processes on one machine.
The batch of the recipe is shared out among them, so the steps are the same. The result
is one checkpoint, in safetensors, with its tokenizer and `history.json`.
"""

import argparse
import json
import os
import sys
from dataclasses import replace
from pathlib import Path

from helpers import pretrained
from helpers.corpora.reviews import FOLDS
from helpers.reading import fine_tuning, reviews
from tools.build.notebooks import ROOT

OUTPUT = ROOT / "build" / "reviews"
# huggingface/accelerate issue 2741: without MPI, `--cpu` ignores the number.
ALONE = (
    "Several processes were asked for, but `accelerate launch --cpu` started just one "
    "process: write --multi_gpu in place of --cpu; it works without a GPU."
)


def options_of(arguments: list[str] | None) -> argparse.Namespace:
    """Read the command line."""
    recipe = fine_tuning.Recipe()
    parser = argparse.ArgumentParser(
        prog="python -m tools.finetune",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--output", type=Path, default=OUTPUT, help="folder to write")
    parser.add_argument("--model", type=Path, help="folder of another checkpoint")
    parser.add_argument(
        "--fold", type=int, default=0, help="which fifth is for testing"
    )
    parser.add_argument("--reviews", type=int, help="train on the first so many")
    parser.add_argument("--epochs", type=int, default=recipe.epochs)
    parser.add_argument("--batch-size", type=int, default=recipe.batch_size)
    parser.add_argument("--rate", type=float, default=recipe.rate)
    parser.add_argument("--frozen", type=int, default=recipe.frozen)
    parser.add_argument("--dropout", type=float, help="instead of the checkpoint's")
    parser.add_argument("--seed", type=int, default=recipe.seed)
    return parser.parse_args(arguments)


def complaint(options: argparse.Namespace, processes: int = 1) -> str | None:
    """What is wrong with the command line, in one sentence.

    Args:
        options: what was read
        processes: how many share a batch
    """
    least = {"epochs": 1, "batch_size": 1, "frozen": 0, "seed": 0}
    for name, number in least.items():
        if getattr(options, name) < number:
            given = getattr(options, name)
            return f"--{name.replace('_', '-')} is {given}: give at least {number}."
    if options.fold not in range(FOLDS):
        return f"--fold is {options.fold}: give 0 to {FOLDS - 1}."
    if not 0 < options.rate < 1:
        return f"--rate is {options.rate}: give a number between 0 and 1."
    if options.dropout is not None and not 0 <= options.dropout < 1:
        return f"--dropout is {options.dropout}: give a number from 0 to below 1."
    if options.batch_size % processes:
        return (
            f"--batch-size {options.batch_size} is shared out among {processes} "
            "processes: give a multiple of them."
        )
    if options.reviews is not None and options.reviews < options.batch_size:
        return (
            f"--reviews is {options.reviews}: give at least a batch, "
            f"{options.batch_size}."
        )
    if options.model and not (options.model / "config.json").is_file():
        return (
            f"--model is {options.model}, and there is no config.json in it: give the "
            "folder of a checkpoint that `save_pretrained` wrote."
        )
    try:
        options.output.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        return (
            f"--output is {options.output}, where no folder can be made "
            f"({error.strerror}): give another."
        )
    return None


def main(arguments: list[str] | None = None) -> int:
    """Train, evaluate, save; only the first process prints and writes."""
    options = options_of(arguments)
    if "MASTER_PORT" in os.environ and "WORLD_SIZE" not in os.environ:
        print(ALONE, file=sys.stderr)
        return 2
    if wrong := complaint(options, int(os.environ.get("WORLD_SIZE", 1))):
        print(wrong, file=sys.stderr)
        return 2
    recipe = replace(
        fine_tuning.Recipe(),
        epochs=options.epochs,
        batch_size=options.batch_size,
        rate=options.rate,
        frozen=options.frozen,
        seed=options.seed,
    )
    accelerator = fine_tuning.accelerate()
    folder = str(options.model or pretrained.path("encoder"))
    tokenizer, split = _tokenizer(folder), reviews.load(options.fold)
    train = reviews.encode(split["train"], tokenizer)[: options.reviews]
    accelerator.print(
        f"{len(train)} reviews on {accelerator.num_processes} process(es)"
    )
    model = fine_tuning.load_classifier(folder, options.seed, options.dropout)
    history = fine_tuning.fine_tune(model, train, recipe, accelerator)
    if accelerator.is_main_process:
        _finish(model, tokenizer, split, history, options.output)
    accelerator.wait_for_everyone()
    accelerator.end_training()
    return 0


def _tokenizer(folder: str):
    from transformers import AutoTokenizer

    with pretrained.quiet():
        return AutoTokenizer.from_pretrained(folder)


def _finish(model, tokenizer, split, history, output: Path) -> None:
    batches = reviews.in_order(reviews.encode(split["test"], tokenizer))
    scores = fine_tuning.scores(*fine_tuning.logits_of(model, batches))
    print(f"test: {scores}")
    with pretrained.quiet():
        model.save_pretrained(output)
        tokenizer.save_pretrained(output)
    facts = {"loss": history.loss, "rate": history.rate, "accuracy": scores.accuracy}
    (output / "history.json").write_text(json.dumps(facts), encoding="utf-8")
    print(f"saved to {output}")


if __name__ == "__main__":
    sys.exit(main())
