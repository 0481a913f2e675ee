"""Modules of another process: their parts with the same weights, or parts to be called.

The kernel describes what a student's class made. The judge builds it again: layers of
torch and of the course for real, and the student's own ones as shells, which hold the
weights and have the other side compute.
"""

from typing import Any

import torch
from torch import Tensor, nn

from helpers.checks.plain import Odd, kind_of
from helpers.models import (
    encoder,
    gpt,
    layers,
    multi_head,
    positions,
    stack,
    transformer,
)
from tools.grading.link import Link
from tools.grading.wire import NONSENSE, Broken

MODULES = 2000  # of one instance
SIMPLE = (type(None), bool, int, float, str)
RNN = "input_size hidden_size num_layers bias batch_first dropout bidirectional"
CELL = "input_size hidden_size bias"
# Class -> the arguments that make another one, which are attributes too.
KNOWN: dict[type[nn.Module], str] = {
    nn.Linear: "in_features out_features",
    nn.Embedding: "num_embeddings embedding_dim padding_idx",
    nn.LayerNorm: "normalized_shape eps elementwise_affine",
    nn.Dropout: "p",
    nn.RNN: f"{RNN} nonlinearity",
    nn.GRU: RNN,
    nn.LSTM: RNN,
    nn.RNNCell: f"{CELL} nonlinearity",
    nn.GRUCell: CELL,
    nn.LSTMCell: CELL,
    nn.Identity: "",
    nn.ReLU: "",
    nn.GELU: "approximate",
    nn.Tanh: "",
    nn.Sigmoid: "",
    nn.SiLU: "",
    nn.Softmax: "dim",
    nn.ModuleList: "",
    nn.Sequential: "",
    nn.ParameterList: "",
}
# The course's own, of which an answer may consist; numbers and texts are attributes.
COURSE = {
    kind
    for module in (encoder, gpt, layers, multi_head, positions, stack, transformer)
    for kind in vars(module).values()
    if isinstance(kind, type) and issubclass(kind, nn.Module)
    if kind.__module__ == module.__name__
}
NAMES = {f"{kind.__module__}.{kind.__name__}": kind for kind in (*KNOWN, *COURSE)}
NAME_OF = {kind: name for name, kind in NAMES.items()}


# --- the side that has it -------------------------------------------------------------


def described(link: Link, made: nn.Module, parts: tuple[str, ...]) -> dict:
    """What a module consists of.

    Args:
        link: Each of its parts is lent to the other side.
        made: The module.
        parts: What the stub names; of anything else only the kind is told.
    """
    inside = list(made.modules())[:MODULES]
    numbers = {id(part): place for place, part in enumerate(inside)}
    weights: dict[int, int] = {}
    values: list[Tensor] = []

    def number(value: Tensor) -> int:
        if id(value) not in weights:
            weights[id(value)] = len(values)
            values.append(value)
        return weights[id(value)]

    def one(part: nn.Module) -> dict:
        kind = type(part)
        options = {name: getattr(part, name) for name in KNOWN.get(kind, "").split()}
        if kind in COURSE:
            options = {name: value for name, value in vars(part).items()
                       if type(value) in SIMPLE and name != "training"}  # fmt: skip
        return {
            "kind": NAME_OF.get(kind, ""),
            "name": kind_of(part).rpartition(".")[2],
            "options": options,
            "number": link.lend(part),
            "training": part.training,
            "children": {
                name: numbers[id(child)]
                for name, child in part._modules.items()
                if child is not None
            },
            "lists": {
                name: [numbers.get(id(item)) for item in value]
                for name, value in vars(part).items()
                if type(value) in (list, tuple) and value
                if all(isinstance(item, nn.Module) for item in value)
            },
            "parameters": {
                name: None if value is None else (number(value), True)
                for name, value in part._parameters.items()
            },
            "buffers": {
                name: None if value is None else (number(value), False)
                for name, value in part._buffers.items()
            },
            "tensors": {
                name: (number(value), False)
                for name, value in vars(part).items()
                if isinstance(value, Tensor)
            },
        }

    for part in inside:  # modules in a plain list are not registered, but named
        for value in list(vars(part).values()):
            if type(value) in (list, tuple):
                for item in value:
                    found = item.modules() if isinstance(item, nn.Module) else ()
                    for new in [one for one in found if id(one) not in numbers]:
                        numbers[id(new)] = len(inside)
                        inside.append(new)
    tree = [one(part) for part in inside[:MODULES]]
    others = {}
    for name in parts:
        value = getattr(made, name, None)
        if isinstance(value, nn.Module):
            others[name] = numbers.get(id(value))
        elif not isinstance(value, Tensor):
            others[name] = ("is", value if value is Ellipsis else Odd(kind_of(value)))
    return {"tree": tree, "values": values, "parts": others}


