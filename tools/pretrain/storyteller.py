"""The training of the storyteller, a GPT-2 that reads stories."""

import time
from functools import cache

import torch
from tokenizers import Tokenizer
from transformers import PreTrainedModel

from helpers.training.muon import Muon
from tools.pretrain.evaluation import facts_right
from tools.pretrain.settings import StorySettings
from tools.pretrain.stories import held_out_stories
from tools.pretrain.training import Trainer

PROBED = 50  # facts that are asked at every point of the curve


@cache
def bfloat16_is_faster() -> bool:
    """Whether this processor multiplies matrices faster in bfloat16, measured."""

    def seconds(dtype: torch.dtype) -> float:
        left, right = (torch.ones(256, 256, dtype=dtype) for _ in range(2))
        left @ right
        started = time.perf_counter()
        for _ in range(3):
            left @ right
        return time.perf_counter() - started

    return seconds(torch.bfloat16) < seconds(torch.float32)


def story_optimizers(model: PreTrainedModel, settings: StorySettings) -> list:
    """Muon for the matrices of the layers, AdamW for all else."""
    named = list(model.named_parameters())
    inside = [p for n, p in named if (".h." in n or ".layer." in n) and p.ndim == 2]
    known = set(map(id, inside))
    outside = [p for _, p in named if p.ndim == 2 and id(p) not in known]
    groups = [
        {"params": outside, "weight_decay": settings.weight_decay},
        {"params": [p for _, p in named if p.ndim == 1], "weight_decay": 0.0},
    ]
    return [
        Muon(
            inside,
            lr=settings.muon_rate,
            weight_decay=settings.weight_decay,
            like_adam=True,
        ),
        torch.optim.AdamW(groups, lr=settings.learning_rate, betas=(0.9, 0.95)),
    ]


class StoryTrainer(Trainer):
    """A GPT-2 that reads stories, until the held-out curve no longer falls."""

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.tokenizer = Tokenizer.from_file(str(self.folder / "tokenizer.json"))
        stories = held_out_stories(2 * PROBED)
        self.facts = [story.recalls()[0] for story in stories if story.recalls()]

    def build_optimizers(self) -> list:
        """Muon in float32, and AdamW."""
        return story_optimizers(self.model, self.settings)

    def autocast(self) -> torch.autocast:
        """Matrix products in bfloat16 where that is faster."""
        enabled = self.settings.bfloat16 and bfloat16_is_faster()
        return torch.autocast("cpu", torch.bfloat16, enabled=enabled)

    def extra(self) -> dict[str, float]:
        """The share of facts that are kept."""
        self.model.eval()
        right = facts_right(self.model, self.tokenizer, self.facts[:PROBED])
        return {"facts": round(sum(right) / len(right), 3)}

    def has_settled(self) -> bool:
        """Whether the loss fell by less than `least_gain` over `patience` points."""
        since = max(self.landings, default=0)  # as the rate is constant again
        losses = [p["held_out"] for p in self.curve if p["step"] > since]
        if len(losses) <= self.settings.patience:
            return False
        return losses[-1 - self.settings.patience] - losses[-1] < (
            self.settings.least_gain
        )
