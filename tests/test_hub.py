"""JupyterHub for a class: its configuration, and the whole round with three users.

COURSE_SHOTS=folder keeps the pictures.
"""

import json
import os
import re
import shutil
import socket
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import nbformat
import pytest
import submissions
import yaml
from chromium import browser, needed
from nbgrader.coursedir import CourseDirectory

from helpers.checks import progress
from tools.grading import release as releasing
from tools.hub import CAME_WITH_IT, collect, config, feedback
from tools.hub import __main__ as hub_tool
from tools.hub.config import Class, HubError

ROOT = Path(__file__).resolve().parent.parent
LESSON = "02_attention"
FILE = f"{LESSON}/{LESSON}.ipynb"
COURSE = {"course_id": "transformers", "assignment_id": LESSON}
FORMGRADER = f"formgrader/api/assignment/{LESSON}"
WANTED = ("--instructor", "ines", "--students", "anna", "ben")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.lesson(2),
    pytest.mark.xdist_group("hub"),
]


# --- the configuration ----------------------------------------------------------------


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """The folder of a real class, as the tool writes it."""
    folder = tmp_path_factory.mktemp("class")
    return config.write(Class(folder, "transformers", "ines", ("anna", "ben")))


@pytest.fixture
def owned(monkeypatch):
    """Whom the tool gives files to: here nobody of these names is a user."""
    given = []
    monkeypatch.setattr(shutil, "chown", lambda path, user: given.append((path, user)))
    return given


@pytest.fixture(scope="module", autouse=True)
def nobody_is_a_user():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(shutil, "chown", lambda path, user: None)
        yield


class Settings(dict):
    """What a configuration sets: `c.A.b = 1` is kept as settings["A.b"]."""

    def __getattr__(self, part):
        settings = self

        class Part:
            def __setattr__(self, name, value):
                settings[f"{part}.{name}"] = value

        return Part()


def executed(path, **names):
    settings = Settings()
    exec(path.read_text("utf-8"), {"get_config": lambda: settings} | names)
    return settings


class Spawner:
    def __init__(self, name):
        self.user = type("User", (), {"name": name})


def test_the_hub_stays_on_this_machine_and_lets_in_the_class_alone(written):
    hub = executed(written.folder / config.NAME)
    addresses = hub["JupyterHub.bind_url"], hub["ConfigurableHTTPProxy.api_url"]
    assert all(one.startswith("http://127.0.0.1:") for one in addresses)
    assert hub["Authenticator.allowed_users"] == {"anna", "ben", "ines"}
    assert not [name for name in hub if "admin" in name or "allow_all" in name]
    assert hub["JupyterHub.spawner_class"] == "localprocess"
    assert hub["JupyterHub.authenticator_class"] == "pam" and not hub["Spawner.args"]


def test_a_trial_says_that_it_is_no_class(tmp_path, capsys):
    arguments = ["config", "--folder", str(tmp_path), *WANTED, "--trial"]
    assert hub_tool.main(arguments) == 0
    said = capsys.readouterr().out
    path = tmp_path / config.NAME
    hub = executed(path)
    assert hub["SharedPasswordAuthenticator.user_password"] in said
    assert "never let students in" in said and "NEVER A CLASS" in path.read_text()
    assert hub["JupyterHub.spawner_class"] == "simple"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600  # it holds the password


def test_a_role_is_a_folder_of_settings(written):
    hub = executed(written.folder / config.NAME)
    paths = {
        name: hub["Spawner.environment"]["JUPYTER_CONFIG_PATH"](Spawner(name))
        for name in ("anna", "ines")
    }
    for name, role in (("anna", "student"), ("ines", "instructor")):
        first, second = map(Path, paths[name].split(os.pathsep))
        assert first == written.folder / "settings" / role
        assert second == written.folder / "settings" / "everyone"
    everyone = executed(second / "nbgrader_config.py")
    assert everyone["CourseDirectory.course_id"] == "transformers"
    assert everyone["Exchange.root"] == str(written.folder / "exchange")