# --- the side that builds it again ----------------------------------------------------


class Shell(nn.Module):
    """A module whose forward is computed on the other side, with the weights here."""

    def __init__(self, link: Link) -> None:
        super().__init__()
        self.__dict__["_link"] = link

    def _ask(self, method: str, args: tuple, options: dict) -> Any:
        weights = dict(self.named_parameters()) | dict(self.named_buffers())
        for place, part in self.named_modules():
            for name, value in vars(part).items():
                if isinstance(value, Tensor):
                    weights[f"{place}.{name}" if place else name] = value
        modes = {name: part.training for name, part in self.named_modules()}
        there = self.__dict__["_number"]
        return self._link.call(there, args, options, method, weights, modes)

    def forward(self, *args: Any, **options: Any) -> Any:
        """Compute it there."""
        return self._ask("", args, options)

    def encode(self, *args: Any, **options: Any) -> Any:
        """The encoder's half of 5.C."""
        return self._ask("encode", args, options)

    def decode(self, *args: Any, **options: Any) -> Any:
        """The decoder's half of 5.C."""
        return self._ask("decode", args, options)


def mirror(link: Link, maker: int, name: str, parts: tuple[str, ...]) -> type[Shell]:
    """What stands here for a class of the other side.

    Args:
        link: To the other side.
        maker: The number of what creates an instance there.
        name: The class's name.
        parts: What the stub names.
    """

    def create(self: Shell, *init: Any) -> None:
        Shell.__init__(self, link)
        made = link.call(maker, (parts, init))
        try:
            _build(self, made)
        except NONSENSE as error:
            raise Broken(f"a module that makes no sense ({error})") from None

    return type(name, (Shell,), {"__init__": create})


def _build(root: Shell, made: Any) -> None:
    if made is None or isinstance(made, Odd):
        return
    with torch.random.fork_rng(devices=[]):
        modules = [root]
        modules += [_empty(node, root._link) for node in made["tree"][1:]]
    weights: dict[int, Any] = {}

    def weight(place: int, trained: bool) -> Tensor:
        if place not in weights:
            value = made["values"][place].detach()
            needs = made["values"][place].requires_grad
            weights[place] = (
                nn.Parameter(value, requires_grad=needs) if trained else value
            )
        return weights[place]

    for module, node in zip(modules, made["tree"], strict=True):
        module.__dict__["_number"] = node["number"]
        module.training = node["training"]
        for name, at in node["children"].items():
            module.add_module(name, modules[at])
        for name, places in node["lists"].items():
            vars(module).setdefault(name, [modules[place] for place in places])
        for name, at in node["parameters"].items():
            new = None if at is None else weight(*at)
            if name in module._parameters and new is not None:
                setattr(module, name, new)
            else:
                module.register_parameter(name, new)
        for name, at in node["buffers"].items():
            module.register_buffer(name, None if at is None else weight(*at))
        for name, at in node["tensors"].items():
            vars(module).setdefault(name, weight(*at))
    for name, what in made["parts"].items():
        if name in root._modules or name in vars(root):
            continue
        if isinstance(what, int):
            vars(root)[name] = modules[what]
        elif isinstance(what, tuple):
            value = what[1]
            if isinstance(value, Odd):
                value = None if value.kind == "NoneType" else _named(value.kind)
            vars(root)[name] = value


def _named(kind: str) -> Any:
    """Something of a class of this name."""
    return type(kind, (), {})()


def _empty(node: dict, link: Link) -> nn.Module:
    """A module that has yet to get its weights: a real one, where that is known."""
    kind = NAMES.get(node["kind"])
    if kind in COURSE:
        found = kind.__new__(kind)
        nn.Module.__init__(found)
        for name, value in node["options"].items():
            if type(value) not in SIMPLE:
                raise Broken("a setting that makes no sense")
            vars(found)[str(name)] = value
        return found
    if kind is not None:
        options = dict(node["options"])
        if kind in (nn.Linear, nn.LayerNorm):
            options["bias"] = node["parameters"].get("bias") is not None
        found = kind(**options)
        same = found._parameters.keys() == node["parameters"].keys()
        if same or kind is nn.ParameterList:
            return found
    return type(node["name"], (Shell,), {})(link)
