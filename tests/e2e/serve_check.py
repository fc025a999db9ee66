#!/usr/bin/env python3
"""Asks `semfuse serve` what its clients ask: the API, live knobs, texts as `semfuse generate` makes them, signals, restarts.

  serve_check.py BIN_DIR
"""
import json
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest

from serving import ENDLESS, Server, adapted, imported, scoring, trained, wait_until

BIN_DIR = pathlib.Path(sys.argv.pop(1))
FOLDER = tempfile.TemporaryDirectory()
RUN = trained(BIN_DIR, FOLDER.name)


def generated(*options):
    """What `semfuse generate` says, line by line."""
    command = [BIN_DIR / "semfuse", "generate", RUN, *map(str, options)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()


def text_of(events):
    return "".join(event["choices"][0]["text"] for event in events if event["choices"])


class Api(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server(BIN_DIR, [RUN], "--max-requests", "200")

    @classmethod
    def tearDownClass(cls):
        assert cls.server.stop() == 0
        cls.server.__exit__()

    def test_models(self):
        status, _, models = self.server.ask("GET", "/v1/models")
        self.assertEqual(status, 200)
        model = models["data"][0]
        self.assertEqual((models["object"], model["id"], model["object"]), ("list", "tiny", "model"))
        knobs = {knob["name"]: knob for knob in model["semfuse"]["knobs"]}
        self.assertEqual(knobs["polarity"]["kind"], "probability")
        self.assertEqual(knobs["mark"]["kind"], "distribution")
        self.assertEqual(knobs["mark"]["values"], [".", "!", "?"])
        self.assertEqual(knobs["strength"]["kind"], "scalar")
        self.assertLess(knobs["strength"]["minimum"], knobs["strength"]["maximum"])
        self.assertIn("one-clause", model["semfuse"]["grammars"])
        self.assertGreater(model["semfuse"]["vocabulary"], 10)
        self.assertEqual(self.server.ask("GET", "/v1/models/tiny")[2], model)
        status, _, answer = self.server.ask("GET", "/v1/models/other")
        self.assertEqual((status, answer["error"]["code"]), (404, "model_not_found"))

    def test_texts_are_those_of_generate(self):
        answer = self.server.complete(model="tiny", n=20, seed=5)
        self.assertEqual([choice["text"] for choice in answer["choices"]], generated("--n", 20, "--seed", 5))
        self.assertEqual([choice["index"] for choice in answer["choices"]], list(range(20)))
        answer = self.server.complete(prompt=["Alice", "Bob"], n=3, seed=2, echo=True, temperature=0.8, top_p=0.9)
        texts = [choice["text"] for choice in answer["choices"]]
        options = ["--n", 3, "--seed", 2, "--temperature", 0.8, "--top-p", 0.9]
        self.assertEqual(texts, generated(*options, "--prompt", "Alice") + generated(*options, "--prompt", "Bob"))
        answer = self.server.complete(n=5, seed=3, knobs={"polarity": 1, "mark": {"?": 0.6, ".": 0.4}}, guidance=2)
        expected = generated("--n", 5, "--seed", 3, "--knob", "polarity=1", "--knob", "mark=?:0.6,.:0.4", "--guidance", 2)
        self.assertEqual([choice["text"] for choice in answer["choices"]], expected)
        answer = self.server.complete(n=5, seed=3, grammar="two-clause")
        expected = generated("--n", 5, "--seed", 3, "--grammar", "two-clause")
        self.assertEqual([choice["text"] for choice in answer["choices"]], expected)

    def test_usage_and_finish(self):
        answer = self.server.complete(prompt="Alice", seed=1, max_tokens=2, echo=True)
        self.assertEqual(answer["choices"][0]["finish_reason"], "length")
        self.assertEqual(answer["usage"], {"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3})
        self.assertTrue(answer["choices"][0]["text"].startswith("Alice "))
        self.assertTrue(answer["id"].startswith("cmpl-"))
        again = self.server.complete(prompt="Alice", seed=1, max_tokens=2)
        self.assertEqual("Alice" + again["choices"][0]["text"], answer["choices"][0]["text"])

    def test_stream_is_the_same_text(self):
        whole = self.server.complete(seed=4)["choices"][0]
        events = list(self.server.stream(seed=4, stream_options={"include_usage": True}))
        self.assertEqual(text_of(events), whole["text"])
        self.assertEqual(len({event["id"] for event in events}), 1)
        self.assertEqual(events[-2]["choices"][0]["finish_reason"], "stop")
        self.assertEqual(events[-1]["choices"], [])
        self.assertGreater(events[-1]["usage"]["completion_tokens"], 2)
        self.assertIn("realised", events[-2]["choices"][0]["semfuse"])

    def test_explained_stream(self):
        events = list(self.server.stream(seed=4, explain=True, grammar="one-clause"))
        tokens = [event["choices"][0]["semfuse"] for event in events if "token" in event["choices"][0].get("semfuse", {})]
        self.assertEqual("".join(token["token"] for token in tokens), text_of(events))
        self.assertTrue(any(token["features"] for token in tokens))
        for token in tokens:
            for stage in ["model", "grammar", "controls", "drawn"]:
                self.assertTrue(0 <= token[stage] <= 1, token)
            self.assertTrue(all(value != 0 for value in token["features"].values()))
            self.assertTrue(all(0 <= runner["probability"] <= 1 for runner in token["runners"]))
        realised = events[-1]["choices"][0]["semfuse"]["realised"]
        self.assertEqual(sum(realised["mark"].values()), 1)

    def test_stop(self):
        whole = self.server.complete(seed=6)["choices"][0]["text"]
        stop = whole[len(whole) // 2:len(whole) // 2 + 3]
        cut = whole[:whole.index(stop)]
        self.assertEqual(self.server.complete(seed=6, stop=stop)["choices"][0]["text"], cut)
        events = list(self.server.stream(seed=6, stop=[stop, "never there"]))
        self.assertEqual(text_of(events), cut)
        self.assertEqual(events[-1]["choices"][0]["finish_reason"], "stop")

    def test_logprobs_are_of_the_text_that_is_shown(self):
        """Those of a stop text, and of what it took back, are not there; whole and in a stream."""
        whole = self.server.complete(seed=6)["choices"][0]["text"]
        stop = whole[len(whole) // 2:len(whole) // 2 + 6]
        body = {"seed": 6, "stop": stop, "logprobs": 1}
        choice = self.server.complete(**body)["choices"][0]
        self.assertEqual(choice["text"], whole[:whole.index(stop)])
        offsets = choice["logprobs"]["text_offset"]
        self.assertTrue(all(offset < len(choice["text"]) for offset in offsets), offsets)
        self.assertTrue("".join(choice["logprobs"]["tokens"]).startswith(choice["text"]))
        events = [event["choices"][0] for event in self.server.stream(**body)]
        streamed = {key: [each for event in events if event["logprobs"] for each in event["logprobs"][key]] for key in choice["logprobs"]}
        self.assertEqual(streamed, choice["logprobs"])

    def test_tokens_beside_others_are_written_alike(self):
        choice = self.server.complete(prompt="Alice", seed=2, logprobs=3, temperature=0, max_tokens=5)["choices"][0]
        for token, top in zip(choice["logprobs"]["tokens"], choice["logprobs"]["top_logprobs"]):
            self.assertIn(token, top)
        events = list(self.server.stream(prompt="Alice", seed=4, explain=True, max_tokens=8))
        runners = [runner["token"] for event in events for runner in event["choices"][0].get("semfuse", {}).get("runners", [])]
        self.assertTrue(any(runner.startswith(" ") for runner in runners), runners)

    def test_chat(self):
        messages = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Alice"}]
        status, answer = self.server.post("/v1/chat/completions", {"messages": messages, "seed": 2})
        self.assertEqual(status, 200, answer)
        self.assertEqual(answer["object"], "chat.completion")
        self.assertEqual("Alice" + answer["choices"][0]["message"]["content"], generated("--seed", 2, "--prompt", "Alice")[0])
        events = list(self.server.stream("/v1/chat/completions", messages=messages, seed=2))
        self.assertEqual(events[0]["choices"][0]["delta"]["role"], "assistant")
        text = "".join(event["choices"][0]["delta"].get("content", "") for event in events)
        self.assertEqual(text, answer["choices"][0]["message"]["content"])

    def test_logprobs(self):
        choice = self.server.complete(seed=2, logprobs=2)["choices"][0]
        logprobs = choice["logprobs"]
        self.assertEqual("".join(logprobs["tokens"]), choice["text"])
        self.assertTrue(all(value <= 0 for value in logprobs["token_logprobs"]))
        self.assertTrue(all(1 <= len(top) <= 2 for top in logprobs["top_logprobs"]))
        line = json.loads(generated("--seed", 2, "--json")[0])
        for ours, theirs in zip(logprobs["token_logprobs"], line["log_probabilities"]):
            self.assertAlmostEqual(ours, theirs, places=9)

    def test_prompts_are_scored(self):
        """As lm-eval asks: the prompt as ids, echoed with the logarithms of its tokens."""
        drawn = self.server.complete(seed=2, logprobs=1)["choices"][0]
        ids = self.server.post("/v1/tokenize", {"text": drawn["text"]})[1]["tokens"]
        body = {"prompt": [ids], "echo": True, "logprobs": 1, "max_tokens": 1, "temperature": 0}
        scored = self.server.complete(**body)["choices"][0]
        self.assertTrue(scored["text"].startswith(drawn["text"]))
        self.assertIsNone(scored["logprobs"]["token_logprobs"][0])
        for ours, theirs in list(zip(scored["logprobs"]["token_logprobs"], drawn["logprobs"]["token_logprobs"]))[1:]:
            self.assertAlmostEqual(ours, theirs, places=5)
        for top, logprob in list(zip(scored["logprobs"]["top_logprobs"], scored["logprobs"]["token_logprobs"]))[1:]:
            self.assertGreaterEqual(max(top.values()), logprob - 1e-9)
        # With <bos> before them all tokens have one, and after them there is always what was drawn, if only <eos>.
        bos = self.server.post("/tokenize", {"prompt": "<bos>", "add_special_tokens": False})[1]["tokens"]
        whole = self.server.complete(**{**body, "prompt": [bos + ids]})["choices"][0]
        self.assertEqual(whole["text"], scored["text"])
        self.assertEqual(len(whole["logprobs"]["tokens"]), len(ids) + 2)
        self.assertIsNone(whole["logprobs"]["token_logprobs"][0])
        for ours, theirs in zip(whole["logprobs"]["token_logprobs"][1:], drawn["logprobs"]["token_logprobs"]):
            self.assertAlmostEqual(ours, theirs, places=5)
        ended = self.server.complete(**{**body, "logit_bias": {"2": 100}})["choices"][0]
        self.assertEqual((ended["text"], ended["logprobs"]["tokens"][-1]), (drawn["text"], "<eos>"))

    def test_logit_bias_and_min_p(self):
        ids = self.server.post("/v1/tokenize", {"text": "Alice Bob Carol"})[1]["tokens"]
        banned = {str(i): -100 for i in ids}
        for choice in self.server.complete(n=20, seed=1, logit_bias=banned)["choices"]:
            self.assertFalse({"Alice", "Bob", "Carol"} & set(choice["text"].split()))
        greedy = self.server.complete(temperature=0)["choices"][0]["text"]
        self.assertEqual(self.server.complete(min_p=1.0, seed=8)["choices"][0]["text"], greedy)

    def test_token_ids(self):
        ids = self.server.post("/v1/tokenize", {"text": "Alice reviews"})[1]["tokens"]
        of_text = self.server.complete(prompt="Alice reviews", seed=3, echo=True)
        of_ids = self.server.complete(prompt=[ids], seed=3, echo=True)
        self.assertEqual(of_ids["choices"], of_text["choices"])
        self.assertEqual(self.server.post("/detokenize", {"tokens": ids})[1]["prompt"], "Alice reviews")
        self.assertEqual(self.server.post("/tokenize", {"prompt": "Alice reviews"})[1]["tokens"], ids)
        self.assertEqual(self.server.ask("GET", "/tokenizer_info")[2]["eos_token"], "<eos>")
        status, answer = self.server.post("/v1/completions", {"prompt": [10 ** 6]})
        self.assertEqual((status, answer["error"]["param"]), (400, "prompt"))

    def test_features_and_grammar_check(self):
        status, answer = self.server.post("/v1/features", {"text": "Alice reviews the paper, very good!"})
        self.assertEqual(status, 200)
        self.assertEqual("".join(token["text"] for token in answer["tokens"]), "Alice reviews the paper, very good!")
        self.assertTrue(all(len(token["values"]) == len(answer["features"]) for token in answer["tokens"]))
        check = lambda **body: self.server.post("/v1/grammar/check", body)[1]
        self.assertEqual(check(grammar='root ::= "a" "b"?'), {"ok": True})
        self.assertEqual(check(grammar='root ::= "a"', text="a"), {"ok": True, "matches": True})
        self.assertEqual(check(grammar='root ::= "a"', text="b"), {"ok": True, "matches": False})
        error = check(grammar='root ::= "a"\nb ::= (')["error"]
        self.assertEqual(error["line"], 2)
        self.assertGreater(error["column"], 1)
        self.assertNotIn("grammar:2", error["message"])

    def test_schemas(self):
        """A model of words cannot write JSON, and says so; what is no schema is refused for that."""
        for schema, part in [({"type": "object", "properties": {"a": {"type": "integer"}}}, "vocabulary"), ({"type": "nothing"}, "no such type")]:
            body = {"response_format": {"type": "json_schema", "json_schema": {"name": "x", "schema": schema}}}
            status, answer = self.server.post("/v1/completions", body)
            self.assertEqual((status, answer["error"]["param"]), (400, "response_format"), answer)
            self.assertIn(part, answer["error"]["message"])

    def test_long_texts(self):
        """They are read beside other requests, and answered as short ones."""
        text = "Alice reviews the paper " * 1000
        status, answer = self.server.post("/v1/tokenize", {"text": text})
        self.assertEqual((status, answer["count"]), (200, 4000))
        self.assertEqual(self.server.post("/v1/detokenize", {"tokens": answer["tokens"]})[1]["prompt"].split(), text.split())
        self.assertEqual(self.server.post("/v1/features", {"text": text})[0], 200)
        status, answer = self.server.post("/v1/features", {"text": text * 2})
        self.assertEqual((status, answer["error"]["param"]), (400, "text"), answer)
        self.assertIn("4096", answer["error"]["message"])
        self.assertEqual(self.server.post("/v1/features", {"text": text + "zzz"})[1]["error"]["param"], "text")
        for body in [{"text": "z" * 500_000}, {"text": "a", "z" * 500_000: 1}]:
            self.assertLess(len(json.dumps(self.server.post("/v1/tokenize", body)[1])), 3000)

    def test_errors(self):
        for body, param in [({"prompt": "zzz"}, "prompt"), ({"knobs": {"x": 1}}, "knobs.x"), ({"knobs": {"polarity": 7}}, "knobs.polarity"),
                            ({"max_tokens": 10 ** 6}, "max_tokens"), ({"temprature": 1}, "temprature"), ({"grammar": "root ::= ("}, "grammar"),
                            ({"frequency_penalty": 1}, "frequency_penalty"), ({"n": 1000}, "n"), ({"max_tokens": 0}, "max_tokens"), ({"logit_bias": {"999999": 1}}, "logit_bias"),
                            ({"logit_bias": {"005": 1}}, "logit_bias"), ({"stop": "a" * 1001}, "stop"), ({"prompt": ["Alice", "xyzzy"]}, "prompt"), ({"prompt": [[5], [10 ** 6]]}, "prompt")]:
            for stream in [False, True]:
                status, answer = self.server.post("/v1/completions", {**body, "stream": stream})
                self.assertEqual((status, answer["error"]["param"]), (400, param), answer)
                self.assertEqual(set(answer["error"]), {"message", "type", "param", "code"})
        self.assertEqual(self.server.post("/v1/completions", {"model": "other"})[0], 404)
        self.assertEqual(self.server.post("/v1/completions/cmpl-none/knobs", {"knobs": {}})[0], 404)
        for path in ["/v1/tokenize", "/v1/features"]:
            self.assertEqual(self.server.post(path, {"text": "zzz"})[1]["error"]["param"], "text")
        message = self.server.post("/v1/completions", {"knob": {}})[1]["error"]["message"]
        self.assertTrue(message.endswith('did you mean "knobs"?'), message)
        # One that speaks of a request, not of a file.
        self.assertNotIn("file", self.server.post("/v1/completions", "{")[1]["error"]["message"])

    def test_methods_and_paths(self):
        for method, path, allowed in [("PUT", "/v1/completions", "POST"), ("GET", "/v1/completions", "POST"), ("GET", "/v1/grammar/check", "POST"), ("POST", "/v1/models", "GET, HEAD"),
                                      ("DELETE", "/", "GET, HEAD"), ("GET", "/v1/completions/cmpl-none", "DELETE"), ("GET", "/v1/completions/cmpl-none/knobs", "POST")]:
            status, headers, _ = self.server.ask(method, path, {})
            self.assertEqual((status, headers["Allow"]), (405, allowed), f"{method} {path}")
        for method, path in [("GET", "/nothing"), ("PUT", "/nothing"), ("POST", "/nothing"), ("GET", "/v1/models/"), ("GET", "/v1/models/none")]:
            self.assertEqual(self.server.ask(method, path, {})[0], 404, f"{method} {path}")
        # RFC 9110: an answer without content says no length. RFC 9112: one Host.
        self.assertNotIn("Content-Length", self.server.ask("OPTIONS", "/v1/models")[1])
        for hosts in [b"Host: localhost\r\nHost: evil.example\r\n", b""]:
            answer = self.server.raw(b"GET /health HTTP/1.1\r\n" + hosts + b"Connection: close\r\n\r\n")
            self.assertTrue(answer.startswith(b"HTTP/1.1 400 ") and b"Host header" in answer, answer)

    def test_pieces_of_a_fast_text_go_out_together(self):
        """Besides the first and the last, some 30 writes a second at most: pauses of 32 ms, of which 8 may be left out."""
        body = json.dumps({**ENDLESS, "n": 4, "max_tokens": 2000, "stream": True}).encode()
        head = b"POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body)
        began = time.monotonic()
        answer = self.server.raw(head + body)
        seconds = time.monotonic() - began
        self.assertEqual(answer.count(b'"text":"') - answer.count(b'"finish_reason":"'), 4 * 2000)
        chunks = len(re.findall(rb"(?<=\r\n)[0-9a-f]+\r\n(?=data: )", answer))
        self.assertLess(chunks, 3 + seconds / 0.024)

    def test_page(self):
        status, headers, page = self.server.ask("GET", "/")
        self.assertEqual(status, 200)
        self.assertTrue(headers["Content-Type"].startswith("text/html"))
        self.assertTrue(headers["Content-Security-Policy"].startswith("default-src 'self'"))
        self.assertEqual(headers["X-Content-Type-Options"], "nosniff")
        self.assertIn(b"<html", page)
        self.assertEqual(self.server.ask("GET", "/favicon.ico")[0] // 100, 2)

    def test_health_and_metrics(self):
        self.assertEqual(self.server.ask("GET", "/health")[2], {"status": "ok"})
        before = self.server.metric("tokens_predicted_total")
        used = self.server.complete(n=3, seed=1)["usage"]["completion_tokens"]
        self.assertGreaterEqual(self.server.metric("tokens_predicted_total"), before + used)

    def test_many_at_once(self):
        expected = {seed: generated("--seed", seed)[0] for seed in range(1, 9)}
        wrong = []

        def client(seed):
            for _ in range(5):
                text = text_of(self.server.stream(seed=seed))
                if text != expected[seed]:
                    wrong.append((seed, text))

        threads = [threading.Thread(target=client, args=(seed,)) for seed in expected for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])


class Live(unittest.TestCase):
    """What happens while a text is written."""

    def long_stream(self, server):
        return server.stream(**ENDLESS, max_tokens=60_000)

    def test_knobs_move_and_texts_end(self):
        with Server(BIN_DIR, [RUN], "--max-tokens", "100000", "--timeout", "60") as server:
            events = self.long_stream(server)
            identity = next(events)["id"]
            status, answer = server.post(f"/v1/completions/{identity}/knobs", {"knobs": {"polarity": 0.1, "mark": {"?": 0.6, ".": 0.4}}, "guidance": 2})
            self.assertEqual(status, 200, answer)
            self.assertEqual((answer["id"], answer["knobs"]["polarity"]), (identity, 0.1))
            self.assertEqual(server.post(f"/v1/completions/{identity}/knobs", {"knobs": {"polarity": 3}})[0], 400)
            self.assertEqual(server.metric("knob_changes_total"), 1)
            next(events)
            self.assertEqual(server.ask("DELETE", f"/v1/completions/{identity}")[0], 200)
            last = list(events)[-1]
            self.assertEqual(last["choices"][0]["finish_reason"], "stop")
            self.assertTrue(wait_until(lambda: server.metric("requests_processing") == 0))
            self.assertEqual(server.ask("DELETE", f"/v1/completions/{identity}")[0], 404)
            # A client that goes away ends its text.
            events = self.long_stream(server)
            next(events)
            self.assertEqual(server.metric("requests_processing"), 1)
            events.close()
            self.assertTrue(wait_until(lambda: server.metric("requests_processing") == 0))
            self.assertEqual(server.metric("clients_gone_total"), 1)

    def test_queue_and_deadline(self):
        with Server(BIN_DIR, [RUN], "--max-tokens", "1000000", "--timeout", "2", "--max-requests", "2") as server:
            first, second = self.long_stream(server), self.long_stream(server)
            next(first), next(second)
            status, headers, answer = server.ask("POST", "/v1/completions", {"seed": 1})
            self.assertEqual((status, headers["Retry-After"], answer["error"]["type"]), (429, "1", "rate_limit_error"))
            last = list(first)[-1]
            self.assertTrue("error" in last or last["choices"][0]["finish_reason"] == "length", last)
            list(second)
            self.assertEqual(server.ask("POST", "/v1/completions", {"seed": 1})[0], 200)

    def test_killed_client_disturbs_nobody(self):
        expected = generated("--seed", 7)[0]
        with Server(BIN_DIR, [RUN], "--max-tokens", "100000") as server:
            code = ("import sys; sys.path.insert(0, sys.argv[1]); import serving; s = serving.Server.__new__(serving.Server); s.port = int(sys.argv[2]); "
                    "e = s.stream(**serving.ENDLESS, max_tokens=60000); next(e); print('on', flush=True); [x for x in e]")
            clients = [subprocess.Popen([sys.executable, "-c", code, pathlib.Path(__file__).parent, str(server.port)], stdout=subprocess.PIPE)
                       for _ in range(3)]
            for client in clients:
                client.stdout.readline()
            for client in clients:
                client.kill()
                client.wait()
                client.stdout.close()
            self.assertEqual(server.complete(seed=7)["choices"][0]["text"], expected)
            self.assertTrue(wait_until(lambda: server.metric("requests_processing") == 0))
            # What a whole answer could name would fill the memory before it is sent.
            status, answer = server.post("/v1/completions", {"n": 8, "max_tokens": 20000, "logprobs": 5})
            self.assertEqual((status, answer["error"]["param"]), (400, "logprobs"))

    def test_who_has_an_answer_may_ask_again(self):
        with Server(BIN_DIR, [RUN], "--max-tokens", "100000", "--max-requests", "1") as server:
            for seed in range(150):
                self.assertEqual(server.post("/v1/completions", {"max_tokens": 1, "seed": seed})[0], 200)

    def test_prompts_are_scored_once_and_for_nobody_who_has_left(self):
        with Server(BIN_DIR, [RUN], "--max-tokens", "100000", "--max-requests", "16") as server:
            def seconds(**more):  # Of processor: what else the machine does makes no difference.
                began = server.processor_seconds()
                server.complete(**scoring(1, 2000), **more)
                return server.processor_seconds() - began

            seconds()
            once = seconds()
            self.assertLess(seconds(n=8), 4 * once + 0.3)
        with Server(BIN_DIR, [RUN], "--max-tokens", "100000", "--timeout", "2", "--max-requests", "16") as server:
            # Long work is left when the time of its request is over, whose place is free at once.
            for _ in range(4):  # Whichever of the server's threads sees first that it is over.
                self.assertEqual(server.post("/v1/completions", scoring(16, 9000))[0], 504)
                self.assertEqual(server.post("/v1/completions", {"n": 16, "seed": 1})[0], 200)
            # The one prompt that is being scored is scored to its end, which takes long under a sanitizer.
            self.assertTrue(wait_until(lambda: server.post("/v1/completions", scoring(1, 2))[0] == 200, 60))
            # The same where the client is gone: what comes after it has its turn.
            began = time.monotonic()
            body = json.dumps(scoring(16, 9000)).encode()
            with socket.create_connection(("127.0.0.1", server.port)) as client:
                client.sendall(b"POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
                time.sleep(0.5)
            self.assertTrue(wait_until(lambda: server.post("/v1/grammar/check", {"grammar": 'root ::= "a"'})[0] == 200, 20))
            self.assertLess(time.monotonic() - began, 25)


class Adapters(unittest.TestCase):
    def test_schemas_are_those_of_generate(self):
        """Properties in their order, numbers with all their digits."""
        schema = ('{"type":"object","properties":{"zeta":{"const":12345678901234567890123},"alpha":{"type":"boolean"}},'
                  '"required":["zeta","alpha"],"additionalProperties":false}')
        with tempfile.TemporaryDirectory() as folder:
            backbone = imported(BIN_DIR, folder)
            file = pathlib.Path(folder) / "schema.json"
            file.write_text(schema)
            command = [BIN_DIR / "semfuse", "generate", backbone, "--grammar", file, "--seed", "1", "--max-tokens", "100"]
            wanted = subprocess.run(command, check=True, capture_output=True, text=True).stdout
            self.assertIn("12345678901234567890123", wanted)
            with Server(BIN_DIR, [backbone]) as server:
                body = '{"seed":1,"max_tokens":100,"response_format":{"type":"json_schema","json_schema":{"name":"n","schema":' + schema + "}}}"
                status, answer = server.post("/v1/completions", body)
                self.assertEqual(status, 200, answer)
                self.assertEqual(answer["choices"][0]["text"] + "\n", wanted)

    def test_parts_of_characters_are_bytes(self):
        """A model of bytes: text_offset counts characters, and what is none is written as OpenAI does."""
        with tempfile.TemporaryDirectory() as folder, Server(BIN_DIR, [imported(BIN_DIR, folder)]) as server:
            character = server.post("/v1/tokenize", {"text": "a\u20acb"})[1]["tokens"]
            choice = server.complete(prompt=[character], echo=True, logprobs=2, max_tokens=1, temperature=0)["choices"][0]
            tokens, offsets = choice["logprobs"]["tokens"], choice["logprobs"]["text_offset"]
            first = tokens.index("bytes:\\xe2")
            self.assertEqual(tokens[first:first + 3], ["bytes:\\xe2", "bytes:\\x82", "bytes:\\xac"])
            at = choice["text"].index("\u20ac")
            self.assertEqual(offsets[first:first + 4], [at, at, at, at + 1])

    def test_several_adapters_of_one_backbone_answer_beside_it(self):
        with tempfile.TemporaryDirectory() as folder:
            backbone = imported(BIN_DIR, folder)
            runs = {"mood": adapted(BIN_DIR, backbone, "mood", ("a a a a a a a a", "b b b b b b b b")),
                    "size": adapted(BIN_DIR, backbone, "size", ("ab ab ab ab ab", "b a b a b a b a"))}
            with Server(BIN_DIR, [backbone, *runs.values()], "--max-tokens", "20000") as server:
                def text(model, **more):
                    status, answer = server.post("/v1/completions", {"model": model, "prompt": "a", "temperature": 0, "max_tokens": 8, **more})
                    self.assertEqual(status, 200, answer)
                    return answer["choices"][0]["text"]

                plain = text("backbone")
                for knob, run in runs.items():
                    self.assertEqual(text(knob), plain)  # Nothing asked for: the backbone.
                    sides = []
                    for value in (0, 1):
                        command = [BIN_DIR / "semfuse", "generate", run, "--knob", f"{knob}={value}", "--prompt", "a", "--temperature", "0", "--max-tokens", "9", "--json"]
                        wanted = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)["text"]
                        sides.append(text(knob, knobs={knob: value}))
                        self.assertEqual("a" + sides[-1], wanted)
                    self.assertNotEqual(*sides)
                    self.assertEqual(server.post("/v1/completions", {"model": "backbone", "prompt": "a", "knobs": {knob: 1}})[0], 400)
                # A knob is turned while the text is written.
                events = server.stream(**ENDLESS, model="mood", prompt="a", max_tokens=15_000, knobs={"mood": 1})
                identity = next(events)["id"]
                status, answer = server.post(f"/v1/completions/{identity}/knobs", {"knobs": {"mood": 0}})
                self.assertEqual(status, 200, answer)
                self.assertEqual(server.post(f"/v1/completions/{identity}/knobs", {"knobs": {"size": 0}})[0], 400)
                self.assertEqual(server.ask("DELETE", f"/v1/completions/{identity}")[0], 200)


class Signals(unittest.TestCase):
    def test_term_finishes_what_is_under_way(self):
        with Server(BIN_DIR, [RUN], "--max-tokens", "100000") as server:
            idle = server.connect()
            idle.request("GET", "/health")
            idle.getresponse().read()
            self.addCleanup(idle.close)
            events = server.stream(**ENDLESS, max_tokens=3000)
            next(events)
            server.process.send_signal(signal.SIGTERM)
            last = list(events)[-1]
            self.assertIn(last["choices"][0]["finish_reason"], ["stop", "length"])
            self.assertEqual(server.process.wait(15), 0)

    def test_second_term_leaves_at_once(self):
        with Server(BIN_DIR, [RUN], "--max-tokens", "1000000") as server:
            events = server.stream(**ENDLESS, max_tokens=900_000)
            next(events)
            server.process.send_signal(signal.SIGTERM)
            time.sleep(0.3)
            began = time.monotonic()
            server.process.send_signal(signal.SIGTERM)
            self.assertEqual(server.process.wait(15), 0)
            self.assertLess(time.monotonic() - began, 5)
            events.close()

    def test_term_does_not_wait_for_a_long_task(self):
        """Scoring that would take longer than it has."""
        with Server(BIN_DIR, [RUN], "--max-tokens", "100000") as server:
            answers = []
            client = threading.Thread(target=lambda: answers.append(server.ask("POST", "/v1/completions", scoring(16, 9000))))
            client.start()
            time.sleep(1)
            began = time.monotonic()
            self.assertEqual(server.stop(patience=30), 0)
            self.assertLess(time.monotonic() - began, 12)
            client.join()
            self.assertEqual([(status, headers["Retry-After"], answer["error"]["code"]) for status, headers, answer in answers], [(503, "1", "ending")])

    def test_hup_loads_again_and_drops_nothing(self):
        folder = pathlib.Path(FOLDER.name) / "again"
        shutil.copytree(RUN, folder)
        with Server(BIN_DIR, [folder], "--max-tokens", "100000") as server:
            events = server.stream(**ENDLESS, max_tokens=2000)
            next(events)
            server.process.send_signal(signal.SIGHUP)
            self.assertIn(list(events)[-1]["choices"][0]["finish_reason"], ["stop", "length"])
            # A model that is damaged meanwhile is not taken.
            (folder / "model.safetensors").write_bytes(b"nothing")
            server.process.send_signal(signal.SIGHUP)
            time.sleep(0.5)
            self.assertEqual(server.complete(seed=3)["choices"][0]["text"], generated("--seed", 3)[0])
            self.assertEqual(server.stop(), 0)
            server.log.seek(0)
            log = server.log.read()
            self.assertIn("loaded again", log)
            self.assertIn("going on with the models as they were", log)

    def test_killed_server_leaves_nothing_behind(self):
        before = sorted(path for path in RUN.rglob("*"))
        for _ in range(3):
            with Server(BIN_DIR, [RUN]) as server:
                server.complete(seed=1)
                port = server.port
                server.process.kill()
                server.process.wait()
            with Server(BIN_DIR, [RUN], "--port", str(port)) as server:
                self.assertEqual(server.port, port)
        self.assertEqual(sorted(path for path in RUN.rglob("*")), before)


class Start(unittest.TestCase):
    def refused(self, *options):
        result = subprocess.run([BIN_DIR / "semfuse", "serve", *options], capture_output=True, text=True, timeout=60)
        self.assertEqual((result.returncode, result.stdout, result.stderr.count("\n")), (2, "", 1), result.stderr)
        return result.stderr

    def test_refusals(self):
        self.assertIn("--api-key-file", self.refused(RUN, "--host", "0.0.0.0"))
        self.assertIn("nowhere", self.refused(pathlib.Path(FOLDER.name) / "nowhere"))
        self.assertIn("--port", self.refused(RUN, "--port", "70000"))
        self.assertIn("https://", self.refused(RUN, "--cors", "example.org"))
        with Server(BIN_DIR, [RUN]) as server:
            self.assertIn("cannot listen", self.refused(RUN, "--port", str(server.port)))

    def test_keys_and_cors(self):
        keys = pathlib.Path(FOLDER.name) / "keys"
        keys.write_text("# ours\nsecret\n")
        with Server(BIN_DIR, [RUN], "--api-key-file", str(keys), "--cors", "https://page.example", "--json-log") as server:
            for path in ["/v1/models", "/metrics", "/tokenizer_info"]:
                self.assertEqual(server.ask("GET", path)[0], 401)
                self.assertEqual(server.ask("GET", path, Authorization="Bearer secret")[0], 200)
                self.assertEqual(server.ask("GET", path, Authorization="Bearer secre")[0], 401)
            self.assertEqual(server.ask("POST", "/v1/completions", {})[0], 401)
            self.assertEqual(server.ask("POST", "/v1/completions", {}, **{"X-Api-Key": "secret"})[0], 200)
            self.assertEqual(server.ask("DELETE", "/v1/completions/x")[0], 401)
            for path in ["/", "/health"]:
                self.assertEqual(server.ask("GET", path)[0], 200)
            # The client of OpenAI for browsers sends headers of its own.
            status, headers, _ = server.ask("OPTIONS", "/v1/completions", Origin="https://page.example", **{"Access-Control-Request-Headers": "authorization,x-stainless-os"})
            self.assertEqual((status, headers["Access-Control-Allow-Origin"]), (204, "https://page.example"))
            self.assertEqual(headers["Access-Control-Allow-Headers"], "authorization,x-stainless-os")
            self.assertEqual(server.ask("OPTIONS", "/v1/completions", Origin="https://other.example")[0], 403)
            self.assertEqual(server.ask("GET", "/health")[1]["Vary"], "Origin")
            self.assertEqual(server.stop(), 0)
            server.log.seek(0)
            records = [json.loads(line) for line in server.log.read().splitlines()]
            self.assertIn(401, [record["status"] for record in records])
            self.assertTrue(all(record["method"] and record["path"] for record in records))

    def test_several_models(self):
        other = pathlib.Path(FOLDER.name) / "other"
        shutil.copytree(RUN, other)
        with Server(BIN_DIR, [RUN, other, other]) as server:
            names = [model["id"] for model in server.ask("GET", "/v1/models")[2]["data"]]
            self.assertEqual(names, ["tiny", "other", "other-2"])
            self.assertEqual(server.complete(model="other-2", seed=1)["model"], "other-2")


if __name__ == "__main__":
    unittest.main()
