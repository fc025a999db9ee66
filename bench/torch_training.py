#!/usr/bin/env python3
"""The PyTorch peer of the training benchmark: the paper's model trained by PyTorch on this machine.

  torch_training.py --best --corpus FILE --fusion         tries threads or a process a core, both kinds of attention, compiled or not; measures the best
  torch_training.py --workers 2 --length 27 --baseline    one setting, random sentences of one length
  torch_training.py --plain ...                           the plain step: padded batches, nn.TransformerEncoder, torch.optim.AdamW
  torch_training.py --check ...                           the fast step's losses against the plain step's, dropout off

The last line on stdout is a JSON object. Tokens are counted positions (<bos>, words, <eos>), never padding.
"""
import argparse
import copy
import json
import os
import resource
import statistics
import subprocess
import sys
import time

sys.dont_write_bytecode = True
import torch  # noqa: E402
from torch_step import FastTrainer, PlainTrainer, build_model, build_trainer, draw_corpus, read_corpus  # noqa: E402


LONGEST_SETTING = 900  # Seconds; a setting that takes longer, with all that it compiles, is none.


# ---- the search for the best setting; each is a process of its own, since the environment must be set before PyTorch loads ----

def environment(threads):
    """Freed memory is kept for the next step instead of given back, and idle threads sleep: a core each is all there is."""
    kept = str(1 << 32)
    return dict(os.environ, OMP_NUM_THREADS=str(threads), MKL_NUM_THREADS=str(threads), OMP_WAIT_POLICY="PASSIVE", MALLOC_MMAP_THRESHOLD_=kept,
                MALLOC_TRIM_THRESHOLD_=kept, MALLOC_TOP_PAD_=str(64 << 20), GLIBC_TUNABLES="glibc.malloc.hugetlb=1", TORCHINDUCTOR_COMPILE_THREADS="1")


def run_setting(setting, extra=()):
    """What a setting measured; nothing if PyTorch cannot run it."""
    workers, threads, *flags = setting
    arguments = [argument for argument in sys.argv[1:] if argument not in ("--best", "--one-process")]
    command = [sys.executable, __file__, *arguments, "--workers", str(workers), "--threads", str(threads), *flags, *extra]
    done = subprocess.run(command, env=environment(threads), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=LONGEST_SETTING)
    if done.returncode != 0:
        sys.stderr.write(done.stderr[-2000:])
        return None
    return json.loads(done.stdout.splitlines()[-1])


def best(options):
    """The result of the fastest setting; `tried` lists the tokens per second of each in a short run."""
    speeds = {}

    def fastest(settings):
        for setting in settings:
            try:
                found = run_setting(setting, ("--seconds", str(options.seconds / 4), "--repeats", "2", "--no-loss"))
            except subprocess.TimeoutExpired:
                found = None
            speeds[setting] = found["tokens_per_second"] if found else 0.0
        return max(speeds, key=speeds.get)

    cores = len(os.sched_getaffinity(0))
    arrangements = [(1, cores)] + ([] if options.plain or options.one_process or cores == 1 else [(cores, 1)])
    # nn.TransformerEncoder calls scaled_dot_product_attention by itself.
    attentions = [()] if options.plain else [(), ("--fused-attention",)]
    chosen = fastest([(*arrangement, *attention) for arrangement in arrangements for attention in attentions])
    # Compiling takes minutes a setting, so only the better attention is compiled, in each arrangement.
    chosen = fastest([(*arrangement, *chosen[2:], "--compile") for arrangement in arrangements])
    tried = [{"workers": s[0], "threads": s[1], "flags": list(s[2:]), "tokens_per_second": speed} for s, speed in speeds.items()]
    result = run_setting(chosen)
    if result is None:
        sys.exit("torch_training.py: PyTorch ran no setting; its message is above")
    return {**result, "tried": tried}


# ---- one setting ----

