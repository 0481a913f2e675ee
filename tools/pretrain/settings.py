"""What shapes a run, where it keeps its files, and how files are written."""

import os
import sysconfig
from collections.abc import Callable
from dataclasses import dataclass, fields
from pathlib import Path

END = "<|endoftext|>"  # between documents; the only special token, as in GPT-2
ROOT = Path(__file__).parents[2]
TARGET = ROOT / "helpers" / "corpora" / "gpt2"  # what the course bundles
STORYTELLER = ROOT / "helpers" / "corpora" / "storyteller"
GUESSER = ROOT / "helpers" / "corpora" / "guesser"
BUILD = ROOT / "build" / "pretrain"  # corpus, tokens and checkpoints of a run
SITE = Path(sysconfig.get_paths()["purelib"])  # the packages of this environment


@dataclass(frozen=True)
class Settings:
    """Everything that shapes the result: equal settings and packages, equal curve."""

    vocab_size: int = 4096  # tokens of the byte-level BPE, END included
    context: int = 256  # positions of the model, and tokens of a training row
    d_model: int = 256  # width of the residual stream
    num_layers: int = 4  # blocks
    num_heads: int = 4  # heads per block, d_head 64 as in GPT-2
    dropout: float = 0.1  # on embeddings and both residuals; none on attention
    batch_size: int = 16  # rows per step: 16 x 256 = 4,096 tokens
    steps: int = 1600  # planned updates; the schedule ends there
    learning_rate: float = 3e-3  # peak, for AdamW: embeddings, biases, layer norms
    muon_rate: float = 0.02  # peak, for Muon: the matrices inside the blocks
    weight_decay: float = 0.1  # of matrices; biases and layer norms have none
    warmup_steps: int = 100  # with a rising rate
    decay: float = 0.16  # share of the steps, the last, with a falling rate
    clip: float = 1.0  # largest norm of the gradient
    bfloat16: bool = True  # autocast; twice as fast where the CPU has the instructions
    evaluate_every: int = 100  # steps between two points of the curve
    evaluate_rows: int = 64  # held-out rows for such a point (the card uses them all)
    checkpoint_every: int = 100  # steps; a kill repeats at most that many
    held_out_one_in: int = 10  # one package in ten is never trained on
    seed: int = 0  # of weights, data order and dropout


@dataclass(frozen=True)
class StorySettings(Settings):
    """The storyteller: a GPT-2 that has read the story world, or books, or both."""

    text: str = "world"  # or "books", or "both"
    stories: int = 200_000  # told for training; about 36 million tokens
    d_model: int = 192
    vocab_size: int = 3584
    num_heads: int = 8
    dropout: float = 0.0  # no story is read more than twice
    steps: int = 100_000  # at most; the held-out curve or the clock ends it before
    decay: float = 0.35  # at the constant rate the curve is flat long before
    evaluate_every: int = 200
    checkpoint_every: int = 200
    learning_rate: float = 4e-3
    muon_rate: float = 4e-3  # of our Muon, whose steps are as large as those of AdamW
    patience: int = 8  # points of the curve over which the loss has to fall
    least_gain: float = 0.005  # by so many nats, or the rate begins to fall


@dataclass(frozen=True)
class GuesserSettings(StorySettings):
    """The guesser: a BERT that fills in masked words, in stories and in scenes."""

    text: str = "scenes"  # it is asked about more than the story world knows
    context: int = 64  # short rows, whole sentences: it is asked about one sentence
    stories: int = 30_000  # every epoch hides other words of them
    dropout: float = 0.1  # a pattern of scenes is read again and again
    steps: int = 4_300
    decay: float = 0.65  # at the constant rate it forgets the stories
    batch_size: int = 64
    d_model: int = 192
    vocab_size: int = 7168
    num_heads: int = 6
    masked: float = 0.25  # share of the tokens to be guessed; BERT: 0.15, more slowly


def settings_of(state: dict) -> Settings:
    """The settings that a checkpoint or a card was made with, in their own class."""
    names = state["settings"].keys()
    kinds = (Settings, StorySettings, GuesserSettings)
    kind = next(k for k in kinds if {f.name for f in fields(k)} == names)
    return kind(**state["settings"])


def write_atomically(file: Path, write: Callable[[Path], object]) -> None:
    """Call `write` with a temporary name, then rename: never a half-written file."""
    file.parent.mkdir(parents=True, exist_ok=True)
    temporary = file.with_name(file.name + ".tmp")
    write(temporary)
    os.replace(temporary, file)


def write_text(file: Path, text: str) -> None:
    """Write a text file in UTF-8, atomically."""
    write_atomically(file, lambda temporary: temporary.write_text(text, "utf-8"))
