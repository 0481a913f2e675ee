"""One list of packages in three files, and a test run that stays on this machine."""

import os
import re
import shutil
import socket
import subprocess
import sys
import tomllib
from importlib.metadata import distributions as installed
from importlib.metadata import version
from pathlib import Path
from types import SimpleNamespace

import matplotlib
import pytest
import torch
import yaml
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

import conftest

ROOT = Path(__file__).resolve().parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
CONDA = yaml.safe_load((ROOT / "environment.yml").read_text())

# what conda-forge calls a package that pip calls something else
CONDA_NAMES = {"pytorch": "torch", "matplotlib-base": "matplotlib"}
# what only the conda environment has to name
CONDA_ONLY = {"pip", "setuptools"}


def parse(lines):
    """Return {canonical name: specifier} of requirement lines."""
    found = [Requirement(line) for line in lines]
    names = [canonicalize_name(each.name) for each in found]
    assert len(names) == len(set(names)), "a package is listed twice"
    return dict(zip(names, (each.specifier for each in found), strict=True))


CLASSROOM = ("slides", "site", "browser", "cluster", "hub")  # no student needs these


def pins(name="requirements.txt"):
    """Return {name: specifier} of a file of exact versions."""
    lines = (ROOT / name).read_text().splitlines()
    lines = [line.split("#")[0].strip() for line in lines]
    return parse(filter(None, lines))


def ranges():
    """Return {name: specifier} of pyproject.toml, with Jupyter and the tests' needs."""
    extras = PROJECT["optional-dependencies"]
    return parse(PROJECT["dependencies"] + extras["lab"] + extras["test"])


def classroom():
    """Return {name: specifier} of the extras for a classroom."""
    extras = [PROJECT["optional-dependencies"][name] for name in CLASSROOM]
    return parse([line for extra in extras for line in extra])


def conda_ranges():
    """Return {pip's name: specifier} of environment.yml."""
    conda = [line for line in CONDA["dependencies"] if isinstance(line, str)]
    conda = [line for line in conda if not line.startswith("python=")]  # conda's own =
    [pip] = [line["pip"] for line in CONDA["dependencies"] if isinstance(line, dict)]
    assert pip[-1] == "-e ."
    named = parse(conda + pip[:-1])
    return {CONDA_NAMES.get(name, name): range_ for name, range_ in named.items()}


def test_the_three_files_name_the_same_packages():
    assert set(pins()) == set(ranges())
    assert set(conda_ranges()) == set(pins()) | CONDA_ONLY


def test_the_classroom_has_pins_of_its_own():
    assert set(PROJECT["optional-dependencies"]) == {"lab", "test", *CLASSROOM}
    pinned = pins("requirements-classroom.txt")
    assert set(pinned) == set(classroom())
    assert not set(pinned) & set(pins())
    for name, [pin] in pinned.items():
        assert pin.operator == "==" and pin.version in classroom()[name]


def test_conda_and_pip_have_the_same_ranges():
    conda = conda_ranges()
    assert {name: conda[name] for name in ranges()} == ranges()


def test_conda_names_the_python_that_is_tested():
    [line] = [str(x) for x in CONDA["dependencies"] if str(x).startswith("python")]
    version_ = re.fullmatch(r"python=(3\.\d+)", line)[1]
    assert version_ in Requirement(f"python{PROJECT['requires-python']}").specifier
    first = (ROOT / "requirements.txt").read_text().splitlines()[0]
    assert f"on Python {version_}." in first
    binder = (ROOT / ".binder" / "runtime.txt").read_text()
    assert binder == f"python-{version_}\n"


@pytest.mark.skipif(sys.version_info[:2] != (3, 11), reason="has younger packages")
def test_every_installed_package_runs_on_the_oldest_python():
    """Debian 12 has 3.11.2, where a package for 3.11.5 breaks nbgrader's feedback."""
    oldest = PROJECT["requires-python"].split(",")[0].removeprefix(">=") + ".0"
    asked = {
        one.metadata["Name"]: one.metadata.get("Requires-Python") for one in installed()
    }
    younger = {
        name: wanted
        for name, wanted in asked.items()
        if wanted and oldest not in SpecifierSet(wanted)
    }
    assert oldest == "3.11.0" and not younger


@pytest.mark.parametrize("name", sorted(pins()))
def test_a_pin_is_exact_and_inside_its_range(name):
    [pin] = pins()[name]
    assert pin.operator == "==" and "*" not in pin.version and "+" not in pin.version
    assert pin.version in ranges()[name]


@pytest.mark.parametrize("name", sorted(ranges()))
def test_a_range_has_a_lower_end_and_an_upper_major(name):
    by_operator = {each.operator: each.version for each in ranges()[name]}
    assert set(by_operator) == {">=", "<"}
    assert re.fullmatch(r"\d+", by_operator["<"])


@pytest.mark.parametrize("name", sorted(pins()))
def test_the_installed_version_is_inside_its_range(name):
    assert ranges()[name].contains(version(name))


