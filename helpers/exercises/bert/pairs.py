"""9.K: pairs for the next-sentence task, half of them real.

The answer is random. The share of real pairs must lie within 5 sigma of one half, and
the number of changes between real and random within 5 sigma of what that share gives
(by chance, one of them fails to in about one of 300,000 checks). Everything else is put
in words that do not depend on the luck of a draw.
"""

import random
from collections.abc import Callable, Sequence
from typing import Any

import torch

from helpers.checks.exercise import Answer, Case, Exercise, Look, mistake
from helpers.exercises import kit
from helpers.exercises.kit import exchanging

Documents = Sequence[Sequence[str]]
Pairs = list[tuple[str, str, bool]]


def sentence_pairs(documents: Documents) -> Pairs:
    """The course's own answer to 9.K."""
    return _pairs(documents)


def _elsewhere(documents: Documents, number: int, place: int) -> str:
    """A sentence of another document."""
    other = random.choice([n for n in range(len(documents)) if n != number])
    return random.choice(documents[other])


def _pairs(
    documents: Documents,
    *,
    real: float = 0.5,
    choose: Callable[[int, int], bool] | None = None,
    stranger: Callable[[Documents, int, int], str] = _elsewhere,
    label: Callable[[bool], bool] = lambda is_next: is_next,
    step: int = 1,
) -> Pairs:
    """Pairs with one step exchanged."""
    choose = choose or (lambda number, place: random.random() < real)
    found = []
    for number, sentences in enumerate(documents):
        for place in range(0, len(sentences) - 1, step):
            is_next = choose(number, place)
            second = sentences[place + 1]
            if not is_next:
                second = stranger(documents, number, place)
            found.append((sentences[place], second, label(is_next)))
    return found


# --- what is looked at ----------------------------------------------------------------


def _look(call: Callable, documents: Documents) -> Look:
    """Call twice: what is drawn must differ between the calls."""
    random.seed(0)
    handed = [list(sentences) for sentences in documents]
    pairs, again = call(handed), call([list(sentences) for sentences in documents])
    sentences = {text for some in documents for text in some}
    odd = _odd(pairs, sentences) or _odd(again, sentences)
    if odd:
        count = sum(len(some) - 1 for some in documents)
        return Look({"pairs": odd, "number of pairs": count} | EXPECTED)
    judged = {"pairs": "(first, second, is_next)"}
    judged |= _judged(documents, pairs) | _second_call(pairs, again)
    judged["documents"] = "as they were" if handed == documents else "changed"
    return Look(judged)


EXPECTED = {
    "first sentences": "each that has a next one",
    "second sentences where is_next is True": "the next one",
    "second sentences where is_next is False": "from another document",
    "share of is_next": "about one half",
    "order of real and random": "as if drawn for each pair",
    "random sentences": "of many kinds",
    "choices of a second call": "different",
    "random sentences of a second call": "different",
    "documents": "as they were",
}


def _odd(pairs: Any, sentences: set[str]) -> str | None:
    """What is wrong with the form of an answer, if anything."""
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
    judged["first sentences"] = "each that has a next one" if same else "different"
    known = {*firsts}
    places = {  # what begins with the last sentence of a document was judged above
        truth: [
            (where[a], where[b])
            for a, b, is_next in pairs
            if bool(is_next) is truth and a in known
        ]
        for truth in (True, False)
    }
    for truth, found in places.items():
        judged[f"second sentences where is_next is {truth}"] = _kind(found)
    flags = [bool(is_next) for _, _, is_next in pairs]
    order = _order(flags)
    judged["order of real and random"] = order
    drawn = order == EXPECTED["order of real and random"]  # else a few draws decide
    judged["share of is_next"] = _share(flags) if drawn else "about one half"
    judged["random sentences"] = _variety(places[False], len(documents))
    return judged


Pair = tuple[tuple[int, int], tuple[int, int]]  # document and place of both sentences


def _kind(found: list[Pair]) -> str:
    """Where second sentences come from: rarer kinds must not depend on luck."""
    if not found:
        return "none"
    if all(b == (a[0], a[1] + 1) for a, b in found):
        return "the next one"
    own = sum(a[0] == b[0] for a, b in found)
    if own == len(found):
        return "from the same document"
    return "sometimes from the same document" if own else "from another document"


def _share(flags: list[bool]) -> str:
    found = sum(flags)
    if kit.near(found, len(flags), 0.5):
        return "about one half"
    if found in (0, len(flags)):
        return "all" if found else "none"
    return "clearly more than half" if found > len(flags) / 2 else "clearly less"


def _order(flags: list[bool]) -> str:
    """Whether real and random change as often as independent draws would."""
    share = sum(flags) / len(flags)
    changes = sum(a != b for a, b in zip(flags, flags[1:], strict=False))
    if kit.near(changes, len(flags) - 1, 2 * share * (1 - share)):
        return "as if drawn for each pair"
    often = changes > 2 * share * (1 - share) * len(flags)
    return "they take turns" if often else "long runs of one kind"


