"""`make release`: nbgrader's course from notebooks/, with the stubs left alone."""

import shutil
import subprocess
from pathlib import Path

import nbformat
import pytest

from helpers.checks import CheckFailed
from tools.build.notebooks import IMPORT
from tools.grading import course, release, restore

ROOT = Path(__file__).resolve().parents[1]
NAME = "02_attention"

pytestmark = pytest.mark.slow  # nbgrader alone takes seconds to start


@pytest.fixture(scope="module")
def released(tmp_path_factory):
    """Return the folder of a course that was laid out for lesson 02."""
    folder = tmp_path_factory.mktemp("course") / "nbgrader"
    assert release.main(["02", "--course", str(folder)]) == 0
    return folder


def cells(path):
    """Return {grade_id: cell} of the cells that nbgrader knows."""
    found = nbformat.read(path, 4).cells
    return {
        cell.metadata.nbgrader.grade_id: cell
        for cell in found
        if "nbgrader" in cell.metadata
    }


def expected():
    """Return {grade_id: source}: the student's notebook, each check with its import."""
    known = cells(ROOT / "notebooks" / f"{NAME}.ipynb")
    return {
        name: f"{IMPORT}\n\n{cell.source}" if name.endswith("-check") else cell.source
        for name, cell in known.items()
    }


def test_the_course_has_what_nbgrader_expects(released):
    source = cells(released / "source" / NAME / f"{NAME}.ipynb")
    assert {name: cell.source for name, cell in source.items()} == expected()
    assert (released / "gradebook.db").exists()
    assert [path.name for path in (released / "release").iterdir()] == [NAME]


def test_stubs_are_as_they_were_and_checks_are_locked(released):
    after = cells(released / "release" / NAME / f"{NAME}.ipynb")
    assert {name: cell.source for name, cell in after.items()} == expected()
    assert all("checksum" in cell.metadata.nbgrader for cell in after.values())
    check = after["ex-2-B-check"].metadata
    assert check["editable"] is False and check["deletable"] is False
    assert "editable" not in after["ex-2-B"].metadata


def test_who_defines_check_does_not_grade_themselves(released):
    """The student's first cell is theirs; a released check imports the true one."""
    path = released / "release" / NAME / f"{NAME}.ipynb"
    check = cells(path)["ex-2-B-check"].source
    names = {"check": lambda *given: None, "scaled_dot_product_attention": None}
    with pytest.raises(CheckFailed):
        exec(check, names)
    handed_in = nbformat.read(path, 4)
    mine = cells(ROOT / "notebooks" / f"{NAME}.ipynb")
    for cell in handed_in.cells:
        if "nbgrader" in cell.metadata:
            cell.source = mine[cell.metadata.nbgrader.grade_id].source
    content = nbformat.writes(handed_in).encode()
    restored, notes = restore.restore(restore.parse(content), nbformat.read(path, 4))
    assert notes == []  # without the import it is not edited, and gets it back
    checks = [one.source for one in restored.cells if "check(" in one.source]
    assert len([one for one in checks if one.startswith(IMPORT)]) == len(
        [name for name in mine if name.endswith("-check")]
    )


def test_nbgrader_knows_the_points(released):
    with course.quiet():
        from nbgrader.api import Gradebook

        with Gradebook(f"sqlite:///{released}/gradebook.db") as book:
            assignment = book.find_assignment(NAME)
            [notebook] = assignment.notebooks
            points = {cell.name: cell.max_score for cell in notebook.grade_cells}
    given = cells(ROOT / "notebooks" / f"{NAME}.ipynb").values()
    graded = [cell.metadata.nbgrader for cell in given if cell.metadata.nbgrader.grade]
    assert points == {meta.grade_id: meta.points for meta in graded}


def test_only_clear_solutions_is_left_out():
    from nbgrader.converters import GenerateAssignment

    every = [kind.__name__ for kind in GenerateAssignment.preprocessors.default_args[0]]
    every.remove("ClearSolutions")
    assert course.preprocessor_names() == every


def test_nbgraders_own_command_takes_the_settings(released, tmp_path):
    folder = shutil.copytree(released, tmp_path / "course")
    shutil.rmtree(folder / "release")
    command = [str(Path(course.sys.executable).with_name("nbgrader"))]
    command += ["generate_assignment", NAME]
    environment = course.os.environ | {
        "PATH": f"{Path(course.sys.executable).parent}:{course.os.environ['PATH']}"
    }
    run = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True
    )
    assert run.returncode == 0, run.stderr
    again = cells(folder / "release" / NAME / f"{NAME}.ipynb")
    assert "NotImplementedError" in again["ex-2-B"].source
    assert "YOUR CODE HERE" not in again["ex-2-B"].source


def test_again_changes_nothing(released):
    path = released / "release" / NAME / f"{NAME}.ipynb"
    before = path.read_bytes()
    config = released / "nbgrader_config.py"
    settings = config.read_text()
    first_edition = settings[: settings.index("# A wall")]
    for mine, kept in (("# mine", "# mine"), (first_edition, settings)):
        config.write_text(mine)
        assert release.main(["2", "--course", str(released)]) == 0
        assert path.read_bytes() == before
        assert config.read_text() == kept


def test_a_gradebook_with_grades_of_other_cells_is_refused(released, tmp_path, capsys):
    folder = shutil.copytree(released, tmp_path / "course")
    with course.quiet():
        from nbgrader.api import Gradebook

        with Gradebook(f"sqlite:///{folder}/gradebook.db") as book:
            book.add_student("anna")
            book.add_submission(NAME, "anna")
    root = tmp_path / "root"
    (root / "notebooks").mkdir(parents=True)
    notebook = nbformat.read(ROOT / "notebooks" / f"{NAME}.ipynb", 4)
    notebook.cells = [cell for cell in notebook.cells if cell.id != "ex-2-J-check"]
    nbformat.write(notebook, root / "notebooks" / f"{NAME}.ipynb")
    assert release.main(["--course", str(folder)], root) == 1
    said = capsys.readouterr().err
    assert "holds grades of another version of 02_attention" in said
    assert said.count("\n") == 1
    with course.quiet():
        with Gradebook(f"sqlite:///{folder}/gradebook.db") as book:
            assert book.find_submission(NAME, "anna").max_score > 0


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["99"], "There is no lesson 99: choose from "),
        (
            ["02", "--course", "/dev/null/x"],
            "Could not write the course to /dev/null/x",
        ),
    ],
)
def test_what_can_not_be_released_is_one_clear_sentence(capsys, arguments, sentence):
    assert release.main(arguments) == 1
    said = capsys.readouterr().err
    assert said.startswith(sentence) and said.count("\n") == 1


@pytest.mark.skipif(not shutil.which("make"), reason="needs make")
def test_the_makefile_hands_everything_on():
    said = subprocess.run(
        ["make", "-n", "release", "grade", "SUBMISSIONS=my week", "LESSON=02 03"],
        cwd=ROOT,
        capture_output=True,
        text=True,
    ).stdout
    said = " ".join(said.replace("\\\n", " ").split())
    assert "-m tools.grading.release 02 03" in said
    assert '-m tools.grading --submissions "my week" --lesson 02 --lesson 03' in said
