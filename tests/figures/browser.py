"""Headless Chromium over the WebDriver protocol: no more than the tests of a page need."""

from __future__ import annotations

import base64
import contextlib
import json
import shutil
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

DRIVER = shutil.which("chromedriver")
CHROMIUM = (
    shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
)
QUIET = (
    "--headless --no-sandbox --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync --disable-dev-shm-usage --hide-scrollbars "
    "--enable-unsafe-swiftshader --use-angle=swiftshader"
)
"""Surfaces are drawn with WebGL, and SwiftShader is the one that needs no graphics card."""
ELEMENT = "element-6066-11e4-a52e-4f735466cecf"
"""The key that the protocol gives an element under."""


class Browser:
    """One window."""

    def __init__(self, session: str) -> None:
        self.session = session

    def post(self, command: str, **content: Any) -> Any:
        return call(f"{self.session}/{command}", content)

    def open(self, page: Path) -> None:
        self.post("url", url=page.resolve().as_uri())

    def run(self, script: str, *arguments: Any) -> Any:
        """What a function with this body returns; a promise is waited for."""
        return self.post("execute/sync", script=script, args=list(arguments))

    def wait(self, script: str, seconds: float = 60) -> None:
        """Until this expression is true."""
        end = time.monotonic() + seconds
        while not self.run(f"return Boolean({script})"):
            if time.monotonic() > end:
                raise TimeoutError(script)
            time.sleep(0.1)

    def press(self, selector: str, keys: str) -> None:
        """Type into an element, as a user would."""
        found = self.post("element", using="css selector", value=selector)[ELEMENT]
        self.post(f"element/{found}/value", text=keys)

    def click(self, selector: str) -> None:
        found = self.post("element", using="css selector", value=selector)[ELEMENT]
        self.post(f"element/{found}/click")

    def log(self) -> list[dict[str, Any]]:
        """What was written to the console since the last call."""
        return self.post("se/log", type="browser")

    def size(self, width: int, height: int) -> None:
        self.post("window/rect", width=width, height=height)

    def viewport(self, width: int, height: int) -> None:
        """As if the page were shown on a screen of this size; a window can't be as narrow."""
        screen = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        command = "Emulation.setDeviceMetricsOverride"
        self.post("goog/cdp/execute", cmd=command, params=screen)

    def screenshot(self, path: Path) -> None:
        path.write_bytes(base64.b64decode(call(f"{self.session}/screenshot")))


@contextlib.contextmanager
def chromium(folder: Path) -> Iterator[Browser]:
    """A window of a fresh Chromium that keeps its files in `folder`."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    options = {"binary": CHROMIUM, "args": [*QUIET.split(), f"--user-data-dir={folder}"]}
    wanted = {"goog:chromeOptions": options, "goog:loggingPrefs": {"browser": "ALL"}}
    assert DRIVER is not None
    driver = subprocess.Popen(
        [DRIVER, f"--port={port}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        address = f"http://127.0.0.1:{port}"
        wait_for(f"{address}/status")
        answer = call(f"{address}/session", {"capabilities": {"alwaysMatch": wanted}})
        session = f"{address}/session/{answer['sessionId']}"
        try:
            yield Browser(session)
        finally:
            call(session, method="DELETE")
    finally:
        driver.terminate()
        driver.wait(10)


def wait_for(address: str, seconds: float = 30) -> None:
    """Until the driver answers."""
    end = time.monotonic() + seconds
    while True:
        try:
            call(address)
        except OSError:
            if time.monotonic() > end:
                raise
            time.sleep(0.05)
        else:
            return


def call(address: str, content: Any = None, method: str | None = None) -> Any:
    """The value that the driver answers; its own words if it refuses."""
    body = None if content is None else json.dumps(content).encode()
    request = urllib.request.Request(
        address, body, {"Content-Type": "application/json"}, method=method
    )
    try:
        # No proxy stands between a test and its own machine.
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(request, timeout=120) as answer:
            return json.load(answer)["value"]
    except urllib.error.HTTPError as error:
        raise RuntimeError(error.read().decode()) from None
