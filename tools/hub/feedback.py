"""Give the pages of `make grade` to students, through nbgrader's exchange.

nbgrader releases what lies in feedback/<student>/<lesson>/. It finds the student who
may fetch a page by the secret that came with the submission.
"""

import subprocess
import sys
from pathlib import Path

from helpers.files import write_whole
from tools.grading import runner
from tools.hub import CAME_WITH_IT
from tools.hub.config import HubError, role_environment

GRADED = "submitted-graded"  # where `make grade SUBMISSIONS=submitted` writes
LONGEST = 1000  # bytes of these: a secret has 128


def release(folder: Path, graded: Path | None = None) -> list[str]:
    """Release every page that belongs to a collected submission.

    Args:
        folder: That of the class.
        graded: Where `make grade` wrote; by default beside what was collected.

    Returns:
        A sentence for each lesson, and one for each page that can't be released.

    Raises:
        HubError: There are no pages, or nbgrader refuses.
    """
    course = folder.resolve() / "course"
    pages = (graded or course / GRADED) / "pages"
    lessons = sorted(path for path in pages.glob("*") if any(path.glob("*.html")))
    if not lessons:
        raise HubError(
            f"There is no feedback in {pages}: collect, then run `make grade "
            f"SUBMISSIONS={course / 'submitted'}`, and try again."
        )
    said = []
    for lesson in lessons:
        ready = []
        for page in sorted(lesson.glob("*.html")):
            problem = _lay_out(course, lesson.name, page)
            if problem:
                said.append(f"{page.stem}, {lesson.name}: not released, {problem}.")
            else:
                ready.append(page.stem)
        if ready:
            _nbgrader(folder.resolve(), lesson.name)
        count = f"{len(ready)} page{'' if len(ready) == 1 else 's'}"
        said.append(f"{lesson.name}: {count} of feedback can be fetched.")
    return said


def _lay_out(course: Path, lesson: str, page: Path) -> str:
    """Put a page where nbgrader looks for it; why that can't be done, or ""."""
    submitted = course / "submitted" / page.stem / lesson
    place = course / "feedback" / page.stem / lesson
    found = {}
    for name in CAME_WITH_IT:
        try:
            found[name] = runner.read(submitted / name)
        except OSError:
            return f"its submission has no {name}: it did not come through the exchange"
        if len(found[name]) > LONGEST:
            return f"{name} of its submission is not nbgrader's"
    for name, content in found.items():
        write_whole(place / name, content)
    write_whole(place / f"{lesson}.html", page.read_bytes())
    return ""


def _nbgrader(folder: Path, lesson: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "nbgrader", "release_feedback", lesson],
        cwd=folder / "course",
        env=role_environment(folder, "instructor"),
        capture_output=True,
        encoding="utf-8",
    )
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["it gave no reason"])[-1]
        raise HubError(f"nbgrader could not release the feedback of {lesson}: {last}")
