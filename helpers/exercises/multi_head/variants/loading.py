"""Independent solutions to 3.E."""

import torch
from torch import nn

NAMES = {"W_q": "query", "W_k": "key", "W_v": "value"}


def load_without_gradients(mine, theirs):
    with torch.no_grad():
        for ours, name in NAMES.items():
            source = getattr(theirs.self, name)
            getattr(mine, ours).weight.copy_(source.weight)
            getattr(mine, ours).bias.copy_(source.bias)
        mine.W_o.weight.copy_(theirs.output.dense.weight)
        mine.W_o.bias.copy_(theirs.output.dense.bias)
    return mine


def load_new_parameters(mine, theirs):
    layers = [*(getattr(theirs.self, name) for name in NAMES.values())]
    layers.append(theirs.output.dense)
    for ours, source in zip(
        (mine.W_q, mine.W_k, mine.W_v, mine.W_o), layers, strict=True
    ):
        ours.weight = nn.Parameter(source.weight.detach().clone())
        ours.bias = nn.Parameter(source.bias.detach().clone())
    return mine


def load_one_dictionary(mine, theirs):
    numbers = {}
    for name, number in theirs.state_dict().items():
        for ours, word in {**NAMES, "W_o": "output.dense"}.items():
            if f"{word}." in name:
                numbers[f"{ours}.{name.split('.')[-1]}"] = number
    mine.load_state_dict(numbers)
    return mine


def load_copied_layers(mine, theirs):
    import copy

    mine.W_q = copy.deepcopy(theirs.self.query)
    mine.W_k = copy.deepcopy(theirs.self.key)
    mine.W_v = copy.deepcopy(theirs.self.value)
    mine.W_o = copy.deepcopy(theirs.output.dense)
    return mine


VARIANTS = {
    "3.E": (
        load_without_gradients,
        load_new_parameters,
        load_one_dictionary,
        load_copied_layers,
    ),
}
