"""Measure how well a check points at a line: `python -m tools.proofs.locate`.

Independent solutions, from `helpers/exercises/<lesson>/variants/`, get one small
change each, and go to their check, which may not look at the answer that was changed,
nor at another that shares its code. The line that was changed is known, so the table
tells how often the check names the mistake, names a line, and which line. Another
`--seed` draws other changes: rules are made on one set and measured on another.
"""

import argparse
import ast
import random
import sys
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any
from unittest.mock import patch

import torch

from helpers.checks import blanks, engine
from helpers.checks import locate as located
from helpers.checks.engine import examine, exercises, find
from helpers.checks.exercise import Case, Exercise
from helpers.checks.observe import Run, run_case
from helpers.checks.report import CheckFailed
from tools.build.lesson_cells import run_cell
from tools.proofs.kill_matrix import answers_with
from tools.proofs.mutants import Mutant, mutants

TABLE = Path(__file__).resolve().parents[2] / "build" / "locate.md"
EACH = 10  # changes that are drawn for each answer
LIMIT = 2.0  # seconds until one is stopped
KINDS = ("function", "class")
SAID = ("named", "line", "up to", "from", "all known", "odd", "told", "nothing")
AROUND = "at the lines before and after it"
WHERE = ("exact", "next", "later", "before")


@dataclass(frozen=True)
class Outcome:
    """What the check said about one changed answer."""

    exercise: str
    answer: str
    mutant: Mutant
    said: str  # one of SAID, "passed", "raised" or "not attempted"
    line: str = ""  # one of WHERE, where a line is named
    built: bool = False  # the change is in an `__init__`
    seconds: float = 0.0  # that it took to find the line
    text: str = ""  # the whole message
    why: str = ""  # why nothing was said
    starts: int = 0  # how many lines could have been named
    straight: bool = True  # every value before the line is known
    what: str = ""  # what was compared: numbers or values
    whole: float = 0.0  # processor seconds of the whole check


# --- an answer as source --------------------------------------------------------------


def source_of(thing: Any) -> tuple[str, dict[str, Any]] | None:
    """The definitions that an answer is made of, one statement a line, and its names.

    None for an answer that no `def` or `class` of a module defines.
    """
    module = sys.modules.get(getattr(thing, "__module__", None))
    name = getattr(thing, "__qualname__", "")
    tree = ast.parse(Path(module.__file__).read_text(encoding="utf-8"))
    defined = {
        node.name: node
        for node in tree.body
        if isinstance(node, ast.FunctionDef | ast.ClassDef)
    }
    if name not in defined:
        return None
    needed, left = set(), [name]
    while left:
        one = left.pop()
        if one in defined and one not in needed:
            needed.add(one)
            names = (n for n in ast.walk(defined[one]) if isinstance(n, ast.Name))
            left += [node.id for node in names]
    body = [node for node in tree.body if getattr(node, "name", "") in needed]
    for node in ast.walk(ast.Module(body, [])):
        _strip(node)
    return ast.unparse(ast.Module(body, [])), dict(vars(module))


def _strip(node: ast.AST) -> None:
    """Take the docstring away: each line is a statement then."""
    body = getattr(node, "body", None)
    if isinstance(body, list) and body and isinstance(body[0], ast.Expr):
        if isinstance(body[0].value, ast.Constant):
            body[0] = ast.copy_location(ast.Pass(), body[0])


def _statements(source: str) -> set[int]:
    """The lines inside functions, but for their first."""
    return {
        node.lineno
        for function in ast.walk(ast.parse(source))
        if isinstance(function, ast.FunctionDef)
        for node in ast.walk(function)
        if isinstance(node, ast.stmt) and node is not function
    }


def _shared(thing: Any) -> set[tuple[str, str]]:
    """Module and name of all code of the variants that an answer is made of."""
    found: set[tuple[str, str]] = set()
    left = [thing]
    while left:
        one = left.pop()
        if isinstance(one, ModuleType) and ".variants" in one.__name__:
            left += [v for v in vars(one).values() if _defined(v)]
        if not _defined(one) or (one.__module__, one.__qualname__) in found:
            continue
        found.add((one.__module__, one.__qualname__))
        names = vars(sys.modules[one.__module__])
        functions = [one] if isinstance(one, FunctionType) else _methods(one)
        for function in functions:
            for name in _names(function.__code__):
                left.append(names.get(name))
        left += getattr(one, "__bases__", ())
    return found


