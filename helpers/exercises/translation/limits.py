"""8.C: is it the width, or the training?"""

import random
from collections.abc import Callable, Mapping
from functools import partial

from helpers.checks.exercise import Answer, Case, Exercise, mistake
from helpers.exercises.kit import exchanging

Scores = Mapping[int, Mapping[int, float]]  # width -> steps -> exact match
RISING = 0.02  # more than this between the last two: still rising
PART = (400, 1000, 2000)


def _end(row: Mapping[int, float]) -> float:
    """The score after the longest training."""
    return row[max(row)]


def _before(row: Mapping[int, float]) -> float:
    """The score after the longest training but one."""
    return row[sorted(row)[-2]]


def _trained(row: Mapping[int, float], steps: int, enough: float) -> bool:
    """Whether the longest training of this width is enough."""
    return _end(row) >= enough


def _rising(row: Mapping[int, float], steps: int) -> bool:
    return _end(row) - _before(row) > RISING


def _wider(widest: Mapping[int, float], steps: int, enough: float) -> bool:
    """Whether the widest is enough, after its longest training."""
    return _end(widest) >= enough


def what_limits(
    scores: Scores,
    width: int,
    steps: int,
    enough: float = 0.95,
    *,
    fine: Callable[..., bool] = lambda score, enough: score >= enough,
    trained: Callable[..., bool] = _trained,
    rising: Callable[..., bool] = _rising,
    wider: Callable[..., bool] = _wider,
    start: Callable[..., int] = lambda row, steps: steps,
) -> str:
    """The course's own answer to 8.C, in steps that a mistake can exchange."""
    row, widest = scores[width], scores[max(scores)]
    if fine(row[start(row, steps)], enough):
        return "nothing"
    if trained(row, steps, enough):
        return "training"
    if rising(row, steps):
        return "undecided"
    return "width" if wider(widest, steps, enough) else "neither"


def _width_first(
    scores: Scores, width: int, steps: int, enough: float, at: Callable[..., int]
) -> str:
    """Asks for a wider network before it asks for more steps."""
    widest = scores[max(scores)]
    if scores[width][steps] >= enough:
        return "nothing"
    if width < max(scores) and widest[at(widest, steps)] >= enough:
        return "width"
    return what_limits(scores, width, steps, enough)


def _table(narrow: tuple, wide: tuple, steps: tuple = PART) -> dict:
    """Scores of the widths 16 and 64."""
    pairs = {16: narrow, 64: wide}
    return {width: dict(zip(steps, row, strict=True)) for width, row in pairs.items()}


