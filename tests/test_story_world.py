"""The story world: its patterns, its English, and the facts it keeps."""

import re
from collections import defaultdict

import pytest

from helpers.corpora import whole
from helpers.corpora.stories import STORIES, load_stories
from tools.corpora.stories import PLOTS, tell, telling, world
from tools.corpora.stories.__main__ import bundled, main
from tools.corpora.stories.plots import LONGEST
from tools.pretrain.stories import held_out_stories

DRAWN = 500


@pytest.fixture(scope="module")
def stories():
    """Stories of every plot and both endings."""
    return [tell(seed) for seed in range(DRAWN)]


def words(text: str) -> list[str]:
    """Words and slots, in lower case."""
    return re.findall(r"\{[^}]*\}|[\w']+", text.lower())


def shared_runs(texts: list[str], size: int = 8) -> list[str]:
    """Runs of so many words that stand in two texts."""
    places = defaultdict(set)
    for number, text in enumerate(texts):
        row = words(text)
        for start in range(len(row) - size + 1):
            places[" ".join(row[start : start + size])].add(number)
    return [run for run, where in places.items() if len(where) > 1]


def test_no_two_patterns_share_eight_words():
    texts = [p.text for lines in telling.patterns().values() for p in lines]
    assert len(texts) >= 800
    assert shared_runs(texts) == []
    assert shared_runs([texts[0], "But " + texts[0]])


def test_a_pattern_file_with_a_mistake_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(telling, "PATTERNS", tmp_path)
    read = telling.patterns.__wrapped__
    for text, sentence in (
        ("A pattern.\n", "before the first event"),
        ("= a\nOne.\n= a\nTwo.\n", "has the event 'a' again"),
        ("= a\nThe {hero went.\n", "bracket is left open"),
    ):
        (tmp_path / "x.txt").write_text(text)
        with pytest.raises(ValueError, match=sentence):
            read()


def test_every_slot_and_condition_is_known(stories):
    """A slot that no story fills would stop a story only once in a while."""
    forms = defaultdict(set)
    for story in stories:
        for role, entity in story.cast.items():
            forms[role] |= entity.forms.keys() | {"", "where", "out"}
    facts = set().union(*(story.facts for story in stories)) | {"autumn", "heat"}
    for lines in telling.patterns().values():
        for pattern in lines:
            assert pattern.wanted | pattern.unwanted <= facts, pattern.text
            for role, form in re.findall(r"\{(\w+)\.?(\w*)\}", pattern.text):
                name = role[0].lower() + role[1:]
                known = name in world.SELVES or form in forms[name]
                assert known, pattern.text


def test_there_are_two_dozen_plots_with_two_endings(stories):
    assert len(PLOTS) >= 24
    assert {(s.plot, s.ending) for s in stories} == {
        (plot, ending) for plot in PLOTS for ending in ("happy", "sad")
    }


def test_the_same_seed_tells_the_same_and_another_seed_another_story(stories):
    texts = [story.text() for story in stories]
    assert texts[:20] == [tell(seed).text() for seed in range(20)]
    assert len(set(texts)) == DRAWN


def test_a_story_is_as_long_as_it_should_be(stories):
    lengths = [story.length() for story in stories]
    assert min(lengths) >= 90
    assert max(lengths) <= LONGEST
    assert 140 <= sum(lengths) / DRAWN <= 185


def flaws(text: str) -> list[str]:
    """What is wrong with the English of a text, as far as a machine can tell."""
    found = []
    for name, pattern in {
        "left over": r"[][{}|\x01\x02]|None",
        "spaces": r"  | [,.!?]|^ | $",
        "a or an": r"\b[Aa] [aeiou](?!ne\b)|\b[Aa]n (?!hour)[^aeiouAEIOU]",
        "small letter": r"(?:^|\n|[.!?] )[\"]?[a-z]",
        "twice": r"\b(?!had\b)(\w+) \1\b",
        "marks": r"[.!?,]{2,}|\.[A-Za-z]",
        "capital": r"(?<=[a-z,] )(?:She|He|Her|His|Him)\b",
        "self": r"\b(?:She|she) himself|\b(?:He|he) herself",
        "her": r"\b(?:was|is) her[.!,]",
    }.items():
        found += [f"{name}: {m[0]!r}" for m in re.finditer(pattern, text)]
    for line in text.splitlines():
        if line.count('"') % 2:
            found.append(f"quotes: {line!r}")
        if not re.search(r"[.!?]\"?$", line):
            found.append(f"no end: {line!r}")
    return found


