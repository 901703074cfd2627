#!/usr/bin/env python3
"""Opens pages of `eval_* explain --html` in headless Chromium and uses them: the numbers are those of the JSON, every step
draws, keys and player do what they say, nothing is wider than a phone, nothing complains. With SINK_SHORT_TESTS one page.

    explain_in_browser.py BUILD_FOLDER [FOLDER_FOR_SCREENSHOTS]     exit 77: no Chromium here
"""

import base64
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "tools/report"))
from browser_check import Browser, complaints, find_chromium  # noqa: E402

CASES = {  # ablation: more flags. Softmax with an extra key, grouped, window and prefix; an operation with r apart from g
    "bias_kv": "--layer 1 --heads 4 --kv-heads 2 --head 3 --window 4 --prefix 1",
    "op_softpick": "--layer 1",
}
STATE = """(() => { const d = document.documentElement.dataset, box = document.getElementById("detail");
  return { step: Number(d.step), stage: d.stage, query: d.query, focus: d.focus, errors: d.errors || "", ready: d.ready || "",
           numbers: document.getElementById("numbers").textContent, drawn: box.querySelectorAll("rect, circle, b").length,
           bars: document.querySelectorAll("#bars rect").length, play: document.getElementById("play").textContent,
           stages: document.querySelectorAll("#stages button").length, last: Number(document.getElementById("step").max),
           current: document.querySelectorAll("#stages [aria-current]").length }; })()"""
TABLE = """(() => { const rows = [...document.querySelectorAll("#table tr")].map((r) => [...r.cells].map((c) => c.textContent));
  return { rows, scalars: document.getElementById("scalars").textContent }; })()"""


def shown(x):
    """A number as the page prints it."""
    if x == 0:
        return "0.0000"
    if 0.01 <= abs(x) < 1e4:
        text = f"{x:.4f}"
    else:
        digits, power = f"{x:.2e}".split("e")
        text = f"{digits}e{int(power):+d}"
    return text.replace("-", "\u2212")


def same(text, x):
    """Whether the page's text is x, of which it has seven digits: the last one shown may round the other way."""
    plain = text.replace("\u2212", "-")
    digits, power = (plain.split("e") + ["0"])[:2]
    unit = 10.0 ** (int(power) - len(digits.split(".")[1]))
    return text == shown(x) or abs(float(plain) - x) <= 0.5001 * unit


def check_numbers(browser, explained, wrong):
    table = browser.evaluate(TABLE)
    names, rows = table["rows"][0], table["rows"][1:]
    if len(rows) != len(explained["keys"]):
        wrong.append(f"the table has {len(rows)} keys, the JSON {len(explained['keys'])}")
        return
    for name in ("s", "cosine", "x", "g", "r", "w", "a", "share", "da", "ds_by_g", "ds_by_S", "ds"):
        column = names.index(name)
        for row, key in zip(rows, explained["keys"]):
            if not same(row[column], key[name]):
                wrong.append(f"{name} of key {row[0]} is {row[column]} on the page, {key[name]} in the JSON")
    backward = explained["backward"]
    scalars = dict(part.split(" = ") for part in table["scalars"].split(", "))
    for name, value in {**{n: explained[n] for n in ("m", "S", "z", "row_sum", "o_norm")}, "D": backward["D"]}.items():
        if not same(scalars[name], value):
            wrong.append(f"{name} is {scalars[name]} on the page, {value} in the JSON")


def check_steps(browser, explained, wrong):
    """Every step by the right arrow key, from the first to the last, with what it must say."""
    most = explained["keys"][explained["strongest"]]
    needed = {"1. Scores: scale": most["s"], "2. Shift": explained["m"], "3. The sum": explained["S"], "4. Weights": most["a"],
              "3\u2032. What the sum owes": explained["backward"]["D"], "3\u2032. To the scores": most["ds"]}
    seen, before = [], browser.evaluate(STATE)
    for step in range(before["last"] + 1):
        state = browser.evaluate(STATE)
        if state["step"] != step or state["current"] != 1:
            wrong.append(f"step {step} is {state['step']}, {state['current']} stages are current")
        if not state["drawn"] or state["bars"] < len(explained["keys"]):
            wrong.append(f"{state['stage']}: nothing drawn")
        if state["stage"] in needed and shown(needed[state["stage"]]) not in state["numbers"]:
            wrong.append(f"{state['stage']} does not say {shown(needed[state['stage']])}: {state['numbers']}")
        if not seen or seen[-1] != state["stage"]:
            seen.append(state["stage"])
        browser.key("ArrowRight")
    if len(seen) != state["stages"] or state["stages"] != 14:
        wrong.append(f"{len(seen)} stages were seen, {state['stages']} are listed")
    browser.key("ArrowLeft")
    if browser.evaluate(STATE)["step"] != before["last"] - 1:
        wrong.append("the left arrow does not step back")
    browser.key("Home")
    if browser.evaluate(STATE)["step"] != 0:
        wrong.append("Home does not go to the first step")


