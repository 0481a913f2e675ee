"""Independent solutions to 10.E."""

import torch
from torch import nn

NAMES = {
    "norm1": "ln_1",
    "attention.to_qkv": "attn.c_attn",
    "attention.W_o": "attn.c_proj",
    "norm2": "ln_2",
    "feed_forward.W_1": "mlp.c_fc",
    "feed_forward.W_2": "mlp.c_proj",
}


def load_by_state_dict(mine, theirs):
    their = theirs.state_dict()
    state = {
        "embedding.weight": their["transformer.wte.weight"],
        "positions.weight": their["transformer.wpe.weight"],
    }
    for kind in ("weight", "bias"):
        state[f"norm.{kind}"] = their[f"transformer.ln_f.{kind}"]
        for number in range(len(mine.layers)):
            for ours, name in NAMES.items():
                value = their[f"transformer.h.{number}.{name}.{kind}"]
                turn = kind == "weight" and "norm" not in ours
                state[f"layers.{number}.{ours}.{kind}"] = value.T if turn else value
    mine.load_state_dict(state)
    return mine


def load_by_names(mine, theirs):
    with torch.no_grad():
        for ours, name in (
            ("embedding", "wte"),
            ("positions", "wpe"),
            ("norm", "ln_f"),
        ):
            source = getattr(theirs.transformer, name)
            getattr(mine, ours).load_state_dict(source.state_dict())
        for block, other in zip(mine.layers, theirs.transformer.h, strict=True):
            for ours, name in NAMES.items():
                target, source = block.get_submodule(ours), other.get_submodule(name)
                linear = isinstance(target, nn.Linear)
                target.weight[:] = source.weight.t() if linear else source.weight
                target.bias[:] = source.bias
    return mine


def load_by_data(mine, theirs):
    body = theirs.transformer
    mine.embedding.weight.data = body.wte.weight.detach().clone()
    mine.positions.weight.data = body.wpe.weight.detach().clone()
    mine.norm.weight.data = body.ln_f.weight.detach().clone()
    mine.norm.bias.data = body.ln_f.bias.detach().clone()
    for place in range(len(mine.layers)):
        for ours, name in NAMES.items():
            target = mine.layers[place].get_submodule(ours)
            source = body.h[place].get_submodule(name)
            weight = source.weight.detach().clone()
            turned = weight.T.contiguous() if "norm" not in ours else weight
            target.weight.data, target.bias.data = turned, source.bias.detach().clone()
    return mine


VARIANTS = {
    "10.E": (load_by_state_dict, load_by_names, load_by_data),
}
