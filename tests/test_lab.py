"""`make lab`: what it copies, what it never touches, and what it serves to whom."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
import zipfile
from pathlib import Path

import nbformat
import pytest

from helpers.files import locked
from tools import lab
from tools.build.__main__ import text_of
from tools.build.notebooks import METADATA
from tools.changes import entries

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture
def course(tmp_path):
    """Return (notebooks, work): a course of two notebooks, and no work yet."""
    notebooks = tmp_path / "notebooks"
    notebooks.mkdir()
    (notebooks / "00_start_here.ipynb").write_text("start, version 1")
    (notebooks / "02_attention.ipynb").write_text("attention, version 1")
    return notebooks, tmp_path / "work"


def contents(folder):
    """Return {name: text} of a folder, hidden files left out."""
    return {p.name: p.read_text() for p in folder.iterdir() if p.name[0] != "."}


# --- copying --------------------------------------------------------------------------


def test_first_run_copies_everything(course):
    notebooks, work = course
    assert lab.copy_notebooks(*course) == [f"Copied 2 notebooks to {work}."]
    assert contents(work) == contents(notebooks)
    assert (work / lab.MARKER).exists()


def test_second_run_does_nothing(course):
    lab.copy_notebooks(*course)
    before = {path: path.stat().st_mtime_ns for path in course[1].iterdir()}
    assert lab.copy_notebooks(*course) == []
    assert {path: path.stat().st_mtime_ns for path in course[1].iterdir()} == before


def test_second_run_keeps_edits_and_other_files_byte_for_byte(course):
    notebooks, work = course
    lab.copy_notebooks(*course)
    (work / "02_attention.ipynb").write_bytes(b"mine\r\n\xff")
    (work / "notes.txt").write_bytes(b"notes")
    assert lab.copy_notebooks(*course) == []
    assert (work / "02_attention.ipynb").read_bytes() == b"mine\r\n\xff"
    assert (work / "notes.txt").read_bytes() == b"notes"


def test_a_deleted_notebook_comes_back(course):
    notebooks, work = course
    lab.copy_notebooks(*course)
    (work / "02_attention.ipynb").unlink()
    assert lab.copy_notebooks(*course) == [f"Copied 1 notebook to {work}."]
    assert contents(work) == contents(notebooks)


def test_a_changed_course_is_placed_beside_edits_once(course):
    notebooks, work = course
    lab.copy_notebooks(*course)
    (work / "02_attention.ipynb").write_text("mine")
    (notebooks / "02_attention.ipynb").write_text("attention, version 2")
    [told] = lab.copy_notebooks(*course)
    assert "yours is unchanged" in told and "02_attention.new-2.ipynb" in told
    assert lab.copy_notebooks(*course) == []
    assert (work / "02_attention.ipynb").read_text() == "mine"
    assert (work / "02_attention.new-2.ipynb").read_text() == "attention, version 2"

    (notebooks / "02_attention.ipynb").write_text("attention, version 3")
    [told] = lab.copy_notebooks(*course)
    assert "02_attention.new-3.ipynb" in told
    assert (work / "02_attention.new-2.ipynb").read_text() == "attention, version 2"
    assert (work / "02_attention.ipynb").read_text() == "mine"


def test_edits_in_a_version_beside_are_kept_too(course):
    notebooks, work = course
    (notebooks / "02_attention.ipynb").write_text("attention, version 1")
    lab.copy_notebooks(*course)
    (work / "02_attention.ipynb").write_text("mine")
    (work / "02_attention.new-2.ipynb").write_text("mine as well")
    (notebooks / "02_attention.ipynb").write_text("attention, version 2")
    lab.copy_notebooks(*course)
    assert (work / "02_attention.new-2.ipynb").read_text() == "mine as well"
    assert (work / "02_attention.new-3.ipynb").read_text() == "attention, version 2"


def test_a_changed_course_updates_an_untouched_copy(course):
    notebooks, work = course
    lab.copy_notebooks(*course)
    (notebooks / "02_attention.ipynb").write_text("attention, version 2")
    [told] = lab.copy_notebooks(*course)
    assert "Updated 02_attention.ipynb" in told
    assert contents(work) == contents(notebooks)


@pytest.mark.parametrize(
    "damage",
    [b"", b"{", b"[]", b"\xff\xfe", b'{"notebooks": 3}', b'{"notebooks": {"a": 1}}'],
)
def test_a_damaged_marker_costs_nobody_work(course, damage):
    notebooks, work = course
    lab.copy_notebooks(*course)
    (work / "02_attention.ipynb").write_text("mine")
    (work / lab.MARKER).write_bytes(damage)
    told, beside = lab.copy_notebooks(*course)
    assert "damaged" in told and "02_attention.new-2.ipynb" in beside
    assert contents(work) == contents(notebooks) | {
        "02_attention.ipynb": "mine",
        "02_attention.new-2.ipynb": "attention, version 1",
    }
    assert set(json.loads((work / lab.MARKER).read_text())["notebooks"]) == set(
        contents(notebooks)
    )


def test_a_lost_marker_costs_nobody_work_and_no_update(course):
    notebooks, work = course
    lab.copy_notebooks(*course)
    (work / "02_attention.ipynb").write_text("mine")
    (notebooks / "02_attention.ipynb").write_text("attention, version 2")
    (work / lab.MARKER).unlink()
    told, beside = lab.copy_notebooks(*course)
    assert "was missing" in told and "02_attention.new-2.ipynb" in beside
    assert (work / "02_attention.ipynb").read_text() == "mine"
    assert (work / "02_attention.new-2.ipynb").read_text() == "attention, version 2"
    assert lab.copy_notebooks(*course) == []  # said once


def test_a_lost_marker_does_not_stop_later_updates(course):
    notebooks, work = course
    lab.copy_notebooks(*course)
    (work / lab.MARKER).unlink()
    [told] = lab.copy_notebooks(*course)  # nothing was changed: nothing lies beside
    assert "was missing" in told and contents(work) == contents(notebooks)
    (notebooks / "02_attention.ipynb").write_text("attention, version 2")
    [told] = lab.copy_notebooks(*course)
    assert "Updated 02_attention.ipynb" in told


BRING = """
import sys, time
from pathlib import Path
from tools import lab
while time.time() < float(sys.argv[3]):
    pass