def test_only_conda_forge_is_asked():
    assert CONDA["channels"] == ["conda-forge", "nodefaults"]


def test_this_python_is_supported():
    supported = Requirement(f"python{PROJECT['requires-python']}").specifier
    assert supported.contains(".".join(map(str, sys.version_info[:3])))


def test_the_ci_installs_what_the_makefile_installs():
    ci = yaml.safe_load((ROOT / ".github" / "workflows" / "ci.yml").read_text())
    commands = [step.get("run") for step in ci["jobs"]["test"]["steps"]]
    assert commands[-1] == ".ci/run"
    assert (ROOT / ".ci" / "run").read_text().rstrip().endswith("\nmake test")


@pytest.mark.parametrize("programs", ["exit 0", "exit 1"])
def test_the_ci_goes_on_where_its_programs_cannot_be_installed(tmp_path, programs):
    (tmp_path / ".ci").mkdir()
    shutil.copy(ROOT / ".ci" / "run", tmp_path / ".ci")
    tools = {
        name: f'echo "{name} $@" >> asked; {programs}' for name in ("apt-get", "npm")
    }
    tools["make"] = 'echo "make $*"'
    tools["sudo"] = 'shift; "$@"'
    (tmp_path / "bin").mkdir()
    for name, body in tools.items():
        (tmp_path / "bin" / name).write_text(f"#!/bin/sh\n{body}\n")
        (tmp_path / "bin" / name).chmod(0o755)
    for name in ("bash", "sh", "dirname", "id"):
        (tmp_path / "bin" / name).symlink_to(shutil.which(name))
    run = subprocess.run(
        [".ci/run"],
        cwd=tmp_path,
        env={"PATH": str(tmp_path / "bin")},
        capture_output=True,
        text=True,
    )
    assert (run.returncode, run.stdout) == (0, "make test\n"), run.stderr
    failed = programs == "exit 1"
    told = [line.split()[1] for line in run.stderr.splitlines()]
    assert told == (["Chromium", "configurable-http-proxy"] if failed else [])
    asked = (tmp_path / "asked").read_text().splitlines()
    assert asked[0] == "apt-get update" and asked[-1].startswith("npm install")
    assert any("chromium" in line for line in asked) == (not failed)


# --- the environment that conftest.py makes -------------------------------------------


@pytest.mark.parametrize(
    "host", ["example.org", b"example.org", "192.0.2.1", "2001:db8::1"]
)
def test_a_test_reaches_no_network(host):
    with pytest.raises(RuntimeError, match="tests run offline"):
        socket.getaddrinfo(host, 80)
    family = socket.AF_INET6 if ":" in str(host) else socket.AF_INET
    for method in ("connect", "connect_ex"):
        with socket.socket(family) as client:
            with pytest.raises(RuntimeError, match="tests run offline"):
                getattr(client, method)((host, 80))


def test_a_test_reaches_its_own_machine():
    with socket.create_server(("127.0.0.1", 0)) as server:
        socket.create_connection(server.getsockname()).close()


def test_a_test_runs_quietly_on_one_thread():
    assert os.environ["COURSE_PROGRESS"] == "off"
    assert "MPLBACKEND" not in os.environ
    assert matplotlib.get_backend() == "agg"
    assert torch.get_num_threads() == int(os.environ["OMP_NUM_THREADS"])


LESSONS = """
import pytest

@pytest.mark.parametrize("id", [
    pytest.param("2.A", marks=pytest.mark.lesson("02")),
    pytest.param("02_attention", marks=pytest.mark.lesson("02_attention")),
    pytest.param("3.A", marks=pytest.mark.lesson("03")),
])
def test_lesson(id): pass

def test_of_no_lesson(): pass
"""


@pytest.mark.parametrize("text", ["2", "02", "2.C", "02_attention", 2])
def test_a_lesson_has_many_spellings(text):
    assert conftest.lesson_number(text) == 2


@pytest.mark.parametrize("text", ["", "attention", None])
def test_other_words_are_not_a_lesson(text):
    assert conftest.lesson_number(text) is None


def test_one_lesson_alone(tmp_path):
    run = run_lessons(tmp_path, "02")
    assert "2 passed, 2 deselected" in run.stdout, run.stdout + run.stderr


def test_a_lesson_that_does_not_exist_is_one_clear_sentence(tmp_path):
    run = run_lessons(tmp_path, "99")
    assert run.stderr.strip() == (
        "ERROR: There is no lesson '99'; choose from: 02_attention, 03_multi_head."
    )


def test_a_file_without_lessons_is_not_imported_for_one(tmp_path):
    (tmp_path / "test_other.py").write_text("raise RuntimeError")
    run = run_lessons(tmp_path, "02")
    assert "2 passed, 2 deselected" in run.stdout, run.stdout + run.stderr


# --- seeds ----------------------------------------------------------------------------


