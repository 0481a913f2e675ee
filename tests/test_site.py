"""The site: what is on its pages, what is folded, and that it needs nothing outside."""

import re
import resource
import subprocess
import sys
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from urllib.parse import unquote, urlsplit

import nbformat
import pytest
from chromium import browser, pixels, soon

from helpers.checks.engine import exercises
from tools.build import published
from tools.build.notebooks import lesson_paths, read
from tools.site import __main__ as command

ROOT = Path(__file__).resolve().parent.parent
NAMES = [path.stem for path in lesson_paths(ROOT)]
BYTES, SECONDS = 40e6, 60  # of the site; that its build may cost a processor
CODE = ["pre", "code", "script"]
SOFTMAX = "solved-2-a"  # the exercise that is looked at closely
SEARCHES = {
    "softmax": "02 Attention",
    "perplexity": "11 GPT-2",
    "layer norm": "04 The encoder",
}
pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("site")]


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The site, built once: its folder, and the processor's seconds that it took."""
    for package in (*command.NEEDED, "bs4"):
        pytest.importorskip(package, reason="needs the site extra: `make site`")
    folder = tmp_path_factory.mktemp("course") / "site"
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    run = subprocess.run(
        [sys.executable, "-m", "tools.site", "--to", folder],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    took = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before
    assert run.returncode == 0 and not run.stderr, run.stdout + run.stderr
    return SimpleNamespace(folder=folder, took=took, said=run.stdout)


@cache
def soup(path):
    from bs4 import BeautifulSoup

    return BeautifulSoup(path.read_text("utf-8"), "html.parser")


def every(site):
    """The pages, without the theme's own."""
    found = sorted(site.folder.rglob("*.html"))
    return [path for path in found if "_static" not in path.parts]


def lesson(site, name):
    return soup(site.folder / "lessons" / f"{name}.html")


def words(text):
    """The letters of a text alone: typography and markup do not matter."""
    return " ".join(re.findall(r"\w+", text))


def executed(name, folder="solutions"):
    return nbformat.read(ROOT / folder / f"{name}.ipynb", 4).cells


# --- what there is --------------------------------------------------------------------


def test_each_lesson_has_a_page_and_a_page_of_mistakes(site):
    for folder in ("lessons", "mistakes"):
        made = {path.stem for path in (site.folder / folder).glob("*.html")}
        assert made - {"index"} == set(NAMES)
    for name in ("start", "words", "instructors/guide", "instructors/grading"):
        assert (site.folder / f"{name}.html").exists()
    for name in ("measured/experiments", "measured/benchmarks", "cards/gpt2"):
        assert (site.folder / f"{name}.html").exists()


def test_it_is_small_and_quickly_built(site):
    size = sum(path.stat().st_size for path in site.folder.rglob("*"))
    assert size < BYTES and site.took < SECONDS, (size, site.took)
    assert str(site.folder / "index.html") in site.said


def test_the_contents_lead_to_every_page(site):
    index = soup(site.folder / "index.html")
    listed = {link["href"] for link in index.select("nav.bd-links a")}
    pages = {str(path.relative_to(site.folder)) for path in every(site)}
    missing = pages - listed - {"index.html", "genindex.html", "search.html"}
    assert not missing


@pytest.mark.parametrize("name", NAMES)
def test_a_lesson_has_its_outputs_and_its_figures_with_their_texts(site, name):
    page = lesson(site, name)
    shown = "\n".join(block.get_text() for block in page.select("pre"))
    printed = [
        (cell.id, one)
        for cell in executed(name)
        for one in cell.get("outputs", [])
        if not re.search("so-far|-model$", cell.id)
    ]
    for id_, one in printed:
        assert one.get("text", "").rstrip() in shown, id_
    known = [
        one.metadata["image/png"]["alt"]
        for _, one in printed
        if "image/png" in one.get("data", {})
    ]
    drawn = [image["alt"] for image in page.select("article img")]
    assert [words(one) for one in drawn] == [words(one) for one in known]


def test_pictures_and_formulas_say_what_they_show(site):
    formulas = 0
    for path in every(site):
        for image in soup(path).select("img"):
            assert image.get("alt"), (path.name, image)
        for formula in soup(path).select("svg.math"):
            assert formula["role"] == "img" and formula["aria-label"], path.name
            formulas += 1
        assert not re.search(r"\$\$|\\\(|\\frac", visible(path)), path.name
    assert formulas > 50


def visible(path):
    """The text of a page without code."""
    strings = soup(path).select_one("body").find_all(string=True)
    return "".join(one for one in strings if not one.find_parent(CODE))


# --- what is folded, and what is not there --------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_an_exercise_shows_its_stub_and_folds_its_answer_twice(site, name):
    from tools.slides.html import FOR_TOOLS

    page = lesson(site, name)
    stubs = {cell.id: cell.source for cell in executed(name, "notebooks")}
    is_answer = re.compile(r"ex-\d+-[A-Z]").fullmatch
    answers = [cell for cell in executed(name) if is_answer(cell.id)]
    folds = page.select("details.answer")
    open_ = [
        one.get_text().strip("\n")
        for one in page.select("pre")
        if not one.find_parent("details")
    ]
    assert len(folds) == len(answers)
    for answer, fold in zip(answers, folds, strict=True):
        [inner] = fold.select("details.shown")
        assert "Did you try?" in fold.get_text()
        if answer.cell_type == "markdown":
            assert "Rubric" in inner.get_text(), answer.id
            continue
        source = FOR_TOOLS.sub("", answer.source).strip("\n")
        assert source in inner.select_one("pre").get_text(), answer.id
        assert source not in open_, answer.id
        assert FOR_TOOLS.sub("", stubs[answer.id]).strip("\n") in open_, answer.id
    assert not page.select("details[open]")


def test_an_exercise_folds_its_hints_and_what_its_check_says(site):
    known = {one.id: one for one in exercises()}
    section = lesson(site, "02_attention").find(id=SOFTMAX)
    folds = [one.get_text() for one in section.select("summary")]
    assert [one[:6] for one in folds[:3]] == ["Hint 1", "Hint 2", "Hint 3"]
    assert folds[3:] == ["What the check says", "An answer", "Show the answer"]
    said = section.select_one("details.check").get_text()
    assert "2.A passed" in said
    for one in known["2.A"].misconceptions:
        assert words(one.done.replace("`", "")) in words(said), one.name


def test_every_check_is_heard(site):
    asked = [one for one in exercises() if one.answers]
    heard = [
        fold.get_text()
        for name in NAMES
        for fold in lesson(site, name).select("details.check")
    ]
    assert len(heard) == len(asked)
    assert all(" passed" in one for one in heard)


def test_model_answers_are_folded_for_instructors_too(site):
    page = soup(site.folder / "instructors" / "written.html")
    folds = page.select("details.answer")
    written = [one for one in exercises() if one.kind == "written"]
    assert len(folds) == len(written)
    assert all("Rubric" in fold.get_text() for fold in folds)
    for fold in folds:
        fold.extract()
    assert "Model answer." not in page.select_one("article").get_text()
    soup.cache_clear()


@pytest.mark.parametrize("name", NAMES)
def test_no_note_for_the_speaker_is_on_a_page(site, name):
    cells = read(ROOT / "lessons" / f"{name}.py").cells
    notes = [cell for cell in cells if cell.metadata.get("slide") == "notes"]
    told = words("\n".join(cell.source for cell in cells if cell not in notes))
    text = words(lesson(site, name).get_text())
    assert notes and len(text) > 10_000
    for note in notes:
        sentences = re.split(r"(?<=[.?!:])\s+", note.source.replace("*", ""))
        for sentence in map(words, sentences):
            if len(sentence.split()) > 6 and sentence not in told:
                assert sentence not in text


# --- where links lead -----------------------------------------------------------------


def test_every_internal_link_leads_somewhere(site):
    followed = 0
    for path in every(site):
        for link in soup(path).select("a[href]"):
            to = urlsplit(link["href"])
            if to.scheme or not link["href"].strip("#"):
                assert to.scheme in ("", "https"), link["href"]
                continue
            target = path
            if to.path:
                target = (path.parent / unquote(to.path)).resolve()
            assert target.is_file(), (path.name, link["href"])
            if to.fragment and target.suffix == ".html":
                ids = identifiers(target)
                assert unquote(to.fragment) in ids, (path.name, link["href"])
            followed += 1
    assert followed > 1000


@cache
def identifiers(path):
    return {one["id"] for one in soup(path).select("[id]")}


def test_nothing_outside_is_loaded(site):
    loaded = 0
    for path in every(site):
        sources = [one["src"] for one in soup(path).select("[src]")]
        styles = soup(path).select("link[href]")
        sources += [one["href"] for one in styles]
        for source in filter(lambda one: one != "#", sources):
            to = urlsplit(source)
            assert not to.scheme and not to.netloc, (path.name, source)
            assert (path.parent / unquote(to.path)).resolve().is_file(), source
            loaded += 1
    for path in site.folder.rglob("*.css"):
        text = path.read_text("utf-8")
        assert not re.search(r"(?:@import|url\()\s*['\"]?(?:https?:)?//", text), path
    assert loaded > 500


# --- the command ----------------------------------------------------------------------


@pytest.fixture
def linked():
    """What becomes of a text of docs/ in the site."""
    pytest.importorskip("ziamath", reason="needs the site extra: `make site`")
    from tools.site import pages

    def do(text, address=""):
        made = pages.Site(ROOT, address)
        return pages.linked(made, pages.PAGES, "docs/instructors.md", text), made.files

    return do


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("[a](grading.md#slides)", "[a](../instructors/grading.md#slides)"),
        ("[a](../README.md)", "[a](../index.md)"),
        ("[a](written.md#lesson-02)", "[a](#lesson-02)"),
        ("[a](benchmarks.json)", "a"),
        ("[a](https://example.org/x)", "[a](https://example.org/x)"),
        ("[a](#here) and x[i](y)", "[a](#here) and x[i](y)"),
        ("```\n[a](grading.md)\n```\n", "```\n[a](grading.md)\n```\n"),
        ('<a id="here"></a>', "(here)="),
    ],
)
def test_a_link_leads_to_a_page_of_the_site(linked, text, result):
    assert linked(text)[0] == result


