"""9.H: WordPiece, the longest match first; and why to tokenize at all."""

from collections.abc import Callable, Collection, Mapping
from typing import Any

import torch

from helpers.checks.exercise import (
    Answer,
    Case,
    Exercise,
    Property,
    mistake,
)
from helpers.exercises.kit import exchanging

UNKNOWN = "[UNK]"


def wordpiece(word: str, vocab: Collection[str]) -> list[str]:
    """The course's own answer to 9.H."""
    pieces: list[str] = []
    rest = word
    while rest:
        mark = "##" if pieces else ""
        ends = range(len(rest), 0, -1)
        found = next((end for end in ends if mark + rest[:end] in vocab), None)
        if found is None:
            return [UNKNOWN]
        pieces.append(mark + rest[:found])
        rest = rest[found:]
    return pieces


WORDS = {
    "un", "una", "##able", "##a", "##b", "##le", "##break", "##brea", "##k", "u", "##n",
    "b", "break", "##ks", "##s", "able", "token", "##ization", "##ize", "##iz", "##r",
    "t", "to", "##ken", "##o", "##e", "##i", "##z", "king", "##king", "##in",
    "##g", "ride", "##es", "rid", "##ere",
}  # fmt: skip


def _random_case(draw: torch.Generator, number: int) -> tuple[list[str], set[str]]:
    """Words of a, b and c, and pieces of one to three of these letters."""

    def text(length: int) -> str:
        picks = torch.randint(0, 3, (length,), generator=draw).tolist()
        return "".join("abc"[n] for n in picks)

    vocab = {"a", "b", "##a", "##b"} | {text(2 + n % 2) for n in range(6)}
    vocab |= {"##" + text(2 + n % 2) for n in range(8)}
    return [text(5 + n % 4) for n in range(number)], vocab


def _look(call: Callable, words: list[str], vocab: Any) -> Any:
    from helpers.checks.exercise import Look

    return Look({"pieces": tuple(_listed(call(word, vocab)) for word in words)})


def _listed(pieces: Any) -> Any:
    return tuple(pieces) if isinstance(pieces, list | tuple) else pieces


def _cases(seed: int) -> list[Case]:
    draw = torch.Generator().manual_seed(seed)

    def case(name: str, words: list[str], vocab: Any, look: Any = None) -> Case:
        args = (words[0], vocab) if look is None else (words, vocab)
        return Case(name, args, inputs=("word", "vocab"), look=look)

    few = {"a", "##a", "##b", "##bab"}
    back = {"a", "ab", "##b", "##bc"}
    known = dict.fromkeys(sorted(WORDS))  # a tokenizer's vocabulary is a dict
    return [
        case("the word 'unbreakable'", ["unbreakable"], WORDS),
        case("a word of the vocabulary: 'break'", ["break"], WORDS),
        case("the word 'breaks'", ["breaks"], WORDS),
        case("'breaxk': no piece has an x", ["breaxk"], WORDS),
        case("'xbreak': no piece begins with x", ["xbreak"], WORDS),
        case("'unables', with a dict as vocabulary", ["unables"], known),
        case("'riderest': ends in no piece", ["riderest"], WORDS),
        case("'tokenizer'", ["tokenizer"], WORDS),
        case("'ableking': 'king' is a piece for beginnings, too", ["ableking"], WORDS),
        case("'unaking', where the longest first piece works out", ["unaking"], WORDS),
        case("'unabreak'", ["unabreak"], WORDS),
        case(
            "'riden': another cut works too, the longest comes first", ["riden"], WORDS
        ),
        case("'aabab', longer than the vocabulary", ["aabab"], few),
        case("'abc': after the longest first piece nothing fits", ["abc"], back),
        case("'Break': no piece has a capital letter", ["Break"], WORDS),
        case("words of a, b and c", *_random_case(draw, 12), look=_look),
    ]


def _glue(case: Case, outputs: Mapping[str, Any]) -> str | None:
    """Pieces without their marks spell the word."""
    if case.look or not isinstance(outputs["pieces"], tuple):
        return None
    word, pieces = case.args[0], outputs["pieces"]
    if not all(isinstance(piece, str) for piece in pieces) or UNKNOWN in pieces:
        return None
    spelt = "".join(piece.removeprefix("##") for piece in pieces)
    if spelt == word:
        return None
    return f"{word!r} was cut into {list(pieces)}, which spell {spelt!r}"


# --- what goes wrong ------------------------------------------------------------------


def _cut(
    word: str,
    vocab: Collection[str],
    *,
    ends: Callable[[int], Any] = lambda length: range(length, 0, -1),
    look_up: Callable[[bool, str], str] = lambda first, text: (
        text if first else "##" + text
    ),
    write: Callable[[bool, str], str] = lambda first, text: (
        text if first else "##" + text
    ),
    unknown: Callable[[list[str], str], list[str]] = lambda pieces, rest: [UNKNOWN],
) -> list[str]:
    """Greedy cutting from the left, with one step exchanged."""
    pieces: list[str] = []
    rest = word
    while rest:
        first = not pieces
        for end in ends(len(rest)):
            if look_up(first, rest[:end]) in vocab:
                break
        else:
            return unknown(pieces, rest)
        pieces.append(write(first, rest[:end]))
        rest = rest[end:]
    return pieces


swap = exchanging(_cut)


