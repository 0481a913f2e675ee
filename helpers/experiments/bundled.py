"""The bundled translators, one for each language, and how they are kept.

    translator = load_translator("de")
    translator("The animal didn't cross the street because it was too tired")

`python -m tools.language train` made them. The weights are safetensors, with sizes and
words in their header; `translators.json` beside them has their scores.
"""

import json
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file

from helpers.corpora import whole
from helpers.corpora.language.lookup import lookup
from helpers.corpora.language.words import Words
from helpers.corpora.vocabulary import END, START
from helpers.experiments.language import LONGEST, LanguageTask
from helpers.generation.decoding import greedy_decode
from helpers.models.transformer import Transformer, TransformerConfig
from helpers.pretrained import CheckpointError

FOLDER = Path(__file__).parents[1] / "corpora" / "language" / "weights"
FACTS = "translators.json"


@dataclass(frozen=True)
class Translator:
    """A trained Transformer and the words that it reads and writes."""

    code: str
    model: Transformer
    source: Words
    target: Words

    def __call__(self, text: str) -> str:
        """Translate a typed sentence.

        Raises:
            UnknownWords: A word is not in the language; see `lookup`.
        """
        ids = self.source.encode(lookup(text).text)
        source = torch.tensor([ids])
        written = greedy_decode(self.model, source, None, START, END, LONGEST)
        return self.target.decode(written[0])


def facts(folder: Path = FOLDER) -> dict[str, dict]:
    """Code -> how its translator was trained, and its scores."""
    return json.loads((folder / FACTS).read_text("utf-8"))


def save_translator(
    model: Transformer, task: LanguageTask, about: dict, folder: Path = FOLDER
) -> None:
    """Write the weights of a translator, and what is to be known about them."""
    header = {
        "config": asdict(model.config),
        "source": task.source.pieces,
        "target": task.target.pieces,
    }
    # One entry: of several, safetensors writes one or another first.
    texts = {"translator": json.dumps(header, ensure_ascii=False)}
    folder.mkdir(exist_ok=True)
    save_file(model.state_dict(), folder / f"{task.code}.safetensors", texts)
    known = facts(folder) if (folder / FACTS).exists() else {}
    known[task.code] = about
    text = json.dumps(dict(sorted(known.items())), indent=1) + "\n"
    (folder / FACTS).write_text(text, "utf-8")
    whole.record(folder)


def load_translator(code: str = "de", folder: Path = FOLDER) -> Translator:
    """Load the bundled translator of a language, in eval mode.

    Args:
        code: "de" or "fr"
        folder: where the weights are

    Raises:
        CheckpointError: There is none for this language, or its file is damaged.
    """
    file = folder / f"{code}.safetensors"
    if file in whole.damaged(folder):
        raise CheckpointError(whole.sentence(file))
    if not file.exists():
        raise CheckpointError(
            f"The bundled translator {code!r} is not in {folder}: "
            "download the course again."
        )
    with safe_open(file, "pt") as opened:
        header = json.loads(opened.metadata()["translator"])
    model = Transformer(TransformerConfig(**header["config"]))
    model.load_state_dict(load_file(file))
    words = (Words(tuple(header[side])) for side in ("source", "target"))
    return Translator(code, model.eval(), *words)
