"""What is selected in the scatter, in the pictures of every page."""

from collections.abc import Callable
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest
from support.app import charts, finish, go_to, job_of, settle

from clsviz.figures import labels_of
from clsviz.settings import Pooling

pytestmark = pytest.mark.usefixtures("measured_before")

BOX = "box:2,9,-1000,1000"


def selected(trace: dict[str, Any]) -> list[str]:
    """The labels of the points of a trace that stand out."""
    assert trace["selected"]["marker"]["opacity"] > trace["unselected"]["marker"]["opacity"]
    return sorted(trace["text"][at] for at in trace["selectedpoints"])


def test_a_selection_stands_out_wherever_sentences_are_points(open_page: Callable[..., AppTest]) -> None:
    page = open_page(selected=BOX)
    page.session_state["every_layer"] = True
    page = finish(page)
    found = job_of(page).work.found
    n_tokens = found.measurements.n_tokens
    expected = sorted(text for text, n in zip(found.sentences, n_tokens, strict=True) if 2 <= n <= 9)
    assert 20 < len(expected) < 280
    scatter, *others = charts(page)
    assert selected(scatter["data"][0]) == expected
    clouds = [figure["data"][0] for figure in others if len(figure["data"][0].get("text", [])) == len(found.sentences)]
    assert len(clouds) == found.measurements.n_layers + 2  # one that plays, and one for each layer
    assert all(selected(cloud) == expected for cloud in clouds)

    page = settle(go_to(page, "try_a_sentence").run())
    assert selected(charts(page)[0]["data"][0]) == expected

    go_to(page, "where_length_lives").session_state.project = True
    page = settle(page.run())
    clouds = [figure["data"][0] for figure in charts(page) if "text" in figure["data"][0]]
    clouds = [cloud for cloud in clouds if len(cloud["text"]) == len(found.sentences)]
    assert len(clouds) == 2  # the scatter of one cell, and the projection
    assert all(selected(cloud) == expected for cloud in clouds)
    page.session_state.pooling = Pooling.MEAN  # where the box means nothing
    page = settle(page.run())
    assert page.session_state.selected.startswith("points:")
    assert (
        selected(next(figure for figure in charts(page) if "selectedpoints" in figure["data"][0])["data"][0])
        == expected
    )

    page.session_state.pooling = Pooling.CLS
    page = settle(go_to(page, "compare_models").run())
    figure = next(figure for figure in charts(page) if "selectedpoints" in figure["data"][0])
    clouds = [trace for trace in figure["data"] if len(trace.get("text", [])) == len(found.sentences)]
    assert clouds
    assert all(selected(cloud) == expected for cloud in clouds)


def test_what_is_looked_for_stands_out_in_every_layer(open_page: Callable[..., AppTest]) -> None:
    page = open_page(find="the cat")
    page.session_state["every_layer"] = True
    page = finish(page)
    sentences = job_of(page).work.found.sentences
    expected = sorted(labels_of([text for text in sentences if "the cat" in text.lower()]).tolist())
    assert 0 < len(expected) < len(sentences)
    for figure in charts(page):
        if "selectedpoints" in figure["data"][0]:
            assert selected(figure["data"][0]) == expected
    assert sum("selectedpoints" in figure["data"][0] for figure in charts(page)) > 3
