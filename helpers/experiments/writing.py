"""A bundled translator watched while it writes, and a Transformer of a student's.

`watch` keeps what happens at each step: what stands there already, which words come
next with which probability, and where the cross-attention looks. `fill` gives a
Transformer that a student wrote the weights of the translator, so that it writes, too.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from helpers.corpora.language.lookup import lookup
from helpers.corpora.vocabulary import END, START, pad
from helpers.experiments.bundled import Translator
from helpers.experiments.language import LONGEST
from helpers.models.masks import look_ahead_mask
from helpers.models.multi_head import MultiHeadAttention
from helpers.models.transformer import cross_weights

SHOWN = {"<start>": "start", "<end>": "end"}  # as a reader sees them


@dataclass(frozen=True)
class Step:
    """One word that a translator writes."""

    before: tuple[str, ...]  # written so far, without the start
    words: tuple[str, ...]  # that may come next, the most probable first
    odds: tuple[float, ...]  # the probability of each of them
    looks: Tensor  # (S,): cross-attention of this step, a mean over layers and heads


@torch.no_grad()
def watch(
    translator: Translator, text: str, count: int = 5
) -> tuple[list[str], list[Step]]:
    """Let a translator write greedily, and keep every step.

    Args:
        translator: a bundled one
        text: English
        count: how many of the most probable words to keep

    Returns:
        The S words that it reads, "start" and "end" included, and its steps.

    Raises:
        UnknownWords: A word is not in the language.
    """
    model, target = translator.model, translator.target
    source = torch.tensor([translator.source.encode(lookup(text).text)])  # (1, S)
    memory, ids, steps = model.encode(source), [START], []
    while ids[-1] != END and len(steps) < LONGEST:
        written = torch.tensor([ids])  # (1, T)
        mask = look_ahead_mask(len(ids))
        likely = model.decode(written, memory, mask)[0, -1].softmax(-1).topk(count)
        looks = torch.stack(cross_weights(model, source, written, None, mask))
        steps.append(
            Step(
                before=tuple(target.tokens(ids)),
                words=tuple(_shown(target.pieces[n]) for n in likely.indices.tolist()),
                odds=tuple(likely.values.tolist()),
                looks=looks[:, 0, :, -1].mean((0, 1)),
            )
        )
        ids.append(int(likely.indices[0]))
    read = [_shown(translator.source.pieces[n]) for n in source[0].tolist()]
    return read, steps


def _shown(word: str) -> str:
    return SHOWN.get(word, word)


# --- letters, written backwards -------------------------------------------------------

LETTERS = 26  # ids 1 to 26; 0 is padding, 27 the start and 28 the end
LONGEST_WORD = 7


def letters_backwards(count: int) -> tuple[Tensor, Tensor]:
    """Draw rows of 2 to 7 letters, and the same backwards between start and end.

    Args:
        count: B

    Returns:
        source (B, 7) and target (B, 9), filled up with 0
    """
    source = torch.zeros(count, LONGEST_WORD, dtype=torch.long)
    target = torch.zeros(count, LONGEST_WORD + 2, dtype=torch.long)
    target[:, 0] = LETTERS + 1
    lengths = torch.randint(2, LONGEST_WORD + 1, (count,)).tolist()
    for row, length in enumerate(lengths):
        letters = torch.randint(1, LETTERS + 1, (length,))
        source[row, :length] = letters
        target[row, 1 : length + 1] = letters.flip(0)
        target[row, length + 1] = LETTERS + 2
    return source, target


def to_ids(words: Sequence[str]) -> Tensor:
    """Small letters to ids, padded to the longest word: (B, S)."""
    return pad([ord(letter) - 96 for letter in word] for word in words)


def to_words(ids: Tensor) -> list[str]:
    """Ids (B, T) to letters, without start, end and padding."""
    kept = ([n for n in row if 0 < n <= LETTERS] for row in ids.tolist())
    return ["".join(chr(96 + n) for n in row) for row in kept]


# --- the weights of a translator in a student's Transformer ---------------------------


def fill(mine: nn.Module, theirs: nn.Module) -> nn.Module:
    """Copy the weights of the course's Transformer into one whose classes differ.

    Parts are matched by their names. An attention may hold W_q, W_k and W_v one by one.

    Args:
        mine: has the parts that the stubs of lessons 03 to 05 name
        theirs: the course's, of the same sizes

    Returns:
        The first of the two, in eval mode.

    Raises:
        ValueError: A part is missing, or has another shape.
    """
    _fill(mine, theirs, "the model")
    return mine.eval()


def _fill(mine: nn.Module, theirs: nn.Module, name: str) -> None:
    if isinstance(theirs, MultiHeadAttention) and hasattr(mine, "copy_layers"):
        mine.copy_layers(*_layers(theirs))
        return
    given = dict(theirs.named_parameters())
    if {n: p.shape for n, p in mine.named_parameters()} == {
        n: p.shape for n, p in given.items()
    }:
        with torch.no_grad():
            for one, value in mine.named_parameters():
                value.copy_(given[one])
        return
    parts = dict(mine.named_children())
    for part, child in theirs.named_children():
        if not list(child.parameters()):
            continue
        if part not in parts:
            raise ValueError(f"{name} has no part {part!r}: name it as the stub does.")
        _fill(parts[part], child, part)
    if not parts:
        raise ValueError(f"{name} has weights of another shape than the translator's.")


def _layers(attention: MultiHeadAttention) -> list[nn.Linear]:
    """W_q, W_k, W_v and W_o of the course's attention, one by one."""
    weights, biases = (
        getattr(attention.to_qkv, kind).detach().chunk(3) for kind in ("weight", "bias")
    )
    found = []
    for weight, bias in zip(weights, biases, strict=True):
        layer = nn.Linear(weight.shape[1], weight.shape[0])
        layer.load_state_dict({"weight": weight, "bias": bias})
        found.append(layer)
    return [*found, attention.W_o]
