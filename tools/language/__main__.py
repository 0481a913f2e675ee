"""The little language: `python -m tools.language draw` and `... train`.

    python -m tools.language draw --language fr --count 200 --seed 5   pairs to be read
    python -m tools.language train --language de                       bundled weights

`train` writes the weights into helpers/corpora/language/weights, with their sha256 and
their scores in translators.json. It takes some minutes on one core.
"""

import argparse
import sys
import time
from pathlib import Path

import torch

from helpers.corpora.language.pairs import languages, sentence_pairs
from helpers.experiments import language
from helpers.experiments.bundled import FOLDER, save_translator

SETTINGS = {"count": 60_000, "steps": 1800, "peak": 0.006, "d_model": 64, "seed": 0}


def draw(code: str, count: int, seed: int) -> None:
    """Print drawn pairs, to be read by somebody who speaks both languages."""
    for number, pair in enumerate(sentence_pairs(code, count, seed), 1):
        print(f"{number}. {pair.source} | {pair.target}")


def train(code: str, folder: Path = FOLDER, **changed: float) -> dict:
    """Train a translator on the whole language, write it, and return its scores."""
    settings = SETTINGS | changed
    task = language.language_task(code, "all", settings["count"])
    torch.manual_seed(settings["seed"])
    model = language.new_translator(task, settings["d_model"])
    start = time.process_time()
    rest = (settings["steps"], settings["seed"], settings["peak"])
    language.teach(model, task, *rest, name=f"translator {code}")
    seconds = time.process_time() - start
    about = settings | {"processor seconds": round(seconds)}
    about |= language.scores(model, task)
    save_translator(model, task, about, folder)
    return about


def main(arguments: list[str] | None = None) -> int:
    """Draw or train; see the top of this file."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.language",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("work", choices=("draw", "train"))
    parser.add_argument("--language", choices=languages(), default="de")
    parser.add_argument("--count", type=int, default=25, help="pairs to draw")
    parser.add_argument("--seed", type=int, default=0, help="of the draw")
    options = parser.parse_args(arguments)
    if options.work == "draw":
        draw(options.language, options.count, options.seed)
        return 0
    torch.set_num_threads(1)
    for name, value in train(options.language).items():
        print(f"{name}: {value}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
