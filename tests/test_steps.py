"""Right up to here, in plain Python: what each statement of an answer made."""

import sys
from dataclasses import dataclass, replace

import pytest
import torch
from test_locate import DETOUR, MIXED, found
from worlds import world

from helpers.checks import locate as located
from helpers.checks.exercise import Answer, Case, Exercise
from helpers.checks.locate import Found
from helpers.checks.steps import Frozen, Trace, freeze


def shares(words, weights):
    """Which share of the weight each word has."""
    total = sum(weights)
    return {word: one / total for word, one in zip(words, weights, strict=True)}


def report(words, weights):
    """The words with more than a mean share, heaviest first."""
    found = shares(words, weights)
    heavy = [word for word in words if found[word] > 1 / len(words)]
    return tuple(sorted(heavy, key=found.get, reverse=True))


def report_by_pairs(words, weights):
    pairs = sorted(zip(weights, words, strict=True), reverse=True)
    mean = sum(weights) / len(weights)
    out = []
    for weight, word in pairs:
        if weight > mean:
            out.append(word)
    return tuple(out)


def largest_and_mean(words, weights):
    return max(weights), sum(weights) / len(weights)


REPORT = Exercise(
    "99.2",
    "Report",
    "function",
    difficulty=1,
    minutes=1,
    answers=(Answer("report", report, {"words": ""}),),
    cases=lambda seed: [
        Case("five", (["cat", "dog", "emu", "fox", "gnu"], [0.3, 2.1, 0.7, 2.9, 0.4])),
        Case("four", (["ant", "bee", "cow", "doe"], [1.3, 0.2, 3.1, 2.2])),
    ],
    proves="shares",
)


def told(source, exercise=REPORT, others=(report, report_by_pairs), name="report"):
    return found(source, exercise=exercise, others=others, name=name)


def place(source, **more):
    one = told(source, **more)
    return one and (one.line and one.line.number, one.known)


WRONG = """
def report(words, weights):
    total = sum(weights)
    share = {}
    for word, one in zip(words, weights):
        share[word] = one / total
    heavy = [word for word in words if share[word] < 1 / len(words)]
    out = sorted(heavy, key=share.get, reverse=True)
    return tuple(out)
"""


def test_the_last_line_is_named_where_its_values_alone_are_strange():
    source = WRONG.replace("] <", "] >").replace("tuple(out)", "tuple(out + ['end'])")
    one = told(source)
    assert (one.line.number, one.known, one.onward) == (9, 8, False)
    assert str(one) == (
        "Up to line 8 we find your values in right answers, as far as they can be "
        "compared. Line 9 (return tuple(out + ['end'])) makes the first that we do not "
        "find after statements of theirs. It may be another way; if not, look there "
        "and before it."
    )


def test_a_line_is_not_accused_alone_where_what_goes_into_it_was_not_compared():
    source = """
def report(words, weights):
    count = 3
    return tuple(words[:{}] + ['end'])
"""
    assert told(source.format("count")).fed  # anybody has a 3
    assert not told(source.format("3")).fed
    before_others = (
        source.replace("return", "out =") + "    return out + tuple(words)\n"
    )
    for count, around in (("count", "before and after it."), ("3", "lines after it.")):
        assert str(told(before_others.format(count))).endswith(around)
    inside = "word for place, word in enumerate(words) if place < count"
    assert told(source.replace("words[:{}]", f"[{inside}]")).fed
    assert not told(
        source.replace("words[:{}]", f"[{inside.replace('count', '3')}]")
    ).fed


def test_a_line_before_others_is_not_accused_alone():
    one = told(WRONG)
    assert one.onward and str(one) == (
        "Up to line 6 we find your values in right answers, as far as they can be "
        "compared. We do not find after statements of theirs what line 7 (heavy = "
        "[word for word in words if share[word] < 1 / len(words)]) makes, nor what "
        "follows from it. It may be another way; if not, look there and at the lines "
        "after it."
    )
    early = """
def report(words, weights):
    odd = max(weights) ** 3
    out = [odd, odd / 7]
    return tuple(out)
"""
    assert str(told(early)) == (
        "We do not find after statements of right answers what line 3 (odd = "
        "max(weights) ** 3) makes, nor what follows from it. It may be another way; if "
        "not, look there and at the lines after it."
    )


