"""What a graded process may see, use and reach.

On Linux a process moves itself into namespaces: it sees system libraries, Python and
the course, all read-only, and one folder in memory to write to. It has no network, no
other processes and none of the files of the person who grades. Where the system forbids
that to most programs and allows it to podman, the process is started through podman.
Where nobody may, or the system is not Linux, limits on memory, time and file size are
all there is; `way` tells which.

The kernel is sandboxed a second time: it may write to a smaller folder than nbgrader
does, and holds no privileges that could undo any of this.
"""

import ctypes
import errno
import os
import shutil
import signal
import struct
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
JOB = Path("/job")  # the folder to write to, as the process sees it
KERNEL = "kernel"  # the folder in it that the kernel may write to
SYSTEM = "usr lib lib64 lib32 bin sbin nix etc/alternatives etc/fonts etc/localtime"
LINKER = "etc/ld.so.cache etc/ld.so.conf etc/ld.so.conf.d etc/nsswitch.conf etc/passwd"
HIDDEN = "helpers/exercises/*/variants"  # independent solutions of the exercises
REFERENCES = "helpers/exercises"
DEVICES = ("null", "zero", "full", "random", "urandom")
# Runs a command as root of a user namespace, without any container. It takes no other
# root, and its warnings, about storage that is not used here, would pass for errors.
PODMAN = ("podman", "--log-level", "error", "unshare")

NEWNS, NEWUTS, NEWIPC = 0x20000, 0x4000000, 0x8000000
NEWUSER, NEWPID, NEWNET = 0x10000000, 0x20000000, 0x40000000
MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC = 1, 2, 4, 8
MS_BIND, MS_REC, MS_PRIVATE = 4096, 16384, 1 << 18
RDONLY, NOSUID, NODEV = 1, 2, 4  # as mount_setattr names them
MOUNT_SETATTR, AT_RECURSIVE, AT_FDCWD = 442, 0x8000, -100
PIVOT_ROOT = {"x86_64": 155, "aarch64": 41, "riscv64": 41}
MNT_DETACH = 2
PDEATHSIG, NO_NEW_PRIVS = 1, 38
SECCOMP, FILTER = 22, 2
# What Linux audit calls a machine, and the numbers of the system calls by which memory
# is had that no limit on address space counts: memfd_create, memfd_secret, and shared
# memory and messages of System V (shmget, shmat, msgget).
NO_LIMIT = {
    "x86_64": (0xC000003E, (319, 447, 29, 30, 68)),
    "aarch64": (0xC00000B7, (279, 447, 194, 196, 186)),
    "riscv64": (0xC00000F3, (279, 447, 194, 196, 186)),
}
X32 = 0x40000000  # numbers from here on are the same calls once more, on x86-64


class SandboxError(OSError):
    """The system does not allow sandboxing a process."""


# --- system calls ---------------------------------------------------------------------


def _call(name: str, *arguments: object) -> None:
    """Call a function of the C library; raise where it fails."""
    library = ctypes.CDLL(None, use_errno=True)
    if getattr(library, name)(*arguments) == -1:
        number = ctypes.get_errno()
        raise SandboxError(number, f"{name}: {os.strerror(number)}")


def _mount(source: Path | str, target: Path, kind: str, flags: int, data: str) -> None:
    texts = (os.fsencode(text) for text in (source, target, kind))
    _call("mount", *texts, ctypes.c_ulong(flags), os.fsencode(data))


def _attributes(path: Path, add: int, drop: int = 0, recursive: bool = True) -> None:
    """Change what a mount allows, and the mounts below it."""
    attributes = (ctypes.c_uint64 * 4)(add, drop, 0, 0)
    where = os.fsencode(path)
    how = AT_RECURSIVE if recursive else 0
    size = ctypes.c_size_t(ctypes.sizeof(attributes))
    number = ctypes.c_long(MOUNT_SETATTR)
    _call("syscall", number, AT_FDCWD, where, how, ctypes.byref(attributes), size)


def _unshare(flags: int, user: int) -> None:
    """Leave the namespaces of the others; be `user` in the new one."""
    uid, gid = os.getuid(), os.getgid()
    _call("unshare", ctypes.c_int(flags | NEWUSER))
    Path("/proc/self/setgroups").write_text("deny", encoding="utf-8")
    Path("/proc/self/uid_map").write_text(f"{user} {uid} 1", encoding="utf-8")
    Path("/proc/self/gid_map").write_text(f"{user} {gid} 1", encoding="utf-8")


def _first_of_its_kind() -> None:
    """Go on in a child that is the first process of the new namespace.

    When it ends, the system kills all that it started. This process waits for it.
    """
    child = os.fork()
    if child:
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_IGN)
        for descriptor in (0, 1, 2):
            with suppress(OSError):
                os.close(descriptor)
        _, status = os.waitpid(child, 0)
        code = os.waitstatus_to_exitcode(status)
        os._exit(code if code >= 0 else 128 - code)
    _call("prctl", PDEATHSIG, ctypes.c_ulong(signal.SIGKILL), 0, 0, 0)


