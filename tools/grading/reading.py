"""Read written answers one after another: a page, and the file that it saves.

The page runs one script, ours, named by its digest; what students wrote stands there as
text. It works without a network and without a server: what is given stays in the
browser until it is saved as points.json, which `make grade` reads with `--points`.
"""

import hashlib
import html
import json
from base64 import b64encode
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from tools.grading.course import CourseError
from tools.grading.feedback import STYLE, Written, inline
from tools.grading.outline import Outline, cell
from tools.grading.tables import Grade

SCRIPT = (Path(__file__).parent / "reading.js").read_text("utf-8")
MOST = 50_000_000  # bytes of points.json
COMMENT = 10_000  # characters of a comment
MORE = """
article[hidden] { display: none; }
header { position: sticky; top: 0; background: #fff; padding: .5rem 0;
  border-bottom: 1px solid #d0d7de; display: flex; gap: .6rem; flex-wrap: wrap;
  align-items: center; }
header #count { margin-left: auto; }
.who { visibility: hidden; }
.named .who { visibility: visible; }
textarea { width: 100%; box-sizing: border-box; font: inherit; min-height: 4rem; }
input { font: inherit; width: 5rem; }
button { font: inherit; }
kbd { border: 1px solid #8c959f; border-radius: .2rem; padding: 0 .25rem; }
.rubric { border-left: .3rem solid #0969da; padding-left: .8rem; }
"""
PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; \
style-src 'unsafe-inline'; script-src 'sha256-{digest}'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Written answers</title>
<style>{style}</style>
</head>
<body data-run="{run}">
<header>
<button id="back" type="button">Back</button>
<button id="next" type="button">Next</button>
<button id="names" type="button">Names</button>
<button id="save" type="button">Save points.json</button>
<span id="count"></span>
</header>
<p class="quiet"><kbd>0</kbd> to <kbd>9</kbd> give points, <kbd>h</kbd> half a point
more, <kbd>→</kbd> <kbd>←</kbd> turn the page, <kbd>c</kbd> writes a comment and
<kbd>Esc</kbd> leaves it, <kbd>n</kbd> shows names, <kbd>s</kbd> saves.</p>
{articles}
<script>{script}</script>
</body>
</html>
"""
NOBODY = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>Written answers</title></head>
<body><p>No written answer waits for a reader.</p></body></html>
"""


@dataclass(frozen=True)
class Points:
    """What a person gave to one answer."""

    student: str
    lesson: str
    cell: str
    digest: str  # of the answer that was read
    points: float
    comment: str


def page(
    grades: Iterable[Grade],
    outlines: Mapping[str, Outline],
    written: Mapping[tuple[str, str], Mapping[str, Written]],
) -> str:
    """The page of the answers that wait for a reader, question after question.

    Args:
        grades: Of those who handed in something.
        outlines: Lesson -> its outline.
        written: (student, lesson) -> question -> answer.
    """
    grades = [one for one in grades if not one.reason]
    articles, run = [], hashlib.sha256()
    for name, outline in outlines.items():
        for number, task in outline.tasks.items():
            for one in grades:
                answers = written.get((one.student, name), {}) if task.written else {}
                answer = answers.get(number)
                if one.lesson != name or answer is None or not answer.unread:
                    continue
                digest = one.written.get(cell(number), "")
                run.update(repr((one.student, name, number, digest)).encode())
                articles.append(_article(one.student, outline, number, answer, digest))
    if not articles:
        return NOBODY
    digest = b64encode(hashlib.sha256(SCRIPT.encode()).digest()).decode()
    return PAGE.format(
        digest=digest,
        style=STYLE + MORE,
        run=run.hexdigest()[:16],
        articles="\n".join(articles),
        script=SCRIPT,
    )


def _article(
    student: str, outline: Outline, number: str, answer: Written, digest: str
) -> str:
    task = outline.tasks[number]
    most = task.exercise.points
    data = {"student": student, "lesson": outline.name, "cell": cell(number)}
    names = "".join(
        f' data-{name}="{html.escape(text)}"'
        for name, text in (data | {"digest": digest}).items()
    )
    earlier = ""
    if answer.points is not None:
        earlier = f"<p>An earlier text of it got {answer.points:g} points.</p>"
    asked = "".join(f"<p>{inline(part)}</p>" for part in task.text.split("\n\n"))
    model = "".join(f"<p>{inline(part)}</p>" for part in task.answer.split("\n\n"))
    return (
        f"<article{names} hidden>"
        f"<h2>{number} {inline(task.exercise.title)}</h2>"
        f"<details><summary>The question</summary>{asked}</details>"
        f"<details><summary>The model answer</summary>{model}</details>"
        f'<pre class="answer">{html.escape(answer.text)}</pre>{earlier}'
        f'<p class="rubric">{inline(task.rubric)}</p>'
        f'<p><label>Points, of {most}: <input name="points" type="number" min="0" '
        f'max="{most}" step="0.5"></label></p>'
        f"<p><label>Comment for the student<textarea name=comment>"
        f"{html.escape(answer.comment)}</textarea></label></p>"
        f'<p class="quiet who">{html.escape(student)}</p>'
        "</article>"
    )


def saved(path: Path) -> list[Points]:
    """What a person gave, from the file that the page saved.

    Raises:
        CourseError: The file can't be read, or is not one of the page's.
    """
    try:
        with path.open("rb") as file:
            rows = json.loads(file.read(MOST))
        return [_points(row) for row in rows]
    except OSError as error:
        raise CourseError(f"{path} can't be read ({error.strerror}).") from None
    except (ValueError, TypeError, KeyError, OverflowError, RecursionError):
        raise CourseError(
            f"{path} is not a points.json of the page on which answers are read: save "
            "it there again."
        ) from None


def _points(row: dict) -> Points:
    texts = [row[name] for name in ("student", "lesson", "cell", "digest", "comment")]
    points = row["points"]
    if not all(isinstance(text, str) for text in texts):
        raise TypeError("text expected")
    if isinstance(points, bool) or not isinstance(points, int | float):
        raise TypeError("a number expected")
    *names, comment = texts
    return Points(*names, float(points), comment[:COMMENT])
