"""The sidebar: the corpus, a run and its errors, runs that were left, and the original experiment."""

import re
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest
from support.app import answer, figures, finish, job_of, linked, plain, texts, unfold
from support.hub import Hub
from support.tiny import random_sentences, write_dataset
from support.waiting import wait_for
from support.wrapped import book, paragraphs

from clsviz.errors import ClsvizError, CorpusError, ModelError, StoreError, UnexpectedError
from clsviz.jobs import Cost, Extraction, State
from clsviz.progress import Progress
from clsviz.settings import Reading, Segmentation
from clsviz.sources import segmentation
from clsviz.ui import sidebar
from clsviz.ui.markdown import escape
from clsviz.ui.state import server


def upload(page: AppTest, name: str, content: bytes) -> AppTest:
    """Upload a file, and wait until it is known how it is read."""
    page = page if "own_file_seen" in page.session_state else unfold(page, "own_file")
    page.file_uploader(key="upload").upload(name, content)
    page.run()
    return finish(page)


def test_an_uploaded_text_becomes_the_corpus_once_the_visitor_has_seen_how_it_is_read(
    open_page: Callable[..., AppTest],
) -> None:
    last = "A <b>last</b> **one** :red[of] them."
    text = book().replace("THE END", f"{last}\n\nTHE END")
    page = upload(finish(open_page()), "*book*.txt", text.encode())
    wanted = [*segmentation.sentences(paragraphs(), cut=True), last]
    preview = page.main.expander[0]
    assert preview.label == f"How **\\*book\\*.txt** is read: {len(wanted):,} sentences"
    assert "They were joined into paragraphs, and those cut into sentences." in plain(preview.markdown[0].value)
    assert preview.caption[0].value.split("\n")[-1] == f"- {escape(last)}"
    assert answer(page).startswith("See above how your file is read.")
    page.segmented_control(key="reading").set_value(Reading.LINES).run()
    page = finish(page)
    assert page.main.expander[0].markdown[0].value == "Each line is taken as one sentence."
    assert (page.query_params["reading"], job_of(page).state) == ("lines", State.WAITING)
    page.segmented_control(key="reading").set_value(Reading.AUTO).run()
    page.button(key="measure").click().run()
    page = finish(page)
    assert set(job_of(page).work.found.sentences) <= set(wanted)
    (preview,) = (place for place in page.main.expander if plain(place.label).startswith("How *"))
    assert not preview.proto.expanded
    page.segmented_control(key="segmentation").set_value(Segmentation.NONE).run()
    assert job_of(finish(page)).state is State.WAITING


def test_a_file_that_cannot_be_read_says_so_where_it_is_given(open_page: Callable[..., AppTest], corpus: str) -> None:
    page = upload(finish(open_page()), "empty.txt", b"\n\n")
    said = page.sidebar.error[0]
    assert "empty.txt holds no text" in said.value
    elements = list(page.sidebar)
    assert elements.index(said) == elements.index(page.file_uploader(key="upload")) + 1
    assert page.session_state.corpus == corpus
    page = upload(page, "names.txt", b"ANN\nBOB\n\nCLEO\n")
    page.segmented_control(key="reading").set_value(Reading.PARAGRAPHS).run()
    assert "names.txt holds no paragraphs of prose." in plain(finish(page).sidebar.error[0].value)
    page.segmented_control(key="reading").set_value(Reading.AUTO).run()
    assert not finish(page).sidebar.error


def test_an_uploaded_table_has_its_columns_offered(open_page: Callable[..., AppTest]) -> None:
    sentences = random_sentences(60, seed=4)
    rows = ["title;remark", *(f"the cat;{sentence}" for sentence in sentences)]
    page = upload(finish(open_page()), "mine.csv", "\n".join(rows).encode())
    key = f"chosen_column_{page.session_state.corpus}"
    assert (page.selectbox(key=key).value, page.selectbox(key=key).options) == ("title", ["title", "remark"])
    page.selectbox(key=key).select("remark").run()
    page = finish(page)
    assert set(job_of(page).work.found.sentences) == set(sentences)
    assert page.query_params["column"] == "remark"
    page.session_state.column = ""  # as after the browser's Back
    assert finish(page.run()).selectbox(key=key).value == "title"


def test_a_dataset_offers_what_it_declares_and_its_defaults(
    hub: Hub, open_page: Callable[..., AppTest], tmp_path: Path
) -> None:
    texts_of = {
        "one": {"train": random_sentences(50, seed=1), "test": random_sentences(50, seed=2)},
        "two": {"dev": random_sentences(50, seed=3)},
    }
    hub.add("owner/corpus", write_dataset(tmp_path / "data", texts_of), kind="dataset")
    page = finish(open_page(corpus="owner/corpus", sample_size="50"))
    offered = {box.label: box.options for box in page.selectbox}
    assert offered["Configuration"] == ["one", "two"]
    assert "Column" not in offered  # as there is only one
    page.selectbox(key="chosen_split_owner/corpus").select("test").run()
    finish(page).button(key="run").click().run()
    assert set(job_of(finish(page)).work.found.sentences) == set(texts_of["one"]["test"])
    page.selectbox(key="chosen_configuration_owner/corpus").select("two").run()
    finish(page).button(key="run").click().run()
    assert set(job_of(finish(page)).work.found.sentences) == set(texts_of["two"]["dev"])
    page.selectbox(key="corpus").select("python-docs").run()
    assert finish(page).session_state.configuration == page.session_state.split == ""
    page = finish(open_page(corpus="owner/corpus", configuration="three", sample_size="50"))
    assert "no configuration “three”. Choose one" in plain(page.sidebar.error[0].value)
    next(button for button in page.button if "defaults" in button.label).click().run()
    assert not finish(page).error


