"""COURSE_SOURCE=hub: another GPT-2 by the same calls, and lesson 11 as it is."""

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from helpers import pretrained

pytestmark = [pytest.mark.lesson(11), pytest.mark.slow]
ROOT = Path(__file__).parents[1]
CELLS = """
import sys
from tools.build.lesson_cells import lesson, run_cell
namespace = {"__name__": "__main__"}
count = 0
for cell in lesson(11).cells:
    if cell.cell_type == "code":
        run_cell(cell.source, namespace)
        count += 1
print("cells that ran:", count, file=sys.stderr)
"""


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """HF_HOME with a random GPT-2 of eight features under the name of the real one."""
    from transformers import GPT2Config, GPT2LMHeadModel

    torch.manual_seed(0)
    home = tmp_path_factory.mktemp("home")
    tiny = home / "tiny"
    config = GPT2Config(
        vocab_size=4096, n_embd=8, n_layer=1, n_head=2, bos_token_id=0, eos_token_id=0
    )
    with pretrained.quiet():
        GPT2LMHeadModel(config).save_pretrained(tiny)
    for name in ("tokenizer.json", "tokenizer_config.json"):
        shutil.copy(pretrained.OWN["gpt2"] / name, tiny)
    repo = home / "hub" / "models--gpt2"
    (repo / "snapshots" / "c0ffee").mkdir(parents=True)
    (repo / "blobs").mkdir()
    (repo / "refs").mkdir()
    (repo / "refs" / "main").write_text("c0ffee")
    for file in tiny.iterdir():
        blob = repo / "blobs" / hashlib.sha256(file.read_bytes()).hexdigest()
        shutil.copy(file, blob)
        (repo / "snapshots" / "c0ffee" / file.name).symlink_to(blob)
    return home


def run(code: str, home: Path) -> subprocess.CompletedProcess:
    more = {
        "HF_HOME": str(home),
        "HF_HUB_OFFLINE": "1",
        "COURSE_SOURCE": "hub",
        "PYTHONPATH": str(ROOT),
        "OMP_NUM_THREADS": "1",
    }
    return subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, **more},
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=600,
    )


def test_the_hub_s_model_loads_with_the_same_calls(home):
    done = run(
        "from helpers import pretrained as p; m = p.load_gpt2(); "
        "print(m.config.n_embd, m.training, len(p.load_tokenizer('gpt2')))",
        home,
    )
    assert (done.stdout, done.stderr) == ("8 False 4096\n", "")


def test_the_lesson_keeps_its_storyteller(home):
    done = run(CELLS, home)
    assert done.stderr.startswith("cells that ran: ") and done.returncode == 0, (
        done.stderr[-2000:]
    )
    assert "GPT2LMHeadModel: 2,517,120 parameters" in done.stdout
    assert done.stdout.count("passed. Shown:") == 13
    assert "COURSE_SOURCE" not in done.stdout
