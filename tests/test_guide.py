"""The instructor's pages: complete, up to date, and with links that lead somewhere."""

import re
import shutil
import textwrap
from pathlib import Path

import pytest

from helpers.checks.engine import examine
from tools.build import guide, stubs
from tools.build.notebooks import known_exercises, lesson_paths, read
from tools.build.stubs import LessonError

ROOT = Path(__file__).resolve().parent.parent
LESSONS = [read(path) for path in lesson_paths(ROOT)]
DOCS = sorted((ROOT / "docs").glob("*.md"))
EVERY = [one for lesson in LESSONS for one in known_exercises(lesson).values()]


def page(name):
    return (ROOT / "docs" / name).read_text("utf-8")


def test_the_pages_are_what_the_lessons_say():
    assert guide.stale(ROOT, LESSONS) == []


def test_each_known_mistake_is_listed_with_both_sentences():
    pages = {lesson.number: guide.misconceptions(lesson) for lesson in LESSONS}
    for exercise in EVERY:
        for one in exercise.misconceptions:
            done, where = (" ".join(said.split()) for said in (one.done, one.where))
            page = pages[exercise.lesson]
            assert f"*{one.name}*: {done} {where}" in page, exercise.id


def test_the_command_writes_a_page_per_lesson(tmp_path, capsys):
    (tmp_path / "lessons").mkdir()
    for name in ("00_start_here.py", "02_attention.py"):
        shutil.copy(ROOT / "lessons" / name, tmp_path / "lessons")
    folder = tmp_path / "build" / "misconceptions"
    assert guide.main(["02"], tmp_path) == 0
    assert [path.name for path in folder.iterdir()] == ["02_attention.md"]
    assert guide.main([], tmp_path) == 0
    assert "build/misconceptions/00_start_here.md" in capsys.readouterr().out
    assert (folder / "02_attention.md").read_text("utf-8").count("\n## 2.") >= 7
    assert guide.main(["99"], tmp_path) == 2
    assert "99" in capsys.readouterr().err


def test_each_written_question_has_its_model_answer_and_rubric():
    text = guide.written(LESSONS)
    for exercise in EVERY:
        if exercise.kind == "written":
            answer = text.split(f"### {exercise.id} ")[1].split("\n### ")[0]
            assert "\n> " in answer and "**Model answer" in answer, exercise.id
            assert f"**Rubric ({exercise.points} point" in answer, exercise.id
    assert "BEGIN SOLUTION" not in text


def test_each_lesson_has_needs_goals_a_class_and_a_lab():
    text = guide.parts(page("instructors.md"), LESSONS)
    for lesson in LESSONS:
        part = text.split(f"### {guide.title(lesson)}\n")[1].split("\n### ")[0]
        for word in ("**Needs:**", "**A lab,**") + (
            ("**Goals.**", "**A class.** 45 minutes") if lesson.number else ()
        ):
            assert word in part, (lesson.name, word)
        for exercise in EVERY:
            if exercise.lesson == lesson.number:
                assert re.search(rf"\b{exercise.id}( ★)? \(", part), exercise.id


def test_the_patterns_of_a_class_and_a_lab_add_up():
    text = page("instructors.md")
    pattern = text.split("The pattern that works")[1].split("\n\n")[0]
    assert sum(map(int, re.findall(r"\((\d+)(?: minutes)?\)", pattern))) == 45
    table = text.split("| minutes | what |")[1].split("\n\n")[0]
    assert sum(map(int, re.findall(r"^\| (\d+) \|", table, re.MULTILINE))) == 120


def test_the_memory_that_is_planned_is_enough():
    text = page("instructors.md")
    least, most = re.search(r"between ([\d.]+) and ([\d.]+) GB", text).groups()
    planned = re.search(r"plan (\d+) GB", text)[1]
    rows = re.findall(r"^\| \d\d_.+ \| (\d+) MB \|$", page("benchmarks.md"), re.M)
    used = sorted(int(row) / 1000 for row in rows)
    assert len(used) == len(LESSONS)
    assert [used[0], used[-1]] == pytest.approx([float(least), float(most)], rel=0.2)
    assert 1.2 * used[-1] < float(planned)  # another run takes a little more or less


def test_a_lab_holds_the_core_path_and_what_fits():
    for lesson in LESSONS:
        known = [one for one in EVERY if one.lesson == lesson.number]
        chosen = guide.lab(known)
        core = [one for one in known if one.core]
        assert all(one in chosen for one in core)
        assert chosen == core or sum(one.minutes for one in chosen) <= guide.LAB


def test_the_example_of_a_new_exercise_is_right():
    text = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    blocks = re.findall(r"^   ```python\n(.+?)^   ```", text, re.DOTALL | re.MULTILINE)
    package, cells = map(textwrap.dedent, blocks)
    made = {}
    exec(package, made)
    [exercise] = made["EXERCISES"]
    assert examine(exercise, (made["entropy"],), seed=0).outcome == "passed"
    for spelling in exercise.misconceptions[0].spellings:
        said = examine(exercise, (spelling,), seed=0).misconception
        assert said == exercise.misconceptions[0].name
    [cell] = [one for one in cells.split("# %%") if stubs.BEGIN in one]
    cell = cell.split("\n", 1)[1]
    assert "terms = ..." in stubs.stub(cell, "2.7")
    exec(stubs.solved(cell, "2.7"), made)
    assert examine(exercise, (made["entropy"],), seed=0).outcome == "passed"
    assert "<summary>Hint 1" in cells


def _anchors(page: str) -> set[str]:
    """The anchors of a Markdown page: explicit ones, and those of its headings."""
    titles = re.findall(r"^#+ (.*)$", page, re.M)
    slugs = {
        re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles
    }
    return slugs | set(re.findall(r'<a id="([^"]+)">', page))


@pytest.mark.parametrize(
    "path",
    [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *DOCS],
    ids=lambda path: path.name,
)
def test_relative_links_lead_somewhere(path):
    for link in re.findall(r"\]\(([^)\s]+)\)|<img src=\"([^\"]+)\"", path.read_text()):
        target, _, anchor = "".join(link).partition("#")
        if not target.startswith("http"):
            file = path.parent / target if target else path
            assert file.exists(), target
            assert not anchor or anchor in _anchors(file.read_text()), anchor


def test_old_pages_are_noticed_and_written_again(tmp_path):
    (tmp_path / "docs").mkdir()
    for path in DOCS:
        (tmp_path / "docs" / path.name).write_bytes(path.read_bytes())
    made = tmp_path / "helpers" / "exercises" / "written.json"
    made.parent.mkdir(parents=True)
    made.write_text(guide.opened(LESSONS), "utf-8")
    (tmp_path / "docs" / "written.md").write_text("old")
    told = guide.stale(tmp_path, LESSONS)
    assert [said.split()[0] for said in told] == ["docs/written.md"]
    guide.write(tmp_path, LESSONS)
    assert guide.stale(tmp_path, LESSONS) == []
    guide_path = tmp_path / "docs" / "instructors.md"
    guide_path.write_text(guide_path.read_text().replace(guide.END, ""))
    with pytest.raises(LessonError, match="needs the lines"):
        guide.stale(tmp_path, LESSONS)


def test_a_course_without_a_guide_gets_none(tmp_path):
    guide.write(tmp_path, LESSONS)
    assert list(tmp_path.iterdir()) == []
