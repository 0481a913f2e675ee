"""The guesser as the course bundles it, measured beside two tables of counts."""

import json
import math
import os
import tempfile
from collections import Counter, defaultdict
from pathlib import Path

import torch
from safetensors.torch import load_file, save
from tokenizers import Tokenizer
from torch import Tensor
from transformers import AutoTokenizer, BertForMaskedLM, BertTokenizer

from helpers.corpora import whole
from tools.corpora.stories import tell
from tools.pretrain.card import draw_curve
from tools.pretrain.guesser import (
    MASK,
    SENTENCES,
    SPECIAL,
    build_guesser,
    fill_rows,
    guess_logits,
)
from tools.pretrain.settings import (
    GuesserSettings,
    settings_of,
    write_atomically,
    write_text,
)
from tools.pretrain.stories import held_out_stories
from tools.pretrain.story_card import text_notes
from tools.pretrain.training import read_checkpoint

COUNTED = 20_000  # stories from which the tables of counts are made
ASKED = 40  # held-out stories of which every word is asked
SHOWN = 5  # guesses that are printed for a sentence

BEGUN = "; it began as an earlier one had become: {step:,} steps, {minutes:.0f} minutes"
CARD = """\
---
license: apache-2.0
language: en
library_name: transformers
pipeline_tag: fill-mask
---

# A guesser: a small BERT that has read stories and scenes

A BERT of {millions:.1f} million parameters, made by `tools/pretrain` for the lesson
about masked language models, so that it runs without a network. WordPiece, no capitals.

```python
from transformers import AutoTokenizer, BertForMaskedLM

folder = "helpers/corpora/guesser"
tokenizer = AutoTokenizer.from_pretrained(folder)
model = BertForMaskedLM.from_pretrained(folder)
```

## What was measured

| | |
|---|---|
| parameters | {parameters:,}: {num_layers} layers, d_model {d_model}, \
{num_heads} heads, {context} positions |
| vocabulary | {vocab_size:,} pieces of words |
| text | {text}; see below |
| training | {step:,} steps of {batch_size} full rows, {minutes:.0f} minutes{begun} |
| held-out perplexity of a hidden word | {perplexity:.2f} |
| held-out words, first guess right | **{top_1:.1%}** of {asked:,} |
| a table of left and right neighbours | {neighbours:.1%} |
| always the commonest word | {commonest:.1%} |
| sentences below, first guess fits | {fitting} of {sentences} |

![training and held-out loss against the steps](loss_curve.png)

One word of a held-out row is hidden at a time. The table of neighbours knows which word
stood most often between these two; then after the one on the left; then anywhere. It
was counted on {counted:,} stories. All held-out words are those of stories. To measure
it again:

    python -m tools.pretrain evaluate --model guesser

## What it guesses

Sentences that were fixed before the training; its first five guesses.

| sentence | guesses |
|---|---|
{guesses}

## What it was trained on

{text_notes}

## What it is not

It knows the words of what it has read and no facts. It is made for looking inside a
masked language model, not for using its answers.
"""


def export_guesser(folder: Path, target: Path) -> None:
    """Write weights in float16, tokenizer, curve, training.json and card."""
    state, tensors = read_checkpoint(folder)
    settings = settings_of(state)
    target.mkdir(parents=True, exist_ok=True)
    _export_model(settings, tensors, target)
    vocabulary = Tokenizer.from_file(str(folder / "tokenizer.json")).get_vocab()
    BertTokenizer(
        vocab=vocabulary, do_lower_case=True, model_max_length=settings.context
    ).save_pretrained(target)
    write_atomically(
        target / "loss_curve.png", lambda file: draw_curve(state["curve"], file)
    )
    facts = {
        "settings": state["settings"],
        "step": state["step"],
        "minutes": round(state["seconds"] / 60, 1),
        "begun": state["begun"],
        "curve": state["curve"],
    }
    write_text(target / "training.json", json.dumps(facts, indent=1) + "\n")
    evaluate_guesser(target)


def _export_model(
    settings: GuesserSettings, tensors: dict[str, Tensor], target: Path
) -> None:
    model = build_guesser(settings)
    for name, parameter in model.named_parameters():
        parameter.data.copy_(tensors[f"model.{name}"])
    with tempfile.TemporaryDirectory(dir=target) as temporary:
        model.save_pretrained(temporary)
        weights = load_file(Path(temporary, "model.safetensors"))
        halves = save({name: w.half() for name, w in weights.items()}, {"format": "pt"})
        for file in Path(temporary).glob("*.json"):
            os.replace(file, target / file.name)
    write_atomically(
        target / "model.safetensors", lambda file: file.write_bytes(halves)
    )


def load_guesser(target: Path) -> tuple[BertForMaskedLM, BertTokenizer]:
    """The exported model in float32 and evaluation mode, and its tokenizer."""
    if not (target / "model.safetensors").exists():
        raise SystemExit(f"{target} holds no model: run the `export` stage first.")
    model = BertForMaskedLM.from_pretrained(target, dtype=torch.float32)
    return model.eval(), AutoTokenizer.from_pretrained(target)


def held_out_cases(tokenizer: Tokenizer, settings: GuesserSettings) -> Tensor:
    """Rows of held-out stories, (N, T); every place of each is asked once."""
    texts = [story.text() for story in held_out_stories(ASKED)]
    return torch.tensor(fill_rows(tokenizer, texts, settings))


