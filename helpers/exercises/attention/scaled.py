"""2.B: scaled dot-product attention."""

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor

from helpers.checks.exercise import Answer, Case, Exercise, mistake
from helpers.exercises.attention.shared import (
    BATCH,
    BLOCKED,
    D_HEAD,
    EVERY_FILL,
    HEADS,
    KEYS,
    QUERIES,
    ROWS,
    WIDTH,
    if_mask,
    random_mask,
    under_every_fill,
)
from helpers.exercises.kit import exchanging, normal
from helpers.models.attention import attention


def scaled_dot_product_attention(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """The course's own answer to 2.B."""
    return attention(query, key, value, mask, need_weights=True)


def _attention_cases(seed: int) -> list[Case]:
    draw = torch.Generator().manual_seed(seed)

    def case(
        name: str,
        *lead: int,
        mask: tuple[int, ...] = (),
        d_head: int = D_HEAD,
        dtype: Any = torch.float64,
        **more: Any,
    ) -> Case:
        query = normal(draw, *lead, QUERIES, d_head, dtype=dtype)
        key = normal(draw, *lead, KEYS, d_head, dtype=dtype)
        value = normal(draw, *lead, KEYS, WIDTH, dtype=dtype)
        args = (query, key, value)
        if mask:
            args += (random_mask(draw, *mask),)
        return Case(name, args, inputs=("query", "key", "value", "mask"), **more)

    return [
        case("one sequence, no mask"),
        case("a batch, no mask", BATCH),
        case("a batch of heads, float32", BATCH, HEADS, d_head=16, dtype=torch.float32),
        case("a mask (query, key)", BATCH, mask=(QUERIES, KEYS)),
        case("a mask (batch, 1, 1, key)", BATCH, HEADS, mask=(BATCH, 1, 1, KEYS)),
        case("the gradient", BATCH, mask=(BATCH, QUERIES, KEYS), gradient=True),
    ]


def attend_step(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None = None,
    *,
    compare: Callable = lambda query, key: query @ key.mT,
    scale: Callable = lambda query, key: query.shape[-1] ** -0.5,
    block: Callable = lambda scores, mask: scores.masked_fill(~mask, float("-inf")),
    normalise: Callable = lambda scores: scores.softmax(-1),
    after: Callable = lambda weights, mask: weights,
    finish: Callable = lambda weights, value: (weights @ value, weights),
) -> tuple[Tensor, Tensor]:
    """Attention, in steps that a mistake can exchange."""
    scores = compare(query, key) * scale(query, key)
    if mask is not None:
        scores = block(scores, mask)
    weights = after(normalise(scores), mask)
    return finish(weights, value)


swap = exchanging(attend_step)


def late(query: Tensor, key: Tensor, value: Tensor, mask: Any = None) -> Any:
    """Attention that divides its weights after the softmax."""
    output, weights = attend_step(query, key, value, mask, scale=lambda query, key: 1.0)
    return output / query.shape[-1] ** 0.5, weights / query.shape[-1] ** 0.5


def _late_output(query: Tensor, key: Tensor, value: Tensor, mask: Any = None) -> Any:
    output, weights = attend_step(query, key, value, mask, scale=lambda query, key: 1.0)
    return output / query.shape[-1] ** 0.5, weights


def _always(
    query: Tensor, key: Tensor, value: Tensor, mask: Any = None, *, block: Callable
) -> Any:
    """Use the mask without asking whether there is one."""
    scores = block(query @ key.mT / query.shape[-1] ** 0.5, mask)
    weights = scores.softmax(-1)
    return weights @ value, weights


def _scores_back(
    query: Tensor, key: Tensor, value: Tensor, mask: Any = None, *, block: Callable
) -> Any:
    """The right output, and with it the scores, blocked in one way or another."""
    output, _ = attend_step(query, key, value, mask)
    _, scores = attend_step(query, key, value, mask, block=block, normalise=_as_it_is)
    return output, scores


def _as_it_is(scores: Tensor, mask: Any = None) -> Tensor:
    return scores


def _indexed(scores: Tensor, mask: Tensor) -> Tensor:
    scores[~mask] = -1e9
    return scores


def _axis_of_torch(scores: Tensor) -> Tensor:
    """What `F.softmax` does if it is told no axis."""
    return scores.softmax(0 if scores.dim() == 3 else 1)


def _after(fill: Callable) -> Callable:
    """A fill for the weights, where there is a mask."""
    return lambda weights, mask: weights if mask is None else fill(weights, mask)


ATTENTION_MISTAKES = (
    mistake(
        "no scaling",
        "The scores went into the softmax without being divided.",
        "Look at the formula before the softmax: what is under the fraction line?",
        swap(scale=lambda query, key: 1.0),
    ),
    mistake(
        "divided by d_head",
        "All in all, the scores were divided by d_head itself.",
        "Which function of d_head brings the variance back to 1? Do you divide once?",
        swap(scale=lambda query, key: 1 / query.shape[-1]),
    ),
    mistake(
        "divided by a fixed number",
        "The scores were divided by the same number, however wide the query is.",
        "Where does the number under the fraction line come from?",
        *(
            swap(scale=lambda query, key, number=number: 1 / number)
            for number in (2, 2**0.5, 3, 3**0.5, 8)
        ),
    ),
    mistake(
        "multiplied",
        "The scores were multiplied by the root of d_head: they grew.",
        "Which way should the scale move the scores?",
        swap(scale=lambda query, key: query.shape[-1] ** 0.5),
    ),
    mistake(
        "scaled by the number of keys",
        "The scale uses the number of keys, but it must not change when the text gets "
        "longer.",
        "Which axis does the dot product sum over? That size belongs under the root.",
        swap(scale=lambda query, key: key.shape[-2] ** -0.5),
    ),
    mistake(
        "scaled by the first axis",
        "The scale uses the size of axis 0, which is the batch where there is one.",
        "Count axes from the end: which one holds the features of a query?",
        swap(scale=lambda query, key: query.shape[0] ** -0.5),
    ),
    mistake(
        "scaled by the number of queries",
        "The scale uses the number of queries.",
        "Which axis does the dot product sum over? That size belongs under the root.",
        swap(scale=lambda query, key: query.shape[-2] ** -0.5),
    ),
    mistake(
        "scaled after the softmax",
        "The division came after the softmax: it made the result smaller, and the "
        "weights no softer.",
        "In which order do softmax and scale come in the formula?",
        late,
        _late_output,
    ),
    mistake(
        "softmax over the queries",
        "The softmax ran over the queries: the columns sum to 1, the rows do not.",
        "Each query divides its attention among the keys. Which axis is that?",
        *under_every_fill(swap, normalise=lambda scores: scores.softmax(-2)),
    ),
    mistake(
        "softmax over axis 1",
        "The softmax ran over axis 1, which is the keys only when there is no batch.",
        "Count the axis from the end, so that it is right with a batch in front.",
        *under_every_fill(swap, normalise=lambda scores: scores.softmax(1)),
    ),
    mistake(
        "softmax over axis 0",
        "The softmax ran over axis 0, which is the batch where there is one.",
        "Each query divides its attention among the keys. Which axis is that?",
        *under_every_fill(swap, normalise=lambda scores: scores.softmax(0)),
    ),
    mistake(
        "softmax over axis 2",
        "The softmax ran over axis 2, which is the keys only when one axis comes "
        "before query and key, and does not exist without a batch.",
        "Count the axis from the end, so that it is right for any batch.",
        *under_every_fill(swap, normalise=lambda scores: scores.softmax(2)),
    ),
    mistake(
        "softmax over the axis that torch chose",
        "The softmax ran over axis 0 where there are three axes, and over axis 1 "
        "elsewhere: so torch chooses if it is told no axis.",
        "Which axis holds the keys, counted from the end, and where do you name it?",
        *under_every_fill(swap, normalise=_axis_of_torch),
    ),
    mistake(
        "softmax over everything",
        "All the weights of the tensor sum to 1 together.",
        "Which of the weights should sum to 1: all of them, or those of one query?",
        swap(normalise=lambda scores: scores.flatten().softmax(0).view(scores.shape)),
    ),
    mistake(
        "softmax twice",
        "The softmax was applied to weights that had already been through a softmax.",
        "How many softmaxes does the formula have?",
        swap(normalise=lambda scores: scores.softmax(-1).softmax(-1)),
    ),
    mistake(
        "no softmax",
        "The scores themselves were used as weights.",
        "What makes every weight positive, and every row sum to 1?",
        *(swap(normalise=_as_it_is, block=fill) for fill in EVERY_FILL),
        swap(normalise=_as_it_is, block=_as_it_is),
        swap(normalise=_as_it_is, block=lambda scores, mask: scores * mask),
    ),
    mistake(
        "mask inverted",
        "The blocked keys share all the weight, and those that may be attended to get "
        "none.",
        "True means may attend. Which scores must change, and in which direction?",
        swap(block=lambda scores, mask: scores.masked_fill(mask, float("-inf"))),
        swap(block=lambda scores, mask: scores + ~mask * 1e9),
    ),
    mistake(
        "mask ignored",
        "The mask changed nothing: blocked keys still get weight.",
        "Does what you do with `mask` reach the softmax?",
        swap(block=_as_it_is),
    ),
    mistake(
        "mask after the softmax",
        "The weights of blocked keys were set to 0 after the softmax, so what is left "
        "of a row no longer sums to 1.",
        "Which step makes a row sum to 1, and does your mask come before it?",
        swap(block=_as_it_is, after=_after(lambda weights, mask: weights * mask)),
    ),
    mistake(
        "minus infinity after the softmax",
        "The softmax came first, and then minus infinity or a huge negative number was "
        "put in its weights, where none can be.",
        "Which step turns a huge negative number into 0, and does it still follow?",
        *(swap(block=_as_it_is, after=_after(fill)) for fill in EVERY_FILL),
    ),
    mistake(
        "blocked scores made large",
        "Blocked scores became huge positive numbers, which take all the weight, or "
        "infinite, which makes the row NaN.",
        "For which scores is the exponential 0: huge positive or huge negative ones?",
        swap(block=lambda scores, mask: scores.masked_fill(~mask, float("inf"))),
        swap(block=lambda scores, mask: scores.masked_fill(~mask, 1e9)),
    ),
    mistake(
        "mask added",
        "The boolean mask was added to the scores as it is: True moves a score by 1, "
        "False by 0.",
        "How far must a score fall before its exponential is 0?",
        swap(block=lambda scores, mask: scores + mask),
        swap(block=lambda scores, mask: scores + ~mask),
    ),
    mistake(
        "0 times infinity",
        "The mask was multiplied by infinity, or by a number that is infinite in "
        "float32, and 0 times infinity is NaN.",
        "Look for a function that fills entries instead of multiplying them.",
        swap(block=lambda scores, mask: scores + ~mask * float("-inf")),
    ),
    mistake(
        "no check for a missing mask",
        "The mask was used without asking whether there is one.",
        "What is `mask` when the function is called with three tensors?",
        *tuple(
            partial(_always, block=block)
            for block in (
                lambda scores, mask: scores.masked_fill(~mask, float("-inf")),
                lambda scores, mask: scores.masked_fill(mask == 0, float("-inf")),
                lambda scores, mask: scores.masked_fill(
                    mask.logical_not(), float("-inf")
                ),
                lambda scores, mask: scores.masked_fill(~mask.bool(), float("-inf")),
                lambda scores, mask: torch.where(mask, scores, float("-inf")),
                lambda scores, mask: scores + (1 - mask.to(scores)) * -1e9,
            )
        ),
    ),
    if_mask(
        lambda query, key, value, mask=None: attend_step(
            query, key, value, mask if mask else None
        ),
        swap(block=lambda scores, mask: scores.masked_fill(not mask, float("-inf"))),
    ),
    mistake(
        "blocked scores set to 0",
        "Blocked scores became 0, or nearly 0, and exp(0) is 1.",
        "Which score has the exponential 0?",
        swap(block=lambda scores, mask: scores.masked_fill(~mask, 0.0)),
        swap(block=lambda scores, mask: scores * mask),
    ),
    mistake(
        "missing transpose",
        "Query and key were multiplied without transposing the key's last two axes.",
        "(query, d_head) @ (key, d_head) does not fit: which axis is summed over?",
        swap(compare=lambda query, key: query @ key),
    ),
    mistake(
        "query and key entry by entry",
        "Query and key were combined entry by entry, but each query is to be compared "
        "with every key.",
        "Which operator multiplies matrices?",
        swap(compare=lambda query, key: query * key),
    ),
    mistake(
        "bmm",
        "`torch.bmm` takes three axes, neither more nor fewer.",
        "Which operator multiplies the last two axes, however many stand before them?",
        swap(compare=lambda query, key: torch.bmm(query, key.mT)),
        swap(compare=lambda query, key: torch.bmm(query, key.transpose(1, 2))),
    ),
    mistake(
        "root of a plain number",
        "`torch.sqrt` was given a plain number, but it takes a tensor.",
        "How does Python itself take the root of a number?",
        swap(scale=lambda query, key: 1 / torch.sqrt(query.shape[-1])),
    ),
    mistake(
        "mask as an index",
        "The mask was used as an index, and an index is not broadcast to the scores.",
        "Which function fills entries by a mask that broadcasts?",
        swap(block=_indexed),
    ),
    mistake(
        "key times query",
        "The product is the wrong way round: the rows of the scores belong to keys, "
        "not to queries.",
        "Write the two shapes side by side: which of the two must come first?",
        swap(compare=lambda query, key: key @ query.mT),
    ),
    mistake(
        "transpose counted from the front",
        "The key was transposed in a way that fits one number of axes alone: `.T`, "
        "`.t()`, or axes counted from the front, where a batch may stand.",
        "Count axes from the end: which two axes of the key must change places?",
        swap(compare=lambda query, key: query @ key.T),
        swap(compare=lambda query, key: query @ key.t()),
        swap(compare=lambda query, key: query @ key.transpose(0, 1)),
        swap(compare=lambda query, key: query @ key.transpose(1, 2)),
        swap(compare=lambda query, key: query @ key.permute(0, 2, 1)),
        swap(compare=lambda query, key: query @ key.transpose(2, 3)),
    ),
    mistake(
        "key and value swapped",
        "The query was compared with the values, not with the keys.",
        "Which of the two is the query compared with, and which is mixed?",
        lambda query, key, value, mask=None: attend_step(query, value, key, mask),
    ),
    mistake(
        "keys mixed instead of values",
        "The weights are right, but they mix the keys.",
        "Look at the last multiplication: what does attention mix?",
        lambda query, key, value, mask=None: attend_step(
            query, key, value, mask, finish=lambda w, _: (w @ key, w)
        ),
    ),
    mistake(
        "weights returned as output",
        "The weights came back twice, once in place of the output.",
        "Look at the last multiplication, and at what you return first.",
        swap(finish=lambda weights, value: (weights, weights)),
    ),
    mistake(
        "weights and values entry by entry",
        "Weights and values were combined entry by entry, but each output is a "
        "weighted sum of all values.",
        "Which operator multiplies matrices?",
        swap(finish=lambda weights, value: (weights * value, weights)),
    ),
    mistake(
        "last product the wrong way round",
        "The last product does not fit: its sides changed places, or the weights were "
        "transposed.",
        "Write the shapes of weights and values side by side: over which axis is the "
        "sum?",
        swap(finish=lambda weights, value: (value @ weights, weights)),
        swap(finish=lambda weights, value: (weights.mT @ value, weights)),
    ),
    mistake(
        "cut off from autograd",
        "The numbers are right, but no gradient gets through the output.",
        "Look for what keeps no history: `.detach()`, `.data`, `torch.no_grad()`.",
        swap(finish=lambda weights, value: ((weights @ value).detach(), weights)),
        swap(finish=lambda weights, value: ((weights @ value).data, weights.data)),
    ),
    mistake(
        "tuple order",
        "The weights came first and the output second.",
        "Read the docstring's last line again.",
        swap(finish=lambda weights, value: (weights, weights @ value)),
    ),
    mistake(
        "scores returned as weights",
        "The output is right, but what came with it are the scores before the softmax.",
        "Which variable do you return, and where is it assigned?",
        *(partial(_scores_back, block=block) for block in (*EVERY_FILL, _as_it_is)),
        lambda query, key, value, mask=None: (
            attend_step(query, key, value, mask)[0],
            query @ key.mT,
        ),
    ),
    mistake(
        "mean instead of weighted sum",
        "The output is the plain mean of the values, whatever the weights are.",
        "What do the weights do to the values in the formula?",
        swap(
            finish=lambda weights, value: (
                value.mean(-2, keepdim=True).expand(*weights.shape[:-1], -1),
                weights,
            )
        ),
    ),
    mistake(
        "divided by the number of keys",
        "The weighted sum was also divided by the number of keys.",
        "The weights already sum to 1: is there anything left to divide by?",
        swap(
            finish=lambda weights, value: (
                weights @ value / value.shape[-2],
                weights,
            )
        ),
    ),
)

RETURNS = {"output": "..., query, width of value", "weights": "..., query, key"}


EXERCISES = (
    Exercise(
        "2.B",
        "Scaled dot-product attention",
        "function",
        difficulty=3,
        points=4,
        core=True,
        answers=(
            Answer(
                "scaled_dot_product_attention", scaled_dot_product_attention, RETURNS
            ),
        ),
        cases=_attention_cases,
        proves="scale, axis, mask, gradient; with and without batch and heads",
        properties=(ROWS, BLOCKED),
        misconceptions=ATTENTION_MISTAKES,
    ),
)
