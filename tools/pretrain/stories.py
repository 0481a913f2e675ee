"""What is read: stories of our own world, scenes, books, or two of them, as tokens.

The books are not part of the project: `--books` names a file of texts, packed with xz,
whose parts are separated by form feeds.
"""

import lzma
import random
import re
from collections.abc import Iterator
from itertools import chain, islice
from pathlib import Path

import torch
from safetensors.torch import save_file
from tokenizers import ByteLevelBPETokenizer, Tokenizer
from tqdm import tqdm

from tools.corpora.scenes import scenes
from tools.corpora.stories import Story, tell, words
from tools.pretrain.settings import END, StorySettings, write_atomically

HELD_OUT = 1_000_000_000  # the first seed of the stories that are never trained on
HELD_OUT_STORIES = 500
HELD_OUT_PART = 20  # one part of the books in so many is never trained on
LEARN_FROM = 8_000  # stories from which the tokenizer learns
NAMED = 300  # times that it then reads each name besides, so that it is one token
PER_PART = 20  # stories for each part of a book where both are read: half and half
PAGES = 3  # of scenes for each story where both are read
PAGE = 16  # scenes on a page, which is then about as long as a story
FROM_THE_MIDDLE = 0.4  # share of the training texts that leave out their beginning


def held_out_stories(count: int = HELD_OUT_STORIES) -> list[Story]:
    """Stories that no model was trained on, the same for every run."""
    return [tell(seed) for seed in range(HELD_OUT, HELD_OUT + count)]


def training_text(seed: int) -> str:
    """A story, or its later part, from a sentence that names the hero.

    Readers begin where they like, often without the introductions of a whole story.
    """
    story, rng = tell(seed), random.Random(-1 - seed)
    if rng.random() >= FROM_THE_MIDDLE:
        return story.text()
    hero = story.cast["hero"].forms["name"]
    half = range(1, 1 + len(story.parts) // 2)
    starts = [i for i in half if re.search(rf"\b{hero}\b", story.parts[i])]
    if starts:
        story.parts = story.parts[rng.choice(starts) :]
    return story.text()


def book_parts(file: Path) -> list[str]:
    """The parts of the books: chapters or tales, one paragraph per line.

    Raises:
        SystemExit: The file is missing or is not packed with xz.
    """
    try:
        text = lzma.decompress(file.read_bytes()).decode("utf-8")
    except (OSError, lzma.LZMAError, UnicodeDecodeError) as error:
        raise SystemExit(f"--books {file} can't be read: {error}.") from None
    return [part.strip() for part in text.split("\f") if part.strip()]


def texts(settings: StorySettings, books: Path | None) -> Iterator[str]:
    """The training texts in order: of one kind, or of two by turns."""
    told = (training_text(seed) for seed in range(settings.stories))
    if settings.text == "world":
        yield from told
        return
    if settings.text == "scenes":
        for seed, story in enumerate(told):
            pages = range(PAGES * seed, PAGES * (seed + 1))
            yield from (story, *map(page_of_scenes, pages))
        return
    parts = [p for i, p in enumerate(_books(books)) if i % HELD_OUT_PART]
    random.Random(settings.seed).shuffle(parts)
    for part in parts:
        yield part
        if settings.text == "both":
            yield from islice(told, PER_PART)


def held_out_texts(settings: StorySettings, books: Path | None) -> list[str]:
    """The texts of the held-out curve; of the books only where nothing else is read."""
    if settings.text == "books":
        return _books(books)[::HELD_OUT_PART]
    told = [story.text() for story in held_out_stories()]
    if settings.text == "scenes":
        told += [page_of_scenes(seed, True) for seed in range(HELD_OUT_STORIES)]
    return told


def page_of_scenes(seed: int, held_out: bool = False) -> str:
    """Scenes of everyday life, one to a line, about as long as a story.

    The held-out ones are told by patterns that a run leaves out.
    """
    return "\n".join(scenes(seed, PAGE, held_out))


def _books(books: Path | None) -> list[str]:
    if books is None:
        raise SystemExit("This text needs books: name their file with --books.")
    return book_parts(books)


def build_tokenizer(folder: Path, settings: StorySettings, books: Path | None) -> None:
    """Train the byte-level BPE on the first texts and write tokenizer.json."""
    bpe = ByteLevelBPETokenizer()
    first = islice(texts(settings, books), LEARN_FROM)
    names = words.GIRLS + words.BOYS + words.PET_NAMES
    named = [" ".join(names), "\n".join(names)]  # within a line, and at its beginning
    bpe.train_from_iterator(
        chain(first, NAMED * min(settings.stories, LEARN_FROM) // LEARN_FROM * named),
        settings.vocab_size,
        special_tokens=[END],
        show_progress=False,
    )
    write_atomically(folder / "tokenizer.json", lambda file: bpe.save(str(file)))


def encode(tokenizer: Tokenizer, rows: Iterator[str], total: int) -> torch.Tensor:
    """All texts as one row of token ids, END before each."""
    pieces = []
    with tqdm(total=total, desc="tokens", unit=" texts") as bar:
        while block := [END + text for text in islice(rows, 2000)]:
            ids = [i for row in tokenizer.encode_batch(block) for i in row.ids]
            pieces.append(torch.tensor(ids, dtype=torch.uint16))
            bar.update(len(block))
    return torch.cat(pieces)


def prepare_stories(folder: Path, settings: StorySettings, books: Path | None) -> None:
    """Build tokenizer.json and tokens.safetensors where they are missing."""
    if not (folder / "tokenizer.json").exists():
        build_tokenizer(folder, settings, books)
    if (folder / "tokens.safetensors").exists():
        return
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    held_out = held_out_texts(settings, books)
    tokens = {
        "train": encode(tokenizer, texts(settings, books), settings.stories),
        "held_out": encode(tokenizer, iter(held_out), len(held_out)),
    }
    write_atomically(
        folder / "tokens.safetensors", lambda file: save_file(tokens, file)
    )
