"""docs/experiments.md: a section per experiment, whose table the tool writes.

What stands between `<!-- measured: NAME -->` and `<!-- /measured -->` is kept until
that experiment runs again. All the rest comes from the declarations.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from tools.experiments.declared import EXPERIMENTS, Experiment

INTRO = """\
# Experiments over several seeds

One run may be luck, so what a lesson claims about training is repeated here with other
seeds. `python -m tools.experiments NAME --seeds 0 1 2` runs one experiment and replaces
its table; nobody edits this page. `python -m tools.experiments` lists the names.
"""
PENDING = "Not yet run with this tool."
MEASURED = re.compile(r"<!-- measured: (\S+) -->\n(.*?)<!-- /measured -->", re.DOTALL)


def measured(text: str) -> dict[str, str]:
    """Name -> what a page holds about its runs."""
    return {name: inside.strip("\n") for name, inside in MEASURED.findall(text)}


def page(found: Mapping[str, str]) -> str:
    """The page, with these results in it."""
    parts = [INTRO.strip()]
    for one in EXPERIMENTS.values():
        parts += [
            f"## {one.name}",
            f"**Claim** (lesson {one.lesson:02}). {one.claim}",
            f"**Control.** {one.control}",
            f"<!-- measured: {one.name} -->\n"
            f"{found.get(one.name, pending(one))}\n<!-- /measured -->",
        ]
    return "\n\n".join(parts) + "\n"


def pending(experiment: Experiment) -> str:
    """What stands in the place of a table."""
    return f"{PENDING}\n\n    {command(experiment, experiment.seeds, {})}"


def command(
    experiment: Experiment, seeds: Sequence[int], settings: Mapping[str, Any]
) -> str:
    """The command that measures this."""
    words = [
        "python -m tools.experiments",
        experiment.name,
        "--seeds",
        *map(str, seeds),
    ]
    if settings:
        words += ["--set", *(f"{name}={value}" for name, value in settings.items())]
    return " ".join(words)


def table(
    experiment: Experiment, rows: Sequence[Mapping], settings: Mapping[str, Any]
) -> str:
    """What a run found: its command, a row per seed, and the summary if it has one."""
    columns = [experiment.over, *experiment.columns, "as asserted", "seconds"]
    lines = [f"| {' | '.join(columns)} |", "|---" * len(columns) + "|"]
    for row in rows:
        cells = (
            str(row["seed"]),
            *(experiment.form.format(row[name]) for name in experiment.columns),
            "yes" if row["held"] else "**no**",
            f"{row['seconds']:.0f}",
        )
        lines.append(f"| {' | '.join(cells)} |")
    seeds = [row["seed"] for row in rows]
    said = [f"    {command(experiment, seeds, settings)}", "\n".join(lines)]
    said += experiment.summary(rows)
    return "\n\n".join(said)
