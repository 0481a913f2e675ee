"""3.B, 3.D, 3.H, 3.L, 3.M: three bug hunts, a test by shuffling, a written question."""

from collections.abc import Callable

import torch
from torch import Tensor, nn

from helpers.checks.exercise import Answer, Case, Exercise, Look, mistake, value_cases
from helpers.exercises.kit import exchanging, reordered
from helpers.models.attention import attention
from helpers.models.multi_head import MultiHeadAttention, merge_heads, split_heads

TOKENS, WIDTH, HEADS = 5, 8, 2


def treats_tokens_alike(layer: Callable) -> bool:
    """The course's own answer to 3.D."""
    x = torch.randn(TOKENS, WIDTH, generator=torch.Generator().manual_seed(1))
    order = torch.tensor([3, 1, 4, 0, 2])
    return torch.allclose(layer(x[order]), layer(x)[order], atol=1e-5)


# --- the layers that a student's test has to judge ------------------------------------


def _drawn(*size: int, seed: int = 0) -> Tensor:
    draw = torch.Generator().manual_seed(seed)
    return torch.randn(*size, generator=draw) / size[-1] ** 0.5


def _multi_head() -> nn.Module:
    layer = MultiHeadAttention(WIDTH, HEADS).eval().requires_grad_(False)
    for seed, number in enumerate(layer.parameters()):
        number.copy_(_drawn(*number.shape, seed=seed))
    return layer


def _nearly(output: Tensor) -> Tensor:
    """The output, each token's off by two more roundings than the one before it.

    A right layer rounds in another way when its tokens come in another order, or does
    not: that depends on the order and on the processor. So it always does, and a test
    with `torch.equal` is wrong everywhere.
    """
    return output * (1 + torch.arange(len(output)) * 2.0**-22)[:, None]


def _right(x: Tensor) -> Tensor:
    x = x.float()[None]
    return _nearly(_multi_head()(x, x, x)[0])


def _by_loop(x: Tensor) -> Tensor:
    found = []
    for head in range(3):
        parts = (x.float() @ _drawn(WIDTH, 6, seed=9 * head + n) for n in range(3))
        found.append(attention(*parts))
    return _nearly(torch.cat(found, -1) @ _drawn(18, WIDTH))


def _plain_mean(x: Tensor) -> Tensor:
    return _nearly(x.float().mean(0, keepdim=True).expand_as(x))


def _over_tokens(x: Tensor, seed: int = 0) -> Tensor:
    """The projections mix the tokens, and attention runs between features."""
    query, key, value = (_drawn(6, TOKENS, seed=seed + n) @ x.float() for n in range(3))
    mixed = attention(query, key, value)  # (6, WIDTH)
    return _drawn(TOKENS, 6, seed=seed + 3) @ mixed


def _over_tokens_redrawn(x: Tensor) -> Tensor:
    return _over_tokens(x, seed=int(torch.randint(2**31, ())))


def _redrawn(x: Tensor) -> Tensor:
    """Each call draws its own weights, one matrix for all tokens."""
    return x.float() @ torch.randn(WIDTH, WIDTH)


def _view_split(x: Tensor) -> Tensor:
    heads = [
        (x.float() @ _drawn(WIDTH, WIDTH, seed=n)).reshape(1, HEADS, TOKENS, -1)
        for n in range(3)
    ]
    return merge_heads(attention(*heads))[0]


def _view_merge(x: Tensor) -> Tensor:
    heads = [
        split_heads((x.float() @ _drawn(WIDTH, WIDTH, seed=n))[None], HEADS)
        for n in range(3)
    ]
    return attention(*heads).reshape(TOKENS, WIDTH)


def _beside(x: Tensor) -> Tensor:
    """A mean of the two tokens beside each one, where the last stands beside the first.

    It commutes with every order that leaves neighbours neighbours: with tokens that are
    read backwards, and with tokens that all move on by some places.
    """
    return (x.float().roll(1, 0) + x.float().roll(-1, 0)) / 2


def _running_mean(x: Tensor) -> Tensor:
    return x.float().cumsum(0) / torch.arange(1, len(x) + 1)[:, None]


