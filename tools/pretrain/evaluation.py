"""What the storyteller has to show, measured on its exported files.

Samples at several temperatures, what repeats, how long a text lasts, how many facts are
kept, how endings can be told apart, and what the best of 16 texts wins.
"""

import random
import re
from functools import cache
from itertools import cycle
from statistics import median

import torch
from tokenizers import Tokenizer
from transformers import GPT2LMHeadModel

from helpers.corpora.stories import HeldOutStory
from helpers.generation.rewards import EndingReader
from tools.corpora.stories import Recall, tell
from tools.corpora.stories.telling import PATTERNS
from tools.corpora.stories.words import BOYS, GIRLS
from tools.pretrain.settings import END
from tools.pretrain.stories import HELD_OUT, held_out_stories

# Beginnings in the manner of the stories.
PROMPTS = (
    "Once there was a girl named Anna, who",
    "There was once a boy whose name was Tom.",
    "It was a cold morning in winter.",
    "Long ago, in a small house by the river,",
    "Emma had a red ball, and she",
    "The wind blew hard that afternoon.",
    "Paul and Mia were friends.",
    "Under the roots of an old oak lived a small rabbit",
    'One day Leo said, "Can you keep a secret?"',
    "Soon it would be her mother's birthday.",
    "Nobody in the village got up as early as Ida.",
    "It was market day, and Max",
    "In the middle of the night Lily woke up.",
    "The baker gave Sam a single seed.",
    "A new family had moved in across the road.",
    "Clara wanted to bake a cake",
    "Inside an old book Ben found a map",
    "Then the sky turned black.",
    '"Where is my key?" asked Karin.',
    "This is the story of Otto, a young bear who",
)

# Beginnings in a reader's own words, chosen before any training.
OWN_PROMPTS = (
    "My dog likes to swim in the sea.",
    "A robot named Zip lived on the moon.",
    "The king had lost his golden crown.",
    "Yesterday I met a dragon who was afraid of mice.",
    "Priya and her brother wanted to bake bread.",
    "It was Saturday, and nobody was awake yet.",
    "The old bus would not start.",
    "There was something strange under the bed.",
    "Grandpa told us never to open the blue door.",
    "A penguin walked into the library.",
    "Lukas was late for school again.",
    "On her tenth birthday Fatima got a telescope.",
    "The witch was in a good mood today.",
    "Two brothers found a boat on the beach.",
    "The phone rang in the middle of the night.",
    "Our teacher brought a snake to class.",
    "He had never seen the ocean before.",
    "The last leaf fell from the tree.",
    '"Help!" cried the little ghost.',
    "In a city far away there was a clock that ran backwards.",
)
TEMPERATURES = (0.0, 0.7, 1.0, 2.0)  # 0 is greedy
FACTS = 200  # cases that are asked
SHORT, LONG = 60, 230  # tokens of a sample; of a whole story
BEST_OF = 16
BLIND = 50  # texts of each kind on the sheet of a blind reader
REAL = 300  # held-out stories beside which the samples are measured
LABELLED = 3000  # stories from which the reader of endings learns
JUDGED = 1000  # and on which it is judged


@torch.no_grad()
def facts_right(
    model: GPT2LMHeadModel, tokenizer: Tokenizer, facts: list[Recall]
) -> list[bool]:
    """Whether the word of each fact is the most likely one, all of its tokens."""
    right = []
    for fact in facts:
        before = tokenizer.encode(END + fact.prompt).ids
        answer = tokenizer.encode(" " + fact.answer).ids
        row = (before + answer)[-model.config.n_positions - 1 :]
        ids = torch.tensor([row[:-1]], device=model.device)
        logits = model(input_ids=ids, use_cache=False).logits[0]  # (T, V)
        guessed = logits[-len(answer) :].argmax(-1).tolist()
        right.append(guessed == answer)
    return right


def fact_cases(count: int = FACTS) -> list[Recall]:
    """Facts that held-out stories tell again, one of each story."""
    found: list[Recall] = []
    seed = HELD_OUT
    while len(found) < count:
        found += tell(seed).recalls()[:1]
        seed += 1
    return found


@torch.no_grad()
def continuations(
    model: GPT2LMHeadModel,
    tokenizer: Tokenizer,
    prompts: list[str],
    temperature: float,
    seed: int,
    length: int = SHORT,
) -> list[list[int]]:
    """New tokens for each prompt, up to and without the end of the text.

    At temperature 0 they are the most likely ones; `length` is how many at most.
    """
    rows = [tokenizer.encode(END + prompt).ids for prompt in prompts]
    longest = max(map(len, rows))
    ids = torch.zeros(len(rows), longest, dtype=torch.long)
    mask = torch.zeros_like(ids)
    for place, row in enumerate(rows):  # padding stands on the left
        ids[place, longest - len(row) :] = torch.tensor(row)
        mask[place, longest - len(row) :] = 1
    torch.manual_seed(seed)
    drawing = {"temperature": temperature, "top_k": 0} if temperature else {}
    written = model.generate(
        input_ids=ids,
        attention_mask=mask,
        max_new_tokens=min(length, model.config.n_positions - longest),
        do_sample=bool(temperature),
        pad_token_id=0,
        eos_token_id=0,
        **drawing,
    )
    return [until_end(row) for row in written[:, longest:].tolist()]


def until_end(ids: list[int]) -> list[int]:
    """The tokens before the end of the text."""
    return ids[: ids.index(0)] if 0 in ids else ids


def repeated(ids: list[int], size: int = 4) -> float:
    """The share of runs of four tokens that were there before, in the same text."""
    runs = [tuple(ids[i : i + size]) for i in range(len(ids) - size + 1)]
    return 1 - len(set(runs)) / len(runs) if runs else 0.0


