"""The weights of a run as a torch.nn.Module, for who wants to go on there."""
from __future__ import annotations

import json
import os
import pathlib
import tempfile
from typing import Any

import torch
from torch import nn

from . import _core
from .model import Model


class TorchModel(nn.Module):
    """The same network, with parameters of the same names: forward() gives the logits of Model.logits() but for rounding."""

    def __init__(self, config: dict[str, Any]) -> None:
        super().__init__()
        self.config = config
        width, features = config["width"], len(config["features"])
        self.num_vectors = config.get("vector_columns", 0)
        self.num_requests = config["request_columns"]
        fused = features + self.num_vectors + self.num_requests
        self.tok = nn.Embedding(config["vocab_size"], width)
        if fused:
            self.sem_proj = nn.Linear(fused, width)
            if config["gate"]:
                self.gate = nn.Linear(width + fused, width)
        if features:
            self.aux_head = nn.Sequential(nn.Linear(width, config["feature_head"]), nn.ReLU(), nn.Linear(config["feature_head"], features))
        pre_norm = config["norm"] == "pre"
        layer = nn.TransformerEncoderLayer(width, config["heads"], config["feed_forward"], config["dropout"], batch_first=True, norm_first=pre_norm)
        self.enc = nn.TransformerEncoder(layer, config["layers"], nn.LayerNorm(width) if pre_norm else None, enable_nested_tensor=False)
        for name in ("word_features", "logit_offsets"):
            values = torch.tensor(config[name]) if name in config else None
            self.register_buffer(name, values, persistent=False)

    def forward(self, ids: torch.Tensor, features: torch.Tensor | None = None, request: torch.Tensor | None = None) -> torch.Tensor:
        """Logits [batch, length, vocabulary] of ids [batch, length], <bos> first.

        `features` [batch, length, features] are rows of Model.features(), `request` [batch, request columns] what is asked for.
        """
        x = self._embedded(ids, features, request)
        length, width = ids.shape[1], self.config["width"]
        pair = torch.arange(width, dtype=torch.float64, device=x.device) // 2
        angle = torch.arange(length, dtype=torch.float64, device=x.device)[:, None] * 10000.0 ** (-2.0 * pair / width)
        x = x + torch.where(torch.arange(width, device=x.device) % 2 == 0, angle.sin(), angle.cos()).to(x.dtype)
        future = None
        if self.config["attention"] == "causal":
            future = torch.ones(length, length, device=x.device).triu(1).bool()
        if self.config.get("distance_bias"):
            heads = self.config["heads"]
            place = torch.arange(length, device=x.device)
            slopes = 2.0 ** (-8.0 * torch.arange(1, heads + 1, device=x.device) / heads)
            bias = (-slopes[:, None, None] * (place[:, None] - place)).to(x.dtype).masked_fill(future, float("-inf"))
            future = bias.repeat(len(ids), 1, 1)  # [batch * heads, length, length]
        rows = self.tok.weight
        if self.config["output_features"]:
            rows = rows + self.word_features @ self.sem_proj.weight[:, : len(self.config["features"]) + self.num_vectors].T
        logits = self.enc(x, mask=future) @ rows.T
        return logits if self.logit_offsets is None else logits + self.logit_offsets

    def _embedded(self, ids: torch.Tensor, features: torch.Tensor | None, request: torch.Tensor | None) -> torch.Tensor:
        x = self.tok(ids)
        if self.config["features"] or self.num_vectors or self.num_requests:
            if features is None:
                features = x.new_zeros(len(ids), ids.shape[1], len(self.config["features"]))
            if self.num_vectors:
                features = torch.cat([features, self.word_features[ids][..., -self.num_vectors :]], -1)
            if request is None:
                request = x.new_zeros(len(ids), self.num_requests)
            features = torch.cat([features, request[:, None].expand(-1, ids.shape[1], -1)], -1)
            projected = self.sem_proj(features)
            gate = torch.sigmoid(self.gate(torch.cat([x, features], -1))) if self.config["gate"] else 0.0
            x = x + projected + gate * projected
        return x * self.config["width"] ** 0.5 if self.config["scaled_embedding"] else x


def load_torch(run: Model | str | os.PathLike[str]) -> TorchModel:
    """A run, a model file or a Model as a module of PyTorch, in eval mode. The weights are copies: train them as you like."""
    model = run if isinstance(run, Model) else Model.load(run)
    with tempfile.TemporaryDirectory() as folder:
        exported = pathlib.Path(folder) / "model"
        _core.export_model(model._core, os.fspath(exported))
        config = json.loads((exported / "config.json").read_text(encoding="utf-8"))
    module = TorchModel(config)
    # Learned memberships are in the features already.
    weights = {name: torch.tensor(array) for name, array in model.weights.items() if not name.startswith("memberships.")}
    module.load_state_dict(weights)
    return module.eval()
