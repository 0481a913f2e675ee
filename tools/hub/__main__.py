"""JupyterHub for a class: `python -m tools.hub config --folder /srv/class ...`."""

import argparse
import shlex
import sys
from pathlib import Path

from helpers.files import utf8_output
from tools.hub import config
from tools.hub.config import HubError


def parser() -> argparse.ArgumentParser:
    """What can be asked for."""
    whole = argparse.ArgumentParser(prog="python -m tools.hub", description=__doc__)
    parts = whole.add_subparsers(dest="part", required=True)
    new = parts.add_parser(
        "config",
        help="write the folder of a class",
        description="Write the folder of a class: configuration, settings, exchange.",
        epilog="@class.txt stands for the lines of a file, one argument in each.",
        fromfile_prefix_chars="@",
    )
    new.add_argument("--folder", type=Path, required=True, help="such as /srv/class")
    new.add_argument("--course", default="transformers", help="nbgrader's course_id")
    new.add_argument("--instructor", required=True, help="a user of the machine")
    new.add_argument("--students", nargs="+", required=True, help="users or @class.txt")
    new.add_argument("--port", type=int, default=8000, help="of the hub; default: 8000")
    new.add_argument(
        "--trial",
        action="store_true",
        help="for you alone: no users of the machine are needed, and none is safe",
    )
    give = parts.add_parser("feedback", help="release the pages of `make grade`")
    give.add_argument("--folder", type=Path, required=True, help="that of the class")
    give.add_argument("--graded", type=Path, help="where `make grade` wrote")
    much = parts.add_parser("measure", help="memory and time for each student")
    much.add_argument("--users", type=int, default=10, help="servers; default: 10")
    much.add_argument("--lesson", default="00", help="what they run; default: 00")
    much.add_argument("--write", action="store_true", help="renew docs/hub.md")
    return whole


def main(arguments: list[str] | None = None) -> int:
    """Do one of the parts; returns the exit status."""
    options = parser().parse_args(arguments)
    try:
        for sentence in PARTS[options.part](options):
            print(sentence, flush=True)
    except HubError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def _config(options: argparse.Namespace) -> list[str]:
    new = config.write(
        config.Class(
            options.folder,
            options.course,
            options.instructor,
            tuple(options.students),
            options.port,
            options.trial,
        )
    )
    python = shlex.quote(sys.executable)
    where = shlex.quote(str(new.folder))
    said = [
        f"Wrote {new.folder} for {len(set(new.students))} students and "
        f"{new.instructor}.",
        f"Lay out the course:  {python} -m tools.grading.release --course "
        f"{where}/course",
        f"Start the hub:       {python} -m jupyterhub -f {where}/{config.NAME}",
        f"Open in a browser:   http://127.0.0.1:{new.port}",
    ]
    if new.trial:
        said.append(
            f"The password of all users: {new.password}. This is a trial: never let "
            "students in, they could change each other's files and the grades."
        )
    if not config.proxy():
        said.append(
            "configurable-http-proxy is missing, and the hub can't start without it: "
            "docs/hub.md says how to install it."
        )
    return said


def _feedback(options: argparse.Namespace) -> list[str]:
    from tools.hub import feedback

    return feedback.release(options.folder, options.graded)


def _measure(options: argparse.Namespace) -> list[str]:
    from tools.hub import measure

    return measure.run(options.users, options.lesson, options.write)


PARTS = {"config": _config, "feedback": _feedback, "measure": _measure}

if __name__ == "__main__":
    utf8_output()
    sys.exit(main())
