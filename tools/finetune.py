"""Fine-tune the encoder on the reviews, on one process or on several.

    python -m tools.finetune                                           one process
    accelerate launch --multi_gpu --num_processes 2 -m tools.finetune  two of them

`--multi_gpu` is right without a GPU, too: it means several processes on one machine.
The batch of the recipe is shared out among them, so the steps are the same. The result
is one checkpoint, in safetensors, with its tokenizer and `history.json`. It replaces an
earlier one as a whole. `--csv my_reviews.csv` takes your own reviews: columns `label`,
0 to 4, the stars minus one, and `text`. A run that was stopped or killed goes on when
it is started again with the same options; until then its state lies in a folder beside
the result.
"""

import argparse
import hashlib
import json
import os
import shutil
import sys
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

from safetensors import SafetensorError

from helpers import pretrained
from helpers.corpora.reviews import FOLDS
from helpers.files import Locked, locked
from helpers.reading import fine_tuning, own_reviews, reviews
from helpers.reading.checkpoint import Checkpoint
from tools.build.notebooks import ROOT

OUTPUT = ROOT / "build" / "reviews"
HISTORY, STATE = "history.json", "state.safetensors"
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
    parser.add_argument("--csv", type=Path, help="your own reviews: label and text")
    parser.add_argument("--reviews", type=int, help="train on the first so many")
    parser.add_argument("--epochs", type=int, default=recipe.epochs)
    parser.add_argument("--batch-size", type=int, default=recipe.batch_size)
    parser.add_argument("--rate", type=float, default=recipe.rate)
    parser.add_argument("--frozen", type=int, default=recipe.frozen)
    parser.add_argument("--dropout", type=float, help="instead of the checkpoint's")
    parser.add_argument("--seed", type=int, default=recipe.seed)
    parser.add_argument(
        "--every", type=int, default=20, help="steps until the state is kept again"
    )
    return parser.parse_args(arguments)


def complaint(options: argparse.Namespace, processes: int = 1) -> str | None:
    """What is wrong with the command line, in one sentence.

    Args:
        options: what was read
        processes: how many share a batch
    """
    least = {"epochs": 1, "batch_size": 1, "frozen": 0, "seed": 0, "every": 1}
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
    if options.csv:
        try:
            own_reviews.read(options.csv)
        except reviews.ReviewsError as error:
            return str(error)
    return _no_place(options.output)


