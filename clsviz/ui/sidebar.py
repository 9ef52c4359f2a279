"""The settings: widgets whose values are in the address, so that the address is the link to share.

The entry script draws them, as widgets that a page binds lose their value on another page.
"""

import shlex
import shutil
import sys
from collections.abc import Mapping, Sequence
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import Any, Final

import streamlit as st
from streamlit.errors import StreamlitAPIException

from clsviz import limits, questions, settings
from clsviz.api import MOST_MODELS
from clsviz.errors import ClsvizError, CorpusError, SettingError, quote
from clsviz.settings import OF_EXPERIMENT, Experiment
from clsviz.sources import corpora, hub_datasets, uploads
from clsviz.sources.models import MODELS, is_folder
from clsviz.sources.searches import bounded
from clsviz.ui import layout, typed
from clsviz.ui.server import check_names, check_size, is_at_this_machine, listed, server

SETTINGS: Final = list(OF_EXPERIMENT)

WIDGETS: Final = {name: row for name, row in settings.SETTINGS.items() if row.label}

OF_SEARCH: Final = questions.SEARCH[2:]
"""Settings of the search alone, which the pages of samples have not."""

CORPORA: Final = [*corpora.SHIPPED, *hub_datasets.DATASETS]
SIZES: Final = 500, 1000, 2000, 5000, 10_000, 20_000, 50_000, 100_000
LISTS: Final[dict[str, tuple[str, list[str]]]] = {
    "model": ("models", [*MODELS]),
    "corpus": ("corpora", CORPORA),
    "search_corpus": ("corpora", list(dict.fromkeys([WIDGETS["search_corpus"].default, *CORPORA]))),
    "sample_size": ("", [*map(str, SIZES), "all"]),
    "layer": ("", ["last", *map(str, range(25))]),
}
"""Settings with values to choose from, that take others too; the list that limits them."""

MORE: Final = [name for name, row in WIDGETS.items() if row.is_more]
"""Widgets of the box with more settings."""

OWN_CHUNKS: Final = "own_chunks"

PAIR: Final = ("sample_size", "length_cutoff")  # widgets next to each other

PARTS: Final = {
    corpus: [name for name, row in WIDGETS.items() if row.corpus == corpus]
    for corpus in ("corpus", "search_corpus")
}
"""Reset when the corpus changes."""


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
    heeded = questions.PAGES[page or questions.FIRST_PAGE].settings
    hidden = ", ".join(f".st-key-{name}" for name in WIDGETS if name not in heeded)
    st.html(f"<style>{hidden} {{display: none}}</style>")
    with st.sidebar:
        _draw([name for name in WIDGETS if name not in MORE], heeded)
        icon = ":material/tune:"
        with st.expander("More settings", icon=icon, key="more", on_change="rerun") as box:
            if box.open or _is_set(*MORE):
                _draw(MORE, heeded)
    texts = {name: _text(name) for name in SETTINGS}
    all_settings = {**texts, **{name: _text(name) for name in OF_SEARCH}}
    if state.setdefault("linked", all_settings) != all_settings:
        state.refused = []
    for sentence in state.refused:
        st.warning(layout.escape(sentence), icon=":material/link_off:")
    with layout.showing_errors(stops=True):
        experiment = Experiment.parse(texts)
        _check_access(experiment.model, experiment.corpus)
        check_size(experiment)
    return experiment


def search() -> Experiment:
    """The settings of the search; the page stops where they cannot be used."""
    view: Experiment = st.session_state.experiment
    texts = {"model": view.model, "seed": str(view.seed), "sample_size": "all"}
    keywords = {name: WIDGETS[name].keyword("search-test") for name in OF_SEARCH}
    texts |= {key: _text(name) for name, key in keywords.items() if key in SETTINGS}
    with layout.showing_errors(stops=True):
        _check_access(view.model, texts["corpus"])
        return bounded(Experiment.parse(texts))


def models() -> list[str]:
    """The models to compare, that of the experiment first; the page stops where one is closed."""
    view: Experiment = st.session_state.experiment
    names = [view.model, *st.session_state.get("others", [])]
    with layout.showing_errors(stops=True):
        for name in names:
            _check_access(name, view.corpus)
    return list(dict.fromkeys(names))


def own_chunks() -> str:
    """The file of the visitor's chunks, or ""; the page stops where it may not be read."""
    name = _text(OWN_CHUNKS)
    with layout.showing_errors(stops=True):
        if name:
            if limits.is_public() and not uploads.is_upload(name):
                reason = f"own_chunks is {quote(name)}, which is no upload."
                raise SettingError(reason, "Upload a file.")
            _check_access(st.session_state.experiment.model, name)
    return name


def to_query() -> dict[str, Any]:
    """The settings in the address: those that differ from the defaults."""
    view: Experiment = st.session_state.experiment
    changed = [name for name in WIDGETS if name not in SETTINGS and st.session_state.get(name)]
    return view.to_query() | {name: _parameter(name) for name in changed if _is_set(name)}


def name_files(text: str, files: Mapping[str, str]) -> str:
    """A text where files have the visitor's names for them; a shell's quotes stay around these."""
    for upload, name in files.items():
        text = text.replace(upload, name)
    return text


def to_paste(command: str) -> str:
    """A command to paste, with the place of its program where that is not on the path."""
    program = Path(sys.executable).with_name("clsviz")
    if is_at_this_machine() and program.exists() and not shutil.which("clsviz"):
        command = command.replace("clsviz", shlex.quote(str(program)), 1)
    return name_files(command, own_files())


