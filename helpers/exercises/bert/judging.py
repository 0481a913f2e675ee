"""9.L: ask a classifier about texts; 9.E: how good is it, on a whole split?"""

from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from helpers.checks.exercise import (
    Answer,
    Case,
    Exercise,
    Look,
    Property,
    mistake,
)
from helpers.exercises.bert.shared import (
    VOCAB,
    Watched,
    left_alone,
    library_ready,
    tiny_batch,
    tiny_classifier,
    without,
)
from helpers.exercises.kit import exchanging, number

# --- 9.L ------------------------------------------------------------------------------


def star_probabilities(model: Any, tokenizer: Any, texts: list[str]) -> Tensor:
    """The course's own answer to 9.L."""
    return _asked(model, tokenizer, texts)


def _asked(
    model: Any,
    tokenizer: Any,
    texts: list[str],
    *,
    mode: Callable = nn.Module.eval,
    gradients: bool = False,
    inputs: Callable = dict,
    read: Callable = lambda logits: logits.softmax(-1),
    **more: Any,
) -> Tensor:
    """Inference, step by step."""
    mode(model)
    options = {"padding": True, "truncation": True, "return_tensors": "pt"} | more
    batch = inputs(tokenizer(texts, **options))
    with torch.set_grad_enabled(gradients):
        return read(model(**batch).logits)


asking = exchanging(_asked)


@cache
def tiny_tokenizer() -> Any:
    """A tokenizer of `transformers` for words of a made-up language."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
    words = special + [f"{a}{b}" for a in "bdklmn" for b in "aeiou"][: VOCAB - 4]
    whole = Tokenizer(
        models.WordLevel({word: n for n, word in enumerate(words)}, "[UNK]")
    )
    whole.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    ends = [("[CLS]", 2), ("[SEP]", 3)]
    whole.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=ends
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=whole,
        pad_token="[PAD]",
        unk_token="[UNK]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        model_max_length=512,
        model_input_names=["input_ids", "attention_mask"],
    )


def _ask(call: Callable, texts: list[str], seed: int) -> Look:
    model = Watched(tiny_classifier(seed))
    result = call(model, tiny_tokenizer(), list(texts))
    judged: dict[str, Any] = {"probabilities": result} | model.story()
    if isinstance(result, Tensor):
        judged["result needs a gradient"] = result.requires_grad
    return Look(judged)


def _texts(draw: torch.Generator, *lengths: int) -> list[str]:
    words = [f"{a}{b}" for a in "bdkl" for b in "aeiou"]
    picks = (torch.randint(0, len(words), (n,), generator=draw) for n in lengths)
    return [" ".join(words[n] for n in some.tolist()) for some in picks]


def _ask_cases(seed: int) -> list[Case]:
    library_ready()
    tiny_tokenizer()
    draw = torch.Generator().manual_seed(seed)

    def case(name: str, *lengths: int) -> Case:
        texts = _texts(draw, *lengths)
        return Case(name, (texts, seed), inputs=("texts",), look=_ask)

    return [
        case("five texts, as many as labels", 4, 6, 2, 8, 3),
        case("one text alone", 6),
        case("a text of 600 words, and a short one", 600, 4),
    ]


def _sums(case: Case, outputs: Mapping[str, Any]) -> str | None:
    found = outputs["probabilities"]
    if not isinstance(found, Tensor) or found.dim() != 2:
        return None
    sums = found.double().sum(-1)
    off = (~((sums - 1).abs() < 1e-6)).nonzero()  # named is the first, not the worst
    return f"row {int(off[0])} sums to {sums[off[0]].item():.4f}" if len(off) else None


def _detached(logits: Tensor) -> Tensor:
    """Autograd records every step, and only the result is detached."""
    return logits.softmax(-1).detach()


ASK_MISTAKES = (
    mistake(
        "logits returned",
        "The scores came back as they are; they are not probabilities yet.",
        "Which function makes five scores add up to 1?",
        asking(read=lambda logits: logits),
    ),
    mistake(
        "softmax over the texts",
        "The softmax runs over the texts: each text competes with the others.",
        "Which axis of (texts, labels) should sum to 1?",
        asking(read=lambda logits: logits.softmax(0)),
    ),
    mistake(
        "sigmoid in place of softmax",
        "Each label was judged on its own, so a row does not sum to 1.",
        "A review has exactly one rating. Which function makes the five compete?",
        asking(read=lambda logits: logits.sigmoid()),
    ),
    mistake(
        "mask not passed on",
        "The model got the ids without the mask, so it read the padding as well.",
        "What does the tokenizer return besides the ids?",
        asking(inputs=without("attention_mask")),
    ),
    mistake(
        "training mode",
        "The model was left in training mode, so dropout zeroes features at random.",
        "Which method of a module switches dropout off?",
        asking(mode=lambda model: model),
    ),
    mistake(
        "gradients recorded",
        "The result is right, but autograd recorded every step, which costs memory.",
        "Under which context manager does inference run?",
        asking(gradients=True),
        asking(gradients=True, read=_detached),
    ),
    mistake(
        "training mode and gradients",
        "The model was called as in training: with dropout and with gradients.",
        "Two things have to be switched off when a model is used and not trained.",
        asking(mode=lambda model: model, gradients=True),
        asking(mode=lambda model: model, gradients=True, read=_detached),
    ),
    mistake(
        "special tokens left out",
        "The texts came without [CLS] and [SEP], which the model has seen in every "
        "text so far.",
        "Which options did you give the tokenizer, and do you need them?",
        asking(add_special_tokens=False),
    ),
    mistake(
        "not truncated",
        "A text longer than the model's 512 positions was not shortened.",
        "Which option of the tokenizer cuts a text to what the model can take?",
        asking(truncation=False),
    ),
    mistake(
        "cut too short",
        "The texts were cut shorter than they had to be.",
        "How many positions does the model have, according to the task?",
        asking(max_length=128),
        asking(max_length=64),
        asking(max_length=100),
        asking(max_length=256),
    ),
    mistake(
        "labels in place of probabilities",
        "Only the best label of each text came back.",
        "What does the docstring promise: one number per text, or five?",
        asking(read=lambda logits: logits.argmax(-1)),
    ),
)

# --- 9.E ------------------------------------------------------------------------------


def evaluate(model: Any, batches: Iterable[dict]) -> tuple[float, float]:
    """The course's own answer to 9.E."""
    return _evaluated(model, batches)


