#!/usr/bin/env python3
"""Plays with the page that `semfuse serve` shows, in a headless browser.

  playground_check.py BIN_DIR [ORIGIN]     ORIGIN is a server that runs already; by default one is started

Exits with 77 if Chromium or its driver is not installed.
"""
import contextlib
import json
import pathlib
import re
import sys
import tempfile
import threading
import time
import urllib.request

from serving import Server, trained
from webdriver import Browser, WebDriverError, missing_programs

# Small and short, but enough for its polarity knob to be followed.
QUICK = ["training.epochs=8", "model.width=32", "corpus.train=2000", "corpus.val=64"]
POLARITY = "#knobs section[aria-label=polarity]"
SLIDER = POLARITY + " input[type=range]"
LONG_GRAMMAR = """root ::= "Bob" clause+ " paper"
clause ::= " " @verb " the " @object ", " @intensifier " " @adjective " and he"
"""
# Moves the slider when the first words of a text are there; a driver outside would be too late for most texts.
MOVE_DURING_STREAM = """
const slider = document.querySelector(arguments[0]);
document.querySelector("#generate").click();
return new Promise((resolve) => {
  const end = Date.now() + 10000;
  const look = () => {
    if (document.querySelectorAll("#text-0 .writing .word").length > 20) {
      slider.value = arguments[1];
      slider.dispatchEvent(new Event("input"));
      setTimeout(resolve, 300);
    } else if (Date.now() < end) setTimeout(look, 1);
    else resolve();
  };
  look();
});"""
failures = []


def expect(good, what):
    if not good:
        failures.append(what)


def last_text(browser, side=0):
    return browser.run(f"""
        const words = document.querySelectorAll("#text-{side} .sentence:last-child > .word");
        return words.length === 0 ? "" : [...words[0].parentNode.childNodes]
            .filter((node) => !node.classList?.contains("turn")).map((node) => node.textContent).join("").replace(/\\s+/g, " ").trim()""")


def wait_until_idle(browser):
    browser.wait("!document.body.classList.contains('playing')", "the text is whole")


def set_pace(browser, words_per_second):
    browser.run("const box = document.querySelector('#pace input[type=number]'); box.value = arguments[0];"
                "box.dispatchEvent(new Event('change'))", words_per_second)


def choose(browser, selector, value):
    browser.run("const select = document.querySelector(arguments[0]); select.value = arguments[1];"
                "select.dispatchEvent(new Event('change'))", selector, value)


def figures(browser):
    """What is written under the polarity knob: (asked, came, sentences), None where there is no number."""
    text = browser.run(f"return document.querySelector('{POLARITY} .figures').innerText")
    found = [re.search(pattern, text) for pattern in (r"asked ([\d.]+)", r"came ([\d.]+)", r"(\d+) sentence")]
    return [float(match.group(1)) if match else None for match in found]


def check_first_sight(browser):
    browser.wait("document.querySelectorAll('#text-0 .word').length > 3", "the page writes a sentence by itself")
    wait_until_idle(browser)
    knobs = browser.run("return [...document.querySelectorAll('#knobs > section')].map((knob) => knob.getAttribute('aria-label'))")
    expect(knobs == ["polarity", "strength", "mark"], f"the rack shows {knobs}")
    expect(browser.run("return document.querySelector('#log-0').textContent") != "", "nothing is said to screen readers")
    expect(re.fullmatch(r"[\d,]+ tokens/s", browser.run("return document.querySelector('#speed').textContent")), "no speed is shown")
    expect(browser.run("return document.querySelectorAll('#explain .bar').length") > 3, "no word is explained at first")


def realised_polarity(browser, key, asked):
    """Moves the knob with a key while sentences flow, and reads what came once enough have."""
    browser.press(SLIDER, key)
    end = time.monotonic() + 60
    while time.monotonic() < end:
        now, came, sentences = figures(browser)
        if now == asked and (sentences or 0) >= 30:
            return came
        time.sleep(0.1)
    raise WebDriverError(f"after 60 s there are still no 30 sentences with polarity {asked}: {figures(browser)}")


