"""Grading on other machines: Dask distributed hands each submission to a worker.

Whoever reaches the port of a scheduler or of a worker can have code run there. So
beyond this machine nothing is taken but TLS, where both sides show a certificate. A
task is a submission; Dask gives it to another worker when one dies. What comes back is
written here alone, by the thread that asked for it: a score is there once.
"""

import argparse
import ipaddress
import logging
import re
import tempfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any
from uuid import uuid4

from tools.grading import far
from tools.grading.course import CourseError
from tools.grading.runner import Grader

CLOSED = "127.0.0.1:0"  # of the page about itself that Dask serves, without TLS
LOCAL = "local"  # the address that starts a cluster on this machine
CERTIFICATES = ("tls_ca_file", "tls_cert", "tls_key")
ADDRESS = re.compile(r"(?:(tcp|tls)://)?(\[[0-9A-Fa-f:.]+\]|[\w.-]+):(\d+)")
CONNECT = 15.0  # seconds for a scheduler to answer
PATIENCE = 60.0  # seconds without any worker until grading ends
AT_ONCE = 32  # submissions that are with the cluster, at least
QUIET = {
    "distributed.admin.large-graph-warning-threshold": "1 GB",  # 20 MB a submission
    "distributed.comm.timeouts.connect": f"{CONNECT:.0f} s",
}


class Cluster:
    """Where submissions are graded.

    Args:
        address: Of the scheduler, as the person named it.
        client: Dask's.
        unsafe: Whether workers may grade without a sandbox.
    """

    def __init__(self, address: str, client: Any, unsafe: bool) -> None:
        self.address, self.client, self.unsafe = address, client, unsafe
        self.conditions = far.conditions()
        self.barrier: str | None = None

    def look(self) -> None:
        """Ask each worker whether it may grade.

        Raises:
            CourseError: One may not, or there is none, or one is not shut off.
        """
        known = self.client.scheduler_info(n_workers=-1)
        for address in (known["address"], *known["workers"]):
            if not private(address):
                raise CourseError(
                    f"{address} of the cluster at {self.address} can be reached from "
                    "other machines, without TLS: start it with --host 127.0.0.1, or "
                    "with certificates, as docs/grading.md says."
                )
        asked = self.conditions, self.unsafe
        found = self.client.run(far.look, *asked, on_error="return")
        if not found:
            raise CourseError(
                f"No worker has joined {self.address}: start some, as docs/grading.md "
                "says, and run it again."
            )
        for address, answer in sorted(found.items()):
            if isinstance(answer, ImportError):
                raise CourseError(
                    f"The worker at {address} can't import the course ({answer}): "
                    "start it in the course's folder, with the course's Python."
                )
            if isinstance(answer, Exception):
                raise CourseError(f"The worker at {address} broke off ({answer}).")
            refusal, barrier = answer
            if refusal:
                raise CourseError(f"The worker at {address} {refusal}.")
            self.barrier = self.barrier or barrier

    @property
    def workers(self) -> dict[str, int]:
        """Address -> how many submissions it grades at a time."""
        return dict(self.client.nthreads())

    @property
    def jobs(self) -> int:
        """How many submissions are given away before one comes back."""
        return max(AT_ONCE, 2 * sum(self.workers.values()))

    def __str__(self) -> str:
        """One line for the person who grades."""
        workers = self.workers
        count = f"{len(workers)} worker{'s' if len(workers) > 1 else ''}"
        where = "on this machine" if self.address == LOCAL else f"at {self.address}"
        return f"{count} {where}, {sum(workers.values())} at a time."


class Far(Grader):
    """Has the workers of a cluster grade; all else is as for `Grader`."""

    task: Callable = staticmethod(far.grade)
    halt: Callable = staticmethod(far.stop)

    def __init__(self, *arguments: Any, cluster: Cluster) -> None:
        super().__init__(*arguments)
        self.cluster, self.client = cluster, cluster.client
        self.id, self.futures = uuid4().hex, set()
        self.packed = cache(lambda path: zlib.compress(Path(path).read_bytes()))

    def stop(self, run: str = "") -> None:
        """Take back every submission, and kill what is done for them."""
        super().stop(run)
        with self.lock:
            futures = list(self.futures)
        if self.client.status == "running":
            with suppress(Exception):  # it is over, with or without the workers
                self.client.cancel(futures, force=True)
                self.client.run(self.halt, self.id, on_error="ignore")

    def _timed(self, job: dict, content: bytes) -> tuple[dict, float]:
        """Have a worker run it; returns its result and the seconds that it took."""
        sent = job | {name: self.packed(job[name]) for name in far.FILES}
        sent |= {"run": self.id, "unsafe": self.cluster.unsafe}
        sent["conditions"] = self.cluster.conditions
        with self.lock:
            if self.stopped:
                return {"reason": "grading was stopped"}, 0.0
            key = f"grade-{uuid4().hex}"  # no name: others may see it
            future = self.client.submit(self.task, sent, content, key=key, pure=False)
            self.futures.add(future)
        try:
            return self._result(future)
        finally:
            with self.lock:
                self.futures.discard(future)
            future.release()

    def _result(self, future: Any) -> tuple[dict, float]:
        from concurrent.futures import CancelledError

        from distributed import KilledWorker

        try:
            while True:
                try:
                    return future.result(timeout=PATIENCE)
                except TimeoutError:
                    if future.done():  # the task itself had none left
                        raise
                    if not self.cluster.workers:
                        raise CourseError(
                            f"For {PATIENCE:.0f} s no worker was left at "
                            f"{self.cluster.address}. What was graded is kept: start "
                            "workers, and run it again."
                        ) from None
        except KilledWorker as error:
            count = error.allowed_failures + 1
            raise OSError(0, f"{count} workers died while they graded it") from None
        except CancelledError:
            if self.stopped:
                return {"reason": "grading was stopped"}, 0.0
            raise CourseError(
                f"The scheduler at {self.cluster.address} is gone. What was graded is "
                "kept: start it again, and run it again."
            ) from None


