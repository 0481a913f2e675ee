"""The storyteller and the guesser as they are bundled: what their cards say is so."""

import json
from dataclasses import asdict

import pytest
import torch
import torch.nn.functional as F
from safetensors.torch import load_file
from tokenizers import Tokenizer
from torch.testing import assert_close
from transformers import BertForMaskedLM, BertTokenizer, GPT2LMHeadModel

from helpers import pretrained
from helpers.corpora import whole
from helpers.corpora.stories import load_stories
from helpers.generation import sampling, ways
from helpers.models.encoder import bert_encoder
from helpers.models.gpt import load_gpt2
from tools.pretrain import evaluation, guesser, guesser_export, story_export
from tools.pretrain.guesser_export import guesser_card
from tools.pretrain.settings import GUESSER, STORYTELLER, GuesserSettings, StorySettings
from tools.pretrain.story_card import story_card

FOLDERS = {"storyteller": STORYTELLER, "guesser": GUESSER}
CARDS = {"storyteller": story_card, "guesser": guesser_card}
SETTINGS = {"storyteller": StorySettings, "guesser": GuesserSettings}
FILES = {
    "README.md",
    "config.json",
    "loss_curve.png",
    "model.safetensors",
    "sha256.json",
    "tokenizer.json",
    "tokenizer_config.json",
    "training.json",
}
MOST = 35e6  # bytes of all bundled files together


def facts_of(name):
    """The facts in a model's training.json."""
    return json.loads((FOLDERS[name] / "training.json").read_text("utf-8"))


@pytest.fixture(scope="module")
def teller():
    return pretrained.load_gpt2("storyteller")


@pytest.fixture(scope="module")
def guessing():
    return pretrained.load_guesser()


@pytest.mark.parametrize("name", FOLDERS)
def test_files_are_all_there_and_in_float16(name):
    folder = FOLDERS[name]
    assert {file.name for file in folder.iterdir()} - {"generation_config.json"} == (
        FILES
    )
    assert pretrained.path(name) == str(folder) and not whole.damaged(folder)
    assert (folder / "model.safetensors").stat().st_size <= 20e6
    weights = load_file(folder / "model.safetensors").values()
    assert {tensor.dtype for tensor in weights} == {torch.float16}
    assert all(tensor.isfinite().all() for tensor in weights)


def test_everything_bundled_is_small_enough():
    corpora = whole.FOLDERS[0]
    sizes = [file.stat().st_size for file in corpora.rglob("*") if file.is_file()]
    assert sum(sizes) <= MOST


@pytest.mark.parametrize("name", FOLDERS)
def test_the_card_and_the_tool_tell_the_same(name):
    facts = facts_of(name)
    assert (FOLDERS[name] / "README.md").read_text("utf-8") == CARDS[name](facts)
    assert facts["settings"] == asdict(SETTINGS[name]())  # the tool repeats this run


@pytest.mark.parametrize("name", FOLDERS)
def test_it_is_bundled_whatever_the_source(monkeypatch, name):
    monkeypatch.setenv("COURSE_SOURCE", "hub")
    assert pretrained.path(name) == str(FOLDERS[name])


# --- the storyteller ------------------------------------------------------------------


def test_the_storyteller_shows_what_it_must():
    shown = facts_of("storyteller")["shown"]
    repeats = shown["repeated_4_grams"]
    assert shown["facts_right"] >= 0.8
    assert shown["median_length"] >= 100
    assert shown["reward_accuracy"] >= 0.9
    assert shown["happy_best_of_16"] - shown["happy"] >= 0.25
    assert repeats["temperature 1.0"] <= 1.5 * repeats["held-out stories"]
    read = facts_of("storyteller")["read_blind"]  # by each reader, and of how many
    assert min(read["temperature 1"][0]) >= 35 and read["temperature 1"][1] == 50
    assert max(read["temperature 2"][0]) <= 5 and read["temperature 2"][1] == 50


