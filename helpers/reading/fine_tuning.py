"""Fine-tuning a pretrained encoder, on one process or, under Accelerate, on several."""

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.optim import AdamW
from torch.optim.lr_scheduler import LambdaLR

from helpers import pretrained
from helpers.reading.checkpoint import Checkpoint
from helpers.reading.reviews import STARS, pad_batch, training_batches
from helpers.training import History, progress


@dataclass(frozen=True)
class Recipe:
    """How to fine-tune; the numbers were chosen on fold 4 of the reviews alone."""

    epochs: int = 3
    batch_size: int = 16  # over all processes
    rate: float = 2e-4  # learning rate of the pretrained weights, at its highest
    head_rate: float = 1e-3  # of the head, which is not pretrained
    warmup: float = 0.1  # share of the steps in which the rates rise
    schedule: str = "linear"  # then down to 0; or "constant"
    frozen: int = 2  # this many lower layers, and the embeddings, are not trained
    weight_decay: float = 0.01
    clip: float = 1.0  # longest gradient
    same_order: bool = False  # the same batches in every epoch
    seed: int = 0


def load_classifier(
    folder: str | None = None, seed: int = 0, dropout: float | None = None
) -> nn.Module:
    """A pretrained encoder with a fresh head for five labels, ready to be trained.

    The head reads the mean of the tokens; see `helpers.reading.mean_classifier`.

    Args:
        folder: of a checkpoint; by default the course's encoder
        seed: draws the head
        dropout: instead of the checkpoint's own
    """
    from helpers.reading.mean_classifier import MeanClassifier

    more = {}
    if dropout is not None:
        names = ("hidden_dropout_prob", "attention_probs_dropout_prob")
        more = dict.fromkeys(names, dropout)
    torch.manual_seed(seed)
    with pretrained.quiet():
        return MeanClassifier.from_pretrained(
            folder or pretrained.path("encoder"), num_labels=len(STARS), **more
        )


def optimizer_for(model: nn.Module, recipe: Recipe) -> AdamW:
    """AdamW with two learning rates; freezes what the recipe leaves alone."""
    body, head = [], []
    lower = ["embeddings."] if recipe.frozen else []
    lower += [f"encoder.layer.{n}." for n in range(recipe.frozen)]
    for name, weight in model.named_parameters():
        weight.requires_grad_(not any(part in name for part in lower))
        if weight.requires_grad:
            (head if "classifier" in name else body).append(weight)
    groups = [
        {"params": body, "lr": recipe.rate},
        {"params": head, "lr": recipe.head_rate},
    ]
    return AdamW(groups, weight_decay=recipe.weight_decay)


def scheduler_for(
    optimizer: AdamW, recipe: Recipe, steps: int, taken: int = 0
) -> LambdaLR:
    """Linear warm-up, then a linear fall to 0, or a constant rate.

    Args:
        optimizer: whose learning rates are still the highest ones
        recipe: which schedule
        steps: of the whole run
        taken: how many of them are behind us
    """
    warm = max(1, round(recipe.warmup * steps))

    def share(step: int) -> float:
        if recipe.schedule == "constant":
            return 1.0
        return min((step + 1) / warm, (steps - step) / max(1, steps - warm))

    for group in optimizer.param_groups:
        group.setdefault("initial_lr", group["lr"])
    return LambdaLR(optimizer, share, taken - 1)


@torch.no_grad()
def keep_states(
    model: Any, rows: Sequence[dict], layers: int, size: int = 32
) -> list[dict]:
    """Run the lower layers once: what they say of a review never changes.

    There is no dropout in layers that don't learn.

    Args:
        model: as `load_classifier` returns it
        rows: what `reviews.encode` returned
        layers: how many of them
        size: reviews at a time

    Returns:
        The rows, each with "states" (T, D), in the memory of the CPU.
    """
    was_training, where = model.training, model.device
    model.eval()
    order = sorted(range(len(rows)), key=lambda place: len(rows[place]["ids"]))
    found: list[dict] = [{}] * len(rows)
    for start in range(0, len(order), size):
        some = order[start : start + size]
        batch = pad_batch([{"ids": rows[n]["ids"], "label": 0} for n in some])
        ids, mask = (batch[name].to(where) for name in ("input_ids", "attention_mask"))
        states = model.below(ids, mask, layers).cpu()
        for place, one in zip(some, states, strict=True):
            kept = one[: len(rows[place]["ids"])].clone()
            found[place] = rows[place] | {"states": kept}
    model.train(was_training)
    return found


