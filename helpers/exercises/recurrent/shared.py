"""What the exercises share: random tensors that leave no gate saturated."""

import torch

DOUBLE = torch.float64

# Mistakes that more than one step can hold: name, what was done, where to look.
BIAS_TWICE = (
    "the bias added twice",
    "The bias was added twice, once beside each matrix.",
    "Count the terms of the sum in the formula, and those of your line.",
)
BATCH_CUT = (
    "the batch cut into blocks",
    "The sum was cut along the batch: `chunk` and `split` take axis 0 unless told "
    "otherwise.",
    "Print the shape of your sum. Along which axis do the blocks lie?",
)
NO_SIGMOID = (
    "no sigmoid on the gates",
    "The gates went through a tanh, or through nothing: they can be negative.",
    "A gate says how much, from 0 to 1. Which function does that?",
)
