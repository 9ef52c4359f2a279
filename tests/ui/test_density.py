"""The picture of very many sentences, without a browser: as if a few hundred were very many."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest
from support.app import chart, finish, job_of, texts

from clsviz.figures import hover_label
from clsviz.ui.parts import chart as chart_

BOX = "box:2,9,-1000,1000"


@pytest.fixture(autouse=True)
def few_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, number in (("FEWEST_MEASURED", 300), ("FEWEST_SHOWN", 100), ("MOST_ABOVE", 50)):
        monkeypatch.setattr(f"clsviz.figures.density.{name}", number)


def tokens(page: AppTest) -> np.ndarray:
    return np.asarray(job_of(page).work.found.measurements.n_tokens)


def test_from_the_threshold_on_it_is_a_density_with_a_sample_of_points(open_page: Callable[..., AppTest]) -> None:
    page = finish(open_page())
    cells, cloud, *_ = chart(page)["data"]
    assert (cells["type"], cloud["type"]) == ("heatmap", "scattergl")
    lengths = np.bincount(tokens(page))
    assert np.sum(cells["z"], axis=0).tolist() == lengths[tokens(page).min() :].tolist()
    assert cloud["text"] == [hover_label(sentence, 2) for sentence in job_of(page).work.found.sentences[:50]]
    assert "the number of sentences of that length and norm; the points are 50 of the 300, drawn at random." in texts(
        page
    )
    below = finish(open_page(sample_size="299"))
    assert chart(below)["data"][0]["type"] == "scattergl"
    assert "drawn at random" not in texts(below)


def test_what_is_marked_or_found_is_found_among_all_and_drawn(open_page: Callable[..., AppTest]) -> None:
    page = finish(open_page(selected=BOX))
    inside = (tokens(page) >= 2) & (tokens(page) <= 9)
    assert 50 < inside.sum() < 300
    assert f"{inside.sum()} selected" in texts(page)
    cloud = chart(page)["data"][1]
    sentences = job_of(page).work.found.sentences
    drawn = sorted({*range(50), *np.flatnonzero(inside).tolist()})
    assert cloud["text"] == [hover_label(sentences[at], 2) for at in drawn]
    assert [drawn[at] for at in cloud["selectedpoints"]] == np.flatnonzero(inside).tolist()
    assert f"drawn at random, and {len(drawn) - 50} more that are selected." in texts(page)
    page = finish(open_page(find="the cat"))
    held = [at for at, sentence in enumerate(sentences) if "the cat" in sentence.lower()]
    cloud = chart(page)["data"][1]
    assert sorted(cloud["text"][at] for at in cloud["selectedpoints"]) == sorted(
        hover_label(sentences[at], 2) for at in held
    )


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        ({"of": "this", "ends": [1, 2.5, 3, 4]}, (1.0, 2.5, 3.0, 4.0)),
        ({"of": "this", "ends": []}, ()),
        ({"of": "another", "ends": [1, 2, 3, 4]}, None),
        ({"of": "this", "ends": [1, 2, 3]}, None),
        ({"of": "this", "ends": [1, 2, 3, "4"]}, None),
        ({"of": "this", "ends": [1, 2, 3, True]}, None),
        ({"of": "this", "ends": [1, 2, 3, float("inf")]}, None),
        ({"of": "this", "ends": [1, 2, 3, float("nan")]}, None),
        ({"of": "this", "ends": [1, 2, 3, 10**400]}, None),
        ({"of": "this"}, None),
        ("forged", None),
        (None, None),
    ],
)
def test_what_the_browser_tells_of_the_zoom_is_checked(
    told: object, expected: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    class State(dict[str, Any]):
        __getattr__ = dict.__getitem__
        __setattr__ = dict.__setitem__  # type: ignore[assignment]

    state = State(scatter={"zoomed": told}, marked_in="this")
    monkeypatch.setattr("streamlit.session_state", state)
    chart_._take_zoom()
    assert state.get("zoom") == expected