def check_stream_follows(browser):
    set_pace(browser, 60)
    browser.click("#continuous")
    positive = realised_polarity(browser, "End", 1.0)
    negative = realised_polarity(browser, "Home", 0.0)
    browser.click("#stop")
    expect(positive > 0.6 and negative < 0.4, f"asked for polarity 1 and 0, {positive} and {negative} came")
    expect(browser.run(f"return document.querySelectorAll('{POLARITY} svg circle').length") > 50, "the plot has no dots")
    expect(browser.run(f"return document.querySelectorAll('{POLARITY} svg .asked-line').length") >= 1, "the plot does not show what was asked")
    browser.run("return new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))")  # It scrolls once a frame.
    below = browser.run("const text = document.querySelector('#text-0'); return text.scrollHeight - text.scrollTop - text.clientHeight")
    expect(below < 80, f"the newest sentence is {below} pixels out of sight")
    browser.click("#continuous")
    wait_until_idle(browser)


def check_turn(browser):
    """A move in mid-sentence keeps the words that are shown and changes what follows."""
    set_pace(browser, 4)
    browser.click("#generate")
    browser.wait("document.querySelectorAll('#text-0 .writing .word').length >= 2", "two words are shown")
    before = last_text(browser)
    browser.press(SLIDER, "End")
    browser.wait("document.querySelector('#text-0 .sentence:last-child .turn')", "the turn is marked")
    set_pace(browser, 30)
    wait_until_idle(browser)
    after = last_text(browser)
    expect(after.startswith(before) and len(after) > len(before), f"\"{before}\" went on as \"{after}\"")
    expect(browser.run("return document.querySelector('#text-0 .sentence:last-child .turn').textContent") == "polarity 1.00", "the mark of a turn says something else")
    expect(figures(browser)[2] is None, "a sentence that was turned is counted")
    browser.wait("document.querySelector('.past-text')", "the history has it")
    kept = browser.run("return document.querySelector('.past-text').textContent")
    expect(kept == last_text(browser) and " ," not in kept, f"the history has {kept!r}, which is not the sentence that was turned")


@contextlib.contextmanager
def busy_server(origin):
    """Others ask for long texts meanwhile, so that one lasts long enough to be met by a busy browser."""
    done = threading.Event()
    body = json.dumps({"grammar": LONG_GRAMMAR, "max_tokens": 2000, "n": 16}).encode()

    def ask():
        while not done.is_set():
            with urllib.request.urlopen(urllib.request.Request(f"{origin}/v1/completions", body, {"Content-Type": "application/json"})) as answer:
                answer.read()

    thread = threading.Thread(target=ask)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


def check_live_knobs(browser, origin):
    """While a long text is streamed as fast as it comes, its knobs are changed at the server."""
    browser.run("document.querySelector('#prompt').value = ''; document.querySelector('#prompt').dispatchEvent(new Event('input'))")
    set_pace(browser, 60)
    choose(browser, "#grammar [data-part=choice]", "own")
    # After "he" a verb is all but certain, so this goes on until the tokens end.
    write_grammar(browser, LONG_GRAMMAR)
    browser.wait("document.querySelector('#grammar-verdict').classList.contains('good')", "the grammar is taken")
    wait_until_idle(browser)
    browser.run("const box = [...document.querySelectorAll('#sampling input[type=number]')].at(-1); box.value = 2000; box.dispatchEvent(new Event('change'))")
    browser.requests()
    changed = False
    with busy_server(origin):
        for attempt in range(25):
            browser.run(MOVE_DURING_STREAM, SLIDER, attempt % 2)
            changed = any(re.search(r"/v1/completions/[^/]+/knobs$", address) for address in browser.requests())
            browser.run("document.querySelector('#stop').click()")
            if changed:
                break
    expect(changed, "a running stream was never told to change its knobs")
    browser.run("document.querySelector('#sampling .slider:last-child button').click()")
    choose(browser, "#grammar [data-part=choice]", "")
    wait_until_idle(browser)


