"""Several models on the same sentences, and a table for a paper: every model on every corpus."""

import os
import platform
from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib.metadata import version
from typing import TYPE_CHECKING, Unpack

import clsviz
from clsviz import analysis, export, figures, jobs, words
from clsviz.api.inputs import (
    DEFAULT_CORPUS,
    Bar,
    Corpus,
    Settings,
    ViewSettings,
    extract,
    open_store,
    question,
    read_corpus,
    spelled_out,
    with_view,
)
from clsviz.api.norms import to_html
from clsviz.api.search import run_test
from clsviz.errors import SettingError, UndefinedFitError, UnsearchableError
from clsviz.experiment import Experiment
from clsviz.jobs import Encoders, Found
from clsviz.measurements import POOLED, Kind
from clsviz.progress import Progress
from clsviz.settings import DRAWS, MOST_MODELS, Pooling, Precision, SimilarityFunction
from clsviz.sources.models import Imported, Name
from clsviz.statistics.probes import Profile, Readout
from clsviz.statistics.shape import curve_interval
from clsviz.store import Store

if TYPE_CHECKING:
    import pandas as pd

    from clsviz.analysis.compare import Norms, Row
    from clsviz.figures import Figure
    from clsviz.statistics.line import Fit


_MOST_DRAWN = 2000
"""Points in each panel; the numbers are of all sentences."""


