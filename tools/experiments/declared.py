"""The experiments: what each claims, what it is compared with, and what runs."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import numpy as np
import torch
from torch import Tensor

from helpers.corpora.reviews import FOLDS
from helpers.corpora.sonnets import load_text, split_text
from helpers.exercises.attention.module import SelfAttention
from helpers.experiments import (
    bottleneck,
    bundled,
    character_models,
    pronouns,
    recall,
    reversal,
    two_questions,
)
from helpers.experiments import language as little_language
from helpers.experiments import warm_up as warming
from helpers.models.gpt import GPTConfig
from helpers.models.multi_head import MultiHeadAttention
from helpers.models.recurrent import CharacterModel
from helpers.pretrained import load_tokenizer
from helpers.reading import baselines, fine_tuning, reviews
from helpers.reading.mean_classifier import UpperLayers
from helpers.text import characters
from helpers.text.characters import VOWELS, Characters
from helpers.text.count_table import CountTable
from helpers.training.loop import train
from tools.experiments import blocks
from tools.experiments.cells import run_tagged

Row = dict[str, Any]  # a column, or what the summary needs -> its value
CHOSEN_ON = 4  # the fold that the recipe of lesson 09 was chosen on


def _no_summary(rows: Sequence[Row]) -> list[str]:
    return []


@dataclass(frozen=True)
class Experiment:
    """One claim of a lesson that is repeated with other seeds."""

    name: str
    lesson: int
    claim: str
    control: str
    columns: tuple[str, ...]
    run: Callable[..., Row]  # (seed, **settings) -> a row; "held" says if as claimed
    seeds: tuple[int, ...] = (0, 1, 2)
    over: str = "seed"
    form: str = "{:.2f}"  # of a number in a column
    summary: Callable[[Sequence[Row]], list[str]] = _no_summary  # paragraphs


def cells(
    lesson: int, tag: str, read: Callable[[Mapping[str, Any]], Row]
) -> Callable[..., Row]:
    """What runs the lesson's own cells, so that the numbers belong to it as it is."""

    def run(seed: int, **settings: Any) -> Row:
        outcome = run_tagged(lesson, tag, {"seed": seed, **settings})
        return read(outcome.names) | {"held": outcome.held}

    return run


def letters(seed: int) -> Row:
    """Lesson 01's letters in the plane, with the text as it is and shuffled."""

    def beside(stage: Tensor, alphabet: str) -> int:
        pairs = characters.nearest(alphabet[1:], stage[1:])  # without the space
        return sum(pairs[vowel] in VOWELS for vowel in VOWELS)

    real, mixed = (
        run_tagged(1, "letters", {"seed": seed, "shuffle": shuffle})
        for shuffle in (False, True)
    )
    alphabet, stages = real.names["alphabet"].characters, real.names["stages"]
    row: Row = {
        "before training": beside(stages[0], alphabet),
        "after it": beside(stages[max(stages)], alphabet),
        "after it, text shuffled": beside(mixed.names["stages"][max(stages)], alphabet),
    }
    held = row["after it"] == 5 and row["after it, text shuffled"] < 5
    return row | {"held": real.held and held}


def reversing(seed: int) -> Row:
    """Lesson 02's one head, with and without positions, each at its best rate."""
    (unseen,) = reversal.digit_rows(1, 2000, seed=1000)
    columns = {}
    for name, positions, steps in (("positions", True, 200), ("none", False, 1500)):
        right = []
        for rate in (0.001, 0.003, 0.01, 0.03):
            torch.manual_seed(seed)
            model = reversal.OneHeadModel(SelfAttention, with_positions=positions)
            optimizer = torch.optim.Adam(model.parameters(), lr=rate)
            rows = reversal.digit_rows(steps, 64, seed)
            train(model, rows, reversal.reversal_loss, optimizer, steps)
            right.append(reversal.share_reversed(model, unseen))
        columns[name] = 100 * max(right)
    known = 100 * reversal.commonest_of_the_others(unseen)
    held = columns["positions"] > 99 and abs(columns["none"] - known) < 2
    return columns | {"commonest other digit": known, "held": held}


