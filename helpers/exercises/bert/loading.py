"""9.C: load an encoder with five labels; 9.D: what a head may read."""

import atexit
import shutil
from collections.abc import Callable
from functools import cache
from tempfile import mkdtemp
from typing import Any
from unittest.mock import patch

import torch
from torch import Tensor, nn

from helpers.checks.exercise import Answer, Case, Exercise, Look, mistake
from helpers.exercises.bert.shared import LABELS, library_ready, tiny_config
from helpers.exercises.kit import exchanging


def load_five(folder: str) -> Any:
    """The course's own answer to 9.C."""
    return _remembered(folder)


def _loaded(
    folder: str, kind: str = "ForSequenceClassification", labels: int = LABELS
) -> Any:
    """A model of one of the Auto classes."""
    import transformers

    kind = getattr(transformers, f"AutoModel{kind}")
    return kind.from_pretrained(folder, num_labels=labels)


_remembered = cache(_loaded)  # the wrong answers always load the same small BERT
loading = exchanging(_remembered)


@cache
def _untrained(folder: str) -> Any:
    from transformers import AutoConfig, AutoModelForSequenceClassification

    config = AutoConfig.from_pretrained(folder, num_labels=LABELS)
    return AutoModelForSequenceClassification.from_config(config)


@cache
def _pinned(folder: str) -> Any:
    model = _loaded(folder, kind="")
    model.classifier = nn.Linear(model.config.hidden_size, LABELS)
    return model


@cache
def _saved(seed: int) -> tuple[str, Any]:
    """A folder with a small BERT, removed when Python ends, and its embeddings."""
    from transformers import BertModel

    from helpers.pretrained import quiet

    folder = mkdtemp()
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    with torch.random.fork_rng(devices=[]), quiet():
        # Not a seed that an answer is run with: it would draw the same weights.
        torch.default_generator.manual_seed(90_000 + seed)
        model = BertModel(tiny_config())
        model.save_pretrained(folder)
    return folder, model.embeddings.word_embeddings.weight.detach()


def _look(call: Callable, name: str, seed: int) -> Look:
    """Load a small BERT with the answer, and look at what came back.

    Offline: whoever asks for a name of the Hub would wait for the network first.
    """
    from huggingface_hub import constants

    from helpers.pretrained import quiet

    folder, theirs = _saved(seed)
    with quiet(), patch.object(constants, "HF_HUB_OFFLINE", True):
        model = call(folder)
    if model is None:
        return Look(EXPECTED | {"model": "None. Is there a `return`?"})
    if not isinstance(model, nn.Module):
        what = f"a {type(model).__name__}"
        if isinstance(model, type):
            what = f"the class {model.__name__}, with nothing loaded"
        return Look(EXPECTED | {"model": what})
    judged = {"model": type(model).__name__}
    weight = getattr(getattr(model, "classifier", None), "weight", None)
    judged["head"] = _shape(weight, "no linear layer named classifier")
    judged["logits of two texts"] = _called(model.eval())
    judged["encoder"] = _encoder(model, theirs)
    kind = getattr(getattr(model, "config", None), "problem_type", None)
    if kind in (None, "single_label_classification"):
        kind = EXPECTED["kind of task"]
    return Look(judged | {"kind of task": kind})


EXPECTED = {
    "model": "BertForSequenceClassification",
    "head": "of shape (5, 6)",
    "logits of two texts": "of shape (2, 5)",
    "encoder": "pretrained",
    "kind of task": "one label for each text",
}


def _called(model: nn.Module) -> str:
    """What a model gives for two texts; some heads want another form of them."""
    ids = torch.tensor([[2, 7, 9, 3], [4, 5, 0, 0]])
    try:
        output = model(ids)
    except (RuntimeError, TypeError, ValueError) as error:
        return f"none: given ids of shape (2, 4), it raises {type(error).__name__}"
    return _shape(getattr(output, "logits", None), "none: it returns no logits")


def _shape(value: Any, missing: str) -> str:
    return f"of shape {tuple(value.shape)}" if isinstance(value, Tensor) else missing


def _encoder(model: nn.Module, theirs: Tensor) -> str:
    """Whether some part of the model holds the checkpoint's embeddings."""
    for ours in model.parameters():
        if ours.shape == theirs.shape and torch.equal(ours, theirs):
            return "pretrained"
    return "not the checkpoint's weights"


def _load_cases(seed: int) -> list[Case]:
    library_ready()
    _saved(seed)
    return [Case("a small BERT", ("folder", seed), inputs=("folder",), look=_look)]