def _pooled(losses: list[float], hits: list[int], sizes: list[int]) -> tuple:
    total = sum(sizes)
    by_size = sum(loss * size for loss, size in zip(losses, sizes, strict=True))
    return by_size / total, sum(hits) / total


def _evaluated(
    model: Any,
    batches: Iterable[dict],
    *,
    mode: Callable = nn.Module.eval,
    gradients: bool = False,
    inputs: Callable = dict,
    right: Callable = lambda logits, labels: logits.argmax(-1) == labels,
    pool: Callable = _pooled,
) -> Any:
    """Evaluation with one step exchanged."""
    mode(model)
    losses, hits, sizes = [], [], []
    with torch.set_grad_enabled(gradients):
        for batch in batches:
            labels = batch["labels"]
            given = inputs(batch)
            logits = model(**without("labels")(given)).logits
            losses.append(F.cross_entropy(logits, labels).item())
            hits.append(int(right(logits, labels).sum()))
            sizes.append(len(labels))
    return pool(losses, hits, sizes)


evaluating = exchanging(_evaluated)


def _judge(call: Callable, batches: list[dict], seed: int) -> Look:
    model = Watched(tiny_classifier(seed))
    handed = [_own(batch) for batch in batches]
    result = call(model, handed)
    story = model.story() | {"batches": left_alone(batches, handed)}
    if not isinstance(result, tuple | list) or len(result) != 2:
        return Look({"result": number(result)} | story)
    loss, accuracy = map(number, result)
    return Look({"loss": loss, "accuracy": accuracy} | story)


def _own(batch: dict) -> dict:
    return {name: value.clone() for name, value in batch.items()}


def _judge_cases(seed: int) -> list[Case]:
    library_ready()
    draw = torch.Generator().manual_seed(seed)

    def case(name: str, *sizes: tuple[int, ...]) -> Case:
        batches = _unlike(draw, seed, sizes)
        # a result in float32 is as good
        return Case(name, (batches, seed), look=_judge, tolerance=1e-6)

    return [
        case("two batches of 5 reviews", (6, 3, 5, 2, 4), (4, 7, 2, 3, 5)),
        case("batches of 4, 4 and 1", (7, 3, 5, 6), (4, 6, 2, 8), (5,)),
        case("batches of 6 and 2", (3, 5, 9, 4, 6, 2), (7, 4)),
    ]


