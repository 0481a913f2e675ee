"""Files that somebody hands in beside an honest notebook, and what becomes of them.

None of them needs a kernel to be refused. What `make grade` says is the same for all,
so it stands here, in one place; the tests of the parts say how each part does it.
"""

import gzip
import json
import os
import pickle
import socket
import stat
import struct
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from zipfile import ZipInfo

from tests.submissions import NAME

GRADED = "graded"
JSON = "the file is not a notebook (not JSON)"
NOTEBOOK = "the file is JSON, but no notebook"
NONE = "there is no notebook in the folder"
BIG = "the file is larger than 20 MB"
LINK, SPECIAL = "it is a link, not a file", "it is a special file, not a file"
OUT, LONG = "its path leads out of the zip", "its name is too long"
BOMB = "it unpacks to over 200 times its size"
TWICE = "its name stands more than once in the zip"
DAMAGED = "it is damaged in the zip"
FILE = f"{NAME}.ipynb"


@dataclass(frozen=True)
class File:
    """Something that is handed in."""

    name: str
    put: Callable[[Path, bytes], object]  # into a folder; it is given a good notebook
    becomes: dict[str, str] = field(default_factory=dict)  # student -> what is said
    honest: str = GRADED  # what becomes of the student beside it


@dataclass(frozen=True)
class Zip:
    """Something that lies in the zip of all submissions."""

    name: str
    members: Callable[[bytes], list[tuple]]  # what `writestr` takes, for each member
    becomes: dict[str, str] = field(default_factory=dict)
    change: Callable[[bytearray], bytes] = bytes  # of the whole zip


def content(name: str, text: bytes | str, said: str = NOTEBOOK) -> File:
    """A file of its own bytes in the place of a notebook."""
    text = text.encode() if isinstance(text, str) else text
    return _at(name, f"eve/{FILE}", lambda good: text, {"eve": said})


def _at(
    name: str,
    place: str | bytes,
    make: Callable[[bytes], bytes] = bytes,
    becomes: dict | None = None,
    **others: str,
) -> File:
    """A file in some place, by default a good notebook."""

    def put(folder: Path, good: bytes) -> None:
        path = folder / os.fsdecode(place)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(make(good))

    return File(name, put, becomes or {}, **others)


def special(name: str, make: Callable[[Path], object], said: str) -> File:
    """Something else than a file in the place of a notebook."""

    def put(folder: Path, good: bytes) -> None:
        (folder / "eve").mkdir()
        make(folder / "eve" / FILE)

    return File(name, put, {"eve": said})


def _hole(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(1 << 40)


def _device(path: Path) -> None:
    os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(1, 5))  # as /dev/zero


def _bound(path: Path) -> None:
    here = Path.cwd()
    os.chdir(path.parent)  # an address has room for 107 bytes
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(path.name)
    os.chdir(here)


def _folder_link(target: str) -> Callable[[Path, bytes], None]:
    return lambda folder, good: (folder / "eve").symlink_to(target)


def _named(name: bytes | str, shown: str) -> File:
    """A student of an odd name, with a good notebook."""
    name = name.encode() if isinstance(name, str) else name
    place = name + b"/" + FILE.encode()
    return _at(f"name {shown}", place, becomes={shown: GRADED})


def _with(**changes: object) -> str:
    """A notebook of one cell, with changes."""
    cell = {"cell_type": "code", "source": "1", "metadata": {}, "outputs": []}
    whole = {"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": [cell]}
    for name, value in changes.items():
        (whole if name in ("nbformat", "cells") else cell)[name] = value
    return json.dumps(whole)


OTHER = "it holds no cell of this lesson's notebook"
NOT_ALONE = f"2 notebooks of one lesson (eve/{FILE}, eve/homework {FILE}): keep one"


def _two(folder: Path, good: bytes) -> None:
    (folder / "eve").mkdir()
    for name in (FILE, f"homework {FILE}"):
        (folder / "eve" / name).write_bytes(good)


def _one_number(folder: Path, good: bytes) -> None:
    for name in ("eve", "mallory"):
        (folder / f"{name}_12_900_{FILE}").write_bytes(good)


