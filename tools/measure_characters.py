"""Train lesson 07's networks with other seeds: `python -m tools.measure_characters`.

It runs the lesson's own cells, those tagged `characters`, so that the numbers belong to
the lesson as it is. One seed takes one or two minutes on one core.
"""

import argparse
import io
import re
import sys
import time
from contextlib import redirect_stdout, suppress

import torch

from tools.build.notebooks import ROOT, read

LESSON = ROOT / "lessons" / "07_rnn_baseline.py"


def cells(seed: int) -> list[str]:
    """The sources of the cells to run, imports first, with this seed in them."""
    lesson = read(LESSON)
    code = [cell for cell in lesson.cells if cell.cell_type == "code"]
    tagged = [cell for cell in code if "characters" in cell.metadata.get("tags", [])]
    return [
        re.sub(r"^seed, (.*) = \d+,", rf"seed, \1 = {seed},", cell.source)
        for cell in (code[0], *tagged)
    ]


def measure(seed: int) -> dict[str, float]:
    """Train with this seed; returns cell -> bits per held-out character."""
    namespace: dict = {"__name__": "__main__"}
    with redirect_stdout(io.StringIO()), suppress(AssertionError):
        for source in cells(seed):  # the last line asserts what is reported here
            exec(compile(source, str(LESSON), "exec"), namespace)
    return namespace["bits"]


def longer(seed: int) -> float:
    """Bits of an RNN that learns for three times as many steps, about a GRU's time."""
    namespace: dict = {"__name__": "__main__"}
    with redirect_stdout(io.StringIO()):
        for source in cells(seed):
            changed = source.replace('"rnn", "lstm", "gru"', '"rnn",')
            changed = changed.replace("train_ids, 1000,", "train_ids, 3000,")
            exec(compile(changed.split("assert")[0], str(LESSON), "exec"), namespace)
    if len(namespace["histories"]["rnn"].loss) != 3000:
        raise ValueError(f"{LESSON.name} no longer says what is changed here")
    return namespace["bits"]["rnn"]


def main(arguments: list[str] | None = None) -> int:
    """Print a line for each seed; returns 1 if an RNN beats an LSTM or a GRU."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.measure_characters", description=__doc__
    )
    parser.add_argument("seeds", nargs="*", type=int, default=[0, 1, 2])
    parser.add_argument(
        "--longer", action="store_true", help="only the RNN, for 3,000 steps"
    )
    options = parser.parse_args(arguments)
    torch.set_num_threads(1)
    right = True
    for seed in options.seeds:
        start = time.process_time()
        if options.longer:
            print(f"seed {seed}: rnn {longer(seed):.3f}, 3,000 steps", flush=True)
            continue
        bits = measure(seed)
        right &= bits["rnn"] > max(bits["lstm"], bits["gru"])
        found = ", ".join(f"{cell} {value:.3f}" for cell, value in bits.items())
        seconds = time.process_time() - start
        print(f"seed {seed}: {found} bits per character, {seconds:.0f} s", flush=True)
    return int(not right)


if __name__ == "__main__":
    sys.exit(main())
