"""`make grade` on other machines: who is let in, who grades, and if one dies."""

import argparse
import json
import subprocess
import sys
import threading
import time
from concurrent.futures import CancelledError
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests import submissions as handed
from tools.grading import __main__ as grade
from tools.grading import cluster, far, runner
from tools.grading.course import CourseError
from tools.grading.tables import Grade
from tools.proofs import cluster as proof

ROOT = Path(__file__).resolve().parents[1]
NOT_THERE = "Dask distributed is not installed"
HERE = "tcp://127.0.0.1:8786"

pytestmark = pytest.mark.lesson("02")


def options(*more):
    return grade._options(list(more))


@pytest.fixture
def files(tmp_path):
    """Options with three files for TLS, of which nobody reads a byte here."""
    found = []
    for name in ("tls-ca-file", "tls-cert", "tls-key"):
        (tmp_path / name).touch()
        found += [f"--{name}", str(tmp_path / name)]
    return found


# --- who is let in --------------------------------------------------------------------


@pytest.mark.parametrize(
    "address",
    [
        "tcp://192.168.1.5:8786",
        "192.168.1.5:8786",
        "tcp://grader.example.org:8786",
        "grader:8786",
        "tcp://[2001:db8::1]:8786",
        "tcp://0.0.0.0:8786",
        "tcp://127.0.0.1.example.org:8786",
        "tcp://localhost.example.org:8786",
    ],
)
def test_another_machine_without_tls_is_refused(address):
    with pytest.raises(CourseError) as error:
        cluster.checked(options("--scheduler", address))
    assert str(error.value) == (
        f"{address} is not this machine, and whoever reaches it without TLS could have "
        "any program run there: start the scheduler and its workers with certificates, "
        "as docs/grading.md says, and name tls://HOST:PORT."
    )


@pytest.mark.parametrize(
    "address",
    [HERE, "127.0.0.1:8786", "localhost:8786", "tcp://[::1]:8786", "local"],
)
def test_this_machine_needs_no_certificates(address, files):
    assert cluster.checked(options("--scheduler", address)) == []
    with pytest.raises(CourseError, match="^--tls-ca-file, --tls-cert, --tls-key go "):
        cluster.checked(options("--scheduler", address, *files))


def test_tls_takes_three_files(files):
    address = "tls://grader.example.org:8786"
    assert cluster.checked(options("--scheduler", address, *files)) == files[1::2]
    with pytest.raises(CourseError, match="needs --tls-key, a file, and it was not gi"):
        cluster.checked(options("--scheduler", address, *files[:-2]))
    Path(files[3]).unlink()
    with pytest.raises(CourseError, match="--tls-cert, a file, and there is no file /"):
        cluster.checked(options("--scheduler", address, *files))


@pytest.mark.parametrize(
    "address",
    ["grader", "ws://127.0.0.1:8786", "inproc://x", "tcp://a@127.0.0.1:1", "tls://a:b"],
)
def test_what_is_no_address_is_one_clear_sentence(address, capsys, tmp_path):
    handed.hand_in(tmp_path / "in", "anna", "{}")
    arguments = ["--submissions", str(tmp_path / "in"), "--scheduler", address]
    assert grade.main(arguments) == 1
    assert capsys.readouterr().err == (
        f"{address} is not the address of a scheduler: say --scheduler "
        "tls://HOST:8786, or --scheduler local for workers on this machine.\n"
    )
    assert not (tmp_path / "in-graded").exists()


def test_without_dask_the_option_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(CourseError, match="install them with `.venv/bin/python -m too"):
        with cluster.connect(options("--scheduler", "local")):
            pass
    with cluster.connect(options()) as nothing:
        assert nothing is None


