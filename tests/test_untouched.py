"""After a check the process is as before, whatever the answer has set."""

import io
import os
import random
import signal
import sys
import threading
import warnings

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn.modules import module
from worlds import world

from helpers.checks import judge

GONE = "COURSE_TEST_GONE"  # an environment variable that the test sets
KEEP = []  # what a student's notebook would hold on to


def entered(context):
    """Enter it, and never leave."""
    context.__enter__()
    KEEP.append(context)


def nothing(*_):
    return None


def hooked():
    module.register_module_forward_hook(nothing)
    module.register_module_forward_pre_hook(nothing)
    module.register_module_full_backward_hook(nothing)
    module.register_module_parameter_registration_hook(nothing)


def hooks():
    found = {n: v for n, v in vars(module).items() if n.startswith("_global_")}
    return {n: dict(v) if isinstance(v, dict) else v for n, v in found.items()}


def autocast():
    nested = torch.autocast_increment_nesting() - 1
    torch.autocast_decrement_nesting()
    return [
        nested,
        torch.is_autocast_enabled("cpu"),
        torch.get_autocast_dtype("cpu"),
        torch.is_autocast_cache_enabled(),
        (torch.ones(2, 2) @ torch.ones(2, 2)).dtype,
    ]


def printed():
    return repr(torch.tensor([1 / 3] * 2000)), repr(np.array([1 / 3] * 2000))


def divided():
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return repr(np.array([1.0]) / 0)
    except FloatingPointError:
        return "raised"


# What is set -> how an answer sets it, how it is read.
DEEDS = {
    "the folder": (lambda: os.chdir("/"), os.getcwd),
    "a new variable": (lambda: os.environ.update(NEW="1"), lambda: dict(os.environ)),
    "a lost variable": (lambda: os.environ.pop(GONE), lambda: os.getenv(GONE)),
    "all variables": (os.environ.clear, lambda: dict(os.environ)),
    "autocast, entered": (lambda: entered(torch.autocast("cpu")), autocast),
    "autocast, set": (lambda: torch.set_autocast_enabled("cpu", True), autocast),
    "autocast's type": (
        lambda: torch.set_autocast_dtype("cpu", torch.float16),
        autocast,
    ),
    "autocast's cache": (lambda: torch.set_autocast_cache_enabled(False), autocast),
    "inference mode": (
        lambda: entered(torch.inference_mode()),
        lambda: (torch.is_inference_mode_enabled(), torch.is_grad_enabled()),
    ),
    "gradients": (lambda: torch.set_grad_enabled(False), torch.is_grad_enabled),
    "anomaly mode": (
        lambda: torch.autograd.set_detect_anomaly(True, check_nan=False),
        lambda: (torch.is_anomaly_enabled(), torch.is_anomaly_check_nan_enabled()),
    ),
    "torch's digits": (lambda: torch.set_printoptions(precision=1), printed),
    "torch's form": (lambda: torch.set_printoptions(sci_mode=True), printed),
    "torch's profile": (lambda: torch.set_printoptions(profile="full"), printed),
    "numpy's digits": (lambda: np.set_printoptions(precision=1), printed),
    "numpy's errors": (lambda: np.seterr(all="raise"), divided),
    "numpy's handler": (lambda: np.seterrcall(nothing), np.geterrcall),
    "hooks of all modules": (hooked, hooks),
    "SIGINT": (
        lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        lambda: signal.getsignal(signal.SIGINT),
    ),
    "deterministic": (
        lambda: torch.use_deterministic_algorithms(True),
        lambda: (
            torch.are_deterministic_algorithms_enabled(),
            torch.is_deterministic_algorithms_warn_only_enabled(),
        ),
    ),
    "filled memory": (
        lambda: setattr(torch.utils.deterministic, "fill_uninitialized_memory", False),
        lambda: torch.utils.deterministic.fill_uninitialized_memory,
    ),
    "cuDNN": (
        lambda: setattr(torch.backends.cudnn, "benchmark", True),
        lambda: torch.backends.cudnn.benchmark,
    ),
    "precision of products": (
        lambda: torch.set_float32_matmul_precision("medium"),
        torch.get_float32_matmul_precision,
    ),
    "the device": (
        lambda: torch.set_default_device("meta"),
        lambda: torch.ones(1).device,
    ),
    "the type": (
        lambda: torch.set_default_dtype(torch.float16),
        torch.get_default_dtype,
    ),
    "warnings": (lambda: warnings.simplefilter("error"), lambda: warnings.filters[:]),
    "stdout": (lambda: setattr(sys, "stdout", io.StringIO()), lambda: sys.stdout),
    "stderr": (lambda: setattr(sys, "stderr", io.StringIO()), lambda: sys.stderr),
    "threads": (
        lambda: torch.set_num_threads(torch.get_num_threads() + 1),
        torch.get_num_threads,
    ),
    "recursion": (lambda: sys.setrecursionlimit(5000), sys.getrecursionlimit),
    "the tracer": (lambda: sys.settrace(nothing), sys.gettrace),
    "Python's seed": (lambda: random.seed(5), random.getstate),
    "numpy's seed": (lambda: np.random.seed(5), lambda: str(np.random.get_state())),
    "torch's seed": (lambda: torch.manual_seed(5), lambda: torch.get_rng_state()[:99]),
}


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A folder to leave, and a variable to lose."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(GONE, "here")
    yield tmp_path
    KEEP.clear()


@pytest.mark.parametrize("what", DEEDS)
def test_what_an_answer_sets_is_put_back(what, place):
    deed, read = DEEDS[what]
    seen = []

    def answer(x):
        result = x.mean(-1)
        before = str(read())
        deed()
        seen.append(str(read()) != before)
        return result

    before, everything = str(read()), world()
    report = judge("0.A", answer)
    assert seen[0], "the deed changed nothing: this test shows nothing"
    assert str(read()) == before and world() == everything
    assert report.outcome == "passed", report


def test_a_notebook_s_own_settings_stay(place):
    """It may want them: a check puts back what was there, not what is usual."""
    own = [torch.inference_mode(), torch.autocast("cpu"), np.errstate(all="raise")]
    handle = module.register_module_forward_hook(nothing)
    try:
        with own[0], own[1], own[2]:
            before = world()
            assert judge("0.A", lambda x: x.mean(-1)).outcome == "passed"
            assert world() == before
            assert torch.is_inference_mode_enabled() and autocast()[1]
    finally:
        handle.remove()
    assert nn.Identity()(1) == 1


def test_a_folder_that_is_gone_stops_no_check(place):
    (place / "inner").mkdir()
    os.chdir(place / "inner")
    (place / "inner").rmdir()
    assert judge("0.A", lambda x: x.mean(-1)).outcome == "passed"
    os.chdir(place)


def test_another_thread_may_check_as_well():
    """Only the main thread may set a handler of signals."""
    reports = []

    def ask():
        reports.append(judge("0.A", lambda x: x.mean(-1)))

    thread = threading.Thread(target=ask)
    thread.start()
    thread.join()
    assert [report.outcome for report in reports] == ["passed"]
