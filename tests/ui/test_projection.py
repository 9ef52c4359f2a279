"""The vectors on two dimensions, on the page “Where length lives”, without a browser."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest
from support.app import charts, job_of, linked, settle, texts

from clsviz.settings import Pooling

PAGE = "where_length_lives"


@pytest.fixture
def open_page(tiny_folder: Path, corpus: str) -> Callable[..., AppTest]:
    def open_page(**query: str) -> AppTest:
        query = {"model": str(tiny_folder), "corpus": corpus, "sample_size": "300"} | query
        return settle(linked(query, PAGE).run())

    return open_page


def projections(page: AppTest) -> list[Any]:
    specs = charts(page)
    titles = [str(spec["layout"].get("xaxis", {}).get("title", {}).get("text")) for spec in specs]
    return [spec for spec, title in zip(specs, titles, strict=True) if title.startswith("Principal component 1")]


def test_it_is_drawn_where_it_is_asked_for_and_the_link_says_so(open_page: Callable[..., AppTest]) -> None:
    page = open_page(layer="1")
    assert "project" not in page.query_params
    assert projections(page) == []
    page = settle(page.toggle(key="project").set_value(True).run())
    assert page.query_params["project"] == "yes"
    (spec,) = projections(page)
    vectors = job_of(page).work.found.vectors
    x = vectors.of(Pooling.CLS, 1).astype(float)
    values = np.linalg.svd(x - x.mean(axis=0), compute_uv=False) ** 2
    first, second = (values[:2] / values.sum()).tolist()
    assert (
        spec["layout"]["xaxis"]["title"]["text"]
        == f"Principal component 1 ({first:.{0 if first >= 0.1 else 1}%} of variance)"
    )
    assert len(spec["data"][0]["text"]) == 300
    assert f"The two directions hold {first + second:.0%} of the variance of [CLS] after layer 1" in texts(page)
    assert "(from the whole vector: " in texts(page)


def test_vectors_that_do_not_vary_are_said_to(open_page: Callable[..., AppTest]) -> None:
    page = open_page(layer="0", project="yes")
    assert projections(page) == []
    assert any("same for all sentences" in info.value for info in page.info)
