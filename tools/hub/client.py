"""What a person's browser asks of a hub: for the test, and to measure servers.

Needs what JupyterHub and JupyterLab bring: requests and websocket-client.
"""

import json
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import requests
import websocket

from tools.hub.config import NAME, Class, HubError

PATIENCE = 120.0  # seconds for a hub, a server or a cell


@contextmanager
def running(hub: Class) -> Iterator[str]:
    """Run the hub of a class; what it says goes to state/hub.log.

    Yields:
        Its address.

    Raises:
        HubError: It ended, or does not answer.
    """
    log = hub.folder / "state" / "hub.log"
    address = f"http://127.0.0.1:{hub.port}"
    command = [sys.executable, "-m", "jupyterhub", "-f", str(hub.folder / NAME)]
    with log.open("w", encoding="utf-8") as said:
        process = subprocess.Popen(
            command,
            cwd=hub.folder / "state",
            stdout=said,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        _wait(lambda: _answers(process, address), "JupyterHub", log)
        yield address
    finally:
        process.send_signal(signal.SIGTERM)  # it ends the servers and the proxy
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _answers(process: subprocess.Popen, address: str) -> bool:
    if process.poll() is not None:
        raise HubError("JupyterHub ended")
    try:
        return requests.get(f"{address}/hub/api", timeout=5).ok
    except requests.RequestException:
        return False


def _wait(done: Any, what: str, log: Path | None = None) -> float:
    """Wait until something is done; returns the seconds."""
    start = time.monotonic()
    try:
        while not done():
            if time.monotonic() - start > PATIENCE:
                raise HubError(f"{what} did not answer within {PATIENCE:.0f} seconds")
            time.sleep(0.1)
    except HubError as error:
        last = log.read_text("utf-8")[-3000:] if log else ""
        raise HubError(f"{error}. {last}".strip()) from None
    return time.monotonic() - start


class Person:
    """Somebody who is logged in.

    Raises:
        HubError: The hub refuses.
    """

    def __init__(self, address: str, name: str, password: str) -> None:
        self.address, self.name = address, name
        self.session = requests.Session()
        login = {"auth": {"username": name, "password": password}}
        place = f"{address}/hub/api/users/{name}/tokens"
        answer = requests.post(place, json=login, timeout=PATIENCE)
        if not answer.ok:
            raise HubError(f"{name} can't log in: {answer.status_code}")
        self.token = answer.json()["token"]
        self.session.headers["Authorization"] = f"token {self.token}"

    def start(self) -> float:
        """Start the server; returns the seconds until it answers."""
        begin = time.monotonic()
        place = f"{self.address}/hub/api/users/{self.name}"
        answer = self.session.post(f"{place}/server", timeout=PATIENCE)
        if not answer.ok:
            raise HubError(f"no server for {self.name}: {answer.text}")
        _wait(lambda: self._ready(place), f"the server of {self.name}")
        return time.monotonic() - begin

    def _ready(self, place: str) -> bool:
        model = self.session.get(place, timeout=PATIENCE).json()
        if not model["server"] and not model["pending"]:
            raise HubError("it ended")
        return bool(model["server"])

    def ask(self, method: str, path: str, **what: Any) -> requests.Response:
        """Ask the person's own server."""
        return self.ask_of(self.name, method, path, **what)

    def ask_of(
        self, other: str, method: str, path: str, **what: Any
    ) -> requests.Response:
        """Ask anybody's server."""
        place = f"{self.address}/user/{other}/{path}"
        return self.session.request(method, place, timeout=4 * PATIENCE, **what)

    def told(self, method: str, path: str, **what: Any) -> Any:
        """What the person's own server answers, as JSON.

        Raises:
            HubError: It refuses.
        """
        answer = self.ask(method, path, **what)
        if not answer.ok:
            raise HubError(f"{path}: {answer.status_code} {answer.text[-1000:]}")
        return answer.json() if answer.content else None

    def notebook(self, path: str) -> dict:
        """A notebook of the person's."""
        return self.told("GET", f"api/contents/{path}")["content"]

    def save(self, path: str, notebook: dict) -> None:
        """Save a notebook as JupyterLab does."""
        model = {"type": "notebook", "format": "json", "content": notebook}
        self.told("PUT", f"api/contents/{path}", json=model)

    @contextmanager
    def kernel(self, path: str) -> Iterator["Kernel"]:
        """A kernel for a notebook, as JupyterLab starts one."""
        model = {
            "path": path,
            "name": Path(path).name,
            "type": "notebook",
            "kernel": {"name": "python3"},
        }
        session = self.told("POST", "api/sessions", json=model)
        kernel = Kernel(self, session["kernel"]["id"])
        try:
            yield kernel
        finally:
            kernel.socket.close()
            self.ask("DELETE", f"api/sessions/{session['id']}")


class Kernel:
    """A notebook's kernel, over the socket that a browser would use."""

    def __init__(self, person: Person, number: str) -> None:
        place = f"{person.address}/user/{person.name}/api/kernels/{number}/channels"
        self.socket = websocket.create_connection(
            place.replace("http", "ws", 1),
            header=[f"Authorization: token {person.token}"],
            timeout=4 * PATIENCE,
        )
        self.number = number

    def run(self, source: str, cell: str = "c") -> list[dict]:
        """Run a cell; returns its outputs.

        Args:
            source: Its code.
            cell: Its id, which JupyterLab names in its request.
        """
        header = {
            "msg_id": uuid.uuid4().hex,
            "msg_type": "execute_request",
            "username": "",
            "session": uuid.uuid4().hex,
            "version": "5.3",
        }
        self.socket.send(
            json.dumps(
                {
                    "header": header,
                    "parent_header": {},
                    "metadata": {"cellId": cell},
                    "content": {"code": source, "silent": False, "store_history": True},
                    "channel": "shell",
                }
            )
        )
        outputs, replied, idle = [], False, False
        while not (replied and idle):
            got = json.loads(self.socket.recv())
            if got["parent_header"].get("msg_id") != header["msg_id"]:
                continue
            kind = got["header"]["msg_type"]
            replied = replied or kind == "execute_reply"
            idle = idle or got["content"].get("execution_state") == "idle"
            if kind in ("stream", "display_data", "execute_result", "error"):
                outputs.append({"output_type": kind, **got["content"]})
        return outputs