def private(address: str) -> bool:
    """Whether nobody but this machine, or who has the key, reaches an address."""
    found = ADDRESS.fullmatch(address)
    if not found:
        return False
    scheme, host, _ = found.groups()
    if scheme == "tls" or host == "localhost":
        return True
    with suppress(ValueError):
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    return False


@contextmanager
def connect(options: argparse.Namespace) -> Iterator[Cluster | None]:
    """The cluster that was asked for, while the body runs; None where none was.

    Raises:
        CourseError: It can't be had, or does not keep others out.
    """
    address = options.scheduler
    if not address:
        yield None
        return
    certificates = checked(options)
    try:
        import dask.config
        from distributed import Client, LocalCluster, Security

        security = Security.temporary() if address == LOCAL else None
    except ImportError:
        raise CourseError(
            "--scheduler needs the packages distributed and cryptography: install them "
            "with `.venv/bin/python -m tools.install requirements-classroom.txt`."
        ) from None
    for name in list(logging.root.manager.loggerDict):
        if name.startswith("distributed"):  # of what it mends itself
            logging.getLogger(name).setLevel(logging.CRITICAL)
    with (
        tempfile.TemporaryDirectory(prefix="grading-") as folder,
        dask.config.set(QUIET | {"temporary-directory": folder}),
    ):
        if address == LOCAL:
            with LocalCluster(
                n_workers=options.jobs,
                threads_per_worker=1,
                host="127.0.0.1",
                security=security,
                dashboard_address=CLOSED,
                worker_dashboard_address=CLOSED,
                memory_limit=0,  # of its own process; submissions have their limits
                local_directory=folder,
                silence_logs=logging.CRITICAL,
            ) as cluster:
                with Client(cluster, set_as_default=False) as client:
                    yield _looked(address, client, options)
            return
        if certificates:
            ca, cert, key = certificates
            security = Security(
                tls_ca_file=ca,
                tls_client_cert=cert,
                tls_client_key=key,
                require_encryption=True,
            )
        try:
            client = Client(
                address, security=security, timeout=CONNECT, set_as_default=False
            )
        except (OSError, ValueError) as error:  # among them those of TLS
            raise CourseError(
                f"No scheduler answers at {address} ({_cause(error)}): start one, as "
                "docs/grading.md says, with the same certificates."
            ) from None
        with client:
            yield _looked(address, client, options)


def _looked(address: str, client: Any, options: argparse.Namespace) -> Cluster:
    cluster = Cluster(address, client, options.unsafe)
    cluster.look()
    return cluster


def checked(options: argparse.Namespace) -> list[str]:
    """The three files for TLS, [] where none are needed.

    Raises:
        CourseError: The address is not one, or is not for this machine alone and
            without TLS; or a file is missing.
    """
    address = options.scheduler
    given = [getattr(options, name) for name in CERTIFICATES]
    names = [f"--{name.replace('_', '-')}" for name in CERTIFICATES]
    if address != LOCAL and not ADDRESS.fullmatch(address):
        raise CourseError(
            f"{address} is not the address of a scheduler: say --scheduler "
            f"tls://HOST:8786, or --scheduler {LOCAL} for workers on this machine."
        )
    if address != LOCAL and not private(address):
        raise CourseError(
            f"{address} is not this machine, and whoever reaches it without TLS could "
            "have any program run there: start the scheduler and its workers with "
            "certificates, as docs/grading.md says, and name tls://HOST:PORT."
        )
    if not address.startswith("tls://"):
        if any(given):
            raise CourseError(f"{', '.join(names)} go with an address tls://HOST:PORT.")
        return []
    for name, path in zip(names, given, strict=True):
        if not path or not path.is_file():
            what = f"there is no file {path}" if path else "it was not given"
            raise CourseError(f"{address} needs {name}, a file, and {what}.")
    return [str(path) for path in given]


def _cause(error: BaseException) -> str:
    """The first error's words: Dask wraps those of TLS."""
    while error.__cause__ is not None:
        error = error.__cause__
    return " ".join(str(error).split())[:200] or type(error).__name__
