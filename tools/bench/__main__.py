"""Measure the course beside its peers: `python -m tools.bench [--quick]`."""

import argparse
import json
import os
import platform
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
import transformers

from tools.bench import course, models
from tools.bench.page import page

DOCS = Path(__file__).resolve().parents[2] / "docs"
FAMILIES = (
    models.attentions,
    models.stacks,
    models.translator_training,
    models.gpt_training,
    models.gpt_memory,
    models.generation,
    models.recurrents,
)


# What is measured of the course itself.
PARTS: dict[str, Callable[[bool], Any]] = {
    "checks": lambda quick: [asdict(one) for one in course.checks(quick)],
    "imports": lambda quick: course.imports(1 if quick else 5),
    "growth": lambda quick: [asdict(one) for one in course.growth(quick)],
    "notebooks": lambda quick: [asdict(one) for one in course.notebooks(quick)],
}


def machine() -> dict[str, Any]:
    """The machine that the absolute times were measured on."""
    return {
        "cpu": f"{_cpu()}, {os.cpu_count()} cores",
        "threads": torch.get_num_threads(),
        "python": platform.python_version(),
        "torch": torch.__version__,
        "transformers": transformers.__version__,
    }


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    names = (x.split(":", 1)[1].strip() for x in lines if x.startswith("model name"))
    return next(names, platform.processor() or platform.machine())


def races(families: Iterable[Callable], quick: bool) -> list[dict[str, Any]]:
    """Models beside their peers, with a line on the screen for each."""
    found = []
    for family in families:
        for one in family(quick):
            found.append(asdict(one))
            print(f"{one.work}: {one.ratio:.2f} of {one.peer}", flush=True)
    return found


def measure(quick: bool) -> dict[str, Any]:
    """All of it."""
    found: dict[str, Any] = {"machine": machine(), "races": races(FAMILIES, quick)}
    for name, part in PARTS.items():
        found[name] = part(quick)
        print(f"{name}: measured", flush=True)
    return found


def again(name: str) -> dict[str, Any]:
    """Measure one part, or race one family, again; all else stays as it was.

    Raises:
        SystemExit: There is nothing to add to, or it comes from another machine.
    """
    path = DOCS / "benchmarks.json"
    old = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    if old.get("machine") != machine():
        raise SystemExit(
            f"{path.name} was measured on another machine: run without --only."
        )
    if name in PARTS:
        return old | {name: PARTS[name](False)}
    family = next(one for one in FAMILIES if one.__name__ == name)
    new = {one["work"]: one for one in races([family], quick=False)}
    kept = {one["work"]: one for one in old["races"]}
    return old | {"races": list((kept | new).values())}


def main(arguments: list[str] | None = None) -> int:
    """Measure, print, and write docs/benchmarks.json and .md unless it is quick."""
    parser = argparse.ArgumentParser(prog="python -m tools.bench", description=__doc__)
    parser.add_argument(
        "--quick", action="store_true", help="under two minutes; writes nothing"
    )
    names = [*(family.__name__ for family in FAMILIES), *PARTS]
    parser.add_argument("--only", choices=names, help="these again, keep the rest")
    options = parser.parse_args(arguments)
    torch.set_num_threads(1)
    torch.manual_seed(0)
    transformers.logging.set_verbosity_error()
    start = time.perf_counter()
    found = again(options.only) if options.only else measure(options.quick)
    text = page(found)
    if options.quick:
        print(text)
    else:
        DOCS.mkdir(exist_ok=True)
        as_json = json.dumps(found, indent=1) + "\n"
        (DOCS / "benchmarks.json").write_text(as_json, encoding="utf-8")
        (DOCS / "benchmarks.md").write_text(text, encoding="utf-8")
    print(f"Measured in {time.perf_counter() - start:.0f} s.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
