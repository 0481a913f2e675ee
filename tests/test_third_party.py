"""Files of other projects: found in packages, put in by hand, known by their sha256."""

import hashlib
import importlib.metadata
import io
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from helpers import pretrained, third_party
from helpers.student import doctor
from helpers.third_party import PIECES, ThirdPartyError, find, main, put

ROOT = Path(__file__).resolve().parent.parent
CONTENTS = {
    "encoder": {"config.json": b"{}", "model.safetensors": b"123", "a.json": b"4567"},
    "d3": {"d3.min.js": b"draw()"},
    "jquery": {"jquery.min.js": b"find(it)"},
}


@pytest.fixture
def place(monkeypatch, tmp_path):
    """An empty place for what is put in; no package carries anything."""
    monkeypatch.setattr(third_party, "PLACE", tmp_path / "place")
    monkeypatch.setattr(third_party, "_in", lambda module: [])
    return tmp_path / "place"


@pytest.fixture
def small(place, monkeypatch, tmp_path):
    """The same with small files instead of the real ones; returns a folder of them."""
    folder = tmp_path / "fetched"
    folder.mkdir()
    for name, contents in CONTENTS.items():
        files = {
            file: (len(content), hashlib.sha256(content).hexdigest())
            for file, content in contents.items()
        }
        monkeypatch.setitem(PIECES, name, replace(PIECES[name], files=files))
        for file, content in contents.items():
            (folder / f"{name} {file}").write_bytes(content)  # under another name
    return folder


