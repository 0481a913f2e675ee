"""What is installed with, and which build of torch; nothing is installed here."""

import importlib.metadata
import os
import platform
import socket
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, HTTPServer
from types import SimpleNamespace

import pytest

from tools import install as installer

ROOT = installer.ROOT
PIN = "torch==2.13.0"
AUTO, CPU = ["--torch-backend=auto"], ["--extra-index-url", installer.CPU]


# --- which build of torch -------------------------------------------------------------


@pytest.fixture
def computer(monkeypatch, capsys):
    """Return what is said and chosen on a computer of some kind."""

    def do(card=False, index=True, cuda=True, there=None):
        asked = []

        def agreed():
            asked.append(True)
            return there

        monkeypatch.setattr(installer, "has_card", lambda: card)
        monkeypatch.setattr(installer, "reachable", lambda address: index)
        monkeypatch.setattr(installer, "brings_cuda", lambda command, pin: cuda)
        monkeypatch.setattr(installer, "agreed", agreed)
        chosen = installer.build_of_torch(["uv"], PIN)
        return chosen, len(asked), capsys.readouterr().out

    return do


def test_where_pytorchs_index_answers_it_chooses(computer):
    assert computer(card=False) == ((AUTO, CPU), 0, "")
    assert computer(card=True) == ((AUTO, []), 0, "")


def test_where_it_does_not_the_configured_index_has_to_do(computer):
    chosen, asked, said = computer(index=False, cuda=False)
    assert (chosen, asked) == (([], []), 0)
    assert said == (
        "PyTorch's own index does not answer within 5 seconds: torch comes from the "
        "configured index.\n"
    )
    assert computer(index=False, card=True, cuda=True)[:2] == (([], []), 0)


def test_nobody_without_a_card_gets_cuda_unasked(computer):
    assert computer(index=False, cuda=True, there=True)[:2] == (([], []), 1)
    with pytest.raises(installer.InstallError, match="^Nothing was installed"):
        computer(index=False, cuda=True, there=False)


@pytest.mark.parametrize(
    ("person", "ci", "answer", "wanted"),
    [
        (True, "", "y", True),
        (True, "", "", False),
        (True, "", "no", False),
        (True, "true", None, True),
        (False, "", None, True),
    ],
)
def test_a_person_is_asked_and_a_program_is_told(
    monkeypatch, capsys, person, ci, answer, wanted
):
    def asked(question):
        assert answer is not None
        return answer

    monkeypatch.setattr(sys, "stdin", SimpleNamespace(isatty=lambda: person))
    monkeypatch.setenv("CI", ci)
    monkeypatch.setattr("builtins.input", asked)
    assert installer.agreed() is wanted
    said = capsys.readouterr().out.splitlines()
    assert said[0] == installer.HEAVY and "about 6 GB" in said[0]
    assert (said[1:] != []) == (answer is None)


@pytest.mark.parametrize(
    ("said", "heavy"),
    [(" + nvidia-cublas==13.1", True), (" + torch==2.13.0+cpu", False), ("", False)],
)
def test_cuda_is_seen_before_anything_is_installed(said, heavy):
    """What uv writes to stderr, and pip to stdout."""
    for stream in ("stdout", "stderr"):
        code = (
            f"import sys; sys.{stream}.write({said!r}); assert '--dry-run' in sys.argv"
        )
        assert installer.brings_cuda([sys.executable, "-c", code], PIN) is heavy


def test_a_build_is_chosen_once_and_only_on_linux(monkeypatch):
    text = (ROOT / "requirements.txt").read_text("utf-8")
    monkeypatch.delenv("UV_TORCH_BACKEND", raising=False)
    monkeypatch.setattr(platform, "system", lambda: "Linux")

    def has(version):
        def found(name):
            if version is None:
                raise importlib.metadata.PackageNotFoundError(name)
            return version

        monkeypatch.setattr(importlib.metadata, "version", found)
        return installer.to_choose(text)

    pin = has(None)
    assert (
        pin.startswith("torch==") and pin in text.splitlines()[1:] or f"{pin} " in text
    )
    assert has("1.0") == pin
    assert has(pin.removeprefix("torch==")) is None
    assert has(pin.removeprefix("torch==") + "+cpu") is None
    has(None)
    classroom = (ROOT / "requirements-classroom.txt").read_text("utf-8")
    assert installer.to_choose(classroom) is None
    monkeypatch.setenv("UV_TORCH_BACKEND", "cu130")  # uv reads it by itself
    assert installer.to_choose(text) is None
    monkeypatch.delenv("UV_TORCH_BACKEND")
    monkeypatch.setattr(platform, "system", lambda: "Darwin")
    assert installer.to_choose(text) is None