def _cases(seed: int) -> list[Case]:
    names = ("scores", "width", "steps", "enough")
    bottle = _table((0.0, 0.03, 0.04), (0.31, 0.98, 1.0))
    slow = _table((0.12, 0.7, 0.97), (0.93, 1.0, 1.0))
    turned = {64: {2000: 0.99, 400: 0.4, 1000: 0.9}, 16: {2000: 0.3, 400: 0.1}}
    turned[16][1000] = 0.29
    three = {8: {500: 0.0, 4000: 0.01, 2000: 0.0}, 32: {500: 0.2, 4000: 0.61}}
    three = three | {128: {500: 0.9, 2000: 0.98, 4000: 0.99}}
    three[32][2000] = 0.6
    longer = {16: {2000: 0.05, 6000: 0.06, 400: 0.0}, 64: {400: 0.3, 2000: 0.99}}
    creeping = {16: {2000: 0.02, 6000: 0.09, 400: 0.0}, 64: {400: 0.3, 2000: 1.0}}
    asked = {
        "the narrow one does not get better": (bottle, 16, 400),
        "a wide one, stopped early": (bottle, 64, 400),
        "a wide one that is right": (bottle, 64, 2000),
        "a wider one learns faster": (slow, 16, 400),
        "a wider one learns faster, after more steps": (slow, 16, 1000, 0.96),
        "it got better, and stopped": (
            _table((0.1, 0.5, 0.51), (0.5, 0.9, 0.98)), 16, 400
        ),
        "it is getting better still": (
            _table((0.1, 0.3, 0.6), (0.5, 0.9, 0.99)), 16, 400
        ),
        "still better, asked about its longest training": (
            _table((0.1, 0.3, 0.6), (0.9, 0.99, 1.0)), 16, 2000
        ),
        "the widest is no better": (
            _table((0.1, 0.3, 0.31), (0.3, 0.31, 0.32)), 16, 400
        ),
        "the widest one itself, and it has stopped": (
            _table((0.1, 0.3, 0.31), (0.3, 0.31, 0.32)), 64, 1000
        ),
        "the widest is enough only after the longest training": (
            _table((0.1, 0.3, 0.31), (0.3, 0.8, 0.96)), 16, 1000
        ),
        "the table in another order": (turned, 16, 400),
        "the widest one, in another order": (turned, 64, 400),
        "three widths": (three, 8, 500),
        "three widths, the one in the middle": (three, 32, 4000),
        "the narrow one was trained for longer": (longer, 16, 400),
        "trained for longer, and still creeping up": (creeping, 16, 2000),
        "good enough from the start": (
            _table((0.96, 0.97, 0.98), (0.97, 0.98, 0.99)), 16, 400
        ),
        "worse for a while": (_table((0.96, 0.9, 0.97), (0.97, 0.98, 0.99)), 16, 1000),
        "worse at the end": (_table((0.1, 0.96, 0.9), (0.5, 0.97, 0.99)), 16, 400),
        "the widest is worse at its end": (
            _table((0.1, 0.3, 0.31), (0.4, 0.97, 0.9)), 16, 400
        ),
        "the widest is worse than the one in the middle": (
            {**_table((0.1, 0.3, 0.31), (0.4, 0.9, 0.97)),
             128: {400: 0.3, 1000: 0.5, 2000: 0.6}}, 16, 400
        ),
        "half is enough": (_table((0.1, 0.5, 0.6), (0.5, 0.9, 1.0)), 16, 400, 0.5),
        "exactly enough": (_table((0.2, 0.7, 0.8), (0.5, 0.9, 1.0)), 16, 400, 0.8),
        "exactly enough as it is": (
            _table((0.2, 0.8, 0.9), (0.5, 0.9, 1.0)), 16, 1000, 0.8
        ),
        "a high bar": (_table((0.9, 0.95, 0.96), (0.97, 0.99, 0.99)), 16, 400, 0.98),
    }  # fmt: skip
    cases = [
        Case(name, args, inputs=names[: len(args)]) for name, args in asked.items()
    ]
    if seed:
        cases = [*_drawn(seed), *cases]
    return cases


def _drawn(seed: int) -> list[Case]:
    """Tables drawn at random."""
    draw = random.Random(seed)

    def row() -> tuple[float, ...]:
        """Rising, in odd thousandths: no difference is exactly 0.02."""
        start, *more = sorted(draw.sample(range(1, 980, 4), 3))
        rises = (0, more[0] - start + 1, more[1] - start + 2)
        return tuple((start + rise) / 1000 for rise in rises)

    names = ("scores", "width", "steps", "enough")
    return [
        Case(
            f"drawn at random, {place + 1}",
            (_table(row(), row()), draw.choice((16, 64)), draw.choice(PART), 0.6),
            inputs=names,
        )
        for place in range(3)
    ]


swap = exchanging(what_limits)


def _as_it_stands(
    scores: Scores,
    width: int,
    steps: int,
    enough: float = 0.95,
    *,
    row_stands: bool,
    widest_stands: bool,
) -> str:
    """Takes what stands last for what is largest: in the row, in the table, or both."""
    row, last = list(scores[width].values()), list(scores.values())[-1]
    changed: dict[str, Callable[..., bool]] = {}
    if row_stands:
        changed["trained"] = lambda *_: row[-1] >= enough
        changed["rising"] = lambda *_: row[-1] - row[-2] > RISING
        changed["wider"] = lambda widest, *_: list(widest.values())[-1] >= enough
    if widest_stands and row_stands:
        changed["wider"] = lambda *_: list(last.values())[-1] >= enough
    elif widest_stands:
        changed["wider"] = lambda *_: _end(last) >= enough
    return what_limits(scores, width, steps, enough, **changed)


