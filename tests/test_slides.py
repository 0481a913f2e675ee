"""Decks: what is on them, what is not, and what a real browser shows of them."""

import os
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import nbformat
import pytest
from chromium import browser, pixels

from tools.build.links import unlinked
from tools.slides.cells import anchor

ROOT = Path(__file__).resolve().parent.parent
NAMES = sorted(path.stem for path in (ROOT / "solutions").glob("*.ipynb"))
WIDTH, HEIGHT = 1280, 720
SMALLEST = 13  # pixels of a letter's font, on a screen of that size
MOST = 30  # slides of a class
LEAST = 25  # words of text, code and output on a slide without a picture
STUBS = {"04": 12, "05": 7}  # that stand whole on a page each


# Lessons whose slides have notes with minutes: the form of a class.
TIMED = re.compile(r"^# \*\*\d+ minutes?\.\*\* ", re.MULTILINE)
CLASSES = [
    name
    for name in NAMES
    if TIMED.search((ROOT / "lessons" / f"{name}.py").read_text("utf-8"))
]


def per_lesson(names=NAMES):
    lessons = [
        pytest.param(name, marks=pytest.mark.lesson(int(name[:2]))) for name in names
    ]
    return pytest.mark.parametrize("name", lessons)


@pytest.fixture(scope="module", autouse=True)
def extra():
    for package in ("sphinx_revealjs", "ziamath", "nbconvert"):
        pytest.importorskip(package, reason="needs the slides extra: `make slides`")


@cache
def deck(name):
    from tools.slides import cells

    return cells.read(ROOT, name)


def in_class(name):
    return [slide for slide in deck(name) if slide.minutes]


def words(slide):
    return "\n".join(cell.source for cell in slide.cells)


# --- what is on them ------------------------------------------------------------------


@per_lesson()
def test_a_slide_shows_what_a_student_has_without_checks_and_hints(name):
    student = nbformat.read(ROOT / "notebooks" / f"{name}.ipynb", 4)
    known = {cell.id: cell.source for cell in student.cells}
    shown = [cell for slide in deck(name) for cell in slide.cells if cell.id in known]
    assert len(shown) > len(known) / 3
    for cell in shown:
        # so no solution: `make check` proves it
        assert cell.source == unlinked(known[cell.id])
        assert not cell.id.endswith("-check") and "<summary>Hint" not in cell.source
        assert cell.metadata.get("slideshow", {}).get("slide_type") != "skip"


@per_lesson()
def test_the_notes_keep_the_solution_to_themselves(name):
    notes = "\n".join(note for slide in deck(name) for note in slide.notes)
    student = nbformat.read(ROOT / "notebooks" / f"{name}.ipynb", 4)
    stubs = {cell.id: set(cell.source.splitlines()) for cell in student.cells}
    solution = nbformat.read(ROOT / "solutions" / f"{name}.ipynb", 4)
    for cell in solution.cells:
        for line in set(cell.source.splitlines()) - stubs.get(cell.id, {cell.source}):
            assert len(line) < 20 or line not in notes or cell.id not in stubs, line


@per_lesson()
def test_no_notebook_has_the_notes(name):
    for folder in ("notebooks", "solutions"):
        cells = nbformat.read(ROOT / folder / f"{name}.ipynb", 4).cells
        kinds = [one.metadata.get("slideshow", {}).get("slide_type") for one in cells]
        assert "slide" in kinds and "notes" not in kinds, folder


@per_lesson()
def test_each_exercise_has_a_slide_with_its_stub(name):
    from helpers.checks.engine import exercises

    shown = {slide.exercise.id: slide for slide in deck(name) if slide.exercise}
    known = {one.id: one for one in exercises() if one.lesson == int(name[:2])}
    assert set(shown) == set(known)
    for number, exercise in known.items():
        if exercise.kind in ("function", "class", "probe"):
            assert f'NotImplementedError("exercise {number}")' in words(shown[number])