print(*lab.copy_notebooks(Path(sys.argv[1]), Path(sys.argv[2])), sep="\\n")
"""


def test_two_at_once_both_work(course):
    """Without the lock one takes the other's half-written file away, and it fails."""
    notebooks, work = course
    for number in range(40):
        (notebooks / f"{number}.ipynb").write_text("x" * 100_000)
    begin = time.time() + 1.0
    command = [sys.executable, "-c", BRING, *map(str, (*course, begin))]
    both = [
        subprocess.Popen(
            command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        for _ in range(2)
    ]
    said = sorted(process.communicate() for process in both)
    assert [process.returncode for process in both] == [0, 0], said
    assert said == [("\n", ""), (f"Copied 42 notebooks to {work}.\n", "")]
    assert contents(work) == contents(notebooks)


def test_who_waits_in_vain_for_another_is_told_so(course, monkeypatch):
    monkeypatch.setattr(lab, "PATIENCE", 0.1)
    notebooks, work = course
    work.mkdir()
    with locked(work / lab.LOCK):
        with pytest.raises(lab.LabError, match="Another `make lab` has been bringing"):
            lab.copy_notebooks(*course)
    assert lab.copy_notebooks(*course) == [f"Copied 2 notebooks to {work}."]


def test_what_is_there_is_backed_up_before_it_is_touched(course, tmp_path):
    notebooks, work = course
    backups = tmp_path / "backups"
    lab.copy_notebooks(*course, backups)
    assert not backups.exists()  # there was nothing yet
    (notebooks / "02_attention.ipynb").write_text("attention, version 2")
    backed_up, updated = lab.copy_notebooks(*course, backups)
    assert backed_up.startswith("Backed up") and updated.startswith("Updated")
    [copy] = backups.glob("*.zip")
    with zipfile.ZipFile(copy) as archive:
        old = archive.read("work/02_attention.ipynb")
    assert old == b"attention, version 1"


def test_missing_notebooks_are_one_clear_sentence(tmp_path):
    with pytest.raises(lab.LabError, match="There are no notebooks in .*make build"):
        lab.copy_notebooks(tmp_path / "notebooks", tmp_path / "work")
    assert not (tmp_path / "work").exists()


def test_a_folder_that_cannot_be_written_is_one_clear_sentence(course):
    notebooks, work = course
    work.write_text("a file where the folder should be")
    with pytest.raises(lab.LabError, match="Could not bring the notebooks to .*exists"):
        lab.copy_notebooks(notebooks, work)


def test_a_full_disk_leaves_nothing_half_written(course):
    resource = pytest.importorskip("resource")
    notebooks, work = course
    lab.copy_notebooks(*course)
    before = {path: path.read_bytes() for path in work.iterdir()}
    (notebooks / "02_attention.ipynb").write_text("version 2" * 1000)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (500, hard))
    try:
        with pytest.raises(lab.LabError, match="the disk has room"):
            lab.copy_notebooks(*course)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert {path: path.read_bytes() for path in work.iterdir()} == before


