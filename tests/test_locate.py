"""Right up to here: the line of a wrong answer at which the right numbers end."""

import time
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import nn
from torch.utils._python_dispatch import _get_current_dispatch_mode
from worlds import world

from helpers.checks import engine, steps
from helpers.checks import locate as located
from helpers.checks.blanks import Line
from helpers.checks.exercise import Answer, Case, Exercise, mistake
from helpers.checks.locate import Found, locate
from helpers.checks.observe import run_cases
from helpers.checks.telling import plain, telling
from tools.build.lesson_cells import typed
from tools.proofs import locate as measured


def numbers(*size, seed=0):
    draw = torch.Generator().manual_seed(seed)
    return torch.randn(size, generator=draw, dtype=torch.float64)


def mixed(x, y):
    """The mean of the rows of y, weighted by a softmax over x."""
    return x.softmax(-1) @ y / y.shape[0]


def mixed_by_hand(x, y):
    powers = torch.exp(x)
    weights = powers / powers.sum(-1, keepdim=True)
    return (weights @ y) / y.shape[0]


MIXED = Exercise(
    "99.1",
    "Mixed",
    "function",
    difficulty=1,
    minutes=1,
    answers=(Answer("mixed", mixed, {"y": "n"}),),
    cases=lambda seed: [
        Case("the gradient", (numbers(4, 3), numbers(3, 5)), gradient=True),
        Case("numbers", (numbers(4, 3, seed=1), numbers(3, 5, seed=2))),
    ],
    proves="a softmax and a mean",
    misconceptions=(mistake("zero", "Nothing.", "?", lambda x, y: 0 * x @ y),),
)


def found(source, exercise=MIXED, others=(mixed, mixed_by_hand), name="mixed"):
    """What is found in an answer that is typed."""
    thing, answer = typed(source, name), exercise.answers[0]
    cases = exercise.cases(0)
    runs = run_cases(thing, answer, cases, 5.0)
    expected = run_cases(answer.reference, answer, cases, 5.0)
    return locate(exercise, 0, thing, cases, runs, expected, others)


def place(source, **more):
    """The named line and the last known one before it."""
    one = found(source, **more)
    return one and (one.line and one.line.number, one.known)


WRONG = """
def mixed(x, y):
    weights = torch.softmax(x, -1)
    weights = weights * 1.5
    out = weights @ y
    return out / y.shape[0]
"""


def test_the_first_line_that_no_right_answer_shares_is_named():
    one = found(WRONG)
    assert (one.line.number, one.known) == (4, 3)
    assert str(one) == (
        "Up to line 3 we find your numbers in right answers, as far as they can be "
        "compared. Line 4 (weights = weights * 1.5) makes the first that we do not "
        "find there. It may be another way; if not, look there and before it."
    )


HALF_FILLED = """
def mixed(x, y):
    out = torch.empty(x.shape[0], y.shape[1], dtype=x.dtype)
    for place, row in enumerate(x.softmax(-1)[1:]):
        out[place] = row @ y / y.shape[0]
    return out
"""


def test_the_line_that_makes_the_first_nan_is_named():
    source = """
def mixed(x, y):
    rates = torch.arange({}) / 2.0
    weights = x.softmax(-1) * (rates / rates).sum()
    out = weights @ y
    return out / y.shape[0]
"""
    one = found("import torch\n" + source.format("0, 3"))
    assert one.nan and str(one) == (
        "Line 5 (weights = x.softmax(-1) * (rates / rates).sum()) makes the first NaN: "
        "look there and at what goes into it."
    )
    assert not found("import torch\n" + source.format("1, 4")).nan


def test_weights_that_are_nan_before_they_are_filled_are_no_mistake():
    lost = FLAWED.replace("y = y - y.mean", "y = (y - 9e9).sqrt() - y.mean")
    one = found(lost, exercise=LAYER, others=(Layer,), name="Layer")
    assert one.nan and one.line.number == 11
    assert found(FLAWED, exercise=LAYER, others=(Layer,), name="Layer").nan is False


def test_the_weights_of_a_fused_attention_are_known():
    def fused(x, y):
        return nn.functional.scaled_dot_product_attention(x, x, x, is_causal=True)

    of = replace(
        MIXED,
        answers=(Answer("mixed", fused, {"y": "n"}),),
        cases=lambda seed: [Case("one", (numbers(2, 4, 8), numbers(1)))],
    )
    source = """
import torch
def mixed(x, y):
    scores = x @ x.mT / 8 ** 0.5
    later = torch.ones(4, 4, dtype=torch.bool).triu(1)
    weights = scores.masked_fill(later, -torch.inf).softmax(-1)
    return weights @ x * 1.5
"""
    one = found(source, exercise=of, others=(fused,))
    assert (one.line.number, one.known) == (7, 6)
    masked = typed(
        "from torch import nn\ndef mixed(x, y):\n"
        "    seen = x.new_ones(4, 4).tril().bool()\n"
        "    same = nn.functional.scaled_dot_product_attention\n"
        "    return same(x, x, x, attn_mask=seen, scale=8 ** -0.5)",
        "mixed",
    )
    one = found(source, exercise=of, others=(masked,))
    assert (one.line.number, one.known) == (7, 6)


