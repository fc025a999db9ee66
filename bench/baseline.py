"""The stored speeds that `bench/run` compares with: no speed is lost without somebody knowing why.

A row is a ratio, not a time, so that it holds on another machine of the same kind: arithmetic as a share of the FMA peak, generation of
one sentence as a share of the speed at which the weights could be read. Both are measured in the same run.

  rows(results)                  what a run of bench/run measured: {"training step, fusion": {"ratio": 0.55, "noise": 0.04, "of": "FMA peak"}, ...}
  best(rounds)                   the rows of the results of several such runs as one
  compare(rows, baseline)        one verdict a row
  updated(rows, baseline, cpu)   the baseline to store
"""
import json
import pathlib

PATH = pathlib.Path(__file__).resolve().parent / "baseline.json"
LEAST_NOISE = 0.03  # Two runs of the same program on a quiet machine differ by about so much of a row.
FMA_PEAK, READING = "FMA peak", "reading the weights"


def row(ratio, spread, of):
    """`spread`: of the row's own repetitions, as a share of it."""
    return {"ratio": round(ratio, 3), "noise": round(ratio * max(spread, LEAST_NOISE), 3), "of": of}


def rows(results):
    """The ratios among the results of bench/run; what was not measured has no row."""
    found = {}
    one_thread = results["fma_peak_one_thread_gflops"]
    for kernel in results.get("kernels") or []:
        found[f"{kernel['product']} {kernel['shape'].replace('/', ' x ')}"] = row(kernel["semfuse"] / one_thread, 0, FMA_PEAK)
    for model, training in results.get("training", {}).items():
        best, median = training["tokens_per_second"], training["median"]
        found[f"training step, {model}"] = row(training["fraction_of_peak"], (best - median) / best, FMA_PEAK)
    for point in (results.get("growth") or []) + (results.get("texts") or []):
        found[f"training step, {point['sweep']} {point[point['sweep']]:,}"] = row(
            point["fraction_of_peak"], (point["median_ms"] - point["best_ms"]) / point["median_ms"], FMA_PEAK)
    for grammar, generation in (results.get("decoding") or {}).items():
        for streams, name in (("one_stream", "one sentence"), ("batch_64", "64 sentences")):
            one = generation[streams]
            tokens = one["sentences_per_second"] * one["tokens_per_sentence"]
            spread = (one["sentences_per_second"] - one["median"]) / one["sentences_per_second"]
            # One sentence at a time waits for the weights, 64 of them for the arithmetic.
            if streams == "one_stream":
                found[f"generation, {grammar}, {name}"] = row(tokens * one["parameters"] * 4 / 1e9 / results["read_gb_per_second"], spread, READING)
            else:
                found[f"generation, {grammar}, {name}"] = row(tokens * one["parameters"] * 2 / 1e9 / one_thread, spread, FMA_PEAK)
    return found


PEAKS = ("fma_peak_one_thread_gflops", "read_gb_per_second")


def with_peaks(results, peaks):
    """The results beside the best of their own peaks and of others: what disturbs a machine makes its peak no lower."""
    return {**results, **{name: max(one[name] for one in (results, *peaks) if name in one) for name in PEAKS}}


def best(rounds):
    """Each row at its best of all rounds; its noise is also what the rounds differ by, which one round cannot know of a busy machine."""
    rounds = [rows(with_peaks(one, rounds)) for one in rounds]
    found = {}
    for name in dict.fromkeys(name for one in rounds for name in one):
        of_rounds = [one[name] for one in rounds if name in one]
        ratios = [one["ratio"] for one in of_rounds]
        top = max(of_rounds, key=lambda one: one["ratio"])
        found[name] = {**top, "noise": round(max(top["noise"], max(ratios) - min(ratios)), 3)}
    return found


def compare(measured, baseline):
    """[(name, verdict, text)]: verdict is "same", "fell", "rose" or "new". A row fell if it is below the baseline by more than the noise of both."""
    verdicts = []
    for name, now in measured.items():
        text = f"{name}: {now['ratio']:.2f} of {now['of']}"
        before = baseline.get("rows", {}).get(name)
        if before is None or before["of"] != now["of"]:
            verdicts.append((name, "new", f"{text}, no baseline"))
            continue
        noise = max(before["noise"], now["noise"])
        change = now["ratio"] - before["ratio"]
        verdict = "fell" if change < -noise else "rose" if change > noise else "same"
        verdicts.append((name, verdict, f"{text}, baseline {before['ratio']:.2f} ± {noise:.2f}: {verdict}"))
    return verdicts


def updated(measured, baseline, cpu):
    """The baseline with the measured rows in it; rows that this run did not measure stay."""
    return {"cpu": cpu, "rows": {**baseline.get("rows", {}), **measured}}


def load(path=PATH):
    return json.loads(path.read_text()) if path.exists() else {"rows": {}}


def store(baseline, path=PATH):
    path.write_text(json.dumps(baseline, indent=1) + "\n")


def report(measured, baseline, cpu):
    """The lines to print, those that fell last, where they are seen."""
    if not baseline.get("rows"):
        return ["no baseline is stored; on a quiet machine, `bench/run --update-baseline` stores this one"]
    verdicts = compare(measured, baseline)
    lines = [f"Compared with bench/baseline.json, measured on {baseline['cpu']}" + ("" if baseline["cpu"] == cpu else f" (this is {cpu})")]
    lines += [f"  {text}" for _, verdict, text in sorted(verdicts, key=lambda one: one[1] == "fell")]
    fallen = [name for name, verdict, _ in verdicts if verdict == "fell"]
    lines.append(f"{len(fallen)} of {len(verdicts)} rows fell by more than the noise" + (f": {'; '.join(fallen)}" if fallen else ""))
    return lines
