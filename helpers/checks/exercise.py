"""What an exercise is: its answers, its cases and its named misconceptions."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NoReturn

# Lesson number -> the module that holds its exercises.
LESSONS = {
    0: "start",
    1: "embeddings",
    2: "attention",
    3: "multi_head",
    4: "encoder",
    5: "decoder",
    6: "masks",
    7: "recurrent",
    8: "translation",
    9: "bert",
    10: "gpt",
    11: "generation",
    12: "modern",
}
KINDS = ("function", "class", "value", "probe", "written", "open")


@dataclass(frozen=True)
class Answer:
    """One name that the student defines, and what the course would have written."""

    name: str  # the name in the notebook
    reference: Any  # function, class or value, in the notebook's own contract
    returns: Mapping[str, str] = field(default_factory=dict)  # output -> its axes
    parts: tuple[str, ...] = ()  # classes: the sub-modules that the stub names
    calls: str = ""  # classes: how a check calls the parts, where it matters
    stand_in: Any = None  # what later answers use until this one passes; the reference
    fit: Callable[[Any], Any] = lambda own: own  # gives an answer the stand-in's form


@dataclass(frozen=True)
class Case:
    """One question put to an answer: the inputs, and what to look at."""

    name: str  # shown to the student: "with a mask, float64"
    args: tuple = ()
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    inputs: tuple[str, ...] = ()  # the names of args in messages
    init: tuple = ()  # classes: what the class is built with
    of: int = 0  # which of the exercise's answers is asked
    gradient: bool = False  # also compare the gradient of float inputs and parts
    tolerance: float | None = None  # instead of the one that follows from the dtype
    look: Callable[..., "Look"] | None = None  # instead of calling and comparing


@dataclass(frozen=True)
class Look:
    """What a case observed: what must equal the reference's, and further clues."""

    judged: Mapping[str, Any]
    clues: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Property:
    """Something a learner can read off a result: "every row of weights sums to 1".

    `broken(case, outputs)` returns None where it holds, else the evidence as a
    sentence. It is asked only where the outputs have the expected shapes.
    """

    name: str
    broken: Callable[[Case, Mapping[str, Any]], str | None]


@dataclass(frozen=True)
class Misconception:
    """A known wrong answer: its name, what was done, and where to look.

    Written with `mistake`. As a decorator it takes the function or class below it as
    its first spelling.
    """

    name: str
    done: str  # one sentence: "The scores were divided by d_head itself."
    where: str  # one sentence, never the corrected line
    spellings: tuple  # wrong implementations that are the same mistake
    of: int = 0  # the answer that it stands in for

    def __call__(self, spelling: Any) -> "Misconception":
        """Itself, with one more spelling in front."""
        return replace(self, spellings=(spelling, *self.spellings))


def mistake(
    name: str, done: str, where: str, *spellings: Any, of: int = 0
) -> Misconception:
    """Describe a known wrong answer.

        HALF = mistake("half", "It was halved.", "How much is asked for?", wrong_answer)

        @mistake("half", "It was halved.", "How much is asked for?")
        def _half(x: Tensor) -> Tensor: ...

    Args:
        name: A few words, unique within the exercise.
        done: One sentence that says what the student did.
        where: One sentence that says where to look, never the corrected line.
        *spellings: Wrong answers that make this mistake; `kit.exchanging` writes those
            that are the reference with one step exchanged.
        of: Which of the exercise's answers they stand in for.
    """
    return Misconception(name, done, where, spellings, of)


@dataclass(frozen=True)
class Exercise:
    """Everything the course knows about one exercise."""

    id: str  # "2.B": the second of lesson 2, in reading order; no I and no O
    title: str
    kind: str  # one of KINDS
    difficulty: int  # 1 to 5
    minutes: int = 0  # of open exercises; tools/build/minutes.py counts the others
    points: int = 0  # 0: not graded
    core: bool = False  # on the core path of the lesson
    exact: bool = False  # the dtype is part of what is asked: float32 is not enough
    answers: tuple[Answer, ...] = ()
    cases: Callable[[int], list[Case]] = lambda seed: []
    proves: str = ""  # what passing has shown: "shape, scale, mask"
    properties: tuple[Property, ...] = ()
    misconceptions: tuple[Misconception, ...] = ()
    locates: bool = True  # False: right ways part early here and don't meet again

    def __post_init__(self) -> None:
        """Refuse an exercise that the rest of the course could not handle."""
        if self.kind not in KINDS:
            self._refuse(f"kind={self.kind!r} should be one of {', '.join(KINDS)}.")
        if not 1 <= self.difficulty <= 5:
            self._refuse(f"difficulty={self.difficulty} should be 1 to 5.")
        checked = self.kind not in ("written", "open")
        if checked and not self.answers:
            self._refuse(f"kind={self.kind!r} needs at least one Answer.")
        if self.answers and not checked:
            self._refuse(f"kind={self.kind!r} has no check: give it no answers.")
        for one in self.misconceptions:
            if not isinstance(one, Misconception):
                self._refuse(f"{one!r} is not a Misconception: write it with mistake.")
            if not one.spellings:
                self._refuse(f"the mistake {one.name!r} needs at least one spelling.")
            if one.of not in range(len(self.answers)):
                self._refuse(
                    f"the mistake {one.name!r} stands in for answer {one.of}, and "
                    f"there are {len(self.answers)}, counted from 0."
                )

    def _refuse(self, why: str) -> NoReturn:
        raise ValueError(f"Exercise {self.id}: {why}")

    @property
    def lesson(self) -> int:
        """The number of the lesson that holds it."""
        return self.place[0]

    @property
    def place(self) -> tuple[int, str]:
        """Its place in the order of the course: 9.J before 10.A."""
        return place(self.id)

    @property
    def names(self) -> tuple[str, ...]:
        """The names that the student defines."""
        return tuple(answer.name for answer in self.answers)

    @property
    def references(self) -> tuple:
        """The course's own answers."""
        return tuple(answer.reference for answer in self.answers)


def place(exercise_id: str) -> tuple[int, str]:
    """An exercise's lesson, and its letter there: the key that sorts numbers."""
    lesson, letter = exercise_id.split(".")
    return int(lesson), letter


def value_cases(count: int = 1, within: float | None = None) -> list[Case]:
    """The cases of a `value` exercise: each answer is compared as it is.

    Args:
        count: How many answers there are.
        within: How far a number may be off, relative where it exceeds 1.
    """
    return [
        Case(
            "your value",
            of=index,
            tolerance=within,
            look=lambda it: Look({"value": it}),
        )
        for index in range(count)
    ]
