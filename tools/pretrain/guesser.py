"""The guesser: a small BERT that fills in masked words of the same stories.

Its rows are whole sentences, from one up to as many as fit: a reader asks it about a
single sentence. Its tokens are WordPiece, as BERT's, without capitals.
"""

import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import torch
import torch.nn.functional as F
from safetensors.torch import save_file
from tokenizers import BertWordPieceTokenizer, Tokenizer
from torch import Tensor
from transformers import BertConfig, BertForMaskedLM

from tools.pretrain.settings import GuesserSettings, write_atomically
from tools.pretrain.stories import held_out_texts, texts
from tools.pretrain.storyteller import StoryTrainer, story_optimizers
from tools.pretrain.training import Trainer

PAD, UNKNOWN, START, STOP, MASK = range(5)
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
LEARN_FROM = 8_000  # texts from which the tokenizer learns

# Chosen before any guesser was trained: a sentence, and nouns that fit.
SENTENCES = {
    "I sat on the [MASK].": "chair bench sofa bed wall floor steps rug grass stone",
    "She put the ball in the [MASK].": "box basket drawer bag chest cupboard sack tin",
    "The [MASK] barked all night.": "dog puppy seal dogs",
    "He ate a slice of [MASK].": "cake bread pie cheese",
    "They sailed away in a little [MASK].": "boat ship",
    "It rained, so she opened her [MASK].": "umbrella",
    "The sun went down behind the [MASK].": "hill hills roofs mountains trees house",
    "Anna asked her [MASK] for help.": "mother father aunt uncle grandmother "
    "grandfather friend brother sister",
    "The bird sang in the [MASK].": "tree garden forest hedge nest trees",
    "He wrote a long [MASK] to his friend.": "letter",
    "The baker baked [MASK] every morning.": "bread cakes buns pies",
    "In winter the lake was covered with [MASK].": "ice snow",
    "She opened the door with a small [MASK].": "key",
    "They were afraid of the [MASK].": "dark thunder storm dog water wolf spiders",
    "The cat slept on the warm [MASK].": "stove bed sofa chair pillow windowsill rug",
    "He found a gold coin under the [MASK].": "bed rug table stairs bench sofa pillow",
    "The children built a [MASK] of snow.": "snowman castle house tower",
    "The ship came into the [MASK].": "harbour",
    "We lit a [MASK], because it was dark.": "lantern lamp candle fire light",
    "The horse ran across the [MASK].": "meadow field fields road bridge yard street",
}


def sentences(text: str) -> list[str]:
    """The sentences of a text; what is said in quotes stays with who said it."""
    return [
        sentence
        for line in text.splitlines()
        for sentence in re.split(r"(?<=[.!?])\s+(?=[\"A-Z])", line)
        if sentence
    ]


def fill_rows(
    tokenizer: Tokenizer, rows_of: list[str], settings: GuesserSettings
) -> list[list[int]]:
    """Rows of whole sentences, [CLS] ... [SEP] and padding, each (T,).

    Every fourth row holds one sentence and the rows between as many as fit.
    """
    rows, room = [], settings.context - 2
    for text in rows_of:
        pieces = [
            piece.ids[:room]
            for piece in tokenizer.encode_batch(
                sentences(text), add_special_tokens=False
            )
        ]
        row: list[int] = []
        for piece in pieces:
            full = len(row) + len(piece) > room
            if row and (full or len(rows) % 4 == 1):
                rows.append(row)
                row = []
            row = row + piece
        rows.append(row)
    padded = [[START, *row, STOP] for row in rows if row]
    return [row + [PAD] * (settings.context - len(row)) for row in padded]


def all_rows(
    tokenizer: Tokenizer, rows_of: Iterator[str], settings: GuesserSettings
) -> Tensor:
    """The rows of all texts, (N, T)."""
    parts = []
    while block := list(islice(rows_of, 500)):
        rows = fill_rows(tokenizer, block, settings)
        parts.append(torch.tensor(rows, dtype=torch.uint16))
    return torch.cat(parts)


