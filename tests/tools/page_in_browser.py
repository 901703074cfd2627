#!/usr/bin/env python3
"""Builds the page of sink.cpp, opens it in headless Chromium and uses it: the build gives the same bytes twice; the models train, and their values
are those of the native program; softmax gets a sink, sigmoid none; the row's arithmetic is that of the program; controls do what they say; nothing
is wider than a phone, nothing leaves the page.

    page_in_browser.py [FOLDER]     exit 77: no Chromium here, or no WebAssembly in clang

With FOLDER it trains to the end and writes screenshots there, among them frames.png, the README's picture. With SINK_SHORT_TESTS it trains 200 steps,
before there is a sink."""
import base64
import ctypes
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/tools/report"))
from browser_check import Browser, complaints, find_chromium  # noqa: E402

T, C, H = 32, 32, 2
LARGEST_PAGE = 400_000
SHORT = "SINK_SHORT_TESTS" in os.environ
STEPS = 200 if SHORT else 1200  # after which softmax has its sink
VIEWS = [("desktop_light", 1280, 800, "light"), ("desktop_dark", 1280, 800, "dark"), ("phone_light", 390, 844, "light"),
         ("phone_dark", 390, 844, "dark"), ("phone_small", 360, 640, "light"), ("tablet", 768, 1024, "light")]
# What the page has of model m at an entry of its history.
ENTRY = """(() => { const s = models[%d].history[%d];
  return { measured: [s.loss, s.alpha, s.sink, s.extraAlpha, s.extraSink], a: [...s.a], heads: [...s.heads], extra: s.extra && [...s.extra],
           gates: s.gates && [...s.gates], memory: s.memory }; })()"""
# The largest difference between the rows that the page computes from q, k and v, and the pattern of the program.
ROWS = """(() => { let worst = 0;
  for (const head of [0, 1]) { state.head = head;
    for (const m of [0, 1]) for (let i = 0; i < T; ++i) { const { a, names, sum } = rowOf(m, i), s = shownOf(m);
      names.forEach((name, n) => { const is = name === "*" ? s.extra[head * T + i] : weight(s, i, n); if (!(Math.abs(a[n] - is) <= worst)) worst = Math.abs(a[n] - is); }); } }
  state.head = 0; return worst; })()"""
LOOK = """(() => { const root = document.documentElement, named = (e) => (e.labels && e.labels.length) || e.textContent.trim() || e.getAttribute("aria-label");
  const blank = [...document.querySelectorAll("canvas")].filter((c) => { const copy = new OffscreenCanvas(c.width, c.height), pen = copy.getContext("2d", { willReadFrequently: true });
    pen.drawImage(c, 0, 0); return new Set(new Uint32Array(pen.getImageData(0, 0, c.width, c.height).data.buffer)).size < 8; });
  return { wide: root.scrollWidth - root.clientWidth, errors: root.dataset.errors || "", blank: blank.length,
           unnamed: [...document.querySelectorAll("button, select, input, canvas, svg")].filter((e) => !named(e)).map((e) => e.outerHTML.slice(0, 60)),
           outside: [...document.querySelectorAll("canvas, svg, p, h1, h2, h3, button, select, .tiles b")].filter((e) => e.getBoundingClientRect().right > root.clientWidth + 1)
             .map((e) => e.tagName + " " + e.textContent.slice(0, 30)) }; })()"""


def native(folder):
    """sink_page.cpp, compiled for this machine as a library."""
    library = folder / "page.so"
    subprocess.run(["g++", "-O2", "-std=c++20", "-shared", "-fPIC", "-w", "-I", ROOT, ROOT / "tools/one_file/page/sink_page.cpp", "-o", library], check=True)
    program = ctypes.CDLL(str(library))
    for name in ("measure", "pattern", "extra", "heads", "gates"):
        getattr(program, "page_" + name).restype = ctypes.POINTER(ctypes.c_double)
    return program


def native_values(program, design, steps):
    program.page_start(*design)
    for step in range(1, steps + 1):
        program.page_step(step)
    found = {"measured": program.page_measure(4)[:5]}
    program.page_run()
    found |= {"a": program.page_pattern()[:H * T * T], "heads": program.page_heads()[:T * 3 * C]}
    return found | ({"extra": program.page_extra()[:H * T]} if design[1] else {}) | ({"gates": program.page_gates()[:T * H]} if design[2] else {})


def difference(page, program):
    """The largest; infinite if the page has a value that is no number, or none."""
    worst = 0.0
    for name, values in program.items():
        if page[name] is None or len(page[name]) != len(values):
            return float("inf")
        for one, other in zip(page[name], values):
            if one is None or not abs(one - other) <= worst:
                worst = abs(one - other) if one is not None else float("inf")
    return worst


def wait_for(browser, step):
    """Until both models are there; an error if they make no step for a minute."""
    last, since = -1, time.monotonic()
    while (now := browser.evaluate("models.every((m) => m.history.length) ? lastStep() : -1")) < step:
        if now != last:
            last, since = now, time.monotonic()
        if time.monotonic() - since > 60:
            raise TimeoutError(f"the page made no step after {last}: {browser.evaluate('document.documentElement.dataset.errors')}")
        time.sleep(0.05)


