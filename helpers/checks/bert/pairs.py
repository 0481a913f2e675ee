"""9.3: pairs for the next-sentence task, half of them real.

The answer is random: the share of real pairs must lie within 5 sigma of one half (by
chance it does not in one of 1.7 million checks).
"""

import random
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import torch

from helpers.checks.exercise import Answer, Case, Exercise, Look, Misconception

Documents = Sequence[Sequence[str]]
Pairs = list[tuple[str, str, bool]]


def sentence_pairs(documents: Documents) -> Pairs:
    """The course's own answer to 9.3."""
    return _pairs(documents)


def _elsewhere(documents: Documents, number: int, place: int) -> str:
    """A sentence of another document."""
    other = random.choice([n for n in range(len(documents)) if n != number])
    return random.choice(documents[other])


def _pairs(
    documents: Documents,
    *,
    real: float = 0.5,
    stranger: Callable[[Documents, int, int], str] = _elsewhere,
    label: Callable[[bool], bool] = lambda is_next: is_next,
    step: int = 1,
) -> Pairs:
    """Pairs with one step exchanged."""
    found = []
    for number, sentences in enumerate(documents):
        for place in range(0, len(sentences) - 1, step):
            is_next = random.random() < real
            second = sentences[place + 1]
            if not is_next:
                second = stranger(documents, number, place)
            found.append((sentences[place], second, label(is_next)))
    return found


# --- what is looked at ----------------------------------------------------------------


def _look(call: Callable, documents: Documents) -> Look:
    random.seed(0)
    pairs = call(documents)
    if odd := _odd(pairs, {text for some in documents for text in some}):
        count = sum(len(sentences) - 1 for sentences in documents)
        return Look({"pairs": odd, "number of pairs": count} | EXPECTED)
    return Look({"pairs": "(first, second, is_next)"} | _judged(documents, pairs))


EXPECTED = {
    "first sentences": "each that has a next",
    "second sentences where is_next is True": "the next one",
    "second sentences where is_next is False": "from another document",
    "share of is_next": "about one half",
    "strangers": "of many kinds",
}


def _odd(pairs: Any, sentences: set[str]) -> str | None:
    """What is wrong with the form of an answer, if anything is."""
    if not isinstance(pairs, list | tuple):
        return f"a {type(pairs).__name__}"
    for one in pairs:
        if not isinstance(one, tuple | list) or len(one) != 3:
            return f"{str(one)[:60]}"
        if not {*one[:2]} <= sentences:
            return "sentences that are in no document"
    return None if pairs else "no pairs"


def _judged(documents: Documents, pairs: Pairs) -> dict[str, Any]:
    """What the pairs are, in words: the choice itself is random."""
    where = {
        text: (number, place)
        for number, sentences in enumerate(documents)
        for place, text in enumerate(sentences)
    }
    firsts = [
        text for sentences in documents for text in sentences[: len(sentences) - 1]
    ]
    judged: dict[str, Any] = {"number of pairs": len(pairs)}
    same = [first for first, _, _ in pairs] == firsts
    judged["first sentences"] = "each that has a next" if same else "others"
    kinds = [(_kind(where[a], where[b]), bool(is_next)) for a, b, is_next in pairs]
    for truth in (True, False):
        found = sorted({kind for kind, is_next in kinds if is_next is truth})
        judged[f"second sentences where is_next is {truth}"] = ", ".join(found)
    judged["share of is_next"] = _share([is_next for _, is_next in kinds])
    strangers = [b for _, b, is_next in pairs if not is_next]
    judged["strangers"] = _variety(strangers, where)
    return judged


def _kind(first: tuple[int, int], second: tuple[int, int]) -> str:
    if first[0] != second[0]:
        return "from another document"
    return "the next one" if second[1] == first[1] + 1 else "from the same document"


def _share(flags: list[bool]) -> str:
    room = 5 * (0.25 * len(flags)) ** 0.5
    found = sum(flags)
    if abs(found - len(flags) / 2) <= room:
        return "about one half"
    if found in (0, len(flags)):
        return "all" if found else "none"
    return "clearly more than half" if found > len(flags) / 2 else "clearly less"


def _variety(strangers: list[str], where: dict) -> str:
    """Whether many sentences of many documents serve as strangers."""
    if len(strangers) < 20:
        return "hardly any"
    if len(set(strangers)) < 10:
        return "always the same few"
    places = {where[text][1] for text in strangers}
    return "always first sentences" if places == {0} else "of many kinds"


def _documents(draw: torch.Generator, sizes: list[int]) -> list[list[str]]:
    tags = torch.randperm(10_000, generator=draw).tolist()
    return [
        [f"Sentence {tags.pop()} of document {number}." for _ in range(size)]
        for number, size in enumerate(sizes)
    ]


