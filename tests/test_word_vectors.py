"""Real word vectors: rows of the checkpoint, in spaCy; neighbours; the switch."""

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from helpers import pretrained
from helpers.text import word_vectors
from helpers.text.word_vectors import analogy, nearest, whole_words

pytestmark = pytest.mark.lesson("01")
SMALL = ["good", "better", "bad", "worse", "table", "long"]
ROWS = torch.tensor(
    [[1.0, 0, 0], [1, 1, 0], [0, 0, 2], [0, 1, 2], [-1, 0, 0], [2, 9, 0]]
)


@pytest.fixture(autouse=True)
def bundled(monkeypatch):
    monkeypatch.setenv("COURSE_SOURCE", "bundled")


def pipeline(words):
    """A stand-in for `en_core_web_lg`: words of all kinds, 3 numbers each."""
    import spacy
    from spacy.vectors import Vectors

    nlp = spacy.blank("en")
    keys = [nlp.vocab.strings.add(word) for word in words]
    data = np.arange(3.0 * len(words), dtype="float32").reshape(-1, 3)
    nlp.vocab.vectors = Vectors(strings=nlp.vocab.strings, data=data, keys=keys)
    return nlp


def test_vectors_are_the_rows_of_the_checkpoint():
    model = pretrained.load_encoder()
    tokenizer = pretrained.load_tokenizer()
    words = ["king", "queen", "swimming", "paris"]
    rows = model.get_input_embeddings()(
        torch.tensor(tokenizer.convert_tokens_to_ids(words))
    )
    assert torch.equal(word_vectors.word_vectors(words), rows.detach())


def test_capital_letters_name_the_same_row():
    assert torch.equal(*word_vectors.word_vectors(["Paris", "paris"]))


def test_a_word_without_a_row_is_refused_by_name():
    with pytest.raises(ValueError, match="no vector for 'transformer', 'Megatron'"):
        word_vectors.word_vectors(["transformer", "dog", "Megatron"])


def test_whole_words_are_plain_sorted_and_their_own_rows():
    words, vectors = whole_words(word_vectors.load())
    assert len(words) == len(set(words)) == len(vectors) == 21_719
    assert words == sorted(words) and all(
        word.isascii() and word.isalpha() and word.islower() for word in words
    )
    assert torch.equal(
        vectors[words.index("dog")], word_vectors.word_vectors(["dog"])[0]
    )
    assert vectors.any(1).all()


def test_whole_words_of_a_foreign_pipeline():
    nlp = pipeline(["Paris", "zero", "dog", "x", "don't", "naïve", "42", "cat"])
    nlp.vocab.vectors.data[1] = 0.0
    words, vectors = whole_words(nlp)
    assert words == ["cat", "dog"]
    assert vectors.tolist() == [[21, 22, 23], [6, 7, 8]]


def test_neighbours_by_angle_not_by_length():
    ranked = nearest("good", 5, SMALL, ROWS)
    assert ranked[:2] == ["better", "long"] and ranked[-1] == "table"
    assert nearest("bad", 1, SMALL, ROWS) == ["worse"]
    assert len(nearest("bad", 9, SMALL, ROWS)) == 5


def test_an_analogy_never_answers_with_what_was_asked():
    assert analogy("good", "better", "bad", SMALL, ROWS) == "worse"
    assert analogy("good", "good", "bad", SMALL, ROWS) == "worse"


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ("man king woman", "queen"),
        ("france paris germany", "berlin"),
        ("man woman brother", "sister"),
        ("run running swim", "swimming"),
        ("france paris spain", "barcelona"),  # the one that misses
    ],
)
def test_analogies_of_real_words(asked, expected):
    words, vectors = whole_words(word_vectors.load())
    assert analogy(*asked.split(), words, vectors) == expected


def test_only_one_mystery_table_is_trained():
    best = {}
    for name, table in word_vectors.mystery_tables().items():
        assert len(table) == 300
        rows = table / table.norm(dim=1, keepdim=True)
        best[name] = (rows @ rows.T).fill_diagonal_(-1).amax(1)
    assert best["A"].max() < 0.3 < best["C"].max() < 0.9 < best["B"].min()


# --- which pipeline? ------------------------------------------------------------------


@pytest.fixture
def large(monkeypatch):
    """Pretend that `en_core_web_lg` is installed."""
    stand_in = pipeline(["Paris", "dog"])
    real = word_vectors.importlib.util.find_spec
    monkeypatch.setattr(
        word_vectors.importlib.util,
        "find_spec",
        lambda name: SimpleNamespace() if name == word_vectors.LARGE else real(name),
    )
    monkeypatch.setattr(word_vectors, "_large", lambda: stand_in)
    return stand_in


def test_the_bundled_table_is_the_default():
    assert word_vectors.is_bundled(word_vectors.load())


@pytest.mark.parametrize(
    ("source", "wins"), [(None, True), ("hub", True), ("bundled", 0)]
)
def test_the_large_pipeline_where_it_is_installed(monkeypatch, large, source, wins):
    if source:
        monkeypatch.setenv("COURSE_SOURCE", source)
    else:
        monkeypatch.delenv("COURSE_SOURCE")
    nlp = word_vectors.load()
    assert (nlp is large) == wins == (not word_vectors.is_bundled(nlp))


def test_the_hub_without_the_large_pipeline_says_what_to_do(monkeypatch):
    monkeypatch.setenv("COURSE_SOURCE", "hub")
    monkeypatch.setattr(word_vectors.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(pretrained.CheckpointError, match="spacy download") as caught:
        word_vectors.load()
    assert "\n" not in str(caught.value)


def test_spacy_is_not_imported_before_it_is_needed():
    source = Path(word_vectors.__file__).read_text("utf-8")
    assert "\nimport spacy" not in source and "\nfrom spacy" not in source


@pytest.mark.lesson(1)
def test_words_of_grammar_alone_make_sentences_alike_in_lesson_01():
    nlp = word_vectors.load()
    dog, mayor = "The dog slept on the sofa.", "The mayor voted on the budget."
    assert round(nlp(dog).similarity(nlp(mayor)), 2) == 0.48