def test_a_line_is_not_accused_of_all_that_follows_where_a_part_of_it_is_right():
    returns = {"largest": "", "mean": ""}
    both = replace(REPORT, answers=(Answer("both", largest_and_mean, returns),))
    source = """
def both(words, weights):
    odd = [one**3 for one in weights]
    mean = sum(weights) / len(weights)
    out = max(odd)
    return out, {}
"""
    wrong = source.format("out / 7")
    assert told(wrong, both, (largest_and_mean,), "both").onward
    assert "nor what follows" in str(told(wrong, both, (largest_and_mean,), "both"))
    half_right = source.format("mean")
    assert str(told(half_right, both, (largest_and_mean,), "both")) == (
        "We do not find after statements of right answers what line 3 (odd = [one**3 "
        "for one in weights]) makes. It may be another way; if not, look there and at "
        "the lines after it."
    )


def test_what_lay_in_memory_is_no_value_of_the_answer():
    source = """
def report(words, weights):
    {0} = max
    odd = {0}(weights) ** 3
    out = [odd, odd / 7]
    return tuple(out)
"""
    assert told(source.format("largest")).line.number == 4
    assert told(source.format("empty")) is None  # as torch.empty is called


def test_tables_and_lists_that_grow_are_followed():
    times = WRONG.replace("one / total", "one * total").replace("] <", "] >")
    assert place(times) == (6, 3)
    grown = """
def report(words, weights):
    found = []
    mean = sum(weights) / len(weights)
    for weight, word in sorted(zip(weights, words), reverse=True):
        if weight > mean:
            found.append(word)
    found.append("end")
    return tuple(found)
"""
    assert place(grown) == (8, 7)


def test_a_helper_of_the_same_cell_is_looked_into():
    source = """
def mean(numbers):
    whole = sum(numbers)
    return whole / (len(numbers) + 1)

def report(words, weights):
    limit = mean(weights)
    pairs = sorted(zip(weights, words), reverse=True)
    return tuple(word for weight, word in pairs if weight > limit)
"""
    one = told(source.replace("weight > limit", "weight > limit * 2"))
    assert one.line is None or one.line.number >= 4


@dataclass
class Plan:
    size: int
    rate: float


def test_what_a_dataclass_holds_is_compared():
    plan = Plan(3, 0.7)
    assert freeze(plan) == freeze({"size": 3, "rate": 0.7}) != freeze(Plan(3, 0.9))
    assert freeze(Plan).key is None
    vars(plan).clear()  # as a student's own may be
    assert freeze(plan) == freeze({"size": None, "rate": None})


def heaviest(words, weights):
    """The word with most weight beyond the mean."""
    mean = sum(weights) / len(weights)
    beyond = [one - mean for one in weights]
    return words[beyond.index(max(beyond))]


def test_the_wrong_word_of_a_list_that_was_given_is_a_wrong_result():
    of = replace(REPORT, answers=(Answer("heaviest", heaviest, {"word": ""}),))
    source = """
def heaviest(words, weights):
    mean = sum(weights) / len(weights)
    near = [abs(one - 3 * mean) for one in weights]
    return words[near.index(max(near))]
"""
    one = told(source, of, (heaviest,), "heaviest")
    assert (one.line.number, one.known, one.onward) == (4, 3, True)


def test_where_all_values_are_known_that_is_said():
    source = """
def report(words, weights):
    total = sum(weights)
    share = {word: one / total for word, one in zip(words, weights)}
    heavy = [word for word in words if share[word] > 1 / len(words)]
    return tuple(heavy)
"""
    assert str(told(source)) == (
        "All your values that can be compared occur in right answers (True, False and "
        "single whole numbers, halves and quarters were not compared): look at "
        "indices, comparisons and at what is returned; or a step is missing."
    )