class Dask:
    """Stands in for Dask's client."""

    def __init__(self, answers, address=HERE, at=("tcp://127.0.0.1:4",)):
        self.answers, self.address, self.at = answers, address, at

    def scheduler_info(self, **_):
        return {"address": self.address, "workers": dict.fromkeys(self.at)}

    def run(self, function, *asked, on_error):
        assert function is far.look and on_error == "return"
        return self.answers

    def nthreads(self):
        return dict.fromkeys(self.answers, 3)


@pytest.mark.parametrize(
    ("dask", "sentence"),
    [
        (Dask({}), "No worker has joined X: start some"),
        (
            Dask({}, "tcp://10.0.0.3:8786"),
            "tcp://10.0.0.3:8786 of the cluster at X can",
        ),
        (
            Dask({}, at=["tls://a:1", "tcp://a:2"]),
            "tcp://a:2 of the cluster at X can be",
        ),
        (
            Dask({"a": ModuleNotFoundError("No module x")}),
            "worker at a can't import the",
        ),
        (Dask({"a": OSError("full")}), "The worker at a broke off (full)."),
        (Dask({"a": ("", None), "b": ("is old", None)}), "The worker at b is old."),
    ],
)
def test_a_cluster_that_may_not_grade_says_why(dask, sentence):
    with pytest.raises(CourseError) as error:
        cluster.Cluster("X", dask, False).look()
    assert sentence in str(error.value) and str(error.value).endswith(".")


def test_a_cluster_says_how_many_it_grades_at_a_time():
    joined = cluster.Cluster("X", Dask({"a": ("", None), "b": ("", "no")}), True)
    joined.look()
    assert str(joined) == "2 workers at X, 6 at a time." and joined.barrier == "no"


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("the course", "has another version of the course (helpers/ or tools/ differ)"),
        ("torch", "has torch 2"),
        ("nbgrader", "has nbgrader 0"),
    ],
)
def test_a_worker_with_other_code_refuses(monkeypatch, name, why):
    monkeypatch.setattr(far, "barrier", lambda: None)
    assert far.refusal(far.conditions(), False) == ""
    assert far.refusal(far.conditions() | {name: "9"}, False).startswith(why)


def test_a_worker_without_a_sandbox_refuses(monkeypatch):
    monkeypatch.setattr(far, "barrier", lambda: "not permitted")
    monkeypatch.setattr(far, "_address", lambda: "tls://a:1")
    job = {"conditions": far.conditions(), "unsafe": False}
    with pytest.raises(
        CourseError, match="^The worker at tls://a:1 does not shut proc"
    ):
        far.grade(job, b"{}")
    assert far.refusal(far.conditions(), True) == ""


