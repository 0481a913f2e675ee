"""A notebook that is executed as JupyterLab does it when a person chooses Run all."""

from pathlib import Path

from nbclient import NotebookClient
from nbformat import NotebookNode

from tools.build.execute import Kernel, quiet_environment

ROOT = Path(__file__).resolve().parent.parent
PROGRAMS = ("COURSE_PROGRESS", "CI", "NBGRADER_EXECUTION", "NBGRADER_VALIDATING")


def environment(notebook: Path) -> dict[str, str]:
    """What the kernel of a notebook inherits from a Jupyter server."""
    kept = {
        name: value
        for name, value in quiet_environment(ROOT).items()
        if name not in PROGRAMS
    }
    return kept | {"JPY_SESSION_NAME": str(notebook)}


class Person(NotebookClient):
    """Names the cell in its requests, as JupyterLab, VS Code and Colab do."""

    async def async_start_new_kernel_client(self):
        """Start the client, and let each request for an execution name a cell."""
        client = await super().async_start_new_kernel_client()
        message = client.session.msg

        def naming(kind, content=None, **more):
            if kind == "execute_request":
                more["metadata"] = {"cellId": "ex-0-A"}
            return message(kind, content, **more)

        client.session.msg = naming
        return client


def run_all(notebook: NotebookNode, path: Path) -> NotebookNode:
    """Execute all cells in place until one fails.

    Raises:
        nbclient.exceptions.CellExecutionError: A cell did.
    """
    runner = Person(
        notebook,
        kernel_name="python3",
        kernel_manager_class=Kernel,
        resources={"metadata": {"path": str(path.parent)}},
    )
    return runner.execute(env=environment(path))
