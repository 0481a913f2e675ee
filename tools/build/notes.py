"""What a speaker is told: the cells of a lesson that are marked slide="notes".

They stand in lessons/ alone; no notebook has them. A note that begins with its minutes
belongs to the slide that it stands on, and takes that slide into the class:

    # %% [markdown] slide="notes"
    # **2 minutes.** Say: nothing about the word has changed.
    #
    # Ask: who was tired? Expect: "the animal", and no idea how they knew.

A note without minutes is about the class as a whole.
"""

import re

from tools.build.notebooks import Lesson

TIMED = re.compile(r"\*\*(\d+) minutes?\.\*\* ")
OPENING = "the opening"  # what stands before the first section


def minutes(note: str) -> int:
    """The minutes of a slide's note; 0 if it is about the class as a whole."""
    found = TIMED.match(note)
    return int(found[1]) if found else 0


def plan(lesson: Lesson) -> str:
    """The plan of a class, its minutes added up section by section; "" without one."""
    section, sums, general = OPENING, {}, []
    for cell in lesson.cells:
        if cell.source.startswith("## "):
            section = cell.source.splitlines()[0].removeprefix("## ")
        if cell.metadata.get("slide") == "notes":
            if spent := minutes(cell.source):
                sums[section] = sums.get(section, 0) + spent
            else:
                general.append(cell.source)
    if sums:
        parts = ", ".join(f"*{name}* ({spent})" for name, spent in sums.items())
        general.insert(0, f"{sum(sums.values())} minutes: {parts}.")
    return "\n\n".join(general)
