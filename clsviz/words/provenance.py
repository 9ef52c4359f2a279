"""How a result came about, so that somebody else can reproduce it."""

import shlex
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from clsviz import jobs
from clsviz.experiment import Experiment
from clsviz.jobs import Found
from clsviz.measurements import MAX_LENGTH
from clsviz.settings import (
    CORPUS_PARAMETER,
    FINGERPRINT_DIGITS,
    MODEL_PARAMETER,
    Lengths,
    NearDuplicates,
    Pooling,
    Precision,
    printable,
)
from clsviz.sources import catalogue, models
from clsviz.statistics.intervals import enough_row_groups
from clsviz.words.answer import precision
from clsviz.words.labels import POOLINGS, cutoff_unit, is_imported
from clsviz.words.numbers import counted
from clsviz.words.reading import cut

if TYPE_CHECKING:
    from clsviz.analysis import ViewData


_READ = f"; at most {MAX_LENGTH} tokens of a sentence are read"


def differences(made_with: Mapping[str, str], found: Found) -> list[str]:
    """What of a link cannot be reproduced here: its fingerprints compared with what was found."""
    texts = []
    if (model := made_with.get(MODEL_PARAMETER)) and not found.weights.fingerprint.startswith(model):
        texts.append(
            f"This is not the model the link was made with: {found.weights.label} has fingerprint "
            f"{found.weights.fingerprint[:FINGERPRINT_DIGITS]} on this machine and had {printable(model[:64])} on that "
            "one."
        )
    if (corpus := made_with.get(CORPUS_PARAMETER)) and not found.corpus.fingerprint.startswith(corpus):
        name, why = found.corpus.selection.corpus, ""
        if catalogue.is_of_this_machine(name):
            why = " This corpus depends on the Python that is installed."
        elif catalogue.is_on_hub(name):
            why = " Versions after 1.0 draw from more files of a dataset, so links from before show other sentences."
        texts.append(
            f"These are not the sentences the link was made with: {found.corpus.label} has fingerprint "
            f"{found.corpus.fingerprint[:FINGERPRINT_DIGITS]} on this machine and had {printable(corpus[:64])} on that "
            f"one.{why}"
        )
    return texts


def origin(found: Found) -> dict[str, str]:
    """What was measured, by name."""
    selection = found.corpus.selection
    corpus = [] if catalogue.is_upload(found.corpus.pinned) else [found.corpus.pinned]  # its label is its name
    corpus += [
        f"{name} {value}" for name in ("configuration", "split", "column") if (value := getattr(selection, name))
    ]
    if found.corpus.n_sentences is not None:
        corpus.append(counted(found.corpus.n_sentences))
    if found.corpus.width:
        corpus.append(f"lines wrapped at about {found.corpus.width} characters joined into paragraphs")
    corpus.append(cut(found.corpus))
    kind = "imported vectors, " if found.weights.imported else ""
    return {
        "Model": f"{found.weights.label} ({kind}{found.weights.pinned}), fingerprint {found.weights.fingerprint[:16]}",
        "Corpus": f"{found.corpus.label} ({', '.join(corpus)}), fingerprint {found.corpus.fingerprint[:16]}",
        "Sample": f"{counted(found.n_measured)}, {found.sample.drawn}",
        **(
            {"Measured": shipped(found.n_shipped, len(found.measurements), is_outline=found.is_outline)}
            if found.n_shipped
            else {}
        ),
    }


def shipped(n_shipped: int, n: int, *, is_outline: bool = False) -> str:
    """Where measurements that came with clsviz were made; is_outline: whether they are vectors."""
    made = jobs.origin()
    which = "These norms come" if n_shipped == n else f"The first {n_shipped:,} norms come"
    which = "What was read from these vectors comes" if is_outline else which
    return f"{which} with clsviz: measured on {made.day} with torch {made.torch} on {made.machine}."


_LINE_OF_ALL = (
    "ordinary least squares over all sentences of the corpus; no interval is told with it, as no sentence was left to "
    "chance; the band in the picture, and the intervals by cutoff, are those of a sample of that size"
)

_LINE = (
    "ordinary least squares; the intervals count near-duplicates as one sentence: "
    "those of slope and intercept are a jackknife of these groups (CV3), or where all sentences differ robust to "
    "unequal spread (HC3); that of R² is a jackknife of Fisher’s z"
)

_LINE_OF_MANY = (
    "ordinary least squares; the intervals treat all sentences as different ones, as near-duplicates are not "
    "{}: those of slope and intercept are robust to unequal spread (HC3); that of R² is a jackknife of "
    "Fisher’s z"
)

_BY_ROW_GROUPS = (
    "; each is computed with the dataset’s row groups in the place of single sentences or clusters as well, and the "
    "wider one is shown"
)

_OF_MORE = "; the sample is all of the corpus, so they are for more sentences like these, not for those not drawn"


