"""The settings: widgets whose values are in the address, so that the address is the link to share.

The entry script draws them, as widgets that a page binds lose their value on another page.
"""

from collections.abc import Sequence
from dataclasses import fields
from typing import Any, Final

import streamlit as st

from clsviz import limits
from clsviz.errors import ClsvizError, SettingError, quote
from clsviz.experiment import CHOICES, RANGES, Experiment, parse_setting
from clsviz.results.compare import MOST_MODELS
from clsviz.sources import corpora, hub_datasets, uploads
from clsviz.sources.models import MODELS, is_folder
from clsviz.ui import layout, public, typed
from clsviz.ui.server import is_at_this_machine, server

SETTINGS: Final = [field.name for field in fields(Experiment)]

CORPORA: Final = [*corpora.SHIPPED, *hub_datasets.DATASETS]

SAMPLE_SIZES: Final = ["500", "1000", "2000", "5000", "10000", "20000", "50000", "100000", "all"]

LAYERS: Final = ["last", *map(str, range(25))]

SEARCH: Final = {"search_corpus": "python-api", "search_pooling": "mean", "similarity": "cosine"}
"""Settings of the search alone, with their defaults: pages with sentences have others."""

SENTENCE_SETTINGS: Final = (
    "corpus",
    "sample_size",
    "length_cutoff",
    "layer",
    "pooling",
    "unit",
)

NAME_SETTINGS: Final = {
    "column": "Of a table; empty takes the likeliest.",
    "encoding": "Of a file, such as cp1254; empty takes the likeliest.",
    "configuration": "Of a dataset of the Hub.",
    "split": "Of a dataset of the Hub.",
}
"""Settings that are names, and what they are about."""

EXPERT_SETTINGS: Final = ("precision", "segmentation", "probe_size", *NAME_SETTINGS)

HIDDEN: Final = {
    "": ("others_settings", "search_settings"),
    "search": ("others_settings", "sentence_settings", "expert_settings"),
    "compare": ("similarity_settings",),
}
"""Settings that a page does not heed, by its path; "" stands for all others."""

SIMILARITIES: Final = ("cosine", "dot")

NAMES: Final = {"search_corpus": "corpus", "search_pooling": "pooling", "others": "model"}
"""Settings of `Experiment` that the search has under a name of its own."""

DEFAULTS: Final[dict[str, Any]] = {
    **{field.name: field.default for field in fields(Experiment)},
    **SEARCH,
    "layer": "last",
}

FILES: Final = ["txt", "csv", "tsv", "json", "jsonl", "parquet", "gz"]


def show(page: str) -> Experiment:
    """Draw the settings, and return the experiment; the page stops where they cannot be used.

    page: its path. Settings that it does not heed are hidden, and drawn only where they are not
    the defaults: else they would leave the address.
    """
    for name in st.session_state.get("dropped", []):  # it was not in the address when it changed
        if _is_set(name):
            st.query_params[name] = st.session_state[name]
    st.session_state.dropped = []
    if "refused" not in st.session_state:
        st.session_state.refused = _drop_refused()
    for name, value in st.session_state.pop("next", {}).items():
        st.session_state[name] = value
    hidden = HIDDEN.get(page, HIDDEN[""])
    places = ", ".join(f":has(> .st-key-{name})" for name in hidden)
    st.html(f"<style>{places} {{display: none}}</style>")
    with st.sidebar:
        help_text = "A model of the list, or an id of the Hugging Face Hub: owner/name@revision."
        _select("Model", "model", public.listed("models", [*MODELS]), help_text)
        with st.container(key="others_settings"):
            if "others_settings" not in hidden or _is_set("others"):
                _others()
        with st.container(key="sentence_settings"):
            if "sentence_settings" not in hidden or _is_set(*SENTENCE_SETTINGS):
                _sentence_settings()
        with st.container(key="search_settings"):
            if "search_settings" not in hidden or _is_set(*SEARCH):
                _search_settings()
        icon = ":material/tune:"
        with st.expander("More settings", icon=icon, key="more", on_change="rerun") as box:
            if box.open or _is_set("seed", *EXPERT_SETTINGS):
                _number("Seed", "seed", "Of the draw, and of random weights.")
                with st.container(key="expert_settings"):
                    _expert_settings()
    settings = {name: _text(name) for name in SETTINGS}
    all_settings = {**settings, **{name: _text(name) for name in SEARCH}}
    if st.session_state.setdefault("linked", all_settings) != all_settings:
        st.session_state.refused = []
    for sentence in st.session_state.refused:
        st.warning(layout.escape(sentence), icon=":material/link_off:")
    try:
        experiment = Experiment.parse(settings)
        _check_access(experiment.model, experiment.corpus)
        public.check_size(experiment)
    except SettingError as error:
        layout.error(error)
        st.stop()
    return experiment


def search() -> Experiment:
    """The settings of the search; the page stops where they cannot be used."""
    settings = {NAMES[name]: _text(name) for name in SEARCH if name in NAMES}
    view: Experiment = st.session_state.experiment
    try:
        _check_access(view.model, settings["corpus"])
        return public.bounded(
            Experiment.parse(
                {"model": view.model, "seed": str(view.seed), "sample_size": "all", **settings}
            )
        )
    except SettingError as error:
        layout.error(error)
        st.stop()