@per_lesson()
def test_a_speaker_has_notes_and_the_plan_of_45_minutes(name):
    slides = deck(name)
    assert all(slide.notes for slide in slides if not slide.appendix)
    plan = slides[0].notes[-1]
    minutes = sum(map(int, re.findall(r"\((\d+)\)", plan)))
    assert f"{minutes} minutes" in plan, plan
    # the start page is read before the first class, or in half of one
    assert minutes == 45 or (name.startswith("00") and minutes == 30), plan


# --- the form of a class --------------------------------------------------------------


@pytest.mark.parametrize("number", [f"{number:02}" for number in range(13)])
def test_these_lessons_have_the_form_of_a_class(number):
    assert number in [name[:2] for name in CLASSES]


@per_lesson(CLASSES)
def test_a_class_has_at_most_30_slides_and_an_appendix_behind_them(name):
    shown = in_class(name)
    assert len(shown) <= MOST
    rest = deck(name)[len(shown) :]
    assert rest and all(slide.appendix and not slide.minutes for slide in rest)
    assert rest[0].cells[0].source.startswith("# Appendix")
    asked = {slide.exercise.id for slide in deck(name) if slide.exercise}
    left = {slide.exercise.id for slide in rest if slide.exercise}
    assert left < asked and all(slide.lab for slide in rest if slide.exercise)


@per_lesson(CLASSES)
def test_each_section_of_the_core_has_a_slide_in_class(name):
    """A section whose note was forgotten would be found in the appendix only."""
    from tools.slides.cells import _headings

    shown = {title for slide in in_class(name) for title in _headings(slide)}
    rest = [slide for slide in deck(name) if slide.appendix]
    cells = [cell.source for slide in rest for cell in slide.cells]
    sections = {one.splitlines()[0][3:] for one in cells if one.startswith("## ")}
    assert not sections - {"Bugs from the wild", "Going further"} - shown


@per_lesson(CLASSES)
def test_each_slide_of_a_class_has_one_note_with_minutes_and_a_question(name):
    from tools.build.notes import minutes

    for slide in in_class(name):
        own = [note for note in slide.notes if minutes(note)]
        assert len(own) == 1, (slide.notes, "two notes: is a slide's mark missing?")
        assert re.search(r"\bAsk\b[^.]*?[:,]", own[0]), own[0]
        assert "Expect:" in own[0] and "Say:" in own[0], own[0]
        assert 25 <= len(own[0].split()) <= 110, own[0]


def content(slide):
    """The words of a slide without its headings, and its pictures."""
    texts, pictures = [], 0
    for cell in slide.cells:
        texts += re.sub(r"^#+ .*$", "", cell.source, flags=re.MULTILINE).split()
        pictures += cell.cell_type == "markdown" and cell.source.count("$$") // 2
        for one in cell.get("outputs", []):
            data = one.get("data", {})
            pictures += "image/png" in data
            texts += one.get("text", data.get("text/plain", "")).split()
    return len(texts), pictures


@per_lesson(CLASSES)
def test_no_slide_of_such_a_deck_is_nearly_empty(name):
    for slide in deck(name):
        count, pictures = content(slide)
        assert count >= LEAST or pictures, words(slide)


@per_lesson([name for name in NAMES if name[:2] in STUBS])
def test_stubs_of_these_lessons_stand_whole_on_a_page(name):
    from tools.slides.html import pieces

    stubs = [
        cell.source.splitlines()
        for slide in deck(name)
        for cell in slide.cells
        if "NotImplementedError(" in cell.source
    ]
    assert len(stubs) == STUBS[name[:2]]
    assert [len(pieces(lines)) for lines in stubs] == [1] * len(stubs)


# --- how it is drawn ------------------------------------------------------------------


@per_lesson()
def test_no_line_of_a_sentence_turns_into_a_list(name):
    """Markdown sees a list where a line begins with "1) of"."""
    for slide in deck(name):
        for cell in slide.cells:
            if cell.cell_type == "markdown":
                lines = ["", *cell.source.splitlines()]
                for before, line in zip(lines, lines[1:], strict=False):
                    begins = re.match(r"([-+*]|1[.)]) ", line)
                    fits = not before.strip() or re.match(r"[-+*] |  ", before)
                    assert not begins or fits, (cell.id, line)


