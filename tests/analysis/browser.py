"""A real browser, driven through chromedriver's HTTP interface with the standard library only."""

from __future__ import annotations

import base64
import json
import os
import shutil
import socket
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path
from types import TracebackType
from typing import Any

FLAGS = (
    *("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync", "--hide-scrollbars"),
)


def why_not() -> str:
    """Why no browser can be had here; empty when one can."""
    for program in ("chromium", "chromedriver"):
        if shutil.which(program) is None:
            return f"{program} is not installed (apt-get install chromium chromium-driver)"
    return ""


class Browser:
    """`with Browser() as browser: browser.open(path); browser.run("return document.title")`."""

    def __enter__(self) -> Browser:
        self._profile = tempfile.TemporaryDirectory(prefix="chromium-")
        port = _free_port()
        self._driver = subprocess.Popen(
            ["chromedriver", f"--port={port}"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "HOME": self._profile.name},
        )
        self._url = f"http://127.0.0.1:{port}"
        self._wait()
        options = {
            "args": [*FLAGS, f"--user-data-dir={self._profile.name}/profile"],
            "binary": shutil.which("chromium"),
        }
        capabilities = {"goog:chromeOptions": options, "goog:loggingPrefs": {"browser": "ALL"}}
        session = self._call("POST", "/session", {"capabilities": {"alwaysMatch": capabilities}})
        self._url += f"/session/{session['sessionId']}"
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self._call("DELETE", "", None)
        finally:
            self._driver.terminate()
            self._driver.wait(timeout=20)
            self._profile.cleanup()

    def _wait(self) -> None:
        for _ in range(100):
            try:
                self._call("GET", "/status", None)
                return
            except (urllib.error.URLError, ConnectionError):
                time.sleep(0.1)
        raise RuntimeError("chromedriver does not answer")

    def _call(self, method: str, path: str, body: Any) -> Any:
        data = None if body is None and method != "POST" else json.dumps(body or {}).encode()
        request = urllib.request.Request(
            self._url + path, data=data, method=method, headers={"Content-Type": "application/json"}
        )
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            raise RuntimeError(json.load(error)["value"]["message"]) from None

    def open(self, path: Path) -> None:
        self._call("POST", "/url", {"url": path.resolve().as_uri()})

    def run(self, script: str, *arguments: Any) -> Any:
        """The value of a function body, e.g. `return document.title`."""
        return self._call("POST", "/execute/sync", {"script": script, "args": list(arguments)})

    def devtools(self, command: str, **parameters: Any) -> Any:
        return self._call("POST", "/goog/cdp/execute", {"cmd": command, "params": parameters})

    def size(self, width: int, height: int, mobile: bool = False) -> None:
        self.devtools(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=mobile,
        )

    def colour_scheme(self, scheme: str) -> None:
        self.devtools(
            "Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}]
        )

    def press(self, key: str) -> None:
        for kind in ("keyDown", "keyUp"):
            text = {"text": "\r"} if key == "Enter" and kind == "keyDown" else {}
            self.devtools(
                "Input.dispatchKeyEvent",
                type=kind,
                key=key,
                code=key,
                windowsVirtualKeyCode=_KEYS[key],
                **text,
            )

    def point_at(self, x: float, y: float) -> None:
        self.devtools("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    def console(self) -> list[str]:
        """Everything the console received since the last call; an error of the page is among it."""
        return [
            f"{entry['level']}: {entry['message']}"
            for entry in self._call("POST", "/se/log", {"type": "browser"})
        ]

    def screenshot(self, path: Path, full: bool = False) -> None:
        shot = self.devtools("Page.captureScreenshot", format="png", captureBeyondViewport=full)
        path.write_bytes(base64.b64decode(shot["data"]))

    def pdf(self, path: Path) -> None:
        printed = self.devtools("Page.printToPDF", printBackground=True)
        path.write_bytes(base64.b64decode(printed["data"]))


_KEYS = {"Enter": 13, "Tab": 9, "ArrowLeft": 37, "ArrowRight": 39, "Escape": 27, "Home": 36, "End": 35}


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
