"""Lesson 05: a translator watched while it writes, and a student's own that writes."""

import pytest
import torch
from matplotlib.patches import Rectangle
from torch import nn

from helpers.checks.engine import examine, find
from helpers.corpora.vocabulary import END, START
from helpers.exercises.decoder.variants import layer as layer_variants
from helpers.exercises.decoder.variants import model as model_variants
from helpers.exercises.decoder.variants import stack as stack_variants
from helpers.exercises.multi_head.module import MultiHeadAttention, as_layer
from helpers.experiments import writing
from helpers.experiments.bundled import load_translator
from helpers.figures import decoder as draw
from helpers.figures import png
from helpers.generation.decoding import greedy_decode
from helpers.models.transformer import (
    Transformer,
    cross_weights,
    look_ahead_mask,
)

pytestmark = pytest.mark.lesson("05")
TIRED = "The animal did not cross the street because it was too tired."


@pytest.fixture(scope="module")
def german():
    return load_translator("de")


@pytest.fixture(scope="module")
def runs(german):
    return {
        end: writing.watch(german, TIRED.replace("tired", end))
        for end in ("tired", "wide")
    }


class OwnLayer(layer_variants.LayerByCases):
    """A decoder layer as a student has it: its attention is that of 3.C."""

    def __init__(self, d_model, num_heads, *options, **named):
        super().__init__(d_model, num_heads, *options, **named)
        kind = as_layer(MultiHeadAttention)
        self.self_attention = kind(d_model, num_heads)
        self.cross_attention = kind(d_model, num_heads)


class OwnDecoder(stack_variants.DecoderByIndex):
    def __init__(
        self, vocab, d, h, f, n, most=512, rate=0.1, activation="relu", norm_first=False
    ):
        super().__init__(vocab, d, h, f, n, most, rate, activation, norm_first)
        options = rate, activation, norm_first
        self.layers = nn.ModuleList(OwnLayer(d, h, f, *options) for _ in range(n))


class OwnTransformer(model_variants.TransformerByMatrix):
    def __init__(self, config):
        super().__init__(config)
        self.decoder = OwnDecoder(config.target_vocab, *config.stack)


own = OwnTransformer


# --- watched --------------------------------------------------------------------------


def test_what_is_watched_is_what_the_translator_writes(german, runs):
    for end, (read, steps) in runs.items():
        said = german.target.tokens(
            german.target.encode(german(TIRED.replace("tired", end)))
        )
        assert [step.words[0] for step in steps] == [*said, "end"]
        assert [step.before for step in steps] == [
            tuple(said[:n]) for n in range(len(steps))
        ]
        assert read[0] == "start" and read[-3:] == [end, ".", "end"]
        for step in steps:
            assert step.odds == tuple(sorted(step.odds, reverse=True))
            assert step.looks.shape == (len(read),)
            assert step.looks.sum().item() == pytest.approx(1, abs=1e-5)


def test_the_attention_of_a_step_is_that_of_its_last_row(german, runs):
    read, steps = runs["tired"]
    source = torch.tensor([german.source.encode(TIRED)])
    ids = torch.tensor(
        [[START, *german.target.encode(" ".join(steps[3].before))[1:-1]]]
    )
    maps = cross_weights(german.model, source, ids, None, look_ahead_mask(ids.shape[1]))
    expected = torch.stack(maps)[:, 0, :, -1].mean((0, 1))
    assert torch.allclose(steps[3].looks, expected, atol=1e-6)


def test_what_the_lesson_says_of_the_steps(runs):
    read, steps = runs["tired"]
    looks = {step.words[0]: dict(zip(read, step.looks.tolist(), strict=True))
             for step in steps}  # fmt: skip
    assert looks["Tier"]["animal"] > 0.95 and looks["müde"]["tired"] > 0.8
    shares = [round(looks["es"][word], 2) for word in ("tired", "street", "animal")]
    assert shares == [0.32, 0.13, 0.12]


# --- a student's own ------------------------------------------------------------------


@pytest.mark.parametrize(
    "number, answer",
    [("5.A", OwnLayer), ("5.B", OwnDecoder), ("5.C", OwnTransformer)],
)
def test_parts_with_the_attention_of_lesson_03_pass(number, answer):
    report = examine(find(number), (answer,))
    assert report.outcome == "passed", report


def test_a_decoder_without_activation_no_longer_fits():
    class Old(stack_variants.DecoderByIndex):
        def __init__(self, vocab, d, h, f, n, most=512, rate=0.1, norm_first=False):
            super().__init__(vocab, d, h, f, n, most, rate, "relu", norm_first)

    assert examine(find("5.B"), (Old,)).outcome == "raised"


