"""How a result came about: its settings, its fingerprints, the command that repeats it."""

import platform
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

from clsviz.experiment import Experiment
from clsviz.sources.corpora import Corpus
from clsviz.sources.models import Weights
from clsviz.sources.prepared import Measured, Prepared

VERSION: Final = "2.0.0"

LIBRARIES: Final = ("torch", "transformers", "datasets", "scikit-learn")

CITATION: Final = f"""@software{{clsviz,
  title = {{clsviz: does an encoder write the length of a sentence into its [CLS] vector?}},
  author = {{{{The clsviz maintainers}}}},
  year = {{2026}},
  version = {{{VERSION}}}
}}"""


def about(measured: Measured, experiment: Experiment) -> dict[str, Any]:
    """The settings and the fingerprints, as JSON has them."""
    return {
        **source(measured, experiment),
        "n_measured": len(measured.norms),
        "seconds": round(measured.seconds, 3),
    }


def source(prepared: Prepared | Measured, experiment: Experiment) -> dict[str, Any]:
    """The same of a model and a sample, whose results may be stored."""
    return {
        **asdict(experiment),
        "model_fingerprint": prepared.weights.fingerprint,
        "corpus_fingerprint": prepared.sample.corpus.fingerprint,
    }


def command(question: str, experiment: Experiment, flags: Mapping[str, str] | None = None) -> str:
    """The command of the terminal that gives the same result.

    question: a command such as measure. flags: those besides the settings.
    """
    settings = {**experiment.to_query(), **(flags or {})}
    words = [f"--{name.replace('_', '-')} {shlex.quote(text)}" for name, text in settings.items()]
    return " ".join(["clsviz", question, *words])


def search_command(
    question: str,
    experiment: Experiment,
    settings: Any,
    names: Sequence[str] = ("corpus", "pooling", "sample_size"),
) -> str:
    """The command that repeats a test of searches; none does for texts in memory.

    settings: a dataclass, besides the experiment. names: settings whose defaults are others than a
    view's.
    """
    if experiment.corpus == "memory":
        return ""
    flags = {name: str(getattr(experiment, name)) for name in names}
    own = {field: getattr(settings, field.name) for field in fields(settings)}
    flags |= {field.name: str(value) for field, value in own.items() if value != field.default}
    return command(question, experiment, flags)


def values(settings: Any) -> dict[str, Any]:
    """The fields of a dataclass of settings, as JSON has them."""
    own = asdict(settings)
    return own | {name: str(value) for name, value in own.items() if isinstance(value, Path)}


def versions() -> dict[str, str]:
    """Versions that can change a digit."""
    own = {"clsviz": VERSION, "python": platform.python_version()}
    return own | {name: version(name) for name in LIBRARIES}


def method(weights: Weights | None, corpus: Corpus | None, sample: str) -> dict[str, str]:
    """How the corpus was read and measured, by name, for whoever wants to know."""
    assert weights is not None  # of own vectors there is no page
    assert corpus is not None
    reading = corpus.reading
    rows = {
        "Model": f"{weights.label} ({weights.name})",
        "Revision of the model": weights.revision,
        "Fingerprint of the model": weights.fingerprint[:16],
        "Corpus": corpus.label,
        "Revision of the corpus": reading.revision,
        "Column": reading.column,
        "Encoding": reading.encoding,
        "Cut into": reading.segmentation,
        "Texts": f"{reading.n_texts:,}" if reading.n_texts else "",
        "Fingerprint of the corpus": corpus.fingerprint[:16],
        "Sample": sample,
        "Versions": ", ".join(f"{name} {number}" for name, number in versions().items()),
    }
    return {name: text for name, text in rows.items() if text}
