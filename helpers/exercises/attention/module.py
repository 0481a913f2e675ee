"""2.4: self-attention as a module."""

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor, nn

from helpers.checks.exercise import (
    Answer,
    Case,
    Exercise,
    Property,
    mistake,
)
from helpers.exercises.attention.shared import (
    ROWS,
    mask_asked_for_its_truth,
    weights_not_asked_for,
)
from helpers.exercises.kit import normal
from helpers.models.attention import attention


class SelfAttention(nn.Module):
    """The course's own answer to 2.4."""

    def __init__(self, d_model: int, d_head: int) -> None:
        """Create the three projections."""
        super().__init__()
        self.W_q = nn.Linear(d_model, d_head, bias=False)
        self.W_k = nn.Linear(d_model, d_head, bias=False)
        self.W_v = nn.Linear(d_model, d_head, bias=False)

    def forward(self, x: Tensor, mask: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """(batch, length, d_model) -> output (batch, length, d_head), weights."""
        query, key, value = self.W_q(x), self.W_k(x), self.W_v(x)
        return self.attend(query, key, value, mask)

    def attend(self, query: Tensor, key: Tensor, value: Tensor, mask: Any) -> Any:
        """Everything after the projections."""
        may_attend = None if mask is None else mask[:, None, :].bool()
        return attention(query, key, value, may_attend, need_weights=True)


def _module_cases(seed: int) -> list[Case]:
    draw = torch.Generator().manual_seed(seed)

    def case(
        name: str,
        size: tuple[int, int, int],
        d_head: int,
        real: tuple[int, ...] | None = None,
        dtype: Any = torch.float64,
        **more: Any,
    ) -> Case:
        args = (normal(draw, *size, dtype=dtype),)
        if real:
            args += (torch.arange(size[1]) < torch.tensor(real)[:, None],)
        init = (size[2], d_head)
        return Case(name, args, inputs=("x", "mask"), init=init, **more)

    # In float64 d_head is a square: a root taken in float32 is right as well.
    return [
        case("no mask", (2, 5, 7), 4),
        case("no mask, float32", (3, 4, 6), 5, dtype=torch.float32),
        case("a padding mask (batch, length)", (2, 5, 7), 4, (5, 3)),
        case("batch and length both 4, with padding", (4, 4, 7), 9, (4, 1, 3, 2)),
        case("one sequence, no padding", (1, 6, 5), 4, (6,)),
        case("the gradient", (2, 5, 7), 4, (4, 5), gradient=True),
    ]


def _padding(case: Case, outputs: Mapping[str, Any]) -> str | None:
    if len(case.args) < 2:
        return None
    padded = ~case.args[1][:, None, :].expand(outputs["weights"].shape)
    if not padded.any():
        return None
    largest = outputs["weights"][padded].abs().max().item()
    return f"one padded key has weight {largest:.4f}" if largest > 1e-6 else None


class _Swapped(SelfAttention):
    """The sizes of the layers the wrong way round."""

    def __init__(self, d_model: int, d_head: int) -> None:
        super().__init__(d_head, d_model)


class _Truth(SelfAttention):
    """Asks a whole mask whether it is true."""

    def attend(self, query: Tensor, key: Tensor, value: Tensor, mask: Any) -> Any:
        return super().attend(query, key, value, mask if mask else None)


class _Unpacked(SelfAttention):
    """Unpacks the one tensor that attention returns, along its batch axis."""

    def attend(self, query: Tensor, key: Tensor, value: Tensor, mask: Any) -> Any:
        may_attend = None if mask is None else mask[:, None, :]
        output, weights = attention(query, key, value, may_attend)
        return output, weights


class _ZeroedInput(SelfAttention):
    """Sets the vectors at padding to 0, and blocks nothing."""

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Any:
        return super().forward(x if mask is None else x * mask[..., None])


class _Step(SelfAttention):
    """Self-attention with one step exchanged."""

    scale: Callable = staticmethod(lambda query, x: query.shape[-1] ** -0.5)
    shape: Callable = staticmethod(lambda mask: mask[:, None, :])
    use: Callable = staticmethod(lambda scores, mask: scores.masked_fill(~mask, -1e30))
    finish: Callable = staticmethod(lambda output, weights: (output, weights))

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Any:
        query, key, value = self.project(x)
        scores = query @ key.mT * self.scale(query, x)
        if mask is not None:
            scores = self.use(scores, self.shape(mask.bool()))
        weights = scores.softmax(-1)
        return self.finish(weights @ value, weights)

    def project(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        return self.W_q(x), self.W_k(x), self.W_v(x)


def _module(**steps: Any) -> type:
    """A class of its own, with the given steps in place of the right ones."""
    return type(
        "_Wrong", (_Step,), {name: staticmethod(f) for name, f in steps.items()}
    )


def _masking(shape: Callable) -> type:
    """Self-attention that calls the course's function with a mask of that shape."""

    class Wrong(SelfAttention):
        def attend(self, query: Tensor, key: Tensor, value: Tensor, mask: Any) -> Any:
            laid = None if mask is None else shape(mask.bool())
            return attention(query, key, value, laid, need_weights=True)

    return Wrong


def _always(shape: Callable) -> type:
    """Self-attention that turns the mask without asking whether there is one."""

    class Wrong(SelfAttention):
        def attend(self, query: Tensor, key: Tensor, value: Tensor, mask: Any) -> Any:
            return attention(query, key, value, shape(mask), need_weights=True)

    return Wrong


def _projecting(project: Callable) -> type:
    return type("_Wrong", (_Step,), {"project": project})


def _square(mask: Tensor) -> Tensor:
    return mask[:, None, :] & mask[:, :, None]


MODULE_MISTAKES = (
    mistake(
        "mask laid on the queries",
        "The mask blocks whole rows, the queries at padding, not the padded keys.",
        "The mask says which tokens may be looked at: which axis of the scores?",
        _module(shape=lambda mask: mask[:, :, None]),
        _module(
            shape=lambda mask: mask[:, :, None],
            use=lambda scores, mask: scores.masked_fill(~mask, float("-inf")),
        ),
        _masking(lambda mask: mask[:, :, None]),
    ),
    mistake(
        "mask without a query axis",
        "The (batch, length) mask met the (batch, query, key) scores as it is: its "
        "batch axis was taken for the query axis.",
        "Put the shapes under each other, right-aligned. Where is an axis missing?",
        _module(shape=lambda mask: mask),
        _module(
            shape=lambda mask: mask,
            use=lambda scores, mask: scores.masked_fill(mask == 0, float("-inf")),
        ),
        _masking(lambda mask: mask),
    ),
    mistake(
        "padded queries blocked as well",
        "The mask blocks the rows of the padded queries, too: such a row has nothing "
        "left to share its 1 among.",
        "The mask says which tokens may be looked at: which one axis of the scores?",
        _masking(_square),
        _module(shape=_square),
        _module(
            shape=_square,
            use=lambda scores, mask: scores.masked_fill(~mask, float("-inf")),
        ),
    ),
    weights_not_asked_for(_Unpacked),
    mistake(
        "an axis for heads",
        "The mask has four axes, as for several heads, and gave one more to "
        "everything.",
        "How many axes do the scores of a single head have?",
        _masking(lambda mask: mask[:, None, None, :]),
    ),
    mistake(
        "padding set to 0 in x",
        "The vectors at padding became 0, but their keys may still be attended to: "
        "a score of 0 is a score.",
        "Where in the formula does a mask take part?",
        _ZeroedInput,
    ),
    mistake(
        "no mask not expected",
        "The mask was used without asking whether there is one.",
        "What is `mask` when the module is called with x alone?",
        _always(lambda mask: mask[:, None, :]),
        _always(lambda mask: mask.unsqueeze(1)),
    ),
    mask_asked_for_its_truth(_Truth),
    mistake(
        "sizes of the layers swapped",
        "The layers turn vectors of d_head numbers into d_model; x comes with d_model.",
        "In which order does `nn.Linear` take its two sizes?",
        _Swapped,
    ),
    mistake(
        "mask ignored",
        "The mask changed nothing: padded keys get weight.",
        "Does what you do with `mask` reach the softmax?",
        _module(use=lambda scores, mask: scores),
    ),
    mistake(
        "mask inverted",
        "The real tokens were blocked and the padding left open.",
        "True means a real token. Which entries must be filled?",
        _module(use=lambda scores, mask: scores.masked_fill(mask, float("-inf"))),
        _module(use=lambda scores, mask: scores.masked_fill(mask, -1e9)),
        _masking(lambda mask: ~mask[:, None, :]),
    ),
    mistake(
        "blocked scores set to 0",
        "Scores of padded keys became 0, or nearly 0, and exp(0) is 1.",
        "Which score becomes 0 under the exponential?",
        _module(use=lambda scores, mask: scores * mask),
    ),
    mistake(
        "one projection for all three",
        "Query, key and value all come from the same projection.",
        "How many matrices does the formula learn, and where is each used?",
        _projecting(lambda self, x: (self.W_q(x),) * 3),
        _projecting(lambda self, x: (self.W_k(x),) * 3),
        _projecting(lambda self, x: (self.W_v(x),) * 3),
    ),
    mistake(
        "query used as key",
        "Query and key come from the same projection: every score is symmetric.",
        "Check which layer computes the key.",
        _projecting(lambda self, x: (self.W_q(x), self.W_q(x), self.W_v(x))),
        _projecting(lambda self, x: (self.W_k(x), self.W_k(x), self.W_v(x))),
    ),
    mistake(
        "key used as value",
        "What is mixed comes from the key's projection.",
        "Check which layer computes the value.",
        _projecting(lambda self, x: (self.W_q(x), self.W_k(x), self.W_k(x))),
    ),
    mistake(
        "key and value swapped",
        "The key comes from W_v and the value from W_k.",
        "Check the order in which the three are handed on.",
        _projecting(lambda self, x: (self.W_q(x), self.W_v(x), self.W_k(x))),
    ),
    mistake(
        "query and key swapped",
        "The query comes from W_k and the key from W_q, so the scores are transposed.",
        "Check the name on each side of the first two projections.",
        _projecting(lambda self, x: (self.W_k(x), self.W_q(x), self.W_v(x))),
    ),
    mistake(
        "value not projected",
        "The weights mix x itself instead of the projected values.",
        "What width should the output have?",
        _projecting(lambda self, x: (self.W_q(x), self.W_k(x), x)),
    ),
    mistake(
        "scaled by d_model",
        "The scale uses the width of x; the dot product sums over d_head numbers.",
        "How long are the vectors whose dot product is a score?",
        _module(scale=lambda query, x: x.shape[-1] ** -0.5),
    ),
    mistake(
        "no scaling",
        "The scores went into the softmax without being divided.",
        "Compare with the function that you wrote in 2.2.",
        _module(scale=lambda query, x: 1.0),
    ),
    mistake(
        "tuple order",
        "The weights came first and the output second.",
        "Read the docstring's last line again.",
        _module(finish=lambda output, weights: (weights, output)),
    ),
    mistake(
        "only the output returned",
        "The weights are missing: only one tensor came back.",
        "Read the docstring's last line again: what comes back beside the output?",
        _module(finish=lambda output, weights: output),
    ),
)


EXERCISES = (
    Exercise(
        "2.4",
        "Self-attention as a module",
        "class",
        difficulty=3,
        minutes=20,
        points=4,
        core=True,
        answers=(
            Answer(
                "SelfAttention",
                SelfAttention,
                {"output": "batch, query, d_head", "weights": "batch, query, key"},
                parts=("W_q", "W_k", "W_v"),
            ),
        ),
        cases=_module_cases,
        proves="three projections, padding mask, batch equal to length, gradients",
        properties=(
            ROWS,
            Property("Does padding get no weight", _padding),
        ),
        misconceptions=MODULE_MISTAKES,
    ),
)
