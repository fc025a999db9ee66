#!/usr/bin/python3
"""Generation with the same weights in PyTorch: as the paper's loop does it (the whole prefix at every token), and with a
key/value cache. Prints sentences per second as JSON.

  bench/torch_decoding.py RUN [--seconds 4]

RUN is a causal run without fusion. One stream on one thread, which is the fastest setting for products this small; the cached
loop calls the fewest operations that give the same logits (fused bias, no module, no mask, no gradient state).
"""
import argparse
import json
import math
import pathlib
import struct
import time

import torch
from torch.nn import functional as F

BOS, EOS, PAD = 1, 2, 0
MAX_WORDS = 26


def read_run(path):
    """Weights by name, and the metadata, of RUN/model.safetensors."""
    data = (pathlib.Path(path) / "model.safetensors").read_bytes()
    (size,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8:8 + size])
    metadata = header.pop("__metadata__")
    weights = {}
    for name, info in header.items():
        begin, end = info["data_offsets"]
        values = torch.frombuffer(bytearray(data[8 + size + begin:8 + size + end]), dtype=torch.float32)
        weights[name] = values.view(info["shape"]).clone()
    return weights, metadata


def sinusoid(length, width):
    position = torch.arange(length, dtype=torch.float64)[:, None]
    rate = torch.exp(torch.arange(0, width, 2, dtype=torch.float64) * (-math.log(10000.0) / width))
    table = torch.zeros(length, width, dtype=torch.float64)
    table[:, 0::2], table[:, 1::2] = torch.sin(position * rate), torch.cos(position * rate)
    return table.float()


class WholePrefix:
    """nn.TransformerEncoder over the whole prefix, at every token."""

    def __init__(self, weights, layers, width, heads, inner):
        layer = torch.nn.TransformerEncoderLayer(width, heads, inner, dropout=0.0, batch_first=True)
        self.encoder = torch.nn.TransformerEncoder(layer, layers)
        state = {name[len("enc."):]: value for name, value in weights.items() if name.startswith("enc.")}
        self.encoder.load_state_dict(state)
        self.encoder.eval()
        self.table, self.positions = weights["tok.weight"], sinusoid(MAX_WORDS + 2, width)
        self.masks = [torch.triu(torch.full((n, n), -math.inf), 1) for n in range(MAX_WORDS + 2)]

    def begin(self):
        self.ids = []

    def logits(self, token):
        self.ids.append(token)
        n = len(self.ids)
        x = self.table[torch.tensor(self.ids)] + self.positions[:n]
        return F.linear(self.encoder(x[None], self.masks[n])[0, -1], self.table)


class Cached:
    """One token at a time over cached keys and values."""

    def __init__(self, weights, layers, width, heads, inner):
        self.layers = []
        for i in range(layers):
            get = lambda name: weights[f"enc.layers.{i}.{name}"]
            names = ("self_attn.in_proj_weight", "self_attn.in_proj_bias", "self_attn.out_proj.weight", "self_attn.out_proj.bias",
                     "norm1.weight", "norm1.bias", "linear1.weight", "linear1.bias", "linear2.weight", "linear2.bias", "norm2.weight", "norm2.bias")
            self.layers.append([get(name).t().contiguous() if name.endswith("weight") and "norm" not in name else get(name) for name in names])
        self.table, self.head = weights["tok.weight"], weights["tok.weight"].t().contiguous()
        self.embedded = (self.table[None] + sinusoid(MAX_WORDS + 2, width)[:, None]).contiguous()  # [position, token, width]
        self.width, self.heads, self.size = width, heads, width // heads
        self.keys = torch.zeros(layers, heads, self.size, MAX_WORDS + 2)
        self.values = torch.zeros(layers, heads, MAX_WORDS + 2, self.size)
        self.scale = 1.0 / math.sqrt(self.size)

    def begin(self):
        self.length = 0

    def logits(self, token):
        n = self.length
        self.length = n + 1
        x = self.embedded[n, token:token + 1]
        for i, (w_in, b_in, w_out, b_out, g1, c1, w1, b1, w2, b2, g2, c2) in enumerate(self.layers):
            q, k, v = torch.addmm(b_in, x, w_in).view(3, self.heads, self.size, 1).unbind(0)
            self.keys[i, :, :, n:n + 1] = k
            self.values[i, :, n:n + 1] = v.transpose(1, 2)
            scores = torch.bmm(q.transpose(1, 2), self.keys[i, :, :, :n + 1]).mul_(self.scale)
            context = torch.bmm(torch.softmax(scores, -1), self.values[i, :, :n + 1]).view(1, self.width)
            x = F.layer_norm(torch.addmm(b_out, context, w_out).add_(x), (self.width,), g1, c1)
            inner = torch.addmm(b1, x, w1).relu_()
            x = F.layer_norm(torch.addmm(b2, inner, w2).add_(x), (self.width,), g2, c2)
        return torch.mm(x, self.head)[0]