def test_nan_that_is_right_is_no_mistake():
    def lost(x, y):
        return (x.softmax(-1) @ y).masked_fill(y.sum() > -1e9, torch.nan)[:2]

    of = replace(MIXED, answers=(Answer("mixed", lost, {"y": "n"}),))
    source = "def mixed(x, y):\n    return (x.sqrt() @ y)[1:3] * torch.nan"
    one = found(source.replace("[1:3]", "[1:]"), exercise=of, others=(lost,))
    assert one is None or not one.nan


def test_a_place_that_is_not_filled_is_nan_and_not_what_lay_in_memory(known):
    """Not what another run finds there, nor what is right by chance."""
    full = HALF_FILLED.replace("[1:]", "")
    rows = numbers(4, 5) * 2.1
    del rows  # their memory is what the answer gets
    text = str(engine.examine(MIXED, (typed(HALF_FILLED, "mixed"),)))
    assert "5 of 20 entries are NaN" in text
    assert "In a check, what `torch.empty` makes is NaN until it is filled." in text
    zeros = HALF_FILLED.replace("empty", "zeros")
    for other in (zeros, zeros.replace("0]\n", "0] * torch.nan\n")):
        assert "empty" not in str(engine.examine(MIXED, (typed(other, "mixed"),)))
    other = full.replace("return out", "return out + 1")
    assert "is filled" not in str(engine.examine(MIXED, (typed(other, "mixed"),)))
    assert "Asked twice" not in text and "Line 3" not in text
    assert engine.examine(MIXED, (typed(full, "mixed"),)).outcome == "passed"
    assert not torch.are_deterministic_algorithms_enabled()


def test_where_nothing_is_known_before_the_sentence_says_only_that():
    one = found("def mixed(x, y):\n    return x.cos() @ y")
    assert one.known is None
    assert str(one) == (
        "As far as your numbers can be compared, line 2 (return x.cos() @ y) makes the "
        "first that we do not find in right answers. It may be another way; if not, "
        "look there and before it."
    )


def test_a_line_of_which_some_numbers_are_known_is_not_called_right():
    one = Found(Line(9, "best = pair"), known=7, straight=False, what="values", runs=2)
    assert str(one) == (
        "Of the values that line 7 makes we find at least some in right answers. We do "
        "not find after statements of theirs what line 9 (best = pair) makes in some "
        "of its runs. It may be another way; if not, look there and before it."
    )


def test_a_missing_step_and_another_value_are_told_from_a_wrong_line():
    left_out = "def mixed(x, y):\n    return x.softmax(-1) @ y"
    another = """
def mixed(x, y):
    weights = x.softmax(-1)
    out = weights @ y / y.shape[0]
    return weights
"""
    assert found(left_out) == found(another) == Found(None)
    assert str(found(left_out)) == (
        "All your numbers that can be compared occur in right answers: look at axes, "
        "indices, comparisons and at what is returned; or a step is missing."
    )


def test_what_came_instead_of_a_tensor_is_told_once(monkeypatch):
    monkeypatch.setattr(engine, "find", lambda _: MIXED)
    for end in ("", "    return out, weights\n"):
        source = (
            "def mixed(x, y):\n    weights = x.softmax(-1)\n"
            f"    out = weights @ y / y.shape[0]\n{end}"
        )
        text = str(engine.judge("99.1", typed(source, "mixed")))
        assert "right answers" not in text
        assert ("Is there a `return`?" in text) is not bool(end)


DETOUR = """
def mixed(x, y):
    shifted = x + 0.123
    powers = shifted.exp()
    weights = powers / powers.sum(-1, keepdim=True)
    out = weights @ y
    return out * y.shape[0]
"""


def test_a_line_that_does_what_right_answers_do_is_not_accused_alone():
    """Here 5 divides once too often, and 6 does what is asked."""
    source = """
def mixed(x, y):
    weights = x.softmax(-1)
    out = weights @ y
    out = out / y.shape[0]
    return out / {}
"""
    one = found(source.format("y.shape[0]"))
    assert (one.line.number, one.known, one.fed) == (6, 5, True)
    assert str(one).endswith(
        "if not, what goes into it may be wrong already: look before it and there."
    )
    one = found(source.format("2.5"))  # which is in no right answer
    assert (one.line.number, one.known, one.fed) == (6, 5, False)


