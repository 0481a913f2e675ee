"""Nothing that a student runs takes Linux, its file names or its shell for granted.

Grading needs Linux and says so, and so does the measurement of memory in tools/bench.
"""

import ast
import os
import re
import subprocess
import sys
import tomllib
from collections import Counter
from pathlib import Path, PurePosixPath

import pytest
import yaml

ROOT = Path(__file__).resolve().parent.parent
ON_LINUX = {
    "tools/bench/memory.py",
    "tools/proofs/cluster.py",  # kills a worker that grades
    "tools/proofs/stand_in.py",
}
SOURCES = [
    path
    for folder in ("helpers", "tools", "lessons")
    for path in sorted((ROOT / folder).rglob("*.py"))
    if not path.is_relative_to(ROOT / "tools" / "grading")
    and path.relative_to(ROOT).as_posix() not in ON_LINUX
]
PORTABLE = ROOT / "tests" / "portable.txt"  # the tests that run on every system
TESTS = PORTABLE.read_text("utf-8").split()
WORKFLOWS = ROOT / ".github" / "workflows"
# What Windows does not have, by module; a module by itself lacks all of it.
LACKING = {
    "os": "chown fchmod fork forkpty getegid geteuid getgid getloadavg getpgid getuid "
    "kill killpg lchown memfd_create mkfifo nice pread pwrite sched_getaffinity "
    "setgid setpgid setsid setuid statvfs symlink sysconf uname wait",
    "signal": "SIGALRM SIGCHLD SIGHUP SIGKILL SIGQUIT SIGUSR1 SIGUSR2 SIGXCPU "
    "ITIMER_REAL alarm getitimer pause pthread_kill pthread_sigmask setitimer",
    "time": "pthread_getcpuclockid tzset",
}
LACKING = {module: set(names.split()) for module, names in LACKING.items()}
MISSING = set("crypt curses fcntl grp pty pwd readline resource termios tty".split())
PLACES = ("/tmp", "/dev/", "/proc/", "/etc/", "/usr/")
# Windows hands a program no open files and no function to begin with.
ASKED = {"shell", "preexec_fn", "pass_fds"}
RESERVED = set("con prn aux nul com1 com2 com3 lpt1 lpt2 lpt3".split())


def named(node):
    """What a node asks of a module: ("os", "fork")."""
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        return node.value.id, node.attr
    return None


def taken(tree):
    """Where code takes for granted what not every system has."""
    guarded = [
        node
        for node in ast.walk(tree)
        if isinstance(node, (ast.Try, ast.ClassDef, ast.FunctionDef))
        and (isinstance(node, ast.Try) or "hasattr(" in ast.unparse(node))
    ]
    safe = {id(inner) for node in guarded for inner in ast.walk(node)}
    for node in ast.walk(tree):
        if id(node) in safe:
            continue
        if isinstance(node, ast.Import):
            found = {alias.name for alias in node.names} & MISSING
        elif isinstance(node, ast.ImportFrom):
            lacking = LACKING.get(node.module, set())
            found = {node.module} & MISSING | {a.name for a in node.names} & lacking
        elif name := named(node):
            found = {name[1]} & LACKING.get(name[0], set())
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            found = {place for place in PLACES if node.value.startswith(place)}
        elif isinstance(node, ast.keyword):
            found = {node.arg} & ASKED
        elif isinstance(node, ast.Call):
            found = set(in_no_encoding(node))
        else:
            continue
        yield from (f"line {node.lineno}: {one}" for one in sorted(found))


def in_no_encoding(call):
    """What reads or writes text as the system likes: on Windows that is not UTF-8."""
    name = getattr(call.func, "attr", "")
    named = {keyword.arg for keyword in call.keywords}
    if "encoding" in named:
        return
    if (name, len(call.args)) in {("read_text", 0), ("write_text", 1)}:
        yield f"{name} without an encoding"
    if name == "symlink_to":
        yield "symlink_to"
    if "text=True" in map(ast.unparse, call.keywords):
        yield "text without an encoding"


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_source_runs_on_every_system(path):
    assert not list(taken(ast.parse(path.read_text(encoding="utf-8"))))


@pytest.mark.parametrize(
    "code",
    [
        "import fcntl",
        "from resource import getrlimit",
        "from os import fork",
        "os.fork()",
        "def stop():\n    signal.alarm(3)",
        'open("/tmp/x")',
        'run("ls", shell=True)',
        "run(command, preexec_fn=quiet)",
        "run(command, text=True)",
        "path.read_text()",
        "path.write_text(content)",
        "path.symlink_to(other)",
    ],
)
def test_what_windows_lacks_is_found(code):
    assert list(taken(ast.parse(code)))


