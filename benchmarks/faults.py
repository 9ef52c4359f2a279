"""Faults put into the code on purpose, one at a time: whether the tests of their topic catch them.

python -m benchmarks.faults [--root FOLDER] [NUMBER ...]: FOLDER is the checkout to spoil a copy of, by default this.
Each fault replaces one text of one file by another and runs the tests of its topic; those that a checkout does not have
are left out. Ends with 1 where a fault is not caught, or where its text is no longer in the file.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]


class Fault(NamedTuple):
    """One text of a file under clsviz replaced by another, and the tests that should notice, below tests."""

    name: str
    file: str
    old: str
    new: str
    tests: str


FAULTS = [
    Fault(
        "the wrong layer: the embeddings asked for, the last given",
        "measurements.py",
        "range(last + 1)[last if layer is None else layer]",
        "range(last + 1)[layer or last]",
        "test_vectors.py encoder/test_encoder.py",
    ),
    Fault(
        "one sentence is missed after the last part",
        "store/parts.py",
        "return [*found, *borders(position, n_sentences, kind)]",
        "return [*found, *borders(position + 1, n_sentences, kind)]",
        "store/test_part.py store/test_store.py jobs/test_extraction.py",
    ),
    Fault(
        "a part is renamed before it is on the disk",
        "atomic.py",
        "            os.fsync(file.fileno())\n",
        "            file.fileno()\n",
        "test_atomic.py",
    ),
    Fault(
        "a sentence is markup in the label of its point",
        "figures/style.py",
        "lines.append(html.escape(line, quote=False))",
        "lines.append(line)",
        "figures",
    ),
    Fault(
        "the quota of a visitor's own sentences is not kept",
        "ui/state/sessions.py",
        "if measured and sum(count for _, count in measured) + n > most:",
        "if len(measured) > most:",
        "ui/state/test_crowd.py",
    ),
    Fault(
        "the cutoff includes the sentences that are as long",
        "analysis/view.py",
        "short = measurements.n_tokens < view.length_cutoff",
        "short = measurements.n_tokens <= view.length_cutoff",
        "analysis/test_view.py",
    ),
    Fault(
        "the seed of a draw is not used",
        "sources/sampling.py",
        "files.taken(shuffled(n, seed)[:size], corpus)",
        "files.taken(shuffled(n, 0)[:size], corpus)",
        "sources/test_sampling.py",
    ),
    Fault(
        "sentences that the model cuts are not counted",
        "analysis/view.py",
        "return index, int(np.count_nonzero(short)) - len(index)",
        "return index, 0",
        "analysis/test_view.py",
    ),
    Fault(
        "R² is told from another column",
        "export/summary.py",
        '"r_squared": fit and fit.r_squared,',
        '"r_squared": fit and fit.spearman,',
        "export",
    ),
    Fault(
        "an interval takes near-duplicates for different sentences",
        "statistics/line.py",
        "by = clusterings(clusters, row_groups)",
        "by = clusterings(None, row_groups)",
        "statistics/test_intervals.py statistics/test_line.py",
    ),
    Fault(
        "a link forgets the layer",
        "experiment.py",
        "settings[name] = parse_setting(name, text)",
        'settings[name] = parse_setting(name, text) if name != "layer" else None',
        "test_experiment.py",
    ),
    Fault(
        "a result of other code is still taken",
        "store/results.py",
        '"code": _code()}',
        '"code": ""}',
        "store/test_results.py",
    ),
    Fault(
        "the first token is taken, wherever [CLS] stands",
        "encoder/batches.py",
        "lambda tokens, cls: tokens[:, cls]",
        "lambda tokens, cls: tokens[:, 0]",
        "encoder/test_pooling.py encoder/test_tokenize.py",
    ),
    Fault(
        "a cancelled task goes on",
        "progress.py",
        "        if self._cancelled:\n",
        "        if self._cancelled and not self.total:\n",
        "test_progress.py",
    ),
    Fault(
        "a damaged part is read as if it were whole",
        "store/store.py",
        "if is_whole(part.path, part.path.name):",
        "if part.path.exists():",
        "store/test_damage.py",
    ),
    Fault(
        "a link opens any file of the server",
        "ui/state/visitor.py",
        "if catalogue.is_file(name) and not is_local():",
        "if catalogue.is_file(name) and not name:",
        "ui/state/test_visitor.py",
    ),
    Fault(
        "shuffled lengths are the sentences' own",
        "analysis/view.py",
        "return np.asarray(shuffled(counted), np.int32)",
        "return np.asarray(counted, np.int32)",
        "analysis/test_view.py",
    ),
    Fault(
        "near-duplicates are trained on and tested on",
        "statistics/ridge.py",
        "groups=clusters",
        "groups=np.arange(len(clusters))",
        "statistics/test_ridge.py",
    ),
    Fault(
        "JSON with numbers that JSON does not have",
        "export/summary.py",
        "return list(value) if all(map(math.isfinite, value)) else None",
        "return list(value)",
        "export",
    ),
    Fault(
        "the picture has the length where the norm should be",
        "figures/cloud.py",
        "y=points.norms.astype(np.float32),",
        "y=points.lengths.astype(np.float32),",
        "figures",
    ),
    Fault(
        "a falling line is said to rise",
        "words/answer.py",
        '"rises" if 1 in signs else "falls"',
        '"falls" if 1 in signs else "rises"',
        "words",
    ),
    Fault(
        "a notebook runs what the name of a file says",
        "api/norms.py",
        "_HTML = jinja2.Environment(autoescape=True)",
        "_HTML = jinja2.Environment(autoescape=False)",
        "api",
    ),
    Fault(
        "a probe sees the sentences that it is tested on",
        "statistics/ridge.py",
        "predictions[rows] = ridges.without(fold)(fold)[:, best]",
        "predictions[rows] = ridges.without(next(iter(ridges.rows)))(fold)[:, best]",
        "statistics/test_ridge.py",
    ),
    Fault(
        "a page writes what somebody else wrote as Markdown",
        "ui/markdown.py",
        'escaped = _SPECIAL.sub(r"\\\\\\g<0>", " ".join(str(text).split()))',
        'escaped = " ".join(str(text).split())',
        "ui/test_markdown.py",
    ),
]


def is_caught(fault: Fault, folder: Path, root: Path) -> tuple[str, str]:
    """Whether the tests in `folder`, a copy of `root`, fail with the fault: “caught” or why not, and the last line."""
    path = folder / "clsviz" / fault.file
    sound = (root / "clsviz" / fault.file).read_text(encoding="utf-8")
    if sound.count(fault.old) != 1:
        return "NOT IN THE FILE", fault.old
    path.write_text(sound.replace(fault.old, fault.new), encoding="utf-8")
    tests = [f"tests/{name}" for name in fault.tests.split() if (folder / "tests" / name).exists()]
    command = [sys.executable, "-m", "pytest", "-n", "0", "-x", "-q", "--durations=0", "-p", "no:cacheprovider", *tests]
    environment = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    ran = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    path.write_text(sound, encoding="utf-8")
    failed = [line for line in ran.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
    # 1: some test failed. Anything else is no answer: nothing was collected, or pytest was used wrongly.
    verdict = "caught" if ran.returncode == 1 and failed else f"NOT CAUGHT ({ran.returncode})"
    return verdict, failed[0].split(" - ")[0] if failed else ran.stdout[-300:] + ran.stderr[-300:]


def main() -> int:
    """Put in every fault, and say which are caught."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--root", type=Path, default=ROOT)
    parser.add_argument("numbers", nargs="*", type=int, help="which faults; by default all")
    options = parser.parse_args()
    n_missed = 0
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "copy"
        unwanted = shutil.ignore_patterns(".git", ".venv", "__pycache__", "build", ".*_cache", "shared")
        shutil.copytree(options.root, folder, ignore=unwanted, symlinks=True)
        for number, fault in enumerate(FAULTS, 1):
            if options.numbers and number not in options.numbers:
                continue
            began = time.monotonic()
            verdict, line = is_caught(fault, folder, options.root)
            n_missed += verdict != "caught"
            print(f"{number:2} {verdict} in {time.monotonic() - began:.0f} s: {fault.name}\n   {line}", flush=True)
    print(f"{n_missed} not caught")
    return 1 if n_missed else 0


if __name__ == "__main__":
    sys.exit(main())
