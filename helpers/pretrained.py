"""Which checkpoint a name means: bundled by default, the Hugging Face Hub on request.

    model = AutoModel.from_pretrained(pretrained.path("encoder"))

Roles are "encoder", "gpt2", "storyteller" and "guesser". By default all of them lie on
this machine already. With COURSE_SOURCE=hub in the environment "encoder" and "gpt2"
mean the Hub's checkpoints: local files first, then a short probe of the network, then a
download that tells how far it is and is given up when it stands still; what fails is
one clear sentence.
"""

import contextlib
import json
import os
import re
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from helpers import third_party
from helpers.corpora import whole

HUB = {"encoder": "bert-base-cased", "gpt2": "gpt2"}
OWN = {  # trained by tools/pretrain
    name: Path(__file__).parent / "corpora" / name
    for name in ("gpt2", "storyteller", "guesser")
}
ROLES = tuple(HUB | OWN)
WEIGHTS = ("model.safetensors", "model.safetensors.index.json", "pytorch_model.bin")
WANTED = ["*.json", "*.txt", "*.safetensors", "*.model"]  # one format of the weights
PROBE = 1.5  # seconds the network gets to answer
STALL = 20.0  # seconds without a byte until a download is given up
TELL = 5.0  # seconds between two lines about a download
VOCABULARY = 1000  # a tokenizer with fewer tokens lost its files


class CheckpointError(OSError):
    """A checkpoint that is missing, damaged or out of reach; shown as one sentence."""

    def _render_traceback_(self) -> list[str]:
        return str(self).splitlines() or [type(self).__name__]


def source() -> str:
    """Where the roles' checkpoints come from: "bundled" or "hub".

    Raises:
        CheckpointError: COURSE_SOURCE says something else.
    """
    wanted = os.environ.get("COURSE_SOURCE", "bundled")
    if wanted not in ("bundled", "hub"):
        raise CheckpointError(f"COURSE_SOURCE={wanted!r}: it is 'bundled' or 'hub'.")
    return wanted


def path(name: str = "encoder") -> str:
    """The folder of a checkpoint, whole and checked, for any `from_pretrained`.

    Args:
        name: a role, one of `ROLES`; or a name on the Hub, such as "org/model"

    Raises:
        CheckpointError: It is not there, is damaged, or can't be fetched now.
    """
    if name not in ROLES and "/" not in name:
        roles = ", ".join(map(repr, ROLES))
        raise CheckpointError(f"No checkpoint {name!r}: choose {roles} or 'org/model'.")
    if name in ROLES and (source() == "bundled" or name not in HUB):
        return str(bundled(name))
    repo = HUB.get(name, name)
    folder = _cached(repo) or _fetched(repo)
    cure = f"Delete {folder.parents[1]} and run this again with a network."
    if broken := _damaged(folder):
        raise CheckpointError(f"{broken} is damaged: its sha256 is wrong. {cure}")
    return str(folder)


def bundled(name: str = "encoder") -> Path:
    """The folder of a bundled checkpoint, whole and checked; whatever COURSE_SOURCE is.

    Args:
        name: one of `ROLES`

    Raises:
        CheckpointError: It is not there, or is damaged.
    """
    if name == "encoder":
        here, text = third_party.state(name)
        if not here:
            raise CheckpointError(text)
        return third_party.find(name)
    folder = OWN[name]
    if not _complete(folder):
        raise CheckpointError(
            f"The bundled checkpoint {name!r} is not in {folder}. It belongs to the "
            "course: download the course again, or train it with "
            f'`make pretrain ARGS="--model {name}"`.'
        )
    if broken := whole.damaged(folder):
        raise CheckpointError(whole.sentence(broken[0]))
    return folder


def load_encoder(name: str = "encoder", attn_implementation: str = "eager") -> Any:
    """Load an encoder that is ready to be looked at: no dropout, weights on request.

    Args:
        name: as in `path`
        attn_implementation: "eager" can show its attention weights, "sdpa" is faster

    Returns:
        A model of `transformers`, in eval mode.
    """
    folder = path(name)
    from transformers import AutoModel

    with quiet():
        model = AutoModel.from_pretrained(
            folder, attn_implementation=attn_implementation
        )
    return model.eval()


def load_gpt2(name: str = "gpt2") -> Any:
    """Load a language model that is ready to write: no dropout.

    Args:
        name: as in `path`

    Returns:
        A model of `transformers` with its language model head, in eval mode.
    """
    folder = path(name)
    from transformers import AutoModelForCausalLM

    with quiet():
        model = AutoModelForCausalLM.from_pretrained(folder)
    return model.eval()