def test_advice_names_mistakes_and_keeps_the_solution():
    from helpers.checks.engine import find
    from tools.slides.cells import advice

    text = advice(find("2.B"), "*function · about 20 minutes · 4 points*")
    assert "core path: 20 minutes alone." in text
    assert find("2.B").misconceptions[0].done in text


@pytest.mark.parametrize(
    ("plan", "left"),
    [
        (
            "Do 2.A (5). Leave 2.B, 2.F\nand 2.D for the\nlab. Usual: 2.C.",
            "2.B 2.F 2.D",
        ),
        ("2.A (4). 2.B and the challenge are for the lab.", "2.B"),
        ("Leave 2.B to 2.C for the lab.", "2.B 2.F 2.C"),
        ("No lab today: 2.B.", ""),
    ],
)
def test_what_a_plan_leaves_for_the_lab(plan, left):
    from tools.slides.cells import left_for_lab

    known = ["2.A", "2.B", "2.F", "2.C", "2.D"]
    assert left_for_lab(plan, known) == set(left.split())


def test_long_code_is_cut_at_blank_lines_and_nothing_is_lost():
    from tools.slides.html import LINES, pieces

    lines = ["" if n % 9 == 8 else f"line {n}" for n in range(70)]
    cut = pieces(lines)
    assert all(end - first <= LINES for first, end in cut) and len(cut) > 2
    kept = [line for first, end in cut for line in lines[first:end] if line]
    assert kept == [line for line in lines if line]
    assert all(lines[end] == "" for _, end in cut[:-1])
    solid = pieces(["x"] * 60)
    assert [end for _, end in solid[:-1]] == [first for first, _ in solid[1:]]


def test_a_text_that_is_cut_keeps_its_colours():
    from tools.slides.html import code

    text = "\n\n".join(f"word {n}" for n in range(20))
    drawn = code(f'def f():\n    """Text.\n\n{text}\n    """\n')
    assert drawn.count("<pre") == 2 and 'class="n"' not in drawn


def test_comments_for_tools_are_left_out():
    from tools.slides.html import code

    assert "noqa" not in code("x = 1  # noqa: E731\ny = 2  # why\n")
    assert "why" in code("x = 1  # noqa: E731\ny = 2  # why\n")


@pytest.mark.parametrize("inline", [True, False])
def test_a_formula_is_drawn_and_read_aloud(inline):
    from tools.slides.html import formula

    drawn = formula(r"\frac{QK^\top}{\sqrt{d_{head}}}", inline)
    assert drawn.count("<path") >= 8 and 'role="img"' in drawn
    assert r'aria-label="\frac{QK^\top}' in drawn


@pytest.mark.slow
@per_lesson()
def test_a_deck_names_no_other_host(name):
    from tools.slides.page import page

    text = page("Title", deck(name))
    loads = r"""(?:src|href)=["'](?!data:|#)|url\((?!["']?data:)|@import|<link\b"""
    start = text.index("<script>")
    assert not re.findall(loads, re.sub(r'<a href="[^"]*"', "", text[:start]))
    assert text.count("</script>") == 1 and text.rstrip().endswith("</html>")


# --- the command ----------------------------------------------------------------------


def test_a_missing_extra_is_one_clear_sentence():
    code = (
        "import importlib.util as u; find = u.find_spec;"
        "u.find_spec = lambda n, *a: None if n == 'ziamath' else find(n, *a);"
        "from tools.slides.__main__ import main; raise SystemExit(main(['02']))"
    )
    command = [sys.executable, "-c", code]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert run.returncode == 1 and run.stdout == ""
    assert run.stderr.startswith("Slides need ziamath") and run.stderr.count("\n") == 1
    assert "make slides" in run.stderr


@pytest.mark.parametrize("asked", [["77"], ["022"], ["xx"], ["02", "77"]])
def test_a_lesson_that_does_not_exist_is_one_clear_sentence(asked, capsys):
    from tools.slides.__main__ import main

    assert main(asked) == 1
    told = f"There is no lesson {asked[-1]}: choose from 00, 01, "
    assert capsys.readouterr().err.startswith(told)


