"""Lesson 09's parts: reviews and batches, baselines, masking, scores, leaderboard."""

import json
import re

import numpy as np
import pytest
import torch
from torch import nn

from helpers import pretrained
from helpers.corpora.reviews import FOLDS, STARS
from helpers.exercises.bert.shared import tiny_config
from helpers.figures import bert as draw
from helpers.figures import png
from helpers.reading import baselines, fine_tuning, reviews
from helpers.reading.reviews import ReviewsError, SimilarLengths
from helpers.student.leaderboard import Leaderboard
from helpers.text import masked_language
from tools.build.notebooks import ROOT

pytestmark = pytest.mark.lesson("09")


@pytest.fixture(scope="module")
def tokenizer():
    return pretrained.load_tokenizer()


@pytest.fixture(scope="module")
def split():
    return reviews.load(0)


# --- batches --------------------------------------------------------------------------


def test_encoded_reviews_keep_label_and_ends(split, tokenizer):
    rows = reviews.encode(split["test"].select(range(5)), tokenizer)
    assert [row["label"] for row in rows] == split["test"]["label"][:5]
    for row in rows:
        assert row["ids"][0] == tokenizer.cls_token_id
        assert row["ids"][-1] == tokenizer.sep_token_id
    short = reviews.encode(split["test"].select(range(5)), tokenizer, longest=9)
    assert {len(row["ids"]) for row in short} == {9}


def test_a_batch_is_padded_to_its_longest_row():
    batch = reviews.pad_batch(
        [{"ids": [5, 6, 7], "label": 4}, {"ids": [8], "label": 0}]
    )
    assert batch["input_ids"].tolist() == [[5, 6, 7], [8, 0, 0]]
    assert batch["attention_mask"].tolist() == [[1, 1, 1], [1, 0, 0]]
    assert batch["labels"].tolist() == [4, 0]


def test_a_pass_holds_each_row_once_at_most_and_full_batches():
    lengths = [n % 23 + 2 for n in range(103)]
    batches = list(SimilarLengths(lengths, 8, seed=1))
    assert len(batches) == len(SimilarLengths(lengths, 8)) == 12
    assert {len(batch) for batch in batches} == {8}
    places = [place for batch in batches for place in batch]
    assert len(set(places)) == len(places) == 96


def test_batches_are_of_similar_lengths():
    draw_lengths = torch.Generator().manual_seed(2)
    lengths = torch.randint(5, 100, (640,), generator=draw_lengths).tolist()

    def spread(batches):
        return np.mean([np.ptp([lengths[n] for n in batch]) for batch in batches])

    plain = [range(start, start + 16) for start in range(0, 640, 16)]
    assert spread(SimilarLengths(lengths, 16)) < 0.25 * spread(plain)


def test_each_epoch_has_an_order_of_its_own_unless_told_otherwise():
    sampler, same = SimilarLengths([3] * 64, 8), SimilarLengths([3] * 64, 8, 0, True)
    first = list(sampler)
    assert first != list(sampler)
    assert first == list(SimilarLengths([3] * 64, 8))
    assert first != list(SimilarLengths([3] * 64, 8, seed=1))
    assert list(same) == list(same)


def test_too_few_rows_are_refused():
    with pytest.raises(ValueError, match="7 rows do not fill a batch of 8"):
        SimilarLengths([3] * 7, 8)


# --- the Hub --------------------------------------------------------------------------


@pytest.fixture
def hub(monkeypatch, tmp_path):
    """An empty Hub cache, and the switch turned; returns the cache's folder."""
    from huggingface_hub import constants

    cache = tmp_path / "hub"
    cache.mkdir()
    monkeypatch.setenv("COURSE_SOURCE", "hub")
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(cache))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", tmp_path / "arrow")
    return cache


def lay_out(cache, split, count):
    """Put a data set into a Hub cache the way the Hub's library does."""
    repo = cache / f"datasets--{reviews.HUB.replace('/', '--')}"
    snapshot = repo / "snapshots" / "c0ffee" / "yelp_review_full"
    snapshot.mkdir(parents=True)
    (repo / "refs").mkdir()
    (repo / "refs" / "main").write_text("c0ffee")
    for name in ("train", "test"):
        some = split[name].select(range(count))
        some.to_parquet(str(snapshot / f"{name}-00000-of-00001.parquet"))
    return snapshot


def test_reviews_from_a_local_hub_cache(hub, split, monkeypatch, capfd):
    lay_out(hub, split, 60)
    monkeypatch.setattr(pretrained, "reachable", None)  # it must not be asked
    monkeypatch.setattr(reviews, "SOME", 40)
    capfd.readouterr()
    found = reviews.load()
    assert {name: len(rows) for name, rows in found.items()} == {
        "train": 40,
        "test": 40,
    }
    assert set(found["train"]["text"]) <= set(split["train"]["text"][:60])
    assert found["train"]["text"][:5] != split["train"]["text"][:5]  # shuffled
    assert reviews.stars(found["test"]["label"][0]) in STARS
    assert capfd.readouterr() == ("", "")


