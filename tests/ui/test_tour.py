"""The tour of the main page, and the terms beside the question, without a browser."""

import re
from collections.abc import Callable

from streamlit.testing.v1 import AppTest
from streamlit.testing.v1.element_tree import Block
from support.app import finish, texts

from clsviz.words.glossary import NORM_VS_LENGTH, TERMS
from clsviz.words.tour import STEPS


def step(page: AppTest) -> str:
    """Where the tour is, or "" while it is off."""
    found = re.search(r"\*\*(\d of 5 · .+?)\*\*", texts(page))
    return found[1] if found else ""


def press(page: AppTest, key: str) -> AppTest:
    page = page.button(key=key).click().run()
    assert not page.exception
    return page


def framed(page: AppTest) -> list[str]:
    """The keys of what is framed."""
    styles = [element.proto.body for element in page.get("html") if "outline: 3px" in element.proto.body]
    return re.findall(r"\.st-key-(\w+)", " ".join(styles))


def keys_of(block: Block) -> set[str]:
    """The keys of what is in a block, however deep."""
    keys = set()
    for child in block.children.values():
        keys.add(str(getattr(child.proto, "id", "")).partition("-")[2].partition("-")[2])
        keys |= keys_of(child) if isinstance(child, Block) else set()
    return keys


def test_it_starts_when_asked_goes_both_ways_and_ends(open_page: Callable[..., AppTest]) -> None:
    page = finish(open_page())
    assert (step(page), framed(page)) == ("", [])
    page = press(page, "tour_start")
    seen = [step(page)]
    assert page.button(key="tour_back").disabled
    for _ in STEPS[1:]:
        page = press(page, "tour_next")
        seen.append(step(page))
    assert seen == [f"{number} of 5 · {title}" for number, (title, _) in enumerate(STEPS, 1)]
    assert step(press(page, "tour_back")) == seen[3]
    page = press(press(page, "tour_next"), "tour_next")  # Done
    assert (step(page), framed(page)) == ("", [])
    page = press(press(page, "tour_start"), "tour_end")
    assert step(page) == ""
    assert "tour" not in page.query_params


def test_what_each_step_is_about_is_on_the_page(open_page: Callable[..., AppTest]) -> None:
    page = press(finish(open_page()), "tour_start")
    for number in range(len(STEPS)):
        keys = set(framed(page)) - {"text_area"}  # in the place of the line, for several sentences
        assert keys
        assert keys <= keys_of(page.main)
        if number < len(STEPS) - 1:
            page = press(page, "tour_next")


def test_the_terms_of_the_page_are_explained_beside_its_question(open_page: Callable[..., AppTest]) -> None:
    said = texts(finish(open_page()))
    assert [term for term in TERMS if f"**{term}** — " in said] == [term for term in TERMS if term in NORM_VS_LENGTH]
    assert TERMS["norm"] in said
