"""The guesser: a small BERT that fills in masked words of the same stories.

Its rows are whole sentences, from one up to as many as fit: a reader asks it about a
single sentence. Its tokens are WordPiece, as BERT's, without capitals.
"""

import json
import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import islice
from pathlib import Path

import torch
import torch.nn.functional as F
from safetensors.torch import load_file, save_file
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

    Every other row holds one sentence and the rows between as many as fit.
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
            if row and (full or len(rows) % 2 == 1):
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


@lru_cache(maxsize=1)
def batches(
    lengths: Tensor, settings: GuesserSettings, epoch: int
) -> list[tuple[int, Tensor]]:
    """The batches of an epoch, in shuffled order: a width, and the rows that fit it.

    Args:
        lengths: of the rows, in tokens, (N,)
        settings: each batch has batch_size x context places
        epoch: in which the rows are shuffled anew
    """
    draw = torch.Generator().manual_seed(settings.seed * 1_000_003 + epoch)
    found, least = [], 0
    for parts in (4, 2, 1):
        width = settings.context // parts
        fitting = ((lengths > least) & (lengths <= width)).nonzero().flatten()
        fitting = fitting[torch.randperm(len(fitting), generator=draw)]
        size = settings.batch_size * parts
        full = range(0, len(fitting) // size * size, size)
        found += [(width, fitting[start : start + size]) for start in full]
        least = width
    order = torch.randperm(len(found), generator=draw).tolist()
    return [found[place] for place in order]


class GuesserTrainer(StoryTrainer):
    """A BERT that guesses hidden words, until the held-out curve no longer falls."""

    def __init__(self, *arguments):
        Trainer.__init__(self, *arguments)
        self.lengths = (self.train_tokens != PAD).sum(1)
        self.per_epoch = len(batches(self.lengths, self.settings, epoch=0))

    def build_model(self) -> BertForMaskedLM:
        """The BERT with its first weights."""
        return build_guesser(self.settings)

    def begin_with(self, target: Path) -> None:
        """Take the weights of a bundled guesser; of its words those that are ours, too.

        A new word begins as the mean of the pieces that it was.
        """
        old = Tokenizer.from_file(str(target / "tokenizer.json"))
        new = Tokenizer.from_file(str(self.folder / "tokenizer.json")).get_vocab()
        theirs = load_file(target / "model.safetensors")
        rows = [
            [known]
            if (known := old.token_to_id(word)) is not None
            else old.encode(word.removeprefix("##"), add_special_tokens=False).ids
            for word in sorted(new, key=new.get)
        ]
        for name, mine in self.model.named_parameters():
            weights = theirs[name].float()
            if len(mine) == len(new):
                weights = torch.stack([weights[some].mean(0) for some in rows])
            mine.data.copy_(weights)
        facts = json.loads((target / "training.json").read_text("utf-8"))
        self.begun = {name: facts[name] for name in ("step", "minutes")}

    def build_optimizers(self) -> list:
        """As the storyteller's."""
        return story_optimizers(self.model, self.settings)

    def held_out_rows(self, tokens: Tensor) -> Tensor:
        """Evenly spaced held-out rows, (16 x evaluate_rows, T)."""
        count = min(len(tokens), 16 * self.settings.evaluate_rows)
        return tokens[torch.linspace(0, len(tokens) - 1, count).long()].long()

    def rows(self) -> Tensor:
        """The rows of the next step: each once, in shuffled order, then again.

        Those of a step are about equally long, and are cut where the padding begins;
        of short ones there are more.
        """
        epoch, position = divmod(self.step, self.per_epoch)
        width, chosen = batches(self.lengths, self.settings, epoch)[position]
        return self.train_tokens[chosen, :width].long()

    def losses(self, rows: Tensor) -> Tensor:
        """The loss of every hidden token, in nats; while training others each step."""
        seed = self.step if self.model.training else int(rows.sum())
        seen, places = hide(rows, self.settings, seed)
        logits = guess_logits(self.model, seen, places)
        return F.cross_entropy(logits, rows[places], reduction="none")

    def extra(self) -> dict[str, float]:
        """Nothing else."""
        return {}