def _no_place(output: Path) -> str | None:
    """Why a result can't be put there, in one sentence; makes the folder beside it."""
    try:
        there = {path.name for path in output.iterdir()} if output.exists() else set()
        if there and HISTORY not in there:
            return (
                f"--output is {output}, which holds something else than a result: give "
                "an empty folder, or one that is not there yet."
            )
        unfinished(output.resolve()).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        return (
            f"--output is {output}, where no folder can be made "
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
    options.output = options.output.resolve()
    lock = options.output.with_name(f".{options.output.name}.lock")
    first = int(os.environ.get("RANK", 0)) == 0
    try:
        with locked(lock) if first else nullcontext():
            if first:
                settle(options.output)
            return _run(options)
    except Locked:
        said = (
            f"Another fine-tuning is at work on {options.output}: wait until it has "
            "ended, or give another --output."
        )
    except KeyboardInterrupt:
        said = (
            "Stopped. Started again with the same options, it goes on from its last "
            f"state; that is kept every {options.every} steps."
        )
    except (pretrained.CheckpointError, reviews.ReviewsError) as error:
        said = str(error)
    print(said, file=sys.stderr)
    return 1


def _run(options: argparse.Namespace) -> int:
    recipe = replace(
        fine_tuning.Recipe(),
        epochs=options.epochs,
        batch_size=options.batch_size,
        rate=options.rate,
        frozen=options.frozen,
        seed=options.seed,
    )
    split = reviews.load(options.fold, options.csv)
    accelerator = fine_tuning.accelerate()
    checkpoint = _checkpoint(options, accelerator.num_processes)
    if others := checkpoint.other_facts():
        accelerator.print(
            f"{checkpoint.file.parent} holds an unfinished run with another "
            f"{', '.join(others)}: give the same options to go on with it, or another "
            "--output, or delete that folder.",
            file=sys.stderr,
        )
        return 2
    folder = str(options.model or pretrained.path("encoder"))
    tokenizer = _tokenizer(folder)
    train = reviews.encode(split["train"], tokenizer)[: options.reviews]
    accelerator.print(
        f"{len(train)} reviews on {accelerator.num_processes} process(es)"
    )
    if checkpoint.step:
        accelerator.print(f"an unfinished run goes on after step {checkpoint.step}")
    model = fine_tuning.load_classifier(folder, options.seed, options.dropout)
    try:
        history = fine_tuning.fine_tune(
            model, train, recipe, accelerator, checkpoint=checkpoint
        )
        if accelerator.is_main_process:
            _finish(model, tokenizer, split, history, options.output)
    except (OSError, SafetensorError) as error:
        reason = getattr(error, "strerror", None) or error
        print(
            f"Could not save to {options.output.parent} ({reason}): an earlier result "
            "is unchanged. Make sure that the disk has room, and start again with the "
            "same options: it goes on from its last state.",
            file=sys.stderr,
        )
        return 1
    accelerator.wait_for_everyone()
    accelerator.end_training()
    return 0


def _checkpoint(options: argparse.Namespace, processes: int) -> Checkpoint:
    facts = {
        name.replace("_", " "): value
        for name, value in vars(options).items()
        if name not in ("output", "every", "model", "csv")
    }
    own = options.csv and hashlib.sha256(options.csv.read_bytes()).hexdigest()
    facts["csv"] = own  # its bytes count, not its name
    facts |= {"model": str(options.model), "number of processes": processes}
    return Checkpoint(unfinished(options.output) / STATE, facts, options.every)


def _tokenizer(folder: str):
    from transformers import AutoTokenizer

    with pretrained.quiet():
        return AutoTokenizer.from_pretrained(folder)


def _finish(model, tokenizer, split, history, output: Path) -> None:
    batches = reviews.in_order(reviews.encode(split["test"], tokenizer))
    scores = fine_tuning.scores(*fine_tuning.logits_of(model, batches))
    print(f"test: {scores}")
    result = unfinished(output) / "result"
    shutil.rmtree(result, ignore_errors=True)  # half of one, if saving was interrupted
    with pretrained.quiet():
        model.save_pretrained(result)
        tokenizer.save_pretrained(result)
    facts = {"loss": history.loss, "rate": history.rate, "accuracy": scores.accuracy}
    (result / HISTORY).write_text(json.dumps(facts), encoding="utf-8")
    put_in_place(result, output)
    shutil.rmtree(unfinished(output))
    print(f"saved to {output}")


# --- the folder of the result ---------------------------------------------------------


def unfinished(output: Path) -> Path:
    """The folder beside the result that holds the state of a run."""
    return output.with_name(f"{output.name}.unfinished")


def put_in_place(result: Path, output: Path) -> None:
    """Move a whole result to where it belongs, in the place of an earlier one."""
    settle(output)
    if output.exists():
        output.rename(_aside(output))
    result.rename(output)
    settle(output)


def settle(output: Path) -> None:
    """End what a kill in `put_in_place` left: no result, or two.

    Files of other names that lay beside an earlier result stay.
    """
    aside = _aside(output)
    if not aside.exists():
        return
    if not output.exists():
        aside.rename(output)
        return
    for path in aside.iterdir():
        if not (output / path.name).exists():
            path.rename(output / path.name)
    shutil.rmtree(aside)


def _aside(output: Path) -> Path:
    return output.with_name(f".{output.name}.earlier")


if __name__ == "__main__":
    sys.exit(main())
