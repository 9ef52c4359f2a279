"""Several models on the same sentences: how well length explains their norms and is predicted from their vectors."""

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from clsviz.analysis.search_test import SearchTest
from clsviz.analysis.view import ViewData, advised, lengths_of, near_duplicates, select_index, under_cutoff
from clsviz.errors import UndefinedFitError
from clsviz.experiment import View
from clsviz.jobs import Found
from clsviz.measurements import Measurements
from clsviz.settings import Pooling, SimilarityFunction
from clsviz.sources import models
from clsviz.statistics.intervals import Bootstrap, Interval
from clsviz.statistics.line import Fit, r_squared
from clsviz.statistics.probes import Profile, Readout, readings
from clsviz.statistics.ridge import folds_of
from clsviz.store.results import ResultCache

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Norms:
    """One model's norms of the n compared sentences.

    shown: the sentences, their lengths and norms, and the line. n_tokens: int32 (n,), by the model's own tokenizer.
    r_squared: float64 (n_layers + 1,), of the regression of the norm of [CLS] on length after every layer; NaN where
        undefined.
    """

    shown: ViewData
    n_tokens: NDArray[np.int32]
    r_squared: Floats


@dataclass(frozen=True, eq=False)
class Row:
    """What is known of one of the compared models so far.

    label: unique among the models. n_sampled: sentences of the sample. is_whole: whether all of them are measured.
    norms: None while nothing is measured. profile: probes of its vectors, fitted to the first sentences of the sample.
    is_read: whether the profile is final.
    search: of its mean-pooled vectors, where it was tested; search_problem: why it could not be, or "".
    problem: why something is missing, or "".
    """

    model: str
    label: str
    n_sampled: int = 0
    is_whole: bool = False
    norms: Norms | None = None
    profile: Profile | None = None
    is_read: bool = True
    sentences_per_second: float | None = None
    n_parameters: int | None = None
    problem: str = ""
    search: SearchTest | None = None
    search_problem: str = ""

    @property
    def fit(self) -> Fit | None:
        """The line, where there is one."""
        return self.norms.shown.fit if self.norms else None


def r_squared_difference(one: Row, other: Row) -> Interval:
    """The 95% interval of how much higher R² of one model’s line is than that of another, on the same sentences.

    Both have a line. A paired bootstrap of groups of near-duplicates, as far as these are known.
    """
    assert one.norms is not None
    assert other.norms is not None
    first, second = one.norms.shown, other.norms.shown
    clusters = np.arange(len(first.index)) if first.clusters is None else first.clusters
    return Bootstrap(clusters).correlation_difference(
        (first.lengths, first.norms), (second.lengths, second.norms), squared=True
    )


def labels(names: Sequence[str]) -> list[str]:
    """What to call each of the models, no two of them alike."""
    short = [models.label(name) for name in names]
    counts = Counter(short)
    return [label if counts[label] == 1 else name for label, name in zip(short, names, strict=True)]


def common(measured: Sequence[Measurements], view: View) -> list[NDArray[np.intp]]:
    """Which of each model's measured sentences are under the length cutoff and not truncated for any model.

    measured: one per model, each of the first sentences of the same sample. Models that have not measured a sentence
    yet have no say in it; once all have measured the sample, the answers are equal. Returns intp arrays.
    """
    fits_all = np.ones(max(map(len, measured), default=0), bool)
    for measurements in measured:
        fits = np.zeros(len(measurements), bool)
        fits[under_cutoff(measurements, view)[0]] = True
        fits_all[: len(measurements)] &= fits
    return [np.flatnonzero(fits_all[: len(measurements)]) for measurements in measured]


def norms_of(found: Found, view: View, index: NDArray[np.intp], cache: ResultCache | None = None) -> Norms:
    """One model's norms of the sentences in `index`, of the view's vector and with lengths in its unit.

    Raises IndexError if the model has no such layer or pooler.
    """
    measurements = found.measurements
    shown = select_index(found, view, index, wait=False, cache=cache)
    of_layers = np.full(measurements.n_layers + 1, np.nan)
    for layer in range(measurements.n_layers + 1):
        with suppress(UndefinedFitError):
            of_layers[layer] = r_squared(shown.lengths, measurements.cls_norms[index, layer])
    return Norms(shown, measurements.n_tokens[index], of_layers)


def read_vectors(found: Found, view: View, index: NDArray[np.intp]) -> Iterator[Profile]:
    """Predict length from the whole [CLS] vector after every layer, and yield what is known after each step.

    found: with vectors; sentences of `index` whose vectors are not measured are left out.
    Raises UndefinedFitError if too few of the sentences differ.
    """
    index = index[index < len(found.measurements)]
    clusters = near_duplicates(found, view)[index]
    with advised(found, view):
        folds = folds_of(clusters)
    for profile in readings(found.vectors, index, lengths_of(found, view, index), folds, clusters):
        yield profile
        if all(profile.line(Pooling.CLS, Readout.VECTOR)):
            return  # the other probes are not compared


def table(rows: Sequence[Row]) -> pd.DataFrame:
    """One row per model; whatever is unknown or undefined is missing.

    Columns: model, label, n_sentences, r_squared with its 95% interval r_squared_low to r_squared_high, slope with
    slope_low and slope_high, spearman, probe_r_squared (cross-validated, of the whole [CLS] vector after the layer
    where it is highest), probe_layer, n_layers, norm_mean, norm_sd, mean_length, mean_tokens, sentences_per_second,
    n_parameters (weights in the matrices that every token is multiplied by), problem; and where a search was tested, of
    mean-pooled vectors by cosine and by dot product (…_dot): recall_at_10 with recall_at_10_low and recall_at_10_high,
    ndcg_at_10, exposure_shortest and exposure_longest (of the shortest and the longest fifth of the texts).
    """
    return pd.DataFrame(map(_cells, rows)).astype(
        dict.fromkeys(("n_sentences", "probe_layer", "n_layers", "n_parameters"), "Int64")
    )


