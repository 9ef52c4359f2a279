"""What is selected in the scatter, as a link has it."""

import time
from collections.abc import Callable

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest
from support.app import chart, finish, job_of, texts, unfold

from clsviz.analysis import ViewData, naming
from clsviz.ui.parts import marks

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


def sentence_of(trace: int, point: int) -> int | None:
    return int(SHOWN.index[point]) if trace == 0 else None


def test_points_are_numbers_of_sentences() -> None:
    points = [{"curve_number": curve, "point_index": index} for curve, index in ((0, 7), (0, 3), (2, 1))]
    text = marks.written({"points": points, "box": [], "lasso": []}, sentence_of)
    assert text == "points:6,14"  # the star is no sentence of the corpus
    assert marks.marked(text, SHOWN).tolist() == [3, 7]
    assert marks.marked("points:7", SHOWN).tolist() == []  # not shown
    assert marks.written({"points": [], "box": [], "lasso": []}, sentence_of) == ""
    assert marks.marked("", SHOWN).tolist() == []


def test_a_box_holds_what_lies_in_it_whichever_way_it_was_drawn() -> None:
    box = {"xref": "x", "yref": "y", "x": [30.25, 9.123456789], "y": [6.5, 7.75]}
    text = marks.written({"points": [{"curve_number": 0, "point_index": 0}], "box": [box], "lasso": []}, sentence_of)
    assert text == "box:30.25,9.12346,6.5,7.75"
    x, y = SHOWN.lengths, SHOWN.norms
    wanted = (x >= 9.12346) & (x <= 30.25) & (y >= 6.5) & (y <= 7.75)
    assert 50 < wanted.sum() < 450
    assert marks.marked(text, SHOWN).tolist() == np.flatnonzero(wanted).tolist()


def test_a_lasso_holds_what_lies_in_it() -> None:
    """Those in a polygon with a dent, by the triangles that it consists of."""
    corners = np.array([[5, 6], [35, 6], [20, 7], [35, 8], [5, 8]], dtype=float)
    lasso = {"x": corners[:, 0].tolist(), "y": corners[:, 1].tolist()}
    text = marks.written({"points": [], "box": [], "lasso": [lasso]}, sentence_of)
    x, y = SHOWN.lengths, SHOWN.norms
    dent = np.abs(y - 7) <= (x - 20) / 15  # right of the corner that points inwards
    wanted = (x > 5) & (x < 35) & (y > 6) & (y < 8) & ~dent
    on_an_edge = np.isclose(np.abs(y - 7), (x - 20) / 15) | (x == 5) | (x == 35)
    assert not on_an_edge[wanted].any()
    assert 50 < wanted.sum() < 450
    found = np.isin(np.arange(500), marks.marked(text, SHOWN))
    np.testing.assert_array_equal(found[~on_an_edge], wanted[~on_an_edge])


def test_a_lasso_with_many_corners_keeps_fewer() -> None:
    angles = np.linspace(0, 2 * np.pi, 5000)
    lasso = {"x": (20 + 10 * np.cos(angles)).tolist(), "y": (7 + np.sin(angles)).tolist()}
    text = marks.written({"points": [], "box": [], "lasso": [lasso]}, sentence_of)
    assert len(text) < 4000
    wanted = ((SHOWN.lengths - 20) / 10) ** 2 + (SHOWN.norms - 7) ** 2 < 1
    found = np.isin(np.arange(500), marks.marked(text, SHOWN))
    assert (found != wanted).sum() <= 3


def test_a_link_restores_overlays_zoom_and_selection_of_which_the_last_outlasts_the_view(
    open_page: Callable[..., AppTest],
) -> None:
    settings = {"overlays": "ranges", "zoom": "2,20,0.5,30.5", "selected": "points:5,8,250"}
    page = finish(open_page(**settings))
    figure = chart(page)
    assert figure["layout"]["xaxis"]["range"] == [2, 20]
    assert figure["layout"]["yaxis"]["range"] == [0.5, 30.5]
    clouds = [trace["marker"].get("symbol") for trace in figure["data"] if trace["type"] == "scattergl"]
    assert clouds == [None, "diamond", "circle-open"]
    found = job_of(page).work.found
    norms = found.measurements.cls_norms[[5, 8, 250], -1]
    assert f"3 selected · mean norm {norms.mean():.2f}, of all " in texts(page)
    assert set(page.dataframe[0].value["Sentence"]) == {found.sentences[place] for place in (5, 8, 250)}
    selected = f"sentences:{naming.packed(found.sentences, (5, 8, 250))}"
    assert dict(page.query_params).items() >= (settings | {"selected": selected}).items()
    (copied,) = [element.proto for element in page.get("bidi_component") if element.proto.id.endswith("-copy_link")]
    assert "selected" in str(copied)
    page.select_slider(key="length_cutoff").set_value(15).run()
    page.run()
    kept = [place for place in (5, 8, 250) if found.measurements.n_tokens[place] < 15]
    assert page.query_params["selected"] == selected  # of which only these are shown
    assert f"{len(kept)} selected" in texts(page) if len(kept) > 1 else True
    assert "zoom" not in page.query_params
    assert page.query_params["overlays"] == "ranges"
    assert chart(page)["layout"]["xaxis"]["range"][0] == 0
    assert not page.warning


def test_what_is_selected_comes_back_in_another_sample_by_the_texts(open_page: Callable[..., AppTest]) -> None:
    page = finish(open_page(selected="points:5,8,250"))
    sentences = job_of(page).work.found.sentences
    link = page.query_params["selected"]
    assert link == f"sentences:{naming.packed(sentences, (5, 8, 250))}"
    before = f"sentences:{','.join(naming.names_of(sentences, (5, 8, 250)))}"  # as links once had them
    assert finish(open_page(selected=before)).query_params["selected"] == link
    for size, seed in (("200", "0"), ("400", "3")):
        other = finish(open_page(selected=link, sample_size=size, seed=seed))
        found = job_of(other).work.found.sentences
        there = [sentence for sentence in (sentences[place] for place in (5, 8, 250)) if sentence in found]
        assert len(there) == (2 if size == "200" else 3)
        assert set(other.dataframe[0].value["Sentence"]) == set(there)
        places = [found.index(sentence) for sentence in there]
        assert other.query_params["selected"] == f"sentences:{naming.packed(found, places)}"


def test_what_is_selected_stays_when_the_sample_changes(open_page: Callable[..., AppTest]) -> None:
    page = unfold(finish(open_page(selected="points:5,8,250")), "settings")
    sentences = job_of(page).work.found.sentences
    wanted = {sentences[place] for place in (5, 8, 250)}
    page.number_input(key="seed").set_value(4).run()
    page.run()
    while job_of(page).state.is_active:
        time.sleep(0.02)
    page.run()
    found = job_of(page).work.found.sentences
    assert found != sentences
    assert set(page.dataframe[0].value["Sentence"]) == wanted & set(found)
    assert len(wanted & set(found)) > 1


def test_names_of_sentences_are_marks_of_a_link_and_mark_nothing_before_the_sample_is_known() -> None:
    for mark in ("sentences:abcDEF1,-_cDEF1~12", "sentences:5.abcDE-_cDE~12.fghij"):
        assert marks.marked(mark, SHOWN).tolist() == []