def two_at_once(seed: int, steps: int = 1200) -> Row:
    """Lesson 03's two questions, to one head and to two, each at its best rate."""
    (unseen,) = reversal.digit_rows(1, 2000, seed=1000)
    sizes = {
        "two heads": {"num_heads": 2},
        "one head": {"num_heads": 1},
        "one head, twice as wide": {"num_heads": 1, "d_model": 64},
        "one head, then a hidden layer": {"num_heads": 1, "hidden": 64},
    }
    columns = {}
    for name, size in sizes.items():
        right = []
        for rate in (0.001, 0.003, 0.01, 0.03):
            torch.manual_seed(seed)
            model = two_questions.TwoQuestionsModel(MultiHeadAttention, **size)
            two_questions.learn(model, steps, rate, seed)
            right.append(two_questions.shares_right(model, unseen))
        columns[name] = 50 * max(map(sum, right))
    two, *ones, deep = columns.values()
    return columns | {"held": min(two, deep) > 99 and max(ones) < 75}


def warmed(seed: int) -> Row:
    """Lesson 06's rates, each with and without a warm-up."""
    row: Row = {
        f"{peak}, {steps}": 100 * warming.share_right(peak, steps, seed)
        for peak in warming.RATES
        for steps in warming.WARM_UPS
    }
    learned = [row[name] > 99 for name in WARMED if name != WARMED[-2]]
    return row | {"held": all(learned) and row[WARMED[-2]] < 50}


def _on_sonnets(cell: str, seed: int, steps: int, rate: float) -> float:
    """Bits per held-out character of lesson 07's network, by its own rules."""
    text = load_text()
    train_text, held_out = split_text(text)
    alphabet = Characters.of(text)
    torch.manual_seed(seed)
    history = character_models.train_on_characters(
        CharacterModel(len(alphabet), 128, cell, 0.2),
        alphabet.encode(train_text),
        steps,
        name=cell,
        batch_size=16,
        length=64,
        rate=rate,
        held_out=alphabet.encode(held_out),
        every=steps,
    )
    return history.bits[-1]


def longer_rnn(seed: int, steps: int = 3000) -> Row:
    """Lesson 07's plain RNN with more steps."""
    return {"rnn": _on_sonnets("rnn", seed, steps, 0.01), "held": True}


def character_rates(rate: int, seed: int = 7) -> Row:
    """Lesson 07's networks at another learning rate, in ten-thousandths."""
    row: Row = {
        cell: _on_sonnets(cell, seed, 1000, rate / 10_000)
        for cell in ("rnn", "lstm", "gru")
    }
    text = load_text()
    train_text, held_out = split_text(text)
    costs = CountTable(train_text, 4, Characters.of(text).characters).bits(held_out)
    row["table"] = sum(costs) / len(costs)
    return row | {"held": row["table"] < row["rnn"]}


def through_one_vector(seed: int, width: int = 16, controls: bool = False) -> Row:
    """Lesson 08's translators: a narrow context, a wide one, and a look back.

    With `controls` also other peaks of the rate, and three times as many steps.
    """
    plain = bottleneck.Run(False, width)
    runs = {
        "1000 steps": plain._replace(steps=1000),
        "2000 steps": plain,
        "width 64, 400 steps": plain._replace(width=64, steps=400),
        "width 64, 1000 steps": plain._replace(width=64, steps=1000),
        "attention, 2000 steps": plain._replace(looks_back=True),
    }
    found = {name: bottleneck.measure(run, seed) for name, run in runs.items()}
    row: Row = {name: 100 * score.exact for name, score in found.items()}
    others = [plain._replace(peak=peak) for peak in bottleneck.RATES if peak != 0.01]
    more = [*others, plain._replace(steps=6000)] if controls else []
    row["controls"] = [(run, bottleneck.measure(run, seed)) for run in more]
    row["scores"] = found
    enough = min(row["width 64, 1000 steps"], row["attention, 2000 steps"])
    return row | {"held": row["2000 steps"] < 10 and enough > 95}


