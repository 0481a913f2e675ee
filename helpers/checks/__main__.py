"""List the exercises and their outcomes: `python -m helpers.checks [folder]`."""

import sys
from pathlib import Path

from helpers.checks import exercises, progress


def main(folder: Path) -> None:
    """Print a line for each exercise of the lessons."""
    done = progress.read(folder)
    marks = {"passed": "✓", "borrowed": "○", "wrong": "✗", "raised": "✗"}
    asked = [exercise for exercise in exercises() if exercise.answers]
    for exercise in asked:
        state = done.get(exercise.id, "not attempted")
        print(f"{marks.get(state, ' ')} {exercise.id:5} {exercise.title:45} {state}")
    passed = sum(done.get(exercise.id) == "passed" for exercise in asked)
    print(f"\n{passed} of {len(asked)} exercises passed.")
    if not (folder / progress.MARKER).exists():
        print(f"There are no notebooks in {folder}/ yet: `make lab` copies them there.")


if __name__ == "__main__":
    folders = [Path(name) for name in sys.argv[1:]]
    if len(folders) > 1 or not all(folder.is_dir() for folder in folders):
        sys.exit("Give the folder of your notebooks, or nothing for work/.")
    main(*folders or [Path("work")])
