"""Figures that move: what a program gets of them, what a person, and what they show."""

import base64
import io
import re
import sys

import numpy as np
import pytest
import torch
from matplotlib.image import AxesImage
from matplotlib.patches import Rectangle
from PIL import Image

from helpers.experiments.writing import Step
from helpers.figures import (
    attention,
    canvas,
    decoder,
    embeddings,
    generation,
    masks,
    multi_head,
    play,
    png,
    recurrent,
)
from helpers.generation import sampling

WORDS = ["start", "zwei", "und", "vierzig"]
ROWS = {name: torch.linspace(top, 0, 40)[None] for name, top in (("a", 8), ("$b", 2))}

RUNS = {  # what was read, and two steps of a translation
    name: (
        ["start", "it", "was", name, "end"],
        [
            Step((), ("es", "sie"), (0.9, 0.1), torch.tensor([0.0, 0.1, 0, share, 0])),
            Step(("es",), ("war", "."), (0.6, 0.4), torch.full((5,), 0.2)),
        ],
    )
    for name, share in (("tired", 0.9), ("wide", 0.2))
}


def letters(ids):
    """A text for each id."""
    return [chr(65 + one) for one in ids.tolist()]


def look(text):
    """Weights of 2 layers with 3 heads that depend on the text, and its tokens."""
    tokens = ["[CLS]", *text.split(), "[SEP]"]
    draws = torch.Generator().manual_seed(len(text))
    size = 2, 3, len(tokens), len(tokens)
    return torch.randn(size, generator=draws).softmax(-1), tokens


def letters_in_training():
    """Five letters and a space before training, and after 40 and 90 steps."""
    draws = torch.Generator().manual_seed(1)
    stages = {step: torch.randn(6, 2, generator=draws) for step in (0, 40, 90)}
    return embeddings.letters(" aeiou", stages, torch.linspace(3, 2, 90).tolist())


def units_of_two_networks():
    """Three hidden units of two networks that have read two short lines."""
    draws = torch.Generator().manual_seed(1)
    text = "a hen\nand a fox"
    states = {name: torch.randn(len(text), 3, generator=draws).tanh() for name in "ab"}
    return recurrent.one_unit(text, states, ("a", 1))


SCENES = {
    "letters": letters_in_training,
    "sharpness": attention.sharpness,
    "masks": lambda: masks.masks_by_hand(WORDS),
    "own_sentence": lambda: multi_head.own_sentence(look, "so what", 1, 2),
    "choosing": lambda: generation.choosing(ROWS, letters),
    "writing": lambda: decoder.writing(RUNS),
    "one_unit": units_of_two_networks,
}
CONTROLS = [
    (name, key) for name, make in SCENES.items() for key in make().controls
]  # fmt: skip


@pytest.fixture
def shown(monkeypatch):
    """What a cell would give: a list of (data, metadata)."""
    bundles = []

    def display(data, raw, metadata):
        assert raw
        bundles.append((data, metadata))

    monkeypatch.setattr("IPython.display.display", display)
    return bundles


def elsewhere(control):
    """A value of a control other than the first."""
    if isinstance(control, play.Switch):
        return not control.start
    if isinstance(control, play.Words):
        return "So it goes."
    return next(value for value in control.values if value != control.start)


def pixels(picture):
    return np.asarray(Image.open(io.BytesIO(picture)).convert("RGB")).astype(int)


# --- nobody watches -------------------------------------------------------------------


@pytest.mark.parametrize("name", SCENES)
def test_a_program_gets_one_picture_and_no_widget(name, shown, monkeypatch):
    monkeypatch.setitem(sys.modules, "ipywidgets", None)  # importing it would fail
    for _ in range(2):
        play.play(SCENES[name]())
    first, second = shown
    assert first == second and set(first[0]) == {"image/png", "text/plain"}
    alt = first[0]["text/plain"]
    assert len(alt) > 80 and first[1]["image/png"]["alt"] == alt
    assert pixels(base64.b64decode(first[0]["image/png"])).std() > 20


@pytest.mark.parametrize("name", SCENES)
def test_the_still_shows_the_start_wherever_the_controls_were(name):
    fresh, moved = SCENES[name](), SCENES[name]()
    assert fresh.start() == moved.start()
    for key, control in moved.controls.items():
        start = {other: one.start for other, one in moved.controls.items()}
        moved.move(**start | {key: elsewhere(control)})
    moved.start()
    assert png(fresh.figure) == png(moved.figure)


# --- a person watches -----------------------------------------------------------------


def test_a_person_gets_controls_and_the_still_for_where_no_widget_is_drawn(
    shown, monkeypatch
):
    monkeypatch.setattr(play, "person_present", lambda: True)
    play.play(attention.sharpness())
    [(data, metadata)] = shown
    assert set(data) == {play.VIEW, "image/png", "text/plain"}
    assert data[play.VIEW]["model_id"] and metadata["image/png"]["alt"]
    still = pixels(base64.b64decode(data["image/png"]))
    assert still.shape == (330, 800, 3) and still.std() > 20


