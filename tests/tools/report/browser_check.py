#!/usr/bin/env python3
"""Opens a report in headless Chromium: errors, blank pictures, a page wider than a phone, the first screen; then with mouse and
keys: heads and sequences, tooltips, zoom, filter, grouping, two runs side by side, downloads.

    browser_check.py REPORT.html SEEDS.html LONG.html [FOLDER_FOR_SCREENSHOTS]

SEEDS.html is a page of two runs with known losses; LONG.html a page with maps of 512 tokens, which has to stay quick.
Exit 0: fine. 1: something is wrong, named on stderr. 77: no Chromium here, nothing was checked.
With SINK_SHORT_TESTS in one colour scheme, of one size, and every fifth kind of figure is saved.
Speaks the DevTools protocol over a pipe, so it needs nothing but Python's standard library.
"""

import base64
import csv
import json
import math
import os
import pathlib
import re
import select
import shutil
import struct
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree

VIEWS = [  # name, width, height, colour scheme, phone
    ("desktop_light", 1440, 900, "light", False),
    ("desktop_dark", 1440, 900, "dark", False),
    ("laptop_light", 1280, 900, "light", False),
    ("phone_light", 390, 844, "light", True),
    ("phone_dark", 390, 844, "dark", True),
]

# Figures are drawn when they are open and near the window; here all of them, once.
OPEN = 'for (const details of document.querySelectorAll("details")) details.open = true; drawEverything(); setTimeout(drawEverything, 100)'

# The first screen, without scrolling: the sentence, two attention patterns side by side and the curve of Sink_1.
FIRST_SCREEN = """(() => {
  const inside = (e) => { const r = e.getBoundingClientRect(); return r.width > 0 && r.height > 0 && r.top >= 0 && r.left >= 0 && r.bottom <= innerHeight && r.right <= innerWidth; };
  const painted = (canvas) => { const copy = document.createElement("canvas"); [copy.width, copy.height] = [canvas.width, canvas.height];
    const pen = copy.getContext("2d", { willReadFrequently: true }); pen.drawImage(canvas, 0, 0);
    return new Set(new Uint32Array(pen.getImageData(0, 0, copy.width, copy.height).data.buffer)).size >= 12; };
  const section = document.querySelector("section.group"), sentence = section.querySelector("h2.headline");
  const maps = [...section.querySelectorAll(".story figure.heads canvas")], curve = section.querySelector('.story figure[data-curve="sink_1"] canvas');
  return { sentence: inside(sentence) ? sentence.textContent : "", maps: maps.filter((c) => inside(c) && painted(c)).map((c) => c.getBoundingClientRect().top),
           shown: maps.map((c) => c.getBoundingClientRect().width), curve: curve !== null && inside(curve) && painted(curve), scrolled: scrollY,
           terms: getComputedStyle(document.querySelector(".terms")).display, twice: document.querySelectorAll('figure[data-curve="sink_1"]:not(#two-runs figure)').length
             - document.querySelectorAll("section.group[data-task]").length,
           opened: [...document.querySelectorAll("details.more[open]")].map((d) => d.textContent.trim().slice(0, 30)) };
})()"""

# What is there: canvases whose pixels are all alike (by label), whether the page is wider than the window, ...
LOOK = """(() => {
  const blank = [], pen = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  for (const canvas of document.querySelectorAll("canvas:not([hidden])")) {
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
           wide: root.scrollWidth - root.clientWidth,
           outside: [...document.querySelectorAll("figure, canvas, .tiles, .bar, .scroll, p, h1, h2, h3, h4, button")]
             .filter((e) => e.getBoundingClientRect().right > root.clientWidth + 1 && !e.closest(".scroll .scroll, pre"))
             .map((e) => e.tagName + " " + (e.className || e.textContent.slice(0, 30))),
           clipped: [...document.querySelectorAll("table")].filter((t) => {
             const box = t.closest(".scroll");
             if (!box || t.getBoundingClientRect().width <= box.clientWidth + 1) return !box;
             return box.tabIndex !== 0 || !["auto", "scroll"].includes(getComputedStyle(box).overflowX);
           }).length,
           finalHidden: [...document.querySelectorAll("main .scroll")].filter((b) => !b.closest("details"))
             .reduce((most, b) => Math.max(most, b.scrollWidth - b.clientWidth), 0) };
})()"""

# Uses the page as a reader does: every switch, every legend button twice, keys on the maps.
USE = """(() => {
  const key = (element, name) => element.dispatchEvent(new KeyboardEvent("keydown", { key: name, bubbles: true }));
  for (const details of document.querySelectorAll("details:not(.more)")) details.open = false;
  for (const input of document.querySelectorAll("input[type=radio]")) input.click();
  for (const select of document.querySelectorAll("select"))
    for (const option of select.options) { select.value = option.value; select.dispatchEvent(new Event("change")); }
  for (const button of document.querySelectorAll(".legend button")) { button.click(); button.click(); }
  drawEverything();
  let silent = 0;
  for (const canvas of document.querySelectorAll("figure.heads canvas:not([hidden])")) {
    canvas.focus();
    for (const name of ["ArrowDown", "ArrowRight", "ArrowUp", "ArrowLeft"]) key(canvas, name);
    if (!canvas.closest("figure").querySelector(".readout").textContent.trim()) ++silent;
  }
  for (let i = 0; i < 3; ++i) document.getElementById("theme").click();
  return { silent, errors: document.documentElement.dataset.errors || "" };
})()"""


