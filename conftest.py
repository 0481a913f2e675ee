"""What every test run shares: a quiet offline environment and a stricter nbval.

Unit tests run without a network. nbval 0.11 lets some broken notebooks pass, so its
cells are judged again here; `tests/test_nbval_guard.py` proves each rule.
"""

import os
import socket
import time
from pathlib import Path
from queue import Empty

import pytest
from _pytest.nodeid import coerce_node_id

from tools.build.execute import OverFiles, quiet_environment

ROOT = Path(__file__).resolve().parent

os.environ |= quiet_environment(ROOT)  # kernels inherit it
os.environ.pop("MPLBACKEND", None)

try:
    import nbval.kernel
    from nbval.kernel import RunningKernel
    from nbval.plugin import IPyNbCell
except ImportError:  # unit tests run without nbval too
    IPyNbCell = ()


# --- one lesson alone: `make quick LESSON=02` sets COURSE_LESSON ----------------------


def lesson_number(text) -> int | None:
    """Return 2 for "2", "02", "2.C" or "02_attention", and None for anything else."""
    digits = str(text).replace("_", ".").split(".")[0]
    return int(digits) if digits.isdigit() else None


def pytest_configure(config):
    """Refuse settings that make no sense before anything is collected."""
    seeds()
    wanted = os.environ.get("COURSE_LESSON")
    if not wanted:
        return
    found = sorted(path.stem for path in (ROOT / "lessons").glob("[0-9]*.py"))
    if lesson_number(wanted) not in map(lesson_number, found):
        names = ", ".join(found) or "none yet"
        raise pytest.UsageError(f"There is no lesson {wanted!r}; choose from: {names}.")


def pytest_ignore_collect(collection_path):
    """Do not even import tests of no lesson when one lesson is wanted."""
    if os.environ.get("COURSE_LESSON") and collection_path.match("test_*.py"):
        if "mark.lesson" not in collection_path.read_text(encoding="utf-8"):
            return True
    return None


# Their notebooks train: they begin first, so that two workers end together.
LONGEST_FIRST = ("09", "10", "07", "08", "06", "05")
ON_PROCESSORS = ("test_engine.py", "test_transcripts.py", "test_models_*.py")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config, items):
    """Keep the chosen lesson's tests; group them, and let the longest begin."""
    wanted = lesson_number(os.environ.get("COURSE_LESSON"))
    if wanted is not None:
        dropped = [item for item in items if wanted not in lessons_of(item)]
        config.hook.pytest_deselected(items=dropped)
        items[:] = [item for item in items if wanted in lessons_of(item)]
    for item in items:
        if isinstance(item, IPyNbCell):
            item.output_timeout = 60  # nbval's own five seconds fail on a busy machine
            if config.pluginmanager.hasplugin("xdist"):  # one worker, one kernel
                item.add_marker(pytest.mark.xdist_group(f"solution {item.path.stem}"))
        elif any(map(item.path.match, ON_PROCESSORS)):
            item.add_marker(pytest.mark.processor)
    items[:] = in_order(items)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_finish(session):
    """Let the marker `xdist_group` have its effect: one worker for each group.

    pytest-xdist 3.8 writes the group into `_nodeid`, which pytest 9.2 no longer reads.
    """
    for item in session.items:
        if "_nodeid" in vars(item):
            item._id = coerce_node_id(item._nodeid)


def in_order(items: list) -> list:
    """Return tests as they should begin; those of a group follow one another."""
    first: dict[str, int] = {}  # of each group: its first test's place
    order = []
    for place, item in enumerate(items):
        mark = item.get_closest_marker("xdist_group")
        group = mark.args[0] if mark else item.nodeid
        order.append((turn(item), first.setdefault(group, place), place))
    return [items[place] for _, _, place in sorted(order)]


def turn(item) -> int:
    """Return when a test's turn comes: notebooks first, the longest before others."""
    if isinstance(item, IPyNbCell):
        number = item.path.name[:2]
    elif item.get_closest_marker("notebooks") and hasattr(item, "callspec"):
        number = str(item.callspec.id)[:2]
    else:
        return len(LONGEST_FIRST) + 1
    return (
        LONGEST_FIRST.index(number) if number in LONGEST_FIRST else len(LONGEST_FIRST)
    )


def lessons_of(item) -> set[int | None]:
    """Return the numbers in an item's `lesson` markers."""
    return {
        lesson_number(arg) for mark in item.iter_markers("lesson") for arg in mark.args
    }


# --- seeds: one per processor, more on request ----------------------------------------

SEED_OF = {"default": 1, "avx2": 2}  # 0: without ATEN_CPU_CAPABILITY