def test_only_the_instructor_has_the_formgrader(written):
    def read(role, name):
        return json.loads((written.folder / "settings" / role / name).read_text())

    page, server = "labconfig/page_config.json", "jupyter_server_config.d/course.json"
    for role, hidden in (("student", True), ("instructor", False), ("everyone", False)):
        shown = read(role, page)["disabledExtensions"]
        assert ("@jupyter/nbgrader:formgrader" in shown) == hidden
        parts = read(role, server)["ServerApp"]["jpserver_extensions"]
        assert ("nbgrader.server_extensions.formgrader" in parts) == hidden
    assert read("everyone", "jupyter_server_config.json")["LabApp"]["news_url"] is None
    asked = read("everyone", "labconfig/default_setting_overrides.json")
    assert asked["@jupyterlab/apputils-extension:notification"]["fetchNews"] == "false"


def test_the_modes_keep_people_apart(tmp_path, owned):
    old = os.umask(0o077)  # what an administrator may have set
    try:
        new = config.write(Class(tmp_path / "x", "transformers", "ines", ("anna",)))
    finally:
        os.umask(old)

    def mode(name):
        return stat.S_IMODE((new.folder / name).stat().st_mode)

    assert [mode(name) for name in ("state", "course", config.NAME)] == [
        *(0o700, 0o700, 0o600)
    ]
    assert mode("exchange") == 0o1777  # sticky: nobody renames what is another's
    assert mode("exchange/transformers") == 0o755
    for path in (new.folder / "settings").rglob("*"):
        assert mode(path) == (0o755 if path.is_dir() else 0o644), path
    root = hasattr(os, "geteuid") and os.geteuid() == 0
    theirs = [new.folder / "course", new.folder / "exchange" / "transformers"]
    assert owned == [(path, "ines") for path in theirs if root]


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"course_id": "../x"}, "can't be the name of a course"),
        ({"students": ("anna", "b'; import os")}, "can't be the name of a user"),
        ({"students": ("anna", "ines")}, "both instructor and student"),
        ({"port": 80}, "no port for the hub"),
    ],
)
def test_a_class_that_cannot_be_is_one_sentence(tmp_path, change, told):
    right = {"course_id": "a", "instructor": "ines", "students": ("anna",)}
    with pytest.raises(HubError, match=told) as raised:
        config.write(Class(tmp_path / "x", **right | change))
    assert str(raised.value).count("\n") == 0 and not (tmp_path / "x").exists()


def test_a_configuration_that_is_there_stays(written, capsys):
    path = written.folder / config.NAME
    before = path.read_bytes()
    again = ["config", "--folder", str(written.folder), *WANTED]
    assert hub_tool.main(again) == 1
    assert "stays as it is" in capsys.readouterr().err and path.read_bytes() == before


def test_a_class_can_be_a_file(tmp_path, capsys):
    names = tmp_path / "class.txt"
    names.write_text("anna\nben\ncara\n", "utf-8")
    wanted = ["--instructor", "ines", "--students", f"@{names}"]
    folder = tmp_path / "class"
    assert hub_tool.main(["config", "--folder", str(folder), *wanted]) == 0
    hub = executed(folder / config.NAME)
    assert hub["Authenticator.allowed_users"] == {"anna", "ben", "cara", "ines"}
    assert "for 3 students" in capsys.readouterr().out


# --- records of all lessons in one place ----------------------------------------------


def test_a_hub_names_the_folder_of_records_for_people_alone(tmp_path, monkeypatch):
    here, home = tmp_path / LESSON, tmp_path / "home"
    monkeypatch.setattr(progress, "notebook_folder", lambda: here)
    monkeypatch.setenv(progress.RECORDS, str(home))
    monkeypatch.setattr(progress, "person_present", lambda: True)
    assert progress.records_folder() == home
    monkeypatch.setattr(progress, "person_present", lambda: False)
    assert progress.records_folder() == here
    monkeypatch.setattr(progress, "person_present", lambda: True)
    monkeypatch.setattr(progress, "notebook_folder", lambda: tmp_path / "solutions")
    assert progress.records_folder() == tmp_path / "solutions"


# --- collecting -----------------------------------------------------------------------


@pytest.fixture
def inbound(tmp_path):
    """A submission in anna's name, and a folder that students may not read."""
    secret = tmp_path / "course" / f"{LESSON}.ipynb"
    secret.parent.mkdir()
    secret.write_text("what others wrote")
    came = tmp_path / f"anna+{LESSON}+2026-11-23 10:00:00.000000 UTC+abc"
    came.mkdir()
    (came / f"{LESSON}.ipynb").write_text("{}")
    for name in CAME_WITH_IT:
        (came / name).write_text("x")
    return came, secret, tmp_path / "to"


