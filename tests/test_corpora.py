"""The bundled sonnets and sentences, and that every check on them can fail."""

import re
from pathlib import Path

import numpy as np
import pytest

from helpers.corpora.sentences import load_queries, load_sentences
from helpers.corpora.sonnets import SONNETS, load_text, split_text
from tools.corpora import __main__ as corpora
from tools.corpora import search as corpora_search

CARD = (SONNETS.parent / "README.md").read_text(encoding="utf-8")


# --- sonnets --------------------------------------------------------------------------


@pytest.fixture(scope="module")
def text():
    return load_text()


SONNET_CHECKS = [corpora.sonnet_form, corpora.sonnet_size, corpora.sonnet_lines]


@pytest.mark.parametrize("check", SONNET_CHECKS)
def test_sonnets_are_sound(check, text):
    assert check(text) == []


@pytest.mark.parametrize(
    "check, damage, message",
    [
        (corpora.sonnet_form, lambda t: t.split("\n", 1)[1], "poem 0 has 13 lines"),
        (corpora.sonnet_form, lambda t: "One more line,\n" + t, "poem 0 has 15 lines"),
        (corpora.sonnet_form, lambda t: t.replace("\n\n", "\n", 1), "has 28 lines"),
        (corpora.sonnet_form, lambda t: t[: t.index("\n\n")], "1 poems, not 150"),
        (corpora.sonnet_size, lambda t: t[:93_999], "93,999 characters"),
        (corpora.sonnet_size, lambda t: t + "!", "62 different characters"),
        (corpora.sonnet_lines, lambda t: t + t.split("\n")[20], "repeated line"),
        (
            corpora.sonnet_lines,
            lambda t: t + t.split("\n")[20].upper() + "?",
            "repeated line",
        ),
    ],
)
def test_damaged_sonnets_are_noticed(check, damage, message, text):
    assert message in " ".join(check(damage(text)))


def test_sonnets_have_the_61_characters_of_lesson_07(text):
    assert len(set(text)) == 61
    assert text.isascii()


def test_the_card_states_what_is_in_the_sonnets(text):
    assert f"{text.count(chr(10) * 2) + 1} sonnets" in CARD
    assert f"{len(text):,} characters, {len(set(text))} different" in CARD


def test_the_split_keeps_sonnets_whole_and_apart(text):
    train, held_out = split_text(text)
    poems = [part.strip("\n").split("\n\n") for part in (train, held_out)]
    assert [len(part) for part in poems] == [144, 16]
    assert set(poems[0]) | set(poems[1]) == set(text.strip("\n").split("\n\n"))
    assert set(held_out) <= set(train)


def test_a_text_without_poems_is_cut_once():
    train, held_out = split_text("abcdefghij" * 100, every=5)
    assert train + held_out == "abcdefghij" * 100
    assert len(held_out) == 200


@pytest.mark.parametrize("every", [1, 0, -3, 6])
def test_an_impossible_split_is_refused(every):
    with pytest.raises(ValueError, match=f"every={every} does not fit"):
        split_text("short", every)


def test_an_own_file_is_read_with_any_line_ends_and_mark(tmp_path):
    own = tmp_path / "own.txt"
    own.write_bytes("\ufeffÄpfel\r\nund\rBirnen\n".encode())
    assert load_text(own, at_least=5) == "Äpfel\nund\nBirnen\n"
    assert load_text(str(own), at_least=17) == "Äpfel\nund\nBirnen\n"