def test_a_model_of_other_classes_writes_what_the_translator_writes(german):
    model = writing.fill(own(german.model.config), german.model)
    source = torch.tensor([german.source.encode(TIRED)])
    written = greedy_decode(model, source, None, START, END, 24)
    assert german.target.decode(written[0]) == german(TIRED)
    assert not model.training


def test_filling_changes_every_number_and_leaves_the_other_model_alone(german):
    before = {name: value.clone() for name, value in german.model.state_dict().items()}
    model = writing.fill(Transformer(german.model.config), german.model)
    for name, value in model.named_parameters():
        assert value.equal(before[name])
    with torch.no_grad():
        for value in model.parameters():
            value.add_(1)
    for name, value in german.model.state_dict().items():
        assert value.equal(before[name])


@pytest.mark.parametrize(
    "spoil, said",
    [
        (lambda model: delattr(model, "final_layer"), "no part 'final_layer'"),
        (
            lambda model: setattr(model, "final_layer", nn.Linear(64, 7)),
            "final_layer has weights of another shape",
        ),
    ],
)
def test_a_model_that_does_not_fit_is_refused(german, spoil, said):
    model = Transformer(german.model.config)
    spoil(model)
    with pytest.raises(ValueError, match=said):
        writing.fill(model, german.model)


def test_maps_of_a_students_attention_are_those_of_the_courses(german):
    source = torch.tensor([german.source.encode(TIRED)])
    written = torch.tensor([[START, 7, 9]])
    inputs = source, written, None, look_ahead_mask(3)
    model = writing.fill(own(german.model.config), german.model)
    theirs = cross_weights(german.model, *inputs)
    for one, expected in zip(cross_weights(model, *inputs), theirs, strict=True):
        assert torch.allclose(one, expected, atol=1e-5)
    assert not any(
        layer.cross_attention._forward_pre_hooks for layer in model.decoder.layers
    )


# --- letters --------------------------------------------------------------------------


def test_letters_come_back_in_the_other_order():
    torch.manual_seed(0)
    source, target = writing.letters_backwards(50)
    assert source.shape == (50, 7) and target.shape == (50, 9)
    for read, wanted in zip(source.tolist(), target.tolist(), strict=True):
        letters = [n for n in read if n]
        assert read == letters + [0] * (7 - len(letters)) and 2 <= len(letters) <= 7
        rest = [0] * (7 - len(letters))
        assert wanted == [27, *reversed(letters), 28, *rest]
    assert {len([n for n in row if n]) for row in source.tolist()} == set(range(2, 8))


def test_words_and_ids():
    ids = writing.to_ids(["star", "az"])
    assert ids.tolist() == [[19, 20, 1, 18], [1, 26, 0, 0]]
    assert writing.to_words(torch.tensor([[27, 18, 1, 28, 0]])) == ["ra"]


# --- figures --------------------------------------------------------------------------


def test_the_scene_tells_the_step_that_it_shows(runs):
    scene = draw.writing(runs)
    assert "Next comes es, with a probability of 0.88" in scene.start()
    assert "tired 0.32" in scene.start()
    assert "Written so far: nothing. Next comes das" in scene.move(step=1, run="tired")
    assert "Next comes sie" in scene.move(step=9, run="wide")
    bars = [one for one in scene.moving if isinstance(one, Rectangle)][-5:]
    _, steps = runs["wide"]
    assert bars[0].get_width() == pytest.approx(60 * steps[8].odds[0])
    assert scene.controls["step"].values == tuple(range(1, 15))


def texts(figure):
    return [text.get_text() for axes in figure.axes for text in axes.texts]


def test_cross_attention_names_its_matrices_and_marks_padding():
    figure = draw.cross_flow(["it", "was", "pad"], ["weil", "es"], hidden=1)
    said = texts(figure)
    for name in ("Q  (T, K)", "K  (S, K)", "V  (S, W)", "scores  (T, S)"):
        assert name in said
    white = [
        patch
        for patch in figure.axes[0].patches
        if patch.get_facecolor()[:3] == (1,) * 3
    ]
    assert len(white) == 2 * 2  # a column of padding, in scores and in weights


def test_teacher_forcing_shows_a_triangle_and_the_words_moved_by_one():
    figure = draw.forcing(["weil", "es"])
    left = figure.axes[0]
    filled = [patch.get_facecolor()[3] < 1 for patch in left.patches]
    assert filled == [True, False, False, True, True, False, True, True, True]
    said = [text.get_text() for text in left.texts]
    assert said[:6] == ["→ weil", "→ es", "→ end", "start", "weil", "es"]


def test_every_figure_becomes_a_png(runs):
    for figure in (
        draw.writing(runs).figure,
        draw.cross_flow(["it", "was"], ["es"]),
        draw.forcing(["weil"]),
    ):
        assert png(figure).startswith(b"\x89PNG")
