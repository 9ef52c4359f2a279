"""The page “Compare models”, without a browser."""

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
from support.app import BOXES, answer, charts, linked, plain, redraw, texts
from support.tiny import write_piecewise_bert
from support.waiting import wait_for

from clsviz import statistics
from clsviz.encoder import Encoder
from clsviz.measurements import Kind
from clsviz.measuring import Cost, Extraction, Job, State
from clsviz.settings import Pooling, Precision, Unit
from clsviz.ui.compare_models import results
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
def open_page(folders: list[str], corpus: str, measured_store: Path, tmp_path: Path) -> Callable[..., AppTest]:
    """Open a link to the page, by default to two models on 200 sentences, which are measured already.

    A setting of None is left out.
    """
    shutil.copytree(measured_store, tmp_path / "store", dirs_exist_ok=True)

    def open_page(**query: str | None) -> AppTest:
        settings = QUERY | {"models": ",".join(folders), "corpus": corpus} | query
        return linked({name: value for name, value in settings.items() if value is not None}, PAGE, BOXES).run()

    return open_page


def jobs_of(page: AppTest) -> list[Job]:
    return list(page.session_state.watched.values())


def finish(page: AppTest) -> AppTest:
    """Wait until the page's jobs and analyses have ended, and show what they found."""
    wait_for(lambda: not any(job.state.is_active for job in jobs_of(page)))
    page.run()
    wait_for(lambda: server.jobs().is_idle)
    page.run()
    assert not page.exception
    return page


def table(page: AppTest) -> pd.DataFrame:
    """The table as it is shown, a row a model by its label."""
    frame = page.dataframe[0].value
    return frame.set_index("label")


def panels(figure: dict[str, Any]) -> list[dict[str, Any]]:
    """The clouds of a figure, without the lines through them."""
    return [trace for trace in figure["data"] if trace["mode"] == "markers"]


def measured(page: AppTest, model: str) -> Any:
    """What was measured of a model's norms."""
    (job,) = [job for job in jobs_of(page) if job.work.kind is Kind.NORMS and job.work.experiment.model == model]
    return job.work.found


def test_the_models_are_measured_on_the_same_sentences(open_page: Callable[..., AppTest], folders: list[str]) -> None:
    page = finish(open_page())
    founds = [measured(page, folder) for folder in folders]
    assert founds[0].sentences == founds[1].sentences
    both = np.flatnonzero(np.all([found.measurements.n_tokens < 20 for found in founds], axis=0))
    assert 50 < len(both) < min(np.count_nonzero(founds[0].measurements.n_tokens < 20), 200)
    shown = table(page)
    for label, found in zip(["tiny-bert", "by-pieces"], founds, strict=True):
        fit = statistics.fit(found.measurements.n_tokens[both], found.measurements.cls_norms[both, -1])
        row = shown.loc[label]
        assert (row["r_squared"], row["slope"], row["spearman"]) == pytest.approx(
            (fit.r_squared, fit.slope, fit.spearman)
        )
        assert row["n_sentences"] == len(both)
        assert row["norm_sd"] == pytest.approx(fit.norm_sd)
        assert row["n_parameters"] == found.weights.n_parameters
        assert row["sentences_per_second"] > 0
        assert row["probe_r_squared"] > row["r_squared"]
    assert f"The comparison uses {len(both)} of 200 sentences: those under 20 tokens for every model." in texts(page)
    shares = shown["r_squared"].map("{:.1%}".format)
    assert re.fullmatch(
        rf"Too few sentences to tell: a line in length explains {shares.max()} of the differences between norms in "
        rf"{shown['r_squared'].idxmax()}, {shares.min()} in {shown['r_squared'].idxmin()}\.",
        answer(page),
    )
    pictures, of_norm, of_vector = charts(page)
    assert [len(cloud["text"]) for cloud in panels(pictures)] == [len(both)] * 2
    assert [len(figure["data"]) for figure in (of_norm, of_vector)] == [2, 2]
    assert len(table(page)) == 2
    assert page.main.title[0].value == r"Which model encodes the length of a sentence in the norm of its \[CLS\]?"