def collector(**settings):
    return collect.Collect(coursedir=CourseDirectory(), **settings)


def test_a_submission_is_its_owners_whatever_its_name_says(inbound):
    came = str(inbound[0])
    owner = Path(came).owner()
    assert owner != "anna"
    assert collector()._path_to_record(came)["username"] == owner
    in_a_trial = collector(by_owner=False)._path_to_record(came)
    assert in_a_trial["username"] == "anna"


def test_what_belongs_to_a_submission_is_collected_and_nothing_else(inbound):
    came, _, to = inbound
    (came / "more").mkdir()
    (came / "big.bin").write_bytes(b"x" * 1000)
    collector().do_copy(str(came), str(to))
    assert {path.name for path in to.iterdir()} == {f"{LESSON}.ipynb", *CAME_WITH_IT}


def test_a_submission_does_not_fill_the_memory(inbound, monkeypatch):
    came, _, to = inbound
    monkeypatch.setattr(collect, "MOST", 10)
    for name in ("more.ipynb", "most.ipynb"):
        (came / name).write_bytes(b"x" * 8)
    collector().do_copy(str(came), str(to))
    assert sum(path.stat().st_size for path in to.iterdir()) <= 10


def test_no_link_is_followed(inbound):
    came, secret, to = inbound
    notebook = came / f"{LESSON}.ipynb"
    notebook.unlink()
    notebook.symlink_to(secret)
    collector().do_copy(str(came), str(to))
    assert not (to / notebook.name).exists()

    whole = came.with_name(f"ben+{LESSON}+2026-11-23 10:00:00.000000 UTC+abc")
    whole.symlink_to(secret.parent)
    collector().do_copy(str(whole), str(to / "whole"))
    assert not (to / "whole").exists()


# --- feedback -------------------------------------------------------------------------


@pytest.fixture
def collected(tmp_path, monkeypatch):
    """A collected submission and its page; what nbgrader is asked to release."""
    came = tmp_path / "course" / "submitted" / "anna" / LESSON
    came.mkdir(parents=True)
    (came / "timestamp.txt").write_text("2026-11-23 10:00:00.000000 UTC")
    (came / "submission_secret.txt").write_text("ab" * 64)
    page = tmp_path / "course" / feedback.GRADED / "pages" / LESSON / "anna.html"
    page.parent.mkdir(parents=True)
    page.write_text("<p>19 of 19</p>")
    asked = []
    monkeypatch.setattr(feedback, "_nbgrader", lambda *what: asked.append(what))
    return came, asked


def test_a_page_goes_where_nbgrader_looks_for_it(tmp_path, collected):
    _, asked = collected
    assert feedback.release(tmp_path) == [
        f"{LESSON}: 1 page of feedback can be fetched."
    ]
    place = tmp_path / "course" / "feedback" / "anna" / LESSON
    assert (place / f"{LESSON}.html").read_text() == "<p>19 of 19</p>"
    assert (place / "submission_secret.txt").read_text() == "ab" * 64
    assert asked == [(tmp_path, LESSON)]


def link(path):
    elsewhere = path.parent.parent / "of another"
    path.rename(elsewhere)
    path.symlink_to(elsewhere)


@pytest.mark.parametrize(
    "spoil", [Path.unlink, link, lambda path: path.write_bytes(b"x" * 9999)]
)
def test_what_a_student_may_have_put_there_costs_that_page_alone(
    tmp_path, collected, spoil
):
    came, asked = collected
    spoil(came / "submission_secret.txt")
    told = feedback.release(tmp_path)
    assert "anna" in told[0] and "not released" in told[0] and not asked
    assert not (tmp_path / "course" / "feedback").exists()


def test_feedback_before_grading_is_one_sentence(tmp_path, capsys):
    assert hub_tool.main(["feedback", "--folder", str(tmp_path)]) == 1
    assert "make grade" in capsys.readouterr().err


# --- what is installed ----------------------------------------------------------------


def test_the_page_and_the_ci_install_the_same_proxy():
    ci = (ROOT / ".ci" / "run").read_text("utf-8")
    page = (ROOT / "docs" / "hub.md").read_text("utf-8")
    pinned = set(re.findall(r"configurable-http-proxy@([\w.]+)", ci + page))
    assert len(pinned) == 1 and "configurable-http-proxy@" in page


