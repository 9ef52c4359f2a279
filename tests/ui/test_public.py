"""A public server: what a visitor may not have, as the page says it."""

from pathlib import Path

import pytest
import streamlit
from streamlit.runtime.uploaded_file_manager import DeletedFile
from ui.conftest import SMALL, Runner, Visit, is_done, redraw, words

from clsviz import limits
from clsviz.analyses.compare import search_of
from clsviz.errors import SettingError
from clsviz.settings import Experiment
from clsviz.sources.searches import bounded
from clsviz.ui import server, share, sidebar


@pytest.fixture(autouse=True)
def is_public(
    monkeypatch: pytest.MonkeyPatch, runner: Runner, tiny_model: Path, corpus_file: Path
) -> None:
    """In public mode, where the tiny model and its corpus are listed."""
    monkeypatch.setenv("CLSVIZ_PUBLIC", "1")
    monkeypatch.setenv("CLSVIZ_LIMIT_MODELS", f"minilm, {tiny_model}, owner/name")
    monkeypatch.setenv("CLSVIZ_LIMIT_CORPORA", f"python-docs, {corpus_file}")


@pytest.mark.parametrize(
    ("link", "sentence"),
    [
        ({"model": "google-bert/bert-base-uncased"}, "which this server does not measure"),
        ({"model": "untrained: google-bert/bert-base-uncased"}, "does not measure"),
        ({"model": "minilm@refs/pr/7"}, "“minilm@refs/pr/7”, which this server does not measure"),
        ({"corpus": "python-docs@main"}, "“python-docs@main”, which this server does not measure"),
        ({"corpus": "./upload-/../etc/passwd"}, "does not measure"),
        ({"sample_size": "20001"}, "at most 20,000 sentences"),
        ({"sample_size": "all"}, "sample_size is all, and this server"),
    ],
)
def test_what_a_server_does_not_measure_is_refused_in_a_sentence(
    visit: Visit, runner: Runner, link: dict[str, str], sentence: str
) -> None:
    page = visit(**link)
    assert sentence in words(page.error)
    assert not page.header
    assert runner.n_loads == 0


def test_only_what_is_listed_is_measured_as_it_is_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLSVIZ_LIMIT_MODELS", "minilm, owner/name, owner/other@v1")
    for model in ("minilm", "untrained:minilm", "untrained: owner/name", "owner/other@v1"):
        server.check_names(model, "upload-0123456789")
        assert share.pin(model, "0" * 40) == model
    for model in ("owner/name@main", "untrained:owner/name@refs/pr/7", "owner/other", "minilm@"):
        with pytest.raises(SettingError, match="does not measure"):
            server.check_names(model, "python-docs")


def test_what_is_listed_is_offered_and_measured(visit: Visit, tiny_model: Path) -> None:
    page = redraw(visit(**SMALL), is_done)
    assert page.header
    assert page.selectbox(key="model").options == ["minilm", str(tiny_model), "owner/name"]


def test_nobody_is_at_the_machine_of_a_public_server(monkeypatch: pytest.MonkeyPatch) -> None:
    context = type("Context", (), {"ip_address": None, "headers": {"Host": "localhost:8501"}})
    monkeypatch.setattr("streamlit.context", context)
    assert not server.is_at_this_machine()
    monkeypatch.setenv("CLSVIZ_PUBLIC", "0")
    assert server.is_at_this_machine()
    for host in ("evil.org", "localhost.evil.org", "", "[::1"):
        context.headers = {"Host": host}
        assert not server.is_at_this_machine(), host


def test_who_clears_the_caches_of_streamlit_does_not_end_the_server(runner: Runner) -> None:
    before = server.server()
    streamlit.cache_resource.clear()
    assert server.server() is before


def test_who_redraws_too_often_waits(visit: Visit, monkeypatch: pytest.MonkeyPatch) -> None:
    page = redraw(visit(**SMALL), is_done)
    monkeypatch.setenv("CLSVIZ_LIMIT_REDRAWS", "1")
    assert "Wait a minute" in page.run().error[0].value
    monkeypatch.setenv("CLSVIZ_LIMIT_REDRAWS", "1000")
    assert not page.run().error


def test_an_upload_that_the_server_has_lost_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    form = {"__getattr__": dict.__getitem__, "__setattr__": dict.__setitem__}
    state = type("State", (dict,), form)(file_corpus=DeletedFile("id"), corpus="python-docs")
    monkeypatch.setattr("streamlit.session_state", state)
    sidebar._take_file("corpus")
    assert state["refused"] == ["The file is no longer on the server. Upload it again."]
    assert state["corpus"] == "python-docs"


@pytest.mark.parametrize("name", ["a.exe", "a", "a.parquet.gz", "a.txt\0.exe", "../.."])
def test_an_upload_of_another_name_gets_a_sentence(visit: Visit, tmp_path: Path, name: str) -> None:
    page = redraw(visit(**SMALL), is_done)
    page.session_state["own_corpus"] = True
    page.run().file_uploader(key="file_corpus").set_value((name, b"A sentence.", "")).run()
    assert "has no ending of a file of texts" in words(page.warning)
    assert page.header
    assert not page.exception
    assert not list((tmp_path / "uploads").glob("*"))


def test_a_search_of_an_upload_is_bounded() -> None:
    shipped = Experiment(corpus="python-api", sample_size="all")
    upload = Experiment(corpus="upload-0123456789", sample_size="all")
    searches = bounded(shipped), bounded(upload), search_of(shipped, upload.corpus, "mean")
    assert [one.sample_size for one in searches] == ["all", *[limits.LIMITS["sample_size"]] * 2]


def test_chunks_are_read_of_uploads_alone(visit: Visit) -> None:
    page = visit("chunks", search_corpus="python-docs", own_chunks="/etc/some.csv")
    assert "own_chunks is “/etc/some.csv”, which is no upload." in words(page.error)
    assert not page.header
