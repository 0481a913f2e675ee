"""From a learning platform and back: names, zips, the list of the class, feedback."""

import csv
import io
import json
import re
import signal
import stat
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from bs4 import BeautifulSoup

from tests.chromium import browser, soon
from tests.test_grade import outcome
from tools.grading import __main__ as grade
from tools.grading import (
    archive,
    feedback,
    find,
    kit,
    names,
    outline,
    overview,
    platforms,
    reading,
    roster,
    sandbox,
    seeds,
)
from tools.grading.course import CourseError
from tools.grading.feedback import Written
from tools.grading.names import Name
from tools.grading.platforms import Mark
from tools.grading.restore import MOST
from tools.grading.tables import Grade
from tools.slides.cells import anchor

ROOT = Path(__file__).resolve().parents[1]
LESSON = "02_attention"
FRANK = "Frank Ümlaut_123456_assignsubmission_file"

pytestmark = pytest.mark.lesson("02")


@pytest.fixture(scope="module")
def lesson():
    """Return the outline of lesson 02."""
    return outline.read(ROOT, LESSON)


def table(text):
    """Return the rows of a CSV table."""
    return list(csv.reader(io.StringIO(text, newline="")))


# --- names ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("part", "file", "wanted"),
    [
        (FRANK, False, Name("Frank Ümlaut", "moodle", "123456")),
        (f"{FRANK}_", False, Name("Frank Ümlaut", "moodle", "123456")),  # before 4.1
        (f"{FRANK}_my_x.ipynb", True, Name("Frank Ümlaut", "moodle", "123456")),
        ("_0042_assignsubmission_onlinetext", False, Name("", "moodle", "42")),
        (
            "muellerg_LATE_99887_1234567_02_attention-2.ipynb",
            True,
            Name("muellerg", "canvas", "99887", True, 1234567, 3),
        ),
        (
            "muellerg_99887_1234_homework.ipynb",
            True,
            Name("muellerg", "canvas", "99887", False, 1234),
        ),
        (
            "bob_77_88__12_34_02_attention.ipynb",  # a file called "_12_34_..."
            True,
            Name("bob", "canvas", "77", False, 88),
        ),
        ("muellerg_99887_1234_x", False, None),  # Canvas makes no folders
        ("Frank_1_2_assignsubmission_file", False, None),  # Moodle takes out the _
        ("anna_02_attention.ipynb", True, None),
        ("Anna Schmidt_123_file_", False, None),
    ],
)
def test_a_platform_s_name_is_read_for_what_it_says(part, file, wanted):
    assert names.read(part, file) == wanted


def hand_in(folder, *paths):
    """Put empty notebooks into a folder, and find them."""
    for path in paths:
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text("{}")
    return find.find(folder, [LESSON], True)


def test_the_newest_of_two_attempts_counts(tmp_path):
    found = hand_in(
        tmp_path,
        "muellerg_99887_2000_02_attention-1.ipynb",
        "muellerg_99887_10000_02_attention-2.ipynb",  # 10000 is later than 2000
        "muellerg_99887_1000_02_attention.ipynb",
    )
    [one] = found
    assert (one.student, one.reason) == ("muellerg (99887)", "")
    assert one.path.name.endswith("_10000_02_attention-2.ipynb")
    assert one.notes == ("the newest of 3 uploads was graded",)


def test_two_notebooks_in_one_folder_of_moodle_are_not_chosen_from(tmp_path):
    [one] = hand_in(
        tmp_path, f"{FRANK}/02_attention.ipynb", f"{FRANK}/02_attention (1).ipynb"
    )
    assert one.path is None and one.reason.endswith("keep one")


def test_nobody_becomes_somebody_else_by_name(tmp_path):
    """Somebody called "bob_12" of number 77, and the owner of number 12."""
    found = hand_in(
        tmp_path,
        "ada_12_900_02_attention.ipynb",
        "bob_12_77_901_02_attention.ipynb",
        "cleo_13_902_02_attention.ipynb",
    )
    reasons = {one.student: (one.path is None, one.reason) for one in found}
    said = "2 names carry the platform's number 12: ask whose it is, and rename the "
    assert reasons == {
        "ada (12)": (True, said + "file"),
        "bob (12)": (True, said + "file"),
        "cleo (13)": (False, ""),
    }


def test_a_text_beside_a_notebook_is_not_somebody_who_handed_in_nothing(tmp_path):
    (tmp_path / "Eva_7_assignsubmission_onlinetext").mkdir()
    (tmp_path / "Ole_8_assignsubmission_onlinetext").mkdir()
    (tmp_path / "cleo_13_903_notes.docx").write_text("")
    found = hand_in(
        tmp_path,
        "Eva_7_assignsubmission_file/02_attention.ipynb",
        "cleo_13_902_02_attention.ipynb",
    )
    assert [(one.student, bool(one.path)) for one in found] == [
        ("Eva (7)", True),
        ("Ole (8)", False),
        ("cleo (13)", True),
    ]


# --- zips -----------------------------------------------------------------------------