def _variety(found: list[Pair], documents: int) -> str:
    """Whether many sentences of many documents serve as random ones."""
    found = [(a, b) for a, b in found if a[0] != b[0]]
    if len(found) < 20:
        return "hardly any from other documents"
    if len({b for _, b in found}) < 10:
        return "always the same few"
    if {b[1] for _, b in found} == {0}:
        return "always first sentences"
    sources = {a[0]: set() for a, _ in found}
    for a, b in found:
        sources[a[0]].add(b[0])
    used = sum(map(len, sources.values()))
    if documents > 2 and used == len(sources):
        one = len({b for _, b in found}) <= len(sources)
        return f"for each document {'one sentence of another' if one else 'one other'}"
    few = used < len(sources) * (documents - 1) / 3
    return "from only a few other documents" if few else "of many kinds"


def _second_call(pairs: Pairs, again: Pairs) -> dict[str, str]:
    """What is drawn differs from call to call, unless there is nothing to draw."""
    if len(pairs) != len(again):
        return {"number of pairs": "different in a second call"}
    flags = [[bool(is_next) for _, _, is_next in some] for some in (pairs, again)]
    same = flags[0] == flags[1] and any(flags[0]) and not all(flags[0])
    both = [
        (one[1], other[1])
        for one, other in zip(pairs, again, strict=True)
        if not one[2] and not other[2]
    ]
    equal = sum(one == other for one, other in both) > len(both) / 2
    return {
        "choices of a second call": "the same" if same else "different",
        "random sentences of a second call": "the same" if equal else "different",
    }


def _documents(draw: torch.Generator, sizes: list[int]) -> list[list[str]]:
    tags = torch.randperm(10_000, generator=draw).tolist()
    return [
        [f"Sentence {tags.pop()} of document {number}." for _ in range(size)]
        for number, size in enumerate(sizes)
    ]


def _cases(seed: int) -> list[Case]:
    draw = torch.Generator().manual_seed(seed)
    many = torch.randint(20, 40, (30,), generator=draw).tolist()
    long = torch.randint(350, 450, (2,), generator=draw).tolist()
    some = torch.randint(20, 40, (30,), generator=draw).tolist()
    return [
        Case(name, (_documents(draw, sizes),), inputs=("documents",), look=_look)
        for name, sizes in (
            ("30 documents of 20 to 39 sentences", many),
            ("two long documents", long),
            ("documents, some of one or two sentences", [1, *some[:20], 1, 2, *some]),
        )
    ]


# --- what goes wrong ------------------------------------------------------------------

swap = exchanging(_pairs)


def _same_document(documents: Documents, number: int, place: int) -> str:
    """Any sentence of the document but the next one; itself where there are two."""
    rest = [text for n, text in enumerate(documents[number]) if n != place + 1]
    return random.choice(rest)


def _own_document(documents: Documents, number: int, place: int) -> str:
    """Any sentence of the document, the next one among them."""
    return random.choice(documents[number])


def _anywhere(documents: Documents, number: int, place: int) -> str:
    return random.choice([text for sentences in documents for text in sentences])


def _any_document(documents: Documents, number: int, place: int) -> str:
    return random.choice(random.choice(documents))


def _next_document(documents: Documents, number: int, place: int) -> str:
    return random.choice(documents[(number + 1) % len(documents)])


def _fixed(documents: Documents, number: int, place: int) -> str:
    other = documents[number - 1]
    return other[place % len(other)]


def _turning(documents: Documents, number: int, place: int) -> str:
    """A rule that walks through all other documents."""
    shift = 1 + place % (len(documents) - 1)
    other = documents[(number + shift) % len(documents)]
    return other[place % len(other)]


def _one_each(documents: Documents, *, sentence: bool = False) -> Pairs:
    """Draw the other document, or the sentence itself, once for a document."""
    found = []
    for number, sentences in enumerate(documents):
        other = random.choice([n for n in range(len(documents)) if n != number])
        theirs = documents[other]
        if sentence:
            theirs = [random.choice(theirs)]
        for first, second in zip(sentences, sentences[1:], strict=False):
            is_next = random.random() < 0.5
            found.append((first, second if is_next else random.choice(theirs), is_next))
    return found


def _one_sentence_each(documents: Documents) -> Pairs:
    return _one_each(documents, sentence=True)


def _one_choice_each(documents: Documents) -> Pairs:
    """Real or random is drawn once for a document."""
    choices = [random.random() < 0.5 for _ in documents]
    return _pairs(documents, choose=lambda number, place: choices[number])


def _seeded(documents: Documents) -> Pairs:
    random.seed(1)
    return _pairs(documents)


