#!/usr/bin/env python3
"""Asks axe-core about the page that `semfuse serve` shows, in its states, light and dark, wide and narrow.

  accessibility_check.py BIN_DIR CACHE_DIR [ORIGIN]     npm puts axe-core into CACHE_DIR; ORIGIN is a server that runs already

Serious and critical violations are failures, others are printed. Exits with 77 if Chromium, its driver or npm is not
installed, or if npm cannot get axe-core.
"""
import contextlib
import pathlib
import shutil
import subprocess
import sys
import tempfile

from playground_check import QUICK
from serving import Server, trained
from webdriver import Browser, WebDriverError, missing_programs

AXE = "axe-core@4.14.0"
SIZES = [("wide", 1280, 900), ("narrow", 360, 780)]
failures = []


def axe_source(cache):
    path = cache / "node_modules" / "axe-core" / "axe.min.js"
    if not path.exists():
        cache.mkdir(parents=True, exist_ok=True)
        command = ["npm", "install", "--silent", "--no-audit", "--no-fund", "--no-save", "--prefix", cache, AXE]
        subprocess.run(command, capture_output=True, timeout=120)
    return path.read_text() if path.exists() else None


def ask(browser, source, where):
    # Words appear by fading in; axe sees their colours when they have.
    browser.run("return Promise.all(document.getAnimations().map((animation) => animation.finished))")
    browser.run(source)
    violations = browser.run("return axe.run().then(({ violations }) => violations.map(({ id, impact, help, nodes }) => ({ id, impact, help, "
                             "nodes: nodes.map(({ target, failureSummary }) => `${target} ${failureSummary}`) })))")
    for each in violations:
        line = f"{where}: {each['impact']}: {each['id']}: {each['help']}: {each['nodes'][0]}"
        if each["impact"] in ("serious", "critical"):
            failures.append(line)
        else:
            print(f"not serious: {line}")


def idle(browser):
    browser.wait("!document.body.classList.contains('playing') && document.querySelectorAll('#text-0 .word').length > 0", "the text is whole")


def look(browser, source, origin, where):
    browser.open(origin + "/")
    idle(browser)
    browser.press("#knobs section[aria-label=polarity] input[type=range]", "End")
    idle(browser)
    browser.click("#text-0 .sentence:last-child > .word:nth-of-type(2)")
    ask(browser, source, f"{where}, a word explained")
    choose = "const choice = document.querySelector('#grammar [data-part=choice]'); choice.value = arguments[0]; choice.dispatchEvent(new Event('change'))"
    browser.run("for (const part of document.querySelectorAll('details')) part.open = true;" + choose, "built-in two-clause")
    browser.wait("document.querySelector('#grammar-text').value.includes('root')", "the built-in grammar can be read")
    idle(browser)
    ask(browser, source, f"{where}, a built-in grammar")
    browser.run(choose, "own")
    browser.press("#grammar-text", "root ::= (")
    browser.wait("document.querySelector('#grammar mark')", "the grammar's error is marked")
    browser.run("document.querySelector('#compare').click()")
    browser.wait("document.querySelectorAll('#text-1 .word').length > 0", "the second side writes")
    idle(browser)
    ask(browser, source, f"{where}, side by side with a wrong grammar")
    browser.run("document.querySelector('#key-form').hidden = false; document.querySelector('#code').click()")
    ask(browser, source, f"{where}, code")


def main():
    bin_dir = pathlib.Path(sys.argv[1]).resolve()
    missing = missing_programs() + ([] if shutil.which("npm") else ["npm"])
    source = None if missing else axe_source(pathlib.Path(sys.argv[2]).resolve())
    if source is None:
        print(f"SKIPPED: {', '.join(missing) + ' not installed' if missing else 'npm cannot get axe-core'}, so nobody looked for barriers in the page")
        return 77
    with contextlib.ExitStack() as stack:
        folder = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory()))
        try:
            if len(sys.argv) > 3:
                origin = sys.argv[3].rstrip("/")
            else:
                origin = f"http://127.0.0.1:{stack.enter_context(Server(bin_dir, [trained(bin_dir, folder, QUICK)])).port}"
            for scheme in ("light", "dark"):
                for size, width, height in SIZES:
                    (folder / f"{scheme}-{size}").mkdir()
                    with Browser(folder / f"{scheme}-{size}", width, height, scheme == "dark") as browser:
                        browser.command("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=size == "narrow")
                        look(browser, source, origin, f"{scheme}, {size}")
        except WebDriverError as error:
            failures.append(str(error))
    for failure in failures:
        print(failure)
    print(f"{AXE} looked at the page, {len(failures)} serious violations")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
