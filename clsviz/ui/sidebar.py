"""The settings: widgets whose values are in the address, so that the address is the link to share.

The entry script draws them, as widgets that a page binds lose their value on another page.
"""

import shlex
from collections.abc import Sequence
from contextlib import nullcontext, suppress
from dataclasses import fields
from typing import Any, Final

import streamlit as st
from streamlit.errors import StreamlitAPIException

from clsviz import limits
from clsviz.errors import ClsvizError, CorpusError, SettingError, quote
from clsviz.experiment import CHOICES, RANGES, Experiment, parse_setting
from clsviz.api import MOST_MODELS
from clsviz.sources import corpora, hub_datasets, uploads
from clsviz.sources.models import MODELS, is_folder
from clsviz.ui import layout, public, typed
from clsviz.ui.server import is_at_this_machine, server

SETTINGS: Final = [field.name for field in fields(Experiment)]

SEARCH: Final = {
    "search_corpus": "python-api",
    "search_pooling": "mean",
    "similarity": "cosine",
    "search_titles": "",
    "search_column": "",
    "search_encoding": "",
}
"""Settings of the search alone, with their defaults: pages with sentences have others."""

NAMES: Final = {
    "search_corpus": "corpus",
    "search_pooling": "pooling",
    "search_column": "column",
    "search_encoding": "encoding",
    "others": "model",
}
"""Settings of `Experiment` that the search and the comparison have under a name of their own."""

DEFAULTS: Final[dict[str, Any]] = {
    **{field.name: field.default for field in fields(Experiment)},
    **SEARCH,
    "chunks": False,
    "layer": "last",
}

HEEDED: Final[dict[str, list[str]]] = {
    "": SETTINGS,
    "search": ["model", "seed", *SEARCH],
    "chunks": ["model", "seed", *SEARCH],
    "compare": [*SETTINGS, "others", "chunks", "search_corpus", "search_pooling"],
}
"""The settings that a page heeds, by its path; "" stands for all others."""

OWN: Final = {"similarity": ("cosine", "dot"), "chunks": ("true", "false")}
"""Values, in the address, of settings that `Experiment` lacks."""

OPTIONS: Final = {**CHOICES, "search_pooling": CHOICES["pooling"], "similarity": OWN["similarity"]}
"""Settings that have one of a few values."""

CORPORA: Final = [*corpora.SHIPPED, *hub_datasets.DATASETS]
SIZES: Final = 500, 1000, 2000, 5000, 10_000, 20_000, 50_000, 100_000
LISTS: Final[dict[str, tuple[str, list[str]]]] = {
    "model": ("models", [*MODELS]),
    "corpus": ("corpora", CORPORA),
    "search_corpus": ("corpora", list(dict.fromkeys([SEARCH["search_corpus"], *CORPORA]))),
    "sample_size": ("", [*map(str, SIZES), "all"]),
    "layer": ("", ["last", *map(str, range(25))]),
}
"""Settings with values to choose from, that take others too; the list that limits them."""

HUB: Final = "of the Hugging Face Hub"

LABELS: Final = {
    "model": ("Model", f"A model of the list, or an id {HUB}: owner/name@revision."),
    "others": (
        "Compare with",
        f"Models of the list, or ids {HUB}; “untrained:” before a name replaces its weights by "
        "random ones.",
    ),
    "chunks": (
        "Test chunks too",
        "Cut the texts to search into chunks, as on the page on chunks: measures each text several "
        "times.",
    ),
    "corpus": ("Corpus", f"A corpus of the list, or any dataset {HUB}."),
    "sample_size": ("Sample size", "Sentences to draw, or all."),
    "length_cutoff": ("Token cutoff", "Only sentences with fewer tokens enter the answer."),
    "layer": ("Layer", "0 is the embedding output."),
    "pooling": ("Vector", "[CLS], the mean over all tokens, or the pooler’s output."),
    "unit": ("Length in", "The cutoff is always in tokens."),
    "search_corpus": (
        "Texts to search",
        f"A corpus of the list, or any dataset {HUB}. Titles search for their texts, else halves "
        "of texts for the other half.",
    ),
    "search_pooling": ("Vector to search by", "Mean-pooled vectors are what most use."),
    "similarity": ("Similarity", "Dot product heeds norms, cosine does not."),
    "seed": ("Seed", "Of the draw, and of random weights."),
    "search_titles": (
        "Column that searches",
        "Of a table; empty takes the likeliest, or none for chunks.",
    ),
    "search_column": ("Column that is searched", "Of a table; empty takes the likeliest."),
    "search_encoding": ("Encoding", "Of a file, such as cp1254; empty takes the likeliest."),
    "precision": ("Precision", "Exact is float32; fast is bfloat16, whose error is reported."),
    "segmentation": ("Texts are cut into", "Auto takes what suits the texts."),
    "probe_size": (
        "Vector sample",
        "Sentences, from the start of the sample, whose vectors are measured.",
    ),
    "column": ("Column", "Of a table; empty takes the likeliest."),
    "encoding": ("Encoding", "Of a file, such as cp1254; empty takes the likeliest."),
    "configuration": ("Configuration", "Of a dataset of the Hub."),
    "split": ("Split", "Of a dataset of the Hub."),
}
"""The label of every widget, and its help, in their order."""