def between_wide_networks(seed: int) -> Row:
    """Lesson 08's wide translator, of whose context 16 numbers get through."""
    runs = {
        f"{steps} steps": bottleneck.Run(False, 64, steps, context=16)
        for steps in (2000, 6000)
    }
    runs["width 16, 6000 steps"] = bottleneck.Run(False, 16, 6000)
    found = {name: bottleneck.measure(run, seed) for name, run in runs.items()}
    row: Row = {name: 100 * score.exact for name, score in found.items()}
    return row | {"controls": [], "scores": found, "held": True}


def by_digits_and_time(rows: Sequence[Row]) -> list[str]:
    """A table of the means by digits, and what the controls gave."""
    columns = [*(f"{name} digits" for name in bottleneck.DIGITS), "processor s"]
    lines = [f"| mean | {' | '.join(columns)} |", "|---" * 6 + "|"]
    for name in rows[0]["scores"]:
        some = [row["scores"][name] for row in rows]
        shares = 100 * np.mean([score.by_digits for score in some], 0)
        spent = np.mean([score.seconds for score in some])
        cells = [*(f"{share:.1f}" for share in shares), f"{spent:.0f}"]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    said = ["\n".join(lines)]
    for row in rows:
        for run, score in row["controls"]:
            said.append(
                f"Seed {row['seed']}, {run.steps} steps, peak {run.peak}, without "
                f"attention: {100 * score.exact:.1f} %, in {score.seconds:.0f} s."
            )
    return said


RIGHT = 98  # % of the sentences, at least, in every word, and of the pronouns


def translate_sentences(
    seed: int,
    language: str = "de",
    part: str = "core",
    steps: int = 900,
    peak: float = 0.006,
    d_model: int = 64,
) -> Row:
    """The little language, learnt: held-out words and constructions.

    The row also has the processor time of the training, in seconds.
    """
    task = little_language.language_task(language, part)
    torch.manual_seed(seed)
    model = little_language.new_translator(task, d_model)
    start = time.process_time()
    little_language.teach(model, task, steps, seed, peak)
    row: Row = {"processor s": time.process_time() - start}
    row |= little_language.scores(model, task)
    twins = pronouns.find_twins(language, part, 60, seed)
    pairs = [pair for one in twins for pair in one.both]
    row[pronouns.ALONE] = 100 * pronouns.right_if_alone(model, task, pairs)
    return row | {"held": min(row["exact"], row["pronouns"]) >= RIGHT}


def who_decides(seed: int, language: str = "de", count: int = 60) -> Row:
    """Interventions on a bundled translator, with twins drawn by seed."""
    translator = bundled.load_translator(language)
    words = translator.source, translator.target
    task = little_language.LanguageTask(language, "all", (), (), *words)
    twins = pronouns.find_twins(language, "all", count, seed)
    row: Row = pronouns.report(translator.model, task, twins)
    pairs = [pair for one in twins for pair in one.both]
    row["heads"] = pronouns.without_heads(translator.model, task, pairs)
    return row | {"held": min(row[name] for name in FOLLOWS) >= RIGHT}


def heads_cut(rows: Sequence[Row]) -> list[str]:
    """A table: pronouns that stay right without a head, a mean over the seeds."""
    count = len(next(iter(rows[0]["heads"].values()))) - 1
    names = [f"head {number}" for number in range(1, count + 1)]
    columns = ["pronouns right without", *names, "the whole attention"]
    lines = [f"| {' | '.join(columns)} |", "|---" * len(columns) + "|"]
    for name in rows[0]["heads"]:
        shares = np.mean([row["heads"][name] for row in rows], 0)
        cells = [name, *(f"{100 * share:.0f} %" for share in shares)]
        lines.append(f"| {' | '.join(cells)} |")
    return ["\n".join(lines)]


