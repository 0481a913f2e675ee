"""How a wrong result is related to the right one, in words."""

import math
from dataclasses import replace

import pytest
import torch

from helpers.checks import engine
from helpers.checks.exercise import Answer, Case, Exercise, Look
from helpers.checks.relations import relation
from tools.build.lesson_cells import typed


def numbers(*size, seed=0):
    draw = torch.Generator().manual_seed(seed)
    return torch.randn(size, generator=draw, dtype=torch.float64)


TABLES = [numbers(3, 4), numbers(3, 4, seed=1)]
POSITIVE = [table.abs() for table in TABLES]


def half_of(table):
    """The second row doubled, the others right."""
    return table * torch.tensor([[1.0], [2.0], [1.0]], dtype=table.dtype)


TENSORS = {
    "Every entry is 0.": torch.zeros_like,
    "Every entry is -inf.": lambda x: torch.full_like(x, -math.inf),
    "Every entry is 5 times what was expected.": lambda x: 5 * x,
    "Every entry is what was expected divided by 3.": lambda x: x / 3,
    "Every entry is 0.70711 times what was expected.": lambda x: x / math.sqrt(2),
    "Every entry is 0.25 more than expected.": lambda x: x + 0.25,
    "Every entry is 1 less than expected.": lambda x: x - 1,
    "Every entry is what was expected with the opposite sign.": lambda x: -x,
    "Every entry is the square of what was expected.": lambda x: x * x,
    "Every entry is 1 divided by what was expected.": lambda x: 1 / x,
    "Every entry is 1 minus what was expected.": lambda x: 1 - x,
    "Every entry that differs is 2 times what was expected.": half_of,
    'Along the axis "row" the entries stand in reverse order.': lambda x: x.flip(0),
    "The entries and their order are right; only the shape is not.": lambda x: x.view(
        2, 6
    ),
    "These are the expected entries with the two axes exchanged.": lambda x: x.T,
    'Along the axis "column" every entry stands one place after its own.': lambda x: (
        torch.cat([x[:, :1], x[:, :-1]], 1)
    ),
    'Along the axis "row" every entry stands one place before its own.': lambda x: (
        x.roll(-1, 0)
    ),
    'Along the axis "column" the right entries stand in another order.': lambda x: (
        x.sort(1)[0]
    ),
    "These are the right entries in other places.": lambda x: x.flatten()[
        [5, 0, 7, 2, 9, 4, 11, 6, 1, 8, 3, 10]
    ].view(3, 4),
    'Along the axis "column" the entries are right but for a factor that they share: '
    "their proportions are the expected ones.": lambda x: x / x.sum(1, keepdim=True),
    'Along the axis "row" the entries are right but for one number that was added to '
    "all of them.": lambda x: x - x.mean(0),
    'Along the axis "row" your entries are all equal.': lambda x: x.mean(0).expand(
        3, 4
    ),
    'Along the axis "row" only the first place differs.': lambda x: torch.cat(
        [x[:1].cos(), x[1:]]
    ),
    'Along the axis "column" the last place is right; all others differ.': lambda x: (
        torch.cat([x[:, :-1].cos(), x[:, -1:]], 1)
    ),
    "": lambda x: x.cos(),
}


@pytest.mark.parametrize(("said", "wrong"), TENSORS.items(), ids=[*TENSORS])
def test_a_table_is_compared_with_the_right_one(said, wrong):
    assert relation([wrong(table) for table in TABLES], TABLES, "row, column") == said


@pytest.mark.parametrize(
    ("said", "wrong"),
    [("logarithm", torch.log), ("exponential", torch.exp), ("square root", torch.sqrt)],
)
def test_a_function_of_what_was_expected_is_found(said, wrong):
    text = relation([wrong(table) for table in POSITIVE], POSITIVE)
    assert text == f"Every entry is the {said} of what was expected."


def test_what_holds_in_one_case_only_is_not_said():
    one, two = TABLES
    assert relation([2 * one], [one])
    assert "Every" not in relation([2 * one, 3 * two], [one, two])
    assert relation([2 * one, two.cos()], [one, two]) == ""
    assert relation([one.flip(0), two.cos()], [one, two]) == ""