def settings(experiment: Experiment, found: Found, shown: "ViewData") -> dict[str, str]:
    """How the result came about, by name."""
    line = _LINE if shown.clusters is not None else _LINE_OF_MANY.format("looked for")
    if experiment.near_duplicates is NearDuplicates.INDEPENDENT:
        line = _LINE_OF_MANY.format("grouped")
    line += _BY_ROW_GROUPS if enough_row_groups(shown.row_groups) else ""
    line += _OF_MORE if found.is_of_all and found.sample.whole is None else ""
    return {
        **origin(found),
        "Shown": used(experiment, shown.n, shown.n_truncated),
        "Length": length(experiment),
        "Vector": f"L2 norm of {vector(experiment, found)}" + ("" if found.weights.imported else _READ),
        "Precision": precision(shown.audit) if shown.audit else Precision.EXACT.numbers,
        **({"Speed": f"a slower path was used: {found.slow_path_reason}"} if found.slow_path_reason else {}),
        "Line": _LINE_OF_ALL if shown.census else line,
    }


_IN_FOLDS = {NearDuplicates.GROUPED: "share a fold", NearDuplicates.INDEPENDENT: "are not grouped"}


def probe_settings(experiment: Experiment, found: Found, n_used: int, n_truncated: int) -> dict[str, str]:
    """How the profile of the layers came about, by name."""
    return {
        **origin(found),
        "Used": used(experiment, n_used, n_truncated),
        "Length": length(experiment),
        "Vectors": f"{'imported' if found.weights.imported else 'measured'} in {Precision.EXACT.numbers}; dimensions "
        "are stored in 16 bits as differences from their means, norms in float32"
        + ("" if found.weights.imported else ". Mean and maximum are taken over all tokens, [CLS] and [SEP] included"),
        "Norm alone": "R² of the line of norm on length over all sentences, as on the main page; its band spans the R² "
        "within each fold",
        "Probe": "ridge regression of length on the dimensions, each scaled to unit variance; fitted on four fifths of "
        "the sentences and tested on the held-out fifth, five times; the penalty is chosen by cross-validation "
        f"between the other folds. Near-duplicates {_IN_FOLDS[experiment.near_duplicates]}. R² is the mean of the "
        "five; the band runs from the lowest to the highest",
        "Direction alone": "the same probe on the vector divided by its norm",
    }


def vector(experiment: Experiment, found: Found) -> str:
    """Which vector a result is of."""
    if is_imported(experiment):
        return "the imported vector"
    described, n_layers = POOLINGS[experiment.pooling].described, found.measurements.n_layers
    if experiment.pooling is Pooling.POOLER:
        return described
    return f"{described} after layer {n_layers if experiment.layer is None else experiment.layer} of {n_layers}"


def length(experiment: Experiment) -> str:
    """What lengths are counted in, and whether they are the true ones."""
    return f"in {experiment.unit}" + (", shuffled" if experiment.lengths is Lengths.SHUFFLED else "")


def used(experiment: Experiment, n: int, n_truncated: int) -> str:
    """Which sentences are in the result, and how many were left out because they were not read whole."""
    text = f"{counted(n)} of fewer than {experiment.length_cutoff} {cutoff_unit(experiment)}"
    text += "" if is_imported(experiment) else ", not counting [CLS] and [SEP]"
    if n_truncated:
        text += f"; {n_truncated:,} left out because the model reads only their beginning"
    return text


def shareable(experiment: Experiment, found: Found) -> tuple[Experiment, Found]:
    """The same with files and folders of this machine by their names alone: nobody else need know where they lie."""
    corpus, weights = found.corpus, replace(found.weights, name=shareable_model(found.weights.name))
    selection = replace(corpus.selection, corpus=shareable_corpus(corpus.selection.corpus))
    corpus = replace(corpus, selection=selection, pinned=shareable_corpus(corpus.pinned))
    made_of = replace(found, weights=weights, sample=replace(found.sample, corpus=corpus))
    model = shareable_model(experiment.model)
    return replace(experiment, model=model, corpus=shareable_corpus(experiment.corpus)), made_of


def shareable_model(name: str) -> str:
    """A model's name without the folder that it lies in, if it lies on this machine."""
    parsed = models.Name.parse(name)
    return str(replace(parsed, base=_last(parsed.base))) if models.is_folder(parsed.base) else name


def shareable_corpus(name: str) -> str:
    """A corpus's name without the folder that it lies in, if it lies on this machine."""
    return _last(name) if catalogue.is_file(name) else name


def corpus_name(name: str, label: str) -> str:
    """A corpus's name; of an uploaded file the one that it had, with the digits that tell it from others in the list.

    label: what the corpus is called.
    """
    return f"{label} {name.removeprefix('upload-')[:4]}" if catalogue.is_upload(name) else name


def _last(path: str) -> str:
    return Path(path).name or path


def pinned(experiment: Experiment, found: Found) -> Experiment:
    """The experiment, pinned to the commits of what was found."""
    return replace(experiment, model=found.weights.pinned, corpus=found.corpus.pinned)


def command(experiment: Experiment, found: Found, name: str = "measure") -> str:
    """The command line that measures the same; name: one of its commands."""
    flags = [f"{flag} {shlex.quote(value)}" for flag, value in pinned(experiment, found).to_flags().items()]
    return " ".join([f"python -m clsviz {name}", *flags])
