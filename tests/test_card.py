"""The card of a check: what stands in it, in which order, and that it can be read."""

import re
from html.parser import HTMLParser

import nbformat
import pytest
from test_progress import ROOT

from helpers.checks import card, exercises, missing, standing
from helpers.checks.engine import find, judge
from helpers.checks.report import Report, borrowed

STANDING = standing.of_lesson(2, {"2.A": "passed", "2.B": "wrong"})
PAGES = {"light": "#ffffff", "dark": "#111111", "VS Code": "#1f1f1f"}


class Read(HTMLParser):
    """Which elements there are, and the text that is shown."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.links = [], []
        self.text = self.shown = self.folded = ""  # all, at once, in the fold
        self.open = []
        self.feed(page)
        assert not self.open, f"not closed: {self.open}"

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.open.append(tag)
        self.links += [value for name, value in attrs if name == "href"]
        assert {name for name, _ in attrs} <= {"style", "href"}

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data
        if "details" in self.open:
            self.folded += data
        else:
            self.shown += data


def made(report, done=STANDING):
    return card.card(report, find(report.exercise), done, "x y.ipynb")


def wrong(query, key, value, mask=None):
    return find("2.B").references[0](query * query.shape[-1] ** 0.5, key, value, mask)


def luminance(colour):
    """WCAG's relative luminance of "#rrggbb"."""
    parts = (int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))
    red, green, blue = (
        one / 12.92 if one <= 0.04045 else ((one + 0.055) / 1.055) ** 2.4
        for one in parts
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one, other):
    darker, lighter = sorted(map(luminance, (one, other)))
    return (lighter + 0.05) / (darker + 0.05)


@pytest.mark.parametrize("colour", card.COLOURS.values())
def test_a_label_can_be_read_and_a_border_can_be_seen_on_any_page(colour):
    assert contrast(colour, "#ffffff") >= 4.5
    assert all(contrast(colour, page) >= 3 for page in PAGES.values())


def test_no_other_colour_is_set():
    """All other text takes the page's own colour."""
    reports = [Report("2.B", one, evidence=("a", "b")) for one in card.COLOURS]
    for report in reports[:-1]:
        html = made(report)
        used = set(re.findall(r"#[0-9a-f]{6}", html))
        assert used == {card.COLOURS[report.outcome], "#ffffff"}
        assert "class=" not in html and "var(" not in html


def test_what_happened_comes_first_and_the_evidence_is_folded():
    report = judge("2.B", wrong)
    read = Read(made(report))
    order = ("✗ wrong", "core path", "What happened:", "Where to look:", "Stuck?")
    places = [read.shown.index(words) for words in order]
    assert places == sorted(places) and "points" in read.shown
    assert read.folded.startswith("Evidence")
    assert "Case: " in read.folded and "Right in " in read.folded
    for line in report.evidence:  # all of it is there, once
        assert read.text.count(line.replace("`", "")) == 1


def test_a_mistake_without_a_name_shows_the_difference_first():
    report = judge("2.B", lambda *_, **__: (1, 2))
    assert report.misconception is None and report.outcome == "wrong"
    read = Read(made(report))
    assert "What happened" not in read.text
    assert "expected" in read.shown and "Case: " in read.folded


def test_an_error_is_shown_with_its_line_and_meaning():
    def broken(query, key, value, mask=None):
        return query.no_such_thing

    shown = Read(made(judge("2.B", broken))).shown
    assert shown.startswith("✗ raised") and "AttributeError" in shown
    assert "return query.no_such_thing" in shown


@pytest.mark.parametrize(
    ("report", "label"),
    [
        (judge("2.B", ...), "○ not attempted"),
        (borrowed(find("2.B"), "scaled"), "○ borrowed, not counted"),
        (Report("2.B", "passed", proven="a, b"), "✓ passed"),
    ],
)
def test_the_other_outcomes_are_named_by_sign_and_word(report, label):
    read = Read(made(report))
    assert read.text.startswith(label) and "details" not in read.tags