class NeighbourTable:
    """Which token stood most often between two others: what a table can know."""

    def __init__(self, rows: Tensor):
        """Count rows of ids, (N, T)."""
        between, after = defaultdict(Counter), defaultdict(Counter)
        everywhere: Counter = Counter()
        for row in rows.tolist():
            for left, token, right in zip(row, row[1:], row[2:], strict=False):
                if token >= len(SPECIAL):
                    between[left, right][token] += 1
                    after[left][token] += 1
                    everywhere[token] += 1
        self.between = {k: c.most_common(1)[0][0] for k, c in between.items()}
        self.after = {k: c.most_common(1)[0][0] for k, c in after.items()}
        self.commonest = everywhere.most_common(1)[0][0]

    def guess(self, left: int, right: int) -> int:
        """The most frequent token here; else after the left one; else anywhere."""
        found = self.between.get((left, right), self.after.get(left))
        return self.commonest if found is None else found


@torch.no_grad()
def guessed(model: BertForMaskedLM, rows: Tensor) -> tuple[Tensor, Tensor]:
    """The first guess at every place of held-out rows, and the loss there, both (K,).

    A row is asked as often as it has words, each time with one of them hidden.
    """
    guesses, losses = [], []
    for row in rows:
        places = (row >= len(SPECIAL)).nonzero().flatten()
        asked = row.repeat(len(places), 1)
        here = torch.arange(len(places)), places
        hidden = torch.zeros_like(asked, dtype=torch.bool)
        hidden[here] = True
        logits = guess_logits(model, asked.masked_fill(hidden, MASK), hidden)
        guesses.append(logits.argmax(-1))
        losses.append(
            torch.nn.functional.cross_entropy(logits, row[places], reduction="none")
        )
    return torch.cat(guesses), torch.cat(losses)


def first_guesses(model: BertForMaskedLM, tokenizer: BertTokenizer) -> dict:
    """The most likely words for each of the fixed sentences."""
    found = {}
    for sentence in SENTENCES:
        row = tokenizer(sentence, return_tensors="pt").input_ids
        with torch.no_grad():
            logits = model(row).logits[row == MASK][0]
        found[sentence] = tokenizer.convert_ids_to_tokens(logits.topk(SHOWN).indices)
    return found


def measure_guesser(target: Path, counted: int = COUNTED) -> dict:
    """Top-1 beside the two tables, and the guesses for the fixed sentences."""
    model, tokenizer = load_guesser(target)
    settings = settings_of(json.loads((target / "training.json").read_text("utf-8")))
    pieces = Tokenizer.from_file(str(target / "tokenizer.json"))
    told = [tell(seed).text() for seed in range(counted)]
    table = NeighbourTable(torch.tensor(fill_rows(pieces, told, settings)))
    rows = held_out_cases(pieces, settings)
    guesses, losses = guessed(model, rows)
    words = rows >= len(SPECIAL)
    left, right = rows.roll(1, 1)[words].tolist(), rows.roll(-1, 1)[words].tolist()
    by_table = torch.tensor(list(map(table.guess, left, right)))
    truth, found = rows[words], first_guesses(model, tokenizer)
    return {
        "parameters": model.num_parameters(),
        "asked": len(truth),
        "top_1": (guesses == truth).double().mean().item(),
        "neighbours": (by_table == truth).double().mean().item(),
        "commonest": (truth == table.commonest).double().mean().item(),
        "perplexity": losses.mean().exp().item(),
        "counted": counted,
        "sentences": len(SENTENCES),
        "fitting": sum(found[s][0] in SENTENCES[s].split() for s in SENTENCES),
        "guesses": found,
    }


def evaluate_guesser(target: Path) -> dict:
    """Measure it, and keep what was measured in training.json and the card."""
    if not (target / "training.json").exists():
        raise SystemExit(
            f"{target} holds no training.json: run the `export` stage first."
        )
    facts = json.loads((target / "training.json").read_text("utf-8"))
    facts["shown"] = measure_guesser(target)
    write_text(target / "training.json", json.dumps(facts, indent=1) + "\n")
    write_text(target / "README.md", guesser_card(facts))
    whole.record(target)
    return facts["shown"]


def guesser_card(facts: dict) -> str:
    """The card, from the facts in training.json."""
    shown, begun = facts["shown"], facts.get("begun")
    rows = [f"| {s} | {', '.join(found)} |" for s, found in shown["guesses"].items()]
    return CARD.format(
        **facts["settings"]
        | facts
        | shown
        | {"guesses": "\n".join(rows)}
        | {"begun": BEGUN.format(**begun) if begun else ""},
        millions=shown["parameters"] / 1e6,
        text_notes=text_notes(facts["settings"], "Each epoch hides other words."),
    )


def print_guesses(shown: dict) -> None:
    """The numbers, then the guesses for every sentence."""
    for name, value in shown.items():
        if name != "guesses":
            print(f"{name:12} {value}")
    for sentence, found in shown["guesses"].items():
        print(f"{sentence:45} {', '.join(found)}")


def recompute_guesser(target: Path) -> bool:
    """Print the perplexity beside the card's; whether the two agree to 1 %."""
    if not (target / "training.json").exists():
        raise SystemExit(
            f"{target} holds no training.json: run the `export` stage first."
        )
    facts = json.loads((target / "training.json").read_text("utf-8"))["shown"]
    value = measure_guesser(target, counted=100)["perplexity"]
    print(
        f"Held-out perplexity: {value:.2f} (the card says {facts['perplexity']:.2f})."
    )
    return math.isclose(value, facts["perplexity"], rel_tol=0.01)
