"""Stories of our own world that no bundled model was trained on, and how they end.

They were told by the simulator in `tools/corpora/stories`, not by people:
`python -m tools.corpora.stories --bundle` writes them again.
"""

import csv
from pathlib import Path
from typing import NamedTuple

from helpers.corpora.whole import whole

__all__ = ["STORIES", "HeldOutStory", "load_stories"]

STORIES = Path(__file__).with_name("stories.csv")


class HeldOutStory(NamedTuple):
    """A story, and whether it ends well."""

    text: str
    happy: bool


def load_stories() -> list[HeldOutStory]:
    """The 500 stories, in the order in which they were told."""
    with whole(STORIES).open(encoding="utf-8", newline="") as file:
        return [
            HeldOutStory(row["text"], row["happy"] == "1")
            for row in csv.DictReader(file)
        ]