def test_a_file_that_the_site_does_not_show_is_found_in_the_repository(linked):
    text, files = linked("[a](benchmarks.json) ![b](slide.png)", "https://x.org/c")
    assert text.startswith("[a](https://x.org/c/blob/main/docs/benchmarks.json)")
    assert files == {"figures/docs-slide.png": (ROOT / "docs/slide.png").read_bytes()}
    assert ':alt: "b"' in text


def test_one_setting_leads_to_where_a_lesson_can_be_run():
    pytest.importorskip("ziamath", reason="needs the site extra: `make site`")
    from tools.site import pages
    from tools.site.lessons import reading

    page = reading("02_attention", "https://github.com/us/it")
    ways = published.ways("https://github.com/us/it", "notebooks/02_attention.ipynb")
    assert all(f"({way})" in page for way in ways.values())
    assert "](" not in reading("02_attention", "").replace("](../start.md)", "")
    assert "folded below.\n:::" in reading("02_attention", "")
    text = published.badges("https://github.com/us/it")
    assert "!" in text and "!" not in pages.BADGE.sub(r"[\1]", text)


def test_another_folder_is_not_overwritten(tmp_path, capsys):
    (tmp_path / "mine.txt").write_text("mine")
    for package in command.NEEDED:
        pytest.importorskip(package, reason="needs the site extra: `make site`")
    assert command.main(["--to", str(tmp_path)]) == 1
    assert "holds something else than a site" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


