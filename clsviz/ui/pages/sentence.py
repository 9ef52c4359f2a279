"""Try a sentence: its tokens, its norm among others, word by word, and the nearest sentences."""

from dataclasses import replace

import streamlit as st

from clsviz import api
from clsviz.analyses.typed import EXAMPLE, Nearest, cosine, dissect, shared_words, vector_of
from clsviz.analyses.typed import nearest as find_nearest
from clsviz.measurements import Vectors
from clsviz.numbers import counted, percent
from clsviz.results.result import POOLINGS
from clsviz.results.typed import result as typed_result
from clsviz.settings import Experiment
from clsviz.sources import corpora
from clsviz.ui import cards, layout, share, typed, work
from clsviz.ui.server import server

HEIGHT = 400

WORDS = "The words that both sentences have, with the cosine of their vectors"

experiment: Experiment = st.session_state.experiment
weights = work.weights(experiment, HEIGHT)
sentences = typed.show(weights, experiment)
text = next(iter(typed.texts()), EXAMPLE)
names = ("model", "seed", "precision")
settings = {**{name: getattr(experiment, name) for name in names}, "text": text}
tracing = work.asked(api.trace, settings, name="trace")
norms = work.norms(experiment, HEIGHT)
traced = work.require(tracing, HEIGHT)
with layout.showing_errors(stops=True):
    result = typed_result(traced, norms.answered, norms, experiment)

if text == EXAMPLE:
    st.caption("This is an example: type a sentence of your own above.")
layout.head(result)
typed.show_tokens(traced.anatomy)
typed.show_measured(sentences[1:], norms)

own = result.table.iloc[-1]
example = {"sentence": text, "length": int(own["length"]), "norm": float(own["norm"])}
stars = replace(norms, picture={**norms.picture, "typed": sentences or [example]})
is_private = text != EXAMPLE or corpora.is_file(experiment.corpus)
places = st.columns(2)
with places[0]:
    st.markdown("**Where it lies**")
    work.draw(stars, HEIGHT, key="typed-scatter", is_private=is_private)
with places[1]:
    st.markdown("**Norm word by word**")
    work.draw(result, HEIGHT, is_private=is_private)
st.caption(
    "A blue point is a sentence of the corpus. The norm is the vector’s size. Word by word, each"
    " point is the sentence up to there."
)
share.show(result, share.revisions_of(result), sentences)
layout.caveats(result)
columns = ["text", "n_tokens", "length", "norm"]
cards.show_table("Word by word as a table", result.table, columns, "The norm after each word")

vector = f"the {POOLINGS[experiment.pooling]}".replace("[CLS]", "[CLS] vector")
own_vector = vector_of(traced, experiment)
nearest: Nearest | None = None
with st.container(border=True):
    st.markdown(f"**Nearest sentences**, by the cosine of {layout.escape(vector)}")
    n_vectors = min(experiment.probe_size, norms.n_drawn)
    if st.session_state.get("nearest") != experiment:
        st.caption(
            f"This takes the vectors of {counted(n_vectors)}. The first time, measuring them takes "
            f"a while{work.cost(weights, n_vectors)}; then they are stored."
        )
        if st.button("Measure", key="measure-vectors", icon=":material/play_arrow:"):
            st.session_state.nearest = experiment
            st.rerun()
    else:
        key = "nearest", repr(experiment), text
        inputs = own_vector, experiment, server().workspace
        job = work.ask(key, lambda job: find_nearest(*inputs, job))
        nearest = work.follow(job)
        if nearest is not None:
            st.dataframe(nearest.table, hide_index=True, alt="The nearest sentences of the corpus")
            if not nearest.is_complete:
                st.caption(f"Among the first {counted(len(nearest.cosines))}, so far.")

with st.container(border=True):
    st.markdown(f"**Two sentences**, by the cosine of {layout.escape(vector)}")
    second = next(iter(typed.texts()[1:]), "")
    if not second:
        st.caption("Type a second sentence at the top, on a line of its own.")
    else:
        arrays = typed.measure("second", weights, experiment, [second], "vectors")
        if arrays is not None:
            with layout.showing_errors():
                other = Vectors.from_slices([arrays]).of(experiment.pooling, experiment.layer)[0]
                similarity = cosine(own_vector, other)
                lower = percent(float((nearest.cosines < similarity).mean())) if nearest else ""
                rank = f", above the cosine of the first and {lower} of the corpus" * bool(lower)
                st.markdown(f"Their cosine is **{similarity:.3f}**{rank}.")
        read = weights, experiment.precision, second, server().workspace
        key = "words", repr(experiment), second
        parts = work.follow(
            work.ask(key, lambda job: dissect(*read, job, has_attention=False), name="words")
        )
        layer = traced.anatomy.n_layers if experiment.layer is None else experiment.layer
        words = shared_words(traced.anatomy, parts, layer) if parts else None
        if words is not None and len(words):
            st.caption(
                "Words in both, by the cosine of their two vectors, each the mean over its tokens:"
                " of the embedding output, and after the layer, which knows the other words."
            )
            titles = ["Word", "Before attention", f"After layer {layer}"]
            st.dataframe(words.round(2).set_axis(titles, axis=1), hide_index=True, alt=WORDS)
