"""6.F: one step of training, judged by its loss and by the weights it leaves."""

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.optim import SGD, Adam, Optimizer

from helpers.checks.exercise import Answer, Case, Exercise, Look, mistake
from helpers.exercises.kit import exchanging, warm_up_optimizers
from helpers.exercises.masks.shared import padded_ids
from helpers.models.attention import attention
from helpers.models.masks import padding_mask, target_mask

SMOOTHING = 0.1
VOCABULARIES = 11, 13  # ids of the source and of the target, padding included


class Translator(nn.Module):
    """The smallest model with a Transformer's inputs that needs both masks."""

    def __init__(self) -> None:
        """Create two tables and an output layer."""
        super().__init__()
        self.source, self.target = (nn.Embedding(count, 6) for count in VOCABULARIES)
        self.last = nn.Linear(6, VOCABULARIES[1])

    def forward(
        self,
        source: Tensor,
        target: Tensor,
        source_mask: Tensor | None,
        target_mask: Tensor | None,
    ) -> Tensor:
        """(B, S), (B, T), two masks -> logits (B, T, V)."""
        memory, x = self.source(source)[:, None], self.target(target)[:, None]
        memory = memory + attention(memory, memory, memory, source_mask)
        x = x + attention(x, x, x, target_mask)  # (B, H=1, T, 6)
        x = x + attention(x, memory, memory, source_mask)
        return self.last(x.tanh()[:, 0])


def _cross_entropy(logits: Tensor, labels: Tensor) -> Tensor:
    return F.cross_entropy(logits.mT, labels, ignore_index=0, label_smoothing=SMOOTHING)


def _masks(source: Tensor, written: Tensor, target: Tensor) -> tuple:
    return padding_mask(source), target_mask(written)


def _shifted(target: Tensor) -> tuple[Tensor, Tensor]:
    return target[:, :-1], target[:, 1:]


def _update(optimizer: Optimizer, loss: Tensor) -> None:
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


def train_step(
    model: nn.Module,
    optimizer: Optimizer,
    source: Tensor,
    target: Tensor,
    *,
    shift: Callable = _shifted,
    masks: Callable = _masks,
    loss_of: Callable = _cross_entropy,
    update: Callable = _update,
    result: Callable = Tensor.item,
) -> float:
    """The course's own answer to 6.F; the keywords are for the misconceptions."""
    written, labels = shift(target)
    logits = model(source, written, *masks(source, written, target))
    loss = loss_of(logits, labels)
    update(optimizer, loss)
    return result(loss)


def _two_steps(
    call: Callable,
    source: Tensor,
    target: Tensor,
    kind: type[Optimizer] = SGD,
    dtype: torch.dtype = torch.float64,
) -> Look:
    """Take two steps with a small model: judge what came back and its weights."""
    model = Translator().to(dtype)
    optimizer = kind(model.parameters(), lr=0.5 if kind is SGD else 0.01)
    judged: dict[str, Any] = {}
    for step in ("first", "second"):
        judged[f"loss of the {step} step"] = _number(
            call(model, optimizer, source, target)
        )
        weights = nn.utils.parameters_to_vector(model.parameters())
        judged[f"weights after the {step} step"] = weights
    return Look(judged)


def _number(loss: Any) -> Any:
    """A loss in a tensor is as good as a plain number."""
    number = isinstance(loss, Tensor) and loss.numel() == 1
    return loss.item() if number and loss.is_floating_point() else loss


def _cases(seed: int) -> list[Case]:
    warm_up_optimizers()
    draw = torch.Generator().manual_seed(seed)

    def case(
        name: str, source: tuple, target: tuple, widths: tuple[int, int], **more: Any
    ) -> Case:
        ids = [
            padded_ids(draw, lengths, width, words - 1)
            for lengths, width, words in zip(
                (source, target), widths, VOCABULARIES, strict=True
            )
        ]
        names = ("source", "target")
        look = partial(_two_steps, **more)
        tolerance = 1e-5 if "dtype" in more else None
        return Case(name, tuple(ids), inputs=names, look=look, tolerance=tolerance)

    return [
        case("three pairs with padding, SGD", (5, 3, 7), (6, 4, 5), (7, 6)),
        case("the same with Adam", (4, 6), (7, 3), (6, 7), kind=Adam),
        case("no padding at all", (4, 4), (5, 5), (4, 5)),
        case("float32", (3, 5), (4, 6), (5, 6), dtype=torch.float32),
    ]


def _flattened(logits: Tensor, labels: Tensor) -> Tensor:
    return F.cross_entropy(
        logits.flatten(0, 1),
        labels.flatten(),
        ignore_index=0,
        label_smoothing=SMOOTHING,
    )