def _under(name: str) -> Callable:
    """Loads the model of this name, not the one in the folder."""
    return lambda folder: _loaded(name)


LOAD_MISTAKES = (
    mistake(
        "a name in place of the folder",
        "The checkpoint was not looked for in the folder that the function is given, "
        "but under another name.",
        "Which variable says where the checkpoint is?",
        *map(_under, ("bert-base-uncased", "bert-base-cased", "folder")),
    ),
    mistake(
        "two labels",
        "The head has two labels, which is the default.",
        "Which argument of `from_pretrained` says how many labels there are?",
        loading(labels=2),
    ),
    mistake(
        "one label per token",
        "This head labels every token, not the text as a whole.",
        "Which of the Auto classes classifies a whole sequence?",
        loading(kind="ForTokenClassification"),
    ),
    mistake(
        "no head",
        "This is the encoder alone: it returns vectors and no scores.",
        "Which of the Auto classes adds a head?",
        loading(kind=""),
    ),
    mistake(
        "a head that is never called",
        "Only the encoder was loaded, and the layer that was attached to it is never "
        "called.",
        "Which of the Auto classes adds a head, and uses it?",
        _pinned,
    ),
    mistake(
        "a head for words",
        "This head guesses masked words, one score for each word of the vocabulary.",
        "Which of the Auto classes classifies a whole sequence?",
        loading(kind="ForMaskedLM"),
    ),
    mistake(
        "a head for another task",
        "This head is for another task than giving a whole text one of five labels.",
        "Which of the Auto classes classifies a whole sequence?",
        loading(kind="ForMultipleChoice"),
        loading(kind="ForNextSentencePrediction"),
        loading(kind="ForQuestionAnswering"),
        loading(kind="ForQuestionAnswering", labels=2),
    ),
    mistake(
        "built, not loaded",
        "The model was built from the configuration: its encoder is as random as its "
        "head.",
        "Which method loads the weights as well?",
        _untrained,
    ),
    mistake(
        "a number in place of a label",
        "With a single output the model predicts a number, not one of five labels.",
        "How many different ratings are there?",
        loading(labels=1),
    ),
)


# --- 9.D -----------------------------------------------------------------------------


def first_and_mean(hidden: Tensor, attention_mask: Tensor) -> tuple[Tensor, Tensor]:
    """The course's own answer to 9.D."""
    return _pooled(hidden, attention_mask)


def _cls(hidden: Tensor, attention_mask: Tensor) -> Tensor:
    return hidden[:, 0]


def _mean(hidden: Tensor, attention_mask: Tensor) -> Tensor:
    real = attention_mask[..., None].to(hidden)  # (B, T, 1)
    return (hidden * real).sum(1) / real.sum(1)


def _pooled(
    hidden: Tensor,
    attention_mask: Tensor,
    *,
    first: Callable = _cls,
    mean: Callable = _mean,
) -> tuple[Tensor, Tensor]:
    return first(hidden, attention_mask), mean(hidden, attention_mask)


swap = exchanging(_pooled)


def _last(hidden: Tensor, attention_mask: Tensor) -> Tensor:
    return hidden[torch.arange(len(hidden)), attention_mask.sum(1) - 1]


def _but_last(mask: Tensor) -> Tensor:
    """The mask without the last real token of each row."""
    place = torch.arange(mask.shape[1])
    return mask * (place < mask.sum(1, keepdim=True) - 1)


def _over_features(hidden: Tensor, mask: Tensor) -> Tensor:
    return (hidden * mask[..., None]).sum(-1) / mask.sum(1, keepdim=True)


def _over_reviews(hidden: Tensor, mask: Tensor) -> Tensor:
    return (hidden * mask[..., None]).sum(0) / mask.sum(0)[:, None]


def _pool_cases(seed: int) -> list[Case]:
    draw = torch.Generator().manual_seed(seed)

    def case(name: str, size: tuple, lengths: tuple, **more: Any) -> Case:
        hidden = torch.randn(size, generator=draw) + 0.5
        real = (torch.arange(size[1]) < torch.tensor(lengths)[:, None]).long()
        names = ("hidden", "attention_mask")
        return Case(name, (hidden, real), inputs=names, **more)

    return [
        case("three reviews with padding", (3, 6, 5), (6, 2, 4)),
        case("no padding", (2, 4, 7), (4, 4)),
        case("as many reviews as tokens", (4, 4, 6), (3, 4, 2, 3)),
        case("the gradient", (2, 5, 3), (3, 5), gradient=True),
        case("one review without padding", (3, 5, 4), (5, 3, 4)),
    ]


