"""Compares the logits of an exported model, rebuilt by the Python of docs/file_formats.md, with those that the library computed.

  export_check.py FILE_FORMATS_MD EXPORTED EXPECTED_JSON

EXPECTED_JSON is a list of {"ids": [...], "features": [[...], ...], "logits": [[...], ...]}. Prints the largest difference relative to the
largest logit; exit code 1 if it is above 1e-5.
"""
import json
import pathlib
import re
import sys

import torch

document, exported, expected = sys.argv[1:]
text = pathlib.Path(document).read_text(encoding="utf-8")
exec(re.search(r"<!-- begin python -->\n```python\n(.*?)```\n<!-- end python -->", text, re.S)[1])
model, words = load_model(exported)
worst = 0.0
for case in json.loads(pathlib.Path(expected).read_text()):
    assert [words[i] for i in case["ids"]] == case["words"], "vocab.txt names other words"
    features = torch.tensor([case["features"]]) if case["features"] else None
    with torch.no_grad():
        found = model(torch.tensor([case["ids"]]), features)[0]
    wanted = torch.tensor(case["logits"])
    assert found.shape == wanted.shape, f"{found.shape} instead of {wanted.shape}"
    worst = max(worst, ((found - wanted).abs().max() / wanted.abs().max()).item())
print(f"largest difference {worst:.2g}")
sys.exit(0 if worst < 1e-5 else 1)
