#!/usr/bin/env python3
"""Does what README.md says: runs its commands, compares the output it shows, and looks for what it names.

  readme_check.py SOURCE_DIR BIN_DIR

Training commands run as written but for sizes that make them quick. reviews.tsv is a file that a user would bring: this makes one.
"""
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

SOURCE, BIN = (pathlib.Path(argument).resolve() for argument in sys.argv[1:3])
README = (SOURCE / "README.md").read_text()
QUICK = ["training.epochs=1", "model.width=16", "model.layers=1", "model.feed_forward=16"]
QUICK_CORPUS = ["corpus.train=96", "corpus.val=32"]
failures = []


def expect(good, what):
    if not good:
        failures.append(what)


def run(command, folder):
    if command.startswith("printf "):
        words = ["sh", "-c", command]
    else:
        words = shlex.split(command, comments=True)
    if words[1] in ("train", "ablate") and "--resume" not in words:
        sizes = QUICK + ([] if "--data" in words else QUICK_CORPUS)
        words += [word for assignment in sizes for word in ("--set", assignment)]
    result = subprocess.run(words, cwd=folder, env=dict(os.environ, PATH=f"{BIN}:{os.environ['PATH']}"), capture_output=True, text=True)
    expect(result.returncode == 0, f"`{command}` exits with {result.returncode}: {result.stderr.strip()}")
    return result.stdout


def reviews():
    """Texts with a column of stars."""
    kinds = {1: "terrible", 2: "poor", 3: "plain", 4: "good", 5: "wonderful"}
    rows = [f"{stars}\tThe {thing} in room {room} was {kind}." for stars, kind in kinds.items()
            for thing in ("food", "service", "bed", "view") for room in range(1, 16)]
    return "\n".join(["stars\treview", *rows]) + "\n"


def block(name, file="README.md"):
    found = re.search(f"<!-- begin {re.escape(name)} -->\n```\n(.*?)\n```\n<!-- end {re.escape(name)} -->", (SOURCE / file).read_text(), re.S)
    expect(found, f"{file} has no output of `{name}`; run scripts/update_readme")
    return found.group(1) if found else ""


commands = re.findall(r"^    ((?:semfuse|printf) .*)$", README, re.M)
expect(len(commands) >= 5, "README shows fewer than five commands")
with tempfile.TemporaryDirectory() as folder:
    (pathlib.Path(folder) / "reviews.tsv").write_text(reviews())
    os.environ["SEMFUSE_CACHE"] = str(pathlib.Path(folder) / "cache")
    for command in commands:
        output = run(command, folder)
        if command.startswith("semfuse features"):
            expect(output.rstrip() == block("semfuse features", "docs/mathematics.md"), f"`{command}` prints something else than docs/mathematics.md shows")

makefile = (SOURCE / "Makefile").read_text()
for target in set(re.findall(r"`make (\w[\w-]*)", README)) | set(re.findall(r"^    make ([\w-]+)", README, re.M)):
    expect(re.search(rf"^{re.escape(target)}:", makefile, re.M), f"README names `make {target}`, which the Makefile lacks")
for name in ("make demo", "make test", "make bench"):
    expect(re.search(r"\d", block(name)), f"README shows no real output of `{name}`")
listed = set(re.findall(r"^\| `(\w+\.h)` \|", (SOURCE / "docs/cpp.md").read_text(), re.M))
expect(listed == {path.name for path in (SOURCE / "include/semfuse").glob("*.h")}, "docs/cpp.md does not list all headers")
for target in re.findall(r"\]\(([^)#:]+)\)", README):
    expect((SOURCE / target).exists(), f"README links to {target}, which is not there")
for key in re.findall(r"`((?:corpus|model|training|features)\.\w+)=", README):
    section, name = key.split(".")
    expect(re.search(rf"^{name} = ", (SOURCE / "presets/paper-fusion.toml").read_text(), re.M), f"README names the key {key}, which presets lack")

for failure in failures:
    print(failure)
print(f"{len(commands)} commands of README tried, {len(failures)} complaints")
sys.exit(1 if failures else 0)
