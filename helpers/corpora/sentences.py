"""Everyday sentences and search queries, for semantic search."""

import csv
from pathlib import Path

from helpers.corpora.whole import whole

__all__ = ["QUERIES", "SENTENCES", "load_queries", "load_sentences"]

SENTENCES = Path(__file__).with_name("sentences.csv")
QUERIES = Path(__file__).with_name("queries.csv")


def load_sentences() -> list[str]:
    """Return the 320 everyday sentences, 16 on each of 20 topics, in a fixed order."""
    return [row["text"] for row in _rows(SENTENCES)]


def load_queries() -> list[tuple[str, str]]:
    """Return 20 pairs (query, the sentence that a good search puts first)."""
    return [(row["query"], row["answer"]) for row in _rows(QUERIES)]


def _rows(path: Path) -> list[dict[str, str]]:
    """Return the rows of a table with one header line."""
    with whole(path).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))
