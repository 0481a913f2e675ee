"""What the course ends in, in a call each: search and writing, for lesson 00.

The other two things that it shows need no more than a call either: `one_head` for
where a word looks, `load_translator` for a translation.
"""

from functools import cache
from typing import Any

import torch
from torch import Tensor

from helpers import pretrained
from helpers.corpora.sentences import load_sentences
from helpers.generation.sampling import Settings, sample
from helpers.models.encoder import Encoder, bert_encoder
from helpers.text.sentence_search import nearest, sentence_vectors

TOKENS = 60  # that are written, at most


@cache
def _library() -> tuple[Encoder, Any, list[str], Tensor]:
    """Encoder, tokenizer, the 320 sentences and a vector for each of them."""
    encoder = bert_encoder(pretrained.load_encoder().state_dict())
    tokenizer, sentences = pretrained.load_tokenizer(), load_sentences()
    vectors = sentence_vectors(sentences, encoder, tokenizer)
    return encoder, tokenizer, sentences, vectors


def search(query: str, count: int = 3) -> list[tuple[str, float]]:
    """The bundled sentences that mean most nearly what a query means.

    Args:
        query: English, a few words or a sentence
        count: how many sentences

    Returns:
        Each sentence with its cosine to the query, best first.
    """
    encoder, tokenizer, sentences, vectors = _library()
    (wanted,) = sentence_vectors([query], encoder, tokenizer)
    return [(sentences[place], near) for place, near in nearest(wanted, vectors, count)]


@cache
def _writer(name: str) -> tuple[Any, Any]:
    return pretrained.load_gpt2(name), pretrained.load_tokenizer(name)


def continued(
    beginning: str, draw: int = 0, name: str = "storyteller", temperature: float = 0.7
) -> str:
    """Let a bundled language model continue a text by up to `TOKENS` tokens.

    Args:
        beginning: at least a word
        draw: another number, another text
        name: of the model, as in `helpers.pretrained`
        temperature: below 1 it keeps closer to what is likely

    Raises:
        ValueError: The beginning is empty.
    """
    if not beginning.strip():
        raise ValueError("The beginning is empty: type at least a word.")
    model, tokenizer = _writer(name)
    ids = tokenizer(beginning, return_tensors="pt").input_ids  # (B=1, T)
    chance = torch.Generator().manual_seed(draw)
    how = Settings(temperature, top_k=50)
    (written,) = sample(model, ids, TOKENS, how, chance, tokenizer.eos_token_id)
    return " ".join(tokenizer.decode(written, skip_special_tokens=True).split())
