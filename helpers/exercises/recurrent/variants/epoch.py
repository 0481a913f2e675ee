"""Independent solutions to 7.D."""

import math

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn


def epoch_flattened(model, batches, optimizer, clip):
    model.train()
    state, total = None, 0.0
    for x, y in batches:
        optimizer.zero_grad()
        logits, state = model(x, state)
        state = state.detach()
        loss = F.cross_entropy(logits.reshape(-1, logits.shape[-1]), y.reshape(-1))
        loss.backward()
        nn.utils.clip_grad_norm_(list(model.parameters()), clip)
        optimizer.step()
        total += loss.item()
    return total / len(batches)


def epoch_by_hand(model, batches, optimizer, clip):
    model.train()
    state, losses = None, []
    for x, y in batches:
        state = None if state is None else state.detach()
        logits, state = model(x, state)
        chosen = logits.log_softmax(-1).gather(-1, y[..., None])
        loss = -chosen.mean()
        model.zero_grad()
        loss.backward()
        norm = torch.stack([p.grad.square().sum() for p in model.parameters()]).sum()
        factor = min(1.0, clip / (math.sqrt(norm.item()) + 1e-6))
        for p in model.parameters():
            p.grad *= factor
        optimizer.step()
        losses.append(loss.detach())
    return torch.stack(losses).mean()


def epoch_by_the_formula(model, batches, optimizer, clip):
    """Clips as the lesson does by hand, and takes the mean in float32."""
    model.train()
    state, losses = None, []
    for x, y in batches:
        logits, state = model(x, state)
        loss = F.cross_entropy(logits.flatten(0, 1), y.flatten())
        optimizer.zero_grad()
        loss.backward()
        gradients = [weight.grad for weight in model.parameters()]
        norm = torch.cat([gradient.flatten() for gradient in gradients]).norm()
        factor = min(1.0, clip / norm.item())
        for gradient in gradients:
            gradient.mul_(factor)
        optimizer.step()
        state = state.detach()
        losses.append(loss.item())
    return torch.tensor(losses).mean().item()


def epoch_cleared_last(model, batches, optimizer, clip):
    model.train(True)
    optimizer.zero_grad()
    state, losses = None, []
    for x, y in batches:
        logits, state = model(x, state)
        loss = nn.CrossEntropyLoss()(logits.transpose(1, 2), y)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=clip)
        optimizer.step()
        optimizer.zero_grad()
        state = state.data
        losses += [loss.item()]
    return np.mean(losses)


VARIANTS = {
    "7.D": (
        epoch_flattened,
        epoch_by_hand,
        epoch_by_the_formula,
        epoch_cleared_last,
    ),
}
