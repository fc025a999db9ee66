"""One training step of the paper's model in PyTorch: as fast as PyTorch does it on a CPU, and as a plain script does it.

What made a difference, and is therefore done in the fast step:
  - sentences packed end to end and attention run once per sentence length, so that nothing is padded and nothing is masked;
  - attention scores kept as [key, query], since PyTorch's softmax is 3 times faster over a dimension that is not the last;
  - dropout from the positions of the dropped elements (geometric gaps), since its Bernoulli generator is serial and slow;
  - parameters, gradients and moments each in one flat tensor, so that clipping and AdamW are a few operations in all;
  - a batch shared among single-threaded processes, since threads inside an operation gain little at these sizes.
Two choices depend on sizes and version, so both ways are tried: attention by torch.bmm or by scaled_dot_product_attention, and the
step as it is or through torch.compile (which then also draws the dropout).
"""
import ctypes
import math
import mmap
import os
import pathlib
import re
import signal
import sys
import traceback

import torch
from torch.nn import functional as F

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "scripts"))
from reference_model import ReferenceModel, losses, rate_factor, sinusoid  # noqa: E402

POSITIVE = "good great excellent pleasant wonderful".split()
NEGATIVE = "bad poor terrible unpleasant awful".split()
PAD, BOS, EOS = 0, 1, 2
LEARNING_RATE, WEIGHT_DECAY, BETAS, EPSILON, CLIP_NORM = 3e-4, 0.01, (0.9, 0.999), 1e-8, 1.0
LABEL_SMOOTHING, LAMBDA_AUX, LAMBDA_UNI = 0.02, 0.5, 0.01


# ---- data ----

