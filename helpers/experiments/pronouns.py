"""Where is it decided what "it" means? Interventions on a trained translator.

Twins are two sentences that differ in one adjective, and so in what "it" stands for:
"The animal did not cross the street because it was too tired", or too wide. Up to the
pronoun their translations are the same.
"""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from helpers.corpora.language.grammar import (
    Draw,
    ambiguous,
    because,
    reasons,
    sensible,
)
from helpers.corpora.language.lexicon import NOUNS, PERSONS
from helpers.corpora.language.pairs import PARTS, SentencePair, language, pair_of
from helpers.corpora.language.words import parted
from helpers.corpora.vocabulary import START, pad
from helpers.experiments.language import LanguageTask
from helpers.models.masks import look_ahead_mask, padding_mask
from helpers.models.transformer import Transformer, cross_weights

ALONE = "right, encoder without attention"
PLACES = ("it", "adjective", "meant", "other", "the rest")


@dataclass(frozen=True)
class Twins:
    """Sentences that differ in one adjective: "it" is the subject, or the object."""

    subject: SentencePair
    object: SentencePair

    @property
    def both(self) -> tuple[SentencePair, SentencePair]:
        """First the one whose "it" is the subject."""
        return self.subject, self.object


def find_twins(code: str, part: str, count: int = 100, seed: int = 0) -> list[Twins]:
    """Draw twins whose pronouns differ in the other language.

    Args:
        code: of the other language
        part: of the language, "core" or "all"
        count: how many
        seed: another seed, other twins
    """
    draw, found = Draw(seed, PARTS[part]), {}
    pronoun = language(code).pronoun
    while len(found) < count:
        one = because(draw)
        who, what = one.main.subject, one.main.object
        same = pronoun(who.noun) == pronoun(what.noun)
        if same or {who.noun, what.noun} & PERSONS or not one.because.too:
            continue
        known = [
            (meant, word)
            for meant, word, too in reasons(one.main)
            if too and not ambiguous(one.main, word)
        ]
        other = "object" if one.because.subject == who else "subject"
        words = [word for meant, word in known if meant == other]
        if words:
            meant = what if other == "object" else who
            why = one.because._replace(subject=meant, adjective=words[0])
            pairs = pair_of(one, code), pair_of(one._replace(because=why), code)
            ordered = pairs if other == "object" else pairs[::-1]
            found[ordered[0].source] = Twins(*ordered)
    return list(found.values())


def with_other_noun(task: LanguageTask, pair: SentencePair) -> SentencePair | None:
    """The same sentence about another thing, whose pronoun is another one.

    Returns:
        None where no other noun fits.
    """
    one, pronoun = pair.meaning, language(task.code).pronoun
    meant = one.because.subject
    for noun in filter(PARTS[task.part].__contains__, NOUNS):
        other = meant._replace(noun=noun)
        if noun in PERSONS or pronoun(noun) == pronoun(meant.noun):
            continue
        main = one.main
        name = "subject" if main.subject == meant else "object"
        main = main._replace(**{name: other})
        why = one.because._replace(subject=other)
        if sensible(changed := one._replace(main=main, because=why)):
            return pair_of(changed, task.code)
    return None


# --- what the model writes in the place of the pronoun --------------------------------


def source_ids(task: LanguageTask, pair: SentencePair) -> Tensor:
    """(1, S): the ids that the encoder reads."""
    return torch.tensor([task.source.encode(pair.source)])


def before_pronoun(task: LanguageTask, pair: SentencePair) -> tuple[Tensor, int]:
    """What is written before the pronoun, (1, T), and the id of the pronoun."""
    known = language(task.code).PRONOUNS
    words = parted(pair.target)
    place = next(i for i, word in enumerate(words) if word in known)
    ids = task.target.encode(pair.target)
    assert ids[0] == START
    return torch.tensor([ids[: place + 1]]), ids[place + 1]


@torch.no_grad()
def next_word(model: Transformer, memory: Tensor, written: Tensor) -> int:
    """The id of the word that is written next."""
    mask = look_ahead_mask(written.shape[1])
    return int(model.decode(written, memory, mask)[0, -1].argmax())


@torch.no_grad()
def right_pronouns(
    model: Transformer, task: LanguageTask, pairs: Sequence[SentencePair]
) -> float:
    """The share of pairs whose pronoun is right, given all that stands before it."""
    before = [before_pronoun(task, pair) for pair in pairs]
    written = pad(ids[0].tolist() for ids, _ in before)  # (B, T)
    last = torch.tensor([ids.shape[1] - 1 for ids, _ in before])
    sources = task.sources(pairs)
    mask = padding_mask(sources)
    memory = model.encode(sources, mask)
    logits = model.decode(written, memory, look_ahead_mask(written.shape[1]), mask)
    found = logits[torch.arange(len(pairs)), last].argmax(-1)  # (B)
    return (found == torch.tensor([right for _, right in before])).float().mean().item()


# --- exchanging what the decoder reads ------------------------------------------------


def places(task: LanguageTask, pair: SentencePair) -> dict[str, list[int]]:
    """Where each of `PLACES` stands among the ids of the source.

    "meant" is the noun that "it" stands for, "other" the other one.
    """
    words = ["<start>", *parted(pair.source), "<end>"]
    main, why = pair.meaning.main, pair.meaning.because
    other = main.object if why.subject == main.subject else main.subject
    found = {
        "it": [words.index("because") + 1],
        "adjective": [len(words) - 3],
        "meant": [words.index(why.subject.noun)],
        "other": [words.index(other.noun)],
    }
    taken = sum(found.values(), [])
    return found | {"the rest": [i for i in range(len(words)) if i not in taken]}


