"""The preview of a file of the visitor's own."""

import base64
from collections.abc import Callable

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest
from support.app import charts, finish, job_of, plain, texts, unfold
from support.wrapped import book, paragraphs

from clsviz import corpora
from clsviz.errors import StoreError
from clsviz.measuring import Cost, Extraction, State
from clsviz.progress import Progress
from clsviz.settings import Reading
from clsviz.ui.markdown import escape


def test_a_book_is_shown_as_it_is_read_and_read_otherwise_on_a_click(open_page: Callable[..., AppTest]) -> None:
    last = "A <b>last</b> **one** :red[of] them."
    text = book().replace("THE END", f"{last}\n\nTHE END")
    page = unfold(finish(open_page()), "own_file")
    page.file_uploader(key="upload").upload("*book*.txt", text.encode())
    page.run()
    finish(page)
    wanted = [*corpora.segmentation.sentences(paragraphs(), cut=True), last]
    preview = page.main.expander[0]
    assert preview.proto.expanded
    assert preview.label == f"How **\\*book\\*.txt** is read: {len(wanted):,} sentences"
    assert "They were joined into paragraphs, and those cut into sentences." in plain(preview.markdown[0].value)
    examples = preview.caption[0].value.split("\n")
    assert len(examples) == 10
    assert examples[0] == f"- {escape(wanted[0])}"
    assert examples[-1] == f"- {escape(last)}"
    assert job_of(page).state is State.WAITING

    page.segmented_control(key="reading").set_value(Reading.LINES).run()
    finish(page)
    preview = page.main.expander[0]
    assert preview.markdown[0].value == "Each line is taken as one sentence."
    assert (page.query_params["reading"], job_of(page).state) == ("lines", State.WAITING)
    page.segmented_control(key="reading").set_value(Reading.AUTO).run()
    page.button(key="measure").click().run()
    finish(page)
    assert job_of(page).state is State.DONE
    assert set(job_of(page).work.found.sentences) <= set(wanted)
    (preview,) = (place for place in page.main.expander if plain(place.label).startswith("How *"))
    assert not preview.proto.expanded
    assert "reading" not in page.query_params

    page.selectbox(key="corpus").select("python-docs").run()
    finish(page)
    assert "joined into paragraphs" not in texts(page)


def test_the_histogram_counts_the_words_of_all_sentences_shown(open_page: Callable[..., AppTest]) -> None:
    page = unfold(finish(open_page()), "own_file")
    page.file_uploader(key="upload").upload("two.csv", b"body,n\n" + b"A cat sat.,1\nDogs ran home here.,2\n" * 20)
    page.run()
    preview = finish(page).main.expander[0]
    (bars,) = charts(preview)[0]["data"]
    counted = np.frombuffer(base64.b64decode(bars["x"]["bdata"]), bars["x"]["dtype"])
    assert sorted(counted.tolist()) == [3] * 20 + [4] * 20
    assert "Each text in its column “body”" in plain(preview.markdown[0].value)
    assert not [control for control in page.main.segmented_control if control.key == "reading"]


def test_a_file_that_cannot_be_read_so_can_be_read_otherwise(open_page: Callable[..., AppTest]) -> None:
    page = unfold(finish(open_page()), "own_file")
    page.file_uploader(key="upload").upload("names.txt", b"ANN\nBOB\n\nCLEO\n")
    page.run()
    finish(page)
    page.segmented_control(key="reading").set_value(Reading.PARAGRAPHS).run()
    finish(page)
    assert "names.txt holds no paragraphs of prose." in plain(page.sidebar.error[0].value)
    page.segmented_control(key="reading").set_value(Reading.AUTO).run()
    assert not finish(page).sidebar.error
    page.file_uploader(key="upload").upload("paper.pdf", b"%PDF-1.7")
    page.run()
    assert "pdftotext paper.pdf paper.txt" in plain(page.sidebar.error[0].value)


def test_what_failed_has_one_button_beside_its_error(
    open_page: Callable[..., AppTest], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(extraction: Extraction, progress: Progress) -> Cost:
        raise StoreError("It is full of bees.")

    page = unfold(finish(open_page()), "own_file")
    monkeypatch.setattr(Extraction, "look_up", fail)
    page.file_uploader(key="upload").upload("mine.txt", b"A cat sat.\nA dog ran.\n")
    page.run()
    page = finish(page)
    assert (plain(page.main.expander[0].label), job_of(page).state) == (
        "How **mine.txt** is read: 2 sentences",
        State.FAILED,
    )
    assert {button.key: button.label for button in page.button if button.key in ("measure", "run")} == {
        "run": "Try again"
    }
