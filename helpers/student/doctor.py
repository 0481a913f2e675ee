"""Is everything installed? `python -m helpers.student.doctor` tells you.

In a notebook cell: `from helpers.student.doctor import doctor`, then `doctor()`.

It looks at the interpreter, the packages, the bundled checkpoints and texts, the disk
and the kernel, says for each what to do, and prints a block to copy into a bug report.
As a program it ends with 1 where something has to be put right. Needs the standard
library alone.
"""

import importlib.metadata
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from helpers import third_party
from helpers.corpora import whole
from helpers.files import utf8_output

ROOT = Path(__file__).resolve().parents[2]
OK, NOTE, BAD = "✓", "!", "✗"
LEAST, ENOUGH = 200_000_000, 1_000_000_000  # bytes of free disk
PATIENCE = 120  # seconds for a kernel or an import
INSTALL = "run `make setup`, or `pip install -r requirements.txt -e .`"
# Run in a Python of its own: starts a kernel as JupyterLab does and asks it something.
ASK_A_KERNEL = """
import sys
from jupyter_client.manager import start_new_kernel
manager, client = start_new_kernel(kernel_name="python3", startup_timeout=90)
told = []
def hear(message):
    if message["msg_type"] == "stream":
        told.append(message["content"]["text"])
try:
    client.execute_interactive(
        "import sys; print(sys.executable)", output_hook=hear, timeout=60
    )
finally:
    client.stop_channels()
    manager.shutdown_kernel(now=True)
print("kernel:", "".join(told).strip())
"""


@dataclass(frozen=True)
class Finding:
    """What was found about one thing."""

    name: str
    state: str  # OK, NOTE or BAD
    text: str

    def __str__(self) -> str:
        """As it is shown."""
        return f"{self.state} {self.name:11} {self.text}"


def doctor() -> None:
    """Check everything and print the findings, for a notebook cell."""
    tell(examine())


def examine() -> list[Finding]:
    """Check everything; nothing is changed, and the network is not used."""
    findings: list[Finding] = []
    for name, look in LOOKS.items():
        try:
            findings += look()
        except Exception as error:  # the doctor must not be the one who is ill
            said = f"{type(error).__name__}: {error}"
            findings.append(Finding(name, BAD, f"could not be looked at ({said})."))
    return findings


def tell(findings: list[Finding]) -> None:
    """Print the findings, a summary, and a block for a bug report."""
    print(*findings, sep="\n")
    ill = sum(finding.state == BAD for finding in findings)
    notes = sum(finding.state == NOTE for finding in findings)
    if ill:
        print(f"\n{ill} thing{'s'[: ill > 1]} to put right: see {BAD}.")
    else:
        print("\nAll is well." + f" See {NOTE} for what is unusual." * bool(notes))
    print("\n----- for a bug report, copy from here -----")
    print(*report(findings), sep="\n")
    print("----- to here -----")


def report(findings: list[Finding]) -> Iterator[str]:
    """Facts that help to find a fault; home folders are shortened."""
    yield f"course {_version('transformers-step-by-step') or '?'} {_commit()}".strip()
    yield f"Python {platform.python_version()} ({platform.python_implementation()})"
    yield f"{platform.platform()}, {os.cpu_count()} cores"
    yield f"environment {_short(sys.prefix)}"
    shown = {name: _version(name) or "missing" for name in sorted(ranges())}
    yield ", ".join(f"{name} {version}" for name, version in shown.items())
    wanted = ("COURSE_SOURCE", "HF_HUB_OFFLINE", "HF_HOME", "PYTHONPATH")
    found = (f"{name}={os.environ[name]}" for name in wanted if name in os.environ)
    yield _short(", ".join([*found, "torch threads: " + _threads()]))
    yield from (_short(str(one)) for one in findings if one.state != OK)


# --- the checks -----------------------------------------------------------------------


def interpreter() -> Iterator[Finding]:
    """Is this a Python that the course runs on?"""
    version, fits = platform.python_version(), (3, 11) <= sys.version_info[:2] < (3, 14)
    if not fits:
        text = f"Python {version}: the course needs 3.11, 3.12 or 3.13. Install one."
        yield Finding("interpreter", BAD, text)
        return
    yield Finding("interpreter", OK, f"Python {version} in {_short(sys.prefix)}")
    course = Path(__file__).resolve().parents[2]
    if sys.prefix == sys.base_prefix and (course / ".venv").exists():
        text = (
            f"This is not the course's own Python; that is {_short(course / '.venv')}."
        )
        yield Finding("interpreter", NOTE, text)