class Corpus:
    """Sentences as padded rows: ids and targets [sentences, longest], features [sentences, longest, num_features], lengths."""

    def __init__(self, rows, vocab, classes, num_features, feature_file=None):
        self.vocab, self.num_features = vocab, num_features
        self.classes = [torch.tensor(c) for c in classes]
        self.lengths = torch.tensor([len(row) for row in rows])
        longest = int(self.lengths.max())
        self.ids = torch.tensor([row + [PAD] * (longest - len(row)) for row in rows])
        self.targets = F.pad(self.ids[:, 1:], (0, 1), value=PAD)
        self.class_counts = torch.stack([torch.isin(self.targets, c).sum(1) for c in self.classes], 1)
        self.features = self._features(feature_file) if num_features else None

    def _features(self, feature_file):
        rows = torch.zeros(*self.ids.shape, self.num_features)
        counted = torch.arange(self.ids.shape[1]) < self.lengths[:, None]
        if feature_file:
            values = torch.from_file(feature_file, size=os.path.getsize(feature_file) // 4, dtype=torch.float32)
            rows[counted] = values.view(-1, self.num_features)
        else:
            rows[counted] = torch.rand(int(counted.sum()), self.num_features)
        return rows


def read_corpus(options):
    sentences = [re.findall(r"\w+|[^\w\s]", line) for line in pathlib.Path(options.corpus).read_text().splitlines()]
    words = sorted({word for sentence in sentences for word in sentence} | set(POSITIVE + NEGATIVE))
    index = {word: 3 + i for i, word in enumerate(words)}
    rows = [[BOS, *(index[word] for word in sentence), EOS] for sentence in sentences if sentence]
    classes = [[index[word] for word in group] for group in (POSITIVE, NEGATIVE)]
    return Corpus(rows, max(options.vocab, 3 + len(words)), classes, options.num_features, options.features)


def draw_corpus(options):
    """Random words, all sentences of options.length positions."""
    rows = torch.randint(3, options.vocab, (options.batch if options.one_batch else max(512, 4 * options.batch), options.length))
    rows[:, 0], rows[:, -1] = BOS, EOS
    return Corpus(rows.tolist(), options.vocab, [list(range(3, 8)), list(range(8, 13))], options.num_features)


class PackedBatch:
    """One worker's share of a batch: sentences end to end, ordered by length; `groups` holds (sentences, length) of each length.

    The counts are those of the whole batch, so that the workers' losses and gradients add up to the batch's.
    """

    def __init__(self, corpus, sentences, worker=0, workers=1):
        self.batch_tokens = int(corpus.lengths[sentences].sum())
        self.batch_class_counts = corpus.class_counts[sentences].sum(0).tolist()
        share = sentences[corpus.lengths[sentences].argsort()][worker::workers]
        counts = corpus.lengths[share].unique_consecutive(return_counts=True)
        self.groups = [(count, length) for length, count in zip(*(c.tolist() for c in counts))]
        members = share.split([count for count, _ in self.groups])
        pack = lambda rows: torch.cat([rows[m, :length].flatten(0, 1) for m, (_, length) in zip(members, self.groups)])
        self.ids, self.targets = pack(corpus.ids), pack(corpus.targets)
        self.features = None if corpus.features is None else pack(corpus.features)
        self.class_positions = [torch.isin(self.targets, c).nonzero().flatten() for c in corpus.classes]


# ---- the fast model ----

class DroppedElements:
    """Dropout factors (0 or 1/(1-p)) for a whole step, drawn at once and handed out in slices."""

    def __init__(self, probability):
        self.probability = probability
        self.factors = torch.empty(0)

    def draw(self, count):
        p = self.probability
        if self.factors.numel() < count + 1:
            self.factors = torch.empty(count + 1)
        expected = count * p
        gaps = torch.rand(int(expected + 8 * math.sqrt(expected) + 8)).neg_().log1p_().mul_(1 / math.log1p(-p)).ceil_()
        positions = gaps.clamp_(min=1).to(torch.int64).cumsum(0).sub_(1).clamp_(max=count)
        self.factors.fill_(1 / (1 - p)).index_fill_(0, positions, 0.0)
        self.used = 0

    def apply(self, x):
        if not self.probability:
            return x
        first, self.used = self.used, self.used + x.numel()
        return x * self.factors[first:self.used].view(x.shape)


class FastModel:
    """ReferenceModel's arithmetic on its parameters, over packed batches."""

    def __init__(self, model, heads, longest, dropout, fused_attention=False, compiled=False):
        self.tok, self.causal, self.heads, self.fused_attention, self.compiled = model.tok.weight, model.causal, heads, fused_attention, compiled
        if compiled:
            self.loss = torch.compile(self.loss)
        self.fusion = (model.sem_proj, model.gate, model.aux_head) if hasattr(model, "aux_head") else None
        self.layers = model.enc.layers
        self.width = self.tok.shape[1]
        self.positions = sinusoid(longest, self.width)
        self.dropout = DroppedElements(dropout)

    def drop(self, x):
        return F.dropout(x, self.dropout.probability) if self.compiled else self.dropout.apply(x)

    def dropped_elements(self, batch):
        inner = self.layers[0].linear1.out_features
        scores = 0 if self.fused_attention else sum(count * length * length for count, length in batch.groups)
        return len(self.layers) * (len(batch.ids) * (2 * self.width + inner) + scores * self.heads)

    def embed(self, batch):
        embedded = F.embedding(batch.ids, self.tok)
        positions = torch.cat([self.positions[:length].repeat(count, 1) for count, length in batch.groups])
        if self.fusion is None:
            return embedded + positions
        sem_proj, gate, _ = self.fusion
        projected = F.linear(batch.features, sem_proj.weight, sem_proj.bias)
        opened = torch.sigmoid(F.linear(torch.cat([embedded, batch.features], 1), gate.weight, gate.bias))
        return embedded + positions + torch.addcmul(projected, opened, projected)

    def attend(self, qkv, count, length):
        head_width = self.width // self.heads
        split = qkv.view(count, length, 3, self.heads, head_width).permute(2, 0, 3, 1, 4)
        if self.fused_attention:
            mixed = F.scaled_dot_product_attention(*split.unbind(0), is_causal=self.causal, dropout_p=self.dropout.probability)
            return mixed.transpose(1, 2).reshape(count * length, self.width)
        q, k, v = split.reshape(3, count * self.heads, length, head_width).unbind(0)
        scores = torch.bmm(k, q.transpose(1, 2)).mul_(1 / math.sqrt(head_width))  # [sentence and head, key, query]
        if self.causal:
            scores = scores + torch.full((length, length), -math.inf).tril(-1)
        weights = self.drop(scores.softmax(1))
        mixed = torch.bmm(weights.transpose(1, 2), v)
        return mixed.view(count, self.heads, length, head_width).transpose(1, 2).reshape(count * length, self.width)

    def attention(self, x, layer, groups):
        attn = layer.self_attn
        qkv = F.linear(x, attn.in_proj_weight, attn.in_proj_bias)
        # split, since its gradient is one cat; a slice's gradient fills a whole tensor with zeros.
        parts = qkv.split([count * length for count, length in groups])
        mixed = torch.cat([self.attend(part, count, length) for part, (count, length) in zip(parts, groups)])
        return F.linear(mixed, attn.out_proj.weight, attn.out_proj.bias)

    def feed_forward(self, x, layer):
        inner = F.linear(x, layer.linear1.weight, layer.linear1.bias).relu_()
        return F.linear(self.drop(inner), layer.linear2.weight, layer.linear2.bias)

    def forward(self, batch):
        """The last layer's output [tokens, width]."""
        if self.dropout.probability and not self.compiled:
            self.dropout.draw(self.dropped_elements(batch))
        x = self.embed(batch)
        for layer in self.layers:
            x = layer.norm1(x + self.drop(self.attention(x, layer, batch.groups)))
            x = layer.norm2(x + self.drop(self.feed_forward(x, layer)))
        return x

    def loss(self, batch, classes):
        """This worker's part of the batch's loss, but for constants."""
        hidden = self.forward(batch)
        logits = F.linear(hidden, self.tok)
        total = F.cross_entropy(logits, batch.targets, reduction="sum", label_smoothing=LABEL_SMOOTHING) / batch.batch_tokens
        if self.fusion is not None:
            aux = F.binary_cross_entropy_with_logits(self.fusion[2](hidden), batch.features, reduction="sum")
            total = total + aux * (LAMBDA_AUX / (batch.batch_tokens * batch.features.shape[1]))
        present = sum(count > 0 for count in batch.batch_class_counts)
        for positions, word_class, count in zip(batch.class_positions, classes, batch.batch_class_counts):
            if len(positions):
                total = total + self.divergence(hidden, positions, word_class) * (LAMBDA_UNI / (count * present))
        return total

    def divergence(self, hidden, positions, word_class):
        """Sum of KL(softmax over the class ‖ uniform); the few logits it needs are cheaper to compute again than to gather."""
        log_p = F.linear(hidden.index_select(0, positions), self.tok.index_select(0, word_class)).log_softmax(1)
        return (log_p.exp() * (log_p + math.log(len(word_class)))).sum()


def shared_tensor(*shape):
    """Zeros in memory that forked processes share."""
    count = math.prod(shape)
    return torch.frombuffer(mmap.mmap(-1, 4 * count), dtype=torch.float32, count=count).view(shape)


class Meeting:
    """A place where all workers wait for each other. They spin: each has a core to itself, and a step lasts milliseconds."""

    def __init__(self, workers):
        self.arrivals = memoryview(mmap.mmap(-1, 8 * workers)).cast("q")

    def wait(self, worker):
        self.arrivals[worker] += 1
        while min(self.arrivals) < self.arrivals[worker]:
            os.sched_yield()


class FlatAdamW:
    """AdamW with clipping over one flat tensor that all parameters are views of; each worker updates its part of it."""

    def __init__(self, parameters, workers):
        self.parameters, self.workers, self.steps = list(parameters), workers, 0
        count = sum(p.numel() for p in self.parameters)
        self.weights, self.gradients = shared_tensor(count), shared_tensor(workers, count)
        torch.cat([p.detach().flatten() for p in self.parameters], out=self.weights)
        for parameter, part in zip(self.parameters, self.weights.split([p.numel() for p in self.parameters])):
            parameter.data = part.view(parameter.shape)
        self.first, self.second = torch.zeros(count), torch.zeros(count)
        self.meeting = Meeting(workers)

    def step(self, gradients, rate, worker):
        torch.cat([g.flatten() for g in gradients], out=self.gradients[worker])
        self.meeting.wait(worker)
        gradient = self.gradients.sum(0) if self.workers > 1 else self.gradients[0]
        scale = min(1.0, CLIP_NORM / (float(gradient.norm()) + 1e-6))
        part = slice(*(len(gradient) * end // self.workers for end in (worker, worker + 1)))
        self.steps += 1
        self.update(self.weights[part], gradient[part].mul_(scale), self.first[part], self.second[part], rate)
        self.meeting.wait(worker)

    def update(self, weights, gradient, first, second, rate):
        beta1, beta2 = BETAS
        correction = math.sqrt(1 - beta2 ** self.steps)
        first.lerp_(gradient, 1 - beta1)
        second.mul_(beta2).addcmul_(gradient, gradient, value=1 - beta2)
        denominator = torch.sqrt(second).add_(EPSILON * correction)
        weights.mul_(1 - rate * WEIGHT_DECAY)
        weights.addcdiv_(first, denominator, value=-rate * correction / (1 - beta1 ** self.steps))


# ---- training ----

def rate_at(step, options):
    """options.rate at each step, or the paper's schedule if there is none."""
    return options.rate or LEARNING_RATE * rate_factor(step, max(1, options.steps // 10), options.steps)


def shuffled_batches(corpus, batch_size, generator):
    """Random batches of batch_size sentences for ever, epoch after epoch."""
    while True:
        order = torch.randperm(len(corpus.lengths), generator=generator)
        yield from (part for part in order.split(batch_size) if len(part) == batch_size or len(order) < batch_size)


def end_with_parent():
    pr_set_pdeathsig = 1
    ctypes.CDLL(None).prctl(pr_set_pdeathsig, signal.SIGKILL)


class FastTrainer:
    """Each step is shared among `workers` processes: this one and its children, which follow the same sequence of batches."""

    def __init__(self, model, corpus, options, order):
        self.corpus, self.options, self.workers, self.order = corpus, options, options.workers, order
        self.model = FastModel(model, options.heads, corpus.ids.shape[1], options.dropout, options.fused_attention, options.compile)
        self.optimizer = FlatAdamW(model.parameters(), self.workers)
        self.losses, self.running, self.start = shared_tensor(self.workers), shared_tensor(1).fill_(1), Meeting(self.workers)
        self.children = [self.fork(worker) for worker in range(1, self.workers)]
        # Without this, the others would wait for a lost worker for ever. Compilers are children too, and may end.
        signal.signal(signal.SIGCHLD, lambda *_: self.check_children())

    def fork(self, worker):
        child = os.fork()
        if child:
            return child
        try:
            end_with_parent()
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            torch.manual_seed(1000 + worker)
            self.start.wait(worker)
            while self.running[0]:
                self.share_of_step(worker)
                self.start.wait(worker)
            os._exit(0)
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(1)

    def check_children(self):
        if any(os.waitpid(child, os.WNOHANG)[0] for child in self.children):
            sys.exit("a worker process ended early")

    def share_of_step(self, worker):
        batch = PackedBatch(self.corpus, next(self.order), worker, self.workers)
        loss = self.model.loss(batch, self.corpus.classes)
        gradients = torch.autograd.grad(loss, self.optimizer.parameters)
        self.losses[worker] = loss.detach()
        self.optimizer.step(gradients, rate_at(self.optimizer.steps, self.options), worker)
        return batch.batch_tokens

    def step(self):
        """(loss, counted positions) of one training step."""
        self.start.wait(0)
        tokens = self.share_of_step(0)
        return float(self.losses.sum()), tokens

    def close(self):
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        self.running.zero_()
        self.start.wait(0)
        for child in self.children:
            os.waitpid(child, 0)


class PlainTrainer:
    """The same step as most scripts write it: padded batches, nn.TransformerEncoder, torch.optim.AdamW."""

    def __init__(self, model, corpus, options, order):
        self.corpus, self.options, self.steps, self.order = corpus, options, 0, order
        self.model = torch.compile(model.train()) if options.compile else model.train()
        self.optimizer = torch.optim.AdamW(model.parameters(), lr=0.0, betas=BETAS, eps=EPSILON, weight_decay=WEIGHT_DECAY)

    def step(self):
        sentences, corpus = next(self.order), self.corpus
        lengths = corpus.lengths[sentences]
        longest = int(lengths.max())
        ids, targets = corpus.ids[sentences, :longest], corpus.targets[sentences, :longest]
        features = None if corpus.features is None else corpus.features[sentences, :longest]
        counted = torch.arange(longest) < lengths[:, None]
        logits, predicted = self.model(ids, features, counted)
        lm, aux, uni = losses(logits, predicted, targets, features, counted, corpus.classes, LABEL_SMOOTHING)
        total = lm + LAMBDA_AUX * aux + LAMBDA_UNI * uni
        self.optimizer.zero_grad(set_to_none=True)
        total.backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), CLIP_NORM)
        self.optimizer.param_groups[0]["lr"] = rate_at(self.steps, self.options)
        self.optimizer.step()
        self.steps += 1
        return float(total.detach()), int(lengths.sum())

    def close(self):
        pass


def build_model(corpus, options):
    return ReferenceModel(corpus.vocab, corpus.num_features, options.width, options.heads, options.layers, options.ff,
                          options.attention == "causal", options.dropout)


def build_trainer(kind, corpus, options, model=None):
    torch.manual_seed(options.seed)
    order = shuffled_batches(corpus, options.batch, torch.Generator().manual_seed(options.seed))
    return kind(model or build_model(corpus, options), corpus, options, order)
