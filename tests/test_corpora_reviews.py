"""The bundled reviews, their loader, and that every check on them can fail."""

import os
import re
import subprocess
import sys
from collections import Counter

import numpy as np
import pytest
from datasets import are_progress_bars_disabled, enable_progress_bars

from helpers.corpora.reviews import FOLDS, REVIEWS, STARS, load_reviews
from tools.corpora import __main__ as corpora
from tools.corpora import search as corpora_search

CARD = (REVIEWS.parent / "README.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def rows():
    return corpora.read_reviews()


@pytest.fixture(scope="module")
def encode():
    return corpora_search.Encoder()


CHECKS = [
    corpora.review_balance,
    corpora.review_lengths,
    corpora.review_vocabulary,
    corpora.review_runs,
]


@pytest.mark.parametrize("check", CHECKS)
def test_reviews_are_sound(check, rows):
    assert check(rows) == []


def change(rows, row, **columns):
    """Return a copy of the rows with one row changed."""
    return [old | columns if i == row else old for i, old in enumerate(rows)]


@pytest.mark.parametrize(
    "check, damage, message",
    [
        (corpora.review_balance, lambda r: r[1:], "labels by fold"),
        (corpora.review_balance, lambda r: r[:990], "990 reviews"),
        (
            corpora.review_balance,
            lambda r: change(r, 0, label=(r[0]["label"] + 1) % 5),
            "labels by fold",
        ),
        (
            corpora.review_balance,
            lambda r: change(r, 0, fold=(r[0]["fold"] + 1) % 5),
            "labels by fold",
        ),
        (
            corpora.review_balance,
            lambda r: [row for row in r if row["label"]] * 2,
            "labels by fold",
        ),
        (
            corpora.review_lengths,
            lambda r: change(r, 3, text=" ".join(r[3]["text"].split()[:10])),
            "row 3: 10 words",
        ),
        (
            corpora.review_lengths,
            lambda r: change(r, 3, text="word " * 81),
            "row 3: 81 words",
        ),
        (corpora.review_vocabulary, lambda r: r[:300], "different words, not 5,000"),
        (
            corpora.review_runs,
            lambda r: change(r, 8, text=" ".join(r[5]["text"].split()[:8]).upper()),
            "shared run",
        ),
    ],
)
def test_damaged_reviews_are_noticed(check, damage, message, rows):
    assert message in " ".join(check(damage(rows)))


def test_seven_shared_words_are_allowed(rows):
    start = " ".join(rows[5]["text"].split()[:7])
    damaged = change(rows, 8, text=f"{start} xylophone {rows[8]['text']}")
    assert corpora.review_runs(damaged) == []


def test_a_bag_of_words_is_well_above_chance_and_well_below_solved(rows):
    accuracies = corpora.bag_of_words_accuracies(rows)
    assert len(accuracies) == FOLDS
    assert 0.4 <= np.mean(accuracies) <= 0.7
    stated = float(re.search(r"regression reach ([\d.]+) %", CARD)[1])
    assert np.mean(accuracies) * 100 == pytest.approx(stated, abs=0.5)


def test_labels_without_meaning_and_labels_in_the_text_are_noticed(rows):
    silly = [row | {"label": i % 5} for i, row in enumerate(rows[:150])]
    told = [row | {"text": "star " * (1 + row["label"])} for row in rows[:150]]
    for damaged in (silly, told):
        assert "bag of words" in corpora.review_difficulty(damaged)[0]


def test_a_review_with_two_words_changed_is_a_near_duplicate(rows, encode):
    texts = [row["text"] for row in rows[:12]]
    copy = texts[4].split()
    copy[3], copy[-4] = "wooden", "Tuesday"
    assert corpora_search.near_duplicates(encode(texts)) == []
    found = corpora_search.near_duplicates(encode([*texts, " ".join(copy)]))
    assert found and found[0].startswith("texts 4 and 12")


@pytest.mark.slow
def test_no_two_reviews_are_near_duplicates(rows, encode):
    """The first 40 tokens are enough to recognise a copy; tools.corpora reads all."""
    vectors = encode([row["text"] for row in rows], tokens=40)
    assert corpora_search.near_duplicates(vectors) == []


def test_the_card_names_the_closest_pair(rows, encode):
    first, second = map(int, re.search(r"rows (\d+) and (\d+) from 0", CARD).groups())
    pair = encode([rows[index]["text"] for index in (first, second)])
    stated = float(re.search(r"from 0\) has a cosine of (0\.\d+)", CARD)[1])
    assert corpora_search.closest(pair)[0] == pytest.approx(stated, abs=1e-3)


def test_the_card_states_what_is_in_the_reviews(rows):
    counts = [len(row["text"].split()) for row in rows]
    vocabulary = {word for row in rows for word in corpora.words(row["text"])}
    card = " ".join(CARD.split())
    assert f"{len(rows):,} reviews" in card
    assert f"{min(counts)} to {max(counts)} words, {np.mean(counts):.1f} on" in card
    assert f"{len(vocabulary):,} different words" in card
    assert "Not customers' own" in card


# --- the loader -----------------------------------------------------------------------


@pytest.fixture(scope="module")
def splits():
    return load_reviews()


def test_the_features_are_those_of_yelp_review_full(splits):
    for split in splits.values():
        assert list(split.features) == ["label", "text"]
        assert split.features["label"].names == STARS
        assert split.features["text"].dtype == "string"
    assert STARS[0] == "1 star" and STARS[4] == "5 stars"


def test_the_folds_share_nothing_and_cover_everything(rows):
    tests = []
    for fold in range(FOLDS):
        data = load_reviews(fold)
        test = list(zip(data["test"]["label"], data["test"]["text"], strict=True))
        train = list(zip(data["train"]["label"], data["train"]["text"], strict=True))
        assert (len(train), len(test)) == (860, 215)
        assert not set(train) & set(test)
        assert set(Counter(label for label, _ in test).values()) == {43}
        tests += test
    assert Counter(tests) == Counter((row["label"], row["text"]) for row in rows)


def test_the_first_rows_are_balanced(splits):
    for count in (5, 100, 300):
        labels = splits["train"].select(range(count))["label"]
        assert set(Counter(labels).values()) == {count // 5}


def test_the_reviews_lie_in_memory(splits):
    assert not any(split.cache_files for split in splits.values())


@pytest.mark.parametrize("fold", [5, -1, None])
def test_an_unknown_fold_is_refused(fold):
    with pytest.raises(ValueError, match=f"fold={fold} does not exist: choose 0 to 4"):
        load_reviews(fold)


def test_loading_is_quiet_and_leaves_the_progress_bars_as_they_were(capfd):
    enable_progress_bars()
    load_reviews()
    assert not are_progress_bars_disabled()
    assert capfd.readouterr() == ("", "")


@pytest.mark.slow
def test_loading_leaves_nothing_in_the_home_folder(tmp_path):
    code = "from helpers.corpora.reviews import load_reviews; load_reviews()"
    home = {name: str(tmp_path) for name in ("HOME", "USERPROFILE", "TMPDIR")}
    hidden = {"HF_HOME", "HF_DATASETS_CACHE", "XDG_CACHE_HOME"}
    environment = {k: v for k, v in os.environ.items() if k not in hidden} | home
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert list(tmp_path.iterdir()) == []
