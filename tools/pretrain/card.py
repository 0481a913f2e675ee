"""The model card and the picture of the loss, from the facts in training.json."""

import textwrap
from pathlib import Path

from matplotlib.figure import Figure

PROMPTS = (
    "The first argument is",
    "If the file does not exist,",
    "This class is used to",
    "When the model is trained,",
    "You can change the",
    "In this example,",
)

LOADING = """\
```python
from transformers import AutoModelForCausalLM, AutoTokenizer

folder = "helpers/corpora/{folder}"
tokenizer = AutoTokenizer.from_pretrained(folder)
model = AutoModelForCausalLM.from_pretrained(folder)
```
"""
OPTIMIZERS = """\
Optimizers: Muon for the matrices of the blocks, AdamW for all else; {warmup_steps}
steps of warm-up, a constant rate, and a straight line to zero over the last
{decay:.0%}. All settings are in `training.json`.
"""

CARD = """\
---
license: apache-2.0
language: en
library_name: transformers
pipeline_tag: text-generation
---

# A very small GPT-2, trained on docstrings

A GPT-2 of {millions:.1f} million parameters (the smallest GPT-2 of OpenAI has 124
million), made by `tools/pretrain` for the lessons about text generation, so that
they run without a network. It is the architecture of GPT-2 in every detail: learned
positions, pre-norm blocks, `gelu_new`, tied embeddings, byte-level BPE.

{loading}
## What was measured

| | |
|---|---|
| parameters | {parameters:,}: {num_layers} blocks, d_model {d_model}, \
{num_heads} heads |
| context | {context} tokens |
| vocabulary | {vocab_size:,} tokens, `<|endoftext|>` among them; no padding token |
| training text | {train_documents:,} docstrings, {train_characters:,} characters, \
{train_tokens:,} tokens |
| training | {step:,} of {steps:,} steps of {step_tokens:,} tokens: \
{epochs:.1f} epochs, {minutes:.0f} minutes by the clock, one thread |
| held-out text | {held_out_documents:,} docstrings, {held_out_characters:,} \
characters, {held_out_tokens:,} tokens, of packages never trained on |
| **held-out perplexity** | **{perplexity:.2f}** per token, \
{bits_per_character:.3f} bits per character |

{optimizers}
![training and held-out loss against the steps](loss_curve.png)

The held-out curve uses {evaluate_rows} rows; the perplexity in the table uses all
held-out tokens and the float16 weights of this folder. To compute it again:

    python -m tools.pretrain perplexity

The command reads the held-out packages that are installed. `training.json` lists the
fingerprints of the paragraphs, so it can tell which of them another version lacks.

## What it writes

Temperature 0.8 among the 40 most likely tokens, seed 0, not edited or chosen; the
prompt is in bold.

{samples}

## What it was trained on

English prose from the docstrings of installed Python packages, read with `ast`:
sentences only; code, tables, formulas, signatures and near copies are filtered out. The
text belongs to the authors of the packages and is not part of this folder.

Held out (one package in {held_out_one_in}, chosen by a hash of its name):
{held_out_list}.

Trained on:
{package_list}.

## What it is not

It has seen the language of software manuals and nothing else. It knows no facts,
follows no instructions, and makes statements about functions that do not exist. It is
made for looking inside a language model, not for using its answers.
"""


def quote(prompt: str, sample: str) -> str:
    """A sample as a Markdown quotation with its prompt in bold."""
    rest = sample.removeprefix(prompt).strip("\n").replace("\n", "\n>\n> ")
    return f"> **{prompt}**{rest}\n"


def shared(folder: str, facts: dict) -> dict[str, str]:
    """What the cards of all models that write have in common."""
    optimizers = OPTIMIZERS.format(**facts["settings"])
    if landings := facts.get("landings"):
        steps = " and ".join(f"{step:,}" for step in landings)
        optimizers += f"After step {steps} the rate had fallen to zero before, and the "
        optimizers += "training went on at the constant rate.\n"
    return {"loading": LOADING.format(folder=folder), "optimizers": optimizers}


def card(facts: dict) -> str:
    """The model card, from the facts in training.json."""
    settings = facts["settings"]
    step_tokens = settings["batch_size"] * settings["context"]

    def names(packages: dict) -> str:
        text = ", ".join(f"{name} {version}" for name, version in packages.items())
        return textwrap.fill(text, 88, break_on_hyphens=False)

    samples = "\n".join(map(quote, PROMPTS, facts["samples"]))
    return CARD.format(
        **settings | facts | {"samples": samples},
        **shared("gpt2", facts),
        millions=facts["parameters"] / 1e6,
        step_tokens=step_tokens,
        epochs=facts["step"] * step_tokens / facts["train_tokens"],
        held_out_list=names(facts["held_out_packages"]),
        package_list=names(facts["packages"]),
    )


def draw_curve(curve: list[dict], file: Path) -> None:
    """Training and held-out loss against the steps, as a PNG."""
    figure = Figure(figsize=(7, 4), dpi=100, layout="constrained")
    axes = figure.subplots()
    steps = [point["step"] for point in curve]
    axes.plot(steps, [p["train"] for p in curve], ":", label="training batch")
    axes.plot(steps, [p["held_out"] for p in curve], "-", label="held-out rows")
    axes.set(xlabel="step", ylabel="loss in nats per token")
    axes.grid(alpha=0.3)
    axes.legend()
    figure.savefig(file, format="png", metadata={"Software": None})
