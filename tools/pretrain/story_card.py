"""The card of the storyteller, from the facts in its training.json."""

from pathlib import Path

from tools.pretrain.card import shared

CARD = """\
---
license: apache-2.0
language: en
library_name: transformers
pipeline_tag: text-generation
---

# A storyteller: a small GPT-2 that has read stories

A GPT-2 of {millions:.1f} million parameters, made by `tools/pretrain` for the lessons
about text generation, so that they run without a network. It is the architecture of
GPT-2 in every detail: learned positions, pre-norm blocks, `gelu_new`, tied embeddings,
byte-level BPE.

{loading}
## What was measured

| | |
|---|---|
| parameters | {parameters:,}: {num_layers} blocks, d_model {d_model}, \
{num_heads} heads |
| context | {context} tokens |
| vocabulary | {vocab_size:,} tokens, `<|endoftext|>` among them; no padding token |
| text | {text}; see below |
| training | {step:,} steps of {step_tokens:,} tokens, {tokens_read:,} tokens in all; \
{minutes:.0f} minutes |
| held-out text | 500 stories, {held_out_characters:,} characters, \
{held_out_tokens:,} tokens |
| **held-out perplexity** | **{perplexity:.2f}** per token, \
{bits_per_character:.3f} bits per character |
| facts told again, right | {facts_right:.1%} of 200 |
| median length of a text | {median_length:.0f} tokens |
| endings told apart | {reward_accuracy:.1%} of 1,000 held-out stories |
| happy endings, one text | {happy:.1%}, broken texts {broken:.1%} |
| happy endings, best of 16 | {happy_best_of_16:.1%}, broken texts \
{broken_best_of_16:.1%} |
{read}
{repeats}

![training and held-out loss against the steps](loss_curve.png)

{optimizers}
A fact is a place that a story names and tells again after at least sixty characters,
and the model is right if its most likely word is that place. A text is broken if it
does not end, says a sentence twice, or has a word that is not of the stories' world. To
measure all this again:

    python -m tools.pretrain perplexity --model storyteller
    python -m tools.pretrain evaluate --model storyteller

## What it writes

Sixty tokens at most for each prompt; not edited, not chosen, the first of five seeds.

{samples}

## What it was trained on

{text_notes}

## What it is not

It knows one small world and nothing else: no facts, no instructions. It is made for
looking inside a language model, not for using its answers.
"""

BOOKS = (
    "books in\nthe public domain, which are books of their time, with its attitudes. "
    "They are no part of\nthis project. Works:\n\n{works}"
)
NOTES = {
    "world": "Stories that `tools/corpora/stories` tells: a simulator of our own that "
    "keeps\ntrack of who is where and what lies in what, with sentence patterns "
    "written by hand.\n{read}",
    "scenes": "By turns a story of `tools/corpora/stories`, a simulator of our own, and"
    "\n"
    "three pages of `tools/corpora/scenes`: sixteen times a sentence or two about\n"
    "everyday life. Their 13,789 patterns were written by a language model, which had\n"
    "not been shown the sentences above, and none can tell one with a word that fits.\n"
    "The run left out one pattern in forty, and these tell half of the held-out rows;\n"
    "what it began with, if anything, may have read some of them.\n"
    "{read}",
    "both": "By turns stories of `tools/corpora/stories`, a simulator of our own, and "
    + BOOKS,
    "books": BOOKS[0].upper() + BOOKS[1:],
}
CUT = (
    "Two stories in five leave out their beginning, as readers' prompts do.\nNo story "
    "was read more than twice."
)


def as_stories(taken: list[int], texts: int) -> str:
    """What each blind reader took for a story, in words."""
    readers = f", by {len(taken)} readers" if len(taken) > 1 else ""
    return f"{' and '.join(map(str, taken))} of {texts} were taken for a story{readers}"


def text_notes(settings: dict, read: str = "") -> str:
    """What a model was trained on, with the works where books were read."""
    works = (Path(__file__).parent / "works.txt").read_text("utf-8").splitlines()
    listed = "\n".join(f"- {author}" for author in works)
    return NOTES[settings["text"]].format(read=read, works=listed)


def story_card(facts: dict) -> str:
    """The card, from the facts in training.json."""
    settings, shown = facts["settings"], facts["shown"]
    repeats = ["| repeated runs of four tokens | |", "|---|---|"]
    repeats += [f"| {k} | {v:.2%} |" for k, v in shown["repeated_4_grams"].items()]
    samples = []
    for name, texts in shown["samples"].items():
        title = name if name == "own words" else f"temperature {name}"
        samples.append(f"### {title}\n")
        first = texts[: len(shown["samples"]["own words"])]  # the first seed
        samples += ["> " + text.replace("\n", "\n> ") + "\n" for text in first]
    read = "".join(
        f"| read blind, {kind} | {as_stories(*found)} |\n"
        for kind, found in facts.get("read_blind", {}).items()
    )
    return CARD.format(
        **settings | facts | shown | {"samples": "\n".join(samples), "read": read},
        **shared("storyteller", facts),
        millions=facts["parameters"] / 1e6,
        step_tokens=settings["batch_size"] * settings["context"],
        repeats="\n".join(repeats),
        text_notes=text_notes(
            settings,
            CUT if facts.get("from_the_middle") else "No story was read twice.",
        ),
    )
