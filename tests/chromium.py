"""A Chromium for tests, where there is one."""

import io
import os
import shutil
import time
from contextlib import contextmanager

import numpy as np
import pytest
from PIL import Image

# Chromium itself asks the network for updates and lists; none of that is ours.
QUIET = (
    "--no-sandbox --disable-gpu --disable-quic --no-first-run "
    "--disable-background-networking --disable-component-update --disable-sync"
).split()


def needed():
    """Playwright and the path of Chromium; skips with a clear word without them."""
    driver = pytest.importorskip(
        "playwright.sync_api", reason="needs playwright: `make browser` installs it"
    )
    names = ("chromium", "chromium-browser", "google-chrome")
    path = os.environ.get("CHROMIUM") or next(
        filter(None, map(shutil.which, names)), ""
    )
    if not path:
        pytest.skip("needs Chromium: `apt-get install chromium`, or CHROMIUM=its path")
    return driver, path


@contextmanager
def browser():
    """Start Debian's Chromium, or skip."""
    driver, path = needed()
    with driver.sync_playwright() as play:
        chromium = play.chromium.launch(executable_path=path, args=QUIET)
        try:
            yield chromium
        finally:
            chromium.close()


def soon(look, seconds: float = 30):
    """Repeat what looks and asserts until it holds: a browser draws when it can."""
    end = time.monotonic() + seconds
    while True:
        try:
            look()
            return
        except AssertionError:
            if time.monotonic() > end:
                raise
            time.sleep(0.2)


def pixels(screenshot: bytes) -> np.ndarray:
    """A screenshot as (height, width, 3) numbers from 0 to 255."""
    return np.asarray(Image.open(io.BytesIO(screenshot)).convert("RGB"))
