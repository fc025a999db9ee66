#!/usr/bin/env python3
"""The real `lm-eval` against `semfuse serve`: its `local-completions` ranks endings, sums up texts and lets the model write, and gets the numbers that plain requests get.

  lm_eval_check.py BIN_DIR FOLDER     the package is installed in FOLDER/lm-eval, once

Exits with 77 if it cannot be installed. Its tasks are read from files: nothing is fetched.
"""
import json
import math
import os
import pathlib
import subprocess
import sys
import tempfile

from serving import Server, trained

bin_dir, folder = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
environment = folder / "lm-eval"
program = environment / "bin" / "lm_eval"
if not program.exists():
    try:
        subprocess.run([sys.executable, "-m", "venv", environment], check=True, capture_output=True)
        subprocess.run([environment / "bin" / "python", "-m", "pip", "install", "--quiet", "lm-eval[api]"], check=True, capture_output=True, timeout=900)
    except (subprocess.SubprocessError, OSError) as error:
        print(f"SKIPPED: the package lm-eval cannot be installed here: {error}")
        sys.exit(77)

TASK = """task: {name}
dataset_path: json
dataset_kwargs:
  data_files:
    test: {data}
test_split: test
output_type: {kind}
{rest}
"""
CHOICE = """doc_to_text: "{{text}}"
doc_to_choice: "{{endings}}"
doc_to_target: "{{label}}"
metric_list:
  - metric: acc"""
ROLLING = """doc_to_text: ""
doc_to_target: "{{text}}"
metric_list:
  - metric: word_perplexity
  - metric: byte_perplexity"""
WRITE = """doc_to_text: "{{text}}"
doc_to_target: "{{written}}"
generation_kwargs:
  until: ["."]
  max_gen_toks: 12
metric_list:
  - metric: exact_match"""


def logprobs_of(server, text):
    answer = server.complete(prompt=text, echo=True, logprobs=1, max_tokens=1, temperature=0)
    return answer["choices"][0]["logprobs"]["token_logprobs"][:-1]


with tempfile.TemporaryDirectory() as name:
    temporary = pathlib.Path(name)
    with Server(bin_dir, [trained(bin_dir, temporary)], "--max-requests", "64") as server:
        # What the tasks hold is what the model itself writes, and what it holds of the endings by plain requests.
        texts = [server.complete(seed=seed)["choices"][0]["text"] for seed in range(1, 17)]
        words = [text.split() for text in texts if len(text.split()) > 3]
        choices, right = [], 0
        for i, own in enumerate(words):
            endings = [" " + own[1], " " + words[(i + 1) % len(words)][2]]
            sums = [sum(logprobs_of(server, own[0] + ending)[1:]) for ending in endings]
            choices.append({"text": own[0], "endings": endings, "label": 0})
            right += sums[0] >= sums[1]
        written = [{"text": own[0], "written": server.complete(prompt=own[0], temperature=0, max_tokens=12, stop=["."])["choices"][0]["text"]} for own in words]
        for task, kind, rest, rows in [("choice", "multiple_choice", CHOICE, choices), ("rolling", "loglikelihood_rolling", ROLLING, [{"text": text} for text in texts]),
                                       ("write", "generate_until", WRITE, written)]:
            data = temporary / f"{task}.json"
            data.write_text("".join(json.dumps(row) + "\n" for row in rows))
            (temporary / f"{task}.yaml").write_text(TASK.format(name=f"semfuse_{task}", data=data, kind=kind, rest=rest))
        expected = 0.0
        for text in texts:
            ids = server.post("/tokenize", {"prompt": text})[1]["tokens"]
            answer = server.complete(prompt=[1, *ids], echo=True, logprobs=1, max_tokens=1, temperature=0)["choices"][0]
            assert len(answer["logprobs"]["tokens"]) == len(ids) + 2, answer  # <bos>, and what was drawn at the end, if only <eos>.
            assert answer["text"].startswith(text) and answer["logprobs"]["tokens"][0] == "<bos>", answer
            expected -= sum(answer["logprobs"]["token_logprobs"][1:-1])
        command = [program, "run", "--model", "local-completions", "--model_args",
                   f"model=tiny,base_url=http://127.0.0.1:{server.port}/v1/completions,tokenizer_backend=remote,num_concurrent=4,max_retries=1",
                   "--tasks", "semfuse_choice,semfuse_rolling,semfuse_write", "--include_path", str(temporary), "--output_path", str(temporary / "results")]
        variables = {**os.environ, "HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1", "HF_HOME": str(temporary / "cache"), "OPENAI_API_KEY": "-"}
        done = subprocess.run(command, env=variables, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=600)
        assert done.returncode == 0, done.stdout[-4000:]
        results = json.loads(next((temporary / "results").rglob("results*.json")).read_text())["results"]
        assert server.stop() == 0
    def measured(task, metric):
        return results[f"semfuse_{task}"][f"{metric},none"]

    assert abs(measured("choice", "acc") - right / len(choices)) < 1e-9, (results, right)
    # The same sums by plain requests that send <bos> too; a text's end does not count.
    assert abs(math.log(measured("rolling", "byte_perplexity")) - expected / sum(len(text.encode()) for text in texts)) < 1e-4, (results, expected)
    assert measured("write", "exact_match") == 1.0, results
print(f"lm-eval works: {right} of {len(choices)} endings, {measured('rolling', 'byte_perplexity'):.3f} a byte")