def find_chromium(name):
    """Its path. Without one the program `name` ends, as a test that is skipped."""
    found = next((path for path in map(shutil.which, ("chromium", "chromium-browser", "google-chrome")) if path), None)
    if not found:
        print(f"{name}: no Chromium here (Debian package chromium): skipped", file=sys.stderr)
        sys.exit(77)
    return found


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
        if self._session and not method.startswith("Browser."):
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
        result = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            raise RuntimeError("script failed: " + json.dumps(result["exceptionDetails"])[:400])
        return result["result"].get("value")

    def open(self, url):
        self.call("Page.navigate", url=url)
        for _ in range(200):
            if self.evaluate("document.readyState") == "complete" and self.evaluate("location.href") == url:
                time.sleep(0.2)  # until it has seen which figures are near
                return
            time.sleep(0.05)
        raise TimeoutError("the page did not finish loading")

    def mouse(self, what, x, y, button="none", clicks=0):
        self.call("Input.dispatchMouseEvent", type=what, x=x, y=y, button=button, clickCount=clicks,
                  buttons=1 if button == "left" and what != "mouseReleased" else 0)

    def click(self, x, y, clicks=1):
        self.mouse("mouseMoved", x, y)
        for n in range(1, clicks + 1):
            self.mouse("mousePressed", x, y, "left", n)
            self.mouse("mouseReleased", x, y, "left", n)

    def drag(self, x0, y0, x1, y1):
        self.mouse("mouseMoved", x0, y0)
        self.mouse("mousePressed", x0, y0, "left", 1)
        for part in (0.3, 0.7, 1):
            self.mouse("mouseMoved", x0 + part * (x1 - x0), y0 + part * (y1 - y0), "left")
        self.mouse("mouseReleased", x1, y1, "left", 1)

    def key(self, name, text=None):
        press = {"key": name} | ({"text": text} if text else {})
        codes = {"Enter": 13, "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40, "Escape": 27, "Tab": 9}
        if name in codes:
            press["windowsVirtualKeyCode"] = codes[name]
        self.call("Input.dispatchKeyEvent", type="keyDown", **press)
        self.call("Input.dispatchKeyEvent", type="keyUp", **press)

    def close(self):
        self._process.terminate()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


# Share of the commonest colour of a PNG, without its alpha.
COMMONEST = """(async () => {
  const image = await createImageBitmap(new Blob([Uint8Array.from(atob("%s"), (c) => c.charCodeAt(0))], { type: "image/png" }));
  const pen = new OffscreenCanvas(image.width, image.height).getContext("2d", { willReadFrequently: true }), counts = new Map();
  pen.drawImage(image, 0, 0);
  const pixels = new Uint32Array(pen.getImageData(0, 0, image.width, image.height).data.buffer);
  for (const pixel of pixels) counts.set(pixel & 0xffffff, (counts.get(pixel & 0xffffff) || 0) + 1);
  return Math.max(...counts.values()) / pixels.length;
})()"""


def commonest_colour(browser, png):
    return browser.evaluate(COMMONEST % base64.b64encode(png).decode())


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


def check_first_screen(browser, phone):
    seen, wrong = browser.evaluate(FIRST_SCREEN), []
    if "on the first token" not in seen["sentence"]:
        wrong.append(f"the first screen has no sentence with the result: {seen['sentence']!r}")
    if len(seen["maps"]) != 2 or abs(seen["maps"][0] - seen["maps"][1]) > 1 or min(seen["shown"], default=0) < (150 if phone else 300):
        wrong.append(f"the first screen has no two attention patterns side by side: tops {seen['maps']}, widths {seen['shown']}")
    if not seen["curve"] or seen["scrolled"]:
        wrong.append("the curve of Sink_1 is not on the first screen")
    if seen["terms"] != "none" or seen["opened"] or seen["twice"]:
        wrong.append(f"the page does not open short: definitions {seen['terms']}, open {seen['opened']}, {seen['twice']} curves twice")
    return wrong


def check_view(browser, url, name, width, height, scheme, phone, shots):
    wrong = []
    browser.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=2 if phone else 1,
                 mobile=phone)
    browser.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
    browser.events.clear()
    browser.open(url)
    time.sleep(0.3)
    wrong += check_first_screen(browser, phone)
    long = browser.evaluate("document.documentElement.scrollHeight")
    shot = lambda scale: base64.b64decode(browser.call(
        "Page.captureScreenshot", format="png", captureBeyondViewport=True,
        clip={"x": 0, "y": 0, "width": width, "height": long, "scale": scale})["data"])
    if shots:
        (shots / (name + ".png")).write_bytes(shot(1))
    share = commonest_colour(browser, shot(0.125))
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
    wrong += [f"{what} reaches beyond the window" for what in seen["outside"][:5]]
    if seen["clipped"]:
        wrong.append(f"{seen['clipped']} tables are clipped")
    if not phone and seen["finalHidden"] > 1:
        wrong.append(f"columns of a table of final numbers are hidden: {seen['finalHidden']} px")
    wrong += complaints(browser.events)
    print(f"{name}: {seen['canvases']} canvases, page {width} x {long}, "
          f"commonest colour {100 * share:.0f} %, {len(wrong)} complaints")
    return [f"{name}: {text}" for text in wrong]


MAPS = """(() => {
  const figures = [...document.querySelectorAll("section.group figure.heads")], root = document.documentElement;
  const bar = document.querySelector(".toolbar");
  const box = (e) => { const r = e.getBoundingClientRect(); return { x: r.x, y: r.y, width: r.width, height: r.height }; };
  return { bar: bar ? bar.offsetHeight : 0, figures: figures.map((f) => ({ ...box(f), name: f.querySelector("h4").textContent,
    canvas: box(f.querySelector("canvas")) })) };
})()"""

