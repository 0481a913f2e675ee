"""The folder of a class on JupyterHub: its configuration, and what nbgrader needs.

    jupyterhub_config.py   what JupyterHub is started with
    settings/everyone/     course_id and exchange, JupyterLab without questions
    settings/student/      nbgrader without the menus of an instructor
    settings/instructor/   where the course lies
    exchange/              nbgrader's: assignments go out, submissions and feedback pass
    course/                the instructor's: `make release` lays it out
    state/                 JupyterHub's own database and secrets

A role is a folder on JUPYTER_CONFIG_PATH of a person's server. It decides what is
shown; what people may read and write, the operating system decides by their user.
"""

import json
import os
import re
import secrets
import shutil
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from string import Template

ROOT = Path(__file__).resolve().parents[2]
JUPYTER = ROOT / "tools" / "jupyter"
NAME = "jupyterhub_config.py"
ROLES = ("student", "instructor")
EVERYBODY, MINE = 0o755, 0o700
USER = re.compile(r"[a-z_][a-z0-9_.-]{0,31}")  # as an operating system and the hub take
COURSE_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")  # a folder, and part of a link
# nbgrader's parts of JupyterLab by their names, and the server's by theirs.
PARTS = {
    "formgrader": "formgrader",
    "course-list": "course_list",
    "create-assignment": "",
    "validate-assignment": "validate_assignment",
}
HIDDEN = {  # a check says more than validation; notebooks are built by the course
    "everyone": ("course-list", "create-assignment", "validate-assignment"),
    "student": ("formgrader",),
    "instructor": (),
}

HUB = Template('''\
"""JupyterHub for "$course_id", written by `python -m tools.hub config`.

It is yours to change: the tool leaves it alone from now on.
"""

import os

c = get_config()

STUDENTS = $students
INSTRUCTOR = $instructor
FOLDER = $folder
COURSE = $root
PROGRAMS = $programs

# Who may come in, and from where: this machine alone. docs/hub.md says how a class
# gets in from outside.
c.Authenticator.allowed_users = {*STUDENTS, INSTRUCTOR}
c.JupyterHub.bind_url = "http://127.0.0.1:$port"
c.JupyterHub.hub_port = $hub_port
c.ConfigurableHTTPProxy.api_url = "http://127.0.0.1:$proxy_port"
c.ConfigurableHTTPProxy.command = $proxy

$spawner

# The course's own Python runs every server.
c.Spawner.cmd = [PROGRAMS + "/python", "-m", "jupyterhub.singleuser"]
c.Spawner.default_url = "/lab"
c.Spawner.args = $arguments
c.Spawner.start_timeout = c.Spawner.http_timeout = 180  # when a class comes at once


def settings(spawner):
    """The folders that Jupyter and nbgrader read their settings from, by role."""
    role = "instructor" if spawner.user.name == INSTRUCTOR else "student"
    return os.pathsep.join(f"{FOLDER}/settings/{one}" for one in (role, "everyone"))


c.Spawner.environment = {
    "JUPYTER_CONFIG_PATH": settings,
    "JUPYTER_PATH": $jupyter,
    "PATH": os.pathsep.join([PROGRAMS, os.environ.get("PATH", os.defpath)]),
    "PYTHONPATH": COURSE,
    "COURSE_RECORDS": "~",  # progress of all lessons in one place, the student's home
    "OMP_NUM_THREADS": "1",  # or thirty kernels fight for the cores
}

c.JupyterHub.db_url = "sqlite:///" + FOLDER + "/state/jupyterhub.sqlite"
c.JupyterHub.cookie_secret_file = FOLDER + "/state/cookie_secret"
c.ConfigurableHTTPProxy.pid_file = FOLDER + "/state/proxy.pid"
''')
CLASS = """\
# Everybody is a user of this machine and logs in with its password; the hub runs as
# root, and starts each server as its user.
c.JupyterHub.authenticator_class = "pam"
c.JupyterHub.spawner_class = "localprocess"
"""
TRIAL = """\
# A TRIAL, NEVER A CLASS: all servers run as the one user who started the hub, and
# whoever knows the password can log in as anybody. Each student could read and change
# the files of all others, and the grades.
c.JupyterHub.authenticator_class = "shared-password"
c.SharedPasswordAuthenticator.user_password = {password!r}
c.JupyterHub.spawner_class = "simple"
c.SimpleLocalProcessSpawner.home_dir_template = FOLDER + "/homes/{{username}}"
"""
NBGRADER = {
    "everyone": """\
c = get_config()
c.CourseDirectory.course_id = {course_id!r}
c.Exchange.root = {exchange!r}
""",
    "student": """\
import os

c = get_config()
c.CourseDirectory.student_id = os.environ["JUPYTERHUB_USER"]
""",
    "instructor": """\
c = get_config()
c.CourseDirectory.root = {course!r}
# A submission is its owner's, whatever its name says, and no link in it is followed.
c.ExchangeFactory.collect = "tools.hub.collect.Collect"
c.Collect.by_owner = {by_owner}
""",
}


