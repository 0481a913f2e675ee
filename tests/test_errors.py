"""What the errors that every beginner meets mean: raised by torch itself."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from helpers.checks.errors import meaning

X = torch.ones(3, 4)
PAIR = nn.GRU(4, 5, batch_first=True)(torch.ones(2, 3, 4))
APART = "take them apart"


def a_buffer_assigned_first():
    module = nn.Module()
    module.table = ...
    module.register_buffer("table", X)


@pytest.mark.parametrize(
    ("deed", "said"),
    [
        (lambda: X @ nn.Linear(4, 2), "A layer is called like a function"),
        (lambda: "abc"[X.topk(2)[1][0]], "`topk`, `sort` and `max(dim)` return two"),
        (lambda: ["a"][X], "A list takes one whole number"),
        (lambda: X.norm(axis=1), "`axis` is called `dim` in torch"),
        (lambda: torch.softmax(X, dim=1, wrong=2), "that it does not accept"),
        (
            lambda: F.cross_entropy(torch.tensor([1, 2]), torch.ones(2, 3)),
            "takes the scores first",
        ),
        (
            lambda: F.cross_entropy(torch.ones(27, 5), torch.tensor([1, 2])),
            "There are 27 rows of scores and 2 right answers",
        ),
        (a_buffer_assigned_first, "There is a `table` already"),
        (lambda: PAIR + X, APART),
        (lambda: X @ PAIR, APART),
        (lambda: PAIR[:, -1], APART),
        (lambda: torch.cat([PAIR, X]), APART),
        (lambda: nn.Linear(5, 2)(PAIR), APART),
        (lambda: nn.Module().register_buffer("a", None) + 1, "`register_buffer`"),
    ],
)
def test_torch_s_own_errors_are_explained(deed, said):
    with pytest.raises(Exception) as raised:  # noqa: PT011
        deed()
    assert said in meaning(raised.value, str(raised.value))
