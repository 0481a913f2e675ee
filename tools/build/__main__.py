"""Build notebooks/ and solutions/ from lessons/, or check that they are up to date.

python -m tools.build                 build all; execute solutions whose code changed
python -m tools.build 02 --execute    build lesson 02 and execute it in any case
python -m tools.build --check         change nothing, fail where something differs
python -m tools.build --language de   the same for the lessons of translations/de
"""

import argparse
import ast
import difflib
import re
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import nbformat
from nbclient.exceptions import CellExecutionError
from nbformat import NotebookNode

from helpers.files import utf8_output
from tools.build import guide, published, readme, translated
from tools.build.execute import execute
from tools.build.folds import only_guards
from tools.build.notebooks import (
    ROOT,
    Lesson,
    chosen,
    lesson_paths,
    read,
    solution,
    student,
)
from tools.build.stubs import LessonError, regions

MOST = 1_000_000  # bytes of a committed notebook
# JupyterLab strips these from a notebook that it does not trust: every fresh clone.
STRIPPED = {"image/svg+xml", "application/javascript"}
STRIPPED_HTML = re.compile(r"<(script|iframe|svg)\b", re.IGNORECASE)
PATHS = re.compile(r"(?<![\w.:/])/(home|root|tmp|work|Users|usr|opt)/|0x[0-9a-f]{8,}")


def write(notebook: NotebookNode, path: Path) -> None:
    """Write a notebook: the same one always as the same bytes."""
    path.parent.mkdir(exist_ok=True)
    path.write_text(text_of(notebook), "utf-8")


def text_of(notebook: NotebookNode) -> str:
    """The bytes of a notebook, as text."""
    return nbformat.writes(notebook, version=nbformat.NO_CONVERT) + "\n"


def load(path: Path) -> NotebookNode | None:
    """A committed notebook; None where there is none that can be read."""
    if not path.exists():
        return None
    try:
        return nbformat.read(path, nbformat.NO_CONVERT)
    except ValueError:  # no JSON, or no notebook
        return None


def build(lesson: Lesson, root: Path = ROOT, force: bool = False) -> str:
    """Write both notebooks of a lesson, and execute the solution where needed.

    Returns:
        What was done, in a line.
    """
    write(student(lesson), root / "notebooks" / f"{lesson.name}.ipynb")
    path = root / "solutions" / f"{lesson.name}.ipynb"
    built, old = solution(lesson), load(path)
    if not force and old and _code(old) == _code(built) and not unexecuted(old):
        _keep_outputs(old, built)
        write(built, path)
        return f"{lesson.name}: built, outputs kept"
    start = time.perf_counter()
    path.parent.mkdir(exist_ok=True)  # the kernel starts there
    execute(built, path.parent, root)
    built.metadata.pop("widgets", None)
    built.metadata["language_info"] = {"name": "python"}
    write(built, path)
    return f"{lesson.name}: built and executed in {time.perf_counter() - start:.0f} s"


def _code(notebook: NotebookNode) -> list[str]:
    """What its code does, whatever the comments and the layout."""
    return [_tree("\n".join(cell.source for cell in step)) for step in _steps(notebook)]


def _steps(notebook: NotebookNode) -> list[list[NotebookNode]]:
    """Its code cells, each with the cells of asserts that follow it.

    The one that gets the course on Colab does nothing here, and is left out.
    """
    steps: list[list[NotebookNode]] = []
    for cell in notebook.cells:
        if cell.cell_type == "code" and cell.id != published.CELL:
            if steps and only_guards(cell.source):
                steps[-1].append(cell)
            else:
                steps.append([cell])
    return steps


def _tree(source: str) -> str:
    try:
        return ast.dump(ast.parse(source))
    except SyntaxError:  # a magic of IPython: compared as text
        return source


def _keep_outputs(old: NotebookNode, new: NotebookNode) -> None:
    """Take over the outputs of the same code, even where its asserts are cut off."""
    for before, after in zip(_steps(old), _steps(new), strict=True):
        after[0].outputs = [one for cell in before for one in cell.outputs]
    code = [cell for cell in new.cells if cell.cell_type == "code"]
    for number, cell in enumerate(code, 1):
        cell.execution_count = number


def problems(lesson: Lesson, root: Path = ROOT) -> Iterator[str]:
    """What keeps the committed notebooks of a lesson from being right."""
    yield from _stale(student(lesson), root / "notebooks" / f"{lesson.name}.ipynb")
    path = root / "solutions" / f"{lesson.name}.ipynb"
    yield from _stale(solution(lesson), path)
    done = load(path)
    if done:
        yield from (f"solutions/{path.name}: {text}" for text in unfit(done))
    given = load(root / "notebooks" / f"{lesson.name}.ipynb")
    if given:
        yield from leaks(lesson, given)


def _stale(built: NotebookNode, path: Path) -> Iterator[str]:
    """Where the committed notebook differs from the built one, outputs apart."""
    name = f"{path.parent.name}/{path.name}"
    old = load(path)
    if old is None:
        yield f"{name} is missing or damaged. Run `make build`."
        return
    if path.parent.name == "notebooks" and any(
        cell.get("outputs") for cell in old.cells
    ):
        yield f"{name} holds outputs: it is built, not edited. Run `make build`."
    if _bare(old) == _bare(built):
        return
    for number, (one, other) in enumerate(zip(old.cells, built.cells, strict=False)):
        if _bare_cell(one) != _bare_cell(other):
            change = _first_change(one, other)
            yield f"{name}, cell {number} ({other.id}) is not its lesson's: {change}"
            return
    if len(old.cells) == len(built.cells):
        yield f"{name}: its metadata or format is not its lesson's. Run `make build`."
    else:
        yield f"{name} has {len(old.cells)} cells, its lesson {len(built.cells)}."