def _defined(thing: Any) -> bool:
    kinds = isinstance(thing, FunctionType | type)
    return kinds and ".variants" in (thing.__module__ or "")


def _methods(kind: type) -> list[FunctionType]:
    return [v for v in vars(kind).values() if isinstance(v, FunctionType)]


def _names(code: Any) -> Iterator[str]:
    yield from code.co_names
    for inner in code.co_consts:
        if hasattr(inner, "co_names"):
            yield from _names(inner)


# --- one changed answer ---------------------------------------------------------------


def drawn(exercise: Exercise, each: int, seed: int) -> Iterator[Outcome]:
    """Outcomes of changes drawn from every independent solution."""
    variants = located.variants(exercise.lesson).get(exercise.id, ())
    for number, variant in enumerate(variants):
        parts = variant if isinstance(variant, tuple) else (variant,)
        for index, part in enumerate(parts):
            found = source_of(part) if callable(part) else None
            if found is None:
                continue
            source, names = found
            every = list(mutants(source, _statements(source)))
            draw = random.Random(f"{seed} {exercise.id} {number} {index}")
            mine = _shared(part)
            others = [exercise.answers[index].reference] + [
                other
                for one in variants
                for other in [one[index] if isinstance(one, tuple) else one]
                if not _shared(other) & mine
            ]
            for mutant in draw.sample(every, min(each, len(every))):
                one = _tried(exercise, index, part, mutant, dict(names), others, source)
                if one is not None:
                    yield one


def _tried(
    exercise: Exercise,
    index: int,
    part: Any,
    mutant: Mutant,
    names: dict[str, Any],
    others: list[Any],
    source: str,
) -> Outcome | None:
    try:
        run_cell(mutant.source, names)
    except Exception:  # it can't even be defined
        return None
    thing = names[part.__name__]
    call: dict[str, Any] = {}

    def locate(exercise, index, thing, cases, runs, expected):
        start = time.perf_counter()
        call["asked"] = cases, runs, expected
        try:
            call["found"] = located.look(exercise, index, thing, *call["asked"], others)
        except located.Silent as reason:
            call["why"] = str(reason)
        call["seconds"] = time.perf_counter() - start
        return call.get("found")

    def noted(telling):
        def tell(trial):
            said = telling(trial)
            call["odd"] = call.get("odd", []) + said
            return said

        return tell

    with (
        patch.object(engine, "locate", locate),
        patch.object(engine, "symptoms", noted(engine.symptoms)),
        patch.object(engine, "influences", noted(engine.influences)),
        patch.object(engine, "never_runs", noted(engine.never_runs)),
    ):
        start = time.process_time()
        report = examine(exercise, answers_with(exercise, index, thing), limit=LIMIT)
        whole = time.process_time() - start
    line, built = _changed(source, mutant.source)
    found, where = call.get("found"), ""
    if report.outcome != "wrong":
        said = report.outcome
    elif report.misconception:
        said = "named"
    elif found:
        said = "line" if found.line else "all known"
        said = "up to" if found.fed else said
        said = "from" if found.onward else said
        where = _where(exercise, index, thing, line, call) if found.line else ""
    else:
        said = "told" if _explained(report.evidence) else "nothing"
        said = "odd" if call.get("odd") or _on_the_way(report.evidence) else said
    return Outcome(
        exercise.id,
        part.__name__,
        mutant,
        said,
        where,
        built,
        call.get("seconds", 0.0),
        str(report),
        call.get("why", ""),
        found.starts if found else 0,
        found.straight if found else True,
        found.what if found else "",
        whole,
    )


def _on_the_way(evidence: tuple[str, ...]) -> bool:
    """Whether it is told that what came is only on the way to a result."""
    signs = "which is a module and not", "of which nothing was taken"
    return any(sign in line for line in evidence for sign in signs)


def _explained(evidence: tuple[str, ...]) -> bool:
    """Whether it is told what is odd about the result, or where it is right."""
    signs = (
        "? No: ", "entries are NaN", "cases: ", "expected shape", "expected 'of shape",
        "expected a ", "but there is none", "What came instead: ", "The attribute ",
        "it should return (",
    )  # fmt: skip
    return any(sign in line for line in evidence for sign in signs)


