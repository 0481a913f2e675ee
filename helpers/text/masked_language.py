"""BERT's two tasks: guess the hidden words, and say whether a sentence follows."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from helpers.models.bert import MaskedLanguageModel
from helpers.models.masks import padding_mask

NOT_ASKED = -100  # the label that the loss skips


def mask_tokens(
    ids: Tensor,
    special: Tensor,
    mask_id: int,
    vocab_size: int,
    generator: torch.Generator | None = None,
) -> tuple[Tensor, Tensor]:
    """Hide some tokens: of the 15 % selected, 80 % [MASK], 10 % random, 10 % as is.

    Args:
        ids: (B, T)
        special: (B, T), boolean, True = never selected
        mask_id: the id of [MASK]
        vocab_size: V, for random words
        generator: of the random numbers

    Returns:
        Inputs (B, T), and labels (B, T): the id where selected, else -100.

    Source: Devlin et al. 2019 (arXiv 1810.04805), section 3.1 and appendix A.1.
    """
    chance = torch.rand(2, *ids.shape, generator=generator)
    selected = (chance[0] < 0.15) & ~special
    words = torch.randint(vocab_size, ids.shape, generator=generator)
    replaced = torch.where(chance[1] < 0.8, mask_id, words)
    changed = selected & (chance[1] < 0.9)
    return torch.where(changed, replaced, ids), ids.masked_fill(~selected, NOT_ASKED)


def padded(texts: Sequence[str], tokenizer: Any) -> tuple[Tensor, Tensor]:
    """Ids (B, T) of texts, and where special tokens and padding stand."""
    batch = tokenizer(
        list(texts), padding=True, truncation=True, return_tensors="pt",
        return_special_tokens_mask=True,
    )  # fmt: skip
    return batch["input_ids"], batch["special_tokens_mask"].bool()


def word_tokenizer(texts: Sequence[str]) -> Any:
    """A tokenizer of `transformers` whose vocabulary is all words of some texts.

    Words are in small letters; it has BERT's five special tokens, [PAD] with id 0.
    """
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    names = {"pad": "[PAD]", "unk": "[UNK]", "cls": "[CLS]", "sep": "[SEP]"}
    special = {f"{name}_token": token for name, token in names.items()}
    special["mask_token"] = "[MASK]"
    normal, cut = normalizers.Lowercase(), pre_tokenizers.BertPreTokenizer()
    words = {
        word
        for text in texts
        for word, _ in cut.pre_tokenize_str(normal.normalize_str(text))
    }
    vocabulary = {w: n for n, w in enumerate([*special.values(), *sorted(words)])}
    inner = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    inner.normalizer, inner.pre_tokenizer = normal, cut
    inner.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        special_tokens=[(name, vocabulary[name]) for name in ("[CLS]", "[SEP]")],
    )
    return PreTrainedTokenizerFast(tokenizer_object=inner, **special)


Hide = Callable[[Tensor, Tensor, int, int], tuple[Tensor, Tensor]]
Masked = tuple[Tensor, Tensor, Tensor]  # inputs, labels, padding mask


def masked_batches(
    texts: Sequence[str], tokenizer: Any, size: int, seed: int, hide: Hide = mask_tokens
) -> Iterator[Masked]:
    """Yield batches without end, each epoch in a new order and with other words hidden.

    Args:
        texts: to learn from
        tokenizer: of the checkpoint
        size: B
        seed: of the order
        hide: called with ids, special tokens, the id of [MASK], and V
    """
    draw = torch.Generator().manual_seed(seed)
    while True:
        order = torch.randperm(len(texts), generator=draw).tolist()
        for start in range(0, len(order) - size + 1, size):
            some = [texts[place] for place in order[start : start + size]]
            ids, special = padded(some, tokenizer)
            inputs, labels = hide(ids, special, tokenizer.mask_token_id, len(tokenizer))
            yield inputs, labels, padding_mask(ids)


def masked_loss(model: MaskedLanguageModel, batch: Masked) -> Tensor:
    """Mean cross-entropy at the selected places alone, in nats."""
    inputs, labels, mask = batch
    asked = labels != NOT_ASKED
    return F.cross_entropy(model(inputs, mask, asked), labels[asked])


def weights_to_train(
    model: MaskedLanguageModel, rate: float, head_rate: float
) -> list[dict]:
    """Groups for an optimizer: the layers, and the head with a rate of its own.

    The table of words and the positions stay as they are; so a short training can't
    spoil them.
    """
    model.requires_grad_(False)
    layers = list(model.encoder.layers.requires_grad_(True).parameters())
    head = [w for n, w in model.head.named_parameters() if not n.endswith("table")]
    for weight in head:
        weight.requires_grad_(True)
    return [{"params": layers, "lr": rate}, {"params": head, "lr": head_rate}]


def count_loss(texts: Sequence[str], labels: Tensor, tokenizer: Any) -> float:
    """What a guess by word counts alone loses: always say how frequent each word is.

    Each word of the vocabulary is counted once more than it occurs.

    Args:
        texts: where the words are counted
        labels: ids to be guessed, and -100
        tokenizer: of the checkpoint
    """
    counts: Counter = Counter()
    for ids in tokenizer(list(texts), add_special_tokens=False)["input_ids"]:
        counts.update(ids)
    total = sum(counts.values()) + len(tokenizer)
    asked = labels[labels != NOT_ASKED].tolist()
    shares = torch.tensor([(counts[word] + 1) / total for word in asked])
    return -shares.log().mean().item()


@torch.no_grad()
def guesses(
    model: MaskedLanguageModel, tokenizer: Any, text: str, count: int = 5
) -> list[tuple[str, float]]:
    """The most likely words for a text's first [MASK], with their probabilities."""
    was_training = model.training
    model.eval()
    ids = tokenizer(text, return_tensors="pt")["input_ids"]
    chosen = torch.zeros_like(ids, dtype=torch.bool)
    chosen[0, (ids[0] == tokenizer.mask_token_id).nonzero()[0]] = True
    shares, best = model(ids, None, chosen)[0].softmax(-1).topk(count)
    model.train(was_training)
    words = tokenizer.convert_ids_to_tokens(best.tolist())
    return list(zip(words, shares.tolist(), strict=True))


@torch.no_grad()
def fill_in(
    model: Any, tokenizer: Any, text: str, count: int = 5
) -> list[tuple[str, float]]:
    """The words that a model of `transformers` puts at a text's first [MASK].

    Args:
        model: masked language model, in eval mode
        tokenizer: the one that belongs to it
        text: with at least one [MASK]
        count: how many words

    Returns:
        The most likely words with their probabilities, best first.

    Raises:
        ValueError: There is no [MASK] in the text.
    """
    batch = tokenizer(text, truncation=True, return_tensors="pt")
    places = (batch["input_ids"][0] == tokenizer.mask_token_id).nonzero()
    if not len(places):
        raise ValueError(f"{text!r} has no [MASK]: write one where a word is missing.")
    shares = model(**batch).logits[0, places[0, 0]].softmax(-1)
    values, ids = shares.topk(count)
    words = tokenizer.convert_ids_to_tokens(ids.tolist())
    return list(zip(words, values.tolist(), strict=True))
