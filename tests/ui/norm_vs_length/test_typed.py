"""A visitor’s own sentences beside the corpus."""

import threading
from collections.abc import Callable

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest
from support.app import drawn, figures, finish, job_of, settle, texts

from clsviz.encoder import Encoder
from clsviz.errors import ModelError

pytestmark = pytest.mark.usefixtures("measured_before")


@pytest.mark.parametrize(
    "text",
    [
        "the cat sat",
        "  \n\t ",
        "<script>alert(1)</script> **bold** :red[x] $x$ [link](javascript:alert(1)) `code`",
        "👋🏽 مرحبا بالعالم",
        "control \x00\x07\x1b characters",
        "the cat " * 10_000,
        "\n".join(["the cat"] * 50),
        "\u202edraw",
    ],
)
def test_whatever_a_visitor_types_does_something_sensible(open_page: Callable[..., AppTest], text: str) -> None:
    page = finish(open_page())
    settle(page.text_input(key="text_line").set_value(text).run())
    assert not page.error
    if text.isspace():
        assert len(drawn(page)) == 1  # the sentences: no star
    elif "\n" in text:
        assert "first 20 of 50 lines" in texts(page)
        assert len(page.dataframe[0].value) == 20
    else:
        assert drawn(page)[-1]["marker"]["symbol"] == "star"


def test_an_own_sentence_is_set_beside_the_corpus(open_page: Callable[..., AppTest], tiny_encoder: Encoder) -> None:
    page = finish(open_page())
    settle(page.text_input(key="text_line").set_value("the cat sat on the mat .").run())
    measured = tiny_encoder.measure(["the cat sat on the mat ."])
    norm = measured.cls_norms[0, -1]
    found = job_of(page).work.found.measurements
    slope, intercept = np.polyfit(found.n_tokens, found.cls_norms[:, -1], 1)
    shown = texts(page)
    assert "**7 tokens**" in shown
    assert f"norm **{norm:.4f}**" in shown
    assert f"the line predicts {intercept + slope * 7:.4f} for this length" in shown
    similar = found.cls_norms[np.abs(found.n_tokens - 7) <= 1, -1]
    assert f"higher than {100 * (similar < norm).mean():.0f}% of the {len(similar)} corpus sentences" in shown
    assert "the  cat  sat  on  the  mat  ." in [code.value for code in page.code]


def test_what_a_visitor_types_goes_into_the_link_only_if_ticked(open_page: Callable[..., AppTest]) -> None:
    page = finish(open_page())
    page.text_input(key="text_line").set_value("the secret cat").run()
    assert "text" not in page.query_params
    page.checkbox(key="with_text").check().run()
    assert page.query_params["text"] == "the secret cat"
    again = settle(finish(open_page(text="the secret cat")))
    assert again.text_input(key="text_line").value == "the secret cat"
    assert "**3 tokens**" in texts(again)
    again.text_input(key="text_line").set_value("the other cat").run()
    assert "text" not in again.query_params
    assert not again.checkbox(key="with_text").value


def test_the_view_does_not_measure_an_own_sentence_again(
    open_page: Callable[..., AppTest], monkeypatch: pytest.MonkeyPatch
) -> None:
    page = finish(open_page())
    settle(page.text_input(key="text_line").set_value("the cat sat").run())
    monkeypatch.setattr(Encoder, "measure", None)
    page.select_slider(key="layer_2").set_value(0).run()
    assert not page.exception
    assert "**3 tokens**" in texts(page)


def test_nothing_waits_for_a_visitors_own_sentence(
    open_page: Callable[..., AppTest], monkeypatch: pytest.MonkeyPatch
) -> None:
    page = finish(open_page())
    is_free = threading.Event()
    tokens = Encoder.tokens

    def slow(encoder: Encoder, sentence: str) -> list[str]:
        assert is_free.wait(30)
        return tokens(encoder, sentence)

    monkeypatch.setattr(Encoder, "tokens", slow)
    page.text_input(key="text_line").set_value("the cat sat").run()
    assert "Measuring with tiny-bert…" in texts(page)
    assert "**3 tokens**" not in texts(page)
    other = finish(open_page(text="the dog"))
    for one in (page, other):
        assert figures(one)["Sentences"] == "300"
        assert not one.exception
    is_free.set()
    assert "**3 tokens**" in texts(settle(page))
    assert "**2 tokens**" in texts(settle(other))
    assert "Measuring with" not in texts(page)


def test_a_sentence_that_cannot_be_measured_says_why(
    open_page: Callable[..., AppTest], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(encoder: Encoder, sentence: str) -> list[str]:
        raise ModelError("It needs more memory than there is.")

    monkeypatch.setattr(Encoder, "tokens", fail)
    page = settle(finish(open_page(text="the cat sat")))
    assert [error.value for error in page.main.error] == ["It needs more memory than there is."]
    assert figures(page)["Sentences"] == "300"
