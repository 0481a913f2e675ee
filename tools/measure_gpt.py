"""Train lesson 10's models with other seeds: `python -m tools.measure_gpt recall`.

It runs the lesson's own cells, those tagged `recall` (two layers of attention against
an LSTM) or `contest` (a GPT against lesson 07's LSTM on the sonnets), so that the
numbers belong to the lesson as it is. One seed takes one or two minutes on one core.
"""

import argparse
import io
import sys
import time
from contextlib import redirect_stdout

import torch

from tools.build.notebooks import ROOT, read

LESSON = ROOT / "lessons" / "10_gpt_from_scratch.py"
ALWAYS = ("characters.encode(train_text)", "split_text(load_text())")


def cells(part: str, seed: int) -> list[str]:
    """The sources of the cells to run, imports and texts first, with this seed."""
    code = [cell for cell in read(LESSON).cells if cell.cell_type == "code"]
    first = [code[0], *(c for c in code if any(text in c.source for text in ALWAYS))]
    tagged = [cell for cell in code if part in cell.metadata.get("tags", [])]
    if not tagged:
        raise ValueError(f"the lesson has no cells tagged {part!r}")
    sources = [cell.source for cell in (*first, *tagged)]
    return [source.replace("seed = 10\n", f"seed = {seed}\n") for source in sources]


def measure(part: str, seed: int) -> tuple[bool, str]:
    """Run the cells with this seed; whether their assertions held, and what was said.

    Only what the cells tagged with the part print is told.
    """
    namespace: dict = {"__name__": "__main__"}
    said, held = io.StringIO(), True
    with redirect_stdout(said):
        for source in cells(part, seed):
            try:
                exec(compile(source, str(LESSON), "exec"), namespace)
            except AssertionError:
                held = False
    names = {"recall": "right", "contest": "bits"}
    numbers = namespace.get(names[part], {})
    told = ", ".join(f"{name} {value:.4f}" for name, value in numbers.items())
    if part == "recall" and "scores" in namespace:
        heads = namespace["scores"].items()
        told += "; heads: " + ", ".join(f"{k} {v.max():.2f}" for k, v in heads)
    return held, told


def main(arguments: list[str] | None = None) -> int:
    """Print a line for each seed; returns 1 if an assertion of the lesson failed."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.measure_gpt", description=__doc__
    )
    parser.add_argument("part", choices=["recall", "contest"])
    parser.add_argument("seeds", nargs="*", type=int, default=[0, 1, 2])
    options = parser.parse_args(arguments)
    torch.set_num_threads(1)
    results = []
    for seed in options.seeds:
        wall, cpu = time.perf_counter(), time.process_time()
        held, told = measure(options.part, seed)
        results.append(held)
        print(
            f"seed {seed}: {told}; {'as asserted' if held else 'NOT as asserted'}; "
            f"{time.perf_counter() - wall:.0f} s, "
            f"of these {time.process_time() - cpu:.0f} s on the processor",
            flush=True,
        )
    return int(not all(results))


if __name__ == "__main__":
    sys.exit(main())