@pytest.mark.parametrize(("name", "key"), CONTROLS)
def test_a_control_that_is_moved_changes_picture_and_text(name, key):
    scene = SCENES[name]()
    *handles, picture = play.hands_on(play.Camera(scene)).children
    handle = dict(zip(scene.controls, handles, strict=True))[key]
    control = scene.controls[key]
    assert handle.description == control.name and handle.value == control.start
    before = picture.value
    handle.value = elsewhere(control)
    for part in ("src", "alt"):
        was, now = (
            re.search(f'{part}="(.*?)"', one)[1] for one in (before, picture.value)
        )
        assert was != now
    handle.value = control.start
    assert picture.value == before


@pytest.mark.parametrize("name", SCENES)
def test_the_quick_picture_is_the_whole_picture(name):
    """Drawing only what moves must leave nothing of the position before."""
    scene = SCENES[name]()
    camera = play.Camera(scene)
    for key, control in scene.controls.items():
        start = {other: one.start for other, one in scene.controls.items()}
        scene.move(**start | {key: elsewhere(control)})
        buffer = io.BytesIO()
        scene.figure.savefig(buffer, format="png", dpi=scene.figure.dpi)
        far = np.abs(pixels(camera.shot()) - pixels(buffer.getvalue())).max(-1) > 60
        assert far.mean() < 1e-3


def test_the_alternative_text_is_escaped():
    figure, _ = canvas(1, 1)
    scene = play.Scene(figure, {}, lambda: 'a < b, "c"', [])
    [picture] = play.hands_on(play.Camera(scene)).children
    assert 'alt="a &lt; b, &quot;c&quot;"' in picture.value


# --- labels ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("align", "side"), [("left", "x0"), ("right", "x1"), ("center", None)]
)
def test_a_label_stands_at_its_place(align, side):
    figure, (axes,) = canvas(4, 2)
    axes.set(xlim=(0, 10), ylim=(0, 1))
    labels = play.Labels(axes, align=align)
    labels.write(["HIHIH", "H$I$"], [(3, 0.5), (7, 0.5)], ["red", "blue"])
    figure.canvas.draw()
    for path, place in zip(labels.get_paths(), (3, 7), strict=True):
        box = path.get_extents()
        at = getattr(box, side) if side else (box.x0 + box.x1) / 2
        assert abs(at) < 0.01
        assert abs(box.y0 + box.y1) < 2.5  # points: centred but for the dollar's tail
        assert labels.get_offsets()[[3, 7].index(place)][0] == place
    assert labels.get_facecolor().tolist() == [[1, 0, 0, 1], [0, 0, 1, 1]]
    labels.write([], [])
    figure.canvas.draw()


@pytest.mark.parametrize("text", ["", " "])
def test_an_empty_label_is_drawn_as_nothing(text):
    figure, (axes,) = canvas(4, 2)
    before = png(figure)
    play.Labels(axes).write([text], [(0.5, 0.5)])
    assert png(figure) == before


# --- what the lessons say of them -----------------------------------------------------


def weights_of(scene):
    """The heights of the bars of weights, and those of scores."""
    bars = [one.get_height() for one in scene.moving if isinstance(one, Rectangle)]
    return np.array(bars[8:]), np.array(bars[:8])


@pytest.mark.lesson("01")
def test_each_letter_stands_at_its_vector_at_every_stage():
    table = torch.tensor([[9.0, 9], [0, 0], [0, 1], [5, 5], [5, 4], [0, 3]])
    stages = {0: table.flip(1) / 2, 90: table}
    scene = embeddings.letters(" aeiob", stages, torch.linspace(3, 2, 90).tolist())
    vowels, others, dot = scene.moving
    for step, points in stages.items():
        scene.move(step)
        assert torch.equal(torch.tensor(vowels.get_offsets()).float(), points[1:5])
        assert torch.equal(torch.tensor(others.get_offsets()).float(), points[[0, 5]])
    assert dot.get_xydata().tolist() == [[90, pytest.approx(2.135, abs=0.001)]]
    assert scene.start().endswith("each vowel is a: e, e: a, i: o, o: i.")


@pytest.mark.lesson("02")
@pytest.mark.parametrize("draw", range(1, 7))
def test_only_the_root_keeps_the_weights_alive(draw):
    scene = attention.sharpness()

    def at(d_head, divisor):
        scene.move(d_head=d_head, divisor=divisor, draw=draw)
        return weights_of(scene)

    for divisor in attention.DIVISORS:
        weights, scores = at(64, divisor)
        shares = np.exp(scores - scores.max())
        assert np.allclose(weights, shares / shares.sum(), atol=1e-5)
    hard = np.sort(at(1024, "nothing")[0])
    assert hard[-2:].sum() > 0.999 and (draw != 1 or hard[-1] > 0.999)
    for d_head in (64, 256, 1024):
        weights, scores = at(d_head, "√d_head")
        assert weights.max() < 0.8 and 0.3 < scores.std() < 2
    assert at(1024, "d_head")[0].max() < 0.15


