"""Number words, their split, and the vocabulary that turns them into ids."""

import subprocess
import sys

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.corpora.numbers import (
    END,
    LANGUAGES,
    PAD,
    START,
    NumberPair,
    Vocabulary,
    number_pairs,
    pad,
    split_pairs,
)

BY_HAND = [
    ("en", 0, "zero"),
    ("en", 13, "thirteen"),
    ("en", 42, "forty-two"),
    ("en", 1001, "one thousand and one"),
    ("de", 0, "null"),
    ("de", 17, "siebzehn"),
    ("de", 42, "zweiundvierzig"),
    ("de", 730, "siebenhundertdreißig"),
    ("fr", 16, "seize"),
    ("fr", 71, "soixante et onze"),
    ("fr", 80, "quatre-vingts"),
    ("fr", 99, "quatre-vingt-dix-neuf"),
    ("nl", 11, "elf"),
    ("nl", 42, "tweeënveertig"),
    ("nl", 88, "achtentachtig"),
    ("nl", 200, "tweehonderd"),
]


def misspelled(known):
    """Return the (language, number, words) that the pairs spell differently."""
    return [
        (language, number, words)
        for language, number, words in known
        if number_pairs(language, "en", number, number + 1)[0].source != words
        or number_pairs("en", language, number, number + 1)[0].target != words
    ]


def test_numbers_are_spelled_as_by_hand():
    assert misspelled(BY_HAND) == []
    wrong = ("de", 42, "vierzigundzwei")
    assert misspelled([*BY_HAND, wrong]) == [wrong]


def test_pairs_are_in_order_and_high_is_not_included():
    pairs = number_pairs(low=40, high=45)
    assert [pair.number for pair in pairs] == [40, 41, 42, 43, 44]
    assert pairs[2] == NumberPair(42, "forty-two", "zweiundvierzig")


def test_the_default_is_english_to_german_below_ten_thousand():
    pairs = number_pairs(high=10)
    assert pairs[7] == (7, "seven", "sieben")
    assert number_pairs.__defaults__ == ("en", "de", 0, 10_000)


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_language_of_num2words_spells_small_numbers(language):
    pairs = number_pairs(language, "en", 0, 30)
    vocabulary = Vocabulary.from_texts(pair.source for pair in pairs)
    for pair in pairs:
        assert pair.source
        assert vocabulary.decode(vocabulary.encode(pair.source)) == pair.source


@pytest.mark.parametrize("place", ["source", "target"])
def test_an_unknown_language_is_refused_with_the_known_ones(place):
    with pytest.raises(ValueError, match="'klingon'; choose from: am, ar, .*, vi"):
        number_pairs(**{place: "klingon"}, high=5)


@pytest.mark.parametrize("low, high", [(5, 5), (9, 3)])
def test_an_empty_range_is_refused(low, high):
    with pytest.raises(ValueError, match=f"low={low} to high={high} is empty"):
        number_pairs(low=low, high=high)


def test_a_gap_in_num2words_is_one_clear_error():
    with pytest.raises(ValueError, match="num2words cannot spell 2345 in 'am'"):
        number_pairs("en", "am", 2345, 2346)


# --- the split ------------------------------------------------------------------------


def overlap(train, held_out):
    """Return the numbers that are in both parts."""
    return {pair.number for pair in train} & {pair.number for pair in held_out}


def test_numbers_are_held_out_in_all_their_languages():
    pairs = number_pairs(high=200) + number_pairs("en", "fr", high=200)
    train, held_out = split_pairs(pairs)
    assert (len(train), len(held_out)) == (360, 40)
    assert len({pair.number for pair in held_out}) == 20
    assert overlap(train, held_out) == set()
    assert overlap([*train, held_out[0]], held_out)  # a leak would be seen
    assert sorted(train + held_out) == sorted(pairs)


