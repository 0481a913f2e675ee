"""What the exercises share: a language model and a tokenizer that fit on one screen."""

from collections.abc import Callable, Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from helpers.checks.exercise import Look
from helpers.exercises.kit import normal

# A mistake of two filters: name, what was done, where to look.
ZERO_TIMES_INFINITY = (
    "zero times infinity",
    "Tokens that should stay became NaN: minus infinity was multiplied by 0.",
    "What is 0 times minus infinity? Look for a mask that is multiplied.",
)
NEVER = float("-inf")  # the score of a token that must not come
BLOCKED = -1e4  # no score of a case is as low: this or lower was meant to block
LETTERS = "abcdefghijklmnopqrstuvwxyz"
END = 0  # the toy tokenizer's end of text
ROUNDED = 1e-5  # a tolerance for a number that may have been a tensor of float32


def filtered(scores: Any, name: str = "logits") -> dict[str, Any]:
    """What a filter returned: which tokens it blocks, and with which score.

    -1e9, finfo.min and the like are one mistake, so all of them are shown as minus
    infinity, and a second entry says that they are finite.
    """
    if not isinstance(scores, Tensor) or not scores.is_floating_point():
        return {name: scores}
    low = scores <= BLOCKED
    finite = bool(scores[low].isfinite().any())
    return {
        name: scores.masked_fill(low, NEVER),
        "in blocked places": "a finite number" if finite else "minus infinity",
    }


def look_sorted(call: Callable, logits: Tensor, limit: float) -> Look:
    """How many tokens a filter keeps; which ones of several equals is left open."""
    scores = call(logits, limit)
    if isinstance(scores, Tensor) and scores.dim():
        scores = scores.sort(descending=True).values
    return Look(filtered(scores, "logits, sorted"))


class Output:
    """What a model of `transformers` returns: `.logits`, also as `[0]`."""

    def __init__(
        self,
        logits: Tensor,
        past_key_values: Any = None,
        loss: Tensor | None = None,
    ) -> None:
        self.logits, self.past_key_values, self.loss = logits, past_key_values, loss

    def __getitem__(self, place: Any) -> Tensor:
        if isinstance(place, tuple):
            raise TypeError("this output is not a tensor; its scores are in .logits")
        return (self.logits,)[0 if place == "logits" else place]


class Toy:
    """A stand-in for GPT-2: its scores depend on every token so far and its place.

    As in `transformers` it has a device, a cache (here the ids that were read) and,
    given labels, a loss.
    """

    device = torch.device("cpu")

    def __init__(
        self,
        draw: torch.Generator,
        size: int,
        sharp: float = 2.0,
        likes: int | None = None,
    ) -> None:
        self.sharp, self.likes = sharp, likes
        self.first, self.second = (normal(draw, size, size) for _ in range(2))
        self.read = 0  # tokens; tells mistakes apart that led to the same result

    def __call__(
        self,
        input_ids: Tensor,
        past_key_values: Tensor | None = None,
        labels: Tensor | None = None,
        **_: Any,
    ) -> Output:
        """(B, T) -> scores (B, T, V)."""
        if input_ids.dim() != 2:
            shape = tuple(input_ids.shape)
            raise ValueError(f"the model takes ids (batch, length), got {shape}")
        self.read += input_ids.numel()
        ids, length = input_ids, input_ids.shape[1]
        if past_key_values is not None:
            ids = torch.cat([past_key_values, ids], 1)
        scores = self.scores(ids)[:, ids.shape[1] - length :]
        loss = None
        if labels is not None:
            loss = F.cross_entropy(scores[:, :-1].mT, labels[:, 1:])
        return Output(scores, ids, loss)

    def scores(self, ids: Tensor) -> Tensor:
        """(B, T) -> (B, T, V)."""
        length = ids.shape[1]
        near = 0.4 ** (torch.arange(length)[:, None] - torch.arange(length)).double()
        seen = near.tril() @ self.second[ids]  # (B, T, V): the past, fading
        scores = self.sharp * (self.first[ids] + seen.sin())
        if self.likes is not None:
            scores[..., self.likes] += 1.5
        return scores

    def generate(self, *_: Any, **__: Any) -> Tensor:
        """Refuse what the exercises are about."""
        raise TypeError("this model has no generate: its loop is what you write here")

    def eval(self) -> "Toy":
        """As modules do."""
        return self


class Fixed(Toy):
    """A model whose scores are always the same."""

    def __init__(self, logits: Sequence[float]) -> None:
        self.logits = torch.tensor(logits, dtype=torch.float64)
        self.read = 0

    def scores(self, ids: Tensor) -> Tensor:
        """(B, T) -> (B, T, V)."""
        return self.logits.expand(*ids.shape, -1).clone()


class Batch(dict):
    """Ids and mask as tokenizers give them: `batch.input_ids`, `model(**batch)`."""

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None


class Letters:
    """A tokenizer that knows letters; id 0 ends a text and is a special token."""

    eos_token_id, eos_token = END, "<end>"

    def __call__(self, text: str, return_tensors: str | None = None, **_: Any) -> Batch:
        """A text -> ids and mask."""
        ids = [LETTERS.index(letter) + 1 for letter in text]
        mask = [1] * len(ids)
        if return_tensors:
            ids, mask = torch.tensor([ids]), torch.tensor([mask])
        return Batch(input_ids=ids, attention_mask=mask)

    def encode(self, text: str, return_tensors: str | None = None, **_: Any) -> Any:
        """A text -> ids."""
        return self(text, return_tensors).input_ids

    def decode(self, ids: Any, skip_special_tokens: bool = False, **_: Any) -> Any:
        """Ids -> a text; a batch -> a list of texts, as `transformers` 5 does."""
        ids = ids.tolist() if isinstance(ids, Tensor) else ids
        if isinstance(ids, int):
            ids = [ids]
        if ids and isinstance(ids[0], list):
            return [self.decode(row, skip_special_tokens) for row in ids]
        end = "" if skip_special_tokens else self.eos_token
        return "".join(LETTERS[one - 1] if one else end for one in ids)

    def batch_decode(self, ids: Any, **how: Any) -> list[str]:
        """A batch -> a list of texts."""
        return [self.decode(row, **how) for row in ids]