@pytest.mark.parametrize(
    "code",
    [
        "try:\n    import fcntl\nexcept ImportError:\n    fcntl = None",
        "def stop():\n    if hasattr(signal, 'alarm'):\n        signal.alarm(3)",
        "os.replace(a, b)",
        "font.populate(text=letters)",
        'run(command, encoding="utf-8")',
        'path.read_text("utf-8")',
        'path.write_text(content, encoding="utf-8")',
        'path.write_text(content, "utf-8")',
    ],
)
def test_what_is_asked_for_before_is_not(code):
    assert not list(taken(ast.parse(code)))


def unfit(name):
    """Whether a file can't have this name on Windows."""
    stem = name.split(".")[0].lower()
    return set(name) & set('<>:"|?*\\') or name[-1] in ". " or stem in RESERVED


def test_every_file_can_be_checked_out_on_every_system():
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, encoding="utf-8"
    )
    if listed.returncode:
        pytest.skip("needs git and a clone")
    paths = [PurePosixPath(path) for path in listed.stdout.split("\0") if path]
    assert len(paths) > 300
    assert not [path for path in paths if any(map(unfit, path.parts))]
    assert not [path for path in paths if len(str(path)) > 150]
    alike = Counter(str(path).lower() for path in paths)
    assert max(alike.values()) == 1
    assert all(map(unfit, ("a:b", "aux.py", "end.", "what?")))


def test_bundled_texts_have_the_same_bytes_on_every_system():
    """Their sha256 is kept: git must not end their lines as Windows does."""
    first = (ROOT / ".gitattributes").read_text("utf-8").splitlines()[0]
    assert first == "* text=auto eol=lf"


# --- what programs print --------------------------------------------------------------

COMMANDS = (
    "helpers.checks.__main__",
    "helpers.student.doctor",
    "helpers.third_party",
    "tools.build.__main__",
    "tools.lab",
)


@pytest.mark.parametrize("module", COMMANDS)
def test_a_command_prints_utf8_before_it_does_anything(module):
    path = ROOT.joinpath(*module.split(".")).with_suffix(".py")
    last = ast.parse(path.read_text("utf-8")).body[-1]
    assert ast.unparse(last.test) == "__name__ == '__main__'"
    assert ast.unparse(last.body[0]) == "utf8_output()"


@pytest.mark.parametrize("module", ["helpers.checks", "helpers.third_party"])
def test_a_check_mark_gets_through_a_pipe_of_windows(module, tmp_path):
    """Its code page knows no check mark and no star, and would end the program."""
    old = {"PYTHONIOENCODING": "cp1252", "PYTHONUTF8": "0"}
    run = subprocess.run(
        [sys.executable, "-m", module],
        cwd=ROOT,
        env=os.environ | old,
        capture_output=True,
    )
    assert run.returncode == 0 and run.stderr == b"", run.stderr.decode()
    assert set("✓★") & set(run.stdout.decode("utf-8"))


# --- the tests that every system runs -------------------------------------------------


@pytest.mark.parametrize("name", TESTS)
def test_a_test_for_every_system_asks_for_nothing_that_one_lacks(name):
    path = ROOT / name
    if path.name == Path(__file__).name:  # which names them all
        return
    text = path.read_text("utf-8")
    beside = [path.with_name(f"{one}.py") for one in re.findall(r"import (\w+)", text)]
    for one in (path, ROOT / "conftest.py", *filter(Path.exists, beside)):
        assert not list(taken(ast.parse(one.read_text("utf-8")))), one


def test_every_system_runs_the_same_commands_and_these_tests():
    flow = yaml.safe_load((WORKFLOWS / "platforms.yml").read_text("utf-8"))
    job = flow["jobs"]["core"]
    matrix = job["strategy"]["matrix"]
    assert {one.split("-")[0] for one in matrix["os"]} == {"ubuntu", "macos", "windows"}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    low, high = re.findall(r"3\.(\d+)", project["requires-python"])
    versions = [f"3.{minor}" for minor in range(int(low), int(high))]
    assert matrix["python"] == versions
    ci = yaml.safe_load((WORKFLOWS / "ci.yml").read_text("utf-8"))
    [python] = [
        step["with"]["python-version"]
        for step in ci["jobs"]["test"]["steps"]
        if "setup-python" in step.get("uses", "")
    ]
    assert matrix["exclude"] == [{"os": "ubuntu-latest", "python": python}]
    commands = [step["run"] for step in job["steps"] if "run" in step]
    for wanted in (
        "python -m pip install -r requirements.txt",
        "python -m helpers.student.doctor",
        "python -m tools.build --check",
        "python -m pytest -p no:cacheprovider @tests/portable.txt",
    ):
        assert wanted in commands
    assert not any(re.search(r"\bmake\b|\.ci/", command) for command in commands)
    # A package that is gone is seen within a week: nothing is kept from the last time.
    setup = [step for step in job["steps"] if "setup-python" in step.get("uses", "")]
    assert flow[True]["schedule"] and set(setup[0]["with"]) == {"python-version"}
