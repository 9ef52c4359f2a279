"""Compare models, as its elements say it, with models that run in this process."""

from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest
from ui.conftest import Runner, Visit, is_done, redraw

import clsviz
from clsviz.errors import ModelError
from clsviz.ui import layout

PAGE = "clsviz/ui/pages/compare.py"


def open_page(visit: Visit, **link: str) -> AppTest:
    return visit(sample_size="200", **link).switch_page(PAGE).run()


def test_one_model_alone_says_what_to_do(visit: Visit, runner: Runner) -> None:
    page = redraw(open_page(visit), lambda page: page.header)
    assert "Choose another model" in page.info[0].value
    assert [button.label for button in page.button] == ["Compare with untrained tiny"]


def test_models_are_measured_under_one_bar_and_compared_as_in_python(
    visit: Visit, runner: Runner, tiny_model: Path, corpus_file: Path, tmp_path: Path
) -> None:
    other, corpus = f"untrained:{tiny_model}", str(corpus_file)
    page = open_page(visit, others=other, search_corpus=corpus)
    redraw(page, lambda page: is_done(page) and page.header)
    assert not page.exception
    result = clsviz.compare(
        [str(tiny_model), other], corpus, sample_size=200, search_corpus=corpus, store=tmp_path
    )
    assert page.subheader[0].value == layout.escape(result.verdict)
    assert layout.escape(result.numbers) in [caption.value for caption in page.caption]
    assert result.about["seconds"] == 0  # all of it is stored


def test_the_example_opens_without_a_model_being_run(visit: Visit, runner: Runner) -> None:
    page = visit(model="minilm", corpus="python-docs").switch_page(PAGE).run()
    redraw(page, lambda page: is_done(page) and page.header)
    assert "finds the right text more often than" in page.subheader[0].value
    assert runner.n_loads == 0


@pytest.mark.parametrize(
    ("link", "sentence"),
    [
        ({"layer": "7"}, "has layers 0 to 2"),
        ({"others": "/missing/model"}, "/missing/model"),
    ],
)
def test_what_cannot_be_compared_is_an_error(
    visit: Visit, link: dict[str, str], sentence: str, tiny_model: Path
) -> None:
    link = {"others": f"untrained:{tiny_model}", "search_corpus": "python-api", **link}
    page = redraw(open_page(visit, **link), lambda page: page.error)
    assert sentence in page.error[0].value.replace("\\", "").replace("\N{WORD JOINER}", "")
    assert not page.exception


def test_a_model_that_fails_can_be_measured_again(
    visit: Visit, runner: Runner, tiny_model: Path, corpus_file: Path
) -> None:
    runner.error = ModelError("Tiny is broken.", "Choose another.")
    page = open_page(visit, others=f"untrained:{tiny_model}", search_corpus=str(corpus_file))
    redraw(page, lambda page: page.error)
    runner.error = None
    [again] = [button for button in page.button if button.label == "Measure"]
    redraw(again.click().run(), lambda page: is_done(page) and page.header)
    assert not page.error
