"""List what is passed: `python -m helpers.checks [folder] [--all]`."""

import sys
from pathlib import Path

from helpers.checks import progress, standing
from helpers.files import utf8_output

MARKS = {"passed": "✓", "borrowed": "○", "wrong": "✗", "raised": "✗"}


def main(folder: Path, every: bool = False) -> None:
    """Print a line for each lesson.

    Args:
        folder: Where the notebooks lie.
        every: Whether each exercise has a line as well.
    """
    done = progress.read(folder)
    course = standing.of_course(done)
    for lesson in course:
        print(str(lesson).rstrip())
        for one in lesson.exercises if every else ():
            state = done.get(one.id, "not attempted")
            print(f"   {MARKS.get(state, ' ')} {one.id:5} {one.title:45} {state}")
    print("", *standing.summed_up(course), sep="\n")
    kept = (progress.MARKER, progress.NAME)
    if not any((folder / name).exists() for name in kept):
        print(f"There are no notebooks in {folder}/ yet: `make lab` copies them there.")


if __name__ == "__main__":
    utf8_output()
    names = [name for name in sys.argv[1:] if name != "--all"]
    folders = [Path(name) for name in names]
    if len(folders) > 1 or not all(folder.is_dir() for folder in folders):
        sys.exit(
            "Give the folder of your notebooks, or nothing for work/; --all lists "
            "every exercise."
        )
    main(*folders or [Path("work")], every="--all" in sys.argv)
