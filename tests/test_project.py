"""What people look for in a project: how to cite it, report, take part; versions."""

import re
import tomllib
from datetime import date
from pathlib import Path

import pytest
import yaml
from packaging.version import Version

ROOT = Path(__file__).resolve().parent.parent
GITHUB = ROOT / ".github"
CONFIG = GITHUB / "ISSUE_TEMPLATE" / "config.yml"
FORMS = sorted(set(GITHUB.glob("ISSUE_TEMPLATE/*.yml")) - {CONFIG})
VERSION = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]


def test_the_citation_is_complete_and_of_this_version():
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))
    assert {"cff-version", "title", "message", "authors", "type"} <= set(cited)
    assert str(cited["version"]) == VERSION
    licences = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"][
        "license"
    ]
    assert cited["license"] == licences.split(" AND ")
    assert cited["title"] in (ROOT / "README.md").read_text("utf-8").splitlines()[0]
    assert cited["authors"][0]["name"].startswith("The contributors")


@pytest.mark.parametrize("path", FORMS, ids=lambda path: path.stem)
def test_a_form_is_one_that_github_shows(path):
    """GitHub hides a form without a comment when one of these is missing."""
    form = yaml.safe_load(path.read_text("utf-8"))
    assert set(form) == {"name", "description", "labels", "body"}
    assert 3 < len(form["name"]) and len(form["description"]) < 200
    ids = [part["id"] for part in form["body"]]
    assert len(ids) == len(set(ids)) and all(re.fullmatch("[a-z-]+", x) for x in ids)
    for part in form["body"]:
        assert part["type"] in ("input", "textarea")
        assert part["attributes"]["label"] and part["validations"]["required"]


def test_there_is_a_form_for_checks_lessons_and_bugs():
    assert [path.stem for path in FORMS] == ["bug", "check", "lesson"]
    doctor = "helpers.student.doctor"
    assert doctor in (GITHUB / "ISSUE_TEMPLATE" / "bug.yml").read_text("utf-8")
    asked = (GITHUB / "pull_request_template.md").read_text("utf-8")
    for path in re.findall(r"`([\w./]+(?:/|\.md))`", asked):
        assert (ROOT / path).exists(), path


def test_the_changelog_goes_back_in_time_and_ends_versions_with_a_tag():
    text = (ROOT / "CHANGELOG.md").read_text("utf-8")
    heads = re.findall(r"^## (.+)$", text, re.MULTILINE)
    form = re.compile(r"(?:(\d+\.\d+\.\d+), )?(\d{4}-\d\d-\d\d)")
    found = [form.fullmatch(head) for head in heads]
    assert all(found), heads
    days = [date.fromisoformat(one[2]) for one in found]
    assert days == sorted(days, reverse=True) and len(set(days)) == len(days)
    versions = [Version(one[1]) for one in found if one[1]]
    assert versions == sorted(set(versions), reverse=True)
    assert all(one <= Version(VERSION) for one in versions)


def test_a_newcomer_finds_the_pages():
    contributing = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    for name in ("CODE_OF_CONDUCT.md", "docs/translating.md", "CITATION.cff"):
        assert (ROOT / name).exists() and f"]({name})" in contributing, name
