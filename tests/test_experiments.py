"""The experiments over seeds: they run a lesson's own cells, and write one page."""

import re
from dataclasses import replace

import pytest

from helpers.experiments import two_blocks
from tools.build.stubs import LessonError
from tools.experiments import __main__ as tool
from tools.experiments import blocks, cells, declared, page
from tools.experiments.cells import assigning, run_tagged, sources
from tools.experiments.declared import EXPERIMENTS, gap, pooled

TAGGED = [  # experiment, lesson, its own seed, what its cells must hold
    ("letters", 1, 0, ["next_letter_loss(", "characters.nearest(", "assert"]),
    (
        "translation",
        6,
        6,
        ["training.repeat(", "score = exact(", "min(score, pronouns_score) >= 0.97"],
    ),
    ("characters", 7, 7, ["train_on_characters(", "CharacterModel(", "bits ="]),
    ("contest", 10, 10, ["contest.train_gpt(", "split_text(", "pair_bits", "assert"]),
    ("recall", 10, 10, ["recall.train_to_recall(", "scores =", "assert right["]),
]


def dumped(text):
    """Its lines without layout and comments."""
    return cells.ast.unparse(cells.ast.parse(text)).splitlines()


@pytest.mark.parametrize(("tag", "lesson", "seed", "needed"), TAGGED)
def test_the_lessons_own_cells_run_with_another_seed_alone(tag, lesson, seed, needed):
    one, other = (
        dumped("\n".join(sources(lesson, tag, {"seed": value}))) for value in (seed, 77)
    )
    changed = [pair for pair in zip(one, other, strict=True) if pair[0] != pair[1]]
    assert len(changed) == 1
    before, after = changed[0]
    assert before.startswith("seed") and str(seed) in before
    assert after == before.replace(str(seed), "77", 1)
    for text in needed:
        assert text in "\n".join(sources(lesson, tag, {}))


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("seed = 6", "seed = 9"),
        ("seed, where = 6, device()", "(seed, where) = (9, device())"),
        ("seed = other = 6", "seed = other = 9"),
    ],
)
def test_a_constant_is_exchanged(source, expected):
    changed, names = assigning(source, {"seed": 9})
    assert dumped(changed) == dumped(expected) and names == {"seed"}


@pytest.mark.parametrize(
    "source",
    [
        "seed += 1",
        "seed = draw()",
        "seed == 6  # no",
        "def f():\n    seed = 6",
        "x = 6",
    ],
)
def test_nothing_else_is_exchanged(source):
    assert assigning(source, {"seed": 9}) == (source, set())


def test_a_cell_runs_as_it_is_and_an_assertion_is_reported(monkeypatch):
    monkeypatch.setattr(
        cells,
        "sources",
        lambda *_: ["x = 1", "y = x + 1\nassert y == 3", "z = y + 1"],
    )
    outcome = run_tagged(0, "any", {})
    assert outcome.names["z"] == 3 and not outcome.held


def test_a_missing_tag_or_name_is_one_sentence():
    with pytest.raises(LessonError, match="Lesson 10 has no cells tagged 'poem'."):
        sources(10, "poem", {})
    with pytest.raises(LessonError, match="assigns a constant to warmth."):
        sources(10, "recall", {"warmth": 3})


# --- what is reported -----------------------------------------------------------------


def test_the_gap_is_paired():
    ours, theirs = [True, True, True, False], [True, False, True, False]
    apart, error = gap(ours, theirs)
    assert apart == 0.25 and error == pytest.approx(0.25)


def test_folds_pool_with_and_without_the_one_that_the_recipe_was_chosen_on():
    rows = [
        {
            "seed": fold,
            "right": {
                "keywords": [False, False],
                "good bag": [True, False],
                "fine-tuned": [True, fold == declared.CHOSEN_ON],
            },
        }
        for fold in range(5)
    ]
    first, *gaps = pooled(rows)
    assert "good bag 50.0 %" in first and "fine-tuned 60.0 %" in first
    assert gaps[0].startswith("Gap to good bag, these folds: 10.0 points")
    assert gaps[1].startswith("Gap to good bag, without fold 4: 0.0 points")
    for row in rows:
        del row["right"]["fine-tuned"]
    assert len(pooled(rows)) == 1


@pytest.fixture
def trial(monkeypatch):
    """An experiment that takes no time."""
    one = replace(
        EXPERIMENTS["recall"],
        columns=("right",),
        run=lambda seed, more=0: {"right": seed + more, "held": seed < 2},
    )
    monkeypatch.setitem(EXPERIMENTS, "recall", one)


def test_a_run_replaces_its_own_table_alone(trial, tmp_path, capsys):
    file = tmp_path / "experiments.md"
    file.write_text(page.page({"recall": "an old table", "contest": "a kept table"}))
    assert tool.main(["recall", "--seeds", "0", "1"], file) == 0
    found = page.measured(file.read_text("utf-8"))
    assert found["contest"] == "a kept table"
    assert "python -m tools.experiments recall --seeds 0 1" in found["recall"]
    assert re.search(r"^\| 1 \| 1\.00 \| yes \| \d+ \|$", found["recall"], re.M)
    assert "an old table" not in file.read_text("utf-8")
    assert page.PENDING in found["characters"]
    assert "as asserted" in capsys.readouterr().out


def test_a_seed_that_does_not_hold_fails_the_run(trial, tmp_path, capsys):
    file = tmp_path / "experiments.md"
    assert tool.main(["recall", "--seeds", "0", "2"], file) == 1
    assert "seed 2: right 2.00; NOT as asserted" in capsys.readouterr().out
    assert "| **no** |" in file.read_text("utf-8")


