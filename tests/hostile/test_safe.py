"""What leaves the sandbox is text and pictures, whatever stood in the notebook."""

import json
import re

import nbformat
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nbconvert.exporters import HTMLExporter
from nbformat import v4

from tests import submissions as handed
from tests.hostile import attacks
from tests.hostile.test_hostile import active
from tools.grading.safe import ROOM, safe_markdown, safe_notebook

pytestmark = pytest.mark.lesson("02")

PIECES = """
< > <img <script> <svg/onload=x> onerror= ![ ]( ) [a] [a]: (javascript:x) data:text/html
&lt; &#106; &colon; ` `` ``` ~~~ $ $$ \\ \\href{ } \\begin{a} | - # * _ " ' = : // https://
javascript: JaVaScRiPt: <!-- --> <![CDATA[ <?php </div> <a href= > \\( \\[ ^ 1. x \t
""".split(" ")


@pytest.fixture(scope="module")
def released():
    return handed.released()


@pytest.mark.parametrize(
    ("source", "safe"),
    [
        ("plain **text**, `a < b`, $a<0$", "plain **text**, `a < b`, $a<0$"),
        ("<img src=x onerror=y>", "< img src=x onerror=y>"),
        ("</p><!-- --><?x", "< /p>< !-- -->< ?x"),
        ("[a](https://x.org/y) [b](#c)", "[a](https://x.org/y) [b](#c)"),
        ("[a](javascript:x)", "[a] (javascript:x)"),
        ("[a](&#106;avascript:x)", "[a] (&#106;avascript:x)"),
        ("[a]( javascript:x)", "[a] ( javascript:x)"),
        ("![a](https://x.org/y)", "! [a](https://x.org/y)"),
        ("[a]: data:x\n[b]: https://x.org", "[a] : data:x\n[b]: https://x.org"),
        (r"$\href{javascript:x}{y}$", r"$\ href{javascript:x}{y}$"),
    ],
)
def test_markdown_keeps_what_is_harmless(source, safe):
    assert safe_markdown(source) == safe


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(st.lists(st.sampled_from(PIECES + ["\n", "\n\n", " "]), max_size=25))
def test_no_markdown_draws_anything_active(pieces):
    notebook = v4.new_notebook(
        cells=[v4.new_markdown_cell(safe_markdown("".join(pieces)))]
    )
    html, _ = HTMLExporter(template_name="basic").from_notebook_node(notebook)
    assert active(html) == []
    assert "<img" not in html


def test_the_judge_of_these_tests_knows_an_active_page():
    for bad in (
        "<script>x</script>",
        '<p onclick="x">',
        '<a href="javascript:x">',
        '<img src="http://x.org">',
        "<svg/onload=x>",
        '<iframe srcdoc="x">',
    ):
        assert active(bad), bad
    assert active('<a href="https://x.org">x</a><b>y</b>') == []


def executed(released, **changes):
    """Return an executed notebook as JSON, with one more cell, changed."""
    cell = {
        "cell_type": "code",
        "id": "x",
        "metadata": {"tags": ["x"], "nbgrader": {"grade_id": ["odd"]}},
        "source": "1",
        "outputs": [],
        "execution_count": 1,
    }
    notebook = json.loads(nbformat.writes(released))
    notebook["cells"].append(cell | changes)
    notebook["metadata"]["title"] = "<script>"
    return json.dumps(notebook)


def last_cell(released, **changes):
    """Return what is kept of such a cell."""
    safe = json.loads(safe_notebook(executed(released, **changes), released))
    nbformat.validate(safe)
    return safe["cells"][-1]


def test_what_the_course_wrote_stays(released):
    safe = json.loads(safe_notebook(executed(released), released))
    assert [c["source"] for c in safe["cells"]][:-1] == [
        cell.source for cell in released.cells
    ]
    known = [cell.metadata for cell in released.cells if "nbgrader" in cell.metadata]
    assert [c["metadata"] for c in safe["cells"] if c["metadata"]] == known
    assert safe["metadata"] == released.metadata


def test_of_outputs_text_and_pictures_stay(released):
    data = {"text/plain": ["a\n", "b"], "text/html": "<b>", "image/png": "AAAA\n"}
    [shown] = last_cell(
        released,
        outputs=[{"output_type": "display_data", "data": data, "metadata": {"x": 1}}],
    )["outputs"]
    assert shown["data"] == {"text/plain": "a\nb", "image/png": "AAAA\n"}
    assert shown["metadata"] == {}


@pytest.mark.parametrize(
    "data",
    [
        {"text/html": attacks.SCRIPT},
        {"image/svg+xml": "<svg/>"},
        {"application/javascript": "x"},
        {"image/png": '"><script>'},
        {"image/png": " " * 1_000_000 + "!"},  # at once, not after an hour
        {"text/markdown": "x", "text/latex": "x", "application/json": {"a": 1}},
    ],
)
def test_of_other_outputs_a_word_stays(released, data):
    output = {"output_type": "execute_result", "data": data, "metadata": {}}
    [shown] = last_cell(released, outputs=[output])["outputs"]
    assert shown["data"] == {"text/plain": f"(left out: {', '.join(sorted(data))})"}


def test_a_raw_cell_is_shown_as_code(released):
    cell = last_cell(released, cell_type="raw", source="a\n<script>x</script>")
    assert cell["cell_type"] == "markdown"
    assert cell["source"] == "    a\n    < script>x< /script>"


def test_what_is_too_long_is_cut_and_says_so(released):
    cell = last_cell(released, cell_type="markdown", source="\\begin{a}" * 50_000)
    assert cell["source"].endswith("[cut: 450000 characters]")
    assert len(cell["source"]) < ROOM["cell"] + 50
    text = {"output_type": "stream", "name": "stdout", "text": "x" * 20_000_000}
    cell = last_cell(released, outputs=[text, text])
    kept = [output["text"] for output in cell["outputs"]]
    assert sum(map(len, kept)) < ROOM["output"] + 200
    assert all(text.endswith("[cut: 20000000 characters]") for text in kept)


@pytest.mark.parametrize(
    "changes",
    [
        {"source": 3},
        {"source": ["a", 3]},
        {"metadata": []},
        {"outputs": [{}]},
        {"outputs": [{"output_type": "stream", "name": [], "text": None}]},
        {"outputs": [{"output_type": "error", "ename": {}, "traceback": 3}]},
        {"outputs": 7},
    ],
)
def test_what_is_not_a_notebook_is_refused(released, changes):
    with pytest.raises((KeyError, TypeError, ValueError, AttributeError)):
        safe_notebook(executed(released, **changes), released)


def test_control_characters_do_not_reach_a_page(released):
    output = {"output_type": "stream", "name": "stdout", "text": "a\0\b\x1b[31mb\x7f\n"}
    [shown] = last_cell(released, outputs=[output])["outputs"]
    assert shown["text"] == "a\x1b[31mb\n"
    assert not re.search(r"[\0\b]", json.dumps(shown))
