"""The visitor's own sentences: measured at once, stored nowhere."""

from typing import Any, Final

import streamlit as st

from clsviz.analyses.select import kind_of, lengths, norms_of, resolve
from clsviz.encoder.anatomy import Anatomy
from clsviz.errors import quote
from clsviz.jobs.measure import measure_texts
from clsviz.measurements import FORMS, Arrays, Kind
from clsviz.numbers import counted, number, percent
from clsviz.results.anatomy import MOST_TOKENS
from clsviz.results.result import Result
from clsviz.settings import Experiment
from clsviz.sources.models import Weights
from clsviz.statistics.lengths import percentile
from clsviz.ui import layout, work
from clsviz.ui.server import server

PARAMETER: Final = "text"  # in a link: the sentences, where the visitor chose to include them
MOST: Final = 20
LONGEST: Final = 2000


def recall() -> None:
    """Take the sentences of a link, and those typed before, on every page, also one that waits.

    Streamlit forgets a widget where a page stops before it, and empties it as a page begins.
    """
    if PARAMETER not in st.session_state:
        text = st.session_state.get("typed", st.query_params.get(PARAMETER, ""))
        st.session_state[PARAMETER] = text[:LONGEST]
    st.session_state.typed = st.session_state[PARAMETER] or ""


def texts() -> list[str]:
    """The sentences that the visitor has typed on any page, or brought by a link."""
    text: str = st.session_state.typed
    return [line for line in text.splitlines() if line.strip()][:MOST]


def show(weights: Weights, experiment: Experiment) -> list[dict[str, Any]]:
    """Draw the input; returns {sentence, length, norm} of each sentence in it that is measured."""
    st.text_area(
        f"Your own sentences, one in each line (at most {MOST})",
        key=PARAMETER,
        height=68,
        max_chars=LONGEST,
        persist_state="session",
        placeholder="Type a sentence to see its norm.",
    )
    sentences, experiment = texts(), resolve(experiment, weights)
    arrays = measure("typed", weights, experiment, sentences) if sentences else None
    if arrays is None:
        return []
    norms = FORMS[kind_of(experiment)].from_slices([arrays])
    columns = {
        "sentence": sentences,
        "length": lengths(sentences, norms.n_tokens, experiment.unit).tolist(),
        "norm": norms_of(norms, experiment, weights.label).tolist(),
        "truncated": norms.truncated.tolist(),
    }
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def measure(
    name: str,
    weights: Weights,
    experiment: Experiment,
    sentences: list[str],
    kind: Kind | None = None,
) -> Arrays | None:
    """The measurements of sentences, or None where they fail or are not in yet.

    name: of the job, of which the session has one at a time.
    """
    form = kind or kind_of(experiment)
    key = weights.fingerprint, experiment.precision, form, tuple(sentences)
    inputs = weights, experiment, form, sentences, server().workspace
    job = work.ask((name, key), lambda job: measure_texts(*inputs, job), name=name)
    return work.follow(job)


def show_measured(sentences: list[dict[str, Any]], result: Result) -> None:
    """Draw a line for each sentence: its length, its norm, and how it compares."""
    table = result.table
    used = table.loc[table["is_used"], ["norm", "length"]] if sentences else table
    lines = []
    for own in sentences:
        rank = percentile(own["norm"], own["length"], used["norm"], used["length"])
        if own["truncated"]:
            comparison = "of its beginning alone: it is longer than the model reads"
        elif rank is None:
            comparison = "with too few sentences about as long to compare it with"
        else:
            comparison = f"which tops {percent(rank / 100)} of sentences about as long"
        size = f"{own['length']:,} {result.about['unit']}, norm {number(own['norm'])}"
        words = layout.escape(f"{quote(own['sentence'])}: {size}, {comparison}")
        lines.append(f":yellow[★] {words}")
    st.markdown("  \n".join(lines))


def show_tokens(anatomy: Anatomy) -> None:
    """Draw the tokens that the model reads, each with its id."""
    pairs = list(zip(anatomy.tokens, anatomy.ids, strict=True))
    badges = [f":gray-badge[{layout.escape(token)} · {n}]" for token, n in pairs[:MOST_TOKENS]]
    rest = f" and {len(pairs) - MOST_TOKENS:,} others" if len(pairs) > MOST_TOKENS else ""
    cut = f", the first of {anatomy.n_tokens:,}" if anatomy.is_cut else ""
    st.caption(f"The model reads {counted(len(pairs), 'token')}{cut}, each with its id")
    st.markdown(" ".join(badges) + rest)
