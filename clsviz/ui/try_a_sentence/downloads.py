"""Every table that this page draws, as CSV or Parquet."""

from collections.abc import Callable, Mapping
from functools import partial
from urllib.parse import urlencode

import pandas as pd

from clsviz import analysis, export, words
from clsviz.analysis.typed import TypedSentences
from clsviz.experiment import Experiment
from clsviz.measuring import Found, MeasuringJob
from clsviz.settings import Lengths, Pooling, Precision
from clsviz.ui.parts import share
from clsviz.ui.state import watching
from clsviz.ui.try_a_sentence import measured, nearest


def show(
    typed: TypedSentences,
    at: int,
    grown: pd.DataFrame | None,
    jobs: list[MeasuringJob],
    experiment: Experiment,
    found: Found,
) -> None:
    """One button per table and format; the tables are made when asked for."""
    view, corpus = experiment.view, measured.corpus_context(jobs, experiment)
    vectors = watching.found(jobs[1], experiment) if len(jobs) > 1 else None
    has_band = corpus is not None and corpus.layer_band is not None
    # Each table, and the corpus measurements that are in it.
    tables: dict[str, tuple[Callable[[], pd.DataFrame], Found | None]] = {
        "Tokens": (lambda: analysis.typed.token_table(typed), None),
        "Norms by layer": (lambda: analysis.typed.layer_table(typed, corpus), found if has_band else None),
    }
    if grown is not None:
        tables["Norms by word"] = lambda: grown.rename(columns={"tokens": "length"}), None
        band = corpus.length_band(int(grown["tokens"].max())) if corpus else None
        if band is not None:
            of_band = vectors if view.pooling in (Pooling.MEAN, Pooling.MAX) else found
            tables["Corpus by length"] = lambda: band, of_band
    tables["Pooler"] = lambda: analysis.typed.pooler_table(typed), None
    if vectors is not None:
        tables["Nearest"] = lambda: nearest.nearest_table(typed, at, vectors, view), vectors
        if len(typed.sentences) > 1:
            tables["Similarity"] = lambda: nearest.similarity_table(typed, vectors, view), vectors
    name = share.file_name(experiment, found)

    def draw() -> None:
        for label, (table, of) in tables.items():
            file = f"{name}-{label.lower().replace(' ', '-')}"
            share.table_downloads(label, file, table, partial(_about, typed, experiment, found, of))

    share.menu(draw, len(tables))


def _about(typed: TypedSentences, experiment: Experiment, found: Found, of: Found | None) -> Mapping[str, object]:
    """How a table was made, ready for JSON; `of` are the corpus measurements that are in it, if any.

    The visitor's own sentences are always measured exactly, whatever the precision of the corpus.
    """
    of = of and words.shareable(experiment, of)[1]
    experiment, found = words.shareable(experiment, found)
    made_with: dict[str, object] = {
        "model": found.weights.pinned,
        "model_fingerprint": found.weights.fingerprint,
        "seed": experiment.seed,
        "length_cutoff": experiment.length_cutoff,
        "layer": typed.vectors.n_layers if experiment.layer is None else experiment.layer,
        "pooling": experiment.pooling,
        "unit": experiment.unit,
        "numbers": Precision.EXACT.numbers,
        "query": "?" + urlencode(export.link(experiment, found)),
    }
    if of is None:
        return made_with
    return made_with | {
        "corpus": of.corpus.pinned,
        "corpus_fingerprint": of.corpus.fingerprint,
        "corpus_numbers": of.precision.numbers,
        "lengths": Lengths.TRUE,
        "n_measured": len(of.measurements),
    }
