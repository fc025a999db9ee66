"""What the measuring scripts share: the program, what it trained, intervals over seeds, blocks of pages that a script writes."""
import hashlib
import json
import pathlib
import resource
import statistics
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
SEMFUSE = ROOT / "build/release/bin/semfuse"
STUDENT_95 = {1: 12.706, 2: 4.303, 3: 3.182, 4: 2.776, 5: 2.571, 6: 2.447, 7: 2.365, 8: 2.306, 9: 2.262}  # By degrees of freedom.


def semfuse(*arguments):
    return subprocess.run([SEMFUSE, *map(str, arguments)], check=True, stdout=subprocess.PIPE, text=True).stdout


def trained(seed, *flags):
    """The run of `semfuse train --seed N FLAGS`. One that this very program trained before is taken as it is, as training has the same bits each time."""
    runs = ROOT / "build/measured" / hashlib.sha256(SEMFUSE.read_bytes()).hexdigest()[:12]
    name = " ".join(["seed", str(seed), *flags])
    run = runs / (name if "/" not in name else f"seed {seed} {hashlib.sha256(name.encode()).hexdigest()[:16]}")
    if not run.exists():
        with tempfile.TemporaryDirectory(dir=ROOT / "build") as folder:
            new = pathlib.Path(folder) / "run"
            semfuse("train", "--seed", seed, *flags, "--quiet", "--out", new)
            runs.mkdir(parents=True, exist_ok=True)
            new.rename(run)
    return run


def busy(*arguments):
    """Seconds of processor time that a command of semfuse takes, and what it prints."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    printed = semfuse(*arguments)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, printed


def share_in_language(texts):
    """Of the synthetic corpus."""
    result = subprocess.run([SEMFUSE, "grammar", "check", "two-clause", "--json", *texts], stdout=subprocess.PIPE, text=True)
    return statistics.mean(one["accepted"] for one in json.loads(result.stdout)["sentences"])


def interval(values, plus_minus="±"):
    """The mean with its 95 % interval."""
    mean = statistics.mean(values)
    if len(values) < 2:
        return f"{mean:.3f}"
    return f"{mean:.3f} {plus_minus} {STUDENT_95[len(values) - 1] * statistics.stdev(values) / len(values) ** 0.5:.3f}"


def replace_between(page, begin, end, text):
    """Puts text between two lines of a page of the repository."""
    path = ROOT / page
    before, rest = path.read_text().split(begin + "\n")
    path.write_text(before + begin + "\n" + text + end + "\n" + rest.split(end + "\n", 1)[1])
