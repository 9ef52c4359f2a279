"""The page “Where length lives”."""

import base64
import io
import shutil
import threading
import types
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest
from support.app import BOXES, answer, chart, charts, charts_by_key, job_of, linked, plain, settle, texts
from support.tiny import random_sentences, write_bert

from clsviz import analysis, words
from clsviz.jobs import State
from clsviz.measurements import Kind
from clsviz.settings import Alteration, Lengths, Pooling, Unit
from clsviz.sources import uploads
from clsviz.sources.models import UNTRAINED
from clsviz.ui import view, where_length_lives
from clsviz.ui.state import server

PAGE = "where_length_lives"

QUERY = {"sample_size": "300"}


@pytest.fixture(scope="module")
def measured(store_with: Callable[[Mapping[str, str], str], Path], tiny_folder: Path) -> Path:
    """A store with all that the page shows of 300 vectors by the tiny model."""
    return store_with(QUERY | {"model": str(tiny_folder)}, PAGE)


@pytest.fixture
def open_page(tiny_folder: Path, corpus: str, measured: Path, tmp_path: Path) -> Callable[..., AppTest]:
    """Open a link to the page, by default to 300 vectors by the tiny model, which are measured already."""
    shutil.copytree(measured, tmp_path / "store", dirs_exist_ok=True)

    def open_page(**query: str) -> AppTest:
        return settle(linked(QUERY | {"model": str(tiny_folder), "corpus": corpus} | query, PAGE, BOXES).run())

    return open_page


@pytest.fixture
def offered(monkeypatch: pytest.MonkeyPatch) -> dict[str, Callable[[], bytes]]:
    """The files that can be downloaded, by label."""
    files: dict[str, Callable[[], bytes]] = {}
    monkeypatch.setattr("streamlit.download_button", lambda label, data, *_, **__: files.update({label: data}))
    return files


def test_the_page_says_where_length_is_and_draws_it(
    open_page: Callable[..., AppTest], offered: dict[str, Callable[[], bytes]]
) -> None:
    page = open_page(layer="1")
    found, experiment = job_of(page).work.found, page.session_state.written.experiment
    assert job_of(page).work.kind is Kind.VECTORS
    profile = server.analyse("profiles", analysis.layers.profiles, found, experiment.view.of_all_vectors).work.result
    assert f"{profile.best.error:.1f} tokens" in answer(page)
    drawn = charts_by_key(page)
    assert drawn.keys() == {"lines", "cells", "scatter", "spread", "dimensions"}  # few sentences have no curve
    lines = {trace["name"]: trace["y"] for trace in drawn["lines"]["data"]}
    assert lines.keys() == {"[CLS] vector", "its norm", "guessing"}
    assert max(map(float, lines["guessing"])) == pytest.approx(profile.guess_error)
    titles = [plain(card.label) for card in page.expander]
    assert "Random weights: what an untrained model gives away is not measured" in titles
    assert any(title.startswith("The norm of the mean-pooled vector") for title in titles)
    assert "Length erased: not measured yet" in titles
    assert len(chart(page)["data"][0]["text"]) == 300
    readings = pd.read_csv(io.BytesIO(offered["Layers (CSV)"]()))
    best = readings[(readings["pooling"] == "cls") & (readings["readout"] == "vector")]["r_squared"].max()
    assert best == pytest.approx(profile.best.r_squared)
    assert offered["Picture (PNG)"]().startswith(b"\x89PNG")
    assert {"Norms (CSV)", "SentLen (CSV)", "LayerNorm (CSV)", "Dimensions (Parquet)"} <= offered.keys()


def test_a_link_opens_the_scatter_of_its_cell(open_page: Callable[..., AppTest]) -> None:
    page = open_page(pooling="mean", layer="1", heat="probe")
    assert (page.query_params["heat"], page.query_params["pooling"]) == ("probe", "mean")
    frame = charts_by_key(page)["cells"]["layout"]["shapes"][0]
    assert ((frame["x0"] + frame["x1"]) / 2, (frame["y0"] + frame["y1"]) / 2) == (1, 1)
    page = open_page(heat="everything", origin="7")
    warnings = [plain(warning.value) for warning in page.warning]
    assert any("heat is “everything”; it must be probe, or left out." in warning for warning in warnings)
    assert any("origin is “7”; it must be a number of sentences from 100 to 20,000." in one for one in warnings)