def test_lengths_by_other_tokenizers_are_pointed_out_and_words_offered(open_page: Callable[..., AppTest]) -> None:
    page = finish(open_page())
    assert "Each model has its own tokenizer, so the same sentences differ in length" in texts(page)
    x = [cloud["x"] for cloud in panels(charts(page)[0])]
    assert x[0] != x[1]
    page.button(key="count_in_words").click().run()
    finish(page)
    assert page.query_params["unit"] == "words"
    assert "Lengths are counted in words, which are the same for all models" in texts(page)
    pictures = charts(page)[0]
    x = [cloud["x"] for cloud in panels(pictures)]
    assert x[0] == x[1]
    assert all("%{x} words<br>" in cloud["hovertemplate"] for cloud in panels(pictures))
    assert not [button for button in page.button if button.key == "count_in_words"]
    assert {"mean_length", "mean_tokens"} <= set(table(page).columns)


def test_a_link_restores_models_and_axes(open_page: Callable[..., AppTest], folders: list[str]) -> None:
    page = finish(open_page(axes="free", layer="1"))
    assert page.multiselect(key="models").value == folders
    assert page.toggle(key="axes").value is True
    assert page.query_params["axes"] == "free"
    assert page.query_params["models"] == ",".join(folders)
    assert "yaxis2" in charts(page)[0]["layout"]
    assert "matches" not in charts(page)[0]["layout"]["yaxis2"]
    page.toggle(key="axes").set_value(False).run()
    assert "axes" not in page.query_params
    assert charts(page)[0]["layout"]["yaxis2"]["matches"] == "y"


def test_a_link_with_axes_that_are_none_says_so(open_page: Callable[..., AppTest]) -> None:
    page = open_page(axes="crooked")
    assert "axes is “crooked”; it must be free" in texts(page)
    assert page.toggle(key="axes").value is False


def test_without_models_in_the_link_the_current_one_meets_its_untrained_self(
    open_page: Callable[..., AppTest], folders: list[str]
) -> None:
    page = finish(open_page(models=None, model=folders[0], sample_size="100"))
    assert page.query_params["models"] == f"{folders[0]},untrained:{folders[0]}"
    assert set(table(page).index) == {"tiny-bert", "untrained tiny-bert"}
    assert "There is no regression line for untrained tiny-bert: the norm is the same for all" in texts(page)
    assert "until it is trained" in texts(page)
    assert "the same number of tokens" in texts(page)
    page.segmented_control(key="pooling").set_value(Pooling.POOLER).run()
    assert table(finish(page))["r_squared"].notna().all()