# --- opened is not changed -----------------------------------------------------------


def lesson(*sources):
    """The text of a small notebook, as `make build` writes it."""
    cells = [
        nbformat.v4.new_code_cell(source, id=f"c-{n}")
        for n, source in enumerate(sources)
    ]
    text = nbformat.v4.new_markdown_cell("A lesson", id="c-text")
    text.metadata.slideshow = {"slide_type": "slide"}
    notebook = nbformat.v4.new_notebook(cells=[text, *cells], metadata=dict(METADATA))
    return text_of(notebook)


def opened(text, ran=False):
    """What JupyterLab 4.6 writes when a notebook was opened or run, and then saved."""
    notebook = nbformat.reads(text, 4)
    notebook.metadata.language_info = {
        "codemirror_mode": {"name": "ipython", "version": 3},
        "file_extension": ".py",
        "mimetype": "text/x-python",
        "name": "python",
        "nbconvert_exporter": "python",
        "pygments_lexer": "ipython3",
        "version": "3.11.7",
    }
    if ran:
        code = [cell for cell in notebook.cells if cell.cell_type == "code"]
        for count, cell in enumerate(code, 1):
            cell.outputs = [nbformat.v4.new_output("stream", text=f"{count}\n")]
            cell.execution_count = count
            cell.metadata |= {"scrolled": True, "jupyter": {"outputs_hidden": True}}
        notebook.cells.append(nbformat.v4.new_code_cell(""))  # after the last cell
    return nbformat.writes(notebook)


@pytest.fixture
def one_lesson(tmp_path):
    """Return (notebook, mine, bring) of a course of one lesson that was brought."""
    folders = tmp_path / "notebooks", tmp_path / "work"
    folders[0].mkdir()
    notebook, mine = (folder / "02_attention.ipynb" for folder in folders)
    notebook.write_text(lesson("x = 1", "x + 1"))
    lab.copy_notebooks(*folders)
    return notebook, mine, lambda: lab.copy_notebooks(*folders)


@pytest.mark.parametrize("ran", [False, True])
def test_a_notebook_that_was_only_opened_or_run_is_updated(one_lesson, ran):
    notebook, mine, bring = one_lesson
    mine.write_text(opened(mine.read_text(), ran))
    assert mine.read_text() != notebook.read_text()
    assert bring() == []
    notebook.write_text(lesson("x = 2", "x + 1"))
    assert bring() == ["Updated 02_attention.ipynb, which you had not changed."]
    assert (
        mine.read_text() == notebook.read_text()
        and len(list(mine.parent.glob("*.ipynb"))) == 1
    )


@pytest.mark.parametrize(
    "sources",
    [("x = 3", "x + 1"), ("x = 1",), ("x + 1", "x = 1"), ("x = 1", "x + 1", "mine")],
    ids=["edited", "deleted", "moved", "added"],
)
def test_a_change_of_one_cell_is_a_change(one_lesson, sources):
    notebook, mine, bring = one_lesson
    mine.write_text(opened(lesson(*sources)))
    kept = mine.read_bytes()
    notebook.write_text(lesson("x = 2", "x + 1"))
    [told] = bring()
    assert "yours is unchanged" in told and mine.read_bytes() == kept


def test_new_metadata_reaches_an_untouched_notebook_and_no_other(one_lesson):
    notebook, mine, bring = one_lesson
    folded = nbformat.reads(notebook.read_text(), 4)
    folded.cells[0].metadata.tags = ["hide-input"]
    edited = lesson("x = 3", "x + 1")
    for begun, expected in ((mine.read_text(), text_of(folded)), (edited, edited)):
        mine.write_text(begun)
        notebook.write_text(text_of(folded))
        bring()
        assert mine.read_text() == expected
        assert len(list(mine.parent.glob("*.ipynb"))) == 1  # the text is the same


