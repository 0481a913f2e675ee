"""A class with bad intentions: each of its attacks costs only itself.

`make test` grades a part of it, `make hostile` all.
"""

import csv
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from socket import create_connection
from urllib.request import urlopen

import nbformat
import pytest
from bs4 import BeautifulSoup

from tests import submissions as handed
from tests.chromium import browser
from tests.hostile import attacks
from tools.grading import feedback, reading
from tools.grading.kit import READING

ROOT = Path(__file__).resolve().parents[2]
LESSON = "02_attention"
CLASS = [one for one in attacks.CLASS if one.sample or os.environ.get("COURSE_DEEP")]

pytestmark = [pytest.mark.lesson("02"), pytest.mark.slow]


GRADE = [sys.executable, "-m", "tools.grading"]


@pytest.fixture(scope="module")
def graded(tmp_path_factory):
    """Grade the class; return (the folder of the results, what was printed)."""
    return graded_by(GRADE, tmp_path_factory.mktemp("hostile"))


def graded_by(command, place, owner=None):
    """Grade the class with a command, in a folder that somebody may write to."""
    folder = place / "week 2"
    folder.mkdir()
    for one in CLASS:
        one.hand_in(folder)
    own = {}
    if owner is not None:
        subprocess.run(["chown", "-hR", str(owner), place], check=True)
        own = {"HOME": str(place), "TMPDIR": str(place)}
    options = "--lesson 2 --cell-seconds 60 --jobs 2 --unsafe".split()
    run = subprocess.run(
        [*command, "--submissions", folder, *options],
        cwd=ROOT,
        env=os.environ | own,
        capture_output=True,
        text=True,
        timeout=max(550, 30 * len(CLASS)),
    )
    assert (run.returncode, run.stderr) == (0, "")
    return folder.with_name("week 2-graded"), run.stdout


def grades(folder):
    """Return {student: row} of the grades."""
    with (folder / "grades.csv").open(newline="", encoding="utf-8-sig") as file:
        return {row["student"]: row for row in csv.DictReader(file)}


def told(folder):
    """Return {student: what the instructor is told} of the grades."""
    rows = grades(folder).items()
    return {
        name.removeprefix("'"): f"{row['notes']} {row['look at']}" for name, row in rows
    }


def assert_plain(printed):
    """The report is as long as the class, and of its own words."""
    lines = printed.splitlines()
    assert all(line.isprintable() for line in lines)
    assert len([line for line in lines if line.startswith("  ")]) == len(CLASS) + 2
    assert lines[-4].startswith("Graded ") and lines[-3] == "Written:"


@pytest.mark.xdist_group("hostile")
class TestAClass:
    """One run of the grader, looked at from all sides."""

    def test_each_costs_only_itself(self, graded):
        rows = grades(graded[0])
        found = {name.removeprefix("'"): row["points"] for name, row in rows.items()}
        assert found == {one.name: one.points for one in CLASS}

    def test_the_instructor_is_told_the_reason(self, graded):
        rows = told(graded[0])
        for one in CLASS:
            assert one.reason in rows[one.name], one.name
            assert one.points or one.reason

    def test_nothing_goes_on(self, graded):
        assert [one for one in alive() if one[1] == attacks.STAYS] == []

    def test_the_report_has_a_line_for_each_and_none_of_their_making(self, graded):
        assert_plain(graded[1])

    def test_no_cell_of_a_table_is_a_formula(self, graded):
        for name in ("grades.csv", "misconceptions.csv"):
            text = (graded[0] / name).read_text("utf-8-sig")
            for row in csv.reader(text.splitlines()):
                assert not [cell for cell in row if re.match(r"\s*[=+@＝＋＠]", cell)]

    def test_what_may_be_looked_at_is_small_and_has_nothing_active(self, graded):
        notebooks = sorted(graded[0].glob("autograded/*/*/*.ipynb"))
        assert len(notebooks) == len([one for one in CLASS if one.points])
        for path in notebooks:
            assert path.stat().st_size < 3_000_000, path
            cells = nbformat.read(path, 4).cells
            kinds = {
                kind
                for cell in cells
                for output in cell.get("outputs", ())
                for kind in output.get("data", ())
            }
            assert kinds <= {"text/plain", "image/png", "image/jpeg"}, path

    def test_feedback_of_nbgrader_has_nothing_active(self, graded):
        place = Path(sys.executable).parent
        path = os.pathsep.join([str(place), os.environ["PATH"]])
        run = subprocess.run(
            [place / "nbgrader", "generate_feedback", LESSON, "--force"],
            cwd=graded[0],
            env=os.environ | {"PATH": path},
            capture_output=True,
            text=True,
        )
        assert run.returncode == 0, run.stderr[-2000:]
        pages = sorted(graded[0].glob("feedback/*/*/*.html"))
        assert len(pages) == len([one for one in CLASS if one.points])
        for page in pages:
            assert active(page.read_text()) == [], page

    def test_our_pages_have_nothing_active(self, graded):
        pages = {path.stem for path in graded[0].glob(f"pages/{LESSON}/*.html")}
        assert pages >= {one.name for one in CLASS if one.points}
        for path in [*graded[0].glob("pages/*/*.html"), graded[0] / "class.html"]:
            link = f"a href={READING}"
            found = [one for one in active(path.read_text()) if one != link]
            assert found == [] and path.stat().st_size < feedback.MOST, path
        text = (graded[0] / READING).read_text()
        assert active(text.replace(f"<script>{reading.SCRIPT}</script>", "", 1)) == []
        assert "script-src 'sha256-" in text and len(text) < 3_000_000

    def test_the_formgrader_runs_no_script_of_a_written_answer(self, graded):
        """Also not of a notebook that never was made safe: the policy holds it."""
        folder, written = graded[0], "writes script"
        path = folder / "autograded" / written / LESSON / f"{LESSON}.ipynb"
        safe = path.read_text()
        unsafe = handed.filled({"ex-2-K": attacks.SCRIPT}, handed.released())
        with browser() as chromium:
            with served(folder, "--config=nbgrader_config.py") as address:
                assert "OWNED" not in titles(chromium, address, written)
                path.write_text(json.dumps(unsafe))
                assert "OWNED" not in titles(chromium, address, written)
            with served(folder) as address:  # so the attack is one
                assert "OWNED" in titles(chromium, address, written)
                path.write_text(safe)
                assert "OWNED" not in titles(chromium, address, written)