@pytest.mark.parametrize(
    ("pooling", "layer", "chosen"),
    [(Pooling.CLS, 1, 1), (Pooling.MEAN, 0, 0), (Pooling.MAX, 2, "last"), (Pooling.POOLER, 2, "last")],
)
def test_a_click_on_a_cell_chooses_it(
    monkeypatch: pytest.MonkeyPatch, pooling: Pooling, layer: int, chosen: int | str
) -> None:
    state = types.SimpleNamespace(pooling=None, layer=None)
    monkeypatch.setattr(st, "session_state", state)
    view.choose_vector(pooling, layer, n_layers=2)
    assert (state.pooling, state.layer) == (pooling, chosen)


def test_the_length_is_erased_the_vectors_projected_and_probes_travel_where_a_link_asks_for_it(
    open_page: Callable[..., AppTest], tmp_path: Path, offered: dict[str, Callable[[], bytes]]
) -> None:
    other = io.BytesIO("\n".join(random_sentences(200, seed=8)).encode())
    name = uploads.keep_upload(other, "other.txt", tmp_path / "store" / "corpora")
    page = open_page(erase="yes", travel_to=name, project="yes")
    assert page.query_params["travel_to"] == name
    said = texts(page)
    assert "Once the length is erased, a linear probe reads R²" in said
    assert "Trained on sentences.txt and read on other.txt" in said
    assert "(from the whole vector: " in said
    assert {"erasure", "travel", "projection"} <= charts_by_key(page).keys()
    assert {"Other corpus (CSV)", "Length erased (CSV)"} <= offered.keys()
    titles = [plain(card.label) for card in page.expander]
    for start in ("On other.txt", "From two dimensions a probe reads R² ", "Once erased, "):
        assert any(title.startswith(start) for title in titles), titles
    page.selectbox(key="travel_to").set_value("").run()
    page = settle(page)
    assert "travel_to" not in page.query_params
    assert "travel" not in charts_by_key(page)


def test_the_length_is_erased_and_the_vectors_projected_at_a_click(open_page: Callable[..., AppTest]) -> None:
    page = open_page()
    assert not {"erasure", "projection"} & charts_by_key(page).keys()
    page.button(key="erase-start").click().run()
    page.button(key="project-start").click().run()
    page = settle(page)
    assert (page.query_params["erase"], page.query_params["project"]) == ("yes", "yes")
    assert {"erasure", "projection"} <= charts_by_key(page).keys()
    assert not {"erase-start", "project-start"} & {button.key for button in page.button}


def test_cards_are_closed_at_first_but_for_those_whose_content_a_link_asks_for(
    tiny_folder: Path, corpus: str, measured: Path, tmp_path: Path
) -> None:
    shutil.copytree(measured, tmp_path / "store", dirs_exist_ok=True)
    query = QUERY | {"model": str(tiny_folder), "corpus": corpus}
    page = settle(linked(query, PAGE).run())
    assert charts_by_key(page).keys() == {"lines"}
    page = settle(linked(query | {"erase": "yes", "heat": "probe"}, PAGE).run())
    assert charts_by_key(page).keys() == {"lines", "erasure", "cells"}


def test_sentences_are_altered_at_a_click_which_can_be_stopped_and_a_link_has_it(
    open_page: Callable[..., AppTest], monkeypatch: pytest.MonkeyPatch, offered: dict[str, Callable[[], bytes]]
) -> None:
    page = open_page()
    blocked = threading.Event()
    measure = where_length_lives.measure_altered

    def wait(*args: Any) -> Any:
        while not blocked.wait(0.01):
            args[-2].check()
        return measure(*args)

    monkeypatch.setattr(where_length_lives, "measure_altered", wait)
    assert page.button(key="origin-start").label.startswith("Measure five changes · about ")
    page.button(key="origin-start").click().run()
    assert page.query_params["origin"] == "250"  # the most that there are of those offered
    page.button(key="origin-stop").click().run()
    page = settle(page)  # which it would not, if the job went on
    assert "origin" not in page.query_params
    blocked.set()
    page.button(key="origin-start").click().run()
    page = settle(page)
    assert {f"origin-{alteration}" for alteration in Alteration} <= charts_by_key(page).keys()
    assert all(words.probing.ALTERATIONS[alteration].catches in texts(page) for alteration in Alteration)
    assert "Altered sentences (CSV)" in offered
    page.button(key="origin-close").click().run()
    assert "origin" not in settle(page).query_params


def test_untrained_models_are_a_band_once_they_are_asked_for(
    open_page: Callable[..., AppTest], offered: dict[str, Callable[[], bytes]]
) -> None:
    page = open_page()
    assert "random weights" not in {trace.get("name") for trace in charts_by_key(page)["lines"]["data"]}
    page.button(key="random-start").click().run()
    page = settle(page)
    assert page.query_params["random_weights"] == "yes"
    drawn = charts_by_key(page)
    assert "random weights" in {trace.get("name") for trace in drawn["lines"]["data"]}
    assert "Random weights (CSV)" in offered
    page = open_page(length_cutoff="30", random_weights="yes")
    assert "random weights" in {trace.get("name") for trace in charts_by_key(page)["lines"]["data"]}


