"""How far two results may differ and still be the same answer."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from helpers.checks.plain import Listed

FLOAT32 = 1e-6  # what rounding to float32 may cost, at the least
MOST = 1e-3  # and at the most
SINGLE, DOUBLE = torch.float32, torch.float64


def tolerance(value: Any) -> float:
    """How far two right answers may differ: 1e-9 in float64, 1e-5 in float32."""
    return 1e-9 if getattr(value, "dtype", DOUBLE) == DOUBLE else 1e-5


def difference(one: Any, other: Any) -> float:
    """Largest difference, relative where values exceed 1; inf for another kind.

    Another shape, dtype or NaN pattern is infinitely different; NaN equals NaN and an
    infinity equals itself.
    """
    if isinstance(one, Tensor) and isinstance(other, Tensor):
        if one.shape != other.shape or one.dtype != other.dtype:
            return float("inf")
        if torch.equal(one, other):
            return 0.0
        if not one.is_floating_point():
            return float("inf")
        apart = (one.double() - other.double()).abs() / other.double().abs().clamp(1)
        apart[one.isnan() & other.isnan() | (one == other)] = 0.0
        apart = apart.nan_to_num(nan=float("inf"), posinf=float("inf"))
        return apart.max().item() if apart.numel() else 0.0
    numbers = (int, float)
    if isinstance(other, numbers) and isinstance(one, Tensor) and not one.dim():
        one = one.item()  # tensor(True) for True: the contract, not the style
    if isinstance(other, tuple) and _row_of_integers(one):
        one = tuple(one.tolist())  # as a list passes for a tuple
    flags = isinstance(one, bool) or isinstance(other, bool)
    if isinstance(one, numbers) and isinstance(other, numbers) and not flags:
        if one == other or one != one and other != other:
            return 0.0
        apart = abs(one - other) / max(1.0, abs(other))
        return apart if apart == apart else float("inf")
    one, other = (tuple(a) if type(a) is Listed else a for a in (one, other))
    return 0.0 if type(one) is type(other) and one == other else float("inf")


def _row_of_integers(value: Any) -> bool:
    if not isinstance(value, Tensor) or value.dim() != 1:
        return False
    return not (value.is_floating_point() or value.is_complex())


@dataclass(frozen=True, eq=False)
class Share:
    """How often something random happened; equal to what differs by chance alone.

    The same mistake, made with other random numbers, is the same mistake.
    """

    count: int
    total: int

    def __eq__(self, other: object) -> bool:
        """Whether the two shares lie within 5 sigma of each other."""
        if type(other) is not Share:
            return False
        totals = max(self.total, 1), max(other.total, 1)
        apart = abs(self.count / totals[0] - other.count / totals[1])
        rate = (self.count + other.count) / sum(totals)
        each = 1 / totals[0] + 1 / totals[1]
        return apart <= 5 * (rate * (1 - rate) * each) ** 0.5 + each

    __hash__ = None

    def __str__(self) -> str:
        """In percent, as it is shown to people."""
        return f"{self.count / max(self.total, 1):.0%}"


@dataclass(frozen=True)
class Yardstick:
    """How the entries of two observations of one case are compared.

    Strict: float64 to 1e-9, float32 to 1e-5, and the dtype counts. With `lost`, what
    was computed in float32 is right as well, to four times what the course's own
    answer loses there; integers, booleans and shapes stay as strict.
    """

    tolerance: float | None = None  # the case's own, for all entries
    lost: Mapping[str, float] | None = field(default=None, compare=False)

    def within(self, name: str, wanted: Any) -> float:
        """How far the entry of this name may be off."""
        own = self.tolerance is not None
        strict = self.tolerance if own else tolerance(wanted)
        if self.lost is None or not _rounds(wanted):
            return strict
        loose = min(4 * self.lost.get(name, 0.0), MOST)
        return max(strict, loose if own else max(loose, FLOAT32))

    def difference(self, got: Any, wanted: Any) -> float:
        """How far an entry is off; inf if it is of another kind."""
        return difference(self.seen(got, wanted), wanted)

    def seen(self, got: Any, wanted: Any) -> Any:
        """What came, in the dtype that was wanted if that does not count."""
        if self.lost is None or not (_float(got) and _float(wanted)):
            return got
        return got.to(wanted.dtype)

    def same(self, name: str, got: Any, wanted: Any) -> bool:
        """Whether an entry is what was wanted."""
        return self.difference(got, wanted) <= self.within(name, wanted)

    def agree(self, run: Mapping[str, Any], right: Mapping[str, Any]) -> bool:
        """Whether two observations hold the same entries with the same values."""
        return run.keys() == right.keys() and all(
            self.same(name, run[name], right[name]) for name in right
        )

    def distance(self, run: Mapping[str, Any], right: Mapping[str, Any]) -> float:
        """The largest difference, in units of what is allowed."""
        if run.keys() != right.keys():
            return float("inf")
        return max(
            self.difference(run[name], right[name]) / self.within(name, right[name])
            for name in right
        )


def losses(single: Mapping[str, Any], double: Mapping[str, Any]) -> dict[str, float]:
    """What an answer loses in float32, entry by entry; 0 where that can't be said.

    Args:
        single: what it gave when its inputs were float32
        double: what it gave when they were float64
    """
    exact = Yardstick(lost={})
    apart = {name: exact.difference(single.get(name), double[name]) for name in double}
    return {name: lost for name, lost in apart.items() if lost < float("inf")}


def in_dtype(value: Any, dtype: torch.dtype) -> Any:
    """A tensor of float32 or float64 in the one of the two; all else as it is."""
    return value.to(dtype) if _float(value) else value


def rounded(run: Mapping[str, Any], right: Mapping[str, Any]) -> str:
    """How an answer that is right, but not strictly, differs: a sentence."""
    pairs = [(run[name], right[name]) for name in right]
    kinds = {
        (one.dtype, two.dtype) for one, two in pairs if _float(one) and _float(two)
    }
    if (SINGLE, DOUBLE) in kinds:
        return "Computed in float32."
    if (DOUBLE, SINGLE) in kinds:
        return "Computed in float64, where the inputs are float32."
    return "Right to the precision of float32."


def _float(value: Any) -> bool:
    return isinstance(value, Tensor) and value.dtype in (SINGLE, DOUBLE)


def _rounds(value: Any) -> bool:
    return _float(value) or isinstance(value, float)