def _skip_letter(word: str, vocab: Collection[str]) -> list[str]:
    """An unknown letter becomes [UNK], and the cutting goes on after it."""
    pieces: list[str] = []
    rest = word
    while rest:
        mark = "##" if pieces else ""
        for end in range(len(rest), 0, -1):
            if mark + rest[:end] in vocab:
                pieces.append(mark + rest[:end])
                rest = rest[end:]
                break
        else:
            pieces.append(UNKNOWN)
            rest = rest[1:]
    return pieces


def _from_the_right(word: str, vocab: Collection[str]) -> list[str]:
    """The longest ending first."""
    pieces: list[str] = []
    rest = word
    while rest:
        for start in range(len(rest)):
            piece = rest[start:] if start == 0 else "##" + rest[start:]
            if piece in vocab:
                pieces.insert(0, piece)
                rest = rest[:start]
                break
        else:
            return [UNKNOWN]
    return pieces


def _fewest(word: str, vocab: Collection[str]) -> list[str]:
    """The cut with the fewest pieces, or any that works: no longest match."""
    best: dict[int, list[str]] = {0: []}
    for end in range(1, len(word) + 1):
        for start in range(end):
            piece = word[start:end] if start == 0 else "##" + word[start:end]
            if start in best and piece in vocab:
                cut = [*best[start], piece]
                if end not in best or len(cut) < len(best[end]):
                    best[end] = cut
    return best.get(len(word), [UNKNOWN])


def _backtracking(word: str, vocab: Collection[str]) -> list[str]:
    """Longest first, but a shorter piece where the rest can't be cut."""

    def cut(start: int) -> list[str] | None:
        if start == len(word):
            return []
        for end in range(len(word), start, -1):
            piece = "##" * bool(start) + word[start:end]
            after = cut(end) if piece in vocab else None
            if after is not None:
                return [piece, *after]
        return None

    return cut(0) or [UNKNOWN]


def _small(word: str, vocab: Collection[str]) -> list[str]:
    return wordpiece(word.lower(), vocab)


MISTAKES = (
    mistake(
        "shortest match",
        "The shortest piece that fits was taken.",
        "In which order do you try the ends of a piece?",
        swap(ends=lambda length: range(1, length + 1)),
    ),
    mistake(
        "the whole rest never tried",
        "The longest candidate lacked the last letter: the whole rest of the word was "
        "never tried.",
        "What is the first candidate of your inner loop, and how long is it?",
        swap(ends=lambda length: range(length - 1, 0, -1)),
    ),
    mistake(
        "no ## on continuations",
        "Pieces inside a word came back without their mark, though they were looked up "
        "with it.",
        "How does the vocabulary spell a piece that continues a word?",
        swap(write=lambda first, text: text),
    ),
    mistake(
        "continuations looked up without ##",
        "Pieces inside a word were looked up among the beginnings of words.",
        "After the first piece, which spelling do you look up?",
        swap(look_up=lambda first, text: text),
        swap(look_up=lambda first, text: text, write=lambda first, text: text),
    ),
    mistake(
        "## on the first piece, too",
        "The beginning of the word was looked up as a continuation.",
        "Which piece of a word carries no mark?",
        swap(
            look_up=lambda first, text: "##" + text,
            write=lambda first, text: "##" + text,
        ),
        swap(look_up=lambda first, text: "##" + text),
    ),
    mistake(
        "greedy from the right",
        "The longest ending was cut off first.",
        "From which side does WordPiece read a word?",
        _from_the_right,
    ),
    mistake(
        "[UNK] beside known pieces",
        "Only the part that could not be cut became [UNK].",
        "What does the docstring promise for a word that can't be cut to its end?",
        swap(unknown=lambda pieces, rest: [*pieces, UNKNOWN]),
        _skip_letter,
    ),
    mistake(
        "the rest dropped",
        "A word that can't be cut to its end lost the rest.",
        "What does the docstring promise for such a word?",
        swap(unknown=lambda pieces, rest: pieces),
    ),
    mistake(
        "the rest kept as a piece",
        "What could not be cut came back as a piece, though it is not in the "
        "vocabulary.",
        "Does every piece that you return have an id?",
        swap(
            unknown=lambda pieces, rest: [*pieces, ("##" if pieces else "") + rest],
        ),
        swap(unknown=lambda pieces, rest: [*pieces, rest]),
    ),
    mistake(
        "looking back",
        "You searched for a way to cut the whole word that works, or for the best "
        "one; the longest match never looks back.",
        "Once a piece was the longest that fits, is it ever given up again?",
        _fewest,
        _backtracking,
    ),
    mistake(
        "lower-cased",
        "The word was lower-cased before the search. That is another step of the "
        "tokenizer; here the word is looked up as it stands.",
        "What does the docstring say about the letters of the word?",
        _small,
    ),
)

EXERCISES = (
    Exercise(
        "9.H",
        "WordPiece: the longest match first",
        "function",
        difficulty=3,
        points=3,
        answers=(Answer("wordpiece", wordpiece, {"pieces": ""}),),
        cases=_cases,
        proves="longest match, ## inside a word, [UNK] for a whole word, random words",
        properties=(Property("Do the pieces spell the word", _glue),),
        misconceptions=MISTAKES,
    ),
    Exercise("9.J", "Why tokenize?", "written", difficulty=1, points=2),
)
