"""8.G: the exact match at each length of the output."""

import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from helpers.checks.exercise import Answer, Case, Exercise, Look, mistake
from helpers.exercises.kit import exchanging

WITHIN = 1e-6  # shares computed in float32 are right too


def _look(call: Callable, *inputs: Sequence) -> Look:
    """The lengths, and the share at each one asked for, in any order."""
    found = call(*inputs)
    if not isinstance(found, Mapping):
        return Look({"result": found})
    found = {_number(length): _number(share) for length, share in found.items()}
    lengths, asked = sorted(found, key=str), sorted(set(inputs[2]))
    judged = {
        "lengths": tuple(lengths),
        "type of the lengths": ", ".join(sorted({type(n).__name__ for n in lengths})),
    }
    for length in asked:
        share = found.get(length, "no such length")
        judged[f"the share at length {length}"] = share
    others = {f"at {n!r}": found[n] for n in lengths if n not in asked}
    return Look(judged, others)


def _number(value: Any) -> Any:
    return value.item() if hasattr(value, "item") else value


def _cases(seed: int) -> list[Case]:
    names = ("texts", "expected", "lengths")

    def case(name: str, *rows: tuple[str, str, int]) -> Case:
        columns = [list(column) for column in zip(*rows, strict=True)]
        return Case(name, tuple(columns), inputs=names, look=_look, tolerance=WITHIN)

    drawn = [case("texts drawn at random", *_drawn(seed))] if seed else []
    return [
        *drawn,
        case(
            "five texts of two lengths",
            ("zwei", "zwei", 1),
            ("drei", "zwei", 1),
            ("vierzig", "vierzig", 2),
            ("vierzehn", "vierzig", 2),
            ("sechzehn", "vierzehn", 2),
        ),
        case(
            "a length at which nothing is right",
            ("acht", "acht", 1),
            ("achtzig", "achtzehn", 2),
            ("neunundzwanzig", "neunundneunzig", 4),
            ("siebenundvierzig", "siebenundvierzig", 4),
            ("hundert", "hundert", 1),
            ("einhundertdrei", "einhundertdrei", 4),
        ),
        case(
            "lengths not in order, and a text cut short",
            ("eintausendeins", "eintausendeins", 7),
            ("fünf", "fünf", 3),
            ("eintausend", "eintausendeins", 7),
            ("fünfzehn", "fünf", 3),
            ("elf", "elf", 3),
            ("", "zwölf", 3),
            ("dreizehn", "dreizehn", 5),
        ),
        case(
            "capitals and spaces",
            ("Zwei", "zwei", 1),
            ("drei", "drei", 1),
            ("vierzig ", "vierzig", 2),
            ("vierzehn", "vierzehn", 2),
            (" achtzig", "achtzig", 2),
            ("ein Hundert", "einhundert", 3),
            ("SECHSHUNDERT", "sechshundert", 3),
            ("neunhundert", "neunhundert", 3),
            ("zwei tausend", "zweitausend", 4),
            ("eintausend", "eintausend", 4),
        ),
    ]


def _drawn(seed: int) -> list[tuple[str, str, int]]:
    """Twelve texts of three lengths, some right and some not."""
    draw, words = random.Random(seed), ("zwei", "drei", "acht", "elf", "zwanzig")
    pairs = [(draw.choice(words), draw.choice(words)) for _ in range(12)]
    return [(mine, right, draw.randint(2, 4)) for mine, right in pairs]


def match_by_length(
    texts: Sequence[str],
    expected: Sequence[str],
    lengths: Sequence[int],
    *,
    score: Callable[[str, str], float] = lambda text, right: float(text == right),
    share: Callable[[float, int, int], float] = lambda sum, count, every: sum / count,
    length_of: Callable = lambda text, right, length: length,
) -> dict[int, float]:
    """The course's own answer to 8.G, in steps that a mistake can exchange."""
    rows = list(zip(texts, expected, lengths, strict=True))
    found: dict[int, list[float]] = {}
    for text, right, length in rows:
        key = length_of(text, right, length)
        found.setdefault(key, []).append(score(text, right))
    return {key: share(sum(s), len(s), len(rows)) for key, s in found.items()}


def _letters(text: str, right: str) -> float:
    hits = sum(a == b for a, b in zip(text, right))  # noqa: B905
    return hits / max(len(text), len(right))


def _letters_of_the_right_one(text: str, right: str) -> float:
    return sum(a == b for a, b in zip(text, right)) / len(right)  # noqa: B905


def _right_ones_only(*columns: Sequence) -> dict[int, float]:
    return {key: share for key, share in match_by_length(*columns).items() if share}


def _up_to(texts: Sequence, expected: Sequence, lengths: Sequence) -> dict[int, float]:
    right = [a == b for a, b in zip(texts, expected, strict=True)]
    found = {}
    for length in set(lengths):
        some = [r for r, n in zip(right, lengths, strict=True) if n <= length]
        found[length] = sum(some) / len(some)
    return found


