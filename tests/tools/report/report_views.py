#!/usr/bin/env python3
"""A run's page of `sinklab view` inside the report: trains for a moment, draws the run without any text given, and compares the
page with the tokens and weights of evaluation.json; the report holds that page, in a frame where it is drawn.

    report_views.py BUILD_FOLDER     exit 77: no Chromium here, the frame was not looked at
"""

import base64
import html
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from browser_check import Browser, complaints  # noqa: E402

wrong = []


def expect(holds, what):
    if not holds:
        wrong.append(what)


def command(*words):
    return subprocess.run([str(w) for w in words], check=True, capture_output=True, text=True).stdout


def check_page(page, evaluation):
    """The page shows the first validation sequence, with the weights that the evaluation stored."""
    data = json.loads(re.search(r'id="view-data">(.*?)</script>', page, re.S)[1])
    maps = evaluation["maps"]
    T = len(maps["tokens"][0])
    expect(data["tokens"] == maps["tokens"][0], f"the page has the tokens {data['tokens'][:9]}, not {maps['tokens'][0][:9]}")
    for h, text in enumerate(data["maps"]):
        stored = maps["weights"][0][h // maps["heads"]][h % maps["heads"]]
        rows, at = base64.b64decode(text), 0
        for i in range(T):
            exact = stored[i] + [0] * (T - len(stored[i]))
            for j in range(i + 1):
                shown = (rows[at] / 255) ** 2
                at += 1
                expect(abs(shown - exact[j]) < 0.005, f"head {h}, query {i}, key {j}: {shown} on the page, {exact[j]} in the evaluation")


def check_frame(report, folder):
    """The frame is drawn when its details are opened, and has no access to the report."""
    program = next((p for p in map(shutil.which, ("chromium", "chromium-browser", "google-chrome")) if p), None)
    if not program:
        print("report_views: no Chromium here (Debian package chromium): the frame was not looked at", file=sys.stderr)
        return False
    browser = Browser(program, str(folder))
    try:
        browser.open(report.as_uri())
        browser.events.clear()
        browser.call("Target.setAutoAttach", autoAttach=True, waitForDebuggerOnStart=False, flatten=True)
        browser.evaluate("for (const d of document.querySelectorAll('#views, #views details')) d.open = true; "
                         "document.querySelector('iframe.view').scrollIntoView()")
        ready = ""
        for _ in range(100):
            # A frame without access is a separate target.
            frames = [e["params"]["sessionId"] for e in browser.events if e["method"] == "Target.attachedToTarget"]
            if frames:
                page, browser._session = browser._session, frames[-1]
                ready = browser.evaluate("(document.documentElement.dataset.ready || '') + ' ' + window.origin")
                browser._session = page
            if ready.startswith("yes"):
                break
            time.sleep(0.1)
            browser.evaluate("0")  # receives events
        expect(ready == "yes null", f"the frame is not drawn, or not apart from the report: `{ready}`")
        wrong.extend(complaints(browser.events))
    finally:
        browser.close()
    return True


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        folder = pathlib.Path(folder)
        run, report = folder / "runs/one", folder / "report.html"
        command(build / "train_baseline", "--config", "tools/quickstart_bigram.toml", "--steps", 20, "--warmup", 2, "--run", run)
        command(build / "sinklab", "view", run)
        page = (run / "view.html").read_text()
        check_page(page, json.loads((run / "evaluation.json").read_text()))
        command(build / "report", folder / "runs", "--out", report)
        frames = re.findall(r'<iframe [^>]*sandbox="allow-scripts"[^>]*srcdoc="([^"]*)"', report.read_text())
        expect([html.unescape(f) for f in frames] == [page], "the report does not hold the page of the run")
        looked = check_frame(report, folder)
        expect("earlier step" not in report.read_text(), "the report says that a new page is outdated")
        os.utime(run / "checkpoint.h5")
        command(build / "report", folder / "runs", "--out", report)
        expect("earlier step" in report.read_text(), "the report does not say that training continued after the page")
        for text, what in (("<!doctype html>\n<p>Another page.</p>", "a file that is no page of view"),
                           (page + " " * 4000001, "a page of more than 4 MB")):
            (run / "view.html").write_text(text)
            command(build / "report", folder / "runs", "--out", report)
            expect("<iframe" not in report.read_text(), f"{what} is in the report")
        expect("too large for this page" in report.read_text(), "the report does not name the page that it leaves out")
    for text in wrong[:20]:
        print("report_views: " + text, file=sys.stderr)
    print(f"report_views: {len(wrong)} complaints")
    sys.exit(1 if wrong else 0 if looked else 77)


main()
