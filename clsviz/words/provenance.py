"""How a result came about, so that somebody else can get it too."""

import shlex
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from clsviz import corpora
from clsviz.experiment import Experiment
from clsviz.measurements import MAX_LENGTH
from clsviz.measuring import Found
from clsviz.settings import (
    CORPUS_PARAMETER,
    FINGERPRINT_DIGITS,
    MODEL_PARAMETER,
    Lengths,
    Pooling,
    Precision,
    Segmentation,
    printable,
)
from clsviz.words.answer import precision

if TYPE_CHECKING:
    from clsviz.analysis import Shown


def differences(made_with: Mapping[str, str], found: Found) -> list[str]:
    """Which part of a link cannot be reproduced here: its fingerprints against what was found."""
    texts = []
    if (model := made_with.get(MODEL_PARAMETER)) and not found.weights.fingerprint.startswith(model):
        texts.append(
            f"This is not the model that the link was made with: {found.weights.label} has the fingerprint "
            f"{found.weights.fingerprint[:FINGERPRINT_DIGITS]} here, and had {printable(model[:64])} there."
        )
    if (corpus := made_with.get(CORPUS_PARAMETER)) and not found.corpus.fingerprint.startswith(corpus):
        why = (
            " It depends on the Python that is installed." if corpora.is_built_in(found.corpus.selection.corpus) else ""
        )
        texts.append(
            f"These are not the sentences that the link was made with: {found.corpus.label} has the fingerprint "
            f"{found.corpus.fingerprint[:FINGERPRINT_DIGITS]} here, and had {printable(corpus[:64])} there.{why}"
        )
    return texts


def origin(found: Found) -> dict[str, str]:
    """What was measured, by name, so that somebody else can get it too."""
    selection = found.corpus.selection
    corpus = [found.corpus.pinned]
    corpus += [
        f"{name} {value}" for name in ("configuration", "split", "column") if (value := getattr(selection, name))
    ]
    if found.corpus.n_sentences is not None:
        corpus.append(f"{found.corpus.n_sentences:,} sentences")
    if selection.segmentation is Segmentation.SENTENCES:
        corpus.append("its texts cut into sentences")
    return {
        "Model": f"{found.weights.label} ({found.weights.pinned}), fingerprint {found.weights.fingerprint[:16]}",
        "Corpus": f"{found.corpus.label} ({', '.join(corpus)}), fingerprint {found.corpus.fingerprint[:16]}",
        "Sample": f"{len(found.measurements):,} sentences, {found.sample.drawn}",
    }


def settings(experiment: Experiment, found: Found, shown: "Shown") -> dict[str, str]:
    """How the result came about, by name, so that somebody else can get it too."""
    n_layers = found.measurements.n_layers
    vector = f"[CLS] after layer {n_layers if experiment.layer is None else experiment.layer} of {n_layers}"
    if experiment.pooling is Pooling.POOLER:
        vector = "the pooler output"
    if experiment.pooling in (Pooling.MEAN, Pooling.MAX):
        vector = vector.replace("[CLS]", f"the {experiment.pooling} of all tokens")
    return {
        **origin(found),
        "Shown": used(experiment, len(shown.index), shown.n_truncated),
        "Length": f"in {experiment.unit}" + (", shuffled" if experiment.lengths is Lengths.SHUFFLED else ""),
        "Vector": f"L2 norm of {vector}; sentences are read up to {MAX_LENGTH} tokens",
        "Precision": precision(shown.audit) if shown.audit else Precision.EXACT.numbers,
        **({"Speed": f"not measured in the fastest way: {found.slow_path_reason}"} if found.slow_path_reason else {}),
        "Line": "ordinary least squares; intervals robust to unequal spread (HC3), that of R² by bootstrap (BCa), as "
        "of independent sentences",
    }


def probe_settings(experiment: Experiment, found: Found, n_used: int, n_truncated: int) -> dict[str, str]:
    """How the profile of the layers came about, by name."""
    return {
        **origin(found),
        "Used": used(experiment, n_used, n_truncated),
        "Length": f"in {experiment.unit}" + (", shuffled" if experiment.lengths is Lengths.SHUFFLED else ""),
        "Vectors": f"measured in {Precision.EXACT.numbers}; the components are kept in 16 bits as distances from their "
        "means, the norms as they are. The mean and the maximum are over all tokens, [CLS] and [SEP] included",
        "Norm alone": "R² of the straight line of norm on length over all sentences, as on the main page; its band is "
        "of the folds, each by itself",
        "Probe": "ridge regression of the length on the components, each scaled to a variance of 1, fitted on four "
        "fifths of the sentences and tried on the rest, five times; the strength of the ridge by generalised "
        "cross-validation within the four fifths. Sentences that are the same but for case, accents or white space "
        "stay together. R² is the mean of the five, the band from the lowest to the highest",
        "Direction alone": "the same probe of the vector divided by its norm",
    }


def used(experiment: Experiment, n: int, n_truncated: int) -> str:
    """Which of the measured sentences are in the result, and how many were left out for being read in part."""
    text = f"{n:,} sentences of fewer than {experiment.length_cutoff} tokens, without [CLS] and [SEP]"
    if n_truncated:
        text += f"; left out: {n_truncated:,}, of which the model reads only the beginning"
    return text


def pinned(experiment: Experiment, found: Found) -> Experiment:
    """The experiment with the commits of what was found."""
    return replace(experiment, model=found.weights.pinned, corpus=found.corpus.pinned)


def command(experiment: Experiment, found: Found, name: str = "measure") -> str:
    """The command line that measures the same, by one of its commands."""
    query = pinned(experiment, found).to_query()
    flags = [f"--{name.replace('_', '-')} {shlex.quote(value)}" for name, value in query.items()]
    return " ".join([f"python -m clsviz {name}", *flags])
