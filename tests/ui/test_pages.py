"""The pages, as their elements say it, with models that run in this process."""

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from conftest import WORDS
from streamlit.testing.v1 import AppTest
from ui.conftest import SMALL, Runner, Visit, is_answered, is_done, redraw, words

import clsviz
from clsviz import cli
from clsviz.errors import ModelError
from clsviz.jobs.worker import NoRunner
from clsviz.questions import PAGES
from clsviz.results.probes import findings
from clsviz.results.result import Result
from clsviz.results.search import fix_title
from clsviz.ui import layout

NORMS, LENGTH, SEARCH, CHUNKS, COMPARE, SENTENCE, MODEL = PAGES

Answer = Callable[..., Result]


@pytest.fixture(scope="module")
def titled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table of 150 titles, notes and texts of 6 to 45 words, in sentences of 8."""
    draw = random.Random(0)
    rows = []
    for n in range(150):
        text = draw.choices(WORDS, k=5 + n % 40)
        parts = [f"{' '.join(text[i : i + 8]).capitalize()}." for i in range(0, len(text), 8)]
        rows.append(f"{' '.join(text[:3])} {n},{' '.join(text[-2:])} {n},{n} {' '.join(parts)}")
    path = tmp_path_factory.mktemp("titled") / "titled.csv"
    path.write_text("\n".join(["title,note,body", *rows]), "utf-8")
    return path


@pytest.fixture
def answer(tiny_model: Path, corpus_file: Path, titled: Path, tmp_path: Path) -> Answer:
    """The result of a page, as Python's users get it from what the page has stored."""

    def answer(path: str, **settings: Any) -> Result:
        model: Any = str(tiny_model)
        corpus, function = str(corpus_file), getattr(clsviz, PAGES[path].function)
        if "corpus" in PAGES[path].defaults:
            corpus = str(titled)
        if path == COMPARE:
            model, settings["search_corpus"] = [model, f"untrained:{model}"], str(titled)
        return function(model, corpus, store=tmp_path, runner=NoRunner(), **settings)

    return answer


@pytest.fixture
def link(tiny_model: Path, titled: Path) -> dict[str, str]:
    """Settings with which every page has something to answer."""
    return {"others": f"untrained:{tiny_model}", "search_corpus": str(titled)}


def has(page: AppTest, result: Result) -> bool:
    head = [page.header[0].value, page.subheader[0].value]
    captions = " ".join(caption.value for caption in page.caption)
    assert all(layout.escape(text) in captions for text in result.caveats)
    numbers = [fact.words for fact in result.loud_facts[: layout.N_NUMBERS]]
    assert [number.value for number in page.metric] == numbers
    assert [words([box]) for box in page.success] == [result.advice] * bool(result.advice)
    return head == [layout.escape(result.question), layout.escape(result.verdict)]


@pytest.mark.parametrize(
    ("path", "settings", "reason"),
    [
        (NORMS, {}, "measures 300 sentences"),
        (NORMS, {"length_cutoff": 25, "layer": 1, "unit": "words", "sample_size": 200}, "200"),
        (LENGTH, {"unit": "words"}, "measures 300 sentences"),
        (SEARCH, {"similarity": "dot"}, "measures 300 texts"),
        (CHUNKS, {"similarity": "dot"}, "measures "),
        (COMPARE, {"sample_size": 200}, "measures 1,000 texts"),
    ],
)
def test_a_page_waits_then_has_the_answer_of_python(
    visit: Visit,
    runner: Runner,
    answer: Answer,
    link: dict[str, str],
    path: str,
    settings: dict[str, Any],
    reason: str,
) -> None:
    runner.gate.clear()
    page = visit(path, **link, **{name: str(value) for name, value in settings.items()})
    redraw(page, lambda page: reason in page.get("progress")[0].proto.text.replace("\\", ""))
    assert not page.header
    runner.gate.set()
    redraw(page, is_answered)
    result = answer(path, **settings)
    assert has(page, result)
    assert not any([page.exception, page.error, page.info])
    titles = {LENGTH: findings, SEARCH: lambda result: [(fix_title(result), "")]}
    expected = [layout.escape(title) for title, _ in titles.get(path, lambda _: [])(result)]
    assert set(expected) <= {box.label for box in page.expander}