def prepare_guesser(
    folder: Path, settings: GuesserSettings, books: Path | None
) -> None:
    """Build tokenizer.json and tokens.safetensors where they are missing."""
    if not (folder / "tokenizer.json").exists():
        pieces = BertWordPieceTokenizer(lowercase=True)
        first = islice(texts(settings, books), LEARN_FROM)
        pieces.train_from_iterator(
            first, settings.vocab_size, special_tokens=SPECIAL, show_progress=False
        )
        write_atomically(folder / "tokenizer.json", lambda f: pieces.save(str(f)))
    if (folder / "tokens.safetensors").exists():
        return
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokens = {
        "train": all_rows(tokenizer, texts(settings, books), settings),
        "held_out": all_rows(
            tokenizer, iter(held_out_texts(settings, books)), settings
        ),
    }
    write_atomically(
        folder / "tokens.safetensors", lambda file: save_file(tokens, file)
    )


def hide(rows: Tensor, settings: GuesserSettings, seed: int) -> tuple[Tensor, Tensor]:
    """Rows with words hidden as BERT hides them, and which places are to be guessed.

    Of the chosen places of the rows (B, T), 80 % become [MASK], 10 % another token,
    and 10 % stay.

    Returns:
        ids (B, T); chosen places (B, T), boolean
    """
    draw = torch.Generator().manual_seed(seed)
    chosen = torch.rand(rows.shape, generator=draw) < settings.masked
    chosen &= rows >= len(SPECIAL)
    how = torch.rand(rows.shape, generator=draw)
    others = torch.randint(
        len(SPECIAL), settings.vocab_size, rows.shape, generator=draw
    )
    seen = torch.where(chosen & (how < 0.8), MASK, rows)
    return torch.where(chosen & (how >= 0.9), others, seen), chosen


def build_guesser(settings: GuesserSettings) -> BertForMaskedLM:
    """A plain BERT of transformers, with fresh weights from the seed."""
    torch.manual_seed(settings.seed)
    config = BertConfig(
        vocab_size=settings.vocab_size,
        hidden_size=settings.d_model,
        num_hidden_layers=settings.num_layers,
        num_attention_heads=settings.num_heads,
        intermediate_size=4 * settings.d_model,
        max_position_embeddings=settings.context,
        hidden_dropout_prob=settings.dropout,
        attention_probs_dropout_prob=0.0,
    )
    return BertForMaskedLM(config)


def guess_logits(model: BertForMaskedLM, rows: Tensor, places: Tensor) -> Tensor:
    """Logits of the chosen places alone, (N, V)."""
    states = model.bert(rows, attention_mask=rows != PAD).last_hidden_state  # (B, T, D)
    return model.cls(states[places]).float()


class GuesserTrainer(StoryTrainer):
    """A BERT that guesses hidden words, until the held-out curve no longer falls."""

    def __init__(self, *arguments):
        Trainer.__init__(self, *arguments)

    def build_model(self) -> BertForMaskedLM:
        """The BERT with its first weights."""
        return build_guesser(self.settings)

    def build_optimizers(self) -> list:
        """As the storyteller's."""
        return story_optimizers(self.model, self.settings)

    def held_out_rows(self, tokens: Tensor) -> Tensor:
        """Evenly spaced held-out rows, (16 x evaluate_rows, T)."""
        count = min(len(tokens), 16 * self.settings.evaluate_rows)
        return tokens[torch.linspace(0, len(tokens) - 1, count).long()].long()

    def rows(self) -> Tensor:
        """The rows of the next step: each once, in shuffled order, then again."""
        size, rows = self.settings.batch_size, self.train_tokens
        epoch, position = divmod(self.step, len(rows) // size)
        if epoch != getattr(self, "_epoch", None):
            draw = torch.Generator().manual_seed(self.settings.seed * 1_000_003 + epoch)
            self._epoch, self._order = epoch, torch.randperm(len(rows), generator=draw)
        chosen = self._order[position * size : (position + 1) * size]
        return rows[chosen].long()

    def losses(self, rows: Tensor) -> Tensor:
        """The loss of every hidden token, in nats; while training others each step."""
        seed = self.step if self.model.training else int(rows.sum())
        seen, places = hide(rows, self.settings, seed)
        logits = guess_logits(self.model, seen, places)
        return F.cross_entropy(logits, rows[places], reduction="none")

    def extra(self) -> dict[str, float]:
        """Nothing else."""
        return {}
