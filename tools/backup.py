"""Copies of a student's work: `make lab` keeps a few, `make export` makes one to take.

    python -m tools.backup [--to FOLDER]

A copy is a zip file whose entries begin with `work/`: unpacked in the course's folder,
on any machine, it brings the notebooks and the progress back. Needs the standard
library alone.
"""

import argparse
import os
import sys
import time
import zipfile
import zlib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# What is hidden is the business of other programs, except for these.
COURSE = (".course.json", ".progress.json", ".answers")
KEPT = 10  # backups
LARGEST = 20_000_000  # bytes of a file that is backed up; `make export` takes any
MOST = 50_000_000  # bytes in one backup, before they are packed


# --- backups --------------------------------------------------------------------------


def back_up(work: Path, backups: Path) -> list[str]:
    """Keep a dated copy of `work`, unless the newest one holds the same.

    Args:
        work: the student's folder
        backups: where the copies lie; the oldest go when there are more than `KEPT`

    Returns:
        What was done or could not be done, in one sentence; empty where there was
        nothing to do.
    """
    try:
        files, left_out = _bounded(files_of(work))
        copies = sorted(backups.glob("*.zip"))
        if not files or (copies and _holds(copies[-1], work, files)):
            return []
        target = backups / f"{time.strftime('%Y-%m-%d-%H%M%S')}.zip"
        pack(work, files, target)
        for old in sorted(backups.glob("*.zip"))[:-KEPT]:
            old.unlink()
    except OSError as error:
        reason = error.strerror or error
        return [f"Could not back up {work} ({reason}); your files are unchanged."]
    told = f"Backed up {work} to {target} ({_count(files)}"
    told += f", {left_out} too large for it" * bool(left_out)
    return [f"{told}); the newest {KEPT} backups are kept."]


def _bounded(files: list[Path]) -> tuple[list[Path], int]:
    """The files that a backup has room for, notebooks first; how many it has not."""
    taken, room = [], MOST
    for file in sorted(files, key=_turn):
        size = file.stat().st_size
        if size <= min(LARGEST, room):
            room -= size
            taken.append(file)
    return sorted(taken), len(files) - len(taken)


def _turn(file: Path) -> tuple[bool, int]:
    return file.suffix != ".ipynb", file.stat().st_size


def _holds(copy: Path, work: Path, files: list[Path]) -> bool:
    """Whether a copy holds these files as they are now, and no others."""
    try:
        with zipfile.ZipFile(copy) as archive:
            there = {entry.filename: entry.CRC for entry in archive.infolist()}
    except zipfile.BadZipFile:
        return False
    return there == {
        _entry(work, file): zlib.crc32(file.read_bytes()) for file in files
    }


# --- a copy ---------------------------------------------------------------------------


def files_of(work: Path) -> list[Path]:
    """The student's files, sorted; nothing hidden but what the course keeps there."""
    found = []
    for folder, folders, names in os.walk(work):
        folders[:] = filter(_theirs, folders)
        paths = [Path(folder, name) for name in filter(_theirs, names)]
        found += [path for path in paths if path.is_file()]
    return sorted(found)


def _theirs(name: str) -> bool:
    """Whether a file or folder is the student's, or kept for them by the course."""
    return name in COURSE or not name.startswith(".")


def pack(work: Path, files: list[Path], target: Path) -> None:
    """Pack files of `work` into a zip file, which is there whole or not at all."""
    target.parent.mkdir(parents=True, exist_ok=True)
    part = target.with_name(f".{target.name}.part")
    try:
        with zipfile.ZipFile(
            part, "w", zipfile.ZIP_DEFLATED, strict_timestamps=False
        ) as archive:
            for file in files:
                archive.write(file, _entry(work, file))
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)


def _entry(work: Path, file: Path) -> str:
    return f"work/{file.relative_to(work).as_posix()}"


def _count(files: list[Path]) -> str:
    return f"{len(files)} file{'s'[: len(files) > 1]}"


# --- to take away ---------------------------------------------------------------------


def export(work: Path, folder: Path) -> str:
    """Pack all of `work` into one zip file in `folder`; a sentence about it.

    Raises:
        OSError: it can't be written.
        ValueError: there is nothing to pack, or no such folder.
    """
    files = files_of(work)
    if not files:
        raise ValueError(f"There is nothing in {work} yet: `make lab` begins it.")
    if not folder.is_dir():
        raise ValueError(f"There is no folder {folder}: name one that is there.")
    target = folder / f"my-work-{time.strftime('%Y-%m-%d-%H%M%S')}.zip"
    pack(work, files, target)
    size = target.stat().st_size / 1e6
    return (
        f"Packed {_count(files)} of {work} into {target} ({size:.1f} MB). To go on "
        "elsewhere, unpack it in the folder of the course, and run `make lab` there."
    )


def main(arguments: list[str] | None = None) -> int:
    """Pack the student's work; one sentence either way."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.backup",
        description="Pack the notebooks and the progress of work/ into one zip file.",
    )
    parser.add_argument(
        "--to", type=Path, default=ROOT, metavar="FOLDER", help="where to put it"
    )
    folder = parser.parse_args(arguments).to
    try:
        print(export(ROOT / "work", folder))
    except ValueError as error:
        print(error, file=sys.stderr)
        return 1
    except OSError as error:
        reason = error.strerror or error
        print(
            f"Could not write the copy to {folder} ({reason}): name another folder "
            'with `make export ARGS="--to FOLDER"`.',
            file=sys.stderr,
        )
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
