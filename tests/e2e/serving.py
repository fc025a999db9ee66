"""A tiny model, a server of it, and plain HTTP clients: what the checks of `semfuse serve` share."""
import http.client
import json
import os
import pathlib
import re
import signal
import socket
import struct
import subprocess
import tempfile
import time

TINY = ["corpus.train=64", "corpus.val=20", "model.width=8", "model.layers=2", "model.heads=2", "model.feed_forward=12",
        "model.feature_head=4", "training.epochs=12", "training.batch=32", "training.learning_rate=0.02"]


def trained(bin_dir, folder, settings=TINY):
    """A run folder with a model of three knobs; of TINY in a second."""
    run = pathlib.Path(folder) / "tiny"
    words = [word for assignment in settings for word in ("--set", assignment)]
    subprocess.run([bin_dir / "semfuse", "train", "--quiet", "--out", run, *words], check=True, capture_output=True)
    return run


def imported(bin_dir, folder):
    """A tiny Llama of made-up numbers, as `semfuse import` writes it; words of a and b."""
    folder = pathlib.Path(folder)
    vocabulary, width, context = 265, 32, 20_000
    count = vocabulary * width + width + 4 * width * width + width + 3 * width * width + width + context * width // 2
    numbers = [((7 * i + 13) % 31 - 15) / 16 for i in range(count)]
    (folder / "model.bin").write_bytes(struct.pack("<7i", width, width, 1, 2, 2, vocabulary, context) + struct.pack(f"<{count}f", *numbers))
    words = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256)), " ", "a", "b", " a", "ab", " b"]
    pieces = b"".join(struct.pack("<fi", -float(i), len(word)) + word.encode() for i, word in enumerate(words))
    (folder / "tokenizer.bin").write_bytes(struct.pack("<i", 8) + pieces)
    subprocess.run([bin_dir / "semfuse", "import", folder / "model.bin", "--out", folder / "backbone", "--quiet"], check=True, capture_output=True)
    return folder / "backbone"


def adapted(bin_dir, backbone, knob, sides):
    """An adapter of the backbone whose knob chooses between two texts."""
    data, run = backbone.parent / f"{knob}.tsv", backbone.parent / knob
    data.write_text(f"{knob}\ttext\n" + "".join(f"{label}\t{text}\n" for label, text in zip(("positive", "negative"), sides) for _ in range(30)))
    subprocess.run([bin_dir / "semfuse", "adapt", backbone, "--data", data, "--val", data, "--out", run, "--rank", "2", "--set", "training.epochs=40", "--set", "training.learning_rate=0.02",
                    "--no-calibrate", "--quiet"], check=True, capture_output=True)
    return run


# A text with it goes on until it has all its tokens.
ENDLESS = {"logit_bias": {"2": -100}, "seed": 1}


def scoring(num_prompts, words):
    """Asks for the logarithms of long prompts, which takes the longer the longer they are: 16 of 9,000 words 5 to 20 seconds."""
    return {"prompt": ["Alice reviews " * (words // 2)] * num_prompts, "echo": True, "logprobs": 0, "max_tokens": 1, "seed": 1}


class Server:
    """`semfuse serve`, on a free port; ends with the block."""

    def __init__(self, bin_dir, models, *options):
        self.log = tempfile.TemporaryFile("w+")
        port = [] if "--port" in options else ["--port", "0"]
        command = [bin_dir / "semfuse", "serve", *models, *port, *options]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=self.log, text=True)
        line = self.process.stdout.readline()
        found = re.search(r"http://\S+:(\d+)", line)
        if not found:
            self.process.wait()
            self.log.seek(0)
            raise RuntimeError(f"the server did not start: {line}{self.log.read()}")
        self.port = int(found.group(1))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.process.stdout.close()
        self.log.close()

    def stop(self, patience=15):
        """SIGTERM; the exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(patience)

    def connect(self, timeout=30):
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)

    def ask(self, method, path, body=None, **headers):
        """Status, headers and body; JSON is read."""
        connection = self.connect()
        if body is not None and not isinstance(body, (bytes, str)):
            body = json.dumps(body)
        if body is not None:
            headers.setdefault("Content-Type", "application/json")
        connection.request(method, path, body, headers)
        answer = connection.getresponse()
        text = answer.read()
        connection.close()
        if answer.headers.get("Content-Type", "").startswith("application/json"):
            text = json.loads(text)
        return answer.status, answer.headers, text

    def post(self, path, body, **headers):
        status, _, answer = self.ask("POST", path, body, **headers)
        return status, answer

    def complete(self, **body):
        status, answer = self.post("/v1/completions", body)
        assert status == 200, answer
        return answer

    def stream(self, path="/v1/completions", **body):
        """The events of a streamed answer, one by one."""
        connection = self.connect()
        try:
            connection.request("POST", path, json.dumps({**body, "stream": True}), {"Content-Type": "application/json"})
            answer = connection.getresponse()
            if answer.status != 200:
                raise AssertionError(answer.read())
            with answer:
                for line in answer:
                    if line.startswith(b"data: ") and line.strip() != b"data: [DONE]":
                        yield json.loads(line[6:])
        finally:
            connection.close()

    def raw(self, data, patience=20.0, half_close=False):
        """Sends bytes as they are; all that comes back before the server closes."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=patience) as sock:
            received = b""
            try:
                sock.sendall(data)
                if half_close:
                    sock.shutdown(socket.SHUT_WR)
                while True:
                    part = sock.recv(65536)
                    if not part:
                        break
                    received += part
            except (ConnectionError, BrokenPipeError):
                pass
            return received

    def processor_seconds(self):
        fields = pathlib.Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def memory(self):
        """Resident bytes."""
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(r"VmRSS:\s+(\d+)", status).group(1)) * 1024

    def threads(self):
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(r"Threads:\s+(\d+)", status).group(1))

    def metric(self, name):
        _, _, text = self.ask("GET", "/metrics")
        return float(re.search(rf"^semfuse:{name} (\S+)$", text.decode(), re.M).group(1))


def wait_until(condition, patience=20.0):
    end = time.monotonic() + patience
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True
