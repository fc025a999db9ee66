import pytest
from conftest import SMALL, SMALL_TEXT, reviews

import semfuse


def test_events_tell_what_happens(tmp_path):
    told = []
    run = semfuse.train(out=tmp_path / "run", config={**SMALL, "corpus.train": 100, "training.epochs": 1},
                        on_event=lambda kind, event: told.append((kind, event)))
    kinds = [kind for kind, _ in told]
    assert kinds[0] == "started" and kinds[-1] == "evaluation" and kinds.count("step") == told[0][1]["total_steps"]
    assert run.finished and run.evaluations[-1]["ppl"] == told[-1][1]["ppl"]
    assert run.model.generate()


def test_false_stops_and_resume_goes_on_to_the_same_model(tmp_path):
    config = {**SMALL, "corpus.train": 200, "training.epochs": 1}
    whole = semfuse.train(out=tmp_path / "whole", config=config, progress=False)
    part = semfuse.train(out=tmp_path / "part", config=config,
                         on_event=lambda kind, event: not (kind == "step" and event["step"] == 2))
    assert not part.finished
    assert semfuse.resume(part, progress=False).finished
    assert (tmp_path / "whole/model.safetensors").read_bytes() == (tmp_path / "part/model.safetensors").read_bytes()
    assert semfuse.resume(whole, progress=False).finished


def test_what_a_callback_raises_comes_out(tmp_path):
    def fail(kind, event):
        if kind == "step":
            raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        semfuse.train(out=tmp_path / "run", config=SMALL, on_event=fail)
    assert (tmp_path / "run/checkpoints").is_dir()


def test_lists_and_tables_give_the_same_model(tmp_path, text_run):
    pandas = pytest.importorskip("pandas")
    rows = reviews()
    frame = pandas.DataFrame({"text": [text for text, _ in rows], "good": [good for _, good in rows]})
    run = semfuse.train(frame, out=tmp_path / "frame", config=SMALL_TEXT, calibrate=False, progress=False)
    assert run.model.generate(n=3) == text_run.model.generate(n=3)


def test_files_are_read(tmp_path):
    file = tmp_path / "reviews.tsv"
    file.write_text("text\tgood\n" + "".join(f"{text}\t{int(good)}\n" for text, good in reviews(100)))
    run = semfuse.train(file, out=tmp_path / "run", config={**SMALL_TEXT, "training.epochs": 1}, progress=False)
    assert set(run.model.knobs) == {"good"}


@pytest.mark.parametrize("options, says", [
    ({"data": ["a text"], "labels": {"x": [1, 2]}}, "differ in length"),
    ({"data": 7}, "no data"),
    ({"data": {"a": [1], "b": [2]}}, "no column of texts"),
    ({"labels": {"x": [1]}}, "add data"),
    ({"config": {"model.widht": 3}}, "model.width"),
    ({"preset": "nothing"}, "nothing"),
    ({"data": "missing.tsv"}, "missing.tsv"),
])
def test_bad_requests_are_errors(tmp_path, options, says):
    with pytest.raises(semfuse.Error, match=says):
        semfuse.train(out=tmp_path / "run", progress=False, **options)


def test_sweeps_are_tables(model, tmp_path):
    sweep = semfuse.sweep(model, "polarity", levels=3, n=20)
    assert sweep.table["requested"] == [0.0, 0.5, 1.0] and set(sweep.table["knob"]) == {"polarity"}
    marks = semfuse.sweep(model, ["mark"], n=10).table
    assert set(marks["label"]) == {".", "!", "?"}
    with pytest.raises(semfuse.Error, match="no knob"):
        semfuse.sweep(model, "polarty")
    pandas = pytest.importorskip("pandas")
    assert isinstance(sweep.frame, pandas.DataFrame)


def test_sweeps_draw(model):
    matplotlib = pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    matplotlib.use("Agg")
    axes = semfuse.sweep(model, "polarity", levels=3, n=20).plot()
    assert axes.get_xlabel() == "polarity requested"


def test_models_are_evaluated(run, model, text_run):
    assert semfuse.evaluate(model)["ppl"] == pytest.approx(run.evaluations[-1]["ppl"])
    assert semfuse.evaluate(model, seed=9, sentences=10)["sentences"] == 10
    own = semfuse.evaluate(text_run)
    assert own["ppl"] == pytest.approx(text_run.evaluations[-1]["ppl"])
    other = semfuse.evaluate(text_run, [text for text, _ in reviews(20, seed=5)], against_ngram=True)
    assert other["texts"] == 20 and other["ngram"]["order"] > 1
    with pytest.raises(semfuse.Error, match="synthetic"):
        semfuse.evaluate(model, ["a text"])


def test_audits_find_no_look_ahead(model):
    result = semfuse.audit(model, 3)
    assert result["looks_ahead"] is False and result["max_logit_change"] == 0 and result["sentences"] == 3


def test_words_can_be_added(run, tmp_path):
    larger = semfuse.words.add(run, [{"word": "superb", "class": "adjective", "polarity": 1}], tmp_path / "larger")
    assert len(larger.tokenizer) == len(run.model.tokenizer) + 1
    assert "superb" in larger.tokenizer.decode(larger.tokenizer.encode("Alice reviews the paper, superb."))
    with pytest.raises(semfuse.Error, match="knows"):
        semfuse.words.add(run, [{"word": "Alice", "class": "subject"}], tmp_path / "again")
    with pytest.raises(semfuse.Error, match="tab"):
        semfuse.words.add(run, [{"word": "a\tb"}], tmp_path / "tab")
