from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest
from support.app import browse_from, figures, finish, job_of
from support.hub import Hub

from clsviz.errors import SettingError
from clsviz.experiment import Experiment
from clsviz.limits import PUBLIC
from clsviz.ui.state import visitor


@pytest.mark.parametrize(
    ("address", "host", "headers", "is_local"),
    [
        (None, "localhost:8501", {}, True),
        (None, "127.0.0.1:8501", {}, True),
        ("::ffff:127.0.0.1", "127.0.0.1:8501", {}, True),  # of a server that listens on all addresses
        ("::ffff:192.0.2.1", "localhost:8501", {}, False),
        ("192.0.2.1", "localhost:8501", {}, False),
        (None, "example.org", {}, False),
        (None, "localhost", {"X-Forwarded-For": "192.0.2.1"}, False),
    ],
)
def test_a_visitor_on_the_same_machine_is_told_from_others(
    address: str | None, host: str, headers: dict[str, str], is_local: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    browse_from(monkeypatch, host, address, **headers)
    assert visitor.is_local() is is_local


def test_a_link_to_an_upload_is_let_through_to_the_error_that_says_what_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    browse_from(monkeypatch, "example.org")
    monkeypatch.setattr(visitor.server, "limits", lambda: PUBLIC)
    for name in (f"upload-{'0' * 32}", "upload-0123", f"upload-{'0' * 32}@main"):
        assert visitor.corpus_problem(name) == ""
    assert "does not offer" in visitor.corpus_problem("upload-notes.txt")  # which would be a file of this machine


def test_a_path_in_a_link_is_opened_only_on_the_same_machine(
    open_page: Callable[..., AppTest], monkeypatch: pytest.MonkeyPatch, text_file: Path
) -> None:
    assert figures(finish(open_page(corpus=str(text_file))))["Sentences"] == "300"
    browse_from(monkeypatch, "example.org")
    page = finish(open_page(corpus="/etc/passwd"))  # with the folder of a model
    folder, file = (warning.value for warning in page.warning)
    assert "Folders can be opened only" in folder
    assert "/etc/passwd" in file
    assert (page.session_state.model, page.session_state.corpus) == ("minilm", "python-docs")


@pytest.mark.parametrize("setting", ["corpus", "model"])
def test_a_forged_message_opens_no_file(monkeypatch: pytest.MonkeyPatch, text_file: Path, setting: str) -> None:
    """As a browser may send what no control offers: no link, and no callback, has seen it."""
    forged = replace(Experiment(), **{setting: str(text_file)})
    browse_from(monkeypatch, "localhost")
    visitor.check(forged)
    browse_from(monkeypatch, "example.org")
    with pytest.raises(SettingError, match="can be opened only"):
        visitor.check(forged)


def test_a_public_demo_has_the_catalogue_alone_and_smaller_samples(
    open_page: Callable[..., AppTest], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLSVIZ_PUBLIC", "1")
    st.cache_resource.clear()
    page = open_page(sample_size="100000", probe_size="10000")
    assert not page.exception
    warnings = " ".join(warning.value for warning in page.warning)
    assert "public demo" in warnings
    assert "at most 20,000" in warnings
    assert page.session_state.model == "minilm"
    assert "at most 5,000" in warnings
    assert (page.session_state.sample_size, page.session_state.probe_size) == (20_000, 5_000)
    assert "/" not in "".join(page.selectbox(key="model").options)
    job_of(page).cancel()


def test_a_public_demo_takes_links_but_no_revisions_of_them(
    original: Hub, open_page: Callable[..., AppTest], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLSVIZ_PUBLIC", "1")
    st.cache_resource.clear()
    page = finish(open_page(model=f"bert-base-uncased@{'a' * 40}", corpus=f"bookcorpus@{'b' * 40}"))
    assert page.session_state.model == "bert-base-uncased"
    assert page.session_state.corpus == "bookcorpus"
    page = finish(open_page(model="owner/any", corpus="owner/any"))
    assert len(page.warning) == 2
    assert (page.session_state.model, page.session_state.corpus) == ("minilm", "python-docs")
