"""Train the small GPT-2 that the course bundles, from the docstrings around it.

Stages, each resumable and each a sub-command of ``python -m tools.pretrain``:

    corpus       collect English prose from the docstrings of installed packages
    train        train the tokenizer, then the model; continues where it stopped
    export       write helpers/corpora/gpt2: fp16 weights, tokenizer, card, curve
    perplexity   recompute the held-out perplexity of the exported files

The packages' text is read with ``ast`` and never imported; it is not redistributed.
"""

from __future__ import annotations

import argparse
import ast
import functools
import hashlib
import inspect
import json
import math
import os
import re
import sysconfig
import tempfile
import textwrap
import time
import warnings
import zlib
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path

import torch
import torch.nn.functional as F
import transformers
from matplotlib.figure import Figure
from safetensors import safe_open
from safetensors.torch import load_file, save, save_file
from tokenizers import ByteLevelBPETokenizer, Tokenizer
from torch import Tensor
from tqdm import tqdm
from transformers import (
    AutoModelForCausalLM,
    AutoTokenizer,
    GPT2Config,
    GPT2LMHeadModel,
    GPT2Tokenizer,
    PreTrainedTokenizerBase,
)

END = "<|endoftext|>"  # between documents; the only special token, as in GPT-2
ROOT = Path(__file__).parents[1]
TARGET = ROOT / "helpers" / "corpora" / "gpt2"  # what the course bundles
BUILD = ROOT / "build" / "pretrain"  # corpus, tokens and checkpoints of a run
SITE = Path(sysconfig.get_paths()["purelib"])  # the packages of this environment
CHECKPOINT = "checkpoint.safetensors"  # weights, optimizers, random state, position


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


def write_atomically(file: Path, write: Callable[[Path], object]) -> None:
    """Call `write` with a temporary name, then rename: never a half-written file."""
    file.parent.mkdir(parents=True, exist_ok=True)
    temporary = file.with_name(file.name + ".tmp")
    write(temporary)
    os.replace(temporary, file)


def write_text(file: Path, text: str) -> None:
    """Write a text file in UTF-8, atomically."""
    write_atomically(file, lambda temporary: temporary.write_text(text, "utf-8"))


# --------------------------------------------------------------------- prose

FUNCTION_WORDS = frozenset(
    "a about after all also an and any are as at be because been before but by can do "
    "does each for from has have how if in into is it its may more most must no not of "
    "on one only or other out over same should so some such than that the their them "
    "then there these they this those to two under up used was we were what when where "
    "which while will with without would you your".split()
)
KEPT_DIRECTIVES = "note warning important tip hint caution seealso admonition".split()
PLAIN_WORD = re.compile(r"[A-Za-z]+(?:['-][A-Za-z]+)*\Z")
MIXED_CASE = re.compile(r"[a-z][A-Z]|[A-Za-z]\d|\d[A-Za-z]|[A-Z]{6}")
CODE_CHARACTERS = re.compile(r"[^A-Za-z0-9_ .,;:!?'\"()%&/-]|\b_|_\b")
DOTTED_NAME = re.compile(r"\w\.[A-Za-z_]|\w\(|\(\)|//|--|\.\.|\s[,.;:]|::|/\w*/")
SENTENCE_END = re.compile(r"(?<=[.!?])[\"')]*\s+(?=[\"'(]?[A-Z])")
ABBREVIATION = re.compile(r"(?:\b(?:[A-Z]|cf|vs|etc|al|Fig|Eq|Eqs|Ref|no|pp|resp))\.\Z")
PARAMETER = re.compile(
    r"^(?::\w+(?: +[^:]*)?:|[*`]*\w[\w.]*[*`]*(?: *\([^()]*(?:\([^()]*\)[^()]*)*\))? *:"
    r"|[*`]*\w+[*`]* *(?:\([^()]*\))? +--|@\w+ *\w*:) +"
)
BULLET = re.compile(r"^(?:[-*+•]|\(?\d+[.)]|\(?[a-z]\)|#\.) +")
MARKUP = (
    (re.compile(r"\[([^\]]+)\]\([^)\s]*\)"), r"\1"),  # [text](link)
    (re.compile(r":[\w:+.-]+:`[~!]?([^`<]*?)(?: *<[^`]*>)?`"), r"\1"),  # :role:`text`
    (re.compile(r"`([^`<]+?) *<[^`>]*>`_*"), r"\1"),  # `text <link>`_
    (re.compile(r" ?\[[#\w]+\]_"), ""),  # [1]_
    (re.compile(r"(?<![\w`])`{1,2}([^`]+)`{1,2}_{0,2}"), r"\1"),  # ``code``, `code`
    (re.compile(r"(?<![\w*])\*{1,2}([A-Za-z][^*]*?)\*{1,2}(?![\w*])"), r"\1"),  # *word*
    (re.compile(r"\be\.g\.,?"), "for example,"),
    (re.compile(r"\bi\.e\.,?"), "that is,"),
    (re.compile(r"[‘’]"), "'"),
    (re.compile(r"[“”]"), '"'),
    (re.compile(r"[–—]| -- "), " - "),
    (re.compile(r"\s+"), " "),
)


