#!/usr/bin/env python3
"""The PyTorch peer of adapter training: a frozen Llama of given sizes with random numbers, and the same adapter beside it, trained on texts of one length.

  torch_adapter.py SIZES --rank 8 --columns 14 --batch 32 --length 55 --seconds 10 [--compile] [--threads N]

SIZES is what `semfuse inspect MODEL --json` prints. Texts all have the same length, so nothing is padded; attention is PyTorch's fused one; frozen parameters have no gradient. The last line on
stdout is a JSON object: tokens a second by the wall and by processor time of all threads.
"""
import argparse
import json
import time

import torch
import torch.nn.functional as F

KINDS = ("query", "value", "up", "down")


class Adapted(torch.nn.Module):
    def __init__(self, sizes, rank, columns):
        super().__init__()
        self.sizes, self.rank = sizes, rank
        width, hidden, queries, keys = sizes["model_width"], sizes["hidden_width"], sizes["num_heads"] * sizes["head_width"], sizes["num_key_heads"] * sizes["head_width"]
        shapes = {"query": (queries, width), "key": (keys, width), "value": (keys, width), "output": (width, queries), "up": (hidden, width), "gate": (hidden, width), "down": (width, hidden)}

        def frozen(*shape):
            return torch.nn.Parameter(torch.randn(*shape) / shape[-1] ** 0.5, requires_grad=False)

        def trained(*shape, scale=0.1):
            return torch.nn.Parameter(torch.randn(*shape) * scale)

        self.embedding = frozen(sizes["vocab_size"], width)
        self.layers = torch.nn.ModuleList()
        for _ in range(sizes["num_layers"]):
            layer = torch.nn.ParameterDict({name: frozen(*shape) for name, shape in shapes.items()})
            layer["norm"], layer["middle_norm"] = frozen(width), frozen(width)
            for kind in KINDS if rank else ():
                outputs, inputs = shapes[kind]
                layer[kind + "_narrow"], layer[kind + "_narrow_bias"] = trained(rank, inputs), trained(rank)
                layer[kind + "_request"], layer[kind + "_request_bias"] = trained(rank, columns), trained(rank)
                layer[kind + "_widen"] = trained(outputs, rank)
            self.layers.append(layer)
        self.final_norm = frozen(width)
        self.sem_proj, self.sem_proj_bias = trained(width, columns), trained(width)
        self.gate, self.gate_bias = trained(width, width + columns), trained(width)

    def turned(self, x, cosines, sines):
        a, b = x[..., 0::2], x[..., 1::2]
        return torch.stack((a * cosines - b * sines, a * sines + b * cosines), -1).flatten(-2)

    def forward(self, tokens, targets, requests, cosines, sines):
        sizes = self.sizes
        batch, length = tokens.shape
        heads, key_heads, head_width = sizes["num_heads"], sizes["num_key_heads"], sizes["head_width"]
        x = F.embedding(tokens, self.embedding)
        asked = requests[:, None].expand(batch, length, -1)
        u = F.linear(asked, self.sem_proj, self.sem_proj_bias)
        x = x + u + torch.sigmoid(F.linear(torch.cat((x, asked), -1), self.gate, self.gate_bias)) * u

        def mapped(layer, kind, from_):
            y = F.linear(from_, layer[kind])
            if not self.rank or kind not in KINDS:
                return y
            narrow = F.linear(from_, layer[kind + "_narrow"], layer[kind + "_narrow_bias"]) * F.linear(requests, layer[kind + "_request"], layer[kind + "_request_bias"])[:, None]
            return y + F.linear(narrow, layer[kind + "_widen"])

        for layer in self.layers:
            h = F.rms_norm(x, x.shape[-1:], layer["norm"], 1e-5)
            q = self.turned(mapped(layer, "query", h).view(batch, length, heads, head_width).transpose(1, 2), cosines, sines)
            k = self.turned(mapped(layer, "key", h).view(batch, length, key_heads, head_width).transpose(1, 2), cosines, sines)
            v = mapped(layer, "value", h).view(batch, length, key_heads, head_width).transpose(1, 2)
            context = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=heads != key_heads)
            x = x + F.linear(context.transpose(1, 2).reshape(batch, length, -1), layer["output"])
            h = F.rms_norm(x, x.shape[-1:], layer["middle_norm"], 1e-5)
            x = x + mapped(layer, "down", F.silu(mapped(layer, "gate", h)) * mapped(layer, "up", h))
        logits = F.linear(F.rms_norm(x, x.shape[-1:], self.final_norm, 1e-5), self.embedding)
        return F.cross_entropy(logits.view(-1, logits.shape[-1]), targets.reshape(-1))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sizes")
    parser.add_argument("--rank", type=int, default=8)
    parser.add_argument("--columns", type=int, default=14)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--length", type=int, default=55)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--threads", type=int, default=0)
    parser.add_argument("--compile", action="store_true")
    options = parser.parse_args()
    if options.threads:
        torch.set_num_threads(options.threads)
    torch.manual_seed(1)
    sizes = json.loads(options.sizes)
    model = Adapted(sizes, options.rank, options.columns)
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-3, fused=True)
    angles = torch.arange(options.length)[:, None] * 10000.0 ** (-torch.arange(0, sizes["head_width"], 2) / sizes["head_width"])
    cosines, sines = angles.cos(), angles.sin()
    loss_of = torch.compile(model) if options.compile else model
    ids = torch.randint(sizes["vocab_size"], (options.batch, options.length + 1))
    requests = torch.rand(options.batch, options.columns)

    def step():
        optimizer.zero_grad(set_to_none=True)
        loss = loss_of(ids[:, :-1], ids[:, 1:], requests, cosines, sines)
        loss.backward()
        torch.nn.utils.clip_grad_norm_([p for p in model.parameters() if p.requires_grad], 1.0)
        optimizer.step()

    for _ in range(2):
        step()
    steps, begin, busy = 0, time.monotonic(), time.process_time()
    while time.monotonic() - begin < options.seconds:
        step()
        steps += 1
    tokens = steps * options.batch * options.length
    print(json.dumps({"torch": torch.__version__, "compiled": options.compile, "threads": torch.get_num_threads(), "tokens_per_second": tokens / (time.monotonic() - begin),
                      "tokens_per_busy_second": tokens / (time.process_time() - busy)}))


if __name__ == "__main__":
    main()
