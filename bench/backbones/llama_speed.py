"""The peer of bench_backbones: llama.cpp's speeds on a GGUF file, as the same JSON.

  llama_speed.py GGUF [--threads N] [--prompt N] [--tokens N] [--rounds N]
"""
import argparse
import json
import os
import resource
import time

import llama_cpp
import numpy


class Speed:
    def __init__(self):
        self.wall = self.cpu = 0.0

    def add(self, tokens, begin):
        wall, cpu = time.perf_counter(), time.process_time()
        self.wall = max(self.wall, tokens / (wall - begin[0]))
        self.cpu = max(self.cpu, tokens / (cpu - begin[1]))

    def json(self):
        return {"wall": round(self.wall, 2), "cpu": round(self.cpu, 2)}


def now():
    return time.perf_counter(), time.process_time()


class Context:
    """A model behind llama.cpp's own C functions: no sampling, no Python between the tokens of a batch."""

    def __init__(self, path, threads, streams):
        llama_cpp.llama_backend_init()
        options = llama_cpp.llama_model_default_params()
        options.use_extra_bufts = os.environ.get("LLAMA_REPACK", "1") == "1"
        self.model = llama_cpp.llama_model_load_from_file(path.encode(), options)
        settings = llama_cpp.llama_context_default_params()
        settings.n_ctx = 512 * streams
        settings.n_batch = 512
        settings.n_ubatch = 512
        settings.n_seq_max = streams
        settings.n_threads = settings.n_threads_batch = threads
        self.context = llama_cpp.llama_init_from_model(self.model, settings)
        self.vocab_size = llama_cpp.llama_vocab_n_tokens(llama_cpp.llama_model_get_vocab(self.model))
        self.batch = llama_cpp.llama_batch_init(512, 0, streams)

    def clear(self):
        llama_cpp.llama_memory_clear(llama_cpp.llama_get_memory(self.context), True)

    def run(self, tokens):
        """tokens: (id, position, stream, whether its logits are wanted)"""
        self.batch.n_tokens = len(tokens)
        for i, (token, position, stream, wanted) in enumerate(tokens):
            self.batch.token[i] = token
            self.batch.pos[i] = position
            self.batch.n_seq_id[i] = 1
            self.batch.seq_id[i][0] = stream
            self.batch.logits[i] = wanted
        if llama_cpp.llama_decode(self.context, self.batch) != 0:
            raise RuntimeError("llama_decode")

    def logits(self, i):
        pointer = llama_cpp.llama_get_logits_ith(self.context, i)
        return numpy.ctypeslib.as_array(pointer, shape=(self.vocab_size,))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("gguf")
    for name, default in [("threads", 2), ("prompt", 256), ("tokens", 64), ("rounds", 3)]:
        parser.add_argument(f"--{name}", type=int, default=default)
    arguments = parser.parse_args()
    result = {"threads": arguments.threads}
    context = Context(arguments.gguf, arguments.threads, 1)
    speed = Speed()
    for _ in range(arguments.rounds):
        context.clear()
        prompt = [((i * 7919 + 13) % context.vocab_size, i, 0, i + 1 == arguments.prompt) for i in range(arguments.prompt)]
        begin = now()
        context.run(prompt)
        context.logits(arguments.prompt - 1)
        speed.add(arguments.prompt, begin)
    result["prompt"] = speed.json()
    for streams in [1, 8]:
        context = Context(arguments.gguf, arguments.threads, streams)
        speed = Speed()
        for _ in range(arguments.rounds):
            context.clear()
            last = [1] * streams
            begin = now()
            for position in range(arguments.tokens):
                context.run([(last[s], position, s, True) for s in range(streams)])
                last = [int(context.logits(s).argmax()) for s in range(streams)]
            speed.add(streams * arguments.tokens, begin)
        result[f"decode_{streams}"] = speed.json()
    result["peak_mb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps(result))


if __name__ == "__main__":
    main()
