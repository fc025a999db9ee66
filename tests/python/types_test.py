"""What a type checker knows of the package: the stubs of the module, and the types of what stands on it."""
import subprocess
import sys
import textwrap

import pytest

RIGHT = """
    import numpy as np
    import numpy.typing as npt

    import semfuse

    model: semfuse.Model = semfuse.Model.load("run/")
    texts: list[str] = model.generate("The", n=2, knobs={"polarity": 0.7, "mark": {"?": 0.6, ".": 0.4}}, seed=3, grammar="root ::= 'a'")
    logits: npt.NDArray[np.float32] = model.logits("The", {"polarity": 1})
    for piece in model.stream("The", knobs={"mark": "?"}, temperature=0.5):
        print(piece.upper())
    run: semfuse.Run = semfuse.train(["a text"], out="run/", labels={"good": [1]}, on_event=lambda kind, event: print(kind, event))
    again: semfuse.Run = semfuse.adapt(semfuse.import_model("model.gguf", "imported/"), ["a text"], out="knobbed/", rank=4)
    allowed: list[int] = semfuse.Grammar(regex="a+").compile(model.tokenizer).matcher().allowed
    realised: list[float] = semfuse.sweep(model, "polarity").table["realised"]
"""
WRONG = [
    'model.generate("The", tempreature=0.5)',
    'model.generate("The", seed="three")',
    'model.stream(["The", "A"])',
    'semfuse.Grammar(gbnf=3)',
    'semfuse.train(["a text"])',
]


@pytest.fixture(scope="module")
def check(tmp_path_factory):
    pytest.importorskip("mypy", reason="mypy is not installed, so the types were not checked")
    folder = tmp_path_factory.mktemp("types")

    def run(code):
        (folder / "example.py").write_text(textwrap.dedent(code))
        return subprocess.run([sys.executable, "-m", "mypy", "--strict", "--cache-dir", folder / "cache", folder / "example.py"],
                              capture_output=True, text=True, cwd=folder)

    return run


def test_a_checker_finds_what_is_right_and_what_is_wrong(check):
    assert (found := check(RIGHT)).returncode == 0, found.stdout + found.stderr
    lines = "\n".join("    " + line for line in WRONG)
    found = check(f"{RIGHT}\n{lines}\n")
    first = 1 + len(textwrap.dedent(RIGHT).splitlines()) + 1
    wrong = {int(line.split(":")[1]) for line in found.stdout.splitlines() if ": error:" in line}
    assert wrong == set(range(first, first + len(WRONG))), found.stdout