def _smooth_everywhere(logits: Tensor, labels: Tensor) -> Tensor:
    """The label's part skips padding, but the part that is spread out does not."""
    log = logits.log_softmax(-1)
    sharp = F.nll_loss(log.mT, labels, ignore_index=0)
    return (1 - SMOOTHING) * sharp - SMOOTHING * log.mean()


def _mean_over_all(logits: Tensor, labels: Tensor) -> Tensor:
    each = F.cross_entropy(
        logits.mT, labels, ignore_index=0, label_smoothing=SMOOTHING, reduction="none"
    )
    return each.mean()


def _by_softmax(soften: Callable) -> Callable:
    return lambda logits, labels: _cross_entropy(soften(logits), labels)


def _with_smoothing(share: float) -> Callable:
    return lambda logits, labels: F.cross_entropy(
        logits.mT, labels, ignore_index=0, label_smoothing=share
    )


def _reshaped(logits: Tensor, labels: Tensor) -> Tensor:
    batch, length, words = logits.shape
    return _cross_entropy(logits.reshape(batch, words, length).mT, labels)


def _summed(logits: Tensor, labels: Tensor) -> Tensor:
    return F.cross_entropy(
        logits.mT, labels, ignore_index=0, label_smoothing=SMOOTHING, reduction="sum"
    )


def _never_cleared(optimizer: Optimizer, loss: Tensor) -> None:
    loss.backward()
    optimizer.step()


def _cleared_too_late(optimizer: Optimizer, loss: Tensor) -> None:
    loss.backward()
    optimizer.zero_grad()
    optimizer.step()


def _no_step(optimizer: Optimizer, loss: Tensor) -> None:
    optimizer.zero_grad()
    loss.backward()


def _step_first(optimizer: Optimizer, loss: Tensor) -> None:
    optimizer.step()
    optimizer.zero_grad()
    loss.backward()


swap = exchanging(train_step)


