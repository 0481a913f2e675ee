"""Byte pairs: the paper's example, and the tokenizer of the bundled GPT-2."""

import json

import pytest

from helpers import pretrained
from helpers.corpora.sonnets import load_text
from helpers.text import byte_pairs
from helpers.text.byte_pairs import (
    count_words,
    encode,
    learn,
    merge,
    most_frequent_pair,
)

pytestmark = pytest.mark.lesson("10")
SENNRICH = {tuple("low"): 5, tuple("lower"): 2, tuple("newest"): 6, tuple("widest"): 3}


def test_the_papers_example():
    assert most_frequent_pair(SENNRICH) == ("e", "s")
    learned = learn(SENNRICH, 4)
    assert ["".join(pair) for pair in learned] == ["es", "est", "lo", "low"]
    assert encode("lowest", learned) == ("low", "est")


def test_pairs_stay_within_words():
    assert most_frequent_pair({tuple("ab"): 1, tuple("ba"): 2}) == ("b", "a")
    assert most_frequent_pair({("x", "a"): 1, ("b", "x"): 1, ("c", "d"): 1}) == (
        "x",
        "a",
    )


def test_nothing_left_to_merge():
    with pytest.raises(ValueError, match="nothing to merge"):
        most_frequent_pair({("a",): 3})
    assert learn({("a", "b"): 1, ("c",): 2}, 10) == [("a", "b")]


@pytest.mark.parametrize(
    ("word", "merged"),
    [("aaa", "aa a"), ("aaaa", "aa aa"), ("baab", "b aa b"), ("a", "a"), ("", "")],
)
def test_each_symbol_is_used_once(word, merged):
    assert merge(tuple(word), ("a", "a")) == tuple(merged.split())


def test_whole_symbols_only():
    assert merge(("ca", "b"), ("a", "b")) == ("ca", "b")


def test_two_spellings_of_a_word_become_one():
    words = {("a", "b", "c"): 2, ("ab", "c"): 3}
    assert learn(words, 2) == [("ab", "c"), ("a", "b")] or learn(words, 2)[0] == (
        "ab",
        "c",
    )
    assert byte_pairs._merge_all({("a", "b"): 2, ("ab",): 3}, ("a", "b")) == {
        ("ab",): 5
    }


def test_encoding_is_the_bundled_tokenizers():
    folder = pretrained.bundled("gpt2")
    model = json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))["model"]
    merges = [
        tuple(pair.split(" ")) if isinstance(pair, str) else tuple(pair)
        for pair in model["merges"]
    ]
    tokenizer = pretrained.load_tokenizer("gpt2")
    back = tokenizer.backend_tokenizer.pre_tokenizer
    text = "If the file doesn't exist, an untranslatable error (é) is raised 42 times."
    for word, _ in back.pre_tokenize_str(text):
        assert list(encode(word, merges)) == tokenizer.backend_tokenizer.model.tokenize(
            word
        ) or list(encode(word, merges)) == [
            token.value for token in tokenizer.backend_tokenizer.model.tokenize(word)
        ]


def test_learning_is_the_librarys_while_no_counts_are_equal():
    """`tokenizers` breaks ties in another way: compare up to the first tie."""
    from tokenizers import Regex, Tokenizer
    from tokenizers.models import BPE
    from tokenizers.pre_tokenizers import Split
    from tokenizers.trainers import BpeTrainer

    text = load_text()
    tokenizer = Tokenizer(BPE())
    tokenizer.pre_tokenizer = Split(Regex(r" ?\w+|\W"), behavior="isolated")
    trainer = BpeTrainer(vocab_size=61 + 40, show_progress=False)
    tokenizer.train_from_iterator([text], trainer)
    theirs = json.loads(tokenizer.to_str())["model"]["merges"]
    theirs = [tuple(p.split(" ")) if isinstance(p, str) else tuple(p) for p in theirs]
    assert learn(count_words(text), 20)[:20] == _joined(theirs)[:20]


def _joined(pairs):
    """A pair that begins with a space was split at it."""
    return [tuple(one if one else " " for one in pair) for pair in pairs]


def test_words_keep_every_character():
    text = "Don't  stop, now.\n"
    words = [("D", "o", "n"), ("'",), ("t",), (" ",), tuple(" stop"), (",",)]
    counted = count_words(text)
    assert all(word in counted for word in words)
    assert sum(len(word) * n for word, n in counted.items()) == len(text)