def fine_tune(
    model: nn.Module,
    rows: Sequence[dict],
    recipe: Recipe = Recipe(),  # noqa: B008 (frozen)
    accelerator: Any = None,
    name: str = "fine-tuning",
    checkpoint: Checkpoint | None = None,
) -> History:
    """Train a classifier on encoded reviews.

    Of frozen layers the outputs are computed once and kept, so that no step waits for
    them.

    Args:
        model: as `load_classifier` returns it; changed in place
        rows: what `reviews.encode` or, for as many layers, `keep_states` returned
        recipe: how
        accelerator: made with `split_batches=True`, so that the recipe's batch is
            shared out among the processes; by default one for this process alone
        name: in front of the progress bar
        checkpoint: where an interrupted run goes on, and what this one saves

    Returns:
        Loss, learning rate and gradient norm of each step, over all processes.
    """
    from helpers.reading.mean_classifier import UpperLayers

    accelerator = accelerator or accelerate()
    plain, adam = model.to(accelerator.device), optimizer_for(model, recipe)
    if recipe.frozen:
        model = UpperLayers(plain, recipe.frozen)
        if "states" not in rows[0]:
            rows = keep_states(plain, rows, recipe.frozen)
    loader = training_batches(rows, recipe.batch_size, recipe.seed, recipe.same_order)
    model, optimizer, loader = accelerator.prepare(model, adam, loader)
    steps, history, taken = recipe.epochs * len(loader), History(), 0
    if checkpoint:
        history = checkpoint.load(plain, adam, accelerator)
        taken = checkpoint.step
    scheduler, start = scheduler_for(adam, recipe, steps, taken), time.perf_counter()
    model.train()
    with progress(steps if accelerator.is_main_process else 0, name) as bar:
        bar.update(taken)
        for epoch in range(recipe.epochs):
            for step, batch in enumerate(loader, epoch * len(loader)):
                if step < taken:
                    continue  # its turn was before the interruption
                if checkpoint:
                    checkpoint.before(step, plain, adam, history, accelerator)
                loss = model(**batch).loss
                accelerator.backward(loss)
                norm = accelerator.clip_grad_norm_(model.parameters(), recipe.clip)
                optimizer.step()
                history.rate.append(scheduler.get_last_lr()[0])
                scheduler.step()
                optimizer.zero_grad()
                mean = accelerator.reduce(loss.detach(), reduction="mean").item()
                history.loss.append(mean)
                history.norm.append(norm.item())
                bar.set_postfix_str(f"loss {mean:.3f}", refresh=False)
                bar.update()
    history.seconds += time.perf_counter() - start
    return history


def accelerate() -> Any:
    """An `Accelerator` whose processes share each batch; on a GPU if there is one."""
    from accelerate import Accelerator
    from accelerate.utils import DataLoaderConfiguration

    return Accelerator(
        cpu=not torch.cuda.is_available(),
        dataloader_config=DataLoaderConfiguration(split_batches=True),
    )


@torch.no_grad()
def logits_of(model: nn.Module, batches: Iterable[dict]) -> tuple[Tensor, Tensor]:
    """Logits (N, labels) and true labels (N,), without dropout, row by row."""
    was_training = model.training
    model.eval()
    where = next(model.parameters()).device
    found, labels = [], []
    for batch in batches:
        batch = {name: value.to(where) for name, value in batch.items()}
        labels.append(batch.pop("labels"))
        found.append(model(**batch).logits)
    model.train(was_training)
    return torch.cat(found).cpu(), torch.cat(labels).cpu()


@dataclass(frozen=True)
class Scores:
    """How well a classifier predicts stars."""

    loss: float
    accuracy: float
    macro_f1: float  # mean over the labels, each counting the same
    error: float  # mean absolute error, in stars

    def __str__(self) -> str:
        """One line for people."""
        return (
            f"accuracy {self.accuracy:.1%}, macro-F1 {self.macro_f1:.3f}, "
            f"off by {self.error:.2f} stars on average"
        )


def scores(logits: Tensor, labels: Tensor) -> Scores:
    """Loss in nats, accuracy, macro-F1 and mean absolute error in stars.

    Args:
        logits: (N, labels)
        labels: (N), the true ones
    """
    from sklearn.metrics import f1_score, mean_absolute_error

    guesses = logits.argmax(-1)
    return Scores(
        F.cross_entropy(logits, labels).item(),
        (guesses == labels).double().mean().item(),
        float(f1_score(labels, guesses, average="macro")),
        float(mean_absolute_error(labels, guesses)),
    )
