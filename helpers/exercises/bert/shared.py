"""What the exercises on fine-tuning share: a very small BERT and batches for it."""

from collections.abc import Callable
from functools import cache
from typing import Any

import torch
from torch import Tensor, nn

VOCAB, LABELS = 31, 5


@cache
def library_ready() -> None:
    """Import what a check needs before its clock starts: it can take seconds."""
    from transformers import (  # noqa: F401
        AutoModel,
        AutoModelForMaskedLM,
        AutoModelForSequenceClassification,
        AutoModelForTokenClassification,
        BertForMaskedLM,
        BertForSequenceClassification,
        BertForTokenClassification,
        BertModel,
    )


def tiny_config(**more: Any) -> Any:
    """The configuration of a BERT of one layer and six features."""
    from transformers import BertConfig

    sizes = {
        "vocab_size": VOCAB,
        "hidden_size": 6,
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
        "intermediate_size": 7,
        "max_position_embeddings": 512,  # BERT's own, so that cutting there is right
    }
    return BertConfig(**sizes | more)


@cache
def _drawn(seed: int, dropout: float) -> Any:
    from transformers import BertForSequenceClassification

    from helpers.pretrained import quiet

    with torch.random.fork_rng(devices=[]), quiet():
        torch.default_generator.manual_seed(seed)
        config = tiny_config(
            num_labels=LABELS,
            hidden_dropout_prob=dropout,
            attention_probs_dropout_prob=dropout,
        )
        model = BertForSequenceClassification(config).double()
        for name, weight in model.named_parameters():
            if weight.dim() > 1:  # BERT's own are so small that nothing differs
                nn.init.normal_(weight, std=0.7)
            elif "bias" in name:
                nn.init.normal_(weight, std=0.3)
    return model


def tiny_classifier(seed: int, dropout: float = 0.3) -> Any:
    """A BERT with five labels and random weights, in float64 and training mode."""
    import copy

    return copy.deepcopy(_drawn(seed, dropout)).train()


def tiny_batch(draw: torch.Generator, *lengths: int) -> dict[str, Tensor]:
    """What a padded batch of reviews holds: ids, mask, labels."""
    width = max(lengths)
    ids = torch.randint(1, VOCAB, (len(lengths), width), generator=draw)
    real = torch.arange(width) < torch.tensor(lengths)[:, None]
    labels = torch.randint(0, LABELS, (len(lengths),), generator=draw)
    return {
        "input_ids": ids.masked_fill(~real, 0),
        "attention_mask": real.long(),
        "labels": labels,
    }


class Watched(nn.Module):
    """Hands everything on to a model, and records how it was called."""

    def __init__(self, model: nn.Module) -> None:
        """Start with nothing seen."""
        super().__init__()
        self.model = model
        self.config = model.config
        self.device = model.device
        self.seen: list[tuple[bool, bool]] = []  # (training, gradients on)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Call the model."""
        self.seen.append((self.model.training, torch.is_grad_enabled()))
        return self.model(*args, **kwargs)

    def story(self) -> dict[str, str]:
        """Mode and gradients of all calls, in words."""
        if not self.seen:
            return {"calls of the model": "none"}
        training = any(training for training, _ in self.seen)
        gradients = any(gradients for _, gradients in self.seen)
        return {
            "mode of the model": "training" if training else "evaluation",
            "gradients": "recorded" if gradients else "off",
        }


def left_alone(batches: list[dict], handed: list[dict]) -> str:
    """Whether an answer left the batches that it got as they were."""
    for old, new in zip(batches, handed, strict=True):
        if gone := [name for name in old if name not in new]:
            return f"without {', '.join(gone)}"
        kept = old.keys() == new.keys()
        if not kept or not all(torch.equal(old[name], new[name]) for name in old):
            return "changed"
    return "as they were"


def without(name: str) -> Callable[[dict], dict]:
    """A function that returns a batch without one of its entries."""
    return lambda batch: {key: batch[key] for key in batch if key != name}