def strip_blocks(docstring: str) -> list[str]:
    """Lines of a docstring without code blocks, directives, doctests and rules."""
    lines: list[str] = []
    skip_deeper_than: int | None = None  # indentation of a block being dropped
    fenced = doctest = False
    for line in inspect.cleandoc(docstring).expandtabs().splitlines():
        text, indent = line.strip(), len(line) - len(line.lstrip())
        if text.startswith(("```", "~~~")):
            fenced = not fenced
            continue
        if skip_deeper_than is not None and text and indent <= skip_deeper_than:
            skip_deeper_than = None
        doctest = bool(text) and (doctest or text.startswith((">>>", "In [", "$ ")))
        if fenced or doctest or (skip_deeper_than is not None and text):
            continue
        if match := re.match(r"\.\. *([\w-]+)::", text):
            if match[1] not in KEPT_DIRECTIVES:
                skip_deeper_than = indent
            line = ""
        elif text.startswith(".. "):
            line, skip_deeper_than = "", indent
        elif text.endswith("::"):
            line, skip_deeper_than = line.rstrip()[:-1], indent
        elif re.fullmatch(r"[-=~^+|*#\"_:. ]{3,}", text):
            lines[-1:] = [""]  # an underlined heading, or a rule of a table
            line = ""
        lines.append(line)
    return lines


def paragraphs(lines: list[str]) -> Iterator[str]:
    """Runs of lines at one indentation, without bullets and parameter names."""
    block: list[str] = []
    last_indent = 0
    for line in [*lines, ""]:
        text, indent = line.strip(), len(line) - len(line.lstrip())
        bare = PARAMETER.sub("", BULLET.sub("", text))
        if block and (not text or bare != text or indent != last_indent):
            if not (text and bare == text and len(block) == 1 and indent > last_indent):
                yield " ".join(block)
                block = []
            elif not re.search(r"\w{3,} \w+ \w+", block[0]):
                block = []  # a term of a definition list: its text starts here
        if text:
            block.append(bare)
        last_indent = indent


def strip_markup(text: str) -> str:
    """Plain text of one paragraph of reStructuredText or Markdown."""
    for pattern, replacement in MARKUP:
        text = pattern.sub(replacement, text)
    return text.strip()


def sentences(text: str) -> list[str]:
    """Split at full stops before a capital, but not after an abbreviation."""
    pieces: list[str] = []
    for piece in SENTENCE_END.split(text):
        if pieces and ABBREVIATION.search(pieces[-1]):
            pieces[-1] += " " + piece
        else:
            pieces.append(piece)
    return pieces


def is_english(sentence: str) -> bool:
    """True for an ordinary English sentence: words, few symbols, function words."""
    if not re.match(r"[A-Z]", sentence) or sentence[-1] not in ".!?":
        return False
    if CODE_CHARACTERS.search(sentence) or DOTTED_NAME.search(sentence):
        return False
    words = [word.strip(".,;:!?'\"()%") for word in sentence.split()]
    if not 5 <= len(words) <= 60 or sentence.count("(") != sentence.count(")"):
        return False
    plain = sum(bool(PLAIN_WORD.match(w)) and not MIXED_CASE.search(w) for w in words)
    function = sum(word.lower() in FUNCTION_WORDS for word in words)
    return plain >= 0.9 * len(words) and function >= 0.25 * len(words)


def prose(docstring: str) -> Iterator[str]:
    """Paragraphs of English prose: two sentences or more, or one of 10 words."""
    for paragraph in paragraphs(strip_blocks(docstring)):
        run: list[str] = []
        for sentence in [*sentences(strip_markup(paragraph)), ""]:
            if sentence and is_english(sentence):
                run.append(sentence)
                continue
            if len(run) > 1 or len(" ".join(run).split()) >= 10:
                yield " ".join(run)
            run = []


# -------------------------------------------------------------------- corpus


def docstrings(source: str) -> Iterator[str]:
    """Every bare string of a module, and the texts given to add_newdoc and its kin."""
    if source.count('"""') + source.count("'''") < 2:
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            tree = ast.parse(source)
        except (SyntaxError, ValueError, RecursionError):
            return
    for node in ast.walk(tree):
        values = [node.value] if isinstance(node, ast.Expr) else []
        if isinstance(node, ast.Call) and "doc" in ast.unparse(node.func)[-12:]:
            values = node.args
        for value in values:
            if isinstance(value, ast.Constant) and isinstance(value.value, str):
                yield value.value


