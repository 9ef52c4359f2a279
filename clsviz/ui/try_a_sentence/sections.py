"""What the laboratory shows of a sentence: its tokens, its norms after every layer, as it grows, and in the pooler."""

import html

import numpy as np
import pandas as pd
import streamlit as st

from clsviz import analysis, figures, statistics, words
from clsviz.experiment import Experiment
from clsviz.measuring import MeasuringJob
from clsviz.settings import Pooling, printable
from clsviz.statistics import lengths_in
from clsviz.ui.markdown import escape
from clsviz.ui.parts.chart import palette
from clsviz.ui.try_a_sentence.laboratory import Beside, Typed, beside
from clsviz.words import number

_PATH_HEIGHT, _GROWTH_HEIGHT = 380, 440


CHART = {"displayModeBar": False}


_MOST_CHIPS = 128


_LONGEST_QUOTE = 90


_CHIP = (
    "display:inline-flex;flex-direction:column;align-items:center;padding:2px 8px;border-radius:6px;"
    "border:1px solid rgba(128,128,128,0.45);line-height:1.35"
)


def quoted(sentence: str, most: int = _LONGEST_QUOTE) -> str:
    """A sentence as it may stand within another, short."""
    return f"“{sentence if len(sentence) <= most else f'{sentence[: most - 1].rstrip()}…'}”"


def choose_sentence(typed: Typed) -> int:
    """Which of the sentences is looked at, from 0."""
    n = len(typed.sentences)
    if not 1 <= st.session_state.sentence <= n:
        st.session_state.sentence = 1
    if n > 1:
        st.selectbox(
            "Look at sentence",
            range(1, n + 1),
            index=st.session_state.sentence - 1,
            format_func=lambda number: f"{number}. {typed.sentences[number - 1]}",
            key="sentence",
        )
    return int(st.session_state.sentence) - 1


def choose_word(sentence: str) -> str:
    """Which word of the sentence is repeated."""
    words = analysis.growth.words_of(sentence)
    if not 1 <= st.session_state.word <= len(words):
        st.session_state.word = 1
    st.selectbox(
        "Word to repeat",
        range(1, len(words) + 1),
        index=st.session_state.word - 1,
        format_func=lambda number: words[number - 1],
        key="word",
        width=260,
        help="One of the lines repeats this word, as many times as the sentence has words.",
    )
    return words[int(st.session_state.word) - 1]


def answer(typed: Typed, at: int, jobs: list[MeasuringJob], experiment: Experiment) -> None:
    """What was measured of one sentence, and where that is in the corpus."""
    sentence = typed.sentences[at]
    length = int(lengths_in(experiment.unit, [sentence], typed.vectors.n_tokens[at : at + 1])[0])
    norm = float(typed.vectors.norms(experiment.pooling, experiment.layer)[at])
    said = "This is an example; type your own below. " if typed.is_example else ""
    said += f"{quoted(sentence)} has {length:,} {experiment.unit.singular if length == 1 else experiment.unit}, and "
    said += f"the norm of {words.vector_name(experiment.view)} is {norm:.4f}"
    corpus = beside(jobs, experiment)
    if corpus is None:
        rest = ". The corpus to set it beside is not measured yet."
    elif corpus.norms is None:
        rest = f". {corpus.problem}"
    elif among := statistics.percentile_at_length(length, norm, corpus.lengths, corpus.norms):
        rest = f": higher than {among[0]:.0f}% of the {among[1]:,} corpus sentences of about this length."
    else:
        rest = ". There are too few corpus sentences of about this length to compare it with."
    if typed.vectors.truncated[at]:
        rest += " The model reads only its beginning."
    st.markdown(escape(said + rest))


