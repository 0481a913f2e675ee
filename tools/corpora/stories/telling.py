"""Patterns of sentences, and a story that fills them in and keeps track of facts.

A pattern file holds events, ``= lost.search``, and below each its patterns, one a line:

    (rain, !night) {Hero} ran {place.to} [without a coat|as fast as {he} could].

A pattern may begin with conditions in brackets: facts of the world that must hold, or
with ``!`` must not. ``[a|b]`` is a choice. ``{thing.a}`` is a form of a role, see
`world`; a capital letter makes a capital letter. ``{he}`` and its kin speak of the
hero. ``{thing.where}`` is looked up in the world when the sentence is told.
"""

import random
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from tools.corpora.stories.world import SELVES, Entity

PATTERNS = Path(__file__).parent / "patterns"
MARK = re.compile("\x01([^\x02]*)\x02")
APART = 60  # characters between a fact and its being told again, at least

Piece = str | tuple[str, str] | tuple["Pattern", ...]


@dataclass(frozen=True)
class Pattern:
    """One sentence pattern: its text, its conditions, and the pieces it is made of."""

    text: str
    wanted: frozenset[str] = frozenset()
    unwanted: frozenset[str] = frozenset()
    pieces: tuple[Piece, ...] = ()
    roles: frozenset[str] = frozenset()  # who must be there for it


@dataclass(frozen=True)
class Recall:
    """A fact told again: the text before the word, and the word."""

    prompt: str
    answer: str


def parse(line: str) -> Pattern:
    """A pattern from its line.

    Raises:
        ValueError: A bracket or brace is left open.
    """
    text, wanted, unwanted = line, set(), set()
    if match := re.match(r"\(([^)]*)\) ", line):
        text = line[match.end() :]
        for word in match[1].split(", "):
            (unwanted if word.startswith("!") else wanted).add(word.lstrip("!"))
    pieces: list[Piece] = []
    for part in re.split(r"(\[[^]]*\]|\{[^}]*\})", text):
        if part.startswith("["):
            pieces.append(tuple(map(parse, part[1:-1].split("|"))))
        elif part.startswith("{"):
            role, _, form = part[1:-1].partition(".")
            pieces.append((role, form))
        elif set(part) & set("[]{}"):
            raise ValueError(f"A bracket is left open in {line!r}.")
        elif part:
            pieces.append(part)
    roles = re.findall(r"\{(\w)(\w*)", text)
    return Pattern(
        text,
        frozenset(wanted),
        frozenset(unwanted),
        tuple(pieces),
        frozenset(first.lower() + rest for first, rest in roles) - SELVES,
    )


@cache
def patterns() -> dict[str, tuple[Pattern, ...]]:
    """The patterns of every event, from the pattern files.

    Raises:
        ValueError: An event is there twice, or a pattern stands before the first.
    """
    events: dict[str, list[Pattern]] = {}
    for file in sorted(PATTERNS.glob("*.txt")):
        event = ""
        for line in file.read_text("utf-8").splitlines():
            if line.startswith("= "):
                event = line[2:].strip()
                if event in events:
                    raise ValueError(f"{file.name} has the event {event!r} again.")
                events[event] = []
            elif line and not line.startswith("#"):
                if not event:
                    raise ValueError(f"{file.name}: a pattern before the first event.")
                events[event].append(parse(line))
    return {event: tuple(lines) for event, lines in events.items()}


@dataclass
class Story:
    """A story while it is told, and afterwards: who plays in it and what is so."""

    rng: random.Random
    ending: str = "happy"
    plot: str = ""
    cast: dict[str, Entity] = field(default_factory=dict)
    at: dict[str, str] = field(default_factory=dict)  # thing's role -> container's role
    facts: set[str] = field(default_factory=set)  # season, weather, time of day ...
    told: set[str] = field(default_factory=set)  # texts of patterns already used
    parts: list[str] = field(default_factory=list)

    @property
    def happy(self) -> bool:
        """Whether it ends well."""
        return self.ending == "happy"

    def say(self, event: str, chance: float = 1.0) -> None:
        """Tell one event, by a pattern that fits the facts and was not used yet.

        Raises:
            LookupError: No pattern of the event fits.
        """
        if self.rng.random() >= chance:
            return
        if event not in patterns():
            raise LookupError(f"There is no event {event!r}.")
        choices = patterns()[event]
        pattern = self.rng.choice(choices)
        if not self._fits(pattern):
            choices = [p for p in choices if self._fits(p)]
            if not choices:
                raise LookupError(f"No pattern of {event!r} fits {sorted(self.facts)}.")
            pattern = self.rng.choice(choices)
        self.told.add(pattern.text)
        self.parts.append("".join(self._fill(pattern)))

    def _fits(self, pattern: Pattern) -> bool:
        """Whether a pattern is true here and new, and everybody in it is there."""
        return (
            pattern.text not in self.told
            and pattern.roles <= self.cast.keys()
            and pattern.wanted <= self.facts
            and not pattern.unwanted & self.facts
        )

    def end(self, event: str, chance: float = 1.0) -> None:
        """Tell the happy or the sad form of an event."""
        self.say(f"{event}.{self.ending}", chance)

    def paragraph(self) -> None:
        """Begin a new line."""
        if self.parts and self.parts[-1] != "\n":
            self.parts.append("\n")

    def put(self, thing: str, container: str, event: str = "put") -> None:
        """Somebody puts a thing into a container: said, and remembered."""
        self.at[thing] = container
        self.facts |= self.cast[container].kinds - {"large", "small"}
        self.say(event)

    def now(self, old: set[str] | frozenset[str], new: str) -> None:
        """Facts that end, and the one that begins instead."""
        self.facts -= old
        self.facts.add(new)

    def _fill(self, pattern: Pattern) -> Iterator[str]:
        for piece in pattern.pieces:
            if isinstance(piece, str):
                yield piece
            elif isinstance(piece[0], Pattern):
                yield from self._fill(self.rng.choice(piece))
            else:
                yield self._slot(*piece)

    def _slot(self, role: str, form: str) -> str:
        """The words for a slot."""
        name = role[0].lower() + role[1:]
        if name in SELVES:
            name, form = "hero", name
        if form in ("where", "out") and name in self.at:
            words = self.cast[self.at[name]].forms[form]
        else:
            words = self.cast[name].forms[form or "name"]
        return words if role[0].islower() else capital(words)

    def text(self) -> str:
        """The story as told so far."""
        return MARK.sub(r"\1", self._marked())

    def length(self) -> int:
        """How many words and marks it has; a new line counts as one."""
        return len(re.findall(r"[\w'-]+|[^\w\s]|\n", self.text()))

    def recalls(self) -> list[Recall]:
        """Where the story tells again in what, or under what, a thing lies."""
        found, marked = [], self._marked()
        for match in MARK.finditer(marked):
            prompt = MARK.sub(r"\1", marked[: match.start()]).rstrip()
            if re.search(rf"\b{match[1]}\b", prompt[:-APART]):
                found.append(Recall(prompt, match[1]))
        return found

    def _marked(self) -> str:
        text = " ".join(self.parts)
        text = re.sub(r" *\n *", "\n", text).strip()
        return re.sub(r" +([,.!?])|  +", lambda m: m[1] or " ", text)


def capital(words: str) -> str:
    """With a capital letter, where the first letter may stand behind a mark."""
    return re.sub(r"[a-zA-Z]", lambda m: m[0].upper(), words, count=1)