@dataclass(frozen=True)
class Package:
    """One installed distribution: its name, version and Python files."""

    name: str
    version: str
    files: tuple[Path, ...]


def installed_packages(site: Path) -> list[Package]:
    """Distributions below a site-packages folder, by name, without vendored copies."""
    found = {}
    for distribution in metadata.distributions(path=[str(site)]):
        files = (
            Path(distribution.locate_file(file))
            for file in distribution.files or []
            if file.suffix == ".py" and not {"..", "_vendor"} & set(file.parts)
        )
        name = distribution.name.lower().replace("_", "-")
        found[name] = Package(name, distribution.version, tuple(sorted(files)))
    return [found[name] for name in sorted(found) if found[name].files]


def is_held_out(name: str, one_in: int) -> bool:
    """Whether a package belongs to the held-out split: a hash of its name decides."""
    return int(hashlib.sha256(name.encode()).hexdigest(), 16) % one_in == 0


def documents(package: Package) -> Iterator[list[str]]:
    """The paragraphs of prose of each docstring of a package, in file order."""
    for file in package.files:
        try:
            source = file.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            continue
        for docstring in docstrings(source):
            if document := list(prose(docstring)):
                yield document


class Novelty:
    """Tells new paragraphs from copies: half of their 6-word runs seen means a copy."""

    def __init__(self):
        self.seen: set[int] = set()

    def __call__(self, paragraph: str) -> bool:
        """True, and remembered, when the paragraph is new."""
        words = re.findall(r"\w+", paragraph.lower())
        runs = {
            zlib.crc32(" ".join(words[i : i + 6]).encode())
            for i in range(max(1, len(words) - 5))
        }
        new = len(runs & self.seen) * 2 < len(runs)
        self.seen |= runs
        return new


def new_documents(packages: list[Package], one_in: int) -> Iterator[dict]:
    """The documents of all packages, each paragraph once, with their split."""
    novelty = Novelty()
    for package in tqdm(packages, desc="corpus", unit=" packages"):
        for document in documents(package):
            if kept := [paragraph for paragraph in document if novelty(paragraph)]:
                yield {
                    "package": package.name,
                    "version": package.version,
                    "held_out": is_held_out(package.name, one_in),
                    "paragraphs": kept,
                }


def build_corpus(folder: Path, site: Path, settings: Settings) -> None:
    """Write corpus.jsonl, one document per line, packages by name."""

    def write(file: Path) -> None:
        with open(file, "w", encoding="utf-8") as out:
            for row in new_documents(
                installed_packages(site), settings.held_out_one_in
            ):
                out.write(json.dumps(row) + "\n")

    write_atomically(folder / "corpus.jsonl", write)


def read_corpus(folder: Path) -> list[dict]:
    """The documents that `corpus` wrote."""
    file = folder / "corpus.jsonl"
    if not file.exists():
        raise SystemExit(f"{file} is missing: run the `corpus` stage first.")
    return [json.loads(line) for line in file.read_text("utf-8").splitlines()]


def document_text(paragraphs: list[str]) -> str:
    """A document as the model sees it: END, then one line per paragraph."""
    return END + "\n".join(paragraphs)


# ------------------------------------------------------------------ tokenizer


def build_tokenizer(folder: Path, settings: Settings) -> None:
    """Train the byte-level BPE on the training documents and write tokenizer.json."""
    bpe = ByteLevelBPETokenizer()
    texts = [
        "\n".join(d["paragraphs"]) for d in read_corpus(folder) if not d["held_out"]
    ]
    bpe.train_from_iterator(
        texts, settings.vocab_size, special_tokens=[END], show_progress=False
    )
    write_atomically(folder / "tokenizer.json", lambda file: bpe.save(str(file)))


def build_tokens(folder: Path) -> None:
    """Write tokens.safetensors: `train` and `held_out`, each one row of token ids."""
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    corpus = read_corpus(folder)
    tokens = {}
    for name, held_out in ("train", False), ("held_out", True):
        texts = [
            document_text(d["paragraphs"]) for d in corpus if d["held_out"] == held_out
        ]
        ids = [i for row in tokenizer.encode_batch(texts) for i in row.ids]
        tokens[name] = torch.tensor(ids, dtype=torch.uint16)
    write_atomically(
        folder / "tokens.safetensors", lambda file: save_file(tokens, file)
    )


# ------------------------------------------------------------------- training


