"""Measurements that come with clsviz, so that the first picture needs neither a model nor a wait.

Run as ``python -m clsviz.measuring.showcase``, this makes them anew on the machine that runs it.
"""

import datetime
import json
import re
import shutil
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from clsviz.experiment import Experiment
from clsviz.measuring.encoders import Encoders
from clsviz.measuring.extraction import Extraction
from clsviz.measuring.store import Store
from clsviz.progress import Progress

SHOWCASE = Path(__file__).parent / "data"

_ABOUT = SHOWCASE / "about.json"


@dataclass(frozen=True)
class Origin:
    """When and where they were made. day: YYYY-MM-DD. machine: its processor. torch, transformers: their versions."""

    day: str
    machine: str
    torch: str
    transformers: str


def origin() -> Origin:
    """When and where what is shipped was measured."""
    return Origin(**json.loads(_ABOUT.read_text(encoding="utf-8")))


def main() -> None:
    """Measure the default experiment, with nothing taken over from before."""
    shutil.rmtree(SHOWCASE, ignore_errors=True)
    found = Extraction(Experiment(), Store(SHOWCASE), Encoders()).run(Progress())
    for path in [*SHOWCASE.rglob("*.lock"), *SHOWCASE.rglob("speed.json")]:
        path.unlink()
    processor = re.search(r"model name\s*: (.+)", Path("/proc/cpuinfo").read_text())
    day = datetime.datetime.now(datetime.UTC).date().isoformat()
    made = Origin(day, processor[1] if processor else "unknown", version("torch"), version("transformers"))
    _ABOUT.write_text(json.dumps(made.__dict__, indent=1) + "\n", encoding="utf-8")
    print(f"{len(found.measurements):,} norms of {found.weights.label} on {found.corpus.label}: {made}")


if __name__ == "__main__":
    main()