def _changed(before: str, after: str) -> tuple[int, bool]:
    """The line of the changed source that differs; is it in an `__init__`?"""
    old, new = before.splitlines(), after.splitlines()
    pairs = enumerate(zip(old, new, strict=False), start=1)
    line = next((n for n, (one, other) in pairs if one != other), len(new))
    inits = [
        node
        for node in ast.walk(ast.parse(after))
        if isinstance(node, ast.FunctionDef) and node.name == "__init__"
    ]
    return line, any(node.lineno <= line <= node.end_lineno for node in inits)


def _where(
    exercise: Exercise, index: int, thing: Any, changed: int, call: dict[str, Any]
) -> str:
    """Where the named line stands, seen from the changed one."""
    found = call["found"]
    if changed in found.chain:
        return "exact"
    case = call["asked"][0][located.first_wrong(*call["asked"])]
    steps = _executed(exercise, index, thing, case)
    lines = [line for line, _ in steps]
    following = {
        next((step for step in lines[place + 1 :] if step != changed), 0)
        for place, step in enumerate(lines)
        if step == changed
    }
    if found.line.number in following:
        return "next"
    if any(line == changed and found.line.number in above for line, above in steps):
        return "later"  # it called the changed line, and its numbers came after that
    first = {step: place for place, step in reversed(list(enumerate(lines)))}
    early = first.get(found.line.number, 0) < first.get(changed, len(lines))
    return "before" if early else "later"


def _executed(
    exercise: Exercise, index: int, thing: Any, case: Case
) -> list[tuple[int, tuple[int, ...]]]:
    """The lines of an answer as they are executed, each with those that called it."""
    file, steps = blanks.file_of(thing), []

    def trace(frame, event, arg):
        if frame.f_code.co_filename != file:
            return None
        if event == "line":
            above, back = [], frame.f_back
            while back is not None:
                if back.f_code.co_filename == file:
                    above.append(back.f_lineno)
                back = back.f_back
            steps.append((frame.f_lineno, tuple(above)))
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        run: Run = run_case(thing, exercise.answers[index], case, LIMIT)
    finally:
        sys.settrace(before)
    return steps if run.raised is None else []


# --- the table ------------------------------------------------------------------------


