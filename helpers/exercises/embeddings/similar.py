"""1.D, 1.E: cosine similarity, neighbours, analogies; 1.H: which table was trained."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from helpers.checks.exercise import Answer, Case, Exercise, Look, Property, mistake
from helpers.exercises.kit import exchanging, normal
from helpers.text import word_vectors

WORDS = (
    "ash beech birch cedar elm fig hazel larch lime maple oak olive palm pear pine "
    "plum poplar rowan spruce teak walnut willow yew"
).split()

# --- 1.D ---


def cosine_similarity(u: Tensor, V: Tensor) -> Tensor:
    """The course's own answer to 1.D."""
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
        return Case(name, (u, V), inputs=("u", "V"), tolerance=1e-5)  # / (... + 1e-8)

    # Powers of two along an axis: the cosines are 1 and -1 to the last bit, in any
    # formula and on any processor. The arc cosine of a little more than 1 is NaN.
    u = torch.tensor([0.0, 64, 0, 0], dtype=torch.float64)
    V = torch.stack([2 * u, -0.5 * u, *_uneven(draw, 2, 4)])
    same = Case(
        "same and opposite direction", (u, V), inputs=("u", "V"), tolerance=1e-5
    )
    return [
        case("6 words, 4 numbers each", 6, 4),
        case("3 words, 7 numbers each", 3, 7),
        case("as many words as numbers", 5, 5),
        case("float32", 4, 9, torch.float32),
        same,
    ]


def _in_range(case: Case, outputs: dict) -> str | None:
    values = outputs["similarity"]
    off = values[~(values.abs() <= 1 + 1e-4)]
    return f"one of them is {off[0].item():.4f}" if off.numel() else None


@mistake(
    "no normalisation",
    "This is the plain dot product, in which longer vectors win.",
    "What does the formula divide by?",
    lambda u, V: (V * u).sum(-1),
)
def _dot(u: Tensor, V: Tensor) -> Tensor:
    return V @ u


@mistake(
    "only the table normalised",
    "The lengths of the rows of V were divided out, but not the length of u.",
    "There are two lengths under the fraction line.",
    lambda u, V: V @ u / V.norm(dim=-1),
)
def _table_only(u: Tensor, V: Tensor) -> Tensor:
    return (V / V.norm(dim=-1, keepdim=True)) @ u


@mistake(
    "only u normalised",
    "The length of u was divided out, but not the lengths of the rows of V.",
    "There are two lengths under the fraction line.",
    lambda u, V: V @ u / u.norm(),
)
def _u_only(u: Tensor, V: Tensor) -> Tensor:
    return V @ (u / u.norm())


@mistake(
    "multiplied by one of the lengths",
    "The product was divided by one length and multiplied by the other: `a / b * c` "
    "divides by b alone.",
    "Where do brackets belong, so that both lengths end up under the fraction line?",
    lambda u, V: V @ u / V.norm(dim=-1) * u.norm(),
)
def _unbracketed(u: Tensor, V: Tensor) -> Tensor:
    return V @ u / u.norm() * V.norm(dim=-1)


@mistake(
    "every product by every length",
    "The lengths kept an axis of size 1, so each product was divided by all of them.",
    "Print the shapes on both sides of the division.",
)
def _kept(u: Tensor, V: Tensor) -> Tensor:
    return V @ u / (u.norm() * V.norm(dim=-1, keepdim=True))


@mistake(
    "axis taken for a kind of length",
    "`norm` took the number for the kind of length, not for an axis, and gave one "
    "length for the whole table.",
    "The axis has to be named: `dim=`.",
    lambda u, V: V @ u / (V.norm(-1) * u.norm()),
    lambda u, V: V @ u / (V.norm(1) * u.norm(1)),
    lambda u, V: V @ u / (V.norm(-1) * u.norm(-1)),
)
def _kind_of_norm(u: Tensor, V: Tensor) -> Tensor:
    return V @ u / (V.norm(1) * u.norm())