def packages() -> Iterator[Finding]:
    """Is every package that the lessons import installed, in a suitable version?"""
    pinned, ill, other, elsewhere = pins(), [], [], []
    for name, (low, high) in sorted(ranges().items()):
        version = _version(name)
        if version is None and replaced(name):
            elsewhere.append(name)
        elif version is None:
            ill.append(f"{name} is missing")
        elif not low <= _numbers(version) < high:
            least, most = ".".join(map(str, low)), ".".join(map(str, high))
            ill.append(f"{name} is {version}, not {least} or later and below {most}")
        elif name in pinned and _numbers(version) != _numbers(pinned[name]):
            other.append(f"{name} {version} (tested: {pinned[name]})")
    if ill:
        yield Finding("packages", BAD, f"{'; '.join(ill)}: {INSTALL}.")
    else:
        yield Finding("packages", OK, f"all {len(ranges())} that the lessons need")
    if other:
        text = f"other versions than the tested ones: {', '.join(other)}."
        yield Finding("packages", NOTE, text)
    if elsewhere:
        text = (
            f"not installed, and their files found elsewhere: {', '.join(elsewhere)}."
        )
        yield Finding("packages", NOTE, text)
    if _version("torch") and not _runs("import torch; torch.ones(2) @ torch.ones(2)"):
        text = f"torch is installed but does not start: {INSTALL}."
        yield Finding("packages", BAD, text)


def checkpoints() -> Iterator[Finding]:
    """Are the bundled checkpoints there, and whole?"""
    missing = [name for name in ("torch", "numpy") if not _version(name)]
    if missing:
        text = f"not looked at: {' and '.join(missing)} missing."
        yield Finding("checkpoint", BAD, text)
        return
    from helpers import pretrained

    kept = os.environ.pop("COURSE_SOURCE", None)  # the bundled ones, in any case
    try:
        for role in pretrained.ROLES:
            try:
                folder = Path(pretrained.path(role))
            except pretrained.CheckpointError as error:
                yield Finding("checkpoint", BAD, str(error))
                continue
            size = (folder / "model.safetensors").stat().st_size / 1e6
            hand = folder.is_relative_to(third_party.PLACE)
            text = f"{role}, {size:.0f} MB, whole{', put in by hand' * hand}"
            yield Finding("checkpoint", OK, text)
    finally:
        if kept is not None:
            os.environ["COURSE_SOURCE"] = kept
            text = f"COURSE_SOURCE={kept}: lessons use other checkpoints than these."
            yield Finding("checkpoint", NOTE, text)


def scripts() -> Iterator[Finding]:
    """Are the two scripts here that BertViz draws with?"""
    states = {name: third_party.state(name) for name in ("d3", "jquery")}
    for here, text in states.values():
        if not here:
            yield Finding("scripts", NOTE, f"lesson 03 shows no BertViz: {text}")
    if all(here for here, _ in states.values()):
        hand = [name for name in states if third_party.by_hand(name)]
        text = f"; put in by hand: {', '.join(hand)}" if hand else ""
        yield Finding("scripts", OK, f"d3 and jQuery, for BertViz{text}")


def files() -> Iterator[Finding]:
    """Are the texts and weights that come with the course what they were?"""
    broken = [file for folder in whole.FOLDERS for file in whole.damaged(folder)]
    for file in broken:
        yield Finding("files", BAD, whole.sentence(file))
    if not broken:
        yield Finding("files", OK, "texts and weights of the course, whole")


def disk() -> Iterator[Finding]:
    """Is there room, and may it be written to?"""
    places = {ROOT: "the course", Path(tempfile.gettempdir()): "temporary files"}
    for place, what in places.items():
        free = shutil.disk_usage(place).free
        room = f"{free / 1e9:.1f} GB free for {what} ({_short(place)})"
        if free < LEAST:
            yield Finding("disk", BAD, f"only {room}: delete something.")
        elif not _writable(place):
            text = f"{_short(place)} can't be written to: change its permissions."
            yield Finding("disk", BAD, text)
        else:
            yield Finding("disk", OK if free >= ENOUGH else NOTE, room)


def kernel() -> Iterator[Finding]:
    """Does a notebook's kernel start, and does it run this very Python?"""
    missing = [name for name in ("ipykernel", "jupyterlab") if not _version(name)]
    if missing:
        text = f"{' and '.join(missing)} missing, no notebook can run: {INSTALL}."
        yield Finding("kernel", BAD, text)
        return
    said, error = _python(ASK_A_KERNEL)
    found = re.search(r"^kernel: (.+)$", said, re.MULTILINE)
    if not found:
        text = f"no kernel answered ({error or 'it printed nothing'}): {INSTALL}."
        yield Finding("kernel", BAD, text)
    elif Path(found[1]).parent != Path(sys.executable).parent:
        text = (
            f"notebooks run in another Python, {_short(found[1])}: start JupyterLab "
            "with `make lab`."
        )
        yield Finding("kernel", NOTE, text)
    else:
        yield Finding("kernel", OK, "a notebook kernel answers")


