"""Our tokenizer files in Hugging Face's `tokenizers`. The program of the tests in C++ knows how; it wants a Python that has the package."""
import os
import pathlib
import subprocess
import sys

import pytest

PROGRAM = pathlib.Path(__file__).resolve().parents[2] / "build/release/bin/e2e_tests"


def test_hugging_face_gives_the_same_ids():
    pytest.importorskip("tokenizers", reason="tokenizers is not installed")
    if not PROGRAM.exists():
        pytest.skip("the tests in C++ are not built: make test builds them")
    found = subprocess.run([PROGRAM, "--gtest_filter=TokenizerFile.HuggingFaceGivesTheSameIds"], capture_output=True, text=True,
                           env={**os.environ, "PATH": f"{pathlib.Path(sys.executable).parent}:{os.environ['PATH']}"})
    assert found.returncode == 0, found.stdout + found.stderr
    assert "[  PASSED  ] 1 test" in found.stdout and "SKIPPED" not in found.stdout, found.stdout
