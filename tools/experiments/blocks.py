"""GPT-2's block against today's, at equal parameters, on the stories of our own world.

    python -m tools.experiments blocks --seeds 0 1 2

Each side takes the best of four learning rates, tried with seed 0; then one part at a
time goes back to GPT-2's, at the rate that is best for today's. Every finished training
is kept in build/experiments/blocks and not repeated, so the command goes on where it
was stopped; a training that is stopped half-way begins again. There are 30 trainings of
1,500 steps, of about a third of a second each on one core: some four hours. What a step
of either side costs is measured apart from them, by turns, so that the machine may be
busy with other work meanwhile.
"""

import hashlib
import json
import math
import statistics
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from safetensors.torch import load_file
from tokenizers import Tokenizer
from torch import Tensor, nn

from helpers.experiments.taken_back import PARTS, at_size
from helpers.models.gpt import GPT, GPTConfig
from helpers.models.modern import ModernConfig
from helpers.training.loop import History, train
from helpers.training.schedules import half_cosine
from tools.build.notebooks import ROOT
from tools.build.stubs import LessonError
from tools.pretrain.settings import END, StorySettings, write_text
from tools.pretrain.stories import prepare_stories
from tools.pretrain.training import batch_at, held_out_rows

FOLDER = ROOT / "build" / "experiments" / "blocks"
RATES = (0.001, 0.002, 0.004, 0.008)
OLD, NEW = "GPT-2's block", "today's block"
EQUAL = "{}, equal seconds"
TURNS = 21  # timed steps of either side
BACK = "{} back"
COLUMNS = (
    OLD,
    NEW,
    EQUAL.format(OLD),
    EQUAL.format(NEW),
    *map(BACK.format, PARTS),
)
Curve = dict[str, Any]  # "step" and "bits", a list each; "parameters"


@dataclass(frozen=True)
class Plan:
    """What shapes a training, beside the model, its rate and its seed."""

    d_model: int = 128
    num_layers: int = 4
    num_heads: int = 4  # of both sides; d_head is 32
    num_kv_heads: int = 2  # of today's block
    vocab_size: int = 1024  # small: today's output layer costs a second table
    stories: int = 20_000  # told for training, read at most once
    context: int = 256  # tokens of a row
    batch_size: int = 8  # rows per step
    steps: int = 1500
    warm_up: int = 75  # steps with a rising rate; then half a cosine down to 0
    every: int = 100  # steps between two measurements
    rows: int = 64  # held-out rows of a measurement

    def settings(self, seed: int) -> StorySettings:
        """The text and its order, as the storyteller's tools take them."""
        return StorySettings(
            vocab_size=self.vocab_size,
            stories=self.stories,
            context=self.context,
            batch_size=self.batch_size,
            evaluate_rows=self.rows,
            seed=seed,
        )


def build(name: str, plan: Plan, seed: int) -> nn.Module:
    """The model of a column, with initial weights of this seed.

    Args:
        name: `OLD`, `NEW`, or a part that goes back
        plan: the sizes
        seed: of the initial weights
    """
    torch.manual_seed(seed)
    sizes = plan.d_model, plan.num_heads, plan.num_layers
    old = GPT(GPTConfig(plan.vocab_size, plan.context, *sizes))
    if name == OLD:
        return old
    config = ModernConfig(
        plan.vocab_size,
        plan.context,
        plan.d_model,
        plan.num_heads,
        plan.num_kv_heads,
        plan.d_model // plan.num_heads,
        plan.num_layers,
        eps=old.config.eps,
    )
    torch.manual_seed(seed)
    return at_size(() if name == NEW else (name,), config, count(old))


def count(model: nn.Module) -> int:
    """How many parameters a model has."""
    return sum(p.numel() for p in model.parameters())


def text(plan: Plan, folder: Path) -> tuple[Tensor, Tensor, Tensor]:
    """Training tokens, held-out rows (N, T + 1), and bytes of each token (V,).

    The held-out stories come from seeds that no training has. `END` has no bytes.
    """
    settings = plan.settings(0)
    place = folder / f"text-{plan.vocab_size}-{plan.stories}"
    place.mkdir(parents=True, exist_ok=True)
    prepare_stories(place, settings, None)
    tokens = load_file(place / "tokens.safetensors")
    tokenizer = Tokenizer.from_file(str(place / "tokenizer.json"))
    names = (tokenizer.id_to_token(number) for number in range(plan.vocab_size))
    # Byte-level BPE writes a byte as one character. A small text has fewer tokens.
    lengths = [0 if name in (END, None) else len(name) for name in names]
    held_out = held_out_rows(tokens["held_out"].int(), settings)
    return tokens["train"].int(), held_out, torch.tensor(lengths)


def losses(model: nn.Module, rows: Tensor) -> Tensor:
    """The loss of every token but the first, in nats: (B, T + 1) -> (B, T)."""
    return F.cross_entropy(model(rows[:, :-1]).mT, rows[:, 1:], reduction="none")


@torch.no_grad()
def bits_per_byte(model: nn.Module, rows: Tensor, lengths: Tensor) -> float:
    """All bits that the tokens of these rows need, by the bytes that they spell."""
    model.eval()
    nats = sum(losses(model, some).sum().item() for some in rows.split(16))
    return nats / math.log(2) / lengths[rows[:, 1:]].sum().item()


