"""Scenes of everyday life, which the guesser reads beside the stories."""

import random
import re
from functools import cache

import pytest

from tools.corpora.scenes import (
    PATTERNS,
    Pattern,
    PatternError,
    all_patterns,
    read_patterns,
    scenes,
    some_patterns,
)
from tools.corpora.scenes.__main__ import main
from tools.pretrain.guesser import SENTENCES
from tools.pretrain.settings import GuesserSettings
from tools.pretrain.stories import (
    PAGE,
    PAGES,
    held_out_texts,
    page_of_scenes,
    texts,
    training_text,
)
from tools.pretrain.story_card import NOTES


def test_there_are_many_patterns_about_many_things():
    patterns = all_patterns()
    assert len(patterns) > 10_000
    words = {word for one in patterns for word in re.findall(r"[a-z]+", written(one))}
    assert len(words) > 6_000
    assert len(list(PATTERNS.glob("*.txt"))) == 18


def written(pattern: Pattern) -> str:
    """All that is written in a pattern."""
    parts = [part for slot in pattern.slots for part in slot]
    return " ".join([*pattern.around, *parts]).lower()


def test_no_two_patterns_are_alike_in_eight_words():
    seen: dict[tuple, int] = {}
    for number, one in enumerate(all_patterns()):
        text = one.around[0]
        for slot, after in zip(one.slots, one.around[1:], strict=True):
            text += " <" + "|".join(slot).replace(" ", "_") + "> " + after
        words = text.lower().split()
        for place in range(len(words) - 7):
            eight = tuple(words[place : place + 8])
            assert seen.setdefault(eight, number) == number, " ".join(eight)


@cache
def sentences_of(pattern: Pattern) -> list[re.Pattern]:
    """What a pattern can tell, a regular expression for each of its sentences."""
    first, *rest = (
        "\n".join(map(re.escape, re.split(r"(?<=[.!?]) ", text)))
        for text in pattern.around
    )
    for slot, text in zip(pattern.slots, rest, strict=True):
        first += f"(?:{'|'.join(map(re.escape, slot))}){text}"
    return [re.compile(part, re.IGNORECASE) for part in first.split("\n")]


def can_tell(pattern: Pattern, sentence: str) -> bool:
    """Whether a pattern can tell a sentence with a word that fits in its hole."""
    asked = [sentence.replace("[MASK]", word) for word in SENTENCES[sentence].split()]
    return any(can.fullmatch(one) for can in sentences_of(pattern) for one in asked)


@pytest.mark.parametrize("sentence", SENTENCES)
def test_no_scene_is_a_sentence_that_the_guesser_is_asked(sentence):
    before, after = sentence.split("[MASK]")
    words = tuple(SENTENCES[sentence].split())
    assert can_tell(Pattern((f"It was so. {before}", after), (words,)), sentence)
    assert not any(can_tell(pattern, sentence) for pattern in all_patterns())


def test_scenes_are_the_same_for_a_seed_and_of_different_patterns():
    assert scenes(3, 40) == scenes(3, 40) != scenes(4, 40)
    assert len(set(scenes(3, 40))) == 40
    assert scenes(3, 1)[0][0].isupper()


def test_a_slot_draws_each_of_its_alternatives(tmp_path):
    file = tmp_path / "some.txt"
    file.write_text(
        "# a note\n\nfruit = apple|pear\nHe ate a {fruit} {at noon|on a uniform day}.\n"
    )
    (one,) = read_patterns(file)
    told = {one.tell(random.Random(seed)) for seed in range(40)}
    assert told == {
        f"He ate {fruit} {when}."
        for fruit in ("an apple", "a pear")
        for when in ("at noon", "on a uniform day")
    }


@pytest.mark.parametrize(
    ("line", "said"),
    {
        "He ate a {fruit}.": "{fruit} is neither a class nor two alternatives",
        "He ate a {pear|}.": "{pear|} is neither a class nor two alternatives",
        "He ate a {pear|plum.": "a brace or a bar has no partner",
        "He ate a pear|plum.": "a brace or a bar has no partner",
        "{he|she} ate.": "begins with a capital and ends with a stop: ",
        "He ate {pears|plums}": "begins with a capital and ends with a stop: He ate",
    }.items(),
)
def test_a_malformed_line_is_named(tmp_path, line, said):
    file = tmp_path / "some.txt"
    file.write_text(f"All is well.\n{line}\n")
    with pytest.raises(PatternError, match=r"^some\.txt, line 2: ") as raised:
        read_patterns(file)
    assert said in str(raised.value)


def test_stories_and_pages_of_scenes_come_by_turns():
    settings = GuesserSettings(text="scenes", stories=3)
    read = list(texts(settings, None))
    stories, pages = (
        read[:: PAGES + 1],
        [t for i, t in enumerate(read) if i % (PAGES + 1)],
    )
    assert stories == [training_text(seed) for seed in range(3)]
    assert pages == [page_of_scenes(seed) for seed in range(3 * PAGES)]
    assert len(set(pages)) == len(pages) == 9
    assert all(len(page.splitlines()) == PAGE for page in pages)
    held = held_out_texts(settings, None)
    assert len(held) == 1000
    assert held[500] == page_of_scenes(0, held_out=True)


def test_some_patterns_are_never_read():
    """So the held-out curve tells what is known of sentences of other words."""
    read, held = some_patterns(), some_patterns(held_out=True)
    assert not set(read) & set(held)
    assert len(read) + len(held) == len(all_patterns())
    assert 30 < len(all_patterns()) / len(held) < 50
    assert not set(scenes(3, 40)) & set(scenes(3, 40, held_out=True))


def test_the_command_prints_scenes_or_names_what_is_wrong(tmp_path, capsys):
    assert main(["--count", "3", "--seed", "4"]) == 0
    assert capsys.readouterr().out.splitlines() == scenes(4, 3)
    assert main(["--check", str(PATTERNS / "home.txt")]) == 0
    assert "patterns," in capsys.readouterr().out
    assert main(["--check", str(tmp_path / "none.txt")]) == 1
    assert "none.txt" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["--count", "0"])
    assert "--count is 0: give 1 to" in capsys.readouterr().err


def test_the_card_tells_how_many_patterns_there_are():
    assert f"{len(all_patterns()):,} patterns" in NOTES["scenes"]


def test_paris_occurs_in_no_scene():
    assert not any("paris" in written(one) for one in all_patterns())