# --- in other ways --------------------------------------------------------------------

LOOSE = """
import sys
from tools.grading import __main__, sandbox
sandbox.way = lambda folder: ((), "not asked for")
sys.exit(__main__.main())
"""
# Where Python lies in a home that nobody else may enter, what stands there is made an
# open one, for this process alone: folder of Python, an empty folder, the home.
OPENED = """
set -e
if [ "$3" ]; then
    mount --bind "$1" "$2"; mount -t tmpfs -o mode=755 none "$3"
    mkdir -p "$1"; mount --move "$2" "$1"
fi
shift 3
exec "$@"
"""
NOBODY = 65534


def as_nobody(place):
    """Return the command that grades as an ordinary user, or skip."""
    if os.geteuid():
        pytest.skip("an ordinary user runs these tests: the class was graded as one")
    if not shutil.which("setpriv") or not shutil.which("unshare"):
        pytest.skip("setpriv and unshare are not installed")
    python = Path(sys.base_prefix).resolve()
    closed = [one for one in python.parents if not one.stat().st_mode & 0o001]
    empty = place / "empty"
    empty.mkdir()
    places = [str(python), str(empty), str(closed[-1]) if closed else ""]
    command = ["unshare", "--mount", "--propagation", "private", "sh", "-c", OPENED, ""]
    command += [*places, "setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}"]
    command += ["--clear-groups", *GRADE]
    probe = subprocess.run([*command, "--help"], cwd=ROOT, capture_output=True)
    if probe.returncode:
        pytest.skip(f"nobody may not grade here: {probe.stderr.decode()[-300:]}")
    return command


@pytest.fixture(scope="module", params=["as nobody", "without namespaces"])
def otherwise(request):
    """Grade the class in another way; (whether loosely, the results, the report)."""
    if not os.environ.get("COURSE_DEEP"):
        pytest.skip("`make hostile` grades the class in other ways as well")
    place = Path(tempfile.mkdtemp())  # pytest's are closed to others
    place.chmod(0o755)
    loose = request.param == "without namespaces"
    try:
        if loose:
            yield loose, *graded_by([sys.executable, "-c", LOOSE], place)
        else:
            yield loose, *graded_by(as_nobody(place), place, NOBODY)
    finally:
        for number, command in alive():
            if command == attacks.STAYS:  # where no namespace holds it
                os.kill(number, signal.SIGKILL)
        shutil.rmtree(place)


@pytest.mark.xdist_group("hostile")
class TestInOtherWays:
    """As an ordinary user, and with nothing but limits."""

    def test_each_costs_only_itself(self, otherwise):
        loose, folder, _ = otherwise
        rows = grades(folder)
        found = {name.removeprefix("'"): row["points"] for name, row in rows.items()}
        assert found == {one.name: loose and one.loose or one.points for one in CLASS}

    def test_the_instructor_is_told_the_reason(self, otherwise):
        rows = told(otherwise[1])
        for one in CLASS:
            assert one.reason in rows[one.name], one.name

    def test_the_report_says_in_which_way(self, otherwise):
        loose, _, printed = otherwise
        assert_plain(printed)
        assert printed.startswith("UNSAFE" if loose else "Each notebook runs sandboxed")


ALLOWED = {  # and the links of a lesson to another
    "href": r"(https?://|#|mailto:|\d\d_\w+\.ipynb(#|$))",
    "src": r"data:image/(png|jpeg);base64,",
}


