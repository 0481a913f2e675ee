"""Execute a notebook from top to bottom in a fresh, quiet, offline kernel."""

import asyncio
import os
import shutil
import tempfile
import weakref
from pathlib import Path

import zmq
from jupyter_client import AsyncKernelManager
from nbclient import NotebookClient
from nbformat import NotebookNode
from traitlets import HasTraits, Unicode, default

TIMEOUT = 600  # seconds a cell may take
# Kernels inherit this. One thread each: two processes that use two threads each are
# several times slower on two cores. The builds of other people may have set more.
QUIET = {
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "TOKENIZERS_PARALLELISM": "false",
    "HF_HUB_OFFLINE": "1",
    "HF_HUB_DISABLE_PROGRESS_BARS": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "TRANSFORMERS_VERBOSITY": "error",
    "PYTHONHASHSEED": "0",
}


class OverFiles(HasTraits):
    """Makes a kernel manager of Jupyter's talk to its kernel through files.

    Jupyter chooses five free ports and leaves them until the kernel takes them, a
    second later; when many kernels start side by side, another one may have been
    faster. Files in a folder of its own belong to one kernel alone.
    """

    transport = Unicode("ipc" if zmq.has("ipc") else "tcp", config=True)

    @default("ip")
    def _beginning_of_the_files(self) -> str:
        if self.transport == "tcp":
            return "127.0.0.1"
        folder = tempfile.mkdtemp(prefix="kernel-")  # short: a socket's path is limited
        weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        return str(Path(folder) / "ipc")


class Kernel(OverFiles, AsyncKernelManager):
    """Starts the kernel of a notebook that is executed here."""


def quiet_environment(root: Path) -> dict[str, str]:
    """The environment of a kernel under test: this one, made quiet.

    Args:
        root: The folder that holds `helpers/`; kernels start in the notebook's own.
    """
    paths = [
        str(root),
        *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep)),
    ]
    quiet = {**QUIET, **os.environ, "COURSE_PROGRESS": "off"}
    quiet["PYTHONPATH"] = os.pathsep.join(paths)
    quiet.pop("MPLBACKEND", None)  # a kernel chooses the inline backend by itself
    return quiet


def client(notebook: NotebookNode, folder: Path, root: Path, **more) -> NotebookClient:
    """A client that runs a notebook as if it lay in `folder`."""
    return NotebookClient(
        notebook,
        timeout=TIMEOUT,
        kernel_name="python3",
        kernel_manager_class=Kernel,
        extra_arguments=["--log-level=40"],  # errors only
        resources={"metadata": {"path": str(folder)}},
        record_timing=False,
        coalesce_streams=True,
        **more,
    )


def execute(notebook: NotebookNode, folder: Path, root: Path, **more) -> NotebookNode:
    """Execute all cells in place.

    Args:
        notebook: What to execute; outputs and counts are filled in.
        folder: Where it would lie: the kernel's working folder.
        root: The folder that holds `helpers/`.
        **more: Further traits of nbclient's `NotebookClient`.

    Raises:
        nbclient.exceptions.CellExecutionError: A cell raised.
    """
    runner = client(notebook, folder, root, **more)
    asyncio.run(runner.async_execute(env=quiet_environment(root)))
    return notebook