# --- the sandbox ----------------------------------------------------------------------


def enter(folder: Path, size: int) -> Path:
    """Sandbox this process; call it while there is one thread.

    Args:
        folder: An empty folder; the new root stands there, for nobody else to see.
        size: Bytes that may be written.

    Returns:
        The folder to write to.

    Raises:
        SandboxError: The system does not allow it. The process may be half sandboxed.
    """
    machine = os.uname().machine
    if sys.platform != "linux" or machine not in PIVOT_ROOT:
        raise SandboxError(f"{sys.platform} on {machine} has no namespaces we know")
    try:
        _unshare(NEWNS | NEWNET | NEWIPC | NEWUTS | NEWPID, user=0)
        _mount("none", Path("/"), "", MS_REC | MS_PRIVATE, "")
        _furnish(folder, size)
        _first_of_its_kind()
        _processes(folder / "proc", 0)  # `enter_again` has to write there
        _attributes(folder, RDONLY, recursive=False)
        _move_in(folder, PIVOT_ROOT[machine])
    except OSError as error:
        raise SandboxError(*error.args) from None
    return JOB


def _furnish(root: Path, size: int) -> None:
    """A small read-only world below `root`, with one folder to write to."""
    _mount("tmpfs", root, "tmpfs", MS_NOSUID | MS_NODEV, "size=1m,mode=755")
    for path in (*(Path("/", name) for name in (SYSTEM + " " + LINKER).split()),):
        _show(path, root)
    for path in _outermost(_pythons()):
        _show(path, root)
    for path in ROOT.glob(HIDDEN):  # an empty folder in its place
        place = root / path.relative_to("/")
        _mount("tmpfs", place, "tmpfs", MS_NOSUID | MS_NODEV, "size=4k,mode=755")
    _attributes(root, RDONLY | NOSUID | NODEV)
    _attributes(root, 0, RDONLY, recursive=False)  # its own folders are still to come
    for name in ("proc", "job", "dev"):
        (root / name).mkdir()
    if not (root / "tmp").exists():  # the course may lie there
        (root / "tmp").symlink_to(f"job/{KERNEL}")
    for name in DEVICES:
        (root / "dev" / name).touch()
        _mount(f"/dev/{name}", root / "dev" / name, "", MS_BIND, "")
    (root / "dev" / "pts").mkdir()  # `!ls` asks for a terminal
    options = "newinstance,ptmxmode=0666,mode=600"
    _mount("devpts", root / "dev" / "pts", "devpts", MS_NOSUID | MS_NOEXEC, options)
    (root / "dev" / "ptmx").symlink_to("pts/ptmx")
    data = f"size={size},mode=755"
    _mount("tmpfs", root / "job", "tmpfs", MS_NOSUID | MS_NODEV, data)
    (root / "job" / KERNEL).mkdir()


def _pythons() -> Iterable[Path]:
    """Where Python, its packages and the course's code lie; nothing else of it."""
    yield from (ROOT / "helpers", ROOT / "tools")
    for name in (sys.prefix, sys.base_prefix, *sys.path):
        path = Path(name)
        if name and path.resolve() != ROOT and path != Path("/") and path.exists():
            yield from (path, path.resolve())


def _outermost(paths: Iterable[Path]) -> list[Path]:
    """Each path that does not lie in another of them."""
    found = set(paths)
    return sorted(path for path in found if not found & set(path.parents))


def _show(path: Path, root: Path) -> None:
    """Let `path` be seen below the new root."""
    place = root / path.relative_to("/")
    if not path.exists() or place.exists():
        return
    place.parent.mkdir(parents=True, exist_ok=True)
    if path.is_symlink():
        place.symlink_to(os.readlink(path))
        _show(path.resolve(), root)
        return
    place.mkdir() if path.is_dir() else place.touch()
    _mount(path, place, "", MS_BIND | MS_REC, "")


def _refuse_unlimited_memory() -> None:
    """From now on the calls of `NO_LIMIT` are not implemented, nor foreign ones."""
    machine, numbers = NO_LIMIT[os.uname().machine]
    load, equal, at_least, end = 0x20, 0x15, 0x35, 0x06  # of the kernel's filters
    allow, refuse = 0x7FFF0000, 0x50000 | errno.ENOSYS
    # Each: operation, lines to skip if true, if false, operand.
    lines = [(load, 0, 0, 4), (equal, 1, 0, machine), (end, 0, 0, refuse)]
    lines += [(load, 0, 0, 0), (at_least, 0, 1, X32), (end, 0, 0, refuse)]
    for number in numbers:
        lines += [(equal, 0, 1, number), (end, 0, 0, refuse)]
    lines += [(end, 0, 0, allow)]
    code = ctypes.create_string_buffer(
        b"".join(struct.pack("HBBI", *it) for it in lines)
    )
    program = struct.pack("HxxxxxxQ", len(lines), ctypes.addressof(code))
    _call("prctl", SECCOMP, ctypes.c_ulong(FILTER), program, 0, 0)