@pytest.fixture
def no_settings(monkeypatch):
    for name in ("COURSE_SEEDS", "COURSE_QUICK", "ATEN_CPU_CAPABILITY"):
        monkeypatch.delenv(name, raising=False)


def test_each_processor_has_a_seed_of_its_own(no_settings, monkeypatch):
    natively = torch.backends.cpu.get_cpu_capability()
    assert natively == "DEFAULT" or set(conftest.seeds()) == {0}
    for capability in ("AVX2", "AVX512"):
        monkeypatch.setattr(
            torch.backends.cpu, "get_cpu_capability", lambda of=capability: of
        )
        assert conftest.seeds() == [0]
    monkeypatch.setattr(torch.backends.cpu, "get_cpu_capability", lambda: "DEFAULT")
    assert conftest.seeds() == [0, 2]  # an ARM processor has to take that of avx2
    for capability, seed in (("default", 1), ("avx2", 2)):
        monkeypatch.setenv("ATEN_CPU_CAPABILITY", capability)
        assert conftest.seeds() == [seed]
    monkeypatch.setenv("COURSE_SEEDS", "20")
    assert conftest.seeds() == list(range(20))


def test_quick_takes_one_seed(no_settings, monkeypatch):
    monkeypatch.setenv("COURSE_QUICK", "1")
    assert conftest.seeds() == [0]


@pytest.mark.parametrize("wrong", ["abc", "0", "-1", "", "1.5", "²"])
def test_a_wrong_number_of_seeds_is_one_clear_sentence(monkeypatch, wrong):
    monkeypatch.setenv("COURSE_SEEDS", wrong)
    with pytest.raises(pytest.UsageError) as error:
        conftest.pytest_configure(None)
    assert str(error.value) == (
        f"COURSE_SEEDS={wrong} is not a number of seeds: set it to a whole "
        "number of at least 1, such as 20, or leave it out."
    )


def test_settings_that_make_no_sense_end_the_run_with_their_sentence(tmp_path):
    run = run_lessons(tmp_path, "02", COURSE_SEEDS="abc")
    assert run.returncode and run.stdout == ""
    assert run.stderr.startswith("ERROR: COURSE_SEEDS=abc is not a number of seeds")
    assert run.stderr.strip().count("\n") == 0


def run_lessons(folder, lesson, **more):
    """Run LESSONS under a copy of conftest.py with COURSE_LESSON set."""
    (folder / "lessons").mkdir()
    for name in ("02_attention.py", "03_multi_head.py"):
        (folder / "lessons" / name).touch()
    (folder / "test_lessons.py").write_text(LESSONS)
    for name in ("conftest.py", "pyproject.toml"):
        shutil.copy(ROOT / name, folder)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "."]
    environment = os.environ | {"COURSE_LESSON": lesson} | more
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True
    )


def test_tests_of_one_group_run_on_one_worker(tmp_path):
    tests = tmp_path / "test_group.py"
    tests.write_text(
        "import os, pathlib, time, pytest\n"
        "@pytest.mark.xdist_group('one')\n"
        "@pytest.mark.parametrize('n', range(8))\n"
        "def test_it(n):\n"
        "    time.sleep(0.1)\n"
        "    place = pathlib.Path(__file__).with_name('workers')\n"
        "    with place.open('a') as file:\n"
        "        print(os.environ['PYTEST_XDIST_WORKER'], file=file)\n",
        encoding="utf-8",
    )
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    command += ["-p", "conftest", "-n", "2", "--dist", "loadgroup"]
    run = subprocess.run(
        [*command, "--rootdir", tmp_path, tests],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(ROOT), "PYTEST_ADDOPTS": ""},
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stdout + run.stderr
    workers = (tmp_path / "workers").read_text().split()
    assert len(workers) == 8 and len(set(workers)) == 1


class Collected:
    """What the order of the tests asks of one."""

    def __init__(self, name, group="", notebook=""):
        self.nodeid, self.callspec = name, SimpleNamespace(id=notebook)
        self.marks = {"notebooks": notebook, "xdist_group": group}

    def get_closest_marker(self, name):
        value = self.marks[name]
        return SimpleNamespace(args=(value,)) if value else None


def test_long_notebooks_begin_and_tests_of_a_group_follow_one_another():
    """So what they share is there once, and forgotten when the next group begins."""
    tests = [
        Collected("a[2.A]", "2.A"),
        Collected("a[2.B]", "2.B"),
        Collected("b"),
        Collected("c[2.A]", "2.A"),
        Collected("notebook 02", notebook="02_attention"),
        Collected("notebook 09", notebook="09_bert"),
        Collected("d[2.B]", "2.B"),
    ]
    names = [item.nodeid for item in conftest.in_order(tests)]
    assert names[:2] == ["notebook 09", "notebook 02"]
    assert names[2:] == ["a[2.A]", "c[2.A]", "a[2.B]", "d[2.B]", "b"]