def _unlike(
    draw: torch.Generator, seed: int, sizes: tuple[tuple[int, ...], ...]
) -> list[dict]:
    """Batches in which some guesses are right, with a different accuracy in each."""
    model = tiny_classifier(seed).eval()
    batches = []
    for place, lengths in enumerate(sizes):
        batch = tiny_batch(draw, *lengths)
        with torch.no_grad():
            logits = model(batch["input_ids"], batch["attention_mask"]).logits
        highest = int(logits.argmax()) // logits.shape[-1]  # its row becomes the last,
        order = torch.arange(len(lengths)).roll(-1 - highest)  # so it is not a label
        batch = {name: value[order] for name, value in batch.items()}
        best = logits[order].argmax(-1)
        right = len(lengths) - 1 if place == 0 else 0
        labels = (best + 1 + torch.randint(0, 4, best.shape, generator=draw)) % 5
        labels[:right] = best[:right]
        batches.append(batch | {"labels": labels})
    return batches


def _mean(values: list) -> float:
    return sum(values) / len(values)


def _popped(batch: dict) -> dict:
    batch.pop("labels")
    return batch


def _batch_means(losses: list, hits: list, sizes: list) -> tuple:
    shares = [hit / size for hit, size in zip(hits, sizes, strict=True)]
    return _mean(losses), _mean(shares)


def _each_with_each(logits: Tensor, labels: Tensor) -> Tensor:
    return logits.argmax(-1, keepdim=True) == labels


KEYS = [3] * 9  # what `len` says of each batch


def _by(losses: list, hits: list, weights: list, counts: list) -> tuple:
    """Losses weighted by one number per batch; loss and accuracy divided by another."""
    total = sum(counts[: len(losses)])
    weighed = zip(losses, weights, strict=False)
    return sum(loss * weight for loss, weight in weighed) / total, sum(hits) / total