def test_a_line_that_goes_another_way_where_the_result_is_right_is_not_accused():
    source = """
def report(words, weights):
    scaled = [one * 7.3 for one in weights]
    mean = sum(scaled) / len(scaled)
    pairs = sorted(zip(scaled, words), reverse=True)
    out = [word for one, word in pairs if one > mean]
    return tuple(out[:2] + ["gnu"] * (len(words) == 5))
"""
    assert place(source)[0] == 7
    everywhere = source.replace(" * (len(words) == 5)", "")
    assert place(everywhere)[0] != 3


def test_numpy_is_seen_by_the_values_of_its_arrays():
    source = """
import numpy as np
def mixed(x, y):
    powers = np.exp(x.numpy())
    weights = powers / powers.sum(0)
    out = weights @ y.numpy()
    return torch.from_numpy(out / len(out))
"""
    one = found(source)
    assert one.what == "values" and (one.line.number, one.known) == (5, 4)


@pytest.mark.parametrize("drawn", ["random.random()", "np.random.rand()"])
def test_silent_where_numbers_are_drawn_at_random(drawn):
    body = f"def report(words, weights):\n    out = [{drawn}]\n    return tuple(out)"
    assert told(f"import random\nimport numpy as np\n{body}") is None
    assert told(body.replace(drawn, "0.1234")) is not None


def test_silent_where_nothing_tells():
    assert told("def report(words, weights):\n    return True") is None


def test_silent_under_its_limits(monkeypatch):
    assert told(WRONG)
    monkeypatch.setattr(located, "NUMBERS", 20)
    assert told(WRONG) is None
    monkeypatch.undo()
    monkeypatch.setattr(located, "SECONDS", 0.1)
    slow = WRONG.replace(
        "sum(weights)", "sum([v for _ in range(10**5) for v in weights])"
    )
    assert told(slow) is None


def test_a_trace_of_someone_else_s_goes_on_and_nothing_is_left():
    seen = []

    def other(frame, event, arg):
        seen.append(event)

    before = world()
    sys.settrace(other)
    try:
        one = told(WRONG)
        assert sys.gettrace() is other
    finally:
        sys.settrace(None)
    assert isinstance(one, Found) and world() == before


def test_generators_and_recursion_are_followed():
    source = """
def heavier(words, weights):
    if not words:
        return
    if weights[0] > 1.0:
        yield words[0]
    yield from heavier(words[1:], weights[1:])

def report(words, weights):
    out = []
    for word in heavier(words, weights):
        out.append(word)
    last = out[::-1] + ["end"]
    return tuple(last)
"""
    assert place(source)[0] == 13


def outer(z):
    """The derivative of a softmax, with a table of ones that has no name."""
    share = z.softmax(0)
    return share[:, None] * (torch.eye(len(z), dtype=z.dtype) - share)


def test_what_a_right_answer_makes_on_the_way_is_found_there():
    table = replace(
        REPORT,
        answers=(Answer("outer", outer, {"table": "n, n"}),),
        cases=lambda seed: [Case("z", (torch.tensor([0.3, -1.2, 2.1]).double(),))],
    )
    source = """
import numpy as np
def outer(z):
    share = z.softmax(0)
    return torch.from_numpy(np.eye(len(z)))
"""
    assert told(source, table, (outer,), "outer").line is None
    named = told(
        source.replace("np.eye(len(z))", "np.tri(3)"), table, (outer,), "outer"
    )
    assert named.line.number == 5


def mean_and_ratio(words, weights):
    return sum(weights) / len(weights), 2 / len(words)


def test_silent_where_the_wrong_number_was_not_compared():
    both = replace(REPORT, answers=(Answer("both", mean_and_ratio, dict(a="", b="")),))
    source = """
def both(words, weights):
    mean = sum(weights) / len(weights)
    return mean, {}
"""
    more = (both, (mean_and_ratio,), "both")
    assert told(source.format("len(words) / 2"), *more) is None  # 2.5 and 2.0
    assert told(source.format("len(words) / 7"), *more).line.number == 4


def counted(words, weights):
    count = 0
    for _ in words + words:
        count += 1
    return count