def test_of_another_dtype_alone_nothing_is_said_about_places():
    single = [table.float() for table in TABLES]
    assert relation([one.double() for one in single], single, "row, column") == ""
    assert relation(single, TABLES, "row, column") == ""


def test_axes_without_names_are_counted():
    text = relation([TABLES[0].flip(1)], TABLES[:1], "as x")
    assert text == "Along axis 1 the entries stand in reverse order."


SHAPES = {
    'Yours lacks the axis "row"; the other axes are as expected.': lambda x: x[:, 0],
    "Yours has one axis more, of length 1: axis 1.": lambda x: x.cos()[:, None],
    "These are the lengths of the expected axes in another order: "
    '"column", "batch", "row".': lambda x: x.cos().permute(2, 0, 1),
    'Along the axis "row" yours is 1 shorter than expected; the other axes are '
    "right.": lambda x: x[:, 1:],
    'Along the axis "column" yours is 2 longer than expected; the other axes are '
    "right.": lambda x: torch.cat([x, x[..., :2]], -1),
    'Along the axis "row" yours is 1 long; the other axes are right.': lambda x: x.sum(
        1, keepdim=True
    ),
    'Only along the axis "column" has yours another length.': lambda x: torch.cat(
        [x, x], -1
    ),
    "": lambda x: x[:, 1:, 1:],
}
BLOCKS = [numbers(2, 3, 5), numbers(2, 4, 7, seed=1)]


@pytest.mark.parametrize(("said", "wrong"), SHAPES.items(), ids=[*SHAPES])
def test_what_is_wrong_with_a_shape_is_told(said, wrong):
    came = [wrong(block) for block in BLOCKS]
    assert relation(came, BLOCKS, "batch, row, column=5") == said


def test_of_shapes_only_what_holds_in_every_case_is_said():
    one, two = BLOCKS
    assert relation([one[:, 1:], two], BLOCKS, "batch, row, column") == ""
    assert relation([one[:, 1:], two[:, :, 1:]], BLOCKS, "batch, row, column") == ""
    square = numbers(3, 3)
    assert relation([square.sum(0)], [square], "row, column") == ""


SQUARE = numbers(4, 4)
PLACES = {
    "All entries that differ lie on the diagonal.": SQUARE.diag().cos().diag(),
    "All entries that differ lie above the diagonal.": SQUARE.cos().triu(1),
    "All entries that differ lie below the diagonal.": SQUARE.cos().tril(-1),
}


@pytest.mark.parametrize(("said", "other"), PLACES.items(), ids=[*PLACES])
def test_wrong_entries_that_lie_together_are_told(said, other):
    wrong = torch.where(other != 0, other, SQUARE)
    wrong[[0, 1, 2], [1, 2, 3]] += 0.0 if "above" not in said else 0.1
    assert relation([wrong], [SQUARE]) == said


def test_blocked_entries_are_told_from_the_others():
    right = SQUARE.tril()
    leaks = right + SQUARE.cos().triu(1)
    assert relation([leaks], [right]) == "Exactly the entries differ that should be 0."
    scaled = right.cos().tril() + right.tril() ** 3
    said = "The entries that should be 0 are; all others differ."
    assert relation([scaled], [right]) == said


MASK = torch.tensor([[1, 0, 0], [1, 1, 0], [0, 1, 1]]).bool()
MASKS = {
    "Every True should be False, and every False True.": ~MASK,
    "Every entry is True.": MASK | True,
    "Every entry is False.": MASK & False,
    "Every entry that should be True is, but others are True as well.": MASK
    | torch.eye(3).flip(0).bool(),
    "Some entries that should be True are False; all others are right.": MASK
    & ~torch.eye(3).bool(),
    "These are the expected entries with the two axes exchanged.": MASK.T,
}


@pytest.mark.parametrize(("said", "wrong"), MASKS.items(), ids=[*MASKS])
def test_masks_that_are_wrong_one_way_are_told(said, wrong):
    assert relation([wrong], [MASK]) == said