def test_half_a_cache_counts_as_none(hub, split, monkeypatch):
    snapshot = lay_out(hub, split, 10)
    (snapshot / "test-00000-of-00001.parquet").unlink()
    monkeypatch.setattr(pretrained, "reachable", lambda address: False)
    with pytest.raises(ReviewsError, match="did not answer within 1.5 s"):
        reviews.load()


def test_offline_is_said_in_one_sentence(hub, monkeypatch):
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    with pytest.raises(ReviewsError, match="HF_HUB_OFFLINE forbids") as caught:
        reviews.load()
    assert caught.value._render_traceback_() == [str(caught.value)]


def test_a_failed_download_is_said_in_one_sentence(hub, monkeypatch):
    def broken(*args, local_files_only=False, **kwargs):
        from huggingface_hub.errors import LocalEntryNotFoundError

        if local_files_only:
            raise LocalEntryNotFoundError("nothing")
        raise ConnectionError("the line went dead\nand more")

    monkeypatch.setattr(pretrained, "reachable", lambda address: True)
    monkeypatch.setattr("huggingface_hub.snapshot_download", broken)
    with pytest.raises(ReviewsError, match="ConnectionError: the line went dead\\)"):
        reviews.load()


# --- baselines ------------------------------------------------------------------------


def test_keywords_count_praise_and_blame():
    assert baselines.by_keywords("It was there.") == 2
    assert baselines.by_keywords("Great food, lovely people!") == 4
    assert baselines.by_keywords("Great. Great, great and great.") == 4
    assert baselines.by_keywords("AWFUL and not great") == 2
    assert baselines.by_keywords("awful, rude, never again") == 0


def test_stop_words_hold_the_negations():
    found = baselines.stop_words()
    assert len(found) == 326
    assert {"not", "no", "never", "nor", "n't", "but", "very", "without"} <= found


def test_stop_words_cost_accuracy(split):
    counts = baselines.right("word counts", split["train"], split["test"])
    cut = baselines.right(
        "word counts without stop words", split["train"], split["test"]
    )
    assert counts.mean() - cut.mean() > 0.04
    assert 0.12 < baselines.keywords_right(split["test"]).mean() < 0.28


def test_all_folds_together_give_the_numbers_of_the_lesson():
    splits = [reviews.load(fold) for fold in range(FOLDS)]
    for name, accuracy in (
        ("word counts", 49.4),
        ("word counts without stop words", 41.0),
        ("TF-IDF of words and pairs", 52.7),
    ):
        right = [baselines.right(name, one["train"], one["test"]) for one in splits]
        assert 100 * np.concatenate(right).mean() == pytest.approx(accuracy, abs=0.05)


def test_lesson_09_says_what_the_experiment_over_all_folds_found():
    page = (ROOT / "docs/experiments.md").read_text("utf-8")
    lesson = " ".join(
        (ROOT / "lessons/09_bert_finetuning.py").read_text("utf-8").split()
    )
    table = page.split("<!-- measured: reviews -->")[1].split("<!-- /measured -->")[0]
    together = re.search(r"pairs ([\d.]+) %, fine-tuned ([\d.]+) %", table)
    gap = re.search(r"these folds: ([\d.]+) points, standard error ([\d.]+)", table)
    bag, encoder = together.groups()
    plain = lesson.replace("# ", "")
    assert f"the encoder gets {encoder} % and the best bag {bag} %" in plain
    assert (
        "a gap of {} points with a standard error of {}".format(*gap.groups()) in plain
    )


# --- masking --------------------------------------------------------------------------


def test_masking_has_its_four_rates():
    draw_ids = torch.Generator().manual_seed(5)
    ids = torch.randint(5, 4001, (400, 100), generator=draw_ids)
    special = torch.zeros_like(ids, dtype=torch.bool)
    special[:, 0] = True
    inputs, labels = masked_language.mask_tokens(ids, special, 4, 4001, draw_ids)
    asked = labels != -100
    assert not asked[:, 0].any() and (labels[asked] == ids[asked]).all()
    assert (inputs[~asked] == ids[~asked]).all()
    shares = {
        "selected": (asked.sum() / (~special).sum(), 0.15),
        "[MASK]": ((inputs[asked] == 4).double().mean(), 0.8),
        "unchanged": ((inputs == ids)[asked].double().mean(), 0.1),
    }
    for name, (share, rate) in shares.items():
        count = 39_600 if name == "selected" else int(asked.sum())
        sigma = (rate * (1 - rate) / count) ** 0.5
        assert abs(share.item() - rate) < 5 * sigma, name


def test_special_tokens_are_known(tokenizer):
    ids, special = masked_language.padded(["a dog", "a very lazy dog"], tokenizer)
    assert ids.shape == special.shape == (2, 6)
    assert special.tolist() == [[1, 0, 0, 1, 1, 1], [1, 0, 0, 0, 0, 1]]


