"""7.Q: from characters to numbers and back."""

from typing import Any

import torch
from torch import Tensor

from helpers.checks.exercise import Answer, Case, Exercise, mistake

CHARACTERS = "\n ',.?abcdeghilmnorstuvwy"  # sorted, but not all letters


def encode(text: str, characters: str) -> Tensor:
    """The course's own answer to the first half of 7.Q."""
    return torch.tensor([characters.index(one) for one in text])


def decode(ids: Tensor, characters: str) -> str:
    """The course's own answer to the second half of 7.Q."""
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
        ("an unsorted vocabulary", own, line(17, own)),
        ("capitals, and spaces at both ends", capitals, " A Hen\nHas the Bean \n"),
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
    "The ids are Unicode code points, which go up to a million.",
    "How many rows would the first weight matrix need? Use `characters` instead.",
)
def _code_points(text: str, characters: str) -> Tensor:
    return torch.tensor([ord(one) for one in text])


@mistake(
    "a vocabulary made from the text",
    "The vocabulary was made from this text alone: in another text the same letters "
    "would get other ids.",
    "Which of the two arguments holds the vocabulary?",
    lambda text, characters: encode(text, "".join(dict.fromkeys(text))),
)
def _own_vocabulary(text: str, characters: str) -> Tensor:
    return encode(text, "".join(sorted(set(text))))


@mistake(
    "the vocabulary sorted",
    "The characters were sorted first, but not every vocabulary comes in that order.",
    "A character's id is its place in `characters`, as they are given.",
    lambda text, characters: encode(text, "".join(sorted(characters, reverse=True))),
)
def _sorted(text: str, characters: str) -> Tensor:
    return encode(text, "".join(sorted(characters)))


@mistake(
    "floating-point ids",
    "The ids are floating-point numbers, which torch does not accept as indices.",
    "Which dtype does `torch.zeros` have by default, and which one does `torch.tensor` "
    "give to whole numbers?",
)
def _floats(text: str, characters: str) -> Tensor:
    return encode(text, characters).float()


@mistake(
    "capitals encoded as lower case",
    "Capital letters got the ids of lower-case ones.",
    "A and a are two different characters of the vocabulary. Does your code change "
    "the text?",
)
def _lower_case(text: str, characters: str) -> Tensor:
    return encode("".join(_lowered(one, characters) for one in text), characters)


def _lowered(one: str, characters: str) -> str:
    return one.lower() if one.lower() in characters else one


@mistake(
    "ends stripped before encoding",
    "Spaces and newlines at one end of the text, or at both, got no id.",
    "A space is a character like any other: each one needs an id.",
    lambda text, characters: encode(text.rstrip(), characters),
    lambda text, characters: encode(text.lstrip(), characters),
)
def _trimmed(text: str, characters: str) -> Tensor:
    return encode(text.strip(), characters)


@mistake(
    "a list instead of a string",
    "The characters come back one by one, not joined into a string.",
    "Strings have a method that joins a list of them.",
    lambda ids, characters: tuple(decode(ids, characters)),
    of=1,
)
def _list(ids: Tensor, characters: str) -> Any:
    return list(decode(ids, characters))


@mistake(
    "joined with spaces",
    "There is a space between every two characters.",
    "What is between the quotes before `.join`?",
    of=1,
)
def _spaces(ids: Tensor, characters: str) -> str:
    return " ".join(decode(ids, characters))


@mistake(
    "ids read as code points",
    "The ids were read as Unicode code points.",
    "Which of your arguments says which character an id stands for?",
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
    "text lower-cased",
    "Capital letters come back in lower case.",
    "The text should come back unchanged. What does your code do to it at the end?",
    of=1,
)
def _lowered_text(ids: Tensor, characters: str) -> str:
    return decode(ids, characters).lower()


@mistake(
    "ends stripped after decoding",
    "The text came back without the spaces or newlines at one end, or at both.",
    "A space is a character like any other. What does your code do to the text at the "
    "end?",
    lambda ids, characters: decode(ids, characters).rstrip(),
    lambda ids, characters: decode(ids, characters).lstrip(),
    of=1,
)
def _stripped(ids: Tensor, characters: str) -> str:
    return decode(ids, characters).strip()


@mistake(
    "a tensor as a dictionary key",
    "A tensor was looked up in a dictionary whose keys are plain numbers: a tensor "
    "that holds a number is not the same key.",
    "Loop over `ids` and print the type of each item. How do you get plain numbers "
    "out of a tensor?",
    of=1,
)
def _tensor_key(ids: Tensor, characters: str) -> str:
    known = dict(enumerate(characters))
    return "".join(known[number] for number in ids)


EXERCISES = (
    Exercise(
        "7.Q",
        "Characters to numbers, and back",
        "function",
        difficulty=1,
        points=1,
        answers=(
            Answer("encode", encode, {"ids": "length"}),
            Answer("decode", decode, {"text": ""}),
        ),
        cases=_cases,
        proves="ids are places in the vocabulary, int64; decoding undoes encoding, "
        "also for capitals and for spaces at the ends",
        misconceptions=(
            _from_one,
            _code_points,
            _own_vocabulary,
            _sorted,
            _floats,
            _lower_case,
            _trimmed,
            _list,
            _spaces,
            _chr,
            _before,
            _lowered_text,
            _stripped,
            _tensor_key,
        ),
    ),
)