def packed(path, *files):
    """Write a zip of (name or ZipInfo, content)."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as made:
        for name, content in files:
            made.writestr(name, content, zipfile.ZIP_DEFLATED)
    return path


def unpacked(tmp_path, *files):
    """Return ({name: size} of what was unpacked, {name: reason} of what was not)."""
    folder = tmp_path / "out"
    folder.mkdir()
    left = archive.unpack(packed(tmp_path / "a.zip", *files), folder)
    sizes = {
        str(path.relative_to(folder)): path.stat().st_size
        for path in folder.rglob("*")
        if not path.is_dir()
    }
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.zip", "out"]
    return sizes, dict(left)


@pytest.mark.parametrize(
    "name",
    ["../x.ipynb", "a/../../x.ipynb", "/x.ipynb", "..\\x.ipynb", "C:\\x.ipynb", "/"],
)
def test_no_path_of_a_zip_leads_out_of_it(tmp_path, name):
    sizes, left = unpacked(tmp_path, (name, "{}"), ("good.ipynb", "{}"))
    assert sizes == {"good.ipynb": 2}
    assert set(left.values()) <= {"its path leads out of the zip"}
    assert name == "/" or len(left) == 1


def test_a_zip_of_windows_has_folders(tmp_path):
    assert unpacked(tmp_path, ("anna\\x.ipynb", "{}")) == ({"anna/x.ipynb": 2}, {})


def test_a_link_in_a_zip_is_none(tmp_path):
    link = zipfile.ZipInfo("anna/02_attention.ipynb")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    sizes, left = unpacked(tmp_path, (link, "/etc/passwd"))
    assert sizes == {}
    assert left == {"anna/02_attention.ipynb": "it is a link, not a file"}


def test_a_bomb_costs_only_itself(tmp_path):
    sizes, left = unpacked(
        tmp_path,
        ("anna/x.ipynb", b"0" * 50_000_000),
        ("ben/x.ipynb", "{}"),
        ("cleo/x.zip", b"0" * 50_000_000),  # no notebook: its name is enough
    )
    assert sizes == {"ben/x.ipynb": 2, "cleo/x.zip": 0}
    assert left == {"anna/x.ipynb": "it unpacks to over 200 times its size"}


def test_a_notebook_is_unpacked_no_further_than_it_is_read(tmp_path, monkeypatch):
    monkeypatch.setattr(archive, "RATIO", 10**9)
    sizes, left = unpacked(tmp_path, ("anna/x.ipynb", b"0" * (2 * MOST)))
    assert MOST < sizes["anna/x.ipynb"] <= MOST + archive.PIECE and left == {}


def test_a_zip_has_room_for_so_much(tmp_path, monkeypatch):
    monkeypatch.setattr(archive, "ALL", 250_000)
    text = bytes(range(256)) * 400  # packed to less than a hundredth
    files = [(f"{name}/x.ipynb", text) for name in "abc"]
    sizes, left = unpacked(tmp_path, *files, ("d/x.ipynb", "{}"))
    assert list(sizes) and set(sizes) == {"a/x.ipynb", "b/x.ipynb", "d/x.ipynb"}
    assert (
        list(left) == ["c/x.ipynb"] and "the zip unpacks to over" in left["c/x.ipynb"]
    )


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_of_two_files_of_one_name_none_is_taken(tmp_path):
    files = ("a/x.ipynb", "1"), ("a/x.ipynb", "2"), ("A/X.ipynb", "3"), ("b.ipynb", "")
    sizes, left = unpacked(tmp_path, *files)
    assert sizes == {"b.ipynb": 0}
    assert set(left.values()) == {"its name stands more than once in the zip"}


def test_a_file_where_a_folder_should_be_costs_only_itself(tmp_path):
    sizes, left = unpacked(tmp_path, ("a.ipynb", "{}"), ("a.ipynb/b.ipynb", "{}"))
    assert sizes == {"a.ipynb": 2}
    assert left == {"a.ipynb/b.ipynb": "a folder of the zip has the same name"}


@pytest.mark.parametrize("name", ["n" * 300 + ".ipynb", "d/" * 600 + "x.ipynb"])
def test_a_name_that_no_disk_takes_is_left_out(tmp_path, name):
    assert unpacked(tmp_path, (name, "{}")) == ({}, {name: "its name is too long"})


def test_damage_in_a_zip_costs_only_the_file(tmp_path):
    path = packed(tmp_path / "a.zip", ("a.ipynb", b"abc" * 99), ("b.ipynb", "{}"))
    content = bytearray(path.read_bytes())
    content[40] ^= 255  # in the first file's data
    path.write_bytes(content)
    (tmp_path / "out").mkdir()
    left = archive.unpack(path, tmp_path / "out")
    assert left == [("a.ipynb", "it is damaged in the zip")]
    assert [one.name for one in (tmp_path / "out").iterdir()] == ["b.ipynb"]


def test_what_is_no_zip_or_too_many_files_is_one_sentence(tmp_path, monkeypatch):
    (tmp_path / "a.zip").write_text("no zip")
    with pytest.raises(CourseError, match="can't be read as a zip .*: fetch it again"):
        archive.unpack(tmp_path / "a.zip", tmp_path)
    monkeypatch.setattr(archive, "FILES", 1)
    path = packed(tmp_path / "b.zip", ("a", ""), ("b", ""))
    with pytest.raises(CourseError, match="holds 2 files, and 1 are read at most"):
        archive.unpack(path, tmp_path)


@pytest.mark.parametrize("around", ["", "week 2/"])
def test_a_zip_is_graded_with_or_without_a_folder_around_it(tmp_path, around):
    path = packed(
        tmp_path / "week2.zip",
        (f"{around}{FRANK}/02_attention.ipynb", "{}"),
        (f"{around}eva_7_8_02_attention.ipynb", "{}"),
        (f"{around}ole_9_10_02_attention.ipynb", b"0" * 5_000_000),
    )
    with kit.handed_in(path) as (folder, left):
        found = find.find(folder, [LESSON], True)
        found = kit.left_out(found, left, [LESSON])
    assert not folder.exists()
    assert [(one.student, one.lesson, one.reason) for one in found] == [
        ("Frank Ümlaut (123456)", LESSON, ""),
        ("eva (7)", LESSON, ""),
        ("ole (9)", LESSON, "it unpacks to over 200 times its size"),
    ]


KILLED = """
import os, signal, sys
from pathlib import Path
from tools.grading import kit
with kit.handed_in(Path(sys.argv[1])) as (folder, _):
    print(folder, (folder / "a_1_2_x.ipynb").exists(), flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_what_was_unpacked_goes_also_with_a_grader_that_is_killed(tmp_path):
    path = packed(tmp_path / "week2.zip", ("a_1_2_x.ipynb", "{}"))
    command = [sys.executable, "-c", KILLED, str(path)]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    folder, there = run.stdout.rsplit(maxsplit=1)
    assert run.returncode == -signal.SIGKILL and there == "True"

    def gone():
        assert not Path(folder).exists() and not Path(folder).parent.exists()

    soon(gone)


# --- the list of the class ------------------------------------------------------------

WORKSHEET = (
    "Identifier,Full name,Email address,Status,Grade,Maximum grade,"
    "Grade can be changed,Last modified (submission),Last modified (grade),"
    "Feedback comments\r\n"
    'Participant 123456,Frank Ümlaut,fu@x.org,Submitted,,100,Yes,"Monday, 1 June",'
    '"Monday, 2 June",-1 for style\r\n'
    "Participant 8,=HYPERLINK(1),eva@x.org,-,55.5,100,Yes,-,-,\r\n"
)
GRADEBOOK = (
    "Student,ID,SIS User ID,SIS Login ID,Section,Quiz (1),Lesson 02 attention (4711),"
    "Final Score\n"
    "    Points Possible,,,,,10,100,(read only)\n"
    '"Müller, Gerd",99887,s-1,gm3,A,7,,70\n'
    '"Roth, Carla",44,s-2,cr2,A,8,,80\n'
)


def list_of(tmp_path, text, encoding="utf-8-sig"):
    """Read the list of a class from its text."""
    (tmp_path / "class.csv").write_text(text, encoding)
    return roster.read(tmp_path / "class.csv")


@pytest.mark.parametrize("between", [",", ";", "\t"])
def test_your_own_list_is_read(tmp_path, between):
    text = "Name,id,EMAIL\nFrank Ümlaut,fu1,fu1@x.org\n,,\nCarla,,\n"
    read = list_of(tmp_path, text.replace(",", between))
    assert read.form == "own"
    assert [(p.id, p.name, p.email, p.number) for p in read.people] == [
        ("fu1", "Frank Ümlaut", "fu1@x.org", ""),
        ("", "Carla", "", ""),
    ]


def test_lists_that_platforms_export_are_read(tmp_path):
    one = list_of(tmp_path, WORKSHEET)
    assert (one.form, [p.number for p in one.people]) == ("moodle", ["123456", "8"])
    one = list_of(tmp_path, GRADEBOOK)
    assert (one.form, [p.number for p in one.people]) == ("canvas", ["99887", "44"])
    assert one.people[0].name == "Müller, Gerd" and one.people[0].id == "s-1"


@pytest.mark.parametrize(
    ("text", "encoding", "said"),
    [
        ("", "utf-8", "has none of the columns id, name, email, platform id"),
        ("first,last\na,b\n", "utf-8", "has none of the columns"),
        ("name\nJürgen\n", "latin-1", "is not UTF-8: save it as 'CSV UTF-8'."),
        ("id,name\n1,a\n1,b\n", "utf-8", "has 1 ids twice, '1' first."),
        ('name\n"' + "a" * 200_000, "utf-8", "is not a CSV table"),
        ("name\n" + "a\n" * 3_000_000, "utf-8", "is larger than 5 MB"),
    ],
)
def test_a_list_that_is_none_is_one_sentence(tmp_path, text, encoding, said):
    with pytest.raises(CourseError) as error:
        list_of(tmp_path, text, encoding)
    assert said in str(error.value) and "\n" not in str(error.value)
    with pytest.raises(CourseError, match="can't be read .No such file"):
        roster.read(tmp_path / "nothing.csv")


def test_a_student_is_found_in_the_list(tmp_path):
    people = list_of(
        tmp_path,
        "id,name,email,platform id\n"
        "fu1,Frank Ümlaut,frank@x.org,123456\n"
        "a-1,Anna,anna.b@x.org,\nx,Max,,\ny,Max,,\n",
    )
    (tmp_path / "in").mkdir()
    found = hand_in(
        tmp_path / "in",
        f"{FRANK}/02_attention.ipynb",
        "Frank ÜMLAUT_9_assignsubmission_file/02_attention.ipynb",  # another number
        "ANNA.B/02_attention.ipynb",
        "Max/02_attention.ipynb",  # there are two
        "fu1/02_attention.ipynb",
    )
    joined = {student: one.id for student, one in people.join(found).items()}
    assert joined == {"Frank Ümlaut (123456)": "fu1", "ANNA.B": "a-1", "fu1": "fu1"}


# --- back to the platform -------------------------------------------------------------


def imported_by_moodle(text):
    """Read a worksheet as Moodle's importgradeslib.php does: number -> row."""
    header, *rows = table(text)
    for needed in ("Identifier", "Grade", "Last modified (grade)"):
        assert header.count(needed) == 1
    found = [dict(zip(header, row, strict=True)) for row in rows]
    return {row["Identifier"][len("Participant ") :]: row for row in found}


def imported_by_canvas(text):
    """Read a gradebook as Canvas's gradebook_importer.rb does: number -> grades."""
    header, possible, *rows = table(text)
    assert "Student" in header[0] and "ID" in header[1] and "Section" in header[4]
    assert (header[2], header[3]) == ("SIS User ID", "SIS Login ID")
    assert "Points Possible" in possible[0]
    return {row[1]: dict(zip(header[5:], row[5:], strict=True)) for row in rows} | {
        "possible": dict(zip(header[5:], possible[5:], strict=True))
    }


def mark(number, points, student="Frank Ümlaut", most=22.0):
    """Return what somebody gets."""
    return Mark(Name(student, "moodle", number), points, most, "fu@x.org", "fu1")


def test_moodle_gets_a_worksheet():
    text, said = platforms.moodle([mark("123456", 19.0), mark("", 3.0)], None)
    assert said == ""
    rows = imported_by_moodle(text)
    assert list(rows) == ["123456"]
    row = rows["123456"]
    assert (row["Grade"], row["Maximum grade"]) == ("19", "22")
    assert (row["Full name"], row["Email address"]) == ("Frank Ümlaut", "fu@x.org")


def test_the_worksheet_that_moodle_exported_is_filled_in(tmp_path):
    people = list_of(tmp_path, WORKSHEET)
    text, said = platforms.moodle([mark("123456", 11.0), mark("99", 1.0)], people)
    rows = imported_by_moodle(text)
    assert said == "Moodle's grades are scaled to 100 points."
    assert rows["123456"]["Grade"] == "50"
    before = imported_by_moodle(WORKSHEET)
    assert rows["123456"] == before["123456"] | {"Grade": "50"}  # its comment as well
    assert rows["8"] == before["8"] | {"Full name": "'=HYPERLINK(1)"}


def test_canvas_gets_a_gradebook():
    text, said = platforms.canvas([mark("99887", 19.25)], LESSON, None)
    found = imported_by_canvas(text)
    assert said == ""
    assert found == {"99887": {LESSON: "19.25"}, "possible": {LESSON: "22"}}


def test_the_gradebook_that_canvas_exported_is_filled_in(tmp_path):
    people = list_of(tmp_path, GRADEBOOK)
    text, said = platforms.canvas([mark("99887", 11.0)], LESSON, people)
    column = "Lesson 02 attention (4711)"
    assert imported_by_canvas(text) == {
        "99887": {column: "50"},
        "possible": {column: "100"},
    }
    assert said == "Canvas's grades are scaled to 100 points."
    people = list_of(tmp_path, GRADEBOOK.replace("02 attention", "two"))
    text, said = platforms.canvas([mark("99887", 11.0)], LESSON, people)
    assert imported_by_canvas(text)["99887"] == {LESSON: "11"}
    assert said.startswith("0 columns of Canvas's gradebook name 02_attention")


@pytest.mark.parametrize("name", ["=cmd()", "+1", "-1+1", "@x", "\t=1", "＝1"])
def test_no_name_is_a_formula_on_the_way_back(name):
    for text in (
        platforms.moodle([mark("1", 1.0, name)], None)[0],
        platforms.canvas([mark("1", 1.0, name)], LESSON, None)[0],
    ):
        cells = [cell for row in table(text) for cell in row]
        assert f"'{name}" in cells and name not in cells


@pytest.mark.parametrize(
    ("student", "folder"),
    [
        ("Frank Ümlaut", FRANK),
        ("../../etc", "etc_123456_assignsubmission_file"),
        ("a/b\\c_7_d", "abc7d_123456_assignsubmission_file"),
        ("...", "Participant_123456_assignsubmission_file"),
        ("李 O'Neil-X", "李 O'Neil-X_123456_assignsubmission_file"),
    ],
)
def test_feedback_comes_in_the_folders_that_moodle_knows(student, folder):
    name = Name(student, "moodle", "123456")
    whose = {"frank": name, "eva": Name("eva", "canvas", "7")}
    pages = {"frank": "<p>page</p>", "eva": "<p>other</p>"}
    content = platforms.feedback_zip(pages, LESSON, whose)
    assert content == platforms.feedback_zip(pages, LESSON, whose)
    with zipfile.ZipFile(io.BytesIO(content)) as made:
        assert made.namelist() == [f"{folder}/02_attention-feedback.html"]
        assert made.read(made.namelist()[0]) == b"<p>page</p>"
    first, number, kind, plugin = folder.split("_", 4)  # as importziplib.php does it
    assert number == "123456" and (kind, plugin) == ("assignsubmission", "file")


# --- feedback -------------------------------------------------------------------------

EVIL = "<script>alert(1)</script>\"'><img src=x onerror=alert(2)>"


def graded(lesson, **changes):
    """Return a grade of lesson 02 in which 2.A is passed and 2.B has a mistake."""
    most = {
        number: float(task.exercise.points)
        for number, task in lesson.tasks.items()
        if not task.written
    }
    points = dict.fromkeys(most, 0.0) | {"2.A": 2.0}
    outcomes = [
        outcome("2.A", "passed"),
        outcome("2.B", "wrong", "no scaling"),
        outcome("2.C", "not attempted", borrowed=True),
        outcome("2.D", "raised"),
        outcome("2.E", "not attempted"),
    ]
    one = Grade("Eva (7)", LESSON, points=points, most=most, outcomes=outcomes)
    for name, value in changes.items():
        setattr(one, name, value)
    return one


def section(page, number):
    """Return the text of an exercise's section."""
    [found] = [
        one
        for one in BeautifulSoup(page, "html.parser").find_all("section")
        if re.match(rf"(★ )?{re.escape(number)} ", one.find("h3").get_text())
    ]
    return found.get_text("\n")


def test_a_page_says_what_happened_and_where_to_look(lesson):
    known = lesson.tasks["2.B"].mistake("no scaling")
    said = {
        "2.B": "✗ 2.B wrong\n  What happened: other words\n  Case: a row",
        "2.D": "✗ 2.D raised\n  In f\n  TypeError: no\n  Where to look: at f\n  Stuck?",
    }
    page = feedback.page(graded(lesson), lesson, {}, said)
    assert section(page, "2.A").endswith("✓ passed\n 2 of 2 points")
    text = section(page, "2.B")
    assert known.done in text and known.where in text and "Case: a row" in text
    assert "other words" not in text and "0 of 4 points" in text
    assert "Read again\nAll words at once" in text
    assert "borrowed" in section(page, "2.C")
    text = section(page, "2.D")
    assert "TypeError: no" in text and "Where to look\nat f" in text
    assert "Stuck?" not in text
    assert "Taught in\nBugs from the wild" in section(page, "2.E")
    assert "not run" in section(page, "2.F")
    assert "2 of 19 points" in page and "(1 of 9 exercises passed)" in page


def test_a_check_that_was_tampered_with_has_not_passed(lesson):
    one = graded(lesson, outcomes=[outcome("2.B", "passed")])
    assert feedback.state(one, "2.B") == "not run"


def test_an_exercise_without_points_has_passed_if_its_check_says_so(lesson):
    one = graded(lesson, outcomes=[outcome("2.B", "wrong", "no scaling")])
    one.most = one.most | {"2.B": 0.0, "2.C": 0.0}
    assert [feedback.state(one, number) for number in ("2.B", "2.C")] == [
        "wrong",
        "not run",
    ]
    one.outcomes.append(outcome("2.B", "passed"))
    assert feedback.state(one, "2.B") == "passed"
    page = feedback.page(one, lesson, {}, {})
    assert "points" not in section(page, "2.B") + section(page, "2.C")


def test_written_answers_come_with_their_rubric(lesson):
    texts = {
        "": "not answered",
        "zeros": "3 of 3 points",
    }
    for text, state in texts.items():
        answer = Written(text, 3.0 if text else None, "Well put.")
        page = feedback.page(graded(lesson), lesson, {"2.K": answer}, {})
        found = " ".join(section(page, "2.K").split())
        assert state in found and text in found
        assert "1: says what each of the three does to the weights." in found
    unread = Written("zeros", None, "", True)
    page = feedback.page(graded(lesson), lesson, {"2.K": unread}, {})
    assert "not read yet" in page and "have not all been read yet" in page
    again = Written("zeros", 2.0, "", True)
    page = feedback.page(graded(lesson), lesson, {"2.K": again}, {})
    assert "changed since it was read" in page


def test_whose_notebook_could_not_be_graded_is_told_why(lesson):
    page = feedback.page(graded(lesson, reason=EVIL), lesson, {}, {})
    text = BeautifulSoup(page, "html.parser").get_text()
    assert f"could not be graded: {EVIL}." in text and "<section" not in page


def test_nothing_that_a_student_writes_is_more_than_text(lesson):
    one = graded(lesson, student=EVIL, notes=[EVIL])
    said = {
        number: f"{EVIL}\n  {EVIL}\n  What happened: {EVIL}\n  {EVIL}: {EVIL}"
        for number in lesson.tasks
    }
    page = feedback.page(one, lesson, {"2.K": Written(EVIL, 1.0, EVIL)}, said)
    soup = BeautifulSoup(page, "html.parser")
    kinds = {tag.name for tag in soup.find_all(True)}
    assert kinds <= set(
        "html head meta title style body h1 h2 h3 p b em code span section dl dt dd "
        "pre ul li".split()
    )
    attributes = {name for tag in soup.find_all(True) for name in tag.attrs}
    assert attributes <= {"lang", "charset", "content", "name", "class", "style",
                          "http-equiv"}  # fmt: skip
    assert soup.get_text().count(EVIL) >= 6
    assert "default-src 'none'" in page and "script-src" not in page


def test_a_page_is_small_whatever_was_handed_in(lesson):
    one = graded(lesson, notes=["n" * 300] * 20)
    said = dict.fromkeys(lesson.tasks, "\n".join([EVIL * 100] * 1000))
    answers = {"2.K": Written("'" * 1_000_000, 1.0, "&" * 1_000_000)}
    page = feedback.page(one, lesson, answers, said)
    assert len(page.encode()) < 100_000
    assert "[cut: 1000000 characters]" in page
    answers = {"2.K": Written("\U0001f600" * 20_000, 1.0, "'" * 20_000)}
    assert len(feedback.page(one, lesson, answers, said).encode()) < feedback.MOST


def test_a_page_prints(lesson):
    page = feedback.page(graded(lesson), lesson, {}, {})
    assert "@media print" in page and "break-inside: avoid" in page


# --- the class at a glance ------------------------------------------------------------


def of_class(lesson):
    """Return the grades of a class of 13: 12 make a mistake each, one passed."""
    known = [(number, one.name) for number, task in lesson.tasks.items()
             for one in task.exercise.misconceptions][:12]  # fmt: skip
    made = [known[0]] * 3 + [known[1]] * 2 + known[2:]
    grades = [
        graded(lesson, student=f"s{place}", outcomes=[outcome(number, "wrong", name)])
        for place, (number, name) in enumerate(made)
    ]
    for one in grades:
        one.points = one.points | {"2.A": 0.0}
    good = graded(
        lesson, student="good", outcomes=[outcome("2.A", "wrong", known[0][1])]
    )
    return [*grades, good], known


def test_the_ten_commonest_mistakes_of_this_class_come_first(lesson):
    grades, known = of_class(lesson)
    invented = graded(lesson, outcomes=[outcome("2.B", "wrong", EVIL)])
    found = overview.commonest(lesson, [*grades, invented])
    assert [(count, task.exercise.id, name) for count, task, name in found[:2]] == [
        (3, *known[0]),  # "good" made it as well, and passed in the end
        (2, *known[1]),
    ]
    assert len(found) == 12 and {count for count, *_ in found[2:]} == {1}
    page = at_a_glance(lesson, grades)
    items = BeautifulSoup(page, "html.parser").find("ol").find_all("li")
    assert len(items) == 10
    text = " ".join(items[0].get_text(" ").split())
    task = lesson.tasks[known[0][0]]
    one = task.mistake(known[0][1])
    assert "3 students of 16" in text and f"Slide to show: {task.section}" in text
    plain = BeautifulSoup(feedback.inline(f"{one.done} {one.where}"), "html.parser")
    assert plain.get_text() in text


def test_a_mistake_leads_to_its_slide_where_the_deck_was_made(lesson, tmp_path):
    grades, known = of_class(lesson)
    assert "#/exercise" not in at_a_glance(lesson, grades, root=tmp_path)
    deck = tmp_path / "slides" / f"{LESSON}.html"
    deck.parent.mkdir()
    deck.touch()
    page = BeautifulSoup(at_a_glance(lesson, grades, root=tmp_path), "html.parser")
    link = page.find("ol", class_="mistakes").a["href"]
    assert (
        link
        == f"{deck.as_uri()}#/{anchor(known[0][0])}"
        == (f"{deck.as_uri()}#/exercise-2-{known[0][0][-1]}")
    )


def at_a_glance(lesson, grades, **more):
    """Return the page of a class."""
    given = {"missing": {LESSON: ["=Carla"]}, "unread": {LESSON: 2}, "root": ROOT}
    found = overview.lessons({LESSON: lesson}, grades, **(given | more))
    others = [one for one in grades if not one.lesson]
    return overview.page(found, others, "reading.html")


def test_an_exercise_is_counted_by_how_it_ended(lesson):
    borrowed = graded(lesson, outcomes=[outcome("2.A", "wrong", borrowed=True)])
    borrowed.points = borrowed.points | {"2.A": 0.0}
    page = at_a_glance(lesson, [graded(lesson), graded(lesson), borrowed])
    soup = BeautifulSoup(page, "html.parser")
    rows = [[cell.get_text() for cell in row.find_all("td")] for row in
            soup.find_all("tr")]  # fmt: skip
    rows = {row[0][:3]: row[1:5] for row in rows if row}
    assert rows["2.A"] == ["2", "0", "0", "1"]  # passed, wrong, not attempted, borrowed
    assert rows["2.B"] == ["0", "2", "1", "0"]
    assert rows["2.C"] == ["0", "0", "1", "2"]
    first = soup.find("table")
    core = {number for number, task in lesson.tasks.items() if task.exercise.core}
    assert {row.td.get_text()[:3] for row in first.tbody.find_all("tr")} == core
    widths = re.findall(r"width:([\d.]+)%", str(first.tbody.tr))
    assert widths == ["66.7", "0.0", "0.0", "33.3"]


def test_the_page_says_who_is_missing_and_what_is_to_be_read(lesson):
    refused = Grade("Nina", LESSON, reason="the file is empty")
    lost = Grade("Ole", "", reason="there is no notebook in the folder")
    odd = graded(lesson, suspects=["ex-2-A mentions _judge"])
    page = at_a_glance(lesson, [odd, refused, lost])
    text = " ".join(BeautifulSoup(page, "html.parser").get_text("|").split())
    assert "1 notebook graded. 2 written answers to read." in text
    for words in (
        "Handed in nothing: 1",
        "=Carla",
        "Nina: the file is empty",
        "Ole: there is no notebook",
        "Eva (7): ex-2-A mentions _judge",
    ):
        assert words in text  # fmt: skip
    page = at_a_glance(lesson, [refused], missing=None, unread={})
    assert "Handed in nothing" not in page and "No written answer waits" in page
    many = [Grade(f"s{n}", LESSON, reason="no") for n in range(50)]
    page = at_a_glance(lesson, many)
    assert "and 10 more" in page and page.count("<li>s") == 40


def test_the_pages_of_the_instructor_hold_nothing_active_of_students(lesson):
    evil = graded(lesson, student=EVIL, suspects=[EVIL], written={"ex-2-K": EVIL})
    refused = [Grade(EVIL, LESSON, reason=EVIL), Grade(EVIL, "", reason=EVIL)]
    page = at_a_glance(lesson, [evil, *refused], missing={LESSON: [EVIL]})
    soup = BeautifulSoup(page, "html.parser")
    assert not soup.find_all(["script", "img"]) and soup.get_text().count(EVIL) == 7
    page = to_read(lesson, {EVIL: EVIL})
    soup = BeautifulSoup(page, "html.parser")
    assert [tag.string for tag in soup.find_all("script")] == [reading.SCRIPT]
    assert not soup.find_all("img") and soup.get_text().count(EVIL) == 2
    assert soup.article["data-student"] == EVIL


# --- reading written answers ----------------------------------------------------------


def to_read(lesson, texts, **more):
    """Return the page for reading: {student: answer}."""
    grades = [
        graded(lesson, student=name, written={"ex-2-K": f"digest of {name}"})
        for name in texts
    ]
    written = {
        (name, LESSON): {"2.K": Written(text, None, "", True, **more)}
        for name, text in texts.items()
    }
    return reading.page(grades, {LESSON: lesson}, written)


def test_what_was_read_is_not_read_again(lesson):
    one = graded(lesson, student="a", written={"ex-2-K": "d"})
    for answer in (Written("zeros", 2.0), Written("")):
        answers = {("a", LESSON): {"2.K": answer}}
        page = reading.page([one], {LESSON: lesson}, answers)
        assert "No written answer waits for a reader." in page
        assert "zeros" not in page
    page = reading.page(
        [one], {LESSON: lesson}, {("a", LESSON): {"2.K": Written("new", 2.0, "", True)}}
    )
    assert "An earlier text of it got 2 points." in page


@pytest.mark.parametrize(
    "text",
    ["", "{", "3", "[3]", "[{}]", "[" * 100_000,
     '[{"student": "a", "lesson": "l", "cell": "c", "digest": 3, "points": 1,'
     ' "comment": ""}]',
     '[{"student": "a", "lesson": "l", "cell": "c", "digest": "", "points": "1",'
     ' "comment": ""}]'],
)  # fmt: skip
def test_points_that_are_none_are_one_sentence(tmp_path, text):
    path = tmp_path / "points.json"
    path.write_text(text)
    with pytest.raises(CourseError, match="is not a points.json of the page on which"):
        reading.saved(path)
    with pytest.raises(CourseError, match="can't be read .No such file"):
        reading.saved(tmp_path / "nothing.json")


@pytest.mark.browser
def test_answers_are_read_by_keyboard(lesson, tmp_path):
    place = tmp_path / "reading.html"
    texts = {"anna": "one", "ben": EVIL, "cleo": "three"}
    place.write_text(to_read(lesson, texts), "utf-8")
    with browser() as chromium:
        page = chromium.new_page()
        said = []
        page.on("console", lambda one: said.append(one.text))
        page.on("dialog", lambda one: said.append("a dialog"))
        page.goto(place.as_uri())
        assert page.locator("article:visible pre").all_inner_texts() == ["one"]
        assert not page.locator("article:visible .who").is_visible()
        keys = "2 h ArrowRight 1 9 c x j Escape ArrowRight ArrowRight k n".split()
        for key in keys:
            page.keyboard.press(key)
        assert page.locator("article:visible pre").all_inner_texts() == [EVIL]
        assert page.locator("article:visible .who").inner_text() == "ben"
        assert page.locator("#count").inner_text() == "2 of 3, 2 read"
        page.reload()  # what was given is still there
        with page.expect_download() as saved:
            page.keyboard.press("s")
        saved.value.save_as(tmp_path / "points.json")
        assert said == []
    found = [(one.student, one.points, one.comment, one.digest)
             for one in reading.saved(tmp_path / "points.json")]  # fmt: skip
    assert found == [
        ("anna", 2.5, "", "digest of anna"),
        ("ben", 1.0, "xj", "digest of ben"),
    ]


# --- all of it ------------------------------------------------------------------------


@pytest.mark.slow
def test_a_class_comes_from_a_platform_and_goes_back(tmp_path, monkeypatch, capsys):
    """The notebooks are not run: what grading found is given."""
    lesson = outline.read(ROOT, LESSON)

    class Given:
        def __init__(self, folder, out, *_, **__):
            self.out = out

        def grade(self, one):
            if "kaputt" in one.student:
                return Grade(one.student, one.lesson, reason="the file is empty")
            cells = [{"metadata": {"nbgrader": {"grade_id": "ex-2-K"}},
                      "source": f"secret of {one.student}", "outputs": []}]  # fmt: skip
            path = self.out / "autograded" / one.student / LESSON / f"{LESSON}.ipynb"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps({"cells": cells}))
            return graded(lesson, student=one.student, written={"ex-2-K": "digest"})

        def close(self):
            pass

    def once(course, books, real=grade.lay_out):
        if course.name != "course" and not (course / "gradebook.db").exists():
            real(course, books)

    monkeypatch.setattr(grade, "lay_out", once)
    monkeypatch.setattr(grade, "Grader", Given)
    monkeypatch.setattr(sandbox, "way", lambda _: ((), None))
    monkeypatch.setattr(seeds, "of_run", lambda *_: 1)
    path = packed(
        tmp_path / "week2.zip",
        (f"{FRANK}/02_attention.ipynb", "{}"),
        ("Nina kaputt_9_assignsubmission_file/02_attention.ipynb", ""),
        ("=cmd()_LATE_99887_5_02_attention.ipynb", "{}"),
        ("../../../Ole_8_assignsubmission_file/02_attention.ipynb", "{}"),
    )
    people = tmp_path / "class.csv"
    people.write_text(
        "id,name,platform id\nfu1,Frank Ümlaut,123456\nc2,=Carla,44\nc3,Cem,99887\n"
    )
    arguments = ["--submissions", str(path), "--roster", str(people), "--seed", "1"]
    assert grade.main(arguments) == 0
    printed = capsys.readouterr()
    assert printed.err == ""
    assert "02_attention: nothing from 1: =Carla." in printed.out
    out = tmp_path / "week2-graded"
    pages = {p.stem: p.read_text("utf-8") for p in out.glob("pages/*/*.html")}
    assert set(pages) == {"=cmd() (99887)", "Frank Ümlaut (123456)", "Nina kaputt (9)"}
    for student, page in pages.items():  # nothing of others
        others = [name for name in (*pages, "secret of", "Cem") if name != student]
        assert not [one for one in others[:-2] if one in page]
        assert (f"secret of {student}" in page) == ("kaputt" not in student)
    rows = imported_by_moodle((out / "for-moodle/02_attention.csv").read_text())
    assert {number: row["Grade"] for number, row in rows.items()} == {"123456": "2"}
    rows = imported_by_canvas((out / "for-canvas/02_attention.csv").read_text())
    assert rows["99887"] == {LESSON: "2"}
    with zipfile.ZipFile(out / "for-moodle/02_attention-feedback.zip") as made:
        assert [name.partition("/")[0] for name in made.namelist()] == [
            FRANK,
            "Nina kaputt_9_assignsubmission_file",
        ]
    text = (out / "students.csv").read_text("utf-8-sig")
    header, *rows = table(text)
    assert [(row[0], row[1], row[6], row[9]) for row in rows] == [
        ("c3", "Cem", "graded", "late"),
        ("fu1", "Frank Ümlaut", "graded", ""),
        ("", "", "not graded, not in the list of the class", ""),
        ("", "", "not graded, not in the list of the class", ""),
        ("c2", "'=Carla", "missing", ""),
    ]
    assert "=Carla" in (out / "class.html").read_text("utf-8")
    told = (out / "grades.csv").read_text("utf-8-sig")
    assert "handed in late" in told and "its path leads out of the zip" in told

    frank = "Frank Ümlaut (123456)"
    names = {"student": frank, "lesson": LESSON, "cell": "ex-2-K"}
    good = names | {"digest": "digest", "points": 2.5, "comment": "Well put."}
    wrong = [
        good | {"student": "Nobody"},
        good | {"cell": "ex-2-A-check"},
        good | {"digest": "of another text"},
        good | {"points": 3.5},
        good | {"points": float("nan")},
    ]
    saved = tmp_path / "points.json"
    saved.write_text(json.dumps([good, *wrong]))
    assert f"secret of {frank}" in (out / "reading.html").read_text("utf-8")
    assert grade.main([*arguments, "--points", str(saved)]) == 0
    printed = capsys.readouterr().out
    assert "Points for written answers: 1 entered." in printed
    assert printed.count("were left out: there is no such answer.") == 2
    assert printed.count("were left out: the answer has changed.") == 1
    assert printed.count("is not between 0 and 3.") == 2
    page = (out / "pages" / LESSON / f"{frank}.html").read_text("utf-8")
    assert "2.5 of 3 points" in page and "Well put." in page
    assert f"secret of {frank}" not in (out / "reading.html").read_text("utf-8")
    rows = imported_by_moodle((out / "for-moodle/02_attention.csv").read_text())
    assert rows["123456"]["Grade"] == "4.5"