def test_the_command_writes_one_deck(tmp_path, monkeypatch, capsys):
    from tools.slides import __main__ as command

    for folder in ("lessons", "solutions", "notebooks", "docs"):
        os.symlink(ROOT / folder, tmp_path / folder)
    monkeypatch.setattr(command, "ROOT", tmp_path)
    assert command.main(["0"]) == 0
    assert "slides/00_start_here.html" in capsys.readouterr().out
    first = (tmp_path / "slides" / "00_start_here.html").read_bytes()
    command.main(["00"])
    assert (tmp_path / "slides" / "00_start_here.html").read_bytes() == first


def test_a_deck_that_can_not_be_written_is_one_clear_sentence(
    tmp_path, monkeypatch, capsys
):
    from tools.slides import __main__ as command

    for folder in ("lessons", "solutions", "notebooks", "docs"):
        os.symlink(ROOT / folder, tmp_path / folder)
    (tmp_path / "slides").touch()
    monkeypatch.setattr(command, "ROOT", tmp_path)
    assert command.main(["00"]) == 1
    said = capsys.readouterr().err
    assert said.startswith("Could not write slides/00_start_here.html (")
    assert said.count("\n") == 1


# --- in a browser ---------------------------------------------------------------------

LOOK = """() => {
  const page = Reveal.getCurrentSlide();
  const shown = [...page.querySelectorAll('*')].filter(one => !one.closest('aside'));
  const box = one => { const b = one.getBoundingClientRect();
                       return [b.left, b.top, b.right, b.bottom]; };
  const letters = shown.filter(one => [...one.childNodes].some(
      node => node.nodeType === 3 && node.data.trim()));
  return {
    boxes: shown.map(box),
    sizes: letters.map(one => parseFloat(getComputedStyle(one).fontSize)),
    math: [...page.querySelectorAll('svg.math')].map(box),
    images: [...page.querySelectorAll('img')].map(box),
    overflows: page.classList.contains('overflows'),
    fading: page.getAnimations({subtree: true}).length,
    appendix: page.dataset.visibility === 'uncounted',
    notes: page.querySelector('aside.notes')?.textContent || '',
    title: page.querySelector('.again, .cell :is(h1, h2, h3)')?.textContent || '',
  };
}"""
TURN = """number => {
  const page = document.querySelectorAll('.slides .page')[number];
  const at = Reveal.getIndices(page);
  Reveal.slide(at.h, at.v, 99);
}"""


@pytest.fixture(scope="module")
def chromium():
    with browser() as started:
        yield started


@pytest.fixture(scope="module")
def opened(chromium, tmp_path_factory):
    """Open a deck; give its page and the list of all requests."""
    from tools.slides.page import page as whole

    context = chromium.new_context(viewport={"width": WIDTH, "height": HEIGHT})
    context.set_default_timeout(120_000)
    requests = []
    context.on("request", lambda request: requests.append(request.url))

    def open_deck(name):
        path = tmp_path_factory.getbasetemp() / f"{name}.html"
        path.write_text(whole(name, deck(name)), "utf-8")
        page = context.new_page()
        page.goto(path.as_uri())
        page.wait_for_selector("html[data-deck=ready]", state="attached")
        return page, requests

    yield open_deck
    context.close()


def ink(picture, box):
    """How many dark pixels a box of a screenshot has."""
    left, top, right, bottom = (round(edge) for edge in box)
    return int((picture[top:bottom, left:right].max(-1) < 110).sum())