def seeds() -> list[int]:
    """Return the seeds of the inputs that checks are tried on.

    `make processors` runs some tests again on other code paths of torch, each with a
    seed of its own. COURSE_SEEDS=20 asks for twenty, `make quick` for one.
    """
    if (asked := os.environ.get("COURSE_SEEDS")) is not None:
        if not (asked.isdecimal() and int(asked) > 0):
            raise pytest.UsageError(
                f"COURSE_SEEDS={asked} is not a number of seeds: set it to a whole "
                "number of at least 1, such as 20, or leave it out."
            )
        return list(range(int(asked)))
    path = os.environ.get("ATEN_CPU_CAPABILITY", "").lower()
    if path or "COURSE_QUICK" in os.environ:
        return [SEED_OF.get(path, 0)]
    import torch

    has_avx2 = torch.backends.cpu.get_cpu_capability().startswith("AVX")
    return [0] if has_avx2 else [0, SEED_OF["avx2"]]


# --- unit tests: no network, no screen ------------------------------------------------

LOCAL_NAMES = {"localhost", "::1", "0.0.0.0", "", None}


def refuse_distant(host):
    """Raise unless `host` is this machine."""
    host = host.decode() if isinstance(host, bytes) else host
    if host not in LOCAL_NAMES and not host.startswith("127."):
        raise RuntimeError(f"A unit test tried to reach {host}: tests run offline.")


def local_only(connect):
    """Wrap `socket.connect` so that it reaches nothing but this machine."""

    def guarded(self, address):
        if self.family in (socket.AF_INET, socket.AF_INET6):
            refuse_distant(address[0])
        return connect(self, address)

    return guarded


@pytest.fixture(scope="session", autouse=True)
def no_network():
    """Forbid connections and name look-ups beyond this machine."""
    look_up = socket.getaddrinfo

    def guarded_look_up(host, *args, **kwargs):
        refuse_distant(host)
        return look_up(host, *args, **kwargs)

    with pytest.MonkeyPatch.context() as patch:
        for name in ("connect", "connect_ex"):
            patch.setattr(socket.socket, name, local_only(getattr(socket.socket, name)))
        patch.setattr(socket, "getaddrinfo", guarded_look_up)
        yield


@pytest.fixture(scope="session", autouse=True)
def no_screen():
    """Draw figures into memory."""
    import matplotlib

    matplotlib.use("agg")


# --- notebooks: what nbval 0.11 overlooks ---------------------------------------------


def await_reply(self, msg_id, timeout=None):
    """Wait for the kernel's reply, keep its status, and notice a kernel that died.

    nbval looks only at error messages. An unknown magic, an exception group or an
    exception that cannot be drawn sends none; the reply's status says "error".
    """
    self.last_status = None
    deadline = time.monotonic() + (timeout or 600)
    while True:
        try:
            message = self.get_message("shell", timeout=2)
        except Empty:
            if not self.is_alive():
                raise RuntimeError("The kernel died while it ran this cell.") from None
            if time.monotonic() > deadline:
                raise
            continue
        if message["parent_header"].get("msg_id") == msg_id:
            self.last_status = message["content"].get("status")
            return


if IPyNbCell:
    RunningKernel.await_reply = await_reply
    nbval.kernel.KernelManager = type(
        "KernelManager", (OverFiles, nbval.kernel.KernelManager), {}
    )


def complaint(item) -> str | None:
    """Return what is wrong with a cell that nbval let pass, or None."""
    status = getattr(item.parent.kernel, "last_status", None)
    expects_error = item.options["check_exception"]
    if expects_error and status != "error":
        return "This cell is tagged raises-exception, but it did not raise."
    if not expects_error and status != "ok":
        return f"The kernel replied {status!r} without an error message."
    if item.options["check"] and item.cell.execution_count is None:
        return "Its output is to be compared, but the stored cell was never executed."
    return None


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    """Turn a cell red that nbval wrongly lets pass."""
    result = yield
    if isinstance(item, IPyNbCell) and (message := complaint(item)):
        item.raise_cell_error(message)
    return result


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    """Remember the first cell of a notebook that failed."""
    report = yield
    if isinstance(item, IPyNbCell) and report.failed:
        item.parent.first_failure = getattr(item.parent, "first_failure", item.name)
    return report


def pytest_runtest_setup(item):
    """Skip the rest of a notebook after its first failure: it would only follow."""
    failed = getattr(item.parent, "first_failure", None)
    if isinstance(item, IPyNbCell) and failed:
        pytest.skip(f"{failed} of this notebook failed")
