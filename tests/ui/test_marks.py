"""What is selected in the scatter, as a link has it."""

from collections.abc import Callable

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest
from support.app import chart, finish, job_of, settle, texts, unfold

from clsviz.analysis import ViewData
from clsviz.encoder import Encoder
from clsviz.settings import Pooling
from clsviz.statistics.similarity import nearest
from clsviz.ui.parts import selection

pytestmark = pytest.mark.usefixtures("measured_before")

RANDOM = np.random.default_rng(0)
SHOWN = ViewData(
    np.arange(0, 1000, 2),
    RANDOM.integers(3, 40, 500).astype(np.int32),
    RANDOM.normal(7, 0.5, 500).astype(np.float32),
    None,
    "",
    0,
)


def test_points_are_numbers_of_sentences() -> None:
    assert selection.marked("points:6,14", SHOWN).tolist() == [3, 7]
    assert selection.marked("points:7", SHOWN).tolist() == []  # not shown
    assert selection.marked("", SHOWN).tolist() == []


def test_a_box_holds_what_lies_in_it_whichever_way_it_was_drawn() -> None:
    x, y = SHOWN.lengths, SHOWN.norms
    wanted = (x >= 9.12346) & (x <= 30.25) & (y >= 6.5) & (y <= 7.75)
    assert 50 < wanted.sum() < 450
    assert selection.marked("box:30.25,9.12346,6.5,7.75", SHOWN).tolist() == np.flatnonzero(wanted).tolist()


def test_a_lasso_holds_what_lies_in_it() -> None:
    """Those in a polygon with a dent, by the triangles that it consists of."""
    x, y = SHOWN.lengths, SHOWN.norms
    dent = np.abs(y - 7) <= (x - 20) / 15  # right of the corner that points inwards
    wanted = (x > 5) & (x < 35) & (y > 6) & (y < 8) & ~dent
    on_an_edge = np.isclose(np.abs(y - 7), (x - 20) / 15) | (x == 5) | (x == 35)
    assert not on_an_edge[wanted].any()
    assert 50 < wanted.sum() < 450
    found = np.isin(np.arange(500), selection.marked("lasso:5,6,35,6,20,7,35,8,5,8", SHOWN))
    np.testing.assert_array_equal(found[~on_an_edge], wanted[~on_an_edge])


def test_a_selected_sentence_is_shown_whole_with_its_nearest_neighbours(
    open_page: Callable[..., AppTest], tiny_encoder: Encoder
) -> None:
    page = finish(open_page(selected="points:5"))
    sentences = job_of(page).work.found.sentences
    assert sentences[5] in [text.value for text in page.text]
    page = settle(unfold(page, "neighbours"))
    vectors = tiny_encoder.vectors(sentences).of(Pooling.CLS, None)
    shown = next(frame.value for frame in page.dataframe if "Similarity" in frame.value)
    assert shown["Sentence"].tolist() == nearest(vectors[5], vectors, sentences, n=11).table["sentence"].tolist()[1:]


def test_a_link_restores_overlays_zoom_and_selection_of_which_the_last_outlasts_the_view(
    open_page: Callable[..., AppTest],
) -> None:
    settings = {"overlays": "ranges", "zoom": "2,20,0.5,30.5", "selected": "points:5,8,250"}
    page = finish(open_page(**settings))
    figure = chart(page)
    assert figure["zoom"] == [2, 20, 0.5, 30.5]
    clouds = [trace["marker"].get("symbol") for trace in figure["data"] if trace["type"] == "scattergl"]
    assert clouds == [None, "diamond"]
    found = job_of(page).work.found
    norms = found.measurements.cls_norms[[5, 8, 250], -1]
    assert f"3 selected · mean norm {norms.mean():.2f}, of all " in texts(page)
    assert set(page.dataframe[0].value["Sentence"]) == {found.sentences[place] for place in (5, 8, 250)}
    assert figure["data"][0]["selectedpoints"] == [5, 8, 250]
    assert dict(page.query_params).items() >= settings.items()
    (copied,) = [element.proto for element in page.get("bidi_component") if element.proto.id.endswith("-copy_link")]
    assert "selected" in str(copied)
    page.select_slider(key="length_cutoff").set_value(15).run()
    page.run()
    kept = [place for place in (5, 8, 250) if found.measurements.n_tokens[place] < 15]
    assert page.query_params["selected"] == settings["selected"]  # of which only these are shown
    assert f"{len(kept)} selected" in texts(page) if len(kept) > 1 else True
    assert "zoom" not in page.query_params
    assert page.query_params["overlays"] == "ranges"
    assert chart(page)["zoom"] == []
    assert not page.warning
