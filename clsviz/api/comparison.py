"""Several models on the same sentences."""

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Unpack

from clsviz import analysis, export, figures, words
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
from clsviz.measurements import Kind
from clsviz.progress import Progress
from clsviz.settings import MOST_MODELS, Pooling, Precision, SimilarityFunction
from clsviz.statistics.probes import Readout
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
        return to_html(self.question, self.answer, table, self._settings())

    def _settings(self) -> dict[str, str]:
        found = self.founds[0]
        settings = words.settings(self._of(0), found, self._norms(self.experiment)[0].shown)
        return {
            **{f"Model {row.label}": of.weights.pinned for row, of in zip(self.rows, self.founds, strict=True)},
            **{name: settings[name] for name in ("Corpus", "Length", "Precision", "Line")},
            "Sample": f"{len(found.sentences):,} sentences, {found.sample.drawn}",
        }

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
        norms = self._norms(with_view(self.experiment, view))[names.index(model)]
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
        for row, found, norms in zip(self.rows, self.founds, self._norms(experiment), strict=True):
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
        models = []
        for index, (found, row, norms) in enumerate(zip(self.founds, cells, self._norms(self.experiment), strict=True)):
            numbers = {str(name): row[name] for name in known} | {"problem": row["problem"] or None}
            test = self.rows[index].search
            numbers["search"] = test and export.search.summary(test, SimilarityFunction.COSINE)
            models.append(export.summary(self._of(index), found, norms.shown) | numbers)
        return {"answer": self.answer, "models": models}

    def _of(self, index: int) -> Experiment:
        return replace(self.experiment, model=self.rows[index].model)

    def _norms(self, experiment: Experiment) -> "list[Norms]":
        return norms_of(self.founds, experiment)


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
    if experiment.pooling in (Pooling.MEAN, Pooling.MAX):
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