def test_a_missing_package_is_one_sentence(monkeypatch, capsys):
    monkeypatch.setattr(command, "NEEDED", ("no_such_package",))
    assert command.main([]) == 1
    said = capsys.readouterr().err
    assert said.startswith("The site needs no_such_package") and "make site" in said
    assert said.count("\n") == 1


# --- in a browser, from the file system, without a network ----------------------------


@pytest.fixture(scope="module")
def chromium(site):
    with browser() as one:
        yield one


def opened(chromium, site, name, **options):
    """A page as a reader opens it who has no network; fails if it asks for any."""
    context = chromium.new_context(offline=True, **options)
    page = context.new_page()
    wrong = page.wrong = []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("console", lambda one: one.type == "error" and wrong.append(one.text))
    page.on("request", lambda one: asks(one.url) and wrong.append(one.url))
    page.goto(f"{site.folder.as_uri()}/{name}")
    return page


def asks(url):
    return not url.startswith(("file:", "data:", "blob:"))


@pytest.mark.browser
@pytest.mark.parametrize("query", SEARCHES)
def test_a_search_finds_the_lesson(chromium, site, query):
    page = opened(chromium, site, "index.html")
    page.keyboard.press("Control+k")
    page.locator("dialog input[type=search]").fill(query)
    page.keyboard.press("Enter")
    page.wait_for_url("**/search.html?q=*")
    first = page.locator("#search-results li a")

    def found():
        titles = first.all_inner_texts()[:3]
        assert any(one.startswith(SEARCHES[query]) for one in titles), titles

    soon(found)
    first.first.click()
    page.wait_for_selector("article h1")
    assert not page.wrong
    page.context.close()


@pytest.mark.browser
@pytest.mark.parametrize("name", ["index.html", "lessons/02_attention.html"])
def test_a_page_fits_a_phone_and_the_dark(chromium, site, name):
    phone = {"width": 390, "height": 844}
    page = opened(chromium, site, name, viewport=phone, color_scheme="dark")
    page.evaluate(
        "for (const one of document.querySelectorAll('details')) one.open = 1"
    )
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert pixels(page.screenshot()).mean() < 90  # of 255
    page.emulate_media(color_scheme="light")
    soon(lambda: bright(page))
    assert not page.wrong
    page.context.close()


def bright(page):
    assert pixels(page.screenshot()).mean() > 180


@pytest.mark.browser
def test_what_can_be_pressed_has_a_name(chromium, site):
    page = opened(chromium, site, "lessons/02_attention.html")
    search = page.locator(".search-button-field").first
    assert not search.get_attribute("aria-label") and "Search" in search.inner_text()
    for one in page.locator("summary").all():
        assert one.get_attribute("aria-label") or one.text_content().strip()
    page.context.close()


@pytest.mark.browser
def test_an_answer_takes_two_clicks(chromium, site):
    page = opened(chromium, site, f"lessons/02_attention.html#{SOFTMAX}")
    exercise = page.locator(f"#{SOFTMAX}")
    answer = exercise.get_by_text("largest = x.amax")
    for summary in ("An answer", "Show the answer"):
        assert not answer.is_visible()
        exercise.locator("summary", has_text=re.compile(f"^{summary}$")).click()
    assert answer.is_visible()
    assert not page.wrong
    page.context.close()