@mistake(
    "products added up over the whole table",
    "One sum was taken over the whole table, not one for each of its rows.",
    "A sum takes an axis; without one it adds up everything.",
)
def _one_sum(u: Tensor, V: Tensor) -> Tensor:
    return (V * u).sum() / (V.norm(dim=-1) * u.norm())


@mistake(
    "products not added up",
    "The numbers of u and of each row were multiplied, but not added up.",
    "The result has one number per row: which axis has to go?",
    lambda u, V: (V / V.norm(dim=-1, keepdim=True)) * (u / u.norm()),
)
def _not_summed(u: Tensor, V: Tensor) -> Tensor:
    return V * u / (V.norm(dim=-1, keepdim=True) * u.norm())


@mistake(
    "lengths added",
    "The product was divided by the sum of the two lengths.",
    "How do the two lengths stand together under the fraction line?",
)
def _sum_of_lengths(u: Tensor, V: Tensor) -> Tensor:
    return V @ u / (V.norm(dim=-1) + u.norm())


@mistake(
    "1 minus the cosine",
    "The cosine was subtracted from 1, so the same direction gives 0.",
    "Does the exercise ask how near two vectors are, or how far apart?",
)
def _one_minus(u: Tensor, V: Tensor) -> Tensor:
    return 1 - word_vectors.cosine_similarity(u, V)


@mistake(
    "squared lengths",
    "The product was divided by the squared lengths: a root is missing.",
    "How do you get from a sum of squares to a length?",
)
def _squares(u: Tensor, V: Tensor) -> Tensor:
    return V @ u / (V.square().sum(-1) * u.square().sum())


@mistake(
    "lengths of the columns",
    "The lengths were taken down the columns, over the words.",
    "Along which axis do the numbers of one word's vector run?",
    lambda u, V: V @ u / (V.norm(dim=0) * u.norm()),
)
def _column_lengths(u: Tensor, V: Tensor) -> Tensor:
    return (V / V.norm(dim=0)) @ (u / u.norm())


@mistake(
    "one length for the whole table",
    "A single length was taken for the whole of V, not one for each row.",
    "Over what does `norm` run if you name no axis?",
    lambda u, V: V / V.norm() @ u / u.norm(),
)
def _whole(u: Tensor, V: Tensor) -> Tensor:
    return V @ u / (V.norm() * u.norm())


@mistake(
    "distance",
    "These are distances, so the same direction does not give 1.",
    "Which product tells you something about an angle?",
    lambda u, V: (V - u).square().sum(-1).sqrt(),
)
def _distance(u: Tensor, V: Tensor) -> Tensor:
    return (V - u).norm(dim=-1)


@mistake(
    "sign lost",
    "Opposite directions count as similar, because the sign is gone.",
    "Which values can a cosine take, and which of them did you lose?",
)
def _unsigned(u: Tensor, V: Tensor) -> Tensor:
    return word_vectors.cosine_similarity(u, V).abs()


@mistake(
    "product from the left",
    "u was multiplied with the columns of V, so the sum runs over the words.",
    "V is (words, numbers). Which of its axes belongs to the numbers of u?",
    lambda u, V: u @ V / (u.norm() * V.norm(dim=-1)),
    lambda u, V: V.T @ u / (V.norm(dim=-1) * u.norm()),
    lambda u, V: u @ V,
)
def _from_left(u: Tensor, V: Tensor) -> Tensor:
    return u @ V / u.norm() / V.norm(dim=-1)


@mistake(
    "the angle itself",
    "These are angles, so the same direction gives 0.",
    "Does the exercise ask for an angle or for its cosine?",
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
    _one_sum,
    _not_summed,
    _sum_of_lengths,
    _one_minus,
    _squares,
    _column_lengths,
    _whole,
    _distance,
    _unsigned,
)

# --- 1.E ---


def nearest(word: str, k: int, words: Sequence[str], vectors: Tensor) -> list[str]:
    """The course's own answer to 1.E, first part."""
    return word_vectors.nearest(word, k, words, vectors)


