"""The table of counts that lesson 07's networks have to beat."""

import math
from collections import Counter, defaultdict

import pytest
import torch

from helpers.corpora.sonnets import load_text, split_text
from helpers.text.count_table import CountTable
from tools.build.notebooks import ROOT


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


def kneser_ney(known, text, context, characters, discount=0.75):
    """Bits per character of a table after Kneser and Ney 1995, interpolated.

    Rows of the whole context hold counts; shorter ones hold how many different
    characters stood before. (Chen and Goodman 1998, section 2.7.)
    """
    rows = [defaultdict(Counter) for _ in range(context + 1)]
    for end in range(context, len(known)):
        rows[context][known[end - context : end]][known[end]] += 1
    for length in range(context, 0, -1):
        for before, row in rows[length].items():
            rows[length - 1][before[1:]].update(row.keys())
    bits = 0.0
    for end in range(context, len(text)):
        p = 1 / len(characters)
        for length in range(context + 1):
            row = rows[length].get(text[end - length : end])
            if row is None:
                break
            kept = max(row[text[end]] - discount, 0)
            p = (kept + discount * len(row) * p) / row.total()
        bits -= math.log2(p)
    return bits / (len(text) - context)


def test_another_rule_of_mixing_needs_fewer_bits():
    """What the lesson says of Kneser and Ney, 2.33 bits."""
    text = load_text()
    bits = kneser_ney(*split_text(text), 4, "".join(sorted(set(text))))
    assert round(bits, 2) == 2.33
    lesson = (ROOT / "lessons" / "07_rnn_baseline.py").read_text("utf-8")
    assert f"the rule of Kneser and Ney: {bits:.2f}." in lesson