def test_a_change_of_the_course_is_seen(monkeypatch, tmp_path):
    seen = set()
    monkeypatch.setattr(far.sandbox, "ROOT", tmp_path)
    for name in ("helpers/a.py", "tools/b.py", "tools/.c", "tests/d.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("1")
        seen.add(far._course.__wrapped__())
    assert len(seen) == 2
    (tmp_path / "helpers" / "a.py").write_text("2")
    assert far._course.__wrapped__() not in seen


# --- what happens when one dies -------------------------------------------------------


class Waiting(cluster.Far):
    """Asks nobody."""

    def __init__(self, workers):
        self.cluster = SimpleNamespace(address="X", workers=workers)
        self.stopped = set()


class Future:
    """Never ends, or with an error."""

    def __init__(self, error=None):
        self.error = error

    def result(self, timeout):
        raise self.error or TimeoutError

    def done(self):
        return self.error is not None


def test_no_worker_and_no_scheduler_end_the_run_in_a_sentence():
    pytest.importorskip("distributed", reason=NOT_THERE)
    with pytest.raises(
        CourseError, match="^For 60 s no worker was left at X. What was"
    ):
        Waiting({})._result(Future())
    with pytest.raises(
        CourseError, match="^The scheduler at X is gone. What was graded"
    ):
        Waiting({"a": 1})._result(Future(CancelledError()))
    stopped = Waiting({})
    stopped.stopped.add("")
    found = stopped._result(Future(CancelledError()))
    assert found == ({"reason": "grading was stopped"}, 0.0)
    with pytest.raises(TimeoutError, match="of the task"):
        Waiting({})._result(Future(TimeoutError("of the task")))


def test_what_ends_the_run_is_not_the_reason_of_a_submission(tmp_path):
    class Ends(runner.Grader):
        def _grade(self, one):
            raise CourseError("The scheduler is gone.")

    given = argparse.Namespace()
    grader = Ends(tmp_path, tmp_path / "out", ROOT, False, given, 1)
    one = SimpleNamespace(reason="", student="anna", lesson=proof.LESSON)
    try:
        with pytest.raises(CourseError, match="The scheduler is gone"):
            grade.grade_all(grader, [one], 1, lambda _: None)
    finally:
        grader.close()


JOB = {"seconds": 600, "memory": 10**10}


def test_stopping_a_run_ends_its_processes_and_no_others(tmp_path, monkeypatch):
    monkeypatch.setattr(runner, "WORKER", "import time\ntime.sleep(600)")
    processes, said = runner.Processes(tmp_path), {}

    def run(name):
        said[name] = processes.run(JOB | {"run": name}, b"")

    threads = [threading.Thread(target=run, args=name) for name in "ab"]
    for thread in threads:
        thread.start()
    try:
        while len(processes.running) < 2:
            time.sleep(0.02)
        processes.stop("a")
        threads[0].join(30)
        [other] = processes.running
        assert list(said) == ["a"] and processes.running[other] == "b"
        with pytest.raises(subprocess.TimeoutExpired):
            other.wait(1)
        again = processes.run(JOB | {"run": "a"}, b"")
        assert again == {"reason": "grading was stopped"}
    finally:
        processes.stop("b")
        for thread in threads:
            thread.join()
        processes.close()
    assert not processes.running and not tmp_path.exists()


def listening():
    """Where this process and its children wait for others."""
    psutil = pytest.importorskip("psutil")
    mine = psutil.Process()
    return {
        one.laddr.ip
        for process in (mine, *mine.children(recursive=True))
        for one in process.net_connections("tcp")
        if one.status == psutil.CONN_LISTEN
    }


@pytest.mark.slow
def test_a_cluster_on_this_machine_keeps_others_out_and_leaves_nothing(
    tmp_path, monkeypatch
):
    pytest.importorskip("distributed", reason=NOT_THERE)
    monkeypatch.setattr(cluster.Cluster, "look", lambda self: None)
    monkeypatch.setattr(proof.tempfile, "tempdir", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()
    submissions, points = proof.class_of(10, tmp_path, {}, seconds=0.0)
    with cluster.connect(options("--scheduler", "local", "--jobs", "1")) as joined:
        known = joined.client.scheduler_info()
        found = [known["address"], *known["workers"]]
        assert (
            len(found) == 2 and str(joined) == "1 worker on this machine, 1 at a time."
        )
        assert all(address.startswith("tls://127.0.0.1:") for address in found)
        assert listening() == {"127.0.0.1"}
        grades = proof.scheduled(tmp_path, submissions, joined.client, "local")
    assert proof.wrong(tmp_path, grades, points) == []
    assert list((tmp_path / "temporary").iterdir()) == []


@pytest.fixture(scope="module")
def joined(tmp_path_factory):
    """Two workers with TLS, started as the page says; options for `make grade`."""
    pytest.importorskip("distributed", reason=NOT_THERE)
    with proof.started(tmp_path_factory.mktemp("cluster")) as found:
        yield found


@pytest.mark.slow
@pytest.mark.xdist_group("cluster")
class TestTwoWorkers:
    """One cluster on this machine, and the scheduling that it does."""

    def test_nothing_listens_for_other_machines(self, joined):
        """Dask serves a page about itself without TLS, with `--no-dashboard` too."""
        assert listening() == {"127.0.0.1"}

    def test_a_worker_that_dies_costs_nobody_a_score(self, joined, tmp_path):
        count, victim = 120, 60
        made = proof.class_of(count, tmp_path, {victim: 1}, seconds=0.01)
        submissions, points = made
        with proof.client(joined) as one:
            grades = proof.scheduled(tmp_path, submissions, one, joined[1])
        assert proof.wrong(tmp_path, grades, points) == []
        assert len(grades) == count and len(set(points.values())) > 5
        log = (tmp_path / "log").read_text().split()
        assert log[::2].count(f"student-{victim:05}") == 2
        assert len(set(log[1::2])) >= 2

    def test_one_that_kills_four_workers_is_not_graded_and_not_kept(
        self, joined, tmp_path
    ):
        submissions, _ = proof.class_of(1, tmp_path, {0: 99}, seconds=0.0)
        with proof.client(joined) as one:
            [found] = proof.scheduled(tmp_path, submissions, one, joined[1])
        assert found.reason == (
            "grading it broke off (4 workers died while they graded it)"
        )
        assert proof._results(tmp_path / "out") == []

    def test_another_certificate_is_refused(self, joined, tmp_path, monkeypatch):
        monkeypatch.setattr(cluster, "CONNECT", 5.0)
        said = proof.commands(proof.PAGE.read_text("utf-8"))
        subprocess.run(
            said["certificate"].split(), cwd=tmp_path, check=True, capture_output=True
        )
        others = [str(tmp_path / Path(word).name) if "/grading." in word else word
                  for word in joined]  # fmt: skip
        with pytest.raises(
            CourseError, match="^No scheduler answers at tls://127.0.0.1"
        ):
            with cluster.connect(options(*others)):
                pass

    def test_grades_are_those_of_two_jobs(self, joined, tmp_path):
        folder = tmp_path / "in"
        answers = {f"ex-2-{it}": handed.solution(f"ex-2-{it}") for it in "AF"}
        wrong = {"ex-2-G": "impossible_entries = -17"}
        handed.hand_in(folder, "two", handed.filled(answers))
        handed.hand_in(folder, "one", handed.filled(answers | {"ex-2-F": ""}))
        handed.hand_in(folder, "wrong", handed.filled(answers | wrong))
        handed.hand_in(folder, "no JSON", '{"cells": [')
        tables = []
        for more in (["--jobs", "2"], joined):
            out = tmp_path / f"out-{len(tables)}"
            command = [sys.executable, "-m", "tools.grading", "--unsafe"]
            command += ["--submissions", str(folder), "--seed", "41"]
            done = subprocess.run(
                [*command, "--out", str(out), *more],
                cwd=ROOT,
                capture_output=True,
                text=True,
            )
            assert done.returncode == 0 and done.stderr == "", done.stdout + done.stderr
            tables.append((out / "grades.csv").read_bytes())
            kept = [json.loads(p.read_text("utf-8")) for p in proof._results(out)]
            students = sorted(one["student"] for one in kept)
            assert students == ["no JSON", "one", "two", "wrong"]
        assert f"2 workers at {joined[1]}, 2 at a time." in done.stdout
        assert tables[0] == tables[1] and b"graded,4,19" in tables[0]

    def test_ctrl_c_waits_for_nobody(self, joined, tmp_path):
        """The last one: the workers go on sleeping for a while."""
        submissions, _ = proof.class_of(4, tmp_path, {}, seconds=60.0)
        told = json.loads(submissions[0].path.read_text())
        submissions[0].path.write_text(json.dumps(told | {"seconds": 0.0}))

        class Stopped(proof.StandIn):
            def grade(self, one):
                grade = super().grade(one)
                if one is submissions[0]:
                    self.stop()
                return grade

        start = time.monotonic()
        with proof.client(joined) as one:
            grades = proof.scheduled(tmp_path, submissions, one, joined[1], Stopped)
        assert time.monotonic() - start < 50
        assert sum(isinstance(one, Grade) and not one.reason for one in grades) == 1
