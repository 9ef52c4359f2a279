"""What carries the length in one vector: the SentLen task, the dimensions of its norm, its LayerNorm."""

from typing import TYPE_CHECKING

import streamlit as st

from clsviz import analysis, export, figures, statistics, words
from clsviz.experiment import Experiment
from clsviz.measuring import Analysis, Found
from clsviz.ui.markdown import escape
from clsviz.ui.parts import picture, share
from clsviz.ui.state import server

if TYPE_CHECKING:
    import pandas as pd

    from clsviz.analysis.vectors import NormBreakdown, SentLen
    from clsviz.statistics import NormOf


_HEIGHT = 300


_FEW_PER_COMPONENT = 5
"""Training sentences below which, for every component of a vector, an accuracy says little."""


def is_done(found: Found, experiment: Experiment) -> bool:
    """Whether all of it is worked out, or cannot be."""
    return all(not task.state.is_active for task in _tasks(found, experiment))


def show(found: Found, experiment: Experiment) -> None:
    """All of it."""
    of_sentlen, of_carriers = _tasks(found, experiment)
    vector = words.vector_name(experiment.view).replace("its ", "the ")
    st.subheader(f"Six bins of length, from {vector}", anchor=False)
    _sentlen(of_sentlen)
    st.subheader(f"What carries the norm of {vector}", anchor=False)
    _carriers(of_carriers)


def downloads(experiment: Experiment, found: Found) -> None:
    """What is shown, as tables, where it is worked out."""
    of_sentlen, of_carriers = _tasks(found, experiment)
    name = share.file_name(experiment, found)
    sentlen, carriers = of_sentlen.work.result, of_carriers.work.result
    if sentlen and sentlen.vector:
        share.table_downloads(
            "SentLen", f"{name}-sentlen", lambda: sentlen_table(sentlen), lambda: export.about(experiment, found)
        )
    if carriers and carriers.layer_norm:
        share.table_downloads(
            "LayerNorm",
            f"{name}-layernorm",
            lambda: layer_norm_table(carriers.layer_norm or []),
            lambda: export.about(experiment, found),
        )
    if carriers and carriers.by_dimension:
        share.table_downloads(
            "Dimensions",
            f"{name}-dimensions",
            lambda: dimensions_table(carriers),
            lambda: export.about(experiment, found),
        )


def _tasks(found: Found, experiment: Experiment) -> "tuple[Analysis[SentLen], Analysis[NormBreakdown]]":

    return (
        server.compute(analysis.vectors.classify, found, experiment.view),
        server.compute(analysis.vectors.norm_breakdown, found, experiment.view),
    )


def _sentlen(task: "Analysis[SentLen]") -> None:
    found = task.work.result
    st.markdown(
        "The SentLen task of the literature (Conneau et al. 2018): to tell into which of six bins of length, in words, "
        "a sentence falls. Logistic regression, balanced classes; its strength is chosen on sentences of their own, "
        "the accuracy is of others."
    )
    if task.error or (found and found.vector is None):
        st.info(escape(task.error or (found.problem if found else "")))
        return
    if found is None:
        st.caption("At work.")
        return
    st.dataframe(
        sentlen_table(found),
        hide_index=True,
        column_config={
            "From": st.column_config.TextColumn(width="medium"),
            "Accuracy": st.column_config.ProgressColumn(format="percent", min_value=0, max_value=1),
            "Lowest": st.column_config.NumberColumn("95% from", format="percent"),
            "Highest": st.column_config.NumberColumn("to", format="percent"),
        },
        alt="Accuracy of the SentLen task",
    )
    if found.vector and found.vector.n_train < _FEW_PER_COMPONENT * found.width:
        st.warning(
            f"Only {found.vector.n_train:,} sentences to train on, as there are so few of the rarest bin, for the "
            f"{found.width:,} components of a vector: too few for a firm answer. Take a larger sample, or another "
            "corpus."
        )
    if found.norm is None:
        st.caption(escape(f"The norm alone: {found.problem}"))

    published = "; ".join(f"{entry.name} {entry.accuracy:g}%" for entry in statistics.sentlen.PUBLISHED)
    sources = "; ".join(dict.fromkeys(entry.source for entry in statistics.sentlen.PUBLISHED))
    st.caption(
        escape(f"Published, of other sentences and in other setups, so for context only: {published} ({sources}).")
    )


def sentlen_table(found: "SentLen") -> "pd.DataFrame":
    """A row for the vector, for its norm alone, and for guessing."""
    import pandas as pd

    rows = [
        (name, result.accuracy, *result.interval, result.n_train, result.n_dev, result.n_test)
        for name, result in (("the whole vector", found.vector), ("its norm alone", found.norm))
        if result is not None
    ]
    columns = ["From", "Accuracy", "Lowest", "Highest", "Train", "Dev", "Test"]
    table = pd.DataFrame(
        [*rows, ("guessing", statistics.sentlen.CHANCE, None, None, None, None, None)], columns=columns
    )
    return table.astype(dict.fromkeys(("Train", "Dev", "Test"), "Int64") | {"Lowest": float, "Highest": float})


def _carriers(task: "Analysis[NormBreakdown]") -> None:

    found = task.work.result
    if task.error:
        st.info(escape(task.error))
        return
    if found is None:
        st.caption("At work.")
        return
    left, right = st.columns(2)
    with left:
        _dimensions(found)
        if found.by_dimension:
            st.markdown(escape(words.dimensions.dimensions_sentence(found.by_dimension)))
    with right:
        st.markdown("**Gain and bias of the LayerNorm**")
        if found.layer_norm is None:
            st.info(escape(found.layer_norm_problem))
            return
        st.dataframe(
            layer_norm_table(found.layer_norm),
            hide_index=True,
            column_config={name: st.column_config.NumberColumn(format="%.4g") for name in ("Mean", "Sd", "R²")},
            placeholder="–",
            alt="The norm with the LayerNorm's gain and bias, and without them",
        )
        st.markdown(escape(words.dimensions.layer_norm_sentence(found.layer_norm)))


def _dimensions(found: "NormBreakdown") -> None:

    st.markdown("**Dimensions with the largest shares**")
    if found.by_dimension is None:
        st.info(escape(found.by_dimension_problem))
        return
    st.plotly_chart(
        figures.dimension_shares(found.by_dimension.shares, found.by_dimension.order, picture.palette()),
        height=_HEIGHT,
        key="dimensions",
        config={"displayModeBar": False},
        alt="The dimensions that hold most of the squared norm, with their shares.",
    )


def layer_norm_table(rows: "list[NormOf]") -> "pd.DataFrame":
    """A row a variant of the vector: its norm's mean and standard deviation, and R² on length."""
    import pandas as pd

    return pd.DataFrame(
        [(row.name, row.norm_mean, row.norm_sd, row.r_squared) for row in rows],
        columns=["Norm", "Mean", "Sd", "R²"],
    ).astype({"R²": float})


def dimensions_table(found: "NormBreakdown") -> "pd.DataFrame":
    """A row a dimension, the largest share of the squared norm first."""
    import pandas as pd

    by_dimension = found.by_dimension
    assert by_dimension is not None
    shares = {"dimension": by_dimension.order, "share_of_squared_norm": by_dimension.shares[by_dimension.order]}
    if by_dimension.variance_shares is not None:
        shares["share_of_its_variance"] = by_dimension.variance_shares[by_dimension.order]
    return pd.DataFrame(shares)