JUDGE_MISTAKES = (
    mistake(
        "mean of batch means",
        "Each batch counts the same, though the last one is smaller.",
        "How much should a batch of one review weigh against a batch of four?",
        evaluating(pool=_batch_means),
    ),
    mistake(
        "loss as a mean of batch means",
        "The accuracy counts every review once; the loss counts every batch once.",
        "The loss of a batch is a mean. Over how many reviews?",
        evaluating(
            pool=lambda losses, hits, sizes: (_mean(losses), sum(hits) / sum(sizes))
        ),
    ),
    mistake(
        "accuracy as a mean of batch means",
        "The loss counts every review once; the accuracy counts every batch once.",
        "Two sums, then one division: what do you add up in each?",
        evaluating(
            pool=lambda losses, hits, sizes: (
                _pooled(losses, hits, sizes)[0],
                _batch_means(losses, hits, sizes)[1],
            )
        ),
    ),
    mistake(
        "training mode",
        "The model was left in training mode: dropout makes it look worse than it is, "
        "and different every time.",
        "Which method of a module switches dropout off?",
        evaluating(mode=lambda model: model),
    ),
    mistake(
        "gradients recorded",
        "Autograd recorded every step, though nothing is learned here.",
        "Under which context manager does evaluation run?",
        evaluating(gradients=True),
    ),
    mistake(
        "training mode and gradients",
        "The model was called as in training: with dropout and with gradients.",
        "Two things have to be switched off when a model is used and not trained.",
        evaluating(mode=lambda model: model, gradients=True),
    ),
    mistake(
        "argmax over the batch",
        "You looked for the best review of each label, not for the best label of each "
        "review.",
        "Which axis of (reviews, labels) holds the labels?",
        evaluating(right=lambda logits, labels: logits.argmax(0) == labels),
        evaluating(right=lambda logits, labels: labels == logits.argmax(0)),
    ),
    mistake(
        "one guess for a batch",
        "There is one guess for a whole batch: the place of the highest score among "
        "those of all reviews and labels.",
        "Print the guesses of one batch. How many should there be, and what does "
        "`argmax` do if it is given no axis?",
        evaluating(right=lambda logits, labels: logits.argmax() == labels),
    ),
    mistake(
        "every guess compared with every label",
        "Each guess was compared with every label of its batch, not with its own "
        "alone, so a batch has more hits than it should.",
        "Print the shapes of your guesses and of the labels. Which shape does `==` "
        "make of the two?",
        evaluating(right=_each_with_each),
    ),
    mistake(
        "only one batch",
        "Loss and accuracy are those of one batch, the first or the last.",
        "What do you keep from one batch to the next, and where is your `return`?",
        evaluating(pool=lambda losses, hits, sizes: (losses[-1], hits[-1] / sizes[-1])),
        evaluating(pool=lambda losses, hits, sizes: (losses[0], hits[0] / sizes[0])),
    ),
    mistake(
        "entries of the dict counted",
        "`len` of a batch counts the entries of a dict: three, however many reviews "
        "it holds.",
        "Print the number that you take for the size of a batch. Does it ever change?",
        evaluating(pool=lambda losses, hits, sizes: _by(losses, hits, KEYS, KEYS)),
        evaluating(pool=lambda losses, hits, sizes: _by(losses, hits, sizes, KEYS)),
        evaluating(pool=lambda losses, hits, sizes: _by(losses, hits, KEYS, sizes)),
    ),
    mistake(
        "divided by the number of batches",
        "The number of right guesses was divided by the number of batches.",
        "How many reviews were judged in all, rightly or wrongly?",
        evaluating(
            pool=lambda losses, hits, sizes: (
                _pooled(losses, hits, sizes)[0],
                _mean(hits),
            )
        ),
        evaluating(pool=lambda losses, hits, sizes: (_mean(losses), _mean(hits))),
    ),
    mistake(
        "sum of the batch losses",
        "The losses of the batches were added up.",
        "Would the loss of twice as many reviews be twice as high?",
        evaluating(
            pool=lambda losses, hits, sizes: (sum(losses), sum(hits) / sum(sizes))
        ),
    ),
    mistake(
        "hits not divided",
        "The right guesses were counted, but not divided by the number of reviews.",
        "An accuracy lies between 0 and 1.",
        evaluating(
            pool=lambda losses, hits, sizes: (
                _pooled(losses, hits, sizes)[0],
                sum(hits),
            )
        ),
    ),
    mistake(
        "mask not passed on",
        "The model got the ids without the mask, so it read the padding as well.",
        "What does a batch hold besides ids and labels?",
        evaluating(inputs=without("attention_mask")),
    ),
    mistake(
        "batches changed",
        "The numbers are right, but the batches were changed on the way. They belong "
        "to the caller, who needs them again.",
        "Look for `pop`, `del` and assignments that touch a batch: work on a copy.",
        evaluating(inputs=_popped),
    ),
    mistake(
        "batch losses divided by all reviews",
        "The losses of the batches, each a mean, were added up and divided by the "
        "number of reviews.",
        "The loss of a batch is a mean. Over how many reviews?",
        evaluating(
            pool=lambda losses, hits, sizes: (
                sum(losses) / sum(sizes),
                sum(hits) / sum(sizes),
            )
        ),
    ),
    mistake(
        "accuracy first",
        "Both numbers are right, but in the wrong order.",
        "Which of the two does the docstring promise first?",
        evaluating(pool=lambda losses, hits, sizes: _pooled(losses, hits, sizes)[::-1]),
    ),
)

EXERCISES = (
    Exercise(
        "9.L",
        "Ask it for stars",
        "function",
        difficulty=2,
        points=2,
        answers=(
            Answer(
                "star_probabilities",
                star_probabilities,
                {"probabilities": "texts, labels"},
            ),
        ),
        cases=_ask_cases,
        proves="a batch of texts, no dropout, no gradients, mask, texts of any length",
        properties=(Property("Does each row sum to 1", _sums),),
        misconceptions=ASK_MISTAKES,
    ),
    Exercise(
        "9.E",
        "Evaluate",
        "function",
        difficulty=3,
        points=3,
        core=True,
        answers=(Answer("evaluate", evaluate, {"loss": "", "accuracy": ""}),),
        cases=_judge_cases,
        proves="every review counts the same, no dropout, no gradients, mask, batches "
        "left as they were",
        misconceptions=JUDGE_MISTAKES,
    ),
)