SHARED = "2 names carry the platform's number 12: ask whose it is, and rename the file"
FILES = [
    # What is no file.
    special("link to the system", lambda p: p.symlink_to("/etc/passwd"), LINK),
    special("link to a neighbour", lambda p: p.symlink_to(f"../honest/{FILE}"), LINK),
    special("link to a secret", lambda p: p.symlink_to(f"../../secret/{FILE}"), LINK),
    special("link to nothing", lambda p: p.symlink_to("nowhere"), LINK),
    special("link to itself", lambda p: p.symlink_to(FILE), LINK),
    special("link to the process", lambda p: p.symlink_to("/proc/self/mem"), LINK),
    special("pipe", os.mkfifo, SPECIAL),
    special("socket", _bound, SPECIAL),
    special("device", _device, SPECIAL),
    special("folder", lambda p: p.mkdir(), "it is a folder, not a file"),
    special("hole", _hole, BIG),
    File("linked folder", _folder_link("../secret"), {"eve": NONE}),
    File("linked folder of a neighbour", _folder_link("honest"), {"eve": NONE}),
    File("folder around itself", _folder_link("."), {"eve": NONE}),
    # Where it lies, and what it is called.
    _at("too deep", "eve/" + "d/" * 9 + FILE, becomes={"eve": NONE}),
    _at("hidden folder", f"eve/.ipynb_checkpoints/{FILE}", becomes={"eve": NONE}),
    _at("hidden file", f"eve/._{FILE}", becomes={"eve": NONE}),
    _at("what macOS adds", f"__MACOSX/eve/{FILE}"),
    _at("what Finder adds", ".DS_Store"),
    _at("zip", "eve.zip", becomes={"eve": "a .zip file is not a notebook"}),
    _at("program", "eve.py", becomes={"eve": "a .py file is not a notebook"}),
    _at("text", f"eve/{FILE}.txt", becomes={"eve": NONE}),
    _at("evil ending", "eve.<b>", becomes={
        "eve": "a .‹3c›b‹3e› file is not a notebook"}),
    _at("no ending", "eve", becomes={"eve": "a file of this name is not a notebook"}),
    File("two of one", _two, {"eve": NOT_ALONE}),
    _at(
        "a neighbour's name", f"honest_{FILE}",
        honest=f"2 notebooks of one lesson (honest/{FILE}, honest_{FILE}): keep one",
    ),
    File("a neighbour's number", _one_number, {
        "eve (12)": SHARED, "mallory (12)": SHARED}),
    _at("number in other digits", f"eve_١٢_٣_{FILE}", becomes={"eve (12)": GRADED}),
    _at("number of zeros", f"eve_{'0' * 19}7_1_{FILE}", becomes={"eve (7)": GRADED}),
    _at("number that is too long", f"eve_{'9' * 40}_1_{FILE}", becomes={
        f"eve_{'9' * 40} (1)": GRADED}),
    _named("a\nline 9: 19 of 19", "a‹a›line 9: 19 of 19"),
    _named("\x1b[2J\u202eevE", "‹1b›[2J‹202e›evE"),
    _named("<img src=x>", "‹3c›img src=x‹3e›"),
    _named(b"\xff\xfe", "‹ff›‹fe›"),
    _named("-rf $(id) %s {0}", "-rf $(id) %s {0}"),
    _named("\\..\\..", "‹5c›..‹5c›.."),
    _at("name of dots", f".../{FILE}"),
    _named("CON", "CON"),
    _named("=1+1", "=1+1"),
    _named("ü" * 120, "ü" * 32 + "... d2f6dbe503d1"),
    # What stands in it.
    content("empty", "", "the file is empty"),
    content("blank", " \n\t" * 999, "the file is empty"),
    content("mark alone", b"\xef\xbb\xbf", JSON),
    content("half of it", '{"cells": [{"source": "', JSON),
    content("other letters", _with().encode("utf-16"), JSON),
    content("old letters", _with(source="a").replace("a", "ü").encode("latin-1"), JSON),
    content("picture", b"\x89PNG\r\n\x1a\n\0\0", JSON),
    content("packed", gzip.compress(_with().encode()), JSON),
    content("pickle", pickle.dumps({"cells": []}), JSON),
    content("page to log in", "<!DOCTYPE html><title>Log in</title>", JSON),
    content("lists in lists", "[" * 100_000, JSON),
    content("tables in tables", '{"a":' * 100_000, JSON),
    content("digits", '{"cells": ' + "9" * 100_000 + "}", JSON),
    content("large", " " * 20_000_001, BIG),
    content("list", "[]"),
    content("text alone", '"' + "x" * 9_999 + '"'),
    content("not a number", '{"cells": NaN, "nbformat": Infinity}'),
    content("number beyond", _with(nbformat=10**400), OTHER),
    content("format of -1", _with(nbformat=-1)),
    content("format in words", _with(nbformat="4")),
    content("no format", _with(nbformat=None)),
    content("cells in a table", _with(cells={"0": {}})),
    content("cells that are none", _with(cells=[None])),
    content("no cells", _with(cells=[]), "the notebook has no cells"),
    content("cell of another kind", _with(cell_type="odd")),
    content("kind that is none", _with(cell_type=["code"])),
    content("source of numbers", _with(source=[1, 2])),
    content("metadata in a list", _with(metadata=[])),
    content("cell's names in a list", _with(metadata={"nbgrader": ["a"]})),
    content("name in a list", _with(metadata={"nbgrader": {"grade_id": []}}), OTHER),
    content("id in a table", _with(id={"a": 1}), OTHER),
    content("half a letter", _with(source="\ud83d"), OTHER),
    content("null in a source", _with(source="a\0b"), OTHER),
    content("source of one call", _with(source="f(" * 9_000), OTHER),
]  # fmt: skip


