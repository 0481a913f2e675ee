"""6.G: a padding mask that hides one more token of each sentence."""

import torch
from torch import Tensor

from helpers.checks.exercise import Answer, Case, Exercise, mistake
from helpers.exercises.masks.shared import padded_ids

AXES = {"mask": "batch, heads=1, query=1, key"}


def hide(ids: Tensor, places: Tensor) -> Tensor:
    """The course's own answer to 6.G."""
    here = torch.arange(ids.shape[1]) == places[:, None]  # (B, S)
    return ((ids != 0) & ~here)[:, None, None, :]


def _cases(seed: int) -> list[Case]:
    draw = torch.Generator().manual_seed(seed)

    def case(name: str, lengths: tuple[int, ...], width: int) -> Case:
        ids = padded_ids(draw, lengths, width)
        places = [int(torch.randint(length, (), generator=draw)) for length in lengths]
        places[0] = lengths[0] - 2
        return Case(name, (ids, torch.tensor(places)), inputs=("ids", "places"))

    return [
        case("two sentences, six tokens", (6, 4), 6),
        case("four sentences, seven tokens", (5, 7, 3, 6), 7),
        case("as many sentences as tokens", (5, 3, 4, 5, 2), 5),
        case("one sentence", (4,), 4),
    ]


def _here(ids: Tensor, places: Tensor) -> Tensor:
    return torch.arange(ids.shape[1]) == places[:, None]


@mistake(
    "padding forgotten",
    "The one token is hidden, but padding may be attended to.",
    "Which mask of yours hides padding, and how are two masks combined?",
)
def _no_padding(ids: Tensor, places: Tensor) -> Tensor:
    return ~_here(ids, places)[:, None, None, :]


@mistake(
    "nothing more is hidden",
    "Padding is hidden, and nothing else.",
    "Which entry of each row has to become False?",
)
def _only_padding(ids: Tensor, places: Tensor) -> Tensor:
    return (ids != 0)[:, None, None, :]


@mistake(
    "one place for all sentences",
    "The same token is hidden in every sentence, but each has a place of its own.",
    "What is the shape of `places`, and which axis of the mask does it belong to?",
    lambda ids, places: hide(ids, places[:1].expand(len(ids))),
)
def _same_place(ids: Tensor, places: Tensor) -> Tensor:
    return hide(ids, places[-1:].expand(len(ids)))


@mistake(
    "hidden everywhere",
    "All the places were taken out of each sentence, not only its own.",
    "An index such as mask[..., places] picks the same columns in every row.",
)
def _everywhere(ids: Tensor, places: Tensor) -> Tensor:
    mask = (ids != 0)[:, None, None, :].clone()
    mask[..., places] = False
    return mask


@mistake(
    "the only one left",
    "The token at the place is all that is left, but it should be the one to go.",
    "True means may attend. What should stand at the place?",
)
def _alone(ids: Tensor, places: Tensor) -> Tensor:
    return ((ids != 0) & _here(ids, places))[:, None, None, :]


@mistake(
    "padding open",
    "Padding may be looked at, and the real tokens may not.",
    "Read the mask of the first sentence aloud.",
)
def _padding_open(ids: Tensor, places: Tensor) -> Tensor:
    return ((ids == 0) & ~_here(ids, places))[:, None, None, :]


@mistake(
    "inverted",
    'True marks what is hidden, but in this course True means "may attend".',
    "Read the mask of the first sentence aloud.",
)
def _inverted(ids: Tensor, places: Tensor) -> Tensor:
    return ~hide(ids, places)


@mistake(
    "or instead of and",
    "Every key is open: padding is not hidden, and the place is not hidden.",
    "Take the token at the place: it is no padding. Is that enough for it to be open?",
)
def _either(ids: Tensor, places: Tensor) -> Tensor:
    return ((ids != 0) | ~_here(ids, places))[:, None, None, :]


@mistake(
    "axes missing",
    "The mask has fewer axes than (batch, heads, query, key), so it lines up with the "
    "wrong ones.",
    "Shapes line up from the right. Where would the batch end up?",
)
def _flat(ids: Tensor, places: Tensor) -> Tensor:
    return hide(ids, places)[:, 0, 0]


@mistake(
    "sentences in the place of queries",
    "The condition on the places has two axes, (batch, key). Beside the four of the "
    "padding mask its batch stands where the queries belong.",
    "Shapes line up from the right. Give the condition the same four axes before you "
    "combine the two.",
)
def _as_queries(ids: Tensor, places: Tensor) -> Tensor:
    return (ids != 0)[:, None, None, :] & ~_here(ids, places)


EXERCISES = (
    Exercise(
        "6.G",
        "Hide one word",
        "function",
        difficulty=1,
        points=1,
        core=True,
        answers=(Answer("hide", hide, AXES),),
        cases=_cases,
        proves="padding and one token of each sentence are hidden, four axes, boolean",
        misconceptions=(
            _no_padding,
            _only_padding,
            _same_place,
            _everywhere,
            _alone,
            _padding_open,
            _inverted,
            _either,
            _flat,
            _as_queries,
        ),
    ),
)