MISTAKES = (
    mistake(
        "target not shifted",
        "Input and labels are the same tokens, so the model only has to copy.",
        "At position t the decoder has read input[t]. What should it predict next?",
        swap(shift=lambda target: (target, target)),
        swap(shift=lambda target: (target[:, :-1], target[:, :-1])),
        swap(shift=lambda target: (target[:, 1:], target[:, 1:])),
    ),
    mistake(
        "shifted the wrong way",
        "The labels are the tokens before the input.",
        "Write the input and the labels of one short sentence one below the other.",
        swap(shift=lambda target: (target[:, 1:], target[:, :-1])),
    ),
    mistake(
        "padding in the loss",
        "The model is also trained to predict padding after padding.",
        "Which labels must not count? The loss function has an argument for that.",
        swap(
            loss_of=lambda logits, labels: F.cross_entropy(
                logits.mT, labels, label_smoothing=SMOOTHING
            )
        ),
    ),
    mistake(
        "plain cross-entropy",
        "The loss counts padding as labels, and the labels are not smoothed.",
        "The task names two refinements of the loss. Which arguments switch them on?",
        swap(loss_of=lambda logits, labels: F.cross_entropy(logits.mT, labels)),
    ),
    mistake(
        "vocabulary on the last axis",
        "The logits went into the loss as (batch, position, word), but it expects the "
        "words on axis 1.",
        "Read the error: which two sizes does the loss compare?",
        swap(
            loss_of=lambda logits, labels: F.cross_entropy(
                logits, labels, ignore_index=0, label_smoothing=SMOOTHING
            )
        ),
        swap(loss_of=lambda logits, labels: F.cross_entropy(logits, labels)),
    ),
    mistake(
        "smoothing over padding",
        "The part of the loss that is spread over the vocabulary was also taken at "
        "padding.",
        "At which positions is the smooth part of the loss averaged?",
        swap(loss_of=_smooth_everywhere),
    ),
    mistake(
        "mean over padding",
        "The losses of the real tokens were divided by the number of all positions.",
        "By how many tokens do you divide?",
        swap(loss_of=_mean_over_all),
    ),
    mistake(
        "softmax before the loss",
        "The logits went through a softmax before the loss, which applies its own.",
        "What does `F.cross_entropy` expect: probabilities or logits?",
        swap(loss_of=_by_softmax(lambda logits: logits.softmax(-1))),
    ),
    mistake(
        "no label smoothing",
        "The labels are sharp: all the weight is on one word.",
        "The task asks for label smoothing of 0.1.",
        swap(loss_of=_with_smoothing(0.0)),
    ),
    mistake(
        "wrong amount of smoothing",
        "The labels are smoothed, but not by 0.1.",
        "How much of each label should be spread over the vocabulary?",
        swap(loss_of=_with_smoothing(0.2)),
        swap(loss_of=_with_smoothing(0.9)),
        swap(loss_of=_with_smoothing(0.01)),
    ),
    mistake(
        "axes mixed by reshape",
        "The numbers were regrouped by reshape or view where two axes had to be "
        "swapped.",
        "The loss expects the vocabulary on axis 1: how do two axes change places?",
        swap(loss_of=_reshaped),
    ),
    mistake(
        "rows and positions mixed up",
        "Logits and labels no longer line up after your reshaping: most predictions "
        "were compared with the label of another position.",
        "Flatten both in the same way, or move the vocabulary to axis 1.",
        swap(loss_of=lambda logits, labels: _flattened(logits, labels.T)),
    ),
    mistake(
        "only the last position",
        "In each row, only the prediction at the last position was scored.",
        "After how many of the tokens does the decoder make a prediction?",
        swap(loss_of=lambda logits, y: _flattened(logits[:, -1:], y[:, -1:])),
    ),
    mistake(
        "sum instead of mean",
        "The losses were added up, so large batches make large steps.",
        "Should the loss grow with the number of tokens in the batch?",
        swap(loss_of=_summed),
    ),
    mistake(
        "future open",
        "The decoder saw the tokens that it should predict.",
        "Which mask goes with the decoder's input?",
        swap(masks=lambda source, written, target: (padding_mask(source), None)),
        swap(
            masks=lambda source, written, target: (
                padding_mask(source),
                padding_mask(written),
            )
        ),
    ),
    mistake(
        "no masks",
        "The model got no mask at all: padding is read, and the decoder sees the "
        "tokens that it should predict.",
        "The model takes two masks. From which ids is each made?",
        swap(masks=lambda source, written, target: (None, None)),
    ),
    mistake(
        "masks swapped",
        "The model got the target's mask where it expects the source's.",
        "In which order does the docstring list the model's arguments?",
        swap(
            masks=lambda source, written, target: (
                target_mask(written),
                padding_mask(source),
            )
        ),
    ),
    mistake(
        "one side left whole",
        "Only the input or only the labels were shortened, so they differ in length.",
        "Read the error: which two sizes does the loss compare?",
        *(
            swap(shift=shift, loss_of=loss_of)
            for shift in (
                lambda target: (target, target[:, 1:]),
                lambda target: (target[:, :-1], target),
            )
            for loss_of in (_cross_entropy, _flattened)
        ),
    ),
    mistake(
        "mask from the other ids",
        "A mask was made from the ids of the other language, so it has another length.",
        "The model takes two masks. From which ids is each made?",
        swap(masks=lambda s, written, t: (padding_mask(written), target_mask(written))),
        swap(masks=lambda s, written, t: (padding_mask(s), target_mask(s))),
    ),
    mistake(
        "mask inverted",
        "One of the two masks, or both, says False where the model may attend.",
        "True means: may attend. Print both masks for one short sentence.",
        swap(masks=lambda s, written, t: (~padding_mask(s), target_mask(written))),
        swap(masks=lambda s, written, t: (padding_mask(s), ~target_mask(written))),
        swap(masks=lambda s, written, t: (~padding_mask(s), ~target_mask(written))),
    ),
    mistake(
        "source mask not passed on",
        "Encoder and decoder attended to the padding of the source.",
        "The model takes two masks. What happens to the source's?",
        swap(masks=lambda source, written, target: (None, target_mask(written))),
    ),
    mistake(
        "mask from the whole target",
        "The mask was made from the target before it was shortened, so it is one "
        "position too long.",
        "Which ids does the decoder read? The mask has to be made from exactly those.",
        swap(
            masks=lambda source, written, target: (
                padding_mask(source),
                target_mask(target),
            )
        ),
    ),
    mistake(
        "gradients never cleared",
        "Each step also uses the gradients of all steps before it.",
        "What does `backward` do with a gradient that is already there?",
        swap(update=_never_cleared),
    ),
    mistake(
        "weights never updated",
        "The loss comes back, but the weights stay where they were.",
        "A training step makes three calls: clear, backward, step. In which order?",
        swap(update=_no_step),
        swap(update=lambda optimizer, loss: None),
        swap(update=_cleared_too_late),
    ),
    mistake(
        "step before backward",
        "The optimizer updated the weights before this batch had a gradient.",
        "A training step makes three calls: clear, backward, step. In which order?",
        swap(update=_step_first),
    ),
)


EXERCISES = (
    Exercise(
        "6.F",
        "One step of training",
        "function",
        difficulty=4,
        points=4,
        core=True,
        answers=(Answer("train_step", train_step),),
        cases=_cases,
        proves="the loss and the weights after two steps, SGD and Adam, with padding",
        misconceptions=MISTAKES,
    ),
)