# One figure: what its map shows and its pixels; `n` is put in.
FIGURE = """(() => {
  const figure = document.querySelectorAll("figure.heads")[%d], canvas = figure.querySelector("canvas");
  const box = (e) => { const r = e.getBoundingClientRect(); return { x: r.x, y: r.y, width: r.width, height: r.height }; };
  return { shown: figure.dataset.shown, caption: figure.querySelector(".chosen").textContent, pixels: canvas.toDataURL(),
           canvas: box(canvas), tiles: [...figure.querySelector(".tiles").querySelectorAll("button")].map(box),
           pressed: [...figure.querySelector(".tiles").querySelectorAll("button")].findIndex((t) => t.ariaPressed === "true") };
})()"""

TIP = """(() => {
  const tip = document.getElementById("tip"), r = tip.getBoundingClientRect();
  return { hidden: tip.hidden, x: r.x, y: r.y, right: r.right, bottom: r.bottom, text: tip.innerText };
})()"""

CHART = """(() => {
  const figure = document.querySelector('figure[data-curve="val_loss"]'), chart = figure.chart(), r = chart.canvas.getBoundingClientRect();
  const { left, right, top, bottom } = chart.chartArea, { x, y } = chart.scales;
  return { left: r.x + left, right: r.x + right, top: r.y + top, bottom: r.y + bottom, x: [x.min, x.max], y: [y.min, y.max], type: y.type,
           undo: !figure.querySelector("button[data-zoom]").hidden, floors: chart.data.datasets.filter((d) => d.label === "best possible").length };
})()"""

# Luminance of the page behind the map, of a weight of nothing and of a full one: what is painted, not what is meant.
COLOURS = """(() => {
  const light = (c) => { const [r, g, b] = c.map((v) => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
                         return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
  const ramp = document.querySelector("figure.heads .ramp i, .ramp i"), stops = getComputedStyle(ramp).backgroundImage.match(/rgb\\([^)]*\\)/g);
  const rgb = (text) => text.match(/[\\d.]+/g).slice(0, 3).map(Number);
  let ground = ramp;
  while (ground && /rgba\\(0, 0, 0, 0\\)/.test(getComputedStyle(ground).backgroundColor)) ground = ground.parentElement;
  const parent = ramp.closest("figure");
  let panel = parent;
  while (/rgba\\(0, 0, 0, 0\\)/.test(getComputedStyle(panel).backgroundColor)) panel = panel.parentElement;
  return { masked: light(rgb(getComputedStyle(panel).backgroundColor)), zero: light(rgb(stops[0])), full: light(rgb(stops[stops.length - 1])) };
})()"""


def check_colours(browser, wrong):
    seen = browser.evaluate(COLOURS)
    masked, zero, full = seen["masked"], seen["zero"], seen["full"]
    if not (masked < zero < full or masked > zero > full):
        wrong.append(f"a weight of zero is not between what is masked and a full weight: {masked:.3f}, {zero:.3f}, {full:.3f}")
    ratio = (max(masked, zero) + 0.05) / (min(masked, zero) + 0.05)
    if ratio < 1.1:
        wrong.append(f"zero and masked can hardly be told apart: contrast {ratio:.2f}")


# Colour vision: normal, and complete protanopia, deuteranopia and tritanopia as matrices on linear RGB (Machado et al. 2009).
VISION = {"normal": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
          "protanopia": ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998)),
          "deuteranopia": ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.011820, 0.042940, 0.968881)),
          "tritanopia": ((1.255528, -0.076749, -0.178779), (-0.078411, 0.930809, 0.147602), (0.004733, 0.691367, 0.303900))}


def linear_rgb(text):
    parts = [int(text.strip()[i:i + 2], 16) / 255 for i in (1, 3, 5)]
    return [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]


def lab(rgb):
    """CIELAB of linear RGB, where a distance of 15 is plainly visible."""
    to_xyz = ((0.4124, 0.3576, 0.1805), (0.2126, 0.7152, 0.0722), (0.0193, 0.1192, 0.9505))
    xyz = [sum(a * c for a, c in zip(row, rgb)) / white for row, white in zip(to_xyz, (0.9505, 1, 1.089))]
    x, y, z = (t ** (1 / 3) if t > 0.008856 else 7.787 * t + 16 / 116 for t in xyz)
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


def check_palette(browser, wrong):
    """The colours of lines differ from each other, for colour-blind readers too, and from the background."""
    names = ["--ground"] + [f"--c{i}" for i in range(8)]
    ground, *lines = (linear_rgb(c) for c in browser.evaluate(f"{json.dumps(names)}.map((n) => css(n))"))
    for vision, matrix in VISION.items():
        seen = [lab([min(1, max(0, sum(m * c for m, c in zip(row, rgb)))) for row in matrix]) for rgb in lines]
        near = min((math.dist(seen[i], seen[j]), i, j) for i in range(8) for j in range(i))
        if near[0] < 15:
            wrong.append(f"{vision}: the colours {near[2]} and {near[1]} differ by {near[0]:.0f} only")
    light = lambda rgb: sum(a * c for a, c in zip((0.2126, 0.7152, 0.0722), rgb)) + 0.05
    for i, rgb in enumerate(lines):
        contrast = max(light(rgb), light(ground)) / min(light(rgb), light(ground))
        if contrast < 3:
            wrong.append(f"the colour {i} has a contrast of {contrast:.1f} to the background")


