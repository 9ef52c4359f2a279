"""Measurements that come with clsviz, so that the first picture needs neither a model nor a wait.

What was read from them lies beside them: `python -m clsviz.analysis.showcase` makes all of it anew.
"""

import datetime
import functools
import json
import re
import shutil
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path

from clsviz.experiment import Experiment
from clsviz.jobs.extraction import Extraction, Found
from clsviz.jobs.worker_process import Encoders
from clsviz.measurements import Kind
from clsviz.progress import Progress
from clsviz.store.parts import write_outline
from clsviz.store.store import Store

SHOWCASE = Path(__file__).parents[1] / "store" / "data"

_ABOUT = SHOWCASE / "about.json"


@dataclass(frozen=True)
class Origin:
    """When and where they were made. day: YYYY-MM-DD. machine: its processor. torch, transformers: their versions."""

    day: str
    machine: str
    torch: str
    transformers: str


@functools.cache
def origin() -> Origin:
    """When and where what is shipped was measured."""
    return Origin(**json.loads(_ABOUT.read_text(encoding="utf-8")))


def measure_showcase(
    experiments: Sequence[Experiment], elsewhere: Store, encoders: Encoders
) -> list[tuple[Found, Found, Found]]:
    """Measure norms, means and vectors of experiments, with nothing taken over from before, to come with clsviz.

    elsewhere: an empty store for the vectors, of which only an outline comes with clsviz. Gives what was found of each.
    """
    shutil.rmtree(SHOWCASE, ignore_errors=True)
    store, measured = Store(SHOWCASE), []
    for experiment in experiments:
        norms = Extraction(experiment, store, encoders).run(Progress())
        means = Extraction(experiment, store, encoders, kind=Kind.MEANS).run(Progress())
        extraction = Extraction(experiment, elsewhere, encoders, kind=Kind.VECTORS)
        vectors = extraction.run(Progress())
        write_outline(SHOWCASE, extraction.key_of(vectors), vectors.vectors)
        measured.append((norms, means, vectors))
    for path in [*SHOWCASE.rglob("*.lock"), *SHOWCASE.rglob("speed.json")]:
        path.unlink()
    processor = re.search(r"model name\s*: (.+)", Path("/proc/cpuinfo").read_text())
    day = datetime.datetime.now(datetime.UTC).date().isoformat()
    made = Origin(day, processor[1] if processor else "unknown", version("torch"), version("transformers"))
    _ABOUT.write_text(json.dumps(asdict(made), indent=1) + "\n", encoding="utf-8")
    origin.cache_clear()
    return measured
