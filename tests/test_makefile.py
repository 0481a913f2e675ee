"""The Makefile: its help, one sentence for a wrong Python, and what it leaves alone.

Each test works on a copy of the Makefile in an empty folder; nothing is installed.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tools.proofs import parts

ROOT = Path(__file__).resolve().parent.parent
TARGETS = (
    "help lab setup test quick lint format check build clean kill-matrix hunt "
    "transcripts bench progress pretrain guide slides site browser processors finetune "
    "release grade deep hostile students export"
)
LISTS = ("requirements.txt", "requirements-classroom.txt", "pyproject.toml")

pytestmark = pytest.mark.skipif(not shutil.which("make"), reason="needs make")

# A Python whose pip and modules do nothing, and whose venv module makes such a Python.
PRETENDER = """#!/bin/sh
case "$*" in
  *"-m venv"*"--without-pip"*) {plain_venv} ;;
  *"-m venv"*) {venv} ;;
  *"-m pip"*) exit 0 ;;
  *"-m tools.install"*) {install} ;;
  *"-c "*) {version} ;;
  --version) echo "Python 3.11.0" ;;
  *) echo "ran $*" ;;
esac
"""
MAKE_VENV = 'mkdir -p .venv/bin && cp "$0" .venv/bin/python'


@pytest.fixture
def folder(tmp_path):
    """Return a folder, with a space in its name, of what `make setup` depends on."""
    folder = tmp_path / "my course"
    (folder / "work").mkdir(parents=True)
    for name in ("Makefile", *LISTS):
        shutil.copy(ROOT / name, folder)
    return folder


def pretend(
    folder, venv=MAKE_VENV, plain_venv="exit 1", install="exit 0", version="exit 0"
):
    """Write a pretended Python that answers as told."""
    python = folder / "pretender"
    python.write_text(
        PRETENDER.format(
            venv=venv, plain_venv=plain_venv, install=install, version=version
        )
    )
    python.chmod(0o755)


def make(folder, *arguments):
    """Run make in `folder` with the pretended Python."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith("MAKE")}
    command = ["make", "--no-print-directory", "PYTHON=./pretender", *arguments]
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True
    )


def test_help_has_one_line_for_each_target(folder):
    lines = make(folder, "help").stdout.splitlines()
    named = [re.fullmatch(r"  make (\S+) +\S.*", line)[1] for line in lines]
    assert set(TARGETS.split()) <= set(named)
    assert len(named) == len(set(named))
    assert max(map(len, lines)) <= 88
    assert make(folder).stdout.splitlines() == lines


def test_setup_installs_once(folder):
    pretend(folder)
    first, second = make(folder, "setup"), make(folder, "setup")
    assert first.returncode == second.returncode == 0, first.stderr
    assert "Installing packages" in first.stdout and "Ready" in first.stdout
    assert second.stdout + second.stderr == ""


@pytest.mark.parametrize("name", ["requirements.txt", "pyproject.toml"])
def test_setup_installs_again_when_a_list_changed(folder, name):
    pretend(folder)
    make(folder, "setup")
    later = (folder / ".venv" / ".stamp").stat().st_mtime + 10
    os.utime(folder / name, (later, later))
    assert "Installing packages" in make(folder, "setup").stdout


def test_setup_installs_again_when_the_folder_moved(folder):
    pretend(folder)
    make(folder, "setup")
    moved = folder.rename(folder.with_name("elsewhere"))
    assert "Installing packages" in make(moved, "setup").stdout
    assert make(moved, "setup").stdout == ""


def test_a_system_without_ensurepip_is_served_by_its_own_pip(folder):
    pretend(folder, venv="exit 1", plain_venv=MAKE_VENV)
    assert "Ready" in make(folder, "setup").stdout


@pytest.mark.parametrize(
    ("answers", "sentence"),
    [
        (
            {"version": "exit 1"},
            "needs Python 3.11, 3.12 or 3.13, and './pretender' is",
        ),
        ({"venv": "exit 1"}, "'sudo apt install python3-venv'"),
        ({"install": "exit 1"}, "The installation failed"),
    ],
)
def test_a_setup_that_cannot_work_says_why(folder, answers, sentence):
    pretend(folder, **answers)
    run = make(folder, "setup")
    assert run.returncode != 0
    said = [line for line in run.stderr.splitlines() if not line.startswith("make: ")]
    assert len(said) == 1 and sentence in said[0], run.stderr
    assert not (folder / ".venv" / ".stamp").exists()


@pytest.mark.parametrize(
    ("version", "fits"),
    [((3, 10, 9), False), ((3, 11, 0), True), ((3, 13, 9), True), ((3, 14, 0), False)],
)
def test_the_versions_that_fit(monkeypatch, version, fits):
    code = re.search(r"-c '(import sys.*?)'", (ROOT / "Makefile").read_text())[1]
    with monkeypatch.context() as patch, pytest.raises(SystemExit) as stopped:
        patch.setattr(sys, "version_info", version)
        exec(code)
    assert bool(stopped.value.code) is not fits


def test_a_python_that_does_not_exist_says_so(folder):
    run = make(folder, "setup", "PYTHON=python3.99")
    assert "'python3.99' is not one of them" in run.stderr