def build_model(settings: Settings) -> GPT2LMHeadModel:
    """A plain GPT-2 of transformers, with fresh weights from the seed."""
    torch.manual_seed(settings.seed)
    config = GPT2Config(
        vocab_size=settings.vocab_size,
        n_positions=settings.context,
        n_embd=settings.d_model,
        n_layer=settings.num_layers,
        n_head=settings.num_heads,
        embd_pdrop=settings.dropout,
        attn_pdrop=0.0,
        resid_pdrop=settings.dropout,
        bos_token_id=0,
        eos_token_id=0,
    )
    return GPT2LMHeadModel(config)


def build_optimizers(model: GPT2LMHeadModel, settings: Settings) -> list:
    """Muon for the matrices of the blocks, AdamW for all else."""
    inside = [p for n, p in model.named_parameters() if ".h." in n and p.ndim == 2]
    outside = [p for n, p in model.named_parameters() if ".h." not in n and p.ndim == 2]
    vectors = [p for p in model.parameters() if p.ndim == 1]
    groups = [
        {"params": outside, "weight_decay": settings.weight_decay},
        {"params": vectors, "weight_decay": 0.0},
    ]
    return [
        torch.optim.Muon(
            inside, lr=settings.muon_rate, weight_decay=settings.weight_decay
        ),
        torch.optim.AdamW(groups, lr=settings.learning_rate, betas=(0.9, 0.95)),
    ]


def rate(step: int, settings: Settings) -> float:
    """Share of the peak rate at a step: rise, constant, straight line down to zero."""
    rise = step / max(1, settings.warmup_steps)
    fall = (settings.steps - step) / max(1, settings.decay * settings.steps)
    return min(1.0, rise, fall)


@functools.lru_cache(maxsize=1)
def row_starts(length: int, context: int, epoch: int, seed: int) -> Tensor:
    """Where the rows of an epoch start, in shuffled order; every epoch is shifted."""
    generator = torch.Generator().manual_seed(seed * 1_000_003 + epoch)
    shift = int(torch.randint(context, (1,), generator=generator))
    starts = torch.arange(shift, length - context, context)
    return starts[torch.randperm(len(starts), generator=generator)]


def batch_at(step: int, tokens: Tensor, settings: Settings) -> Tensor:
    """The token ids of a step, (B, T + 1): a function of the step and nothing else."""
    length, context, size = len(tokens), settings.context, settings.batch_size
    per_epoch = (length - 2 * context) // context // size
    epoch, position = divmod(step, per_epoch)
    starts = row_starts(length, context, epoch, settings.seed)
    starts = starts[position * size : (position + 1) * size]  # (B,)
    return tokens[starts[:, None] + torch.arange(context + 1)].long()


def token_losses(model: GPT2LMHeadModel, rows: Tensor) -> Tensor:
    """Negative log-likelihood in nats of every token but the first, (B, T)."""
    logits = model(input_ids=rows[:, :-1], use_cache=False).logits.float()  # (B, T, V)
    return F.cross_entropy(logits.mT, rows[:, 1:], reduction="none")


def held_out_rows(tokens: Tensor, settings: Settings) -> Tensor:
    """Evenly spaced rows of the held-out tokens, (evaluate_rows, T + 1)."""
    last = len(tokens) - settings.context - 1
    starts = torch.linspace(0, last, settings.evaluate_rows).long()
    return tokens[starts[:, None] + torch.arange(settings.context + 1)].long()


def read_checkpoint(folder: Path) -> tuple[dict, dict[str, Tensor]]:
    """State (settings, step, seconds, curve) and tensors of the last checkpoint."""
    file = folder / CHECKPOINT
    if not file.exists():
        raise SystemExit(f"{file} is missing: run the `train` stage first.")
    with safe_open(file, "pt") as checkpoint:
        tensors = {name: checkpoint.get_tensor(name) for name in checkpoint.keys()}
        return json.loads(checkpoint.metadata()["state"]), tensors


