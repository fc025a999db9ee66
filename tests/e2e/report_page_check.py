#!/usr/bin/env python3
"""Opens the page that `semfuse reproduce` writes in a headless browser and reads what it shows.

  report_page_check.py BIN_DIR [REPORT]     REPORT is a report.html; by default a small one is made

Exits with 77 if no Chromium is installed.
"""
import html
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

BROWSERS = ["chromium", "chromium-browser", "google-chrome"]
QUICK = ["corpus.train=96", "corpus.val=32", "training.epochs=2", "model.width=16", "model.layers=1", "model.heads=2",
         "model.feed_forward=16", "model.feature_head=4"]
SECTIONS = ["Table 1", "Figure 1", "Which claims hold", "Against the authors", "Hard control", "Held-out adjectives",
            "Cross-entropy of single words", "Samples", "What fusion costs"]
failures = []


def expect(good, what):
    if not good:
        failures.append(what)


def made_report(bin_dir, folder):
    settings = [word for assignment in QUICK for word in ("--set", assignment)]
    command = [bin_dir / "semfuse", "reproduce", "--quick", "--out", folder / "paper", *settings]
    result = subprocess.run(command, capture_output=True, text=True)
    if result.returncode != 0:
        sys.exit(f"semfuse reproduce exits with {result.returncode}: {result.stderr.strip()}")
    return folder / "paper" / "report.html"


def opened(browser, report, folder):
    """The document as the browser has it, and what it logged."""
    command = [browser, "--headless", "--disable-gpu", "--no-sandbox", "--disable-dev-shm-usage",
               f"--user-data-dir={folder / 'profile'}", "--enable-logging=stderr", "--dump-dom", report.resolve().as_uri()]
    result = subprocess.run(command, capture_output=True, text=True, timeout=120)
    expect(result.returncode == 0, f"the browser exits with {result.returncode}: {result.stderr.strip()[-500:]}")
    return result.stdout, result.stderr


def check(dom, log):
    for line in log.splitlines():
        expect(":CONSOLE" not in line, f"the page logs: {line.strip()}")
    expect("<html" in dom and dom.rstrip().endswith("</html>"), "the browser shows no whole page")
    expect(dom.count("<table") >= 8, f"there are {dom.count('<table')} tables, fewer than 8")
    expect(dom.count("<svg") == 2, f"there are {dom.count('<svg')} plots, not 2")
    for plot in re.findall(r"<svg.*?</svg>", dom, re.S):
        expect("<text" in plot and re.search(r"<(polyline|circle)", plot), "a plot is empty")
    for table in re.findall(r"<table.*?</table>", dom, re.S):
        expect(table.count("<tr") >= 2, f"a table has no row: {table[:100]}")
    for outside in re.findall(r"""(?:src|href)\s*=\s*["'][^"'#]*""", dom):
        expect(False, f"the page refers to something outside: {outside}")

    text = html.unescape(re.sub(r"<[^>]*>", "\n", re.sub(r"<style.*?</style>", "", dom, flags=re.S)))
    headings = re.findall(r"<h2>(.*?)</h2>", dom, re.S)
    for section in SECTIONS:
        expect(any(heading.startswith(section) for heading in headings), f"there is no section \"{section}\"")
    for word in ("nan", "inf", "undefined", "null"):
        expect(not re.search(rf"\b{word}\b", text, re.I), f"the page says \"{word}\"")
    # A coordinate that is no number draws nothing, and the browser does not say so.
    expect(not re.search(r"=\"[^\"]*\b(nan|inf)\b", dom, re.I), "a coordinate is not a number")


def main():
    bin_dir = pathlib.Path(sys.argv[1]).resolve()
    browser = next((path for path in map(shutil.which, BROWSERS) if path), None)
    if browser is None:
        print(f"SKIPPED: none of {', '.join(BROWSERS)} is installed, so the report was not opened")
        return 77
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        report = pathlib.Path(sys.argv[2]) if len(sys.argv) > 2 else made_report(bin_dir, folder)
        check(*opened(browser, report, folder))
    for failure in failures:
        print(failure)
    print(f"the report was opened in {pathlib.Path(browser).name}, {len(failures)} complaints")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