MORE: Final = [*LABELS][[*LABELS].index("seed") :]
"""Widgets of the box with more settings."""

PAIR: Final = ("sample_size", "length_cutoff")
"""Widgets next to each other."""

COLUMNS: Final = {
    "corpus": ("column", "encoding", "configuration", "split"),
    "search_corpus": ("search_titles", "search_column", "search_encoding"),
}
"""Settings of a corpus that another one has not."""


def show(page: str) -> Experiment:
    """Draw the settings, and return the experiment; the page stops where they cannot be used.

    page: its path. Settings that it does not heed are hidden, and drawn only where they are set:
    else they would leave the address.
    """
    state = st.session_state
    _write_address()
    state.dropped = []
    if refused := _drop_refused():
        state.refused = refused
        state.pop("linked", None)
    state.setdefault("refused", [])
    heeded = HEEDED.get(page, SETTINGS)
    hidden = ", ".join(f".st-key-{name}" for name in LABELS if name not in heeded)
    st.html(f"<style>{hidden} {{display: none}}</style>")
    with st.sidebar:
        _draw([name for name in LABELS if name not in MORE], heeded)
        icon = ":material/tune:"
        with st.expander("More settings", icon=icon, key="more", on_change="rerun") as box:
            if box.open or _is_set(*MORE):
                _draw(MORE, heeded)
    settings = {name: _text(name) for name in SETTINGS}
    all_settings = {**settings, **{name: _text(name) for name in SEARCH}}
    if state.setdefault("linked", all_settings) != all_settings:
        state.refused = []
    for sentence in state.refused:
        st.warning(layout.escape(sentence), icon=":material/link_off:")
    with layout.showing_errors(stops=True):
        experiment = Experiment.parse(settings)
        _check_access(experiment.model, experiment.corpus)
        public.check_size(experiment)
    return experiment


def search() -> Experiment:
    """The settings of the search; the page stops where they cannot be used."""
    view: Experiment = st.session_state.experiment
    settings = {"model": view.model, "seed": str(view.seed), "sample_size": "all"}
    settings |= {NAMES[name]: _text(name) for name in SEARCH if name in NAMES}
    with layout.showing_errors(stops=True):
        _check_access(view.model, settings["corpus"])
        return public.bounded(Experiment.parse(settings))


def models() -> list[str]:
    """The models to compare, that of the experiment first; the page stops where one is closed."""
    view: Experiment = st.session_state.experiment
    names = [view.model, *st.session_state.get("others", [])]
    with layout.showing_errors(stops=True):
        for name in names:
            _check_access(name, view.corpus)
    return list(dict.fromkeys(names))


def has_chunks() -> bool:
    """True if the comparison also cuts texts into chunks."""
    return bool(st.session_state.get("chunks"))


def to_query() -> dict[str, Any]:
    """The settings in the address: those that differ from the defaults."""
    view: Experiment = st.session_state.experiment
    values = {name: st.session_state.get(name) for name in (*SEARCH, "others")}
    changed = {name: value for name, value in values.items() if value and _is_set(name)}
    return view.to_query() | changed | ({"chunks": "true"} if has_chunks() else {})


def name_files(text: str) -> str:
    """A text where the visitor's files have their own names, quoted for a shell."""
    for upload, name in _own_files().items():
        text = text.replace(upload, shlex.quote(name))
    return text


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
    """Change a setting, by a callback: a page runs after the widgets of the settings."""
    st.session_state[name] = value


def _text(name: str) -> str:
    """A setting as text: that of its widget, or the default."""
    value = st.session_state.get(name)
    return str(DEFAULTS[name] or "") if value in (None, "") else str(value)


def _is_set(*names: str) -> bool:
    """True if one of these settings is not the default, in its widget or in the address."""
    state, address = st.session_state, st.query_params
    values = {name: state.get(name) or address.get(name) for name in names}
    return any(value and str(value) != str(DEFAULTS.get(name)) for name, value in values.items())


def _write_address() -> None:
    """Write settings into the address that changed while no widget was bound to them."""
    for name in LABELS:
        value = st.session_state.get(name)
        if value and name not in st.query_params and _is_set(name):
            with suppress(StreamlitAPIException):
                st.query_params[name] = "true" if value is True else value


def _drop_refused() -> list[str]:
    """Drop from the address what cannot be used; returns a sentence for each such setting.

    Streamlit would drop it without a word, or fail.
    """
    sentences = []
    for name, text in st.query_params.items():
        try:
            _check(name, text)
        except SettingError as error:
            sentences.append(f"The link cannot be followed in all: {error}")
            st.session_state.dropped.append(name)
    for name in st.session_state.dropped:
        with suppress(StreamlitAPIException):  # a bound one goes as its widget is drawn unbound
            del st.query_params[name]
    return sentences


