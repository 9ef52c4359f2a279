"""The laboratory's sentences: measured once, grown, and set beside those of the corpus."""

from collections.abc import Callable, Hashable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import pandas as pd
import streamlit as st
from numpy.typing import NDArray

from clsviz import analysis
from clsviz.errors import ClsvizError
from clsviz.experiment import Experiment
from clsviz.measurements import POOLED
from clsviz.measuring import Found, MeasuringJob
from clsviz.settings import Lengths, Pooling, Precision
from clsviz.statistics import lengths_in
from clsviz.ui.markdown import escape
from clsviz.ui.state import server, watching
from clsviz.vectors import Vectors

if TYPE_CHECKING:
    from clsviz.encoder import Encoder


T = TypeVar("T")


POOLINGS = (*POOLED, Pooling.POOLER)


EXAMPLE = "The quick brown fox jumps over the lazy dog."


MOST_SENTENCES = 20


_NEAR_ONE = 0.99


SETTINGS: dict[str, object] = {"nearest": False, "sentence": 1, "word": 1}
"""What this page has beside the experiment, as it begins: numbers, from 1, so that no text is in a link unasked."""


@dataclass(frozen=True, eq=False)
class Typed:
    """n sentences of the visitor, or the example.

    tokens: all that the model reads of each, with their ids. vectors: of every pooling after every layer.
    raw_norms, dense_norms, output_norms: float32 (n,), of [CLS] after the last layer, and of what the pooler makes of
        it, after its dense layer and after its activation; the last two None where the model has no such pooler.
    near_one: float64 (n,), share of the components of the output that are beyond ±0.99. is_tanh: of the activation.
    """

    sentences: list[str]
    is_example: bool
    tokens: list[list[tuple[str, int]]]
    vectors: Vectors
    raw_norms: NDArray[np.float32]
    dense_norms: NDArray[np.float32] | None = None
    output_norms: NDArray[np.float32] | None = None
    near_one: NDArray[np.float64] | None = None
    is_tanh: bool = False


@dataclass(frozen=True, eq=False)
class Beside:
    """The sentences of the corpus under the cutoff, as many as are measured; their lengths int32 (n,).

    norms: float32 (n,), of the view's vector; None where they are not measured, and then `problem` says why.
    layer_band: quartiles of the norm of [CLS] after every layer. quartiles: of the last [CLS] and the pooler output.
    """

    n: int
    lengths: NDArray[np.int32]
    norms: NDArray[np.float32] | None
    problem: str
    layer_band: pd.DataFrame | None
    quartiles: dict[Pooling, tuple[float, float]]


def settle() -> None:
    """Begin anew with what belongs to another text."""
    if st.session_state.get("laboratory_text", st.session_state.text) != st.session_state.text:
        st.session_state.sentence = st.session_state.word = 1
    st.session_state.laboratory_text = st.session_state.text


def query() -> dict[str, str]:
    """What this page has beside the experiment, as URL parameters, "" for those that are as at the beginning."""
    written = {"nearest": "yes", "sentence": str(st.session_state.sentence), "word": str(st.session_state.word)}
    return {name: written[name] if st.session_state[name] != value else "" for name, value in SETTINGS.items()}


def sentences() -> tuple[list[str], bool]:
    """What the visitor typed, a sentence a line, and whether it is the example, as they typed nothing."""
    typed = [line.strip() for line in st.session_state.text.splitlines() if line.strip()]
    if len(typed) > MOST_SENTENCES:
        st.caption(f"The first {MOST_SENTENCES} of {len(typed):,} lines are measured.")
    return typed[:MOST_SENTENCES] or [EXAMPLE], not typed


def measure(job: MeasuringJob, experiment: Experiment) -> Typed | None:
    """Measure what the visitor typed; None where that cannot be done yet, or says why it cannot be at all."""
    found = job.work.found
    if found is None:
        return None
    chosen, is_example = sentences()
    typed = _kept("typed", (found.weights.fingerprint, *chosen), found, lambda model: _measured(model, chosen))
    if typed is None or (experiment.layer or 0) > typed.vectors.n_layers:
        return None
    if experiment.pooling is Pooling.POOLER and not typed.vectors.has_pooler:
        return None  # the controls are about to follow
    return replace(typed, is_example=is_example)


def _measured(encoder: "Encoder", chosen: list[str]) -> Typed:
    raw, _ = encoder.cls_and_pooler(chosen)
    tokens = [encoder.framed_tokens(sentence) for sentence in chosen]
    typed = Typed(chosen, False, tokens, encoder.vectors(chosen), np.linalg.norm(raw, axis=1))
    steps = encoder.pooler_steps(raw)
    if steps is None:
        return typed
    dense, output = steps
    return replace(
        typed,
        dense_norms=np.linalg.norm(dense, axis=1),
        output_norms=np.linalg.norm(output, axis=1),
        near_one=(np.abs(output) > _NEAR_ONE).mean(axis=1),
        is_tanh=bool(np.allclose(np.tanh(dense), output, atol=1e-5)),
    )


