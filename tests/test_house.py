"""How helpers/ is built: floors that import downwards only, and no circle.

What counts is each import in the code, also those inside functions; imports for type
checkers alone (`if TYPE_CHECKING`) do not. One arrow is data and not an import: the
engine of checks/ loads the exercises of a lesson by name when it is asked for them.
"""

import ast
import subprocess
import sys
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
# From the ground up: a module imports from its own floor and from those before it.
FLOORS = (
    "files",
    "corpora",
    "third_party",
    "pretrained",
    "models",
    "training",
    "text",
    "reading",
    "generation",
    "experiments",
    "figures",
    "checks",
    "exercises",
    "student",
)
# Stand outside: every module may import them, and they import nothing from helpers.
OUTSIDE = ("helpers", "helpers.first_edition", "helpers.student.presence")


def named(path):
    """The name that a file is imported by."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts).removesuffix(".__init__")


MODULES = {named(path): path for path in sorted(ROOT.glob("helpers/**/*.py"))}


def floor(module):
    """How far up a module stands."""
    return FLOORS.index(module.split(".")[1])


def imports(node):
    """The names that code imports: `from a import b` as a.b."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING":
            continue
        if isinstance(child, ast.Import):
            yield from (alias.name for alias in child.names)
        elif isinstance(child, ast.ImportFrom):
            assert not child.level, "imports are absolute"
            yield from (f"{child.module}.{alias.name}" for alias in child.names)
        yield from imports(child)


def module_of(name):
    """The module of helpers that an imported name belongs to, or None."""
    while name and name not in MODULES:
        name = name.rpartition(".")[0]
    return name or None


def arrows():
    """Module -> the modules of helpers that it imports."""
    return {
        module: {
            found
            for name in imports(ast.parse(path.read_text("utf-8")))
            if (found := module_of(name)) not in (None, *OUTSIDE)
        }
        for module, path in MODULES.items()
    }


ARROWS = arrows()


def test_every_room_has_its_floor():
    rooms = {module.split(".")[1] for module in MODULES if module not in OUTSIDE}
    assert rooms == set(FLOORS)


def test_no_module_imports_upwards():
    upwards = [
        f"{module} imports {other}"
        for module, others in ARROWS.items()
        for other in others
        if module in OUTSIDE or floor(other) > floor(module)
    ]
    assert not upwards, "\n".join(upwards)


def test_there_is_no_circle():
    try:
        TopologicalSorter(ARROWS).prepare()
    except CycleError as error:
        pytest.fail(" -> ".join(error.args[1]))


def test_every_module_says_what_it_is_for():
    silent = [
        module
        for module, path in MODULES.items()
        if not ast.get_docstring(ast.parse(path.read_text("utf-8")))
    ]
    assert not silent


@pytest.mark.parametrize(
    "module, never",
    [
        ("helpers", ("torch", "numpy", "matplotlib")),
        ("helpers.training", ("matplotlib", "helpers.corpora", "helpers.figures")),
        ("helpers.models", ("matplotlib", "helpers.corpora", "helpers.checks")),
        ("helpers.checks", ("matplotlib", "helpers.corpora", "helpers.exercises")),
    ],
)
def test_a_module_brings_nothing_that_it_does_not_need(module, never):
    code = (
        "import sys; from importlib import import_module\n"
        f"for name in {[name for name in MODULES if within(name, module)]}:\n"
        "    import_module(name)\n"
        f"print(*[name for name in {never} if name in sys.modules])\n"
    )
    run = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True
    )
    assert run.returncode == 0, run.stderr
    assert run.stdout.split() == []


def test_the_wheel_holds_the_corpora_but_no_independent_solutions(tmp_path):
    code = (
        "from setuptools.dist import Distribution\n"
        "course = Distribution({'script_name': 'setup.py'})\n"
        "course.parse_config_files()\n"
        f"course.get_command_obj('egg_info').egg_base = {str(tmp_path)!r}\n"
        "build = course.get_command_obj('build_py')\n"
        "build.ensure_finalized()\n"
        "print(*build.get_outputs(include_bytecode=0), sep='\\n')\n"
    )
    run = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stderr
    files = run.stdout.split("\n")
    assert any(name.endswith("corpora/sonnets.txt") for name in files)
    assert any(name.endswith("exercises/gpt/model.py") for name in files)
    assert any(name.endswith("exercises/gpt/variants/model.py") for name in files)


def within(name, package):
    """Whether it is a module of the package; of `helpers`, its own file alone."""
    return name == package or (package != "helpers" and name.startswith(package + "."))
