"""Mistakes that are possible in several steps: name, what was done, where to look."""

BIAS_TWICE = (
    "the bias added twice",
    "The bias was added twice.",
    "Count the terms in the formula's sum, and those in your line.",
)
BATCH_CUT = (
    "the batch cut into blocks",
    "The sum was cut along the batch: `chunk` and `split` take axis 0 unless told "
    "otherwise.",
    "Print the shape of your sum. Along which axis do the blocks lie?",
)
NO_SIGMOID = (
    "no sigmoid on the gates",
    "At least one gate went through a tanh, or through nothing at all, so it can be "
    "negative.",
    "A gate says how much, from 0 to 1. Which function gives such numbers?",
)