def zipped(files):
    """The bytes of a zip archive."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return stream.getvalue()


# --- in packages ----------------------------------------------------------------------


@pytest.mark.parametrize("name", PIECES)
def test_a_package_carries_it_without_being_imported(name):
    code = (
        "import sys; from helpers import third_party\n"
        f"print(third_party.find({name!r}), third_party.state({name!r})[0])\n"
        f"print(third_party.PIECES[{name!r}].homes[0][0] in sys.modules)"
    )
    run = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, encoding="utf-8"
    )
    assert run.stderr == "" and run.stdout.endswith(" True\nFalse\n"), run.stdout


def test_what_is_installed_by_hand_or_not_at_all_is_told_apart(place):
    assert all(find(name) is None for name in PIECES)
    assert not any(map(third_party.by_hand, PIECES))


def test_the_versions_are_those_that_are_pinned():
    for piece in PIECES.values():
        assert doctor.pins()[piece.package] == piece.version
        low, high = doctor.ranges()[piece.package]
        assert low <= doctor._numbers(piece.version) < high


def test_the_scripts_of_the_pinned_packages_are_those_that_can_be_put_in():
    """So it makes no difference to BertViz which way they came."""
    for name in ("d3", "jquery"):
        piece = PIECES[name]
        if importlib.metadata.version(piece.package) != piece.version:
            pytest.skip(f"needs {piece.package} {piece.version}")
        [(size, sha256)] = piece.files.values()
        content = find(name).read_bytes()
        assert (len(content), hashlib.sha256(content).hexdigest()) == (size, sha256)


@pytest.mark.parametrize("home", PIECES["jquery"].homes[1:])
def test_another_package_that_has_jquery_will_do(home, monkeypatch, tmp_path):
    module, path = home
    file = tmp_path / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.touch()
    monkeypatch.setattr(
        third_party, "_in", lambda name: [tmp_path] if name == module else []
    )
    assert find("jquery") == file


# --- put in by hand -------------------------------------------------------------------


@pytest.mark.parametrize("way", ["folder", "files", "zip", "wheel of a zip", "tgz"])
def test_it_is_put_in_from_wherever_it_lies(small, place, way, capsys):
    contents = {file.name: file.read_bytes() for file in small.iterdir()}
    sources = [small]
    if way == "files":
        sources = sorted(small.iterdir())
    elif way == "zip":
        sources = [small.with_suffix(".zip")]
        sources[0].write_bytes(zipped(contents))
    elif way == "wheel of a zip":
        sources = [small.with_suffix(".whl")]
        sources[0].write_bytes(zipped({"package/model.zip": zipped(contents)}))
    elif way == "tgz":
        sources = [small.with_suffix(".tgz")]
        with tarfile.open(sources[0], "w:gz") as archive:
            archive.add(small, "package")
    assert main(["--put", *map(str, sources)]) == 0
    for name, files in CONTENTS.items():
        for file, content in files.items():
            assert (place / name / file).read_bytes() == content
        assert third_party.by_hand(name)
    assert find("encoder") == place / "encoder"
    assert find("d3") == place / "d3" / "d3.min.js"
    assert capsys.readouterr().out.count("put in by hand") == 3


@pytest.mark.parametrize("content", [b"124", b"12", b"1234"])
def test_another_version_is_not_put_in(small, place, content, tmp_path):
    other = tmp_path / "model.safetensors"
    other.write_bytes(content)
    with pytest.raises(
        ThirdPartyError, match="none of the files .*known by their size"
    ):
        put(other)
    assert not place.exists()


def test_half_of_it_is_not_used(small, place, capsys):
    assert main(["--put", str(small / "encoder config.json")]) == 1
    said = capsys.readouterr()
    assert "Put in: encoder/config.json.\n" in said.out and said.err == ""
    assert find("encoder") is None
    with pytest.raises(
        pretrained.CheckpointError, match="is missing. Run `pip install"
    ):
        pretrained.bundled()


def test_what_was_put_in_and_is_damaged_is_named(small, place):
    put(small)
    (place / "encoder" / "model.safetensors").write_bytes(b"321")
    with pytest.raises(
        pretrained.CheckpointError, match="safetensors is damaged"
    ) as it:
        pretrained.bundled()
    assert "Delete it. Run `pip install" in str(it.value)


@pytest.mark.parametrize("name", ["torn.zip", "torn.whl", "torn.tgz", "gone.zip"])
def test_what_can_not_be_read_is_one_sentence(small, place, tmp_path, name, capsys):
    if name.startswith("torn"):
        (tmp_path / name).write_bytes(zipped({"a": b"123"})[:-10])
    assert main(["--put", str(tmp_path / name)]) == 1
    said = capsys.readouterr()
    assert said.out == "" and said.err.count("\n") == 1
    assert re.match(r".*(torn|gone)\.\w+ could not be put in: .+\.$", said.err)
    assert not place.exists()


def test_the_real_encoder_put_in_by_hand_is_the_one_that_lessons_load(
    monkeypatch, tmp_path
):
    """As it comes in another package: a wheel with a zip in it, and no vocab.txt."""
    monkeypatch.delenv("COURSE_SOURCE", raising=False)
    carried = find("encoder")
    wheel = tmp_path / "other-0.1-py3-none-any.whl"
    contents = {file: (carried / file).read_bytes() for file in PIECES["encoder"].files}
    wheel.write_bytes(zipped({"other/model.zip": zipped(contents)}))
    monkeypatch.setattr(third_party, "PLACE", tmp_path / "place")
    monkeypatch.setattr(third_party, "_in", lambda module: [])
    with pytest.raises(pretrained.CheckpointError, match="missing"):
        pretrained.load_encoder()
    assert len(put(wheel)) == 4
    shutil.rmtree(tmp_path / "other", ignore_errors=True)
    assert pretrained.path() == str(tmp_path / "place" / "encoder")
    assert pretrained.load_encoder().config.hidden_size == 384
    ids = pretrained.load_tokenizer()("I love transformers").input_ids
    assert ids == [101, 1045, 2293, 19081, 102]
    said = [str(one) for one in doctor.checkpoints()]
    assert any("encoder, 91 MB, whole, put in by hand" in one for one in said)


# --- for people -----------------------------------------------------------------------


def test_what_is_missing_is_told_with_every_way_to_get_it(place, capsys):
    assert main([]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == len(PIECES)
    for line, piece in zip(lines, PIECES.values(), strict=True):
        assert line.startswith(f"✗ {piece.what}, is missing. Run `pip install ")
        assert f"{piece.package}=={piece.version}`" in line
        assert all(f"`{command}`" in line for command in piece.elsewhere)
        assert line.endswith("`python -m helpers.third_party --put PLACE`.")


def test_nothing_that_was_put_in_gets_into_git_or_a_wheel():
    ignored = (ROOT / ".gitignore").read_text("utf-8").splitlines()
    place = third_party.PLACE.relative_to(ROOT).as_posix()
    assert f"/{place}/" in ignored
    project = (ROOT / "pyproject.toml").read_text("utf-8")
    assert f'helpers = ["{place.removeprefix("helpers/")}/**"]' in project
