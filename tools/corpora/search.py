"""Check the bundled sentences and anything else that is judged by sentence vectors.

The checks follow the rule of `tools.corpora`: data in, a list of problems out.
"""

from collections import Counter

import numpy as np
import torch
from sklearn.feature_extraction.text import TfidfVectorizer
from transformers import AutoModel, AutoTokenizer

from helpers import pretrained

NEAR_DUPLICATE = 0.92  # cosine of two sentence vectors


def repeated(items) -> list:
    """Return the items that occur more than once."""
    return [item for item, count in Counter(items).items() if count > 1]


class Encoder:
    """The bundled encoder: one vector of length 1 for a text."""

    def __init__(self):
        folder = str(pretrained.bundled("encoder"))
        self.tokenizer = AutoTokenizer.from_pretrained(folder)
        self.model = AutoModel.from_pretrained(folder).eval()

    @torch.inference_mode()
    def __call__(
        self, texts: list[str], tokens: int = 256, batch: int = 8
    ) -> np.ndarray:
        """Return the mean of the last hidden states at real tokens, (texts, 384).

        Args:
            texts: What to encode.
            tokens: How many tokens of a text are read, at most.
            batch: How many texts go through the model at once.
        """
        order = sorted(range(len(texts)), key=lambda i: len(texts[i]))  # less padding
        vectors = np.empty((len(texts), self.model.config.hidden_size), dtype="float32")
        for start in range(0, len(order), batch):
            chosen = order[start : start + batch]
            inputs = self.tokenizer(
                [texts[i] for i in chosen],
                padding=True,
                truncation=True,
                max_length=tokens,
                return_tensors="pt",
            )
            states = self.model(**inputs).last_hidden_state  # (B, T, D)
            real = inputs["attention_mask"].unsqueeze(-1)  # (B, T, 1)
            mean = (states * real).sum(1) / real.sum(1)  # (B, D)
            vectors[chosen] = torch.nn.functional.normalize(mean, dim=-1).numpy()
        return vectors


def closest(vectors: np.ndarray) -> tuple[float, int, int]:
    """Return the largest cosine of two different rows, and the rows."""
    cosines = np.triu(vectors @ vectors.T, k=1)
    first, second = np.unravel_index(cosines.argmax(), cosines.shape)
    return float(cosines[first, second]), int(first), int(second)


def near_duplicates(vectors: np.ndarray) -> list[str]:
    """No two texts have sentence vectors with a cosine of 0.92 or more."""
    cosine, first, second = closest(vectors)
    same = cosine >= NEAR_DUPLICATE
    return [f"texts {first} and {second}: cosine {cosine:.3f}"] * same


def sentence_form(sentences: list[str]) -> list[str]:
    """At least 300 different sentences of 8 to 16 words."""
    wrong = [s for s in sentences if not 8 <= len(s.split()) <= 16]
    few = [f"{len(sentences)} sentences, not 300"] * (len(sentences) < 300)
    return few + [f"length: {s}" for s in wrong] + repeated(map(str.lower, sentences))


def search_margins(scores: np.ndarray, right: list[int]) -> np.ndarray:
    """Return, for each query, the right sentence's score minus the best other one.

    Args:
        scores: One row per query, one column per sentence.
        right: The column that should come first, for each query.
    """
    rows, others = np.arange(len(right)), scores.copy()
    others[rows, right] = -np.inf
    return scores[rows, right] - others.max(axis=1)


def search_success(scores: np.ndarray, right: list[int]) -> list[str]:
    """The encoder puts the right sentence first, at least 0.03 before the second."""
    margins = search_margins(scores, right)
    return [f"query {i}: {m:+.3f}" for i, m in enumerate(margins) if m < 0.03]


def search_needs_meaning(scores: np.ndarray, right: list[int]) -> list[str]:
    """Shared words alone (TF-IDF) find fewer than half of the right sentences."""
    hits = int((search_margins(scores, right) > 0).sum())
    return [f"TF-IDF finds {hits} of {len(right)}"] * (2 * hits >= len(right))


def keyword_scores(queries: list[str], sentences: list[str]) -> np.ndarray:
    """Return the TF-IDF cosine of every query with every sentence."""
    vectorizer = TfidfVectorizer().fit(sentences)
    return (vectorizer.transform(queries) @ vectorizer.transform(sentences).T).toarray()
