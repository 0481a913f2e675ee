"""The doctor: one test for each way in which a machine can be ill."""

import re
import shutil
import subprocess
import sys
from collections import namedtuple
from dataclasses import replace
from pathlib import Path

import pytest

from helpers import pretrained, third_party
from helpers.corpora import whole
from helpers.student import doctor

ROOT = Path(__file__).resolve().parents[1]


def found(look, state):
    """Return what a look says in a state, as one text."""
    return "\n".join(str(one) for one in look() if one.state == state)


@pytest.fixture
def installed(monkeypatch):
    """Return a function that pretends another version of a package; None: missing."""
    real = doctor._version

    def pretend(name, version):
        monkeypatch.setattr(
            doctor, "_version", lambda other: version if other == name else real(other)
        )

    return pretend


@pytest.mark.slow
def test_a_machine_on_which_all_is_well(capsys):
    assert doctor.main() == 0
    out, err = capsys.readouterr()
    assert err == "" and doctor.BAD not in out
    for name in ("interpreter", "packages", "checkpoint", "files", "disk", "kernel"):
        assert re.search(rf"^✓ {name}", out, re.MULTILINE), out
    block = out.split("copy from here -----\n")[1].split("----- to here")[0]
    assert "Python 3." in block and "torch 2." in block


def test_another_python(monkeypatch):
    Version = namedtuple("Version", "major minor micro")
    monkeypatch.setattr(doctor.sys, "version_info", Version(3, 10, 1))
    assert "3.11, 3.12 or 3.13" in found(doctor.interpreter, doctor.BAD)


def test_a_missing_package(installed):
    installed("datasets", None)
    assert "datasets is missing: run `make setup`" in found(doctor.packages, doctor.BAD)


@pytest.mark.parametrize("version", ["1.13.1", "3.0.0"])
def test_a_version_outside_its_range(installed, version):
    installed("torch", version)
    said = found(doctor.packages, doctor.BAD)
    assert f"torch is {version}, not 2.9 or later and below 3: run" in said


def test_a_version_that_was_not_tested(installed):
    installed("numpy", "2.0.1")
    assert found(doctor.packages, doctor.BAD) == ""
    assert "numpy 2.0.1 (tested: " in found(doctor.packages, doctor.NOTE)


def test_a_torch_that_does_not_start(monkeypatch):
    monkeypatch.setattr(doctor, "_runs", lambda code: False)
    assert "torch is installed but does not start" in found(doctor.packages, doctor.BAD)


def test_the_ranges_are_those_of_the_project():
    assert doctor.ranges()["torch"] == ((2, 9), (3,))
    assert set(doctor.ranges()) <= set(doctor.pins())


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("2.13.0+cpu", (2, 13)),
        ("4.0", (4,)),
        ("0.1.0rc1", (0, 1)),
        ("3.7.1.1", (3, 7, 1, 1)),
    ],
)
def test_versions_are_read(text, numbers):
    assert doctor._numbers(text) == numbers


def test_a_damaged_encoder(monkeypatch):
    piece = third_party.PIECES["encoder"]
    wrong = piece.files | {"model.safetensors": (90_868_376, "0" * 64)}
    changed = replace(piece, files=wrong)
    monkeypatch.setitem(third_party.PIECES, "encoder", changed)
    said = found(doctor.checkpoints, doctor.BAD)
    assert "model.safetensors is damaged: its sha256 is wrong. Run `pip" in said


def test_a_package_that_is_gone_while_its_files_are_here(installed, monkeypatch):
    installed("mpld3", None)
    assert found(doctor.packages, doctor.BAD) == ""
    assert "found elsewhere: mpld3." in found(doctor.packages, doctor.NOTE)
    monkeypatch.setattr(third_party, "find", lambda name: None)
    assert "mpld3 is missing: run `make setup`" in found(doctor.packages, doctor.BAD)


def test_scripts_that_are_missing_are_a_note(monkeypatch):
    assert "d3 and jQuery" in found(doctor.scripts, doctor.OK)
    monkeypatch.setattr(third_party, "_in", lambda module: [])
    monkeypatch.setattr(third_party, "PLACE", ROOT / "nowhere")
    said = found(doctor.scripts, doctor.NOTE)
    assert said.count("lesson 03 shows no BertViz") == 2
    assert "`npm pack d3@5.7.0`" in said and "--put PLACE" in said
    assert found(doctor.scripts, doctor.BAD) == found(doctor.scripts, doctor.OK) == ""


@pytest.mark.parametrize("damage", ["short", "empty", "pointer", "gone"])
def test_a_damaged_gpt2(monkeypatch, tmp_path, damage):
    folder = shutil.copytree(pretrained.OWN["gpt2"], tmp_path / "gpt2")
    weights = folder / "model.safetensors"
    content = weights.read_bytes()
    weights.write_bytes(
        {
            "short": content[:-1],
            "empty": b"",
            "pointer": b"version https://git-lfs.github.com/spec/v1\n",
            "gone": b"",
        }[damage]
    )
    if damage == "gone":
        weights.unlink()
    monkeypatch.setitem(pretrained.OWN, "gpt2", folder)
    said = found(doctor.checkpoints, doctor.BAD)
    assert "is not in" in said if damage == "gone" else "is damaged: its sha256" in said
    assert "encoder" in found(doctor.checkpoints, doctor.OK)


