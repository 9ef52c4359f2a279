"""The table of the compared models."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import streamlit as st

from clsviz import analysis
from clsviz.analysis.compare import Row
from clsviz.settings import Unit


def show(rows: Sequence[Row], unit: Unit) -> None:
    """One row per model, with what is wrong with it; clicking a column's name sorts by it."""
    numbers = analysis.compare.table(rows)
    intervals = [
        f"{low:.3f} to {high:.3f}" if np.isfinite(low) else None
        for low, high in zip(numbers["r_squared_low"], numbers["r_squared_high"], strict=True)
    ]
    numbers.insert(4, "interval", intervals)
    columns = _columns(unit)
    if (numbers["problem"] != "").any():
        columns["problem"] = st.column_config.TextColumn("Problem", width="large")
        if any(row.norms is None and row.problem for row in rows):  # beside the name, not at the far end
            columns = {name: columns[name] for name in ("label", "problem", *columns)}
    st.dataframe(
        numbers,
        column_order=list(columns),
        column_config=columns,
        hide_index=True,
        placeholder="–",
        key="comparison",
        alt="The compared models, one per row, with how well length explains their norms and can be predicted from "
        "their vectors",
    )


def _columns(unit: Unit) -> dict[str, Any]:
    """The columns that are always shown, in their order, with their configuration."""
    lengths = {"tokens": "mean_tokens"} if unit is Unit.TOKENS else {unit: "mean_length", "tokens": "mean_tokens"}
    number, text = st.column_config.NumberColumn, st.column_config.TextColumn
    return {
        "label": text("Model", pinned=True),
        "r_squared": number("R²", format="%.3f", help="Share of the norm’s variance that the line explains."),
        "interval": text("95% interval", help="95% interval of R²."),
        "slope": number(f"Slope per {unit.singular}", format="%.3g", help=f"Change in the norm per {unit.singular}."),
        "spearman": number("Spearman’s ρ", format="%.2f", help="Rank correlation of norm and length."),
        "probe_r_squared": number(
            "Probe R²",
            format="%.3f",
            help="How well a linear probe predicts length from the whole [CLS] vector (cross-validated R²), at the "
            "layer where it does best.",
        ),
        "probe_layer": number("Best layer", format="%d", help="0 is the embedding output."),
        "sentences_per_second": number(
            "Sentences/s", format="%.0f", help="From the last time its norms were measured on this machine."
        ),
        "n_parameters": number(
            "Matrix weights",
            format="compact",
            help="Weights in the matrices that every token is multiplied by. Embeddings do not count.",
        ),
        "norm_mean": number("Mean norm", format="%.3f", help="Mean of the norm over the sentences."),
        "norm_sd": number("SD of norm", format="%.3g", help="Standard deviation of the norm over the sentences."),
        **{
            name: number(f"{unit_name.capitalize()} per sentence", format="%.1f", help="Mean over the sentences.")
            for unit_name, name in lengths.items()
        },
        "n_sentences": number("Sentences", format="localized", help="How many sentences the numbers are based on."),
    }
