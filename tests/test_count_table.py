"""The table of counts that lesson 07's networks have to beat."""

import math

import pytest
import torch

from helpers.corpora.sonnets import load_text, split_text
from helpers.text.count_table import CountTable


def test_by_hand():
    table = CountTable("abab", 1, "abc")
    none = (2 + 2 / 3) / (4 + 2)  # a: twice of four, two different ones, 1/3 for each
    assert table.probability("", "a") == pytest.approx(none)
    # after b: a once, so n = d = 1
    assert table.probability("ab", "a") == pytest.approx((1 + none) / 2)
    assert table.probability("ab", "c") == pytest.approx((2 / 3 / 6) / 2)
    # c was never seen: what is known without it
    assert table.probability("c", "a") == pytest.approx(none)
    assert len(table) == 4  # a, b; a -> b, b -> a


@pytest.mark.parametrize("context", [0, 1, 3])
def test_probabilities_add_up_to_one(context):
    table = CountTable(
        "the cat sat on the mat", context, "".join(sorted(set("the csaonmz")))
    )
    for before in ("", "t", "the ", "zzz", "he c"):
        whole = sum(table.probability(before, one) for one in table.characters)
        assert whole == pytest.approx(1)


def test_bits_are_those_of_the_probabilities():
    table = CountTable("abab", 1, "ab")
    expected = [-math.log2(table.probability(a, b)) for a, b in ("aa", "ab")]
    assert table.bits("aab") == pytest.approx(expected)


def test_it_writes_what_is_probable():
    table = CountTable("abc" * 200, 2, "abcd")
    draws = torch.Generator().manual_seed(0)
    assert table.write("ab", 9, temperature=0.1, generator=draws) == "abcabcabcab"
    assert len(table.write("", 5, generator=draws)) == 5


def test_four_characters_of_context_are_the_best_on_the_sonnets():
    """The rival's number in the lesson, 2.44 bits."""
    text = load_text()
    known, held_out = split_text(text)
    characters = "".join(sorted(set(text)))
    means = {}
    for context in (3, 4, 5):
        bits = CountTable(known, context, characters).bits(held_out)
        means[context] = sum(bits) / len(bits)
    assert min(means, key=means.get) == 4
    assert round(means[4], 2) == 2.44
