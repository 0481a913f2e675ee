"""The time of checks, notebooks and imports, and how attention grows with length."""

import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

from helpers.checks.engine import examine, exercises
from tools.bench.memory import ROOT, in_own_process
from tools.build.notebooks import lesson_paths
from tools.proofs.kill_matrix import answers_with

# Run in a process of its own: its peak is that of the work, or of the kernel.
NOTEBOOK = """
import json, resource, sys, time
from pathlib import Path
import nbformat
from tools.build.execute import execute
path = Path(sys.argv[1])
notebook = nbformat.read(path, 4)
start = time.perf_counter()
execute(notebook, path.parent, path.parents[1])
taken = time.perf_counter() - start
peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
print(json.dumps([taken, peak / 1024]))
"""
ATTENTION = """
import json, statistics, sys
import torch
from helpers.models.attention import attention
from tools.bench.memory import peak_above
from tools.bench.memory import ROOT, in_own_process
from tools.bench.timing import seconds
torch.set_num_threads(1)
length, weights = int(sys.argv[1]), sys.argv[2] == "weights"
parts = [torch.randn(1, 8, length, 64, requires_grad=True) for _ in range(3)]
small = [part[:, :, :8] for part in parts]
def work(query, key, value):
    out = attention(query, key, value, need_weights=weights)
    (out[0] if weights else out).sum().backward()
work(*small)
times = []
def five_times():
    times.extend(seconds(lambda: work(*parts)) for _ in range(5))
peak = peak_above(five_times)
print(json.dumps([statistics.median(times), peak]))
"""


@dataclass(frozen=True)
class Check:
    """How long a check takes to answer, in seconds of the processor."""

    exercise: str
    passed: float
    wrong: float  # a mistake that has a name
    located: float  # the same, as if it had none: it is run again, line by line


@dataclass(frozen=True)
class Notebook:
    """Time and memory of a solution notebook, executed beside another one."""

    name: str
    seconds: float
    megabytes: float  # peak resident size of its kernel


@dataclass(frozen=True)
class Growth:
    """Time and memory of attention, forward and back: batch 1, 8 heads of 64."""

    length: int
    seconds: float
    megabytes: float  # above those before
    seconds_with_weights: float
    megabytes_with_weights: float


def checks(quick: bool) -> Iterator[Check]:
    """Every exercise, answered rightly and wrongly."""
    rounds = 1 if quick else 5
    for exercise in exercises():
        if not exercise.answers:
            continue
        known = exercise.misconceptions[0]
        wrong = answers_with(exercise, known.of, known.spellings[0])

        def median(answers: tuple, exercise=exercise) -> float:
            examine(exercise, answers)
            taken = []
            for _ in range(rounds):
                start = time.process_time()
                examine(exercise, answers)
                taken.append(time.process_time() - start)
            return statistics.median(taken)

        unnamed = replace(exercise, misconceptions=())
        yield Check(
            exercise.id,
            median(exercise.references),
            median(wrong),
            median(wrong, unnamed),
        )


def notebooks(quick: bool) -> list[Notebook]:
    """Execute every solution notebook, two at a time with one thread each."""
    names = [path.stem for path in lesson_paths()]
    if quick:
        names = [name for name in names if name.startswith("02")]
    with ThreadPoolExecutor(2) as pool:
        found = pool.map(lambda name: in_own_process(NOTEBOOK, _solution(name)), names)
        return [Notebook(n, *pair) for n, pair in zip(names, found, strict=True)]


def _solution(name: str) -> str:
    return str(ROOT / "solutions" / f"{name}.ipynb")


def growth(quick: bool) -> Iterator[Growth]:
    """Attention's time and memory against length; Linux only."""
    for length in (256, 512) if quick else (256, 512, 1024, 2048):
        fused = in_own_process(ATTENTION, str(length), "fused")
        slow = in_own_process(ATTENTION, str(length), "weights")
        yield Growth(length, *fused, *slow)


def imports(rounds: int = 5) -> dict[str, float]:
    """Seconds that `import helpers` and `import helpers.checks` add to torch's."""
    statements = {
        "torch": "import torch",
        "helpers": "import torch, helpers",
        "helpers.checks": "import torch, helpers.checks",
    }
    times: dict[str, list[float]] = {name: [] for name in statements}
    for number in range(rounds + 1):
        for name, statement in statements.items():
            start = time.perf_counter()
            subprocess.run([sys.executable, "-c", statement], cwd=ROOT, check=True)
            if number:  # the first round warms the disk
                times[name].append(time.perf_counter() - start)
    medians = {name: statistics.median(some) for name, some in times.items()}
    return {
        name: medians[name] - medians["torch"] for name in statements if name != "torch"
    }