def tokens(typed: Typed, at: int) -> None:
    """The tokens of a sentence with their ids, in the order in which the model reads them."""
    st.subheader("What the model reads", anchor=False)
    read = typed.tokens[at]
    n_own, more = int(typed.vectors.n_tokens[at]), len(read) - _MOST_CHIPS
    st.caption(
        f"{len(read):,} tokens with their ids: {n_own:,} of the sentence"
        + (", cut to what the model can read," if typed.vectors.truncated[at] else "")
        + " and the special ones that the tokenizer puts around them."
        + (f" The first {_MOST_CHIPS} are shown; the download has all." if more > 0 else "")
    )
    chips = [
        f'<span style="{_CHIP}"><span style="font-family:monospace">{html.escape(printable(token))}</span>'
        f'<span style="font-size:0.75rem;opacity:0.75">{token_id}</span></span>'
        for token, token_id in read[:_MOST_CHIPS]
    ]
    st.html(f'<div style="display:flex;flex-wrap:wrap;gap:4px">{"".join(chips)}</div>')


def layer_table(typed: Typed, corpus: Beside | None) -> pd.DataFrame:
    """Norms of [CLS] of every sentence after every layer, beside the corpus: sentence, name, layer, norm, and band."""
    n_layers = typed.vectors.n_layers
    rows = [
        (at + 1, sentence, layer, float(typed.vectors.norms(Pooling.CLS, layer)[at]))
        for at, sentence in enumerate(typed.sentences)
        for layer in range(n_layers + 1)
    ]
    table = pd.DataFrame(rows, columns=["sentence", "name", "layer", "norm"])
    if corpus is None or corpus.layer_band is None:
        return table
    return table.merge(corpus.layer_band, on="layer", how="left")


def path(typed: Typed, at: int, jobs: list[MeasuringJob], experiment: Experiment) -> None:
    """The norm of [CLS] after every layer."""
    corpus = beside(jobs, experiment)
    table = layer_table(typed, corpus)
    if len(typed.sentences) > 1:  # equal ones would be one line
        table["name"] = table["sentence"].astype(str) + ". " + table["name"]
    band = corpus.layer_band if corpus else None
    mine = typed.vectors.cls_norms[at]
    said = f"From {number(mine[0])} at the embedding layer to {number(mine[-1])} after the last."
    if band is not None and np.isfinite(band["lower"].iloc[-1]):
        last = band.iloc[-1]
        said += f" After the last layer the middle half of the corpus lies between {number(last['lower'])} and "
        said += f"{number(last['upper'])}."
    st.markdown(escape(said))
    figure = figures.layer_path(table, band, palette())
    alt = f"Norm of [CLS] after every layer. {said}"
    st.plotly_chart(figure, height=_PATH_HEIGHT, key="path", config=CHART, alt=alt)
    if corpus is not None and band is None:
        st.caption(_too_few(experiment))
    elif band is not None:
        lost = band.loc[band["median"].isna(), "layer"].tolist()
        text = f"The band is the middle half of the corpus’s sentences under {experiment.length_cutoff} tokens, and so "
        text += "thin where the norm hardly varies that it looks like a line."
        if lost:
            text += f" After layer {', '.join(map(str, lost))} the fast precision errs by more than the norm varies."
        st.caption(escape(text))


def growth(table: pd.DataFrame, jobs: list[MeasuringJob], experiment: Experiment) -> None:
    """The norm after every added word, over the corpus's sentences of each length."""
    corpus = beside(jobs, experiment)
    band = growth_band(table, corpus)
    said = words.growth.growth_said(table)
    st.markdown(escape(said))
    figure = figures.growth(table, band, palette(), words.axis_title(experiment.view), unit=experiment.unit)
    alt = f"The norm after every added word. {said}"
    st.plotly_chart(figure, height=_GROWTH_HEIGHT, key="growth", config=CHART, alt=alt)
    notes = [
        f"Words are what white space separates; the first {analysis.growth.MOST_WORDS} are grown. "
        "The seed orders the shuffled ones."
    ]
    if corpus is not None and corpus.problem:
        notes.append(corpus.problem)
    elif corpus is not None and band is None:
        notes.append(_too_few(experiment))
    st.caption(escape(" ".join(notes)))


