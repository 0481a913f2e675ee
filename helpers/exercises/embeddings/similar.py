"""1.2, 1.3: cosine similarity, neighbours, analogies; 1.3b: which table was trained."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from helpers.checks.exercise import (
    Answer,
    Case,
    Exercise,
    Look,
    Property,
    mistake,
)
from helpers.exercises.kit import normal
from helpers.text import word_vectors

WORDS = (
    "ash beech birch cedar elm fig hazel larch lime maple oak olive palm pear pine "
    "plum poplar rowan spruce teak walnut willow yew"
).split()

# --- 1.2 ---


def cosine_similarity(u: Tensor, V: Tensor) -> Tensor:
    """The course's own answer to 1.2."""
    return word_vectors.cosine_similarity(u, V)


def _uneven(draw: torch.Generator, count: int, width: int, dtype: Any = None) -> Tensor:
    """Rows in random directions, some of them many times longer than others."""
    lengths = normal(draw, count, 1).exp()
    return (normal(draw, count, width) * lengths).to(dtype or torch.float64)


def _cosine_cases(seed: int) -> list[Case]:
    draw = torch.Generator().manual_seed(seed)

    def case(name: str, count: int, width: int, dtype: Any = None) -> Case:
        V = _uneven(draw, count, width, dtype)
        u = 3 * _uneven(draw, 1, width, dtype)[0]
        V[0], V[1] = 2 * u, -0.5 * u  # the same direction, and the opposite one
        return Case(name, (u, V), inputs=("u", "V"), tolerance=1e-5)  # / (... + 1e-8)

    return [
        case("6 words, 4 numbers each", 6, 4),
        case("3 words, 7 numbers each", 3, 7),
        case("as many words as numbers", 5, 5),
        case("float32", 4, 9, torch.float32),
    ]


def _in_range(case: Case, outputs: dict) -> str | None:
    largest = outputs["similarity"].abs().max().item()
    return f"one is {largest:.4f} in size" if not largest <= 1 + 1e-4 else None


@mistake(
    "no normalisation",
    "This is the plain dot product: longer vectors win.",
    "What does the formula divide by?",
    lambda u, V: (V * u).sum(-1),
)
def _dot(u: Tensor, V: Tensor) -> Tensor:
    return V @ u


@mistake(
    "only the table normalised",
    "The rows of V have length 1, u still has its own.",
    "There are two lengths under the fraction line.",
    lambda u, V: V @ u / V.norm(dim=-1),
)
def _table_only(u: Tensor, V: Tensor) -> Tensor:
    return (V / V.norm(dim=-1, keepdim=True)) @ u


@mistake(
    "only u normalised",
    "The vector u has length 1, the rows of V still have their own.",
    "There are two lengths under the fraction line.",
    lambda u, V: V @ u / u.norm(),
)
def _u_only(u: Tensor, V: Tensor) -> Tensor:
    return V @ (u / u.norm())


@mistake(
    "multiplied by one of the lengths",
    "One length was divided by, and the other multiplied with: `a / b * c` divides by "
    "b alone.",
    "Which brackets does the line under the fraction need?",
    lambda u, V: V @ u / V.norm(dim=-1) * u.norm(),
)
def _unbracketed(u: Tensor, V: Tensor) -> Tensor:
    return V @ u / u.norm() * V.norm(dim=-1)


@mistake(
    "every product by every length",
    "The lengths kept an axis of size 1, so that each product was divided by all of "
    "them.",
    "Print the shapes on both sides of the division.",
)
def _kept(u: Tensor, V: Tensor) -> Tensor:
    return V @ u / (u.norm() * V.norm(dim=-1, keepdim=True))


@mistake(
    "squared lengths",
    "The division is by the squared lengths: a root is missing.",
    "How do you get from a sum of squares to a length?",
)
def _squares(u: Tensor, V: Tensor) -> Tensor:
    return V @ u / (V.square().sum(-1) * u.square().sum())


@mistake(
    "lengths of the columns",
    "The lengths were taken down the columns, over the words.",
    "The length of one word's vector: which axis does it run along?",
    lambda u, V: V @ u / (V.norm(dim=0) * u.norm()),
)
def _column_lengths(u: Tensor, V: Tensor) -> Tensor:
    return (V / V.norm(dim=0)) @ (u / u.norm())


