"""JSON of a schema from any model that llama.cpp runs: llama-cpp-python, with a grammar of semfuse.

  python json_of_a_schema.py MODEL.gguf "Review: the soup was cold, the staff was kind. As JSON: "
"""
import json
import sys

import numpy as np

import semfuse

SCHEMA = {
    "type": "object",
    "properties": {
        "topic": {"type": "string", "enum": ["food", "staff", "room"]},
        "stars": {"type": "integer", "minimum": 1, "maximum": 5},
        "remark": {"type": "string", "maxLength": 60},
    },
    "required": ["topic", "stars", "remark"],
    "additionalProperties": False,
}


def vocabulary_of(llama):
    """What each token adds to a text; control tokens add nothing. Read once for a model, and shared by all grammars for it."""
    return semfuse.Vocabulary([llama.detokenize([token]) or None for token in range(llama.n_vocab())], end=llama.token_eos())


class GrammarProcessor:
    """One of llama-cpp-python's `logits_processor`: rules out what the grammar does not allow after the prompt. One a text."""

    def __init__(self, compiled):
        self._matcher = compiled.matcher()
        self._mask = semfuse.bitmask(1, compiled.vocab_size)[0]
        self._num_read = None

    def __call__(self, input_ids, scores):
        written = input_ids[len(input_ids) if self._num_read is None else self._num_read:]  # Nothing of the prompt.
        self._num_read = len(input_ids)
        for token in written:
            self._matcher.advance(int(token))
        self._matcher.fill(self._mask)
        allowed = np.unpackbits(self._mask.view(np.uint8), count=len(scores), bitorder="little")
        return np.where(allowed, scores, -np.inf).astype(scores.dtype)


def main():
    from llama_cpp import Llama, LogitsProcessorList

    path, prompt = sys.argv[1:]
    llama = Llama(path, n_ctx=512, verbose=False)
    compiled = semfuse.Grammar(json_schema=SCHEMA, whitespace="spaced").compile(vocabulary_of(llama))
    answer = llama.create_completion(prompt, max_tokens=200, temperature=0.7, seed=1, logits_processor=LogitsProcessorList([GrammarProcessor(compiled)]))
    print(json.dumps(json.loads(answer["choices"][0]["text"]), indent=2))


if __name__ == "__main__":
    main()
