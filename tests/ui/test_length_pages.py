"""The pages on where length lives and on searches, as their elements say it."""

import random
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from conftest import WORDS
from streamlit.testing.v1 import AppTest
from ui.conftest import SMALL, Runner, Visit, is_done, redraw

from clsviz import api
from clsviz.errors import ModelError
from clsviz.experiment import Experiment
from clsviz.results.probes import findings
from clsviz.results.result import Result
from clsviz.results.search import fix_title
from clsviz.ui import layout

LENGTH, SEARCH = "clsviz/ui/pages/where_length_lives.py", "clsviz/ui/pages/search.py"


@pytest.fixture(scope="module")
def titled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table of 150 titles, notes and texts of 6 to 45 words."""
    draw = random.Random(0)
    rows = []
    for n in range(150):
        words = draw.choices(WORDS, k=5 + n % 40)
        rows.append(f"{' '.join(words[:3])} {n},{' '.join(words[-2:])} {n},{n} {' '.join(words)}")
    path = tmp_path_factory.mktemp("titled") / "titled.csv"
    path.write_text("\n".join(["title,note,body", *rows]), "utf-8")
    return path


def is_answered(page: AppTest) -> bool:
    return is_done(page) and bool(page.subheader)


def unescaped(text: str) -> str:
    return text.replace("\\", "").replace("\N{WORD JOINER}", "")


def has(page: AppTest, result: Result) -> bool:
    head = [page.header[0].value, page.subheader[0].value]
    captions = " ".join(caption.value for caption in page.caption)
    expected = [layout.escape(text) for text in (result.question, result.verdict)]
    texts = (result.numbers, *result.caveats)
    return head == expected and all(layout.escape(text) in captions for text in texts)


def search_of(model: Path, corpus: Path, store: Path, column: str = "", **search: Any) -> Result:
    settings: dict[str, Any] = {"pooling": "mean", "sample_size": "all", "column": column}
    experiment = Experiment(model=str(model), corpus=str(corpus), **settings)
    return api.search_test(**asdict(experiment), **search, store=store)


def test_probes_wait_for_vectors_then_have_the_answer_of_python(
    visit: Visit, runner: Runner, tiny_model: Path, corpus_file: Path, tmp_path: Path
) -> None:
    runner.gate.clear()
    page = visit(unit="words").switch_page(LENGTH).run()
    redraw(page, lambda page: page.info and "vectors of 300" in page.info[0].value)
    assert not page.header
    runner.gate.set()
    redraw(page, is_answered)
    experiment = Experiment(model=str(tiny_model), corpus=str(corpus_file), unit="words")
    result = api.probe(**asdict(experiment), store=tmp_path)
    assert has(page, result)
    titles = [expander.label for expander in page.expander]
    assert [unescaped(title) for title in titles if "miss" in title] == [
        title for title, _ in findings(result) if "miss" in title
    ]
    assert not page.exception


def test_random_weights_come_by_a_click(
    visit: Visit, tiny_model: Path, corpus_file: Path, tmp_path: Path
) -> None:
    page = redraw(visit().switch_page(LENGTH).run(), is_answered)
    page.button(key="measure-random").click().run()
    redraw(
        page, lambda page: "random weights" in " ".join(caption.value for caption in page.caption)
    )
    experiment = Experiment(model=str(tiny_model), corpus=str(corpus_file))
    assert has(page, api.probe(**asdict(experiment), random_weights=True, store=tmp_path))


@pytest.mark.parametrize(
    ("link", "sentence"),
    [
        ({"layer": "7"}, "has layers 0 to 2"),
        ({"layer": "1", "pooling": "mean"}, "take the last"),
        ({"probe_size": "50"}, "Raise sample_size"),
    ],
)
def test_vectors_that_cannot_be_probed_are_an_error_in_a_sentence(
    visit: Visit, link: dict[str, str], sentence: str
) -> None:
    page = visit(**SMALL | link).switch_page(LENGTH).run()
    redraw(page, lambda page: page.error and sentence in unescaped(page.error[0].value))
    assert not page.header
    assert not page.exception


def test_a_search_waits_for_vectors_then_has_the_answer_of_python(
    visit: Visit, runner: Runner, tiny_model: Path, titled: Path, tmp_path: Path
) -> None:
    runner.gate.clear()
    page = visit(search_corpus=str(titled), similarity="dot").switch_page(SEARCH).run()
    redraw(page, lambda page: page.info and "150 texts and 150" in page.info[0].value)
    assert not page.header
    runner.gate.set()
    redraw(page, is_answered)
    result = search_of(tiny_model, titled, tmp_path, similarity="dot")
    assert has(page, result)
    assert layout.escape(fix_title(result)) in [expander.label for expander in page.expander]
    assert not page.exception


def test_another_column_searches_by_a_click(
    visit: Visit, tiny_model: Path, titled: Path, tmp_path: Path
) -> None:
    page = redraw(visit(search_corpus=str(titled)).switch_page(SEARCH).run(), is_answered)
    assert page.selectbox(key="search_titles").value == "title"
    page.selectbox(key="search_titles").set_value("note").run()
    redraw(page, is_answered)
    assert has(page, search_of(tiny_model, titled, tmp_path, "body", titles="note"))


def test_a_search_that_fails_begins_again_by_measure_alone(
    visit: Visit, runner: Runner, titled: Path
) -> None:
    runner.error = ModelError("Tiny is broken.", "Choose another.")
    page = visit(search_corpus=str(titled)).switch_page(SEARCH).run()
    redraw(page, lambda page: page.error)
    assert not page.header
    n_loads, runner.error = runner.n_loads, None
    page.run()
    assert runner.n_loads == n_loads
    [again] = [button for button in page.button if button.label == "Measure"]
    assert not redraw(again.click().run(), is_answered).error


@pytest.mark.parametrize(
    ("link", "sentence"),
    [
        ({"search_corpus": "/etc/passwd"}, "is a file of the server"),
        ({"search_corpus": "upload-0123456789abcdef"}, "Upload it again"),
    ],
)
def test_what_a_visitor_cannot_search_is_an_error_in_a_sentence(
    visit: Visit, monkeypatch: pytest.MonkeyPatch, link: dict[str, str], sentence: str
) -> None:
    monkeypatch.setattr("clsviz.ui.sidebar.is_at_this_machine", lambda: False)
    page = visit(model="minilm", corpus="python-docs", **link).switch_page(SEARCH).run()
    redraw(page, lambda page: page.error)
    assert sentence in unescaped(page.error[0].value)
    assert not page.header


@pytest.mark.parametrize(
    ("name", "text"), [("similarity", "near"), ("search_pooling", "max"), ("search_corpus", "\x00")]
)
def test_a_setting_of_searches_that_a_link_cannot_have_is_refused(
    visit: Visit, name: str, text: str
) -> None:
    page = visit(**SMALL | {name: text})
    assert [name.removeprefix("search_") in unescaped(one.value) for one in page.warning] == [True]


@pytest.mark.parametrize("path", [LENGTH, SEARCH])
def test_shipped_results_open_without_a_model(visit: Visit, runner: Runner, path: str) -> None:
    page = visit(model="minilm", corpus="python-docs")
    redraw(page.switch_page(path).run(), is_answered)
    assert runner.n_loads == 0


def test_the_search_has_settings_of_sentences_only_where_a_link_sets_them(visit: Visit) -> None:
    for link, n_cutoffs in (({}, 0), ({"layer": "last"}, 0), ({"layer": "2"}, 1)):
        page = visit(model="minilm", corpus="python-docs", **link).switch_page(SEARCH).run()
        keys = [number.key for number in redraw(page, is_answered).number_input]
        assert keys.count("length_cutoff") == n_cutoffs, link
