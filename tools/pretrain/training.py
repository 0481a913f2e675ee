"""The training of the model; it continues where it stopped."""

import functools
import json
import math
import time
from dataclasses import asdict
from pathlib import Path

import torch
import torch.nn.functional as F
from safetensors import safe_open
from safetensors.torch import save_file
from torch import Tensor
from tqdm import tqdm
from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedModel

from helpers.training.muon import Muon
from tools.pretrain.settings import Settings, write_atomically, write_text

CHECKPOINT = "checkpoint.safetensors"  # weights, optimizers, random state, position


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
        Muon(inside, lr=settings.muon_rate, weight_decay=settings.weight_decay),
        torch.optim.AdamW(groups, lr=settings.learning_rate, betas=(0.9, 0.95)),
    ]


def rate(step: int, settings: Settings, end: int | None = None) -> float:
    """Share of the peak rate at a step: rise, constant, straight line down to zero.

    It is zero at the step `end`, by default the planned one.
    """
    end = settings.steps if end is None else end
    rise = step / max(1, settings.warmup_steps)
    fall = (end - step) / max(1, settings.decay * end)
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
        self.model = self.build_model()
        self.optimizers = self.build_optimizers()
        self.peaks = [[g["lr"] for g in o.param_groups] for o in self.optimizers]
        with safe_open(folder / "tokens.safetensors", "pt") as tokens:
            self.train_tokens = tokens.get_tensor("train").int()
            held_out = tokens.get_tensor("held_out").int()
        self.held_out = self.held_out_rows(held_out)
        self.step, self.seconds, self.curve = 0, 0.0, []
        self.end = settings.steps  # may move nearer while the rate is constant
        self.landings: list[int] = []  # steps at which the rate had fallen to zero
        self.begun: dict | None = None  # the earlier run whose weights it began with

    def build_model(self) -> PreTrainedModel:
        """The model with its first weights."""
        return build_model(self.settings)

    def build_optimizers(self) -> list:
        """The optimizers of the model."""
        return build_optimizers(self.model, self.settings)

    def held_out_rows(self, tokens: Tensor) -> Tensor:
        """The rows of the held-out curve."""
        return held_out_rows(tokens, self.settings)

    def rows(self) -> Tensor:
        """The rows of the next step."""
        return batch_at(self.step, self.train_tokens, self.settings)

    def losses(self, rows: Tensor) -> Tensor:
        """The loss of every token that is to be predicted, in nats."""
        return token_losses(self.model, rows)

    def update(self) -> float:
        """One step of training; returns its loss in nats per token."""
        share = rate(self.step + 1, self.settings, self.end)
        for optimizer, peaks in zip(self.optimizers, self.peaks, strict=True):
            for group, peak in zip(optimizer.param_groups, peaks, strict=True):
                group["lr"] = peak * share
        self.model.train()
        with self.autocast():
            loss = self.losses(self.rows()).mean()
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
            losses = [self.losses(rows) for rows in self.held_out.split(16)]
        return torch.cat(losses).mean().item()

    def record(self, loss: float) -> None:
        """Add a point to the curve, and write the curve as JSON lines."""
        point = {"step": self.step, "train": loss, "held_out": self.evaluate()}
        self.curve.append(point | {"seconds": round(self.seconds)} | self.extra())
        lines = "".join(json.dumps(point) + "\n" for point in self.curve)
        write_text(self.folder / "curve.jsonl", lines)

    def extra(self) -> dict[str, float]:
        """What else a point of the curve tells."""
        return {}

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
            "end": self.end,
            "landings": self.landings,
            "begun": self.begun,
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
        self.landings = state.get("landings", [])
        self.begun = state.get("begun")
        if state.get("end", state["settings"]["steps"]) != state["settings"]["steps"]:
            self.end = state["end"]  # the rate falls already

    def is_open(self) -> bool:
        """Whether the rate is still constant, so that the end may move nearer."""
        return self.step <= (1 - self.settings.decay) * self.end

    def land(self) -> None:
        """Let the rate fall from here on, and end when it is zero."""
        self.end = min(self.end, math.ceil(self.step / (1 - self.settings.decay)))

    def take_up(self) -> None:
        """Go on with a run that has ended, at the constant rate again.

        This is WSD-S of Wen et al. 2024, "Understanding Warmup-Stable-Decay Learning
        Rates" (arXiv 2410.05192).
        """
        self.landings.append(self.end)
        self.end = self.settings.steps

    def has_settled(self) -> bool:
        """Whether the held-out curve no longer falls; never, for a planned run."""
        return False

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


def train(
    folder: Path,
    settings: Settings,
    minutes: float = math.inf,
    within: float = math.inf,
    kind: type[Trainer] = Trainer,
    further: bool = False,
    start: Path | None = None,
) -> Trainer:
    """Train to the end, or for some minutes; continue where it stopped.

    Args:
        folder: where tokens, curve and checkpoint lie
        settings: what shapes the result
        minutes: stop for now after so many
        within: minutes of all sessions together in which the run is to be finished
        kind: what is trained
        further: go on with a run that has ended before its planned steps
        start: a bundled model whose weights a new run begins with
    """
    trainer = kind(folder, settings)
    if (folder / CHECKPOINT).exists():
        trainer.load()
    elif start is not None:
        trainer.begin_with(start)
    if further and trainer.step == trainer.end:
        trainer.take_up()
    started, before = time.monotonic(), trainer.seconds
    bar = tqdm(total=trainer.end, initial=trainer.step, desc="train", unit=" steps")
    while trainer.step < trainer.end and trainer.seconds - before < minutes * 60:
        loss = trainer.update()
        bar.update()
        trainer.seconds = before + time.monotonic() - started
        if trainer.step == trainer.end or trainer.step % settings.evaluate_every == 0:
            trainer.record(loss)
            bar.set_postfix(trainer.curve[-1])
        late = trainer.seconds >= (1 - settings.decay) * within * 60
        if trainer.is_open() and (late or trainer.has_settled()):
            trainer.land()
            bar.total = trainer.end
        if trainer.step % settings.checkpoint_every == 0:
            trainer.save()
    trainer.save()
    bar.close()
    return trainer