def weights_table(**settings):
    """The weights of the masks' scene: rows of queries, NaN where it is blocked."""
    scene = masks.masks_by_hand(WORDS)
    alt = scene.move(
        **{"padding": True, "ahead": True, "place": "at the end"} | settings
    )
    _, weights = (one for one in scene.moving if isinstance(one, AxesImage))
    return np.ma.filled(weights.get_array(), np.nan), alt


@pytest.mark.lesson("06")
def test_padding_at_the_end_is_hidden_by_the_look_ahead_mask_already():
    both, _ = weights_table()
    ahead, _ = weights_table(padding=False)
    assert np.array_equal(both[:4], ahead[:4], equal_nan=True)
    assert np.isnan(both[4, 4]) and ahead[4, 4] > 0


@pytest.mark.lesson("06")
def test_padding_in_front_is_not():
    leak, _ = weights_table(padding=False, place="in front")
    assert (leak[1:, 0] > 0.01).all()
    both, alt = weights_table(place="in front")
    assert np.isnan(both[0]).all() and "pad may attend to nobody" in alt
    assert np.allclose(np.nansum(both[1:], 1), 1)
    everything, _ = weights_table(padding=False, ahead=False)
    assert np.allclose(everything.sum(1), 1) and (everything > 0).all()


@pytest.mark.lesson("11")
@pytest.mark.parametrize(
    ("heat", "k", "p"), [(1.0, "all", 1.0), (0.5, "3", 1.0), (2.0, "20", 0.5)]
)
def test_the_bars_are_what_is_drawn_from(heat, k, p):
    scene = generation.choosing(ROWS, letters)
    alt = scene.move(beginning="a", temperature=heat, top_k=k, top_p=p)
    how = sampling.Settings(heat, None if k == "all" else int(k), p)
    kept = sampling.filtered(ROWS["a"], torch.empty(1, 0, dtype=torch.long), how)[0]
    shares = kept.softmax(0).numpy()
    bars = [one.get_width() for one in scene.moving if isinstance(one, Rectangle)]
    says, drawn = bars[:15], bars[15:]
    assert np.allclose(says[:14], ROWS["a"][0].softmax(0)[:14], atol=1e-6)
    assert np.allclose(drawn, [*shares[:14], shares[14:].sum()], atol=1e-6)
    assert np.isclose(sum(says), 1) and np.isclose(sum(drawn), 1)
    allowed = set(letters(kept.isfinite().nonzero()[:, 0]))
    draws = re.search("Ten draws: (.*)[.]", alt)[1].split(", ")
    assert len(draws) == 10 and set(draws) <= allowed
    assert f"{len(allowed)} of 40 tokens left" in alt


@pytest.mark.lesson("11")
def test_draws_have_the_given_probabilities():
    shares = torch.tensor([0.1, 0.0, 0.6, 0.3])
    random = (torch.arange(1000) + 0.5) / 1000
    counts = generation._drawn(shares, random).bincount(minlength=4)
    assert counts.tolist() == [100, 0, 600, 300]


@pytest.mark.lesson("03")
def test_the_list_names_the_strongest_looks_between_words():
    table = np.full((5, 5), 0.001)
    table[2, 3], table[3, 1], table[2, 2], table[1, 0], table[1, 4] = 0.7, 0.9, 1, 1, 1
    tokens = ["[CLS]", "a", "b", "c", "[SEP]"]
    found = multi_head._strongest(table, tokens)
    assert found == [("c", "a", 0.9), ("b", "c", 0.7)]
    assert len(multi_head._strongest(np.full((9, 9), 0.1), "abcdefghi")) == 10


@pytest.mark.lesson("03")
@pytest.mark.parametrize(
    "text", ["", "one", "$5 and $6", " ".join("abcdefghijklmnopqr")]
)
def test_any_sentence_can_be_looked_at(text):
    scene = multi_head.own_sentence(look, "so what", 1, 2)
    alt = scene.move(text=text, layer=0, head=1)
    [image] = (one for one in scene.moving if isinstance(one, AxesImage))
    assert np.allclose(image.get_array(), look(text)[0][0, 1])
    assert f"layer 0, head 1 in “{text}”" in alt
    assert ("another word: none." in alt) == (len(text.split()) < 2)


@pytest.mark.lesson("03")
def test_a_sentence_is_read_once_for_all_heads():
    read = []

    def counted(text):
        read.append(text)
        return look(text)

    scene = multi_head.own_sentence(counted, "so what", 1, 2)
    for head in range(3):
        scene.move(text="so what", layer=0, head=head)
    assert read == ["so what"]
