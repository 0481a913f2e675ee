"""Figures of lesson 03, and BertViz without a network."""

import html
import re
from collections import Counter

import nbformat
import pytest
import torch
from matplotlib.colors import to_rgba

from helpers import third_party
from helpers.figures import bertviz_view, png
from helpers.figures import multi_head as draw
from helpers.student import doctor
from tools.build.notebooks import ROOT

pytestmark = pytest.mark.lesson("03")
TOKENS = ["[CLS]", "so", "what", "[SEP]"]


@pytest.fixture
def attentions():
    """Two layers with three heads, as `outputs.attentions`."""
    draws = torch.Generator().manual_seed(0)
    return [torch.randn(1, 3, 4, 4, generator=draws).softmax(-1) for _ in range(2)]


def titles(figure):
    return [axes.get_title() for axes in figure.axes if axes.get_visible()]


def test_the_plane_before_and_after():
    figure = draw.plane(torch.tensor([[-0.7, 1.0], [1.0, -0.2]]), torch.ones(2))
    assert titles(figure) == ["before: v", "after: A v"]
    shown = [text.get_text() for axes in figure.axes for text in axes.texts]
    assert "(1.0, 1.0)" in shown and "(0.3, 0.8)" in shown


def test_maps_name_their_axes(attentions):
    figure = draw.head_maps(attentions[0][0], TOKENS)
    assert titles(figure) == ["head 0", "head 1", "head 2"]
    assert figure.axes[0].get_xlabel() == "key"
    assert figure.axes[0].get_ylabel() == "query"
    words = [label.get_text() for label in figure.axes[0].get_yticklabels()]
    assert words == TOKENS


def test_tables_hold_the_numbers_they_were_given():
    table = torch.tensor([[10 * t + f for f in range(4)] for t in range(3)])
    figure = draw.cuts({"view": table.view(2, 3, 2)})
    shown = [text.get_text() for text in figure.axes[0].texts]
    assert shown == ["00", "01", "02", "03", "10", "11"]


def test_each_head_has_its_colour_from_the_cut_to_w_o():
    # Q, K, V and the heads' answers side by side: 3 tokens, 2 columns of 8 a head
    patches = draw.way(4).axes[0].patches
    shapes = Counter(to_rgba(patch.get_facecolor())[:3] for patch in patches)
    for colour in draw.HEAD_COLOURS:
        assert shapes[to_rgba(colour)[:3]] == 4 * 3 * 2 + 3 * 3 + 3 * 2


def test_each_head_writes_into_the_whole_vector():
    patches = draw.writing(4).axes[0].patches
    shapes = Counter(to_rgba(patch.get_facecolor())[:3] for patch in patches)
    for colour in draw.HEAD_COLOURS:
        assert shapes[to_rgba(colour)[:3]] == 2 + 2 * 8 + 8  # answer, slice, written


def test_models_are_compared_by_loss_and_maps():
    figure = draw.compared({"one": [2.0, 1.0], "two": [2.0, 0.5]}, {"a": torch.eye(3)})
    assert titles(figure) == ["loss", "a"]
    curves = [list(line.get_ydata()) for line in figure.axes[0].lines]
    assert curves == [[2.0, 1.0], [2.0, 0.5]]


def test_every_figure_becomes_a_png(attentions):
    scores = torch.stack(
        [layer[0].diagonal(0, -2, -1).mean(-1) for layer in attentions]
    )
    for figure in (
        draw.way(4),
        draw.writing(4),
        draw.all_heads([layer[0] for layer in attentions]),
        draw.score_maps({"itself": scores, "previous": scores}),
    ):
        assert png(figure).startswith(b"\x89PNG")


# --- BertViz --------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["head_view", "model_view"])
def test_a_page_fetches_nothing(attentions, name):
    bertviz = pytest.importorskip("bertviz")
    page = bertviz_view.page(getattr(bertviz, name), attentions, TOKENS)
    assert not re.search(r"<(script|link|img|iframe)[^>]*\s(src|href)=", page)
    assert '"5.7.0"' in page and "jQuery v3" in page
    assert page.count("</script>") == 1  # no library ends it early
    assert "what" in page


def test_weights_that_are_missing_are_explained():
    with pytest.raises(ValueError, match='attn_implementation="eager"'):
        bertviz_view.page(None, (), TOKENS)
    with pytest.raises(ValueError, match="by its name"):
        bertviz_view.page(None, [torch.zeros(3, 4, 4)], TOKENS)


def test_without_a_person_there_is_one_line_of_text(attentions, capsys):
    bertviz_view.head_view(attentions, TOKENS)
    bertviz_view.model_view(attentions, TOKENS)
    assert capsys.readouterr().out == f"{bertviz_view.ABSENT}\n" * 2


def test_with_a_person_there_is_an_iframe(attentions, monkeypatch):
    import IPython.display

    shown = []
    monkeypatch.setattr(bertviz_view, "somebody_watches", lambda: True)
    monkeypatch.setattr(
        IPython.display, "display", lambda bundle, raw: shown.append(bundle)
    )
    bertviz_view.head_view(attentions, TOKENS, layer=1, heads=[2])
    frame = shown[0]["text/html"]
    assert frame.startswith("<iframe") and frame.endswith("</iframe>")
    assert "<script" not in frame and "<script" in html.unescape(frame)


@pytest.mark.parametrize("gone", ["bertviz", "d3", "jquery"])
def test_a_package_that_is_gone_is_one_line_and_no_error(
    attentions, monkeypatch, capsys, gone
):
    monkeypatch.setattr(bertviz_view, "somebody_watches", lambda: True)
    if gone == "bertviz":
        monkeypatch.setattr(bertviz_view, "find_spec", lambda name: None)
    else:
        real = third_party.find
        monkeypatch.setattr(
            third_party, "find", lambda name: None if name == gone else real(name)
        )
    bertviz_view.head_view(attentions, TOKENS)
    said = capsys.readouterr().out
    assert re.match(
        r"The interactive view does not appear: .* missing\. Run `pip", said
    )
    assert said.count("\n") == 1 and gone in said.lower()


def test_the_version_of_bertviz_that_is_named_is_the_pinned_one(monkeypatch):
    monkeypatch.setattr(bertviz_view, "find_spec", lambda name: None)
    assert f"bertviz=={doctor.pins()['bertviz']}`" in bertviz_view.missing()


def test_the_built_solution_holds_no_script():
    path = ROOT / "solutions" / "03_multi_head_attention.ipynb"
    notebook = nbformat.read(path, nbformat.NO_CONVERT)
    outputs = [out for cell in notebook.cells for out in cell.get("outputs", [])]
    said = "".join(out.get("text", "") for out in outputs)
    kinds = {kind for out in outputs for kind in out.get("data", {})}
    assert said.count(bertviz_view.ABSENT) == 2
    assert kinds == {"image/png", "text/plain"}
