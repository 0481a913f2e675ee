"""Lesson 08: a context vector, a decoder, additive attention, and what they buy.

Classes are compared on the student's own weights; what an encoder leaves at padding is
not looked at, and a mask may have any shape that broadcasts to the scores.
"""

from helpers.exercises.translation import (
    attention,
    decoder,
    encoder,
    lengths,
    looking_back,
    paths,
)

_FILES = (encoder, decoder, attention, looking_back, lengths, paths)
_ALL = {exercise.id: exercise for file in _FILES for exercise in file.EXERCISES}
_ORDER = ("8.1", "8.2", "8.3", "8.3b", "8.3c", "8.4", "8.5", "8.6")
EXERCISES = tuple(_ALL[one] for one in _ORDER)
