"""What the measuring scripts share: the program, intervals over seeds, blocks of pages that a script writes."""
import pathlib
import statistics
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent
SEMFUSE = ROOT / "build/release/bin/semfuse"
STUDENT_95 = {1: 12.706, 2: 4.303, 3: 3.182, 4: 2.776, 5: 2.571, 6: 2.447, 7: 2.365, 8: 2.306, 9: 2.262}  # By degrees of freedom.


def semfuse(*arguments):
    return subprocess.run([SEMFUSE, *map(str, arguments)], check=True, stdout=subprocess.PIPE, text=True).stdout


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
