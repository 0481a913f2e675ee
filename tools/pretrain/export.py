"""What the course bundles, measured on the files as they are written.

The held-out perplexity can be computed again later, from the installed packages.
"""

import hashlib
import json
import math
import os
import tempfile
from pathlib import Path

import torch
from safetensors import safe_open
from safetensors.torch import load_file, save
from torch import Tensor
from tqdm import tqdm
from transformers import (
    AutoModelForCausalLM,
    AutoTokenizer,
    GPT2LMHeadModel,
    GPT2Tokenizer,
    PreTrainedTokenizerBase,
)

from helpers.corpora import whole
from tools.pretrain.card import PROMPTS, card, draw_curve
from tools.pretrain.corpus import (
    Package,
    document_text,
    documents,
    installed_packages,
    read_corpus,
)
from tools.pretrain.settings import (
    END,
    Settings,
    settings_of,
    write_atomically,
    write_text,
)
from tools.pretrain.training import build_model, read_checkpoint, token_losses


def digest(paragraph: str) -> str:
    """A short fingerprint: names a paragraph without giving its text away."""
    return hashlib.sha256(paragraph.encode()).hexdigest()[:12]


def export_model(folder: Path, target: Path) -> None:
    """Write config.json, generation_config.json and model.safetensors in float16."""
    state, tensors = read_checkpoint(folder)
    model = build_model(settings_of(state))
    for name, parameter in model.named_parameters():
        parameter.data.copy_(tensors[f"model.{name}"])
    with tempfile.TemporaryDirectory(dir=target) as temporary:
        model.save_pretrained(temporary)  # config.json says float32: computes in that
        weights = load_file(Path(temporary, "model.safetensors"))
        halves = save({name: w.half() for name, w in weights.items()}, {"format": "pt"})
        for file in Path(temporary).glob("*.json"):
            os.replace(file, target / file.name)
    write_atomically(
        target / "model.safetensors", lambda file: file.write_bytes(halves)
    )


def export_tokenizer(folder: Path, target: Path, settings: Settings) -> None:
    """Write tokenizer.json and tokenizer_config.json, as a GPT2Tokenizer."""
    bpe = json.loads((folder / "tokenizer.json").read_text("utf-8"))["model"]
    tokenizer = GPT2Tokenizer(
        vocab=bpe["vocab"],
        merges=[tuple(pair) for pair in bpe["merges"]],
        model_max_length=settings.context,
    )
    tokenizer.save_pretrained(target)


def load_exported(target: Path) -> tuple[GPT2LMHeadModel, PreTrainedTokenizerBase]:
    """The exported model, in float32 and evaluation mode, and its tokenizer."""
    if not (target / "model.safetensors").exists():
        raise SystemExit(f"{target} holds no model: run the `export` stage first.")
    model = AutoModelForCausalLM.from_pretrained(target, dtype=torch.float32)
    return model.eval(), AutoTokenizer.from_pretrained(target)


@torch.no_grad()
def perplexity(model: GPT2LMHeadModel, tokens: Tensor) -> float:
    """exp(mean nats per token), each predicted once from the tokens before it.

    Rows of T tokens stand side by side, so a prediction sees at most T tokens and on
    average T / 2. The very first token is not predicted.
    """
    context = model.config.n_positions
    starts = range(0, len(tokens) - 1, context)
    rows = [tokens[None, start : start + context + 1] for start in starts]  # (1, T + 1)
    model.eval()
    losses = [
        token_losses(model, row).flatten()
        for row in tqdm(rows, desc="perplexity", unit=" rows", leave=False)
    ]
    return torch.cat(losses).mean().exp().item()


def measure(target: Path, held_out: list[list[str]]) -> dict:
    """Perplexity of the exported files on documents, and the units it stands on."""
    model, tokenizer = load_exported(target)
    texts = [document_text(paragraphs) for paragraphs in held_out]
    ids = [i for row in tokenizer(texts, verbose=False)["input_ids"] for i in row]
    value = perplexity(model, torch.tensor(ids))
    characters = sum(len(text) - len(END) for text in texts)
    return {
        "perplexity": round(value, 3),
        "bits_per_character": round(math.log2(value) * (len(ids) - 1) / characters, 3),
        "held_out_tokens": len(ids),
        "held_out_characters": characters,
    }