def test_nor_is_one_into_which_a_strange_mask_went():
    source = """
def mixed(x, y):
    low = x < {}
    weights = x.softmax(-1)
    kept = weights.masked_fill(low, 0.3) * 1.5
    return kept @ y / y.shape[0]
"""
    strange, none = (found(source.format(limit)) for limit in ("-0.5", "-9"))
    assert strange.line.number == none.line.number == 5
    assert strange.fed and not none.fed  # nothing is below -9: a mask of one value


def test_where_right_answers_are_left_twice_no_line_is_accused_alone():
    source = """
def mixed(x, y):
    one = x.cos()
    two = y.sin()
    return one @ two / y.shape[0]
"""
    assert str(found(source)) == (
        "We do not find in right answers what line 4 (two = y.sin()) makes. It may be "
        "another way; if not, what goes into it may be wrong already: look before it "
        "and there."
    )


def test_a_right_answer_that_is_wrong_with_these_layers_is_left_out():
    """It may use the student's own, and then does what the student does."""
    wrong = "def mixed(x, y):\n    return (x.softmax(-1) * 1.5) @ y / y.shape[0]"
    assert place(wrong, others=(mixed, typed(wrong, "mixed"))) == (2, None)


def test_what_lies_in_memory_where_a_module_is_built_is_nan():
    """So a right answer's layers hold no numbers by chance before they are filled."""

    class Adds(nn.Module):
        def __init__(self):
            super().__init__()
            self.more = torch.empty(5, dtype=torch.float64)

        def forward(self, x):
            return x + self.more

    lay = numbers(5)
    case, answer = Case("five", (numbers(5, seed=1),)), Answer("Adds", Adds, {"y": ""})
    del lay
    assert bool(run_cases(Adds, answer, [case], 5.0)[0].judged["y"].isnan().all())


def test_a_table_that_is_too_large_is_left_out_of_the_comparison(monkeypatch):
    monkeypatch.setattr(located, "LARGE", 100)
    source = """
def mixed(x, y):
    wide = x.repeat(20, 1).cos()
    weights = x.softmax(-1) * 1.5
    return (weights @ y) / y.shape[0] + 0 * wide.sum()
"""
    assert place(source) == (4, None)


def test_a_right_detour_is_not_accused():
    assert place(DETOUR) == (7, 6)
    one = found(DETOUR.replace("out * y.shape[0]", "out"))
    assert one == Found(None, straight=False)
    assert str(one).startswith("Your numbers alone do not show which line is wrong")


def test_the_mistake_after_which_nothing_comes_back_is_named_inside_a_detour():
    right = DETOUR.replace("out * y", "out / y")
    wrong = right.replace("-1, keepdim", "0, keepdim")
    assert place(wrong) == (3, None)  # "it may be another way": nothing more is known
    assert place(wrong, others=(mixed, typed(right, "mixed"))) == (5, 4)


def test_the_line_inside_a_helper_of_the_same_cell_is_named():
    source = """
def scores(x):
    return x.softmax(-1).sqrt()

def mixed(x, y):
    return scores(x) @ y / y.shape[0]
"""
    one = found(source)
    assert (one.line.number, one.chain) == (3, (3, 6))


def test_rows_written_into_a_table_are_followed():
    source = """
def mixed(x, y):
    weights = torch.zeros_like(x)
    for place, row in enumerate(x):
        weights[place] = row.softmax(0)
    out = weights.tanh() @ y
    return out / y.shape[0]
"""
    assert place(source) == (6, 5)