def test_clean_never_touches_work(folder):
    pretend(folder)
    make(folder, "setup")
    (folder / "work" / "mine.ipynb").write_text("mine")
    (folder / "work" / "build").mkdir()
    assert make(folder, "clean").returncode == 0
    assert not (folder / ".venv").exists()
    assert (folder / "work" / "mine.ipynb").read_text() == "mine"
    assert (folder / "work" / "build").exists()


@pytest.mark.parametrize(
    ("target", "module"),
    [
        ("lab", "tools.lab"),
        ("build", "tools.build"),
        ("format", "ruff format ."),
        ("guide", "tools.build.guide"),
        ("check", "tools.build --check"),
        ("pretrain", "tools.pretrain"),
        ("kill-matrix", "tools.proofs.kill_matrix --jobs 2"),
        ("hunt", "tools.proofs.hunt"),
        ("bench", "tools.bench"),
        ("transcripts", "tools.proofs.transcripts"),
        ("progress", "helpers.checks"),
        ("slides", "tools.slides"),
    ],
)
def test_a_tool_runs_in_the_environment(folder, target, module):
    pretend(folder)
    assert f"ran -m {module}\n" in make(folder, target).stdout


def test_what_only_a_classroom_needs_is_installed_when_it_is_asked_for(folder):
    pretend(folder, install='echo "$*" >> asked')
    make(folder, "setup")
    asked = "-m tools.install requirements.txt --course\n"
    assert (folder / "asked").read_text() == asked
    make(folder, "slides")
    assert (folder / "asked").read_text().count("requirements-classroom.txt") == 1
    again = make(folder, "slides", "LESSON=02").stdout.splitlines()
    assert again[-1] == "ran -m tools.slides 02"
    assert (folder / "asked").read_text().count("requirements-classroom.txt") == 1


def test_dask_is_installed_for_grading_on_other_machines_alone(folder):
    pretend(folder, install='echo "$*" >> asked')
    make(folder, "grade", "SUBMISSIONS=x")
    assert "requirements-classroom.txt" not in (folder / "asked").read_text()
    make(folder, "grade", "SUBMISSIONS=x", "ARGS=--scheduler local")
    assert (folder / "asked").read_text().count("requirements-classroom.txt") == 1


@pytest.mark.parametrize(
    ("target", "module"),
    [
        ("guide", "tools.build.guide"),
        ("slides", "tools.slides"),
        ("transcripts", "tools.proofs.transcripts"),
    ],
)
def test_a_tool_is_handed_one_lesson(folder, target, module):
    pretend(folder)
    said = make(folder, target, "LESSON=02").stdout.splitlines()
    assert said[-1] == f"ran -m {module} 02"


def test_the_browser_has_a_target_of_its_own(folder):
    pretend(folder)
    assert "-m browser" in make(folder, "browser").stdout
    for target in ("unit", "quick"):
        assert "not browser" in make(folder, target).stdout


def test_everything_is_run_in_parts(folder):
    pretend(folder)
    parts = "lint check browser suite processors"
    assert f"ran -m tools.proofs.parts {parts}\n" in make(folder, "test").stdout
    suite = make(folder, "suite").stdout
    assert '-m "not browser" tests solutions' in suite and "--nbval-lax" in suite
    assert "ran -m ruff check ." in make(folder, "lint").stdout


@pytest.mark.parametrize(("version", "paths"), [("exit 0", 2), ("exit 1", 1)])
def test_processors_repeats_tests_on_other_code_paths(folder, version, paths):
    """The pretended Python answers -c: whether torch takes more than AVX2."""
    pretend(folder)
    make(folder, "setup")
    python = folder / ".venv" / "bin" / "python"
    python.write_text(
        python.read_text().replace('*"-c "*) exit 0', f'*"-c "*) {version}')
    )
    run = make(folder, "processors")
    assert run.returncode == 0, run.stderr
    tested = [line for line in run.stdout.splitlines() if line.startswith("ran ")]
    assert len(tested) == paths
    assert all("-m processor tests/test_checks.py" in line for line in tested)
    assert ("torch takes AVX2 on this processor" in run.stdout) == (paths == 1)


@pytest.mark.parametrize(("failing", "status"), [("none", 0), ("check", 3)])
def test_each_part_is_timed_and_the_first_that_fails_is_the_last(
    tmp_path, failing, status, monkeypatch, capfd
):
    pretended = tmp_path / "make"
    pretended.write_text(f'#!/bin/sh\n[ "$2" = {failing} ] && exit 3\necho "made $2"\n')
    pretended.chmod(0o755)
    monkeypatch.setenv("MAKE", str(pretended))
    assert parts.main(["lint", "check", "suite"]) == status
    said = capfd.readouterr().out
    assert ("made suite" in said) == (status == 0) and "made lint" in said
    table = said[said.index("part ") :].splitlines()
    names = [line.split()[0] for line in table]
    assert names[:3] == ["part", "lint", "check"] and names[-1] == "together"
    assert ("failed" in said) == bool(status)
    assert all(re.search(r" \d+\.\d( |$)", line) for line in table[1:])


def test_quick_hands_the_lesson_on_and_leaves_slow_tests_out(folder):
    pretend(folder)
    said = make(folder, "quick", "LESSON=02").stdout
    assert "COURSE_LESSON=02" in said and " -n 0 " in said
    assert "ran -m tools.build --check 02\n" in said
    assert "not notebooks and not slow" in said