def test_a_model_that_fails_says_why_in_its_row_and_the_others_go_on(
    open_page: Callable[..., AppTest], folders: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken: dict[str, Callable[[], pd.DataFrame]] = {}
    monkeypatch.setattr(share, "table_downloads", lambda label, name, table, about: taken.update({label: table}))
    empty = tmp_path / "empty"
    empty.mkdir()
    page = finish(open_page(models=f"{folders[0]},{empty},{folders[1]}"))
    assert "config.json" in table(page).loc["empty", "problem"]
    assert list(table(page)["problem"]).count("") == 2
    assert "empty is not a model: it has no config.json" in taken["Table"]().to_csv()
    assert str(tmp_path) not in taken["Table"]().to_csv()
    assert table(page)["r_squared"].notna().tolist() == [True, False, True]
    assert len(page.sidebar.error) == 1
    assert "empty: " in plain(page.sidebar.error[0].value)
    assert [error.value for error in page.main.error] == [page.sidebar.error[0].value]  # for phones
    assert page.button(key="run").label == "Try again"
    write_piecewise_bert(empty)
    page.button(key="run").click().run()
    assert table(finish(page))["r_squared"].notna().all()
    assert not page.sidebar.error
    assert not page.main.error


def test_an_error_about_the_corpus_stands_once_under_its_box(open_page: Callable[..., AppTest], tmp_path: Path) -> None:
    path = tmp_path / "empty.txt"
    path.write_text("\n")
    page = finish(open_page(corpus=str(path)))
    (error,) = page.sidebar.error
    assert "empty.txt" in plain(error.value)
    order = [element.key or element.type for element in page.sidebar if element.key or element.type == "error"]
    assert order.index("models") < order.index("corpus") < order.index("error") < order.index("sample_size")
    assert table(page)["problem"].str.contains("empty.txt").all()


def test_an_error_about_the_store_stands_once_beside_the_run_button(
    open_page: Callable[..., AppTest], tmp_path: Path
) -> None:
    finish(open_page())
    server.jobs().close()
    st.cache_resource.clear()  # another server
    for folder in (tmp_path / "store").glob("norms-*"):
        shutil.rmtree(folder)
        folder.write_text("no folder")
    page = finish(open_page())
    (error,) = page.sidebar.error  # the same for both models
    assert plain(error.value).startswith("tiny-bert, by-pieces: ")
    assert "cannot be used" in plain(error.value)
    order = [element.key or element.type for element in page.sidebar if element.key or element.type == "error"]
    assert order.index("models") < order.index("corpus") < order.index("run") < order.index("error")
    assert order[-1] == "error"
    assert [plain(repeated.value) for repeated in page.main.error] == [plain(error.value)]  # for phones
    assert table(page)["problem"].str.contains("cannot be used").all()


def test_names_that_cannot_be_compared_are_refused_with_a_message(
    open_page: Callable[..., AppTest], folders: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Extraction, "look_up", lambda self, progress: Cost(240.0))
    page = open_page()
    for more, message in (
        ([folders[0]], "is already in the comparison"),
        (["x" * 600], "model is “xxx"),
        (["owner/a,b"], "contains a comma"),
        (
            [f"owner/model{number}" for number in range(5)],
            "At most 6 models can be compared, so owner/model4 was left out",
        ),
    ):
        page.multiselect(key="models").set_value([*folders, *more]).run()
        assert message in texts(page), more
        assert not page.exception
        page.multiselect(key="models").set_value(folders).run()


def test_fewer_than_two_models_ask_for_more(open_page: Callable[..., AppTest], folders: list[str]) -> None:
    page = finish(open_page(models=folders[1]))
    assert "Choose at least two models" in page.info[0].value
    assert len(table(page)) == 1
    page.multiselect(key="models").set_value([]).run()
    assert not page.exception
    assert "Choose at least two models" in page.info[0].value
    page.multiselect(key="models").set_value(folders).run()
    assert len(table(finish(page))) == 2
    assert not page.info


def test_one_button_starts_all_that_waits(open_page: Callable[..., AppTest], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Extraction, "look_up", lambda self, progress: Cost(60.0, 100))
    page = finish(open_page(seed="1"))
    assert all(job.state is State.WAITING for job in jobs_of(page))
    assert page.button(key="run").label == "Run all · about 4 min · 200 MB"
    assert "Press Run all" in texts(page)
    assert table(page)["r_squared"].isna().all()
    page.button(key="run").click().run()
    finish(page)
    assert all(job.state is State.DONE for job in jobs_of(page))
    assert table(page)["probe_r_squared"].notna().all()
    assert not [button for button in page.button if button.key == "run"]


def test_cancelling_keeps_what_is_measured_and_ranks_nothing_by_it(
    open_page: Callable[..., AppTest], folders: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    measure = Encoder.measure

    def slow(self: Encoder, sentences: list[str], on_batch: Callable[[int], None] | None = None) -> Any:
        while on_batch and self.weights.label == "by-pieces" and len(sentences) > 32:
            on_batch(0)
            time.sleep(0.01)
        return measure(self, sentences, on_batch)

    monkeypatch.setattr(Encoder, "measure", slow)
    page = open_page(seed="1")
    wait_for(lambda: (found := measured(page, folders[1])) is not None and len(found.measurements) == 64)
    page.run()
    page.button(key="cancel").click().run()
    assert not page.exception
    wait_for(lambda: not any(job.state.is_active for job in jobs_of(page)))
    page.run()
    assert page.button(key="run").label == "Continue"
    assert re.search(
        "No model has been measured on the whole sample yet|not measured on the whole sample: by-pieces",
        texts(page),
    )
    assert "by-pieces: stopped at 64 of 200 norms" in texts(page)
    assert 0 < table(page).loc["by-pieces", "n_sentences"] < 64
    monkeypatch.setattr(Encoder, "measure", measure)
    page.button(key="run").click().run()
    assert table(finish(page))["r_squared"].notna().all()
    assert table(page)["n_sentences"].nunique() == 1


def test_what_is_measured_is_there_at_once(open_page: Callable[..., AppTest], monkeypatch: pytest.MonkeyPatch) -> None:
    before = table(finish(open_page(seed="1")))
    server.jobs().close()
    st.cache_resource.clear()  # another server
    monkeypatch.setattr(Encoder, "__init__", None)
    after = table(finish(open_page(seed="1")))
    columns = ["r_squared", "probe_r_squared", "n_sentences"]
    pd.testing.assert_frame_equal(before[columns], after[columns])


def test_small_and_constant_samples_explain_themselves(open_page: Callable[..., AppTest]) -> None:
    page = finish(open_page(sample_size="2", length_cutoff="512"))
    assert "at least 3 are needed" in texts(page)
    page = finish(open_page(sample_size="200", length_cutoff="2"))
    assert "None of the models has a regression line here" in texts(page)
    page = finish(open_page(layer="0"))
    assert "the norm is the same for all" in texts(page)
    assert table(page)["r_squared"].isna().all()
    assert table(page)["problem"].str.contains("The norm is the same").all()


def test_the_view_is_brought_back_to_what_all_models_have(open_page: Callable[..., AppTest]) -> None:
    page = finish(open_page(layer="2", pooling="mean", precision="fast"))
    assert page.session_state.layer == session.LAST
    assert page.session_state.pooling is Pooling.CLS
    assert page.session_state.precision is Precision.FAST  # which the main page still has
    assert all(job.work.experiment.precision is Precision.EXACT for job in page.session_state.watched.values())
    assert "compared in exact precision" in texts(page)
    assert "Layer 2 is the last layer of tiny-bert. Every model now shows its last layer." in texts(page)
    assert page.select_slider(key="layer_2").options == ["0", "1", "last"]
    page.select_slider(key="layer_2").set_value(1).run()
    assert "its \\[CLS\\] after layer 1?" in page.main.title[0].value


def test_what_is_read_of_all_layers_stays_when_another_is_chosen(open_page: Callable[..., AppTest]) -> None:
    page = finish(open_page())
    tasks, curves, r_squared = set(server.jobs()._analyses), charts(page)[2], table(page)["r_squared"]
    page.select_slider(key="layer_2").set_value(1).run()
    assert table(page)["r_squared"].tolist() != r_squared.tolist()
    page.segmented_control(key="pooling").set_value(Pooling.POOLER).run()
    assert set(server.jobs()._analyses) == tasks
    assert len(tasks) == 2
    assert charts(page)[2]["data"] == curves["data"]
    page.segmented_control(key="unit").set_value(Unit.WORDS).run()
    assert set(server.jobs()._analyses) > tasks


def test_shuffled_lengths_are_said(open_page: Callable[..., AppTest]) -> None:
    page = finish(open_page(lengths="shuffled", unit=str(Unit.CHARACTERS)))
    assert "As a control, lengths are shuffled across sentences" in texts(page)
    assert (table(page)["probe_r_squared"] < 0.1).all()
    finish(page.button(key="control-Shuffle lengths").click().run())
    assert "lengths are shuffled across sentences" not in texts(page)
    assert "lengths" not in page.query_params


def test_the_controls_that_lie_on_the_pictures_change_the_whole_page_and_its_link(
    open_page: Callable[..., AppTest], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As the browser has it: only the part that they are in is run."""
    page = finish(open_page())
    page.toggle(key="axes").set_value(True)
    redraw(page, monkeypatch, results.__name__)
    assert page.query_params["axes"] == "free"
    page.run()
    page.select_slider(key="length_cutoff").set_value(10)
    redraw(page, monkeypatch, results.__name__)
    assert page.query_params["length_cutoff"] == "10"
    assert "those under 10 tokens for every model." in texts(finish(page))
