"""The page, as its elements say it, with models that run in this process."""

import html
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from streamlit.testing.v1 import AppTest
from ui.conftest import SMALL, Runner, Visit, is_done, redraw

from clsviz import api
from clsviz.errors import ModelError
from clsviz.experiment import Experiment
from clsviz.ui import layout


def answer(tiny_model: Path, corpus_file: Path, store: Path, **settings: Any) -> list[str]:
    """The verdict and the numbers, as Python's users get them."""
    experiment = Experiment(model=str(tiny_model), corpus=str(corpus_file), **settings)
    result = api.measure(**asdict(experiment), store=store)
    return [layout.escape(text) for text in (result.question, result.verdict, result.numbers)]


def has(page: AppTest, question: str, verdict: str, numbers: str) -> bool:
    head = [page.header[0].value, page.subheader[0].value]
    return head == [question, verdict] and numbers in [caption.value for caption in page.caption]


def test_a_page_waits_then_has_points_then_the_answer(
    visit: Visit, runner: Runner, tiny_model: Path, corpus_file: Path, tmp_path: Path
) -> None:
    runner.gate.clear()
    page = redraw(visit(), lambda page: page.info and "300 sentences" in page.info[0].value)
    assert not page.header
    runner.gate.set()
    redraw(page, is_done)
    assert has(page, *answer(tiny_model, corpus_file, tmp_path))
    assert not page.exception
    assert not page.error
    assert not page.info


def test_a_link_sets_the_page(
    visit: Visit, tiny_model: Path, corpus_file: Path, tmp_path: Path
) -> None:
    settings = {"length_cutoff": 25, "layer": 1, "unit": "words", "sample_size": 200, "seed": 3}
    page = redraw(visit(**{name: str(value) for name, value in settings.items()}), is_done)
    assert has(page, *answer(tiny_model, corpus_file, tmp_path, **settings))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("length_cutoff", "1"),
        ("length_cutoff", "inf"),
        ("seed", "1e400"),
        ("seed", "9" * 300),
        ("probe_size", "nan"),
        ("sample_size", "many"),
        ("layer", "-1"),
        ("pooling", "max"),
        ("colour", "red"),
        ("model", "\x00"),
    ],
)
def test_a_setting_that_a_link_cannot_have_is_refused_in_a_sentence(
    visit: Visit, name: str, text: str
) -> None:
    page = visit(**{"sample_size": "40", name: text})
    for _ in range(2):
        [warning] = page.warning
        assert name in warning.value.replace("\\", "")
        assert len(warning.value) < 300
        assert not page.exception
        assert not page.error
        assert name not in page.query_params
        assert name not in page.run().run().query_params
        page.query_params[name] = text  # by Back
        page.run()


@pytest.mark.parametrize(
    ("link", "sentence"),
    [
        ({"layer": "7"}, "has layers 0 to 2"),
        ({"pooling": "pooler", "layer": "1"}, "the pooler stands after the last one"),
        ({"corpus": "./missing.txt"}, "missing.txt"),
        ({"corpus": "upload-0123456789abcdef"}, "Upload it again"),
        ({"model": "/missing/model"}, "/missing/model"),
    ],
)
def test_what_cannot_be_measured_is_an_error_in_a_sentence(
    visit: Visit, link: dict[str, str], sentence: str
) -> None:
    page = redraw(visit(**SMALL | link), lambda page: page.error)
    assert sentence in page.error[0].value.replace("\\", "").replace("\N{WORD JOINER}", "")
    assert not page.exception


