"""The visitor's own sentences, in the boxes of the pages."""

from collections.abc import Callable

import pytest
from streamlit.testing.v1 import AppTest
from support.app import finish, go_to, linked, settle, texts

from clsviz.ui.parts import own

pytestmark = pytest.mark.usefixtures("measured_before")

OTHERS = ["try_a_sentence", "inside_the_model"]


@pytest.mark.parametrize("name", OTHERS)
def test_what_was_typed_on_one_page_is_in_the_box_of_the_next_and_back(
    open_page: Callable[..., AppTest], name: str
) -> None:
    page = finish(open_page())
    assert page.text_input(key="text_line").value == ""
    page.text_input(key="text_line").set_value("the cat sat").run()
    settle(go_to(page, name).run())
    box = page.text_input(key="text_line") if name == "try_a_sentence" else page.text_area(key="text_area")
    assert box.value == "the cat sat"
    box.set_value("a dog").run()
    settle(go_to(page, "").run())
    assert page.text_input(key="text_line").value == "a dog"
    assert "**2 tokens**" in texts(page)
    assert "text" not in page.query_params


def test_several_sentences_of_another_page_are_shown_as_such_and_one_of_them_as_one(
    open_page: Callable[..., AppTest],
) -> None:
    page = finish(open_page())
    settle(go_to(page, "try_a_sentence").run())
    page.toggle(key="several").set_value(True).run()
    page.text_area(key="text_area").set_value("the cat sat\na dog").run()
    settle(go_to(page, "").run())
    assert "text_line" not in {box.key for box in page.text_input}
    assert page.text_area(key="text_area").value == "the cat sat\na dog"
    assert "**3 tokens**" in texts(page)
    assert "**2 tokens**" in texts(page)
    settle(page.text_area(key="text_area").set_value("the big dog ran").run())
    assert not page.main.text_area
    assert page.text_input(key="text_line").value == "the big dog ran"
    assert "**4 tokens**" in texts(page)


def test_several_sentences_of_a_link_are_shown_and_stay_in_the_link_until_they_are_replaced(
    open_page: Callable[..., AppTest],
) -> None:
    page = settle(finish(open_page(text="the cat sat\na dog")))
    assert page.text_area(key="text_area").value == "the cat sat\na dog"
    assert page.text_area(key="text_area").label == "Your own sentences"
    assert page.checkbox(key="with_text").value
    assert page.query_params["text"] == "the cat sat\na dog"
    page.select_slider(key="length_cutoff").set_value(25).run()
    assert page.query_params["text"] == "the cat sat\na dog"
    settle(page.text_area(key="text_area").set_value("the cat sat\na tree").run())
    assert not page.checkbox(key="with_text").value
    assert "text" not in page.query_params
    page.checkbox(key="with_text").check().run()
    settle(page.text_area(key="text_area").set_value("a tree").run())  # what replaces one's own stays ticked
    assert page.query_params["text"] == "a tree"


def test_the_button_that_is_named_is_there(open_page: Callable[..., AppTest]) -> None:
    """A box is told to be measured by Measure only where there is that button."""
    for page in (
        settle(finish(open_page())),
        settle(finish(open_page(text="the cat sat\na dog"))),
        settle(linked({"model": "minilm", "sample_size": "20"}, "inside_the_model").run()),
    ):
        boxes = [box for box in [*page.main.text_area, *page.main.text_input] if box.key in ("text_line", "text_area")]
        assert len(boxes) == 1
        assert ("Measure." in boxes[0].help) == any(button.label == "Measure" for button in page.button)


def test_more_than_are_measured_are_counted(open_page: Callable[..., AppTest]) -> None:
    page = finish(open_page(text="\n".join(["the cat"] * (own.MOST_SENTENCES + 1))))
    assert f"Only the first {own.MOST_SENTENCES} of {own.MOST_SENTENCES + 1} lines are measured." in texts(settle(page))


def test_one_sentence_has_a_line_and_several_have_a_box_which_stays_while_there_are_several(
    open_page: Callable[..., AppTest],
) -> None:
    page = settle(go_to(finish(open_page()), "try_a_sentence").run())
    assert not page.main.text_area
    page.text_input(key="text_line").set_value("the cat sat").run()
    page = settle(page.toggle(key="several").set_value(True).run())
    assert page.text_area(key="text_area").value == "the cat sat"
    assert "text_line" not in {box.key for box in page.text_input}
    assert not page.toggle(key="several").disabled
    page = settle(page.text_area(key="text_area").set_value("the cat sat\na dog").run())
    assert page.toggle(key="several").disabled
    page = settle(page.text_area(key="text_area").set_value("a dog").run())
    page = settle(page.toggle(key="several").set_value(False).run())
    assert page.text_input(key="text_line").value == "a dog"
    assert not page.main.text_area
