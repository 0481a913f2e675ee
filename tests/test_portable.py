"""Nothing that a student runs takes Linux, its file names or its shell for granted.

Grading needs Linux and says so, and so does the measurement of memory in tools/bench.
"""

import ast
import subprocess
from collections import Counter
from pathlib import Path, PurePosixPath

import pytest

ROOT = Path(__file__).resolve().parent.parent
SOURCES = [
    path
    for folder in ("helpers", "tools", "lessons")
    for path in sorted((ROOT / folder).rglob("*.py"))
    if not path.is_relative_to(ROOT / "tools" / "grading")
    and path != ROOT / "tools" / "bench" / "memory.py"
]
# What Windows does not have, by module; a module by itself lacks all of it.
LACKING = {
    "os": "chown fchmod fork forkpty getegid geteuid getgid getloadavg getpgid getuid "
    "kill killpg lchown memfd_create mkfifo nice pread pwrite sched_getaffinity "
    "setgid setpgid setsid setuid statvfs sysconf uname wait",
    "signal": "SIGALRM SIGCHLD SIGHUP SIGKILL SIGQUIT SIGUSR1 SIGUSR2 SIGXCPU "
    "ITIMER_REAL alarm getitimer pause pthread_kill pthread_sigmask setitimer",
    "time": "pthread_getcpuclockid tzset",
}
LACKING = {module: set(names.split()) for module, names in LACKING.items()}
MISSING = set("crypt curses fcntl grp pty pwd readline resource termios tty".split())
PLACES = ("/tmp", "/dev/", "/proc/", "/etc/", "/usr/")
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
        elif isinstance(node, ast.keyword) and node.arg == "shell":
            found = {"shell"}
        else:
            continue
        yield from (f"line {node.lineno}: {one}" for one in sorted(found))


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
