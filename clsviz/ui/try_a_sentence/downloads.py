"""What leaves the laboratory: every table that is drawn, as CSV or Parquet."""

from collections.abc import Callable
from functools import partial
from urllib.parse import urlencode

import pandas as pd
import streamlit as st

from clsviz import export
from clsviz.experiment import Experiment
from clsviz.measuring import Found, MeasuringJob
from clsviz.settings import Lengths, Pooling, Precision
from clsviz.ui.parts import share
from clsviz.ui.state import watching
from clsviz.ui.try_a_sentence.laboratory import Typed, beside
from clsviz.ui.try_a_sentence.pairs import nearest_table, similarity_table
from clsviz.ui.try_a_sentence.sections import growth_band, layer_table, pooler_table


def downloads(
    typed: Typed, at: int, grown: pd.DataFrame | None, jobs: list[MeasuringJob], experiment: Experiment, found: Found
) -> None:
    """A button for each table and format; the tables are made when asked for."""
    corpus = beside(jobs, experiment)
    vectors = watching.found(jobs[1], experiment) if len(jobs) > 1 else None
    has_band = corpus is not None and corpus.layer_band is not None
    # A table, and the corpus's measurements that are in it.
    tables: dict[str, tuple[Callable[[], pd.DataFrame], Found | None]] = {
        "Tokens": (lambda: token_table(typed), None),
        "Norms by layer": (lambda: layer_table(typed, corpus), found if has_band else None),
    }
    if grown is not None:
        tables["Growth"] = lambda: grown.rename(columns={"tokens": "length"}), None
        if (band := growth_band(grown, corpus)) is not None:
            of_band = vectors if experiment.pooling in (Pooling.MEAN, Pooling.MAX) else found
            tables["Corpus by length"] = lambda: band, of_band
    tables["Pooler"] = lambda: pooler_table(typed), None
    if len(typed.sentences) > 1:
        tables["Similarity"] = lambda: similarity_table(typed, experiment), None
    if vectors is not None:
        tables["Nearest"] = lambda: nearest_table(typed, at, vectors, experiment), vectors
    name = share.file_name(experiment, found)
    with st.popover("Download", icon=":material/download:"):
        for label, (table, of) in tables.items():
            with st.container(horizontal=True):
                share.table_downloads(
                    label,
                    f"{name}-{label.lower().replace(' ', '-')}",
                    table,
                    partial(about, typed, experiment, found, of),
                )


def token_table(typed: Typed) -> pd.DataFrame:
    """All that the model reads: sentence (its number, from 1), position (from 0), token, id."""
    rows = [
        (number, position, token, token_id)
        for number, read in enumerate(typed.tokens, 1)
        for position, (token, token_id) in enumerate(read)
    ]
    return pd.DataFrame(rows, columns=["sentence", "position", "token", "id"])


def about(typed: Typed, experiment: Experiment, found: Found, of: Found | None) -> dict[str, object]:
    """With what a table was made, ready for JSON; `of` are the corpus's measurements that are in it, if any.

    The visitor's own sentences are measured exactly, whatever the precision of the corpus.
    """
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