class Trainer:
    """The model, its optimizers and the position in the run; all of it can be saved."""

    def __init__(self, folder: Path, settings: Settings):
        self.folder, self.settings = folder, settings
        self.model = build_model(settings)
        self.optimizers = build_optimizers(self.model, settings)
        self.peaks = [[g["lr"] for g in o.param_groups] for o in self.optimizers]
        with safe_open(folder / "tokens.safetensors", "pt") as tokens:
            self.train_tokens = tokens.get_tensor("train").int()
            held_out = tokens.get_tensor("held_out").int()
        self.held_out = held_out_rows(held_out, settings)
        self.step, self.seconds, self.curve = 0, 0.0, []

    def update(self) -> float:
        """One step of training; returns its loss in nats per token."""
        share = rate(self.step + 1, self.settings)
        for optimizer, peaks in zip(self.optimizers, self.peaks, strict=True):
            for group, peak in zip(optimizer.param_groups, peaks, strict=True):
                group["lr"] = peak * share
        rows = batch_at(self.step, self.train_tokens, self.settings)
        self.model.train()
        with self.autocast():
            loss = token_losses(self.model, rows).mean()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), self.settings.clip)
        for optimizer in self.optimizers:
            optimizer.step()
            optimizer.zero_grad()
        self.step += 1
        return loss.item()

    @torch.no_grad()
    def evaluate(self) -> float:
        """Mean loss on the held-out rows, in nats per token."""
        self.model.eval()
        with self.autocast():
            losses = [token_losses(self.model, r) for r in self.held_out.split(16)]
        return torch.cat(losses).mean().item()

    def record(self, loss: float) -> None:
        """Add a point to the curve, and write the curve as JSON lines."""
        point = {"step": self.step, "train": loss, "held_out": self.evaluate()}
        self.curve.append(point | {"seconds": round(self.seconds)})
        lines = "".join(json.dumps(point) + "\n" for point in self.curve)
        write_text(self.folder / "curve.jsonl", lines)

    def autocast(self) -> torch.autocast:
        """Matrix products in bfloat16 where the settings ask for it."""
        return torch.autocast("cpu", torch.bfloat16, enabled=self.settings.bfloat16)

    def save(self) -> None:
        """Write tensors and position as one file, so that they always fit together."""
        tensors = {f"model.{n}": p.data for n, p in self.model.named_parameters()}
        tensors["rng"] = torch.get_rng_state()
        for number, optimizer in enumerate(self.optimizers):
            for index, state in optimizer.state_dict()["state"].items():
                for name, value in state.items():
                    tensors[f"optimizer.{number}.{index}.{name}"] = value
        state = {
            "settings": asdict(self.settings),
            "step": self.step,
            "seconds": self.seconds,
            "curve": self.curve,
        }
        write_atomically(
            self.folder / CHECKPOINT,
            lambda file: save_file(tensors, file, {"state": json.dumps(state)}),
        )

    def load(self) -> None:
        """Continue from the checkpoint: the next step is what it would have been."""
        state, tensors = read_checkpoint(self.folder)
        if changed := self.changed_settings(state):
            raise SystemExit(
                f"{self.folder} was trained with another {', '.join(changed)}: "
                "use the old settings or an empty folder."
            )
        for name, parameter in self.model.named_parameters():
            parameter.data.copy_(tensors[f"model.{name}"])
        for number, optimizer in enumerate(self.optimizers):
            restored: dict[int, dict[str, Tensor]] = {}
            for name, value in tensors.items():
                if name.startswith(f"optimizer.{number}."):
                    index, key = name.split(".")[2:]
                    restored.setdefault(int(index), {})[key] = value
            optimizer.load_state_dict(optimizer.state_dict() | {"state": restored})
        torch.set_rng_state(tensors["rng"])
        self.step, self.seconds = state["step"], state["seconds"]
        self.curve = state["curve"]

    def changed_settings(self, state: dict) -> list[str]:
        """Settings unlike the checkpoint's, but for an end that is still open.

        While the rate is constant, every step was the same under other plans for the
        end: `steps` and `decay` may change.
        """
        old, new = state["settings"], asdict(self.settings)
        changed = [name for name in new if old.get(name) != new[name]]
        open_end = all(
            state["step"] <= (1 - plan["decay"]) * plan["steps"] for plan in (old, new)
        )
        return [n for n in changed if n not in ("steps", "decay") or not open_end]


def train(folder: Path, settings: Settings, minutes: float = math.inf) -> Trainer:
    """Train to the planned step, or for some minutes; continue where it stopped."""
    trainer = Trainer(folder, settings)
    if (folder / CHECKPOINT).exists():
        trainer.load()
    started, before = time.monotonic(), trainer.seconds
    bar = tqdm(total=settings.steps, initial=trainer.step, desc="train", unit=" steps")
    while trainer.step < settings.steps and trainer.seconds - before < minutes * 60:
        loss = trainer.update()
        bar.update()
        trainer.seconds = before + time.monotonic() - started
        last = trainer.step == settings.steps
        if last or trainer.step % settings.evaluate_every == 0:
            trainer.record(loss)
            bar.set_postfix(trainer.curve[-1])
        if trainer.step % settings.checkpoint_every == 0:
            trainer.save()
    trainer.save()
    bar.close()
    return trainer


# --------------------------------------------------------------------- export

PROMPTS = (
    "The first argument is",
    "If the file does not exist,",
    "This class is used to",
    "When the model is trained,",
    "You can change the",
    "In this example,",
)