def grow(job: MeasuringJob, experiment: Experiment, sentence: str, word: str) -> pd.DataFrame | None:
    """The norms of the view's vector while the sentence grows: variant, n_words, text, added, tokens (length), norm."""
    found = job.work.found
    if found is None:
        return None
    seed = experiment.seed
    texts = [
        (variant.value, index + 1, text)
        for variant in analysis.growth.Variant
        for index, text in enumerate(analysis.growth.grown(sentence, variant, seed=seed, word=word))
    ]
    of = (found.weights.fingerprint, sentence, word, seed)
    prefixes = [text for *_, text in texts]
    # Without components, which nobody asks for: the norms are of every pooling after every layer.
    vectors = _kept("growth", of, found, lambda model: replace(model.vectors(prefixes), runs=()))
    if vectors is None:
        return None
    table = pd.DataFrame(texts, columns=["variant", "n_words", "text"])
    table["added"] = [text.split()[-1] for text in prefixes]
    table["tokens"] = lengths_in(experiment.unit, prefixes, vectors.n_tokens)
    table["norm"] = vectors.norms(experiment.pooling, experiment.layer)
    return table


def _kept(name: str, of: Hashable, found: Found, work: Callable[["Encoder"], T]) -> T | None:
    """What `work` makes with the encoder, once for each `of`; None where that fails, and says why."""
    kept: tuple[Hashable, Any] | None = st.session_state.get(f"laboratory_{name}")
    if kept is None or kept[0] != of:
        try:
            with st.spinner(f"Loading {found.weights.label}", show_time=True):
                encoder = server.jobs().encoders.get(found.weights, Precision.EXACT)
            with st.spinner("Measuring", show_time=True):
                kept = of, work(encoder)
        except ClsvizError as error:
            st.error(escape(error))
            return None
        st.session_state[f"laboratory_{name}"] = kept
    value: T = kept[1]
    return value


def beside(jobs: list[MeasuringJob], experiment: Experiment) -> Beside | None:
    """The corpus as far as it is measured, by the jobs for norms and, if asked for, vectors; None while there is none.

    Mean and maximum vectors are known only to the second. Lengths are the sentences' own, also where the experiment
    has them shuffled: that is a control of R², and there is none here.
    """
    experiment = replace(experiment, lengths=Lengths.TRUE)
    needed = Pooling.POOLER if experiment.pooling is Pooling.POOLER else Pooling.CLS
    found = watching.found(jobs[0], replace(experiment, pooling=needed))
    if found is None:
        return None
    vectors = watching.found(jobs[1], experiment) if len(jobs) > 1 else None
    return _beside((found.key, vectors and vectors.key), experiment, found, vectors)


@st.cache_resource(max_entries=16, show_spinner=False)
def _beside(key: Hashable, experiment: Experiment, _found: Found, _vectors: Found | None) -> Beside:
    measurements = _found.measurements
    index, _ = analysis.under_cutoff(measurements, experiment.view)
    unknown = analysis.unmeasurable_layers(_found, experiment.view)
    quartiles = {}
    for pooling in (Pooling.CLS, *([Pooling.POOLER] if measurements.has_pooler else [])):
        low, high = np.quantile(measurements.norms(pooling, None)[index], (0.25, 0.75)) if len(index) else (0, 0)
        if len(index) >= 3 and not _lost(_found, replace(experiment, pooling=pooling, layer=None)):
            quartiles[pooling] = (float(low), float(high))
    of_view, problem = _found, _lost(_found, experiment)
    if experiment.pooling in (Pooling.MEAN, Pooling.MAX):
        problem = (
            "" if _vectors else "The corpus’s norms of this vector are known once its vectors are measured, below."
        )
        of_view = _vectors or _found
    shown = analysis.under_cutoff(of_view.measurements, experiment.view)[0]
    return Beside(
        len(shown),
        analysis.lengths_of(of_view, experiment.view, shown),
        None if problem else of_view.measurements.norms(experiment.pooling, experiment.layer)[shown],
        problem,
        analysis.growth.layer_band(measurements.cls_norms[index], unknown),
        quartiles,
    )


def _lost(found: Found, experiment: Experiment) -> str:
    """Why the corpus's norm of the view cannot be set beside an exact one, in the fast precision, or ""."""
    if found.audit is None or experiment.pooling in (Pooling.MEAN, Pooling.MAX):
        return ""
    audit = analysis.audit_of(found, experiment.view)
    if audit is not None and audit.is_measurable:
        return ""
    return "The fast precision errs by more than the corpus’s norms vary here: choose the exact one to see them."