def test_the_storyteller_says_what_lessons_10_and_11_tell_of_it(teller):
    tokenizer = pretrained.load_tokenizer("storyteller")
    too = "The animal did not cross the street because it was too"
    ids = tokenizer(too, return_tensors="pt").input_ids
    assert tokenizer.decode(sampling.next_logits(teller, ids).argmax()) == "."
    stories = [tokenizer(story.text).input_ids[:72] for story in load_stories()]
    for start in (0, 100, 200, 300):  # the lesson shows the last twenty
        real = torch.tensor(stories[start : start + 20])  # (B=20, T=72)
        greedy = ways.write(teller, real[:, :12], 60, ways.WAYS["greedy"])
        assert surprise(teller, greedy) < surprise(teller, real) - 0.02


@torch.no_grad()
def surprise(model, ids):
    """The mean loss of the last 60 tokens, in nats."""
    logits = model(ids).logits[:, 11:-1]
    return F.cross_entropy(logits.mT, ids[:, 12:]).item()


def test_the_storyteller_is_a_plain_gpt2(teller):
    tokenizer = pretrained.load_tokenizer("storyteller")
    assert type(teller) is GPT2LMHeadModel and not teller.training
    assert teller.num_parameters() <= 10e6
    assert teller.config.activation_function == "gelu_new"
    assert teller.lm_head.weight is teller.transformer.wte.weight
    assert teller.config.vocab_size == len(tokenizer) == StorySettings.vocab_size
    text = "don't stop, naïve café 北京 🙂\n  x"
    assert tokenizer.decode(tokenizer(text).input_ids) == text


def test_the_storyteller_keeps_facts(teller):
    tokenizer = Tokenizer.from_file(str(STORYTELLER / "tokenizer.json"))
    cases = evaluation.fact_cases(60)
    right = evaluation.facts_right(teller, tokenizer, cases)
    assert sum(right) >= 0.7 * len(right)  # by chance about one in five


def test_the_courses_gpt_tells_what_the_storyteller_tells(teller):
    tokenizer = pretrained.load_tokenizer("storyteller")
    mine = load_gpt2(pretrained.path("storyteller"))
    for prompt in evaluation.OWN_PROMPTS[:5]:
        ids = tokenizer(prompt, return_tensors="pt").input_ids
        with torch.no_grad():
            assert_close(mine(ids), teller(ids).logits, atol=1e-4, rtol=0)


@pytest.mark.slow
def test_the_storytellers_perplexity_is_the_cards():
    assert story_export.recompute_stories(STORYTELLER)


# --- the guesser ----------------------------------------------------------------------


def test_the_guesser_shows_what_it_must():
    shown = facts_of("guesser")["shown"]
    assert shown["top_1"] >= 3 * shown["commonest"]
    assert shown["top_1"] > shown["neighbours"]
    assert shown["parameters"] <= 5e6


def test_the_guesser_is_a_plain_bert(guessing):
    tokenizer = pretrained.load_tokenizer("guesser")
    assert type(guessing) is BertForMaskedLM and not guessing.training
    assert isinstance(tokenizer, BertTokenizer)
    assert guessing.config.vocab_size == len(tokenizer) == GuesserSettings.vocab_size


def test_the_guesser_fills_sentences_with_nouns_that_fit(guessing):
    found = guesser_export.first_guesses(guessing, pretrained.load_tokenizer("guesser"))
    fit = [found[s][0] in words.split() for s, words in guesser.SENTENCES.items()]
    assert sum(fit) >= 13
    assert found == facts_of("guesser")["shown"]["guesses"]
    assert {"table", "bench", "sofa"} < set(found["I sat on the [MASK]."])


def test_the_courses_encoder_takes_the_guessers_weights(guessing):
    tokenizer = pretrained.load_tokenizer("guesser")
    ids = tokenizer("The cat slept on the warm stove.", return_tensors="pt").input_ids
    mine = bert_encoder(guessing.bert.state_dict(), guessing.config.num_attention_heads)
    with torch.no_grad():
        theirs = guessing.bert(ids).last_hidden_state
        assert_close(mine(ids), theirs, atol=1e-4, rtol=0)


@pytest.mark.slow
def test_the_guessers_perplexity_is_the_cards():
    assert guesser_export.recompute_guesser(GUESSER)
