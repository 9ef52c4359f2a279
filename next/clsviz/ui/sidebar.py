"""The settings: widgets whose values are in the address, so that the address is the link to share.

The entry script draws them, as widgets that a page binds lose their value on another page.
"""

from collections.abc import Iterable, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any, Final

import streamlit as st

from clsviz.errors import ClsvizError, SettingError, quote
from clsviz.experiment import CHOICES, RANGES, Experiment, parse_setting
from clsviz.results.compare import MOST_MODELS
from clsviz.sources import corpora, hub_datasets, uploads
from clsviz.sources.models import MODELS, UNTRAINED
from clsviz.ui import layout, typed
from clsviz.ui.server import is_at_this_machine, server

SETTINGS: Final = [field.name for field in fields(Experiment)]

CORPORA: Final = [*corpora.SHIPPED, *hub_datasets.DATASETS]

SAMPLE_SIZES: Final = ["500", "1000", "2000", "5000", "10000", "20000", "50000", "100000", "all"]

LAYERS: Final = ["last", *map(str, range(25))]

SEARCH: Final = {"search_corpus": "python-api", "search_pooling": "mean", "similarity": "cosine"}
"""Settings of the search alone, with their defaults: pages with sentences have others."""

HIDDEN: Final = {
    "": ("others_settings", "search_settings"),
    "search": ("others_settings", "sentence_settings", "expert_settings"),
    "compare": ("similarity_settings",),
}
"""Settings that a page does not heed, by its path; "" stands for all others."""

SIMILARITIES: Final = ("cosine", "dot")

NAMES: Final = {"search_corpus": "corpus", "search_pooling": "pooling", "others": "model"}
"""Settings of `Experiment` that the search has under a name of its own."""

BOUND: Final[dict[str, Any]] = {"bind": "query-params"}

FILES: Final = ["txt", "csv", "tsv", "json", "jsonl", "parquet", "gz"]


def show(page: str) -> Experiment:
    """Draw the settings, and return the experiment; the page stops where they cannot be used.

    page: its path. Every page draws all settings at the same place, and hides those that it does
    not heed: values of others would leave the address.
    """
    if "refused" not in st.session_state:  # once: a widget drops from the address what it refuses
        st.session_state.refused = _refused()
    _apply_next()
    typed.texts()  # in the address of this page alone
    hidden = [f":has(> .st-key-{name})" for name in HIDDEN.get(page, HIDDEN[""])]
    st.html(f"<style>{', '.join(hidden)} {{display: none}}</style>")
    with st.sidebar:
        _model()
        with st.container(key="others_settings"):
            _others()
        with st.container(key="sentence_settings"):
            _sentence_settings()
        with st.container(key="search_settings"):
            _search_settings()
        with st.expander("More settings", icon=":material/tune:"):
            st.number_input("Seed", *RANGES["seed"], 0, key="seed", **BOUND)
            with st.container(key="expert_settings"):
                _expert_settings()
    settings = {name: str(st.session_state[name] or "") for name in SETTINGS}
    all_settings = {**settings, **{name: st.session_state[name] for name in SEARCH}}
    if st.session_state.setdefault("linked", all_settings) != all_settings:
        st.session_state.refused = []
    for sentence in st.session_state.refused:
        st.warning(layout.escape(sentence), icon=":material/link_off:")
    try:
        experiment = Experiment.parse(settings)
        _check_access(experiment.model, experiment.corpus)
    except SettingError as error:
        layout.error(error)
        st.stop()
    return experiment


def search() -> Experiment:
    """The settings of the search; the page stops where they cannot be used."""
    settings = {NAMES[name]: str(st.session_state[name] or "") for name in SEARCH if name in NAMES}
    view: Experiment = st.session_state.experiment
    try:
        _check_access(view.model, settings["corpus"])
        return Experiment.parse(
            {"model": view.model, "seed": str(view.seed), "sample_size": "all", **settings}
        )
    except SettingError as error:
        layout.error(error)
        st.stop()


