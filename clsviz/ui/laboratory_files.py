"""What leaves the laboratory: every table that is drawn, as CSV or Parquet."""

from collections.abc import Callable
from urllib.parse import urlencode

import pandas as pd
import streamlit as st

from clsviz.experiment import Experiment
from clsviz.extraction import Found
from clsviz.jobs import Job
from clsviz.ui import session, share
from clsviz.ui.laboratory import Typed, beside
from clsviz.ui.laboratory_pairs import nearest_table, similarity_table
from clsviz.ui.laboratory_sections import growth_band, layer_table, pooler_table


def downloads(
    typed: Typed, at: int, grown: pd.DataFrame | None, jobs: list[Job], experiment: Experiment, found: Found
) -> None:
    """A button for each table and format; the tables are made when asked for."""
    corpus = beside(jobs, experiment)
    tables: dict[str, Callable[[], pd.DataFrame]] = {
        "Tokens": lambda: token_table(typed),
        "Norms by layer": lambda: layer_table(typed, corpus),
    }
    if grown is not None:
        tables["Growth"] = lambda: grown.rename(columns={"tokens": "length"})
        if (band := growth_band(grown, corpus)) is not None:
            tables["Corpus by length"] = lambda: band
    tables["Pooler"] = lambda: pooler_table(typed)
    if len(typed.sentences) > 1:
        tables["Similarity"] = lambda: similarity_table(typed, experiment)
    vectors = session.found(jobs[1], experiment) if len(jobs) > 1 else None
    if vectors is not None:
        tables["Nearest"] = lambda: nearest_table(typed, at, vectors, experiment)
    name = share.file_name(experiment, found)
    with st.popover("Download", icon=":material/download:"):
        for label, table in tables.items():
            with st.container(horizontal=True):
                share.table_downloads(
                    label, f"{name}-{label.lower().replace(' ', '-')}", table, lambda: about(typed, experiment, found)
                )


def token_table(typed: Typed) -> pd.DataFrame:
    """All that the model reads: sentence (its number, from 1), position (from 0), token, id."""
    rows = [
        (number, position, token, token_id)
        for number, read in enumerate(typed.tokens, 1)
        for position, (token, token_id) in enumerate(read)
    ]
    return pd.DataFrame(rows, columns=["sentence", "position", "token", "id"])


def about(typed: Typed, experiment: Experiment, found: Found) -> dict[str, object]:
    """With what the tables were made, ready for JSON."""
    from clsviz import export

    return {
        "model": found.weights.pinned,
        "model_fingerprint": found.weights.fingerprint,
        "corpus": found.corpus.pinned,
        "corpus_fingerprint": found.corpus.fingerprint,
        "n_measured": len(found.measurements),
        "seed": experiment.seed,
        "length_cutoff": experiment.length_cutoff,
        "layer": typed.vectors.n_layers if experiment.layer is None else experiment.layer,
        "pooling": experiment.pooling,
        "unit": experiment.unit,
        "numbers": experiment.precision.numbers,
        "query": "?" + urlencode(export.link(experiment, found)),
    }
