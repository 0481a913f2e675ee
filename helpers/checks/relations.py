"""How a wrong result is related to the right one: twice it, its mirror image, ...

Every sentence says what holds between two results, to nine digits, and so is true
whatever the mistake was. What small or simple results share by chance is not said.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import permutations
from typing import Any

import torch
from torch import Tensor

WITHIN = 1e-9  # relative: how far two numbers may be apart
SINGLE = 1e-5  # the same in float32
SIMPLE = 4  # numbers that are whole when they are taken so many times tell little
TRANSFORMS = (
    ("the logarithm of what was expected", torch.log),
    ("the exponential of what was expected", torch.exp),
    ("the square of what was expected", torch.square),
    ("the square root of what was expected", torch.sqrt),
    ("1 divided by what was expected", torch.reciprocal),
    ("1 minus what was expected", lambda x: 1 - x),
)


def relation(got: Sequence[Any], want: Sequence[Any], axes: str = "") -> str:
    """How the results of some cases are related to the right ones; "" if it is unknown.

    Args:
        got: What came, a result for each case that fails.
        want: What was expected in these cases.
        axes: The names of a tensor's axes, as in "batch, query, key".
    """
    rules = (_of_tensors, _of_numbers, _of_sequences)
    try:
        said = (rule(list(got), list(want), axes) for rule in rules)
        return next(filter(None, said), "")
    except Exception:  # no check may fall over what comes on top of it
        return ""


# --- tensors --------------------------------------------------------------------------


def _of_tensors(got: list, want: list, axes: str) -> str:
    pairs = list(zip(got, want, strict=True))
    if not all(isinstance(one, Tensor) for pair in pairs for one in pair):
        return ""
    if any(one.shape != two.shape for one, two in pairs):
        return _reshaped(pairs) or _of_shapes(pairs, axes)
    if not all(two.dim() and two.numel() for _, two in pairs):
        return ""
    if any(one.is_complex() for one, _ in pairs):
        return ""
    if any(one.dtype == torch.bool or two.dtype == torch.bool for one, two in pairs):
        if not all(one.dtype == two.dtype for one, two in pairs):
            return ""
        return _of_masks(pairs) or _moved(pairs, axes) or _where(pairs, axes)
    exact = WITHIN
    if any(torch.float32 in (one.dtype, two.dtype) for one, two in pairs):
        exact = SINGLE
    pairs = [(one.double(), two.double()) for one, two in pairs]
    if all(_same(one, two, exact) for one, two in pairs):
        return ""  # another dtype, which is told elsewhere
    return (
        _by_entry(pairs, exact)
        or _moved(pairs, axes, exact)
        or _by_row(pairs, axes, exact)
        or _where(pairs, axes, exact)
    )


def _same(one: Tensor, two: Tensor, exact: float = 0.0) -> bool:
    return one.shape == two.shape and bool(_alike(one, two, exact).all())


def _alike(one: Tensor, two: Tensor, exact: float = 0.0) -> Tensor:
    if one.dtype == torch.bool:
        return one == two
    return torch.isclose(one, two, rtol=exact, atol=exact * 1e-3, equal_nan=True)


def _reshaped(pairs: list[tuple[Tensor, Tensor]]) -> str:
    """Results of another shape that hold the right numbers."""
    if not all(two.dtype == one.dtype and _rich(two) for one, two in pairs):
        return ""
    exact = SINGLE if pairs[0][1].dtype == torch.float32 else WITHIN
    if all(
        one.numel() == two.numel() and _same(one.flatten(), two.flatten(), exact)
        for one, two in pairs
    ):
        return "The entries and their order are right; only the shape is not."
    if all(two.dim() == 2 and _same(one, two.T, exact) for one, two in pairs):
        return "These are the expected entries with the two axes exchanged."
    if all(
        two.dim() > 2 and _same(one, two.transpose(-1, -2), exact) for one, two in pairs
    ):
        return "These are the expected entries with the last two axes exchanged."
    return ""


def _of_shapes(pairs: list[tuple[Tensor, Tensor]], axes: str) -> str:
    """What is wrong with a shape, in all cases that fail."""
    if any(one.is_complex() or not one.numel() for one, _ in pairs):
        return ""
    sizes = [(tuple(one.shape), tuple(two.shape)) for one, two in pairs]
    [dim, *rest] = {len(want) for _, want in sizes}
    if rest:
        return ""
    names = axis_names(axes, dim)
    if all(len(got) == dim - 1 for got, _ in sizes):
        left = [
            axis
            for axis in range(dim)
            if all(want[:axis] + want[axis + 1 :] == got for got, want in sizes)
        ]
        if len(left) == 1:
            return f"Yours lacks {names[left[0]]}; the other axes are as expected."
    if all(len(got) == dim + 1 for got, _ in sizes):
        more = [
            axis
            for axis in range(dim + 1)
            if all(want[:axis] + (1,) + want[axis:] == got for got, want in sizes)
        ]
        if len(more) == 1:
            return f"Yours has one axis more, of length 1: axis {more[0]}."
    if not all(len(got) == dim for got, _ in sizes):
        return ""
    orders = [
        order
        for order in permutations(range(dim))
        if all(tuple(want[axis] for axis in order) == got for got, want in sizes)
    ]
    if len(orders) == 1:
        order = ", ".join(names[axis].removeprefix("the axis ") for axis in orders[0])
        return f"These are the lengths of the expected axes in another order: {order}."
    wrong = {
        axis
        for got, want in sizes
        for axis, (one, two) in enumerate(zip(got, want, strict=True))
        if one != two
    }
    if len(wrong) != 1 or any(got == want for got, want in sizes):
        return ""
    [axis] = wrong
    return _of_length(names[axis], [(got[axis], want[axis]) for got, want in sizes])


def _of_length(name: str, lengths: list[tuple[int, int]]) -> str:
    apart = {got - want for got, want in lengths}
    if len(apart) == 1:
        [shift] = apart
        more = f"{abs(shift)} {'longer' if shift > 0 else 'shorter'}"
        return f"Along {name} yours is {more} than expected; the other axes are right."
    if len({want for _, want in lengths}) > 1 and {got for got, _ in lengths} == {1}:
        return f"Along {name} yours is 1 long; the other axes are right."
    return f"Only along {name} has yours another length."


def _rich(values: Tensor) -> bool:
    """Whether these are so many numbers that no order of them comes by chance."""
    return len(values.unique()) >= 4


def _of_masks(pairs: list[tuple[Tensor, Tensor]]) -> str:
    """Masks that are wrong one way."""
    if all(_same(one, ~two) for one, two in pairs):
        return "Every True should be False, and every False True."
    much = [bool((one & ~two).any()) for one, two in pairs]
    little = [bool((~one & two).any()) for one, two in pairs]
    for value in (True, False):
        if all(bool((one == value).all()) for one, _ in pairs):
            return f"Every entry is {value}."
    if all(much) and not any(little):
        return "Every entry that should be True is, but others are True as well."
    if all(little) and not any(much):
        return "Some entries that should be True are False; all others are right."
    return ""


def _by_entry(pairs: list[tuple[Tensor, Tensor]], exact: float) -> str:
    """What holds for each entry that differs, in all cases together."""
    apart = [~_alike(one, two, exact) for one, two in pairs]
    came = torch.cat([one[at] for (one, _), at in zip(pairs, apart, strict=True)])
    asked = torch.cat([two[at] for (_, two), at in zip(pairs, apart, strict=True)])
    all_of_them = all(bool(at.all()) for at in apart)
    who = "Every entry" if all_of_them else "Every entry that differs"
    said = _constant(came, asked) or _transformed(came, asked, exact)
    return f"{who} is {said}." if said else ""


def _constant(came: Tensor, asked: Tensor) -> str:
    """One and the same value, where several were asked for."""
    if (
        len(came) < (4 if came.any() else 2)
        or not bool((came == came[0]).all())
        or len(asked.unique()) < 2
    ):
        return ""
    return _shown(came[0].item())


def _transformed(came: Tensor, asked: Tensor, exact: float) -> str:
    """A function of what was expected that has at most one constant."""
    if not bool((came.isfinite() & asked.isfinite()).all()) or not len(came):
        return ""
    if len(_telling(asked)) >= 2 or len(asked.unique()) >= 4:
        if _equal(came, -asked, exact):
            return "what was expected with the opposite sign"
        factors = came / asked
        factor = factors[0].item()
        if factor and _equal(factors, torch.full_like(factors, factor), exact):
            return _times(factor)
        shift = (came - asked)[0].item()
        scale = asked.abs().clamp(min=abs(shift))
        if bool(((came - asked - shift).abs() <= exact * scale).all()):
            more = "more" if shift > 0 else "less"
            return f"{_shown(abs(shift))} {more} than expected"
    if len(_telling(asked)) >= 2:
        for text, function in TRANSFORMS:
            if _equal(came, function(asked), exact):
                return text
    return ""


def _equal(one: Tensor, two: Tensor, exact: float) -> bool:
    """Whether numbers are equal in relation to their own size, however small."""
    return bool(torch.isclose(one, two, rtol=exact, atol=0.0).all())


def _telling(values: Tensor) -> Tensor:
    """Those that are not simple, each of them once."""
    return values[(values * SIMPLE) != (values * SIMPLE).round()].unique()


def _times(factor: float) -> str:
    if _shown(factor) == "1":
        return ""  # nearly what was expected
    whole, parts = round(factor), round(1 / factor)
    if 1 < abs(parts) < 10_000 and abs(factor * parts - 1) < 1e-6:
        return f"what was expected divided by {parts}"
    if whole and abs(factor - whole) < 1e-6:
        return f"{whole} times what was expected"
    return f"{_shown(factor)} times what was expected"


def _shown(value: float) -> str:
    return f"{value:.5g}"


def _moved(pairs: list[tuple[Tensor, Tensor]], axes: str, exact: float = 0.0) -> str:
    """The right entries in other places."""
    dims = {two.dim() for _, two in pairs}
    if len(dims) > 1 or not all(_rich_in_order(two) for _, two in pairs):
        return ""
    [dim] = dims
    names = axis_names(axes, dim)
    if dim > 1 and all(_same(one, two.mT, exact) for one, two in pairs):
        pair = "the last two axes" if dim > 2 else "the two axes"
        return f"These are the expected entries with {pair} exchanged."
    for axis in range(dim):
        if all(_same(one, two.flip(axis), exact) for one, two in pairs):
            return f"Along {names[axis]} the entries stand in reverse order."
    for axis in range(dim):
        if min(two.shape[axis] for _, two in pairs) < 3:
            continue
        for late in (True, False):
            if all(_shifted(one, two, axis, late, exact) for one, two in pairs):
                when = "after" if late else "before"
                return (
                    f"Along {names[axis]} every entry stands one place {when} its own."
                )
    if pairs[0][1].dtype == torch.bool:
        return ""
    for axis in reversed(range(dim)):
        if dim > 1 and all(_sorted_alike(a, b, axis, exact) for a, b in pairs):
            return f"Along {names[axis]} the right entries stand in another order."
    if all(
        _same(one.flatten().sort()[0], two.flatten().sort()[0], exact)
        for one, two in pairs
    ):
        return "These are the right entries in other places."
    return ""


def _rich_in_order(values: Tensor) -> bool:
    if values.dtype == torch.bool:
        return values.numel() >= 6 and bool(values.any()) and not bool(values.all())
    return _rich(values)


def _shifted(one: Tensor, two: Tensor, axis: int, late: bool, exact: float) -> bool:
    size = two.shape[axis] - 1
    front, back = (slice(0, size), slice(1, size + 1))
    mine, right = (back, front) if late else (front, back)
    came = one.narrow(axis, mine.start, size)
    asked = two.narrow(axis, right.start, size)
    return _rich_in_order(asked) and _same(came, asked, exact)


def _sorted_alike(one: Tensor, two: Tensor, axis: int, exact: float) -> bool:
    return _same(one.sort(axis)[0], two.sort(axis)[0], exact)


def _by_row(pairs: list[tuple[Tensor, Tensor]], axes: str, exact: float) -> str:
    """Right up to a factor or a constant that each row has for itself."""
    if any(two.dim() != pairs[0][1].dim() for _, two in pairs):
        return ""
    names = axis_names(axes, pairs[0][1].dim())
    for axis in reversed(range(pairs[0][1].dim())):
        if not all(
            two.shape[axis] > 2 and two.numel() > two.shape[axis] for _, two in pairs
        ):
            continue
        if not all(bool((one.isfinite() & two.isfinite()).all()) for one, two in pairs):
            continue
        factors = [one / two for one, two in pairs]
        if all(_steady(some, axis, exact) and bool(some.all()) for some in factors):
            return (
                f"Along {names[axis]} the entries are right but for a factor that "
                "they share: their proportions are the expected ones."
            )
        if all(_steady(one - two, axis, exact) for one, two in pairs):
            return (
                f"Along {names[axis]} the entries are right but for one number that "
                "was added to all of them."
            )
        if all(
            _steady(one, axis, exact) and not _steady(two, axis, exact)
            for one, two in pairs
        ):
            return f"Along {names[axis]} your entries are all equal."
    return ""


def _steady(values: Tensor, axis: int, exact: float) -> bool:
    first = values.narrow(axis, 0, 1)
    finite = bool(values.isfinite().all())
    return finite and bool(torch.isclose(values, first, rtol=exact, atol=0.0).all())


def _where(pairs: list[tuple[Tensor, Tensor]], axes: str, exact: float = 0.0) -> str:
    """Which entries differ, where they lie together in every case."""
    if any(two.dim() != pairs[0][1].dim() for _, two in pairs):
        return ""
    wrong = [~_alike(one, two, exact) for one, two in pairs]
    if all(bool(at.all()) for at in wrong):
        return ""
    wanted = [two for _, two in pairs]
    if wanted[0].dtype != torch.bool:
        zero = [two == 0 for two in wanted]
        if all(bool(z.any() and not z.all()) for z in zero):
            if all(bool((at == z).all()) for at, z in zip(wrong, zero, strict=True)):
                return "Exactly the entries differ that should be 0."
            if all(bool((at == ~z).all()) for at, z in zip(wrong, zero, strict=True)):
                return "The entries that should be 0 are; all others differ."
    dim = wanted[0].dim()
    if dim > 1 and all(two.shape[-1] == two.shape[-2] > 2 for two in wanted):
        for name, part in (
            ("on", lambda x: x.tril() & x.triu()),
            ("above", lambda x: x.triu(1)),
            ("below", lambda x: x.tril(-1)),
        ):
            if all(bool((at & ~part(torch.ones_like(at)) == 0).all()) for at in wrong):
                return f"All entries that differ lie {name} the diagonal."
    names = axis_names(axes, dim)
    for axis in range(dim):
        sizes = [two.shape[axis] for two in wanted]
        if min(sizes) < 3:
            continue
        lines = [
            at.transpose(0, axis).flatten(1).any(1) if dim > 1 else at for at in wrong
        ]
        if all(bool(at[0]) and int(at.sum()) == 1 for at in lines):
            return f"Along {names[axis]} only the first place differs."
        if all(bool(at[-1]) and int(at.sum()) == 1 for at in lines):
            return f"Along {names[axis]} only the last place differs."
        if all(not bool(at[0]) and bool(at[1:].all()) for at in lines):
            return f"Along {names[axis]} the first place is right; all others differ."
        if all(not bool(at[-1]) and bool(at[:-1].all()) for at in lines):
            return f"Along {names[axis]} the last place is right; all others differ."
    return ""


def axis_names(axes: str, dim: int) -> list[str]:
    """What the axes are called: the axis "key", or axis 2."""
    names = [name.split("=")[0].strip() for name in axes.split(",")]
    if len(names) == dim and all(name.isidentifier() for name in names):
        return [f'the axis "{name}"' for name in names]
    return [f"axis {number}" for number in range(dim)]


# --- numbers --------------------------------------------------------------------------


def _of_numbers(got: list, want: list, axes: str) -> str:
    """Numbers, one a case: a rule has to hold in at least two cases."""
    numbers = [_number(one) for one in (*got, *want)]
    if None in numbers or len(got) < 2:
        return ""
    came, asked = torch.tensor(numbers, dtype=torch.float64).view(2, -1)
    said, exact = "", WITHIN
    if any(getattr(one, "dtype", None) == torch.float32 for one in (*got, *want)):
        exact = SINGLE
    if len(asked.unique()) > 1:
        said = _transformed(came, asked, exact) if bool(came.any()) else "0"
        if not said and len(came) > 2 and bool((came == came[0]).all()):
            said = _shown(came[0].item())
        whole = all(isinstance(one, int) for one in (*got, *want))
        shifts = (came - asked).unique()
        if not said and whole and len(shifts) == 1 and abs(shifts.item()) == 1:
            said = f"1 too {'large' if shifts.item() > 0 else 'small'}"
    return f"In every case that fails, yours is {said}." if said else ""


def _number(value: Any) -> float | None:
    if isinstance(value, Tensor) and not value.dim() and value.dtype != torch.bool:
        value = value.item()
    plain = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if plain else None


# --- texts and tuples -----------------------------------------------------------------


def _of_sequences(got: list, want: list, axes: str) -> str:
    pairs = list(zip(got, want, strict=True))
    kinds = {type(one) for pair in pairs for one in pair}
    if kinds not in ({str}, {tuple}) or all(len(two) < 2 for _, two in pairs):
        return ""
    if kinds == {tuple} and any(_unhashable(one) for pair in pairs for one in pair):
        return ""
    unit = "character" if kinds == {str} else "entry"
    said = [[*_between(one, two, unit)] for one, two in pairs]
    common = [text for text in said[0] if all(text in some for some in said)]
    return common[0] if common else ""


def _unhashable(values: tuple) -> bool:
    try:
        hash(values)
    except TypeError:
        return True
    return False


def _between(got: Any, want: Any, unit: str) -> Iterator[str]:
    """All that can be said about one pair of sequences, the most telling first."""
    units = "entries" if unit == "entry" else f"{unit}s"
    if not len(got):
        yield "Yours is empty."
        return
    if len(want) > 2 and got == want[::-1]:
        yield "Yours is the expected one in reverse order."
    for start, text in ((len(want), "after its end"), (0, "before its start")):
        extra = len(got) - len(want)
        if extra > 0 and len(want) and got[extra:] == want and not start:
            yield f"Yours is the expected one with more {text}."
        if extra > 0 and len(want) and got[: len(want)] == want and start:
            yield f"Yours is the expected one with more {text}."
    if len(got) < len(want) and want[: len(got)] == got:
        yield "Yours is the beginning of the expected one: its end is missing."
    if len(got) < len(want) and want[len(want) - len(got) :] == got:
        yield "Yours is the end of the expected one: its beginning is missing."
    mine, right = Counter(got), Counter(want)
    if len(got) == len(want) > 2 and got[1:] == want[:-1]:
        yield f"Every {unit} stands one place after its own."
    if len(got) == len(want) > 2 and got[:-1] == want[1:]:
        yield f"Every {unit} stands one place before its own."
    if mine == right:
        yield f"These are the right {units} in another order."
    elif mine.keys() == right.keys():
        yield f"The right {units}, but not each as often as expected."
    elif mine < right:
        yield f"Every {unit} of yours is expected, but some are missing."
    elif right < mine:
        yield "All that is expected is there, but there is more."
    if len(got) > 2 and len(set(got)) == 1 and len(set(want)) > 1:
        yield f"Yours holds one {unit} again and again."
    if got and want and isinstance(got, str) and got.lower() == want.lower():
        yield "Only upper and lower case differ."
    if isinstance(got, str) and "".join(got.split()) == "".join(want.split()):
        yield "Only the white space differs."