def models() -> list[str]:
    """The models to compare, that of the experiment first; the page stops where one is closed."""
    names = [st.session_state.experiment.model, *st.session_state.others]
    try:
        for name in names:
            _check_access(name, Experiment.corpus)
    except SettingError as error:
        layout.error(error)
        st.stop()
    return list(dict.fromkeys(names))


def to_query() -> dict[str, Any]:
    """The settings in the address: those that differ from the defaults."""
    view: Experiment = st.session_state.experiment
    values = {name: str(st.session_state[name] or "") for name in SEARCH}
    changed = {name: text for name, text in values.items() if text not in ("", SEARCH[name])}
    others = {"others": st.session_state.others} if st.session_state.others else {}
    return {**view.to_query(), **changed, **others}


def take_layer(names: Sequence[str], rows: list[int]) -> None:
    """Take the layer, or the vector, whose row of a table was clicked, by their names."""
    for row in rows[:1]:
        is_layer = names[row].isdecimal()
        change("layer", names[row] if is_layer else "last")
        change("pooling", "cls" if is_layer else names[row])


def source_of(experiment: Experiment) -> tuple[object, ...]:
    """The settings that decide which model and which sentences are prepared."""
    return tuple(getattr(experiment, name) for name in SETTINGS[: SETTINGS.index("precision")])


def measurement_of(experiment: Experiment) -> tuple[object, ...]:
    """The settings that decide what is measured."""
    return *source_of(experiment), experiment.precision, experiment.probe_size


def change(name: str, value: str | int | list[str]) -> None:
    """Change a setting from a page, whose widgets are drawn after those of the settings."""
    st.session_state.setdefault("next", {})[name] = value


def _apply_next() -> None:
    for name, value in st.session_state.pop("next", {}).items():
        st.session_state[name] = value


def _refused() -> list[str]:
    """Settings in the address that cannot be used, a sentence each."""
    sentences = []
    for name, text in st.query_params.items():
        if name != typed.PARAMETER:
            try:
                _check(name, text)
            except SettingError as error:
                sentences.append(f"The link cannot be followed in all: {error}")
    return sentences


def _check(name: str, text: str) -> None:
    """Raise SettingError where a setting in the address cannot be used."""
    if name != "similarity":
        own = NAMES.get(name, name)
        Experiment(**{own: parse_setting(own, text)})
    elif text not in ("", *SIMILARITIES):
        remedy = f"Choose {' or '.join(SIMILARITIES)}."
        raise SettingError(f"similarity is {quote(text)}.", remedy)


def _model() -> None:
    st.selectbox(
        "Model",
        _options("model", MODELS),
        key="model",
        accept_new_options=True,
        help="A model of the list, or an id of the Hugging Face Hub: owner/name@revision.",
        **BOUND,
    )


def _others() -> None:
    known = [*MODELS, f"untrained:{st.session_state.model}"]
    linked = st.session_state.get("others") or st.query_params.get_all("others")
    st.multiselect(
        "Compare with",
        list(dict.fromkeys([*known, *linked])),
        key="others",
        accept_new_options=True,
        max_selections=MOST_MODELS - 1,
        help="Models of the list, or ids of the Hugging Face Hub; “untrained:” before a name "
        "replaces its weights by random ones.",
        **BOUND,
    )


def _sentence_settings() -> None:
    st.selectbox(
        "Corpus",
        _options("corpus", CORPORA),
        key="corpus",
        accept_new_options=True,
        help="A corpus of the list, or any dataset of the Hugging Face Hub.",
        **BOUND,
    )
    _own_file("corpus")
    left, right = st.columns(2)
    left.selectbox(
        "Sample size",
        _options("sample_size", SAMPLE_SIZES),
        SAMPLE_SIZES.index("5000"),
        key="sample_size",
        accept_new_options=True,
        help="Sentences to draw, or all.",
        **BOUND,
    )
    right.number_input(
        "Token cutoff",
        *RANGES["length_cutoff"],
        80,
        key="length_cutoff",
        help="Only sentences with fewer tokens enter the answer.",
        **BOUND,
    )
    st.selectbox(
        "Layer",
        _options("layer", LAYERS),
        key="layer",
        accept_new_options=True,
        help="0 is the embedding output.",
        **BOUND,
    )
    _choice("Vector", "pooling", "[CLS], the mean over all tokens, or the pooler’s output.")
    _choice("Length in", "unit", "The cutoff is always in tokens.")


