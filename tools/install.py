"""Install lists of packages: `python -m tools.install requirements.txt --course`.

They go into the environment of the Python that runs this. uv installs them where it can
be had, because it is several times faster and shows how far it is; otherwise pip does.
uv is told where pip is configured to look.

torch comes in several builds. On Linux that of the Python Package Index brings CUDA,
several gigabytes that only an NVIDIA card can use. PyTorch's own index has a build for
a machine without one; where that index does not answer, the configured one has to do.

Needs the standard library, and pip.
"""

import argparse
import importlib.metadata
import os
import platform
import re
import shlex
import shutil
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Sequence
from http.client import HTTPException
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
UV = "uv>=0.13,<1"  # knows --torch-backend
CPU = "https://download.pytorch.org/whl/cpu"
PATIENCE = 5.0  # seconds for PyTorch's index to answer
PIP = [sys.executable, "-m", "pip", "--disable-pip-version-check"]
TORCH = re.compile(r"^(torch==([\w.]+))", re.MULTILINE)
CUDA = re.compile(r"\bnvidia-")  # its libraries, as packages
SETTING = re.compile(r"^(?::env:|global|install)\.([\w-]+)=(.+)$", re.MULTILINE)
# What pip calls a place to look, and what uv calls it.
PLACES = {
    "index-url": "--default-index",
    "extra-index-url": "--index",
    "find-links": "--find-links",
}
HEAVY = (
    "This computer shows no NVIDIA card, PyTorch's own index can't be reached, and the "
    "configured index has only the build of torch with CUDA: about 6 GB on disk."
)


class InstallError(Exception):
    """Why nothing was installed, in a sentence."""


def uv() -> list[str] | None:
    """The command of a uv that is new enough; None where it can't be had."""
    if os.environ.get("COURSE_INSTALLER") == "pip":
        return None
    own = [sys.executable, "-m", "uv"]
    found = shutil.which("uv")
    for command in ([found] if found else [], own):
        if command and _recent(command):
            return command
    try:
        quietly = [*PIP, "install", "--quiet", UV]
        subprocess.run(quietly, capture_output=True, timeout=120)
    except subprocess.TimeoutExpired:
        return None
    return own if _recent(own) else None


