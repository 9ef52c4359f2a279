"""“Instant” and “The original”."""

import re
import time
from dataclasses import replace

import pytest
from streamlit.testing.v1 import AppTest
from support.app import figures, finish, job_of, linked, plain, texts, unfold
from support.hub import Hub

from clsviz.measuring import State
from clsviz.ui.controls import presets
from clsviz.ui.state import server


@pytest.fixture
def newcomer(monkeypatch: pytest.MonkeyPatch) -> AppTest:
    """A page opened with the defaults, except that fewer sentences are measured."""
    monkeypatch.setattr(presets, "INSTANT", replace(presets.INSTANT, sample_size=300))
    return linked({"sample_size": "300"}).run()


def test_a_cold_page_asks_nothing_of_the_network(original: Hub, newcomer: AppTest) -> None:
    page = finish(newcomer)
    if job_of(page).state is State.WAITING:  # a busy machine
        page.button(key="run").click().run()
        finish(page)
    assert figures(page)["R²"]
    for name, value in {"model": "bert-base-uncased", "corpus": "bookcorpus"}.items():  # nor does choosing
        page.selectbox(key=name).select(value).run()
    finish(page)
    assert job_of(page).state is State.WAITING
    assert not original.requests


def test_the_original_is_two_clicks_away_with_its_cost_stated_before(original: Hub, newcomer: AppTest) -> None:
    page = finish(newcomer)
    deadline = time.monotonic() + 30
    while server.jobs().estimate(presets.ORIGINAL) is None:
        assert time.monotonic() < deadline
        time.sleep(0.02)
    unfold(page, "settings")
    assert re.search(r"The original downloads 4\d\d MB and takes about [\d.]+ (s|min|h)", texts(page))
    next(button for button in page.button if button.label == "The original").click().run()
    asked = job_of(page).work.experiment
    assert (asked.model, asked.corpus, asked.sample_size, asked.length_cutoff) == (
        *("bert-base-uncased", "bookcorpus", 100_000, 80),
    )
    finish(page)
    assert not original.requests
    page.button(key="run").click().run()
    page = finish(page)
    page.session_state["how_measured"] = True
    page.run()
    assert "Does BERT base, uncased encode" in texts(page)
    assert "BookCorpus has only 600 sentences" in texts(page)
    how = next(plain(markdown.value) for markdown in page.markdown if "Sample:" in markdown.value)
    assert "of 6 row groups" in how
    assert "MB were read" in how
    next(button for button in page.button if button.label == "Instant").click().run()
    assert job_of(page).work.experiment == presets.INSTANT
