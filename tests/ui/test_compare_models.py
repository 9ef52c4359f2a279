"""The page “Compare models”."""

import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest
from support.app import BOXES, answer, charts_by_key, jobs_of, linked, plain, settle, texts
from support.tiny import write_piecewise_bert

from clsviz.jobs import Cost, Extraction
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
    assert f"{len(both)} of 200 sentences, under 20 tokens in every model" in texts(page)
    assert answer(page).startswith("Too few sentences to compare: a straight line accounts for")
    assert "by cosine of mean-pooled vectors. Exposure 1 is fair." in texts(page)
    shown = charts_by_key(page)
    assert {trace["name"] for trace in shown["searches"]["data"]} == {"tiny-bert", "by-pieces"}
    of_vector, of_norm = shown["curves_error"], shown["curves_norm"]
    assert [len(t["text"]) for t in shown["small_multiples"]["data"] if t["mode"] == "markers"] == [len(both)] * 2
    assert [len(figure["data"]) for figure in (of_norm, of_vector)] == [2, 3]  # and guessing
    tasks = set(server.jobs()._analyses)  # one a model: every layer is probed, whichever is shown
    page.select_slider(key="layer_2").set_value(1).run()
    assert set(server.jobs()._analyses) == tasks


def test_a_link_restores_models_and_axes_and_names_what_cannot_be_used(
    open_page: Callable[..., AppTest], folders: list[str]
) -> None:
    page = open_page(axes="free", layer="1")
    assert page.multiselect(key="models").value == folders
    assert (page.query_params["axes"], page.query_params["models"]) == ("free", ",".join(folders))
    assert "matches" not in charts_by_key(page)["small_multiples"]["layout"]["yaxis2"]
    page.toggle(key="axes").set_value(False).run()
    assert "axes" not in page.query_params
    assert charts_by_key(page)["small_multiples"]["layout"]["yaxis2"]["matches"] == "y"
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
    page.button(key="run").click().run()  # again
    page = settle(page)
    assert table(page)["r_squared"].notna().all()
    assert not page.error


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


def test_the_view_is_brought_back_to_what_all_models_have(open_page: Callable[..., AppTest]) -> None:
    page = open_page(layer="2", pooling="mean", precision="fast")
    assert page.session_state.layer == session.LAST
    assert page.session_state.pooling is Pooling.CLS
    assert page.session_state.precision is Precision.FAST  # which the main page still has
    assert all(job.work.experiment.precision is Precision.EXACT for job in jobs_of(page))
    assert "compared in exact precision" in texts(page)
    assert "Layer 2 is the last layer of tiny-bert. Every model now shows its last layer." in texts(page)
