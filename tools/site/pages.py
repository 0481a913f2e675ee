"""All pages of the site as Markdown, and where the links between them lead."""

import posixpath
import re
from dataclasses import dataclass, field
from pathlib import Path

import nbformat

from tools.build.guide import misconceptions, title
from tools.build.notebooks import Lesson, known_exercises, lesson_paths, read
from tools.site import lessons

# What the site shows of the repository, and where.
PAGES = {
    "README.md": "index",
    "CHANGELOG.md": "project/changes",
    "CONTRIBUTING.md": "project/contributing",
    "CODE_OF_CONDUCT.md": "project/conduct",
    "docs/translating.md": "project/translating",
    "docs/words.md": "words",
    "docs/experiments.md": "measured/experiments",
    "docs/benchmarks.md": "measured/benchmarks",
    "docs/instructors.md": "instructors/guide",
    "docs/grading.md": "instructors/grading",
    "docs/written.md": "instructors/written",
}
WRITTEN = "instructors/written"
# In that page: from "**Model answer" to the next heading.
ANSWER = re.compile(r"^\*\*Model answer.*?(?=^#|^\(|\Z)", re.MULTILINE | re.DOTALL)
CARDS = "helpers/corpora/**/README.md"
FRONT = re.compile(r"\A---\n.*?\n---\n", re.DOTALL)  # metadata of a model card
COMMENT = re.compile(r"^<!--.*?-->\n?", re.MULTILINE | re.DOTALL)
ANCHOR = re.compile(r'<a id="([\w-]+)"></a>')  # MyST links to targets of its own
BADGE = re.compile(r"\[!\[([^]]+)\]\([^)]+\)\]")  # a picture that leads on
LINK = re.compile(r"(!?)\[([^][]+)\]\(([^()\s]+)\)")
FENCED = re.compile(r"^(`{3,}).*?^\1", re.MULTILINE | re.DOTALL)
HEADING = re.compile(r"^## (.+)$", re.MULTILINE)
FRONT_PAGE = ("Lessons", "How we know that the checks are right", "What it is not")
INSTRUCTORS = ("guide", "grading", "written")  # first; other pages of docs/ follow
START = ("Start", "How to work", "Commands")
TREE = """```{{toctree}}
:hidden:
:caption: {}

{}
```"""


@dataclass
class Site:
    """The pages of the site, in Markdown, by name; other files, by path."""

    root: Path
    address: str = ""  # of the repository, where it is published
    pages: dict[str, str] = field(default_factory=dict)
    files: lessons.Files = field(default_factory=dict)


def site(root: Path, address: str = "") -> Site:
    """All pages and figures.

    Args:
        root: the repository, with its executed solutions
        address: of the repository on the web; without one, files that the site does
            not show are named and not linked
    """
    made = Site(root, address)
    known = [read(path) for path in lesson_paths(root)]
    cards = sorted(path.relative_to(root) for path in root.glob(CARDS))
    more = (f"docs/{path.name}" for path in sorted(root.glob("docs/*.md")))
    places = {one: f"instructors/{Path(one).stem}" for one in more} | PAGES
    places |= {str(path): f"cards/{path.parent.name}" for path in cards}
    for lesson in known:
        for folder in ("notebooks", "solutions"):
            places[f"{folder}/{lesson.name}.ipynb"] = f"lessons/{lesson.name}"
    for source, name in places.items():
        if source.endswith(".md"):
            text = COMMENT.sub("", FRONT.sub("", (root / source).read_text("utf-8")))
            text = BADGE.sub(r"[\1]", text)
            made.pages[name] = linked(made, places, source, text)
    for lesson in known:
        name, source = f"lessons/{lesson.name}", f"solutions/{lesson.name}.ipynb"
        made.pages[name] = linked(made, places, source, _lesson(made, lesson))
        made.pages[f"mistakes/{lesson.name}"] = misconceptions(lesson)
    made.pages[WRITTEN] = ANSWER.sub(_folded, made.pages[WRITTEN])
    _front(made, known)
    return made