@pytest.mark.parametrize(
    ("path", "settings", "sentence"),
    [
        ("", {"layer": "7"}, "has layers 0 to 2"),
        ("", {"pooling": "pooler", "layer": "1"}, "the pooler stands after the last one"),
        ("", {"corpus": "./missing.txt"}, "missing.txt"),
        ("", {"corpus": "upload-0123456789abcdef"}, "Upload it again"),
        ("", {"model": "/missing/model"}, "/missing/model"),
        (LENGTH, {"layer": "7"}, "has layers 0 to 2"),
        (LENGTH, {"layer": "1", "pooling": "mean"}, "take the last"),
        (LENGTH, {"probe_size": "50"}, "Raise sample_size"),
        (SEARCH, {"search_corpus": "upload-0123456789abcdef"}, "Upload it again"),
        (COMPARE, {"others": "/missing/model"}, "/missing/model"),
        (MODEL, {"layer": "7"}, "has layers 0 to 2"),
    ],
)
def test_what_cannot_be_answered_is_an_error_in_a_sentence(
    visit: Visit, link: dict[str, str], path: str, settings: dict[str, str], sentence: str
) -> None:
    page = visit(path, **SMALL | link | settings)
    redraw(page, lambda page: sentence in words(page.error))
    assert not page.header
    assert not page.exception


@pytest.mark.parametrize("path", PAGES)
def test_what_failed_begins_again_by_measure_alone(
    visit: Visit, runner: Runner, link: dict[str, str], path: str
) -> None:
    runner.error = ModelError("Tiny is broken.", "Choose another.")
    page = visit(path, sample_size="200", **link)
    n_jobs = 2 if path == SENTENCE else 1  # the page stops at the first that fails
    redraw(page, lambda page: "Tiny is broken" in words(page.error) and runner.n_loads >= n_jobs)
    n_loads = runner.n_loads
    page.run()
    assert runner.n_loads == n_loads
    assert not page.header
    runner.error = None
    while page.error:
        page = redraw(page.button[-1].click().run(), is_done)
    assert redraw(page, is_answered).header
    assert not page.exception


def test_visitors_with_the_same_texts_have_commands_of_their_own(
    visit: Visit, titled: Path, tmp_path: Path
) -> None:
    copy = tmp_path / "copy.csv"
    copy.write_bytes(titled.read_bytes())
    for path in (titled, copy):
        page = redraw(visit(SEARCH, search_corpus=str(path)), is_answered)
        page.session_state["method"] = True
        assert str(path) in page.run().code[-1].value


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("length_cutoff", "1"),
        ("seed", "9" * 300),
        ("layer", "-1"),
        ("colour", "red"),
        ("chunks", "perhaps"),
        ("search_pooling", "max"),
        ("search_corpus", "\x00"),
    ],
)
def test_a_setting_that_a_link_cannot_have_is_refused_in_a_sentence(
    visit: Visit, name: str, text: str
) -> None:
    page = visit(**{"sample_size": "40", name: text})
    for _ in range(2):
        [warning] = page.warning
        assert name.removeprefix("search_") in words([warning])
        assert len(warning.value) < 300
        assert not any([page.exception, page.error])
        assert name not in page.query_params
        assert name not in page.run().run().query_params
        page.query_params[name] = text  # by Back
        page.run()


def test_a_value_that_a_widget_cannot_have_is_refused_once(visit: Visit) -> None:
    page = redraw(visit(**SMALL), is_answered)
    page.number_input(key="length_cutoff").set_value(-5).run()
    assert [words([error]) for error in page.error] == [
        "length_cutoff is “-5”. Choose a number from 2 to 100,000."
    ]
    assert not any([page.warning, page.header])