def _good(*names: str) -> Callable[[bytes], list[tuple]]:
    """Members of these names, each with a good notebook."""
    return lambda good: [(name, good) for name in names]


def _of_kind(kind: int) -> Callable[[bytes], list[tuple]]:
    def members(good: bytes) -> list[tuple]:
        info = ZipInfo(f"eve/{FILE}")
        info.external_attr = (kind | 0o777) << 16
        return [(info, f"../../secret/{FILE}")]

    return members


def _packed(how: int) -> Callable[[bytes], list[tuple]]:
    return lambda good: [(f"eve/{FILE}", good, how)]


def _entry(made: bytearray, at: int, form: str, value: int) -> bytes:
    """A zip whose last entry says something else."""
    struct.pack_into(form, made, made.rindex(b"PK\1\2") + at, value)
    return bytes(made)


def _crc(made: bytearray) -> bytes:
    return _entry(made, 16, "<I", 1)


def _encrypted(made: bytearray) -> bytes:
    return _entry(made, 8, "<H", 1)


def _small(made: bytearray) -> bytes:
    return _entry(made, 24, "<I", 10)


def _far(made: bytearray) -> bytes:
    return _entry(made, 42, "<I", 0xFFFFFF)


def _shell(made: bytearray) -> bytes:
    return b"#!/bin/sh\ntouch /tmp/OWNED\nexit\n" + bytes(made)


ZIPS = [
    Zip("a folder up", _good(f"../eve/{FILE}"), {"eve": OUT}),
    Zip("up and down", _good(f"eve/../../secret/{FILE}"), {"eve": OUT}),
    Zip("over a neighbour", _good(f"eve/../honest/{FILE}"), {"eve": OUT}),
    Zip("from the root", _good(f"/eve/{FILE}"), {"eve": OUT}),
    Zip("up, on Windows", _good(f"..\\eve\\{FILE}"), {"eve": OUT}),
    Zip("a drive", _good(f"C:\\eve\\{FILE}"), {"C:": OUT}),
    Zip("nothing as a name", _good("..", "//"), {"?": OUT}),
    Zip("link", _of_kind(stat.S_IFLNK), {"eve": LINK}),
    Zip("pipe", _of_kind(stat.S_IFIFO), {"eve": "no file"}),
    Zip("device", _of_kind(stat.S_IFCHR), {"eve": "no file"}),
    Zip("bomb", lambda good: [(f"eve/{FILE}", b"0" * 19_000_000)], {"eve": BOMB}),
    Zip(
        "bomb in a zip",
        lambda good: [("eve.zip", b"0" * 19_000_000)],
        {"eve": "a .zip file is not a notebook"},
    ),
    Zip("name twice", _good(*[f"eve/{FILE}"] * 2), {"eve": TWICE}),
    Zip("name in capitals", _good(f"eve/{FILE}", f"EVE/{FILE}"), {
        "EVE": TWICE, "eve": TWICE}),
    Zip("file for a folder", _good("eve", f"eve/{FILE}"), {
        "eve": "a folder of the zip has the same name"}),
    Zip("long name", _good(f"{'e' * 256}/{FILE}"), {
        f"{'e' * 64}... e1635e58048b": LONG}),
    Zip("deep name", _good(f"{'e/' * 600}{FILE}"), {"e": LONG}),
    Zip("deep but short", _good(f"{'e/' * 100}{FILE}"), {"e": NONE}),
    Zip("line of the report", _good(f"a\n19 of 19/{FILE}"), {"a‹a›19 of 19": GRADED}),
    Zip("mark of a language", _good(f"<script>/{FILE}"), {"‹3c›script‹3e›": GRADED}),
    Zip("wrong sum", _good(f"eve/{FILE}"), {"eve": DAMAGED}, _crc),
    Zip("wrong size", _good(f"eve/{FILE}"), {"eve": DAMAGED}, _small),
    Zip("wrong place", _good(f"eve/{FILE}"), {"eve": DAMAGED}, _far),
    Zip("encrypted", _good(f"eve/{FILE}"), {"eve": "it is encrypted"}, _encrypted),
    Zip(
        "packed in another way",
        _packed(zipfile.ZIP_LZMA),
        {"eve": "it is packed in a way that is not read here"},
    ),
    Zip("program before it", _good(f"eve/{FILE}"), {"eve": GRADED}, _shell),
]  # fmt: skip
