"""Lesson 12: how GPT-2's block and today's learned the stories, as it was measured.

The numbers are those of `blocks` in docs/experiments.md, means over three seeds.
"""

STEPS = tuple(range(0, 1501, 100))  # of training, at which held-out bits were counted
BITS = {  # per byte of held-out stories
    "GPT-2's block": (
        3.368,
        1.954,
        1.707,
        1.620,
        1.550,
        1.460,
        1.326,
        1.161,
        1.009,
        0.856,
        0.752,
        0.665,
        0.610,
        0.574,
        0.558,
        0.555,
    ),
    "today's block": (
        3.367,
        1.736,
        1.369,
        1.028,
        0.781,
        0.633,
        0.541,
        0.472,
        0.430,
        0.389,
        0.359,
        0.335,
        0.317,
        0.305,
        0.301,
        0.299,
    ),
}
SECONDS = {"GPT-2's block": 0.177, "today's block": 0.179}  # of a step, on one core