def test_files_of_the_server_are_closed_to_visitors(
    visit: Visit, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("clsviz.ui.sidebar.is_at_this_machine", lambda: False)
    folders = ["untrained: /tmp", " /tmp", "~", "./clsviz"]
    links = [SMALL, *({"model": name, "corpus": "python-docs"} for name in folders)]
    search = {"model": "minilm", "corpus": "python-docs", "search_corpus": "/etc/passwd"}
    for path, settings in [*(("", one) for one in links), (SEARCH, search)]:
        page = redraw(visit(path, **settings), lambda page: page.error)
        assert "of the server" in words(page.error), settings
        assert not page.header


def test_who_cancels_does_not_end_the_job_of_another(
    visit: Visit, runner: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    runner.gate.clear()
    monkeypatch.setattr("clsviz.ui.work.session", lambda: "first")
    first = redraw(visit(**SMALL), lambda page: page.button)
    monkeypatch.setattr("clsviz.ui.work.session", lambda: "second")
    second = redraw(visit(**SMALL), lambda page: runner.n_loads)
    monkeypatch.setattr("clsviz.ui.work.session", lambda: "first")
    first.button[0].click().run()
    assert "cancelled" in first.info[0].value
    assert is_done(first)
    monkeypatch.setattr("clsviz.ui.work.session", lambda: "second")
    assert not is_done(second.run())
    runner.gate.set()
    assert redraw(second, is_answered).header
    assert runner.n_loads == 1


def test_typed_sentences_come_by_a_link_are_measured_once_and_stored_nowhere(
    visit: Visit, runner: Runner, tmp_path: Path
) -> None:
    typed = ["a *small* dog <b>sings</b>", "the cat"]
    page = redraw(visit(**SMALL, text="\n\n".join(typed)), is_answered)
    for _ in range(3):
        page.run()
    assert runner.texts.count(typed) == 1
    [lines] = [text.value.splitlines() for text in page.markdown if "★" in text.value]
    assert all(layout.escape(text) in line for text, line in zip(typed, lines, strict=True))
    page.text_area(key="text").set_value("the old cat").run()
    redraw(page, lambda page: "“the old cat”" in words(page.markdown))
    assert not any(b"sings</b>" in file.read_bytes() for file in tmp_path.rglob("*.*"))


def test_random_weights_and_recall_come_by_a_click(
    visit: Visit, answer: Answer, titled: Path
) -> None:
    page = redraw(visit(LENGTH, search_corpus=str(titled)), is_answered)
    page.button(key="measure-recall").click().run()
    redraw(page, lambda page: "share of right texts" in words(page.caption))
    options: dict[str, Any] = {"recall": True, "search_corpus": str(titled)}
    assert has(page, answer(LENGTH, **options))
    page.button(key="measure-random_weights").click().run()
    redraw(page, lambda page: "random weights" in words(page.caption))
    assert has(page, answer(LENGTH, **options, random_weights=True))


def test_a_search_measures_texts_once(visit: Visit, runner: Runner, link: dict[str, str]) -> None:
    redraw(visit(SEARCH, **link), is_answered)
    measured = [text for texts in runner.texts for text in texts]
    assert len(measured) == len(set(measured)) > 60


def test_another_column_searches_by_a_click(
    visit: Visit, answer: Answer, link: dict[str, str]
) -> None:
    page = redraw(visit(SEARCH, **link), is_answered)
    assert page.selectbox(key="read-search_titles").value == "title"
    page.selectbox(key="read-search_titles").set_value("note").run()
    redraw(page, is_answered)
    expected = answer(SEARCH, column="body", titles="note")
    assert has(page, expected)
    assert page.query_params["search_titles"] == "note"
    linked = visit(SEARCH, **link, search_titles="note", search_column="body")
    assert has(redraw(linked, is_answered), expected)


def test_one_model_alone_is_compared_with_its_untrained_architecture(
    visit: Visit, answer: Answer, titled: Path
) -> None:
    page = redraw(visit(COMPARE, sample_size="200", search_corpus=str(titled)), is_answered)
    assert has(page, answer(COMPARE, sample_size=200))


def test_a_sentence_has_tokens_a_place_neighbours_and_a_cosine(
    visit: Visit, runner: Runner, tmp_path: Path
) -> None:
    page = redraw(visit(SENTENCE, text="the small cat sings"), is_answered)
    assert page.header[0].value == "What does tiny make of “the small cat sings”?"
    assert "small" in words(page.markdown)
    assert len(page.get("bidi_component")) == 2
    page.button(key="measure-vectors").click().run()
    redraw(page, lambda page: is_done(page) and page.dataframe)
    cosines = page.dataframe[0].value["cosine"]
    assert len(cosines) == 10
    assert cosines.is_monotonic_decreasing
    page.text_area(key="text").set_value("the small cat sings\n" * 2).run()
    redraw(page, lambda page: "cosine is" in words(page.markdown))
    assert "**1.000**, above the cosine of the first and " in words(page.markdown)
    redraw(page, lambda page: len(page.dataframe) == 2)
    assert list(page.dataframe[1].value["Word"]) == ["the", "small", "cat", "sings"]
    assert not any(b"small cat sings" in path.read_bytes() for path in tmp_path.rglob("*.*"))
    assert not page.exception


def test_a_model_is_taken_apart(visit: Visit, runner: Runner) -> None:
    page = redraw(visit(MODEL, **SMALL, layer="1"), is_answered)
    assert page.subheader[0].value.startswith("2 layers, ")
    assert len(page.code[0].value.split(",")) == 16
    cls = page.code[0].value
    page.segmented_control(key="view").set_value("Every token").run()
    [token] = [box for box in page.selectbox if box.label == "Token"]
    token.select_index(1).run()
    assert page.code[0].value != cls
    assert list(page.dataframe[1].value["Token"]) == ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
    assert not any([page.exception, page.error])


def test_a_page_has_only_the_settings_that_it_heeds_or_a_link_sets(visit: Visit) -> None:
    for link, n_layers in (({}, 0), ({"layer": "last"}, 0), ({"layer": "2"}, 1)):
        page = redraw(visit(SEARCH, model="minilm", corpus="python-docs", **link), is_answered)
        keys = [box.key for box in page.selectbox]
        assert keys.count("layer") == n_layers, link
        assert not page.number_input


def test_a_file_follows_to_other_pages_until_they_have_their_own(
    visit: Visit, sentences: list[str]
) -> None:
    def bring(page: AppTest, name: str, setting: str) -> list[str]:
        page.session_state[f"own_{setting}"] = True
        content = "\n".join([name, *sentences]).encode()
        page.run().file_uploader(key=f"file_{setting}").set_value((name, content, "")).run()
        return [page.session_state[key] for key in ("corpus", "search_corpus")]

    page = redraw(visit(**SMALL, encoding="cp1254"), is_answered)
    corpus, search = bring(page, "a b.txt", "corpus")
    assert corpus == search
    assert [page.query_params[key] for key in ("corpus", "search_corpus")] == [corpus, search]
    assert page.session_state["encoding"] == ""
    corpus, search = bring(page, "b.txt", "corpus")
    assert corpus == search
    page.switch_page(f"clsviz/ui/pages/{SEARCH}.py").run()
    assert bring(page, "c d.txt", "search_corpus") != [corpus, search]
    redraw(page, is_answered).session_state["method"] = True
    assert "--corpus 'c d.txt' --" in page.run().code[-1].value
    assert page.selectbox(key="search_corpus").value.startswith("c d.txt (upload-")


def test_titles_search_whole_texts_and_own_chunks_are_tested(
    visit: Visit, answer: Answer, link: dict[str, str], tmp_path: Path, capsys
) -> None:
    own = tmp_path / "own.csv"
    pd.read_csv(link["search_corpus"])[["body"]].to_csv(own)
    settings = {"search_titles": "title", "own_chunks": str(own)}
    page = redraw(visit(CHUNKS, **link, **settings), is_answered)
    result = answer(CHUNKS, titles="title", chunks=own)
    assert result.verdict.startswith("Your chunks keep")
    assert has(page, result)
    linked = "&".join(f"{name}={text}" for name, text in page.query_params.items())
    query = ["--query", f"http://a.b/?{linked}", "--store", str(tmp_path)]
    assert cli.main(["chunk-test", *query]) == 0
    assert result.verdict in capsys.readouterr().out


def test_chunks_are_a_setting_of_the_link(visit: Visit, link: dict[str, str]) -> None:
    page = visit(COMPARE, chunks="true", **link, **SMALL)
    assert redraw(page, is_answered).toggle(key="chunks").value
    page.session_state["share-Link"] = True
    assert "chunks=true" in page.run().code[0].value
