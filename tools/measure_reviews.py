"""Fine-tune on each of the five folds, beside the bags of words.

    python -m tools.measure_reviews                 all of it, about 15 minutes
    python -m tools.measure_reviews baselines       without fine-tuning, seconds
    python -m tools.measure_reviews folds 0 1       fine-tuning on these folds alone

Every review is in the test split of one fold, so the folds pool to 1,075 answers of
each classifier, and the gap to the best bag has a paired standard error. The recipe was
chosen on fold 4, so the pool without it is printed, too.
"""

import argparse
import json
import sys
import time
from pathlib import Path

import numpy as np
import torch

from helpers.corpora.reviews import FOLDS
from helpers.pretrained import load_tokenizer
from helpers.reading import baselines, fine_tuning, reviews
from tools.build.notebooks import ROOT

KEPT = ROOT / "build" / "reviews.json"  # answers per fold, so that it can be resumed
CHOSEN_ON = 4


def bags() -> dict[str, list[list[bool]]]:
    """Name -> per fold, which test reviews a baseline gets right."""
    found: dict[str, list] = {"keywords": []} | {name: [] for name in baselines.BAGS}
    for fold in range(FOLDS):
        split = reviews.load(fold)
        found["keywords"].append(baselines.keywords_right(split["test"]).tolist())
        for name in baselines.BAGS:
            answers = baselines.right(name, split["train"], split["test"])
            found[name].append(answers.tolist())
    return found


def fine_tuned(fold: int) -> tuple[list[bool], fine_tuning.Scores]:
    """Which test reviews of a fold the fine-tuned encoder gets right; its scores."""
    split, tokenizer = reviews.load(fold), load_tokenizer()
    model = fine_tuning.load_classifier()
    fine_tuning.fine_tune(model, reviews.encode(split["train"], tokenizer))
    batches = reviews.in_order(reviews.encode(split["test"], tokenizer))
    logits, labels = fine_tuning.logits_of(model, batches)
    right = (logits.argmax(-1) == labels).tolist()
    return right, fine_tuning.scores(logits, labels)


def gap(ours: list[bool], theirs: list[bool]) -> tuple[float, float]:
    """Difference in accuracy on the same reviews, and its standard error."""
    apart = np.array(ours, float) - np.array(theirs, float)
    return apart.mean(), apart.std(ddof=1) / len(apart) ** 0.5


def report(found: dict[str, list[list[bool]]], ours: dict[int, list[bool]]) -> float:
    """Print what was measured; returns the pooled gap to the best bag."""
    for name, folds in found.items():
        each = " ".join(f"{np.mean(fold):6.1%}" for fold in folds)
        print(f"{name:32} {np.mean(sum(folds, [])):6.1%}   {each}")
    if not ours:
        return 0.0
    each = " ".join(f"{np.mean(ours[fold]):6.1%}" for fold in sorted(ours))
    print(f"{'fine-tuned':32} {np.mean(sum(ours.values(), [])):6.1%}   {each}")
    best = max(found, key=lambda name: np.mean(sum(found[name], [])))
    untouched = [fold for fold in sorted(ours) if fold != CHOSEN_ON]
    gaps = []
    for name, folds in (("all", sorted(ours)), (f"without {CHOSEN_ON}", untouched)):
        mine = sum((ours[fold] for fold in folds), [])
        apart, error = gap(mine, sum((found[best][fold] for fold in folds), []))
        print(
            f"gap to {best!r}, folds {name}: {100 * apart:.1f} points, standard error "
            f"{100 * error:.1f} ({len(mine)} reviews)"
        )
        gaps.append(apart)
    return gaps[0]


def main(arguments: list[str] | None = None) -> int:
    """Print baselines, folds and gap; returns 1 if the gap is under 8 points."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.measure_reviews",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("what", nargs="?", choices=("baselines", "folds"))
    parser.add_argument("fold", nargs="*", type=int, default=list(range(FOLDS)))
    parser.add_argument("--keep", type=Path, default=KEPT, help="file of the answers")
    options = parser.parse_args(arguments)
    torch.set_num_threads(1)
    ours: dict[int, list[bool]] = {}
    if options.keep.exists():
        kept = json.loads(options.keep.read_text())
        ours = {int(fold): right for fold, right in kept.items()}
    for fold in [] if options.what == "baselines" else options.fold:
        wall, cpu = time.perf_counter(), time.process_time()
        if fold not in ours:
            ours[fold], scored = fine_tuned(fold)
            print(
                f"fold {fold}: {scored}; {time.perf_counter() - wall:.0f} s, of these "
                f"{time.process_time() - cpu:.0f} s on the processor",
                flush=True,
            )
            options.keep.parent.mkdir(parents=True, exist_ok=True)
            options.keep.write_text(json.dumps(ours))
    return int(report(bags(), ours) < 0.08) if ours else int(report(bags(), {}))


if __name__ == "__main__":
    sys.exit(main())