class HubError(Exception):
    """Something the instructor can put right; its text is one clear sentence."""


@dataclass(frozen=True)
class Class:
    """A class on a hub.

    Args:
        folder: Where all of it lies.
        course_id: What nbgrader calls the course.
        instructor: The user who releases and collects.
        students: The users who fetch and submit.
        port: Where the hub listens; the proxy's own is the next one, and the hub's
            own is 81 higher.
        trial: Whether one user of the machine plays all of them.
        password: Of all users, in a trial.
    """

    folder: Path
    course_id: str
    instructor: str
    students: tuple[str, ...]
    port: int = 8000
    trial: bool = False
    password: str = ""


def write(new: Class) -> Class:
    """Write the folder of a class, and return the class as it was written.

    Raises:
        HubError: A name is none, the folder has a configuration, or can't be written.
    """
    _check(new)
    folder = new.folder.resolve()
    if (folder / NAME).exists():
        raise HubError(
            f"{folder / NAME} is there already and stays as it is: change it by hand, "
            "or delete it and try again."
        )
    password = new.password or secrets.token_hex(8) if new.trial else ""
    new = replace(new, folder=folder, password=password)
    try:
        _folders(new)
        for role in HIDDEN:
            _settings(new, role)
        _put(folder / NAME, hub_config(new), 0o600)
    except (OSError, LookupError) as error:
        reason = getattr(error, "strerror", "") or error
        raise HubError(f"Could not write the class to {folder} ({reason}).") from error
    return new


def _check(new: Class) -> None:
    if not COURSE_ID.fullmatch(new.course_id):
        raise HubError(
            f"{new.course_id!r} can't be the name of a course: use letters without "
            "accents, digits, - and _."
        )
    for user in (new.instructor, *new.students):
        if not USER.fullmatch(user):
            raise HubError(
                f"{user!r} can't be the name of a user: use small letters without "
                "accents, digits, '.', - and _, at most 32 of them."
            )
    if new.instructor in new.students:
        raise HubError(f"{new.instructor} can't be both instructor and student.")
    if not 1024 <= new.port <= 65000:
        raise HubError(f"{new.port} is no port for the hub: take one above 1023.")


def _folders(new: Class) -> None:
    """Make the folders, with the modes that keep people apart."""
    modes = {"": EVERYBODY, "settings": EVERYBODY, "state": MINE, "course": MINE}
    # nbgrader asks for a folder in which all may write, and sets narrower modes below.
    # The sticky bit keeps a student from putting another folder in the course's place.
    modes |= {"exchange": 0o1777, f"exchange/{new.course_id}": EVERYBODY}
    if new.trial:
        modes["homes"] = MINE
    for name, mode in modes.items():
        path = new.folder / name
        path.mkdir(parents=True, exist_ok=True)
        path.chmod(mode)
    if not new.trial and _root():
        for name in ("course", f"exchange/{new.course_id}"):
            shutil.chown(new.folder / name, new.instructor)


