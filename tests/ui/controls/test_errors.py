"""Each error where its cause is."""

import re
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest
from support.app import finish, job_of, plain, unfold
from support.hub import Hub

from clsviz.errors import ClsvizError, CorpusError, ModelError, SettingError, StoreError, UnexpectedError
from clsviz.measuring import Cost, Extraction, Job, State
from clsviz.progress import Progress
from clsviz.ui import controls


def test_a_failure_of_the_model_stands_under_its_box_and_the_page_stays(
    open_page: Callable[..., AppTest], monkeypatch: pytest.MonkeyPatch
) -> None:
    def unreachable(name: str, progress: Progress | None = None) -> None:
        raise ModelError(f"The Hugging Face Hub cannot be reached for {name}.")

    monkeypatch.setattr("clsviz.models.find", unreachable)
    monkeypatch.setattr("clsviz.models.fetch", unreachable)
    page = finish(open_page(model="google/electra-small-discriminator"))
    assert "cannot be reached for google/electra" in page.sidebar.error[0].value.replace("\\", "")
    assert page.button(key="run").label == "Try again"
    monkeypatch.undo()
    page.selectbox(key="model").select("minilm").run()
    assert not page.exception


def test_a_failure_while_the_page_is_being_drawn_is_shown_too(
    open_page: Callable[..., AppTest], monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn = threading.Event()
    draw = controls.sample.show

    def fail_when_drawn(*_: object) -> Cost:
        assert drawn.wait(10)
        raise ModelError("The model is gone.")

    def draw_and_wait(job: Job, outline: tuple[bool, bool, bool], **more: bool) -> None:
        draw(job, outline, **more)
        drawn.set()
        while job.state.is_active:
            time.sleep(0.01)

    monkeypatch.setattr(Extraction, "look_up", fail_when_drawn)
    monkeypatch.setattr("clsviz.ui.controls.sample.show", draw_and_wait)
    polled: list[float | None] = []
    fragment = st.fragment
    monkeypatch.setattr(
        st, "fragment", lambda f, run_every=None: polled.append(run_every) or fragment(f, run_every=run_every)
    )
    page = open_page()
    assert any(polled)  # the browser comes back for it, although the job has ended
    page.run()
    for place in (page.sidebar, page.main):  # the main column says it to phones
        assert [error.value for error in place.error] == ["The model is gone."]


@pytest.mark.parametrize(
    ("how", "said"),
    [("404", "has no model owner/other"), ("gated", "hf auth login"), ("500", "at the moment (500)")],
)
def test_what_is_wrong_with_a_model_of_the_hub_stands_under_its_box(
    hub: Hub, open_page: Callable[..., AppTest], tiny_folder: Path, how: str, said: str
) -> None:
    hub.add("owner/other", tiny_folder)
    hub.misbehave("/api/*", how)
    page = finish(open_page(model="owner/other"))
    assert [said in plain(error.value) for error in page.sidebar.error] == [True]
    hub.behave()
    page.button(key="run").click().run()
    finish(page)
    if job_of(page).state is State.WAITING:  # its size was not known before
        page.button(key="run").click().run()
        finish(page)
    assert not page.error
    assert job_of(page).state is State.DONE


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
    place = elements.index(message)
    keys = [getattr(element, "key", None) for element in elements]
    assert keys.index(after) < place
    if before:
        assert place < keys.index(before)
    assert repeated.value == message.value
    main = list(page.main)
    assert main.index(repeated) < main.index(page.title[0])
    assert page.button(key="run").label == page.button(key="run-phone").label == "Try again"
    assert ("bees" in message.value) != (error is UnexpectedError)


@pytest.mark.parametrize("place", ["{}/", "file://{}/"])
def test_a_store_with_too_long_a_name_is_one_sentence(
    open_page: Callable[..., AppTest], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, place: str
) -> None:
    monkeypatch.setenv("CLSVIZ_STORE", place.format(tmp_path) + "x" * 300)
    page = finish(open_page(corpus="python-docs"))  # which is not kept in the store
    for column in (page.sidebar, page.main):  # the main column says it to phones
        (error,) = column.error
        assert re.fullmatch(
            r"The name of the (store|file), .{60}…, is too long\. Choose a shorter one\.", plain(error.value)
        )
    assert not page.exception


def test_an_error_about_the_settings_stands_above_the_picture(
    open_page: Callable[..., AppTest], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(extraction: Extraction, progress: Progress) -> Cost:
        raise SettingError("The layer is one too many.")

    monkeypatch.setattr(Extraction, "look_up", fail)
    page = finish(open_page())
    assert [error.value for error in page.main.error] == ["The layer is one too many."]
    assert not page.sidebar.error
    elements = list(page.main)
    assert elements.index(page.main.error[0]) < elements.index(page.title[0])
