"""The corpus, its tokenizer and its tokens: from the docstrings of packages.

The packages' text is read with `ast` and never imported; it is not redistributed.
"""

import ast
import hashlib
import json
import re
import warnings
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

import torch
from safetensors.torch import save_file
from tokenizers import ByteLevelBPETokenizer, Tokenizer
from tqdm import tqdm

from tools.pretrain.prose import prose
from tools.pretrain.settings import END, Settings, write_atomically


def docstrings(source: str) -> Iterator[str]:
    """Every bare string of a module, and the texts given to add_newdoc and its kin."""
    if source.count('"""') + source.count("'''") < 2:
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            tree = ast.parse(source)
        except (SyntaxError, ValueError, RecursionError):
            return
    for node in ast.walk(tree):
        values = [node.value] if isinstance(node, ast.Expr) else []
        if isinstance(node, ast.Call) and "doc" in ast.unparse(node.func)[-12:]:
            values = node.args
        for value in values:
            if isinstance(value, ast.Constant) and isinstance(value.value, str):
                yield value.value


@dataclass(frozen=True)
class Package:
    """One installed distribution: its name, version and Python files."""

    name: str
    version: str
    files: tuple[Path, ...]


def installed_packages(site: Path) -> list[Package]:
    """Distributions below a site-packages folder, by name, without vendored copies."""
    found = {}
    for distribution in metadata.distributions(path=[str(site)]):
        files = (
            Path(distribution.locate_file(file))
            for file in distribution.files or []
            if file.suffix == ".py" and not {"..", "_vendor"} & set(file.parts)
        )
        name = distribution.name.lower().replace("_", "-")
        found[name] = Package(name, distribution.version, tuple(sorted(files)))
    return [found[name] for name in sorted(found) if found[name].files]


def is_held_out(name: str, one_in: int) -> bool:
    """Whether a package belongs to the held-out split: a hash of its name decides."""
    return int(hashlib.sha256(name.encode()).hexdigest(), 16) % one_in == 0


def documents(package: Package) -> Iterator[list[str]]:
    """The paragraphs of prose of each docstring of a package, in file order."""
    for file in package.files:
        try:
            source = file.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            continue
        for docstring in docstrings(source):
            if document := list(prose(docstring)):
                yield document


class Novelty:
    """Tells new paragraphs from copies: half of their 6-word runs seen means a copy."""

    def __init__(self):
        self.seen: set[int] = set()

    def __call__(self, paragraph: str) -> bool:
        """True, and remembered, when the paragraph is new."""
        words = re.findall(r"\w+", paragraph.lower())
        runs = {
            zlib.crc32(" ".join(words[i : i + 6]).encode())
            for i in range(max(1, len(words) - 5))
        }
        new = len(runs & self.seen) * 2 < len(runs)
        self.seen |= runs
        return new


def new_documents(packages: list[Package], one_in: int) -> Iterator[dict]:
    """The documents of all packages, each paragraph once, with their split."""
    novelty = Novelty()
    for package in tqdm(packages, desc="corpus", unit=" packages"):
        for document in documents(package):
            if kept := [paragraph for paragraph in document if novelty(paragraph)]:
                yield {
                    "package": package.name,
                    "version": package.version,
                    "held_out": is_held_out(package.name, one_in),
                    "paragraphs": kept,
                }


def build_corpus(folder: Path, site: Path, settings: Settings) -> None:
    """Write corpus.jsonl, one document per line, packages by name."""

    def write(file: Path) -> None:
        with open(file, "w", encoding="utf-8") as out:
            for row in new_documents(
                installed_packages(site), settings.held_out_one_in
            ):
                out.write(json.dumps(row) + "\n")

    write_atomically(folder / "corpus.jsonl", write)


def read_corpus(folder: Path) -> list[dict]:
    """The documents that `corpus` wrote."""
    file = folder / "corpus.jsonl"
    if not file.exists():
        raise SystemExit(f"{file} is missing: run the `corpus` stage first.")
    return [json.loads(line) for line in file.read_text("utf-8").splitlines()]


def document_text(paragraphs: list[str]) -> str:
    """A document as the model sees it: END, then one line per paragraph."""
    return END + "\n".join(paragraphs)


def build_tokenizer(folder: Path, settings: Settings) -> None:
    """Train the byte-level BPE on the training documents and write tokenizer.json."""
    bpe = ByteLevelBPETokenizer()
    texts = [
        "\n".join(d["paragraphs"]) for d in read_corpus(folder) if not d["held_out"]
    ]
    bpe.train_from_iterator(
        texts, settings.vocab_size, special_tokens=[END], show_progress=False
    )
    write_atomically(folder / "tokenizer.json", lambda file: bpe.save(str(file)))


def build_tokens(folder: Path) -> None:
    """Write tokens.safetensors: `train` and `held_out`, each one row of token ids."""
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    corpus = read_corpus(folder)
    tokens = {}
    for name, held_out in ("train", False), ("held_out", True):
        texts = [
            document_text(d["paragraphs"]) for d in corpus if d["held_out"] == held_out
        ]
        ids = [i for row in tokenizer.encode_batch(texts) for i in row.ids]
        tokens[name] = torch.tensor(ids, dtype=torch.uint16)
    write_atomically(
        folder / "tokens.safetensors", lambda file: save_file(tokens, file)
    )


def prepare(folder: Path, site: Path, settings: Settings) -> None:
    """Build corpus, tokenizer and tokens where they are missing."""
    if not (folder / "corpus.jsonl").exists():
        build_corpus(folder, site, settings)
    if not (folder / "tokenizer.json").exists():
        build_tokenizer(folder, settings)
    if not (folder / "tokens.safetensors").exists():
        build_tokens(folder)