def free_masks(vocabulary):
    mask = torch.zeros(len(vocabulary))
    mask[[PAD, BOS]] = -math.inf
    return lambda position: mask


def one_clause_masks(vocabulary, lexicon):
    """The paper's finite-state grammar: the class of each position."""
    classes = {}
    for entry in lexicon:
        classes.setdefault(entry["class"], []).append(entry["word"])
    index = {word: i for i, word in enumerate(vocabulary)}
    sequence = [classes["subject"], classes["verb"], ["the"], classes["object"], [","], classes["intensifier"], classes["adjective"],
                [".", "!", "?"], ["<eos>"]]
    masks = []
    for words in sequence:
        mask = torch.full((len(vocabulary),), -math.inf)
        mask[[index[word] for word in words if word in index]] = 0.0
        masks.append(mask)
    return lambda position: masks[position]


def generate(model, mask_at):
    """The ids of one sentence; temperature 1."""
    model.begin()
    token, words = BOS, []
    while len(words) < MAX_WORDS:
        logits = model.logits(token).add(mask_at(len(words)))
        token = int(torch.multinomial(torch.softmax(logits, -1), 1))
        if token == EOS:
            break
        words.append(token)
    return words


def measure(model, mask_at, seconds, windows=8):
    rates, words, sentences = [], 0, 0
    for window in range(windows + 1):
        begin, done = time.perf_counter(), 0
        while time.perf_counter() - begin < seconds / windows:
            words += len(generate(model, mask_at))
            done += 1
        sentences += done
        if window:
            rates.append(done / (time.perf_counter() - begin))
    rates.sort()
    return {"sentences_per_second": rates[-1], "median": rates[len(rates) // 2], "spread": (rates[-1] - rates[0]) / rates[-1],
            "tokens_per_sentence": words / sentences}


def check_equal(models):
    """Both loops give the same logits."""
    for model in models:
        model.begin()
    for token in (BOS, 5, 17, 9, 30, 8):
        first, second = (model.logits(token) for model in models)
        assert torch.allclose(first, second, atol=1e-3), (first - second).abs().max()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run")
    parser.add_argument("--seconds", type=float, default=4.0)
    options = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(1)
    weights, metadata = read_run(options.run)
    vocabulary, lexicon = json.loads(metadata["vocabulary"]), json.loads(metadata["lexicon"])
    width = weights["tok.weight"].shape[1]
    layers = 1 + max(int(name.split(".")[2]) for name in weights if name.startswith("enc."))
    sizes = (layers, width, 4, weights["enc.layers.0.linear1.weight"].shape[0])
    with torch.inference_mode():
        models = {"whole_prefix": WholePrefix(weights, *sizes), "cached": Cached(weights, *sizes)}
        check_equal(models.values())
        grammars = {"free": free_masks(vocabulary), "one-clause": one_clause_masks(vocabulary, lexicon)}
        result = {grammar: {name: measure(model, masks, options.seconds) for name, model in models.items()} for grammar, masks in grammars.items()}
    print(json.dumps(result))


if __name__ == "__main__":
    main()