def test_count_loss_is_the_mean_log_share(tokenizer):
    word = tokenizer.convert_tokens_to_ids("dog")
    labels = torch.tensor([[-100, word], [word, -100]])
    total = 3 + len(tokenizer)
    found = masked_language.count_loss(["dog dog cat"], labels, tokenizer)
    assert found == pytest.approx(-np.log(3 / total))


# --- the classifier -------------------------------------------------------------------


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    from transformers import BertModel

    folder = tmp_path_factory.mktemp("tiny")
    with pretrained.quiet():
        BertModel(tiny_config()).save_pretrained(folder)
    return str(folder)


def test_the_classifier_reads_the_mean_of_real_tokens(folder):
    model = fine_tuning.load_classifier(folder, seed=3).double().eval()
    ids = torch.tensor([[2, 7, 9, 3, 0], [2, 8, 3, 0, 0]])
    hidden = model.bert(ids, (ids != 0).long())[0]
    means = torch.stack([hidden[0, :4].mean(0), hidden[1, :3].mean(0)])
    labels = torch.tensor([1, 4])
    output = model(ids, (ids != 0).long(), labels=labels)
    torch.testing.assert_close(
        output.logits, model.classifier(means), rtol=0, atol=1e-9
    )
    loss = nn.functional.cross_entropy(output.logits, labels)
    torch.testing.assert_close(output.loss, loss, rtol=0, atol=0)


def test_a_seed_draws_the_head_and_leaves_the_encoder(folder):
    one, other = (fine_tuning.load_classifier(folder, seed) for seed in (0, 1))
    again = fine_tuning.load_classifier(folder, 0)
    assert torch.equal(one.classifier.weight, again.classifier.weight)
    assert not torch.equal(one.classifier.weight, other.classifier.weight)
    table = "bert.embeddings.word_embeddings.weight"
    assert torch.equal(one.state_dict()[table], other.state_dict()[table])


def test_logits_keep_the_order_and_the_mode(folder):
    model = fine_tuning.load_classifier(folder).train()
    rows = [{"ids": [2, 5 + n, 3][: 2 + n % 2], "label": n % 5} for n in range(11)]
    logits, labels = fine_tuning.logits_of(model, reviews.in_order(rows, 4))
    alone, _ = fine_tuning.logits_of(model, reviews.in_order(rows[7:8]))
    assert model.training and labels.tolist() == [n % 5 for n in range(11)]
    torch.testing.assert_close(logits[7:8], alone, rtol=0, atol=1e-5)


def test_scores_are_the_textbooks():
    labels = torch.tensor([0, 0, 1, 4])
    guesses = torch.tensor([0, 1, 1, 2])
    logits = 9.0 * nn.functional.one_hot(guesses, 5)
    found = fine_tuning.scores(logits, labels)
    assert found.accuracy == 0.5 and found.error == 0.75
    # label 0: 2/3, label 1: 2/3, labels 2 and 4: 0; label 3 does not occur
    assert found.macro_f1 == pytest.approx((2 / 3 + 2 / 3 + 0 + 0) / 4)


# --- leaderboard and figures ----------------------------------------------------------


def test_the_leaderboard_sorts_and_remembers(tmp_path):
    (tmp_path / ".course.json").write_text("{}")
    board = Leaderboard("board.json", tmp_path)
    board.enter("bag", 0.5)
    board.enter("mine", 0.61)
    assert str(board).splitlines() == ["  1   61.0%  mine", "  2   50.0%  bag"]
    again = Leaderboard("board.json", tmp_path)
    assert str(again) == str(board)
    assert json.loads((tmp_path / "board.json").read_text()) == again.entries


def test_the_leaderboard_leaves_no_file_elsewhere(tmp_path):
    Leaderboard("board.json", tmp_path).enter("bag", 0.5)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("text", ["{", "[1]", '{"bag": "much"}'])
def test_a_damaged_leaderboard_starts_again(tmp_path, text):
    (tmp_path / ".course.json").write_text("{}")
    (tmp_path / "board.json").write_text(text)
    assert Leaderboard("board.json", tmp_path).entries == {}


def test_a_percentage_is_refused(tmp_path):
    with pytest.raises(ValueError, match="accuracy=61"):
        Leaderboard("board.json", tmp_path).enter("mine", 61)


def test_every_figure_draws():
    table = np.array([[3, 1], [0, 4]])
    for figure in (
        draw.contexts(["a", "b", "c"]),
        draw.similarities({"one": torch.eye(2)}, ["a", "b"]),
        draw.falling([9.0, 8.0], 7.0, 10.0),
        draw.two_heads(),
        draw.seeds([0.1, 0.2], 0.2, "title"),
        draw.bars({"a": 0.3, "fine-tuned": 0.6}, [0.03, 0.03], 0.2),
        draw.confusions({"one": table}, ["x", "y"]),
        draw.learning_curves({"one": {10: 0.2, 20: 0.3}}, 0.03, 0.2),
        draw.padding_shares({"all": 0.8, "similar": 0.1}),
    ):
        assert png(figure).startswith(b"\x89PNG")
