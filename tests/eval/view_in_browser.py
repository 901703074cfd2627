#!/usr/bin/env python3
"""Opens a page of `sinklab view` in headless Chromium and uses it: weights are those of `explain`, predictions those of
`lens`, every map is drawn, keys and choices do what they say, nothing is wider than a phone, nothing complains.

    view_in_browser.py BUILD_FOLDER [FOLDER_FOR_SCREENSHOTS]     exit 77: no Chromium here
"""

import json
import pathlib
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "tools/report"))
from browser_check import Browser, complaints, find_chromium  # noqa: E402

MODELS = pathlib.Path(__file__).parents[1] / "golden/open/models"
MODEL = MODELS / "llama.gguf"
# Models whose patterns a page computes, and how many tokens: grouped queries; windows; windows and an extra logit.
COMPUTED = [("llama.gguf", 32), ("gemma3_gguf.gguf", 32), ("gpt_oss_gguf.gguf", 60)]
STATE = """(() => { const d = document.documentElement; const text = (id) => document.getElementById(id).textContent;
  return { ready: d.dataset.ready || "", errors: d.dataset.errors || "", name: text("name"), cell: text("cell"),
           sentence: text("sentence"), heads: document.querySelectorAll("#grid button").length,
           chosen: document.querySelectorAll("#grid [aria-selected=true]").length,
           drawn: [...document.querySelectorAll("#grid canvas")].filter((c) => c.width === smallSide).length,
           tokens: document.querySelectorAll("#tokens button").length, lines: document.querySelectorAll("#lines line").length,
           tracks: document.querySelectorAll("#tracks rect").length, wide: d.scrollWidth - d.clientWidth }; })()"""


def command(build, *words):
    return subprocess.run([build / "sinklab", *map(str, words)], check=True, capture_output=True, text=True).stdout


