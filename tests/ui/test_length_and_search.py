"""The page “Does length bend my search?”."""

import io
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest
from support.app import BOXES, answer, charts, job_of, linked, settle, texts
from support.waiting import wait_for

from clsviz import analysis
from clsviz.jobs import Extraction, Found, State

PAGE = "length_and_search"


@pytest.fixture
def open_page(tiny_folder: Path, corpus: str) -> Callable[..., AppTest]:
    """Open a link to the page, by default to 300 vectors by the tiny model."""

    def open_page(**query: str) -> AppTest:
        query = {"model": str(tiny_folder), "corpus": corpus, "sample_size": "300"} | query
        return settle(linked(query, PAGE, BOXES).run())

    return open_page


def test_a_link_opens_the_map_with_its_answer_and_downloads(
    open_page: Callable[..., AppTest], monkeypatch: pytest.MonkeyPatch
) -> None:
    offered: dict[str, Callable[[], bytes]] = {}
    monkeypatch.setattr("streamlit.download_button", lambda label, data, *_, **__: offered.update({label: data}))
    page = open_page(pooling="mean", layer="1", length_cutoff="25")
    expected = analysis.search.last(job_of(page).work.found, page.session_state.written.experiment.view)
    assert f"{expected.bias.neighbour_correlation:.2f}" in answer(page)
    cells = np.array([[float(f"0{cell}") for cell in row] for row in charts(page)[0]["data"][0]["text"]])
    np.testing.assert_allclose(cells, expected.bias.cosine_by_length, atol=6e-3)
    assert page.dataframe[0].value["Way to compare"].tolist()[:2] == ["Mean", "Mean, centred"]
    command, entry = (code.value for code in page.code)
    assert command.startswith("python -m clsviz similarity")
    assert "python -m clsviz similarity --model tiny-bert" in entry  # without the folder
    table = pd.read_csv(io.BytesIO(offered["Map (CSV)"]()))
    np.testing.assert_allclose(table["cosine"], expected.bias.cosine_by_length.ravel())
    assert "Joined (CSV)" not in offered
    page.toggle(key="joined").set_value(True).run()
    page = settle(page)
    assert page.query_params["joined"] == "yes"
    assert "random sentences each have a cosine of" in texts(page)
    assert pd.read_csv(io.BytesIO(offered["Joined (CSV)"]()))["sentences"].tolist()[:2] == [1, 2]
    page.button(key="control-Shuffle lengths").click().run()
    assert answer(settle(page)).startswith("Control: lengths are shuffled")


def test_shipped_results_are_shown_while_it_is_still_looked_up_what_more_would_take(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """On a busy machine that takes so long that the page does not wait for it."""
    go, seconds_of = threading.Event(), Extraction.seconds

    def slowly(self: Extraction, found: Found, n_sentences: int) -> float:
        go.wait(60)
        return seconds_of(self, found, n_sentences)

    monkeypatch.setattr(Extraction, "seconds", slowly)
    page = linked({}, PAGE).run()
    wait_for(lambda: (found := job_of(page).work.found) is not None and found.is_outline)
    page.run()
    assert job_of(page).state is State.LOOKING
    before = answer(page)
    assert "the longer a sentence" in before
    go.set()
    assert answer(settle(page)) == before
