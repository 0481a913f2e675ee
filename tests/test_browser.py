"""A student's evening in JupyterLab: what a real browser shows of lesson 02.

COURSE_SHOTS=folder keeps the pictures.
"""

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import nbformat
import person
import pytest
import submissions
from chromium import browser, needed, pixels, soon
from nbformat.v4 import new_code_cell, new_notebook, new_output

from helpers.checks.card import card as made_card
from helpers.checks.engine import find, judge
from helpers.checks.standing import of_lesson

ROOT = Path(__file__).resolve().parent.parent
LESSON, SOLUTION = "02_attention.ipynb", "solution_02.ipynb"
STAYS = ".git .venv work backups build slides __pycache__ .*_cache".split()
STUB, CHECK = "def scaled_dot_product_attention(", 'check("2.B"'
MINUTE = 60_000  # milliseconds
THEMES = ["JupyterLab Light", "JupyterLab Dark"]

pytestmark = [
    pytest.mark.browser,
    pytest.mark.slow,
    pytest.mark.lesson(2),
    pytest.mark.xdist_group("jupyterlab"),
]

RIGHT = """\
def scaled_dot_product_attention(query, key, value, mask=None):
    scores = query @ key.transpose(-1, -2) / query.shape[-1] ** 0.5
    if mask is not None:
        scores = torch.where(mask, scores, -torch.inf)
    weights = torch.softmax(scores, dim=-1)
    return weights @ value, weights
"""
WRONG = RIGHT.replace(" / query.shape[-1] ** 0.5", "")
BORROWED = """\
from helpers.checks import borrow
scaled_dot_product_attention = borrow("2.B")
"""


# --- a fresh clone and its server -----------------------------------------------------


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    """A course as it is cloned: no work yet, nothing trusted."""
    needed()
    folder = tmp_path_factory.mktemp("clone") / "course"
    shutil.copytree(ROOT, folder, ignore=shutil.ignore_patterns(*STAYS))
    return folder


@pytest.fixture(scope="module")
def environment(tmp_path_factory):
    """A student's: nothing in it says that a test or CI is at work."""
    home = tmp_path_factory.mktemp("home")
    own = {f"JUPYTER_{name}_DIR": str(home / name) for name in ("CONFIG", "DATA")}
    own["JUPYTER_RUNTIME_DIR"] = str(home / "run")
    kept = {name: os.environ[name] for name in {*os.environ} - {*person.PROGRAMS}}
    return kept | own


def lab(course, environment, *arguments, **how):
    """Start what `make lab` starts."""
    command = [sys.executable, "-m", "tools.lab", *arguments]
    return subprocess.Popen(command, cwd=course, env=environment, **how)


