"""Independent solutions to 11.B."""

import torch
import torch.nn.functional as F


def temperature_by_inverse(logits, temperature):
    return logits.mul(1 / temperature)


def temperature_normalised(logits, temperature):
    return F.log_softmax(logits / temperature, dim=-1)


def temperature_from_log_probabilities(logits, temperature):
    return torch.true_divide(logits.log_softmax(-1), temperature)


def temperature_below_the_best(logits, temperature):
    return (logits - logits.max(-1, keepdim=True).values) / temperature


VARIANTS = {
    "11.B": (
        temperature_by_inverse,
        temperature_normalised,
        temperature_from_log_probabilities,
        temperature_below_the_best,
    ),
}