def check_terms(browser, wrong):
    """A term explains itself in a tooltip when it is focused, as by a tap, and when the mouse is over it."""
    browser.evaluate('scrollTo(0, 0); document.querySelector("abbr[data-term=sink_1]").focus()')
    time.sleep(0.1)
    focused = browser.evaluate(TIP)
    browser.evaluate("document.activeElement.blur()")
    box = browser.evaluate('(({ x, y, width, height }) => [x + width / 2, y + height / 2])(document.querySelector("abbr[data-term=sink_1]").getBoundingClientRect())')
    browser.mouse("mouseMoved", *box)
    hovered = browser.evaluate(TIP)
    for how, tip in (("focus", focused), ("mouse", hovered)):
        if tip["hidden"] or "percentage of heads" not in tip["text"] or tip["x"] < 0 or tip["right"] > 1280:
            wrong.append(f"no tooltip for a term by {how}: {tip}")


def check_pairs(browser, height, wrong):
    """Two maps are side by side, and each fits into the window below the sticky toolbar."""
    seen = browser.evaluate(MAPS)
    figures = seen["figures"]
    if len(figures) < 2:
        wrong.append("fewer than two maps")
        return
    if abs(figures[0]["y"] - figures[1]["y"]) > 1 or figures[1]["x"] <= figures[0]["x"]:
        wrong.append("two maps are not side by side")
    for figure in figures:
        if figure["canvas"]["height"] + seen["bar"] > height:
            wrong.append(f"{figure['name']}: {figure['canvas']['height']:.0f} px and a bar of {seen['bar']} px do not fit into {height} px")
        if figure["canvas"]["height"] < 250:
            wrong.append(f"{figure['name']}: the map is only {figure['canvas']['height']:.0f} px high")


def check_choices(browser, wrong):
    """A tile, by mouse and by keys, and a sequence change the map."""
    look = lambda: browser.evaluate(FIGURE % 0)
    before = look()
    other = next(i for i in range(len(before["tiles"])) if i != before["pressed"])
    tile = before["tiles"][other]
    browser.click(tile["x"] + tile["width"] / 2, tile["y"] + tile["height"] / 2)
    after = look()
    if after["shown"] == before["shown"] or after["pixels"] == before["pixels"] or after["caption"] == before["caption"]:
        wrong.append("a click on a tile does not change the map")
    if after["pressed"] != other:
        wrong.append("the tile that was clicked is not the one that is marked")
    browser.key("ArrowRight" if other == 0 else "ArrowLeft")
    moved = look()
    if abs(moved["pressed"] - other) != 1 or moved["pixels"] == after["pixels"]:
        wrong.append("arrow keys on the tiles do not change the map")
    browser.evaluate('document.querySelector(\'input[name^="sequence-"][value="1"]\').focus()')
    browser.evaluate('document.querySelector(\'input[name^="sequence-"][value="1"]\').click()')
    second = look()
    if second["pixels"] == moved["pixels"] or not second["shown"].startswith("1/"):
        wrong.append("the choice of a sequence does not change the map")


def check_tooltip(browser, wrong):
    browser.evaluate("scrollTo(0, 0)")
    time.sleep(0.2)
    figure = browser.evaluate(FIGURE % 0)
    canvas = figure["canvas"]
    for across, down in ((0.15, 0.6), (0.5, 0.97), (0.9, 0.2)):  # in the map, at its end, on what is masked
        x, y = canvas["x"] + across * canvas["width"], canvas["y"] + down * canvas["height"]
        browser.mouse("mouseMoved", x, y)
        tip = browser.evaluate(TIP)
        away = max(tip["x"] - x, x - tip["right"], 0) + max(tip["y"] - y, y - tip["bottom"], 0)
        if tip["hidden"] or away > 40:
            wrong.append(f"no tooltip near the cursor at {across} {down}: {away:.0f} px away")
            continue
        if tip["x"] < 0 or tip["y"] < 0 or tip["right"] > 1280 or tip["bottom"] > 900:
            wrong.append("the tooltip leaves the window")
        needed = ["query", "key", "row sum"] + (["not visible"] if across == 0.9 else ["weight, raw", "share, proxy"])
        wrong += [f"the tooltip does not say {part}" for part in needed if part not in tip["text"]]
    # Its number is that of the table.
    stated = browser.evaluate("""(() => {
      const figure = document.querySelector("figure.heads"), canvas = figure.querySelector("canvas");
      canvas.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowUp", bubbles: true }));
      canvas.focus();
      const details = figure.querySelector("details.values");
      details.open = true;
      return new Promise((done) => setTimeout(() => {
        const said = figure.querySelector(".readout").textContent, query = / query /.test(" " + said) && said.match(/query (\\d+)/)[1];
        const row = [...details.querySelectorAll("tbody tr")].find((r) => r.cells[0].textContent.startsWith(query + " "));
        details.open = false;
        done([said, row ? row.cells[1].textContent : "no row " + query]);
      }, 200));
    })()""")
    if not stated or f"weight, raw {stated[1]}," not in stated[0]:
        wrong.append(f"the weight read by keys is not that of the table: {stated}")


def check_extra_key(browser, wrong):
    """In the run with an extra key, if there is one, its column is the first of the map and named `*`."""
    at = browser.evaluate("""[...document.querySelectorAll("figure.heads")].findIndex((f) => {
      const maps = report.runs[Number(f.dataset.run)].maps; return maps && maps.extra_key; })""")
    if at < 0:
        return
    browser.evaluate(f'document.querySelectorAll("figure.heads")[{at}].scrollIntoView({{ block: "end", behavior: "instant" }})')
    for n in range(25):  # scrolling hides the tooltip, on a busy machine a while later
        time.sleep(0.2)
        canvas = browser.evaluate(FIGURE % at)["canvas"]
        browser.mouse("mouseMoved", canvas["x"] + 42, canvas["y"] + canvas["height"] / 2 + n % 2)
        tip = browser.evaluate(TIP)
        if not tip["hidden"]:
            break
    if tip["hidden"] or "*: extra key" not in tip["text"]:
        wrong.append(f"the first column of a map with an extra key is not named: {tip['text']!r}")
    if not browser.evaluate(f'document.querySelectorAll("figure.heads")[{at}].querySelector("[data-tiles=alpha_star] button")'
                            ' !== null'):
        wrong.append("a run with an extra key has no tiles of alpha_*")


