"""A whole corpus on the page: the line is of all its sentences, and the points are of some."""

from collections.abc import Callable

import pytest
from streamlit.testing.v1 import AppTest
from support.app import finish, texts
from support.corpora import shrink

from clsviz.limits import PUBLIC
from clsviz.ui.state import server


@pytest.fixture
def few_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the 400 sentences of the corpus 200 are shuffled, and 100 in memory."""
    shrink(monkeypatch, 200, 100)


@pytest.mark.usefixtures("few_in_memory")
def test_a_link_to_all_sentences_shows_the_line_of_all(open_page: Callable[..., AppTest]) -> None:
    page = finish(open_page(sample_size="all"))
    assert not page.exception
    assert page.select_slider(key="sample_size").value > 10**9
    said = texts(page)
    assert "All 400 sentences of the corpus were measured; points, curves and medians are of 100 of them" in said
    assert "of 400 sentences, those under 80 tokens" in said
    assert "400 sentences measured" in said


def test_all_of_a_small_corpus_are_drawn(open_page: Callable[..., AppTest]) -> None:
    said = texts(finish(open_page(sample_size="all")))
    assert "of 400 sentences, those under 80 tokens" in said
    assert "All 400 sentences" not in said


def test_a_public_server_does_not_measure_whole_corpora(
    open_page: Callable[..., AppTest], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "limits", lambda: PUBLIC)
    page = open_page(model="minilm", corpus="python-docs", sample_size="all")
    assert "sample_size is all; on this server it can be at most 20,000." in texts(page)
    assert page.select_slider(key="sample_size").value == 20_000