def _sorted(x: Tensor) -> Tensor:
    """The right results, sorted: the order of the tokens that went in is lost.

    A fixed order instead would commute with some of the orders that a test may use.
    """
    by = x.float() @ _drawn(WIDTH, seed=7)
    return _right(x)[by.argsort()]


LAYERS = {
    "right multi-head attention": _right,
    "right multi-head attention, head by head": _by_loop,
    "the mean of all tokens, for each token": _plain_mean,
    "projections over the token axis": _over_tokens,
    "the same, with new weights in every call": _over_tokens_redrawn,
    "a dense layer with new weights in every call": _redrawn,
    "heads split by view": _view_split,
    "heads merged by view": _view_merge,
    "a mean over the tokens so far": _running_mean,
    "a mean of the two tokens beside each one": _beside,
    "right results at the wrong tokens": _sorted,
}


def _cases(seed: int) -> list[Case]:
    cases = (Case(name, (layer,)) for name, layer in LAYERS.items())
    return reordered(cases, seed)


def _argument(seed: int) -> list[Case]:
    """The name of an argument, even if "=False" was written after it."""

    def look(text: object) -> Look:
        name = text.split("=")[0].strip() if isinstance(text, str) else text
        return Look({"value": name})

    return [Case("your value", look=look)]


def _probe(
    layer: Callable,
    *,
    shuffle: Callable = lambda x, order: x[order],
    restore: Callable = lambda x, order: x[order],
    same: Callable = lambda one, other: torch.allclose(one, other, atol=1e-4),
) -> bool:
    """The test, in steps that a mistake can exchange."""
    x = torch.randn(TOKENS, WIDTH, generator=torch.Generator().manual_seed(4))
    order = torch.tensor([4, 2, 0, 3, 1])
    return bool(same(layer(shuffle(x, order)), restore(layer(x), order)))


swap = exchanging(_probe)


def _shuffled_twice(layer: Callable) -> bool:
    x = torch.randn(TOKENS, WIDTH, generator=torch.Generator().manual_seed(4))
    order = torch.tensor([4, 2, 0, 3, 1])
    return torch.allclose(layer(x[order])[order], layer(x), atol=1e-4)


def _features(x: Tensor, order: Tensor) -> Tensor:
    return x[:, torch.tensor([7, 2, 5, 0, 1, 4, 6, 3])]


PROBE_MISTAKES = (
    mistake(
        "output not shuffled",
        "The output for shuffled tokens was compared with the output in the old order: "
        "even a right layer's must differ there.",
        "If you shuffle what goes in, where do you find the result of token 0?",
        swap(restore=lambda x, order: x),
    ),
    mistake(
        "shuffled back with the same order",
        "The two outputs that were compared have their tokens in different orders: an "
        "order that is applied twice does not bring them back.",
        "Which order undoes [1, 2, 0]? Or shuffle the other output instead.",
        _shuffled_twice,
    ),
    mistake(
        "features shuffled",
        "The last axis was shuffled: the features, not the tokens.",
        "The input is (tokens, features). Which axis do you index?",
        swap(shuffle=_features, restore=_features),
    ),
    mistake(
        "nothing shuffled",
        "Both calls got the same input in the same order.",
        "Print what goes into the second call.",
        swap(shuffle=lambda x, order: x, restore=lambda x, order: x),
    ),
    mistake(
        "neighbours stay neighbours",
        "The tokens were read backwards, or all moved on by some places. Neighbours "
        "stay neighbours then, so your test says True to a layer in which a token sees "
        "only the two beside it.",
        "In which order do tokens that stood side by side stand apart?",
        *(
            swap(shuffle=move, restore=move)
            for move in (
                lambda x, order: x.flip(0),
                lambda x, order: x.roll(1, 0),
                lambda x, order: x.roll(2, 0),
                lambda x, order: x.roll(-1, 0),
            )
        ),
    ),
    mistake(
        "only shapes",
        "Your test says True to all of them, also to the wrong ones.",
        "What must happen to the numbers when the tokens change places?",
        lambda layer: True,
        swap(same=lambda one, other: one.shape == other.shape),
    ),
    mistake(
        "results not compared token by token",
        "Your test says True to a layer whose results are right, but belong to other "
        "tokens.",
        "Do you compare each token with its own result, one by one and closely enough?",
        swap(
            same=lambda one, other: torch.allclose(one.sum(0), other.sum(0), atol=1e-4),
        ),
        swap(
            same=lambda one, other: torch.allclose(
                one.mean(0), other.mean(0), atol=1e-4
            ),
        ),
    ),
    mistake(
        "False in any case",
        "Your test says False to all of them, the right ones included.",
        "Does it call `layer`? If so, which comparison fails on a right one? Sums of "
        "the same numbers in another order may be rounded differently.",
        swap(same=torch.equal),
        lambda layer: False,
    ),
    mistake(
        "verdict reversed",
        "Your test says True to the wrong ones and False to the right ones.",
        "True means that all tokens are treated alike.",
        lambda layer: not _probe(layer),
    ),
)


