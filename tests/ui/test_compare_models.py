"""The page “Compare models”."""

import re
import shutil
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest
from support.app import BOXES, answer, charts, linked, plain, redraw, settle, texts
from support.tiny import write_piecewise_bert
from support.waiting import wait_for

from clsviz.encoder import Encoder
from clsviz.jobs import Cost, Extraction, Job, State
from clsviz.measurements import Kind
from clsviz.settings import Pooling, Precision
from clsviz.statistics import line
from clsviz.ui.parts import share
from clsviz.ui.state import server, session

PAGE = "compare_models"

QUERY = {"sample_size": "200", "length_cutoff": "20"}


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory, tiny_folder: Path) -> list[str]:
    return [str(tiny_folder), str(write_piecewise_bert(tmp_path_factory.mktemp("models") / "by-pieces"))]


@pytest.fixture(scope="module")
def measured_store(store_with: Callable[[Mapping[str, str], str], Path], folders: list[str]) -> Path:
    """A store with all that the page shows by default."""
    return store_with(QUERY | {"models": ",".join(folders)}, PAGE)


@pytest.fixture
def link_to(folders: list[str], corpus: str, measured_store: Path, tmp_path: Path) -> Callable[..., AppTest]:
    """A link, by default to two models on 200 sentences, which are measured already; a setting of None is left out."""
    shutil.copytree(measured_store, tmp_path / "store", dirs_exist_ok=True)

    def link_to(**query: str | None) -> AppTest:
        settings = QUERY | {"models": ",".join(folders), "corpus": corpus} | query
        return linked({name: value for name, value in settings.items() if value is not None}, PAGE, BOXES).run()

    return link_to


@pytest.fixture
def open_page(link_to: Callable[..., AppTest]) -> Callable[..., AppTest]:
    """The same, once nothing is being computed any more."""
    return lambda **query: settle(link_to(**query))


def jobs_of(page: AppTest) -> list[Job]:
    return list(page.session_state.watched.values())


def table(page: AppTest) -> pd.DataFrame:
    """The table as it is shown, a row a model by its label."""
    return page.dataframe[0].value.set_index("label")


def measured(page: AppTest, model: str) -> Any:
    """What was measured of a model's norms."""
    (job,) = [job for job in jobs_of(page) if job.work.kind is Kind.NORMS and job.work.experiment.model == model]
    return job.work.found


def test_the_models_are_measured_on_the_same_sentences(open_page: Callable[..., AppTest], folders: list[str]) -> None:
    page = open_page()
    founds = [measured(page, folder) for folder in folders]
    assert founds[0].sentences == founds[1].sentences
    both = np.flatnonzero(np.all([found.measurements.n_tokens < 20 for found in founds], axis=0))
    assert 50 < len(both) < min(np.count_nonzero(founds[0].measurements.n_tokens < 20), 200)
    for label, found in zip(["tiny-bert", "by-pieces"], founds, strict=True):
        fit = line.fit(found.measurements.n_tokens[both], found.measurements.cls_norms[both, -1])
        row = table(page).loc[label]
        assert (row["r_squared"], row["n_sentences"]) == (pytest.approx(fit.r_squared), len(both))
        assert row["probe_r_squared"] > row["r_squared"]
    assert f"The comparison uses {len(both)} of 200 sentences: those under 20 tokens for every model." in texts(page)
    assert answer(page).startswith("Too few sentences to say; the highest is ")
    pictures, of_norm, of_vector = charts(page)
    assert [len(t["text"]) for t in pictures["data"] if t["mode"] == "markers"] == [len(both)] * 2
    assert [len(figure["data"]) for figure in (of_norm, of_vector)] == [2, 2]
    tasks = set(server.jobs()._analyses)  # one a model: every layer is probed, whichever is shown
    page.select_slider(key="layer_2").set_value(1).run()
    assert set(server.jobs()._analyses) == tasks


def test_lengths_by_other_tokenizers_are_pointed_out_and_words_offered(open_page: Callable[..., AppTest]) -> None:
    page = open_page()
    assert "Each model has its own tokenizer, so the same sentences differ in length" in texts(page)
    page.button(key="count_in_words").click().run()
    page = settle(page)
    assert page.query_params["unit"] == "words"
    assert "Lengths are counted in words, which are the same for all models" in texts(page)
    assert not [button for button in page.button if button.key == "count_in_words"]


def test_a_link_restores_models_and_axes_and_names_what_cannot_be_used(
    open_page: Callable[..., AppTest], folders: list[str]
) -> None:
    page = open_page(axes="free", layer="1")
    assert page.multiselect(key="models").value == folders
    assert (page.query_params["axes"], page.query_params["models"]) == ("free", ",".join(folders))
    assert "matches" not in charts(page)[0]["layout"]["yaxis2"]
    page.toggle(key="axes").set_value(False).run()
    assert "axes" not in page.query_params
    assert charts(page)[0]["layout"]["yaxis2"]["matches"] == "y"
    assert "axes is “crooked”; it must be free" in texts(open_page(axes="crooked"))


def test_without_models_in_the_link_the_current_one_meets_its_untrained_self(
    open_page: Callable[..., AppTest], folders: list[str]
) -> None:
    page = open_page(models=None, model=folders[0], sample_size="100")
    assert page.query_params["models"] == f"{folders[0]},untrained:{folders[0]}"
    assert "There is no regression line for untrained tiny-bert: the norm is the same for all" in texts(page)
    page.segmented_control(key="pooling").set_value(Pooling.POOLER).run()
    assert table(settle(page))["r_squared"].notna().all()