def test_a_folder_of_the_first_edition_knows_what_was_opened(one_lesson):
    notebook, mine, bring = one_lesson
    marker = mine.with_name(lab.MARKER)
    whole = lab.digest(notebook.read_bytes())  # as version 1 remembered it
    marker.write_text(json.dumps({"notebooks": {mine.name: [whole]}}))
    mine.write_text(opened(mine.read_text(), ran=True))
    notebook.write_text(lesson("x = 2", "x + 1"))
    assert bring() == ["Updated 02_attention.ipynb, which you had not changed."]


def test_the_notebook_beside_is_not_placed_again_once_it_was_opened(one_lesson):
    notebook, mine, bring = one_lesson
    mine.write_text(lesson("mine"))
    notebook.write_text(lesson("x = 2", "x + 1"))
    assert "02_attention.new-2.ipynb" in bring()[0]
    beside = mine.with_suffix(".new-2.ipynb")
    beside.write_text(opened(beside.read_text()))
    mine.with_name(lab.MARKER).unlink()
    assert len(bring()) == 1  # the marker was missing
    assert len(list(mine.parent.glob("*.ipynb"))) == 2


CHANGES = """\
# What is new

## 2026-11-23

- **02, 06**: Masks can be
  moved.
- **03**: A head.

## 2026-11-22

- **all**: Links.
"""


def test_make_lab_tells_what_is_new_in_what_it_updated(one_lesson):
    notebook, mine, bring = one_lesson
    changes = notebook.parent.with_name("CHANGELOG.md")
    changes.write_text(CHANGES)
    notebook.write_text(lesson("x = 2"))
    updated = "Updated 02_attention.ipynb, which you had not changed."
    assert bring() == [
        *(updated, "What is new there:"),
        *("  02, 06: Masks can be moved.", "  all: Links."),
    ]
    notebook.write_text(lesson("x = 3"))
    assert bring() == [updated]  # each line is told once
    changes.write_text(CHANGES.replace("- **03**", "- **02**: A test.\n- **03**"))
    notebook.write_text(lesson("x = 4"))
    assert bring()[1:] == ["What is new there:", "  02: A test."]


def test_a_newcomer_is_told_no_news(course):
    course[0].with_name("CHANGELOG.md").write_text(CHANGES)
    assert len(lab.copy_notebooks(*course)) == 1
    assert lab.copy_notebooks(*course) == []


def test_every_entry_of_the_changelog_names_its_lessons():
    items = entries((ROOT / "CHANGELOG.md").read_text("utf-8"))
    lessons = {path.name[:2] for path in ROOT.glob("lessons/*.py")}
    named = [set(item.split(":")[0].split(", ")) for item in items]
    assert items and all(names == {"all"} or names <= lessons for names in named)


# --- starting -------------------------------------------------------------------------