def _settings(new: Class, role: str) -> None:
    """What Jupyter and nbgrader are told in the servers of a role."""
    folder = new.folder / "settings" / role
    names = {
        "course_id": new.course_id,
        "exchange": str(new.folder / "exchange"),
        "course": str(new.folder / "course"),
        "by_owner": not new.trial,
    }
    _put(folder / "nbgrader_config.py", NBGRADER[role].format(**names))
    _put(folder / "labconfig" / "page_config.json", _json(page_config(role)))
    hidden = _json(server_extensions(role))
    _put(folder / "jupyter_server_config.d" / "course.json", hidden)
    _put(folder / "jupyter_server_config.json", _json(server_config(new, role)))
    if role == "everyone":
        overrides = "labconfig/default_setting_overrides.json"
        _put(folder / overrides, (JUPYTER / overrides).read_text("utf-8"))


def page_config(role: str) -> dict:
    """Which extensions JupyterLab leaves out for a role."""
    hidden = {f"@jupyter/nbgrader:{part}": True for part in HIDDEN[role]}
    return {"disabledExtensions": hidden | {"jupyterlab-jupytext": True}}


def server_extensions(role: str) -> dict:
    """Which extensions Jupyter's server leaves out for a role."""
    parts = [PARTS[part] for part in HIDDEN[role] if PARTS[part]]
    hidden = {f"nbgrader.server_extensions.{part}": False for part in parts}
    return {
        "ServerApp": {"jpserver_extensions": hidden | {"jupyterlab_jupytext": False}}
    }


def server_config(new: Class, role: str) -> dict:
    """What else Jupyter's server is told for a role."""
    if role == "student":
        return {}
    if role == "instructor":  # the formgrader works only below the server's root
        return {"ServerApp": {"root_dir": str(new.folder / "course")}}
    never = "jupyterlab.handlers.announcements.NeverCheckForUpdate"
    return {
        "LabApp": {
            "news_url": None,
            "check_for_updates_class": never,
            "extension_manager": "readonly",
        },
        "MappingKernelManager": {
            "transport_encryption": "auto",
            # A kernel that nobody looks at gives its memory back after two hours.
            "cull_idle_timeout": 7200,
            "cull_interval": 300,
        },
    }


def hub_config(new: Class) -> str:
    """The text of jupyterhub_config.py."""
    return HUB.substitute(
        course_id=new.course_id,
        students=_listed(new.students),
        instructor=repr(new.instructor),
        folder=repr(str(new.folder)),
        root=repr(str(ROOT)),
        programs=repr(str(Path(sys.executable).parent)),
        jupyter=repr(os.pathsep.join([f"{sys.prefix}/share/jupyter", str(JUPYTER)])),
        arguments=repr(["--allow-root"] if new.trial and _root() else []),
        proxy=repr([proxy() or "configurable-http-proxy"]),
        port=new.port,
        proxy_port=new.port + 1,
        hub_port=new.port + 81,
        spawner=(TRIAL if new.trial else CLASS).format(password=new.password).rstrip(),
    )


def _listed(names: tuple[str, ...]) -> str:
    lines = "".join(f"    {name!r},\n" for name in sorted(set(names)))
    return f"[\n{lines}]"


def proxy() -> str | None:
    """Where configurable-http-proxy is: beside this Python, or on the PATH."""
    beside = str(Path(sys.executable).parent)
    path = os.pathsep.join([beside, os.environ.get("PATH", os.defpath)])
    return shutil.which("configurable-http-proxy", path=path)


def role_environment(folder: Path, role: str) -> dict[str, str]:
    """This process's environment, as a role's server on the hub has it."""
    paths = [folder / "settings" / one for one in (role, "everyone")]
    programs = str(Path(sys.executable).parent)
    return os.environ | {
        "JUPYTER_CONFIG_PATH": os.pathsep.join(map(str, paths)),
        "PATH": os.pathsep.join([programs, os.environ.get("PATH", os.defpath)]),
        "PYTHONPATH": str(ROOT),
    }


def _root() -> bool:
    return hasattr(os, "geteuid") and os.geteuid() == 0


def _json(content: dict) -> str:
    return json.dumps(content, indent=2) + "\n"


def _put(path: Path, text: str, mode: int = 0o644) -> None:
    """Write a file with a mode of its own, its folder readable for everybody."""
    path.parent.mkdir(parents=True, exist_ok=True)
    for one in (path.parent, path.parent.parent):
        if path.name != NAME:
            one.chmod(EVERYBODY)
    path.touch(mode=mode)
    path.write_text(text, encoding="utf-8")
    path.chmod(mode)