@pytest.mark.browser
@per_lesson()
def test_every_slide_fits_and_is_drawn(name, opened):
    page, requests = opened(name)
    total = page.evaluate("document.querySelectorAll('.slides .page').length")
    assert total >= len(deck(name))
    formulas = figures = 0
    for number in range(total):
        page.evaluate(TURN, number)
        seen, where = page.evaluate(LOOK), f"{name}, slide {number + 1}"
        picture = pixels(page.screenshot())
        assert not seen["overflows"], where
        assert not seen["fading"], f"{where}: a picture may catch it half drawn"
        assert min(seen["sizes"], default=99) >= SMALLEST, where
        for left, top, right, bottom in seen["boxes"]:
            assert left >= 0 and top >= 0, where
            assert right <= WIDTH and bottom <= HEIGHT - 20, where
        assert ink(picture, (0, 0, WIDTH, HEIGHT)) > 100, f"{where} is empty"
        assert ink(picture, (0, HEIGHT - 16, WIDTH - 200, HEIGHT - 6)) == 0, where
        assert ink(picture, (WIDTH - 16, 0, WIDTH, HEIGHT - 70)) == 0, where
        for box in seen["math"]:
            assert ink(picture, box) >= 8, f"{where}: a formula is not drawn"
        for left, top, right, bottom in seen["images"]:
            area = picture[round(top) : round(bottom), round(left) : round(right)]
            assert right - left > 200 and area.std() > 3, f"{where}: no figure"
        formulas, figures = formulas + len(seen["math"]), figures + len(seen["images"])
        assert seen["notes"] or seen["appendix"], where
        assert seen["title"], where
    page.close()
    if name == "02_attention":
        assert formulas >= 8 and figures >= 5
    assert {url.split(":")[0] for url in requests} <= {"file", "data"}


@pytest.mark.slow
@per_lesson(CLASSES)
def test_a_stub_has_no_more_lines_than_a_page_holds(name):
    from tools.slides.html import FOR_TOOLS, LINES

    stubs = [
        (slide.exercise.id, FOR_TOOLS.sub("", cell.source).strip("\n"))
        for slide in deck(name)
        for cell in slide.cells
        if slide.exercise and "raise NotImplementedError" in cell.source
    ]
    assert stubs
    for number, stub in stubs:
        assert len(stub.splitlines()) <= LINES, number


@pytest.mark.browser
@per_lesson(CLASSES)
def test_a_slide_of_a_class_is_one_page_and_no_stub_is_cut(name, opened):
    from tools.slides.html import FOR_TOOLS

    shown = in_class(name)
    page, _ = opened(name)
    assert page.evaluate("Reveal.getTotalSlides()") == len(shown)
    seconds = page.evaluate(
        "[...document.querySelectorAll('.slides .whole')].map(one =>"
        " one.dataset.timing)"
    )
    assert seconds == [str(60 * slide.minutes) for slide in shown]
    texts = page.evaluate(
        "[...document.querySelectorAll('.slides .exercise')].map(one =>"
        " one.textContent)"
    )
    stubs = [
        (slide.exercise.id, cell.source)
        for slide in deck(name)
        for cell in slide.cells
        if slide.exercise and "raise NotImplementedError" in cell.source
    ]
    assert stubs
    for number, stub in stubs:
        lines = [line.strip() for line in FOR_TOOLS.sub("", stub).splitlines()]
        whole = [one for one in texts if all(line in one for line in lines)]
        assert any(f"Exercise {number}:" in one for one in whole), number
    page.close()


@pytest.mark.browser
@pytest.mark.lesson(2)
def test_an_address_opens_the_slide_of_an_exercise(opened):
    page, _ = opened("02_attention")
    address = page.url
    numbers = [slide.exercise.id for slide in deck("02_attention") if slide.exercise]
    for number in (numbers[0], numbers[-1]):  # in class, and in the appendix
        page.goto(f"{address}#/{anchor(number)}")
        page.reload()
        page.wait_for_selector("html[data-deck=ready]", state="attached")
        shown = page.evaluate("Reveal.getCurrentSlide().textContent")
        assert f"Exercise {number}:" in shown
    page.close()


@pytest.mark.browser
@pytest.mark.lesson(2)
def test_the_notes_open_and_follow(opened):
    page, requests = opened("02_attention")
    with page.expect_popup() as popup:
        page.keyboard.press("s")
    notes = popup.value.locator(".speaker-controls-notes .value")
    notes.get_by_text("45 minutes").first.wait_for()
    page.evaluate(
        "Reveal.slide(...Object.values(Reveal.getIndices(Reveal.getSlides().find("
        "one => one.textContent.includes('Exercise 2.B:')))))"
    )
    notes.get_by_text("What goes wrong").wait_for()
    popup.value.locator(".pacing").first.wait_for()
    assert {url.split(":")[0] for url in requests} <= {"file", "data", "about"}