def check_explanation(browser):
    set_pace(browser, 60)
    browser.click("#generate")
    wait_until_idle(browser)
    browser.hover("#text-0 .sentence:last-child > .word")
    first = browser.run("return document.querySelector('#text-0 .sentence:last-child > .word').textContent")
    browser.wait(f"document.querySelector('.explained-word').textContent === {first!r}", "the word under the pointer is explained")
    browser.click("#text-0 .sentence:last-child > .word")
    browser.run("document.querySelector('#text-0 .sentence:last-child > .word').focus()")
    browser.press("#text-0 .word:focus", "Right")
    second = browser.run("return document.querySelectorAll('#text-0 .sentence:last-child > .word')[1].textContent")
    browser.wait(f"document.querySelector('.explained-word').textContent === {second!r}", "arrow keys go from word to word")
    headings = browser.run("return [...document.querySelectorAll('#explain h3')].map((heading) => heading.textContent)")
    expect(headings == ["Probability", "Runners-up", "Features"], f"a word is explained by {headings}")
    browser.wait("document.querySelector('#explain').innerText.includes('nothing asked')", "what the knobs did to the word is shown")
    values = browser.run("return [...document.querySelectorAll('#explain section:first-child .bar-value')].map((value) => parseFloat(value.textContent))")
    expect(len(values) >= 3 and all(0 <= value <= 1 for value in values), f"the probabilities of a word are {values}")
    tinted = "return document.querySelectorAll('#text-0 .tinted').length"
    choose(browser, "#tint", "is_subject")
    some = browser.run(tinted)
    choose(browser, "#tint", "")
    expect(some > 0 and browser.run(tinted) == 0, f"{some} words are tinted by a feature, {browser.run(tinted)} by nothing")


def write_grammar(browser, text):
    browser.run("const area = document.querySelector('#grammar-text'); area.value = arguments[0]; area.dispatchEvent(new Event('input'))", text)


def check_grammar(browser):
    browser.click("#grammar summary")
    choose(browser, "#grammar [data-part=choice]", "own")
    browser.press("#grammar-text", 'root ::= @subject " waits"\nrest ::= ( "x"')
    browser.wait("document.querySelector('#grammar-verdict').classList.contains('bad')", "a wrong grammar is refused")
    verdict = browser.run("return document.querySelector('#grammar-verdict').textContent")
    expect(re.match(r"Line 2, column \d+: ", verdict), f"the error has no place: {verdict}")
    expect(browser.run("return document.querySelectorAll('#grammar mark').length") == 1, "the place is not marked")
    write_grammar(browser, 'root ::= @subject " " @verb " the paper" [.!?]')
    browser.wait("document.querySelector('#grammar-verdict').classList.contains('good')", "a good grammar is taken")
    browser.press("#grammar [data-part=trial]", "Alice reviews the paper!")
    browser.wait("document.querySelector('#grammar [data-part=trial-verdict]').classList.contains('good')", "a text of the grammar is found to be one")
    browser.press("#grammar [data-part=trial]", "?")
    browser.wait("document.querySelector('#grammar [data-part=trial-verdict]').classList.contains('bad')", "another text is found to be none")
    browser.click("#generate")
    wait_until_idle(browser)
    expect(re.fullmatch(r"\w+ \w+ the paper ?[.!?]", last_text(browser)), f"with the grammar came \"{last_text(browser)}\"")
    choose(browser, "#grammar [data-part=choice]", "built-in one-clause")
    shown = "const area = document.querySelector('#grammar-text'); return "
    browser.wait("document.querySelector('#grammar-text').value.includes('root ::=')", "a built-in grammar can be read")
    expect(browser.run(shown + "area.readOnly && area.checkVisibility()"), "the built-in grammar is hidden or can be written into")
    browser.click("#grammar [data-part=copy]")
    expect(browser.run(shown + "!area.readOnly && area.value.includes('root ::=')"), "the copy of a built-in grammar is not there")
    copy = browser.run(shown + "area.value")
    browser.click("#grammar [data-part=back]")
    expect("the paper" in browser.run(shown + "area.value"), "the own grammar that a copy took the place of is lost")
    browser.click("#grammar [data-part=back]")
    expect(browser.run(shown + "area.value") == copy, "the copy is lost when the own grammar is brought back")
    choose(browser, "#grammar [data-part=choice]", "built-in one-clause")
    browser.click("#generate")
    wait_until_idle(browser)
    expect(re.fullmatch(r"\w+ \w+ the \w+, \w+ \w+[.!?]", last_text(browser)), f"with one-clause came \"{last_text(browser)}\"")


