"""What a student's classes say about themselves decides nothing."""

import numpy as np
import pytest
import torch
from torch import nn

from helpers.checks import judge
from helpers.checks.engine import examine, find
from helpers.checks.observe import cases_of, keep
from helpers.checks.plain import Odd, kind_of, plain


class Liar(torch.Tensor):
    """A tensor that is equal to everything."""

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        with torch._C.DisableTorchFunctionSubclass():
            result = func(*args, **(kwargs or {}))
        return True if func in (torch.equal, torch.Tensor.equal) else result


class Yes(float):
    __hash__ = None

    def __eq__(self, other):
        return True

    def __sub__(self, other):
        return 0.0

    def __float__(self):
        return 1.0


class Whole(int):
    __hash__ = None

    def __eq__(self, other):
        return True

    def __index__(self):
        return 1


class Word(str):
    __hash__ = str.__hash__

    def __eq__(self, other):
        return True

    def __str__(self):
        return "right"


class Pair(tuple):
    __hash__ = None

    def __eq__(self, other):
        return True

    def __iter__(self):
        return iter((0, 2))


class Table(dict):
    __hash__ = None

    def __eq__(self, other):
        return True

    def items(self):
        return ()


@pytest.mark.parametrize(
    ("value", "rebuilt"),
    [
        (Yes(2.5), 2.5),
        (Whole(7), 7),
        (Word("wrong"), "wrong"),
        (Pair((5, Yes(1.5))), (5, 1.5)),
        ([Word("a"), [Whole(2)]], ["a", [2]]),
        (Table({Word("a"): Whole(1)}), {"a": 1}),
        ({"a": Yes(2.0)}, {"a": 2.0}),
        (np.float64(2.5), 2.5),
        (np.bool_(True), True),
        (np.array([1, object()]), Odd("array of objects")),
    ],
)
def test_a_value_is_rebuilt_from_what_it_holds(value, rebuilt):
    found = plain(value)
    assert type(found) is type(rebuilt)
    assert repr(found) == repr(rebuilt)


def test_a_tensor_keeps_numbers_and_history_and_loses_its_class():
    leaf = torch.ones(3, requires_grad=True)
    liar = (2 * leaf).as_subclass(Liar)
    assert torch.equal(liar, torch.zeros(3))
    found = plain(liar)
    assert type(found) is torch.Tensor
    assert found.tolist() == [2.0, 2.0, 2.0]
    [slope] = torch.autograd.grad(found.sum(), leaf)
    assert slope.tolist() == [2.0, 2.0, 2.0]


def test_a_tensor_loses_methods_of_its_own():
    tensor = torch.ones(3)
    tensor.detach = lambda: torch.zeros(3)
    assert keep(tensor).tolist() == [1.0, 1.0, 1.0]


def test_what_has_nothing_of_its_own_stays_the_same_object():
    for value in (torch.ones(2), nn.Parameter(torch.ones(2)), [1, (2, "a")], {"a": 1}):
        assert plain(value) is value
    model = nn.Linear(2, 2)
    assert plain(model) is model


def test_numbers_that_a_class_makes_up_are_none():
    nested = torch.nested.nested_tensor([torch.ones(2)], layout=torch.jagged)
    assert str(keep(nested)) == "torch.NestedTensor"


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (nn.Linear(2, 2), "torch.Linear, which is a module and not what it makes"),
        ((n for n in "ab"), "generator, of which nothing was taken yet"),
        (zip("a", "b", strict=True), "zip, of which nothing was taken yet"),
        ({"a": 1}.values(), "dict_values"),
        (nn.Linear, "type"),
    ],
)
def test_of_what_is_only_on_the_way_it_is_said(value, said):
    assert kind_of(value) == said == str(keep(value))


def test_a_list_without_an_end_is_odd():
    endless = []
    endless.append(endless)
    assert "list" in str(keep(endless))