class Layer(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.W = nn.Linear(width, 4)
        self.norm = nn.LayerNorm(4)

    def forward(self, x):
        return x.sum(-1, keepdim=True) * self.norm(self.W(x)).relu()


LAYER = replace(
    MIXED,
    kind="class",
    answers=(Answer("Layer", Layer, {"y": "n"}, parts=("W", "norm")),),
    cases=lambda seed: [Case("one", (numbers(3, 5),), init=(5,))],
)
FLAWED = """
class Layer(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.unused = nn.Linear(2, 3)  # so that W is drawn otherwise
        self.norm = nn.LayerNorm(4)
        self.W = nn.Linear(width, 4)

    def forward(self, x):
        y = self.W(x)
        y = y - y.mean(-1, keepdim=True)
        y = y / (y.var(-1, keepdim=True) + self.norm.eps).sqrt()
        return x.sum(-1, keepdim=True) * y.relu()
"""


def test_right_answers_run_on_the_students_own_weights():
    one = found(FLAWED, exercise=LAYER, others=(Layer,), name="Layer")
    assert (one.line.number, one.known) == (12, 11)  # the variance, with n - 1
    assert str(one).endswith(
        "Line 12 (y = y / (y.var(-1, keepdim=True) + self.norm.eps).sqrt()) makes the "
        "first that we do not find there. It may be another way; if not, what goes "
        "into it may be wrong already: look before it and there, and in `__init__`."
    )
    without = FLAWED.replace("self.norm.eps", "1e-5")  # nothing that `__init__` makes
    one = found(without, exercise=LAYER, others=(Layer,), name="Layer")
    assert str(one).endswith("look there and before it, and in `__init__`.")


def test_where_no_line_is_named_init_is():
    biased = ("y.var(-1, keepdim=True)", "y.var(-1, False, keepdim=True)")
    swapped = FLAWED.replace(*biased)
    wrong = swapped.replace("return x.sum(-1, keepdim=True) * y", "return y")
    one = found(wrong, exercise=LAYER, others=(Layer,), name="Layer")
    assert one.line is None and str(one).endswith("or `__init__` is wrong.")


class Plain(Layer):
    """Right without a bias, of which it takes no notice."""

    def forward(self, x):
        y = self.norm(x @ self.W.weight.T).relu()
        return x.sum(-1, keepdim=True) * y


BIASED = """
class Layer(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.W = nn.Linear(width, 4, bias=False)
        self.norm = nn.LayerNorm(4)

    def forward(self, x):
        y = self.norm(self.W(x)).relu() * 1.5
        return x.sum(-1, keepdim=True) * y
"""


def test_where_right_answers_differ_on_these_layers_no_line_is_compared():
    """One takes no notice of a bias, another adds it: neither says what is right."""
    alike = found(BIASED, exercise=LAYER, others=(Layer, Plain), name="Layer")
    assert alike.line.number == 9
    biased = BIASED.replace(", bias=False", "")
    one = found(biased, exercise=LAYER, others=(Layer, Plain), name="Layer")
    assert one == Found(None, layers=True)
    assert str(one) == (
        "With the layers that your `__init__` makes, right answers differ from one "
        "another: look first at how each of them is made."
    )
    assert found(biased, exercise=LAYER, others=(Layer,), name="Layer").line.number == 9


def test_an_embedding_in_float32_is_asked_in_float64():
    class Table(nn.Module):
        def __init__(self):
            super().__init__()
            self.table = nn.Embedding(7, 5)

        def forward(self, ids):
            return self.table(ids).mean(1).softmax(-1)

    exercise = replace(
        LAYER,
        answers=(Answer("Table", Table, {"y": "n"}, parts=("table",)),),
        cases=lambda seed: [Case("ids", (torch.tensor([[1, 2, 3], [4, 5, 6]]),))],
    )
    source = """
SEEN = []

class Table(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(7, 5)

    def forward(self, ids):
        SEEN.append(self.table.weight.dtype)
        middle = self.table(ids).mean(1)
        return (middle * 2).softmax(-1)
"""
    Mine = typed(source, "Table")
    cases, answer = exercise.cases(0), exercise.answers[0]
    runs = run_cases(Mine, answer, cases, 5.0)
    expected = run_cases(Table, answer, cases, 5.0)
    one = locate(exercise, 0, Mine, cases, runs, expected, [Table])
    assert one.line.number == 12
    assert Mine.forward.__globals__["SEEN"] == [torch.float32, torch.float64]


MASK = replace(
    MIXED,
    answers=(Answer("mask", lambda ids: (ids > 0) & (ids < 5), {"mask": "n"}),),
    cases=lambda seed: [Case("ids", (torch.tensor([[0, 3, 5, 1], [2, 7, 0, 4]]),))],
)


def test_the_other_half_of_a_mask_is_known_but_not_of_numbers():
    values = [
        located._Value("x", np.array(numbers_), 1e-9, (1,), False, False, [])
        for numbers_ in ([0.0, 1.0, 1.0], [0.0, 1.0, 2.0])
    ]
    watch = located._Watch(None, located._Budget())
    watch.values = values
    wholes = located._Pool([watch]).wholes
    assert located._key(np.array([1.0, 0.0, 0.0])) in wholes
    assert located._key(np.array([0.0, 1.0, 2.0])) in wholes
    assert located._key(np.array([1.0, 0.0, -1.0])) not in wholes


def test_masks_count_where_a_mask_is_asked_for():
    source = """
def mask(ids):
    real = ids != 0
    low = ids < 4
    return real & low
"""
    more = {"exercise": MASK, "others": (MASK.references[0],), "name": "mask"}
    one = found(source, **more)
    assert (one.line.number, one.known) == (4, 3)
    loop = """
def mask(ids):
    out = torch.zeros(ids.shape, dtype=torch.bool)
    for row in range(2):
        for place in range(4):
            out[row, place] = ids[row, place] > 0
    return out
"""
    assert found(loop, **more).line is None


def test_a_number_or_two_that_no_right_answer_has_are_where_it_begins():
    source = """
def mixed(x, y):
    weights = x.softmax(-1)
    factor = torch.full((1,), 1.7)
    return (weights * factor) @ y / y.shape[0]
"""
    assert place(source) == (4, 3)
    assert str(found(source)).endswith(
        "We do not find there what line 4 (factor = torch.full((1,), 1.7)) makes. It "
        "may be another way; if not, look there and at the lines after it."
    )
    fine = source.replace("factor)", "factor / factor)").replace("0]", "0] + 0.3")
    assert not found(fine).straight


def test_one_number_again_and_again_is_known_by_chance():
    def thirds(x, y):
        return (x.softmax(-1) @ y) * torch.tensor(1 / 3)

    source = """
def mixed(x, y):
    even = torch.full_like(x, 1 / 3)
    return even @ y.cos()
"""
    assert place(source, others=(mixed, thirds)) == (4, None)


def test_the_weights_themselves_are_not_called_known():
    source = FLAWED.replace(
        "y = self.W(x)\n", "W = self.W.weight.t()\n        y = (x @ W).cos()\n"
    )
    assert "y = (x @ W)" in source
    one = found(source, exercise=LAYER, others=(Layer,), name="Layer")
    assert (one.line.number, one.known) == (11, None)


class Deep(nn.Module):
    def __init__(self, count):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(4, 4) for _ in range(count))

    def forward(self, x):
        for layer in self.layers:
            x = layer(x).tanh()
        return x