def contest_at_two_rates(seed: int, steps: int = 250) -> Row:
    """Lesson 10's contest at two learning rates."""
    row: Row = {}
    for rate in (0.004, 0.008):
        outcome = run_tagged(
            10, "contest", {"seed": seed, "rate": rate, "steps": steps}
        )
        for name, bits in outcome.names["bits"].items():
            row[f"{name}, {rate}"] = bits
    ahead = row["LSTM, 0.004"] - row["GPT, 0.004"]
    level = abs(row["LSTM, 0.008"] - row["GPT, 0.008"])
    return row | {"held": outcome.held and ahead > 0.1 and level < 0.1}


@cache
def _bags(fold: int) -> dict[str, list[bool]]:
    """Name of a baseline -> which test reviews of a fold it gets right."""
    split = reviews.load(fold)
    found = {"keywords": baselines.keywords_right(split["test"]).tolist()}
    for name in baselines.BAGS:
        answers = baselines.right(name, split["train"], split["test"])
        found[name] = answers.tolist()
    return found


def bags(fold: int) -> Row:
    """Lesson 09's baselines on one fold."""
    right = _bags(fold)
    shares = {name: 100 * np.mean(answers) for name, answers in right.items()}
    return shares | {"right": right, "held": True}


def fine_tuned(fold: int) -> Row:
    """Lesson 09's encoder, fine-tuned on one fold, beside the baselines."""
    split, tokenizer = reviews.load(fold), load_tokenizer()
    model = fine_tuning.load_classifier()
    fine_tuning.fine_tune(model, reviews.encode(split["train"], tokenizer))
    batches = reviews.in_order(reviews.encode(split["test"], tokenizer))
    logits, labels = fine_tuning.logits_of(model, batches)
    ours = (logits.argmax(-1) == labels).tolist()
    row = bags(fold)
    row["right"] = row["right"] | {"fine-tuned": ours}
    best = max(np.mean(row["right"][name]) for name in baselines.BAGS)
    return row | {"fine-tuned": 100 * np.mean(ours), "held": np.mean(ours) > best}


@cache
def _kept(count: int, frozen: int) -> tuple[list[dict], ...]:
    """Training and test rows of a fold, with the states of the frozen layers."""
    split, tokenizer = reviews.load(CHOSEN_ON), load_tokenizer()
    model = fine_tuning.load_classifier()
    return tuple(
        fine_tuning.keep_states(model, reviews.encode(rows, tokenizer), frozen)
        for rows in (split["train"].select(range(count)), split["test"])
    )