COUNTED = replace(REPORT, answers=(Answer("counted", counted, {"count": ""}),))


def test_a_line_whose_first_runs_are_right_is_not_accused_of_all():
    source = """
def counted(words, weights):
    count = 0
    for _ in words + words:
        count += {}
        rest = 7 - count
    return count
"""
    one = told(source.format("2"), COUNTED, (counted,), "counted")
    assert "what line 5 (count += 2) makes in some of its runs. It may" in str(one)
    once = told(source.format("1 + (count == 9)"), COUNTED, (counted,), "counted")
    assert "makes in one of its runs" in str(once)
    every = told(source.format("100"), COUNTED, (counted,), "counted")
    assert "runs" not in str(every) and "loop" not in str(every)


def test_a_line_of_whose_values_some_are_known_is_not_accused_of_all():
    source = """
def report(words, weights):
    odd, mean = max(weights) ** 3, sum(weights) / len(weights)
    out = [odd, odd / 7]
    return tuple(out)
"""
    assert str(told(source)).startswith(
        "We do not find after statements of right answers all that line 3 (odd, mean = "
        "max(weights) ** 3, sum(weights) / len(weights)) makes. It may be another way"
    )


def test_what_follows_is_not_called_strange_where_a_part_of_it_is_known():
    source = """
def counted(words, weights):
    odd = [one**3 for one in weights]
    count = len(odd)
    return count * 7 + int(max(odd))
"""
    text = str(told(source, COUNTED, (counted,), "counted"))
    assert "what line 3 (" in text and "nor what follows" not in text


FROZEN = {
    "a list as a tuple": ([1, 2], (1, 2)),
    "an array as a list": (torch.tensor([1, 2]), [1, 2]),
    "a float32 as a float": (torch.tensor(0.5), 0.5),
    "a set in any order": ({"ab", "cd"}, {"cd", "ab"}),
    "a counter as a dict": (dict(a=1), {"a": 1}),
}


@pytest.mark.parametrize("pair", FROZEN.values(), ids=FROZEN)
def test_values_are_compared_by_what_they_hold(pair):
    one, other = pair
    assert freeze(one).key == freeze(other).key is not None


def test_what_can_not_be_compared_is_left_out():
    loop = []
    loop.append(loop)
    for strange in (loop, object(), torch.nn.Linear(2, 2), {(): object()}, 1j):
        assert freeze(strange) == Frozen()
    assert freeze(torch.zeros(6000)) == Frozen()


def test_only_the_wanted_code_is_traced():
    trace = Trace(lambda code: code is shares.__code__, lambda size: None)
    with trace.on():
        report(["ab", "cd"], [0.3, 0.9])
    first = shares.__code__.co_firstlineno
    lines = {step.line for step in trace.steps if step.line}
    assert lines == {first + 2, first + 3}
    assert any(step.returned for step in trace.steps)


def test_the_torch_way_goes_first():
    assert found(DETOUR).what == "numbers"
    asked = replace(MIXED, locates=False)
    assert found(DETOUR, exercise=asked) is None


def test_a_list_of_flags_is_not_compared():
    source = """
def report(words, weights):
    mean = sum(weights) / len(weights)
    odd = [[one > mean, one < 1] for one in weights]
    return len(words), odd[0]
"""
    assert told(source).line.number == 5  # right answers may keep theirs otherwise


def test_a_line_is_not_accused_of_what_follows_where_that_was_given():
    source = """
def report(words, weights):
    odd = (weights[0], weights[1] ** 3)
    first = odd[0]
    out = (first, odd[1] / 7)
    return out
"""
    one = told(source)
    assert one.line.number == 3 and "nor what follows" not in str(one)


def test_numbers_that_torch_does_not_see_are_not_called_known():
    source = """
import numpy as np
def mixed(x, y):
    out = x.softmax(-1) @ y / y.shape[0]
    odd = np.tanh(out.numpy()) * 1.7
    return torch.from_numpy(np.where(odd > 0, out.numpy(), 0.0))
"""
    assert "do not show which line is wrong" in str(found(source))