def test_silent_where_right_answers_have_other_weights():
    deep = replace(
        LAYER,
        answers=(Answer("Deep", Deep, {"y": "n"}, parts=("layers",)),),
        cases=lambda seed: [Case("two", (numbers(3, 4),), init=(2,))],
    )
    source = """
class Deep(nn.Module):
    def __init__(self, count):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(4, 4) for _ in range({}))

    def forward(self, x):
        for layer in self.layers:
            x = layer(x).{}()
        return x
"""
    more = {"exercise": deep, "others": (Deep,), "name": "Deep"}
    assert found(source.format("count + 1", "tanh"), **more) is None
    assert found(source.format("count", "cos"), **more).line.number == 9


def test_a_dropout_in_eval_mode_draws_nothing(known):
    source = """
import torch
def mixed(x, y):
    with torch.inference_mode():
        weights = torch.dropout(x.softmax(-1), 0.1, {})
        return weights * 1.5 @ y / y.shape[0]
"""
    assert place(source.format("False")) == (6, 5)
    assert found(source.format("True")) is None


def test_a_line_that_only_makes_gradients_is_not_accused():
    def total(x, y):
        out = mixed(x, y)
        return out + 0 * out.sum()

    source = """
def mixed(x, y):
    x = x.clone().requires_grad_()
    out = x.softmax(-1) @ y / y.shape[0]
    whole = out.sum()
    whole.backward()
    return x.grad
"""
    one = found(source, others=(mixed, total))
    assert one is None or one.line is None or one.line.number != 6


def test_only_an_init_of_the_students_own_is_pointed_at():
    body = "norm = nn.LayerNorm(3, dtype=x.dtype)\n    return norm(x.cos()) @ y"
    one = found(f"def mixed(x, y):\n    {body}")
    assert one.line.number == 3 and "__init__" not in str(one)


def walk(x, y):
    for _ in range(3):
        high = (x @ y).exp()
        x = high / high.sum()
    return x


def test_the_rest_of_a_loop_is_pointed_at_where_a_line_was_right_before():
    steps = replace(
        MIXED,
        answers=(Answer("walk", walk, {"x": "n"}),),
        cases=lambda seed: [Case("one", (numbers(3), numbers(3, 3, seed=1)))],
    )
    source = """
def walk(x, y):
    for _ in range(3):
        high = (x @ y).exp()
        x = high{} / high.sum(){}
    return x
"""
    more = {"exercise": steps, "others": (walk,), "name": "walk"}
    text = str(found(source.format(".flip(0)", ""), **more))
    assert "line 4" in text.lower() and text.endswith(
        "if not, look there and before it, or in the rest of the loop."
    )
    assert "loop" not in str(found(source.format("", " + 0.3"), **more))


def test_not_all_is_called_strange_in_a_line_that_makes_known_numbers_too():
    source = """
def mixed(x, y):
    shifted = (x + 0.123).exp()
    weights = shifted / shifted.sum(-1, keepdim=True)
    return (weights @ y / y.shape[0]) * 1.5
"""
    text = str(found(source))
    assert "not find there all that line 5 (" in text


def test_one_number_that_tells_nothing_makes_it_silent():
    def share(x, y):
        return x.softmax(-1).max() / 1.3

    exercise = replace(MIXED, answers=(Answer("share", share, {"y": ""}),))
    source = """
def share(x, y):
    w = x.softmax(-1)
    return w.max() / 1.3 if {} else (w > 2).sum() + 2.5
"""
    more = {"exercise": exercise, "others": (share,), "name": "share"}
    assert found(source.format("False"), **more) is None


# --- where nothing can be known -------------------------------------------------------