@torch.no_grad()
def exchanged(
    model: Transformer,
    task: LanguageTask,
    couples: Sequence[tuple[SentencePair, SentencePair]],
    alone: bool = False,
) -> dict[str, float]:
    """How often the pronoun changes if some vectors come from another sentence.

    The decoder has written the beginning of a sentence's own translation, and reads its
    own encoder output, but for the vectors at one of `PLACES`.

    Args:
        model: a trained translator
        task: its words
        couples: a sentence, and one of as many words that has another pronoun
        alone: the other sentence is read by an encoder without attention, so that each
            of its vectors knows its own word and place, and nothing else

    Returns:
        place -> the share of the sentences that then get the other pronoun
    """
    flipped: dict[str, list[bool]] = {place: [] for place in PLACES}
    for own, other in couples:
        written, _ = before_pronoun(task, own)
        _, wanted = before_pronoun(task, other)
        memory = model.encode(source_ids(task, own))
        with words_alone(model) if alone else nullcontext():
            theirs = model.encode(source_ids(task, other))
        for place, where in places(task, own).items():
            mixed = memory.clone()
            mixed[:, where] = theirs[:, where]
            flipped[place].append(next_word(model, mixed, written) == wanted)
    return {place: sum(some) / len(some) for place, some in flipped.items()}


@torch.no_grad()
def looked_at(
    model: Transformer, task: LanguageTask, pairs: Sequence[SentencePair]
) -> dict[str, float]:
    """Where the decoder looks as it writes the pronoun: a mean over layers and heads.

    Returns:
        each of `PLACES` -> its share of the cross-attention
    """
    total = dict.fromkeys(PLACES, 0.0)
    for pair in pairs:
        written, _ = before_pronoun(task, pair)
        mask = look_ahead_mask(written.shape[1])
        weights = cross_weights(model, source_ids(task, pair), written, None, mask)
        mean = torch.stack(weights)[:, 0, :, -1].mean((0, 1))  # (S)
        for place, where in places(task, pair).items():
            total[place] += float(mean[where].sum())
    return {name: value / len(pairs) for name, value in total.items()}


# --- cutting heads --------------------------------------------------------------------


def attentions(model: Transformer) -> dict[str, nn.Module]:
    """Every attention of a translator, by a name such as "encoder 1"."""
    found: dict[str, nn.Module] = {}
    for number, layer in enumerate(model.encoder.layers, 1):
        found[f"encoder {number}"] = layer.attention
    for number, layer in enumerate(model.decoder.layers, 1):
        found[f"decoder {number}, itself"] = layer.self_attention
        found[f"decoder {number}, source"] = layer.cross_attention
    return found


@contextmanager
def without(attention: nn.Module, heads: Sequence[int]) -> Iterator[None]:
    """Cut heads: what they found does not reach the residual stream."""
    weight = attention.W_o.weight
    kept, width = weight.detach().clone(), weight.shape[1] // attention.num_heads
    try:
        with torch.no_grad():
            for head in heads:
                weight[:, head * width : (head + 1) * width] = 0
        yield
    finally:
        with torch.no_grad():
            weight.copy_(kept)


@contextmanager
def words_alone(model: Transformer) -> Iterator[None]:
    """Cut all attention of the encoder: no word hears of another one."""
    with ExitStack() as cuts:
        for layer in model.encoder.layers:
            heads = range(layer.attention.num_heads)
            cuts.enter_context(without(layer.attention, heads))
        yield


def right_if_alone(
    model: Transformer, task: LanguageTask, pairs: Sequence[SentencePair]
) -> float:
    """The share of right pronouns if the encoder has no attention."""
    with words_alone(model):
        return right_pronouns(model, task, pairs)


def without_heads(
    model: Transformer, task: LanguageTask, pairs: Sequence[SentencePair]
) -> dict[str, list[float]]:
    """The share of right pronouns without each head, and without a whole attention.

    Returns:
        name of an attention -> a share for each head, and one without all of them
    """
    found = {}
    for name, attention in attentions(model).items():
        heads = range(attention.num_heads)
        found[name] = []
        for cut in (*([head] for head in heads), list(heads)):
            with without(attention, cut):
                found[name].append(right_pronouns(model, task, pairs))
    return found


def report(model: Transformer, task: LanguageTask, twins: Sequence[Twins]) -> dict:
    """What the interventions find, in %: pronouns that follow, and that change.

    Args:
        model: a trained translator
        task: its words
        twins: from `find_twins`
    """
    pairs = [pair for one in twins for pair in one.both]
    by_adjective = [one.both for one in twins] + [one.both[::-1] for one in twins]
    other_nouns = ((pair, with_other_noun(task, pair)) for pair in pairs)
    by_noun = [couple for couple in other_nouns if couple[1]]
    found = {
        "adjective changed": right_pronouns(model, task, pairs),
        "noun swapped": right_pronouns(model, task, [other for _, other in by_noun]),
    }
    for name, couples in (("adjective", by_adjective), ("noun", by_noun)):
        shares = exchanged(model, task, couples)
        found |= {f"other {name}, vector of {k}": v for k, v in shares.items()}
        where = "adjective" if name == "adjective" else "meant"
        shares = exchanged(model, task, couples, alone=True)
        found[f"other {name}, its vector read alone"] = shares[where]
    found[ALONE] = right_if_alone(model, task, pairs)
    found |= {f"looks at {k}": v for k, v in looked_at(model, task, pairs).items()}
    return {name: 100 * share for name, share in found.items()}
