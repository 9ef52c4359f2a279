"""Boxes whose content is drawn once they are opened."""

import pytest
from streamlit.testing.v1 import AppTest
from support.app import linked, redraw, unfold

from clsviz.ui.controls import folded

PAGE = """
import streamlit as st
from clsviz.ui.controls import folded

state = st.session_state
state.n_pages = state.get("n_pages", 0) + 1

def draw():
    state.n_drawn = state.get("n_drawn", 0) + 1
    st.number_input("Within", key="within", value=state.get("within", 0), persist_state="session")
    st.number_input("Corpus", key="corpus", value=state.get("corpus", 0), persist_state="session")

KIND(folded.KIND("A box", "box", draw, height=80), chosen=lambda: state.get("corpus", 0))
""".replace("KIND(folded", "folded.show(folded")


@pytest.fixture(params=["Box", "Menu"])
def page(request: pytest.FixtureRequest) -> AppTest:
    return AppTest.from_string(PAGE.replace("KIND", request.param)).run()


def counts(page: AppTest) -> tuple[int, int]:
    state = page.session_state
    return state.n_pages, state.n_drawn if "n_drawn" in state else 0


def redraw_box(page: AppTest, monkeypatch: pytest.MonkeyPatch) -> AppTest:
    return redraw(page, monkeypatch, folded.__name__)


def test_what_is_in_it_is_drawn_once_it_is_opened_and_nothing_else_of_the_page(
    page: AppTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert counts(page) == (1, 0)
    assert not page.number_input
    page.session_state["box"] = True
    redraw_box(page, monkeypatch)
    assert counts(page) == (1, 1)
    assert [control.key for control in page.number_input] == ["within", "corpus"]


def test_what_was_open_once_keeps_what_is_in_it_when_it_is_closed(page: AppTest) -> None:
    unfold(page, "box").number_input(key="within").set_value(3).run()
    page.session_state["box"] = False
    page.run()
    assert page.number_input(key="within").value == 3


def test_a_change_within_is_of_the_box_alone_unless_the_page_depends_on_it(
    page: AppTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    unfold(page, "box")
    assert counts(page) == (2, 1)
    page.number_input(key="within").set_value(3)
    redraw_box(page, monkeypatch)
    assert counts(page) == (2, 2)
    page.number_input(key="corpus").set_value(5)
    redraw_box(page, monkeypatch)
    assert counts(page) == (3, 3)  # at once, and not in vain before
    assert (page.session_state.within, page.session_state.corpus) == (3, 5)


@pytest.mark.parametrize("name", ["", "where_length_lives", "length_and_search", "try_a_sentence", "compare_models"])
def test_no_page_draws_what_nobody_has_opened(name: str, tiny_folder: object, corpus: str) -> None:
    query = {"corpus": corpus, "sample_size": "60"}
    query |= {"models": str(tiny_folder)} if name == "compare_models" else {"model": str(tiny_folder)}
    page = linked(query, name).run()
    assert not page.exception
    drawn = [getattr(element, "key", None) for element in page]
    assert not {"sample_size", "seed", "unit", "upload"} & {*drawn}
    assert not page.get("download_button")
    for setting, value in {"seed": 3, "unit": "words"}.items():
        assert getattr(page.session_state, setting) != value
    unfold(page, "settings").number_input(key="seed").set_value(3).run()
    assert page.query_params["seed"] == ["3"] or page.query_params["seed"] == "3"
    page.session_state["settings"] = False
    assert page.run().session_state.seed == 3
