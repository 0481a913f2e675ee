"""7.2: from characters to numbers and back."""

from typing import Any

import torch
from torch import Tensor

from helpers.checks.exercise import Answer, Case, Exercise, mistake

CHARACTERS = "\n ',.?abcdeghilmnorstuvwy"  # sorted, but not all letters


def encode(text: str, characters: str) -> Tensor:
    """The course's own answer to the first half of 7.2."""
    return torch.tensor([characters.index(one) for one in text])


def decode(ids: Tensor, characters: str) -> str:
    """The course's own answer to the second half of 7.2."""
    return "".join(characters[number] for number in ids.tolist())


def _cases(seed: int) -> list[Case]:
    draw = torch.Generator().manual_seed(seed)

    def line(length: int, characters: str) -> str:
        chosen = torch.randint(len(characters), (length,), generator=draw)
        return characters[-1] + characters[0] + decode(chosen, characters)

    cases = []
    own, capitals = "zebra !stop", "\n ABHabehnst"
    for name, characters, text in (
        ("a vocabulary of 25 characters", CHARACTERS, line(17, CHARACTERS)),
        ("a vocabulary in an order of its own", own, line(17, own)),
        ("capitals, and blanks at both ends", capitals, " A Hen\nHas the Bean \n"),
    ):
        cases += [
            Case(name, (text, characters), inputs=("text", "characters")),
            Case(
                name,
                (encode(text, characters), characters),
                inputs=("ids", "characters"),
                of=1,
            ),
        ]
    return cases


@mistake(
    "counted from 1",
    "The first character got the id 1.",
    "A character's id is its place in the vocabulary, and Python counts from 0.",
)
def _from_one(text: str, characters: str) -> Tensor:
    return encode(text, characters) + 1


@mistake(
    "code points",
    "The ids are the computer's own numbers for the characters, up to a million.",
    "How many rows would the first weight matrix need? Look into `characters` instead.",
)
def _code_points(text: str, characters: str) -> Tensor:
    return torch.tensor([ord(one) for one in text])


@mistake(
    "a vocabulary of the text's own",
    "The ids were counted in the characters of this text: another text would get "
    "others for the same letters.",
    "Which of the two arguments holds the vocabulary?",
    lambda text, characters: encode(text, "".join(dict.fromkeys(text))),
)
def _own_vocabulary(text: str, characters: str) -> Tensor:
    return encode(text, "".join(sorted(set(text))))


@mistake(
    "numbers with a point",
    "The ids are floating point; as an index they are refused.",
    "Which dtype has a tensor made from a list of whole numbers?",
)
def _floats(text: str, characters: str) -> Tensor:
    return encode(text, characters).float()


@mistake(
    "capitals lost",
    "Capitals got the ids of small letters.",
    "A and a are two characters of the vocabulary. Does your code change the text?",
)
def _small(text: str, characters: str) -> Tensor:
    return encode("".join(_lowered(one, characters) for one in text), characters)


def _lowered(one: str, characters: str) -> str:
    return one.lower() if one.lower() in characters else one


@mistake(
    "ends cut off",
    "Blanks and line ends at the ends of the text got no id.",
    "A blank is a character like any other: one id for each of them.",
    lambda text, characters: encode(text.rstrip(), characters),
    lambda text, characters: encode(text.lstrip(), characters),
)
def _trimmed(text: str, characters: str) -> Tensor:
    return encode(text.strip(), characters)


@mistake(
    "a list in place of a text",
    "The characters come back one by one, in a list.",
    "Strings have a method that glues a list together.",
    lambda ids, characters: tuple(decode(ids, characters)),
    of=1,
)
def _list(ids: Tensor, characters: str) -> Any:
    return list(decode(ids, characters))


@mistake(
    "glued with blanks",
    "There is a blank between any two characters.",
    "What stands between the quotes in front of `.join`?",
    of=1,
)
def _blanks(ids: Tensor, characters: str) -> str:
    return " ".join(decode(ids, characters))


@mistake(
    "the computer's own numbers",
    "The ids were taken for the computer's own numbers of characters.",
    "In which of your arguments stands the character for an id?",
    of=1,
)
def _chr(ids: Tensor, characters: str) -> str:
    return "".join(chr(number) for number in ids.tolist())


@mistake(
    "one place off",
    "Each id gave the character before the right one.",
    "Python counts from 0, and so do the ids.",
    of=1,
)
def _before(ids: Tensor, characters: str) -> str:
    return decode(ids - 1, characters)


@mistake(
    "capitals written small",
    "Capitals come back as small letters.",
    "The text should come back as it was. What is done to it at the end?",
    of=1,
)
def _written_small(ids: Tensor, characters: str) -> str:
    return decode(ids, characters).lower()


@mistake(
    "ends of the text lost",
    "The text came back without the blanks or line ends at its ends.",
    "A blank is a character like any other. What is done to the text at the end?",
    lambda ids, characters: decode(ids, characters).rstrip(),
    lambda ids, characters: decode(ids, characters).lstrip(),
    of=1,
)
def _stripped(ids: Tensor, characters: str) -> str:
    return decode(ids, characters).strip()


@mistake(
    "a tensor as a key",
    "A dictionary was asked for a tensor: it knows the number, but not a tensor that "
    "holds it.",
    "Loop over `ids` and print the type of what you get. What does the list of its "
    "numbers give?",
    of=1,
)
def _tensor_key(ids: Tensor, characters: str) -> str:
    known = dict(enumerate(characters))
    return "".join(known[number] for number in ids)


EXERCISES = (
    Exercise(
        "7.2",
        "Characters to numbers, and back",
        "function",
        difficulty=1,
        minutes=5,
        points=1,
        answers=(
            Answer("encode", encode, {"ids": "length"}),
            Answer("decode", decode, {"text": ""}),
        ),
        cases=_cases,
        proves="ids are places in the vocabulary, int64; decoding undoes it, also for "
        "capitals and for blanks at the ends",
        misconceptions=(
            _from_one,
            _code_points,
            _own_vocabulary,
            _floats,
            _small,
            _trimmed,
            _list,
            _blanks,
            _chr,
            _before,
            _written_small,
            _stripped,
            _tensor_key,
        ),
    ),
)