SILENT = {
    "Python": "w = [[v * 2.1 for v in row] for row in x.tolist()]\n"
    "    return torch.tensor(w) @ y",
    "chance": "return torch.rand_like(x) @ y",
    "None": "x.softmax(-1)",
    "nothing": "return None",
}


@pytest.mark.parametrize("body", SILENT.values(), ids=SILENT)
def test_silent_where_no_number_tells(body):
    assert found(f"import numpy as np\ndef mixed(x, y):\n    {body}") is None


BY_VALUE = {
    "NumPy": ("out = np.exp(x.numpy()) @ y.numpy()\n    return torch.tensor(out)", 3),
    "on the way": ("w = torch.from_numpy(np.cos(x.numpy()))\n    return w @ y", 3),
    "a list": ("return (x.softmax(-1) @ y).tolist()", None),
}


@pytest.mark.parametrize(("body", "line"), BY_VALUE.values(), ids=BY_VALUE)
def test_what_torch_does_not_see_is_seen_in_variables(body, line):
    one = found(f"import numpy as np\ndef mixed(x, y):\n    {body}")
    assert one.what == "values" and (one.line and one.line.number) == line


def test_silent_where_only_the_gradient_is_wrong():
    source = "def mixed(x, y):\n    return (x.softmax(-1) @ y.detach()) / y.shape[0]"
    assert found(source) is None


def test_silent_where_a_part_is_missing():
    source = FLAWED.replace("self.W", "self.V")
    assert found(source, exercise=LAYER, others=(Layer,), name="Layer") is None


def test_a_case_that_fails_with_an_error_leaves_the_others_to_be_looked_at():
    two = replace(
        LAYER,
        cases=lambda seed: [
            *LAYER.cases(seed),
            Case("two rows", (numbers(2, 5, seed=1),), init=(5,)),
        ],
    )
    source = FLAWED.replace(
        "        y = self.W(x)\n",
        """        assert len(x) > 2
        y = self.W(x)
""",
    )
    one = found(source, exercise=two, others=(Layer,), name="Layer")
    assert (one.line.number, one.known) == (13, 12)


def test_silent_where_no_code_of_the_students_is_to_be_seen():
    cases, answer = MIXED.cases(0), MIXED.answers[0]
    runs = run_cases(torch.matmul, answer, cases, 5.0)
    expected = run_cases(mixed, answer, cases, 5.0)
    assert locate(MIXED, 0, torch.matmul, cases, runs, expected, [mixed]) is None


# --- bounds, and nothing left behind --------------------------------------------------


def slow(x, y):
    end = time.monotonic() + 60
    while time.monotonic() < end:
        pass


@pytest.mark.parametrize("others", [[mixed, slow], [slow]])
def test_right_answers_that_take_too_long_make_it_silent(others, monkeypatch):
    monkeypatch.setattr(located, "SECONDS", 0.3)
    start = time.monotonic()
    assert found(WRONG, others=others) is None
    assert time.monotonic() - start < 3


def test_an_answer_that_takes_too_long_makes_it_silent(monkeypatch):
    monkeypatch.setattr(located, "SECONDS", 0.3)
    source = WRONG.replace("weights * 1.5", "sum(weights for _ in range(10**5))")
    monkeypatch.setattr(located, "VALUES", 10**9)
    monkeypatch.setattr(located, "NUMBERS", 10**9)
    cases, answer = MIXED.cases(0)[1:], MIXED.answers[0]
    expected = run_cases(mixed, answer, cases, 5.0)
    runs = run_cases(typed(WRONG, "mixed"), answer, cases, 5.0)
    start = time.monotonic()
    thing = typed(source, "mixed")
    assert locate(MIXED, 0, thing, cases, runs, expected, [mixed]) is None
    assert time.monotonic() - start < 3


def test_right_answers_are_not_begun_where_time_will_not_do(monkeypatch):
    """The first run tells how long the others take: no second is lost on them."""
    monkeypatch.setattr(located, "SECONDS", 2.0)
    ran = []

    def counted(x, y):
        ran.append(1)
        return mixed(x, y)

    busy = """
import time
def mixed(x, y):
    end = time.thread_time() + {}
    while time.thread_time() < end:
        pass
    return (x.softmax(-1) * 1.5) @ y / y.shape[0]
"""
    assert found(busy.format(0.4), others=[counted] * 20) is None and not ran
    assert found(busy.format(0.01), others=[counted] * 20) and ran