@pytest.mark.parametrize(
    "answer",
    [
        lambda x, dim=-1: torch.zeros_like(x).as_subclass(Liar),
        lambda x, dim=-1: Yes(0.0),
    ],
)
def test_a_function_is_judged_by_its_numbers(answer):
    assert judge("2.A", answer).outcome == "wrong"


def test_a_value_is_judged_by_its_number():
    assert judge("2.E", Yes(17.0)).outcome == "wrong"
    assert judge("2.H", Whole(17)).outcome == "wrong"
    assert judge("3.B", Pair((5, 5))).outcome == "wrong"


def test_a_class_is_judged_by_its_numbers():
    class Wrong(find("4.B").references[0]):
        def forward(self, x):
            return torch.zeros_like(super().forward(x)).as_subclass(Liar)

    assert examine(find("4.B"), (Wrong,)).outcome == "wrong"


def test_an_input_that_was_changed_is_noticed_whatever_its_class_says():
    softmax = find("2.A").references[0]

    def answer(x, dim=-1):
        result = softmax(x, dim)
        x.zero_()
        x.__class__ = Liar
        return result

    assert judge("2.A", answer).misconception == "input changed in place"


# --- what a case does not tell --------------------------------------------------------

PROBES = ("1.L", "2.D", "3.D", "4.K", "5.G", "6.J")


@pytest.mark.parametrize("name", PROBES)
def test_a_test_that_counts_its_calls_passes_no_longer(name):
    exercise = find(name)

    def by_heart():
        verdicts = iter([exercise.references[0](*c.args) for c in cases_of(exercise, 0)
                         if c.look is None])  # fmt: skip

        def answer(patient):
            return next(verdicts, False)

        return answer

    for seed in (1, 2, 3):
        report = examine(exercise, (by_heart(),), seed=seed)
        assert report.outcome != "passed", seed


@pytest.mark.parametrize("name", PROBES)
def test_the_notebook_asks_a_test_in_the_order_of_the_lesson(name):
    exercise = find(name)
    cases = cases_of(exercise, 0)
    assert len({case.name for case in cases}) == len(cases)
    for seed in (1, 2):
        drawn = cases_of(exercise, seed)
        assert len(drawn) == len(cases) + 3
        assert {case.name for case in cases} < {case.name for case in drawn}


def shown(exercise, seed):
    """Return what an answer is asked, as far as it can be written down."""
    return repr([(c.name, c.init, [listed(arg) for arg in c.args], dict(c.kwargs))
                 for c in cases_of(exercise, seed)])  # fmt: skip


def listed(arg):
    if isinstance(arg, nn.Module):
        return [value.tolist() for value in arg.parameters()]
    if isinstance(arg, torch.Tensor):
        return arg.tolist()
    return arg if isinstance(arg, tuple | list | str | int | float) else type(arg)


@pytest.mark.parametrize(
    "name", ["1.F", "1.L", "1.M", "2.D", "3.D", "4.K", "5.H", "6.J", "8.G", "9.C"]
)
def test_what_is_asked_hangs_on_the_seed(name):
    exercise = find(name)
    assert shown(exercise, 3) == shown(exercise, 3)
    assert shown(exercise, 3) != shown(exercise, 4)


# --- 4.G hands out parts, not an encoder ---------------------------------------------


def test_the_encoder_that_is_to_be_filled_reads_nothing():
    exercise = find("4.G")
    encoder, bert, ids, mask = cases_of(exercise, 0)[0].args
    with pytest.raises(RuntimeError, match="only holds weights"):
        encoder(ids, mask)
    [reference] = find("4.E").references
    assert not isinstance(encoder, reference)
    inside = {type(part) for part in encoder.modules()}
    assert not [kind for kind in inside if kind.__module__.startswith("helpers.exe")
                and kind.forward is not type(encoder).forward]  # fmt: skip


def test_an_encoder_of_ones_own_may_come_back():
    exercise = find("4.G")
    [load_bert] = exercise.references

    def answer(encoder, bert):
        return load_bert(encoder, bert).put_together(bert.config)

    assert examine(exercise, (answer,)).outcome == "passed"