def test_other_settings_are_printed_and_not_written(trial, tmp_path, capsys):
    file = tmp_path / "experiments.md"
    assert tool.main(["recall", "--seeds", "1", "--set", "more=4"], file) == 0
    assert not file.exists()
    assert "--seeds 1 --set more=4" in capsys.readouterr().out
    assert tool.main(["recall", "--set", "less=4"], file) == 2
    assert "less" in capsys.readouterr().err


def test_the_page_is_what_is_declared():
    text = tool.PAGE.read_text("utf-8")
    assert text == page.page(page.measured(text)), "run any experiment again"
    for name, found in page.measured(text).items():
        ran = f"    python -m tools.experiments {name} --seeds"
        assert ran in found, name
        assert (page.PENDING in found) != (f"| {EXPERIMENTS[name].over} |" in found)


def test_lesson_01_tells_of_the_letters_what_the_table_says():
    table = page.measured(tool.PAGE.read_text("utf-8"))["letters"]
    rows = [line.split("|")[2:5] for line in re.findall(r"^\| \d.*$", table, re.M)]
    _, after, shuffled = zip(*(map(int, row) for row in rows), strict=True)
    assert len(rows) == 30 and set(after) == {5}
    lesson = (tool.ROOT / "lessons" / "01_embeddings.py").read_text("utf-8")
    told = re.sub(r"\s+(# )?", " ", lesson)
    assert "between none and four of them" in told
    assert (min(shuffled), max(shuffled)) == (0, 4)


def test_lesson_09_tells_of_the_rates_what_the_table_says():
    table = page.measured(tool.PAGE.read_text("utf-8"))["rates"]
    rows = [line.split("|")[1:3] for line in re.findall(r"^\| \d.*$", table, re.M)]
    right = {int(rate): f"{float(share):.1f}" for rate, share in rows}
    assert sorted(right) == [5, 10, 20, 40]
    lesson = (tool.ROOT / "lessons" / "09_bert_finetuning.py").read_text("utf-8")
    told = re.sub(r"\s+(# )?", " ", lesson)
    assert f"5e-5 got {right[5]} % right" in told
    others = f"{right[10]}, {right[20]} and {right[40]} %"
    assert f"1e-4, 2e-4 and 4e-4 got {others}" in told


def test_lesson_09_tells_of_the_head_what_the_table_says():
    table = page.measured(tool.PAGE.read_text("utf-8"))["head_rates"]
    rows = [line.split("|")[1:3] for line in re.findall(r"^\| \d.*$", table, re.M)]
    counts = {int(rate): round(float(share) * 215 / 100) for rate, share in rows}
    right = {rate: f"{100 * count / 215:.1f}" for rate, count in counts.items()}
    lesson = (tool.ROOT / "lessons" / "09_bert_finetuning.py").read_text("utf-8")
    told = re.sub(r"\s+(# )?", " ", lesson)
    assert f"5e-5 got {right[100]} % right" in told
    assert f"with 8e-3 for the head instead of 1e-3 it got {right[800]} %" in told


GATE = "two-layer feed-forward back"


def test_lesson_12_tells_of_the_blocks_what_the_table_says():
    found = page.measured(tool.PAGE.read_text("utf-8"))["blocks"]
    lines = [line.split(" | ") for line in re.findall(r"^\| (.+) \|$", found, re.M)]
    seeds = [dict(zip(lines[0], row, strict=True)) for row in lines[1:4]]
    curves = [list(map(float, row)) for row in lines[5:]]
    steps, old, old_time, new, new_time = zip(*curves, strict=True)
    bits = dict(zip((blocks.OLD, blocks.NEW), (old, new), strict=True))
    assert (steps, bits) == (two_blocks.STEPS, two_blocks.BITS)
    for name, spent in ((blocks.OLD, old_time), (blocks.NEW, new_time)):
        assert spent[-1] / steps[-1] == pytest.approx(
            two_blocks.SECONDS[name], abs=5e-4
        )
    lesson = (tool.ROOT / "lessons" / "12_modern_decoder.py").read_text("utf-8")
    told = re.sub(r"\s+(# )?", " ", lesson)
    for words, column in {
        "none: today's block": "today's block",
        "learned positions": "learned positions back",
        "a feed-forward of two layers": GATE,
        "layer norm": "layer norm back",
        "biases": "biases back",
        "as many heads of keys as of queries": "all heads of keys back",
        "tied output": "tied output back",
    }.items():
        assert f"| {words} | {', '.join(seed[column] for seed in seeds)} |" in told
    assert f"needs {old[-1]:.3f} bits for a byte" in told
    assert f"today's {new[-1]:.3f}, and" in told
    gate, now = ([float(seed[name]) for seed in seeds] for name in (GATE, blocks.NEW))
    gains = {round(one - two, 3) for one, two in zip(gate, now, strict=True)}
    assert gains == {0.013, 0.014}
    assert "it needs 0.30 bits and today's 0.24" in told
    assert "needed 0.296 bits and today's 0.244" in EXPERIMENTS["blocks"].control


def test_lesson_10_tells_of_small_tables_what_the_table_says():
    table = page.measured(tool.PAGE.read_text("utf-8"))["small_tables"]
    rows = [line.split("|")[2:5] for line in re.findall(r"^\| \d.*$", table, re.M)]
    large, _, gpt2s = zip(*(map(float, row) for row in rows), strict=True)
    assert len(rows) == 3 and min(large) > 99
    assert {round(share) for share in gpt2s} == {17}
    lesson = (tool.ROOT / "lessons" / "10_gpt_from_scratch.py").read_text("utf-8")
    assert "ours got 17 % right" in re.sub(r"\s+(# )?", " ", lesson)
