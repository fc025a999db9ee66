"""What a process does around the library: forks, signals, the time that an import takes."""
import os
import signal
import subprocess
import sys
import textwrap
import time

import pytest

import semfuse


def in_fork(work):
    """What `work` returns in a forked child, as text; fails if that hangs."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            answer = work()
        except BaseException as error:  # The parent asserts on it.
            answer = f"{type(error).__name__}: {error}"
        os.write(write, str(answer).encode())
        os._exit(0)
    os.close(write)
    deadline = time.monotonic() + 60
    while os.waitpid(child, os.WNOHANG)[0] == 0:
        if time.monotonic() > deadline:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            pytest.fail("the child hangs")
        time.sleep(0.01)
    with os.fdopen(read) as file:
        return file.read()


def test_a_fork_is_an_error_and_no_hang(model, run):
    model.generate(n=4)
    matcher = model.compile('root ::= "Alice"').matcher()
    for work in [lambda: model.generate(), lambda: model.logits("Alice"), lambda: model.tokenizer.encode("Alice"), lambda: matcher.allowed]:
        assert in_fork(work).startswith("Error: this object was made before the process was forked")
    assert in_fork(lambda: semfuse.Model.load(run.folder).generate(n=4, seed=2)) == str(model.generate(n=4, seed=2))
    assert model.generate(n=1)


def python(code, **options):
    return subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, timeout=120, **options)


def test_import_brings_nothing_heavy():
    result = python("""
        import sys
        import semfuse
        print(sorted(set(sys.modules) & {"numpy", "pandas", "torch", "transformers", "matplotlib", "tqdm", "asyncio"}))
    """)
    assert result.stdout.strip() == "[]", result.stderr


def test_control_c_saves_and_raises(tmp_path):
    code = textwrap.dedent(f"""
        import os, signal, semfuse
        def stop(kind, event):
            if kind == "step" and event["step"] == 3:
                os.kill(os.getpid(), signal.SIGINT)
        try:
            semfuse.train(out={str(tmp_path / "run")!r}, config={{"corpus.train": 400, "corpus.val": 20, "model.width": 16,
                          "model.layers": 1}}, on_event=stop)
        except KeyboardInterrupt:
            print("interrupted")
    """)
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert result.stdout == "interrupted\n", result.stderr
    run = semfuse.resume(tmp_path / "run", progress=False)
    assert run.finished and run.outcome["first_step"] >= 3
