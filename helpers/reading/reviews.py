"""The reviews of lesson 09: bundled or from the Hub, and as batches of token ids.

With COURSE_SOURCE=hub, `load` means `Yelp/yelp_review_full` and the encoder means
`bert-base-cased`; everything else stays the same.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, Sampler

from helpers import pretrained
from helpers.corpora.reviews import FOLDS, STARS, load_reviews
from helpers.reading import own_reviews
from helpers.reading.own_reviews import ReviewsError

HUB = "Yelp/yelp_review_full"
SOME = 1000  # reviews of each split that are used of the Hub's 700,000
NO_LABEL = "use the bundled reviews: unset COURSE_SOURCE"


def load(fold: int = 0, own: str | Path | None = None) -> Any:
    """The reviews, columns `label` (0 to 4) and `text`, splits "train" and "test".

    Args:
        fold: which fifth of the bundled reviews, or of your own, is the test split
        own: a CSV file with the columns `label` and `text`, to be used instead

    Returns:
        A `datasets.DatasetDict`; from the Hub 1,000 reviews of each split, chosen
        before anything is done to them.

    Raises:
        ReviewsError: They are to come from the Hub, or from a file, and can't.
        ValueError: The fold does not exist.
    """
    if own is not None:
        if fold not in range(FOLDS):
            raise ValueError(f"fold={fold} does not exist: choose 0 to {FOLDS - 1}.")
        return own_reviews.split(own_reviews.read(own), fold)
    if pretrained.source() == "bundled":
        return load_reviews(fold)
    return _from_hub(_cached() or _fetched())


def stars(label: int) -> str:
    """The name of a label, such as "3 stars"."""
    return STARS[label]


# --- the Hub --------------------------------------------------------------------------


def _cached() -> Path | None:
    """The data set in the Hub's local cache, if both splits are there."""
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import LocalEntryNotFoundError

    try:
        folder = snapshot_download(HUB, repo_type="dataset", local_files_only=True)
    except LocalEntryNotFoundError:
        return None
    return Path(folder) if all(_files(Path(folder)).values()) else None


def _files(folder: Path) -> dict[str, list[str]]:
    """Split -> its Parquet files."""
    return {
        split: sorted(map(str, folder.rglob(f"{split}-*.parquet")))
        for split in ("train", "test")
    }


def _fetched() -> Path:
    """Download the data set, or say in one sentence why that does not work."""
    from huggingface_hub import constants, snapshot_download
    from huggingface_hub.utils import (
        are_progress_bars_disabled,
        disable_progress_bars,
        enable_progress_bars,
    )

    if constants.HF_HUB_OFFLINE:
        raise ReviewsError(
            f"{HUB} is not on this machine, and HF_HUB_OFFLINE forbids fetching it: "
            f"unset that once with a network, or {NO_LABEL}."
        )
    if not pretrained.reachable(constants.ENDPOINT):
        raise ReviewsError(
            f"{HUB} is not on this machine, and {constants.ENDPOINT} did not answer "
            f"within {pretrained.PROBE} s: go online and run this again, or {NO_LABEL}."
        )
    bars = not are_progress_bars_disabled()
    disable_progress_bars()
    try:
        snapshot_download(HUB, repo_type="dataset", allow_patterns=["*.parquet"])
    except Exception as error:  # of five libraries, each with its own kinds
        reason = str(error).strip().split("\n")[0][:160]
        raise ReviewsError(
            f"Fetching {HUB} failed ({type(error).__name__}: {reason}): try again, or "
            f"{NO_LABEL}."
        ) from None
    finally:
        if bars:
            enable_progress_bars()
    if not (folder := _cached()):
        raise ReviewsError(f"{HUB} has no Parquet files any more: {NO_LABEL}.")
    return folder


def _from_hub(folder: Path) -> Any:
    """Choose first, then work: 1,000 rows of each split, in a fixed random order."""
    from datasets import load_dataset

    from helpers.corpora.reviews import _no_progress_bars

    with _no_progress_bars():
        whole = load_dataset("parquet", data_files=_files(folder))
        for split, rows in whole.items():
            count = min(SOME, len(rows))
            whole[split] = rows.shuffle(seed=42).select(range(count))
    return whole


