"""The measurements: two works in turns, and a page written from what was found."""

import json
import os
import subprocess
import sys
from types import SimpleNamespace

import pytest
import torch

from helpers.models.gpt import from_gpt2
from tools.bench import __main__ as bench
from tools.bench import course, grading, memory, models
from tools.bench.page import page
from tools.bench.timing import Race, race, seconds
from tools.build import budgets
from tools.build.stubs import LessonError

FOUND = {
    "machine": {
        "cpu": "a cpu, 2 cores",
        "threads": 1,
        "python": "3.11",
        "torch": "2",
        "transformers": "5",
    },
    "races": [
        {"work": "fast", "peer": "x", "ours": 0.001, "theirs": 0.002, "aim": 1.0},
        {"work": "slow", "peer": "y", "ours": 3.0, "theirs": 2.0, "aim": 1.0},
        {"work": "told", "peer": "z", "ours": 1.0, "theirs": 2.0, "aim": None},
        {"work": "large", "peer": "z", "ours": 150.4, "theirs": 200.0, "aim": 1.0}
        | {"unit": "MB"},
    ],
    "checks": [{"exercise": "2.B", "passed": 0.01, "wrong": 0.5}],
    "imports": {"helpers": 0.01, "helpers.checks": 0.12},
    "growth": [
        {
            "length": 256,
            "seconds": 0.001,
            "megabytes": 2.0,
            "seconds_with_weights": 0.002,
            "megabytes_with_weights": 9.0,
        }
    ],
    "notebooks": [{"name": "02_attention", "seconds": 60.0, "megabytes": 900.0}],
}


@pytest.fixture
def clock(monkeypatch):
    """A clock that only work moves on."""
    now = SimpleNamespace(time=0.0)
    own = SimpleNamespace(perf_counter=lambda: now.time)
    monkeypatch.setattr("tools.bench.timing.time", own)
    return now


def test_works_run_in_turns_and_the_ratio_is_theirs(clock):
    order = []

    def work(name, pause):
        def run():
            order.append(name)
            clock.time += pause + 9 * (len(order) == 9)  # one outlier

        return run

    found = race("sleep", work("ours", 0.06), "nap", work("theirs", 0.03), 1.0, 5)
    assert found.ratio == pytest.approx(2) and found.met is False
    turns = order[4:]  # both warm up and are tried first
    assert len(turns) == 10
    assert all(set(turns[i : i + 2]) == {"ours", "theirs"} for i in range(0, 10, 2))
    assert turns[0] != turns[2]


def test_a_short_work_is_repeated():
    calls = []
    race("nothing", lambda: calls.append(1), "nothing", lambda: None, rounds=2)
    assert len(calls) > 100


def test_a_time_is_the_mean_of_the_repeats(clock):
    def work():
        clock.time += 0.01

    assert seconds(work, 3) == pytest.approx(0.01)


def test_an_aim_is_met_missed_or_absent():
    assert Race("w", "p", 1.0, 2.0, 0.5).met is True
    assert Race("w", "p", 1.1, 2.0, 0.5).met is False
    assert Race("w", "p", 1.1, 2.0).met is None


def test_the_page_tells_work_peer_ratio_and_aim():
    text = page(FOUND)
    assert "| fast | 1 ms | x: 2 ms | 0.50 | at most 1.00, met |" in text
    assert "| slow | 3.00 s | y: 2.00 s | 1.50 | at most 1.00, missed |" in text
    assert "| told | 1.00 s | z: 2.00 s | 0.50 |  |" in text
    assert "| large | 150 MB | z: 200 MB | 0.75 | at most 1.00, met |" in text
    assert "a cpu, 2 cores, 1 thread" in text
    assert "median 255 ms (aim: at most 0.05 s, missed)." in text
    assert "Passed: at most 10 ms (aim: 0.6 s, met)." in text and "again" not in text
    located = [FOUND["checks"][0] | {"located": 2.5}]
    text = page(FOUND | {"checks": located})
    assert "run again line by line: at most 2.50 s (aim: 2 s, missed)." in text
    assert "| 2.B | 10 ms | 500 ms | 2.50 s |" in text
    assert "| 02_attention | 60 s | 900 MB |" in text
    assert "takes about 0.5 minutes that way. The aim is at most 15: met." in text
    assert "`helpers.checks` 0.12. The aim is at most 0.3: met." in text


def test_a_script_that_fails_is_reported():
    with pytest.raises(RuntimeError, match="2048 failed(.|\n)*ZeroDivisionError"):
        memory.in_own_process("1 / 0", "2048")


def test_the_peak_is_that_of_the_work_alone():
    before = memory.in_own_process(PEAK, "0")
    after = memory.in_own_process(PEAK, "40")
    assert before < 10 and 38 < after < 60


PEAK = """
import json, sys
from tools.bench.memory import peak_above
earlier = b"1" * 100_000_000
del earlier
print(json.dumps(peak_above(lambda: b"1" * (int(sys.argv[1]) * 2**20))))
"""


