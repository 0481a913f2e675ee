"""Multi-query associative recall: remember pairs, then answer when a key comes back.

A text is a list of pairs, key and value in turns, and then the same keys in another
order. At each of these queries the model has to say the value that stood behind the
key. Keys and values are ids of two separate kinds; each text has its own pairs, so
that nothing can be learned by heart.

Source: Arora et al. 2023, *Zoology* (arXiv 2312.04927), section 3.
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.optim.lr_scheduler import LambdaLR

from helpers.models.gpt import GPT, GPTConfig
from helpers.training import progress
from helpers.training.muon import Muon


@dataclass(frozen=True)
class RecallTask:
    """The sizes of the task; ids below `keys` are keys, the others are values."""

    pairs: int = 8  # in each text
    keys: int = 52  # how many different ones there are: as many as letters
    values: int = 64

    @property
    def vocab_size(self) -> int:
        """The number of ids, V."""
        return self.keys + self.values

    @property
    def length(self) -> int:
        """The length of a text, T: two ids for each pair, one for each query."""
        return 3 * self.pairs

    def batch(self, size: int, draw: torch.Generator) -> tuple[Tensor, Tensor]:
        """New texts: ids (B, T) and the answers (B, pairs) to their queries."""
        keys = _some(self.keys, size, self.pairs, draw)  # all different
        values = torch.randint(
            self.keys, self.vocab_size, (size, self.pairs), generator=draw
        )
        order = _some(self.pairs, size, self.pairs, draw)
        told = torch.stack([keys, values], -1).flatten(1)  # (B, 2 pairs)
        return torch.cat([told, keys.gather(1, order)], 1), values.gather(1, order)

    def batches(
        self, size: int, seed: int, device: torch.device | str = "cpu"
    ) -> Iterator[tuple[Tensor, Tensor]]:
        """Yield batches without end."""
        draw = torch.Generator().manual_seed(seed)
        while True:
            ids, answers = self.batch(size, draw)
            yield ids.to(device), answers.to(device)


def _some(of: int, rows: int, count: int, draw: torch.Generator) -> Tensor:
    """In each row `count` different numbers below `of`, in random order."""
    return torch.rand(rows, of, generator=draw).argsort(-1)[:, :count]


class RecallGPT(GPT):
    """A GPT with a scoring layer of its own, and vectors as large as nn.Embedding's.

    What is written here (values) answers to what is read last (keys), and they are
    different ids: one table for both jobs brings nothing. With GPT-2's start, tied and
    small, the same training was still guessing after 300 steps; like this it has found
    out after 150.
    """

    def __init__(self, config: GPTConfig) -> None:
        """Create the parts of a GPT, and the scoring layer."""
        super().__init__(config)
        for table in (self.embedding, self.positions):
            nn.init.normal_(table.weight)
        self.head = nn.Linear(config.d_model, config.vocab_size)

    def score(self, x: Tensor) -> Tensor:
        """(..., D) -> (..., V)."""
        return self.head(x)


def answer_logits(model: nn.Module, ids: Tensor, queries: int) -> Tensor:
    """A model's scores at the last places, (B, queries, V).

    Args:
        model: returns logits (B, T, V), or a pair that begins with them
        ids: (B, T)
        queries: how many places at the end are asked
    """
    logits = model(ids)
    logits = logits[0] if isinstance(logits, tuple) else logits
    return logits[:, -queries:]


def recall_loss(model: nn.Module, batch: tuple[Tensor, Tensor]) -> Tensor:
    """Mean cross-entropy of the right value in nats, over the queries only.

    Args:
        model: ids (B, T) to logits (B, T, V)
        batch: ids (B, T) and the values to be recalled (B, queries)
    """
    ids, answers = batch
    logits = answer_logits(model, ids, answers.shape[1])
    return F.cross_entropy(logits.transpose(1, 2), answers)


@torch.no_grad()
def recall_accuracy(
    model: nn.Module, task: RecallTask, seed: int = 12345, size: int = 500
) -> float:
    """The share of right answers on texts that were never trained on."""
    training = model.training
    ids, answers = task.batch(size, torch.Generator().manual_seed(seed))
    where = next(model.parameters()).device
    best = answer_logits(model.eval(), ids.to(where), task.pairs).argmax(-1)
    model.train(training)
    return (best.cpu() == answers).float().mean().item()


def train_to_recall(
    model: nn.Module,
    task: RecallTask,
    steps: int,
    seed: int,
    *,
    batch_size: int = 64,
    parts: int = 10,
    name: str = "recall",
) -> tuple[list[float], list[float]]:
    """Train on ever new texts, and measure ten times on the way.

    Args:
        model: as in `answer_logits`
        task: where the texts come from
        steps: how many
        seed: of the texts
        batch_size: texts per step
        parts: how often it is measured
        name: in front of the progress bar

    Returns:
        Seconds of training, and the share of right answers on other texts by then.
    """
    texts = task.batches(batch_size, seed, next(model.parameters()).device)
    rules = _optimizers(model, steps)
    seconds, right = [0.0], [recall_accuracy(model, task)]
    with progress(steps, name) as bar:
        for part in range(parts):
            count = steps * (part + 1) // parts - steps * part // parts
            start = time.perf_counter()
            for _ in range(count):
                _step(model, next(texts), rules)
                bar.update()
            seconds.append(seconds[-1] + time.perf_counter() - start)
            right.append(recall_accuracy(model, task))
    return seconds, right


def _optimizers(model: nn.Module, steps: int) -> list[LambdaLR]:
    """Muon for the matrices inside, AdamW for all else, as in `tools/pretrain`.

    With AdamW alone some seeds were still guessing after several times as many steps.
    The rates rise over 20 steps and fall to 0 over the last quarter.

    Source: Jordan et al. 2024, *Muon: an optimizer for hidden layers*.
    """
    inside = [
        value
        for part in ("layers", "recurrent")
        for value in getattr(model, part, nn.Identity()).parameters()
        if value.dim() == 2
    ]
    known = set(inside)
    others = [value for value in model.parameters() if value not in known]
    both = (
        Muon(inside, lr=0.02),
        torch.optim.AdamW(others, lr=0.003, betas=(0.9, 0.98), weight_decay=0.0),
    )

    def factor(step: int) -> float:
        return max(0.0, min(1, (step + 1) / 20, (steps - step) * 4 / steps))

    return [LambdaLR(one, factor) for one in both]


def _step(
    model: nn.Module, batch: tuple[Tensor, Tensor], rules: list[LambdaLR]
) -> None:
    model.train()
    model.zero_grad()
    recall_loss(model, batch).backward()
    for rule in rules:
        rule.optimizer.step()
        rule.step()


def told_at(ids: Tensor, pairs: int) -> Tensor:
    """Where each query's key was told: (B, T) -> places (B, pairs)."""
    asked, told = ids[:, 2 * pairs :, None], ids[:, None, : 2 * pairs : 2]
    return 2 * (asked == told).int().argmax(-1)


def previous_token_score(weights: Tensor) -> Tensor:
    """How much weight falls on the token before, (B, H, T, T) -> (H,).

    The mean over all places that have a token before them, and over all texts.
    """
    return weights.diagonal(-1, -2, -1).mean((0, -1))


def lookup_score(weights: Tensor, ids: Tensor, pairs: int) -> Tensor:
    """How much weight of a query falls on its answer, (B, H, T, T) -> (H,).

    The answer stands behind the key, where the key was told. The mean over all queries
    and texts.

    Source: the "induction heads" of Olsson et al. 2022 (arXiv 2209.11895), measured.
    """
    answers = told_at(ids, pairs) + 1  # (B, pairs)
    asked = weights[:, :, 2 * pairs :]  # (B, H, pairs, T)
    index = answers[:, None, :, None].expand(-1, weights.shape[1], -1, 1)
    return asked.gather(-1, index).mean((0, 2, 3))
