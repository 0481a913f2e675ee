"""Lay out an nbgrader course from notebooks/: `python -m tools.grading.release [02]`.

source/ holds the notebooks as they are, release/ what students get, gradebook.db what
nbgrader knows about them. nbgrader's own preprocessors do the work, all but
ClearSolutions: the stubs are in notebooks/ already. Running it again renews the course
and keeps the grades in its gradebook.
"""

import argparse
import sys
from pathlib import Path

from tools.grading.course import CourseError, chosen, lay_out

ROOT = Path(__file__).resolve().parents[2]


def main(arguments: list[str] | None = None, root: Path = ROOT) -> int:
    """Lay out the course; returns the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.grading.release", description=__doc__.split("\n")[0]
    )
    parser.add_argument("lessons", nargs="*", help="numbers such as 02; default: all")
    parser.add_argument(
        "--course",
        type=Path,
        default=root / "build" / "nbgrader",
        help="folder of the course; default: build/nbgrader",
    )
    parser.add_argument(
        "--no-model-answers",
        action="store_true",
        help="leave out the cells that open the model answers of written questions",
    )
    options = parser.parse_args(arguments)
    try:
        names = lay_out(
            options.course,
            chosen(root, options.lessons),
            model_answers=not options.no_model_answers,
        )
    except CourseError as error:
        print(error, file=sys.stderr)
        return 1
    folder = options.course / "release"
    print(f"Released {', '.join(names)}: give students what is in {folder}.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
