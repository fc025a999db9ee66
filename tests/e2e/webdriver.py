"""A browser driven through chromedriver (the W3C WebDriver protocol) with Python's standard library alone."""
import base64
import json
import shutil
import subprocess
import time
import urllib.error
import urllib.request

BROWSERS = ["chromium", "chromium-browser", "google-chrome"]
ELEMENT = "element-6066-11e4-a52e-4f735466cecf"
KEYS = {"End": "\ue010", "Home": "\ue011", "Left": "\ue012", "Up": "\ue013", "Right": "\ue014", "Down": "\ue015",
        "Tab": "\ue004", "Enter": "\ue007", "Escape": "\ue00c"}


class WebDriverError(Exception):
    pass


def missing_programs():
    """What is not installed of what a Browser needs."""
    browser = next((path for path in map(shutil.which, BROWSERS) if path), None)
    driver = shutil.which("chromedriver")
    return [name for name, path in (("chromium", browser), ("chromium-driver", driver)) if path is None]


class Browser:
    """A headless Chromium; a context manager. Failures raise WebDriverError."""

    def __init__(self, folder, width=1280, height=900, dark=False):
        # The address to talk to is printed; port 0 lets the driver choose.
        self._driver = subprocess.Popen([shutil.which("chromedriver"), "--port=0"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self._session = None
        try:
            port = self._port()
            self._root = f"http://127.0.0.1:{port}"
            arguments = ["--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu", "--hide-scrollbars",
                         f"--user-data-dir={folder / 'profile'}", f"--window-size={width},{height}"]
            if dark:
                arguments.append("--blink-settings=preferredColorScheme=0")
            options = {"binary": next(path for path in map(shutil.which, BROWSERS) if path), "args": arguments}
            capabilities = {"browserName": "chrome", "goog:chromeOptions": options,
                            "goog:loggingPrefs": {"browser": "ALL", "performance": "ALL"}}
            answer = self._call("POST", "/session", {"capabilities": {"alwaysMatch": capabilities}})
            self._session = answer["sessionId"]
            self._call("POST", self._path("/timeouts"), {"script": 30000, "pageLoad": 30000})
            self.open("about:blank")
            self.requests()  # Of the page that a new tab shows.
        except BaseException:
            self.close()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        if self._session is not None:
            try:
                self._call("DELETE", self._path(""))
            except WebDriverError:
                pass
            self._session = None
        self._driver.terminate()
        self._driver.wait(20)
        self._driver.stdout.close()

    def open(self, address):
        self._call("POST", self._path("/url"), {"url": address})

    def address(self):
        return self._call("GET", self._path("/url"))

    def run(self, script, *arguments):
        """The value of a function body run in the page."""
        return self._call("POST", self._path("/execute/sync"), {"script": script, "args": list(arguments)})

    def wait(self, condition, what, seconds=20):
        """Until the expression is true in the page; its value."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            value = self.run(f"return {condition}")
            if value:
                return value
            time.sleep(0.05)
        raise WebDriverError(f"after {seconds} s still not: {what}")

    def find(self, selector):
        return self._call("POST", self._path("/element"), {"using": "css selector", "value": selector})[ELEMENT]

    def click(self, selector, seconds=5):
        """As a person would: if the page moves under the pointer, once more."""
        end = time.monotonic() + seconds
        while True:
            try:
                return self._call("POST", self._path(f"/element/{self.find(selector)}/click"), {})
            except WebDriverError as error:
                if "click intercepted" not in str(error) or time.monotonic() > end:
                    raise
            time.sleep(0.1)

    def press(self, selector, *keys):
        """Types into an element; keys are texts or names such as End."""
        text = "".join(KEYS.get(key, key) for key in keys)
        self._call("POST", self._path(f"/element/{self.find(selector)}/value"), {"text": text})

    def hover(self, selector):
        move = {"type": "pointerMove", "duration": 0, "x": 0, "y": 0, "origin": {ELEMENT: self.find(selector)}}
        self._call("POST", self._path("/actions"), {"actions": [{"type": "pointer", "id": "mouse", "parameters": {"pointerType": "mouse"}, "actions": [move]}]})

    def console(self):
        """What the page logged since last asked."""
        return [f"{entry['level']}: {entry['message']}" for entry in self._log("browser")]

    def requests(self):
        """The address of every request since last asked."""
        messages = [json.loads(entry["message"])["message"] for entry in self._log("performance")]
        return [message["params"]["request"]["url"] for message in messages if message["method"] == "Network.requestWillBeSent"]

    def picture(self):
        """The window as PNG bytes."""
        return base64.b64decode(self._call("GET", self._path("/screenshot")))

    def command(self, name, **parameters):
        """A command of the DevTools protocol."""
        return self._call("POST", self._path("/goog/cdp/execute"), {"cmd": name, "params": parameters})

    def _log(self, kind):
        return self._call("POST", self._path("/se/log"), {"type": kind})

    def _path(self, rest):
        return f"/session/{self._session}{rest}"

    def _port(self):
        for line in self._driver.stdout:
            if "started successfully on port" in line:
                return int(line.rstrip().rstrip(".").rsplit(" ", 1)[1])
        raise WebDriverError("chromedriver does not start")

    def _call(self, method, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self._root + path, data, {"Content-Type": "application/json"}, method=method)
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            value = json.load(error)["value"]
            raise WebDriverError(f"{path.rsplit('/', 1)[-1]}: {value['error']}: {value['message'].splitlines()[0]}") from None
        except OSError as error:
            raise WebDriverError(f"chromedriver does not answer: {error}") from None