def test_more_than_can_be_kept_does_not_end_an_import(monkeypatch, tmp_path):
    """Half a module would be left behind, and fail for as long as the kernel runs."""
    notes = tmp_path / "notes.txt"
    (tmp_path / "numbers_at_import.py").write_text(
        f"import torch\nnotes = open({str(notes)!r}, 'a')\nnotes.write('begun ')\n"
        "for _ in range(50):\n    torch.ones(3) + 1\nnotes.write('ended ')\n"
        "notes.close()\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    source = """
def mixed(x, y):
    import sys
    sys.modules.pop("numbers_at_import", None)
    import numbers_at_import
    return x.cos() @ y
"""
    monkeypatch.setattr(located, "VALUES", 40)
    assert found(source) is None
    words = notes.read_text().split()
    assert words and words == ["begun", "ended"] * (len(words) // 2)


@pytest.mark.parametrize("cap", ["VALUES", "NUMBERS"])
def test_more_than_can_be_kept_makes_it_silent(cap, monkeypatch):
    assert found(WRONG)
    monkeypatch.setattr(located, cap, 20)
    assert found(WRONG) is None


BAD = {
    "raises": "raise ValueError('mine')",
    "leaves": "raise SystemExit",
    "recurses": "return mixed(x, y)",
    "frees": "x.resize_(0)\n    return y * 1.1",
    "prints": "print('hello')\n    return y * 1.1",
    "changes defaults": "torch.set_default_dtype(torch.float16)\n"
    "    torch.manual_seed(3)\n    torch.set_grad_enabled(False)\n    return y * 1.1",
    "half": "return (x @ y).half()",
    "complex": "return torch.complex(x, x)",
    "sparse": "return x.to_sparse()",
    "empty": "return x[:0].exp()",
    "own gradient": "x = x.clone().requires_grad_()\n"
    "    return torch.autograd.grad(x.exp().sum(), x)[0]",
}


@pytest.mark.parametrize("body", BAD.values(), ids=BAD)
def test_it_never_raises_and_leaves_nothing(body, capsys):
    source = f"def mixed(x, y):\n    {body}"
    before = world()
    one = found(source)
    assert one is None or isinstance(one, Found)
    assert world() == before and _get_current_dispatch_mode() is None
    assert capsys.readouterr() == ("", "")


def test_a_fault_of_its_own_is_not_shown_to_a_student(monkeypatch):
    monkeypatch.setattr(located, "_found", lambda *_: 1 / 0)
    assert found(WRONG) is None


def test_the_inputs_and_the_students_things_stay_as_they_are():
    namespace_seen = []
    cases, answer = MIXED.cases(0), MIXED.answers[0]
    kept = [[arg.clone() for arg in case.args] for case in cases]

    def thing(x, y):
        namespace_seen.append(x.dtype)
        return x.mul_(2).softmax(-1) @ y

    expected = run_cases(mixed, answer, cases, 5.0)
    runs = run_cases(thing, answer, cases, 5.0)
    assert locate(MIXED, 0, thing, cases, runs, expected, [mixed])
    for case, args in zip(cases, kept, strict=True):
        assert all(map(torch.equal, case.args, args))
    assert len(namespace_seen) == 3  # twice to be checked, once to be watched


def test_right_answers_that_fail_are_done_without():
    def fails(x, y):
        raise ValueError

    assert place(WRONG, others=(mixed, fails)) == (4, 3)
    assert found(WRONG, others=(fails, mixed)) is None  # the reference


# --- in a check -----------------------------------------------------------------------


@pytest.fixture
def known(monkeypatch):
    right = [mixed, mixed_by_hand]
    monkeypatch.setattr(located, "right_answers", lambda exercise, index: right)
    monkeypatch.delenv("NBGRADER_EXECUTION", raising=False)


def test_a_check_shows_it_where_no_mistake_is_named(known, monkeypatch):
    text = str(engine.examine(MIXED, (typed(WRONG, "mixed"),)))
    assert str(found(WRONG)) in text
    named = typed("def mixed(x, y):\n    return 0 * x @ y", "mixed")
    report = engine.examine(MIXED, (named,))
    assert report.misconception == "zero" and "Line" not in str(report)
    monkeypatch.setenv("NBGRADER_EXECUTION", "validate")
    assert "Up to line" not in str(engine.examine(MIXED, (typed(WRONG, "mixed"),)))


def test_a_right_answer_is_not_run_again(known, monkeypatch):
    monkeypatch.setattr(engine, "locate", lambda *_: pytest.fail("asked"))
    assert engine.examine(MIXED, (mixed_by_hand,)).outcome == "passed"


def test_a_course_exercise_has_answers_to_compare_with():
    exercise = engine.find("2.B")
    several = located.right_answers(exercise, 0)
    assert several[0] is exercise.references[0] and len(several) >= 4
    pair = engine.find("3.A")
    one, other = (located.right_answers(pair, index) for index in range(2))
    assert len(one) == len(other) >= 4 and not set(one) & set(other)


def test_numbers_that_anyone_has_tell_nothing():
    array = np.array([0.0, 1.0, -2.5, 0.25, np.inf, -1e9, np.nan, 1e-17, 0.3, 0.3])
    assert telling(array).tolist() == [0.3]
    rounded = np.array([4e-10, 1 - 1e-12, 1e3 + 1e-7, 0.3, 3e-9])
    assert telling(rounded).tolist() == [3e-9, 0.3]
    assert telling(np.array([-4.4e-8, 1 - 1e-7, 0.3]), 1e-5).tolist() == [0.3]
    assert plain(np.array([-4e-17, 1 - 1e-12, -np.inf])).tolist() == [0, 1, -np.inf]


def test_a_zero_of_float32_is_a_zero():
    """The sine of pi is 1e-16 in float64, and -9e-8 in float32."""
    kinds = (torch.float32, torch.float64)
    one, two = (torch.tensor([torch.pi, 0.3], dtype=kind).sin() for kind in kinds)
    assert len(steps.freeze(one).floats) == len(steps.freeze(two).floats) == 1
    assert steps.freeze(one[:1]) == steps.freeze(two[:1]) == steps.freeze(0.0)
    assert located._key(one[:1].double().numpy()) == located._key(np.zeros(1))


def test_an_exercise_may_stay_silent():
    assert found(WRONG, exercise=replace(MIXED, locates=False)) is None


PLACES = replace(
    MIXED,
    answers=(Answer("places", lambda mask: mask.cumsum(-1) - mask, {"places": "n"}),),
    cases=lambda seed: [Case("mask", (torch.tensor([[1, 0, 1, 1], [0, 1, 1, 1]]),))],
)


def test_ids_are_compared_as_a_whole():
    source = "def places(mask):\n    until = mask.cumsum(-1)\n    return until + mask"
    one = found(source, exercise=PLACES, others=PLACES.references, name="places")
    assert (one.line.number, one.known) == (3, 2)
    assert one.fed  # a right way may have other ids


def test_a_table_that_is_not_filled_has_no_ids():
    source = """
def places(mask):
    out = torch.empty(mask.shape).nan_to_num(0)
    return (out + (mask.cumsum(-1) + mask)).long()
"""
    one = found(source, exercise=PLACES, others=PLACES.references, name="places")
    assert (one.line.number, one.straight) == (4, True)


def test_strange_ids_on_the_way_are_left_out_of_what_is_said():
    source = """
def mixed(x, y):
    order = x.argsort(-1, descending=True)
    return x.gather(-1, order).gather(-1, order.argsort(-1)).softmax(-1) @ y
"""
    assert "right answers (ids and masks were not compared): look" in str(found(source))


def test_a_line_that_the_wrong_result_does_not_hang_on_is_not_accused():
    source = """
def mixed(x, y):
    aside = x.cos()
    return x.softmax(-1) @ y
"""
    assert found(source).line is None and not found(source).straight


# --- the measurement ------------------------------------------------------------------

CELL = (
    "def second(x):\n    return x + 1\n\ndef first(x):\n    y = second(x)\n    return y"
)


def test_the_changed_line_is_found_again():
    assert measured._changed(CELL, CELL.replace("x + 1", "x - 1")) == (2, False)
    assert measured._changed(CELL, CELL.replace("y = second(x)", "pass")) == (5, False)


@pytest.mark.parametrize(
    ("line", "chain", "changed", "where"),
    [
        (5, (5,), 5, "exact"),
        (2, (2, 5), 5, "exact"),
        (6, (6,), 5, "later"),
        (2, (2, 5), 6, "before"),
        (5, (5,), 2, "later"),  # it called the changed line
        (6, (6,), 2, "next"),
    ],
)
def test_a_named_line_is_placed_beside_the_changed_one(line, chain, changed, where):
    exercise = replace(MIXED, cases=lambda seed: [Case("one", (numbers(3),))])
    thing, answer = typed(CELL, "first"), Answer("first", torch.sin)
    exercise = replace(exercise, answers=(answer,))
    cases = exercise.cases(0)
    asked = (
        cases,
        run_cases(thing, answer, cases, 5.0),
        run_cases(torch.sin, answer, cases, 5.0),
    )
    call = {"found": Found(Line(line, ""), chain=chain), "asked": asked}
    assert measured._where(exercise, 0, thing, changed, call) == where


def test_a_seed_draws_its_own_changes_and_an_answer_is_not_compared_with_itself():
    exercise = engine.find("6.A")
    one, same, other = (list(measured.drawn(exercise, 1, seed)) for seed in (0, 0, 1))
    assert [str(a.mutant) for a in one] == [str(a.mutant) for a in same]
    assert {str(a.mutant) for a in one} != {str(a.mutant) for a in other}
    assert len(one) == len(located.variants(6)["6.A"])
    text = "\n".join(measured.sums(one))
    assert f"{len(one)} changed answers: " in text
    assert measured.main(["6.99"]) == 2


def test_answers_that_share_code_are_left_out_together():
    several = located.variants(2)["2.B"]
    shared = [measured._shared(one) for one in several]
    assert all(shared)
    assert not shared[0] & shared[-1]
    assert ("helpers.exercises.attention.variants.scaled", several[0].__name__) in (
        shared[0]
    )
