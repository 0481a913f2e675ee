"""Each hostile file costs only itself, and leads nowhere."""

import io
import json
import os
import sys
import zipfile

import pytest

from tests import submissions as handed
from tests.hostile.files import FILE, FILES, GRADED, ZIPS
from tools.grading import kit, reading, roster, runner
from tools.grading.course import CourseError
from tools.grading.find import find, readable
from tools.grading.restore import SubmissionError, parse, restore

pytestmark = [
    pytest.mark.lesson("02"),
    pytest.mark.skipif(sys.platform != "linux", reason="others have no such files"),
]
OPENED = []  # lists that are told what is opened, while somebody listens


def _listen(event, arguments):
    if OPENED and event in ("open", "os.listdir", "os.scandir"):
        OPENED[-1].append(arguments[0])


sys.addaudithook(_listen)


@pytest.fixture(scope="module")
def released():
    return handed.released()


@pytest.fixture(scope="module")
def good():
    """Return an honest notebook's bytes."""
    return json.dumps(handed.filled({})).encode()


@pytest.fixture
def place(tmp_path, good):
    """Return a folder with an honest submission, and a secret beside it."""
    handed.hand_in(tmp_path, "secret", good)
    handed.hand_in(tmp_path / "week 2", "honest", good)
    return tmp_path / "week 2"


def what_becomes(source, released):
    """Return {student: what is said}, as `make grade` has it before any kernel."""
    said, before = {}, everything(source.parent)
    OPENED.append([])
    try:
        with kit.handed_in(source) as (folder, left):
            lessons = [handed.NAME]
            found = kit.left_out(find(folder, lessons, True), left, lessons)
            for one in found:
                said[one.student] = one.reason or read(one.path, released)
    finally:
        opened = OPENED.pop()
    inside, around = str(source), str(source.parent)
    for path in map(str, opened):
        assert not path.startswith(("/etc/passwd", "/dev/zero", "/proc/self/mem"))
        assert not path.startswith(f"{around}/") or path.startswith(inside), path
    assert everything(source.parent) == before
    assert all(name == readable(name) or "‹" in name or "..." in name for name in said)
    assert all(text.isprintable() for pair in said.items() for text in pair)
    return said


def read(path, released):
    """Return what is said of one file."""
    try:
        restore(parse(runner.read(path)), released)
    except (OSError, SubmissionError) as error:
        return str(error)
    return GRADED


def everything(folder):
    """Return all paths of a folder with their times; nothing is opened or followed."""
    found = {}
    for where, folders, files in os.walk(os.fsencode(folder)):
        for name in (*folders, *files):
            seen = os.lstat(os.path.join(where, name))
            found[where, name] = seen.st_mode, seen.st_size, seen.st_mtime_ns
    return found


@pytest.mark.parametrize("one", FILES, ids=lambda one: ascii(one.name))
def test_a_file_costs_only_itself(place, good, released, one):
    try:
        one.put(place, good)
    except PermissionError:
        pytest.skip("only root makes devices")
    wanted = one.becomes | {"honest": one.honest}
    assert what_becomes(place, released) == wanted


@pytest.mark.parametrize("one", ZIPS, ids=lambda one: one.name)
@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_a_file_in_a_zip_costs_only_itself(place, good, released, one):
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(f"honest/{FILE}", good)
        for member, *content in one.members(good):
            archive.writestr(member, *content)
    path = place.with_name("week2.zip")
    path.write_bytes(one.change(bytearray(made.getvalue())))
    assert what_becomes(path, released) == one.becomes | {"honest": GRADED}


# --- what the instructor gives beside them --------------------------------------------

ROW = '{"student": "a", "lesson": "l", "cell": "c", "digest": "d", "comment": ""'


@pytest.mark.parametrize("points", ["1" + "0" * 400, "9" * 5_000, "[]", "{}", "true"])
def test_points_of_no_size_are_one_sentence(tmp_path, points):
    path = tmp_path / "points.json"
    path.write_text(f'[{ROW}, "points": {points}}}]')
    with pytest.raises(CourseError, match="is not a points.json of the page on which"):
        reading.saved(path)


@pytest.mark.parametrize(
    "text",
    ["name,platform id\nEve,{}\n", "Identifier,Full name\nParticipant {},Eve\n",
     "Student,ID,Section\nEve,{},A\n"],
)  # fmt: skip
@pytest.mark.parametrize("number", ["9" * 5_000, "²", "١٢"])
def test_a_number_of_any_length_is_somebody_s(tmp_path, text, number):
    """Or nobody's, where it is none; but no number breaks the list."""
    path = tmp_path / "class.csv"
    path.write_text(text.format(number), "utf-8")
    people = roster.read(path).people
    assert {one.name for one in people} <= {"Eve"}
