# SPDX-License-Identifier: MIT OR Apache-2.0
"""A headless Chromium, by its DevTools protocol over a pair of pipes: no port, no driver, no package of Python's.

    command, as JSON, ended by a zero byte -> descriptor 3
    answers and events, the same way       <- descriptor 4

What the page says on its console, and what goes wrong in it, is kept in `complaints`.
"""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome")
SECONDS_MOST = 60
OPTIONS = (
    "--headless=new", "--remote-debugging-pipe", "--no-first-run", "--no-default-browser-check", "--disable-gpu",
    "--disable-dev-shm-usage", "--disable-extensions", "--disable-background-networking", "--disable-component-update",
    "--disable-sync", "--mute-audio", "--hide-scrollbars",
    "--host-resolver-rules=MAP * ~NOTFOUND",  # a page that asks for anything from elsewhere is seen to fail
)
COMPLAINTS = ("Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Log.entryAdded")
KEYS = {"Enter": (13, "\r"), "Escape": (27, ""), "ArrowDown": (40, ""), "ArrowUp": (38, ""), "ArrowLeft": (37, ""),
        "ArrowRight": (39, ""), "Tab": (9, ""), "Home": (36, ""), " ": (32, " ")}


def found() -> str | None:
    return next(filter(None, map(shutil.which, NAMES)), None)


class Browser:
    def __init__(self) -> None:
        self.folder = tempfile.mkdtemp(prefix="hakmem-page-")
        self.number, self.rest, self.session = 0, b"", ""
        self.complaints: list[str] = []
        ours_in, theirs_out = os.pipe()
        theirs_in, ours_out = os.pipe()
        self.input, self.output = ours_out, ours_in
        self.process = self.start(theirs_in, theirs_out)
        os.close(theirs_in)
        os.close(theirs_out)
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self.ask(f"{domain}.enable")

    def start(self, reads: int, writes: int) -> subprocess.Popen[bytes]:
        """As root, and in a container, there is no sandbox of its own to be had; the pages are ours."""
        words = [str(found()), *OPTIONS, "--no-sandbox", f"--user-data-dir={self.folder}"]
        high = [os.dup(reads), os.dup(writes)]  # not 3 or 4 themselves, which dup2 would close on exec
        shell = ["/bin/sh", "-c", f'exec "$@" 3<&{high[0]} 4>&{high[1]}', "sh", *words]
        try:
            return subprocess.Popen(shell, pass_fds=high, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                    stderr=subprocess.DEVNULL)
        finally:
            for number in high:
                os.close(number)

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self.input)
        os.close(self.output)
        for _ in range(50):  # its children may still write there
            shutil.rmtree(self.folder, ignore_errors=True)
            if not Path(self.folder).exists():
                return
            time.sleep(0.1)

    # ---- the protocol ----

    def message(self) -> dict[str, Any]:
        while b"\0" not in self.rest:
            if not select.select([self.output], [], [], SECONDS_MOST)[0]:
                raise TimeoutError("the browser does not answer")
            more = os.read(self.output, 1 << 16)
            if not more:
                raise EOFError("the browser ended")
            self.rest += more
        text, _, self.rest = self.rest.partition(b"\0")
        return dict(json.loads(text))

    def ask(self, method: str, **parameters: Any) -> Any:
        self.number += 1
        order = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            order["sessionId"] = self.session
        os.write(self.input, json.dumps(order).encode() + b"\0")
        while True:
            answer = self.message()
            if answer.get("method") in COMPLAINTS:
                self.complaints.append(json.dumps(answer["params"]))
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]

    # ---- what a reader does ----

    def open(self, file: Path, width: int, height: int, dark: bool = False, fragment: str = "") -> None:
        phone = width < 600
        self.complaints.clear()
        self.ask("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=phone)
        scheme = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        self.ask("Emulation.setEmulatedMedia", features=scheme)
        error = self.ask("Page.navigate", url=file.resolve().as_uri() + fragment).get("errorText")
        if error:
            raise OSError(f"{file}: {error}")
        self.wait_for("document.readyState === 'complete' && location.protocol === 'file:'")

    def wait_for(self, condition: str) -> None:
        deadline = time.monotonic() + SECONDS_MOST
        while not self.value(condition):
            if time.monotonic() > deadline:
                raise TimeoutError(condition)
            time.sleep(0.02)

    def value(self, expression: str) -> Any:
        answer = self.ask("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(f"{expression}: {answer['exceptionDetails']}")
        return answer["result"].get("value")

    def click(self, selector: str) -> None:
        """With the mouse, in the middle of it."""
        self.value(f"document.querySelector({json.dumps(selector)}).scrollIntoView({{block: 'center'}})")
        box = self.value(f"(() => {{ const b = document.querySelector({json.dumps(selector)}).getBoundingClientRect(); "
                         "return [b.x + b.width / 2, b.y + b.height / 2]; })()")
        for kind in ("mousePressed", "mouseReleased"):
            self.ask("Input.dispatchMouseEvent", type=kind, x=box[0], y=box[1], button="left", clickCount=1)

    def press(self, key: str) -> None:
        code, text = KEYS[key]
        for kind in ("keyDown", "keyUp"):
            more = {"text": text} if text and kind == "keyDown" else {}
            self.ask("Input.dispatchKeyEvent", type=kind, key=key, windowsVirtualKeyCode=code, **more)

    def type(self, text: str) -> None:
        self.ask("Input.insertText", text=text)

    def picture(self, file: Path, whole: bool = False) -> None:
        shot = self.ask("Page.captureScreenshot", format="png", captureBeyondViewport=whole, **self.extent(whole))
        file.write_bytes(base64.b64decode(shot["data"]))

    def extent(self, whole: bool) -> dict[str, Any]:
        if not whole:
            return {}
        size = self.ask("Page.getLayoutMetrics")["cssContentSize"]
        return {"clip": {"x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1}}