def check_link(browser):
    browser.press("#prompt", "Carol")
    browser.press("#knobs section[aria-label=mark] input[type=range]", "End")
    wait_until_idle(browser)
    browser.click("#generate")
    wait_until_idle(browser)
    time.sleep(0.4)
    address, text = browser.address(), last_text(browser)
    browser.open("about:blank")
    browser.open(address)
    browser.wait("document.querySelectorAll('#text-0 .word').length > 3", "the link writes again")
    wait_until_idle(browser)
    expect(last_text(browser) == text, f"the link restores \"{last_text(browser)}\" for \"{text}\"")
    expect(browser.run("return document.querySelector('#prompt').value") == "Carol", "the link restores no prompt")
    expect(browser.run(f"return document.querySelector('{SLIDER}').value") == "1", "the link restores no knob")
    shares = browser.run("return [...document.querySelectorAll('#knobs section[aria-label=mark] output')].map((output) => output.textContent)")
    expect(shares == ["100 %", "0 %", "0 %"], f"the link restores marks as {shares}")
    expect(browser.run("return document.querySelector('#history .past-text').textContent") == text, "the history lacks the text")
    browser.press("#prompt", " x")
    browser.click("#history summary")
    browser.click("#history .past")
    expect(browser.run("return document.querySelector('#prompt').value") == "Carol", "the history restores no prompt")
    wait_until_idle(browser)


def check_two_sides(browser):
    browser.click("#compare")
    browser.wait("document.querySelectorAll('#text-1 .word').length > 3", "the second side writes")
    wait_until_idle(browser)
    expect(last_text(browser, 0) == last_text(browser, 1), "the same setting and seed give two texts")
    browser.press(SLIDER, "Home")
    wait_until_idle(browser)
    browser.click("#sample")
    browser.wait("document.querySelector('#sample-progress').hidden", "a hundred sentences are measured", 60)
    came = []
    for side in (0, 1):
        browser.click(f"#side-{side}")
        asked, share, sentences = figures(browser)
        came.append(share)
        expect(asked == 1 - side and sentences > 60, f"side {side} shows asked {asked} and {sentences} sentences")
    expect(came[0] - came[1] > 0.3, f"polarity 1 and 0 side by side give {came}")
    browser.click("#compare")
    wait_until_idle(browser)


def check_code(browser):
    browser.click("#code")
    code = browser.run("return document.querySelector('#code-text').textContent")
    expect("/v1/completions" in code and '"polarity"' in code, f"the code lacks the setting: {code}")
    browser.click("[data-code=python]")
    expect("from openai import OpenAI" in browser.run("return document.querySelector('#code-text').textContent"), "there is no Python")
    browser.click("#code-close")


def check_hostile_state(browser, origin):
    """Whatever a link holds is text and numbers in range."""
    prompt = "<img src=x onerror=document.title=1>"
    fragment = browser.run("""return import("/link.js").then(({ fragment_of }) => fragment_of({ model: "none", prompt: arguments[0], seed: 1e99, pace: "x",
        tint: "__proto__", max_tokens: -5, edited: 7, sides: [{ knobs: { polarity: 99, mark: { "?": -1 }, __proto__: { strength: 1 } }, guidance: 1e9 }, null, 3] }))""", prompt)
    browser.open("about:blank")
    browser.open(f"{origin}/{fragment}")
    browser.wait("!document.querySelector('#problem').hidden || document.querySelectorAll('.given').length > 0", "the page answers to a strange link")
    expect(browser.run("return document.querySelector('#prompt').value") == prompt, "the prompt is not as it was")
    expect(browser.run("return document.images.length") == 0, "a prompt became markup")
    expect(browser.run(f"return document.querySelector('{SLIDER}').value") == "1", "a knob is out of its range")
    for broken in ("#", "#%%%", "#AAAA", "#" + "A" * 5000):
        browser.open("about:blank")
        browser.open(f"{origin}/{broken}")
        browser.wait("document.querySelectorAll('#text-0 .word').length > 3", f"the page opens with {broken[:10]}")