def test_a_pass_shows_the_core_path_and_leads_to_the_next_exercise():
    done = standing.of_lesson(2, {"2.A": "passed", "2.B": "passed"})
    assert [one.id for one in done.core] == ["2.A", "2.B", "2.C", "2.D"]
    read = Read(made(Report("2.B", "passed", proven="all"), done))
    assert "2 of 4 ★ in this lesson. Next: ★ 2.C " in read.text
    assert read.links == ["x%20y.ipynb#cell-id=ex-2-C-task"]


def test_what_was_left_behind_comes_after_what_lies_ahead():
    done = standing.of_lesson(2, {"2.B": "passed", "2.C": "passed", "2.D": "passed"})
    assert done.after("2.D").id == "2.A" == done.after("nothing").id
    whole = standing.of_lesson(2, dict.fromkeys("2.A 2.B 2.C 2.D".split(), "passed"))
    read = Read(made(Report("2.D", "passed", proven="all"), whole))
    assert "4 of 4 ★ in this lesson. The core path of this lesson is done." in read.text
    assert read.links == []


def test_links_lead_to_cells_that_every_notebook_has():
    """JupyterLab keeps the ids of cells, and nbconvert makes anchors of them."""
    for path in (ROOT / "notebooks").glob("*.ipynb"):
        ids = {cell.id for cell in nbformat.read(path, nbformat.NO_CONVERT).cells}
        lesson = int(path.name[:2])
        for one in (one for one in exercises() if one.lesson == lesson):
            target = re.search(r"#cell-id=([^\"]+)", card.link(one.id, "", ""))[1]
            assert target in ids


@pytest.mark.parametrize(
    "text",
    [
        "<script>alert(1)</script>",
        "<img src=x onerror=alert(1)>",
        "a < b & c > d \"e\" 'f'",
        "&lt;b&gt;",
        r"costs $5 and $6, \(x\), \[y\]",
        "</div></details><b>out</b>",
        "`<i>`",
    ],
)
def test_what_a_student_printed_is_shown_and_never_obeyed(text):
    evidence = (f"Your code printed: {text}", "What happened: " + text, "Stuck?")
    read = Read(made(Report("2.B", "wrong", evidence=evidence)))
    assert read.text.count(text.replace("`", "")) == 2
    assert set(read.tags) <= {"div", "span", "b", "code", "details", "summary"}


def test_a_formula_of_the_student_is_not_typeset():
    """MathJax does not look across the borders of an element."""
    shown = card.escaped(r"$x$ \(y\)")
    assert shown.count("<span>$</span>") == 2 and r"\(" not in shown


def test_control_codes_and_half_letters_do_not_reach_the_page():
    shown = card.escaped("\x1b[31m\x00\ud800\tkept\n")
    assert shown == "\N{REPLACEMENT CHARACTER}[31m\N{REPLACEMENT CHARACTER}" + (
        "<span>\\</span>ud800\tkept\n"
    )


def test_the_plain_text_is_the_report_s(monkeypatch):
    given = []
    monkeypatch.setattr(card, "display", given.append)
    report = judge("2.B", wrong)
    card.show(report, find("2.B"), STANDING)
    assert given[0]["text/plain"] == str(report)
    assert given[0]["text/html"] == card.card(report, find("2.B"), STANDING)


@pytest.mark.parametrize(
    ("error", "whose"),
    [
        (NotImplementedError("exercise 2.G"), "2.G"),
        (NotImplementedError("exercise 2.3b"), "2.G"),
        (NotImplementedError("softmax of an int"), None),
        (TypeError("'ellipsis' object is not callable"), ""),
        (AttributeError("'ellipsis' object has no attribute 'shape'"), ""),
        (TypeError("'int' object is not callable"), None),
        (ValueError("ellipsis"), None),
        (None, None),
    ],
)
def test_only_a_stub_or_a_blank_is_a_missing_answer(error, whose):
    assert missing.needed(error) == whose