MISTAKES = (
    mistake(
        "the width blamed first",
        'Where a wider one is enough, the answer was "width", although more steps '
        "would have been enough for the narrow one as well.",
        "If more steps repair it, and more width repairs it too, was it too narrow?",
        lambda scores, width, steps, enough=0.95: _width_first(
            scores, width, steps, enough, lambda widest, steps: max(widest)
        ),
    ),
    mistake(
        "a wider one after as many steps",
        "The width was blamed where a wider one is enough after the same number of "
        "steps. But a wider network may also learn more with each step.",
        "Which comparison shows that the narrow one has learned all that it can?",
        lambda scores, width, steps, enough=0.95: _width_first(
            scores, width, steps, enough, lambda widest, steps: steps
        ),
    ),
    mistake(
        "better taken for enough",
        "The training was blamed wherever more steps gave a better score, even if the "
        "better score is still not enough.",
        "From 10 % to 50 % is better. Did the training repair it?",
        swap(trained=lambda row, steps, enough: _end(row) > row[steps]),
        swap(trained=lambda row, steps, enough: _end(row) > row[steps] + RISING),
    ),
    mistake(
        "judged while it was still rising",
        "A verdict was given on a training whose score was still rising at its end.",
        "What do you know about a score that has not stopped yet?",
        swap(rising=lambda row, steps: False),
    ),
    mistake(
        "the rise since the start",
        "A score that rose after the steps that were asked about, and then stopped "
        'rising, was called "undecided".',
        "A score may have risen a lot and then stopped. Which two numbers say that it "
        "has stopped?",
        swap(rising=lambda row, steps: _end(row) - row[steps] > RISING),
    ),
    mistake(
        "the rise of the whole row",
        "A score that had stopped rising before the last step count was called "
        '"undecided".',
        "A score may have risen a lot and then stopped. Which two numbers say that it "
        "has stopped?",
        swap(rising=lambda row, steps: _end(row) - row[min(row)] > RISING),
    ),
    mistake(
        "falling taken for rising",
        'A score that fell by more than 0.02 at the end was called "undecided", as if '
        "it were still rising.",
        "Which sign has the difference if the longest training is the worse one?",
        swap(rising=lambda row, steps: abs(_end(row) - _before(row)) > RISING),
    ),
    mistake(
        "the best for the longest",
        "The best score of a row was taken, not that after its longest training.",
        "After which number of steps are you to read the score?",
        swap(trained=lambda row, steps, enough: max(row.values()) >= enough),
        swap(wider=lambda widest, steps, enough: max(widest.values()) >= enough),
        swap(
            trained=lambda row, steps, enough: max(row.values()) >= enough,
            wider=lambda widest, steps, enough: max(widest.values()) >= enough,
        ),
    ),
    mistake(
        "any width for the widest",
        "The width was blamed because some width is good enough, although the widest "
        "is not.",
        "Which row shows what more width can do?",
        lambda scores, width, steps, enough=0.95: what_limits(
            scores,
            width,
            steps,
            enough,
            wider=lambda *_: any(_end(row) >= enough for row in scores.values()),
        ),
    ),
    mistake(
        "the wide one stopped early",
        "The wider network was read after the steps in question, not after the longest "
        "training.",
        "For how long should the network train that is to show what more width can do?",
        swap(wider=lambda widest, steps, enough: widest[steps] >= enough),
    ),
    mistake(
        "nothing but these two",
        "If it was not the training, the width was blamed, although a wider one is not "
        "enough either.",
        "What if neither helps?",
        swap(wider=lambda widest, steps, enough: True),
    ),
    mistake(
        "exactly enough is not enough",
        "A score that equals `enough` was taken to be too low.",
        "Read the docstring: at least, or more than?",
        swap(
            fine=lambda score, enough: score > enough,
            trained=lambda row, steps, enough: _end(row) > enough,
        ),
        swap(
            fine=lambda score, enough: score > enough,
            trained=lambda row, steps, enough: _end(row) > enough,
            wider=lambda widest, steps, enough: _end(widest) > enough,
        ),
    ),
    mistake(
        "a bar of its own",
        "The argument `enough` has no effect.",
        "With which number do you compare a score?",
        lambda scores, width, steps, enough=0.95: what_limits(scores, width, steps),
    ),
    mistake(
        "never nothing",
        'A training that is good enough as it is did not get the verdict "nothing".',
        "What is to be said of a translator that needs no repair?",
        swap(fine=lambda score, enough: False),
    ),
    mistake(
        "the first steps of the table",
        "The shortest training was judged, whatever `steps` says.",
        "Which training is asked about?",
        swap(start=lambda row, steps: min(row)),
    ),
    mistake(
        "the order of the table",
        "The last entries of the table were taken for its largest width or number of "
        "steps, but a dictionary keeps the order in which it was filled.",
        "How do you find the largest key of a dictionary?",
        *(
            partial(_as_it_stands, row_stands=row, widest_stands=widest)
            for row, widest in ((True, True), (True, False), (False, True))
        ),
    ),
)


EXERCISES = (
    Exercise(
        "8.C",
        "Is it the width, or the training?",
        "function",
        difficulty=2,
        points=2,
        core=True,
        answers=(Answer("what_limits", what_limits, {"verdict": ""}),),
        cases=_cases,
        proves="a verdict only on trainings that have stopped improving, and on a "
        "wider network only after its longest training",
        misconceptions=MISTAKES,
    ),
)