def tool(folder, name, body):
    """A program on a PATH of its own."""
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_text(f"#!/bin/sh\n{body}\n", encoding="utf-8")
    path.chmod(0o755)
    return path


@pytest.mark.skipif(os.name != "posix", reason="the tools are shell scripts")
@pytest.mark.parametrize(
    ("body", "card"), [("exit 0", True), ("exit 9", False), (None, False)]
)
def test_a_card_is_what_nvidias_tool_lists(tmp_path, monkeypatch, body, card):
    if body:
        tool(tmp_path, "nvidia-smi", body)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert installer.has_card() is card


# --- whether an index answers ---------------------------------------------------------


class Answers(BaseHTTPRequestHandler):
    def do_HEAD(self):  # noqa: N802
        self.send_response(200 if self.path == "/torch/" else 404)
        self.end_headers()

    def log_message(self, *args):
        pass


def test_an_index_that_answers_is_reachable():
    with HTTPServer(("127.0.0.1", 0), Answers) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        here = f"http://127.0.0.1:{server.server_port}"
        assert installer.reachable(f"{here}/torch/")
        assert not installer.reachable(f"{here}/other/")
        server.shutdown()


def test_one_that_says_nothing_is_waited_for_no_longer_than_told():
    assert installer.PATIENCE == 5
    with socket.create_server(("127.0.0.1", 0)) as silent:
        start = time.monotonic()
        address = f"http://127.0.0.1:{silent.getsockname()[1]}/"
        assert not installer.reachable(address, within=0.3)
        assert time.monotonic() - start < 3
    assert not installer.reachable(address, within=3)  # nobody listens now


def test_a_name_that_is_looked_up_for_ever_is_not_waited_for(monkeypatch):
    ended, before = threading.Event(), set(threading.enumerate())

    def look_up(*args, **more):
        ended.wait(20)
        raise socket.gaierror

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    start = time.monotonic()
    assert not installer.reachable("http://nowhere.invalid/", within=0.2)
    assert time.monotonic() - start < 3
    ended.set()
    for thread in set(threading.enumerate()) - before:
        thread.join()


# --- uv, and pip's settings -----------------------------------------------------------


def test_uv_looks_where_pip_looks():
    settings = (
        ":env:.find-links='/wheels'\n"
        ":env:.timeout='180'\n"
        "global.find-links='/not/these'\n"
        "global.extra-index-url='https://one.org/simple https://two.org/simple'\n"
        "global.index-url='https://mirror.org/simple'\n"
        "freeze.find-links='/nor/these'\n"
    )
    assert installer.places(settings) == [
        *("--default-index", "https://mirror.org/simple"),
        *("--index", "https://one.org/simple", "--index", "https://two.org/simple"),
        *("--find-links", "/wheels"),
        *("--index-strategy", "unsafe-best-match"),
    ]
    assert installer.places("") == []
    both = "global.find-links='\\n/one\\n/two'"  # two lines of pip.conf
    assert installer.places(both) == ["--find-links", "/one", "--find-links", "/two"]


def test_uv_trusts_what_pip_trusts(monkeypatch):
    told = ":env:.cert='/etc/all.pem'"
    monkeypatch.delenv("SSL_CERT_FILE", raising=False)
    assert installer.trusted("") == {}
    assert installer.trusted(told) == {"SSL_CERT_FILE": "/etc/all.pem"}
    monkeypatch.setenv("SSL_CERT_FILE", "/mine.pem")
    assert installer.trusted(told) == {"SSL_CERT_FILE": "/mine.pem"}


def test_pips_settings_are_asked_of_pip(tmp_path, monkeypatch):
    file = tmp_path / "pip.conf"
    file.write_text("[global]\nfind-links = /of/the/file\n", encoding="utf-8")
    monkeypatch.setenv("PIP_CONFIG_FILE", str(file))
    monkeypatch.delenv("PIP_FIND_LINKS", raising=False)
    there = installer.places(installer.pip_settings())
    assert ["--find-links", "/of/the/file"] == there[-2:] or "/of/the/file" in there
    monkeypatch.setenv("PIP_FIND_LINKS", "/of/the/environment")
    there = installer.places(installer.pip_settings())
    assert "/of/the/environment" in there and "/of/the/file" not in there


