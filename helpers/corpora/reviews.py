"""The bundled reviews with 1 to 5 stars, in the shape of `Yelp/yelp_review_full`."""

from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from datasets import (
    ClassLabel,
    DatasetDict,
    Features,
    Value,
    are_progress_bars_disabled,
    disable_progress_bars,
    enable_progress_bars,
    load_dataset,
)

from helpers.corpora.whole import whole

__all__ = ["FOLDS", "REVIEWS", "STARS", "load_reviews"]

REVIEWS = Path(__file__).with_name("reviews.csv")
FOLDS = 5
STARS = ["1 star", "2 stars", "3 stars", "4 stars", "5 stars"]


def load_reviews(fold: int = 0) -> DatasetDict:
    """Return the reviews, one fold for testing and the other four for training.

    The columns are those of `Yelp/yelp_review_full`, so the same cells work on both:
    `label` (0 to 4, a `ClassLabel` of 1 to 5 stars) and `text`. The rows stand in a
    fixed order in which every five neighbours have the five labels, so the first 5 n
    rows of a split are balanced. The data lie in memory: nothing is cached on disk.

    Args:
        fold: Which of the folds 0 to 4 is the test split; all are balanced.

    Returns:
        A `DatasetDict` with "train" (860 reviews) and "test" (215 reviews).

    Raises:
        ValueError: The fold does not exist.
    """
    if fold not in range(FOLDS):
        raise ValueError(f"fold={fold} does not exist: choose 0 to {FOLDS - 1}.")
    columns = {
        "label": ClassLabel(names=STARS),
        "text": Value("string"),
        "fold": Value("int64"),
    }
    with TemporaryDirectory() as cache, _no_progress_bars():
        table = load_dataset(
            "csv",
            data_files=str(whole(REVIEWS)),
            features=Features(columns),
            split="train",
            cache_dir=cache,
            keep_in_memory=True,
        )
    folds = table["fold"]
    table = table.remove_columns("fold")
    train = [row for row, number in enumerate(folds) if number != fold]
    test = [row for row, number in enumerate(folds) if number == fold]
    return DatasetDict(train=table.select(train), test=table.select(test))


@contextmanager
def _no_progress_bars():
    """Keep `datasets` from drawing to stderr, and restore what was set before."""
    were_disabled = are_progress_bars_disabled()
    disable_progress_bars()
    try:
        yield
    finally:
        if not were_disabled:
            enable_progress_bars()