def growth_band(table: pd.DataFrame, corpus: Beside | None) -> pd.DataFrame | None:
    """The corpus's norms by length, as far as the sentence grows."""
    if corpus is None or corpus.norms is None:
        return None
    return analysis.growth.length_band(corpus.lengths, corpus.norms, int(table["tokens"].max()))


def _too_few(experiment: Experiment) -> str:
    return f"Too few corpus sentences are under {experiment.length_cutoff} tokens for a band: raise the cutoff."


def pooler_table(typed: Typed) -> pd.DataFrame:
    """The norms of raw [CLS] and of what the pooler makes of it: sentence, cls, dense, pooler, near_one."""
    columns = {"sentence": typed.sentences, "cls": typed.raw_norms}
    if typed.output_norms is not None:
        columns |= {"dense": typed.dense_norms, "pooler": typed.output_norms, "near_one": typed.near_one}
    return pd.DataFrame(columns)


def pooler(typed: Typed, at: int, jobs: list[MeasuringJob], experiment: Experiment, model: str) -> None:
    """Raw [CLS] beside the pooler output, and what lies between them."""
    raw = float(typed.raw_norms[at])
    if typed.dense_norms is None or typed.output_norms is None or typed.near_one is None:
        st.markdown(escape(_without_pooler(typed, raw, at, model)))
        return
    corpus = beside(jobs, experiment)
    quartiles = corpus.quartiles if corpus else {}
    width = typed.vectors.width
    activation = "tanh" if typed.is_tanh else "activation"
    dense, output = float(typed.dense_norms[at]), float(typed.output_norms[at])
    with st.grid(3, min_column_width=150):
        _metric("Raw [CLS]", raw, quartiles.get(Pooling.CLS), "[CLS] as the last layer leaves it.")
        _metric("After dense", dense, None, "A matrix and a bias, learned with the model, applied to it.")
        _metric(f"After {activation}", output, quartiles.get(Pooling.POOLER), "The pooler output.")
    said = f"Between raw [CLS] and the pooler output lie a dense layer ({width:,} × {width:,} weights and a bias) and "
    if typed.is_tanh:
        said += (
            f"tanh, which brings every component to between −1 and 1: so the norm is at most √{width:,} = "
            f"{width**0.5:.1f}. "
            f"{typed.near_one[at]:.0%} of its components are beyond ±0.99, where tanh is all but flat."
        )
    else:
        said += "an activation."
    st.markdown(escape(said))
    if len(typed.sentences) > 1:
        names = {"sentence": "Sentence", "cls": "Raw [CLS]", "dense": "After dense", "pooler": "Pooler output"}
        names["near_one"] = "Beyond ±0.99"
        numbers = {name: st.column_config.NumberColumn(format="%.4f") for name in list(names.values())[1:4]}
        numbers["Beyond ±0.99"] = st.column_config.NumberColumn(format="percent")
        table = pooler_table(typed).rename(columns=names)
        st.dataframe(table, hide_index=True, column_config=numbers, alt="Norms before, within and after the pooler")


def _without_pooler(typed: Typed, raw: float, at: int, model: str) -> str:
    said = f"The norm of raw [CLS] after the last layer is {number(raw)}. "
    if not typed.vectors.has_pooler:
        return said + f"{model} has no pooler: nothing is made of [CLS] after its last layer."
    output = float(typed.vectors.norms(Pooling.POOLER, None)[at])
    return said + f"That of the pooler output is {number(output)}; what lies between is built in an unusual way here."


def _metric(label: str, value: float, ends: tuple[float, float] | None, text: str) -> None:
    corpus = f"corpus {ends[0]:.2f} to {ends[1]:.2f}" if ends else "–"
    tooltip = f"{text} Below, between which two norms the middle half of the corpus lies." if ends else text
    st.metric(
        label, f"{value:.4f}", corpus, delta_color="off", delta_arrow="off", border=True, help=tooltip, height="stretch"
    )
