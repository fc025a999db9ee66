"""The paper's model, losses and learning-rate schedule in plain PyTorch: the independent reference that the engine is compared with.

Shapes: ids, targets, counted [batch, length]; features [batch, length, num_features]. `counted` marks the positions that
count in attention and in every loss. A model with num_features = 0 is the baseline: no fusion and no auxiliary head.
"""
import math

import torch
from torch import nn
from torch.nn import functional as F


def sinusoid(length, width):
    """Position table [length, width]: sine in the even columns, cosine in the odd ones."""
    position = torch.arange(length, dtype=torch.float64)[:, None]
    pair = torch.arange(width, dtype=torch.float64) // 2
    angle = position * 10000.0 ** (-2.0 * pair / width)
    even_column = torch.arange(width) % 2 == 0
    return torch.where(even_column, angle.sin(), angle.cos()).float()


class ReferenceModel(nn.Module):
    def __init__(self, vocab, num_features, width, heads, layers, ff, causal, dropout=0.0, norm="post"):
        super().__init__()
        self.causal = causal
        self.tok = nn.Embedding(vocab, width)
        if num_features:
            aux_width = max(64, 2 * num_features)
            self.sem_proj = nn.Linear(num_features, width)
            self.gate = nn.Linear(width + num_features, width)
            self.aux_head = nn.Sequential(nn.Linear(width, aux_width), nn.ReLU(), nn.Linear(aux_width, num_features))
        layer = nn.TransformerEncoderLayer(width, heads, ff, dropout, activation="relu", batch_first=True, norm_first=norm == "pre")
        self.enc = nn.TransformerEncoder(layer, layers, nn.LayerNorm(width) if norm == "pre" else None, enable_nested_tensor=False)

    def fuse(self, ids, features):
        embedded = self.tok(ids)
        if features is None:
            return embedded
        projected = self.sem_proj(features)
        gate = torch.sigmoid(self.gate(torch.cat([embedded, features], -1)))
        return embedded + projected + gate * projected

    def forward(self, ids, features, counted):
        """Logits over the vocabulary, and the auxiliary head's output before its sigmoid (None for the baseline)."""
        length = ids.shape[1]
        x = self.fuse(ids, features) + sinusoid(length, self.tok.embedding_dim)
        future = torch.ones(length, length, dtype=torch.bool).triu(1) if self.causal else None
        hidden = self.enc(x, mask=future, src_key_padding_mask=~counted)
        logits = F.linear(hidden, self.tok.weight)
        return logits, (None if features is None else self.aux_head(hidden))


def class_divergence(logits, targets, word_class):
    """Mean over the positions whose target is in the class of KL(softmax over the class ‖ uniform); None if there is none."""
    in_class = torch.isin(targets, word_class)
    if not in_class.any():
        return None
    log_p = F.log_softmax(logits[in_class][:, word_class], -1)
    return (log_p.exp() * (log_p + math.log(len(word_class)))).sum(-1).mean()


def losses(logits, predicted, targets, features, counted, classes, label_smoothing):
    """(lm, aux, uniformizer), each a scalar tensor."""
    logits, targets = logits[counted], targets[counted]
    lm = F.cross_entropy(logits, targets, label_smoothing=label_smoothing)
    aux = logits.new_zeros(())
    if features is not None:
        aux = F.binary_cross_entropy_with_logits(predicted[counted], features[counted])
    present = [d for d in (class_divergence(logits, targets, c) for c in classes) if d is not None]
    uni = torch.stack(present).mean() if present else logits.new_zeros(())
    return lm, aux, uni


def rate_factor(step, warmup_steps, total_steps):
    """Linear from 0 over the warmup, then a cosine that reaches 0 at total_steps."""
    if step < warmup_steps:
        return step / warmup_steps
    progress = (step - warmup_steps) / max(1, total_steps - warmup_steps)
    return 0.5 * (1.0 + math.cos(math.pi * min(1.0, progress)))