def test_a_few_simple_numbers_are_related_by_chance_and_nothing_is_said():
    one, two = torch.tensor([1.0, 2.0]), torch.tensor([2.0, 4.0])
    assert relation([two], [one]) == ""
    assert relation([torch.tensor(3)], [torch.tensor(2)]) == ""
    assert relation([3.0], [1.5]) == ""
    assert relation([None], [one]) == relation(["a"], [one]) == ""


def test_strange_results_are_left_alone():
    for strange in (TABLES[0] + 1j, TABLES[0].to(torch.float8_e5m2), TABLES[0][:, :0]):
        assert relation([strange], TABLES[:1]) == ""
    assert relation([TABLES[0]], [TABLES[0] + 1j]) == ""


SCALARS = {
    "In every case that fails, yours is 2 times what was expected.": [0.6, 1.4],
    "In every case that fails, yours is what was expected divided by 10.": [0.03, 0.07],
    "In every case that fails, yours is 1 divided by what was expected.": [
        1 / 0.3,
        1 / 0.7,
    ],
    "": [0.5, 1.9],
}


@pytest.mark.parametrize(("said", "came"), SCALARS.items(), ids=[*SCALARS])
def test_numbers_are_compared_over_all_cases_that_fail(said, came):
    assert relation(came, [0.3, 0.7]) == said
    assert relation(came[:1], [0.3]) == ""


def test_zero_is_not_called_a_multiple():
    assert relation([0.0, 0.0], [0.3, 0.7]) == "In every case that fails, yours is 0."


def test_factors_are_compared_however_small_they_are():
    tiny = [0.0, 5.75e-22, 3.1e-11]
    assert relation(tiny, [1.7e-7, 2.3e-6, 4.1e-5]) == ""
    want = torch.tensor([1.7e-7, 2.3e-6, 4.1e-5, 3.3e-4], dtype=torch.float64)
    came = torch.tensor([0.0, 5.75e-22, 3.1e-11, 2.9e-11], dtype=torch.float64)
    assert relation([came], [want]) == ""
    said = "In every case that fails, yours is 3e-20 times what was expected."
    assert relation([3e-20 * one for one in (0.3, 0.7)], [0.3, 0.7]) == said
    assert relation([one * (1 + 1e-7) for one in (0.3, 0.7)], [0.3, 0.7]) == ""
    assert relation([1.7e-17, 4.1e-15], [1.7e-9, 6.4e-8]) == ""  # not the square


def test_rows_of_zeros_have_no_proportions():
    table = TABLES[0] * torch.tensor([[2.0], [0.0], [3.0]], dtype=torch.float64)
    assert "proportions" not in relation([table], TABLES[:1])


def test_a_number_in_float32_is_compared_with_less_precision():
    want = [torch.tensor(0.3), torch.tensor(0.7)]
    came = [torch.nextafter(1.5 * one, torch.tensor(9.0)) for one in want]
    said = "In every case that fails, yours is 1.5 times what was expected."
    assert relation(came, want) == said
    assert (
        relation([one.double() for one in came], [one.double() for one in want]) == ""
    )


def test_whole_numbers_that_are_off_by_one_are_told():
    said = "In every case that fails, yours is 1 too large."
    assert relation([4, 8], [3, 7]) == said
    assert relation([3, 6], [4, 7]) == said.replace("large", "small")
    assert relation([3, 8], [4, 7]) == ""


SEQUENCES = {
    "Yours is empty.": ("", ()),
    "Yours is the expected one in reverse order.": ("tsrif", (4, 3, 2, 1)),
    "Yours is the expected one with more after its end.": ("first.", (1, 2, 3, 4, 5)),
    "Yours is the expected one with more before its start.": (
        "-first",
        (0, 1, 2, 3, 4),
    ),
    "Yours is the beginning of the expected one: its end is missing.": (
        "firs",
        (1, 2),
    ),
    "Yours is the end of the expected one: its beginning is missing.": ("st", (3, 4)),
    "These are the right {} in another order.": ("frist", (1, 3, 2, 4)),
    "The right {}, but not each as often as expected.": ("firrst", (1, 2, 2, 3, 4)),
    "Every {} of yours is expected, but some are missing.": ("fst", (1, 4)),
    "All that is expected is there, but there is more.": ("fi-rst", (1, 2, 9, 3, 4)),
    "": ("fixed", (1, 7, 3, 4)),
}


