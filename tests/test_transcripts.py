"""Every sentence of every check has been read: it is kept, and compared."""

import difflib

import memory
import pytest

from helpers.checks.engine import LESSONS
from tools.proofs import transcripts
from tools.proofs.transcripts import path, transcript


@pytest.mark.parametrize(
    "number", [pytest.param(n, marks=pytest.mark.lesson(str(n))) for n in LESSONS]
)
def test_a_check_says_what_it_said(number, monkeypatch):
    memory.remember(monkeypatch, f"transcript {number}")
    kept = path(number).read_text(encoding="utf-8")
    said = transcript(number)
    changes = difflib.unified_diff(
        kept.splitlines(), said.splitlines(), lineterm="", n=1
    )
    assert said == kept, "\n".join(
        ["Read it, then `python -m tools.proofs.transcripts`:", *changes]
    )


def test_one_lesson_is_written_alone(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(transcripts, "FOLDER", tmp_path)
    assert transcripts.main(["00"]) == 0
    assert [file.name for file in tmp_path.iterdir()] == ["00_start.txt"]
    assert path(0).read_text(encoding="utf-8") == transcript(0)
    assert transcripts.main(["00", "99"]) == 2
    assert capsys.readouterr().err == "There is no lesson '99': give 00 to 12.\n"


def test_every_lesson_has_every_outcome():
    for number in LESSONS:
        text = path(number).read_text(encoding="utf-8")
        for outcome in ("not attempted", "raised", "wrong", "passed"):
            assert f" {outcome}" in text, f"{path(number).name}: nothing {outcome}"
