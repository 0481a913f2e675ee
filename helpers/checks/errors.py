"""What the errors that every beginner meets mean, in words."""

import re
from collections.abc import Callable

# Type of the error, what its message says, what it means. A sentence says "often"
# where the message alone does not decide.
Meaning = str | Callable[[re.Match], str]


def _arguments(found: re.Match) -> str:
    takes, given = int(found[1]), int(found[2])
    return (
        f"It accepts {takes} by position and was given {given}. If it is a method, "
        "both numbers include `self`."
    )


MEANINGS: tuple[tuple[type[BaseException], str, Meaning], ...] = (
    (
        RuntimeError,
        "inplace operation",
        "A line changed a tensor whose old numbers the gradient still needs: look for "
        "`+=`, `/=`, `x[...] =` and names ending in `_`.",
    ),
    (TypeError, r"takes (\d+) positional arguments? but (\d+)", _arguments),
    (
        TypeError,
        "missing .* required positional argument",
        "A function was called with fewer arguments than it asks for.",
    ),
    (
        TypeError,
        "got an unexpected keyword argument 'axis'",
        "What NumPy calls `axis` is called `dim` in torch.",
    ),
    (
        TypeError,
        "got an unexpected keyword argument",
        "A function was called with a keyword argument (`name=...`) that it does not "
        "accept.",
    ),
    (
        Exception,
        "'tuple' object has no attribute|must be Tensor, not tuple|but got tuple"
        "|for .*: 'tuple' and 'Tensor'|for .*: 'Tensor' and 'tuple'"
        '|can only concatenate tuple \\(not "Tensor"|tuple indices must be integers',
        "Often a function returned several values at once, and they were used as one: "
        "take them apart, as in `output, weights = ...`.",
    ),
    (
        Exception,
        "NoneType",
        "Something there is None: often a function of your own that ends without "
        "`return`, a method that returns nothing, such as `register_buffer`, or an "
        "optional argument that was left out.",
    ),
    (
        Exception,
        "'ellipsis'",
        "A `...` of the stub is still there.",
    ),
    (
        RuntimeError,
        "Boolean value of Tensor with more than one value is ambiguous",
        "`if`, `and`, `or` and `not` ask for one True or False, and this tensor holds "
        "many: `&`, `|`, `~` and `torch.where` work entry by entry.",
    ),
    (
        RuntimeError,
        "view size is not compatible",
        "`view` needs numbers that lie in order in memory, and after `transpose` they "
        "do not: `reshape` copies them where it must.",
    ),
    (
        RuntimeError,
        r"mat1 and mat2 shapes cannot be multiplied \((\d+)x(\d+) and (\d+)x(\d+)\)",
        lambda found: (
            "In a product of matrices the first needs as many columns (here "
            f"{found[2]}) as the second has rows (here {found[3]})."
        ),
    ),
    (
        TypeError,
        r"unsupported operand type\(s\) for @: .*'Linear'",
        "A layer is called like a function, `layer(x)`, and multiplies by its weight "
        "itself.",
    ),
    (
        TypeError,
        "only integer tensors of a single element can be converted to an index",
        "A list takes one whole number as its index, and this tensor does not hold "
        "just one. Take the numbers one by one; and `topk`, `sort` and `max(dim)` "
        "return two things, the values and their `.indices`.",
    ),
    (
        RuntimeError,
        "log_softmax.*not implemented for 'Long'",
        "Scores with a fraction were expected, and whole numbers came: often the two "
        "arguments of `cross_entropy` are exchanged, which takes the scores first.",
    ),
    (
        RuntimeError,
        "argument #1 'indices' to have one of the following scalar types",
        "An embedding looks up ids, whole numbers, and was given numbers with a "
        "fraction: often these are vectors that it has looked up before.",
    ),
    (
        ValueError,
        r"Expected input batch_size \((\d+)\) to match target batch_size \((\d+)\)",
        lambda found: (
            f"There are {found[1]} rows of scores and {found[2]} right answers; each "
            "answer needs a row of its own."
        ),
    ),
    (
        KeyError,
        r"attribute '(\w+)' already exists",
        lambda found: (
            f"There is a `{found[1]}` already: `register_buffer` makes the name "
            "itself, so nothing may be assigned to it before."
        ),
    ),
    (
        RuntimeError,
        r"Expected size for first two dimensions of batch2 tensor to be",
        "A product of matrices needs the last axis of the first as long as the last "
        "but one of the second, and the axes before them equal.",
    ),
    (
        RuntimeError,
        r"The size of tensor a \((\d+)\) must match the size of tensor b \((\d+)\) at "
        r"non-singleton dimension (\d+)",
        lambda found: (
            "Shapes are lined up from the last axis. On one of them the sizes are "
            f"{found[1]} and {found[2]}; they must be equal, or one of them 1."
        ),
    ),
    (
        RuntimeError,
        "shape '.*' is invalid for input of size",
        "A tensor can be given another shape only if the number of entries stays "
        "the same.",
    ),
    (
        AttributeError,
        "'Tensor' object has no attribute 'logits'|has no attribute 'logits'",
        "Models of this course return the logits themselves; only models of "
        "`transformers` that have a head return an object with `.logits`.",
    ),
    (
        AttributeError,
        "has no attribute 'generate'",
        "This model has no `generate`: models of `transformers` with the head of a "
        "language model have one.",
    ),
    (
        RuntimeError,
        "leaf Variable that requires grad|leaf variable that requires grad",
        "A tensor that collects gradients, such as a weight, can't be changed in "
        "place. Set a weight under `torch.no_grad()`; in a forward pass make a new "
        "tensor.",
    ),
    (
        TypeError,
        "is not a Module subclass",
        "A layer was expected, and something else stands in its place; layers are "
        "created in `__init__`, as in `nn.Linear(4, 8)`.",
    ),
    (
        TypeError,
        "'str' object is not callable",
        "A text was called like a function: often the name of one, such as 'relu', was "
        "kept in its place.",
    ),
    (
        AttributeError,
        "cannot assign .* before Module.__init__",
        "`super().__init__()` comes first in `__init__`, before any layer or weight.",
    ),
    (
        Exception,
        "index out of range|out of bounds",
        "An index lies outside of what it is used on: too large (counting starts at "
        "0), or negative where that is not allowed.",
    ),
    (
        RuntimeError,
        "Expected tensor for argument #1 'indices' to have one of the following",
        "A table is read with whole numbers: ids must be integers.",
    ),
    (
        RuntimeError,
        "does not require grad and does not have a grad_fn",
        "What `backward` was called on has no history to go back through: often "
        "because of `detach`, `.item()` or `torch.no_grad()` on the way to it.",
    ),
    (
        RuntimeError,
        "backward through the graph a second time",
        "The same forward pass was used for two backward passes: often a state that "
        "was kept from the last batch without `detach`.",
    ),
    (
        NameError,
        r"name '(\w+)' is not defined",
        lambda found: (
            f"There is no `{found[1]}` at this point: often a typo, a cell that has "
            "not been run, or a missing `self.`."
        ),
    ),
    (
        UnboundLocalError,
        r"local variable '(\w+)'",
        lambda found: (
            f"`{found[1]}` has no value yet at this point: it gets one only in another "
            "branch, or further down."
        ),
    ),
)


def meaning(error: BaseException, text: str) -> str:
    """What an error means, as one or two sentences; empty if that is not known.

    Args:
        error: what was raised
        text: its message
    """
    for kind, pattern, says in MEANINGS:
        if isinstance(error, kind) and (found := re.search(pattern, text)):
            return says if isinstance(says, str) else says(found)
    return ""
