"""What bench/run and bench/baseline.py say of speeds: made-up results, no measuring."""
import importlib.machinery
import importlib.util
import pathlib
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(sys.argv[1]) / "bench"))
import baseline  # noqa: E402

RESULTS = {
    "fma_peak_one_thread_gflops": 100.0,
    "read_gb_per_second": 50.0,
    "kernels": [{"product": "forward", "shape": "118/384/128", "semfuse": 90.0, "openblas": 80.0}],
    "training": {"fusion": {"tokens_per_second": 50000.0, "median": 45000.0, "fraction_of_peak": 0.6}},
    "decoding": {"free": {"one_stream": {"sentences_per_second": 1000.0, "median": 990.0, "tokens_per_sentence": 10.0, "parameters": 500000},
                          "batch_64": {"sentences_per_second": 2000.0, "median": 1900.0, "tokens_per_sentence": 10.0, "parameters": 500000}}},
}


def with_training(ratio):
    return {**RESULTS, "training": {"fusion": {**RESULTS["training"]["fusion"], "fraction_of_peak": ratio}}}


def verdict(ratio, stored):
    return {name: verdict for name, verdict, _ in baseline.compare(baseline.rows(with_training(ratio)), stored)}["training step, fusion"]


rows = baseline.rows(RESULTS)
assert rows["forward 118 x 384 x 128"] == {"ratio": 0.9, "noise": 0.027, "of": "FMA peak"}, rows
assert rows["training step, fusion"] == {"ratio": 0.6, "noise": 0.06, "of": "FMA peak"}, rows
assert rows["generation, free, one sentence"]["ratio"] == 0.4, rows  # 10,000 tokens/s of 2 MB at 50 GB/s.
assert rows["generation, free, 64 sentences"]["ratio"] == 0.2, rows

stored = baseline.updated(rows, {}, "a machine")
assert {verdict for _, verdict, _ in baseline.compare(rows, stored)} == {"same"}
assert verdict(0.55, stored) == "same"
assert verdict(0.53, stored) == "fell"
assert verdict(0.70, stored) == "rose"
assert verdict(0.53, {"rows": {}}) == "new"
text = dict((name, text) for name, _, text in baseline.compare(baseline.rows(with_training(0.55)), stored))
assert text["training step, fusion"] == "training step, fusion: 0.55 of FMA peak, baseline 0.60 ± 0.06: same", text
lines = baseline.report(baseline.rows(with_training(0.4)), stored, "another machine")
assert "a machine (this is another machine)" in lines[0] and "0.40" in lines[-2] and "1 of 4 rows fell" in lines[-1], lines
assert "no baseline" in baseline.report(rows, {"rows": {}}, "a machine")[0]

# Of several rounds the best counts, and what they differ by is noise.
of_rounds = baseline.best([with_training(ratio) for ratio in (0.48, 0.6, 0.55)])
assert of_rounds["training step, fusion"] == {"ratio": 0.6, "noise": 0.12, "of": "FMA peak"}, of_rounds
assert {name: one for name, one in of_rounds.items() if "training" not in name} == {name: one for name, one in rows.items() if "training" not in name}

# A peak that was disturbed in one of them makes no row of it better.
disturbed = baseline.best([{**RESULTS, "fma_peak_one_thread_gflops": peak} for peak in (100.0, 50.0)])
assert disturbed["forward 118 x 384 x 128"] == {"ratio": 0.9, "noise": 0.027, "of": "FMA peak"}, disturbed

# A short run leaves the rows alone that it did not measure.
short = {key: value for key, value in RESULTS.items() if key != "kernels"}
assert set(baseline.updated(baseline.rows(short), stored, "a machine")["rows"]) == set(rows)

# The stored file, if there is one, is what this code reads.
for name, one in baseline.load()["rows"].items():
    assert 0 < one["ratio"] and 0 < one["noise"] and one["of"] in (baseline.FMA_PEAK, baseline.READING), name

# Parts that were measured at different moments are the same results.
loader = importlib.machinery.SourceFileLoader("bench_run", str(pathlib.Path(sys.argv[1]) / "bench/run"))
bench_run = importlib.util.module_from_spec(importlib.util.spec_from_loader("bench_run", loader))
loader.exec_module(bench_run)
text = {"sweep": "text", "text": 256, "fraction_of_peak": 0.7, "best_ms": 9.0, "median_ms": 10.0}
parts = {"peaks": {name: RESULTS[name] for name in ("fma_peak_one_thread_gflops", "read_gb_per_second")}, "kernels": RESULTS["kernels"],
         "training-fusion": RESULTS["training"]["fusion"], "texts-256": text, "decoding": RESULTS["decoding"]}
found = baseline.rows(bench_run.as_results(parts))
assert found.pop("training step, text 256") == {"ratio": 0.7, "noise": 0.07, "of": "FMA peak"}, found
assert found == rows, found
