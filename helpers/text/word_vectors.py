"""Real word vectors in spaCy: rows of the bundled encoder's embedding table.

    nlp = load()
    nlp("king").vector            # (384,)
    words, vectors = whole_words(nlp)

spaCy's own `en_core_web_lg` takes their place where it is installed, and is asked for
by COURSE_SOURCE=hub; COURSE_SOURCE=bundled keeps to the bundled table.
"""

import importlib.util
import json
import os
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from helpers import pretrained

if TYPE_CHECKING:
    from spacy.language import Language

LARGE = "en_core_web_lg"
TABLE = "embeddings.word_embeddings.weight"


def load() -> "Language":
    """A spaCy pipeline for English whose words have vectors.

    Raises:
        CheckpointError: COURSE_SOURCE asks for what is not installed, or is unknown.
    """
    wanted = pretrained.source()
    installed = importlib.util.find_spec(LARGE) is not None
    if wanted == "hub" and not installed:
        raise pretrained.CheckpointError(
            f"{LARGE} is not installed: run `python -m spacy download {LARGE}` once "
            "with a network, or unset COURSE_SOURCE to use the bundled vectors."
        )
    if installed and (wanted == "hub" or "COURSE_SOURCE" not in os.environ):
        return _large()
    return _bundled(pretrained.path("encoder"))


def is_bundled(nlp: "Language") -> bool:
    """Whether these are the course's own vectors, about which it states facts."""
    return nlp.meta["vectors"]["name"] == TABLE


def whole_words(nlp: "Language") -> tuple[list[str], Tensor]:
    """All words in plain lower-case letters, a to z, two or more of them.

    Args:
        nlp: a pipeline with vectors

    Returns:
        The n words, and their vectors (n, D); a word whose vector is zero is left out.
    """
    table, strings = nlp.vocab.vectors, nlp.vocab.strings
    rows = {strings[key]: row for key, row in table.key2row.items()}
    found = {word: row for word, row in sorted(rows.items()) if _plain(word)}
    vectors = torch.from_numpy(np.asarray(table.data)[list(found.values())])
    real = vectors.any(-1)
    words = [word for word, keep in zip(found, real.tolist(), strict=True) if keep]
    return words, vectors[real]


def word_vectors(words: Sequence[str]) -> Tensor:
    """The vector of each word.

    Args:
        words: n words

    Returns:
        (n, D) in float32.

    Raises:
        ValueError: A word has no vector of its own.
    """
    vocab = load().vocab
    unknown = [word for word in words if not vocab.has_vector(word)]
    if unknown:
        raise ValueError(
            f"no vector for {', '.join(map(repr, unknown))}: the table holds common "
            "words as a whole and cuts the others into pieces. Try another word."
        )
    return torch.from_numpy(np.stack([vocab.get_vector(word) for word in words]))


def cosine_similarity(u: Tensor, V: Tensor) -> Tensor:
    """Cosine of the angle between one vector and each row of a table.

    Args:
        u: (D,)
        V: (n, D)

    Returns:
        (n,), from -1 to 1.
    """
    return torch.nn.functional.cosine_similarity(u, V, dim=-1)


def nearest(word: str, k: int, words: Sequence[str], vectors: Tensor) -> list[str]:
    """The k words most similar to a word by cosine, the most similar first.

    Args:
        word: one of `words`; not part of the result
        k: how many
        words: n words
        vectors: (n, D), their vectors
    """
    return _closest(vectors[words.index(word)], k, words, vectors, {word})


def analogy(a: str, b: str, c: str, words: Sequence[str], vectors: Tensor) -> str:
    """The word that is to c as b is to a: the nearest one to b - a + c by cosine.

    Args:
        a: one of `words`; like b and c it can't be the answer
        b: one of `words`
        c: one of `words`
        words: n words
        vectors: (n, D), their vectors

    Source: Mikolov et al. 2013 (arXiv 1301.3781).
    """
    at_a, at_b, at_c = (vectors[words.index(word)] for word in (a, b, c))
    return _closest(at_b - at_a + at_c, 1, words, vectors, {a, b, c})[0]


def _closest(
    target: Tensor, k: int, words: Sequence[str], vectors: Tensor, without: set[str]
) -> list[str]:
    similarity = cosine_similarity(target, vectors)
    best = similarity.topk(min(k + len(without), len(words))).indices.tolist()
    return [words[row] for row in best if words[row] not in without][:k]


def mystery_tables() -> dict[str, Tensor]:
    """Three tables (300, D) for exercise 1.H; only one of them was trained."""
    draw = torch.Generator().manual_seed(0)
    _, vectors = whole_words(load())
    chosen = torch.randperm(len(vectors), generator=draw)[:300]
    untrained = torch.randn(300, vectors.shape[1], generator=draw)
    steps = torch.arange(300.0)[:, None] + torch.arange(vectors.shape[1])
    return {"A": untrained, "B": (steps + 1) / 10, "C": vectors[chosen]}


def _plain(word: str) -> bool:
    return len(word) > 1 and word.isascii() and word.isalpha() and word.islower()


@cache
def _large() -> "Language":
    import spacy

    return spacy.load(LARGE)


@cache
def _bundled(folder: str) -> "Language":
    """A blank English pipeline with a vector for each whole word of the vocabulary."""
    import spacy
    from safetensors import safe_open
    from spacy.vectors import Vectors

    tokenizer = json.loads(Path(folder, "tokenizer.json").read_text("utf-8"))
    tokens = sorted(tokenizer["model"]["vocab"].items(), key=lambda entry: entry[1])
    rows = {token: row for token, row in tokens if token.isalpha()}
    with safe_open(Path(folder, "model.safetensors"), framework="np") as checkpoint:
        table = checkpoint.get_tensor(TABLE)[list(rows.values())]
    nlp = spacy.blank("en")
    keys = [nlp.vocab.strings.add(word) for word in rows]
    vectors = Vectors(strings=nlp.vocab.strings, data=table, keys=keys, name=TABLE)
    for row, word in enumerate(rows):  # the checkpoint knows no capital letters
        vectors.add(nlp.vocab.strings.add(word.capitalize()), row=row)
    nlp.vocab.vectors = vectors
    return nlp