def set_view(browser, width, height, scheme, ratio=None):
    browser.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=ratio or (2 if width < 600 else 1), mobile=width < 600)
    browser.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
    browser.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    browser.evaluate("drawNow()")


def screenshot(browser, box):
    return base64.b64decode(browser.call("Page.captureScreenshot", format="png", captureBeyondViewport=True, clip=box | {"scale": 1})["data"])


def frame(browser):
    """The sentence and the two patterns, as the README shows them."""
    return screenshot(browser, browser.evaluate("""(() => { const top = document.getElementById("now").getBoundingClientRect().top + scrollY - 6,
      bottom = document.querySelector(".model canvas").getBoundingClientRect().bottom + scrollY + 8; return { x: 0, y: top, width: innerWidth, height: bottom - top }; })()"""))


def check_use(browser, expect):
    """Mouse and keys."""
    box = browser.evaluate("""(() => { const c = document.querySelector('.model[data-model="0"] canvas'); c.scrollIntoView({ block: "center" });
      const r = c.getBoundingClientRect(); return { x: r.x, y: r.y, cell: geometry.cell, left: geometry.left + geometry.extra, top: geometry.top }; })()""")
    browser.mouse("mouseMoved", box["x"] + box["left"] + 3.5 * box["cell"], box["y"] + box["top"] + 10.5 * box["cell"])
    expect(browser.evaluate("document.querySelector('.stat').textContent === `query 11, key 4: ${weight(shownOf(0), 10, 3).toFixed(3)}`"),
           "the weight below the pointer is not told")
    browser.click(box["x"] + box["left"] + 19.5 * box["cell"], box["y"] + box["top"] + 20.5 * box["cell"])
    browser.evaluate("drawNow()")
    expect(browser.evaluate("[state.query, state.key]") == [20, 19], "a click on a row and key does not choose them")
    weight = browser.evaluate("num(weight(shownOf(0), 20, 19))")
    expect(weight in browser.evaluate("document.querySelector('.row[data-model=\"0\"] .a-tiles').textContent"), f"the row does not show the weight {weight}")
    expect("is a trigger" in browser.evaluate("document.getElementById('row-sentence').textContent"), "query 21 is not told to be a trigger")
    for key, what, value in (("ArrowDown", "state.query", 21), ("ArrowUp", "state.query", 20), ("h", "state.head", 1), ("h", "state.head", 0),
                             ("Home", "state.step", 0), ("ArrowRight", "state.step", 20), ("ArrowLeft", "state.step", 0), ("End", "state.step", STEPS)):
        browser.key(key, key if len(key) == 1 else None)
        browser.evaluate(f"dispatchEvent(new KeyboardEvent('keydown', {{ key: '{key}' }})); drawNow()" if key in ("Home", "End") else "drawNow()")
        found = browser.evaluate(what)
        expect(found == value or (key == "End" and found >= STEPS), f"key {key}: {what} is {found}")
    browser.evaluate("$('step').value = 200; $('step').dispatchEvent(new Event('input')); drawNow()")
    expect(browser.evaluate("[shownOf(0).step, $('at').textContent]") == [200, "200"], "the slider does not show step 200")
    expect("Step 200." in browser.evaluate("$('now').textContent"), "the sentence is not of the slider's step")
    browser.evaluate("goTo(Infinity); drawNow()")
    browser.evaluate("for (const d of document.querySelectorAll('details')) d.open = true; drawNow()")
    expect(browser.evaluate("document.querySelectorAll('.row .vectors rect').length") >= 2 * 5 * 16, "the vectors are not drawn")


