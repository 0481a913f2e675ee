"""Independent solutions to 6.F."""

import torch
import torch.nn.functional as F
from torch import nn

from helpers.exercises.masks.variants.shared import ahead_by_upper, target_by_tril


def _masks(source, written):
    real = (source != 0)[:, None, None, :]
    return real, target_by_tril(written)


def step_by_flattening(model, optimizer, source, target):
    written, labels = target[:, :-1], target[:, 1:]
    optimizer.zero_grad(set_to_none=False)
    logits = model(source, written, *_masks(source, written))
    loss = nn.CrossEntropyLoss(ignore_index=0, label_smoothing=0.1)(
        logits.reshape(-1, logits.shape[-1]), labels.reshape(-1)
    )
    loss.backward()
    optimizer.step()
    return loss.item()


def step_by_hand(model, optimizer, source, target):
    """Write out smoothing and mean, return a tensor, clear again after the step."""
    written, labels = target[:, :-1], target[:, 1:]
    log = torch.log_softmax(model(source, written, *_masks(source, written)), -1)
    sharp = -log.gather(-1, labels[..., None])[..., 0]
    each = 0.9 * sharp - 0.1 * log.mean(-1)
    real = labels != 0
    loss = (each * real).sum() / real.sum()
    model.zero_grad()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    return loss


def step_with_the_look_ahead_alone(model, optimizer, source, target):
    """The look-ahead mask already hides padding at the end from real tokens."""
    model.train()
    written, labels = target[:, :-1], target[:, 1:]
    real, ahead = (source != 0)[:, None, None, :], ahead_by_upper(written.shape[1])
    logits = model(source, written, real, ahead)
    loss = F.cross_entropy(
        logits.transpose(1, 2), labels, ignore_index=0, label_smoothing=0.1
    )
    for parameter in model.parameters():
        parameter.grad = None
    loss.backward()
    optimizer.step()
    return float(loss)


def step_on_the_real_tokens(model, optimizer, source, target):
    written, labels = target[:, :-1], target[:, 1:]
    logits = model(source, written, *_masks(source, written))
    real = labels != 0
    words = logits.shape[-1]
    soft = F.one_hot(labels[real], words).to(logits.dtype) * 0.9 + 0.1 / words
    loss = F.cross_entropy(logits[real], soft)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.detach()


VARIANTS = {
    "6.F": (
        step_by_flattening,
        step_by_hand,
        step_with_the_look_ahead_alone,
        step_on_the_real_tokens,
    ),
}