@pytest.mark.parametrize(
    ("error", "after", "before"),
    [
        (ModelError, "model", "corpus"),
        (CorpusError, "corpus", "sample_size"),
        (StoreError, "run", None),
        (UnexpectedError, "run", None),
    ],
)
def test_an_error_stands_where_its_cause_is(
    open_page: Callable[..., AppTest],
    monkeypatch: pytest.MonkeyPatch,
    error: type[ClsvizError],
    after: str,
    before: str | None,
) -> None:
    """In the sidebar, and once more in the main column, above the title, where phones show it."""

    def fail(extraction: Extraction, progress: Progress) -> Cost:
        raise error() if error is UnexpectedError else error("It is full of bees.")

    monkeypatch.setattr(Extraction, "look_up", fail)
    page = unfold(finish(open_page()), "settings")
    (message,), (repeated,) = page.sidebar.error, page.main.error
    elements = list(page.sidebar)
    keys = [getattr(element, "key", None) for element in elements]
    assert keys.index(after) < elements.index(message)
    if before:
        assert elements.index(message) < keys.index(before)
    assert repeated.value == message.value
    main = list(page.main)
    assert main.index(repeated) < main.index(page.title[0])
    assert ("bees" in message.value) != (error is UnexpectedError)


def test_what_takes_long_states_its_cost_and_waits_for_run(
    open_page: Callable[..., AppTest], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Extraction, "look_up", lambda self, progress: Cost(240.0, 1234))
    page = finish(open_page())
    assert page.button(key="run").label == "Measure · about 4 min"
    assert "Press Measure" in answer(page)
    assert re.search("300 sentences, about [0-9,]+ tokens; keeps .* kB", texts(page))
    page.button(key="run").click().run()
    assert figures(finish(page))["Sentences"] == "300"


def begun(page: AppTest) -> AppTest:
    """The page once the first sentences are measured."""
    wait_for(lambda: job_of(page).work.found is not None and len(job_of(page).work.found.measurements) > 0)
    return page.run()


def test_cancelling_keeps_the_picture(open_page: Callable[..., AppTest], gate: threading.Event) -> None:
    page = begun(open_page())
    assert "It goes on if you close this page or choose other settings, until you cancel it." in texts(page)
    page.button(key="cancel").click().run()
    assert job_of(page).state is State.CANCELLED
    assert re.search("[0-9]+ of 300 sentences measured so far.", texts(page))
    assert page.button(key="run").label == "Measure"
    gate.set()
    page.button(key="run").click().run()
    assert figures(finish(page))["Sentences"] == "300"


def test_a_run_goes_on_while_other_settings_are_looked_at_and_is_found_again(
    open_page: Callable[..., AppTest], gate: threading.Event
) -> None:
    page = begun(open_page())
    job = job_of(page)
    for _ in range(2):
        page.session_state.seed = 4
        page.run()
        assert job_of(page) is not job
        assert "In the background: tiny-bert on Uploaded file" in texts(page)
        page.button(key="show_0").click().run()
        assert job_of(page) is job
        assert "In the background" not in texts(page)
    page.session_state.seed = 4
    page.run().button(key="cancel_background_0").click().run()
    assert job.state is State.CANCELLED
    gate.set()
    finish(page)


def test_a_public_server_stops_a_run_that_is_left(
    open_page: Callable[..., AppTest], gate: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLSVIZ_PUBLIC", "1")
    st.cache_resource.clear()
    page = begun(open_page(model="minilm", seed="1"))
    assert "It stops if you choose other settings, or soon after you close this page." in texts(page)
    job = job_of(page)
    page.session_state.seed = 4
    page.run()
    assert job.state is State.CANCELLED
    gate.set()


def test_the_original_is_two_clicks_away_with_its_cost_stated_before(
    original: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sidebar, "INSTANT", replace(sidebar.INSTANT, sample_size=300))
    page = finish(linked({"sample_size": "300"}).run())
    wait_for(lambda: server.jobs().estimate(sidebar.ORIGINAL) is not None)
    unfold(page, "settings")
    assert re.search(r"The original downloads 4\d\d MB and takes about [\d.]+ (s|min|h)", texts(page))
    next(button for button in page.button if button.label == "The original").click().run()
    experiment = job_of(page).work.experiment
    assert (experiment.model, experiment.corpus, experiment.sample_size) == ("bert-base-uncased", "bookcorpus", 100_000)
    page = finish(page)
    assert not original.requests  # nor does choosing
    page.button(key="run").click().run()
    assert "BookCorpus has only 600 sentences" in texts(finish(page))
    next(button for button in page.button if button.label == "Instant").click().run()
    assert job_of(page).work.experiment == sidebar.INSTANT