def _cells(row: Row) -> dict[str, object]:
    fit, norms, best = row.fit, row.norms, row.profile.best if row.profile else None
    low, high = fit.r_squared_interval if fit else (np.nan, np.nan)
    slope_low, slope_high = fit.slope_interval if fit else (np.nan, np.nan)
    has_sentences = norms is not None and len(norms.n_tokens) > 0
    several = norms is not None and len(norms.n_tokens) > 1
    return {
        "model": row.model,
        "label": row.label,
        "n_sentences": len(norms.n_tokens) if norms else None,
        "r_squared": fit.r_squared if fit else np.nan,
        "r_squared_low": low,
        "r_squared_high": high,
        "slope": fit.slope if fit else np.nan,
        "slope_low": slope_low,
        "slope_high": slope_high,
        "spearman": fit.spearman if fit else np.nan,
        "probe_r_squared": best.r_squared if best else np.nan,
        "probe_layer": best.layer if best else None,
        "n_layers": len(norms.r_squared) - 1 if norms else None,
        "norm_mean": float(norms.shown.norms.mean(dtype=float)) if norms and has_sentences else np.nan,
        "norm_sd": float(norms.shown.norms.std(ddof=1, dtype=float)) if norms and several else np.nan,
        "mean_length": float(norms.shown.lengths.mean()) if norms and has_sentences else np.nan,
        "mean_tokens": float(norms.n_tokens.mean()) if norms and has_sentences else np.nan,
        "sentences_per_second": np.nan if row.sentences_per_second is None else row.sentences_per_second,
        "n_parameters": row.n_parameters,
        "problem": row.problem or (norms.shown.problem if norms else ""),
        **(_search_cells(row.search) if row.search else {}),
    }


def _search_cells(test: SearchTest) -> dict[str, object]:
    cells: dict[str, object] = {}
    for similarity, end in ((SimilarityFunction.COSINE, ""), (SimilarityFunction.DOT, "_dot")):
        ranking = test.ranking(similarity)
        cells |= {
            f"recall_at_10{end}": ranking.recall_at_10,
            f"recall_at_10_low{end}": ranking.recall_interval[0],
            f"recall_at_10_high{end}": ranking.recall_interval[1],
            f"ndcg_at_10{end}": ranking.ndcg_at_10,
            f"exposure_shortest{end}": ranking.exposure[0],
            f"exposure_longest{end}": ranking.exposure[-1],
        }
    return cells


def curves(rows: Sequence[Row]) -> pd.DataFrame:
    """R² by model and layer, of the norm of [CLS] and of a probe of its vector; missing where undefined.

    Columns: model (its label), layer, depth (layer divided by the last layer, 0 to 1), norm, vector, and error: by how
    much the probe misses the length, in its unit.
    """
    table = []
    for row in rows:
        if row.norms is None:
            continue
        last = len(row.norms.r_squared) - 1
        line = row.profile.line(Pooling.CLS, Readout.VECTOR) if row.profile else [None] * (last + 1)
        for layer, reading in enumerate(line):
            of_vector = np.nan if reading is None or reading.r_squared is None else reading.r_squared
            error = np.nan if reading is None else reading.error
            table.append((row.label, layer, layer / max(last, 1), row.norms.r_squared[layer], of_vector, error))
    return pd.DataFrame(table, columns=["model", "layer", "depth", "norm", "vector", "error"])


def last_errors(rows: Sequence[Row]) -> dict[str, float]:
    """By how much a linear probe misses the length after the last layer, in its unit, by the model's label."""
    last = {row.label: row.profile.get(Pooling.CLS, None, Readout.VECTOR) for row in rows if row.profile}
    return {label: one.error for label, one in last.items() if one is not None and one.r_squared is not None}


def points(rows: Sequence[Row], sentences: Sequence[str]) -> pd.DataFrame:
    """One row per model and compared sentence: model (its label), sentence, n_tokens, length, norm."""
    parts = [
        pd.DataFrame(
            {
                "model": row.label,
                "sentence": [sentences[i] for i in row.norms.shown.index],
                "n_tokens": row.norms.n_tokens,
                "length": row.norms.shown.lengths,
                "norm": row.norms.shown.norms,
            }
        )
        for row in rows
        if row.norms is not None
    ]
    empty = pd.DataFrame({"model": [], "sentence": [], "n_tokens": [], "length": [], "norm": []})
    return pd.concat(parts, ignore_index=True) if parts else empty


def tokens_agree(rows: Sequence[Row]) -> bool | None:
    """Whether all tokenizers give every sentence the same number of tokens; None while that is not known."""
    first, *others = token_counts(rows).values() or [np.empty(0, np.int32)]
    return all(np.array_equal(first, other) for other in others) if others and len(first) else None


def token_counts(rows: Sequence[Row]) -> dict[str, NDArray[np.int32]]:
    """How many tokens each tokenizer makes of the compared sentences, int32 (n,), by the model's label."""
    return {row.label: row.norms.n_tokens for row in rows if row.norms is not None and row.is_whole}