LOOKS: dict[str, Callable[[], Iterator[Finding]]] = {
    "interpreter": interpreter,
    "packages": packages,
    "checkpoint": checkpoints,
    "scripts": scripts,
    "files": files,
    "disk": disk,
    "kernel": kernel,
}


# --- tools of the checks --------------------------------------------------------------


def ranges() -> dict[str, tuple[tuple[int, ...], tuple[int, ...]]]:
    """Package -> the lowest version that fits, and the first that is too high."""
    file = ROOT / "pyproject.toml"
    if file.exists():
        project = tomllib.loads(file.read_text("utf-8"))["project"]
        lines = project["dependencies"] + project["optional-dependencies"]["lab"]
    else:
        lines = importlib.metadata.requires("transformers-step-by-step") or []
        lines = [line for line in lines if "extra ==" not in line]
    parts = (re.match(r"([\w.-]+)(.*)", line).groups() for line in lines)
    return {name: _range(rest) for name, rest in parts}


def _range(text: str) -> tuple[tuple[int, ...], tuple[int, ...]]:
    low, high = re.search(r">=([\d.]+)", text), re.search(r"<([\d.]+)", text)
    return _numbers(low[1] if low else "0"), _numbers(high[1] if high else "9999")


def pins() -> dict[str, str]:
    """Package -> the version that the course is tested with."""
    file = ROOT / "requirements.txt"
    text = file.read_text("utf-8") if file.exists() else ""
    return dict(re.findall(r"^([\w.-]+)==([\w.]+)", text, re.MULTILINE))


def _version(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def _numbers(version: str) -> tuple[int, ...]:
    """Turn "2.13.0+cpu" into (2, 13); zeros at the end say nothing."""
    numbers = list(map(int, re.match(r"\d+(?:\.\d+)*", version)[0].split(".")))
    while len(numbers) > 1 and not numbers[-1]:
        numbers.pop()
    return tuple(numbers)


def replaced(package: str) -> bool:
    """Whether the course finds elsewhere what it takes from a package."""
    pieces = third_party.PIECES.items()
    return any(
        package == one.package and third_party.find(name) for name, one in pieces
    )


def _writable(place: Path) -> bool:
    try:
        with tempfile.TemporaryFile(dir=place) as file:
            file.write(b"0" * 100_000)
            file.flush()
    except OSError:
        return False
    return True


def _runs(code: str) -> bool:
    return not _python(code)[1]


def _python(code: str) -> tuple[str, str]:
    """What a fresh Python prints, and the last line of what went wrong."""
    kernels = str(Path(sys.prefix, "share", "jupyter"))
    paths = [kernels, *filter(None, [os.environ.get("JUPYTER_PATH")])]
    environment = os.environ | {"JUPYTER_PATH": os.pathsep.join(paths)}
    environment["PYTHONIOENCODING"] = "utf-8"
    try:
        run = subprocess.run(
            [sys.executable, "-W", "ignore", "-c", code],
            env=environment,
            capture_output=True,
            encoding="utf-8",
            timeout=PATIENCE,
        )
    except subprocess.TimeoutExpired:
        return "", f"no answer within {PATIENCE} s"
    lines = run.stderr.strip().splitlines()
    failed = lines[-1] if lines else f"it ended with {run.returncode}"
    return run.stdout, failed if run.returncode else ""


def _threads() -> str:
    torch = sys.modules.get("torch")
    return str(torch.get_num_threads()) if torch else "not loaded"


def _commit() -> str:
    """The commit of the course, if it came by git."""
    command = ["git", "-C", str(ROOT), "log", "-1", "--format=%h of %cs"]
    try:
        run = subprocess.run(command, capture_output=True, encoding="utf-8", timeout=10)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return f"({run.stdout.strip()})" if run.returncode == 0 else ""


def _short(text: str | Path) -> str:
    home = str(Path.home())
    return str(text).replace(home, "~") if len(home) > 1 else str(text)


def main() -> int:
    """Print everything; 1 where something has to be put right."""
    findings = examine()
    tell(findings)
    return int(any(finding.state == BAD for finding in findings))


if __name__ == "__main__":
    utf8_output()
    sys.exit(main())