def _folded(answer: re.Match) -> str:
    """A model answer with its rubric, behind a click."""
    return lessons.fold("Model answer and rubric", answer[0].strip(), "answer") + "\n\n"


def _lesson(made: Site, lesson: Lesson) -> str:
    """The page of one lesson, from its notebooks as committed."""
    solution, student = (
        nbformat.read(made.root / folder / f"{lesson.name}.ipynb", nbformat.NO_CONVERT)
        for folder in ("solutions", "notebooks")
    )
    known = known_exercises(lesson)
    return lessons.page(lesson.name, solution, student, known, made.files, made.address)


def _front(made: Site, known: list[Lesson]) -> None:
    """Cut the README into the first page and how to begin; list what there is."""
    first, parts = sections(made.pages["index"])
    body = [first, *(f"## {name}\n\n{parts[name]}" for name in FRONT_PAGE)]
    credits = "Credits and licence"
    made.pages["index"] = "\n\n".join([*body, f"## {credits}\n\n{parts[credits]}"])
    start = [f"## {name}\n\n{parts[name]}" for name in START]
    made.pages["start"] = "\n\n".join(["# How to start", *start])
    groups = {
        "Begin": ["start"],
        "Lessons": _under(made, "lessons/"),
        "Beside the lessons": ["words", "mistakes/index"],
        "Measured": ["measured/experiments", "measured/benchmarks"],
        "Data and models": _under(made, "cards/"),
        "For instructors": sorted(_under(made, "instructors/"), key=_rank),
        "The project": _under(made, "project/"),
    }
    listed = [TREE.format(group, "\n".join(names)) for group, names in groups.items()]
    made.pages["index"] += "\n\n" + "\n\n".join(listed) + "\n"
    mistakes = [f"{title(lesson)} <{lesson.name}>" for lesson in known]
    made.pages["mistakes/index"] = (
        "# What students get wrong\n\n"
        "Every mistake that a check knows by its name, with what it says to it.\n\n"
        "```{toctree}\n:maxdepth: 1\n\n" + "\n".join(mistakes) + "\n```\n"
    )


def _rank(name: str) -> tuple[int, str]:
    """Where a page stands among those for instructors."""
    stem = name.split("/")[1]
    known = stem in INSTRUCTORS
    return (INSTRUCTORS.index(stem) if known else len(INSTRUCTORS)), stem


def _under(made: Site, folder: str) -> list[str]:
    return sorted(name for name in made.pages if name.startswith(folder))


def sections(text: str) -> tuple[str, dict[str, str]]:
    """What stands above the first heading of a page, and its sections by title."""
    first, *rest = HEADING.split(text)
    bodies = (body.strip() for body in rest[1::2])
    return first.strip(), dict(zip(rest[::2], bodies, strict=True))


def linked(made: Site, places: dict[str, str], source: str, text: str) -> str:
    """A page's text, in which links lead to pages of the site.

    A link to a file that the site does not show leads to the repository on the web;
    where it has no address, the words alone are left.
    """
    here = posixpath.dirname(source)
    depth = "../" * places[source].count("/")

    def link(match: re.Match) -> str:
        picture, words, target = match.groups()
        path, _, anchor = target.partition("#")
        path = posixpath.normpath(posixpath.join(here, path)) if path else ""
        if not path or ":" in target or not (made.root / path).exists():
            return match[0]
        if picture:
            copied = f"figures/{path.replace('/', '-')}"
            made.files[copied] = (made.root / path).read_bytes()
            return lessons.figure(copied, {"alt": words})
        name = places.get(path)
        if name and f'<a id="{anchor}">' in (made.root / path).read_text("utf-8"):
            return f"[{words}](#{anchor})"
        if name:
            return f"[{words}]({depth}{name}.md{'#' * bool(anchor)}{anchor})"
        if made.address:
            return f"[{words}]({made.address}/blob/main/{path})"
        return words

    text = ANCHOR.sub(r"(\1)=", text)
    pieces, end = [], 0
    for fenced in FENCED.finditer(text):
        pieces += [LINK.sub(link, text[end : fenced.start()]), fenced[0]]
        end = fenced.end()
    return "".join([*pieces, LINK.sub(link, text[end:])])
