"""Whether semfuse and llama.cpp say the same with the same GGUF file: bits a byte of a text, and greedy continuations.

  llama_agreement.py GGUF TEXT --semfuse PROGRAM --model IMPORTED [--bytes N] [--threads N]
"""
import argparse
import ctypes
import json
import subprocess
import tempfile

import numpy

from llama_speed import Context
import llama_cpp

WINDOW = 512
TOKENS = 64


def tokens_of(context, text):
    vocabulary = llama_cpp.llama_model_get_vocab(context.model)
    data = text.encode()
    room = (llama_cpp.llama_token * (len(data) + 8))()
    count = llama_cpp.llama_tokenize(vocabulary, data, len(data), room, len(room), False, False)
    return list(room[:count])


def text_of(context, ids):
    vocabulary = llama_cpp.llama_model_get_vocab(context.model)
    room = ctypes.create_string_buffer(16 * len(ids) + 64)
    array = (llama_cpp.llama_token * len(ids))(*ids)
    count = llama_cpp.llama_detokenize(vocabulary, array, len(ids), room, len(room), False, False)
    return room.raw[:count].decode("utf-8", "replace")


def nll_of(context, ids):
    """Of each token but the first, in windows that begin with the last token of the one before."""
    total = 0.0
    for first in range(0, max(1, len(ids) - 1), WINDOW - 1):
        part = ids[first:first + WINDOW]
        context.clear()
        context.run([(token, i, 0, True) for i, token in enumerate(part)])
        for i in range(len(part) - 1):
            logits = context.logits(i).astype(numpy.float64)
            top = logits.max()
            total += top + numpy.log(numpy.exp(logits - top).sum()) - logits[part[i + 1]]
    return total


def greedy(context, ids):
    context.clear()
    written = []
    position = 0
    tokens = ids
    while len(written) < TOKENS:
        context.run([(token, position + i, 0, i + 1 == len(tokens)) for i, token in enumerate(tokens)])
        position += len(tokens)
        tokens = [int(context.logits(len(tokens) - 1).argmax())]
        written += tokens
    return written


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("gguf")
    parser.add_argument("text")
    parser.add_argument("--semfuse", required=True)
    parser.add_argument("--model", required=True)
    parser.add_argument("--bytes", type=int, default=60_000)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--prompts", type=int, default=20)
    arguments = parser.parse_args()
    with open(arguments.text, encoding="utf-8") as file:
        text = file.read(arguments.bytes)

    def score(*more):
        command = [arguments.semfuse, "score", arguments.model, "--json", "--threads", str(arguments.threads), *more]
        return json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)

    context = Context(arguments.gguf, arguments.threads, 1)
    ids = tokens_of(context, text)
    with tempfile.NamedTemporaryFile("w", suffix=".txt", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        ours = score("--file", file.name, "--window", str(WINDOW))
    size = len(text.encode()) * numpy.log(2)
    result = {"same_ids": ours["ids"] == ids, "ours": sum(ours["nll"]) / size, "llama": nll_of(context, ids) / size,
              "prompts": arguments.prompts, "same": 0, "first_differences": []}
    lines = [line.strip() for line in text.splitlines() if len(line.split()) > 12][:arguments.prompts]
    for line in lines:
        prompt = " ".join(line.split()[:12])
        ids = tokens_of(context, prompt)
        expected = text_of(context, ids + greedy(context, ids))
        command = [arguments.semfuse, "generate", arguments.model, "--prompt", prompt, "--temperature", "0", "--json",
                   "--max-tokens", str(len(ids) + TOKENS), "--threads", str(arguments.threads)]
        written = json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout.splitlines()[0])["text"]
        # A text that ended is compared as far as it goes.
        result["same"] += expected.startswith(written)
        if not expected.startswith(written):
            same = next(i for i, (a, b) in enumerate(zip(written + " ", expected + " ")) if a != b)
            result["first_differences"].append({"prompt": prompt, "after": expected[:same][-60:],
                                                "ours": written[same:same + 20], "llama": expected[same:same + 20]})
    print(json.dumps(result))


if __name__ == "__main__":
    main()
