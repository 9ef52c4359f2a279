"""The question, the answer and the quiet line."""

from types import ModuleType

from streamlit.testing.v1 import AppTest

from clsviz.ui.parts import head


def _page(head: ModuleType, *texts: str, **pending: str) -> None:
    head.show(*texts, **pending)


def shown(*texts: str, **pending: str) -> AppTest:
    return AppTest.from_function(_page, args=(head, *texts), kwargs=pending).run()


def test_question_answer_and_numbers_stand_in_their_places_as_plain_text() -> None:
    page = shown(
        "Is *it* so?", "It is [so](x) by 5%.", "R² 0.5 · *n*", "But :red[not] always.", pending="More :blue[soon]."
    )
    assert [title.value for title in page.title] == [r"Is \*it\* so?"]
    (answer,) = page.header
    assert answer.value == r"It is \[so\]\(x\) by 5%. :gray[More \:blue\[soon\].]"
    numbers, caveats = page.caption
    assert numbers.value == r"R² 0.5 · \*n\*"
    assert caveats.value == r"But \:red\[not\] always."
    elements = list(page.main)
    assert [elements.index(element) for element in (page.title[0], answer, numbers, caveats)] == sorted(
        elements.index(element) for element in elements
    )


def test_the_line_of_numbers_has_its_place_while_it_is_empty() -> None:
    page = shown("Is it so?", "Wait.")
    assert [header.value for header in page.header] == ["Wait."]
    assert [caption.value for caption in page.caption] == [""]