def _cases(seed: int) -> list[Case]:
    draw = torch.Generator().manual_seed(seed)
    many = torch.randint(3, 9, (80,), generator=draw).tolist()
    long = torch.randint(150, 250, (3,), generator=draw).tolist()
    return [
        Case(name, (_documents(draw, sizes),), inputs=("documents",), look=_look)
        for name, sizes in (
            ("80 documents of 3 to 8 sentences", many),
            ("three long documents", long),
            ("many documents, some of a single sentence", [1, *many, 1, *many]),
        )
    ]


# --- what goes wrong ------------------------------------------------------------------


def _same_document(documents: Documents, number: int, place: int) -> str:
    """Any sentence of the document but the next one; itself where there are two."""
    rest = [text for n, text in enumerate(documents[number]) if n != place + 1]
    return random.choice(rest)


def _anywhere(documents: Documents, number: int, place: int) -> str:
    return random.choice([text for sentences in documents for text in sentences])


def _first_elsewhere(documents: Documents, number: int, place: int) -> str:
    other = random.choice([n for n in range(len(documents)) if n != number])
    return documents[other][0]


def _always_the_same(documents: Documents, number: int, place: int) -> str:
    return documents[-1 if number == 0 else 0][0]


def _across(documents: Documents) -> Pairs:
    """All sentences in one row: a document's last one has a next, too."""
    whole = [(n, text) for n, sentences in enumerate(documents) for text in sentences]
    found = []
    for (number, first), (_, second) in zip(whole, whole[1:], strict=False):
        is_next = random.random() < 0.5
        stranger = _elsewhere(documents, number, 0)
        found.append((first, second if is_next else stranger, is_next))
    return found


def _both_kinds(documents: Documents) -> Pairs:
    """Each first sentence twice: with its next one, and with a stranger."""
    found = []
    for number, sentences in enumerate(documents):
        for place in range(len(sentences) - 1):
            found.append((sentences[place], sentences[place + 1], True))
            stranger = _elsewhere(documents, number, place)
            found.append((sentences[place], stranger, False))
    return found


def _wrong(name: str, done: str, where: str, *changes: Any) -> Misconception:
    spellings = tuple(
        partial(_pairs, **change) if isinstance(change, dict) else change
        for change in changes
    )
    return Misconception(name, done, where, spellings)


MISTAKES = (
    _wrong(
        "strangers of the same document",
        "A pair that is no pair got a sentence of the same document: that is nearly as "
        "fitting as the real one.",
        "Where should the second sentence come from, if it is not the next one?",
        {"stranger": _same_document},
    ),
    _wrong(
        "strangers from anywhere",
        "The random sentence was drawn from all documents; sometimes it is from the "
        "same one, or even the real next sentence.",
        "Which document must the random sentence not come from?",
        {"stranger": _anywhere},
    ),
    _wrong(
        "labels swapped",
        "Real pairs are called False and random ones True.",
        "What does the name `is_next` promise?",
        {"label": lambda is_next: not is_next},
    ),
    _wrong(
        "always the next sentence",
        "All pairs are real: the model would learn to say yes.",
        "What share of the pairs should be real?",
        {"real": 1.0},
    ),
    _wrong(
        "never the next sentence",
        "No pair is real: the model would learn to say no.",
        "What share of the pairs should be real?",
        {"real": 0.0},
    ),
    _wrong(
        "not half and half",
        "Real and random pairs are not equally frequent.",
        "How likely is each of the two?",
        {"real": 0.15},
        {"real": 0.8},
        {"real": 0.25},
    ),
    _wrong(
        "across the end of a document",
        "The last sentence of a document was followed by the next document's first.",
        "Which sentences have no next one?",
        _across,
    ),
    _wrong(
        "each sentence once",
        "Only every second sentence begins a pair.",
        "A sentence may be the second of one pair and the first of the next.",
        {"step": 2},
    ),
    _wrong(
        "both kinds for each sentence",
        "Each first sentence stands in two pairs, a real and a random one.",
        "How many pairs does a document of n sentences give?",
        _both_kinds,
    ),
    _wrong(
        "always the same stranger",
        "One and the same sentence stands in for all random ones.",
        "When is the random sentence drawn: once, or for each pair?",
        {"stranger": _always_the_same},
    ),
    _wrong(
        "only first sentences as strangers",
        "The random sentence is always the first of its document.",
        "Two things are drawn: a document, and then?",
        {"stranger": _first_elsewhere},
    ),
)

EXERCISES = (
    Exercise(
        "9.3",
        "Does this sentence follow?",
        "function",
        difficulty=2,
        minutes=12,
        points=3,
        core=True,
        answers=(Answer("sentence_pairs", sentence_pairs, {"pairs": ""}),),
        cases=_cases,
        proves="half of the pairs real, strangers from other documents, right labels",
        misconceptions=MISTAKES,
    ),
)
