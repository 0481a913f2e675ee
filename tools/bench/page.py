"""Write docs/benchmarks.md from what was measured."""

import statistics
from typing import Any


def page(found: dict[str, Any]) -> str:
    """The page, from the contents of docs/benchmarks.json."""
    machine = found["machine"]
    parts = [
        "# Measured beside its peers",
        "Written by `make bench` from [benchmarks.json](benchmarks.json); not edited "
        "by hand. Medians of runs in turns, after a warm-up. The ratios are the "
        "figures: below 1 the course is faster. Absolute times are those of one "
        f"machine: {machine['cpu']}, {machine['threads']} thread, Python "
        f"{machine['python']}, torch {machine['torch']}, transformers "
        f"{machine['transformers']}.",
        "## Models",
        *_models(found["races"]),
        "## Checks",
        *_checks(found["checks"]),
        "## Notebooks",
        *_notebooks(found["notebooks"]),
        "## Imports",
        "Seconds above the import of torch: "
        + ", ".join(f"`{name}` {s:.2f}" for name, s in found["imports"].items())
        + f". The aim is at most 0.3: {_verdict(max(found['imports'].values()), 0.3)}.",
        "## How attention grows",
        *_growth(found["growth"]),
    ]
    return "\n\n".join(parts) + "\n"


def _table(head: list[str], rows: list[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _verdict(value: float, most: float) -> str:
    return "met" if value <= most else "missed"


def _amount(value: float, unit: str) -> str:
    return _time(value) if unit == "s" else f"{value:.0f} {unit}"


def _time(seconds: float) -> str:
    return f"{seconds:.2f} s" if seconds >= 1 else f"{seconds * 1000:.3g} ms"


def _models(races: list[dict]) -> list[str]:
    rows = []
    for one in races:
        ratio = one["ours"] / one["theirs"]
        aim, unit = one["aim"], one.get("unit", "s")
        rows.append(
            [
                one["work"],
                _amount(one["ours"], unit),
                f"{one['peer']}: {_amount(one['theirs'], unit)}",
                f"{ratio:.2f}",
                "" if aim is None else f"at most {aim:.2f}, {_verdict(ratio, aim)}",
            ]
        )
    return [_table(["work", "ours", "peer", "ratio", "aim"], rows)]


def _checks(checks: list[dict]) -> list[str]:
    kinds = [kind for kind in ("passed", "wrong", "located") if kind in checks[0]]
    every = [one[kind] for one in checks for kind in kinds if kind != "located"]
    longest = {kind: max(one[kind] for one in checks) for kind in kinds}
    middle, passed = statistics.median(every), longest["passed"]
    text = (
        f"{len(checks)} exercises. Answered correctly, or with a mistake that has a "
        f"name: median {_time(middle)} (aim: at most 0.05 s, {_verdict(middle, 0.05)})."
        f" Passed: at most {_time(passed)} (aim: 0.6 s, {_verdict(passed, 0.6)})."
    )
    if "located" in kinds:  # not in figures that were measured before there was one
        most = longest["located"]
        text += (
            " With the mistake's name taken away, so that the answer is run again line "
            f"by line: at most {_time(most)} (aim: 2 s, {_verdict(most, 2.0)})."
        )
    slow = sorted(checks, key=lambda one: -max(one[kind] for kind in kinds))[:8]
    rows = [[one["exercise"], *(_time(one[kind]) for kind in kinds)] for one in slow]
    return [f"{text} The slowest:", _table(["exercise", *kinds], rows)]


def _notebooks(notebooks: list[dict]) -> list[str]:
    rows = [
        [one["name"], f"{one['seconds']:.0f} s", f"{one['megabytes']:.0f} MB"]
        for one in notebooks
    ]
    total = sum(one["seconds"] for one in notebooks) / 2 / 60
    return [
        "Each solution notebook executed in a fresh kernel with one thread, two side "
        f"by side; the whole course takes about {total:.1f} minutes that way. The aim "
        f"is at most 15: {_verdict(total, 15)}. Memory is the kernel's peak resident "
        "size.",
        _table(["solution", "time", "memory"], rows),
    ]


def _growth(growth: list[dict]) -> list[str]:
    rows = [
        [
            str(one["length"]),
            _time(one["seconds"]),
            f"{one['megabytes']:.0f} MB",
            _time(one["seconds_with_weights"]),
            f"{one['megabytes_with_weights']:.0f} MB",
        ]
        for one in growth
    ]
    head = ["length", "fused", "memory", "with its weights", "memory"]
    return [
        "One attention, batch 1, 8 heads of 64, forward and backward, one thread. Time "
        "grows with the square of the length either way; memory does only where the "
        "weights are kept.",
        _table(head, rows),
    ]