def _recent(command: list[str]) -> bool:
    """Whether a command is a uv that is new enough."""
    try:
        run = subprocess.run(
            [*command, "--version"], capture_output=True, text=True, timeout=60
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    version = re.match(r"uv (\d+)\.(\d+)", run.stdout)
    return bool(version) and tuple(map(int, version.groups())) >= (0, 13)


def _read(settings: str) -> dict[str, str]:
    """The settings by their names.

    Args:
        settings: what `pip config list` says; the environment's stand first there,
            and are stronger
    """
    found: dict[str, str] = {}
    for name, value in SETTING.findall(settings):
        found.setdefault(name, value.strip().strip("'\""))
    return found


def places(settings: str) -> list[str]:
    """What makes uv look where pip looks; the settings are as in `_read`."""
    found = _read(settings)
    options = [
        part
        for name, option in PLACES.items()
        for place in found.get(name, "").replace("\\n", " ").split()
        for part in (option, place)
    ]
    if "extra-index-url" in found:  # pip takes the best of all
        options += ["--index-strategy", "unsafe-best-match"]
    return options


def trusted(settings: str) -> dict[str, str]:
    """The environment in which uv trusts the certificates that pip is told to trust."""
    found = _read(settings)
    known = os.environ.get("SSL_CERT_FILE", found.get("cert"))
    return {"SSL_CERT_FILE": known} if known else {}


def pip_settings() -> str:
    """What pip is configured with."""
    run = subprocess.run(
        [*PIP, "config", "list"], capture_output=True, text=True, encoding="utf-8"
    )
    lines = run.stdout.splitlines()
    return "\n".join(sorted(lines, key=lambda line: not line.startswith(":env:")))


def reachable(address: str, within: float = PATIENCE) -> bool:
    """Whether a server answers in time, the look-up of its name included."""
    answered: list[bool] = []

    def ask() -> None:
        try:
            request = urllib.request.Request(address, method="HEAD")
            with urllib.request.urlopen(request, timeout=within):
                answered.append(True)
        except (OSError, HTTPException, ValueError):
            pass

    asking = threading.Thread(target=ask, daemon=True)
    asking.start()
    asking.join(within)
    return bool(answered)


def has_card() -> bool:
    """Whether NVIDIA's own tool finds a card."""
    tool = shutil.which("nvidia-smi")
    try:
        return (
            bool(tool)
            and not subprocess.run(
                [tool, "-L"], capture_output=True, timeout=60
            ).returncode
        )
    except (OSError, subprocess.TimeoutExpired):
        return False


def to_choose(text: str) -> str | None:
    """The pin of torch whose build has to be chosen; None where there is no choice.

    Args:
        text: of the lists of packages
    """
    pin = TORCH.search(text)
    if not pin or platform.system() != "Linux" or "UV_TORCH_BACKEND" in os.environ:
        return None
    try:
        there = importlib.metadata.version("torch")
    except importlib.metadata.PackageNotFoundError:
        return pin[1]
    return None if there.split("+")[0] == pin[2] else pin[1]


def brings_cuda(install: Sequence[str], pin: str) -> bool:
    """Whether torch would bring CUDA's libraries; nothing is installed."""
    run = subprocess.run(
        [*install, "--dry-run", pin], capture_output=True, encoding="utf-8", cwd=ROOT
    )
    return bool(CUDA.search(run.stdout + run.stderr))


def agreed() -> bool:
    """Whether whoever sits there wants CUDA all the same; a program does."""
    print(HEAVY, flush=True)
    if not sys.stdin.isatty() or os.environ.get("CI"):
        print("Nobody is there to be asked, so that build is installed.", flush=True)
        return True
    return input("Install it all the same? [y/N] ").strip().lower() in ("y", "yes")


def build_of_torch(install: Sequence[str], pin: str) -> tuple[list[str], list[str]]:
    """The options with which uv and pip choose a build of torch for this computer.

    Args:
        install: the command that installs
        pin: of torch

    Raises:
        InstallError: Several gigabytes more were declined.
    """
    card = has_card()
    if reachable(f"{CPU}/torch/"):
        return ["--torch-backend=auto"], [] if card else ["--extra-index-url", CPU]
    print(
        f"PyTorch's own index does not answer within {PATIENCE:.0f} seconds: torch "
        "comes from the configured index.",
        flush=True,
    )
    if not card and brings_cuda(install, pin) and not agreed():
        raise InstallError(
            "Nothing was installed. Try again where download.pytorch.org can be "
            "reached: that index has a build without CUDA."
        )
    return [], []


def install(lists: Sequence[str], course: bool) -> None:
    """Install lists of packages, then the course itself.

    Raises:
        InstallError: It did not work, or was declined.
    """
    command, slow = uv(), [*PIP, "install"]
    fast = [*command, "pip", "install", "--python", sys.executable] if command else []
    settings = pip_settings() if fast else ""
    fast += places(settings)
    if fast and sys.dont_write_bytecode:  # or each kernel would compile PyTorch again
        fast.append("--compile-bytecode")
    os.environ.update(trusted(settings))
    text = "\n".join((ROOT / one).read_text("utf-8") for one in lists)
    pin = to_choose(text)
    for_uv, for_pip = build_of_torch(fast or slow, pin) if pin else ([], [])
    wanted = [part for one in lists for part in ("-r", one)]
    steps = [(wanted, for_uv, for_pip)]
    if course:
        steps.append((["--no-deps", "--no-build-isolation", "-e", "."], [], []))
    print(f"Installing with {'uv' if fast else 'pip'} ...", flush=True)
    for what, by_uv, by_pip in steps:
        if fast and not _run([*fast, *by_uv, *what]):
            continue
        if fast:
            print("uv could not install them, see above: pip tries.", flush=True)
        if _run([*slow, *by_pip, *what]):
            told = shlex.join(["pip", "install", *what])
            raise InstallError(f"`{told}` failed, see the message above.")


def _run(command: list[str]) -> int:
    return subprocess.run(command, cwd=ROOT).returncode


def main(arguments: list[str] | None = None) -> int:
    """Install; returns the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.install",
        description="Install lists of packages with uv, or with pip.",
        epilog="COURSE_INSTALLER=pip leaves uv out.",
    )
    parser.add_argument("lists", nargs="*", default=["requirements.txt"])
    parser.add_argument("--course", action="store_true", help="and the course itself")
    options = parser.parse_args(arguments)
    of_conda = Path(sys.prefix, "conda-meta").exists()
    if sys.prefix == sys.base_prefix and not of_conda:
        print(
            "This Python belongs to no virtual environment, and nothing was installed: "
            "make one with `python -m venv .venv`, and run this with its Python.",
            file=sys.stderr,
        )
        return 2
    try:
        install(options.lists, options.course)
    except InstallError as error:
        print(error, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
