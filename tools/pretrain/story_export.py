"""The storyteller as the course bundles it, measured on the files as written."""

import hashlib
import json
import math
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from tokenizers import Tokenizer
from transformers import GPT2LMHeadModel

from helpers.corpora import whole
from tools.pretrain.card import draw_curve
from tools.pretrain.evaluation import blind_sheet, evaluate
from tools.pretrain.export import (
    export_model,
    export_tokenizer,
    load_exported,
    measure,
)
from tools.pretrain.settings import settings_of, write_atomically, write_text
from tools.pretrain.stories import FROM_THE_MIDDLE, held_out_stories
from tools.pretrain.story_card import as_stories, story_card
from tools.pretrain.training import read_checkpoint

VERDICT = re.compile(r"^(\d+) ([yn])\b", re.MULTILINE)


def export_storyteller(folder: Path, target: Path) -> None:
    """Write weights, tokenizer, curve, training.json and card."""
    state, _ = read_checkpoint(folder)
    settings = settings_of(state)
    target.mkdir(parents=True, exist_ok=True)
    export_model(folder, target)
    export_tokenizer(folder, target, settings)
    write_atomically(
        target / "loss_curve.png", lambda file: draw_curve(state["curve"], file)
    )
    facts = {
        "settings": state["settings"],
        "step": state["step"],
        "landings": state.get("landings", []),
        "minutes": round(state["seconds"] / 60, 1),
        "parameters": load_exported(target)[0].num_parameters(),
        "from_the_middle": FROM_THE_MIDDLE,
        "tokens_read": state["step"] * settings.batch_size * settings.context,
        **held_out(target),
        "curve": state["curve"],
    }
    write_text(target / "training.json", json.dumps(facts, indent=1) + "\n")
    evaluate_exported(target)


def held_out(target: Path) -> dict:
    """The perplexity of the exported files on stories that nobody trained on."""
    texts = [story.text() for story in held_out_stories()]
    told = hashlib.sha256("\n\n".join(texts).encode()).hexdigest()
    return measure(target, [[text] for text in texts]) | {"held_out_sha256": told}


def exported(target: Path) -> tuple[GPT2LMHeadModel, Tokenizer]:
    """The exported model and its tokenizer."""
    model, _ = load_exported(target)
    return model, Tokenizer.from_file(str(target / "tokenizer.json"))


def read_facts(target: Path) -> dict:
    """What was measured at the export.

    Raises:
        SystemExit: Nothing was exported there.
    """
    file = target / "training.json"
    if not file.exists():
        raise SystemExit(
            f"{target} holds no training.json: run the `export` stage first."
        )
    return json.loads(file.read_text("utf-8"))


def evaluate_exported(target: Path) -> dict:
    """Measure what it has to show; keep that in training.json and the card."""
    facts = read_facts(target)
    facts["shown"] = evaluate(*exported(target))
    write_text(target / "training.json", json.dumps(facts, indent=1) + "\n")
    write_text(target / "README.md", story_card(facts))
    whole.record(target)
    return facts["shown"]


def recompute_stories(target: Path) -> bool:
    """Print the perplexity beside the card's; whether the two agree to 1 %."""
    facts = read_facts(target)
    now = held_out(target)
    value = now["perplexity"]
    if now["held_out_sha256"] != facts["held_out_sha256"]:
        print("The story world has changed: its held-out stories are not the card's.")
    print(
        f"Held-out perplexity: {value:.2f} (the card says {facts['perplexity']:.2f})."
    )
    return math.isclose(value, facts["perplexity"], rel_tol=0.01)


def print_shown(shown: dict) -> None:
    """The table, then every sample."""
    for name, value in shown.items():
        if name not in ("samples", "repeated_4_grams"):
            print(f"{name:20} {value}")
    for name, value in shown["repeated_4_grams"].items():
        print(f"repeated 4-grams, {name:20} {value:.4f}")
    for name, samples in shown["samples"].items():
        print(f"\n=== {name}")
        for sample in samples:
            print("- " + sample.replace("\n", "\n  "))


def write_blind_sheet(target: Path, folder: Path) -> None:
    """Write blind.txt, to be read and judged, and blind_key.txt, to be read after."""
    sheet, key = blind_sheet(read_facts(target)["shown"]["samples"])
    write_text(folder / "blind.txt", sheet)
    write_text(folder / "blind_key.txt", "\n".join(key) + "\n")
    print(f"Read {folder / 'blind.txt'}, then compare with blind_key.txt beside it.")


def enter_verdicts(target: Path, folder: Path, files: Sequence[Path]) -> None:
    """Keep in training.json and the card what blind readers took for a story.

    Args:
        target: the exported model
        folder: where `write_blind_sheet` left the key
        files: one of each reader, a line for each text of the sheet: its number, then
            y or n

    Raises:
        SystemExit: A file is missing, or a text has no verdict or several.
    """
    key_file = folder / "blind_key.txt"
    for one in (key_file, *files):
        if not one.exists():
            raise SystemExit(f"{one} is missing: run the `blind` stage, and judge.")
    key = dict(line.split(". ", 1) for line in key_file.read_text("utf-8").splitlines())
    texts = Counter(key.values())
    taken = {kind: [[0] * len(files), texts[kind]] for kind in sorted(texts)}
    for reader, file in enumerate(files):
        said = VERDICT.findall(file.read_text("utf-8"))
        if sorted(number for number, _ in said) != sorted(key):
            raise SystemExit(
                f"{file} needs one line for each of the {len(key)} texts of the sheet, "
                'such as "12 y" or "12 n".'
            )
        for number, verdict in said:
            taken[key[number]][0][reader] += verdict == "y"
    facts = read_facts(target) | {"read_blind": taken}
    write_text(target / "training.json", json.dumps(facts, indent=1) + "\n")
    write_text(target / "README.md", story_card(facts))
    whole.record(target)
    for kind, found in taken.items():
        print(f"{kind}: {as_stories(*found)}")