@pytest.mark.parametrize(("said", "came"), SEQUENCES.items(), ids=[*SEQUENCES])
def test_texts_and_lists_are_compared(said, came):
    text, entries = came
    plural = "Every" not in said
    names = ("characters", "entries") if plural else ("character", "entry")
    assert relation([text], ["first"]) == said.format(names[0])
    assert relation([entries], [(1, 2, 3, 4)]) == said.format(names[1])


def test_only_what_holds_for_every_list_is_said():
    assert relation(["tsrif", "abx"], ["first", "abc"]) == ""
    assert relation(["FIRST"], ["first"]) == "Only upper and lower case differ."
    assert relation(["fir st"], ["first"]) == (
        "All that is expected is there, but there is more."
    )


# --- in a check -----------------------------------------------------------------------

SHIFTED = Exercise(
    "99.1",
    "Shifted",
    "function",
    difficulty=1,
    minutes=1,
    answers=(Answer("shifted", lambda x: x.sin(), {"y": "n"}),),
    cases=lambda seed: [
        Case("numbers", (numbers(4),), gradient=True),
        Case("others", (numbers(5, seed=1),)),
    ],
    proves="a sine",
)


def told(body):
    thing = typed(f"import torch\ndef shifted(x):\n    {body}", "shifted")
    return str(engine.examine(SHIFTED, (thing,)))


def test_a_check_says_it_where_no_mistake_is_named():
    assert "y: Every entry is 3 times what was expected." in told("return 3 * x.sin()")
    assert "expected." not in told("return x.sin()")


def test_a_gradient_that_is_wrong_beside_right_results_is_told():
    cut = told("return x.sin().detach()")
    assert "Every result is right, and only gradients are not." in cut
    assert "A gradient ends at `detach`" in cut
    half = told("return x.sin().detach() / 2 + x.sin() / 2")
    assert "only gradients are not." in half and "A gradient ends" not in half
    assert "only gradients" not in told("return x.cos().detach()")


def test_an_input_that_came_back_as_it_was_is_told():
    assert "y: Yours holds the numbers of `x`, as they were given." in asked("return x")
    assert "as they were given" not in asked("return x if len(x) == 4 else x.cos()")


def test_so_is_a_whole_number():
    of = replace(
        DOWN,
        kind="function",
        answers=(Answer("steps", lambda long, wide: long * wide, {"steps": ""}),),
        cases=lambda seed: [
            Case("small", (3, 4), inputs=("long", "wide")),
            Case("large", (5, 7), inputs=("long", "wide")),
        ],
    )

    def text(body):
        asked = typed(f"steps = lambda long, wide: {body}", "steps")
        return str(engine.examine(of, (asked,)))

    assert "steps: In every case that fails, yours is `wide`." in text("wide")
    assert "yours is `" not in text("wide if wide == 4 else 0")


def test_so_is_a_number_that_a_class_is_built_with():
    made = replace(DOWN.answers[0], returns={"count": ""}, parts=())
    of = replace(
        DOWN,
        answers=(replace(made, reference=Counts),),
        cases=lambda seed: [
            Case("five to three", (numbers(2, 5),), inputs=("x",), init=(5, 3)),
            Case("seven to four", (numbers(2, 7),), inputs=("x",), init=(7, 4)),
        ],
    )
    source = (
        "class Counts:\n    def __init__(self, d_model, d_head):\n"
        "        self.one = d_model\n    def __call__(self, x):\n"
        "        return self.one\n"
    )
    text = str(engine.examine(of, (typed(source, "Counts"),)))
    assert "count: In every case that fails, yours is `d_model`." in text


class Counts:
    def __init__(self, d_model, d_head):
        self.sum = d_model + d_head

    def __call__(self, x):
        return self.sum