def analogy(a: str, b: str, c: str, words: Sequence[str], vectors: Tensor) -> str:
    """The course's own answer to 1.E, second part."""
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


# What random inputs show on most seeds only, so these are the same on every seed. No
# other word is as similar as the word itself: to drop the first of k + 1 is right.
FIXED_NEIGHBOURS = (
    ("one neighbour points away", "dog dog cat car", [[1.0, 0], [0.9, 0.1], [-1, 0.2]]),
)
FIXED_ANALOGIES = {
    "a points exactly where b - a + c does": (
        [[1.0, 1], [2, 0.25], [0.5, 2.25], [-1, 0.5], [0, 1]]
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
    """The words by falling score; of words that tie the first one."""
    rows = sorted(range(len(score)), key=score.tolist().__getitem__, reverse=True)
    return [words[row] for row in rows]


def _neighbours(
    word: str,
    k: int,
    words: Sequence[str],
    vectors: Tensor,
    *,
    score: Callable = word_vectors.cosine_similarity,
    pick: Callable = lambda ranked, word, k: [w for w in ranked if w != word][:k],
) -> list[str]:
    """Neighbours, in steps that a mistake can exchange."""
    ranked = _ranked(score(vectors[words.index(word)], vectors), words)
    return pick(ranked, word, k)


swap_nearest = exchanging(_neighbours)


def _but_word(ranked: list[str], word: str) -> list[str]:
    return [one for one in ranked if one != word]


def _but_first(ranked: list[str], word: str, k: int) -> list[str]:
    """Right by cosine; by the dot product the first may be another word."""
    return ranked[1 : k + 1]


def _zero_for_word(word: str, k: int, words: Sequence[str], vectors: Tensor) -> Any:
    place = words.index(word)
    similarity = word_vectors.cosine_similarity(vectors[place], vectors)
    similarity[place] = 0.0
    return _ranked(similarity, words)[:k]


def _down_the_columns(
    word: str, k: int, words: Sequence[str], vectors: Tensor, itself: float | None
) -> Any:
    place = words.index(word)
    similarity = F.cosine_similarity(vectors[place], vectors, dim=0)
    if itself is not None:
        similarity[place] = itself
    return [words[row] for row in similarity.topk(k).indices.tolist()]


def _rows(word: str, k: int, words: Sequence[str], vectors: Tensor) -> Tensor:
    return torch.tensor([words.index(one) for one in nearest(word, k, words, vectors)])


NEAREST_MISTAKES = (
    mistake(
        "the word itself",
        "The word is its own nearest neighbour, and it is in the list.",
        "Which word always has a similarity of 1?",
        swap_nearest(pick=lambda ranked, word, k: ranked[:k]),
    ),
    mistake(
        "one too few",
        "One neighbour is missing: the word itself was among the k that were chosen, "
        "and was dropped.",
        "How many do you need before you drop one?",
        swap_nearest(pick=lambda ranked, word, k: _but_word(ranked[:k], word)),
    ),
    mistake(
        "one too many",
        "The result has one neighbour more than k.",
        "How many are left once the word itself is dropped?",
        swap_nearest(pick=lambda ranked, word, k: _but_word(ranked, word)[: k + 1]),
    ),
    mistake(
        "least similar",
        "These words come from the other end of the list: the least similar ones.",
        "Which end of the sorted list holds the largest cosine?",
        swap_nearest(pick=lambda ranked, word, k: ranked[::-1][:k]),
        swap_nearest(pick=lambda ranked, word, k: ranked[::-1][1 : k + 1]),
    ),
    mistake(
        "order reversed",
        "These are the right words, but the least similar one comes first.",
        "Ascending or descending?",
        swap_nearest(pick=lambda ranked, word, k: _but_word(ranked, word)[:k][::-1]),
    ),
    mistake(
        "dot product",
        "The words were ranked by the dot product, so long vectors win.",
        "What is similarity in this exercise? See 1.D.",
        swap_nearest(score=lambda u, V: V @ u),
        swap_nearest(score=lambda u, V: V @ u, pick=_but_first),
    ),
    mistake(
        "distance",
        "The words were ranked by distance, so a long vector in the same direction "
        "loses.",
        "What is similarity in this exercise? See 1.D.",
        swap_nearest(score=lambda u, V: -(V - u).norm(dim=-1)),
    ),
    mistake(
        "zero in place of the word itself",
        "The word's own similarity was set to 0, and where other words are below 0, it "
        "came back.",
        "Which number is below every cosine?",
        _zero_for_word,
    ),
    mistake(
        "cosine down the columns",
        "The cosine ran over the words, which gives one number per feature, not per "
        "word.",
        "Along which axis of (words, numbers) do the numbers of one word run?",
        partial(_down_the_columns, itself=None),
        partial(_down_the_columns, itself=-2.0),
    ),
    mistake(
        "rows instead of words",
        "The result holds the numbers of rows, not words.",
        "How does `words` tell you which word belongs to a row?",
        lambda *asked: _rows(*asked).tolist(),
        lambda *asked: _rows(*asked),
        lambda *asked: list(_rows(*asked)),
    ),
)


def _related(
    a: str,
    b: str,
    c: str,
    words: Sequence[str],
    vectors: Tensor,
    *,
    target: Callable = lambda a, b, c: b - a + c,
    score: Callable = word_vectors.cosine_similarity,
    pick: Callable = lambda ranked, a, b, c: _without(ranked, a, b, c)[0],
) -> str:
    """An analogy, in steps that a mistake can exchange."""
    rows = (vectors[words.index(word)] for word in (a, b, c))
    ranked = _ranked(score(target(*rows), vectors), words)
    return pick(ranked, a, b, c)


swap_analogy = exchanging(_related)


def _without(ranked: list[str], *asked: str) -> list[str]:
    return [word for word in ranked if word not in asked]


def _zero_for_asked(
    a: str, b: str, c: str, words: Sequence[str], vectors: Tensor, first: int
) -> str:
    """Three zeros tie where all other words are below 0: any of the three may win."""
    asked = [words.index(word) for word in (a, b, c)]
    at_a, at_b, at_c = vectors[asked]
    similarity = word_vectors.cosine_similarity(at_b - at_a + at_c, vectors)
    similarity[asked] = 0.0
    best = similarity.argmax().item()
    return words[asked[first] if best in asked else best]


def _unit(vector: Tensor) -> Tensor:
    return vector / vector.norm()


ANALOGY_MISTAKES = (
    mistake(
        "asked words allowed",
        "One of the three words came back: nothing was excluded.",
        "The sum lies close to where you started. Which words can't be the answer?",
        swap_analogy(pick=lambda ranked, a, b, c: ranked[0]),
        of=1,
    ),
    mistake(
        "always the second",
        "The best word was skipped, whichever it was, but it is not always one of the "
        "three.",
        "How do you recognise the three words: by rank or by name?",
        swap_analogy(pick=lambda ranked, a, b, c: ranked[1]),
        of=1,
    ),
    mistake(
        "not all asked words excluded",
        "One of the three words came back: at least one of them was not excluded.",
        "Which words can't be the answer?",
        swap_analogy(pick=lambda ranked, a, b, c: _without(ranked, c)[0]),
        swap_analogy(pick=lambda ranked, a, b, c: _without(ranked, a)[0]),
        swap_analogy(pick=lambda ranked, a, b, c: _without(ranked, b)[0]),
        swap_analogy(pick=lambda ranked, a, b, c: _without(ranked, a, b)[0]),
        swap_analogy(pick=lambda ranked, a, b, c: _without(ranked, a, c)[0]),
        swap_analogy(pick=lambda ranked, a, b, c: _without(ranked, b, c)[0]),
        of=1,
    ),
    mistake(
        "zero in place of the asked words",
        "The similarities of a, b and c were set to 0, and where every other word is "
        "below 0, one of the three came back.",
        "Which number is below every cosine?",
        *(partial(_zero_for_asked, first=first) for first in range(3)),
        of=1,
    ),
    mistake(
        "difference reversed",
        "The step from b to a was added, not the step from a to b.",
        "In king - man + woman, which of a, b, c is which?",
        swap_analogy(target=lambda a, b, c: a - b + c),
        of=1,
    ),
    mistake(
        "c subtracted",
        "The third word was subtracted, and the first one was added.",
        "In king - man + woman, which of a, b, c is which?",
        swap_analogy(target=lambda a, b, c: a + b - c),
        of=1,
    ),
    mistake(
        "c forgotten",
        "The step from a to b was taken, but not from c.",
        "A step needs a place to start from. Which word is that?",
        swap_analogy(target=lambda a, b, c: b - a),
        of=1,
    ),
    mistake(
        "everything added",
        "All three vectors were added.",
        "Which of the three must be subtracted?",
        swap_analogy(target=lambda a, b, c: a + b + c),
        swap_analogy(target=lambda a, b, c: (a + b + c) / 3),
        of=1,
    ),
    mistake(
        "dot product with the sum",
        "The candidates were ranked by the dot product, so long vectors win.",
        "What is similarity in this exercise? See 1.D.",
        swap_analogy(score=lambda u, V: V @ u),
        of=1,
    ),
    mistake(
        "distance from the sum",
        "The candidates were ranked by distance.",
        "What is similarity in this exercise? See 1.D.",
        swap_analogy(score=lambda u, V: -(V - u).norm(dim=-1)),
        of=1,
    ),
    mistake(
        "normalised first",
        "The three vectors were scaled to length 1 before they were added. That is a "
        "known variant, but the exercise adds the vectors as they are.",
        "Where does the length not matter: in the sum, in the comparison, or in both?",
        swap_analogy(target=lambda a, b, c: _unit(b) - _unit(a) + _unit(c)),
        of=1,
    ),
    mistake(
        "a row instead of the word",
        "The result is the number of a row, not a word.",
        "How does `words` tell you which word belongs to a row?",
        lambda *asked: asked[3].index(analogy(*asked)),
        lambda *asked: torch.tensor(asked[3].index(analogy(*asked))),
        of=1,
    ),
)


def _letter(value: Any) -> Look:
    return Look({"value": value.upper() if isinstance(value, str) else value})


EXERCISES = (
    Exercise(
        "1.D",
        "Cosine similarity",
        "function",
        difficulty=2,
        points=2,
        core=True,
        answers=(
            Answer("cosine_similarity", cosine_similarity, {"similarity": "word"}),
        ),
        cases=_cosine_cases,
        proves="vectors of any length, same and opposite directions, float32",
        properties=(Property("Do all lie between -1 and 1", _in_range),),
        misconceptions=COSINE_MISTAKES,
    ),
    Exercise(
        "1.E",
        "Neighbours and analogies",
        "function",
        difficulty=3,
        points=3,
        core=True,
        answers=(
            Answer("nearest", nearest, {"neighbours": ""}),
            Answer("analogy", analogy, {"word": ""}),
        ),
        cases=_neighbour_cases,
        proves="order, exclusions and the cosine, in vocabularies of 3 to 23 words",
        misconceptions=(*NEAREST_MISTAKES, *ANALOGY_MISTAKES),
    ),
    Exercise(
        "1.H",
        "Bug hunt: which table was trained?",
        "value",
        difficulty=2,
        points=1,
        answers=(Answer("trained_table", "C"),),
        cases=lambda seed: [Case("your letter", look=_letter)],
        proves="most pairs unlike, some alike: of the three, only the trained table "
        "has that tail",
        misconceptions=(
            mistake(
                "the untrained table",
                "A is a fresh table: no two of its rows are more alike than chance "
                "makes them.",
                "Words have neighbours. Which histogram has a tail to the right?",
                "A",
            ),
            mistake(
                "the ruler",
                "In B every pair of rows is alike, as in 0.1, 0.2, 0.3 and so on.",
                "Are there any two words in it that are unlike each other?",
                "B",
            ),
        ),
    ),
)
