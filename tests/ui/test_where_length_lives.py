"""The page “Where length lives”, without a browser."""

import base64
import io
import json
import re
import shutil
import threading
import types
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
import streamlit as st
from scipy import stats
from streamlit.testing.v1 import AppTest
from support.app import BOXES, answer, chart, charts, job_of, linked, plain, settle
from support.tiny import random_sentences, write_bert

from clsviz import analysis, corpora, words
from clsviz.measurements import Kind
from clsviz.measuring import State
from clsviz.models import UNTRAINED
from clsviz.settings import Alteration, Lengths, Pooling, Unit
from clsviz.ui.state import server
from clsviz.ui.where_length_lives import cells, origin, profile

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


def numbers(values: Any) -> Any:
    """Numbers of a chart, which come as lists or in base64."""
    if isinstance(values, list):
        return np.array(values, float)
    array = np.frombuffer(base64.b64decode(values["bdata"]), values["dtype"])
    return array.reshape([int(n) for n in values["shape"].split(",")]) if "shape" in values else array


def texts(page: AppTest) -> str:
    return plain(" ".join(element.value for element in [*page.markdown, *page.caption, *page.info]))


def figures(page: AppTest) -> dict[str, str]:
    """What the line under the answer has: R² of the best and the last layer's probe, and of the last norm; sentences.

    "" for what it has not.
    """
    line = next((plain(caption.value) for caption in page.caption if "errors are means" in caption.value), "")
    found = re.fullmatch(
        r"(?:Held-out R² (?P<best>\S+|below 0) (?P<where>a.+?) · )?(?:R² (?P<last>\S+|below 0) after the last · )?"
        r"(?:a line on the last norm R² (?P<norm>[^ ,]+|below 0), not held out · )?"
        r"(?P<sentences>[\d,]+) sentences under \d+ tokens, .*",
        line,
    )
    names = ("best", "where", "last", "norm", "sentences")
    return found.groupdict("") if found else dict.fromkeys(names, "")


def best_layer(page: AppTest) -> tuple[float, float]:
    """R² and mean error of the best probe of [CLS], of the profile that the page has."""
    found = job_of(page).work.found
    experiment = page.session_state.written.experiment
    best = server.analyse(analysis.layers.profiles, found, experiment.view.of_all_vectors).work.result.best
    return best.r_squared, best.error


def test_the_page_says_where_length_is_and_draws_it(open_page: Callable[..., AppTest]) -> None:
    page = open_page()
    assert plain(page.title[0].value) == "Where does tiny-bert write the length of a sentence?"
    found = job_of(page).work.found
    assert found is not None
    assert job_of(page).work.kind is Kind.VECTORS
    used = np.flatnonzero(found.vectors.n_tokens < 80)
    assert figures(page)["sentences"] == f"{len(used):,}"
    best, error = best_layer(page)
    lengths = found.vectors.n_tokens[used]
    assert answer(page).startswith(f"A linear probe misses length by {error:.1f} tokens {figures(page)['where']}, ")
    guess = re.search(r", guessing (\d+\.\d)\.$", answer(page))
    assert guess
    assert float(guess[1]) == pytest.approx(
        np.abs(lengths - lengths.mean()).mean(), abs=0.15
    )  # of all, and not by fold
    assert len(answer(page).split()) <= 25
    assert figures(page)["best"] == f"{best:.3f}"
    assert "straight line on the norm reads" in texts(page)
    assert f"off by {error:.1f} tokens on average" in texts(page)
    assert f"(R² {best:.3f})" in texts(page)
    lines, heat, _, spread, *_ = charts(page)
    norms = found.vectors.norms(Pooling.CLS, 2)[used]
    expected = stats.pearsonr(found.vectors.n_tokens[used], norms).statistic ** 2
    assert float(figures(page)["norm"]) == pytest.approx(expected, abs=6e-4)
    names = [trace.get("name") for trace in lines["data"]]
    for line in ("whole vector", "direction alone", "norm alone", "mean-pooled", "pooler output"):
        assert line in names
    cells = numbers(heat["data"][0]["z"])
    assert cells[0, -1] == pytest.approx(expected)
    assert cells.shape == (4, 3)
    assert len(numbers(chart(page)["data"][0]["x"])) == len(used)
    assert len(spread["data"]) >= 1