def models() -> list[str]:
    """The models to compare, that of the experiment first; the page stops where one is closed."""
    view: Experiment = st.session_state.experiment
    names = [view.model, *st.session_state.get("others", [])]
    try:
        for name in names:
            _check_access(name, view.corpus)
    except SettingError as error:
        layout.error(error)
        st.stop()
    return list(dict.fromkeys(names))


def to_query() -> dict[str, Any]:
    """The settings in the address: those that differ from the defaults."""
    view: Experiment = st.session_state.experiment
    names = [name for name in (*SEARCH, "others") if st.session_state.get(name)]
    values = {name: st.session_state[name] for name in names}
    changed = {name: value for name, value in values.items() if value != SEARCH.get(name)}
    return view.to_query() | changed


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


def _text(name: str) -> str:
    """A setting as text: that of its widget, or the default."""
    value = st.session_state.get(name)
    return str(DEFAULTS[name] or "") if value in (None, "") else str(value)


def _is_set(*names: str) -> bool:
    """True if one of these settings is not the default, in its widget or in the address."""
    state, address = st.session_state, st.query_params
    values = {name: state.get(name) or address.get(name) for name in names}
    return any(value and str(value) != str(DEFAULTS.get(name)) for name, value in values.items())


def _drop_refused() -> list[str]:
    """Drop from the address what cannot be used; returns a sentence for each such setting.

    Streamlit would drop it without a word, or fail. It lets nobody drop what a widget is bound to:
    this is for the first run of a session.
    """
    sentences = []
    for name, text in st.query_params.items():
        try:
            _check(name, text)
        except SettingError as error:
            sentences.append(f"The link cannot be followed in all: {error}")
            st.session_state.dropped.append(name)
    for name in st.session_state.dropped:
        del st.query_params[name]
    return sentences


def _check(name: str, text: str) -> None:
    """Raise SettingError where a setting in the address cannot be used."""
    if name == "similarity" and text not in ("", *SIMILARITIES):
        remedy = f"Choose {' or '.join(SIMILARITIES)}."
        raise SettingError(f"similarity is {quote(text)}.", remedy)
    if name not in (typed.PARAMETER, "similarity"):
        own = NAMES.get(name, name)
        Experiment(**{own: parse_setting(own, text)})


def _binding(name: str) -> Any:
    """A setting is in the address, but for the one run whose address had a refused value."""
    return None if name in st.session_state.dropped else "query-params"


def _select(label: str, name: str, known: Sequence[str], help_text: str) -> None:
    """A list that takes other values too: the one that the setting has, or the address."""
    value = st.session_state.get(name) or st.query_params.get(name)
    default = str(DEFAULTS[name] or known[0])
    st.selectbox(
        label,
        list(dict.fromkeys([*known, *filter(None, [value])])),
        known.index(default),
        key=name,
        accept_new_options=True,
        help=help_text,
        bind=_binding(name),
    )


def _number(label: str, name: str, help_text: str) -> None:
    st.number_input(
        label, *RANGES[name], DEFAULTS[name], key=name, help=help_text, bind=_binding(name)
    )


def _choice(label: str, name: str, help_text: str) -> None:
    st.segmented_control(
        label,
        SIMILARITIES if name == "similarity" else CHOICES[NAMES.get(name, name)],
        default=DEFAULTS[name],
        key=name,
        required=True,
        help=help_text,
        bind=_binding(name),
    )


def _others() -> None:
    known = [*public.listed("models", [*MODELS]), f"untrained:{st.session_state.model}"]
    linked = st.session_state.get("others") or st.query_params.get_all("others")
    st.multiselect(
        "Compare with",
        list(dict.fromkeys([*known, *linked])),
        key="others",
        accept_new_options=True,
        max_selections=MOST_MODELS - 1,
        help="Models of the list, or ids of the Hugging Face Hub; “untrained:” before a name "
        "replaces its weights by random ones.",
        bind=_binding("others"),
    )


def _sentence_settings() -> None:
    help_text = "A corpus of the list, or any dataset of the Hugging Face Hub."
    _select("Corpus", "corpus", public.listed("corpora", CORPORA), help_text)
    _own_file("corpus")
    left, right = st.columns(2)
    with left:
        _select("Sample size", "sample_size", SAMPLE_SIZES, "Sentences to draw, or all.")
    with right:
        help_text = "Only sentences with fewer tokens enter the answer."
        _number("Token cutoff", "length_cutoff", help_text)
    _select("Layer", "layer", LAYERS, "0 is the embedding output.")
    _choice("Vector", "pooling", "[CLS], the mean over all tokens, or the pooler’s output.")
    _choice("Length in", "unit", "The cutoff is always in tokens.")


def _search_settings() -> None:
    help_text = "A corpus of the list, or any dataset of the Hugging Face Hub. "
    help_text += "Titles search for their texts, else halves of texts for the other half."
    corpora_listed = public.listed("corpora", ["python-api", *CORPORA])
    _select("Texts to search", "search_corpus", corpora_listed, help_text)
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
        on_change="rerun",
    ) as box:
        if box.open:
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
    help_text = "Sentences, from the start of the sample, whose vectors are measured."
    _number("Vector sample", "probe_size", help_text)
    for name, help_text in NAME_SETTINGS.items():
        st.text_input(name.capitalize(), key=name, help=help_text, bind=_binding(name))


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