def main(arguments: list[str] | None = None) -> int:
    """Print the table, and write it with all messages to build/locate.md."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.proofs.locate", description=__doc__
    )
    parser.add_argument("exercise", nargs="*", help="such as 2.B; default: all")
    parser.add_argument("--seed", type=int, default=0, help="which changes are drawn")
    parser.add_argument("--each", type=int, default=EACH, help="changes per answer")
    parser.add_argument("--jobs", type=int, default=1, help="processes; default: 1")
    parser.add_argument("--page", type=Path, default=TABLE, help="where messages go")
    options = parser.parse_args(arguments)
    try:
        asked = [find(name) for name in options.exercise] or exercises()
    except CheckFailed as error:
        print(error, file=sys.stderr)
        return 2
    chosen = [
        (one.id, options.each, options.seed) for one in asked if one.kind in KINDS
    ]
    print(_head())
    every: list[Outcome] = []
    for (name, *_), outcomes in zip(
        chosen, _measured(chosen, options.jobs), strict=True
    ):
        print(_row(name, outcomes), flush=True)
        every += outcomes
        options.page.parent.mkdir(parents=True, exist_ok=True)
        options.page.write_text(page(every), encoding="utf-8")
    print(_row("all", every))
    for sentence in sums(every):
        print(sentence)
    return 0


def _measured(chosen: list[tuple], jobs: int) -> Iterator[list[Outcome]]:
    if jobs == 1:
        yield from map(_measure, chosen)
        return
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        yield from pool.map(_measure, chosen)


def _measure(asked: tuple[str, int, int]) -> list[Outcome]:
    torch.set_num_threads(1)
    name, each, seed = asked
    return list(drawn(find(name), each, seed))


def _head() -> str:
    return (
        f"{'':6} {'wrong':>6} {'named':>6} {'line':>6} | {'exact':>6} {'next':>6} "
        f"{'later':>6} {'before':>6} | {'up to':>6} {'from':>6} {'known':>6} "
        f"{'odd':>5} {'told':>6} {'nothing':>7} | "
        f"{'median':>6} {'p95':>6} {'worst':>6} s"
    )


def _row(name: str, outcomes: list[Outcome]) -> str:
    said = Counter(one.said for one in outcomes)
    where = Counter(one.line for one in outcomes if one.said == "line")
    wrong = sum(said[w] for w in SAID)
    times = sorted(one.seconds for one in outcomes if one.seconds) or [0.0]
    middle, late = times[len(times) // 2], times[int(len(times) * 0.95)]
    return (
        f"{name:6} {wrong:6} {said['named']:6} {said['line']:6} | "
        + " ".join(f"{where[one]:6}" for one in WHERE)
        + f" | {said['up to']:6} {said['from']:6} {said['all known']:6} "
        f"{said['odd']:5} {said['told']:6} {said['nothing']:7} | "
        f"{middle:6.3f} {late:6.3f} {times[-1]:6.3f}"
    )


def sums(outcomes: list[Outcome]) -> list[str]:
    """What the table says in all, in sentences."""
    said = Counter(one.said for one in outcomes)
    wrong = sum(said[w] for w in SAID)
    helped = wrong - said["told"] - said["nothing"]
    lines = [one for one in outcomes if one.said == "line"]
    near = sum(one.line in ("exact", "next") for one in lines)
    outer = [one for one in lines if not one.built]
    nearer = sum(one.line in ("exact", "next") for one in outer)
    early = sum(one.line == "before" for one in lines)
    until = [one for one in outcomes if one.said == "up to"]
    upward = sum(one.line != "before" for one in until)
    rest = [one for one in outcomes if one.said == "from"]
    around = [one.line in ("exact", "before") or AROUND in one.text for one in rest]
    return [
        f"{len(outcomes)} changed answers: {said['passed']} passed, {said['raised']} "
        f"raised, {said['not attempted']} not attempted, {wrong} wrong.",
        f"Of those: {_share(helped, wrong)} named or spoken to; with a shape, "
        "a broken property or the cases that are right told "
        f"{_share(helped + said['told'], wrong)}.",
        f"Of the lines named: {_share(near, len(lines))} the changed statement or the "
        f"next ({_share(nearer, len(outer))} where it is not in an __init__), "
        f"{_share(early, len(lines))} before it.",
        f"Where the lines up to one are named: {_share(upward, len(until))} hold the "
        f"change; where those from one on, or all around it: "
        f"{_share(sum(around), len(rest))}.",
        _cost([one for one in outcomes if one.said in SAID]),
        *(
            f"Silent in {count}: {why}."
            for why, count in Counter(
                one.why for one in outcomes if one.said == "nothing"
            ).most_common()
        ),
    ]


def _cost(wrong: list[Outcome]) -> str:
    if not wrong:
        return "No check has told of a wrong answer."
    slow = max(wrong, key=lambda one: one.whole)
    times = sorted(one.whole for one in wrong)
    return (
        f"Processor seconds of a check that ends in wrong: median "
        f"{times[len(times) // 2]:.2f}, 95 % within {times[int(len(times) * 0.95)]:.2f}"
        f", at most {slow.whole:.2f} ({slow.exercise})."
    )


def _share(part: int, whole: int) -> str:
    return f"{part}/{whole} = {part / max(whole, 1):.1%}"


def page(outcomes: list[Outcome]) -> str:
    """The table, and every message beside the change it is about."""
    ids = list(dict.fromkeys(one.exercise for one in outcomes))
    rows = [_row(id, [one for one in outcomes if one.exercise == id]) for id in ids]
    parts = [
        "# Where checks point",
        "",
        "```",
        _head(),
        *rows,
        "```",
        "",
        *sums(outcomes),
    ]
    for one in outcomes:
        if one.said in SAID[1:]:
            parts += ["", f"## {one.exercise} {one.answer}: {one.said} {one.line}"]
            parts += [
                "",
                f"`{one.mutant}` {one.why or _details(one)}",
                "",
                "```",
                one.text,
                "```",
            ]
    return "\n".join(parts) + "\n"


def _details(one: Outcome) -> str:
    straight = "straight" if one.straight else "with a detour"
    return f"{one.what}, {one.starts} lines, {straight}"


if __name__ == "__main__":
    sys.exit(main())
