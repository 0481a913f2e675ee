"""Repeat lesson 08's comparison: `python -m tools.measure_seq2seq --seeds 0 1 2`.

It trains translators by the lesson's own rules (`helpers.experiments.translators`) and
prints the exact match on held-out numbers, in all and against the length of the output.
One seed of all three takes about two minutes on one core.
"""

import argparse
import sys

import torch

from helpers.experiments.translation import exact_match
from helpers.experiments.translators import (
    KINDS,
    long_number_task,
    match_by_length,
    new_translator,
    target_lengths,
    teach,
    translate,
)

EDGES = ((1, 4), (5, 7), (8, 10), (11, 99))  # output lengths that are shown together


def measure(kind: str, seed: int, options: argparse.Namespace) -> str:
    """Train one translator; returns a line about it."""
    task = long_number_task(target=options.language, digits=options.digits)
    torch.manual_seed(seed)
    model = new_translator(kind, task, options.d_model)
    history = teach(model, task, options.steps, seed, options.peak)
    texts = translate(model, task, task.held_out)
    lengths = target_lengths(task, task.held_out)
    groups = [
        next(f"{low}-{high}" for low, high in EDGES if low <= length <= high)
        for length in lengths
    ]
    right = [pair.target for pair in task.held_out]
    shares = match_by_length(texts, right, groups)
    names = [f"{low}-{high}" for low, high in EDGES]
    by_length = " ".join(f"{name}: {shares.get(name, 0):.1%}" for name in names)
    size = sum(parameter.numel() for parameter in model.parameters())
    return (
        f"{options.language} {kind:18} seed {seed} width {options.d_model} "
        f"{options.steps} steps {size:,} parameters {history.seconds:.0f} s: "
        f"{exact_match(task.held_out, texts):.1%}  ({by_length})"
    )


def main(arguments: list[str] | None = None) -> int:
    """Print a line for each kind of translator and each seed."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.measure_seq2seq", description=__doc__
    )
    parser.add_argument("--seeds", nargs="*", type=int, default=[0, 1, 2])
    parser.add_argument("--kinds", nargs="*", default=KINDS, choices=KINDS)
    parser.add_argument("--language", default="de", help="default: de")
    parser.add_argument("--digits", type=int, default=6, help="default: 6")
    parser.add_argument("--steps", type=int, default=400, help="default: 400")
    parser.add_argument("--d-model", type=int, default=64, help="default: 64")
    parser.add_argument("--peak", type=float, default=0.01, help="default: 0.01")
    options = parser.parse_args(arguments)
    torch.set_num_threads(1)
    for seed in options.seeds:
        for kind in options.kinds:
            print(measure(kind, seed, options), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
