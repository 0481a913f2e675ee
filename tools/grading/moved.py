"""Which exercises are judged in another process than the student's code, and which not.

The others take or give objects that can't cross a pipe yet; docs/grading.md lists them.
"""

UNANSWERED = "The kernel did not answer as it should"  # in reports and in notes
MODEL = "the answer is given a model, and trains, fills or reads with it"
RETURNS = "the answer returns a model or an optimizer"
STAYS = {
    "3.4": MODEL,
    "4.5b": "the answer is given functions that gradients go through",
    "4.6b": MODEL,
    "4.6c": RETURNS,
    "4.7": MODEL,
    "5.4": "whether layers were built is seen only where the answer runs",
    "5.5": MODEL,
    "6.7": MODEL,
    "7.5": "what the result remembers of its history is judged",
    "7.6": MODEL,
    "7.7b": MODEL,
    "7.10": "the answer is given functions that gradients go through",
    "9.5": RETURNS,
    "9.6": MODEL,
    "9.7": MODEL,
    "9.8": RETURNS,
    "10.5": MODEL,
    "10.6": MODEL,
    "11.1": MODEL,
    "11.6": MODEL,
    "11.7": MODEL,
    "11.8": MODEL,
}

# Lessons in which nothing needs the references in the student's process: all exercises
# have moved, and no cell takes an answer over into a later one. There they are hidden.
CLOSED = (0, 1, 2)


def moved(exercise_id: str) -> bool:
    """Whether the verdict on an exercise is found outside of the student's process."""
    return exercise_id not in STAYS