def check_modules(browser):
    shares = browser.run("""return import("/mixer.js").then(({ rebalanced }) => [
        rebalanced({ a: 0.5, b: 0.3, c: 0.2 }, "a", 0), rebalanced({ a: 1, b: 0, c: 0 }, "a", 0.4), rebalanced({ a: 1 }, "a", 0.2)])""")
    for each in shares:
        expect(abs(sum(each.values()) - 1) < 1e-9, f"a mixture sums to {sum(each.values())}: {each}")
    expect(abs(shares[0]["b"] - 0.6) < 1e-9, f"the others do not share in proportion: {shares[0]}")


def check_phone(browser, origin):
    browser.command("Emulation.setDeviceMetricsOverride", width=360, height=780, deviceScaleFactor=1, mobile=True)
    browser.open("about:blank")
    browser.open(origin + "/")
    browser.wait("document.querySelectorAll('#text-0 .word').length > 3", "the page writes on a phone")
    browser.click("#compare")
    wait_until_idle(browser)
    browser.run("for (const part of document.querySelectorAll('details')) part.open = true")
    width = browser.run("return document.documentElement.scrollWidth")
    expect(width <= 360, f"the page is {width} wide on a phone of 360")


def check_console(browser, origin, allowed=r"^$"):
    """The log may tell of a status that the check provoked, and of a stream that ended before its knobs were changed."""
    known = rf"/knobs - Failed to load resource.* 404|{allowed}"
    for line in browser.console():
        expect(re.search(known, line), f"the page logs: {line}")
    for address in browser.requests():
        expect(address.startswith((origin + "/", "about:", "data:")), f"the page asks {address}")


def check_key(bin_dir, model, folder):
    keys = folder / "keys"
    keys.write_text("open-sesame\n")
    (folder / "second").mkdir()
    with Server(bin_dir, [model], "--api-key-file", keys) as server, Browser(folder / "second") as browser:
        browser.open(f"http://127.0.0.1:{server.port}/")
        browser.wait("!document.querySelector('#key-form').hidden", "the page asks for a key")
        browser.press("#key", "open-sesame", "Enter")
        browser.wait("document.querySelectorAll('#text-0 .word').length > 3", "the key opens")
        expect(browser.run("return document.querySelector('#key-form').hidden"), "the key is still asked for")
        check_console(browser, f"http://127.0.0.1:{server.port}", r"Failed to load resource.* 401")


def play(browser, origin):
    browser.open(origin + "/")
    check_first_sight(browser)
    expect(browser.run("return document.querySelector('#key-form').hidden"), "a key is asked for")
    check_stream_follows(browser)
    check_turn(browser)
    check_explanation(browser)
    check_grammar(browser)
    check_link(browser)
    check_two_sides(browser)
    check_code(browser)
    check_modules(browser)
    check_live_knobs(browser, origin)
    check_console(browser, origin)
    check_phone(browser, origin)
    check_hostile_state(browser, origin)
    check_console(browser, origin, r"/v1/completions - Failed to load resource.* 400")


def main():
    bin_dir = pathlib.Path(sys.argv[1]).resolve()
    missing = missing_programs()
    if missing:
        print(f"SKIPPED: {', '.join(missing)} not installed, so nobody played with the page; scripts/install-deps browser installs it")
        return 77
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        try:
            if len(sys.argv) > 2:
                with Browser(folder) as browser:
                    play(browser, sys.argv[2].rstrip("/"))
            else:
                model = trained(bin_dir, folder, QUICK)
                with Server(bin_dir, [model]) as server:
                    with Browser(folder) as browser:
                        play(browser, f"http://127.0.0.1:{server.port}")
                    expect(server.stop() == 0, "the server does not end well")
                check_key(bin_dir, model, folder)
        except WebDriverError as error:
            failures.append(str(error))
    for failure in failures:
        print(failure)
    print(f"the page was played with, {len(failures)} complaints")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
