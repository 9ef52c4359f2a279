"""A whole corpus on the page: the line is of all its sentences, and the points are of some."""

import re
from collections.abc import Callable

import pytest
from streamlit.testing.v1 import AppTest
from support.app import finish, job_of, texts, unfold
from support.corpora import shrink
from support.hub import Hub

from clsviz.limits import PUBLIC
from clsviz.measuring import Cost, Extraction, State
from clsviz.progress import Progress
from clsviz.ui.state import server


@pytest.fixture
def few_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the 400 sentences of the corpus 200 are shuffled, and 100 in memory."""
    shrink(monkeypatch, 200, 100)


@pytest.mark.usefixtures("few_in_memory")
def test_a_link_to_all_sentences_shows_the_line_of_all(open_page: Callable[..., AppTest]) -> None:
    page = unfold(finish(open_page(sample_size="all")), "settings")
    assert not page.exception
    assert page.select_slider(key="sample_size").value > 10**9
    said = texts(page)
    all_said = "All 400 sentences of the corpus were measured, so no interval of drawing them is told; "
    assert f"{all_said}points, curves and medians are of 100 of them" in said
    assert "of 400 sentences, those under 80 tokens" in said
    assert "400 sentences measured" in said


def test_all_of_a_small_corpus_are_drawn(open_page: Callable[..., AppTest]) -> None:
    said = texts(finish(open_page(sample_size="all")))
    assert "of 400 sentences, those under 80 tokens" in said
    assert "All 400 sentences" not in said


@pytest.mark.usefixtures("few_in_memory")
def test_all_of_a_dataset_says_what_it_takes_and_waits_for_run(
    original: Hub, open_page: Callable[..., AppTest], monkeypatch: pytest.MonkeyPatch
) -> None:
    look_up = Extraction.look_up

    def slow(self: Extraction, progress: Progress) -> Cost:
        cost = look_up(self, progress)
        return Cost(1e6, 1234) if cost.seconds and self.experiment.corpus == "bookcorpus" else cost

    monkeypatch.setattr(Extraction, "look_up", slow)
    page = finish(open_page(corpus="bookcorpus", sample_size="all"))
    assert job_of(page).state is State.WAITING
    assert page.button(key="run").label == "Run · about 11.6 days"
    said = re.search(r"Downloads about 1.2 GB first. About ([\d,]+) sentences, ([\d,]+) tokens", texts(page))
    assert said
    n, n_tokens = (int(number.replace(",", "")) for number in said.groups())
    assert n == pytest.approx(600, rel=0.1)
    assert n_tokens == pytest.approx(n * (2 + 75 / 4.5), rel=0.1)
    assert not [asked for asked in original.requests if asked.path.endswith(".parquet") and not asked.range]
    page.button(key="run").click().run()
    finish(page)
    assert "All 600 sentences of the corpus were measured" in texts(page)


def test_a_public_server_does_not_measure_whole_corpora(
    open_page: Callable[..., AppTest], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "limits", lambda: PUBLIC)
    page = unfold(open_page(model="minilm", corpus="python-docs", sample_size="all"), "settings")
    assert "sample_size is all; on this server it can be at most 20,000." in texts(page)
    assert page.select_slider(key="sample_size").value == 20_000