def check_use(browser, explained, wrong):
    browser.key(" ", " ")
    time.sleep(0.7)
    playing = browser.evaluate(STATE)
    browser.key(" ", " ")
    paused = browser.evaluate(STATE)
    time.sleep(0.6)
    later = browser.evaluate(STATE)
    if playing["step"] < 1 or playing["play"] != "Pause" or later["step"] != paused["step"] or later["play"] != "Play":
        wrong.append(f"playing and pausing: {playing['step']} {playing['play']}, {paused['step']}, {later['step']} {later['play']}")
    focus = later["focus"]
    browser.key("ArrowDown")
    if browser.evaluate(STATE)["focus"] == focus:
        wrong.append("the down arrow does not choose another key")
    browser.evaluate('(() => { const s = document.getElementById("query"); s.value = s.options[1].value; s.dispatchEvent(new Event("change")); })()')
    state = browser.evaluate(STATE)
    rows = len(browser.evaluate(TABLE)["rows"]) - 1
    extra = any(key["j"] < 0 for key in explained["keys"])
    if state["query"] != "1" or rows != 2 + extra or "Query 1 " not in browser.evaluate("document.title"):
        wrong.append(f"query 1 has {rows} keys: {state['query']}")
    for stage in range(state["stages"]):
        browser.evaluate(f'document.querySelectorAll("#stages button")[{stage}].click()')
        if not browser.evaluate(STATE)["drawn"]:
            wrong.append(f"stage {stage} of another query: nothing drawn")


def check_looks(browser, url, shots, name, wrong):
    grounds = []
    for view, width, height, scheme in (("desk", 1280, 900, "light"), ("phone", 390, 844, "dark")):
        browser.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 500)
        browser.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme},
                                                             {"name": "prefers-reduced-motion", "value": "reduce"}])
        browser.open(url)
        for stage in (0, 3, 5, 11):
            browser.evaluate(f'document.querySelectorAll("#stages button")[{stage}].click()')
            over = browser.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
            if width < 500 and browser.evaluate('document.querySelector(".now").clientWidth') < 340:
                wrong.append("the stage does not have a phone's whole width")
            if over > 0:
                wrong.append(f"{view}: {over} px wider than the window in stage {stage}")
            if shots:
                picture = browser.call("Page.captureScreenshot", format="png")["data"]
                (shots / f"{name}_{view}_{stage}.png").write_bytes(base64.b64decode(picture))
        grounds.append(browser.evaluate("getComputedStyle(document.body).backgroundColor"))
        if browser.evaluate('getComputedStyle(document.querySelector("#bars rect")).transitionDuration') not in ("0s", "auto"):
            wrong.append("bars move where less motion is asked for")
    if grounds[0] == grounds[1]:
        wrong.append("dark and light have the same ground")


OVERLAPS = """(() => { const overlaps = [], by = 2;
  for (const drawing of document.querySelectorAll("#bars svg, #detail svg")) {
    const texts = [...drawing.querySelectorAll("text")].map((t) => [t.textContent, t.getBoundingClientRect()]);
    texts.forEach(([a, r], n) => { for (const [b, s] of texts.slice(n + 1))
      if (r.left < s.right - by && s.left < r.right - by && r.top < s.bottom - by && s.top < r.bottom - by) overlaps.push(a + " on " + b); });
  }
  return overlaps; })()"""


def check_labels(browser, build, folder):
    """No text of the drawings is printed over another: with negative bars, and with as many keys as there can be."""
    wrong, page = [], folder / "labels.html"
    browser.call("Emulation.setDeviceMetricsOverride", width=1280, height=900, deviceScaleFactor=1, mobile=False)
    for text in ("h\u00e9llo", 341 * "abc"):
        subprocess.run([build / "eval_op_softpick", "--text", text, "--backward", "--html", page, "--force"],
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
        browser.open(page.as_uri())
        for stage in (0, 1, 2, 4, 6, 7, 9, 11, 12):
            browser.evaluate(f'document.querySelectorAll("#stages button")[{stage}].click()')
            if overlaps := browser.evaluate(OVERLAPS):
                wrong.append(f"{len(text)} letters, stage {stage}: {len(overlaps)} texts on others: {overlaps[:3]}")
    return wrong


def check(browser, build, folder, ablation, shots):
    page = folder / f"{ablation}.html"
    command = [build / f"eval_{ablation}", "explain", "--text", "a <b> & c d", *CASES[ablation].split(), "--backward", "--json", "--html", page]
    explained = json.loads(subprocess.run(list(map(str, command)), capture_output=True, text=True, check=True).stdout)
    wrong = []
    if page.stat().st_size > 1_000_000:
        wrong.append(f"the page has {page.stat().st_size} bytes")
    browser.call("Emulation.setDeviceMetricsOverride", width=1280, height=900, deviceScaleFactor=1, mobile=False)
    browser.events.clear()
    browser.open(page.as_uri())
    check_numbers(browser, explained, wrong)
    check_steps(browser, explained, wrong)
    check_use(browser, explained, wrong)
    check_looks(browser, page.as_uri(), shots, ablation, wrong)
    state = browser.evaluate(STATE)
    if state["ready"] != "yes" or state["errors"]:
        wrong.append(f"the script did not reach its end: {state['errors']}")
    wrong += complaints(browser.events)
    print(f"{ablation}: {page.stat().st_size} bytes, {len(wrong)} complaints")
    return [f"{ablation}: {text}" for text in wrong]


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    shots = pathlib.Path(sys.argv[2]) if len(sys.argv) > 2 else None
    program = find_chromium("explain_in_browser")
    wrong = []
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        browser = Browser(program, folder)
        try:
            for ablation in list(CASES)[:1 if "SINK_SHORT_TESTS" in os.environ else None]:
                wrong += check(browser, build, pathlib.Path(folder), ablation, shots)
            wrong += check_labels(browser, build, pathlib.Path(folder))
        finally:
            browser.close()
    for text in wrong:
        print("explain_in_browser: " + text, file=sys.stderr)
    sys.exit(1 if wrong else 0)


main()
