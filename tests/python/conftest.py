"""A small model of the synthetic corpus, trained once for all tests, and one of texts with a column of labels."""
import pathlib
import random

import pytest

import semfuse

SMALL = {"corpus.train": 2000, "corpus.val": 40, "model.width": 32, "model.layers": 1, "model.feed_forward": 32, "model.feature_head": 8,
         "training.epochs": 6, "training.batch": 32, "training.learning_rate": 0.005}
SMALL_TEXT = {"model.width": 32, "model.layers": 1, "model.heads": 2, "model.feed_forward": 32, "training.epochs": 2, "text.vocabulary": 400}
SHARED = pathlib.Path(__file__).resolve().parents[2].parent / "shared/data"


def reviews(count=300, seed=1):
    """Texts whose label can be seen in them."""
    draw = random.Random(seed)
    rows = []
    for _ in range(count):
        good = draw.random() < 0.5
        word = draw.choice(["great", "tasty", "lovely"] if good else ["awful", "cold", "bland"])
        rows.append((f"The {draw.choice(['food', 'soup', 'room', 'staff'])} was {word} {draw.choice(['today', 'again', 'there'])}.", good))
    return rows


@pytest.fixture(scope="session")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("semfuse") / "run"
    return semfuse.train(out=folder, preset="semfuse", config=SMALL, seed=3, progress=False)


@pytest.fixture(scope="session")
def model(run):
    return run.model


@pytest.fixture(scope="session")
def text_run(tmp_path_factory):
    rows = reviews()
    return semfuse.train([text for text, _ in rows], labels={"good": [good for _, good in rows]},
                         out=tmp_path_factory.mktemp("semfuse") / "texts", config=SMALL_TEXT, calibrate=False, progress=False)


@pytest.fixture(scope="session")
def text_model(text_run):
    return text_run.model


@pytest.fixture(autouse=True)
def names_of_examples(doctest_namespace, request):
    """What examples of docstrings may use."""
    if request.node.__class__.__name__ == "DoctestItem":
        doctest_namespace["example_model"] = request.getfixturevalue("run").folder
