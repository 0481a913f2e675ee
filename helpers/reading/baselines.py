"""What a classifier of reviews has to beat: rules and bags of words."""

import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

PRAISE = "good great lovely best perfect delicious friendly excellent happy love"
BLAME = "bad awful worst terrible rude dirty broken never cold poor"


def words_of(text: str) -> list[str]:
    """The words of a text in small letters, without digits and punctuation."""
    return re.findall(r"[a-z']+", text.lower())


def by_keywords(text: str) -> int:
    """Stars, as a label from 0 to 4: three, one more per praise, one less per blame."""
    good, bad = PRAISE.split(), BLAME.split()
    mood = sum((word in good) - (word in bad) for word in words_of(text))
    return min(4, max(0, 2 + mood))


def stop_words() -> set[str]:
    """The 326 English stop words of spaCy."""
    from spacy.lang.en.stop_words import STOP_WORDS

    return set(STOP_WORDS)


def _counts(without: Sequence[str] | None = None) -> Any:
    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    words = CountVectorizer(stop_words=without)
    return make_pipeline(words, LogisticRegression(max_iter=1000))


def _weighted(longest: int = 1, strength: float = 1.0) -> Any:
    """TF-IDF of words, and of pairs of neighbours with `longest=2`."""
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    words = TfidfVectorizer(ngram_range=(1, longest), sublinear_tf=longest > 1)
    return make_pipeline(words, LogisticRegression(C=strength, max_iter=1000))


# Name -> makes an untrained classifier of scikit-learn.
BAGS: dict[str, Callable[[], Any]] = {
    "word counts": _counts,
    "word counts without stop words": lambda: _counts(_cut_as_the_counter_does()),
    "TF-IDF": _weighted,
    "TF-IDF of words and pairs": lambda: _weighted(2, 10.0),
}


def _cut_as_the_counter_does() -> list[str]:
    """Stop words as scikit-learn cuts texts: "n't" is not a word."""
    pieces = (re.findall(r"(?u)\b\w\w+\b", word) for word in stop_words())
    return sorted({word for some in pieces for word in some})


def keywords_right(test: Any) -> np.ndarray:
    """Which rows of the test split the keyword rule gets right."""
    guesses = np.array([by_keywords(text) for text in test["text"]])
    return guesses == np.array(test["label"])


def right(name: str, train: Any, test: Any) -> np.ndarray:
    """Which rows of the test split a bag of words gets right, as booleans.

    Args:
        name: in `BAGS`
        train: split with columns `text` and `label`
        test: likewise
    """
    model = BAGS[name]().fit(list(train["text"]), list(train["label"]))
    return model.predict(list(test["text"])) == np.array(test["label"])


def pooled(names: Sequence[str], splits: Sequence[Any]) -> dict[str, np.ndarray]:
    """Which reviews each bag gets right where every review is tested once.

    Args:
        names: in `BAGS`
        splits: one for each fold, with "train" and "test"

    Returns:
        Name -> booleans, fold after fold.
    """
    return {
        name: np.concatenate([right(name, one["train"], one["test"]) for one in splits])
        for name in names
    }
