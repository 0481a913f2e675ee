"""Scenes of everyday life: a sentence or two each, told by patterns.

The story world is small. Scenes tell of the rest of what a child knows: which things go
with which deeds, places, people and animals. Their patterns lie in `patterns`, one to a
line, with alternatives in braces, `The {cat|kitten} slept`, and classes, `{fruit}`,
which a line `fruit = apple|pear` defines for its file.
"""

import random
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tools.corpora.stories import words

PATTERNS = Path(__file__).parent / "patterns"
HELD_OUT_ONE_IN = 40
READY_MADE = {"girl": tuple(words.GIRLS), "boy": tuple(words.BOYS)}
SLOT = re.compile(r"\{([^{}]*)\}")
CLASS = re.compile(r"([a-z_]+) = (.+)")
ARTICLE = re.compile(r"\b([Aa]) (?=[aeio]|u(?!ni|se|su)|hour\b|hono)")
ONE = re.compile(r"\b([Aa])n (?=one\b|once\b)")


class PatternError(ValueError):
    """A line of a pattern file is not as patterns are; its message names it."""


@dataclass(frozen=True)
class Pattern:
    """One line: the text between its slots, and what may stand in each slot."""

    around: tuple[str, ...]  # one more than slots
    slots: tuple[tuple[str, ...], ...]

    def tell(self, rng: random.Random) -> str:
        """One of its scenes."""
        text = self.around[0]
        for slot, after in zip(self.slots, self.around[1:], strict=True):
            text += rng.choice(slot) + after
        return ONE.sub(r"\1 ", ARTICLE.sub(r"\1n ", text))


def read_patterns(file: Path) -> list[Pattern]:
    """The patterns of a file.

    Raises:
        PatternError: A line has a brace too many, an empty alternative, a class that
            nothing defines, or does not begin with a capital and end with a stop.
    """
    classes, patterns = dict(READY_MADE), []
    for number, line in enumerate(file.read_text("utf-8").splitlines(), 1):
        where = f"{file.name}, line {number}"
        if not line.strip() or line.startswith("#"):
            continue
        if defined := CLASS.fullmatch(line.strip()):
            classes[defined[1]] = _alternatives(defined[2], where)
            continue
        around = tuple(SLOT.split(line.strip())[::2])
        slots = tuple(
            classes[slot] if slot in classes else _alternatives(slot, where)
            for slot in SLOT.findall(line)
        )
        if any("{" in one or "}" in one or "|" in one for one in around):
            raise PatternError(f"{where}: a brace or a bar has no partner.")
        pattern = Pattern(around, slots)
        told = pattern.tell(random.Random(0))
        if not re.fullmatch(r"[\"']?[A-Z].*[.!?][\"']?", told):
            raise PatternError(
                f"{where}: a scene begins with a capital and ends with a stop: {told}"
            )
        patterns.append(pattern)
    return patterns


def _alternatives(text: str, where: str) -> tuple[str, ...]:
    """The alternatives of a slot or class."""
    parts = tuple(text.split("|"))
    if len(parts) < 2 or not all(part.strip() for part in parts):
        raise PatternError(
            f"{where}: {{{text}}} is neither a class nor two alternatives or more."
        )
    return parts


@cache
def all_patterns() -> tuple[Pattern, ...]:
    """The patterns of all files."""
    files = sorted(PATTERNS.glob("*.txt"))
    return tuple(pattern for file in files for pattern in read_patterns(file))


@cache
def some_patterns(held_out: bool = False) -> tuple[Pattern, ...]:
    """The patterns that a run reads, or the one in forty that it leaves out."""
    every = enumerate(all_patterns())
    return tuple(one for n, one in every if (n % HELD_OUT_ONE_IN == 0) == held_out)


def scenes(seed: int, count: int, held_out: bool = False) -> list[str]:
    """So many scenes of different patterns, the same for the same seed.

    Args:
        seed: any integer
        count: how many, at most as many as there are patterns
        held_out: of patterns that a run leaves out
    """
    rng = random.Random(seed)
    return [one.tell(rng) for one in rng.sample(some_patterns(held_out), count)]
