"""6.D: a printed mask as evidence, and why the training loss can't show the bug."""

from helpers.checks.exercise import Answer, Exercise, mistake, value_cases

EXERCISES = (
    Exercise(
        "6.D",
        "Bug hunt: the printed mask is the evidence",
        "value",
        difficulty=3,
        points=2,
        core=True,
        answers=(Answer("seen_by_first", (1, 2, 3)),),
        cases=lambda seed: value_cases(),
        proves="the first token sees the future and not itself",
        misconceptions=(
            mistake(
                "the comment believed",
                "Those are the positions with a 1 in row 0, and a 1 is what gets "
                "blocked: look at what is done with the mask, not at its comment.",
                "What is left of a score after 1 * -1e9 has been added to it?",
                (0, 4),
            ),
            mistake(
                "what it should be",
                "That is what a right mask would allow, not what this one allows.",
                "Read row 0 of the printed mask, entry by entry.",
                (0,),
            ),
            mistake(
                "padding counted",
                "The last key is padding, and row 0 has a 1 there.",
                "Read row 0 of the printed mask, entry by entry.",
                (1, 2, 3, 4),
            ),
            mistake(
                "counted from 1",
                "Positions are counted from 0.",
                "Which number does Python give to the first key?",
                (2, 3, 4),
            ),
        ),
    ),
    Exercise(
        "6.H",
        "Why the training loss can't show it",
        "written",
        difficulty=3,
        points=3,
    ),
)