def check_computed(build, browser, folder, expect):
    """A page that computes its patterns from queries and keys: its weights are within the error that it states of `explain`'s."""
    tokens, page = folder / "many.txt", folder / "computed.html"
    for name, count in COMPUTED:
        tokens.write_text(" ".join(str(1 + 7 * t % 29) for t in range(count)) + "\n")
        model = MODELS / name
        command(build, "view", model, "--tokens", tokens, "--patterns", "computed", "--out", page, "--force")
        browser.open(page.as_uri())
        expect(browser.evaluate(f"n === {count} && !document.documentElement.dataset.errors"), f"{name}: no page")
        heads, per_layer = browser.evaluate("count"), browser.evaluate("data.heads")
        for n in range(heads):
            error = browser.evaluate(f"data.computed.error[{n}]")
            expect(error < 0.02, f"{name}, head {n}: the page states an error of {error}")
            for query in (0, count // 2, count - 1):
                row = browser.evaluate(f"[...weightsOf({n}).slice({count * query}, {count * query + count})]")
                explained = json.loads(command(build, "explain", model, "--tokens", tokens, "--json", "--layer", n // per_layer,
                                               "--head", n % per_layer, "--query", query))
                exact = {key["j"]: key["a"] for key in explained["keys"]}
                for j in range(count):
                    expect(abs(row[j] - exact.get(j, 0)) <= 1.01 * error + 2e-5,
                           f"{name}, head {n}, query {query}, key {j}: {row[j]} on the page, {exact.get(j, 0)} in explain, error {error}")
    browser.evaluate("choose(0); setQuery(50, 20)")
    for key, query in (("ArrowUp", 49), ("ArrowDown", 50)):
        browser.evaluate(f"dispatchEvent(new KeyboardEvent('keydown', {{ key: '{key}', shiftKey: true }}))")
        expect(browser.evaluate("query") == query, f"Shift and {key} choose no query")
    browser.key("z", "z")
    expect(browser.evaluate("JSON.stringify([enlarged, drawnPart()])") == '[true,{"side":40,"row":20,"column":0}]',
           "z does not enlarge the map around the chosen query and key")


def check_long(build, browser, folder, expect):
    """The page of a long text, which a short one has with `--patterns windows`: its weights are within the relative error that
    it states of `explain`'s, its pooled maps and what keys receive are sums of them, and scrolling moves the window."""
    tokens, page = folder / "many.txt", folder / "long.html"
    for name, count in COMPUTED:
        tokens.write_text(" ".join(str(1 + 7 * t % 29) for t in range(count)) + "\n")
        model = MODELS / name
        summary = json.loads(command(build, model, "--tokens", tokens, "--json"))
        names = [f"{head['layer']}.{head['head']}" for head in summary["heads"]]
        command(build, "view", model, "--tokens", tokens, "--patterns", "windows", "--out", page, "--force", "--heads", *names)
        browser.open(page.as_uri())
        expect(browser.evaluate(f"T === {count} && document.documentElement.dataset.ready === 'yes' && !document.documentElement.dataset.errors"),
               f"{name}: no page of a long text")
        expect(browser.evaluate("isFull.size") == len(names), f"{name}: not all heads are in full")
        received = {}
        for n, head in enumerate(summary["heads"]):
            weights = browser.evaluate(f"[...windowOf({n}, 0, 0, T, T)]")
            error = browser.evaluate(f"isFull.get({n}).error")
            expect(error < 0.01, f"{name}, head {names[n]}: the page states an error of {error}")
            rows = [weights[i * count:(i + 1) * count] for i in range(count)]
            for query in (0, count // 2, count - 1):
                explained = json.loads(command(build, "explain", model, "--tokens", tokens, "--json", "--layer", head["layer"],
                                               "--head", head["head"], "--query", query))
                exact = {key["j"]: key["a"] for key in explained["keys"]}
                for j in range(count):
                    expect(abs(rows[query][j] - exact.get(j, 0)) <= error * exact.get(j, 0) + 2e-6,
                           f"{name}, head {names[n]}, query {query}, key {j}: {rows[query][j]} on the page, {exact.get(j, 0)} in explain")
            corner = browser.evaluate(f"[...windowOf({n}, 5, 3, 4, 7)]")
            expect(corner == [rows[i][j] for i in range(5, 9) for j in range(3, 10)], f"{name}, head {names[n]}: a window differs from the whole")
            cell, side = browser.evaluate("cell"), browser.evaluate("side")
            pooled = browser.evaluate(f"[...pooledOf({n})]")
            for x in range(side):
                for y in range(x + 1):
                    block = [rows[i][y * cell:(y + 1) * cell] for i in range(x * cell, min(count, (x + 1) * cell))]
                    mean = sum(map(sum, block)) / len(block)
                    expect(abs(pooled[x * side + y] - mean) < 0.006, f"{name}, head {names[n]}, cell {x}, {y}: {pooled[x * side + y]}, {mean}")
            sums = received.setdefault(head["layer"], [0] * count)
            for row in rows:
                for j, weight in enumerate(row):
                    sums[j] += weight / count
        for row, sums in enumerate(received.values()):
            shown = browser.evaluate(f"[...received[{row}]]")
            per_layer = len(names) / len(received)
            worst = max(abs(a - b / per_layer) for a, b in zip(shown, sums))
            expect(worst < 1e-4, f"{name}: what keys receive differs by {worst} from the sums of the weights")
    # The last page: zoomed, scrolled, a head and a query chosen.
    browser.evaluate("choose(1); zoom(1)")
    expect(browser.evaluate("[chosen, pixels].join()") == "1,14", "no larger tokens")
    browser.evaluate("new Promise((done) => { byId('window').scrollTo(28, 42); setTimeout(done, 300); })")
    part = browser.evaluate("JSON.stringify(drawnPart())")
    expect('"i0":3,"j0":2' in part and "Queries 4 to" in browser.evaluate("byId('cell').textContent"), f"the window did not scroll: {part}")
    browser.evaluate("go(40, 10)")
    expect(browser.evaluate("byId('row-note').textContent").startswith("Query") and browser.evaluate("byId('best').children.length") > 0,
           "the chosen query shows no keys")
    command(build, "view", MODELS / COMPUTED[0][0], "--tokens", tokens, "--patterns", "windows", "--out", page, "--force", "--heads", "1.0")
    browser.open(page.as_uri())
    expect(browser.evaluate("[isFull.size, chosen, byId('window-box').hidden].join()") == f"1,{browser.evaluate('data.heads')},false",
           "--heads 1.0 does not show that head in full alone")
    browser.evaluate("choose(0)")
    expect(browser.evaluate("byId('window-box').hidden && byId('pooled-only').textContent.startsWith('This head is shown pooled only')"),
           "a head that is not in full has a window")
    many = folder / "over_1024.txt"
    many.write_text(" ".join(str(1 + 7 * t % 29) for t in range(1030)) + "\n")
    command(build, "view", MODEL, "--tokens", many, "--out", folder / "auto.html")
    browser.open((folder / "auto.html").as_uri())
    expect(browser.evaluate("T === 1030 && isFull.size > 0 && isFull.get(chosen).rule === 'largest alpha_1'"), "1030 tokens have no page of a long text")
    for words in (["--heads", "0.99"], ["--patterns", "stored", "--heads", "0.0"], ["--lens-tokens", "5"]):
        refused = subprocess.run([build / "sinklab", "view", MODEL, "--tokens", many, "--out", folder / "none.html", *words], capture_output=True, text=True)
        expect(refused.returncode == 2 and "error: " in refused.stderr and not (folder / "none.html").exists(), f"{words} are not refused")


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    shots = pathlib.Path(sys.argv[2]) if len(sys.argv) > 2 else None
    program = find_chromium("view_in_browser")
    wrong = []

    def expect(holds, what):
        if not holds:
            wrong.append(what)

    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        folder = pathlib.Path(folder)
        tokens, page = folder / "tokens.txt", folder / "view.html"
        tokens.write_text("3 1 4 1 5 9 2 6 5 3\n")
        command(build, "view", MODEL, "--tokens", tokens, "--out", page)
        summary = json.loads(command(build, MODEL, "--tokens", tokens, "--json"))
        browser = Browser(program, str(folder))
        try:
            browser.call("Emulation.setDeviceMetricsOverride", width=1280, height=900, deviceScaleFactor=1, mobile=False)
            browser.events.clear()
            browser.open(page.as_uri())
            count = len(summary["heads"])
            for _ in range(100):  # a busy machine draws late what is in view
                state = browser.evaluate(STATE)
                if state["drawn"] == count:
                    break
                time.sleep(0.1)
            expect(state["ready"] == "yes" and not state["errors"], f"the script did not reach its end: {state['errors']}")
            expect(state["heads"] == state["drawn"] == count, f"{state['drawn']} of {count} maps are drawn")
            expect(state["chosen"] == 1 and state["tokens"] == 10 and state["tracks"] == 20, f"drawn: {state}")
            expect(state["lines"] > 0 and f"in {round(summary['sink_1'] / 100 * count)} of {count} heads" in state["sentence"],
                   f"the sentence or the lines are wrong: {state}")
            for n, head in enumerate(summary["heads"]):
                for query in (0, 4, 9):
                    row = browser.evaluate(f"[...weightsOf({n}).slice({10 * query}, {10 * query + 10})]")
                    explained = json.loads(command(build, "explain", MODEL, "--tokens", tokens, "--json", "--layer",
                                                   head["layer"], "--head", head["head"], "--query", query))
                    for key in explained["keys"]:
                        expect(abs(row[key["j"]] - key["a"]) < 0.004, f"head {n}, query {query}, key {key['j']}: {row[key['j']]}"
                               f" on the page, {key['a']} in the JSON of explain")
            lens = json.loads(command(build, "lens", MODEL, "--tokens", tokens, "--json"))["lens"]
            for query in range(10):
                browser.evaluate(f"setQuery({query})")
                shown = browser.evaluate("[...document.querySelectorAll('#lens button')].map((b) => b.title)")
                cells = browser.evaluate(f"data.lens.cells.map((row) => [data.lens.words[row[{query}][0]], row[{query}][1]])")
                expect(len(shown) == len(lens), f"{len(shown)} layers in the logit lens, {len(lens)} in the JSON of lens")
                for layer, (title, (word, probability)) in enumerate(zip(shown, cells)):
                    best = lens[layer][query]
                    expect(word == best["text"] and f"\u201c{word}\u201d" in title and abs(probability - best["probability"]) < 1e-4,
                           f"lens after {layer}, token {query}: {title} {probability}, {best} in the JSON of lens")
            browser.evaluate("document.querySelectorAll('#lens button')[2].click()")
            expect(browser.evaluate(STATE)["name"].startswith("Layer 1"), "a click on a layer of the lens does not choose it")
            browser.evaluate("choose(0)")
            browser.key("ArrowRight")
            expect(browser.evaluate(STATE)["name"] == "Layer 0, head 1", "the right arrow does not choose the next head")
            at = browser.evaluate("(() => { const b = document.querySelector('#grid [data-head=\"3\"]').getBoundingClientRect();"
                                  " return [b.x + b.width / 2, b.y + b.height / 2]; })()")
            for x, y, name in ((*at, "Layer 0, head 3 (a click keeps it)"), (at[0], 2, "Layer 0, head 1")):
                browser.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)
                browser.evaluate("new Promise((done) => setTimeout(done, 200))")
                expect(browser.evaluate(STATE)["name"] == name, f"the mouse at {x}, {y} does not show {name}")
            expect(browser.evaluate(STATE)["chosen"] == 1, "the mouse chose a head")
            browser.evaluate("document.querySelectorAll('#tokens button')[5].click()")
            expect(browser.evaluate(STATE)["cell"].startswith("Query \u201c9\u201d (6)"), "a click on a token chooses no query")
            browser.evaluate("document.getElementById('order').value = 'sink'; drawGrid()")
            alphas = browser.evaluate("[...document.querySelectorAll('#grid button')].map((b) => data.alpha[b.dataset.head])")
            expect(alphas == sorted(alphas, reverse=True), "the heads are not sorted by alpha_1")
            check_computed(build, browser, folder, expect)
            check_long(build, browser, folder, expect)
            for scheme in ("light", "dark"):
                for width in (390, 1440):
                    browser.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
                    browser.call("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=width < 500)
                    for shown in (page, folder / "long.html"):
                        browser.open(shown.as_uri())
                        wide = browser.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
                        expect(wide <= 0, f"{shown.name} is {wide} pixels wider than {width}")
                        if shots:
                            import base64
                            picture = browser.call("Page.captureScreenshot", format="png")["data"]
                            (shots / f"{shown.stem}_{scheme}_{width}.png").write_bytes(base64.b64decode(picture))
            wrong += complaints(browser.events)
        finally:
            browser.close()
    for text in wrong:
        print("view_in_browser: " + text, file=sys.stderr)
    print(f"view_in_browser: {len(wrong)} complaints")
    sys.exit(1 if wrong else 0)


main()
