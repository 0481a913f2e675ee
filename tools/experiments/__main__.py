"""Repeat a lesson's experiment over several seeds: `python -m tools.experiments NAME`.

    python -m tools.experiments                               the experiments there are
    python -m tools.experiments characters --seeds 0 1 2      run one
    python -m tools.experiments bottleneck --set width=24

The table replaces the one that the experiment has in docs/experiments.md; with other
settings it is only printed. One seed takes a minute or two on one core.
"""

import argparse
import ast
import inspect
import sys
import time
from pathlib import Path
from typing import Any

import torch

from tools.build.notebooks import ROOT
from tools.build.stubs import LessonError
from tools.experiments import page
from tools.experiments.declared import EXPERIMENTS, Experiment

PAGE = ROOT / "docs" / "experiments.md"


def measure(experiment: Experiment, seed: int, settings: dict[str, Any]) -> dict:
    """One row: what the experiment found with this seed, and how long it took."""
    start = time.perf_counter()
    row = experiment.run(seed, **settings)
    return row | {"seed": seed, "seconds": time.perf_counter() - start}


def setting(text: str) -> tuple[str, Any]:
    """The name and the value in `d_model=128`."""
    name, equals, value = text.partition("=")
    if not (name.isidentifier() and equals):
        raise argparse.ArgumentTypeError(f"{text!r} should be NAME=VALUE.")
    try:
        return name, ast.literal_eval(value)
    except (SyntaxError, ValueError):
        return name, value


def main(arguments: list[str] | None = None, file: Path = PAGE) -> int:
    """Run an experiment; returns 1 if a seed does not give what is claimed."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.experiments",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("name", nargs="?", choices=EXPERIMENTS, metavar="NAME")
    parser.add_argument("--seeds", nargs="+", type=int, help="or folds, in lesson 09")
    parser.add_argument("--set", nargs="+", type=setting, default=[], dest="settings")
    options = parser.parse_args(arguments)
    if options.name is None:
        for one in EXPERIMENTS.values():
            print(f"{one.name:12} lesson {one.lesson:02}: {one.claim}")
        return 0
    experiment, settings = EXPERIMENTS[options.name], dict(options.settings)
    try:
        inspect.signature(experiment.run).bind(0, **settings)
    except TypeError as error:
        print(f"{experiment.name}: {error}.", file=sys.stderr)
        return 2
    torch.set_num_threads(1)
    rows = []
    for seed in options.seeds or experiment.seeds:
        try:
            rows.append(measure(experiment, seed, settings))
        except LessonError as error:
            print(error, file=sys.stderr)
            return 2
        shown = ", ".join(
            f"{name} {experiment.form.format(rows[-1][name])}"
            for name in experiment.columns
        )
        held = "as asserted" if rows[-1]["held"] else "NOT as asserted"
        print(f"{experiment.over} {seed}: {shown}; {held}", flush=True)
    found = page.table(experiment, rows, settings)
    if settings:
        print(found)
    else:
        old = file.read_text("utf-8") if file.exists() else ""
        results = page.measured(old) | {experiment.name: found}
        file.write_text(page.page(results), "utf-8")
        print(f"Wrote {file.name}.")
    return 0 if all(row["held"] for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
