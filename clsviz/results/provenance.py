"""How a result came about: its settings, its fingerprints, the command that repeats it."""

import platform
import shlex
from collections.abc import Mapping
from dataclasses import asdict, fields
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

from clsviz import questions
from clsviz.settings import OWN, SETTINGS, STANDS_FOR, Experiment, settings_of
from clsviz.sources.corpora import Corpus
from clsviz.sources.models import Weights
from clsviz.sources.sampling import Measured, Prepared

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


def command(
    question: str, experiment: Experiment, settings: Mapping[str, Any] = questions.NO_DEFAULTS
) -> str:
    """The command of the terminal that gives the same result; "" for texts in memory.

    question: a command such as measure. settings: those besides the experiment's. Defaults are left
    out, but those that another question does not have.
    """
    corpora = settings.get("corpora") or [experiment.corpus]
    if "memory" in (*corpora, *settings.values()):
        return ""
    rows, always = settings_of(question), questions.COMMANDS[question].defaults
    texts = experiment.to_query()
    texts |= {name: rows[name].write(getattr(experiment, name)) for name in always}
    if settings.get("vectors"):
        texts = {name: text for name, text in texts.items() if OWN in SETTINGS[name].questions}
    replaced = [one for several, one in STANDS_FOR.items() if several in settings]
    words = [_flag(name, text) for name, text in texts.items() if name not in replaced]
    for name, value in settings.items():
        if name == "corpora":
            words += [_flag("corpus", corpus) for corpus in value]
        elif value is True:
            words.append(f"--{name.replace('_', '-')}")
        elif value != rows[name].default:
            words.append(_flag(name, ",".join(value) if isinstance(value, list) else str(value)))
    return " ".join(["clsviz", question, *words])


def _flag(name: str, text: str) -> str:
    return f"--{name.replace('_', '-')} {shlex.quote(text)}"


def values(settings: Any) -> dict[str, Any]:
    """The fields of a dataclass of settings, as JSON has them; “memory” for what is there."""
    kept = (str, int, float, type(None))
    pairs = ((field.name, getattr(settings, field.name)) for field in fields(settings))
    named = ((name, str(value) if isinstance(value, Path) else value) for name, value in pairs)
    return {name: value if isinstance(value, kept) else "memory" for name, value in named}


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
        "Language": reading.language,
        "Cut into": reading.segmentation,
        "Texts": f"{reading.n_texts:,}" if reading.n_texts else "",
        "Fingerprint of the corpus": corpus.fingerprint[:16],
        "Sample": sample,
        "Versions": ", ".join(f"{name} {number}" for name, number in versions().items()),
    }
    return {name: text for name, text in rows.items() if text}