def digest(paragraph: str) -> str:
    """A short fingerprint: names a paragraph without giving its text away."""
    return hashlib.sha256(paragraph.encode()).hexdigest()[:12]


def export_model(folder: Path, target: Path) -> None:
    """Write config.json, generation_config.json and model.safetensors in float16."""
    state, tensors = read_checkpoint(folder)
    model = build_model(Settings(**state["settings"]))
    for name, parameter in model.named_parameters():
        parameter.data.copy_(tensors[f"model.{name}"])
    with tempfile.TemporaryDirectory(dir=target) as temporary:
        model.save_pretrained(temporary)  # config.json says float32: computes in that
        weights = load_file(Path(temporary, "model.safetensors"))
        halves = save({name: w.half() for name, w in weights.items()}, {"format": "pt"})
        for file in Path(temporary).glob("*.json"):
            os.replace(file, target / file.name)
    write_atomically(
        target / "model.safetensors", lambda file: file.write_bytes(halves)
    )


def export_tokenizer(folder: Path, target: Path, settings: Settings) -> None:
    """Write tokenizer.json and tokenizer_config.json, as a GPT2Tokenizer."""
    bpe = json.loads((folder / "tokenizer.json").read_text("utf-8"))["model"]
    tokenizer = GPT2Tokenizer(
        vocab=bpe["vocab"],
        merges=[tuple(pair) for pair in bpe["merges"]],
        model_max_length=settings.context,
    )
    tokenizer.save_pretrained(target)


def load_exported(target: Path) -> tuple[GPT2LMHeadModel, PreTrainedTokenizerBase]:
    """The exported model, in float32 and evaluation mode, and its tokenizer."""
    if not (target / "model.safetensors").exists():
        raise SystemExit(f"{target} holds no model: run the `export` stage first.")
    model = AutoModelForCausalLM.from_pretrained(target, dtype=torch.float32)
    return model.eval(), AutoTokenizer.from_pretrained(target)


@torch.no_grad()
def perplexity(model: GPT2LMHeadModel, tokens: Tensor) -> float:
    """exp(mean nats per token), each predicted once from the tokens before it.

    Rows of T tokens stand side by side, so a prediction sees at most T tokens and on
    average T / 2. The very first token is not predicted.
    """
    context = model.config.n_positions
    starts = range(0, len(tokens) - 1, context)
    rows = [tokens[None, start : start + context + 1] for start in starts]  # (1, T + 1)
    model.eval()
    losses = [
        token_losses(model, row).flatten()
        for row in tqdm(rows, desc="perplexity", unit=" rows", leave=False)
    ]
    return torch.cat(losses).mean().exp().item()


def measure(target: Path, held_out: list[list[str]]) -> dict:
    """Perplexity of the exported files on documents, and the units it stands on."""
    model, tokenizer = load_exported(target)
    texts = [document_text(paragraphs) for paragraphs in held_out]
    ids = [i for row in tokenizer(texts, verbose=False)["input_ids"] for i in row]
    value = perplexity(model, torch.tensor(ids))
    characters = sum(len(text) - len(END) for text in texts)
    return {
        "perplexity": round(value, 3),
        "bits_per_character": round(math.log2(value) * (len(ids) - 1) / characters, 3),
        "held_out_tokens": len(ids),
        "held_out_characters": characters,
    }


def write_samples(target: Path, seed: int = 0) -> list[str]:
    """One unedited continuation per prompt: temperature 0.8 among the 40 likeliest."""
    model, tokenizer = load_exported(target)
    torch.manual_seed(seed)
    samples = []
    for prompt in PROMPTS:
        ids = model.generate(
            **tokenizer(prompt, return_tensors="pt"),
            max_new_tokens=60,
            do_sample=True,
            temperature=0.8,
            top_k=40,
            pad_token_id=tokenizer.eos_token_id,
        )
        samples.append(tokenizer.decode(ids[0], skip_special_tokens=True))
    return samples


def record(folder: Path, target: Path) -> dict:
    """All that the card says, measured on the exported files, for training.json."""
    state, _ = read_checkpoint(folder)
    corpus = read_corpus(folder)
    held_out = [row["paragraphs"] for row in corpus if row["held_out"]]
    learned = [row["paragraphs"] for row in corpus if not row["held_out"]]
    with safe_open(folder / "tokens.safetensors", "pt") as tokens:
        train_tokens = tokens.get_slice("train").get_shape()[0]
    model, _ = load_exported(target)
    return {
        "settings": state["settings"],
        "step": state["step"],
        "minutes": round(state["seconds"] / 60, 1),
        "parameters": model.num_parameters(),
        "train_documents": len(learned),
        "train_characters": sum(len(text) for row in learned for text in row),
        "train_tokens": train_tokens,
        "held_out_documents": len(held_out),
        **measure(target, held_out),
        "curve": state["curve"],
        "samples": write_samples(target),
        "packages": {r["package"]: r["version"] for r in corpus if not r["held_out"]},
        "held_out_packages": {
            r["package"]: r["version"] for r in corpus if r["held_out"]
        },
        "held_out_paragraphs": [digest(text) for row in held_out for text in row],
    }