def _check(name: str, text: str) -> None:
    """Raise SettingError where a setting in the address cannot be used."""
    if name in OWN and text not in ("", *OWN[name]):
        raise SettingError(f"{name} is {quote(text)}.", f"Choose {' or '.join(OWN[name])}.")
    if name not in (typed.PARAMETER, *OWN):
        own = "column" if name == "search_titles" else NAMES.get(name, name)
        Experiment(**{own: parse_setting(own, text)})


def _draw(names: Sequence[str], heeded: Sequence[str]) -> None:
    """Draw settings that the page heeds, or that are set."""
    pair: dict[str, Any] = {}
    for name in names:
        if name in heeded or _is_set(name):
            if name == PAIR[0]:
                pair = dict(zip(PAIR, st.columns(2), strict=True))
            with pair.get(name) or nullcontext():
                _draw_one(name)
            if name in heeded and NAMES.get(name, name) == "corpus":
                _own_file(name)


def _draw_one(name: str) -> None:
    """Draw the widget of a setting, which is bound to the address.

    One that was refused there is not, for one run: so it leaves the address.
    """
    state, (label, help_text) = st.session_state, LABELS[name]
    binding = None if name in state.dropped else "query-params"
    look: dict[str, Any] = {"key": name, "help": help_text, "bind": binding}
    if name == "others":
        known = [*public.listed(*LISTS["model"]), f"untrained:{state.model}"]
        known += state.get(name) or st.query_params.get_all(name)
        look |= {"accept_new_options": True, "max_selections": MOST_MODELS - 1}
        st.multiselect(label, list(dict.fromkeys(known)), **look)
    elif name in LISTS:
        known = public.listed(*LISTS[name])
        default = known.index(str(DEFAULTS[name] or known[0]))
        linked = filter(None, [state.get(name) or st.query_params.get(name)])
        options = list(dict.fromkeys([*known, *linked]))
        st.selectbox(label, options, default, accept_new_options=True, **look)
    elif name in OPTIONS:
        look |= {"default": DEFAULTS[name], "required": True}
        st.segmented_control(label, OPTIONS[name], **look)
    elif name == "chunks":
        st.toggle(label, **look)
    elif name in RANGES:
        st.number_input(label, *RANGES[name], DEFAULTS[name], **look)
    else:
        st.text_input(label, **look)


def _own_file(setting: str) -> None:
    """Draw the button for a file of one's own, which becomes the value of a setting.

    The other setting of a corpus follows, unless it has a value of its own.
    """
    if name := _own_files().get(st.session_state.get(setting, "")):
        st.caption(layout.escape(f"Your file: {name}"))
    icon, key = ":material/upload_file:", f"own_{setting}"
    look: dict[str, Any] = {"icon": icon, "width": "stretch", "key": key, "on_change": "rerun"}
    with st.popover("Use your own file", **look) as box:
        if box.open:
            st.file_uploader(  # of any ending: Streamlit answers others with a traceback
                "Text, CSV, TSV, JSON, JSON lines or Parquet, also gzipped",
                key=f"file_{setting}",
                on_change=_take_file,
                args=(setting,),
            )


def _own_files() -> dict[str, str]:
    """The names of the visitor's files that are corpora, by the server's names for them."""
    files = {}
    for upload in (str(st.session_state.get(setting) or "") for setting in COLUMNS):
        if upload.startswith(uploads.PREFIX):
            with suppress(ClsvizError):
                files[upload] = uploads.find(server().root, upload).name
    return files


def _take_file(setting: str) -> None:
    """Store the file that was brought, and choose it as the corpus of a setting."""
    state, file = st.session_state, st.session_state[f"file_{setting}"]
    if file is None:
        return
    try:
        if not hasattr(file, "name"):  # Streamlit's mark of a file that it lacks
            raise CorpusError("The file is no longer on the server.", "Upload it again.")
        name = uploads.store(server().root, file.name, file.getvalue())
    except ClsvizError as error:
        state.refused = [str(error)]
        state.pop("linked", None)
        return
    follower = next(other for other in COLUMNS if other != setting)
    follows = not _is_set(follower) or state[follower] == state.get(setting)
    for one in [setting, *[follower] * follows]:
        state.update({one: name, **dict.fromkeys(COLUMNS[one], "")})
    state[f"own_{setting}"] = False


def _check_access(model: str, corpus: str) -> None:
    """Raise SettingError where a link names what is not for a visitor who is elsewhere."""
    if limits.is_public():
        public.check_names(model, corpus)
        return
    is_file = corpora.is_file(corpus) and not corpus.startswith(uploads.PREFIX)
    if not (is_file or is_folder(model)) or is_at_this_machine():
        return
    if is_file:
        raise SettingError(f"{quote(corpus)} is a file of the server.", "Upload your file instead.")
    raise SettingError(f"{quote(model)} is a folder of the server.", "Choose a model of the Hub.")
