"""The tour of the main page, and the terms beside the question, without a browser."""

import re
from collections.abc import Callable

from streamlit.testing.v1 import AppTest
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
    keys = set(re.findall(r"'user_key-([^']+)'|key-(\w+)", ""))
    for number in range(len(STEPS)):
        keys = framed(page)
        assert keys
        assert any(is_there(page, key) for key in keys), keys
        if number < len(STEPS) - 1:
            page = press(page, "tour_next")


def is_there(page: AppTest, key: str) -> bool:
    """Whether an element or a container has this key."""
    return key in page.session_state or f"-{key}" in str(page._tree)


def test_the_terms_of_the_page_are_explained_beside_its_question(open_page: Callable[..., AppTest]) -> None:
    said = texts(finish(open_page()))
    assert [term for term in TERMS if f"**{term}** — " in said] == [term for term in TERMS if term in NORM_VS_LENGTH]
    assert TERMS["norm"] in said