@mistake(
    "one length for the whole table",
    "V was divided by one number for the whole table, not by one for each row.",
    "`norm` without an axis takes everything together.",
    lambda u, V: V / V.norm() @ u / u.norm(),
)
def _whole(u: Tensor, V: Tensor) -> Tensor:
    return V @ u / (V.norm() * u.norm())


@mistake(
    "distance",
    "These are distances: the same direction does not give 1.",
    "Which product tells about an angle?",
    lambda u, V: (V - u).square().sum(-1).sqrt(),
)
def _distance(u: Tensor, V: Tensor) -> Tensor:
    return (V - u).norm(dim=-1)


@mistake(
    "sign lost",
    "Opposite directions came out as alike: the sign is gone.",
    "The cosine runs from -1 to 1.",
)
def _unsigned(u: Tensor, V: Tensor) -> Tensor:
    return word_vectors.cosine_similarity(u, V).abs()


@mistake(
    "product from the left",
    "The vector was multiplied from the left, so the sum runs over the words.",
    "V is (words, numbers). Which of its axes belongs to the numbers of u?",
    lambda u, V: u @ V / (u.norm() * V.norm(dim=-1)),
    lambda u, V: u @ V,
)
def _from_left(u: Tensor, V: Tensor) -> Tensor:
    return u @ V / u.norm() / V.norm(dim=-1)


@mistake(
    "the angle itself",
    "These are angles: the same direction gives 0.",
    "The cosine itself is asked for.",
    lambda u, V: (V @ u / (u.norm() * V.norm(dim=-1))).acos(),
)
def _angle(u: Tensor, V: Tensor) -> Tensor:
    return word_vectors.cosine_similarity(u, V).clamp(-1, 1).acos()


COSINE_MISTAKES = (
    _from_left,
    _angle,
    _dot,
    _table_only,
    _u_only,
    _unbracketed,
    _kept,
    _squares,
    _column_lengths,
    _whole,
    _distance,
    _unsigned,
)

# --- 1.3 ---


def nearest(word: str, k: int, words: Sequence[str], vectors: Tensor) -> list[str]:
    """The course's own answer to 1.3, first part."""
    return word_vectors.nearest(word, k, words, vectors)


def analogy(a: str, b: str, c: str, words: Sequence[str], vectors: Tensor) -> str:
    """The course's own answer to 1.3, second part."""
    return word_vectors.analogy(a, b, c, words, vectors)