def _processes(place: Path, flags: int) -> None:
    """The list of this namespace's processes; the outer one where that is denied."""
    try:
        _mount("proc", place, "proc", flags | MS_NOSUID | MS_NODEV | MS_NOEXEC, "")
    except SandboxError:
        _mount("/proc", place, "", MS_BIND | MS_REC, "")
        _attributes(place, flags | NOSUID | NODEV)  # read-only is 1 in both


def _move_in(root: Path, pivot_root: int) -> None:
    """Make `root` the only thing there is."""
    os.chdir(root)
    _call("syscall", ctypes.c_long(pivot_root), b".", b".")
    _call("umount2", b".", MNT_DETACH)
    os.chdir(JOB)


def enter_again(writable: Path, hidden: bool = False) -> None:
    """Sandbox the kernel again, just before it replaces this process by `exec`.

    Args:
        writable: The only folder that it may write to.
        hidden: Whether the exercises, with all references, are hidden from it.
    """
    try:
        _unshare(NEWNS | NEWIPC | NEWPID, user=1000)
        if hidden:
            options = MS_NOSUID | MS_NODEV
            _mount("tmpfs", ROOT / REFERENCES, "tmpfs", options, "size=4k,mode=755")
        _mount(writable, writable, "", MS_BIND, "")
        _attributes(Path("/"), RDONLY)
        _attributes(writable, 0, RDONLY)
        for name in (*DEVICES, "pts"):  # each on a mount of its own
            _attributes(Path("/dev", name), 0, RDONLY)
        os.chdir(writable)  # not what lies below that mount, which is read-only
        _first_of_its_kind()
        _processes(Path("/proc"), MS_RDONLY)
        _call("prctl", NO_NEW_PRIVS, 1, 0, 0, 0)
        _refuse_unlimited_memory()
    except OSError as error:
        raise SandboxError(*error.args) from None


def limit(most: Mapping[str, int], for_good: bool = True) -> None:
    """Bound what this process may use.

    Args:
        most: Kind -> number: "AS" bytes of address space, "CPU" seconds, "FSIZE" bytes
            of one file, "CORE" bytes of a crash report, "NPROC" processes and threads,
            "MSGQUEUE" bytes of POSIX messages. What the system lacks is left out.
        for_good: Whether nothing can raise the limit again.
    """
    import resource

    for name, number in most.items():
        kind = getattr(resource, f"RLIMIT_{name}", None)
        if kind is None:
            continue
        _, hard = resource.getrlimit(kind)
        number = number if hard == resource.RLIM_INFINITY else min(number, hard)
        with suppress(OSError, ValueError):  # macOS refuses some
            resource.setrlimit(kind, (number, number if for_good else hard))


def address_space() -> int:
    """How much of it this process has; a PyTorch with CUDA takes several GB at once."""
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="utf-8").split()[0])
    except OSError:
        return 4_000_000_000  # not Linux
    return pages * os.sysconf("SC_PAGE_SIZE")


# --- does it work here? ---------------------------------------------------------------


def way(folder: Path, patience: float = 60.0) -> tuple[tuple[str, ...], str | None]:
    """How processes are sandboxed on this system: by themselves, or through podman.

    Args:
        folder: An empty folder.
        patience: Seconds until one of the two is given up.

    Returns:
        What to put before the command of a process that will call `enter`; and why
        that fails in either way, None where it works.
    """
    barrier = probe(folder, patience)
    if barrier is None or sys.platform != "linux" or not shutil.which(PODMAN[0]):
        return (), barrier
    other = probe(folder, patience, PODMAN)
    if other is None:
        return PODMAN, None
    return (), f"{barrier}; through podman: {other}"


def probe(
    folder: Path, patience: float = 60.0, through: Sequence[str] = ()
) -> str | None:
    """Why processes can't be sandboxed on this system; None where they can.

    Args:
        folder: An empty folder.
        patience: Seconds until it is given up.
        through: What to put before the command.
    """
    command = [*through, sys.executable, "-m", "tools.grading.sandbox", str(folder)]
    try:
        run = subprocess.run(
            command, cwd=ROOT, capture_output=True, text=True, timeout=patience
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    if run.returncode == 0 and run.stdout == "sandboxed\n":
        return None
    return (run.stderr.strip().splitlines() or ["it ended without a word"])[-1]


def _try(folder: Path) -> None:
    """Sandbox this process twice, as grading does, and look around."""
    job = enter(folder, 1 << 20)
    enter_again(job / KERNEL)
    os.environ["TMPDIR"] = str(job / KERNEL)
    import torch  # noqa: F401  all of Python can still be seen

    Path("mine").write_text("", encoding="utf-8")
    for end in os.openpty():
        os.close(end)
    for path in (job / "other", ROOT / "other"):
        try:
            path.write_text("")
        except OSError:
            continue
        raise SandboxError(f"{path} could be written")
    for path in ROOT.glob(HIDDEN + "/*"):
        raise SandboxError(f"{path} could be read")
    print("sandboxed")


if __name__ == "__main__":
    try:
        _try(Path(sys.argv[1]))
    except SandboxError as error:
        sys.exit(f"{error.strerror or error}")
