#!/usr/bin/env python3
"""Clients that mean no good, against `semfuse serve`: each gets a status or a closed socket, and nobody else notices.

  hostile_clients_check.py BIN_DIR
"""
import json
import pathlib
import socket
import sys
import tempfile
import time
import unittest

from serving import ENDLESS, Server, trained, wait_until

BIN_DIR = pathlib.Path(sys.argv.pop(1))
FOLDER = tempfile.TemporaryDirectory()
RUN = trained(BIN_DIR, FOLDER.name)
HEAD = b"POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"


def status(answer):
    """Of raw bytes; None if the server only closed."""
    return int(answer.split()[1]) if answer.startswith(b"HTTP/1.1 ") else None


class HostileClients(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server(BIN_DIR, [RUN], "--threads", "1", "--max-tokens", "1048576", "--max-requests", "64")
        cls.expected = cls.server.complete(seed=1)["choices"][0]["text"]
        cls.memory = cls.server.memory()
        cls.threads = cls.server.threads()

    @classmethod
    def tearDownClass(cls):
        assert cls.server.stop() == 0
        cls.server.__exit__()

    def tearDown(self):
        """Nobody else notices, no thread is held, memory has not grown."""
        self.assertEqual(self.server.complete(seed=1)["choices"][0]["text"], self.expected)
        self.assertEqual(self.server.threads(), self.threads)
        self.assertLess(self.server.memory(), self.memory + 80e6)

    def sent(self, data, **options):
        return status(self.server.raw(data, **options))

    def post(self, body, **headers):
        return self.server.ask("POST", "/v1/completions", body, **headers)[0]

    def test_01_slow_heads_are_cut(self):
        clients = [socket.create_connection(("127.0.0.1", self.server.port)) for _ in range(50)]
        began = time.monotonic()
        for i, byte in enumerate(b"GET /health HT"):
            for client in clients:
                try:
                    client.sendall(bytes([byte]))
                except OSError:
                    pass
            self.assertEqual(self.server.ask("GET", "/health")[0], 200)
            time.sleep(0.9)
        for client in clients:
            client.settimeout(10)
            try:
                self.assertEqual(client.recv(100), b"")
            except ConnectionError:
                pass
            client.close()
        self.assertLess(time.monotonic() - began, 20)

    def test_02_slow_bodies_are_cut(self):
        with socket.create_connection(("127.0.0.1", self.server.port)) as client:
            client.settimeout(20)
            client.sendall(HEAD + b"Content-Length: 1000\r\n\r\n{")
            self.assertIn(client.recv(100)[:5], [b"", b"HTTP/"])

    def test_03_a_body_past_the_limit(self):
        self.assertEqual(self.sent(HEAD + b"Content-Length: 104857600\r\n\r\n" + b" " * 100_000), 413)

    def test_04_an_endless_chunked_body(self):
        chunk = b"10000\r\n" + b" " * 65536 + b"\r\n"
        self.assertEqual(self.sent(HEAD + b"Transfer-Encoding: chunked\r\n\r\n" + chunk * 40), 413)

    def test_04_what_no_length_counts(self):
        """Extensions of chunks, trailers, and zeros before a chunk's size: as good as endless."""
        head = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"
        for lines in [b"1;", b"0", b"1\r\n{\r\n0\r\nX: "]:
            self.assertEqual(self.sent(head + lines + (b"0" if lines == b"0" else b"a") * 3_000_000), 431, lines)

    def test_05_an_endless_head(self):
        self.assertEqual(self.sent(b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"a" * 1_000_000), 431)

    def test_06_thousands_of_header_lines(self):
        self.assertEqual(self.sent(b"GET / HTTP/1.1\r\nHost: localhost\r\n" + b"A: b\r\n" * 20_000), 431)

    def test_07_half_closed(self):
        for _ in range(20):
            self.assertEqual(self.sent(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n", half_close=True), 200)
        body = b'{"seed": 1}'
        self.assertEqual(self.sent(HEAD + b"Content-Length: %d\r\n\r\n" % len(body) + body, half_close=True), 200)
        self.assertIn(self.sent(HEAD + b"Content-Length: 10\r\n\r\n{", half_close=True), [400, None])

    def test_08_deep_nesting(self):
        for opening, closing in [("[", "]"), ('{"a":', "}")]:
            deep = opening * 100_000 + "1" + closing * 100_000
            self.assertEqual(self.post('{"prompt":' + deep + "}"), 400)

    def test_09_100_mb_of_nesting(self):
        self.assertEqual(self.sent(HEAD + b"Content-Length: 104857600\r\n\r\n" + b"[" * 3_000_000), 413)

    def test_10_wrong_content_types(self):
        for kind in ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "application/json; charset=utf-16", ""]:
            self.assertEqual(self.post("{}", **{"Content-Type": kind}), 415, kind)
        for kind in ["application/json", "application/json ; charset=utf-8", "Application/JSON;charset=UTF-8"]:
            self.assertEqual(self.post("{}", **{"Content-Type": kind}), 200, kind)

    def test_11_packed_bodies(self):
        for encoding in ["gzip", "br", "deflate, gzip"]:
            self.assertEqual(self.post("{}", **{"Content-Encoding": encoding}), 415)

    def test_12_broken_encodings(self):
        for body in [b'{"prompt":"\xff\xfe"}', b"\x00\x01\x02", '{"prompt":"a"}'.encode("utf-16"), b'{"prompt":"\\ud800"}']:
            self.assertEqual(self.post(body), 400, body)

    def test_13_pipelined_garbage(self):
        answer = self.server.raw(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n" + b"\x00\xff garbage\r\n\r\n" * 100)
        self.assertEqual(status(answer), 200)
        self.assertIn(b"HTTP/1.1 400", answer)

    def test_14_pipelined_requests_are_answered_in_order(self):
        get = b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n"
        last = b"GET /nothing HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
        answer = self.server.raw(get * 50 + last)
        self.assertEqual((answer.count(b"HTTP/1.1 200"), answer.count(b"HTTP/1.1 404")), (50, 1))

    def test_15_smuggled_lengths(self):
        for lines in [b"Content-Length: 2\r\nContent-Length: 3\r\n", b"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n",
                      b"Content-Length: -1\r\n", b"Content-Length: 99999999999999999999\r\n"]:
            self.assertIn(self.sent(HEAD + lines + b"\r\n{}"), [400, 413], lines)

    def test_15_encodings_that_nobody_reads(self):
        for encoding in [b"gzip", b"gzip, chunked", b"identity"]:
            self.assertEqual(self.sent(HEAD + b"Transfer-Encoding: " + encoding + b"\r\n\r\n0\r\n\r\n"), 501, encoding)

    def test_16_what_is_no_http(self):
        for data in [b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(500), b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", b"HELO me\r\n\r\n", b"\r\n" * 50_000]:
            self.assertIn(self.sent(data, half_close=True), [400, 431, None], data[:20])

    def test_17_grammars_that_explode(self):
        grammars = ["root ::= " + "(" * 5000 + '"a"' + ")" * 5000,
                    'root ::= ("a"{0,1000}){0,1000}',
                    "".join(f'r{i} ::= r{i + 1} r{i + 1}\n' for i in range(60)) + 'r60 ::= "a"\nroot ::= r0\n',
                    'root ::= ("a" | "b")* "a" ("a" | "b"){30}',
                    "root ::= root root | root | \"a\"",
                    "root ::= root"]
        for grammar in grammars:
            began = time.monotonic()
            self.assertIn(self.post({"grammar": grammar, "max_tokens": 5}), [200, 400], grammar[:60])
            self.assertEqual(self.server.ask("GET", "/health")[0], 200)
            self.assertLess(time.monotonic() - began, 60, grammar[:60])

    def test_18_thousands_of_live_knobs(self):
        events = self.server.stream(**ENDLESS, max_tokens=1_000_000)
        identity = next(events)["id"]
        connection = self.server.connect()
        body = json.dumps({"knobs": {"polarity": 0.5}})
        for i in range(3000):
            connection.request("POST", f"/v1/completions/{identity}/knobs", body, {"Content-Type": "application/json"})
            answer = connection.getresponse()
            answer.read()
            self.assertEqual(answer.status, 200)
        connection.close()
        events.close()
        self.assertTrue(wait_until(lambda: self.server.metric("requests_processing") == 0))

    def test_19_wrong_keys(self):
        keys = pathlib.Path(FOLDER.name) / "keys"
        keys.write_text("right\n")
        with Server(BIN_DIR, [RUN], "--api-key-file", str(keys)) as server:
            for key in ["", "Bearer", "Bearer ", "Bearer righ", "Bearer rightx", "Bearer " + "x" * 5000, "Basic cmlnaHQ=", "right"]:
                self.assertEqual(server.ask("GET", "/v1/models", Authorization=key)[0], 401, key)

    def test_20_path_tricks(self):
        for path in ["/../etc/passwd", "/..%2f..%2fetc/passwd", "//etc/passwd", "/index.html/../../x", "/%00", "/v1/models/..", "/v1//models",
                     "/v1/completions/../models", "/" + "a" * 8000, "http://localhost/v1//models", "*", "?x", "x"]:
            answer = self.server.raw(b"GET " + path.encode() + b" HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            self.assertIn(status(answer), [400, 404, 405], path)
        # The host of a whole address is the one that counts.
        for target, expected in [(b"http://evil.example/v1/models", 403), (b"http://localhost/health", 200)]:
            self.assertEqual(self.sent(b"GET " + target + b" HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"), expected, target)

    def test_21_names_led_here(self):
        for host in ["evil.example", "localhost.evil.example", ""]:
            self.assertEqual(self.server.ask("GET", "/v1/models", Host=host)[0], 403, host)
        self.assertEqual(self.post("{}", Origin="https://evil.example"), 403)
        self.assertEqual(self.post("{}", Origin="null"), 403)

    def test_22_a_client_that_never_reads(self):
        client = socket.socket()
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.connect(("127.0.0.1", self.server.port))
        body = json.dumps({**ENDLESS, "max_tokens": 1_000_000, "stream": True}).encode()
        client.sendall(HEAD + b"Content-Length: %d\r\n\r\n" % len(body) + body)
        # Its answer is cut at the limit of unread bytes, long before the text would end.
        self.assertTrue(wait_until(lambda: self.server.metric("requests_processing") == 1))
        self.assertTrue(wait_until(lambda: self.server.metric("requests_processing") == 0, 60))
        # What the text took is given back a moment after it is no longer counted.
        self.assertTrue(wait_until(lambda: self.server.memory() < self.memory + 40e6), self.server.memory())
        client.close()

    def test_23_connections_that_say_nothing(self):
        clients = [socket.create_connection(("127.0.0.1", self.server.port)) for _ in range(500)]
        self.assertEqual(self.server.ask("GET", "/health")[0], 200)
        for client in clients:
            client.close()

    def test_24_resets_in_the_middle(self):
        body = json.dumps({**ENDLESS, "max_tokens": 1_000_000, "stream": True}).encode()
        for i in range(30):
            client = socket.create_connection(("127.0.0.1", self.server.port))
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\x00\x00\x00\x00\x00\x00\x00")
            client.sendall((HEAD + b"Content-Length: %d\r\n\r\n" % len(body) + body)[:None if i % 2 else 120])
            if i % 2:
                client.recv(100)
            client.close()
        self.assertTrue(wait_until(lambda: self.server.metric("requests_processing") == 0))

    def test_25_methods_nobody_knows(self):
        for method in [b"PATCH", b"TRACE", b"CONNECT", b"FOO", b"PUT"]:
            answer = self.server.raw(method + b" /v1/completions HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            self.assertIn(status(answer), [400, 404, 405], method)


if __name__ == "__main__":
    unittest.main()