def check_zoom(browser, wrong):
    browser.evaluate('document.querySelector(\'figure[data-curve="val_loss"]\').scrollIntoView({ block: "center", behavior: "instant" })')
    whole = browser.evaluate(CHART)
    span = lambda pair: pair[1] - pair[0]
    at = lambda across, down: (whole["left"] + across * (whole["right"] - whole["left"]), whole["top"] + down * (whole["bottom"] - whole["top"]))
    browser.drag(*at(0.4, 0.3), *at(0.9, 0.8))
    near = browser.evaluate(CHART)
    if abs(span(near["x"]) / span(whole["x"]) - 0.5) > 0.03 or abs(span(near["y"]) / span(whole["y"]) - 0.5) > 0.03 or not near["undo"]:
        wrong.append(f"a drag over half of the chart shows {near['x']} by {near['y']} of {whole['x']} by {whole['y']}")
    browser.click(*at(0.5, 0.5), clicks=2)
    if browser.evaluate(CHART) != whole:
        wrong.append("a double click does not show all of the chart again")
    browser.drag(*at(0.5, 0.5), *at(0.95, 0.51))
    flat = browser.evaluate(CHART)
    if span(flat["x"]) > 0.5 * span(whole["x"]) or span(flat["y"]) >= span(whole["y"]):
        wrong.append("a flat drag does not zoom along the steps and fit the values")
    browser.evaluate('document.querySelector(\'figure[data-curve="val_loss"] button[data-zoom]\').click()')
    if browser.evaluate(CHART) != whole:
        wrong.append("the button does not show all of the chart again")
    browser.evaluate('document.querySelector(\'figure[data-curve="val_loss"] canvas\').focus()')
    browser.key("+", "+")
    if span(browser.evaluate(CHART)["x"]) > 0.6 * span(whole["x"]):
        wrong.append("the key + does not zoom")
    browser.key("0", "0")
    if browser.evaluate(CHART) != whole:
        wrong.append("the key 0 does not show all of the chart again")
    if whole["floors"] < 1:
        wrong.append("no line for the lowest loss that is possible")
    browser.evaluate('document.querySelector(\'input[name^="loss-"][value="above"]\').click()')
    if browser.evaluate(CHART)["type"] != "logarithmic":
        wrong.append("the loss above the best is not on a logarithmic scale")
    browser.evaluate('document.querySelector(\'input[name^="loss-"][value="nats"]\').click()')


SHOWN = """(() => ({ said: document.getElementById("filter-status").textContent, invalid: document.getElementById("filter").ariaInvalid,
  rows: [...document.querySelectorAll("tr[data-run]:not([hidden])")].map((r) => r.querySelector("th").firstChild.nextSibling.textContent),
  maps: document.querySelectorAll("section.group figure.heads:not([hidden])").length,
  lines: document.querySelector('figure[data-curve="val_loss"]').chart().data.datasets.filter((d) => d.pointStyle !== "line")
    .map((d) => [d.label, d.data.length, d.band ? d.band.greatest[d.band.greatest.length - 1] - d.band.least[d.band.least.length - 1] : 0]) }))()"""


def choose_runs(browser, words, grouping="seeds"):
    browser.evaluate(f"""(() => {{ const filter = document.getElementById("filter"), by = document.getElementById("group-by");
      filter.value = {json.dumps(words)}; by.value = {json.dumps(grouping)}; filter.dispatchEvent(new Event("input"));
      by.dispatchEvent(new Event("change"));
      return new Promise((done) => setTimeout(done, 200)); }})()""")  # the filter waits 150 ms for the end of typing
    browser.evaluate("drawEverything()")
    return browser.evaluate(SHOWN)


def check_filter(browser, wrong):
    """Filters and groupings, of runs whose settings and bands are known by how make_runs.py makes them."""
    everything = choose_runs(browser, "")
    runs = len(everything["rows"])
    if [line[0].rsplit(", ", 1)[1] for line in everything["lines"]] != ["2 seeds"] * 3 or everything["lines"][0][2] <= 0:
        wrong.append(f"seeds are not one line with a band: {everything['lines']}")
    alone = choose_runs(browser, "", "runs")["lines"]
    if len(alone) != 6:
        wrong.append(f"a line per run: {alone}")
    by_seed = choose_runs(browser, "", "key seed")["lines"]
    if [line[0] for line in by_seed] != ["seed 0", "seed 1"]:
        wrong.append(f"a line per seed: {by_seed}")
    expected = {"seed=0": lambda n: n.endswith("-0"), "ablation~op_": lambda n: "op_" in n, "seed>=1 -ablation=bias_k": lambda n: not n.endswith("-0") and "bias_k" not in n,
                "learning-rate=1e-2 baseline": lambda n: "baseline" in n, 'name~"k-0.01-1"': lambda n: n.endswith("bias_k-0.01-1"),
                "sink_1>1 task=text": lambda n: n.startswith("baseline")}
    for words, holds in expected.items():
        seen = choose_runs(browser, words)
        names = [name for name in everything["rows"] if holds(name) and "img" not in name]  # whose name is another
        rows = [name for name in seen["rows"] if "img" not in name]
        if rows != names or not seen["said"].endswith(f"of {runs} runs") or (seen["maps"] >= everything["maps"]):
            wrong.append(f"the filter {words!r} shows {rows} and {seen['maps']} maps, says {seen['said']!r}")
    bad = choose_runs(browser, "colour=red")
    if "no run has a setting" not in bad["said"] or bad["invalid"] != "true":
        wrong.append(f"a filter that makes no sense is not named: {bad['said']!r}")
    if any(choose_runs(browser, words)["rows"] for words in ("seed=0 seed=1", "learning-rate=0")) or choose_runs(browser, "") != everything:
        wrong.append("an emptied filter does not show everything again")


