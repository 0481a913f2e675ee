"""Small, quick trials of fine-tuning: only the upper layers learn.

What the lower layers say about each review is computed once and kept, so a trial on 300
reviews takes seconds. The layers are the course's own `EncoderLayer`s.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from helpers.models.encoder import Encoder
from helpers.reading.fine_tuning import Recipe, Scores, keep_states, scores
from helpers.reading.reviews import SimilarLengths
from helpers.text.sentence_search import mean_of_tokens
from helpers.training import progress

UPPER = 2  # layers that learn
TRIAL = Recipe(rate=3e-4, epochs=3, frozen=0)


@torch.no_grad()
def below(encoder: Encoder, rows: Sequence[dict], size: int = 32) -> list[dict]:
    """What the lower layers make of encoded reviews: a (T, D) tensor for each.

    Args:
        encoder: in eval mode, such as `bert_encoder` makes
        rows: what `reviews.encode` returned
        size: reviews at a time
    """
    order = sorted(range(len(rows)), key=lambda place: len(rows[place]["ids"]))
    found: list[dict] = [{}] * len(rows)
    for start in range(0, len(order), size):
        some = order[start : start + size]
        width = len(rows[some[-1]]["ids"])
        ids = torch.tensor(
            [rows[n]["ids"] + [0] * (width - len(rows[n]["ids"])) for n in some]
        )
        x = encoder.positions(encoder.embedding(ids))  # (B, T, D)
        for layer in encoder.layers[:-UPPER]:
            x = layer(x, (ids != 0)[:, None, None])
        for n, states, one in zip(some, x, ids, strict=True):
            found[n] = {"x": states[one != 0].clone(), "label": rows[n]["label"]}
    return found


class UpperLayers(nn.Module):
    """The upper layers, and a head that reads the mean of the tokens.

    Args:
        encoder: whose upper layers are copied
        labels: how many there are
        seed: draws the head
    """

    def __init__(self, encoder: Encoder, labels: int, seed: int = 0) -> None:
        """Copy the layers and draw a head."""
        import copy

        super().__init__()
        self.layers = copy.deepcopy(encoder.layers[-UPPER:])
        draw = torch.Generator().manual_seed(seed)
        self.head = nn.Linear(encoder.embedding.table.weight.shape[1], labels)
        with torch.no_grad():
            self.head.bias.zero_()
            self.head.weight.normal_(std=0.02, generator=draw)

    def forward(self, x: Tensor, real: Tensor) -> Tensor:
        """(B, T, D) and (B, T), True = a real token -> logits (B, labels)."""
        for layer in self.layers:
            x = layer(x, real[:, None, None])
        return self.head(mean_of_tokens(x, real))


def _batch(rows: Sequence[dict]) -> tuple[Tensor, Tensor, Tensor]:
    x = nn.utils.rnn.pad_sequence([row["x"] for row in rows], batch_first=True)
    lengths = torch.tensor([len(row["x"]) for row in rows])
    real = torch.arange(x.shape[1]) < lengths[:, None]
    return x, real, torch.tensor([row["label"] for row in rows])


def trial(
    encoder: Encoder,
    train: Sequence[dict],
    test: Sequence[dict],
    labels: int = 5,
    name: str = "trial",
    **changes: Any,
) -> Scores:
    """Train the upper layers on some reviews; returns the scores on the test reviews.

    Args:
        encoder: pretrained
        train: what `below` returned
        test: likewise
        labels: how many there are
        name: in front of the progress bar
        **changes: of the recipe, such as `schedule="constant"`
    """
    from helpers.reading.fine_tuning import scheduler_for

    recipe = replace(TRIAL, **changes)
    torch.manual_seed(recipe.seed)
    model = UpperLayers(encoder, labels, recipe.seed).train()
    lengths = [len(row["x"]) for row in train]
    size = min(recipe.batch_size, len(train))
    batches = SimilarLengths(lengths, size, recipe.seed, recipe.same_order)
    groups = [
        {"params": model.layers.parameters(), "lr": recipe.rate},
        {"params": model.head.parameters(), "lr": recipe.head_rate},
    ]
    optimizer = torch.optim.AdamW(groups, weight_decay=recipe.weight_decay)
    scheduler = scheduler_for(optimizer, recipe, recipe.epochs * len(batches))
    with progress(recipe.epochs * len(batches), name) as bar:
        for _ in range(recipe.epochs):
            for places in batches:
                x, real, wanted = _batch([train[place] for place in places])
                loss = F.cross_entropy(model(x, real), wanted)
                optimizer.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(model.parameters(), recipe.clip)
                optimizer.step()
                scheduler.step()
                bar.update()
    return scores(*_logits(model.eval(), test))


@torch.no_grad()
def _logits(model: UpperLayers, rows: Sequence[dict]) -> tuple[Tensor, Tensor]:
    found, labels = [], []
    for start in range(0, len(rows), 43):
        x, real, wanted = _batch(rows[start : start + 43])
        found.append(model(x, real))
        labels.append(wanted)
    return torch.cat(found), torch.cat(labels)


# --- the head alone -------------------------------------------------------------------


@torch.no_grad()
def vectors(classifier: Any, rows: Sequence[dict]) -> tuple[Tensor, Tensor]:
    """What the head of an untrained classifier reads of encoded reviews.

    Args:
        classifier: as `fine_tuning.load_classifier` returns it
        rows: what `reviews.encode` returned

    Returns:
        Vectors (N, D), the means of all tokens, and labels (N,).
    """
    layers = len(classifier.bert.encoder.layer)
    kept = keep_states(classifier, rows, layers)
    means = torch.stack([row["states"].mean(0) for row in kept])
    return means, torch.tensor([row["label"] for row in rows])


HEAD = Recipe(head_rate=1e-2, epochs=10, frozen=0)


def head_alone(
    train: tuple[Tensor, Tensor], test: tuple[Tensor, Tensor], **changes: Any
) -> float:
    """Train a linear head on kept vectors; returns the accuracy on the test reviews.

    Args:
        train: vectors (N, D) and labels (N,)
        test: likewise
        **changes: of the recipe `HEAD`, such as `schedule="constant"`
    """
    from helpers.reading.fine_tuning import scheduler_for

    recipe, (vectors, labels) = replace(HEAD, **changes), train
    draw = torch.Generator().manual_seed(recipe.seed)
    head = nn.Linear(vectors.shape[1], int(labels.max()) + 1)
    with torch.no_grad():
        head.bias.zero_()
        head.weight.normal_(std=0.02, generator=draw)
    batches = SimilarLengths(
        [1] * len(labels), min(recipe.batch_size, len(labels)), recipe.seed,
        recipe.same_order,
    )  # fmt: skip
    optimizer = torch.optim.AdamW(
        head.parameters(), recipe.head_rate, weight_decay=recipe.weight_decay
    )
    scheduler = scheduler_for(optimizer, recipe, recipe.epochs * len(batches))
    for _ in range(recipe.epochs):
        for some in batches:
            loss = F.cross_entropy(head(vectors[some]), labels[some])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            scheduler.step()
    with torch.no_grad():
        right = head(test[0]).argmax(-1) == test[1]
    return right.float().mean().item()