@dataclass(frozen=True, eq=False, repr=False)
class Comparison:
    """What two to six models make of the same sentences, as `compare` returns it.

    experiment: what was asked, but for the model.
    rows: what is known of each model.
    founds: the sentences and their norms, by each model.

    Compared are the sentences under the length cutoff for every model, that all of them read whole.

    >>> import clsviz
    >>> both = clsviz.compare(["minilm", "untrained:minilm"], "python-docs", n=200)
    >>> both.table()["label"].tolist()
    ['MiniLM-L6', 'untrained MiniLM-L6']
    """

    experiment: Experiment
    rows: "list[Row]"
    founds: list[Found]

    def __len__(self) -> int:
        return len(self.rows)

    def __repr__(self) -> str:
        return f"Comparison({', '.join(row.model for row in self.rows)}: {self.answer})"

    def _repr_html_(self) -> str:
        columns = {"label": "Model", "r_squared": "R²", "spearman": "Spearman’s ρ", "probe_r_squared": "Probe R²"}
        columns |= {"probe_layer": "at layer", "norm_mean": "Norm", "norm_sd": "Its spread", "n_sentences": "Sentences"}
        numbers = self.table()[list(columns)].rename(columns=columns)
        table = numbers.to_html(index=False, float_format=lambda value: f"{value:.3f}", na_rep="–", border=0)
        found = self.founds[0]
        settings = words.settings(self._of(0), found, norms_of(self.founds, self.experiment)[0].shown)
        shown = {
            **{f"Model {row.label}": of.weights.pinned for row, of in zip(self.rows, self.founds, strict=True)},
            **{name: settings[name] for name in ("Corpus", "Length", "Precision", "Line")},
            "Sample": f"{len(found.sentences):,} sentences, {found.sample.drawn}",
        }
        return to_html(self.question, self.answer, table, shown)

    @property
    def question(self) -> str:
        """What was asked, as a sentence."""
        return f"Which model encodes the length of a sentence in the norm of {words.vector_name(self.experiment.view)}?"

    @property
    def answer(self) -> str:
        """What the numbers say, in a few sentences."""
        norms = words.comparison.answer(self.rows, self.experiment)
        parts = words.comparison.searches(self.rows), norms, self.tokenizers
        return " ".join(filter(None, parts))

    @property
    def tokenizers(self) -> str:
        """Whether the lengths of the models can be compared with each other."""
        return words.comparison.tokenizers(self.rows, self.experiment.unit)

    @property
    def notes(self) -> list[str]:
        """What else to know, such as that the corpus has fewer sentences than were asked for."""
        notes = [note for found in self.founds for note in words.notes(self.experiment, found)]
        return [*dict.fromkeys([*notes, *(row.search_problem for row in self.rows if row.search_problem)])]

    def table(self) -> "pd.DataFrame":
        """One row per model.

        Columns: model, label, n_sentences, r_squared with the 95% interval r_squared_low to r_squared_high, slope with
        slope_low and slope_high, spearman, probe_r_squared (of the best layer's whole [CLS] vector, cross-validated),
        probe_layer, n_layers, norm_mean, norm_sd, mean_length, mean_tokens, sentences_per_second, n_parameters (weights
        that every token is multiplied with), problem; and where a search was tested, of mean-pooled vectors by cosine
        and by dot product (…_dot): recall_at_10 with recall_at_10_low and recall_at_10_high, ndcg_at_10,
        exposure_shortest and exposure_longest. What is not known, or undefined, is missing.
        """
        return analysis.compare.table(self.rows)

    def layers(self) -> "pd.DataFrame":
        """One row per model and layer: model (its label), layer, depth (0 to 1), norm and vector (R² of each)."""
        return analysis.compare.curves(self.rows)

    def fit(self, model: str, **view: Unpack[ViewSettings]) -> "Fit":
        """The regression line of one model over the compared sentences; takes a view, as `NormResult.fit` does.

        model: its name, as it was given. Raises SettingError where it was not compared, and UndefinedFitError where the
        sentences determine no line.
        """
        names = [row.model for row in self.rows]
        if model not in names:
            raise SettingError(f"“{model}” is not compared here. Compared are {', '.join(names)}.")
        norms = norms_of(self.founds, with_view(self.experiment, view))[names.index(model)]
        if norms.shown.fit is None:
            raise UndefinedFitError(norms.shown.problem)
        return norms.shown.fit

    def plot(self, *, shared_y: bool = True, **view: Unpack[ViewSettings]) -> "Figure":
        """Norm against length, a plotly Figure with a panel for each model; takes a view.

        Each panel has 2,000 points at most; the lines are of all sentences.

        shared_y: whether all panels have the same axis of norms.
        """
        experiment = with_view(self.experiment, view)
        panels = []
        for row, found, norms in zip(self.rows, self.founds, norms_of(self.founds, experiment), strict=True):
            drawn = norms.shown.index[:_MOST_DRAWN]
            labels = figures.labels_of([found.sentences[i] for i in drawn])
            points = figures.Points(labels, norms.shown.lengths[:_MOST_DRAWN], norms.shown.norms[:_MOST_DRAWN])
            panels.append((row.label, points, norms.shown.fit))
        figure = figures.small_multiples(panels, figures.Palette(), shared_y=shared_y, unit=experiment.unit)
        return figure.update_layout(template="plotly_white")

    def summary(self) -> dict[str, object]:
        """The answer and, for each model, numbers, settings and fingerprints: the keys of `clsviz compare --json`."""
        table = self.table().astype(object)
        cells = table.where(table.notna(), None).to_dict("records")
        known = ("label", "n_layers", "probe_r_squared", "probe_layer", "mean_length", "mean_tokens", "n_parameters")
        norms, models = norms_of(self.founds, self.experiment), []
        for index, (found, row) in enumerate(zip(self.founds, cells, strict=True)):
            numbers = {str(name): row[name] for name in known} | {"problem": row["problem"] or None}
            test = self.rows[index].search
            numbers["search"] = test and export.search.summary(test, SimilarityFunction.COSINE)
            models.append(export.summary(self._of(index), found, norms[index].shown) | numbers)
        return {"answer": self.answer, "models": models}

    def _of(self, index: int) -> Experiment:
        return replace(self.experiment, model=self.rows[index].model)


@spelled_out
def compare(
    models: Sequence[str],
    corpus: Corpus = DEFAULT_CORPUS,
    *,
    text: str = "",
    n: int | None = None,
    seed: int = 0,
    search: str | None = None,
    store: str | os.PathLike[str] | None = None,
    progress: bool | None = None,
    **settings: Unpack[Settings],
) -> Comparison:
    """Measure the same sentences with two to six models, and compare how much of the length each encodes.

    Of every model the norms are regressed on length over all sentences, and the whole [CLS] vectors of the first
    probe_size sentences (5,000 unless told otherwise) are probed after every layer.

    models: their names, as `measure` takes one. search: a corpus to search with every model, as `search_test` does with
    mean-pooled vectors; “” for the one compared. The other arguments are those of `measure`; the precision is always
    exact.

    Raises ClsvizError as `measure` does, and SettingError where the models are fewer than two, more than six, or not
    all different.

    >>> import clsviz
    >>> both = clsviz.compare(["minilm", "untrained:minilm"], "python-docs", n=200)
    >>> both.table()["n_sentences"].tolist() == [both.fit("minilm").n] * 2
    True
    >>> len(both.layers())
    14
    """
    opened = open_store(store)
    check_models(models)
    experiment = question(models[0], read_corpus(corpus, opened, text), n, seed, settings)
    with Bar(progress) as bar:
        return compare_models(experiment, models, opened, bar, search)