@pytest.mark.parametrize("name", ["reviews.csv", "gpt2/tokenizer.json"])
def test_a_changed_file_of_the_course(monkeypatch, tmp_path, name):
    corpora = shutil.copytree(whole.FOLDERS[0], tmp_path / "corpora")
    file = corpora / name
    file.write_text(file.read_text("utf-8").replace("e", "E", 1), "utf-8")
    folders = [corpora / folder.name for folder in whole.FOLDERS[:2]]
    monkeypatch.setattr(whole, "FOLDERS", [corpora, *folders[1:]])
    said = found(doctor.files, doctor.BAD)
    assert said.count("\n") == 0 and f"{name} is damaged: its sha256 is wrong" in said
    assert f"{name}` in the course's folder" in said


def test_checkpoints_of_the_hub_are_a_note(monkeypatch):
    monkeypatch.setenv("COURSE_SOURCE", "hub")
    assert "COURSE_SOURCE=hub" in found(doctor.checkpoints, doctor.NOTE)
    assert found(doctor.checkpoints, doctor.BAD) == ""
    assert doctor.os.environ["COURSE_SOURCE"] == "hub"


@pytest.mark.parametrize(
    ("free", "state"), [(1_000, doctor.BAD), (5e8, doctor.NOTE), (5e9, doctor.OK)]
)
def test_a_full_disk(monkeypatch, free, state):
    Usage = namedtuple("Usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda place: Usage(0, 0, free))
    assert {one.state for one in doctor.disk()} == {state}


def test_a_disk_that_can_not_be_written():
    resource = pytest.importorskip("resource")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (500, hard))
    try:
        said = found(doctor.disk, doctor.BAD)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert "can't be written to" in said


def test_a_missing_kernel(installed):
    installed("ipykernel", None)
    said = found(doctor.kernel, doctor.BAD)
    assert "ipykernel missing, no notebook can run: run `make setup`" in said


@pytest.mark.slow
def test_a_kernel_that_does_not_start(monkeypatch, tmp_path):
    folder = tmp_path / "share" / "jupyter" / "kernels" / "python3"
    folder.mkdir(parents=True)
    spec = '{"argv": ["/nowhere/python"], "display_name": "x", "language": "python"}'
    (folder / "kernel.json").write_text(spec)
    monkeypatch.setattr(doctor.sys, "prefix", str(tmp_path))
    said = found(doctor.kernel, doctor.BAD)
    assert "no kernel answered (FileNotFoundError" in said, said


def test_a_kernel_of_another_python_is_a_note(monkeypatch):
    monkeypatch.setattr(doctor, "_python", lambda code: ("kernel: /else/python\n", ""))
    assert "another Python, /else/python" in found(doctor.kernel, doctor.NOTE)


def test_a_look_that_fails_is_a_finding(monkeypatch):
    def fail():
        raise RuntimeError("what?")

    monkeypatch.setattr(doctor, "LOOKS", {"disk": fail})
    [finding] = doctor.examine()
    assert finding.state == doctor.BAD and "RuntimeError: what?" in finding.text


def test_an_ill_machine_ends_with_1(monkeypatch, capsys):
    ill = doctor.Finding("disk", doctor.BAD, "only 0.0 GB free")
    monkeypatch.setattr(doctor, "LOOKS", {"disk": lambda: [ill]})
    assert doctor.main() == 1
    out = capsys.readouterr().out
    assert "1 thing to put right" in out
    assert out.count("only 0.0 GB free") == 2  # the bug report has it too


def test_it_runs_without_torch_and_numpy():
    code = (
        "import sys, runpy\n"
        "sys.modules['torch'] = sys.modules['numpy'] = None\n"
        "import importlib.metadata as metadata\n"
        "real = metadata.version\n"
        "def version(name):\n"
        "    if name in ('torch', 'numpy', 'ipykernel'):\n"
        "        raise metadata.PackageNotFoundError(name)\n"
        "    return real(name)\n"
        "metadata.version = version\n"
        "runpy.run_module('helpers.student.doctor', run_name='__main__')\n"
    )
    run = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True
    )
    assert run.returncode == 1 and run.stderr == "", run.stderr
    assert "✗ packages    numpy is missing; torch is missing" in run.stdout.replace(
        "ipykernel is missing; ", ""
    )


def test_the_home_folder_is_not_shown(monkeypatch):
    monkeypatch.setenv("HOME", "/home/anna")
    assert doctor._short("/home/anna/course/.venv") == "~/course/.venv"
