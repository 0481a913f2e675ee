"""Unpack the zip of all submissions that a platform gives, trusting nothing in it.

Students choose the names and the contents of the files, so: no path leads out of the
folder, nothing is a link, only notebooks are unpacked at all (of other files the name
is enough), and none of them further than a notebook may be long, whatever the zip says
of its size. What is left out is listed with its reason; it costs only itself.
"""

import stat
import unicodedata
import zipfile
import zlib
from collections import Counter
from pathlib import Path, PurePosixPath

from tools.grading.course import CourseError
from tools.grading.restore import MOST

FILES = 20_000  # in a zip
ALL = 4_000_000_000  # bytes that may be unpacked in all
RATIO = 200  # bytes out of one byte in, where more than `SMALL` come out
SMALL = 1_000_000
LONGEST = 1000  # bytes of a name, with its folders
PIECE = 1 << 16
KINDS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)  # no other needs little memory
BROKEN = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError)


class Refused(Exception):
    """A file of a zip that is left out; the text says why."""


def unpack(path: Path, folder: Path) -> list[tuple[str, str]]:
    """Unpack the notebooks of a zip; of other files an empty one stands there.

    Args:
        path: The zip.
        folder: Where to; it exists and is empty.

    Returns:
        (name, reason) of each file that was left out.

    Raises:
        CourseError: It is not a zip, or holds too many files.
    """
    try:
        archive = zipfile.ZipFile(path)
    except (*BROKEN, ValueError, OSError) as error:
        raise CourseError(
            f"{path} can't be read as a zip ({error}): fetch it again, or name the "
            "folder that it unpacks to."
        ) from None
    left, room = [], ALL
    with archive:
        members = [one for one in archive.infolist() if not one.is_dir()]
        if len(members) > FILES:
            raise CourseError(
                f"{path} holds {len(members)} files, and {FILES} are read at most: "
                "unpack it yourself, and name the folder."
            )
        twice = Counter(_same(one.filename) for one in members)
        for one in members:
            try:
                if twice[_same(one.filename)] > 1:
                    raise Refused("its name stands more than once in the zip")
                place = folder.joinpath(*_parts(one.filename))
                room -= _write(archive, one, place, room)
            except Refused as error:
                left.append((one.filename, str(error)))
            except BROKEN:
                place.unlink(missing_ok=True)
                left.append((one.filename, "it is damaged in the zip"))
    return left


def _same(name: str) -> str:
    """Names that some file system takes for one are equal."""
    return unicodedata.normalize("NFC", name.replace("\\", "/")).casefold()


def _parts(name: str) -> tuple[str, ...]:
    """The folders and the file of a member."""
    parts = PurePosixPath(name.replace("\\", "/")).parts
    wrong = not parts or parts[0].startswith("/") or ".." in parts
    if wrong or "\0" in name or ":" in parts[0][1:2]:
        raise Refused("its path leads out of the zip")
    if len(name.encode(errors="replace")) > LONGEST:
        raise Refused("its name is too long")
    if any(len(part.encode(errors="replace")) > 255 for part in parts):
        raise Refused("its name is too long")
    return parts


def _write(
    archive: zipfile.ZipFile, one: zipfile.ZipInfo, place: Path, room: int
) -> int:
    """Write one file; returns how many bytes."""
    kind = stat.S_IFMT(one.external_attr >> 16)
    if kind not in (0, stat.S_IFREG):
        raise Refused("it is a link, not a file" if kind == stat.S_IFLNK else "no file")
    if one.flag_bits & 1:
        raise Refused("it is encrypted")
    if one.compress_type not in KINDS:
        raise Refused("it is packed in a way that is not read here")
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        file = place.open("xb")
    except (FileExistsError, NotADirectoryError):
        raise Refused("a folder of the zip has the same name") from None
    except UnicodeEncodeError:
        raise Refused("its name is not text") from None
    with file:
        if place.suffix.lower() != ".ipynb":
            return 0
        written = 0
        with archive.open(one) as source:
            while written <= MOST and (piece := source.read(PIECE)):
                written += len(piece)
                if written > max(SMALL, RATIO * one.compress_size):
                    place.unlink()
                    raise Refused(f"it unpacks to over {RATIO} times its size")
                if written > room:
                    place.unlink()
                    raise Refused(f"the zip unpacks to over {ALL / 1e9:g} GB")
                file.write(piece)
    return written