def with_rate(
    rate: int, head: int = 100, count: int = 300, frozen: int = 4, seed: int = 0
) -> Row:
    """Lesson 09's fine-tuning with learning rates of so many times 1e-5."""
    train, test = _kept(count, frozen)
    recipe = fine_tuning.Recipe(
        rate=rate * 1e-5, head_rate=head * 1e-5, frozen=frozen, seed=seed
    )
    model = fine_tuning.load_classifier(seed=seed)
    history = fine_tuning.fine_tune(model, train, recipe)
    upper = UpperLayers(model, frozen)
    found = fine_tuning.scores(*fine_tuning.logits_of(upper, reviews.in_order(test)))
    last = history.loss[-(len(history.loss) // recipe.epochs) :]
    return {
        "accuracy, %": 100 * found.accuracy,
        "test loss": found.loss,
        "training loss, last epoch": float(np.mean(last)),
        "held": True,
    }


def with_head_rate(head: int) -> Row:
    """Lesson 09's fine-tuning with 5e-5, and another rate for the head."""
    return with_rate(5, head)


def small_tables(seed: int, steps: int = 400) -> Row:
    """Lesson 10's recall with two layers, whose two tables begin large or small."""
    task, right = recall.RecallTask(), {}
    for name, std in (("1", 1.0), ("0.07", 0.07), ("0.02", 0.02)):
        torch.manual_seed(seed)
        sizes = {"d_model": 64, "num_heads": 2, "num_layers": 2, "first_std": 0.07}
        config = GPTConfig(task.vocab_size, task.length, **sizes)
        model = recall.RecallGPT(config)
        for table in (model.embedding, model.positions):
            torch.nn.init.normal_(table.weight, std=std)
        _, shares = recall.train_to_recall(model, task, steps, seed, name=name)
        right[name] = 100 * shares[-1]
    return right | {"held": right["1"] > 99 and max(right["0.07"], right["0.02"]) < 30}


def gap(ours: Sequence[bool], theirs: Sequence[bool]) -> tuple[float, float]:
    """Difference in accuracy on the same reviews, and its standard error."""
    apart = np.array(ours, float) - np.array(theirs, float)
    return apart.mean(), apart.std(ddof=1) / len(apart) ** 0.5


def pooled(rows: Sequence[Row]) -> list[str]:
    """Every review is in the test split of one fold, so the folds pool.

    The recipe was chosen on one fold: the gap is told without it, too.
    """
    names = list(rows[0]["right"])
    pools = {name: sum((row["right"][name] for row in rows), []) for name in names}
    shares = [f"{name} {100 * np.mean(pool):.1f} %" for name, pool in pools.items()]
    said = [f"All these folds together: {', '.join(shares)}."]
    if "fine-tuned" not in names:
        return said
    best = max((n for n in names if n != "fine-tuned"), key=lambda n: np.mean(pools[n]))
    untouched = [row for row in rows if row["seed"] != CHOSEN_ON]
    for text, some in ("these folds", rows), (f"without fold {CHOSEN_ON}", untouched):
        ours, theirs = (
            sum((row["right"][name] for row in some), [])
            for name in ("fine-tuned", best)
        )
        if ours:
            apart, error = gap(ours, theirs)
            said.append(
                f"Gap to {best}, {text}: {100 * apart:.1f} points, standard error "
                f"{100 * error:.1f} ({len(ours)} reviews)."
            )
    return said


WARMED = tuple(f"{peak}, {w}" for peak in warming.RATES for w in warming.WARM_UPS)
SENTENCES = (  # what the tables of the little language show
    "processor s",
    "exact",
    "pronouns",
    "modal_question",
    "front_because",
    pronouns.ALONE,
)
FOLLOWS = ("adjective changed", "noun swapped")  # pronouns that must follow
INTERVENTIONS = (
    *FOLLOWS,
    pronouns.ALONE,
    *(f"other adjective, vector of {place}" for place in pronouns.PLACES),
    "other adjective, its vector read alone",
    *(f"other noun, vector of {place}" for place in pronouns.PLACES),
    "other noun, its vector read alone",
    *(f"looks at {place}" for place in pronouns.PLACES),
)
BAG_COLUMNS = ("keywords", *baselines.BAGS)
_ALL = (
    Experiment(
        "letters",
        1,
        "Letters learn vectors in the plane by predicting the next letter: after "
        "1,200 steps the letter nearest to each of *a, e, i, o, u* is another of them, "
        "with each of thirty seeds.",
        "The same training on the same letters in random order: with none of these "
        "seeds all five. The columns count the vowels whose nearest letter, of the 25 "
        "others, is a vowel; by chance it would be 0.8 of five. Before "
        "training the vectors are random numbers.",
        ("before training", "after it", "after it, text shuffled"),
        letters,
        seeds=tuple(range(30)),
        form="{:.0f}",
    ),
    Experiment(
        "reversal",
        2,
        "One head of attention learns to reverse eight digits, so that more than 99 % "
        "of unseen digits are right. Without vectors of the positions it gets, to "
        "within two points, as many right as someone who knows which digits there "
        "are, but not where.",
        "The same model without positions, 1,500 steps instead of 200; both take the "
        "best of four learning rates, chosen on the rows that it is reported on. The "
        "last column is the most that such a person can expect.",
        ("positions", "none", "commonest other digit"),
        reversing,
        form="{:.1f}",
    ),
    Experiment(
        "two_questions",
        3,
        "For every digit of a row one layer of attention is asked for two others, the "
        "one in the mirror place and the one before. If a linear layer reads its "
        "output, two heads get more than 99 % of all answers right from each of three "
        "starts, and one head, of the same width or twice as wide, less than 75 %.",
        "Each takes the best of four learning rates, chosen on the rows that it is "
        "reported on, after 1,200 steps. The last column puts a hidden layer of 64 "
        "between one head and the scores: more than 99 % as well, so one head does not "
        "lack the information. Nor is the linear layer a limit: in other trials, with "
        "other starts, most single heads stayed at two thirds, and a few reached 98 to "
        "100 %, with weights that depend on the digits.",
        (
            "two heads",
            "one head",
            "one head, twice as wide",
            "one head, then a hidden layer",
        ),
        two_at_once,
        form="{:.1f}",
    ),
    Experiment(
        "translation",
        6,
        "The Transformer of the lesson's own cells, trained for 900 steps, translates "
        "held-out sentences of the little language into German: at least 97 % are "
        "right in every word, and at least 97 % of the pronouns.",
        "Held-out pairs of words, the animal and the street among them, are in no "
        "training sentence. The recipe is that of `sentences_de` with the paper's "
        "warm-up and without clipping.",
        ("exact, %", "pronouns, %"),
        cells(
            6,
            "translation",
            lambda names: {
                "exact, %": 100 * names["score"],
                "pronouns, %": 100 * names["pronouns_score"],
            },
        ),
        form="{:.1f}",
    ),
    Experiment(
        "warm_up",
        6,
        "A small post-norm Transformer learns to reverse eight symbols with and "
        "without warm-up, more than 99 % right, at peaks of the learning rate up to "
        "0.016; at 0.032 it does so with a warm-up of 100 steps, and without one "
        "fewer than half are right.",
        "The same 400 steps, batches and initial weights, and the same fall to 0 over "
        "the last half. Each column: the peak, and the steps of the warm-up; in % of "
        "held-out symbols. By chance 10 % of them would be right.",
        WARMED,
        warmed,
        form="{:.1f}",
    ),
    *(
        Experiment(
            f"sentences_{code}",
            6,
            "A small Transformer translates sentences of the little language into "
            f"{name} whose words it has never seen together: at least {RIGHT} % "
            f"are right in every word, and at least {RIGHT} % of the pronouns.",
            "Held-out pairs of words (the animal and the street among them) are in no "
            "training sentence. All in %, but for the seconds of processor time that "
            "the training took; two held-out constructions are reported as they come. "
            "The last column is the share of right pronouns, of sentences whose *it* "
            "could be either noun, if all attention of the encoder is cut.",
            SENTENCES,
            partial(translate_sentences, language=code),
            form="{:.1f}",
        )
        for code, name in (("de", "German"), ("fr", "French"))
    ),
    *(
        Experiment(
            f"pronouns_{code}",
            6,
            f"The bundled {name} translator writes another pronoun where another "
            f"adjective or another noun asks for one, in at least {RIGHT} % of the "
            "sentences.",
            "Twins differ in one adjective, which alone tells what *it* stands for; "
            "three seeds draw them, of one form (too ...). The vectors that the "
            "decoder reads at one place are exchanged for those of the other sentence, "
            "as its encoder writes them or, read alone, as an encoder without "
            "attention does; a column says in how many % the pronoun changed. If all "
            "pronouns are right without attention in the encoder, then the decoder can "
            "work them out by itself; if some are lost, the encoder may have had a "
            "part in it, or the cut harmed what the decoder reads. The two bundled "
            "translators differ in this, so it is said of these weights alone. The "
            "decoder also knows the nouns from what it has written. The last columns "
            "are the shares of the cross-attention as the pronoun is written: where it "
            "looks, not what it needs.",
            INTERVENTIONS,
            partial(who_decides, language=code),
            form="{:.0f}",
            summary=heads_cut,
        )
        for code, name in (("de", "German"), ("fr", "French"))
    ),
    Experiment(
        "characters",
        7,
        "After the same 1,000 steps, an LSTM and a GRU need fewer bits per held-out "
        "character than a plain RNN.",
        "All three have 128 hidden units, and the same text, steps, rate and dropout.",
        ("rnn", "lstm", "gru"),
        cells(7, "characters", lambda names: dict(names["bits"])),
        form="{:.3f}",
    ),
    Experiment(
        "character_rates",
        7,
        "With the seed of the lesson, a plain RNN needs more bits per held-out "
        "character after 1,000 steps than a table of counts that backs off from four "
        "characters of context, at each of four learning rates.",
        "The table, and an LSTM and a GRU with the same steps, hidden units and rates. "
        "The lesson takes 0.01.",
        ("rnn", "lstm", "gru", "table"),
        character_rates,
        seeds=(25, 50, 100, 200),
        over="rate x 10,000",
    ),
    Experiment(
        "longer_rnn",
        7,
        "How many bits per held-out character a plain RNN needs after 3,000 steps, "
        "which take about as long as 1,000 steps of a GRU.",
        "The GRU of `characters`, with the same seed.",
        ("rnn",),
        longer_rnn,
        form="{:.3f}",
    ),
    Experiment(
        "bottleneck",
        8,
        "Number words of up to six digits, from English to German. A recurrent "
        "translator whose decoder gets a context of 16 numbers and nothing else has "
        "fewer than 10 % of the held-out numbers right after 2,000 steps. One that "
        "looks back at all states of the encoder has more than 95 % right with the "
        "same width and steps, and so has one with a context of 64 numbers after "
        "1,000 steps.",
        "The width is 16 where no other is named; all in % of 800 held-out numbers, "
        "with the peak 0.01 of the learning rate for all. The wide one shows that it "
        "is not the task, and the one with attention that it is not the width alone. "
        "With other peaks and longer trainings (`--set controls=True`) the narrow "
        "one stays below: the same three seeds gave at most 0.2 % at 0.0025, 2.4 % at "
        "0.005 and 7.2 % at 0.02 after 2,000 steps, and at 0.01 between 6.2 and "
        "17.9 % after 6,000.",
        (
            *("1000 steps", "2000 steps"),
            *("width 64, 400 steps", "width 64, 1000 steps", "attention, 2000 steps"),
        ),
        through_one_vector,
        form="{:.1f}",
        summary=by_digits_and_time,
    ),
    Experiment(
        "narrow_context",
        8,
        "How many numbers the translator of `bottleneck` with width 64 has right if "
        "16 of the 64 numbers of its context get through, and the others are set to 0.",
        "The same translator with all 64 of them, in `bottleneck`: no weights are "
        "added or taken away. The last column is the translator whose networks are "
        "narrow, too. All in % of 800 held-out numbers, with the peak 0.01 of the "
        "learning rate.",
        ("2000 steps", "6000 steps", "width 16, 6000 steps"),
        between_wide_networks,
        form="{:.1f}",
        summary=by_digits_and_time,
    ),
    Experiment(
        "baselines",
        9,
        "How many test reviews a keyword rule and bags of words get right, in %.",
        "Five folds: every review is tested once.",
        BAG_COLUMNS,
        bags,
        seeds=tuple(range(FOLDS)),
        over="fold",
        form="{:.1f}",
        summary=pooled,
    ),
    Experiment(
        "reviews",
        9,
        "A fine-tuned encoder gets more test reviews right than the best bag of words.",
        "The bags of words of `baselines`, on the same reviews; the gap is paired.",
        (*BAG_COLUMNS, "fine-tuned"),
        fine_tuned,
        seeds=tuple(range(FOLDS)),
        over="fold",
        form="{:.1f}",
        summary=pooled,
    ),
    Experiment(
        "rates",
        9,
        "How the fine-tuning of lesson 09 fares with four learning rates, in a quicker "
        "variant: 300 reviews, and the upper two of six layers learn.",
        "Fold 4, the one that the recipe was chosen on; one seed, three epochs, and "
        "1e-3 for the head in all. The standard error of an accuracy is 3.4 points.",
        ("accuracy, %", "test loss", "training loss, last epoch"),
        with_rate,
        seeds=(5, 10, 20, 40),
        over="rate in 1e-5",
        form="{:.2f}",
    ),
    Experiment(
        "head_rates",
        9,
        "How the same fine-tuning fares with 5e-5 where the head learns faster.",
        "The first row is the one with 5e-5 of `rates`, whose head learns with 1e-3; "
        "fold 4 and one seed as there, so the best of these rows is chosen on what is "
        "reported.",
        ("accuracy, %", "test loss", "training loss, last epoch"),
        with_head_rate,
        seeds=(100, 200, 400, 800),
        over="rate of the head in 1e-5",
        form="{:.2f}",
    ),
    Experiment(
        "contest",
        10,
        "Which of the two is ahead after 250 steps depends on the learning rate: at "
        "0.004 a GPT needs at least 0.1 bits per held-out character fewer than an "
        "LSTM, and at 0.008 they differ by less than 0.1 bits.",
        "Both models have the same number of parameters to within 2 %, and read the "
        "same text and as many characters per step. Each rate is the other's control. "
        "Nothing is claimed of other rates and of longer trainings.",
        ("LSTM, 0.004", "GPT, 0.004", "LSTM, 0.008", "GPT, 0.008"),
        contest_at_two_rates,
        seeds=(10, 11, 12),
        form="{:.3f}",
    ),
    Experiment(
        "recall",
        10,
        "After 400 steps two layers of attention look up a value by its key (more than "
        "99 % are right), with one head that looks at the token before and one that "
        "looks the value up. One layer does not (less than 30 %).",
        "The GPT of one layer is as wide and learns from the same texts, at the same "
        "rates. An LSTM has more parameters than the first GPT and as many steps (less "
        "than 60 %). The last two columns are the highest scores of a head of the GPT "
        "with two layers.",
        ("GPT, two layers", "GPT, one layer", "LSTM", "previous token", "look-up"),
        cells(
            10,
            "recall",
            lambda names: (
                dict(names["right"])
                | {name: score.max().item() for name, score in names["scores"].items()}
            ),
        ),
        seeds=(10, 11, 12),
    ),
    Experiment(
        "small_tables",
        10,
        "Lesson 10's recall with two layers hangs on the two tables' initial weights: "
        "after 400 steps more than 99 % are right where their standard deviation is 1, "
        "and less than 30 % where it is smaller.",
        "The same GPT, with the same texts, rates and other initial weights. Nothing "
        "is claimed of more steps and of other rates. The share of right answers in %.",
        ("1", "0.07", "0.02"),
        small_tables,
        seeds=(10, 11, 12),
        form="{:.1f}",
    ),
    Experiment(
        "blocks",
        12,
        "How many bits per held-out byte GPT-2's block and today's need after equal "
        "steps, and how today's fares with one part at a time as GPT-2 has it.",
        "All models read the same stories in the same order and have, to within 1 %, "
        "as many parameters: what a part adds is taken from the width of the "
        "feed-forwards. Both blocks take the best of four learning rates, chosen with "
        "seed 0 on the stories that they are reported on; a part goes back at the rate "
        "that is best for today's, which may not be its own best. In the columns of "
        "equal seconds the slower block is cut off before its rate has fallen to 0; "
        "the seconds of a step are those of the processor, measured by turns. After "
        "3,000 steps over 40,000 stories, at the rate 0.004 and with seed 0 alone, "
        "GPT-2's block needed 0.296 bits and today's 0.244.",
        blocks.COLUMNS,
        blocks.compare,
        form="{:.3f}",
        summary=blocks.along_the_way,
    ),
)
EXPERIMENTS = {one.name: one for one in _ALL}