@pytest.mark.parametrize(
    "content, message",
    [
        (None, "There is no file"),
        (b"", "is empty: it needs 10,000 characters"),
        (b" \n\t\r\n", "is empty"),
        (b"a" * 9_999, "has 9,999 characters and needs 10,000"),
        (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" * 999, "is not plain text"),
        (b"a\0" * 20_000, "is not plain text"),
        ("ü".encode("latin-1") * 20_000, "is not plain text"),
        (("abc " * 9_999).encode("utf-16"), "is not plain text"),
    ],
)
def test_an_unusable_file_gets_one_clear_sentence(content, message, tmp_path):
    own = tmp_path / "own.txt"
    if content is not None:
        own.write_bytes(content)
    with pytest.raises(ValueError, match=message) as caught:
        load_text(own)
    assert "own.txt" in str(caught.value) and "\n" not in str(caught.value)


def test_a_folder_is_not_a_text(tmp_path):
    with pytest.raises(ValueError, match="cannot be read"):
        load_text(tmp_path)


# --- sentences and search -------------------------------------------------------------


@pytest.fixture(scope="module")
def sentences():
    return load_sentences()


@pytest.fixture(scope="module")
def queries():
    return load_queries()


@pytest.fixture(scope="module")
def encode():
    return corpora_search.Encoder()


@pytest.fixture(scope="module")
def vectors(encode, sentences):
    return encode(sentences)


@pytest.fixture(scope="module")
def right(sentences, queries):
    return [sentences.index(answer) for _, answer in queries]


def test_sentences_are_sound(sentences):
    assert corpora_search.sentence_form(sentences) == []


@pytest.mark.parametrize(
    "damage, message",
    [
        (lambda s: s[:299], "299 sentences"),
        (lambda s: [*s, s[5].upper()], "the puddles"),
        (lambda s: [*s, "Seven words are too few for us."], "length: Seven"),
        (lambda s: [*s, "word " * 17], "length: word"),
    ],
)
def test_damaged_sentences_are_noticed(damage, message, sentences):
    found = " ".join(corpora_search.sentence_form(damage(list(sentences))))
    assert message in found or sentences[5].lower() in found


def test_there_are_twenty_queries_with_different_answers(queries, sentences):
    assert len({query for query, _ in queries}) == 20
    assert len({answer for _, answer in queries} & set(sentences)) == 20


def test_sentences_are_not_near_duplicates(vectors):
    assert corpora_search.near_duplicates(vectors) == []


def test_a_sentence_with_one_word_changed_is_a_near_duplicate(encode, sentences):
    copy = sentences[0].replace("afternoon", "evening")
    assert copy != sentences[0]
    found = corpora_search.near_duplicates(encode([*sentences[:9], copy]))
    assert found and found[0].startswith("texts 0 and 9")


def test_the_encoder_finds_every_right_sentence(encode, vectors, queries, right):
    scores = encode([query for query, _ in queries]) @ vectors.T
    assert corpora_search.search_success(scores, right) == []
    lead = float(re.search(r"lead of (0\.\d+) or more", CARD)[1])
    assert lead <= corpora_search.search_margins(scores, right).min() < lead + 0.01
    wrong = right[1:] + right[:1]
    assert len(corpora_search.search_success(scores, wrong)) == 20


def test_keywords_find_few_right_sentences(queries, sentences, right):
    asked = [query for query, _ in queries]
    scores = corpora_search.keyword_scores(asked, sentences)
    assert corpora_search.search_needs_meaning(scores, right) == []
    hits = (corpora_search.search_margins(scores, right) > 0).sum()
    assert f"TF-IDF finds {hits}," in CARD


def test_queries_that_repeat_their_answers_are_noticed(sentences, right):
    asked = [sentences[index] for index in right]
    scores = corpora_search.keyword_scores(asked, sentences)
    found = corpora_search.search_needs_meaning(scores, right)
    assert found == ["TF-IDF finds 20 of 20"]


def test_margins_by_hand():
    scores = np.array([[0.5, 0.2, 0.4], [0.1, 0.3, 0.9]])
    margins = corpora_search.search_margins(scores, [0, 1])
    np.testing.assert_allclose(margins, [0.1, -0.6])


def test_the_card_states_what_is_in_the_sentences(sentences, vectors):
    assert f"{len(sentences)} everyday sentences" in CARD
    stated = float(
        re.search(r"closest two sentences have a\s+cosine of (0\.\d+)", CARD)[1]
    )
    assert corpora_search.closest(vectors)[0] == pytest.approx(stated, abs=1e-3)


def test_no_machine_path_and_no_stray_file():
    folder = Path(corpora.REVIEWS).parent
    names = {path.name for path in folder.iterdir() if path.suffix in {".csv", ".txt"}}
    texts = {"queries.csv", "reviews.csv", "sentences.csv", "sonnets.txt"}
    assert names == texts | {"stories.csv"}
    assert not re.search(r"/(work|tmp|home)/", CARD)