def test_both_gpts_are_trained_alike():
    mine, theirs = models.fresh_gpt(), models.fresh_gpt2()
    mine.load_state_dict(from_gpt2(theirs.state_dict(), models.LAYERS))
    assert sum(p.numel() for p in mine.parameters()) == theirs.num_parameters()
    ids, slopes = torch.randint(0, models.VOCAB, (2, 8)), []
    for model in (mine, theirs):
        models.gpt_step(model, ids)()  # leaves the gradients behind
        slopes.append({name: p.grad for name, p in model.named_parameters()})
    wanted = from_gpt2(slopes[1], models.LAYERS)
    for name, slope in slopes[0].items():
        torch.testing.assert_close(slope, wanted[name], atol=1e-5, rtol=0)
    assert slopes[0]["embedding.weight"].abs().max() > 0.01


def test_both_translators_are_as_large_and_the_quick_bench_has_them(monkeypatch):
    raced = []
    monkeypatch.setattr(models, "race", lambda *args, **_: raced.append(args))
    for _ in models.translator_training(quick=True):
        pass
    ((work, *_, aim),) = raced
    assert "translator" in work and aim == models.AS_FAST
    assert models.translator_training in bench.FAMILIES
    mine, other = models.translators()
    sizes = [sum(p.numel() for p in one.parameters()) for one in (mine, other)]
    assert sizes[0] == sizes[1] > 200_000


@pytest.mark.slow
def test_kept_weights_cost_memory_that_the_fused_kernel_does_not():
    long = memory.in_own_process(course.ATTENTION, "1024", "fused")
    kept = memory.in_own_process(course.ATTENTION, "1024", "weights")
    assert kept[1] > long[1] + 30  # 8 heads x 1,024 x 1,024 x 4 bytes = 32 MB


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (3, "10 seconds"),
        (24.9, "20 seconds"),
        (54, "50 seconds"),
        (56, "1 minute"),
        (76, "1.5 minutes"),
        (130, "2 minutes"),
    ],
)
def test_a_time_is_said_in_round_numbers(seconds, said):
    assert budgets.rounded(seconds) == said


def test_a_lesson_says_the_time_that_was_measured(tmp_path):
    (tmp_path / "docs").mkdir()
    text = "It takes {run time}."
    with pytest.raises(LessonError, match="docs/benchmarks.json has none"):
        budgets.said(text, "02_attention", tmp_path)
    (tmp_path / "docs" / "benchmarks.json").write_text(json.dumps(FOUND))
    assert budgets.said(text, "02_attention", tmp_path) == "It takes 1 minute."
    with pytest.raises(LessonError):
        budgets.said(text, "03_multi_head_attention", tmp_path)
    assert budgets.said("no time", "03_multi_head_attention", tmp_path) == "no time"


def test_one_family_is_raced_again_and_the_rest_is_kept(tmp_path, monkeypatch):
    def slow(quick):
        yield Race("slow", "y", 1.0, 2.0, 1.0)

    monkeypatch.setattr(bench, "DOCS", tmp_path)
    monkeypatch.setattr(bench, "FAMILIES", (slow,))
    with pytest.raises(SystemExit, match="on another machine"):
        bench.again("slow")
    old = FOUND | {"machine": bench.machine()}
    (tmp_path / "benchmarks.json").write_text(json.dumps(old))
    found = bench.again("slow")
    assert [one["ours"] for one in found["races"]] == [0.001, 1.0, 1.0, 150.4]
    assert found["notebooks"] == FOUND["notebooks"]
    monkeypatch.setitem(bench.PARTS, "notebooks", lambda quick: ["new"])
    assert bench.again("notebooks") == old | {"notebooks": ["new"]}


def test_the_other_way_of_grading_judges_in_the_kernel(tmp_path):
    """Otherwise the judge's own process would be measured against itself."""
    root = grading.in_the_kernel(tmp_path)
    code = "from tools.grading import moved; print(moved.moved('2.B'), moved.CLOSED)"
    said = [
        subprocess.check_output(
            [sys.executable, "-S", "-c", code],
            cwd=place,
            env=os.environ | {"PYTHONPATH": str(place)},
            encoding="utf-8",
        )
        for place in (root, grading.ROOT)
    ]
    assert said == ["False ()\n", "True (0, 1, 2)\n"]
    assert (root / "tools" / "grading" / "judge.py").read_text() == ""


def test_two_ways_of_grading_are_compared_only_where_they_agree(monkeypatch, tmp_path):
    monkeypatch.setattr(grading, "in_the_kernel", lambda folder: tmp_path)
    times = {grading.ROOT: (6.0, 19.0), tmp_path: (4.0, 19.0)}
    monkeypatch.setattr(grading, "graded", lambda root, path: times[root])
    found = grading.measure(3)
    assert found.ratio == 1.5 and found.met
    times[tmp_path] = (4.0, 18.0)
    with pytest.raises(RuntimeError, match="should give the same points"):
        grading.measure(1)