def _neighbour_cases(seed: int) -> list[Case]:
    draw = torch.Generator().manual_seed(seed)
    names = {
        0: ("word", "k", "words", "vectors"),
        1: ("a", "b", "c", "words", "vectors"),
    }
    cases = []
    for count, k, dtype in ((13, 4, None), (17, 3, torch.float32), (23, 5, None)):
        words = [WORDS[n] for n in torch.randperm(23, generator=draw)[:count].tolist()]
        vectors = _uneven(draw, count, 6, dtype)
        name = f"{count} words, k = {k}"
        args = (words[count // 2], k, words, vectors)
        cases.append(Case(name, args, inputs=names[0]))
    for name, words, rows in FIXED_NEIGHBOURS:
        asked, *known = words.split()
        args = (asked, 2, known, torch.tensor(rows))
        cases.append(Case(name, args, inputs=names[0]))
    for name, rows in FIXED_ANALOGIES.items():
        args = ("a", "b", "c", ["a", "b", "c", "d", "e"], torch.tensor(rows))
        cases.append(Case(name, args, inputs=names[1], of=1))
    for number in range(12):
        words = [WORDS[n] for n in torch.randperm(23, generator=draw).tolist()]
        vectors = _uneven(draw, 23, 5 + number % 2)
        _plant(vectors, number % 4)
        a, b, c = words[:3]
        name = f"{a} is to {b} as {c} is to what, 23 words"
        cases.append(Case(name, (a, b, c, words, vectors), inputs=names[1], of=1))
    return cases


# What chance shows on most seeds only: the inputs are the same on every seed.
FIXED_NEIGHBOURS = (
    ("one neighbour points away", "dog dog cat car", [[1.0, 0], [0.9, 0.1], [-1, 0.2]]),
    (
        "a word as parallel as the word itself, before it",
        "elm oak elm fir yew",
        [[6.0, 8], [3, 4], [4, 3], [-4, 3]],
    ),
    (
        "a word as parallel as the word itself, behind it",
        "elm elm oak fir yew",
        [[3.0, 4], [6, 8], [4, 3], [-4, 3]],
    ),
)
FIXED_ANALOGIES = {
    "a points exactly where b - a + c does": (
        [[1.0, 1], [2, 0.2], [0.2, 2], [-1, 0.5], [0, 1]]
    ),
    "both words that are left point away": (
        [[1.0, 0], [0, 1], [0.5, -0.5], [0.5, -0.8], [0.6, -0.5]]
    ),
}


def _plant(vectors: Tensor, kind: int) -> None:
    """Decide which word is nearest to b - a + c: b, c, any, or none of a, b and c."""
    a, b, c, other = vectors[:4]
    if kind == 0:  # b is long: the sum is near b
        b *= 6 * (a.norm() + c.norm()) / b.norm()
    elif kind == 1:  # b is very near a: the sum is near c
        b *= 0.2 * c.norm() / b.norm()
        b += a
    elif kind == 2:  # b is somewhat like a
        b *= 0.5
        b += 0.6 * a
    else:  # a fourth word is where the sum is
        other *= 0.1 * c.norm() / other.norm()
        other += b - a + c


def _ranked(score: Tensor, words: Sequence[str]) -> list[str]:
    return [words[row] for row in score.argsort(descending=True).tolist()]


def _neighbours(
    word: str,
    k: int,
    words: Sequence[str],
    vectors: Tensor,
    score: Callable = word_vectors.cosine_similarity,
    pick: Callable = lambda ranked, word, k: [w for w in ranked if w != word][:k],
) -> Any:
    """Neighbours with one step exchanged."""
    ranked = _ranked(score(vectors[words.index(word)], vectors), words)
    return pick(ranked, word, k)


def _of_rows(word: str, k: int, words: Sequence[str], vectors: Tensor) -> list[int]:
    return [words.index(one) for one in nearest(word, k, words, vectors)]


def _nearest(name: str, done: str, where: str, *also: Callable, **step: Any) -> Any:
    spelling = (partial(_neighbours, **step),) if step else ()
    return mistake(name, done, where, *spelling, *also, of=0)


def _but_word(ranked: list[str], word: str) -> list[str]:
    return [one for one in ranked if one != word]


def _cosines(word: str, words: Sequence[str], vectors: Tensor) -> Tensor:
    return word_vectors.cosine_similarity(vectors[words.index(word)], vectors)


def _zero_for_word(word: str, k: int, words: Sequence[str], vectors: Tensor) -> Any:
    similarity = _cosines(word, words, vectors)
    similarity[words.index(word)] = 0.0
    return [words[row] for row in similarity.topk(k).indices.tolist()]


def _topk(word: str, k: int, words: Sequence[str], vectors: Tensor) -> Any:
    similarity = F.cosine_similarity(vectors[words.index(word)], vectors)
    return [words[row] for row in similarity.topk(k).indices.tolist()]


def _down_the_columns(word: str, k: int, words: Sequence[str], vectors: Tensor) -> Any:
    similarity = F.cosine_similarity(vectors[words.index(word)], vectors, dim=0)
    return [words[row] for row in similarity.topk(k).indices.tolist()]


def _down_but_word(word: str, k: int, words: Sequence[str], vectors: Tensor) -> Any:
    similarity = F.cosine_similarity(vectors[words.index(word)], vectors, dim=0)
    similarity[words.index(word)] = -2.0
    return [words[row] for row in similarity.topk(k).indices.tolist()]


def _topk_dropped(word: str, k: int, words: Sequence[str], vectors: Tensor) -> Any:
    similarity = _cosines(word, words, vectors)
    return [words[row] for row in similarity.topk(k + 1).indices.tolist()[1:]]


NEAREST_MISTAKES = (
    _nearest(
        "the word itself",
        "The word is its own nearest neighbour, and it is in the list.",
        "Which word always has the similarity 1?",
        _topk,
        pick=lambda ranked, word, k: ranked[:k],
    ),
    _nearest(
        "one too few",
        "The word itself was left out, but only after k were chosen: one is missing.",
        "How many do you need before one is dropped?",
        pick=lambda ranked, word, k: _but_word(ranked[:k], word),
    ),
    _nearest(
        "one too many",
        "There is one neighbour more than k.",
        "How many are left after the word itself is dropped?",
        pick=lambda ranked, word, k: _but_word(ranked, word)[: k + 1],
    ),
    _nearest(
        "least similar",
        "These are the least similar words.",
        "Which end of the sorted list holds the largest cosine?",
        pick=lambda ranked, word, k: ranked[::-1][:k],
    ),
    _nearest(
        "order turned around",
        "The right words, the least similar of them first.",
        "Ascending or descending?",
        pick=lambda ranked, word, k: _but_word(ranked, word)[:k][::-1],
    ),
    _nearest(
        "dot product",
        "The words were ranked by the dot product, so the long vectors win.",
        "Similarity here is the cosine of 1.2.",
        score=lambda u, V: V @ u,
    ),
    _nearest(
        "distance",
        "The words were ranked by distance: a long vector in the same direction loses.",
        "Similarity here is the cosine of 1.2.",
        score=lambda u, V: -(V - u).norm(dim=-1),
    ),
    _nearest(
        "zero in place of the word itself",
        "The word's own similarity was set to 0, and some words are below 0: there "
        "it came back.",
        "Which number is below every cosine?",
        _zero_for_word,
    ),
    _nearest(
        "first one dropped",
        "The first of the list was dropped, whichever it was; a parallel vector is as "
        "similar as the word itself.",
        "Leave the word out by its place in `words`, not by its rank.",
        _topk_dropped,
        pick=lambda ranked, word, k: ranked[1 : k + 1],
    ),
    _nearest(
        "cosine down the columns",
        "The cosine ran over the words: one number for each feature, none for a word.",
        "Along which axis of (words, numbers) do the numbers of one word run?",
        _down_the_columns,
        _down_but_word,
    ),
    _nearest(
        "rows instead of words",
        "The result holds numbers of rows.",
        "`words` says which word stands in a row.",
        _of_rows,
    ),
)


def _related(
    a: str,
    b: str,
    c: str,
    words: Sequence[str],
    vectors: Tensor,
    target: Callable = lambda a, b, c: b - a + c,
    score: Callable = word_vectors.cosine_similarity,
    skip: Callable = lambda a, b, c: {a, b, c},
) -> str:
    """An analogy with one step exchanged."""
    rows = (vectors[words.index(word)] for word in (a, b, c))
    ranked = _ranked(score(target(*rows), vectors), words)
    without = skip(a, b, c)
    return next(word for word in ranked if word not in without)


def _analogy(name: str, done: str, where: str, *more: dict, **step: Any) -> Any:
    spellings = tuple(partial(_related, **one) for one in (step, *more))
    return mistake(name, done, where, *spellings, of=1)


def _second(a: str, b: str, c: str, words: Sequence[str], vectors: Tensor) -> str:
    rows = (vectors[words.index(word)] for word in (b, a, c))
    at_b, at_a, at_c = rows
    score = word_vectors.cosine_similarity(at_b - at_a + at_c, vectors)
    return _ranked(score, words)[1]


def _zero_for_asked(
    a: str, b: str, c: str, words: Sequence[str], vectors: Tensor
) -> str:
    at_a, at_b, at_c = (vectors[words.index(word)] for word in (a, b, c))
    similarity = word_vectors.cosine_similarity(at_b - at_a + at_c, vectors)
    similarity[[words.index(word) for word in (a, b, c)]] = 0.0
    return words[similarity.argmax()]


def _unit(vector: Tensor) -> Tensor:
    return vector / vector.norm()


ANALOGY_MISTAKES = (
    _analogy(
        "asked words allowed",
        "One of the three words came back: nothing was excluded.",
        "The result lies close to where you started. Which words can't be answers?",
        skip=lambda a, b, c: set(),
    ),
    mistake(
        "always the second",
        "The best word was skipped, whichever it was; here it was not always one of "
        "the three.",
        "Exclude the three words by name, not by rank.",
        _second,
        of=1,
    ),
    _analogy(
        "not all asked words excluded",
        "One of the three words came back: at least one of them was not excluded.",
        "Which words can't be answers?",
        *(
            {"skip": lambda *asked, kept=kept: {asked[place] for place in kept}}
            for kept in ((0,), (1,), (0, 1), (0, 2), (1, 2))
        ),
        skip=lambda a, b, c: {c},
    ),
    mistake(
        "zero in place of the asked words",
        "The similarities of a, b and c were set to 0, and sometimes every other word "
        "is below 0: there one of the three came back.",
        "Which number is below every cosine?",
        _zero_for_asked,
        of=1,
    ),
    _analogy(
        "difference turned around",
        "The step from b to a was added, not the step from a to b.",
        "In king - man + woman, which of a, b, c is which?",
        target=lambda a, b, c: a - b + c,
    ),
    _analogy(
        "c subtracted",
        "The third word was subtracted, and the first one added.",
        "In king - man + woman, which of a, b, c is which?",
        target=lambda a, b, c: a + b - c,
    ),
    _analogy(
        "c forgotten",
        "The step from a to b was taken, but not from c.",
        "A step needs a place to start from.",
        target=lambda a, b, c: b - a,
    ),
    _analogy(
        "everything added",
        "All three vectors were added.",
        "One of the three must be taken away.",
        {"target": lambda a, b, c: (a + b + c) / 3},
        target=lambda a, b, c: a + b + c,
    ),
    _analogy(
        "dot product with the sum",
        "The candidates were ranked by the dot product, so the long vectors win.",
        "Similarity here is the cosine of 1.2.",
        score=lambda u, V: V @ u,
    ),
    _analogy(
        "distance from the sum",
        "The candidates were ranked by distance.",
        "Similarity here is the cosine of 1.2.",
        score=lambda u, V: -(V - u).norm(dim=-1),
    ),
    _analogy(
        "normalised first",
        "The three vectors were brought to length 1 before the sum. That is a known "
        "variant, but the exercise asks for the sum of the vectors as they are.",
        "Where does the length matter: in the sum, in the comparison, or in both?",
        target=lambda a, b, c: _unit(b) - _unit(a) + _unit(c),
    ),
)


def _letter(value: Any) -> Look:
    return Look({"value": value.upper() if isinstance(value, str) else value})


EXERCISES = (
    Exercise(
        "1.2",
        "Cosine similarity",
        "function",
        difficulty=2,
        minutes=6,
        points=2,
        answers=(
            Answer("cosine_similarity", cosine_similarity, {"similarity": "word"}),
        ),
        cases=_cosine_cases,
        proves="vectors of any length, same and opposite directions, float32",
        properties=(Property("Do all lie between -1 and 1", _in_range),),
        misconceptions=COSINE_MISTAKES,
    ),
    Exercise(
        "1.3",
        "Neighbours and analogies",
        "function",
        difficulty=3,
        minutes=12,
        points=3,
        answers=(
            Answer("nearest", nearest, {"neighbours": ""}),
            Answer("analogy", analogy, {"word": ""}),
        ),
        cases=_neighbour_cases,
        proves="order, exclusions and the cosine, in vocabularies of 3 to 23 words",
        misconceptions=(*NEAREST_MISTAKES, *ANALOGY_MISTAKES),
    ),
    Exercise(
        "1.3b",
        "Bug hunt: which table was trained?",
        "value",
        difficulty=2,
        minutes=4,
        points=1,
        answers=(Answer("trained_table", "C"),),
        cases=lambda seed: [Case("your letter", look=_letter)],
        proves="most pairs unlike, some alike: only a trained table has that tail",
        misconceptions=(
            mistake(
                "the untrained table",
                "A is a fresh table: no two rows are alike beyond what chance gives.",
                "Words have neighbours. Which histogram has a tail to the right?",
                "A",
            ),
            mistake(
                "the ruler",
                "In B every pair is alike, as in 0.1, 0.2, 0.3 and so on.",
                "Is any word unlike any other there?",
                "B",
            ),
        ),
    ),
)
