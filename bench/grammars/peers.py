"""Time of a peer's compiling of a grammar, and of its masks along texts; one JSON line, as bench_grammar_masks writes it.

  peers.py xgrammar|llguidance VOCABULARY GRAMMAR TEXTS

The files are those of bench_grammar_masks. One thread, processor time less what the clock itself takes. A text that the peer refuses is
counted and left there; after 10 s of masks no other text is begun.
"""
import ctypes
import gc
import json
import pathlib
import statistics
import sys
import time


def clock():
    return time.thread_time_ns() / 1000


def clock_cost():
    times = []
    for _ in range(2000):
        begin = clock()
        times.append(clock() - begin)
    return statistics.median(times)


def resident_megabytes():
    """What is free goes back first, or a grammar would live in it unseen."""
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    return int(pathlib.Path("/proc/self/statm").read_text().split()[1]) * 4096 / 1e6


def quantile(times, q):
    return sorted(times)[int(q * (len(times) - 1))] if times else None


class XGrammar:
    def __init__(self, tokens):
        import torch
        import xgrammar
        torch.set_num_threads(1)
        self.xgrammar = xgrammar
        self.info = xgrammar.TokenizerInfo([*tokens, b"</s>"], vocab_type=xgrammar.VocabType.RAW, stop_token_ids=[len(tokens)])
        self.compiler = xgrammar.GrammarCompiler(self.info, max_threads=1, cache_enabled=False)
        self.bitmask = xgrammar.allocate_token_bitmask(1, len(tokens) + 1)

    def compile(self, text, is_schema):
        self.compiled = self.compiler.compile_json_schema(text) if is_schema else self.compiler.compile_grammar(text)

    def begin(self):
        matcher = self.xgrammar.GrammarMatcher(self.compiled)
        bitmask = self.bitmask
        return lambda: matcher.fill_next_token_bitmask(bitmask, 0), matcher.accept_token


class LLGuidance:
    def __init__(self, tokens):
        import llguidance
        import llguidance.numpy

        class Tokens:
            eos_token_id = len(tokens)
            bos_token_id = None
            special_token_ids = [len(tokens)]

            def __call__(self, text):
                return list(text)  # Only for forced tokens, which nobody asks for.

        Tokens.tokens = [*tokens, b"</s>"]
        self.llguidance = llguidance
        self.tokenizer = llguidance.LLTokenizer(llguidance.TokenizerWrapper(Tokens()))
        self.bitmask = llguidance.numpy.allocate_token_bitmask(1, len(tokens) + 1)
        self.row = self.bitmask[0, :]

    def compile(self, text, is_schema):
        from llguidance.gbnf_to_lark import any_to_lark
        matcher = self.llguidance.LLMatcher
        if is_schema:
            self.grammar = matcher.grammar_from_json_schema(text)
        else:
            self.grammar = matcher.grammar_from_lark(any_to_lark(text))
        self.matcher = matcher(self.tokenizer, self.grammar, log_level=0)
        if self.matcher.is_error():
            raise ValueError(self.matcher.get_error())

    def begin(self):
        matcher = self.matcher.deep_copy()
        address, size = self.row.ctypes.data, self.row.size * self.row.itemsize
        return lambda: matcher.unsafe_compute_mask_ptr(address, size), matcher.consume_token


def main():
    engine, vocabulary, grammar, texts = sys.argv[1:]
    tokens = [bytes.fromhex(line) for line in pathlib.Path(vocabulary).read_text(encoding="ascii").splitlines()]
    texts = [[int(word) for word in line.split()] for line in pathlib.Path(texts).read_text(encoding="ascii").splitlines()]
    gc.disable()
    before = clock()
    peer = {"xgrammar": XGrammar, "llguidance": LLGuidance}[engine](tokens)
    vocabulary_ms = (clock() - before) / 1000
    peer.compile('root ::= "a"', False)
    fill, advance = peer.begin()
    fill()
    cost = clock_cost()
    memory = resident_megabytes()
    text = pathlib.Path(grammar).read_text(encoding="utf-8")
    before = clock()
    peer.compile(text, grammar.endswith(".json"))
    compile_ms = (clock() - before) / 1000
    masks, refused = [], 0
    all_in = 0
    for i, text in enumerate(texts):
        times = []
        if sum(map(sum, masks)) > 10e6:
            break
        fill, advance = peer.begin()
        for n, token in enumerate(text):
            if sum(times) > 10e6:
                break
            begin = clock()
            fill()
            filled = clock()
            ok = advance(token)
            times.append(max(0, filled - begin - cost))
            if i == 0 and n < 200:
                all_in += clock() - begin - 2 * cost
            if not ok:
                refused += 1
                break
        masks.append(times)
    later = [time_ for times in masks[1:] for time_ in times]
    print(json.dumps({"vocabulary_ms": vocabulary_ms, "compile_ms": compile_ms, "first_p50": quantile(masks[0], 0.5),
                      "first_p99": quantile(masks[0], 0.99), "first_mean": statistics.mean(masks[0]), "later_p50": quantile(later, 0.5),
                      "later_p99": quantile(later, 0.99), "later_mean": statistics.mean(later) if later else None, "all_in_ms": compile_ms + all_in / 1000,
                      "tokens": sum(map(len, masks)), "refused": refused, "megabytes": resident_megabytes() - memory}))


if __name__ == "__main__":
    main()