def check_scatter(browser, wrong):
    """Points go by keys in order of their loss, and say whose they are; raw weights are another height."""
    get = lambda what: browser.evaluate(f"""(() => {{ const figure = [...document.querySelectorAll('figure[data-kind="scatter"]')].pop(); {what} }})()""")
    get('figure.scrollIntoView({ block: "center", behavior: "instant" }); figure.querySelector("canvas").focus();')
    said = []
    for name in ("ArrowRight", "ArrowRight", "ArrowRight", "ArrowLeft"):
        browser.key(name)
        said.append(get('return figure.querySelector(".readout").textContent'))
    losses = [float(text.rsplit(": loss ", 1)[1].split(",")[0]) for text in said]
    if said[1] != said[3] or not losses[0] <= losses[1] <= losses[2] or len(set(said)) != 3:
        wrong.append(f"arrow keys do not go from run to run by loss: {said}")
    if not get("return figure.chart().tooltip.opacity > 0"):
        wrong.append("the chosen point has no tooltip")
    points = 'return JSON.stringify(figure.chart().data.datasets.map((d) => d.data.map((p) => p.y)))'
    before = get(points)
    get("""const raw = document.querySelector(`input[name="scatter-${figure.dataset.group}"][value="sink_1_raw"]`); raw.click();""")
    after = get(points)
    if before == after:
        wrong.append("raw weights do not move the points")
    get("""document.querySelector(`input[name="scatter-${figure.dataset.group}"][value="sink_1"]`).click();""")


def check_pair(browser, wrong):
    """Two runs: what differs is what differs, both curves and both maps are there, and the names act on nothing."""
    browser.evaluate("""(() => { const [a, b] = ["a", "b"].map((s) => document.querySelector(`select[name=${s}-pair]`));
      a.selectedIndex = 0; b.selectedIndex = 3; b.dispatchEvent(new Event("change")); const pair = document.getElementById("two-runs");
      pair.open = true; pair.scrollIntoView(); drawEverything(); })()""")
    seen = browser.evaluate("""(() => { const cells = (id) => [...document.querySelectorAll(`#${id} tbody tr`)].map((r) => [...r.cells].map((c) => c.textContent));
      const data = document.querySelector('#pair-curves figure[data-curve="val_loss"]').chart().data.datasets.filter((d) => d.pointStyle !== "line");
      const by = (n) => report.runs[n].final; const a = +document.querySelector("select[name=a-pair]").value, b = +document.querySelector("select[name=b-pair]").value;
      const drawn = [...document.querySelectorAll("#pair-maps figure")].map((f) => [+f.dataset.run, f.querySelector("canvas").toDataURL().length]);
      return { own: drawn[0][0] === a && drawn[1][0] === b && drawn[0][1] !== drawn[1][1], settings: cells("pair-settings"), numbers: cells("pair-numbers"), lines: data.map((d) => d.label), colours: new Set(data.map((d) => d.borderColor)).size,
               maps: [...document.querySelectorAll("#pair-maps figure")].map((f) => f.dataset.shown), loss: [by(a).val_loss, by(b).val_loss], title: document.title }; })()""")
    names = {row[0] for row in seen["settings"]}
    if not {"ablation", "extra"} <= names or "context" in names or "name" in names:
        wrong.append(f"settings that differ: {sorted(names)}")
    if len(seen["lines"]) != 2 or seen["colours"] != 2 or len(seen["maps"]) != 2 or seen["maps"][0] != seen["maps"][1]:
        wrong.append(f"two runs side by side: {seen['lines']}, maps {seen['maps']}")
    if abs(float(seen["numbers"][0][1]) - seen["loss"][0]) > 0.01 or abs(float(seen["numbers"][0][2]) - seen["loss"][1]) > 0.01:
        wrong.append(f"numbers side by side: {seen['numbers']}, the losses are {seen['loss']}")
    if not seen["own"]:
        wrong.append("the maps side by side are not those of the two runs")
    if seen["title"] == "broken":
        wrong.append("a name has acted on the page")


def check_words(browser, wrong):
    """Every heading of a Sink or an alpha says raw or proxy; what was not measured is named, and is no zero."""
    seen = browser.evaluate("""({ headings: [...document.querySelectorAll("section.group h4")].map((h) => h.textContent).filter((text) => /Sink|\u03b1/.test(text)),
      notes: [...document.querySelectorAll("section.group[data-index]")].map((s) => [...s.querySelectorAll("details.more .note")].map((n) => n.textContent).join(" ")),
      kurtosis: [...document.querySelectorAll("section.group[data-index]")].map((s) => s.querySelector("[data-norm=hidden_kurtosis] figcaption p")?.textContent) })""")
    silent = [text for text in seen["headings"] if "raw" not in text and "proxy" not in text]
    if silent or len(seen["headings"]) < 12:
        wrong.append(f"of {len(seen['headings'])} headings of sinks and alphas these say neither raw nor proxy: {silent}")
    if "Not measured in these runs: Kurtosis, Largest element, Value share by layer, Loss by position." not in seen["notes"][0] or seen["kurtosis"][0]:
        wrong.append(f"what no run was measured for is not named: {seen['notes'][0]!r}")
    if "Not measured" in seen["notes"][1] or not re.search(r"3 for a normal distribution\. Unknown for [^,]+\.$", seen["kurtosis"][1] or ""):
        wrong.append(f"the run that was not measured is not named: {seen['kurtosis'][1]!r}")