def test_the_english_is_without_flaws_that_a_machine_can_find(stories):
    for story in stories:
        assert flaws(story.text()) == [], story.text()


@pytest.mark.parametrize(
    "text",
    [
        "A apple fell.",
        "An dog sat.",
        'He said, "No.',
        "He sat.  She sat.",
        "He sat. she sat.",
        "He saw the the dog.",
        "He sat ,and slept.",
        "He {sat}.",
        "The ball was her.",
        "She himself sat.",
        "He sat",
        "Then She sat.",
    ],
)
def test_flaws_are_found(text):
    assert flaws(text)


def test_a_pronoun_is_the_heros(stories):
    """Friends have the other pronoun, so that "he" and "she" can't be confused."""
    for story in stories:
        if "friend" in story.cast:
            hero, friend = (story.cast[r].forms["he"] for r in ("hero", "friend"))
            assert hero != friend


def test_facts_are_told_again_as_they_are(stories):
    recalls = [(story, recall) for story in stories for recall in story.recalls()]
    assert len({story.text() for story, _ in recalls}) >= 0.4 * DRAWN
    for story, recall in recalls:
        containers = {story.cast[role].forms["name"] for role in story.at.values()}
        assert recall.answer in containers
        assert story.text().startswith(recall.prompt)
        assert re.search(rf"\b{recall.answer}\b", recall.prompt[: -telling.APART])
        rest = story.text()[len(recall.prompt) :]
        assert rest.startswith(f" {recall.answer}")


def test_a_thing_is_never_put_into_what_is_too_small(stories):
    for story in stories:
        for thing, box in story.at.items():
            if "large" in story.cast[thing].kinds:
                assert "large" in story.cast[box].kinds
            assert story.cast[thing].forms["name"] != story.cast[box].forms["name"]


def test_an_ending_is_what_was_asked_for():
    for ending in ("happy", "sad"):
        other = {"happy": ".sad", "sad": ".happy"}[ending]
        foreign = {
            p.text
            for event, lines in telling.patterns().items()
            if event.endswith(other)
            for p in lines
        }
        told = [tell(seed, ending) for seed in range(60)]
        assert {story.ending for story in told} == {ending}
        assert not foreign & set().union(*(story.told for story in told))


def test_the_bundled_stories_are_the_held_out_ones():
    told = load_stories()
    assert STORIES.read_bytes() == bundled()
    held_out = held_out_stories()
    assert [(one.text, one.happy) for one in told] == [
        (story.text(), story.happy) for story in held_out
    ]
    assert len(told) == 500 and 200 < sum(one.happy for one in told) < 300


def test_the_command_writes_the_bundle_and_its_sum(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("tools.corpora.stories.__main__.STORIES", tmp_path / "a.csv")
    monkeypatch.setattr("tools.corpora.stories.__main__.bundled", lambda: b"happy,text")
    main(["--bundle"])
    assert (tmp_path / "a.csv").read_bytes() == b"happy,text"
    assert "a.csv" in (tmp_path / whole.SUMS).read_text("utf-8")
    assert capsys.readouterr().out == ""


def test_the_command_prints_stories(capsys):
    main(["--draw", "2", "--seed", "7", "--ending", "sad", "--plot", "storm"])
    printed = capsys.readouterr().out
    assert tell(7, "sad", "storm").text() in printed
    assert printed.count(": storm, sad") == 2