def test_so_is_a_list_or_a_text():
    of = replace(
        DOWN,
        kind="function",
        answers=(Answer("turned", lambda word: word[::-1], {"word": ""}),),
        cases=lambda seed: [
            Case("a list", (["b", "a"],), inputs=("word",)),
            Case("a text", ("bea",), inputs=("word",)),
        ],
    )

    def text(body):
        return str(
            engine.examine(of, (typed(f"turned = lambda word: {body}", "turned"),))
        )

    said = "word: Yours is `word`, as it was given."
    assert said in text("word")
    assert said not in text("word[::-1] if word == 'bea' else word[:1] + word[:1]")
    assert said not in text("word[1:]")


def test_entries_beside_an_input_that_is_false_are_told():
    said = "y: Exactly the entries differ at which `mask` is {}."
    for value, text in (("mask", "True"), ("~mask", "False")):
        body = f"return torch.where({value}[:, None], x.cos(), x.sin())"
        assert said.format(text) in asked(body)
    assert "at which" not in asked("return torch.where(x > 0, x.cos(), x.sin())")


def asked(body):
    """What is said about a sine, if a mask lies beside its input."""
    masks = torch.tensor([True, False, True, True, False])
    some = Exercise(
        "99.2",
        "A sine",
        "function",
        difficulty=1,
        minutes=1,
        answers=(Answer("sine", lambda x, mask: x.sin(), {"y": "row, column"}),),
        cases=lambda seed: [
            Case("four", (numbers(4, 3), masks[:4]), inputs=("x", "mask")),
            Case("five", (numbers(5, 2, seed=1), masks), inputs=("x", "mask")),
        ],
        proves="a sine",
        locates=False,
    )
    thing = typed(f"import torch\ndef sine(x, mask):\n    {body}", "sine")
    return str(engine.examine(some, (thing,)))


def test_the_words_of_a_verdict_are_not_compared():
    def look(call, x):
        return Look({"order": "as promised" if call(x) > 0 else "as promised, not"})

    verdict = Exercise(
        "99.3",
        "A verdict",
        "function",
        difficulty=1,
        minutes=1,
        answers=(Answer("sign", lambda x: 1, {"y": ""}),),
        cases=lambda seed: [Case("one", (1.0,), look=look)],
        proves="a sign",
    )
    text = str(engine.examine(verdict, (lambda x: -1,)))
    assert "expected 'as promised'" in text and "with more" not in text
    named = (Answer("sign", lambda x: 1, {"order": ""}),)  # as the result is called
    text = str(engine.examine(replace(verdict, answers=named), (lambda x: -1,)))
    assert "expected 'as promised'" in text and "with more" not in text


def test_the_shape_of_a_weight_is_told_in_the_words_of_the_class():
    source = (
        "from torch import nn\nclass Down(nn.Module):\n"
        "    def __init__(self, d_model, d_head):\n        super().__init__()\n"
        "        self.W = nn.Linear({})\n"
        "    def forward(self, x):\n        return self.W(x)"
    )

    def text(sizes):
        return str(engine.examine(DOWN, (typed(source.format(sizes), "Down"),)))

    assert (
        "In every case the weight of `W` is (d_model, d_model); it should be (d_head, "
        "d_model). A weight has the size of the output first."
    ) in text("d_model, d_model")
    assert "`W` is (9, d_model); it should be (d_head, d_model)." in text("d_model, 9")
    assert "`W` is (d_model * d_head, d_model);" in text("d_model, d_model * d_head")
    assert "In every case the weight" not in text("d_model, d_model + d_head")


class Down(torch.nn.Module):
    def __init__(self, d_model, d_head):
        super().__init__()
        self.W = torch.nn.Linear(d_model, d_head)

    def forward(self, x):
        return self.W(x)


DOWN = Exercise(
    "99.4",
    "Down",
    "class",
    difficulty=1,
    minutes=1,
    answers=(Answer("Down", Down, {"y": "row, column"}, parts=("W",)),),
    cases=lambda seed: [
        Case("five to three", (numbers(2, 5),), inputs=("x",), init=(5, 3)),
        Case("seven to four", (numbers(2, 7),), inputs=("x",), init=(7, 4)),
    ],
    proves="a layer",
)