EXERCISES = (
    Exercise(
        "3.B",
        "Bug hunt: the head that read across the lines",
        "value",
        difficulty=2,
        points=1,
        answers=(Answer("row_one_holds", (0, 2)),),
        cases=lambda seed: value_cases(),
        proves="row 1 of head 0 holds token 0's features from 2 on",
        misconceptions=(
            mistake(
                "what should be there",
                "That is what row 1 of head 0 should hold.",
                "Read the printed numbers: tens are the token, ones the feature.",
                (1, 0),
            ),
            mistake(
                "feature first",
                "The two numbers are swapped.",
                "(token, first feature), in this order.",
                (2, 0),
            ),
        ),
    ),
    Exercise(
        "3.H",
        "Bug hunt: the map that hides the head",
        "value",
        difficulty=2,
        points=1,
        answers=(Answer("missing_argument", "average_attn_weights"),),
        cases=_argument,
        proves="nn.MultiheadAttention averages the heads unless told otherwise",
        misconceptions=(
            mistake(
                "need_weights",
                "That argument decides whether weights come back at all, and they did.",
                "Count the axes of what came back. Which one is missing?",
                "need_weights",
            ),
            mistake(
                "batch_first",
                "That argument moves the batch axis, and belongs to the constructor.",
                "Count the axes of what came back. Which one is missing?",
                "batch_first",
            ),
        ),
    ),
    Exercise(
        "3.L",
        "Bug hunt: the output that grew",
        "value",
        difficulty=2,
        points=1,
        answers=(Answer("right_layer", (512, 64)), Answer("hiding_d_head", 8)),
        cases=lambda seed: value_cases(2),
        proves="W_o leads back to d_model; heads x d_head = d_model hides the mistake",
        misconceptions=(
            mistake(
                "as in the bug",
                "That is the layer that makes the output 512 wide.",
                "What is the output added to afterwards, and how wide is that?",
                (512, 512),
            ),
            mistake(
                "out before in",
                "The first number of nn.Linear is the width of what comes in.",
                "What comes in: all heads side by side, or x?",
                (64, 512),
            ),
            mistake(
                "64",
                "With 8 heads of 64 the mistake is visible: the output is 512 wide.",
                "For which d_head are 8 heads together as wide as x?",
                64,
                of=1,
            ),
            mistake(
                "512",
                "512 is the width of 8 heads of 64 together.",
                "For which d_head are 8 heads together as wide as x?",
                512,
                of=1,
            ),
        ),
    ),
    Exercise(
        "3.D",
        "Bug hunt: shuffle the tokens",
        "probe",
        difficulty=3,
        points=2,
        core=True,
        answers=(Answer("treats_tokens_alike", treats_tokens_alike, {"verdict": ""}),),
        cases=_cases,
        proves="your test passes three layers and finds what is wrong with eight",
        misconceptions=PROBE_MISTAKES,
    ),
    Exercise(
        "3.M",
        "Why d_head = d_model / num_heads?",
        "written",
        difficulty=2,
        points=3,
    ),
)