def _first_elsewhere(documents: Documents, number: int, place: int) -> str:
    other = random.choice([n for n in range(len(documents)) if n != number])
    return documents[other][0]


def _always_the_same(documents: Documents, number: int, place: int) -> str:
    return documents[-1 if number == 0 else 0][0]


def _across(documents: Documents) -> Pairs:
    """All sentences in one row: even a document's last one has a next one."""
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


MISTAKES = (
    mistake(
        "random sentences from the same document",
        "A random pair got its second sentence from the same document, where it fits "
        "nearly as well as the real one.",
        "Where should the second sentence come from, if it is not the next one?",
        swap(stranger=_same_document),
        swap(stranger=_own_document),
    ),
    mistake(
        "random sentences from anywhere",
        "The random sentence was drawn from all documents; sometimes it comes from "
        "the same one, or is even the real next sentence.",
        "Which document must the random sentence not come from?",
        swap(stranger=_anywhere),
        swap(stranger=_any_document),
    ),
    mistake(
        "labels swapped",
        "Real pairs are labelled False and random ones True.",
        "What does the name `is_next` promise?",
        swap(label=lambda is_next: not is_next),
    ),
    mistake(
        "one label for all",
        "Real and random pairs all have the same label.",
        "What does the name `is_next` promise, and where is it decided?",
        swap(label=lambda is_next: True),
        swap(label=lambda is_next: False),
    ),
    mistake(
        "always the next sentence",
        "All pairs are real: the model would learn to say yes every time.",
        "What share of the pairs should be real?",
        swap(real=1.0),
    ),
    mistake(
        "never the next sentence",
        "No pair is real: the model would learn to say no every time.",
        "What share of the pairs should be real?",
        swap(real=0.0),
    ),
    mistake(
        "not half and half",
        "Real and random pairs are not equally frequent.",
        "How likely should each of the two be?",
        swap(real=0.15),
        swap(real=0.8),
        swap(real=0.25),
    ),
    mistake(
        "across the end of a document",
        "The last sentence of a document was followed by the next document's first.",
        "Which sentences have no next one?",
        _across,
    ),
    mistake(
        "each sentence once",
        "Only every other sentence begins a pair.",
        "A sentence may be the second of one pair and the first of the next.",
        swap(step=2),
    ),
    mistake(
        "both kinds for each sentence",
        "Each first sentence is in two pairs, a real and a random one.",
        "How many pairs does a document of n sentences give?",
        _both_kinds,
    ),
    mistake(
        "always the same random sentence",
        "The random pairs share one second sentence, or very few.",
        "When is the random sentence drawn: once, or for each pair?",
        swap(stranger=_always_the_same),
    ),
    mistake(
        "always the first sentence of a document",
        "The random sentence is always the first of its document.",
        "Two things are drawn: a document, and then?",
        swap(stranger=_first_elsewhere),
    ),
    mistake(
        "the same choice in each call",
        "The same pairs are real in every call, so chance does not choose them.",
        "Where does the task's probability of 1/2 come in?",
        swap(choose=lambda number, place: place % 2 == 0),
        swap(choose=lambda number, place: place % 2 == 0, stranger=_fixed),
        swap(choose=lambda number, place: place % 2 == 0, stranger=_next_document),
        swap(choose=lambda number, place: place % 4 < 2),
        swap(choose=lambda number, place: number % 2 == 0),
    ),
    mistake(
        "the same pairs in each call",
        "Every call makes exactly the same pairs, as if nothing were drawn.",
        "Is a seed set inside the function, or does a fixed rule choose?",
        _seeded,
    ),
    mistake(
        "one choice for a document",
        "All pairs of a document are real, or all of them are random.",
        "When is the coin tossed: once for a document, or for each pair?",
        _one_choice_each,
    ),
    mistake(
        "random sentences from one document",
        "All random sentences for a document come from the same other document.",
        "When is the other document drawn: once, or for each pair?",
        swap(stranger=_next_document),
        _one_each,
    ),
    mistake(
        "one random sentence for a document",
        "All random pairs of a document have the same second sentence.",
        "When is the random sentence drawn: once for a document, or for each pair?",
        _one_sentence_each,
    ),
    mistake(
        "random sentences not drawn",
        "The random sentences follow a rule: every call takes the same ones.",
        "Which two things are drawn for a random sentence?",
        swap(stranger=_fixed),
        swap(stranger=_turning),
    ),
)

EXERCISES = (
    Exercise(
        "9.K",
        "Does this sentence follow?",
        "function",
        difficulty=2,
        points=3,
        answers=(Answer("sentence_pairs", sentence_pairs, {"pairs": ""}),),
        cases=_cases,
        proves="half of the pairs real, each drawn on its own, random sentences from "
        "all other documents, right labels",
        misconceptions=MISTAKES,
    ),
)
