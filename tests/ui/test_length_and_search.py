"""The page “Does length bend my search?”, without a browser."""

import io
import json
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from streamlit.testing.v1 import AppTest
from support.app import BOXES, answer, charts, job_of, linked, settle, texts

from clsviz import analysis
from clsviz.analysis.search import Similarity
from clsviz.measurements import Kind
from clsviz.measuring import Cost, Extraction, Found, State
from clsviz.ui.state import server

PAGE = "length_and_search"


@pytest.fixture
def open_page(tiny_folder: Path, corpus: str) -> Callable[..., AppTest]:
    """Open a link to the page, by default to 300 vectors by the tiny model."""

    def open_page(**query: str) -> AppTest:
        query = {"model": str(tiny_folder), "corpus": corpus, "sample_size": "300"} | query
        return settle(linked(query, PAGE, BOXES).run())

    return open_page


def compared(page: AppTest) -> Similarity:
    """The same, computed anew from what the page has measured."""
    return analysis.search.last(job_of(page).work.found, page.session_state.written.experiment.view)


def cells(page: AppTest) -> np.ndarray:
    (chart, *_) = charts(page)
    return np.array([[float(f"0{cell}") for cell in row] for row in chart["data"][0]["text"]])


def test_a_link_opens_the_map_with_its_answer_and_downloads(
    open_page: Callable[..., AppTest], monkeypatch: pytest.MonkeyPatch
) -> None:
    offered: dict[str, Callable[[], bytes]] = {}
    monkeypatch.setattr("streamlit.download_button", lambda label, data, *_, **__: offered.update({label: data}))
    page = open_page(pooling="mean", layer="1", length_cutoff="25")
    assert page.title[0].value == "Does length bend my search?"
    assert job_of(page).work.kind is Kind.VECTORS
    expected = compared(page)
    assert expected.lengths.max() < 25
    assert f"{expected.bias.neighbour_correlation:.2f}" in answer(page)
    assert f"{len(expected.index)} different sentences under 25 tokens" in texts(page)
    np.testing.assert_allclose(cells(page), expected.bias.cosine_by_length, atol=6e-3)
    ways = page.dataframe[0].value
    assert ways["Way to compare"].tolist()[:2] == ["Mean", "Mean, centred"]
    assert ways["Correlation"].iloc[0] == pytest.approx(expected.remedies[0].held_out)
    assert page.query_params["pooling"] == "mean"
    assert "joined" not in page.query_params
    command, entry = (code.value for code in page.code)
    assert command.startswith("python -m clsviz similarity")
    assert entry.startswith("@software{clsviz-tiny-bert")
    assert "python -m clsviz similarity --model tiny-bert" in entry  # without the folder
    table = pd.read_csv(io.BytesIO(offered["Map (CSV)"]()))
    np.testing.assert_allclose(table["cosine"], expected.bias.cosine_by_length.ravel())
    parquet = pq.read_table(io.BytesIO(offered["Remedies (Parquet)"]()))
    about = json.loads(parquet.schema.metadata[b"clsviz"])
    assert (about["pooling"], about["layer"]) == ("mean", 1)
    assert "Joined (CSV)" not in offered
    page.toggle(key="joined").set_value(True).run()
    settle(page)
    assert page.query_params["joined"] == "yes"
    assert "random sentences each have a cosine of" in texts(page)
    assert pd.read_csv(io.BytesIO(offered["Joined (CSV)"]()))["sentences"].tolist()[:2] == [1, 2]
    page.button(key="control-Shuffle lengths").click().run()
    settle(page)
    assert answer(page).startswith("Control: lengths are shuffled")


def test_too_few_sentences_and_vectors_of_one_direction_explain_themselves(open_page: Callable[..., AppTest]) -> None:
    page = open_page(sample_size="60")
    assert "At least 100 different sentences are needed, and there are only" in answer(page)
    page = open_page(layer="0")
    assert "have the same direction" in answer(page)


def test_what_came_with_clsviz_is_shown_while_it_is_still_looked_at_what_more_would_take(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """On a busy machine that takes so long that the page does not wait for it."""
    go, cost_of = threading.Event(), Extraction._cost

    def slowly(self: Extraction, found: Found) -> Cost:
        go.wait(60)
        return cost_of(self, found)

    monkeypatch.setattr(Extraction, "_cost", slowly)
    page = linked({}, "length_and_search").run()
    assert job_of(page).state is State.LOOKING
    before = answer(page)
    assert "the longer a sentence" in before
    go.set()
    page = settle(page)
    assert answer(page) == before
    assert [job.state for job in server.jobs()._analyses.values()] == [State.DONE]