def main():
    shots = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else None
    chromium = find_chromium("page_in_browser")
    wrong = []

    def expect(holds, what):
        if not holds:
            wrong.append(what)

    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        folder = pathlib.Path(folder)
        page, again = folder / "sink.html", folder / "again.html"
        build = [sys.executable, "-B", ROOT / "tools/one_file/page/build_page.py"]
        code = subprocess.run([*build, page]).returncode
        if code != 0:
            return code
        subprocess.run([*build, again], check=True, stdout=subprocess.DEVNULL)
        expect(page.read_bytes() == again.read_bytes(), "the same build gives other bytes")
        expect(page.stat().st_size <= LARGEST_PAGE, f"the page has {page.stat().st_size} bytes")
        expect(not re.search(r"(src|href)=[\"'](?!#|data:)", page.read_text()), "the page loads or links to something else")
        program = native(folder)
        browser = Browser(chromium, str(folder / "profile"))
        try:
            set_view_now = lambda name, width, height, scheme: set_view(browser, width, height, scheme)
            browser.open(page.as_uri())
            wait_for(browser, 0)
            set_view_now(*VIEWS[0])
            expect(browser.evaluate("lastStep()") == 0 and "Press start" in browser.evaluate("$('now').textContent"), "it trains before start")
            begun = time.monotonic()
            browser.evaluate("$('start').click()")
            for step in (*sorted({200, STEPS}), *([2000] if shots else [])):
                wait_for(browser, step)
                if step == 200 and shots:
                    browser.evaluate("goTo(200)")
                    set_view(browser, 440, 900, "light", 1.5)
                    frames = [frame(browser)]
                    set_view_now(*VIEWS[0])
                    browser.evaluate("goTo(Infinity)")
            print(f"{browser.evaluate('lastStep()')} steps of both models: {time.monotonic() - begun:.1f} s")
            if not shots:
                browser.evaluate("$('start').click()")  # pauses
            expect(browser.evaluate("state.running") is False, "the training does not stop")
            for m, operation in enumerate((0, 1)):
                entry = browser.evaluate(ENTRY % (m, 5))
                off = difference(entry, native_values(program, (operation, 0, 0), 100))
                print(f"model {m} after 100 steps: {off:.1e} from the native program")
                expect(off <= 1e-6, f"model {m} after 100 steps is {off} from the native program")
                late = browser.evaluate(ENTRY % (m, STEPS // 20))
                expect(late["memory"] <= max(entry["memory"], 16 << 20), f"model {m}: the memory grew from {entry['memory']} to {late['memory']} bytes")
                sink = late["measured"][2]
                expect(SHORT or (sink > 90 if m == 0 else sink == 0), f"Sink_1 of model {m} is {sink} % after {STEPS} steps")
            browser.evaluate("goTo(Infinity); drawNow()")
            expect(SHORT or "an attention sink" in browser.evaluate("$('now').textContent"), "the sentence does not tell of the sink")
            off = browser.evaluate(ROWS)
            expect(off <= 1e-6, f"rows computed by the page are {off} from the program's pattern")
            if shots:
                browser.evaluate("drawNow()")
                set_view(browser, 440, 900, "light", 1.5)
                frames.append(frame(browser))
                (shots / "frames.png").write_bytes(side_by_side(browser, frames))
            for view in VIEWS:
                set_view_now(*view)
                if shots:
                    height = browser.evaluate("document.documentElement.scrollHeight")
                    (shots / f"{view[0]}.png").write_bytes(screenshot(browser, {"x": 0, "y": 0, "width": view[1], "height": height}))
                seen = browser.evaluate(LOOK)
                expect(seen["wide"] <= 0 and not seen["outside"], f"{view[0]}: wider than the window by {seen['wide']}: {seen['outside'][:3]}")
                expect(not seen["blank"] and not seen["unnamed"] and not seen["errors"], f"{view[0]}: {seen}")
            set_view_now(*VIEWS[0])
            check_use(browser, expect)
            # Another design: the right model alone trains again.
            for design, address in (((3, 0, 1), "#softmax1+gate"), ((0, 1, 0), "#softmax+extra"))[SHORT:]:
                browser.evaluate("[$('operation').value, $('extra').checked, $('gate').checked] = [%d, %d, %d]; $('gate').dispatchEvent(new Event('change'))" % design)
                expect(browser.evaluate("models[0].history.length") > STEPS // 20, "softmax trains again when the other design changes")
                wait_for(browser, 100)
                browser.key(" ", " ")  # pauses
                expect(browser.evaluate("[state.running, location.hash]") == [False, address], f"{address}: space does not pause, or the address has no design")
                off = difference(browser.evaluate(ENTRY % (1, 5)), native_values(program, design, 100))
                expect(off <= 1e-6, f"{address} after 100 steps is {off} from the native program")
                off = browser.evaluate("goTo(100); drawNow(); " + ROWS)
                expect(off <= 1e-6, f"{address}: rows computed by the page are {off} from the program's pattern")
            wrong.extend(text for text in complaints(browser.events) if not text.startswith("request: blob:"))
        finally:
            browser.close()
    for text in wrong:
        print("page_in_browser: " + text, file=sys.stderr)
    return int(bool(wrong))


def side_by_side(browser, frames):
    """Two PNG files in one, drawn by the browser."""
    urls = ["data:image/png;base64," + base64.b64encode(png).decode() for png in frames]
    return base64.b64decode(browser.evaluate("""(async (urls) => { const images = await Promise.all(urls.map((url) => new Promise((done) => {
        const image = new Image(); image.onload = () => done(image); image.src = url; })));
      const gap = 40, canvas = document.createElement("canvas"); canvas.width = images[0].width + images[1].width + gap;
      canvas.height = Math.max(...images.map((i) => i.height)); const pen = canvas.getContext("2d"); pen.fillStyle = "#fff";
      pen.fillRect(0, 0, canvas.width, canvas.height); pen.drawImage(images[0], 0, canvas.height - images[0].height);
      pen.drawImage(images[1], images[0].width + gap, canvas.height - images[1].height); return canvas.toDataURL().split(",")[1]; })(%s)""" % urls))


sys.exit(main())
