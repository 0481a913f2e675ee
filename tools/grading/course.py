"""nbgrader's course: source/, release/ and the gradebook, from notebooks/.

The stubs are in notebooks/ already, so nbgrader's ClearSolutions is left out: it would
replace every cell of an answer by its own words.
"""

import hashlib
import logging
import os
import sys
import warnings
from base64 import b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import nbformat

from tools.build.stubs import LessonError

CONFIG = """# nbgrader's settings for "Transformers, step by step".
c = get_config()
# The stubs are in the notebooks already: ClearSolutions would wipe them.
c.GenerateAssignment.preprocessors = [
    "nbgrader.preprocessors." + name
    for name in (
{names}
    )
]
c.Execute.timeout = 300
{wall} behind what `make grade` makes safe: `jupyter lab --config=nbgrader_config.py`
# tells the browser to run no script that stands in an attribute, to load nothing from
# elsewhere but MathJax, and to send nothing there. The formgrader's own buttons are
# named by the digests of their scripts.
c.ServerApp.ip = "127.0.0.1"
c.ServerApp.tornado_settings = {{
    "headers": {{
        "Content-Security-Policy": "; ".join(
            [
                "default-src 'self'",
                "script-src 'self' 'unsafe-inline' 'unsafe-eval' {mathjax}",
                "script-src-attr 'unsafe-hashes' {buttons}",
                "style-src 'self' 'unsafe-inline' {mathjax}",
                "font-src 'self' data: {mathjax}",
                "img-src 'self' data: blob:",
                "connect-src 'self'",
                "worker-src 'self' blob:",
                "frame-src 'self'",
                "object-src 'none'",
                "base-uri 'self'",
                "form-action 'self'",
                "frame-ancestors 'self'",
            ]
        )
    }}
}}
"""
WALL = "# A wall"
MATHJAX = "https://cdnjs.cloudflare.com/ajax/libs/mathjax/"  # as nbconvert names it
BUTTONS = ("toggle_name(true);", "toggle_name(false);", "toggleAllNames()")


class CourseError(Exception):
    """Something the instructor can put right; its text is one clear sentence."""


def chosen(root: Path, numbers: list[str]) -> list[Path]:
    """The student notebooks of these lessons; all where none is named.

    Raises:
        CourseError: There is none.
    """
    from tools.build import notebooks

    built = sorted((root / "notebooks").glob("[0-9][0-9]_*.ipynb"))
    try:
        return notebooks.chosen(built, numbers)
    except LessonError as error:
        raise CourseError(str(error)) from None


def lay_out(
    course: Path, notebooks: list[Path], model_answers: bool = True
) -> list[str]:
    """Make or renew an nbgrader course.

    Args:
        course: Its folder; what nbgrader knows about submissions there is kept.
        notebooks: The student notebooks that are released.
        model_answers: Whether the cells stay that open those of written questions.

    Returns:
        The assignments' names.

    Raises:
        CourseError: nbgrader refuses, or the folder can't be written.
    """
    try:
        course.mkdir(parents=True, exist_ok=True)
        config = course / "nbgrader_config.py"
        settings = _config()
        earlier = settings.partition(WALL)[0]  # as the first edition wrote it
        if not config.exists() or config.read_text("utf-8") == earlier:
            config.write_text(settings, "utf-8")  # else the instructor changed it
        for notebook in notebooks:
            source = course / "source" / notebook.stem / notebook.name
            source.parent.mkdir(parents=True, exist_ok=True)
            source.write_text(_self_reliant(notebook, model_answers), "utf-8")
            _generate(course, notebook.stem)
    except OSError as error:
        raise CourseError(
            f"Could not write the course to {course} ({error.strerror or error})."
        ) from error
    return [notebook.stem for notebook in notebooks]


def _self_reliant(path: Path, model_answers: bool) -> str:
    """A notebook whose check cells import `check` themselves.

    A student's notebook imports it once, at its top. That cell is the student's, and
    whoever defines a `check` of their own must not grade themselves with it.
    """
    from tools.build import notebooks

    notebook = nbformat.read(path, nbformat.NO_CONVERT)
    if not model_answers:
        notebook.cells = [
            cell
            for cell in notebook.cells
            if notebooks.MODEL_ANSWER not in cell.metadata.get("tags", [])
        ]
    for cell in notebook.cells:
        if cell.cell_type == "code" and notebooks.checked_exercise(cell.source):
            call = cell.source.removeprefix(notebooks.IMPORT).strip()
            cell.source = f"{notebooks.IMPORT}\n\n{call}"
    return nbformat.writes(notebook, version=nbformat.NO_CONVERT) + "\n"


def _config() -> str:
    names = "\n".join(f'        "{name}",' for name in preprocessor_names())
    digests = (hashlib.sha256(text.encode()).digest() for text in BUTTONS)
    buttons = " ".join(f"'sha256-{b64encode(one).decode()}'" for one in digests)
    return CONFIG.format(wall=WALL, names=names, buttons=buttons, mathjax=MATHJAX)


def preprocessor_names() -> list[str]:
    """The list of nbgrader's own for a release, minus ClearSolutions."""
    with quiet():
        from nbgrader.converters import GenerateAssignment

        kinds = GenerateAssignment.preprocessors.default_args[0]
    return [kind.__name__ for kind in kinds if kind.__name__ != "ClearSolutions"]


def _generate(course: Path, name: str) -> None:
    with quiet() as said:
        from nbgrader import preprocessors
        from nbgrader.converters import GenerateAssignment
        from nbgrader.converters.base import NbGraderException
        from nbgrader.coursedir import CourseDirectory
        from traitlets.config import Config

        config = Config()
        config.CourseDirectory.root = str(course.resolve())
        config.CourseDirectory.assignment_id = name
        config.GenerateAssignment.force = True
        kinds = [getattr(preprocessors, kind) for kind in preprocessor_names()]
        config.GenerateAssignment.preprocessors = kinds
        directory = CourseDirectory(config=config)
        try:
            GenerateAssignment(coursedir=directory, config=config).start()
        except NbGraderException:
            raise CourseError(_refusal(course, name, said)) from None


def _refusal(course: Path, name: str, said: list[str]) -> str:
    if any("submissions associated" in line for line in said):
        return (
            f"{course} holds grades of another version of {name}, whose cells differ: "
            "use another folder, so that they are kept."
        )
    return f"nbgrader could not release {name}: {first_cause(said)}"


def first_cause(said: list[str]) -> str:
    """The error that came first in what nbgrader logged; later ones speak of it."""
    for text in said:
        if "Traceback (most recent call last)" in text:
            lines = text.partition("Traceback (most recent call last)")[2].splitlines()
            for line in lines[1:]:
                if line[:1].strip():  # not indented: the error itself
                    return line.strip()
    return said[-1].strip() if said else "it gave no reason"


@contextmanager
def quiet() -> Iterator[list[str]]:
    """Keep what nbgrader logs instead of printing it; let it find its own programs."""
    said: list[str] = []
    handler = logging.Handler()
    handler.emit = lambda record: said.append(record.getMessage())
    logger, path = logging.getLogger("traitlets"), os.environ.get("PATH", "")
    before = logger.handlers, logger.propagate, logger.level
    logger.handlers, logger.propagate = [handler], False
    os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), path])
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield said
    finally:
        os.environ["PATH"] = path
        logger.handlers, logger.propagate = before[:2]
        logger.setLevel(before[2])
