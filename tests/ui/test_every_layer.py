"""The pictures of every layer on the main page, without a browser."""

from collections.abc import Callable

import numpy as np
from streamlit.testing.v1 import AppTest
from support.app import charts, charts_by_key, job_of, settle, texts


def panels(page: AppTest) -> list[str]:
    """What the panels say above them, one by one."""
    specs = charts(page)
    titles = [spec["layout"].get("annotations", [{}])[0].get("text", "") for spec in specs]
    return [title for title, spec in zip(titles, specs, strict=True) if "<b>" in title and not spec.get("frames")]


def test_nothing_is_drawn_before_it_is_opened_and_then_every_layer_is(open_page: Callable[..., AppTest]) -> None:
    page = settle(open_page())
    assert panels(page) == []
    page.session_state["every_layer"] = True
    page = page.run()
    assert not page.exception
    measured = job_of(page).work.found.measurements
    assert len(panels(page)) == measured.n_layers + 1
    keys = charts_by_key(page).keys() - {"cutoffs"}  # which may be there already
    assert keys == {"scatter", "played_layers", *(f"layer_panel_{layer}" for layer in range(measured.n_layers + 1))}
    for layer in range(1, measured.n_layers + 1):
        r_squared = np.corrcoef(measured.n_tokens, measured.cls_norms[:, layer])[0, 1] ** 2
        assert f"Layer {layer}" in panels(page)[layer]
        assert f"R² {r_squared:.3f}" in panels(page)[layer]
    assert "a straight line explains the norm of [CLS] best" in texts(page)


def test_what_the_view_says_of_lengths_holds_for_them_too(open_page: Callable[..., AppTest]) -> None:
    page = open_page(length_cutoff="12", unit="words", layer="1")
    page.session_state["every_layer"] = True
    page = settle(page)
    measured = job_of(page).work.found.measurements
    n = np.count_nonzero(measured.n_tokens < 12)
    said = texts(page)
    assert "Each panel has length in words across" in said
    assert f"They draw all {n} sentences" in said
