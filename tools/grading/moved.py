"""Which exercises are judged in another process than the student's code, and which not.

The others take or give objects that can't cross a pipe yet; docs/grading.md lists them.
"""

UNANSWERED = "The kernel did not answer as it should"  # in reports and in notes
MODEL = "the answer is given a model, and trains, fills or reads with it"
RETURNS = "the answer returns a model or an optimizer"
STAYS = {
    "3.E": MODEL,
    "4.G": MODEL,
    "4.H": RETURNS,
    "4.L": "the answer is given functions that gradients go through",
    "4.N": MODEL,
    "5.D": MODEL,
    "5.H": "whether layers were built is seen only where the answer runs",
    "6.F": MODEL,
    "7.G": "what the result remembers of its history is judged",
    "7.D": MODEL,
    "7.E": MODEL,
    "7.M": "the answer is given functions that gradients go through",
    "9.C": RETURNS,
    "9.E": MODEL,
    "9.F": RETURNS,
    "9.L": MODEL,
    "10.E": MODEL,
    "10.H": MODEL,
    "11.A": MODEL,
    "11.L": MODEL,
    "11.G": MODEL,
    "11.H": MODEL,
}

# Lessons in which nothing needs the references in the student's process: all exercises
# have moved, and no cell takes an answer over into a later one. There they are hidden.
CLOSED = (0, 1, 2)


def moved(exercise_id: str) -> bool:
    """Whether the verdict on an exercise is found outside of the student's process."""
    return exercise_id not in STAYS