def teach(name: str, rate: float, seed: int, plan: Plan, folder: Path) -> Curve:
    """Train one model and measure it now and then; an earlier result is read."""
    words = "-".join((name, str(rate), str(seed))).replace(" ", "_").replace("'", "")
    file = folder / digest_of(plan) / f"{words}.json"
    if file.exists():
        return json.loads(file.read_text("utf-8"))
    tokens, held_out, lengths = text(plan, folder)
    model = build(name, plan, seed)
    optimizer = optimizer_of(model, rate)
    history, settings = History(), plan.settings(seed)
    bits = [bits_per_byte(model, held_out, lengths)]
    curve = {"step": [0], "bits": bits, "parameters": count(model)}
    while (done := len(history.loss)) < plan.steps:
        steps = min(plan.every, plan.steps - done)
        train(
            model,
            (batch_at(step, tokens, settings) for step in range(done, done + steps)),
            lambda model, rows: losses(model, rows).mean(),
            optimizer,
            steps,
            schedule=partial(rate_at, rate, plan),
            clip=1.0,
            history=history,
            name=f"{name}, rate {rate}, seed {seed}",
        )
        curve["step"].append(len(history.loss))
        curve["bits"].append(bits_per_byte(model, held_out, lengths))
    write_text(file, json.dumps(curve))
    return curve


def optimizer_of(model: nn.Module, rate: float) -> torch.optim.AdamW:
    """AdamW, with weight decay for the matrices alone."""
    matrices = [p for p in model.parameters() if p.ndim == 2]
    vectors = [p for p in model.parameters() if p.ndim == 1]
    groups = [{"params": matrices}, {"params": vectors, "weight_decay": 0.0}]
    return torch.optim.AdamW(groups, rate, (0.9, 0.95), weight_decay=0.1)


def seconds_per_step(plan: Plan, folder: Path) -> dict[str, float]:
    """Processor seconds of a training step of both blocks, medians of steps by turns.

    Measured once; an earlier result is read.
    """
    file = folder / digest_of(plan) / "seconds_per_step.json"
    if file.exists():
        return json.loads(file.read_text("utf-8"))
    tokens, _, _ = text(plan, folder)
    settings = plan.settings(0)
    models = {name: build(name, plan, 0) for name in (OLD, NEW)}
    optimizers = {name: optimizer_of(one, 1e-4) for name, one in models.items()}
    taken: dict[str, list[float]] = {name: [] for name in models}
    for turn in range(TURNS + 2):  # the first two of each warm it up
        for name, model in models.items():
            start = time.process_time()
            losses(model, batch_at(turn, tokens, settings)).mean().backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizers[name].step()
            optimizers[name].zero_grad()
            taken[name].append(time.process_time() - start)
    seconds = {name: statistics.median(some[2:]) for name, some in taken.items()}
    write_text(file, json.dumps(seconds))
    return seconds


def digest_of(plan: Plan) -> str:
    """Names the folder of a plan's results."""
    return hashlib.sha256(json.dumps(asdict(plan)).encode()).hexdigest()[:12]


def rate_at(rate: float, plan: Plan, step: int) -> float:
    """The learning rate of a step, counted from 1."""
    return min(1.0, step / plan.warm_up) * half_cosine(rate, step - 1, plan.steps)


def compare(seed: int, folder: str | Path = FOLDER, **settings: int) -> dict[str, Any]:
    """Both blocks at their best rates, and today's with one part back: a row.

    Args:
        seed: of initial weights and the order of the text
        folder: where results are kept
        settings: fields of `Plan` with other values

    Raises:
        LessonError: There is no such field.
    """
    names = [field.name for field in fields(Plan)]
    if unknown := settings.keys() - set(names):
        raise LessonError(
            f"blocks has no setting {min(unknown)!r}; it has {', '.join(names)}."
        )
    plan, folder = Plan(**settings), Path(folder)
    cost, rates = seconds_per_step(plan, folder), {}
    for name in (OLD, NEW):
        tried = {rate: teach(name, rate, 0, plan, folder) for rate in RATES}
        rates[name] = min(RATES, key=lambda rate: tried[rate]["bits"][-1])
    curves = {n: teach(n, rate, seed, plan, folder) for n, rate in rates.items()}
    row: dict[str, Any] = {name: curve["bits"][-1] for name, curve in curves.items()}
    for name, curve in curves.items():
        afforded = plan.steps * min(cost.values()) / cost[name]
        bits = float(np.interp(afforded, curve["step"], curve["bits"]))
        row[EQUAL.format(name)] = bits
    for part in PARTS:
        curve = teach(part, rates[NEW], seed, plan, folder)
        row[BACK.format(part)] = curve["bits"][-1]
    return row | {"curves": curves, "rates": rates, "cost": cost, "held": True}


def along_the_way(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """The rates that were best, and a table of both curves, means over the seeds."""
    said = [
        f"Best rate of {name}: {rows[0]['rates'][name]}; "
        f"{rows[0]['curves'][name]['parameters']:,} parameters."
        for name in (OLD, NEW)
    ]
    kinds = "bits per byte", "processor seconds"
    columns = ["step", *(f"{name}, {kind}" for name in (OLD, NEW) for kind in kinds)]
    lines = [f"| {' | '.join(columns)} |", "|---" * len(columns) + "|"]
    for number, step in enumerate(rows[0]["curves"][OLD]["step"]):
        cells = [str(step)]
        for name in (OLD, NEW):
            bits = np.mean([row["curves"][name]["bits"][number] for row in rows])
            cells += [f"{bits:.3f}", f"{step * rows[0]['cost'][name]:.0f}"]
        lines.append(f"| {' | '.join(cells)} |")
    return [" ".join(said), "\n".join(lines)]
