#!/usr/bin/env python3
"""The real `openai` package against `semfuse serve`, unchanged: models, completions, streams, errors, keys.

  openai_check.py BIN_DIR FOLDER     the package is installed in FOLDER/openai, once

Exits with 77 if it cannot be installed.
"""
import pathlib
import subprocess
import sys
import tempfile

bin_dir, folder = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
environment = folder / "openai"
if len(sys.argv) == 3:  # Once more, where the package is.
    python = environment / "bin" / "python"
    if subprocess.run([python, "-c", "import openai"], capture_output=True).returncode if python.exists() else True:
        try:
            subprocess.run([sys.executable, "-m", "venv", environment], check=True, capture_output=True)
            subprocess.run([python, "-m", "pip", "install", "--quiet", "openai"], check=True, capture_output=True, timeout=300)
        except (subprocess.SubprocessError, OSError) as error:
            print(f"SKIPPED: the package openai cannot be installed here: {error}")
            sys.exit(77)
    sys.exit(subprocess.run([python, __file__, bin_dir, folder, "here"]).returncode)

import openai  # noqa: E402

from serving import Server, trained  # noqa: E402

with tempfile.TemporaryDirectory() as temporary:
    run = trained(bin_dir, temporary)
    keys = pathlib.Path(temporary) / "keys"
    keys.write_text("secret\n")
    with Server(bin_dir, [run], "--api-key-file", str(keys)) as server:
        client = openai.OpenAI(base_url=f"http://127.0.0.1:{server.port}/v1", api_key="secret", max_retries=0)

        assert [model.id for model in client.models.list()] == ["tiny"]
        assert client.models.retrieve("tiny").owned_by == "semfuse"

        extra = {"knobs": {"polarity": 0.9}, "guidance": 1.5}
        answer = client.completions.create(model="tiny", prompt="Alice", seed=3, n=2, logprobs=2, extra_body=extra)
        assert len(answer.choices) == 2 and answer.choices[0].finish_reason == "stop", answer
        assert "".join(answer.choices[0].logprobs.tokens) == answer.choices[0].text
        assert answer.usage.total_tokens == answer.usage.prompt_tokens + answer.usage.completion_tokens

        pieces = list(client.completions.create(model="tiny", prompt="Alice", seed=3, stream=True,
                                                stream_options={"include_usage": True}, extra_body=extra))
        assert "".join(piece.choices[0].text for piece in pieces if piece.choices) == answer.choices[0].text
        assert pieces[-1].usage.completion_tokens > 0 and pieces[-2].choices[0].finish_reason == "stop"

        messages = [{"role": "user", "content": "Alice"}]
        chat = client.chat.completions.create(model="tiny", messages=messages, seed=3, extra_body=extra)
        assert chat.choices[0].message.content == answer.choices[0].text
        deltas = client.chat.completions.create(model="tiny", messages=messages, seed=3, stream=True, extra_body=extra)
        assert "".join(delta.choices[0].delta.content or "" for delta in deltas) == answer.choices[0].text

        try:
            client.completions.create(model="tiny", prompt="Alice", extra_body={"knobs": {"polarity": 7}})
            raise AssertionError("a knob out of range was taken")
        except openai.BadRequestError as error:
            assert error.param == "knobs.polarity", error
        try:
            client.completions.create(model="other", prompt="Alice")
            raise AssertionError("a model that is not there was found")
        except openai.NotFoundError as error:
            assert error.code == "model_not_found", error
        try:
            openai.OpenAI(base_url=client.base_url, api_key="wrong", max_retries=0).models.list()
            raise AssertionError("a wrong key was taken")
        except openai.AuthenticationError as error:
            assert error.code == "invalid_api_key", error
        assert server.stop() == 0
print(f"openai {openai.__version__} works")
