"""A table for a paper: every model on every corpus, with intervals, a control, and what it was measured with."""

import platform
from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib.metadata import version
from typing import TYPE_CHECKING

import clsviz
from clsviz import analysis, export, jobs
from clsviz.api.comparison import Comparison, compare_models
from clsviz.api.inputs import extract
from clsviz.errors import UndefinedFitError
from clsviz.experiment import Experiment
from clsviz.jobs import Encoders, Found
from clsviz.measurements import Kind
from clsviz.progress import Progress
from clsviz.settings import DRAWS, Pooling
from clsviz.sources import models
from clsviz.statistics.probes import Profile, Readout
from clsviz.statistics.shape import curve_interval
from clsviz.store import Store

if TYPE_CHECKING:
    import pandas as pd

    from clsviz.analysis.compare import Row

LIBRARIES = "torch", "transformers", "numpy", "scikit-learn"


@dataclass(frozen=True, eq=False)
class PaperTable:
    """Comparisons of the same models on several corpora, and the table of all of them."""

    comparisons: "list[Comparison]"
    table: "pd.DataFrame"

    def summary(self) -> dict[str, object]:
        """As `Comparison.summary`, of all corpora, with the rows of the table."""
        summaries = [comparison.summary() for comparison in self.comparisons]
        rows = self.table.astype(object)
        return {
            "answer": " ".join(str(summary["answer"]) for summary in summaries),
            "models": [model for summary in summaries for model in summary["models"]],  # type: ignore[attr-defined]
            "table": rows.where(rows.notna(), None).to_dict("records"),
        }


def paper_table(
    experiment: Experiment, corpora: Sequence[str], names: Sequence[str], store: Store, progress: Progress
) -> PaperTable:
    """Measure every model on every corpus; raises ClsvizError as `compare_models` does.

    A row has the columns of `Comparison.table`, and

    corpus: its label. curve_r_squared: cross-validated, of the norm, with the 95% interval curve_low to curve_high.
    first_error, last_error: mean absolute error, in the unit of the lengths, of a probe of [CLS] after the first and
        the last layer; random_first_low to random_first_high, and random_last_low to random_last_high: the lowest and
        the highest of the same architecture with random weights, n_random times; missing where that is the model.
        guess_error: of guessing the mean.
    model_commit to numbers, as `clsviz measure --json` has them: what was measured, and how.
    measured_on: when, where it came with clsviz. python, clsviz, torch, transformers, numpy, scikit_learn: versions.
    """
    import pandas as pd

    comparisons, tables = [], []
    for corpus in corpora:
        of_corpus = experiment if len(corpora) == 1 else experiment.of_corpus(corpus)
        comparison = compare_models(replace(of_corpus, model=names[0]), names, store, progress)
        more = [
            _more(replace(comparison.experiment, model=row.model), row, found, store, progress)
            for row, found in zip(comparison.rows, comparison.founds, strict=True)
        ]
        comparisons.append(comparison)
        tables.append(pd.concat([comparison.table(), pd.DataFrame(more)], axis=1))
    return PaperTable(comparisons, pd.concat(tables, ignore_index=True))


def _more(experiment: Experiment, row: "Row", found: Found, store: Store, progress: Progress) -> dict[str, object]:
    assert row.norms is not None  # every compared row has them
    shown = row.norms.shown
    numbers: dict[str, object] = {"corpus": found.corpus.label, "curve_r_squared": None}
    shape = analysis.first_shape(found, experiment.view, shown)
    if shape is not None:
        numbers["curve_r_squared"] = shape.curve_r_squared
        try:
            numbers["curve_low"], numbers["curve_high"] = curve_interval(shown.lengths, shown.norms, shown.clusters)
        except UndefinedFitError:
            numbers["curve_low"] = numbers["curve_high"] = None
    control = random_weights(experiment, row, store, progress) if row.profile else []
    for name, layer in (("first", min(1, len(row.norms.r_squared) - 1)), ("last", None)):
        errors = [error for profile in control if (error := _error(profile, layer)) is not None]
        numbers[f"{name}_error"] = row.profile and _error(row.profile, layer)
        numbers[f"random_{name}_low"] = min(errors, default=None)
        numbers[f"random_{name}_high"] = max(errors, default=None)
    about = export.about(experiment, found)
    about = {name: about[name] for name in about if name not in ("model", "corpus", "sample_size")}
    is_shipped = found.n_shipped == len(found.measurements)
    made_with = {"torch": jobs.origin().torch, "transformers": jobs.origin().transformers} if is_shipped else {}
    return {
        **numbers,
        "guess_error": row.profile.guess_error if row.profile else None,
        "n_random": len(control),
        **about,
        "measured_on": jobs.origin().day if is_shipped else None,
        "python": platform.python_version(),
        "clsviz": clsviz.__version__,
        **{name.replace("-", "_"): made_with.get(name, version(name)) for name in LIBRARIES},
    }


def random_weights(experiment: Experiment, row: "Row", store: Store, progress: Progress) -> list[Profile]:
    """Probes of the same sentences' vectors by the same architecture with random weights, one for each draw of them.

    None of a model that has random weights itself, or that is not here but its vectors.
    """
    name = models.Name.parse(experiment.model)
    if name.untrained or models.Imported.parse(experiment.model):
        return []
    assert row.norms is not None  # the same sentences are probed
    encoders, profiles = Encoders(), []
    _, found = extract(experiment, Kind.VECTORS, store, progress, encoders)
    for seed in range(DRAWS):
        vectors = jobs.measure_untrained(seed, experiment, found, store, encoders, progress)
        progress.begin(f"Fitting probes of random weights, draw {seed + 1} of {DRAWS}")
        drawn = replace(found, measurements=vectors)
        *_, profile = analysis.compare.read_vectors(drawn, experiment.view, row.norms.shown.index)
        profiles.append(profile)
    return profiles


def _error(profile: Profile, layer: int | None) -> float | None:
    reading = profile.get(Pooling.CLS, layer, Readout.VECTOR)
    return None if reading is None or reading.r_squared is None else reading.error