def load_guesser(name: str = "guesser") -> Any:
    """Load a masked language model that is ready to guess words: no dropout.

    Args:
        name: as in `path`

    Returns:
        A model of `transformers` with its masked language model head, in eval mode.
    """
    folder = path(name)
    from transformers import AutoModelForMaskedLM

    with quiet():
        model = AutoModelForMaskedLM.from_pretrained(folder)
    return model.eval()


def left_padded(tokenizer: Any, texts: Sequence[str]) -> tuple[Tensor, Tensor]:
    """Make one batch of prompts that a language model can continue.

    Padding stands on the left, so that the next token follows the last one of every
    prompt. GPT-2 has no padding token: any id will do, as the mask hides it, and this
    takes the one that ends a text. The tokenizer itself stays as it is.

    Args:
        tokenizer: of a language model
        texts: prompts, none of them empty

    Returns:
        ids (B, T); mask (B, T), boolean, True = a real token
    """
    rows = [torch.tensor(tokenizer(text).input_ids, dtype=torch.long) for text in texts]
    length = max(map(len, rows))
    ids = torch.full((len(rows), length), tokenizer.eos_token_id)
    mask = torch.zeros(len(rows), length, dtype=torch.bool)
    for place, row in enumerate(rows):
        ids[place, length - len(row) :] = row
        mask[place, length - len(row) :] = True
    return ids, mask


def load_tokenizer(name: str = "encoder") -> Any:
    """Load the tokenizer of a checkpoint.

    Raises:
        CheckpointError: Its files are missing: `transformers` may make an empty one of
            what is left, which turns every word into nothing without a complaint.
    """
    folder = path(name)
    from transformers import AutoTokenizer

    try:
        with quiet():
            tokenizer = AutoTokenizer.from_pretrained(folder)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        tokenizer = ()
    if len(tokenizer) <= VOCABULARY:
        raise CheckpointError(
            f"The tokenizer of {name!r} is empty ({len(tokenizer)} tokens): its files "
            f"are missing from {folder}."
        )
    return tokenizer


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """No loading bar and no log lines on stderr; afterwards all is as before.

    `set_verbosity_error()` without an end would also hide the report that says which
    weights a checkpoint did not have.
    """
    from transformers.utils import logging

    level, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(level)
        if bars:
            logging.enable_progress_bar()


# --- the Hub --------------------------------------------------------------------------


def _cached(repo: str) -> Path | None:
    """The snapshot of a repository in the local cache, if it is whole."""
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HFValidationError, LocalEntryNotFoundError

    try:
        folder = Path(snapshot_download(repo, local_files_only=True))
    except LocalEntryNotFoundError:
        return None
    except HFValidationError as error:
        raise CheckpointError(f"{repo!r} is not a name on the Hub: {error}") from None
    return folder if _complete(folder) and _has_tokenizer(folder) else None


def _fetched(repo: str) -> Path:
    """Download a repository, or say in one sentence why that does not work."""
    from huggingface_hub import constants

    cure = "unset COURSE_SOURCE to use the bundled checkpoints"
    if repo not in HUB.values():
        cure = "use the bundled checkpoint, 'encoder'"
    if constants.HF_HUB_OFFLINE:
        raise CheckpointError(
            f"{repo!r} is not on this machine, and HF_HUB_OFFLINE forbids fetching it: "
            f"unset that once with a network, or {cure}."
        )
    if not reachable(constants.ENDPOINT):
        raise CheckpointError(
            f"{repo!r} is not on this machine, and {constants.ENDPOINT} did not answer "
            f"within {PROBE} s: go online and run this again, or {cure}."
        )
    return _download(repo, cure)


def _download(repo: str, cure: str) -> Path:
    try:
        folder = Path(_in_a_child(repo))
    except _FetchError as error:
        raise CheckpointError(
            f"Fetching {repo!r} failed ({error}): try again, or {cure}."
        ) from None
    finally:
        _sweep(repo)
    if not _complete(folder):
        raise CheckpointError(f"{repo!r} has no weights in safetensors format.")
    if broken := _damaged(folder):
        broken.resolve().unlink()
        broken.unlink(missing_ok=True)
        raise CheckpointError(
            f"{repo!r} arrived damaged and was removed again: try once more, or {cure}."
        )
    return folder


class _FetchError(Exception):
    """Why a download failed, in a few words."""


