"""The scripts of examples/, with small stand-ins for models that take minutes to install."""
import importlib.util
import json
import pathlib

import numpy as np
import pytest

import semfuse

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples"


def load(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Llama:
    """Random logits over bytes, asked as llama-cpp-python asks: all tokens so far, and one row of scores."""

    END = 256

    def n_vocab(self):
        return 300

    def token_eos(self):
        return self.END

    def detokenize(self, tokens):
        return b"".join(bytes([token]) if token < 256 else b"" for token in tokens)

    def complete(self, prompt, processor, seed):
        draw = np.random.default_rng(seed)
        tokens = list(prompt.encode())
        first = len(tokens)
        while len(tokens) < 600:
            scores = draw.normal(0, 3, self.n_vocab()).astype(np.single)
            scores[ord('"')] += 4  # So that strings end.
            found = processor(np.array(tokens, np.intc), scores)
            assert found.dtype == np.single and found.shape == scores.shape
            tokens.append(int(np.argmax(found)))
            if tokens[-1] == self.END:
                return self.detokenize(tokens[first:])
        return None


def test_llama_cpp_writes_json_of_a_schema():
    jsonschema = pytest.importorskip("jsonschema", reason="jsonschema is not installed")
    example = load(EXAMPLES / "llama_cpp/json_of_a_schema.py")
    llama = Llama()
    compiled = semfuse.Grammar(json_schema=example.SCHEMA, whitespace="spaced").compile(example.vocabulary_of(llama))
    for seed in range(5):
        text = llama.complete("As JSON: ", example.GrammarProcessor(compiled), seed)
        jsonschema.validate(json.loads(text), example.SCHEMA)