@pytest.fixture(scope="module")
def address(course, environment):
    """The printed address of a running `make lab`, work/ made by it."""
    log = course.parent / "log"
    with log.open("w") as output:
        process = lab(
            *(course, environment, "--no-browser", "--port=0"),
            "--expose-app-in-browser",  # so that a test can ask for its cells
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        end = time.monotonic() + 120
        while not (found := re.search(r"http://127\S+token=\w+", log.read_text())):
            assert process.poll() is None and time.monotonic() < end, log.read_text()
            time.sleep(0.2)
        solution = ROOT / "solutions" / LESSON
        shutil.copy(solution, course / "work" / SOLUTION)
        yield found[0]
    finally:
        os.killpg(process.pid, signal.SIGINT)
        try:
            process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


@pytest.fixture(scope="module")
def context(address):
    with browser() as chromium:
        opened = chromium.new_context(viewport={"width": 1300, "height": 950})
        opened.set_default_timeout(2 * MINUTE)
        opened.asked = []
        opened.on("request", lambda request: opened.asked.append(request.url))
        yield opened
        opened.close()


# --- a notebook in the browser --------------------------------------------------------

CELLS = "window.jupyterapp.shell.currentWidget.content.widgets"
CODE = f"{CELLS}.filter(cell => cell.model.type === 'code')"


class Notebook:
    """A notebook that is open in JupyterLab."""

    def __init__(self, context, address, name):
        self.page = context.new_page()
        start = urlsplit(address)
        workspace = f"/lab/workspaces/{Path(name).stem}/tree/{name}"
        self.page.goto(f"http://{start.netloc}{workspace}?{start.query}")
        self.ready()

    def ready(self):
        """Wait until it is there, and its kernel at rest."""
        self.page.wait_for_selector(".jp-Notebook .jp-Cell")
        session = "window.jupyterapp?.shell.currentWidget?.sessionContext"
        self.page.wait_for_function(  # a cell that is run earlier may be forgotten
            f"""() => {session}?.isReady
                && {session}.session?.kernel?.connectionStatus === 'connected'
                && {session}.session.kernel.status === 'idle'"""
        )

    def number(self, text):
        """Which code cell holds a text."""
        look = "cell.model.type === 'code' && cell.model.sharedModel.source"
        code = f"text => {CELLS}.findIndex(cell => ({look} || '').includes(text))"
        self.page.wait_for_function(f"text => ({code})(text) >= 0", arg=text)
        return self.page.evaluate(code, text)

    def cell(self, number):
        """Scroll to a cell and make it the active one."""
        self.page.evaluate(
            """async number => {
              const notebook = window.jupyterapp.shell.currentWidget.content;
              notebook.activeCellIndex = number;
              await notebook.scrollToItem(number, 'center').catch(() => null);
            }""",
            number,
        )
        found = self.page.locator(
            f".jp-Notebook:visible .jp-Cell[data-windowed-list-index='{number}']"
        )
        found.wait_for()
        found.scroll_into_view_if_needed()
        return found

    def write(self, number, text):
        """Replace what stands in a cell, as a student would."""
        self.cell(number).locator(".cm-content").click()
        self.page.keyboard.press("Control+a")
        self.page.keyboard.insert_text(text)

    def run(self, number):
        """Run a cell and return its cell, outputs drawn."""
        count = f"number => {CELLS}[number].model.executionCount"
        before = self.page.evaluate(count, number)
        cell = self.cell(number)
        cell.locator(".cm-content").click()
        self.page.keyboard.press("Control+Enter")
        self.page.wait_for_function(
            f"([number, before]) => ![null, before].includes(({count})(number))",
            arg=[number, before],
        )
        drawn = f"""number => {{
          const cell = {CELLS}[number], count = cell.model.outputs.length;
          const outputs = [...cell.node.querySelectorAll('.jp-OutputArea-output')];
          return outputs.length === count && outputs.every(
              one => one.innerText.trim() || one.querySelector('img, iframe'));
        }}"""
        self.page.wait_for_function(drawn, arg=number)
        return cell

    def told(self, text):
        """Run the cell with a text and return what it says."""
        return self.run(self.number(text)).locator(".jp-OutputArea").inner_text()

    def run_all(self):
        """Choose Run all, and wait until every cell ran or one has failed."""
        run = "() => { window.jupyterapp.commands.execute('notebook:run-all-cells'); }"
        self.page.evaluate(run)
        self.page.wait_for_function(
            f"""() => {CODE}.every(cell => cell.model.executionCount)
                   || {CODE}.some(cell => cell.model.outputs.toJSON().some(
                        output => output.output_type === 'error'))""",
            timeout=5 * MINUTE,
        )

    def errors(self):
        """The messages of all errors that it shows."""
        return self.page.evaluate(
            f"""() => {CODE}.flatMap(cell => cell.model.outputs.toJSON())
                  .filter(output => output.output_type === 'error')
                  .map(output => output.evalue)"""
        )

    def complaints(self, text):
        """How many outputs of the cell with a text are red."""
        red = "[data-mime-type$=error], [data-mime-type$=stderr]"
        return self.cell(self.number(text)).locator(red).count()

    def shot(self, name):
        """A picture of the window; COURSE_SHOTS keeps it."""
        picture = self.page.screenshot()
        if folder := os.environ.get("COURSE_SHOTS"):
            Path(folder, f"{name}.png").write_bytes(picture)
        return pixels(picture)

    def theme(self, name):
        """Choose a theme of JupyterLab."""
        change = "theme => window.jupyterapp.commands.execute"
        self.page.evaluate(f"{change}('apputils:change-theme', {{theme}})", name)
        dark = "false" if "Dark" in name else "true"
        body = f"body[data-jp-theme-light={dark}]"
        self.page.wait_for_selector(body, state="attached")


@contextmanager
def opened(context, address, name):
    notebook = Notebook(context, address, name)
    yield notebook
    notebook.page.close()


@pytest.fixture(scope="module")
def student(context, address):
    """Lesson 02 as `make lab` brought it, its imports done."""
    with opened(context, address, LESSON) as notebook:
        for needed in ("import torch", "Q = torch.tensor"):
            assert "Error" not in notebook.told(needed)
        notebook.stub = notebook.number(STUB)
        yield notebook


@pytest.fixture(scope="module")
def solution(context, address):
    with opened(context, address, SOLUTION) as notebook:
        yield notebook


# --- what a student sees --------------------------------------------------------------


def test_the_untouched_exercise_is_not_attempted(student):
    student.run(student.stub)
    said = student.told(CHECK)
    student.shot("not_attempted")
    assert "2.B" in said and "not attempted" in said.lower()
    assert len(said.splitlines()) < 12 and "Traceback" not in said
    assert student.complaints(CHECK) == 0


def test_a_wrong_answer_gets_its_diagnosis(student):
    student.write(student.stub, WRONG)
    student.run(student.stub)
    said = " ".join(student.told(CHECK).split())
    student.shot("wrong")
    known = {one.name: one for one in find("2.B").misconceptions}["no scaling"]
    assert (
        " ".join(known.done.split()) in said and " ".join(known.where.split()) in said
    )
    assert "Traceback" not in said and student.complaints(CHECK) == 0


def test_a_right_answer_passes(student):
    student.write(student.stub, RIGHT)
    student.run(student.stub)
    said = student.told(CHECK)
    student.shot("passed")
    assert "passed" in said.lower() and find("2.B").proves.split(",")[0] in said
    assert student.complaints(CHECK) == 0


def test_a_borrowed_answer_lets_one_go_on_and_is_not_passed(student):
    student.write(student.stub, BORROWED)
    student.run(student.stub)
    said = student.told(CHECK)
    for before in ("TIRED =", "head = one_head(TIRED,"):
        student.told(before)
    after = student.told("_, mine_weights =")
    student.shot("borrowed")
    assert "borrowed" in said.lower() and "passed" not in said.lower()
    assert after.split()[-1] == "0.0000" and student.complaints(CHECK) == 0


@pytest.mark.parametrize("theme", THEMES)
def test_a_message_can_be_read_in_both_themes(student, theme):
    student.write(student.stub, WRONG)
    student.run(student.stub)
    student.theme(theme)
    cell = student.run(student.number(CHECK))
    output = cell.locator(".jp-OutputArea-output").first

    def look():
        light = pixels(output.screenshot()).mean(-1)
        assert light.max() - light.min() > 120  # letters stand out from their ground
        assert (light[:3].mean() < 110) == ("Dark" in theme)

    soon(look)
    student.shot(theme.split()[-1].lower())
    student.theme("JupyterLab Light")


def test_a_second_make_lab_keeps_what_the_student_wrote(student, course, environment):
    mine = course / "work" / LESSON
    student.write(student.stub, RIGHT)
    student.page.keyboard.press("Control+s")
    end = time.monotonic() + 30
    while "torch.where(mask" not in mine.read_text("utf-8"):
        assert time.monotonic() < end, "the notebook was not saved"
        time.sleep(0.2)
    before = mine.read_bytes()
    second = lab(course, environment, "--copy-only", stdout=subprocess.PIPE, text=True)
    said, _ = second.communicate(timeout=60)
    assert said.startswith("Backed up ") and said.count("\n") == 1
    assert second.returncode == 0
    assert mine.read_bytes() == before
    course_has = course / "notebooks" / LESSON
    assert "torch.where(mask" not in course_has.read_text("utf-8")


# --- Run all, half of the exercises solved --------------------------------------------

HALF = "half.ipynb"
OVERVIEW = "from helpers.student.overview import progress\n\nprogress()"
USES = ("SelfAttention(d_model=64", "looks_healthy(suspicious_attention)")
CARDS = {  # grade id -> what the student wrote, and the label of the card
    "ex-2-A": ("def softmax(x, dim):\n    return x.exp()", "✗ wrong"),
    "ex-2-B": (RIGHT, "✓ passed"),
    "ex-2-F": ("def softmax_jacobian(z):\n    return z.nope", "✗ raised"),
    "ex-2-C": (None, "○ not attempted"),
    "ex-2-J": ('query_for = borrow("2.J")', "○ borrowed, not counted"),
}
# Every text of a card: its words, and its contrast with what lies behind it.
CONTRASTS = """card => {
  const numbers = colour => colour.match(/[0-9.]+/g).map(Number);
  const light = colour => {
    const [r, g, b] = numbers(colour).map(one => one / 255)
      .map(one => one <= 0.04045 ? one / 12.92 : ((one + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const behind = node => {
    const colour = getComputedStyle(node).backgroundColor;
    const solid = (numbers(colour)[3] ?? 1) === 1;
    return solid || !node.parentElement ? colour : behind(node.parentElement);
  };
  const own = node => [...node.childNodes].some(
      one => one.nodeType === Node.TEXT_NODE && one.data.trim());
  return [card, ...card.querySelectorAll('*')].filter(own).map(node => {
    const [dark, bright] = [getComputedStyle(node).color, behind(node)]
      .map(light).sort((a, b) => a - b);
    return [node.textContent, (bright + 0.05) / (dark + 0.05)];
  });
}"""


@pytest.fixture(scope="module")
def half(context, address, course):
    """Lesson 02 with one exercise of each outcome, all cells run."""
    mine = {name: text for name, (text, _) in CARDS.items() if text}
    given = submissions.filled(mine)
    given.cells += [
        cell
        for cell in submissions.released().cells
        if cell.cell_type == "markdown" and cell.id == "ex-2-C-task"
    ]
    uses = [one for one in submissions.released().cells if USES[0] in one.source]
    uses += [one for one in submissions.released().cells if USES[1] in one.source]
    given.cells += [*uses, new_code_cell(OVERVIEW, id="overview")]
    nbformat.write(given, course / "work" / HALF)
    (course / "work" / ".progress.json").unlink(missing_ok=True)
    with opened(context, address, HALF) as notebook:
        notebook.run_all()
        yield notebook


def card(notebook, name):
    """The card of a check, scrolled to."""
    number = notebook.number(f'check("{name.removeprefix("ex-").replace("-", ".")}"')
    found = notebook.cell(number).locator(".jp-RenderedHTML > div")
    found.wait_for()
    return found


def test_run_all_goes_on_through_a_half_filled_notebook(half):
    assert half.errors() == []
    for name, (_, label) in CARDS.items():
        assert card(half, name).inner_text().startswith(label)
    for use, number in zip(USES, ("2.C", "2.D"), strict=True):
        cell = half.cell(half.number(use))
        said = cell.locator(".jp-OutputArea").inner_text().strip()
        assert (
            said == f"○ This cell needs your answer to {number}, still to be written."
        )


def test_the_evidence_is_folded_and_opens_on_a_click(half):
    found = card(half, "ex-2-A")
    case = found.get_by_text("Case: ")
    case.wait_for(state="hidden")
    found.locator("summary").click()
    case.wait_for(state="visible")


@pytest.mark.parametrize("theme", THEMES)
def test_every_card_can_be_read_in_both_themes(half, theme):
    half.theme(theme)
    for name, (_, label) in CARDS.items():
        found = card(half, name)
        found.evaluate(
            "card => card.querySelector('details')?.setAttribute('open', '')"
        )
        contrasts = found.evaluate(CONTRASTS)
        assert any(text.strip() == label for text, _ in contrasts)
        assert min(contrast for _, contrast in contrasts) >= 4.5, contrasts
        half.shot(f"card_{name}_{theme.split()[-1].lower()}")
    half.theme(THEMES[0])


def test_a_pass_leads_to_the_next_exercise(half):
    found = card(half, "ex-2-B")
    assert "1 of 4 ★ in this lesson." in found.inner_text()
    inside = """() => [...document.querySelectorAll('.jp-Notebook h3')].some(one => {
      const place = one.getBoundingClientRect();
      return one.innerText.includes('Exercise 2.C')
          && place.top >= 0 && place.bottom <= innerHeight;
    })"""
    assert not half.page.evaluate(inside)
    found.locator("a").click()
    half.page.wait_for_function(inside)
    half.shot("next_exercise")


def test_a_card_that_came_with_a_notebook_can_be_read(context, address, course):
    """JupyterLab cleans what it did not see run, such as a notebook handed in."""
    report = judge("2.A", lambda x, dim: x.exp())
    page = made_card(report, find("2.A"), of_lesson(2, {}))
    shown = new_output("display_data", data={"text/html": page})
    cells = [new_code_cell('check("2.A", softmax)', outputs=[shown])]
    spec = submissions.released().metadata  # else JupyterLab asks for a kernel
    made = new_notebook(cells=cells, metadata=spec)
    nbformat.write(made, course / "work" / "handed_in.ipynb")
    with opened(context, address, "handed_in.ipynb") as notebook:
        contrasts = card(notebook, "ex-2-A").evaluate(CONTRASTS)
        assert not notebook.page.evaluate(f"() => {CODE}[0].model.trusted")
        assert "✗ wrong" in [text.strip() for text, _ in contrasts]
        assert min(contrast for _, contrast in contrasts) >= 4.5


def test_progress_is_there_after_a_restart(half, course):
    row = re.compile(r"02 Attention\s+★☆☆☆ 1 of 4\s+1 of 9 passed")
    assert row.search(half.told("overview import progress"))
    half.page.evaluate(
        "() => window.jupyterapp.shell.currentWidget.sessionContext"
        ".session.kernel.restart()"
    )
    half.ready()
    assert row.search(half.told("overview import progress"))
    half.shot("progress")
    kept = (course / "work" / ".progress.json").read_text()
    assert '"2.B": "passed"' in kept and '"2.J": "borrowed"' in kept


# --- a solution, as it is cloned and run again ----------------------------------------


def figures():
    """The numbers of the cells with a figure, once for each."""
    cells = nbformat.read(ROOT / "solutions" / LESSON, 4).cells
    return [
        number
        for number, cell in enumerate(cells)
        for output in cell.get("outputs", [])
        if "image/png" in output.get("data", {})
    ]


def look_at_figures(notebook):
    """See that every figure is drawn: as large as it should be, not empty."""
    numbers = figures()
    assert len(numbers) >= 4
    for number in dict.fromkeys(numbers):
        images = notebook.cell(number).locator(".jp-OutputArea img")

        def look(images=images, number=number):
            assert images.count() == numbers.count(number)
            for image in images.all():
                assert image.evaluate("one => one.complete && one.naturalWidth") > 200
                assert pixels(image.screenshot()).std() > 8

        soon(look)


@pytest.mark.parametrize("theme", THEMES)
def test_a_fresh_clone_shows_every_figure(solution, theme):
    solution.theme(theme)
    look_at_figures(solution)
    solution.shot(f"figure_{theme.split()[-1].lower()}")
    solution.theme("JupyterLab Light")


def test_restart_and_run_all(solution):
    page = solution.page
    page.evaluate(
        "() => { window.jupyterapp.commands.execute('runmenu:restart-and-run-all'); }"
    )
    page.locator(".jp-Dialog .jp-mod-accept").click()
    counts = f"{CELLS}.filter(cell => cell.model.type === 'code' && "
    counts += "cell.model.sharedModel.source.trim())"
    done = f"""() => {{
      const cells = {counts};
      return cells.every((cell, at) => cell.model.executionCount === at + 1)
          || cells.some(cell => cell.model.outputs.toJSON().some(
               output => output.output_type === 'error'));
    }}"""
    page.wait_for_function("() => !document.querySelector('.jp-Dialog')")
    page.wait_for_function(
        f"() => {counts}.some(cell => cell.model.executionCount === null)"
    )
    page.wait_for_function(done, timeout=5 * MINUTE)
    errors = page.evaluate(
        f"""() => {counts}.flatMap(cell => cell.model.outputs.toJSON())
              .filter(output => output.output_type === 'error')
              .map(output => output.evalue)"""
    )
    assert errors == []
    look_at_figures(solution)
    solution.shot("run_all")


def test_nothing_covers_the_notebook(student):
    """JupyterLab would ask about news, on top of the text, until it is answered."""
    student.page.wait_for_timeout(1000)
    assert student.page.locator(".Toastify__toast").all_inner_texts() == []
    assert not student.page.locator(".jp-Dialog").count()


def test_nothing_was_asked_of_another_host(context, student, solution):
    hosts = {urlsplit(url).hostname for url in context.asked}
    assert hosts - {None} == {"127.0.0.1"}
