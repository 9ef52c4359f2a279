"""What several pages share: the head, boxes that unfold, and the visitor's own sentences."""

from collections.abc import Callable

import pytest
from streamlit.testing.v1 import AppTest
from support.app import finish, go_to, plain, redraw, settle, texts

from clsviz.ui.markdown import escape

HEAD = """
import streamlit as st
from clsviz.ui.parts import layout
layout.head(*st.session_state.texts, pending="More :blue[soon].")
"""

BOX = """
import streamlit as st
from clsviz.ui.parts import layout

state = st.session_state
state.n_pages = state.get("n_pages", 0) + 1

def draw():
    state.n_drawn = state.get("n_drawn", 0) + 1
    st.number_input("Within", key="within", value=state.get("within", 0), persist_state="session")
    st.number_input("Corpus", key="corpus", value=state.get("corpus", 0), persist_state="session")

layout.box("A box", "box", draw, height=80, chosen=lambda: state.get("corpus", 0))
"""


def test_question_answer_and_numbers_stand_in_their_places_as_plain_text() -> None:
    page = AppTest.from_string(HEAD)
    page.session_state.texts = "Is *it* so?", "It is [so](x) by 5%.", "R² 0.5 · *n*", "But :red[not] always."
    page.run()
    assert [title.value for title in page.title] == [escape("Is *it* so?")]
    (answer,) = page.header
    assert answer.value == f"{escape('It is [so](x) by 5%.')} :gray[{escape('More :blue[soon].')}]"
    assert [plain(caption.value) for caption in page.caption] == ["R² 0.5 · *n*", "But :red[not] always."]
    page.session_state.texts = "Is it so?", "Wait."
    assert [caption.value for caption in page.run().caption] == [""]  # the line has its place while it is empty


def counts(page: AppTest) -> tuple[int, int]:
    state = page.session_state
    return state.n_pages, state.n_drawn if "n_drawn" in state else 0


def test_a_box_is_drawn_once_it_is_opened_and_nothing_else_of_the_page(monkeypatch: pytest.MonkeyPatch) -> None:
    page = AppTest.from_string(BOX).run()
    assert counts(page) == (1, 0)
    page.session_state["box"] = True
    redraw(page, monkeypatch)
    assert counts(page) == (1, 1)
    page.number_input(key="within").set_value(3)
    redraw(page, monkeypatch)
    assert counts(page) == (1, 2)
    page.number_input(key="corpus").set_value(5)  # which the rest of the page depends on
    redraw(page, monkeypatch)
    assert counts(page) == (2, 3)  # at once, and not in vain before
    page.session_state["box"] = False
    page.run()
    assert page.number_input(key="within").value == 3  # what was open once keeps what is in it


@pytest.mark.usefixtures("measured_before")
@pytest.mark.parametrize("name", ["try_a_sentence", "inside_the_model"])
def test_what_was_typed_on_one_page_is_in_the_box_of_the_next_and_back(
    open_page: Callable[..., AppTest], name: str
) -> None:
    page = finish(open_page())
    page.text_input(key="text_line").set_value("the cat sat").run()
    settle(go_to(page, name).run())
    box = page.text_input(key="text_line")
    assert box.value == "the cat sat"
    box.set_value("a dog").run()
    settle(go_to(page, "").run())
    assert page.text_input(key="text_line").value == "a dog"
    assert "**2 tokens**" in texts(page)
    assert "text" not in page.query_params


@pytest.mark.usefixtures("measured_before")
def test_several_sentences_have_a_box_which_stays_while_there_are_several(open_page: Callable[..., AppTest]) -> None:
    page = settle(go_to(finish(open_page()), "try_a_sentence").run())
    assert not page.main.text_area
    page = settle(page.toggle(key="several").set_value(True).run())
    page = settle(page.text_area(key="text_area").set_value("the cat sat\na dog\na tree").run())
    assert page.toggle(key="several").disabled
    page = settle(go_to(page, "").run())
    assert "text_line" not in {box.key for box in page.text_input}
    assert "**3 tokens**" in texts(page)
    assert "**2 tokens**" in texts(page)
    page = settle(page.text_area(key="text_area").set_value("the big dog ran").run())
    assert not page.main.text_area
    assert page.text_input(key="text_line").value == "the big dog ran"


@pytest.mark.usefixtures("measured_before")
def test_sentences_of_a_link_stay_in_it_until_they_are_replaced(open_page: Callable[..., AppTest]) -> None:
    page = settle(finish(open_page(text="the cat sat\na dog")))
    page.select_slider(key="length_cutoff").set_value(25).run()
    assert page.query_params["text"] == "the cat sat\na dog"
    page = settle(page.text_area(key="text_area").set_value("the cat sat\na tree").run())
    assert not page.checkbox(key="with_text").value
    assert "text" not in page.query_params
    page.checkbox(key="with_text").check().run()
    settle(page.text_area(key="text_area").set_value("a tree").run())  # what replaces one's own stays ticked
    assert page.query_params["text"] == "a tree"
