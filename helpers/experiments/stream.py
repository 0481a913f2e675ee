"""The residual stream of a real encoder: the one inside a bundled translator.

Its layers are pre-norm, so each sub-layer adds to the stream and nothing else touches
it: the stream is the plain sum of what was written.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from helpers.corpora.language.lookup import lookup
from helpers.experiments.bundled import load_translator

Sublayer = Callable[[Tensor], Tensor]


@dataclass(frozen=True)
class Stream:
    """What enters the stream of an encoder, and who writes into it."""

    tokens: list[str]  # T words, with marks for start and end
    x: Tensor  # (B=1, T, D), embedding and position: the stream at the start
    sublayers: tuple[Sublayer, ...]  # (B, T, D) -> (B, T, D), in order
    names: tuple[str, ...]  # of x and of the sub-layers
    norm: nn.Module  # reads the stream at the end
    output: Tensor  # (B=1, T, D), what the encoder itself gives back


@torch.no_grad()
def translator_stream(text: str, code: str = "de") -> Stream:
    """Open the encoder of a bundled translator on a sentence.

    Args:
        text: the sentence, of words that the little language has
        code: of the language that is translated into, "de" or "fr"

    Raises:
        UnknownWords: A word is not in the language; see `lookup`.
    """
    translator = load_translator(code)
    encoder = translator.model.encoder.requires_grad_(False)
    ids = translator.source.encode(lookup(text).text)
    batch = torch.tensor([ids])
    names, sublayers = ["embedding + position"], []
    for number, layer in enumerate(encoder.layers, start=1):
        names += [f"attention {number}", f"feed-forward {number}"]
        sublayers += [_attention(layer), _feed_forward(layer)]
    return Stream(
        [translator.source.pieces[index] for index in ids],
        encoder.positions(encoder.embedding(batch)),
        tuple(sublayers),
        tuple(names),
        encoder.norm,
        encoder(batch),
    )


def _attention(layer: nn.Module) -> Sublayer:
    def write(x: Tensor) -> Tensor:
        y = layer.norm1(x)
        return layer.attention(y, y, y)

    return write


def _feed_forward(layer: nn.Module) -> Sublayer:
    return lambda x: layer.feed_forward(layer.norm2(x))