def mean(values: list[float]) -> float:
    """The mean, rounded to four digits behind the point."""
    return round(sum(values) / len(values), 4)


@cache
def known_words() -> frozenset[str]:
    """Every word that a story of our world can hold, but for rare names."""
    from tools.corpora.stories import words

    text = " ".join(file.read_text("utf-8") for file in PATTERNS.glob("*.txt"))
    text = re.sub(r"\{[^}]*\}", " ", text)
    text += " ".join(v for v in vars(words).values() if isinstance(v, str))
    text += " ".join(GIRLS + BOYS + words.YOUNG_ANIMALS)
    text += " ".join(story.text() for story in held_out_stories(REAL))
    return frozenset(re.findall(r"[a-z]+", text.lower()))


def is_broken(text: str, ended: bool) -> bool:
    """Whether a text never ends, says a sentence twice, or has a word of its own.

    A name of its own is none: a word with a capital letter may be anything.
    """
    sentences = re.split(r"(?<=[.!?])\s", text)
    long = [sentence for sentence in sentences if len(sentence) > 30]
    small = re.findall(r"(?<![A-Za-z])[a-z]+", text)
    return not ended or len(set(long)) < len(long) or not known_words() >= set(small)


def labelled(first: int, count: int) -> list[HeldOutStory]:
    """Stories with their endings, from the seed `first` on."""
    told = [tell(seed) for seed in range(first, first + count)]
    return [HeldOutStory(story.text(), story.happy) for story in told]


def sample_table(model: GPT2LMHeadModel, tokenizer: Tokenizer, seeds: int) -> dict:
    """Repeats at each temperature beside the held-out stories', and samples."""
    real = [tokenizer.encode(story.text()).ids for story in held_out_stories(REAL)]
    table = {"held-out stories": mean([repeated(ids[:SHORT]) for ids in real])}
    samples = {}
    for temperature in TEMPERATURES:
        rows = [
            row
            for seed in range(seeds if temperature else 1)
            for row in continuations(model, tokenizer, list(PROMPTS), temperature, seed)
        ]
        table[f"temperature {temperature}"] = mean(list(map(repeated, rows)))
        samples[str(temperature)] = [
            prompt + tokenizer.decode(row)
            for prompt, row in zip(cycle(PROMPTS), rows, strict=False)
        ]
    own = continuations(model, tokenizer, list(OWN_PROMPTS), 1.0, 0)
    samples["own words"] = [
        prompt + tokenizer.decode(row)
        for prompt, row in zip(OWN_PROMPTS, own, strict=True)
    ]
    return {"repeated_4_grams": table, "samples": samples}


def story_table(model: GPT2LMHeadModel, tokenizer: Tokenizer) -> dict:
    """Whole stories: how long they are, how they end, and what the best of 16 wins."""
    reward = EndingReader(labelled(0, LABELLED))
    judge = EndingReader(labelled(LABELLED, LABELLED), "word counts")  # has read others
    heard = labelled(HELD_OUT, JUDGED)
    prompts = [prompt for prompt in PROMPTS for _ in range(BEST_OF)]
    rows = []
    for start in range(0, len(prompts), 4 * BEST_OF):
        part = prompts[start : start + 4 * BEST_OF]
        rows += continuations(model, tokenizer, part, 1.0, start, LONG)
    texts = [p + tokenizer.decode(row) for p, row in zip(prompts, rows, strict=True)]
    limit = [model.config.n_positions - 40 <= len(row) for row in rows]
    broken = [is_broken(t, not cut) for t, cut in zip(texts, limit, strict=True)]
    rewards, happy = reward(texts).view(-1, BEST_OF), judge(texts) > 0.5
    best = rewards.argmax(1) + torch.arange(len(PROMPTS)) * BEST_OF
    return {
        "median_length": median(len(tokenizer.encode(text).ids) for text in texts),
        "reward_accuracy": round(reward.accuracy(heard), 3),
        "judge_accuracy": round(judge.accuracy(heard), 3),
        "happy": mean(happy.double().tolist()),
        "happy_best_of_16": mean(happy[best].double().tolist()),
        "broken": mean(list(map(float, broken))),
        "broken_best_of_16": mean([float(broken[i]) for i in best.tolist()]),
    }


def evaluate(model: GPT2LMHeadModel, tokenizer: Tokenizer, seeds: int = 5) -> dict:
    """Everything above, in one dictionary."""
    model.eval()
    return {
        "facts_right": mean(
            list(map(float, facts_right(model, tokenizer, fact_cases())))
        ),
        **story_table(model, tokenizer),
        **sample_table(model, tokenizer, seeds),
    }


def blind_sheet(samples: dict, seed: int = 0) -> tuple[str, list[str]]:
    """Samples and held-out stories in mixed order, for a reader who must not know.

    Args:
        samples: as in training.json, at least 50 at the temperatures 1 and 2
        seed: of the order

    Returns:
        the sheet, one numbered text each; the key, one line for each text
    """
    real = [story.text() for story in held_out_stories(BLIND)]
    kinds = {
        "a held-out story": [" ".join(text.split(" ")[:SHORT]) for text in real],
        "temperature 1": samples["1.0"][:BLIND],
        "temperature 2": samples["2.0"][:BLIND],
    }
    rows = [(text, kind) for kind, texts in kinds.items() for text in texts]
    random.Random(seed).shuffle(rows)
    sheet = [f"{number}. {text}" for number, (text, _) in enumerate(rows, 1)]
    key = [f"{number}. {kind}" for number, (_, kind) in enumerate(rows, 1)]
    return "\n\n".join(sheet) + "\n", key
