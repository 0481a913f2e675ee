"""Write slides/NN_name.html: `python -m tools.slides [LESSON ...]`."""

import argparse
import importlib.util
import sys
from pathlib import Path

from helpers.files import write_whole
from tools.build.stubs import LessonError

ROOT = Path(__file__).resolve().parents[2]
NEEDED = ("sphinx_revealjs", "ziamath", "nbconvert")


def names(root: Path, numbers: list[str]) -> list[str]:
    """The lessons whose both notebooks are there, those asked for or all.

    Raises:
        LessonError: There is no such lesson.
    """
    from tools.build.notebooks import chosen

    built = sorted((root / "solutions").glob("[0-9][0-9]_*.ipynb"))
    both = [path for path in built if (root / "notebooks" / path.name).exists()]
    return [path.stem for path in chosen(both, numbers)]


def title(root: Path, name: str) -> str:
    """What the browser's tab says."""
    from tools.slides.cells import read

    first = read(root, name)[0].cells[0].source
    return first.splitlines()[0].lstrip("# ")


def write(root: Path, name: str) -> Path:
    """Write the deck of one lesson and say where it is."""
    from tools.slides.cells import read
    from tools.slides.page import page

    target = root / "slides" / f"{name}.html"
    text = page(title(root, name), read(root, name))
    write_whole(target, text.encode())
    return target


def main(arguments: list[str] | None = None) -> int:
    """Write the decks that were asked for."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.slides",
        description="Write one self-contained HTML deck per lesson to slides/.",
    )
    parser.add_argument("lesson", nargs="*", help="its number; all if left out")
    lessons = parser.parse_args(arguments).lesson
    if missing := [one for one in NEEDED if importlib.util.find_spec(one) is None]:
        print(
            f"Slides need {', '.join(missing)}, not installed for {sys.executable}: "
            "run `make slides`, or `python -m pip install -e '.[slides]'`.",
            file=sys.stderr,
        )
        return 1
    try:
        found = names(ROOT, lessons)
    except LessonError as error:
        print(error, file=sys.stderr)
        return 1
    for name in found:
        try:
            path = write(ROOT, name)
        except OSError as error:
            told = error.strerror or error
            print(f"Could not write slides/{name}.html ({told}).", file=sys.stderr)
            return 1
        size = path.stat().st_size / 1e6
        print(f"{path.relative_to(ROOT)}  {size:.1f} MB", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