def test_the_page_shows_what_was_measured():
    from tools.hub import measure

    kept = json.loads(measure.KEPT.read_text("utf-8"))
    page = measure.PAGE.read_text("utf-8")
    assert {"00", "02"} <= set(kept)
    assert measure.on_page(page, measure.tables(kept)) == page


def test_kubernetes_gets_what_lesson_02_needs_and_the_folder_of_the_image():
    values = yaml.safe_load((ROOT / "tools/hub/kubernetes.yaml").read_text("utf-8"))
    kept = json.loads((ROOT / "docs" / "hub.json").read_text("utf-8"))["02"]
    server = values["singleuser"]
    guarantee, limit = (float(one[:-1]) for one in server["memory"].values())
    assert guarantee * 1024 > kept["server_mb"] + kept["kernel_mb"] and limit >= 3
    place = server["extraEnv"]["PYTHONPATH"]
    [command] = server["lifecycleHooks"]["postStart"]["exec"]["command"][2:]
    page = (ROOT / "docs" / "hub.md").read_text("utf-8")
    assert f"--target-repo-dir {place} " in page and f"{place}/notebooks/" in command
    assert values["hub"]["config"]["JupyterHub"]["authenticator_class"] == "null"


# --- a hub with three users -----------------------------------------------------------


def free_port():
    """A port for the hub whose neighbours are free as well."""
    for port in range(18000, 28000, 200):
        try:
            for one in (port, port + 1, port + 81):
                socket.create_server(("127.0.0.1", one)).close()
        except OSError:
            continue
        return port
    raise AssertionError("no free port")


@pytest.fixture(scope="module")
def hub(tmp_path_factory):
    """A hub that runs, its class and the address."""
    pytest.importorskip(
        "jupyterhub", reason="needs JupyterHub: `make browser` installs it"
    )
    if not config.proxy():
        pytest.skip(
            "needs JupyterHub's proxy: `.ci/run` installs it, and docs/hub.md says how"
        )
    from tools.hub import client

    folder = tmp_path_factory.mktemp("hub")
    users = "ines", ("anna", "ben")
    new = config.write(
        Class(folder, "transformers", *users, port=free_port(), trial=True)
    )
    course = str(folder / "course")
    assert releasing.main(["02", "--course", course]) == 0
    with client.running(new) as address:
        yield new, address


@pytest.fixture(scope="module")
def people(hub):
    """Everybody, logged in and with a server."""
    from tools.hub.client import Person

    new, address = hub
    names = [new.instructor, *new.students]
    people = {name: Person(address, name, new.password) for name in names}
    with ThreadPoolExecutor() as at_once:
        list(at_once.map(Person.start, people.values()))
    yield people
    for person in people.values():
        person.session.close()


@pytest.fixture(scope="module")
def fetched(people):
    """The people, after the release; anna and ben have fetched."""
    assert people["ines"].told("POST", f"{FORMGRADER}/release")["success"]
    for name in ("anna", "ben"):
        told = people[name].told("POST", "assignments/fetch", json=COURSE)
        assert [one["status"] for one in told["value"]] == ["fetched"]
    return people


def solved(notebook):
    """A fetched notebook with the course's answers, only what is graded left."""
    answers = {
        cell.metadata.nbgrader.grade_id: cell.source
        for cell in submissions.solved().cells
        if cell.metadata.get("nbgrader", {}).get("solution")
        and cell.cell_type == "code"
    }
    made = submissions.short(nbformat.from_dict(notebook))
    for cell in made.cells:
        name = cell.metadata.get("nbgrader", {}).get("grade_id")
        cell.source = answers.get(name, cell.source)
    return made


def test_nobody_gets_in_with_another_password(hub):
    from tools.hub.client import Person

    for name, password in (("anna", "wrong"), ("eve", hub[0].password)):
        with pytest.raises(HubError, match="can't log in"):
            Person(hub[1], name, password)


def test_a_student_has_no_formgrader_and_no_way_to_that_of_others(people):
    anna = people["anna"]
    assert anna.ask("GET", "formgrader").status_code == 404
    assert anna.ask_of("ines", "GET", "formgrader").status_code == 403
    assert anna.ask_of("ben", "GET", "api/contents").status_code == 403
    assert people["ines"].ask("GET", "formgrader").status_code == 200