# --- batches --------------------------------------------------------------------------


def encode(rows: Any, tokenizer: Any, longest: int = 512) -> list[dict]:
    """Token ids and label of each row; padding comes later, batch by batch.

    Args:
        rows: with columns `text` and `label`
        tokenizer: of the checkpoint
        longest: tokens; a longer review loses its end
    """
    texts, labels = list(rows["text"]), list(rows["label"])
    found = tokenizer(texts, truncation=True, max_length=longest)["input_ids"]
    return [
        {"ids": ids, "label": label} for ids, label in zip(found, labels, strict=True)
    ]


def pad_batch(rows: Sequence[dict]) -> dict[str, Tensor]:
    """Rows to the tensors that a model takes, padded to the longest of them.

    Args:
        rows: B rows with "ids" and "label", as `encode` makes them; in all or none of
            them "states" (T, D) of a lower layer, which then are read in place of ids

    Returns:
        "input_ids" (B, T), or "states" (B, T, D); "attention_mask" (B, T), 1 = a real
        token; "labels" (B).
    """
    width = max(len(row["ids"]) for row in rows)
    ids = torch.zeros(len(rows), width, dtype=torch.long)
    real = torch.zeros(len(rows), width, dtype=torch.long)
    for place, row in enumerate(rows):
        ids[place, : len(row["ids"])] = torch.tensor(row["ids"])
        real[place, : len(row["ids"])] = 1
    labels = torch.tensor([row["label"] for row in rows])
    read = {"input_ids": ids}
    if "states" in rows[0]:
        states = [row["states"] for row in rows]
        read = {"states": nn.utils.rnn.pad_sequence(states, batch_first=True)}
    return read | {"attention_mask": real, "labels": labels}


class SimilarLengths(Sampler):
    """Batches of rows of similar lengths, so that little is padded.

    Each epoch draws a new order. It is cut into stretches of eight batches; within a
    stretch the rows are sorted by length. Rows that do not fill a batch sit out one
    epoch.

    Args:
        lengths: of each row
        batch_size: rows per batch
        seed: another seed, other orders
        same_order: repeat the first epoch's order; for an experiment only
    """

    def __init__(
        self,
        lengths: Sequence[int],
        batch_size: int,
        seed: int = 0,
        same_order: bool = False,
    ) -> None:
        """Refuse rows that do not fill a single batch."""
        if len(lengths) < batch_size:
            raise ValueError(f"{len(lengths)} rows do not fill a batch of {batch_size}")
        self.lengths, self.batch_size, self.drop_last = lengths, batch_size, True
        self.seed, self.same_order, self.epochs = seed, same_order, 0

    def __len__(self) -> int:
        """Batches in an epoch."""
        return len(self.lengths) // self.batch_size

    def __iter__(self) -> Iterator[list[int]]:
        """The batches of one epoch."""
        draw = torch.Generator().manual_seed(1000 * self.seed + self.epochs)
        self.epochs += not self.same_order
        order = torch.randperm(len(self.lengths), generator=draw).tolist()
        order = order[: len(self) * self.batch_size]
        batches, stretch = [], 8 * self.batch_size
        for start in range(0, len(order), stretch):
            some = sorted(order[start : start + stretch], key=self.lengths.__getitem__)
            batches += [
                some[n : n + self.batch_size]
                for n in range(0, len(some), self.batch_size)
            ]
        for place in torch.randperm(len(batches), generator=draw).tolist():
            yield batches[place]


def training_batches(
    rows: Sequence[dict], batch_size: int, seed: int = 0, same_order: bool = False
) -> DataLoader:
    """A loader over encoded rows, one epoch each time it is iterated."""
    lengths = [len(row["ids"]) for row in rows]
    sampler = SimilarLengths(lengths, batch_size, seed, same_order)
    return DataLoader(rows, batch_sampler=sampler, collate_fn=pad_batch)


def in_order(rows: Sequence[dict], batch_size: int = 43) -> list[dict]:
    """All rows in their order, as batches."""
    starts = range(0, len(rows), batch_size)
    return [pad_batch(rows[start : start + batch_size]) for start in starts]
