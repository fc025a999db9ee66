"""Whether semfuse and llama.cpp say the same with the same GGUF file: bits a byte of a text, and greedy continuations.
Where one differs: the two most probable tokens of each side, how far apart they are in logits, and how far the two sides' logits of that place are apart at most.

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


def piece_of(context, token):
    room = ctypes.create_string_buffer(256)
    count = llama_cpp.llama_token_to_piece(llama_cpp.llama_model_get_vocab(context.model), token, room, len(room), 0, False)
    return room.raw[:max(0, count)].decode("utf-8", "replace")


def top_two(logits):
    """The two most probable tokens, and how far apart they are."""
    second, first = numpy.argpartition(logits, -2)[-2:][numpy.argsort(numpy.partition(logits, -2)[-2:])]
    return int(first), int(second), float(logits[first] - logits[second])


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


def spread(differences):
    return float(differences.std())


def greedy(context, ids):
    """TOKENS tokens after the ids, and the logits that each was taken from."""
    context.clear()
    written, rows = [], []
    position = 0
    tokens = ids
    while len(written) < TOKENS:
        context.run([(token, position + i, 0, i + 1 == len(tokens)) for i, token in enumerate(tokens)])
        position += len(tokens)
        rows.append(context.logits(len(tokens) - 1).copy())
        tokens = [int(rows[-1].argmax())]
        written += tokens
    return written, rows


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("gguf")
    parser.add_argument("text")
    parser.add_argument("--semfuse", required=True)
    parser.add_argument("--model", required=True)
    parser.add_argument("--bytes", type=int, default=60_000)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--prompts", type=int, default=20)
    parser.add_argument("--exact", help="the same model imported with its weights as floats: then activations are floats too, and it says how far either side is from that")
    parser.add_argument("--only", choices=["bits", "greedy"])
    arguments = parser.parse_args()
    with open(arguments.text, encoding="utf-8") as file:
        text = file.read(arguments.bytes)

    def score(*more, model=arguments.model):
        command = [arguments.semfuse, "score", model, "--json", "--threads", str(arguments.threads), *more]
        return json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)

    context = Context(arguments.gguf, arguments.threads, 1)
    result = {}
    if arguments.only != "greedy":
        ids = tokens_of(context, text)
        with tempfile.NamedTemporaryFile("w", suffix=".txt", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            ours = score("--file", file.name, "--window", str(WINDOW))
        size = len(text.encode()) * numpy.log(2)
        result |= {"same_ids": ours["ids"] == ids, "bytes": len(text.encode()), "ours": sum(ours["nll"]) / size, "llama": nll_of(context, ids) / size}
    if arguments.only != "bits":
        result |= compare_greedy(context, text, arguments, score)
    print(json.dumps(result))


def compare_greedy(context, text, arguments, score):
    result = {"prompts": 0, "same": 0, "first_differences": []}
    ends = {token for token in range(context.vocab_size) if llama_cpp.llama_vocab_is_eog(llama_cpp.llama_model_get_vocab(context.model), token)}
    lines = [line.strip() for line in text.splitlines() if len(line.split()) > 12][:arguments.prompts]
    for line in lines:
        prompt = tokens_of(context, " ".join(line.split()[:12]))
        expected, rows = greedy(context, prompt)
        result["prompts"] += 1
        result["same"] += 1
        command = [arguments.semfuse, "generate", arguments.model, "--prompt", " ".join(line.split()[:12]), "--temperature", "0", "--json",
                   "--max-tokens", str(len(prompt) + TOKENS), "--threads", str(arguments.threads)]
        written = json.loads(subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True).stdout.splitlines()[0])["tokens"]
        for i, token in enumerate(expected):
            if i < len(written) and written[i] == piece_of(context, token):
                continue
            # Pieces of characters are not written alike: the logits after the same tokens decide.
            mine = numpy.array(score("--ids", ",".join(map(str, prompt + expected[:i])))["last_logits"])
            if int(mine.argmax()) != token:
                first, second, gap = top_two(mine)
                their_first, their_second, their_gap = top_two(rows[i])
                pair = [their_first, their_second]
                result["same"] -= 1
                result["first_differences"].append({
                    "prompt": len(result["first_differences"]) + result["same"], "token": i, "ours": [first, second], "gap": round(gap, 4), "llama": pair, "llama_gap": round(their_gap, 4),
                    "apart": round(float(abs((mine - mine.mean()) - (rows[i] - rows[i].mean())).max()), 4)})
                if arguments.exact:
                    exact = numpy.array(score("--ids", ",".join(map(str, prompt + expected[:i])), model=arguments.exact)["last_logits"])
                    best, _, exact_gap = top_two(exact)
                    result["first_differences"][-1] |= {"exact": best, "exact_gap": round(exact_gap, 4), "ours_off": round(spread(mine - exact), 4), "llama_off": round(spread(rows[i] - exact), 4)}
                break
            if token in ends:
                break
    return result


if __name__ == "__main__":
    main()