def check_models(models: Sequence[str]) -> None:
    """Raise SettingError where these are not two to six different models."""
    if isinstance(models, str) or not 2 <= len(models) <= MOST_MODELS or len(set(models)) < len(models):
        raise SettingError(f"models is {models!r}; it must be a list of 2 to {MOST_MODELS} different names.")


def compare_models(
    experiment: Experiment, models: Sequence[str], store: Store, progress: Progress, search: str | None = None
) -> Comparison:
    """Measure norms and vectors by every model, and compare them; whatever the experiment says, exactly.

    search: a corpus that every model is tested to search, “” for the one compared.
    """
    check_models(models)
    if experiment.pooling in POOLED[1:]:
        raise SettingError(f"pooling is {experiment.pooling}, but models are compared by the norm of cls or pooler.")
    experiment = replace(experiment, precision=Precision.EXACT)
    encoders = Encoders()
    extracted, vectors = [], []
    for model in models:
        of_model = replace(experiment, model=model)
        extracted.append(extract(of_model, Kind.NORMS, store, progress, encoders))
        vectors.append(extract(of_model, Kind.VECTORS, store, progress, encoders)[1])
    founds = [found for _, found in extracted]
    rows = [
        _with_probes(
            analysis.compare.Row(
                model,
                label,
                n_sampled=len(found.sentences),
                is_whole=True,
                norms=norms,
                sentences_per_second=extraction.sentences_per_second,
                n_parameters=found.weights.n_parameters,
            ),
            of_vectors,
            experiment,
            progress,
        )
        for model, label, (extraction, found), norms, of_vectors in zip(
            models, analysis.compare.labels(models), extracted, norms_of(founds, experiment), vectors, strict=True
        )
    ]
    if search is not None:
        rows = [_with_search(row, experiment, search, store, encoders, progress) for row in rows]
    return Comparison(experiment, rows, founds)


def _with_search(
    row: "Row", experiment: Experiment, corpus: str, store: Store, encoders: Encoders, progress: Progress
) -> "Row":
    """The row with a test of a search, or with the reason why there is none."""
    asked = replace(experiment, model=row.model, pooling=Pooling.MEAN, layer=None)
    if corpus:
        asked = replace(asked, corpus=corpus, configuration="", split="", column="")
    try:
        return replace(row, search=run_test(asked, store, encoders, progress).test)
    except UnsearchableError as error:
        return replace(row, search_problem=str(error))


def norms_of(founds: Sequence[Found], experiment: Experiment) -> "list[Norms]":
    """What each model's norms say of the sentences that all of them read whole.

    Raises SettingError where one of the models has no such layer or pooler.
    """
    for found in founds:
        analysis.check_pooling(experiment.view, found.measurements)
        analysis.check_layer(experiment.view, found.measurements.n_layers)
    indices = analysis.compare.common([found.measurements for found in founds], experiment.view)
    return [
        analysis.compare.norms_of(found, experiment.view, index) for found, index in zip(founds, indices, strict=True)
    ]


def _with_probes(row: "Row", found: Found, experiment: Experiment, progress: Progress) -> "Row":
    """The row with what probes predict from the vectors, or with the reason why they cannot."""
    assert row.norms is not None  # every row has them
    n_layers = found.vectors.n_layers
    progress.begin(f"Fitting probes of {row.label}", n_layers + 1)
    try:
        for profile in analysis.compare.read_vectors(found, experiment.view, row.norms.shown.index):
            row = replace(row, profile=profile)
            made = profile.line(Pooling.CLS, Readout.VECTOR)
            progress.advance(sum(reading is not None for reading in made))
    except UndefinedFitError as error:
        return replace(row, problem=str(error))
    return row


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
            _more_of_model(replace(comparison.experiment, model=row.model), row, found, store, progress)
            for row, found in zip(comparison.rows, comparison.founds, strict=True)
        ]
        comparisons.append(comparison)
        tables.append(pd.concat([comparison.table(), pd.DataFrame(more)], axis=1))
    return PaperTable(comparisons, pd.concat(tables, ignore_index=True))


def _more_of_model(
    experiment: Experiment, row: "Row", found: Found, store: Store, progress: Progress
) -> dict[str, object]:
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
    name = Name.parse(experiment.model)
    if name.untrained or Imported.parse(experiment.model):
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