def _first_change(old: NotebookNode, new: NotebookNode) -> str:
    if old.source == new.source:
        return "its id, type, tags or metadata. Run `make build`."
    lines = difflib.ndiff(old.source.splitlines(), new.source.splitlines())
    changed = (repr(line) for line in lines if line[0] in "+-")
    return f"{next(changed, 'its blank lines')}. Run `make build`."


def _bare_cell(cell: NotebookNode) -> tuple:
    return cell.cell_type, cell.source, cell.id, cell.metadata


def _bare(notebook: NotebookNode) -> tuple:
    cells = [_bare_cell(cell) for cell in notebook.cells]
    return cells, notebook.metadata, notebook.nbformat, notebook.nbformat_minor


def unexecuted(notebook: NotebookNode) -> bool:
    """Whether its cells did not all run, once and in order."""
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    counts = [cell.execution_count for cell in code]
    return counts != list(range(1, len(counts) + 1))


def unfit(notebook: NotebookNode) -> Iterator[str]:
    """What in the outputs of an executed notebook must not be committed."""
    if unexecuted(notebook):
        yield "not executed from top to bottom. Run `make build`."
    if len(text_of(notebook)) > MOST:
        yield f"larger than {MOST:,} bytes: draw fewer or smaller figures."
    for number, cell in enumerate(notebook.cells):
        for output in cell.get("outputs", []):
            if reason := _unfit_output(output):
                yield f"cell {number} {reason}"


def _unfit_output(output: NotebookNode) -> str | None:
    data = output.get("data", {})
    if output.output_type == "error":
        return f"raised {output.ename}."
    if output.get("name") == "stderr":
        return f"writes to stderr: {output.text[:80]!r}."
    html = STRIPPED_HTML.search(str(data.get("text/html", "")))
    if html or STRIPPED & set(data):
        return "draws SVG or runs JavaScript, which a fresh clone does not show."
    shown = str(output.get("text", "")) + "".join(
        str(value) for kind, value in data.items() if kind.startswith("text/")
    )
    if found := PATHS.search(shown):
        return f"shows a path or an address of the machine: {found.group()!r}."
    return None


def leaks(lesson: Lesson, given: NotebookNode) -> Iterator[str]:
    """Solution lines that stand in the student's notebook."""
    secret = {
        line.strip(): cell.metadata.get("exercise") or cell.metadata.get("answer")
        for cell in lesson.cells
        if cell.cell_type == "code" or cell.metadata.get("answer")
        for region in regions(cell.source, lesson.name)
        for line in region.solution
        if _telling(line)
    }
    for cell in given.cells:
        for line in cell.source.splitlines():
            if line.strip() in secret:
                yield (
                    f"notebooks/{lesson.name}.ipynb shows a line of the solution of "
                    f"{secret[line.strip()]}: {line.strip()!r}."
                )


def _telling(line: str) -> bool:
    """Whether a line gives something away: no comment, no `)`, no `return name`."""
    plain = re.fullmatch(r"#.*|return \w+(, \w+)*", line.strip())
    return len(re.sub(r"\W", "", line)) >= 8 and not plain


def main(arguments: list[str] | None = None, root: Path = ROOT) -> int:
    """Build or check; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tools.build", description=__doc__)
    parser.add_argument("lessons", nargs="*", help="numbers such as 02; default: all")
    parser.add_argument("--check", action="store_true", help="compare, change nothing")
    parser.add_argument("--execute", action="store_true", help="execute in any case")
    parser.add_argument("--language", help="a folder of translations/, such as de")
    options = parser.parse_args(arguments)
    course = root
    try:
        if options.language:
            root = translated.place(course, options.language)
        paths = chosen(lesson_paths(root), options.lessons)
    except LessonError as error:
        print(error, file=sys.stderr)
        return 2
    failures = _strays(root) if options.check else []
    for path in paths:
        try:
            lesson = read(path)
            wrong = [*translated.problems(lesson, course)] if options.language else []
            if options.check or wrong:
                failures += wrong or problems(lesson, root)
            else:
                print(build(lesson, root, options.execute))
        except LessonError as error:
            failures.append(f"lessons/{path.name}: {error}")
        except CellExecutionError as error:
            failures.append(f"lessons/{path.name}: its solution does not run.\n{error}")
    if not failures:
        failures += _readme(root, options.check)
    print(*failures, sep="\n", file=sys.stderr, end="\n" if failures else "")
    if options.check and not failures:
        print(f"Up to date: {', '.join(path.stem for path in paths)}.")
    return 1 if failures else 0


def _readme(root: Path, only_check: bool) -> list[str]:
    try:
        lessons = [read(path) for path in lesson_paths(root)]
        if only_check:
            return readme.stale(root, lessons) + guide.stale(root, lessons)
        readme.write(root, lessons)
        guide.write(root, lessons)
    except LessonError as error:
        return [str(error)]
    return []


def _strays(root: Path) -> list[str]:
    """Notebooks without a lesson."""
    names = {path.stem for path in lesson_paths(root)}
    found = [*root.glob("notebooks/*.ipynb"), *root.glob("solutions/*.ipynb")]
    return [
        f"{path.relative_to(root)} has no lesson: delete it."
        for path in found
        if path.stem not in names
    ]


if __name__ == "__main__":
    utf8_output()
    sys.exit(main())
