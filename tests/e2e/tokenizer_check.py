"""Reads a tokenizer.json with Hugging Face's tokenizers and compares ids and texts with ours.

  tokenizer_check.py TOKENIZER_JSON CASES_JSON SAVED_JSON

CASES_JSON is a list of {"text": ..., "ids": [...]}. Saves the tokenizer again as SAVED_JSON. Exit code 1 and the first cases that differ.
"""
import json
import pathlib
import sys

import tokenizers

file, cases, saved = sys.argv[1:]
tokenizer = tokenizers.Tokenizer.from_file(file)
tokenizer.save(saved)
wrong = 0
for case in json.loads(pathlib.Path(cases).read_text(encoding="utf-8")):
    ids = tokenizer.encode(case["text"]).ids
    text = tokenizer.decode(ids, skip_special_tokens=False)
    if ids != case["ids"] or text != case["text"]:
        wrong += 1
        if wrong <= 3:
            print(f"{case['text']!r}: {ids} instead of {case['ids']}, which is {text!r}")
for name, number in [("<pad>", 0), ("<bos>", 1), ("<eos>", 2)]:
    assert tokenizer.token_to_id(name) == number, f"{name} is {tokenizer.token_to_id(name)}"
print(f"tokenizers {tokenizers.__version__}: {wrong} texts differ")
sys.exit(0 if wrong == 0 else 1)