def test_progress_is_kept_in_the_home_and_nothing_of_it_is_handed_in(fetched, hub):
    anna = fetched["anna"]
    cells = {one["id"]: one["source"] for one in anna.notebook(FILE)["cells"]}
    imports = next(text for text in cells.values() if "import torch\n" in text)
    with anna.kernel(FILE) as kernel:
        for source in (imports, submissions.solution("ex-2-B")):
            assert not [
                one for one in kernel.run(source) if one["output_type"] == "error"
            ]
        said = json.dumps(kernel.run(cells["ex-2-B-check"], "ex-2-B-check"))
    assert "passed" in said and "Traceback" not in said
    home = hub[0].folder / "homes" / "anna"
    assert progress.read(home) == {"2.B": "passed"}
    assert (home / ".answers" / "2.B.py").exists()
    assert [one.name for one in (home / LESSON).iterdir()] == [f"{LESSON}.ipynb"]


def test_the_whole_round(fetched, hub):
    ines, anna, ben = (fetched[name] for name in ("ines", "anna", "ben"))
    folder = hub[0].folder
    anna.save(FILE, solved(anna.notebook(FILE)))
    untouched = submissions.short(nbformat.from_dict(ben.notebook(FILE)))
    ben.save(FILE, untouched)
    for student in (anna, ben):
        assert student.told("POST", "assignments/submit", json=COURSE)["success"]

    assert ines.told("POST", f"{FORMGRADER}/collect")["success"]
    for name in ("anna", "ben"):
        grading = f"formgrader/api/submission/{LESSON}/{name}/autograde"
        told = ines.told("POST", grading)
        assert told["success"], told
    graded = ines.told("GET", f"formgrader/api/submissions/{LESSON}")
    points = {one["student"]: one["code_score"] for one in graded}
    assert points == {"anna": 19.0, "ben": 0.0}

    for step in ("generate_feedback", "release_feedback"):
        assert ines.told("POST", f"{FORMGRADER}/{step}")["success"]
    pages = {name: page(fetched[name]) for name in ("anna", "ben")}
    assert "(Score: 19.0 / 22.0)" in pages["anna"]  # a person gives the other three
    assert "(Score: 0.0 / 22.0)" in pages["ben"]

    # The pages of `make grade` take the same way, and replace nbgrader's.
    place = folder / "course" / feedback.GRADED / "pages" / LESSON
    place.mkdir(parents=True)
    for name in ("anna", "ben"):
        (place / f"{name}.html").write_text(f"<p>For {name} alone.</p>", "utf-8")
    said = feedback.release(folder)
    assert said == [f"{LESSON}: 2 pages of feedback can be fetched."]
    for name in ("anna", "ben"):
        assert page(fetched[name]) == f"<p>For {name} alone.</p>"


def page(student):
    """The page of feedback that a student gets."""
    told = student.told("POST", "assignments/fetch_feedback", json=COURSE)
    [handed_in] = [one for one in told["value"] if one["status"] == "submitted"]
    [path] = {one["local_feedback_path"] for one in handed_in["submissions"]}
    model = student.told("GET", f"api/contents/{path}/{LESSON}.html?format=text")
    return model["content"]


# --- what a browser shows -------------------------------------------------------------


@pytest.mark.browser
def test_the_menus_fit_the_role_and_no_question_is_asked(hub):
    needed()
    new, address = hub
    with browser() as chromium:
        shown = {name: menus(chromium, address, new, name) for name in ("anna", "ines")}
    assert shown["anna"] == ["Assignment List"]
    assert shown["ines"] == ["Assignment List", "Formgrader", "Formgrader (local)"]


def menus(chromium, address, new, name):
    """Log in by the form, and read nbgrader's menu in JupyterLab."""
    context = chromium.new_context(viewport={"width": 1300, "height": 900})
    context.set_default_timeout(120_000)
    page = context.new_page()
    page.goto(address)
    page.fill("input[name=username]", name)
    page.fill("input[name=password]", new.password)
    page.click("input[type=submit], button[type=submit]")
    page.wait_for_selector(".jp-Launcher, .jp-Notebook", timeout=120_000)
    page.wait_for_timeout(1500)  # a question of JupyterLab comes a little later
    if folder := os.environ.get("COURSE_SHOTS"):
        page.screenshot(path=Path(folder, f"hub_{name}.png"))
    assert page.locator(".jp-toastContainer .Toastify__toast").count() == 0
    page.click(".lm-MenuBar-item:has-text('Nbgrader')")
    found = page.locator(".lm-Menu-itemLabel").all_inner_texts()
    context.close()
    return sorted(filter(None, found))
