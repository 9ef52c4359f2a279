"""Vectors or norms of the visitor's own: a file, which of its columns are what, and the button that imports it."""

import io
import tempfile
import weakref
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import streamlit as st

from clsviz import corpora, measuring, words
from clsviz.corpora import Chosen, VectorFile, formats
from clsviz.errors import ClsvizError, CorpusError
from clsviz.ui.markdown import escape
from clsviz.ui.state import server, session

_NO_TOKENS = "Not known: count words"


@dataclass(frozen=True, eq=False)
class _Opened:
    """An uploaded file, of which there is a copy on disk for as long as the session holds this, and what is in it."""

    upload: str
    file: VectorFile


def show() -> None:
    """The form; a public server has none."""
    upload = st.file_uploader(
        "A file of vectors or norms",
        key="vectors_upload",
        max_upload_size=server.upload_megabytes(server.limits()),
        help=words.imported.HELP,
    )
    try:
        opened = _opened(upload) if upload is not None else None
        if opened is not None:
            _form(opened.file)
    except ClsvizError as error:
        st.error(escape(error))
    if message := st.session_state.get("import_message", ""):
        st.error(escape(message))


def known() -> list[measuring.Import]:
    """What was imported here, for the list of models; none on a public server."""
    return [] if server.limits().is_public else measuring.list_imports(server.jobs().store)


def _opened(upload: Any) -> _Opened:
    """The file, copied to disk once; raises CorpusError if it cannot be read."""
    if not isinstance(upload, io.BytesIO):
        raise CorpusError("The file did not arrive here. Upload it again.")
    name, of = str(upload.name), str(getattr(upload, "file_id", ""))
    before: _Opened | None = st.session_state.get("vectors_opened")
    if before is not None and before.upload == of:
        return before
    st.session_state.import_message = ""
    st.session_state.pop("vectors_name", None)
    with tempfile.NamedTemporaryFile(suffix=Path(name).suffix, delete=False) as copy:
        copy.write(upload.getbuffer())
    path = Path(copy.name)
    try:
        opened = _Opened(of, corpora.open_vectors(path, name))
    except BaseException:
        path.unlink()
        raise
    weakref.finalize(opened, path.unlink, missing_ok=True)
    st.session_state.vectors_opened = opened
    return opened


def _form(file: VectorFile) -> None:
    values = [*file.vectors, *file.numbers]
    value = _choice("Vectors or norms", "vectors_column", values, dict.fromkeys(file.numbers, "norms"))
    if file.texts:
        _choice("Their texts", "vectors_text", file.texts)
    else:
        st.file_uploader("Their texts, one for each row", key="vectors_texts", help=words.imported.TEXTS_HELP)
    rest = [name for name in file.numbers if name != value]
    if rest:
        _choice("Their lengths in tokens", "vectors_tokens", [_NO_TOKENS, *rest])
    st.text_input("What to call them", value=words.imported.label_of(file.name), key="vectors_name", max_chars=60)
    st.button("Import", icon=":material/upload:", on_click=_import, width="stretch")


def _choice(label: str, key: str, options: "list[str] | tuple[str, ...]", kinds: dict[str, str] | None = None) -> str:
    """What is chosen of several; there is nothing to choose where there is one."""
    if len(options) == 1:
        st.session_state.pop(key, None)
        return options[0]
    kinds = kinds or {}
    return str(
        st.selectbox(
            label,
            options,
            key=key,
            format_func=lambda name: f"{name} ({kinds[name]})" if name in kinds else name,
        )
    )


def _import() -> None:
    """Import the file as it was chosen, and show it, or say why not."""
    state = st.session_state
    state.import_message = ""
    opened: _Opened | None = state.get("vectors_opened")
    if opened is None:
        return
    try:
        with tempfile.NamedTemporaryFile(suffix=".texts") as copy:
            found = _imported(opened.file, copy)
    except ClsvizError as error:
        state.import_message = str(error)
        return
    session.choose(found.experiment)
    state.pop("vectors_opened")


def _imported(file: VectorFile, copy: Any) -> measuring.Import:
    state = st.session_state
    values, tokens = str(state.get("vectors_column", "")), str(state.get("vectors_tokens", _NO_TOKENS))
    of_vectors, of_norms = (values, "") if values in file.vectors else ("", values)
    chosen = Chosen(str(state.get("vectors_text", "")), of_vectors, of_norms, "" if tokens == _NO_TOKENS else tokens)
    texts = state.get("vectors_texts")
    if not file.texts and isinstance(texts, io.BytesIO):
        formats.suffix(str(texts.name))
        copy.write(texts.getbuffer())
        copy.flush()
        chosen = Chosen("", of_vectors, of_norms, chosen.tokens, Path(copy.name), str(texts.name))
    chosen = file.decided(chosen)
    store = server.jobs().store.own
    return measuring.import_rows(file.rows(chosen), file.n_rows(chosen), str(state.vectors_name).strip(), store)
