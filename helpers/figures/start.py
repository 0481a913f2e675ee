"""Figure of lesson 00: where a word of a sentence looks."""

from collections.abc import Sequence

import matplotlib as mpl
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch

from helpers.experiments.one_head import Head
from helpers.figures import BLUE, GREY, WEIGHTS_MAP, canvas, show_figure

MARKS = ("[CLS]", "[SEP]")  # that the model puts around a sentence
GAP = 1.2  # letters between two words


def show_look(head: Head, word: str) -> None:
    """Show how much of its attention a word gives to each word of its sentence.

    Args:
        head: what one head saw of the sentence
        word: one of its words; the first of them if it stands there more than once

    Raises:
        ValueError: The sentence, as the model cuts it, has no such word.
    """
    row = head.asked_by(word)
    kept = [n for n, one in enumerate(head.tokens) if one == word or one not in MARKS]
    tokens, shares = [head.tokens[n] for n in kept], row[kept].tolist()
    asking = tokens.index(word)
    show_figure(looking(tokens, shares, asking), described(tokens, shares, asking))


def described(tokens: Sequence[str], shares: Sequence[float], asking: int) -> str:
    """The figure in a sentence: who looks, and at which two words above all."""
    names = [*tokens[:asking], "itself", *tokens[asking + 1 :]]
    most = sorted(zip(shares, names, strict=True), reverse=True)[:2]
    text = f"The word {tokens[asking]} gives {most[0][0]:.0%} of its attention to "
    text += most[0][1] + "".join(f" and {share:.0%} to {to}" for share, to in most[1:])
    more = ", and less to every other word" * (len(tokens) > 2)
    return f"{text}{more}."


def looking(tokens: Sequence[str], shares: Sequence[float], asking: int) -> Figure:
    """Draw a sentence, and arcs from one word to those that it looks at.

    Args:
        tokens: the words
        shares: how much of its attention the word gives to each, from 0 to 1
        asking: the place of the word
    """
    places, end = [], 0.0
    for token in tokens:
        places.append(end + len(token) / 2)
        end += len(token) + GAP
    figure, (axes,) = canvas(max(5.0, 0.125 * end), 2.3)
    axes.set(xlim=(-1, end), ylim=(-0.75, 2.2))
    axes.axis("off")
    colour = mpl.colormaps[WEIGHTS_MAP]
    for n, (token, share) in enumerate(zip(tokens, shares, strict=True)):
        box = {"boxstyle": "round,pad=0.25", "edgecolor": "none"}
        box["facecolor"] = colour(0.9 * share)
        style = {"weight": "bold"} if n == asking else {}
        style["color"] = "white" if share > 0.55 else "black"
        at = {"ha": "center", "va": "center"}
        axes.text(places[n], 0, token, bbox=box, fontsize=11, **at, **style)
        if share >= 0.005:
            axes.text(places[n], -0.55, f"{share:.0%}", color=GREY, fontsize=9, **at)
        if n != asking and share >= 0.005:
            axes.add_patch(_arc(places[asking], places[n], share))
    return figure


def _arc(start: float, end: float, share: float) -> FancyArrowPatch:
    """An arc above the words, the thicker the larger the share."""
    bend = 0.35 if end < start else -0.35
    return FancyArrowPatch(
        (start, 0.32),
        (end, 0.32),
        connectionstyle=f"arc3,rad={bend}",
        arrowstyle="-|>",
        mutation_scale=8 + 6 * share,
        linewidth=0.5 + 6 * share,
        alpha=0.25 + 0.75 * share,
        color=BLUE,
        shrinkA=0,
        shrinkB=0,
    )