def check(corpus, options):
    """Both trainers from the same start without dropout: their losses must agree."""
    options.dropout, options.steps = 0.0, 6
    model = build_model(corpus, options)
    trainers = [build_trainer(kind, corpus, options, copy.deepcopy(model)) for kind in (FastTrainer, PlainTrainer)]
    fast, plain = ([trainer.step() for _ in range(options.steps)] for trainer in trainers)
    trainers[0].close()
    worst = max(abs(a[0] - b[0]) / b[0] for a, b in zip(fast, plain))
    passed = worst < 2e-5 and [tokens for _, tokens in fast] == [tokens for _, tokens in plain]
    return {"check": "passed" if passed else "failed", "worst_loss_difference": worst}


def loss_reached(corpus, options, kind):
    """Mean loss of the last steps of a whole run."""
    trainer = build_trainer(kind, corpus, options)
    reached = [trainer.step()[0] for _ in range(options.steps)]
    trainer.close()
    return statistics.fmean(reached[-options.last:])


def measure(corpus, options, kind):
    """Tokens per second of each repeat."""
    trainer = build_trainer(kind, corpus, options)
    for _ in range(12 if options.compile else 3):  # Sentences of other lengths are compiled anew, until PyTorch gives up.
        trainer.step()
    speeds = []
    for _ in range(options.repeats):
        tokens, begin = 0, time.perf_counter()
        while time.perf_counter() - begin < options.seconds / options.repeats:
            tokens += trainer.step()[1]
        speeds.append(tokens / (time.perf_counter() - begin))
    trainer.close()
    return speeds


def peak_rss_mb(workers):
    own, child = (resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return (own + (workers - 1) * child) / 1024


def run(options):
    torch.set_num_threads(options.threads)
    torch.set_num_interop_threads(1)
    torch.set_flush_denormal(True)
    torch.manual_seed(options.seed)
    corpus = read_corpus(options) if options.corpus else draw_corpus(options)
    if options.check:
        return check(corpus, options)
    kind = PlainTrainer if options.plain else FastTrainer
    speeds = measure(corpus, options, kind)
    return {"tokens_per_second": max(speeds), "median": statistics.median(speeds),
            "spread": (max(speeds) - min(speeds)) / max(speeds), "threads": options.threads, "workers": options.workers,
            "fused_attention": options.fused_attention, "compiled": options.compile, "torch": torch.__version__,
            "loss": None if options.no_loss else loss_reached(corpus, options, kind),
            "peak_rss_mb": peak_rss_mb(options.workers), "steps": options.steps}


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    kind = parser.add_mutually_exclusive_group()
    kind.add_argument("--fusion", action="store_const", const=22, default=22, dest="num_features")
    kind.add_argument("--baseline", action="store_const", const=0, dest="num_features")
    for flag, default in dict(width=128, layers=4, heads=4, ff=256, batch=64, length=27, vocab=41, threads=1, workers=1, repeats=3,
                              steps=750, last=20, seed=1).items():
        parser.add_argument("--" + flag, type=int, default=default)
    parser.add_argument("--attention", choices=("bidirectional", "causal"), default="bidirectional")
    parser.add_argument("--dropout", type=float, default=0.1)
    parser.add_argument("--rate", type=float, help="a constant learning rate instead of the paper's schedule")
    parser.add_argument("--one-batch", action="store_true", help="without --corpus: the same random words at each step")
    parser.add_argument("--seconds", type=float, default=6.0, help="measured time, all repeats together")
    parser.add_argument("--corpus", metavar="FILE", help="sentences, one a line; without it, random words in --length positions")
    parser.add_argument("--features", metavar="FILE", help="float32 rows, one a counted position; without it, random values")
    parser.add_argument("--plain", action="store_true", help="the plain nn.TransformerEncoder step instead of the fast one")
    parser.add_argument("--fused-attention", action="store_true", help="scaled_dot_product_attention instead of torch.bmm")
    parser.add_argument("--compile", action="store_true", help="the step through torch.compile")
    parser.add_argument("--no-loss", action="store_true", help="leave out the whole run of --steps that gives the loss")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--best", action="store_true")
    parser.add_argument("--one-process", action="store_true", help="with --best: try threads only, not one process a core")
    return parser.parse_args()


def main():
    options = parse()
    if options.best:
        print(json.dumps(best(options)))
    else:
        result = run(options)
        print(json.dumps(result))
        sys.exit(1 if result.get("check") == "failed" else 0)


if __name__ == "__main__":
    main()