def test_a_link_opens_the_scatter_of_its_cell(open_page: Callable[..., AppTest]) -> None:
    page = open_page(pooling="mean", layer="1", heat="probe")
    found = job_of(page).work.found
    assert found is not None
    scatter = chart(page)
    used = np.flatnonzero(found.vectors.n_tokens < 80)
    np.testing.assert_allclose(
        np.sort(numbers(scatter["data"][0]["y"])), np.sort(found.vectors.norms(Pooling.MEAN, 1)[used]), rtol=1e-6
    )
    assert page.query_params["heat"] == "probe"
    assert page.query_params["pooling"] == "mean"
    frame = charts(page)[1]["layout"]["shapes"][0]
    assert ((frame["x0"] + frame["x1"]) / 2, (frame["y0"] + frame["y1"]) / 2) == (1, 1)
    assert "Only the vectors of single tokens" in texts(page)


def test_the_length_is_erased_and_probes_travel_where_a_link_asks_for_it(
    open_page: Callable[..., AppTest], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    offered: dict[str, Callable[[], bytes]] = {}
    monkeypatch.setattr("streamlit.download_button", lambda label, data, *_, **__: offered.update({label: data}))
    other = io.BytesIO("\n".join(random_sentences(200, seed=8)).encode())
    name = corpora.keep_upload(other, "other.txt", tmp_path / "store" / "corpora")
    page = open_page(erase="yes", travel_to=name)
    assert (page.query_params["erase"], page.query_params["travel_to"]) == ("yes", name)
    said = texts(page)
    assert "Once the length is erased, a linear probe reads R²" in said
    assert "Trained on sentences.txt and read on other.txt" in said
    bars = next(chart for chart in charts(page) if chart["layout"].get("barmode") == "group")
    assert [trace["name"] for trace in bars["data"]] == ["before", "length erased", "shuffled lengths erased"]
    table = pd.read_csv(io.BytesIO(offered["Other corpus (CSV)"]()))
    lines = next(chart for chart in charts(page) if "Mean error" in str(chart["layout"]["yaxis"].get("title")))
    across = next(trace for trace in lines["data"] if trace["name"] == "other corpus")
    np.testing.assert_allclose(numbers(across["y"])[1:], table["across_error"][1:])
    erased = pd.read_csv(io.BytesIO(offered["Length erased (CSV)"]()))
    before = erased[(erased["version"] == "before") & (erased["measure"] == "Linear probe, R²")]["mean"].item()
    assert f"(before: {before:.2f})" in said
    page.toggle(key="erase").set_value(False).run()
    page.selectbox(key="travel_to").set_value("").run()
    settle(page)
    assert "erase" not in page.query_params
    assert "travel_to" not in page.query_params
    assert "Once the length" not in texts(page)


def test_sentences_are_altered_at_a_click_and_a_link_has_it(
    open_page: Callable[..., AppTest], monkeypatch: pytest.MonkeyPatch
) -> None:
    offered: dict[str, Callable[[], bytes]] = {}
    monkeypatch.setattr("streamlit.download_button", lambda label, data, *_, **__: offered.update({label: data}))
    page = open_page()
    n_charts = len(charts(page))
    assert page.button(key="origin-start").label.startswith("Measure five changes · about ")
    assert "Altered sentences (CSV)" not in offered
    page.button(key="origin-start").click().run()
    assert page.query_params["origin"] == "250"  # the most that there are of those offered
    settle(page)
    pictures = [chart for chart in charts(page) if {trace.get("name") for trace in chart["data"]} & {"natural"}]
    assert len(pictures) == 5 == len(charts(page)) - n_charts
    table = pd.read_csv(io.BytesIO(offered["Altered sentences (CSV)"]()))
    for picture, alteration in zip(pictures, Alteration, strict=True):
        line = [trace for trace in picture["data"] if trace.get("name")][1]
        expected = table[table["sentences"] == str(alteration)]["r_squared"]
        np.testing.assert_allclose(numbers(line["y"]), expected)
        assert words.origin.LABELS[alteration].catches in texts(page)
    assert "natural sentences R²" in texts(page)
    linked_page = open_page(origin="250")
    assert len(charts(linked_page)) == len(charts(page))
    page.button(key="origin-close").click().run()
    settle(page)
    assert "origin" not in page.query_params
    assert len(charts(page)) == n_charts
    page = open_page(origin="7")
    assert "origin is “7”; it must be a number of sentences from 100 to 20,000." in plain(page.warning[0].value)


def test_altering_can_be_stopped(open_page: Callable[..., AppTest], monkeypatch: pytest.MonkeyPatch) -> None:
    page = open_page()
    blocked = threading.Event()
    measure = origin.measure_altered

    def wait(*args: Any) -> Any:
        progress = args[-1]
        while not blocked.wait(0.01):
            progress.check()
        return measure(*args)

    monkeypatch.setattr(origin, "measure_altered", wait)
    page.button(key="origin-start").click().run()
    page.button(key="origin-stop").click().run()
    settle(page)  # which it would not, if the job went on
    assert "origin" not in page.query_params
    blocked.set()
    page.button(key="origin-start").click().run()
    settle(page)
    assert "natural sentences R²" in texts(page)


def test_every_control_is_one_click_and_another_takes_it_back(open_page: Callable[..., AppTest]) -> None:
    page = open_page()
    before = charts(page)[0]["data"]
    for label, name, value in (
        ("Shuffle lengths", "lengths", Lengths.SHUFFLED),
        ("In words", "unit", Unit.WORDS),
        ("In characters", "unit", Unit.CHARACTERS),
    ):
        page.button(key=f"control-{label}").click().run()
        settle(page)
        assert page.query_params[name] == value
        if name == "unit":
            assert charts(page)[0]["layout"]["yaxis"]["title"]["text"] == f"R² of length in {value}"
        assert (charts(page)[0]["data"] != before) == (value is not Unit.WORDS)  # every word of theirs is a token
        if value is Lengths.SHUFFLED:
            assert answer(page).startswith("Lengths shuffled: a linear probe")
            assert "Control, with lengths shuffled across sentences: a linear probe" in texts(page)
            best, _ = best_layer(page)
            assert best < 0.1
            assert figures(page)["best"] == (f"{best:.3f}" if round(best, 3) >= 0 else "below 0")
        page.button(key=f"control-{label}").click().run()
        settle(page)
        assert name not in page.query_params
    page.button(key="control-Untrained model").click().run()
    settle(page)
    assert page.query_params["model"].startswith(UNTRAINED)
    assert "untrained tiny-bert" in plain(page.title[0].value)
    assert answer(page).startswith("Untrained: ")
    page.button(key="control-Untrained model").click().run()
    settle(page)
    assert charts(page)[0]["data"] == before


def test_fewer_vectors_than_sentences_are_the_first_ones(open_page: Callable[..., AppTest]) -> None:
    page = open_page(probe_size="60")
    found = job_of(page).work.found
    assert found is not None
    assert len(found.vectors) == 60
    assert "60 sentences measured" in texts(page)
    assert not page.warning  # they are no whole corpus
    page.select_slider(key="probe_size").set_value(200).run()
    settle(page)
    assert len(job_of(page).work.found.vectors) == 200


def test_tiny_samples_and_constant_lengths_explain_themselves(open_page: Callable[..., AppTest]) -> None:
    page = open_page(sample_size="4")
    assert answer(page).startswith("Not tested: 4 sentences are too few")
    assert "A probe needs at least 10 sentences, and there are only 4" in texts(page)
    assert "different ones. Take more." in texts(page)
    page = open_page(sample_size="150", length_cutoff="2")
    assert re.match("Not tested: [1-9] sentences are too few", answer(page))


def test_a_model_without_a_pooler_has_one_row_less(open_page: Callable[..., AppTest], tmp_path: Path) -> None:
    page = open_page(model=str(write_bert(tmp_path / "plain", pooler=False)))
    assert numbers(charts(page)[1]["data"][0]["z"]).shape == (3, 3)
    assert "pooler" not in answer(page)


def test_downloads_hold_what_is_drawn(open_page: Callable[..., AppTest], monkeypatch: pytest.MonkeyPatch) -> None:
    offered: dict[str, Callable[[], bytes]] = {}

    def button(label: str, data: Callable[[], bytes], *_: object, **__: object) -> None:
        offered[label] = data

    monkeypatch.setattr("streamlit.download_button", button)
    page = open_page()
    readings = pd.read_csv(io.BytesIO(offered["Layers (CSV)"]()))
    parquet = pq.read_table(io.BytesIO(offered["Layers (Parquet)"]()))
    assert parquet.num_rows == len(readings) == 3 * 3 + 1 + (3 + 1 + 3) + 2 * 3
    about = json.loads(parquet.schema.metadata[b"clsviz"])
    assert about["model_fingerprint"] == job_of(page).work.found.weights.fingerprint
    best = readings[(readings["pooling"] == "cls") & (readings["readout"] == "vector")]["r_squared"].max()
    assert f"{best:.3f}" == figures(page)["best"]
    dimensions = pd.read_csv(io.BytesIO(offered["Dimensions (CSV)"]()))
    assert dimensions["share_of_squared_norm"].sum() == pytest.approx(1)


def test_until_vectors_are_measured_the_lines_of_before_stay_and_say_so(
    open_page: Callable[..., AppTest], monkeypatch: pytest.MonkeyPatch, tiny_folder: Path
) -> None:
    page = open_page()
    before = charts(page)[0]["data"]
    monkeypatch.setattr("clsviz.ui.where_length_lives.profile.covered", lambda job, experiment: None)
    page.select_slider(key="length_cutoff").set_value(20).run()
    kept = charts(page)[0]
    assert [trace["y"] for trace in kept["data"]] == [trace["y"] for trace in before]
    assert {trace["opacity"] for trace in kept["data"]} == {0.3}
    assert kept["layout"]["annotations"][0]["text"] == "Of the settings before, until there is more"
    page.button(key="control-Untrained model").click().run()  # what was drawn of another model is none of this one's
    assert not charts(page)[0]["layout"].get("annotations")
    monkeypatch.undo()


def test_what_takes_long_waits_for_run(open_page: Callable[..., AppTest], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clsviz.measuring.jobs.FREE_SECONDS", -1.0)
    page = open_page(seed="1")
    assert job_of(page).state is State.WAITING
    assert "Press Run" in answer(page)
    page.button(key="run").click().run()
    settle(page)
    assert figures(page)["sentences"] == "300"


def test_settings_of_the_page_that_cannot_be_used_are_named(open_page: Callable[..., AppTest]) -> None:
    page = open_page(heat="everything")
    assert "heat is “everything”; it must be probe, or left out." in plain(page.warning[0].value)


@pytest.mark.parametrize(
    ("row", "layer", "pooling", "chosen"),
    [(0, 1, Pooling.CLS, 1), (1, 0, Pooling.MEAN, 0), (2, 2, Pooling.MAX, "last"), (3, 2, Pooling.POOLER, "last")],
)
def test_a_click_on_a_cell_chooses_it(
    monkeypatch: pytest.MonkeyPatch,
    row: int,
    layer: int,
    pooling: Pooling,
    chosen: int | str,
) -> None:
    state = types.SimpleNamespace(pooling=None, layer=None)
    monkeypatch.setattr(st, "session_state", state)
    cells.choose(row, layer, n_layers=2)
    assert (state.pooling, state.layer) == (pooling, chosen)


def test_while_vectors_come_the_profile_is_of_a_round_number_of_them(
    open_page: Callable[..., AppTest], monkeypatch: pytest.MonkeyPatch
) -> None:
    page = open_page()
    job, experiment = job_of(page), page.session_state.written.experiment
    monkeypatch.setattr("clsviz.ui.state.watching.found", lambda job, experiment: job.work.found)
    assert len(profile.covered(job, experiment).vectors) == 300
    monkeypatch.setattr(job, "state", State.RUNNING)
    assert len(profile.covered(job, experiment).vectors) == 256
    monkeypatch.setattr(job, "state", State.DONE)
