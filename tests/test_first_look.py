"""What lesson 00 shows first: every number and claim of its text, and the figure."""

import re

import pytest
import torch

from helpers.corpora.language.lookup import UnknownWords
from helpers.corpora.sentences import load_sentences
from helpers.experiments.bundled import facts, load_translator
from helpers.experiments.first_look import continued, search
from helpers.experiments.one_head import Head, one_head
from helpers.figures import png, start
from helpers.pretrained import load_encoder

pytestmark = pytest.mark.lesson(0)
PAIR = "The animal did not cross the street because it was too {}."


def words(text):
    return set(re.findall(r"\w+", text.lower()))


def test_a_search_finds_what_shares_no_word_with_it():
    query, sentences = "suffering from insomnia", load_sentences()
    assert len(sentences) == 320 and not any("insomnia" in words(s) for s in sentences)
    found = search(query)
    assert [cosine for _, cosine in found] == sorted([c for _, c in found])[::-1]
    assert "sleep would not come" in found[0][0]
    assert not words(query) & words(found[0][0])
    assert search(f"not {query}", 1)[0][0] == found[0][0]
    assert "Thieves" in search("someone broke into our home", 1)[0][0]


def test_the_encoder_has_the_sizes_that_the_text_says():
    config = load_encoder().config
    assert config.hidden_size == 384
    assert config.num_hidden_layers * config.num_attention_heads == 72


@pytest.mark.parametrize(
    "word, animal, street", [("tired", 0.69, 0.05), ("wide", 0.32, 0.15)]
)
def test_it_looks_as_the_text_says(word, animal, street):
    head = one_head(PAIR.format(word), layer=3, head=1)
    row = dict(zip(head.tokens, head.weights[head.tokens.index("it")], strict=True))
    assert (row["animal"] - animal).abs() < 0.005
    assert (row["street"] - street).abs() < 0.005
    outside = row["[CLS]"] + row["[SEP]"]
    assert (sum(head.weights[head.tokens.index("it")]) - 1).abs() < 1e-5
    assert outside > 0.1


@pytest.mark.parametrize("they, asked", [("full", "ducks"), ("bored", "children")])
def test_they_looks_at_the_noun_that_it_means_in_lesson_02(they, asked):
    head = one_head(f"The children fed the ducks until they were {they}.", 3, 1)
    row = dict(zip(head.tokens, head.asked_by("they").tolist(), strict=True))
    (other,) = {"ducks", "children"} - {asked}
    assert row[asked] > row[other] + 0.08 and row[asked] == max(row.values())


def test_a_head_prefers_the_trophy_in_any_case_in_lesson_02():
    base = "The trophy does not fit in the suitcase because it is too {}."
    weights = []
    for word in ("big", "small"):
        head = one_head(base.format(word), 3, 1)
        row = dict(zip(head.tokens, head.asked_by("it").tolist(), strict=True))
        assert row["trophy"] > 2 * row["suitcase"]
        weights.append(row["trophy"])
    assert weights[1] > weights[0] + 0.02


def test_without_its_bias_the_head_of_lesson_02_finds_the_animal_too():
    module = load_encoder().encoder.layer[3].attention.self
    head, part = one_head(PAIR.format("tired"), 3, 1), slice(32, 64)
    query = head.query - module.query.bias[part]
    key = head.key - module.key.bias[part]
    weights = (query @ key.T / 32**0.5).softmax(-1)[head.tokens.index("it")]
    assert round(weights[head.tokens.index("animal")].item(), 2) == 0.68


def test_three_layers_move_the_two_the_apart_in_lesson_02():
    cosines = []
    for layer in (0, 3):
        head = one_head(PAIR.format("tired"), layer, 1)
        first, second = (n for n, token in enumerate(head.tokens) if token == "the")
        pair = head.vectors[first], head.vectors[second]
        cosines.append(torch.cosine_similarity(*pair, dim=0).item())
    assert 0.99 > cosines[0] > cosines[1] + 0.1


def test_the_numbers_of_exp_in_lesson_02():
    finite = torch.tensor([88.0, 89.0]).exp().isfinite()
    assert finite.tolist() == [True, False]
    assert round(torch.tensor(8.0).exp().item(), -2) == 3000


def test_the_translators_choose_the_pronouns_and_read_the_examples():
    german, french = load_translator("de"), load_translator("fr")
    assert " sie zu breit" in german(PAIR.format("wide"))
    assert " es zu müde" in german(PAIR.format("tired"))
    assert "qu'elle était" in french(PAIR.format("wide"))
    assert "qu'il était" in french(PAIR.format("tired"))
    swapped = "The street did not cross the animal because it was too {}."
    assert " sie zu müde" in german(swapped.format("tired"))
    assert " es zu breit" in german(swapped.format("wide"))
    assert german("has the girl read the book") == "Hat das Mädchen das Buch gelesen?"
    gave = "Die alte Frau gab dem Jungen das Buch."
    assert german("the old woman gave the boy the book") == gave
    taken = [one["processor seconds"] for one in facts().values()]
    assert all(90 < seconds < 150 for seconds in taken)  # the lesson: two minutes


def test_a_notebook_shows_of_an_unknown_word_its_sentence_alone():
    with pytest.raises(UnknownWords) as error:
        load_translator("de")("the elephant sleeps")
    assert error.value._render_traceback_() == [str(error.value)]
    assert "'elephant'" in str(error.value) and "animal" in str(error.value)


def test_a_text_goes_on_from_its_beginning_and_each_draw_is_its_own():
    beginning = "Mia had a red ball."
    one, same, other = (continued(beginning, draw) for draw in (1, 1, 3))
    assert one.startswith(beginning) and len(one) > len(beginning) + 10
    assert one == same != other
    with pytest.raises(ValueError, match="type at least a word"):
        continued("  ")


# --- the figure -----------------------------------------------------------------------


@pytest.fixture
def head():
    """The word it gives 0.6 to animal, 0.3 to the mark, 0.1 to itself."""
    none = torch.zeros(4, 2)
    weights = torch.zeros(4, 4)
    weights[2] = torch.tensor([0.3, 0.6, 0.1, 0.0])
    return Head(["[CLS]", "animal", "it", "[SEP]"], none, none, none, none, weights)


def test_a_look_is_drawn_and_told_without_the_marks(head, monkeypatch):
    shown = []
    monkeypatch.setattr(start, "show_figure", lambda *both: shown.append(both))
    start.show_look(head, "it")
    [(figure, alt)] = shown
    texts = [text.get_text() for text in figure.axes[0].texts]
    assert texts == ["animal", "60%", "it", "10%"]
    assert len(figure.axes[0].patches) == 1  # from it to animal, none to itself
    assert alt == "The word it gives 60% of its attention to animal and 10% to itself."
    assert png(figure).startswith(b"\x89PNG")


def test_a_word_that_is_not_there_is_one_sentence(head):
    with pytest.raises(ValueError, match="“she” is not one of the tokens of this text"):
        start.show_look(head, "she")