def test_main_ends_with_a_sentence_and_no_traceback(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(lab, "ROOT", tmp_path)
    assert lab.main(["--copy-only"]) == 1
    out, err = capsys.readouterr()
    assert err.startswith("There are no notebooks in ") and err.count("\n") == 1


def test_a_missing_jupyterlab_is_one_clear_sentence(tmp_path, monkeypatch):
    monkeypatch.setattr(lab.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(lab.LabError, match="jupyterlab is not installed .*make setup"):
        lab.serve(tmp_path, [])


def test_options_that_are_not_ours_go_to_jupyter(tmp_path):
    command = lab.lab_command(tmp_path, ["--port=8899"])
    assert command[-1] == "--port=8899"
    assert "--LabApp.default_url=/lab" in command
    (tmp_path / lab.START).touch()
    command = lab.lab_command(tmp_path, [])
    assert f"--LabApp.default_url=/lab/tree/{lab.START}" in command


def test_the_kernel_is_this_python(tmp_path, monkeypatch):
    decoy = tmp_path / "kernels" / "python3"
    decoy.mkdir(parents=True)
    spec = {"argv": ["/nowhere/python", "{connection_file}"], "display_name": "decoy"}
    (decoy / "kernel.json").write_text(json.dumps(spec | {"language": "python"}))
    monkeypatch.setenv("JUPYTER_PATH", str(tmp_path))
    monkeypatch.setenv("JUPYTER_DATA_DIR", str(tmp_path))
    code = (
        "from jupyter_client import KernelManager\n"
        "print(KernelManager(kernel_name='python3').format_kernel_cmd()[0])"
    )
    for environment, expected in (
        (os.environ, "/nowhere/python"),  # the decoy would be taken
        (lab.lab_environment(), sys.executable),
    ):
        command = [sys.executable, "-c", code]
        run = subprocess.run(command, env=environment, capture_output=True, text=True)
        assert run.stdout.strip() == expected, run.stderr


# What a student's ~/.jupyter may say; all of it opens the server to others.
OPEN_TO_ALL = """
from jupyter_server.auth import passwd
c.IdentityProvider.token = c.PasswordIdentityProvider.token = ""
c.ServerApp.token = c.ServerApp.password = c.NotebookApp.token = ""
c.PasswordIdentityProvider.hashed_password = passwd("known-to-everybody")
c.PasswordIdentityProvider.password_required = True
c.ServerApp.identity_provider_class = "jupyter_server.auth.IdentityProvider"
c.ServerApp.ip = "0.0.0.0"
c.ServerApp.allow_remote_access = True
"""


@pytest.fixture
def server(course, tmp_path):
    """Start `python -m tools.lab` on a small course; yield (process, log)."""
    code = (
        "import sys, pathlib; from tools import lab;"
        f"lab.ROOT = pathlib.Path({str(tmp_path)!r});"
        "sys.exit(lab.main(['--no-browser', '--port=0']))"  # any that is free
    )
    environment = os.environ | {
        f"JUPYTER_{name}_DIR": str(tmp_path / name)
        for name in ("CONFIG", "DATA", "RUNTIME")
    }
    environment["JUPYTER_TOKEN"] = "known-to-everybody"
    (tmp_path / "CONFIG").mkdir()
    for name in ("server", "lab"):
        (tmp_path / "CONFIG" / f"jupyter_{name}_config.py").write_text(OPEN_TO_ALL)
    log = tmp_path / "log"
    keyboard, terminal = os.openpty()  # nobody types: a question stays unanswered
    with log.open("w") as output:
        process = subprocess.Popen(
            [sys.executable, "-c", code],
            cwd=ROOT,
            env=environment,
            stdin=terminal,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        yield process, log
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        os.close(keyboard)
        os.close(terminal)


def status(address, port, token=None):
    """Return the HTTP status of the server's /api/status."""
    headers = {"Authorization": f"token {token}"} if token else {}
    url = f"http://{address}:{port}/api/status"
    try:
        with urllib.request.urlopen(
            urllib.request.Request(url, headers=headers)
        ) as page:
            return page.status
    except urllib.error.HTTPError as error:
        error.close()
        return error.code


def signs_in(port, password):
    """Whether the login page takes this password, as a browser would send it."""
    cookies = urllib.request.HTTPCookieProcessor()
    browser = urllib.request.build_opener(cookies)
    page = f"http://127.0.0.1:{port}/login"
    browser.open(page).close()
    xsrf = next(cookie.value for cookie in cookies.cookiejar if cookie.name == "_xsrf")
    form = urllib.parse.urlencode({"password": password, "_xsrf": xsrf}).encode()
    try:
        browser.open(page, form).close()
    except urllib.error.HTTPError as error:
        error.close()
        return False
    return True


def wait_for(pattern, log, process, seconds=60):
    """Return the match of `pattern` in the server's output."""
    end = time.monotonic() + seconds
    while not (match := re.search(pattern, log.read_text())):
        assert process.poll() is None and time.monotonic() < end, log.read_text()
        time.sleep(0.1)
    return match


@pytest.mark.slow
def test_the_server_answers_here_alone_and_only_with_its_token(server):
    process, log = server
    address = rf"http://127\.0\.0\.1:(\d+)/lab/tree/{lab.START}\?token=(\w+)"
    port, token = wait_for(address, log, process).groups()
    assert len(token) >= 40
    assert status("127.0.0.1", port, token) == 200
    assert status("127.0.0.1", port) == 403
    assert status("127.0.0.1", port, "known-to-everybody") == 403
    assert not signs_in(port, "known-to-everybody") and signs_in(port, token)
    if shutil.which("ps"):  # what every user of a machine can read
        shown = subprocess.check_output(["ps", "-A", "-ww", "-o", "args"], text=True)
        assert "-m jupyterlab" in shown and token not in shown
    with pytest.raises(OSError):  # it would answer if it listened on every address
        status("127.0.0.2", port, token)

    page = f"http://127.0.0.1:{port}/lab?token={token}"
    with urllib.request.urlopen(page) as answer:  # nbgrader's buttons would mislead
        assert re.search(r"disabledExtensions[^]]+nbgrader", answer.read().decode())

    os.killpg(process.pid, signal.SIGINT)  # what Ctrl-C does
    assert process.wait(timeout=30) == 0
    assert not re.search("Traceback|WARNING", log.read_text())
