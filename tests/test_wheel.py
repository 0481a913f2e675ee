"""The wheel carries the whole course, and asks nothing of anybody's Jupyter.

`python -m tools.proofs.colab` goes further: it runs notebooks from the wheel, in an
environment with Colab's packages.
"""

import os
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

ROOT = Path(__file__).resolve().parent.parent
COLAB = ROOT / "tools" / "proofs" / "colab.txt"
JUPYTER = re.compile(r"jupyter|ipykernel|ipython|ipywidgets|notebook|nb\w+|tornado|zmq")
MAKE = "import sys; from setuptools.build_meta import build_wheel as b; b(sys.argv[1])"

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("wheel")]


@pytest.fixture(scope="module")
def carried():
    """The files of helpers/ that git knows."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "helpers"], cwd=ROOT, capture_output=True, text=True
    )
    if listed.returncode:
        pytest.skip("needs git and a clone")
    return {path for path in listed.stdout.split("\0") if path}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory, carried):
    """The wheel, made from what a clone has."""
    source = tmp_path_factory.mktemp("source")
    for path in carried | {"pyproject.toml", "README.md", "LICENSE", "LICENSE-PROSE"}:
        (source / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / path, source / path)
    folder = tmp_path_factory.mktemp("wheel")
    run = subprocess.run(
        [sys.executable, "-c", MAKE, str(folder)],
        cwd=source,
        env=os.environ | {"PYTHONPATH": ""},
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stderr
    [path] = folder.glob("*.whl")
    assert path.name.endswith("-py3-none-any.whl")
    with zipfile.ZipFile(path) as archive:
        yield archive


def about(wheel):
    [name] = [one for one in wheel.namelist() if one.endswith(".dist-info/METADATA")]
    return Parser().parsestr(wheel.read(name).decode())


def test_it_carries_every_file_and_no_other(wheel, carried):
    inside = {name for name in wheel.namelist() if ".dist-info/" not in name}
    assert inside == carried
    kinds = {Path(name).suffix for name in inside}
    assert {".safetensors", ".csv", ".json", ".txt"} <= kinds
    for name in inside:
        if name.endswith(".safetensors"):
            assert wheel.read(name) == (ROOT / name).read_bytes()


def demands(wheel):
    """(what it needs in any case, what only an extra needs)."""
    every = list(map(Requirement, about(wheel).get_all("Requires-Dist")))
    return [
        [one for one in every if ("extra" in str(one.marker)) is extra]
        for extra in (False, True)
    ]


def test_what_it_needs_is_what_the_project_says_and_no_jupyter(wheel):
    base, extra = demands(wheel)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    said = list(map(Requirement, project["dependencies"]))
    assert {one.name for one in base} == {one.name for one in said}
    assert not [one.name for one in base if JUPYTER.search(one.name.lower())]
    lab = {one.name for one in extra if one.marker.evaluate({"extra": "lab"})}
    assert lab == {"ipykernel", "ipywidgets", "jupyterlab"}


def test_what_colab_has_is_good_enough(wheel):
    """Else pip would replace it, in a notebook that may have loaded the old one."""
    text = COLAB.read_text("utf-8")
    there = dict(re.findall(r"^([\w-]+)==([\w.]+)$", text, re.MULTILINE))
    own = re.search(r"own is (\d[\d.]+\d), with Python (3\.\d+)", text)
    there["torch"] = own[1]
    base, _ = demands(wheel)
    met = {one.name for one in base if there.get(one.name) in one.specifier}
    known = {one.name for one in base if one.name in there}
    assert met == known and {"torch", "transformers", "numpy"} <= known
    assert own[2] in SpecifierSet(about(wheel)["Requires-Python"])


OUTSIDE = """
import sys
from pathlib import Path

import torch

import helpers
from helpers import pretrained
from helpers.checks import check
from helpers.corpora.reviews import load_reviews
from helpers.student.doctor import files

assert Path(helpers.__file__).is_relative_to(sys.argv[1]), helpers.__file__
assert all(one.state == "✓" for one in files())
assert set(map(len, load_reviews().values())) == {860, 215}
folder = Path(pretrained.path("gpt2"))
assert folder.is_relative_to(sys.argv[1])
check("2.A", lambda scores, dim=-1: torch.softmax(scores, dim))
"""


def test_it_works_away_from_the_repository(wheel, tmp_path):
    place, here = tmp_path / "packages", tmp_path / "elsewhere"
    wheel.extractall(place)
    here.mkdir()
    environment = os.environ | {"PYTHONPATH": str(place), "HF_HUB_OFFLINE": "1"}
    run = subprocess.run(
        [sys.executable, "-c", OUTSIDE, str(place)],
        cwd=here,
        env=environment,
        capture_output=True,
        text=True,
        encoding="utf-8",
    )
    assert run.returncode == 0, run.stderr
    assert run.stdout.startswith("✓ 2.A passed") and run.stderr == ""
    assert not list(here.iterdir())