@pytest.mark.skipif(os.name != "posix", reason="the tools are shell scripts")
def test_a_uv_is_used_if_it_is_new_enough_and_got_otherwise(tmp_path, monkeypatch):
    python = tool(tmp_path, "python", f'echo "$*" >> {tmp_path}/asked; exit 1')
    monkeypatch.delenv("COURSE_INSTALLER", raising=False)
    monkeypatch.setattr(sys, "executable", str(python))
    monkeypatch.setattr(installer, "PIP", [str(python), "-m", "pip"])
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin:/usr/bin")
    uv = tool(tmp_path, "uv", "echo uv 0.13.2")
    assert installer.uv() == [str(uv)]
    assert not (tmp_path / "asked").exists()
    tool(tmp_path, "uv", "echo uv 0.9.30")
    assert installer.uv() is None  # pip could not get one either
    asked = (tmp_path / "asked").read_text().splitlines()
    assert asked == [
        "-m uv --version",
        f"-m pip install --quiet {installer.UV}",
        "-m uv --version",
    ]
    tool(tmp_path, "python", "echo uv 1.0")
    assert installer.uv() == [str(python), "-m", "uv"]
    monkeypatch.setenv("COURSE_INSTALLER", "pip")
    assert installer.uv() is None


@pytest.fixture
def installed(monkeypatch, capsys):
    """Install with pretended tools; returns the commands, and what was said."""

    def do(uv=0, pip=0, has_uv=True, course=True, writes_bytecode=True):
        ran = []

        def run(command):
            by = "uv" if command[0] == "uv" else "pip"
            ran.append((by, command[command.index("install") + 1 :]))
            return uv if by == "uv" else pip

        monkeypatch.setattr(sys, "dont_write_bytecode", not writes_bytecode)
        monkeypatch.setattr(installer, "_run", run)
        monkeypatch.setattr(installer, "uv", lambda: ["uv"] if has_uv else None)
        monkeypatch.setattr(installer, "pip_settings", lambda: "")
        monkeypatch.setattr(installer, "to_choose", lambda text: PIN)
        monkeypatch.setattr(installer, "build_of_torch", lambda *which: (AUTO, CPU))
        try:
            installer.install(["requirements.txt"], course)
        finally:
            ran[:] = [
                (by, [one for one in rest if one not in ("--python", sys.executable)])
                for by, rest in ran
            ]
        return ran, capsys.readouterr().out.splitlines()

    return do


LIST, COURSE = ["-r", "requirements.txt"], "--no-deps --no-build-isolation -e .".split()


def test_uv_installs_the_list_and_then_the_course(installed):
    ran, said = installed()
    assert ran == [("uv", AUTO + LIST), ("uv", COURSE)]
    assert said == ["Installing with uv ..."]
    assert installed(course=False)[0] == ran[:1]


def test_bytecode_is_made_at_once_where_python_may_not_write_it_later(installed):
    ran, _ = installed(writes_bytecode=False)
    compiled = ["--compile-bytecode"]
    assert ran == [("uv", compiled + AUTO + LIST), ("uv", compiled + COURSE)]
    ran, _ = installed(writes_bytecode=False, has_uv=False)  # pip always does
    assert ran == [("pip", CPU + LIST), ("pip", COURSE)]


def test_pip_installs_where_there_is_no_uv(installed):
    ran, said = installed(has_uv=False)
    assert ran == [("pip", CPU + LIST), ("pip", COURSE)]
    assert said == ["Installing with pip ..."]


def test_pip_tries_what_uv_could_not(installed):
    ran, said = installed(uv=1)
    assert ran[:2] == [("uv", AUTO + LIST), ("pip", CPU + LIST)]
    assert said[1] == "uv could not install them, see above: pip tries."


def test_when_neither_can_one_sentence_says_so(installed):
    with pytest.raises(installer.InstallError) as error:
        installed(uv=1, pip=1)
    assert str(error.value) == (
        "`pip install -r requirements.txt` failed, see the message above."
    )


def test_progress_is_shown(monkeypatch):
    """Neither is told to be quiet, and both write where a person looks."""
    seen = {}

    def run(command, **more):
        seen.update(more, command=command)
        return subprocess.CompletedProcess(command, 0)

    monkeypatch.setattr(subprocess, "run", run)
    installer._run([*installer.PIP, "install", "x"])
    assert set(seen) == {"command", "cwd"}
    assert not {"-q", "--quiet", "--no-progress"} & set(seen["command"])


def test_a_python_of_no_environment_is_left_alone(monkeypatch, capsys):
    monkeypatch.setattr(installer, "install", None)  # it would be called in vain
    monkeypatch.setattr(sys, "base_prefix", sys.prefix)
    assert installer.main([]) == 2
    said = capsys.readouterr().err
    assert "python -m venv .venv" in said and said.count("\n") == 1


def test_a_failure_is_a_sentence_and_a_status(monkeypatch, capsys):
    def fail(lists, course):
        assert (lists, course) == (["requirements.txt"], False)
        raise installer.InstallError("It failed.")

    monkeypatch.setattr(sys, "base_prefix", "/elsewhere")
    monkeypatch.setattr(installer, "install", fail)
    assert installer.main([]) == 1
    assert capsys.readouterr().err == "It failed.\n"
