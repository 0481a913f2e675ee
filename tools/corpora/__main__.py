"""Check the bundled texts and print the numbers that their data cards state.

``python -m tools.corpora`` after a change to a text. A check takes the data as its
argument and returns a list of problems, empty where all is well; the tests run every
check on the bundled data, where it must be silent, and on damaged copies.
"""

import csv
import re
import sys
from collections import Counter

import numpy as np
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from helpers.corpora.reviews import FOLDS, REVIEWS, STARS
from helpers.corpora.sentences import load_queries, load_sentences
from helpers.corpora.sonnets import load_text
from tools.corpora.search import (
    Encoder,
    closest,
    keyword_scores,
    near_duplicates,
    repeated,
    search_margins,
    search_needs_meaning,
    search_success,
    sentence_form,
)


def words(text: str) -> list[str]:
    """Return the words of a text in lower case, without punctuation."""
    return re.findall(r"[\w']+", text.lower())


# --- sonnets --------------------------------------------------------------------------


def sonnet_form(text: str) -> list[str]:
    """At least 150 poems of exactly 14 lines, one empty line between them."""
    poems = text.rstrip("\n").split("\n\n")
    counts = [len([line for line in p.split("\n") if line.strip()]) for p in poems]
    wrong = [f"poem {i} has {n} lines" for i, n in enumerate(counts) if n != 14]
    return wrong + [f"{len(poems)} poems, not 150"] * (len(poems) < 150)


def sonnet_size(text: str) -> list[str]:
    """At least 94,000 characters, at most 61 different ones."""
    short = [f"{len(text):,} characters"] * (len(text) < 94_000)
    kinds = len(set(text))
    return short + [f"{kinds} different characters, not 61"] * (kinds > 61)


def sonnet_lines(text: str) -> list[str]:
    """No line occurs twice, whatever its case and punctuation."""
    lines = [" ".join(words(line)) for line in text.split("\n") if line.strip()]
    return [f"repeated line: {line}" for line in repeated(lines)]


# --- reviews --------------------------------------------------------------------------


def read_reviews() -> list[dict]:
    """Return the rows of reviews.csv with `label` and `fold` as numbers."""
    with REVIEWS.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    return [row | {k: int(row[k]) for k in ("label", "fold")} for row in rows]


def review_balance(rows: list[dict]) -> list[str]:
    """At least 1,000 reviews, every label equally often in every fold."""
    cells = Counter((row["fold"], row["label"]) for row in rows)
    wanted = {(fold, label) for fold in range(FOLDS) for label in range(len(STARS))}
    few = [f"{len(rows)} reviews, not 1,000"] * (len(rows) < 1_000)
    even = cells.keys() == wanted and len(set(cells.values())) == 1
    return few + [f"labels by fold: {sorted(cells.items())}"] * (not even)


def review_lengths(rows: list[dict]) -> list[str]:
    """Every review has 20 to 80 words."""
    counts = [len(row["text"].split()) for row in rows]
    return [f"row {i}: {n} words" for i, n in enumerate(counts) if not 20 <= n <= 80]


def review_vocabulary(rows: list[dict]) -> list[str]:
    """The reviews use at least 5,000 different words."""
    count = len({word for row in rows for word in words(row["text"])})
    return [f"{count:,} different words, not 5,000"] * (count < 5_000)


def review_runs(rows: list[dict]) -> list[str]:
    """No two reviews share a run of eight words."""
    runs = []
    for row in rows:
        text = words(row["text"])
        runs += {" ".join(text[i : i + 8]) for i in range(len(text) - 7)}
    return [f"shared run: {run}" for run in repeated(runs)]


def bag_of_words_accuracies(rows: list[dict]) -> list[float]:
    """Return the accuracy on each fold of word counts with logistic regression."""
    texts = np.array([row["text"] for row in rows], dtype=object)
    labels, folds = (np.array([row[key] for row in rows]) for key in ("label", "fold"))
    accuracies = []
    for fold in range(FOLDS):
        test = folds == fold
        model = make_pipeline(CountVectorizer(), LogisticRegression(max_iter=1_000))
        model.fit(texts[~test], labels[~test])
        accuracies.append(float(model.score(texts[test], labels[test])))
    return accuracies


def review_difficulty(rows: list[dict]) -> list[str]:
    """A bag of words reads the stars well above chance and well below solved."""
    mean = float(np.mean(bag_of_words_accuracies(rows)))
    return [f"bag of words: {mean:.1%}, not 40 % to 70 %"] * (not 0.4 <= mean <= 0.7)


# --- the report -----------------------------------------------------------------------


def report_sonnets(text: str) -> list[str]:
    """Print what the card of the sonnets states; return the problems."""
    poems, kinds = text.rstrip("\n").split("\n\n"), len(set(text))
    print(f"sonnets    {len(poems)}; {len(text):,} characters, {kinds} different")
    return sonnet_form(text) + sonnet_size(text) + sonnet_lines(text)


def report_reviews(rows: list[dict], vectors: np.ndarray) -> list[str]:
    """Print what the card of the reviews states; return the problems."""
    counts = [len(row["text"].split()) for row in rows]
    kinds = len({word for row in rows for word in words(row["text"])})
    accuracies = bag_of_words_accuracies(rows)
    each = ", ".join(f"{accuracy:.1%}" for accuracy in accuracies)
    print(f"reviews    {len(rows):,}; {min(counts)} to {max(counts)} words,", end=" ")
    print(f"mean {np.mean(counts):.1f}; {kinds:,} different words")
    print(f"           bag of words {np.mean(accuracies):.1%} ({each})")
    cosine, first, second = closest(vectors)
    print(f"           closest pair {cosine:.3f} (rows {first} and {second} from 0)")
    checks = (review_balance, review_lengths, review_vocabulary, review_runs)
    problems = [problem for check in checks for problem in check(rows)]
    return problems + review_difficulty(rows) + near_duplicates(vectors)


def report_search(encode: Encoder) -> list[str]:
    """Print what the card of the sentences states; return the problems."""
    sentences, pairs = load_sentences(), load_queries()
    queries = [query for query, _ in pairs]
    right = [sentences.index(answer) for _, answer in pairs]
    vectors, keywords = encode(sentences), keyword_scores(queries, sentences)
    scores = encode(queries) @ vectors.T
    margins, hits = search_margins(scores, right), search_margins(keywords, right) > 0
    print(f"sentences  {len(sentences)}; closest pair {closest(vectors)[0]:.3f}")
    print(f"queries    {len(queries)}; encoder {(margins > 0).sum()} right,", end=" ")
    print(f"smallest margin {margins.min():.3f}; TF-IDF {hits.sum()} right")
    problems = sentence_form(sentences) + near_duplicates(vectors)
    problems += search_success(scores, right) + search_needs_meaning(keywords, right)
    return problems


def main() -> int:
    """Report on all bundled texts; return 1 if there is a problem."""
    encode, rows = Encoder(), read_reviews()
    problems = report_sonnets(load_text())
    problems += report_reviews(rows, encode([row["text"] for row in rows]))
    problems += report_search(encode)
    print("\n".join(problems) or "No problems.")
    return bool(problems)


if __name__ == "__main__":
    sys.exit(main())
