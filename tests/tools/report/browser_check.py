#!/usr/bin/env python3
"""Opens a report in headless Chromium and looks at it: errors, blank pictures, a page wider than a phone.

    browser_check.py REPORT.html [FOLDER_FOR_SCREENSHOTS]

Exit 0: fine. 1: something is wrong, named on stderr. 77: no Chromium here, nothing was checked.
Speaks the DevTools protocol over a pipe, so it needs nothing but Python's standard library.
"""

import base64
import json
import os
import pathlib
import select
import shutil
import struct
import subprocess
import sys
import tempfile
import time
import zlib

VIEWS = [  # name, width, height, colour scheme, phone
    ("desktop_light", 1440, 900, "light", False),
    ("desktop_dark", 1440, 900, "dark", False),
    ("phone_light", 390, 844, "light", True),
    ("phone_dark", 390, 844, "dark", True),
]

OPEN = 'for (const details of document.querySelectorAll("details")) details.open = true'

# What is there: canvases whose pixels are all alike (by label), whether the page is wider than the window, ...
LOOK = """(() => {
  const blank = [], pen = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  for (const canvas of document.querySelectorAll("canvas")) {
    const { width, height } = canvas;
    if (!width || !height) { blank.push("no size: " + canvas.getAttribute("aria-label")); continue; }
    pen.canvas.width = width;
    pen.canvas.height = height;
    pen.drawImage(canvas, 0, 0);
    const pixels = new Uint32Array(pen.getImageData(0, 0, width, height).data.buffer);
    if (new Set(pixels).size < 12) blank.push(canvas.getAttribute("aria-label"));
  }
  const root = document.documentElement;
  return { ready: root.dataset.ready || "", errors: root.dataset.errors || "", theme: root.dataset.theme, blank,
           canvases: document.querySelectorAll("canvas").length,
           unnamed: [...document.querySelectorAll("canvas")].filter((c) => !c.getAttribute("aria-label")).length,
           emptyTables: [...document.querySelectorAll("details.values")].filter((d) => !d.querySelector("td")).length,
           wide: root.scrollWidth - root.clientWidth };
})()"""

# Uses the page as a reader does: every switch, every legend button twice, keys on the maps.
USE = """(() => {
  const key = (element, name) => element.dispatchEvent(new KeyboardEvent("keydown", { key: name, bubbles: true }));
  for (const details of document.querySelectorAll("details")) details.open = false;
  for (const input of document.querySelectorAll("input[type=radio]")) input.click();
  for (const select of document.querySelectorAll("select"))
    for (const option of select.options) { select.value = option.value; select.dispatchEvent(new Event("change")); }
  for (const button of document.querySelectorAll(".legend button")) { button.click(); button.click(); }
  let silent = 0;
  for (const canvas of document.querySelectorAll(".map canvas")) {
    canvas.focus();
    for (const name of ["ArrowDown", "ArrowRight", "ArrowUp", "ArrowLeft"]) key(canvas, name);
    if (!canvas.closest("figure").querySelector(".readout").textContent.trim()) ++silent;
  }
  for (let i = 0; i < 3; ++i) document.getElementById("theme").click();
  return { silent, errors: document.documentElement.dataset.errors || "" };
})()"""


class Browser:
    """One headless Chromium with one page, spoken to over file descriptors 3 and 4."""

    def __init__(self, program, folder):
        to_browser, self._write = os.pipe()
        self._read, from_browser = os.pipe()

        def wire():  # in the child: the protocol lives on 3 and 4
            high_in, high_out = os.dup2(to_browser, 100), os.dup2(from_browser, 101)
            os.dup2(high_in, 3)
            os.dup2(high_out, 4)

        command = [program, "--headless=new", "--no-first-run", "--disable-gpu", "--hide-scrollbars", "--disable-extensions",
                   "--disable-background-networking", "--disable-dev-shm-usage", "--force-device-scale-factor=1",
                   "--remote-debugging-pipe", "--user-data-dir=" + folder, "about:blank"]
        if os.geteuid() == 0:
            command.insert(1, "--no-sandbox")
        self._process = subprocess.Popen(command, preexec_fn=wire, close_fds=False, stdin=subprocess.DEVNULL,
                                         stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_browser)
        os.close(from_browser)
        self._buffer, self._last, self._session, self.events = b"", 0, None, []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(domain + ".enable")

    def _message(self, deadline):
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._read], [], [], max(0, deadline - time.monotonic()))
            if not ready:
                raise TimeoutError("Chromium did not answer in time")
            piece = os.read(self._read, 1 << 20)
            if not piece:
                raise RuntimeError("Chromium ended unexpectedly")
            self._buffer += piece
        text, self._buffer = self._buffer.split(b"\0", 1)
        return json.loads(text)

    def call(self, method, **parameters):
        self._last += 1
        message = {"id": self._last, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        deadline = time.monotonic() + 60
        while True:
            answer = self._message(deadline)
            if answer.get("id") == self._last:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]
            if "method" in answer:
                self.events.append(answer)

    def evaluate(self, script):
        result = self.call("Runtime.evaluate", expression=script, returnByValue=True)
        if "exceptionDetails" in result:
            raise RuntimeError("script failed: " + json.dumps(result["exceptionDetails"])[:400])
        return result["result"].get("value")

    def open(self, url):
        self.call("Page.navigate", url=url)
        for _ in range(200):
            if self.evaluate("document.readyState") == "complete" and self.evaluate("location.href") == url:
                return
            time.sleep(0.05)
        raise TimeoutError("the page did not finish loading")

    def close(self):
        self._process.terminate()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


