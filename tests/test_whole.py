"""Bundled files are what the course came with, or one sentence says which are not."""

import shutil

import pytest

from helpers.corpora import whole
from helpers.corpora.sentences import load_sentences
from helpers.corpora.sonnets import SONNETS, load_text
from helpers.pretrained import CheckpointError


def sums_of(folder):
    """The names that a folder keeps sums of."""
    return set(whole.json.loads((folder / whole.SUMS).read_text("utf-8")))


def test_every_bundled_file_has_its_sum():
    corpora = whole.FOLDERS[0]
    data = [
        file
        for file in corpora.rglob("*")
        if file.is_file()
        and file.suffix not in (*whole.PLAIN, ".pyc")
        and file.name != whole.SUMS
    ]
    kept = [folder / name for folder in whole.FOLDERS for name in sums_of(folder)]
    assert sorted(kept) == sorted(data) and len(kept) > 10
    assert not [file for folder in whole.FOLDERS for file in whole.damaged(folder)]


@pytest.mark.parametrize("name", ["model.safetensors", "tokenizer.json"])
def test_a_flipped_byte_of_the_gpt2_is_one_sentence(monkeypatch, tmp_path, name):
    from helpers import pretrained

    folder = shutil.copytree(pretrained.OWN["gpt2"], tmp_path / "gpt2")
    content = bytearray((folder / name).read_bytes())
    content[len(content) // 2] ^= 1
    (folder / name).write_bytes(content)
    monkeypatch.setitem(pretrained.OWN, "gpt2", folder)
    with pytest.raises(
        CheckpointError, match="damaged: its sha256.*git checkout"
    ) as it:
        pretrained.load_gpt2()
    assert it.value._render_traceback_() == [str(it.value)]


def test_a_damaged_text_is_one_sentence_and_an_own_text_is_not_looked_at(
    monkeypatch, tmp_path
):
    folder = shutil.copytree(whole.FOLDERS[0], tmp_path / "corpora")
    own = folder / "own.txt"
    own.write_text("To be, or not to be. " * 600, "utf-8")
    assert load_text(own).startswith("To be")
    text = folder / SONNETS.name
    text.write_bytes(text.read_bytes()[:-100])
    with pytest.raises(whole.DamagedFileError, match="sonnets.txt is damaged") as it:
        load_text(text)
    assert it.value._render_traceback_() == [str(it.value)]
    text.unlink()
    with pytest.raises(whole.DamagedFileError, match="sonnets.txt is missing"):
        load_text(text)
    (folder / "sentences.csv").write_text("text\n", "utf-8")
    monkeypatch.setattr("helpers.corpora.sentences.SENTENCES", folder / "sentences.csv")
    with pytest.raises(whole.DamagedFileError, match="sentences.csv is damaged"):
        load_sentences()


def test_sums_that_can_t_be_read_are_named_themselves(tmp_path):
    (tmp_path / whole.SUMS).write_text("<<<<<<< HEAD", "utf-8")
    (broken,) = whole.damaged(tmp_path)
    assert f"{whole.SUMS} is damaged" in whole.sentence(broken)


def test_files_that_were_written_again_are_recorded(tmp_path):
    (tmp_path / "model.bin").write_bytes(b"one")
    (tmp_path / "README.md").write_text("card", "utf-8")
    whole.record(tmp_path)
    assert sums_of(tmp_path) == {"model.bin"} and not whole.damaged(tmp_path)
    (tmp_path / "model.bin").write_bytes(b"two")
    assert whole.damaged(tmp_path) == [tmp_path / "model.bin"]
    whole.record(tmp_path)
    assert not whole.damaged(tmp_path)
