"""The controls that lie on the picture."""

from collections.abc import Callable
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest
from support.app import finish, linked, settle, unfold

from clsviz.ui.state import session

OF_THE_VIEW = {"layer_2", "length_cutoff"}


def test_what_is_instant_lies_under_the_picture_and_what_takes_the_model_in_the_sidebar(
    open_page: Callable[..., AppTest],
) -> None:
    page = unfold(finish(open_page()), "settings")
    assert {slider.key for slider in page.main.select_slider} == OF_THE_VIEW
    assert {slider.key for slider in page.sidebar.select_slider} == {"sample_size"}
    keys = [getattr(element, "key", None) for element in page.main]
    order = [keys.index(key) for key in ("layer_2", "length_cutoff", "pooling", "text_line")]
    assert order == sorted(order)
    types = [element.type for element in page.main]
    assert types.index("header") < types.index("bidi_component") < order[0]
    assert page.get_by_key("pooling").options == ["[CLS]", "Pooler output"]


@pytest.mark.parametrize("name", ["where_length_lives", "length_and_search", "try_a_sentence"])
def test_every_page_offers_layer_cutoff_and_all_vectors_that_it_has(tiny_folder: Path, corpus: str, name: str) -> None:
    page = settle(linked({"model": str(tiny_folder), "corpus": corpus, "sample_size": "60"}, name).run())
    assert {slider.key for slider in page.main.select_slider} >= OF_THE_VIEW
    assert not OF_THE_VIEW & {slider.key for slider in page.sidebar.select_slider}
    assert len(page.main.get("button_group")) >= 1
    assert page.get_by_key("pooling").options == ["[CLS]", "Mean", "Max", "Pooler output"]
    assert page.select_slider(key="layer_2").options == ["0", "1", "last"]
    assert page.select_slider(key="layer_2").value == session.LAST