def _of_the_right_ones(*columns: Sequence) -> dict[int, float]:
    counts = match_by_length(*columns, share=lambda sum, count, every: sum)
    return {key: count / sum(counts.values()) for key, count in counts.items()}


def _last_one_wins(
    texts: Sequence, expected: Sequence, lengths: Sequence
) -> dict[int, float]:
    rows = zip(texts, expected, lengths, strict=True)
    return {length: float(text == right) for text, right, length in rows}


swap = exchanging(match_by_length)
MISTAKES = (
    mistake(
        "counts, not shares",
        "The right texts were counted, but their share is wanted.",
        "How many texts of this length are there in all?",
        swap(share=lambda sum, count, every: sum),
    ),
    mistake(
        "divided by all texts",
        "The right texts of each length were divided by the number of all texts.",
        "How many texts of this length are there?",
        swap(share=lambda sum, count, every: sum / every),
    ),
    mistake(
        "divided by the right ones",
        "The shares say how the right texts are spread over the lengths.",
        "How many texts of this length are there, right or wrong?",
        _of_the_right_ones,
    ),
    mistake(
        "only 0 or 1",
        "A share between 0 and 1 became 0 or 1.",
        "Which operation of yours can only give 0 or 1?",
        swap(share=lambda sum, count, every: sum // count),
        swap(share=lambda sum, count, every: float(sum > 0)),
        swap(share=lambda sum, count, every: round(sum / count)),
    ),
    mistake(
        "rounded",
        "The shares were rounded.",
        "Rounding is for printing. Does the docstring ask for it?",
        *(
            swap(share=lambda sum, count, every, to=to: round(sum / count, to))
            for to in (1, 2, 3)
        ),
    ),
    mistake(
        "percent",
        "The shares were multiplied by 100.",
        "A share lies between 0 and 1.",
        swap(share=lambda sum, count, every: 100 * sum / count),
    ),
    mistake(
        "the wrong ones counted",
        "The shares are those of the wrong texts.",
        "What makes a text count: that it equals the expected one, or not?",
        swap(score=lambda text, right: float(text != right)),
    ),
    mistake(
        "letters matched",
        "Texts were compared letter by letter; one wrong letter makes a wrong number.",
        "Exact match: is the whole text right?",
        swap(score=_letters),
        swap(score=_letters_of_the_right_one),
    ),
    mistake(
        "partial matches",
        "A text counted as right when only a part of it, or of the expected one, "
        "matched.",
        "Exact match: is the whole text right, to its end?",
        swap(score=lambda text, right: float(right.startswith(text))),
        swap(score=lambda text, right: float(text.startswith(right))),
        swap(score=lambda text, right: float(text in right)),
        swap(score=lambda text, right: float(right in text)),
    ),
    mistake(
        "capitals or spaces ignored",
        "Texts were changed before they were compared, so that capitals or spaces "
        "made no difference.",
        "What do you do to a text before the comparison?",
        swap(score=lambda text, right: float(text.strip().lower() == right)),
        swap(score=lambda text, right: float(text.lower() == right)),
        swap(score=lambda text, right: float(text.strip() == right)),
        swap(score=lambda text, right: float(text.rstrip() == right)),
        swap(score=lambda text, right: float(text.replace(" ", "") == right)),
        swap(score=lambda text, right: float(text.lower().replace(" ", "") == right)),
    ),
    mistake(
        "keys of another type",
        "The keys of the dictionary are strings or floats, but should be whole "
        "numbers.",
        "Print your dictionary. How are its keys written?",
        swap(length_of=lambda text, right, length: str(length)),
        swap(length_of=lambda text, right, length: float(length)),
    ),
    mistake(
        "zeros left out",
        "A length at which nothing is right is missing.",
        "Which lengths should be in the table?",
        _right_ones_only,
    ),
    mistake(
        "all up to this length",
        "Shorter texts were counted too.",
        "Which texts belong to a length?",
        _up_to,
    ),
    mistake(
        "only the last text of each length",
        "Each text replaced the ones before it.",
        "What happens to an entry when a second text of its length comes along?",
        _last_one_wins,
    ),
    mistake(
        "length in letters",
        "The texts were grouped by their number of letters, not by the lengths given.",
        "Which argument says how long a text is?",
        swap(length_of=lambda text, right, length: len(right)),
        swap(length_of=lambda text, right, length: len(text)),
    ),
)

EXERCISES = (
    Exercise(
        "8.G",
        "Exact match by length",
        "function",
        difficulty=2,
        points=2,
        answers=(
            Answer("match_by_length", match_by_length, {"a dictionary of shares": ""}),
        ),
        cases=_cases,
        proves="whole texts compared character by character, a share for each length, "
        "zeros included",
        misconceptions=MISTAKES,
    ),
)