def test_files_of_the_server_are_closed_to_visitors(
    visit: Visit, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("clsviz.ui.sidebar.is_at_this_machine", lambda: False)
    folders = ["untrained: /tmp", " /tmp", "~", "./clsviz"]
    for link in (SMALL, *({"model": name, "corpus": "python-docs"} for name in folders)):
        page = visit(**link)
        assert "of the server" in page.error[0].value, link
        assert not page.header


def test_what_failed_begins_again_by_measure_alone(visit: Visit, runner: Runner) -> None:
    runner.error = ModelError("Tiny is broken.", "Choose another.")
    page = redraw(visit(**SMALL), lambda page: page.error)
    for _ in range(3):
        page.run()
    assert runner.n_loads == 1
    runner.error = None
    [again] = [button for button in page.button if button.label == "Measure"]
    redraw(again.click().run(), is_done)
    assert runner.n_loads == 2
    assert page.header
    assert not page.error


def test_who_cancels_does_not_end_the_job_of_another(
    visit: Visit, runner: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    runner.gate.clear()
    monkeypatch.setattr("clsviz.ui.server._session", lambda: "first")
    first = redraw(visit(**SMALL), lambda page: page.button)
    monkeypatch.setattr("clsviz.ui.server._session", lambda: "second")
    second = redraw(visit(**SMALL), lambda page: runner.n_loads)
    monkeypatch.setattr("clsviz.ui.server._session", lambda: "first")
    [cancel] = [button for button in first.button if button.label == "Cancel"]
    cancel.click().run()
    assert "cancelled" in first.info[0].value
    assert is_done(first)
    monkeypatch.setattr("clsviz.ui.server._session", lambda: "second")
    assert not is_done(second.run())
    runner.gate.set()
    assert redraw(second, is_done).header
    assert runner.n_loads == 1


def test_a_typed_sentence_is_measured_once_and_stored_nowhere(
    visit: Visit, runner: Runner, tmp_path: Path
) -> None:
    page = redraw(visit(**SMALL), is_done)
    page.text_area(key="text").set_value("a *small* dog <b>sings</b>\n\nthe cat").run()
    redraw(page, is_done)
    for _ in range(3):
        page.run()
    typed = ["a *small* dog <b>sings</b>", "the cat"]
    assert runner.texts.count(typed) == 1
    lines = [line.value for line in page.markdown if "★" in line.value]
    assert [layout.escape(text) in line for text, line in zip(typed, lines, strict=True)] == [
        True,
        True,
    ]
    assert not any(b"sings</b>" in file.read_bytes() for file in tmp_path.rglob("*.*"))


def test_a_link_carries_typed_sentences(visit: Visit, runner: Runner) -> None:
    page = redraw(visit(**SMALL, text="the old cat"), is_done)
    assert page.text_area(key="text").value == "the old cat"
    assert ["the old cat"] in runner.texts


@pytest.mark.parametrize(
    ("text", "escaped"),
    [
        ("R² 1.8%: low, own.csv", r"R² 1\.8%\: low, own\.csv"),
        ("x :material/bug:", "x \\:\u2060material/bug\\:"),
        ("$x$ -> y", "\\$x\\$ \\-\u2060\\> y"),
        ("www.a.b", "www\u2060\\.a\\.b"),
        ("http://a.b", "http\\:\u2060//a\\.b"),
        ("me@a.b", "me@\u2060a\\.b"),
        ("# one\n- two", r"\# one \- two"),
    ],
)
def test_what_markdown_of_streamlit_adds_is_escaped_too(text: str, escaped: str) -> None:
    assert layout.escape(text) == escaped


@given(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"])))
def test_no_markdown_survives(text: str) -> None:
    rendered = MarkdownIt("commonmark").render(layout.escape(text))
    expected = html.escape(" ".join(text.split()), quote=False).replace('"', "&quot;")
    rendered = rendered.replace("\N{WORD JOINER}", "")
    assert rendered == (f"<p>{expected}</p>\n" if expected else "")


SENTENCE, MODEL = "clsviz/ui/pages/sentence.py", "clsviz/ui/pages/model.py"


def has_answer(page: AppTest) -> bool:
    return is_done(page) and bool(page.subheader)


def test_a_sentence_has_tokens_a_place_neighbours_and_a_cosine(
    visit: Visit, runner: Runner, tmp_path: Path
) -> None:
    page = visit(text="the small cat sings")
    redraw(page.switch_page(SENTENCE).run(), has_answer)
    assert page.header[0].value == "What does tiny make of “the small cat sings”?"
    assert "small" in " ".join(line.value for line in page.markdown)
    assert len(page.get("bidi_component")) == 2
    page.button(key="measure-vectors").click().run()
    redraw(page, lambda page: is_done(page) and page.dataframe)
    cosines = page.dataframe[0].value["cosine"]
    assert len(cosines) == 10
    assert cosines.is_monotonic_decreasing
    page.text_input(key="second").set_value("the small cat sings").run()
    redraw(page, lambda page: any("cosine is" in line.value for line in page.markdown))
    [line] = [line.value for line in page.markdown if "cosine is" in line.value]
    assert "**1.000**, above the cosine of the first and " in line
    assert not any(b"small cat sings" in path.read_bytes() for path in tmp_path.rglob("*.*"))
    assert not page.exception


def test_without_a_sentence_there_is_an_example(visit: Visit, runner: Runner) -> None:
    page = redraw(visit(**SMALL).switch_page(SENTENCE).run(), has_answer)
    assert "Sinan loves a beautiful day" in page.header[0].value
    n_runs = len(runner.texts)
    page.run()
    assert len(runner.texts) == n_runs


def test_a_model_is_taken_apart(visit: Visit, runner: Runner) -> None:
    page = redraw(visit(**SMALL, layer="1").switch_page(MODEL).run(), has_answer)
    assert page.subheader[0].value.startswith("2 layers, ")
    assert len(page.code[0].value.split(",")) == 16
    assert list(page.dataframe[1].value["Token"]) == ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
    assert not page.exception
    assert not page.error


@pytest.mark.parametrize("path", [SENTENCE, MODEL])
def test_a_model_that_fails_is_an_error_on_these_pages_too(
    visit: Visit, runner: Runner, path: str
) -> None:
    page = redraw(visit(**SMALL), is_done)
    runner.error = ModelError("Tiny is broken.", "Choose another.")
    redraw(page.switch_page(path).run(), lambda page: page.error)
    assert "Tiny is broken" in page.error[0].value
    assert not page.exception