def write_samples(target: Path, seed: int = 0) -> list[str]:
    """One unedited continuation per prompt, drawn from the 40 most likely tokens."""
    model, tokenizer = load_exported(target)
    torch.manual_seed(seed)
    samples = []
    for prompt in PROMPTS:
        ids = model.generate(
            **tokenizer(prompt, return_tensors="pt"),
            max_new_tokens=60,
            do_sample=True,
            temperature=0.8,
            top_k=40,
            pad_token_id=tokenizer.eos_token_id,
        )
        samples.append(tokenizer.decode(ids[0], skip_special_tokens=True))
    return samples


def record(folder: Path, target: Path) -> dict:
    """All that the card says, measured on the exported files, for training.json."""
    state, _ = read_checkpoint(folder)
    corpus = read_corpus(folder)
    held_out = [row["paragraphs"] for row in corpus if row["held_out"]]
    learned = [row["paragraphs"] for row in corpus if not row["held_out"]]
    with safe_open(folder / "tokens.safetensors", "pt") as tokens:
        train_tokens = tokens.get_slice("train").get_shape()[0]
    model, _ = load_exported(target)
    return {
        "settings": state["settings"],
        "step": state["step"],
        "minutes": round(state["seconds"] / 60, 1),
        "parameters": model.num_parameters(),
        "train_documents": len(learned),
        "train_characters": sum(len(text) for row in learned for text in row),
        "train_tokens": train_tokens,
        "held_out_documents": len(held_out),
        **measure(target, held_out),
        "curve": state["curve"],
        "samples": write_samples(target),
        "packages": {r["package"]: r["version"] for r in corpus if not r["held_out"]},
        "held_out_packages": {
            r["package"]: r["version"] for r in corpus if r["held_out"]
        },
        "held_out_paragraphs": [digest(text) for row in held_out for text in row],
    }


def export(folder: Path, target: Path) -> None:
    """Write everything that the course bundles, measured on what was written."""
    target.mkdir(parents=True, exist_ok=True)
    state, _ = read_checkpoint(folder)
    export_model(folder, target)
    export_tokenizer(folder, target, Settings(**state["settings"]))
    facts = record(folder, target)
    write_text(target / "training.json", json.dumps(facts, indent=1) + "\n")
    write_text(target / "README.md", card(facts))
    write_atomically(
        target / "loss_curve.png", lambda file: draw_curve(facts["curve"], file)
    )
    whole.record(target)


def version_notes(expected: dict[str, str], installed: dict[str, str]) -> list[str]:
    """One sentence for each held-out package whose text may not be the card's."""
    return [
        f"{name} is not installed: the card used {version}."
        if name not in installed
        else f"{name} {installed[name]} is installed: the card used {version}."
        for name, version in expected.items()
        if installed.get(name) != version
    ]


def held_out_documents(facts: dict, packages: list[Package]) -> list[list[str]]:
    """The card's held-out paragraphs, as far as the installed packages hold them."""
    wanted = set(facts["held_out_paragraphs"])
    found = []
    for package in packages:
        if package.name in facts["held_out_packages"]:
            for document in documents(package):
                unique = dict.fromkeys(document)  # a later copy was not new then
                kept = [text for text in unique if digest(text) in wanted]
                wanted -= set(map(digest, kept))
                found += [kept] if kept else []
    return found


def recompute(target: Path, site: Path) -> bool:
    """Print the perplexity of the exported files beside the card's; say if they agree.

    With the same text, the two agree to 1 %: they differ by rounding alone.
    """
    if not (target / "training.json").exists():
        raise SystemExit(
            f"{target} holds no training.json: run the `export` stage first."
        )
    facts = json.loads((target / "training.json").read_text("utf-8"))
    packages = installed_packages(site)
    installed = {package.name: package.version for package in packages}
    for note in version_notes(facts["held_out_packages"], installed):
        print(note)
    found = held_out_documents(facts, packages)
    if not found:
        raise SystemExit("None of the held-out text is installed: nothing to measure.")
    value = measure(target, found)["perplexity"]
    count, total = sum(map(len, found)), len(facts["held_out_paragraphs"])
    print(f"{count:,} of the card's {total:,} held-out paragraphs are installed.")
    print(
        f"Held-out perplexity: {value:.2f} (the card says {facts['perplexity']:.2f})."
    )
    return count < total or math.isclose(value, facts["perplexity"], rel_tol=0.01)