def _search_settings() -> None:
    st.selectbox(
        "Texts to search",
        _options("search_corpus", ["python-api", *CORPORA]),
        key="search_corpus",
        accept_new_options=True,
        help="A corpus of the list, or any dataset of the Hugging Face Hub. "
        "Titles search for their texts, else halves of texts for the other half.",
        **BOUND,
    )
    _own_file("search_corpus")
    _choice("Vector to search by", "search_pooling", "Mean-pooled vectors are what most use.")
    with st.container(key="similarity_settings"):
        _choice("Similarity", "similarity", "Dot product heeds norms, cosine does not.")


def _own_file(setting: str) -> None:
    """Draw the button for a file of one's own, which becomes the value of a setting."""
    with st.popover(
        "Use your own file",
        icon=":material/upload_file:",
        width="stretch",
        key=f"own_{setting}",
        on_change="rerun",  # so that it can be closed
    ):
        st.file_uploader(
            "Text, CSV, TSV, JSON, JSON lines or Parquet, also gzipped",
            FILES,
            key=f"file_{setting}",
            on_change=_take_file,
            args=(setting,),
        )


def _expert_settings() -> None:
    _choice(
        "Precision", "precision", "Exact is float32; fast is bfloat16, whose error is reported."
    )
    _choice("Texts are cut into", "segmentation", "Auto takes what suits the texts.")
    st.number_input(
        "Vector sample",
        *RANGES["probe_size"],
        5000,
        key="probe_size",
        help="Sentences, from the start of the sample, whose vectors are measured.",
        **BOUND,
    )
    for name, help_text in {
        "column": "Of a table; empty takes the likeliest.",
        "encoding": "Of a file, such as cp1254; empty takes the likeliest.",
        "configuration": "Of a dataset of the Hub.",
        "split": "Of a dataset of the Hub.",
    }.items():
        st.text_input(name.capitalize(), key=name, help=help_text, **BOUND)


def _options(name: str, known: Iterable[str]) -> list[str]:
    """The options that are known, and the value that the setting has, or the address."""
    chosen = st.session_state.get(name) or st.query_params.get(name)
    return list(dict.fromkeys([*known, *filter(None, [chosen])]))


def _choice(label: str, name: str, help_text: str) -> None:
    options = SIMILARITIES if name == "similarity" else CHOICES[NAMES.get(name, name)]
    default = SEARCH.get(name, options[0])
    st.segmented_control(
        label, options, default=default, key=name, required=True, help=help_text, **BOUND
    )


def _take_file(setting: str) -> None:
    """Store the file that was brought, and choose it as the corpus of a setting."""
    file = st.session_state[f"file_{setting}"]
    if file is None:
        return
    try:
        name = uploads.store(server().root, file.name, file.getvalue())
    except ClsvizError as error:
        st.session_state.refused = [str(error)]
        st.session_state.pop("linked", None)
        return
    others = () if setting in SEARCH else ("column", "encoding", "split")
    st.session_state.next = {setting: name, **dict.fromkeys(others, "")}
    st.session_state[f"own_{setting}"] = False


def _check_access(model: str, corpus: str) -> None:
    """Raise SettingError where a link names a file, and the visitor is not at this machine."""
    if is_at_this_machine():
        return
    if corpora.is_file(corpus) and not corpus.startswith(uploads.PREFIX):
        raise SettingError(f"{quote(corpus)} is a file of the server.", "Upload your file instead.")
    model = model.removeprefix(UNTRAINED).strip()
    if model.startswith(("/", ".", "~")) or Path(model).is_dir():
        raise SettingError(
            f"{quote(model)} is a folder of the server.", "Choose a model of the Hub."
        )
