"""Compares models that transformers made with what `semfuse import` and `semfuse export` make of them.

  transformers_check.py SEMFUSE FOLDER

Writes small random Llamas and GPT-2s of odd sizes with transformers, imports and exports each, and loads what was exported with transformers again: all logits must
be equal. For tokenizers it trains byte-level and SentencePiece-like ones with `tokenizers` and compares ids. Exit code 1 if anything differs.
"""
import json
import pathlib
import random
import subprocess
import sys

import tokenizers
import torch
import transformers

semfuse, folder = sys.argv[1], pathlib.Path(sys.argv[2])
failures = 0


def run(*arguments, text=""):
    return subprocess.run([semfuse, *map(str, arguments)], input=text.encode(), check=True, capture_output=True).stdout.decode()


def expect(holds, what):
    global failures
    if not holds:
        failures += 1
        print("differs:", what)


def check_model(name, model):
    torch.manual_seed(1)
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.3)
    model.eval()
    theirs, ours, back = folder / name, folder / f"{name}-ours", folder / f"{name}-back"
    model.save_pretrained(theirs, safe_serialization=True)
    run("import", theirs, "--out", ours, "--quiet")
    run("export", ours, "--to", back)
    again = transformers.AutoModelForCausalLM.from_pretrained(back)
    ids = torch.randint(0, model.config.vocab_size, (2, 7))
    with torch.no_grad():
        expect(torch.equal(model(ids).logits, again.eval()(ids).logits), name)
    score = subprocess.run([semfuse, "score", ours, "--ids", ",".join(map(str, ids[0].tolist())), "--json"], capture_output=True)
    if score.returncode == 0:
        found = json.loads(score.stdout)
        wanted = torch.log_softmax(model(ids).logits[0], -1)
        nll = [-wanted[i, ids[0, i + 1]].item() for i in range(6)]
        expect(max(abs(a - b) for a, b in zip(nll, found["nll"])) < 1e-4, f"{name}: nll {found['nll']} instead of {nll}")


Llama, Gpt2 = transformers.LlamaConfig, transformers.GPT2Config
for i, (heads, keys, width, hidden, tied) in enumerate([(4, 4, 64, 96, True), (6, 2, 48, 100, False), (3, 1, 66, 31, True)]):
    config = Llama(vocab_size=51, hidden_size=width, intermediate_size=hidden, num_hidden_layers=2, num_attention_heads=heads, num_key_value_heads=keys,
                   max_position_embeddings=32, tie_word_embeddings=tied, rope_theta=10000.0 * (i + 1), rms_norm_eps=1e-5)
    check_model(f"llama{i}", transformers.LlamaForCausalLM(config))
for i, (activation, inner, tied) in enumerate([("gelu_new", None, True), ("gelu", 50, False), ("relu", 64, True)]):
    config = Gpt2(vocab_size=53, n_embd=36, n_layer=2, n_head=3, n_positions=17, n_inner=inner, activation_function=activation, tie_word_embeddings=tied)
    check_model(f"gpt2-{i}", transformers.GPT2LMHeadModel(config))

texts = ["The 12 cats' 345 kittens aren't here.", "Äpfel und Öl, naïve café – 日本語 🚀", "  two  blanks\n\n\ttabs ", "x"] * 20
models, pre, train = tokenizers.models, tokenizers.pre_tokenizers, tokenizers.trainers
for name, steps in [("bytes", [pre.ByteLevel(add_prefix_space=False)]), ("digits", [pre.Digits(individual_digits=True), pre.ByteLevel(add_prefix_space=False)]),
                    ("split", [pre.Split(tokenizers.Regex(r"\p{L}+|\p{N}{1,2}|\s+|[^\s\p{L}\p{N}]+"), "isolated"), pre.ByteLevel(add_prefix_space=False, use_regex=False)])]:
    tokenizer = tokenizers.Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre.Sequence(steps)
    tokenizer.train_from_iterator(texts, train.BpeTrainer(vocab_size=400, initial_alphabet=pre.ByteLevel.alphabet(), special_tokens=["<|end|>"]))
    path = folder / f"{name}.json"
    tokenizer.save(str(path))
    generator = random.Random(3)
    for _ in range(100):
        text = "".join(generator.choice(generator.choice(texts)) for _ in range(generator.randrange(1, 40)))
        found = json.loads(run("tokenize", path, "--json", text=text))["ids"]
        expect(found == tokenizer.encode(text).ids, f"{name}: {text!r} {found}")
    # With a model around it, what is exported is the same tokenizer to transformers.
    theirs = folder / f"{name}-model"
    transformers.GPT2LMHeadModel(Gpt2(vocab_size=400, n_embd=12, n_layer=1, n_head=1, n_positions=8)).save_pretrained(theirs, safe_serialization=True)
    tokenizer.save(str(theirs / "tokenizer.json"))
    run("import", theirs, "--out", folder / f"{name}-ours", "--quiet")
    run("export", folder / f"{name}-ours", "--to", folder / f"{name}-back")
    again = transformers.AutoTokenizer.from_pretrained(folder / f"{name}-back")
    for text in texts[:4]:
        expect(again(text)["input_ids"] == tokenizer.encode(text).ids, f"{name}, exported: {text!r}")
        expect(again.decode(again(text)["input_ids"]) == text, f"{name}, decoded: {text!r}")
print("failures:", failures)
sys.exit(1 if failures else 0)
