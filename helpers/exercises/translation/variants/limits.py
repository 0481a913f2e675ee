"""Independent solutions to 8.C."""

import numpy as np


def by_sorted_rows(scores, width, steps, enough=0.95):
    order = sorted(scores[width])
    row = [scores[width][count] for count in order]
    if row[order.index(steps)] >= enough:
        return "nothing"
    if row[-1] >= enough:
        return "training"
    if row[-1] - row[-2] > 0.02:
        return "undecided"
    _, wide = max(scores.items())
    _, end = max(wide.items())
    return "width" if end >= enough else "neither"


def by_questions(scores, width, steps, enough=0.95):
    *_, second, longest = sorted(scores[width])
    mine, wide = scores[width], scores[max(scores)]
    verdict = "neither"
    if wide[sorted(wide)[-1]] >= enough:
        verdict = "width"
    if mine[longest] > mine[second] + 0.02:
        verdict = "undecided"
    if mine[longest] >= enough:
        verdict = "training"
    if mine[steps] >= enough:
        verdict = "nothing"
    return verdict


def by_arrays(scores, width, steps, enough=0.95):
    own = np.array(sorted(scores[width].items()))
    wide = np.array(sorted(scores[max(scores)].items()))
    (score,) = own[own[:, 0] == steps, 1]
    still = own[-1, 1] - own[-2, 1] > 0.02
    asked = (
        ("nothing", score >= enough),
        ("training", own[-1, 1] >= enough),
        ("undecided", still),
        ("width", wide[-1, 1] >= enough),
        ("neither", True),
    )
    return next(name for name, holds in asked if holds)


VARIANTS = {"8.C": (by_sorted_rows, by_questions, by_arrays)}