def active(html: str) -> list[str]:
    """What of a page a browser would run or fetch, but for the template's MathJax."""
    page = BeautifulSoup(html, "html.parser")
    found = []
    for tag in page.find_all(True):
        if tag.name == "script":
            known = "MathJax" in (tag.string or "") or "mathjax" in tag.get("src", "")
            found += [] if known else [str(tag)[:200]]
        if tag.name in ("iframe", "object", "embed", "svg", "form", "base", "template"):
            found.append(str(tag)[:200])
        for name, value in tag.attrs.items():
            if name.startswith("on") or name in ("srcdoc", "formaction", "srcset"):
                found.append(f"{tag.name} {name}={value}"[:200])
            if name in ALLOWED and tag.name not in ("script", "link"):
                if not re.match(ALLOWED[name], value):
                    found.append(f"{tag.name} {name}={value}"[:200])
    return found


@contextmanager
def served(folder, *arguments):
    """Serve a graded course as docs/grading.md says; yield the address and token."""
    home = folder.parent / "home"
    own = {f"JUPYTER_{name}_DIR": str(home / name) for name in ("CONFIG", "DATA")}
    place = Path(sys.executable).parent
    own |= {"PATH": os.pathsep.join([str(place), os.environ["PATH"]])}
    log = folder.parent / "log"
    with log.open("w") as output:
        server = subprocess.Popen(
            [place / "jupyter", *"lab --no-browser --port=0 --allow-root".split()]
            + list(arguments),
            cwd=folder,
            env=os.environ | own | {"JUPYTER_RUNTIME_DIR": str(home / "run")},
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        end = time.monotonic() + 90
        while not (address := listening(log.read_text())):
            assert server.poll() is None and time.monotonic() < end, log.read_text()
            time.sleep(0.2)
        yield address
    finally:
        with suppress(ProcessLookupError):
            os.killpg(server.pid, signal.SIGKILL)
        server.wait()


def listening(text):
    """Return the address in what a server printed; it does so before it listens."""
    found = re.search(r"http://127\S+:(\d+)/\S+token=\w+\n", text)
    if not found:
        return ""
    try:
        create_connection(("127.0.0.1", int(found[1])), timeout=5).close()
    except ConnectionRefusedError:
        return ""
    return found[0].strip()


def titles(chromium, address, student):
    """Open a submission in the formgrader; return the titles that its page had."""
    start, token = address.split("/lab")[0], address.split("token=")[1]
    api = f"{start}/formgrader/api/submitted_notebooks/{LESSON}/{LESSON}?token={token}"
    with urlopen(api) as answer:
        submissions = json.load(answer)
    [number] = [one["id"] for one in submissions if one["student"] == student]
    context = chromium.new_context()
    try:
        page = context.new_page()
        page.route("**/*", lambda route: (
            route.continue_() if route.request.url.startswith(start) else route.abort()
        ))  # fmt: skip
        page.goto(f"{start}/formgrader/submissions/{number}/?token={token}")
        page.wait_for_selector(".nbgrader_cell")
        page.wait_for_timeout(500)
        opened = page.locator(".glyphicon-eye-open").first
        opened.click()  # the policy lets the formgrader's own buttons work
        page.locator(".glyphicon-eye-close").first.wait_for()
        assert "softmax" in page.inner_text("#notebook-container")
        return page.title()
    finally:
        context.close()


# --- a grader that is killed ----------------------------------------------------------

KERNEL = "tools.grading.kernel"


@pytest.mark.xdist_group("hostile")
def test_a_killed_grader_takes_its_workers_and_its_folder_with_it(tmp_path):
    folder = tmp_path / "week 2"
    handed.hand_in(folder, "waits", attacks.amid("while True: pass"))
    (tmp_path / "tmp").mkdir()
    grader = subprocess.Popen(
        [sys.executable, "-m", "tools.grading", "--unsafe", "--submissions", folder],
        cwd=ROOT,
        env=os.environ | {"TMPDIR": str(tmp_path / "tmp")},
        stdout=subprocess.DEVNULL,
    )
    made = tmp_path / "tmp"
    try:
        end = time.monotonic() + 120
        while not [one for one in below(grader.pid) if KERNEL in one[1]]:
            assert grader.poll() is None and time.monotonic() < end
            time.sleep(0.1)
        started = below(grader.pid)
    finally:
        grader.kill()
        grader.wait()
    end = time.monotonic() + 20
    while (left := started & alive().keys()) or list(made.iterdir()):
        assert time.monotonic() < end, (left, list(made.iterdir()))
        time.sleep(0.1)


def alive():
    """Return {(number, command): number of the parent} of all processes."""
    found = {}
    for path in Path("/proc").glob("[0-9]*"):
        try:
            command = (path / "cmdline").read_bytes().replace(b"\0", b" ").decode()
            parent = (path / "stat").read_text().rpartition(")")[2].split()[1]
        except OSError:
            continue
        if command:  # not one that has ended already
            found[int(path.name), command] = int(parent)
    return found


def below(number):
    """Return (number, command) of all processes that one has started, and those."""
    processes, found, numbers = alive(), set(), {number}
    while numbers:
        new = {key for key, parent in processes.items() if parent in numbers} - found
        found, numbers = found | new, {key[0] for key in new}
    return found