def test_the_split_depends_on_the_seed_alone():
    german, french = number_pairs(high=300), number_pairs("en", "fr", high=300)
    chosen = [pair.number for pair in split_pairs(german, 0.2, seed=3)[1]]
    assert chosen == [pair.number for pair in split_pairs(french, 0.2, seed=3)[1]]
    assert sorted(chosen) == [
        pair.number for pair in sorted(split_pairs(german[::-1], 0.2, seed=3)[1])
    ]
    assert chosen != [pair.number for pair in split_pairs(german, 0.2, seed=4)[1]]


@pytest.mark.parametrize("held_out", [0, 1, 0.001, -0.5, 1.5])
def test_a_split_with_an_empty_part_is_refused(held_out):
    with pytest.raises(ValueError, match=f"held_out={held_out} of 20 numbers"):
        split_pairs(number_pairs(high=20), held_out)


# --- the vocabulary -------------------------------------------------------------------


@pytest.fixture(scope="module")
def german():
    return [pair.target for pair in number_pairs(high=1_000)]


@pytest.mark.parametrize("size", [None, 40, 66, 400])
def test_decode_undoes_encode(size, german):
    vocabulary = Vocabulary.from_texts(german, size)
    for text in german:
        ids = vocabulary.encode(text)
        assert ids[0] == START and ids[-1] == END
        assert PAD not in ids and max(ids) < len(vocabulary)
        assert vocabulary.decode(ids) == text


@settings(max_examples=25, deadline=None)
@given(st.lists(st.text(min_size=1), min_size=1, max_size=6), st.integers(0, 20))
def test_any_text_survives(texts, extra):
    characters = Vocabulary.from_texts(texts)
    pieces = Vocabulary.from_texts(texts, len(characters) + extra)
    assert len(pieces) <= len(characters) + extra
    for vocabulary in (characters, pieces):
        assert [vocabulary.decode(vocabulary.encode(text)) for text in texts] == texts


def test_characters_are_sorted_behind_the_special_tokens():
    vocabulary = Vocabulary.from_texts(["ba", "a-"])
    assert vocabulary.pieces == ("<pad>", "<start>", "<end>", "-", "a", "b")
    assert vocabulary.encode("ab") == [1, 4, 5, 2]


def test_pieces_are_frequent_strings_and_keep_the_size(german):
    vocabulary = Vocabulary.from_texts(german, 66)
    assert len(vocabulary) == len(set(vocabulary.pieces)) == 66
    assert len(vocabulary.tokens("dreihundertzweiundvierzig")) < 8
    assert "hundert" in vocabulary.pieces


def test_pieces_are_the_same_in_another_process(german):
    code = (
        "from helpers.corpora.numbers import *;"
        "texts = [pair.target for pair in number_pairs(high=1_000)];"
        "print(Vocabulary.from_texts(texts, 66).pieces)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.strip() == str(Vocabulary.from_texts(german, 66).pieces)


def test_decode_stops_at_the_end_and_skips_padding():
    vocabulary = Vocabulary.from_texts(["ab"])
    assert vocabulary.decode([START, 3, 4, END, 3, 3, PAD]) == "ab"
    assert vocabulary.decode(torch.tensor([START, 4, PAD, PAD])) == "b"


def test_padding_fills_up_with_zeros_behind():
    batch = pad([[1, 5, 2], [1, 2], [1, 7, 7, 2]])
    assert batch.tolist() == [[1, 5, 2, 0], [1, 2, 0, 0], [1, 7, 7, 2]]
    assert batch.dtype == torch.long


def test_an_unknown_character_is_named():
    with pytest.raises(ValueError, match=r"no piece for \['x', 'y'\] in 'ayax'"):
        Vocabulary.from_texts(["ab"]).encode("ayax")


@pytest.mark.parametrize("texts, size", [([], None), ([""], 10)])
def test_a_vocabulary_of_nothing_is_refused(texts, size):
    with pytest.raises(ValueError, match="at least one text"):
        Vocabulary.from_texts(texts, size)


def test_a_size_below_the_characters_is_refused():
    with pytest.raises(ValueError, match="size=4 is too small: 3 characters .* 6 ids"):
        Vocabulary.from_texts(["abc"], 4)
