"""What the errors that every beginner meets mean, in words."""

import re
from collections.abc import Callable

# Type of the error, what its message says, what it means. A sentence says "often"
# where the message alone does not decide.
Meaning = str | Callable[[re.Match], str]


def _arguments(found: re.Match) -> str:
    takes, given = int(found[1]), int(found[2])
    method = " (`self` counts, so a method has one more than you pass)"
    many = "one argument was" if given == 1 else f"{given} arguments were"
    return f"It is defined with {takes} of them, and {many} passed{method}."


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
        "got an unexpected keyword argument",
        "A function was called with a name that its definition does not have.",
    ),
    (
        Exception,
        "'tuple' object has no attribute",
        "A function returned several things at once, and they were used as one: take "
        "them apart, as in `output, weights = ...`.",
    ),
    (
        Exception,
        "NoneType",
        "Something there is None: often a function of your own that ends without "
        "`return`, or an optional argument that was left out.",
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
            f"A product of matrices needs the last axis of the first ({found[2]}) as "
            f"long as the rows of the second ({found[3]})."
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
            f"On axis {found[3]} one tensor has {found[1]} entries and the other "
            f"{found[2]}: two sizes go together if they are equal or one of them is 1."
        ),
    ),
    (
        RuntimeError,
        "shape '.*' is invalid for input of size",
        "A tensor can be given another shape only if the number of entries stays.",
    ),
    (
        AttributeError,
        "'Tensor' object has no attribute 'logits'|has no attribute 'logits'",
        "Models of this course return their logits themselves; those of `transformers` "
        "return an object that has them as `.logits`.",
    ),
    (
        AttributeError,
        "has no attribute 'generate'",
        "Only models of `transformers` have a method `generate`.",
    ),
    (
        RuntimeError,
        "leaf Variable that requires grad|leaf variable that requires grad",
        "A weight can't be changed in place while gradients are recorded: under "
        "`torch.no_grad()` it can.",
    ),
    (
        TypeError,
        "is not a Module subclass|'str' object is not callable",
        "A layer was expected, and something else stands in its place; layers are "
        "created in `__init__`, as in `nn.Linear(4, 8)`.",
    ),
    (
        AttributeError,
        "cannot assign module before Module.__init__",
        "`super().__init__()` comes first in `__init__`, before any layer.",
    ),
    (
        Exception,
        "index out of range|out of bounds",
        "An index is larger than the last place of what it is used on.",
    ),
    (
        RuntimeError,
        "Expected tensor for argument #1 'indices' to have one of the following",
        "A table is read with whole numbers: ids must be integers.",
    ),
    (
        RuntimeError,
        "does not require grad and does not have a grad_fn",
        "The loss does not hang on any weight: often because of `detach`, `.item()` "
        "or `torch.no_grad()` on the way to it.",
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
            f"There is no `{found[1]}` at this point: a slip of the pen, a cell that "
            "has not been run, or `self.` left out."
        ),
    ),
    (
        UnboundLocalError,
        r"local variable '(\w+)'",
        lambda found: (
            f"`{found[1]}` is given a value only on another way through the function, "
            "or only further down."
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