def draw_curve(curve: list[dict], file: Path) -> None:
    """Training and held-out loss against the steps, as a PNG."""
    figure = Figure(figsize=(7, 4), dpi=100, layout="constrained")
    axes = figure.subplots()
    steps = [point["step"] for point in curve]
    axes.plot(steps, [p["train"] for p in curve], ":", label="training batch")
    axes.plot(steps, [p["held_out"] for p in curve], "-", label="held-out rows")
    axes.set(xlabel="step", ylabel="loss in nats per token")
    axes.grid(alpha=0.3)
    axes.legend()
    figure.savefig(file, format="png", metadata={"Software": None})


CARD = """\
---
license: apache-2.0
language: en
library_name: transformers
pipeline_tag: text-generation
---

# A very small GPT-2, trained on docstrings

A GPT-2 of {millions:.1f} million parameters (the smallest GPT-2 of OpenAI has 124
million), made by `tools/pretrain.py` for the lessons about text generation, so that
they run without a network. It is the architecture of GPT-2 in every detail: learned
positions, pre-norm blocks, `gelu_new`, tied embeddings, byte-level BPE.

```python
from transformers import AutoModelForCausalLM, AutoTokenizer

folder = "helpers/corpora/gpt2"
tokenizer = AutoTokenizer.from_pretrained(folder)
model = AutoModelForCausalLM.from_pretrained(folder)
```

## What was measured

| | |
|---|---|
| parameters | {parameters:,}: {num_layers} blocks, d_model {d_model}, \
{num_heads} heads |
| context | {context} tokens |
| vocabulary | {vocab_size:,} tokens, `<|endoftext|>` among them; no padding token |
| training text | {train_documents:,} docstrings, {train_characters:,} characters, \
{train_tokens:,} tokens |
| training | {step:,} of {steps:,} steps of {step_tokens:,} tokens: \
{epochs:.1f} passes, {minutes:.0f} minutes by the clock, one thread |
| held-out text | {held_out_documents:,} docstrings, {held_out_characters:,} \
characters, {held_out_tokens:,} tokens, of packages never trained on |
| **held-out perplexity** | **{perplexity:.2f}** per token, \
{bits_per_character:.3f} bits per character |

Optimizers: Muon for the matrices of the blocks, AdamW for all else; {warmup_steps}
steps of warm-up, a constant rate, and a straight line to zero over the last
{decay:.0%}. All settings are in `training.json`.

![training and held-out loss against the steps](loss_curve.png)

The held-out curve uses {evaluate_rows} rows; the perplexity in the table uses all
held-out tokens and the float16 weights of this folder. To compute it again:

    python -m tools.pretrain perplexity

The command reads the held-out packages that are installed. `training.json` lists the
fingerprints of the paragraphs, so it can tell which of them another version lacks.

## What it writes

Temperature 0.8 among the 40 likeliest tokens, seed 0, not edited or chosen; the prompt
is in bold.

{samples}

## What it was trained on

English prose from the docstrings of installed Python packages, read with `ast`:
sentences only; code, tables, formulas, signatures and near copies are filtered out. The
text belongs to the authors of the packages and is not part of this folder.

Held out (one package in {held_out_one_in}, chosen by a hash of its name):
{held_out_list}.

Trained on:
{package_list}.

## What it is not

It has seen the language of software manuals and nothing else. It knows no facts,
follows no instructions, and makes statements about functions that do not exist. It is
made for looking inside a language model, not for using its answers.
"""


def quote(prompt: str, sample: str) -> str:
    """A sample as a Markdown quotation with its prompt in bold."""
    rest = sample.removeprefix(prompt).strip("\n").replace("\n", "\n>\n> ")
    return f"> **{prompt}**{rest}\n"


def card(facts: dict) -> str:
    """The model card, from the facts in training.json."""
    settings = facts["settings"]
    step_tokens = settings["batch_size"] * settings["context"]

    def names(packages: dict) -> str:
        text = ", ".join(f"{name} {version}" for name, version in packages.items())
        return textwrap.fill(text, 88, break_on_hyphens=False)

    samples = "\n".join(map(quote, PROMPTS, facts["samples"]))
    return CARD.format(
        **settings | facts | {"samples": samples},
        millions=facts["parameters"] / 1e6,
        step_tokens=step_tokens,
        epochs=facts["step"] * step_tokens / facts["train_tokens"],
        held_out_list=names(facts["held_out_packages"]),
        package_list=names(facts["packages"]),
    )


