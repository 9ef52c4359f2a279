"""The settings: widgets whose values are in the address, so that the address is the link to share.

The entry script draws them, as widgets that a page binds lose their value on another page.
"""

from collections.abc import Iterable
from dataclasses import fields
from typing import Any, Final

import streamlit as st

from clsviz.errors import ClsvizError, SettingError, quote
from clsviz.experiment import CHOICES, RANGES, Experiment, parse_setting
from clsviz.sources import corpora, hub_datasets, uploads
from clsviz.sources.models import MODELS
from clsviz.ui import layout, typed
from clsviz.ui.server import is_at_this_machine, server

SETTINGS: Final = [field.name for field in fields(Experiment)]

CORPORA: Final = [*corpora.SHIPPED, *hub_datasets.DATASETS]

SAMPLE_SIZES: Final = ["500", "1000", "2000", "5000", "10000", "20000", "50000", "100000", "all"]

LAYERS: Final = ["last", *map(str, range(25))]

BOUND: Final[dict[str, Any]] = {"bind": "query-params"}

FILES: Final = ["txt", "csv", "tsv", "json", "jsonl", "parquet", "gz"]


def show() -> Experiment:
    """Draw the settings, and return the experiment; the page stops where they cannot be used."""
    if "refused" not in st.session_state:  # once: a widget drops from the address what it refuses
        st.session_state.refused = _refused()
    _apply_next()
    with st.sidebar:
        _main_settings()
        with st.expander("More settings", icon=":material/tune:"):
            _other_settings()
    settings = {name: str(st.session_state[name] or "") for name in SETTINGS}
    if st.session_state.setdefault("linked", settings) != settings:
        st.session_state.refused = []
    for sentence in st.session_state.refused:
        st.warning(layout.escape(sentence), icon=":material/link_off:")
    try:
        experiment = Experiment.parse(settings)
        _check_access(experiment)
    except SettingError as error:
        layout.error(error)
        st.stop()
    return experiment


def source_of(experiment: Experiment) -> tuple[object, ...]:
    """The settings that decide which model and which sentences are prepared."""
    return tuple(getattr(experiment, name) for name in SETTINGS[: SETTINGS.index("precision")])


def measurement_of(experiment: Experiment) -> tuple[object, ...]:
    """The settings that decide what is measured."""
    return *source_of(experiment), experiment.precision, experiment.probe_size


def change(name: str, value: str | int) -> None:
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
                Experiment(**{name: parse_setting(name, text)})
            except SettingError as error:
                sentences.append(f"The link cannot be followed in all: {error}")
    return sentences


def _main_settings() -> None:
    st.selectbox(
        "Model",
        _options("model", MODELS),
        key="model",
        accept_new_options=True,
        help="A model of the list, or an id of the Hugging Face Hub: owner/name@revision.",
        **BOUND,
    )
    st.selectbox(
        "Corpus",
        _options("corpus", CORPORA),
        key="corpus",
        accept_new_options=True,
        help="A corpus of the list, or any dataset of the Hugging Face Hub.",
        **BOUND,
    )
    with st.popover(
        "Use your own file",
        icon=":material/upload_file:",
        width="stretch",
        key="own_file",
        on_change="rerun",  # so that it can be closed
    ):
        st.file_uploader(
            "Text, CSV, TSV, JSON, JSON lines or Parquet, also gzipped",
            FILES,
            key="file",
            on_change=_take_file,
        )
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


def _other_settings() -> None:
    _choice(
        "Precision", "precision", "Exact is float32; fast is bfloat16, whose error is reported."
    )
    _choice("Texts are cut into", "segmentation", "Auto takes what suits the texts.")
    st.number_input("Seed of the sample", *RANGES["seed"], 0, key="seed", **BOUND)
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
    options = CHOICES[name]
    st.segmented_control(
        label, options, default=options[0], key=name, required=True, help=help_text, **BOUND
    )


def _take_file() -> None:
    """Store the file that was brought, and choose it as the corpus."""
    file = st.session_state.file
    if file is None:
        return
    try:
        name = uploads.store(server().root, file.name, file.getvalue())
    except ClsvizError as error:
        st.session_state.refused = [str(error)]
        st.session_state.pop("linked", None)
        return
    st.session_state.next = {"corpus": name, "column": "", "encoding": "", "split": ""}
    st.session_state.own_file = False


def _check_access(experiment: Experiment) -> None:
    """Raise SettingError where a link names a file, and the visitor is not at this machine."""
    name = experiment.corpus
    if is_at_this_machine():
        return
    if corpora.is_file(name) and not name.startswith(uploads.PREFIX):
        raise SettingError(f"{quote(name)} is a file of the server.", "Upload your file instead.")
    model = experiment.model.removeprefix("untrained:")
    if model.startswith(("/", ".", "~")):
        raise SettingError(
            f"{quote(model)} is a folder of the server.", "Choose a model of the Hub."
        )