def test_every_control_is_one_click_and_another_takes_it_back(open_page: Callable[..., AppTest]) -> None:
    page = open_page()
    before = charts(page)[0]["data"]
    for label, name, value in (
        ("Shuffle lengths", "lengths", Lengths.SHUFFLED),
        ("In characters", "unit", Unit.CHARACTERS),
    ):
        page.button(key=f"control-{label}").click().run()
        page = settle(page)
        assert page.query_params[name] == value
        assert charts(page)[0]["data"] != before
        page.button(key=f"control-{label}").click().run()
        page = settle(page)
        assert name not in page.query_params
    page.button(key="control-Untrained model").click().run()
    page = settle(page)
    assert page.query_params["model"].startswith(UNTRAINED)
    assert answer(page).startswith("Random weights: ")
    assert "random-start" not in {button.key for button in page.button}  # they are what it would be compared with


def test_tiny_samples_and_models_without_a_pooler_explain_themselves(
    open_page: Callable[..., AppTest], tmp_path: Path
) -> None:
    assert answer(open_page(sample_size="4")).startswith("Can’t tell: 4 sentences are too few")
    page = open_page(model=str(write_bert(tmp_path / "plain", pooler=False)), layer="0", project="yes")
    assert charts_by_key(page)["cells"]["data"][0]["z"]["shape"].split(",")[0].strip() == "3"
    assert any("same for all sentences" in info.value for info in page.info)


def test_shuffled_lengths_have_a_band_of_five_draws(open_page: Callable[..., AppTest]) -> None:
    page = open_page(lengths="shuffled", pooling="mean")
    drawn = {trace.get("name"): trace for trace in charts_by_key(page)["lines"]["data"]}
    assert drawn.keys() == {None, "five shuffles", "mean-pooled vector", "its norm", "guessing"}
    packed = drawn["five shuffles"]["y"]
    middles = np.frombuffer(base64.b64decode(packed["bdata"]), packed["dtype"])
    np.testing.assert_allclose(middles, drawn["guessing"]["y"][0], rtol=0.1)
    assert "five draws of shuffled lengths" in texts(page)


def test_until_there_is_a_verdict_the_picture_of_before_stays_dimmed(
    open_page: Callable[..., AppTest], monkeypatch: pytest.MonkeyPatch
) -> None:
    page = open_page()
    before, verdict = charts_by_key(page)["lines"], answer(page)
    job = job_of(page)
    with monkeypatch.context() as patch:  # as while vectors of the same sentences are measured again
        patch.setattr(job, "state", State.RUNNING)
        page.run()
        assert (charts_by_key(page)["lines"]["data"], answer(page)) == (before["data"], verdict)
        assert words.waiting.SETTINGS_BEFORE not in texts(page)
        assert {plain(card.label) for card in page.expander} >= {"Six length bins: being computed…"}
        page.select_slider(key="length_cutoff").set_value(20).run()
        assert charts_by_key(page)["lines"]["data"] == before["data"]
        assert words.waiting.SETTINGS_BEFORE in texts(page)
        assert answer(page) == words.profile.FITTING
    page = settle(page.run())
    assert charts_by_key(page)["lines"]["data"] != before["data"]
    assert words.waiting.SETTINGS_BEFORE not in texts(page)


def test_before_the_first_result_an_example_is_shown_dimmed(
    tiny_folder: Path, corpus: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(view, "covered", lambda job, experiment: None)  # as while nothing is measured
    page = settle(linked(QUERY | {"model": str(tiny_folder), "corpus": corpus}, PAGE).run())
    assert words.layer_cards.EXAMPLE in texts(page)
    assert "random weights" in {trace.get("name") for trace in charts_by_key(page)["lines"]["data"]}
    assert not answer(page).startswith("Yes")


def test_while_vectors_come_the_profile_is_of_a_round_number_of_the_first_ones(
    open_page: Callable[..., AppTest], monkeypatch: pytest.MonkeyPatch
) -> None:
    page = open_page(probe_size="200")
    job, experiment = job_of(page), page.session_state.written.experiment
    assert len(view.covered(job, experiment).vectors) == 200
    with monkeypatch.context() as patch:
        patch.setattr(job, "state", State.RUNNING)
        assert len(view.covered(job, experiment).vectors) == 128
    np.testing.assert_array_equal(view.covered(job, experiment).vectors.n_tokens, job.work.found.vectors.n_tokens)