def commonest_colour(png):
    """Share of the commonest colour of an 8-bit RGB or RGBA PNG."""
    at, data, width, height, channels = 8, b"", 0, 0, 0
    while at < len(png):
        length, kind = struct.unpack(">I4s", png[at:at + 8])
        body = png[at + 8:at + 8 + length]
        if kind == b"IHDR":
            width, height, _, colour = struct.unpack(">IIBB", body[:10])
            channels = {2: 3, 6: 4}[colour]
        if kind == b"IDAT":
            data += body
        at += 12 + length
    data = zlib.decompress(data)
    stride, above, counts = width * channels, bytes(width * channels), {}
    for y in range(height):
        how, row = data[y * (stride + 1)], bytearray(data[y * (stride + 1) + 1:(y + 1) * (stride + 1)])
        for i in range(stride):
            a = row[i - channels] if i >= channels else 0
            b, c = above[i], above[i - channels] if i >= channels else 0
            if how == 4:
                p = a + b - c
                pa, pb, pc = abs(p - a), abs(p - b), abs(p - c)
                guess = a if pa <= pb and pa <= pc else b if pb <= pc else c
            else:
                guess = (0, a, b, (a + b) // 2)[how]
            row[i] = (row[i] + guess) & 255
        above = row
        for x in range(0, stride, channels):
            pixel = bytes(row[x:x + 3])
            counts[pixel] = counts.get(pixel, 0) + 1
    return max(counts.values()) / (width * height)


def complaints(events):
    """Console errors, uncaught exceptions and requests for anything but the page itself."""
    out = []
    for event in events:
        method, what = event["method"], event["params"]
        if method == "Runtime.exceptionThrown":
            details = what["exceptionDetails"]
            out.append("exception: " + details.get("exception", {}).get("description", details["text"]))
        elif method == "Runtime.consoleAPICalled" and what["type"] in ("error", "warning", "assert"):
            out.append("console: " + " ".join(str(a.get("value", a.get("description"))) for a in what["args"]))
        elif method == "Log.entryAdded" and what["entry"]["level"] in ("error", "warning"):
            out.append("log: " + what["entry"]["text"])
        elif method == "Network.requestWillBeSent" and not what["request"]["url"].startswith(("file:", "about:", "data:")):
            out.append("request: " + what["request"]["url"])
    return out


def check_view(browser, url, name, width, height, scheme, phone, shots):
    wrong = []
    browser.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=2 if phone else 1,
                 mobile=phone)
    browser.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
    browser.events.clear()
    browser.open(url)
    long = browser.evaluate("document.documentElement.scrollHeight")
    shot = lambda scale: base64.b64decode(browser.call(
        "Page.captureScreenshot", format="png", captureBeyondViewport=True,
        clip={"x": 0, "y": 0, "width": width, "height": long, "scale": scale})["data"])
    if shots:
        (shots / (name + ".png")).write_bytes(shot(1))
    share = commonest_colour(shot(0.125))
    if share > 0.97:
        wrong.append(f"the screenshot is {100 * share:.0f} % one colour")
    browser.evaluate(OPEN)
    time.sleep(0.3)  # they fill their tables in an event
    seen = browser.evaluate(LOOK)
    used = browser.evaluate(USE)
    if seen["ready"] != "yes":
        wrong.append("the page's script did not reach its end")
    if seen["theme"] != scheme:
        wrong.append(f"asked for the {scheme} theme, got {seen['theme']}")
    wrong += ["page: " + text for text in {seen["errors"], used["errors"]} if text]
    wrong += ["blank canvas: " + label for label in seen["blank"]]
    for key, what in (("unnamed", "canvases without a label"), ("emptyTables", "value tables without values")):
        if seen[key]:
            wrong.append(f"{seen[key]} {what}")
    if used["silent"]:
        wrong.append(f"{used['silent']} maps do not answer to the keyboard")
    if seen["wide"] > 0:
        wrong.append(f"the page is {seen['wide']} px wider than the window")
    wrong += complaints(browser.events)
    print(f"{name}: {seen['canvases']} canvases, page {width} x {long}, "
          f"commonest colour {100 * share:.0f} %, {len(wrong)} complaints")
    return [f"{name}: {text}" for text in wrong]


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit("usage: browser_check.py REPORT.html [FOLDER_FOR_SCREENSHOTS]")
    report = pathlib.Path(sys.argv[1]).resolve()
    if not report.is_file():
        sys.exit(f"browser_check: error: no such file: {report}")
    program = next((p for p in map(shutil.which, ("chromium", "chromium-browser", "google-chrome")) if p), None)
    if not program:
        print("browser_check: no Chromium here (Debian package chromium): skipped", file=sys.stderr)
        sys.exit(77)
    shots = pathlib.Path(sys.argv[2]) if len(sys.argv) == 3 else None
    if shots:
        shots.mkdir(parents=True, exist_ok=True)
    wrong = []
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        browser = Browser(program, folder)
        try:
            for name, width, height, scheme, phone in VIEWS:
                wrong += check_view(browser, report.as_uri(), name, width, height, scheme, phone, shots)
        finally:
            browser.close()
    for text in wrong:
        print("browser_check: " + text, file=sys.stderr)
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