def export(folder: Path, target: Path) -> None:
    """Write everything that the course bundles, measured on what was written."""
    target.mkdir(parents=True, exist_ok=True)
    state, _ = read_checkpoint(folder)
    export_model(folder, target)
    export_tokenizer(folder, target, Settings(**state["settings"]))
    facts = record(folder, target)
    write_text(target / "training.json", json.dumps(facts, indent=1) + "\n")
    write_text(target / "README.md", card(facts))
    write_atomically(
        target / "loss_curve.png", lambda file: draw_curve(facts["curve"], file)
    )


# ----------------------------------------------------------------- perplexity


def version_notes(expected: dict[str, str], installed: dict[str, str]) -> list[str]:
    """One sentence for each held-out package whose text may not be the card's."""
    return [
        f"{name} is not installed: the card used {version}."
        if name not in installed
        else f"{name} {installed[name]} is installed: the card used {version}."
        for name, version in expected.items()
        if installed.get(name) != version
    ]


def held_out_documents(facts: dict, packages: list[Package]) -> list[list[str]]:
    """The card's held-out paragraphs, as far as the installed packages hold them."""
    wanted = set(facts["held_out_paragraphs"])
    found = []
    for package in packages:
        if package.name in facts["held_out_packages"]:
            for document in documents(package):
                unique = dict.fromkeys(document)  # a later copy was not new then
                kept = [text for text in unique if digest(text) in wanted]
                wanted -= set(map(digest, kept))
                found += [kept] if kept else []
    return found


def recompute(target: Path, site: Path) -> bool:
    """Print the perplexity of the exported files beside the card's; say if they agree.

    With the same text, the two agree to 1 %: they differ by rounding alone.
    """
    if not (target / "training.json").exists():
        raise SystemExit(
            f"{target} holds no training.json: run the `export` stage first."
        )
    facts = json.loads((target / "training.json").read_text("utf-8"))
    packages = installed_packages(site)
    installed = {package.name: package.version for package in packages}
    for note in version_notes(facts["held_out_packages"], installed):
        print(note)
    found = held_out_documents(facts, packages)
    if not found:
        raise SystemExit("None of the held-out text is installed: nothing to measure.")
    value = measure(target, found)["perplexity"]
    count, total = sum(map(len, found)), len(facts["held_out_paragraphs"])
    print(f"{count:,} of the card's {total:,} held-out paragraphs are installed.")
    print(
        f"Held-out perplexity: {value:.2f} (the card says {facts['perplexity']:.2f})."
    )
    return count < total or math.isclose(value, facts["perplexity"], rel_tol=0.01)


# -------------------------------------------------------------------- command


def prepare(folder: Path, site: Path, settings: Settings) -> None:
    """Build corpus, tokenizer and tokens where they are missing."""
    if not (folder / "corpus.jsonl").exists():
        build_corpus(folder, site, settings)
    if not (folder / "tokenizer.json").exists():
        build_tokenizer(folder, settings)
    if not (folder / "tokens.safetensors").exists():
        build_tokens(folder)


def main(arguments: list[str] | None = None) -> None:
    """Run one stage; `train` runs what is missing before it."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.pretrain",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    stages = ["corpus", "train", "export", "perplexity"]
    add("stage", nargs="?", default="train", choices=stages, help="default: train")
    add("--folder", type=Path, default=BUILD, help="where a run keeps its files")
    add("--target", type=Path, default=TARGET, help="where the checkpoint is written")
    add("--site", type=Path, default=SITE, help="the site-packages folder to read")
    add("--steps", type=int, default=Settings.steps, help="planned steps of training")
    add("--minutes", type=float, default=math.inf, help="stop for now after so many")
    options = parser.parse_args(arguments)
    if options.steps < 1:
        raise SystemExit(f"--steps is {options.steps}: give at least 1.")
    if not options.site.is_dir():
        raise SystemExit(f"--site is {options.site}, which is no folder: give another.")
    settings = Settings(steps=options.steps)
    transformers.utils.logging.disable_progress_bar()
    torch.set_num_threads(1)
    if options.stage in ("corpus", "train"):
        prepare(options.folder, options.site, settings)
    if options.stage == "train":
        train(options.folder, settings, options.minutes)
    if options.stage == "export":
        export(options.folder, options.target)
    if options.stage == "perplexity" and not recompute(options.target, options.site):
        raise SystemExit("The text is the card's, but the perplexity is another.")


if __name__ == "__main__":
    main()