POOL_MISTAKES = (
    mistake(
        "padding averaged in",
        "The mean includes the padding.",
        "Which positions does `attention_mask` mark as real?",
        swap(mean=lambda hidden, mask: hidden.mean(1)),
    ),
    mistake(
        "the padding alone",
        "The mean is that of the padding, and not of the real tokens.",
        "Which of the two does `attention_mask` mark with 1?",
        swap(mean=lambda hidden, mask: _mean(hidden, 1 - mask)),
    ),
    mistake(
        "divided by the padded length",
        "Only real tokens were added up, but the sum was divided by the padded length.",
        "How many vectors were added up for the shortest review?",
        swap(mean=lambda hidden, mask: (hidden * mask[..., None]).mean(1)),
    ),
    mistake(
        "divided by the tokens of the batch",
        "Each sum was divided by the number of real tokens in all reviews together.",
        "How many vectors were added up for one review?",
        swap(mean=lambda hidden, mask: (hidden * mask[..., None]).sum(1) / mask.sum()),
    ),
    mistake(
        "sum in place of mean",
        "The real tokens were added up, but the sum was not divided.",
        "What turns a sum into a mean?",
        swap(mean=lambda hidden, mask: (hidden * mask[..., None]).sum(1)),
    ),
    mistake(
        "the last position for [CLS]",
        "The last position was taken, which is padding where a review is short.",
        "Where does the tokenizer put [CLS]?",
        swap(first=lambda hidden, mask: hidden[:, -1]),
    ),
    mistake(
        "the last token for [CLS]",
        "The last real token was taken: that is [SEP].",
        "Where does the tokenizer put [CLS]?",
        swap(first=_last),
    ),
    mistake(
        "the first review",
        "The first row of the batch came back: one review, and all of its tokens.",
        "Which axis holds the tokens?",
        swap(first=lambda hidden, mask: hidden[0]),
    ),
    mistake(
        "mean without [CLS]",
        "The mean leaves out the first token, which is a real one as well.",
        "Which positions does `attention_mask` mark as real?",
        swap(mean=lambda hidden, mask: _mean(hidden[:, 1:], mask[:, 1:])),
    ),
    mistake(
        "mean without [SEP]",
        "The mean leaves out the last token of each review, which is a real one as "
        "well.",
        "Which positions does `attention_mask` mark as real?",
        swap(mean=lambda hidden, mask: _mean(hidden, _but_last(mask))),
    ),
    mistake(
        "mean without [CLS] and [SEP]",
        "The mean leaves out the first and the last token of each review, which are "
        "real ones as well.",
        "Which positions does `attention_mask` mark as real?",
        swap(mean=lambda hidden, mask: _mean(hidden[:, 1:], _but_last(mask)[:, 1:])),
    ),
    mistake(
        "mean over the features",
        "The mean runs over the D numbers of each token, so there is one number for "
        "each token and no vector for the review.",
        "Which axis of (B, T, D) holds the tokens?",
        swap(mean=lambda hidden, mask: hidden.mean(-1)),
        swap(mean=lambda hidden, mask: (hidden * mask[..., None]).mean(-1)),
        swap(mean=lambda hidden, mask: (hidden * mask[..., None]).sum(-1)),
        swap(mean=_over_features),
    ),
    mistake(
        "mean over the reviews",
        "The mean runs over the reviews, so there is one vector for each place and "
        "none for each review.",
        "Which axis of (B, T, D) holds the tokens?",
        swap(mean=lambda hidden, mask: hidden.mean(0)),
        swap(mean=lambda hidden, mask: (hidden * mask[..., None]).mean(0)),
        swap(mean=_over_reviews),
    ),
    mistake(
        "mean first",
        "Both are right, but in the wrong order.",
        "Which of the two does the docstring promise first?",
        swap(first=_mean, mean=_cls),
    ),
)

EXERCISES = (
    Exercise(
        "9.C",
        "Load it with five labels",
        "function",
        difficulty=1,
        points=1,
        core=True,
        answers=(Answer("load_five", load_five, {"model": ""}),),
        cases=_load_cases,
        proves="a class for whole texts, five labels, a pretrained encoder",
        misconceptions=LOAD_MISTAKES,
    ),
    Exercise(
        "9.D",
        "What a head may read",
        "function",
        difficulty=2,
        points=2,
        core=True,
        answers=(
            Answer(
                "first_and_mean",
                first_and_mean,
                {"first": "batch, d_model", "mean": "batch, d_model"},
            ),
        ),
        cases=_pool_cases,
        proves="the token [CLS], a mean without padding, the gradient",
        misconceptions=POOL_MISTAKES,
    ),
)
