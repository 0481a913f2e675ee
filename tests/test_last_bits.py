"""No name of a mistake depends on a tie or a last bit: other formulas get it as well.

Each answer here makes a known mistake in a spelling of its own, which rounds or breaks
ties in another way than the check's spellings do.
"""

import pytest
import torch
import torch.nn.functional as F

from helpers.checks.engine import examine, find
from helpers.text.word_vectors import cosine_similarity
from tools.proofs.kill_matrix import answers_with


def arc_cosine(u, V):
    return (F.normalize(V, dim=-1) @ F.normalize(u, dim=0)).acos()


def arc_cosine_with_epsilon(u, V):
    return (V @ u / (V.norm(dim=-1) * u.norm() + 1e-8)).clamp(-1, 1).acos()


def ranked(score, words, tie):
    rows = sorted(range(len(words)), key=lambda row: (-score[row].item(), tie * row))
    return [words[row] for row in rows]


def first_dropped(tie):
    def answer(word, k, words, vectors):
        score = cosine_similarity(vectors[words.index(word)], vectors)
        return ranked(score, words, tie)[1 : k + 1]

    return answer


def itself_kept(tie):
    def answer(word, k, words, vectors):
        score = cosine_similarity(vectors[words.index(word)], vectors)
        return ranked(score, words, tie)[:k]

    return answer


def only_a_excluded(a, b, c, words, vectors):
    at_a, at_b, at_c = (vectors[words.index(word)].double() for word in (a, b, c))
    score = F.cosine_similarity(at_c - at_a + at_b, vectors.double())
    return next(word for word in ranked(score, words, -1) if word != a)


def asked_zeroed(a, b, c, words, vectors):
    asked = [words.index(word) for word in (a, b, c)]
    score = F.cosine_similarity(
        vectors[asked[1]] - vectors[asked[0]] + vectors[asked[2]], vectors
    )
    score[asked] = 0.0
    return ranked(score, words, -1)[0]


def exact_table(make):
    position, even = torch.arange(7.0)[:, None], torch.arange(0, 6, 2)
    angles = position * 10000 ** (-even / 6)
    mine = torch.stack([angles.sin(), angles.cos()], -1).flatten(-2)
    return torch.equal(make(7, 6), mine)


def exact_swap(layer):
    x = torch.randn(5, 8, generator=torch.Generator().manual_seed(1))
    order = [1, 0, 2, 3, 4]
    return torch.equal(layer(x[order]), layer(x)[order])


@pytest.mark.parametrize(
    ("number", "place", "answer", "names"),
    [
        ("1.D", 0, arc_cosine, {"the angle itself"}),
        ("1.D", 0, arc_cosine_with_epsilon, {"the angle itself"}),
        ("1.E", 0, itself_kept(1), {"the word itself"}),
        ("1.E", 0, itself_kept(-1), {"the word itself"}),
        ("1.E", 1, only_a_excluded, {"not all asked words excluded"}),
        ("1.E", 1, asked_zeroed, {"zero in place of the asked words"}),
        ("1.L", 0, exact_table, {"too strict", "wrong in any case"}),
        ("3.D", 0, exact_swap, {"False in any case"}),
    ],
)
def test_a_mistake_has_its_name_in_another_rounding(number, place, answer, names):
    exercise = find(number)
    for seed in range(5):
        report = examine(exercise, answers_with(exercise, place, answer), seed=seed)
        assert report.misconception in names, report


@pytest.mark.parametrize("tie", [1, -1])
def test_the_first_of_all_neighbours_is_the_word_itself(tie):
    """So to drop it is right: no other word is as similar, up to rounding."""
    exercise = find("1.E")
    for seed in range(10):
        answers = answers_with(exercise, 0, first_dropped(tie))
        assert examine(exercise, answers, seed=seed).outcome == "passed"