# Small chunks, so that a slow network is seen to move.
CHILD = """
import json, sys
from huggingface_hub import constants, snapshot_download
constants.DOWNLOAD_CHUNK_SIZE = 1 << 15
repo, cache, endpoint, *wanted = sys.argv[1:]
try:
    print(json.dumps([snapshot_download(
        repo, cache_dir=cache, endpoint=endpoint, allow_patterns=wanted
    ), ""]))
except Exception as error:  # of five libraries, each with its own kinds
    reason = (str(error).strip().splitlines() or ["no reason given"])[0][:160]
    print(json.dumps(["", f"{type(error).__name__}: {reason}"]))
"""


def _in_a_child(repo: str) -> str:
    """Download a repository in a process that can be ended; returns its folder.

    The library waits, tries again and waits, for minutes, and can't be interrupted.

    Raises:
        _FetchError: it failed, or nothing arrived for `STALL` seconds.
    """
    from huggingface_hub import constants

    where = [constants.HF_HUB_CACHE, constants.ENDPOINT]
    more = {"HF_HUB_OFFLINE": "0", "HF_HUB_DISABLE_PROGRESS_BARS": "1"}
    more["PYTHONIOENCODING"] = "utf-8"
    more["HF_HUB_DISABLE_XET"] = "1"  # it may gather bytes elsewhere than in the cache
    child = subprocess.Popen(
        [sys.executable, "-c", CHILD, repo, *where, *WANTED],
        env=os.environ | more,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        encoding="utf-8",
    )
    with child:  # waits for its end, and closes the pipe
        try:
            _watch(child, repo)
        finally:
            child.kill()  # also when the student interrupts; no harm where it ended
        said = child.stdout.read()
    folder, reason = json.loads(said or '["", "the download ended without a word"]')
    if reason:
        raise _FetchError(reason)
    return folder


def _watch(child: subprocess.Popen, repo: str) -> None:
    """Wait for the end of a download, and tell how far it is."""
    size = arrived = _arrived(repo)
    moved = told = time.monotonic()
    while child.poll() is None:
        time.sleep(0.05)
        now = time.monotonic()
        if _arrived(repo) != size:
            size, moved = _arrived(repo), now
        if now - moved > STALL:
            raise _FetchError(f"nothing arrived for {STALL:g} s")
        if now - told > TELL:
            megabytes, told = (size - arrived) / 1e6, now
            print(
                f"Fetching {repo!r} from the Hub: {megabytes:.1f} MB so far.",
                flush=True,
            )


def _arrived(repo: str) -> int:
    """Bytes of a repository that lie in the cache."""
    size = 0
    for file in _cache_of(repo).glob("blobs/*"):
        with contextlib.suppress(OSError):  # it was renamed meanwhile
            size += file.stat().st_size
    return size


def _sweep(repo: str) -> None:
    """Remove what a failed download left half-written."""
    for part in _cache_of(repo).glob("blobs/*.incomplete"):
        part.unlink(missing_ok=True)


def _cache_of(repo: str) -> Path:
    from huggingface_hub import constants

    return Path(constants.HF_HUB_CACHE) / f"models--{repo.replace('/', '--')}"


def reachable(address: str, within: float = PROBE) -> bool:
    """Whether a server answers at all, asked in a thread: a name look-up can hang."""
    answers: list[bool] = []

    def ask() -> None:
        request = urllib.request.Request(address, method="HEAD")
        try:
            urllib.request.urlopen(request, timeout=within).close()
            answers.append(True)
        except urllib.error.HTTPError as error:
            answers.append(error.code < 500)
        except Exception:  # whatever kept it from answering
            pass

    thread = threading.Thread(target=ask, daemon=True)
    thread.start()
    thread.join(within)
    return any(answers)


# --- is it whole? ---------------------------------------------------------------------


def _complete(folder: Path) -> bool:
    """Whether a folder holds a configuration and weights."""
    weights = any((folder / name).exists() for name in WEIGHTS)
    return weights and (folder / "config.json").exists()


def _has_tokenizer(folder: Path) -> bool:
    names = ("tokenizer.json", "vocab.txt", "vocab.json", "spiece.model")
    return any((folder / name).exists() for name in names)


def _damaged(folder: Path) -> Path | None:
    """The first file of weights whose bytes are not what they should be, if any.

    In the Hub's cache a large file is a link to a blob that is named by its sha256.
    """
    for file in sorted(folder.glob("*.safetensors")):
        blob = file.resolve()
        named = blob.name if re.fullmatch("[0-9a-f]{64}", blob.name) else None
        if named and whole.sha256(blob) != named:
            return file
    return None