def take_layer(names: Sequence[str], rows: list[int]) -> None:
    """Take the layer, or the vector, whose row of a table was clicked, by their names."""
    for row in rows[:1]:
        is_layer = names[row].isdecimal()
        change("layer", names[row] if is_layer else "last")
        change("pooling", "cls" if is_layer else names[row])


def change(name: str, value: str | int | list[str]) -> None:
    """Change a setting, by a callback: a page runs after the widgets of the settings."""
    st.session_state[name] = value


def _text(name: str) -> str:
    """A setting as text: that of its widget, or the default."""
    value = st.session_state.get(name)
    return WIDGETS[name].write(WIDGETS[name].default if value in (None, "") else value)


def _is_set(*names: str) -> bool:
    """True if one of these settings is not the default, in its widget or in the address."""
    for row in map(WIDGETS.__getitem__, names):
        value = st.session_state.get(row.name) or st.query_params.get(row.name)
        if value and row.write(value) != row.write(row.default):
            return True
    return False


def _write_address() -> None:
    """Write settings into the address that changed while no widget was bound to them."""
    for name in WIDGETS:
        if st.session_state.get(name) and name not in st.query_params and _is_set(name):
            with suppress(StreamlitAPIException):
                st.query_params[name] = _parameter(name)


def _parameter(name: str) -> Any:
    """A setting as it is in the address."""
    value = st.session_state[name]
    return value if name == "others" else WIDGETS[name].write(value)


def _drop_refused() -> list[str]:
    """Drop from a link what cannot be used; returns a sentence for each such setting.

    Streamlit would drop it without a word, or fail. A value of a widget stands in the address too:
    it is refused where it is read.
    """
    sentences = []
    for name, text in st.query_params.items():
        row, value = WIDGETS.get(name), st.session_state.get(name)
        if row and value is not None and row.write(value) == text:
            continue
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
    if name != typed.PARAMETER:
        row = WIDGETS.get(name) or settings.setting_of(name)
        value = row.parse(text)
        if row.kind is not list or text:
            row.check(value)


def _draw(names: Sequence[str], heeded: Sequence[str]) -> None:
    """Draw settings that the page heeds, or that are set."""
    pair: dict[str, Any] = {}
    for name in names:
        if name in heeded or _is_set(name):
            if name == PAIR[0]:
                pair = dict(zip(PAIR, st.columns(2), strict=True))
            with pair.get(name) or nullcontext():
                _draw_one(name)
            if name in heeded and name in (*PARTS, OWN_CHUNKS):
                _own_file(name)


def _draw_one(name: str) -> None:
    """Draw the widget of a setting, which is bound to the address.

    One that was refused there is not, for one run: so it leaves the address.
    """
    state, row = st.session_state, WIDGETS[name]
    binding = None if name in state.dropped else "query-params"
    look: dict[str, Any] = {"key": name, "help": row.help, "bind": binding}
    if name == "others":
        known = [*listed(*LISTS["model"]), f"untrained:{state.model}"]
        known += state.get(name) or st.query_params.get_all(name)
        look |= {"accept_new_options": True, "max_selections": MOST_MODELS - 1}
        st.multiselect(row.label, list(dict.fromkeys(known)), **look)
    elif name in LISTS:
        known = listed(*LISTS[name])
        default = known.index(row.write(row.default))
        linked = filter(None, [state.get(name) or st.query_params.get(name)])
        options = list(dict.fromkeys([*known, *linked]))
        st.selectbox(row.label, options, default, accept_new_options=True, **look)
    elif row.values:
        st.segmented_control(row.label, row.values, default=row.default, required=True, **look)
    elif row.kind is bool:
        st.toggle(row.label, **look)
    elif row.ends:
        st.number_input(row.label, value=row.default, **look)
    else:
        st.text_input(row.label, **look)


def _own_file(setting: str) -> None:
    """Draw the button for a file of one's own, which becomes the value of a setting.

    The other setting of a corpus follows, unless it has a value of its own.
    """
    icon, key = ":material/upload_file:", f"own_{setting}"
    look: dict[str, Any] = {"icon": icon, "width": "stretch", "key": key, "on_change": "rerun"}
    label = "Use your own chunks" if setting == OWN_CHUNKS else "Use your own file"
    with st.popover(label, **look) as box:
        if box.open:
            st.file_uploader(  # of any ending: Streamlit answers others with a traceback
                "Text, CSV, TSV, JSON, JSON lines or Parquet, also gzipped",
                key=f"file_{setting}",
                on_change=_take_file,
                args=(setting,),
            )


def own_files() -> dict[str, str]:
    """The names of the visitor's files, by the server's names for them."""
    files = {}
    names = (*PARTS, OWN_CHUNKS)
    for upload in (str(st.session_state.get(setting) or "") for setting in names):
        if uploads.is_upload(upload):
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
    settings = [setting]
    for follower in PARTS if setting in PARTS else ():
        if not _is_set(follower) or state[follower] == state.get(setting):
            settings.append(follower)
    for one in settings:
        state.update({one: name, **dict.fromkeys(PARTS.get(one, ()), "")})
    state[f"own_{setting}"] = False


def _check_access(model: str, corpus: str) -> None:
    """Raise SettingError where a link names what is not for a visitor who is elsewhere."""
    if limits.is_public():
        return check_names(model, corpus)
    is_file = corpora.is_file(corpus) and not uploads.is_upload(corpus)
    if is_at_this_machine() or not (is_file or is_folder(model)):
        return None
    name, kind = (corpus, "file") if is_file else (model, "folder")
    remedy = "Upload your file instead." if is_file else "Choose a model of the Hub."
    raise SettingError(f"{quote(name)} is a {kind} of the server.", remedy)