def same_table(one, other):
    """Whether two CSV texts hold the same words and, to seven digits, the same numbers."""
    one, other = (list(csv.reader(text.splitlines())) for text in (one, other))
    def same(a, b):
        if a == b:
            return True
        try:
            return abs(float(a) - float(b)) <= 1e-7 * max(abs(float(a)), abs(float(b)))
        except ValueError:
            return False
    return len(one) == len(other) and all(len(a) == len(b) and all(map(same, a, b)) for a, b in zip(one, other))


def saved_csv(browser):
    """(name, text) of every CSV button of the page as it opens."""
    browser.evaluate("""window.saved = []; window.saving = window.download; window.download = (blob, name) => window.saved.push(blob.text().then((text) => [name, text]))""")
    return browser.evaluate("""(async () => {
      document.querySelectorAll("main > section.group:not(#two-runs) button[data-save=csv]").forEach((b) => b.click());
      await new Promise((r) => setTimeout(r, 300)); window.download = window.saving; return Promise.all(window.saved); })()""")


def check_csv(browser, wrong):
    """Every figure has a table of its values, each with another name but for figures of one run or of two tasks."""
    made = saved_csv(browser)
    short = [name for name, text in made if text.count("\n") < 2]
    if len(made) < 45 or short:
        wrong.append(f"of {len(made)} tables of figures these have no values: {short}")
    print(f"csv: {len(made)} files, {sum(len(text) for _, text in made)} bytes")


def check_seeds(browser, url, wrong):
    """Seeds are one line: their mean, least and greatest at every step that one of them has, by hand. The first has 4, 2 and 1 at the steps 2, 6
    and 8, so 3.5 at step 3; the second 5 at 3, 4 at 6 and nothing after it. No field is a formula."""
    browser.events.clear()
    browser.open(url)
    tables = dict(saved_csv(browser))
    expected = "\n".join(["line,step,value,least,greatest,runs"] + [f'"softmax, 2 seeds",{row}' for row in (
        "2,4,4,4,1", "3,4.25,3.5,5,2", "6,3,2,4,2", "8,1,1,1,1")])
    if not same_table(tables.get("text-val_loss.csv", ""), expected):
        wrong.append(f"the line of two seeds: {tables.get('text-val_loss.csv')!r}, not {expected!r}")
    if "\n'=baseline" not in tables.get("text-scatter.csv", ""):
        wrong.append(f"a name is a formula: {tables.get('text-scatter.csv')!r}")
    wrong += complaints(browser.events)


def check_speed(browser, url, wrong):
    """Maps of 512 tokens: how soon something is seen, and the longest time in which the page does not answer."""
    browser.call("Page.addScriptToEvaluateOnNewDocument", source="window.longest = 0; new PerformanceObserver((list) => "
                 "list.getEntries().forEach((e) => { window.longest = Math.max(window.longest, e.duration); }))"
                 '.observe({ type: "longtask", buffered: true })')
    browser.call("Emulation.setDeviceMetricsOverride", width=1280, height=900, deviceScaleFactor=1, mobile=False)
    browser.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "light"}])
    browser.events.clear()
    browser.open(url)
    seen = browser.evaluate("""(async () => {
      for (let y = 0; y < document.documentElement.scrollHeight; y += 700) { scrollTo({ top: y, behavior: "instant" }); await new Promise((r) => setTimeout(r, 40)); }
      const figure = document.querySelector("figure.heads"), canvas = figure.querySelector("canvas"), copy = document.createElement("canvas");
      [copy.width, copy.height] = [canvas.width, canvas.height];
      const pen = copy.getContext("2d", { willReadFrequently: true }), at = (x, y) => [...pen.getImageData(x, y, 1, 1).data.slice(0, 3)].join();
      pen.drawImage(canvas, 0, 0);
      const column = Math.round(38 * devicePixelRatio), paint = performance.getEntriesByType("paint").find((e) => e.name === "first-contentful-paint");
      return { longest: window.longest, paint: paint ? paint.startTime : null, caption: figure.querySelector(".chosen").textContent,
               of: report.runs[0].maps.of, stripe: at(column, column + 300), beside: at(column + 20, column + 300) }; })()""")
    if seen["of"] != 512 or "First" in seen["caption"]:
        wrong.append(f"the long map is not whole: {seen}")
    if not 0 < sum(map(int, seen["stripe"].split(","))) < sum(map(int, seen["beside"].split(","))):  # darker, in the light theme
        wrong.append("the stripe of the first column of a long map is lost")
    # A machine that does other things: generous, and still far from what freezes.
    if not seen["paint"] or seen["paint"] > 5000 or seen["longest"] > 1500:
        wrong.append(f"long maps are slow: first paint {seen['paint']} ms, longest task {seen['longest']} ms")
    wrong += complaints(browser.events)
    print(f"512 tokens: first paint {seen['paint']:.0f} ms, longest task {seen['longest']:.0f} ms")


