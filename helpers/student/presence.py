"""Whether a person looks at what a cell gives, or a program executes the notebook.

A wrong "yes" would cost a grade or hide a failure from CI: a check that a person sees
as a card raises nothing, and a grader counts a cell that raised nothing as solved. So
it is yes only if two things say so and none speaks against it:

- the kernel belongs to JupyterLab, a hub, VS Code or Colab;
- the message that the kernel is answering names a cell of a notebook, as the messages
  of these do. Those of nbclient, and so of nbconvert, papermill and nbgrader, and those
  of nbval don't; a kernel that such a program starts from within JupyterLab inherits
  the environment, but not this.
"""

import os
import sys
from pathlib import Path
from typing import Any

GRADERS = ("NBGRADER_EXECUTION", "NBGRADER_VALIDATING")
SESSION = "JPY_SESSION_NAME"  # set by the Jupyter server for a notebook's kernel
VSCODE = "__vsc_ipynb_file__"  # among the notebook's variables, set by VS Code


def person_present() -> bool:
    """Whether a person is positively known to have run the cell that is running now.

    Ask while the cell runs, and not in what a slider calls later.
    """
    shell = notebook_shell()
    return (
        shell is not None
        and not _executed_by_a_program()
        and _in_an_interface(shell)
        and _names_a_cell(_message(shell))
    )


def notebook_path() -> Path | None:
    """Where the running notebook lies; None where nobody says so."""
    if not person_present():
        return None  # a session's name may be that of another notebook
    names = notebook_shell().user_ns.get(VSCODE), os.environ.get(SESSION)
    known = (Path(name) for name in names if isinstance(name, str))
    there = (path for path in known if path.is_absolute() and path.parent.is_dir())
    return next(there, None)


def notebook_folder() -> Path:
    """The folder of the running notebook; the working folder where it is not known."""
    path = notebook_path()
    return path.parent if path else Path.cwd()


def notebook_shell() -> Any:
    """IPython's shell in a kernel, or None."""
    ipython = sys.modules.get("IPython")  # absent outside of notebooks
    return ipython.get_ipython() if ipython else None


def _executed_by_a_program() -> bool:
    """Whether nbgrader, CI, or a test of the course says that it executes this."""
    on_ci = os.environ.get("CI", "").lower() not in ("", "0", "false")
    tested = os.environ.get("COURSE_PROGRESS") == "off"
    return on_ci or tested or any(name in os.environ for name in GRADERS)


def _in_an_interface(shell: Any) -> bool:
    """Whether the kernel belongs to a Jupyter server's session, VS Code or Colab."""
    return (
        SESSION in os.environ
        or VSCODE in shell.user_ns
        or type(shell).__module__.startswith("google.colab")
    )


def _message(shell: Any) -> dict:
    """The request that the kernel is answering; empty where there is none."""
    found = shell.get_parent() if hasattr(shell, "get_parent") else None
    return found if isinstance(found, dict) else {}


def _names_a_cell(message: dict) -> bool:
    """Whether a request was sent for a cell of an open notebook."""
    about = message.get("metadata") or {}
    return bool(about.get("cellId") or about.get("colab"))
