"""Cells that need an answer that is still to be written.

They raise, as any program would, and so do they wherever a notebook is executed by a
program. A person who chose Run all gets a line in place of the traceback, and the next
cells run: the kernel replies "ok" instead of "error", on which JupyterLab would stop.
"""

import re
from functools import cache
from typing import Any

from helpers import first_edition
from helpers.checks.card import display, escaped, link, notebook_name
from helpers.student.presence import person_present

STUB = re.compile(r"exercise (\d+\.\w+)")  # what a stub's `raise` line says


def needed(error: BaseException | None) -> str | None:
    """The exercise whose answer an error says is missing.

    Returns:
        Its id; "" for a blank, `...`, of which the error does not say whose it is; None
        where nothing is missing.
    """
    if isinstance(error, NotImplementedError):  # torch has some of its own
        stub = STUB.fullmatch(str(error))
        return first_edition.exercise(stub[1]) if stub else None
    if isinstance(error, TypeError | AttributeError) and "ellipsis" in str(error):
        return ""
    return None


@cache
def let_run_all_go_on(shell: Any) -> None:
    """From now on a cell of this kernel that lacks an answer says so in a line.

    Args:
        shell: IPython's shell.
    """
    passed_over: list[BaseException] = []

    def tell(shell: Any, kind: type, error: BaseException, trace: Any, **how) -> None:
        if needed(error) is None or not person_present():
            shell.showtraceback((kind, error, trace), running_compiled_code=True, **how)
            return
        passed_over.append(error)
        _show(error)

    def forgive(result: Any) -> None:
        if passed_over and passed_over.pop() is getattr(result, "error_in_exec", None):
            result.error_in_exec = None

    shell.set_custom_exc((NotImplementedError, TypeError, AttributeError), tell)
    shell.events.register("post_run_cell", forgive)


def _show(error: BaseException) -> None:
    """Display which answer the cell needs."""
    exercise_id = needed(error)
    if not exercise_id:
        line = f"○ This cell needs a blank, `...`, to be filled in first: {error}."
        marked = escaped(line)
    else:
        line = f"○ This cell needs your answer to {exercise_id}, still to be written."
        there = link(exercise_id, exercise_id, notebook_name())
        marked = escaped(line).replace(exercise_id, there)
    display({"text/plain": line, "text/html": f"<div>{marked}</div>"})
