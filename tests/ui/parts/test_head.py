"""The question, the answer and the quiet line."""

from streamlit.testing.v1 import AppTest
from support.app import plain

from clsviz.ui.markdown import escape

PAGE = """
import streamlit as st
from clsviz.ui.parts import head
head.show(*st.session_state.texts, pending=st.session_state.pending)
"""


def shown(*texts: str, pending: str = "") -> AppTest:
    page = AppTest.from_string(PAGE)
    page.session_state.texts, page.session_state.pending = texts, pending
    return page.run()


def test_question_answer_and_numbers_stand_in_their_places_as_plain_text() -> None:
    page = shown(
        "Is *it* so?", "It is [so](x) by 5%.", "R² 0.5 · *n*", "But :red[not] always.", pending="More :blue[soon]."
    )
    assert [title.value for title in page.title] == [escape("Is *it* so?")]
    (answer,) = page.header
    assert answer.value == f"{escape('It is [so](x) by 5%.')} :gray[{escape('More :blue[soon].')}]"
    assert plain(answer.value) == "It is [so](x) by 5%. :gray[More :blue[soon].]" != answer.value
    numbers, caveats = page.caption
    assert numbers.value == escape("R² 0.5 · *n*")
    assert caveats.value == escape("But :red[not] always.") != "But :red[not] always."
    elements = list(page.main)
    order = [elements.index(element) for element in (page.title[0], answer, numbers, caveats)]
    assert order == sorted(order)


def test_the_line_of_numbers_has_its_place_while_it_is_empty() -> None:
    page = shown("Is it so?", "Wait.")
    assert [header.value for header in page.header] == ["Wait."]
    assert [caption.value for caption in page.caption] == [""]