def test_a_model_that_fails_says_why_in_its_row_and_the_others_go_on(
    open_page: Callable[..., AppTest], folders: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken: dict[str, Callable[[], pd.DataFrame]] = {}
    monkeypatch.setattr(share, "table_downloads", lambda label, name, table, about: taken.update({label: table}))
    empty = tmp_path / "empty"
    empty.mkdir()
    page = open_page(models=f"{folders[0]},{empty},{folders[1]}")
    assert "config.json" in table(page).loc["empty", "problem"]
    assert str(tmp_path) not in taken["Table"]().to_csv()
    assert table(page)["r_squared"].notna().tolist() == [True, False, True]
    (error,) = page.sidebar.error
    assert plain(error.value).startswith("empty: ")
    assert [repeated.value for repeated in page.main.error] == [error.value]  # for phones
    write_piecewise_bert(empty)
    page.button(key="run").click().run()  # Try again
    page = settle(page)
    assert table(page)["r_squared"].notna().all()
    assert not page.error


def test_errors_about_the_corpus_and_the_store_stand_once_where_their_cause_is(
    open_page: Callable[..., AppTest], tmp_path: Path
) -> None:
    (tmp_path / "empty.txt").write_text("\n")
    page = open_page(corpus=str(tmp_path / "empty.txt"))
    (error,) = page.sidebar.error
    order = [element.key or element.type for element in page.sidebar if element.key or element.type == "error"]
    assert order.index("models") < order.index("corpus") < order.index("error") < order.index("sample_size")
    assert "empty.txt" in plain(error.value)
    server.jobs().close()
    st.cache_resource.clear()  # another server
    for folder in (tmp_path / "store").glob("norms-*"):
        shutil.rmtree(folder)
        folder.write_text("no folder")
    page = open_page()
    (error,) = page.sidebar.error  # the same for both models
    assert re.match("tiny-bert, by-pieces: .* cannot be used", plain(error.value))
    assert table(page)["problem"].str.contains("cannot be used").all()


def test_names_that_cannot_be_compared_are_refused_and_two_are_asked_for(
    link_to: Callable[..., AppTest], folders: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Extraction, "look_up", lambda self, progress: Cost(240.0))
    page = link_to()
    for more, message in (
        ([folders[0]], "is already in the comparison"),
        (["x" * 600], "model is “xxx"),
        (["owner/a,b"], "contains a comma"),
        ([f"owner/model{n}" for n in range(5)], "At most 6 models can be compared, so owner/model4 was left out"),
    ):
        page.multiselect(key="models").set_value([*folders, *more]).run()
        assert message in texts(page), more
        page.multiselect(key="models").set_value(folders).run()
    page.multiselect(key="models").set_value([]).run()
    assert not page.exception
    assert "Choose at least two models" in page.info[0].value


def test_one_button_starts_all_that_waits(open_page: Callable[..., AppTest], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Extraction, "look_up", lambda self, progress: Cost(60.0, 100))
    page = open_page(seed="1")
    assert page.button(key="run").label == "Run all · about 4 min · 200 MB"
    assert "Press Run all" in texts(page)
    page.button(key="run").click().run()
    page = settle(page)
    assert all(job.state is State.DONE for job in jobs_of(page))
    assert table(page)["probe_r_squared"].notna().all()


def test_cancelling_keeps_what_is_measured(
    link_to: Callable[..., AppTest], folders: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    measure = Encoder.measure

    def slow(self: Encoder, sentences: list[str], on_batch: Callable[[int], None] | None = None) -> Any:
        while on_batch and self.weights.label == "by-pieces" and len(sentences) > 32:
            on_batch(0)
            time.sleep(0.01)
        return measure(self, sentences, on_batch)

    with monkeypatch.context() as patch:
        patch.setattr(Encoder, "measure", slow)
        page = link_to(seed="1")
        wait_for(lambda: (found := measured(page, folders[1])) is not None and len(found.measurements) == 64)
        page.run()
        page.button(key="cancel").click().run()
        page = settle(page)
    assert page.button(key="run").label == "Continue"
    assert "by-pieces: stopped at 64 of 200 norms" in texts(page)
    page.button(key="run").click().run()
    assert table(settle(page))["r_squared"].notna().all()


def test_small_and_constant_samples_explain_themselves(open_page: Callable[..., AppTest]) -> None:
    assert "at least 3 are needed" in texts(open_page(sample_size="2", length_cutoff="512"))
    page = open_page(layer="0")
    assert table(page)["problem"].str.contains("The norm is the same").all()


def test_the_view_is_brought_back_to_what_all_models_have(open_page: Callable[..., AppTest]) -> None:
    page = open_page(layer="2", pooling="mean", precision="fast")
    assert page.session_state.layer == session.LAST
    assert page.session_state.pooling is Pooling.CLS
    assert page.session_state.precision is Precision.FAST  # which the main page still has
    assert all(job.work.experiment.precision is Precision.EXACT for job in jobs_of(page))
    assert "compared in exact precision" in texts(page)
    assert "Layer 2 is the last layer of tiny-bert. Every model now shows its last layer." in texts(page)


def test_the_controls_that_lie_on_the_pictures_change_the_whole_page_and_its_link(
    open_page: Callable[..., AppTest], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As the browser has it: only the part that they are in is run."""
    page = open_page()
    page.toggle(key="axes").set_value(True)
    redraw(page, monkeypatch, "clsviz.ui.compare_models.page")
    assert page.query_params["axes"] == "free"