def check_downloads(browser, wrong):
    """PNG and SVG of every kind of figure, saved by the page's own buttons."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        browser.call("Browser.setDownloadBehavior", behavior="allow", downloadPath=name)
        kinds = browser.evaluate("""[...document.querySelectorAll("figure")].map((f) => f.className + f.dataset.kind + (f.dataset.curve || f.dataset.norm || f.dataset.bars || ""))""")
        count, figures, last = 0, len(kinds), 0
        for at in [kinds.index(kind) for kind in dict.fromkeys(kinds)][::5 if "SINK_SHORT_TESTS" in os.environ else 1]:
            for kind in ("svg", "png"):
                time.sleep(max(0, last + 0.15 - time.monotonic()))  # Chromium drops downloads that follow too quickly
                last = time.monotonic()
                browser.evaluate(f'document.querySelectorAll("figure")[{at}].querySelector("button[data-save={kind}]").click()')
                count += 1
                deadline = time.monotonic() + (20 if not wrong else 2)
                while time.monotonic() < deadline:  # one by one: files of one name would be numbered
                    done = [f for f in folder.iterdir() if f.suffix == "." + kind]
                    if done and done[0].stat().st_size and not list(folder.glob("*.crdownload")):
                        break
                    time.sleep(0.02)
                else:
                    wrong.append(f"figure {at}: no {kind} file came")
                    continue
                check_picture(browser, done[0], at, wrong)
                done[0].unlink()
        print(f"downloads: {count} of {figures} figures")
    browser.call("Browser.setDownloadBehavior", behavior="default")


def check_picture(browser, file, at, wrong):
    if file.suffix == ".png":
        png = file.read_bytes()
        width, height = struct.unpack(">II", png[16:24]) if png[:8] == b"\x89PNG\r\n\x1a\n" else (0, 0)
        if width < 700 or height < 400:
            wrong.append(f"figure {at}: {file.name} is {width} x {height}")
        elif at % 5 == 0 and commonest_colour(browser, png) > 0.985:
            wrong.append(f"figure {at}: {file.name} is nearly blank")
        return
    try:
        root = xml.etree.ElementTree.parse(file).getroot()
    except xml.etree.ElementTree.ParseError as error:
        wrong.append(f"figure {at}: {file.name} is no XML: {error}")
        return
    tags = [element.tag.rsplit("}", 1)[1] for element in root.iter()]
    if tags[0] != "svg" or tags.count("path") < 12 or tags.count("text") < 6:
        wrong.append(f"figure {at}: {file.name} has {tags.count('path')} paths and {tags.count('text')} texts")
    text = file.read_text()
    if "NaN" in text or "undefined" in text or "[object" in text:
        wrong.append(f"figure {at}: {file.name} holds what is no number")


def check_heads_once(browser, wrong):
    """A figure of a given head, the second of a single run, has no tiles: those of the first show the same values."""
    tiles = browser.evaluate('["", \' data-layer="0" data-head="0"\'].map((head) => framedHeads(0, 0, "", "", head).includes("All heads"))')
    if tiles != [True, False]:
        wrong.append(f"tiles of a figure that chooses its head, and of one whose head is given: {tiles}")


def check_use(browser, url, scheme):
    """A reader at 1280 x 900."""
    wrong = []
    browser.call("Emulation.setDeviceMetricsOverride", width=1280, height=900, deviceScaleFactor=1, mobile=False)
    browser.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
    browser.events.clear()
    browser.open(url)
    browser.evaluate('document.documentElement.style.scrollBehavior = "auto"')
    for check in (check_csv, check_words, check_heads_once, check_filter, check_scatter, check_pair, check_pairs, check_colours, check_palette, check_terms, check_choices, check_tooltip, check_extra_key,
                  check_zoom, check_downloads):
        try:
            if check is check_pairs:
                browser.evaluate("scrollTo(0, 0)")
                time.sleep(0.5)
                check(browser, 900, wrong)
            elif check is not check_downloads or scheme == "light":
                check(browser, wrong)
        except (RuntimeError, KeyError, IndexError, StopIteration, TypeError) as error:
            wrong.append(f"{check.__name__}: {error!r}"[:300])
    wrong += complaints(browser.events)
    print(f"use, {scheme}: {len(wrong)} complaints")
    return [f"use, {scheme}: {text}" for text in wrong]


def main():
    if len(sys.argv) not in (4, 5):
        sys.exit("usage: browser_check.py REPORT.html SEEDS.html LONG.html [FOLDER_FOR_SCREENSHOTS]")
    report, seeds, long = (pathlib.Path(path).resolve() for path in sys.argv[1:4])
    for path in (report, seeds, long):
        if not path.exists():
            sys.exit(f"browser_check: error: no such file: {path}")
    program = find_chromium("browser_check")
    shots = pathlib.Path(sys.argv[4]) if len(sys.argv) == 5 else None
    if shots:
        shots.mkdir(parents=True, exist_ok=True)
    size = report.stat().st_size
    short = "SINK_SHORT_TESTS" in os.environ
    wrong = [f"the page has {size} bytes, more than 5 MB"] if size >= 5_000_000 else []
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        browser = Browser(program, folder)
        try:
            for scheme in ("light",) if short else ("light", "dark"):
                wrong += check_use(browser, report.as_uri(), scheme)
            for name, width, height, scheme, phone in VIEWS[4:] if short else VIEWS:
                wrong += check_view(browser, report.as_uri(), name, width, height, scheme, phone, shots)
            check_seeds(browser, seeds.as_uri(), wrong)
            check_speed(browser, long.as_uri(), wrong)
        finally:
            browser.close()
    for text in wrong:
        print("browser_check: " + text, file=sys.stderr)
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
