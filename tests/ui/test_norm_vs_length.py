"""The page's logic, without a browser."""

import io
import re
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest
from support.app import answer, browse_from, chart, drawn, figures, finish, job_of, linked, plain, settle, texts
from support.hub import Hub
from support.processor import needs_bfloat16
from support.tiny import random_sentences, write_dataset

from clsviz import corpora, export, statistics, words
from clsviz.encoder import Encoder
from clsviz.errors import ClsvizError, CorpusError, ModelError, SettingError, StoreError, UnexpectedError
from clsviz.measuring import Cost, Extraction, Found, Job, State
from clsviz.measuring.job import Lane
from clsviz.progress import Progress
from clsviz.settings import Pooling, Segmentation
from clsviz.ui import controls
from clsviz.ui.controls import presets
from clsviz.ui.state import server, session


def test_the_page_answers_its_question(open_page: Callable[..., AppTest], tiny_encoder: Encoder) -> None:
    page = finish(open_page())
    assert "Does tiny-bert encode the length of a sentence" in texts(page)
    sentences = server.jobs().open(job_of(page).work.experiment).work.found.sentences
    measured = tiny_encoder.measure(sentences)
    r_squared = np.corrcoef(measured.n_tokens, measured.cls_norms[:, -1])[0, 1] ** 2
    assert figures(page)["R²"] == words.number(r_squared)
    assert f"{100 * r_squared:.1f}% of the differences between norms" in answer(page)
    assert figures(page)["Slope"] == words.number(np.polyfit(measured.n_tokens, measured.cls_norms[:, -1], 1)[0])
    assert figures(page)["Sentences"] == "300"
    cloud = chart(page)["data"][0]
    assert len(cloud["text"]) == 300
    assert f"({measured.n_tokens.min()}–{measured.n_tokens.max()} tokens)" in texts(page)
    assert len(page.title) == len(page.header) == 1
    assert not page.metric


def test_the_curve_the_spread_and_the_cutoffs_follow_and_the_picture_stays(open_page: Callable[..., AppTest]) -> None:
    page = finish(open_page())
    before = chart(page)
    page.session_state["how_measured"] = page.session_state["every_layer"] = True
    page = settle(page.run())
    found = job_of(page).work.found
    lengths, norms = found.measurements.n_tokens, found.measurements.cls_norms[:, -1]
    shape = statistics.shape(lengths, norms, corpora.clusters_of(found.sentences[:300]))
    assert words.PENDING not in answer(page)
    assert f", a curve {100 * shape.curve_r_squared:.1f}%;" in answer(page)
    assert f"spread {max(shape.spread_ratio, 1 / shape.spread_ratio):.1f}× as wide" in answer(page)
    shown = texts(page)
    assert f"**R² of a curve:** {words.number(shape.curve_r_squared)}" in shown
    assert f"**Mutual information:** {words.number(shape.mutual_information)}" in shown
    assert chart(page) == before  # with its curves, from the start
    assert {"5%", "median", "95%"} <= {annotation["text"] for annotation in before["layout"]["annotations"]}
    cutoffs = orjson.loads(page.get("plotly_chart")[1].proto.spec)
    under = lengths < 10
    slope = np.polyfit(lengths[under], norms[under], 1)[0]
    assert cutoffs["data"][1]["hovertemplate"].startswith("under %{x} tokens")
    table = statistics.by_cutoff(lengths, lengths, norms, corpora.clusters_of(found.sentences[:300]))
    assert table["slope"][0] == pytest.approx(slope, rel=1e-3)
    assert words.by_cutoff(table) in shown
    page.get_by_key("overlays").set_value([]).run()
    assert {annotation["text"] for annotation in chart(page)["layout"]["annotations"]}.isdisjoint({"5%", "95%"})
    page.get_by_key("overlays").set_value(["Medians"]).run()
    assert len(drawn(page)) == 2


def test_before_the_first_points_everything_has_its_place(
    open_page: Callable[..., AppTest], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Lane, "put", lambda self, job: setattr(job, "state", State.QUEUED))
    page = open_page()
    assert not page.exception
    assert figures(page) == {"R²": "", "Slope": "", "Sentences": ""}
    assert "Does tiny-bert encode" in texts(page)
    assert answer(page).endswith("The first points appear in a few seconds.")
    assert {element.key for element in page.main.select_slider} == {"layer_2", "length_cutoff"}
    assert chart(page)["layout"]["xaxis"]["title"]["text"] == "Sentence length (in tokens)"


def test_the_cutoff_and_the_layer_are_instant(
    open_page: Callable[..., AppTest], monkeypatch: pytest.MonkeyPatch
) -> None:
    page = finish(open_page())
    before = figures(page)
    monkeypatch.setattr(Encoder, "measure", None)  # no model run
    page.select_slider(key="length_cutoff").set_value(15).run()
    assert figures(page)["Sentences"] != before["Sentences"]
    assert "–14 tokens)" in texts(page)
    page.select_slider(key="layer_2").set_value(1).run()
    assert "after layer 1?" in texts(page)
    assert page.query_params["layer"] == "1"
    assert page.query_params["length_cutoff"] == "15"
    page.get_by_key("pooling").set_value("pooler").run()
    assert not page.exception
    assert "its pooler output?" in texts(page)


@needs_bfloat16
def test_the_fast_precision_says_what_it_costs(open_page: Callable[..., AppTest]) -> None:
    page = finish(open_page())
    page.get_by_key("precision").set_value("fast").run()
    finish(page)
    assert page.query_params["precision"] == "fast"
    found = job_of(page).work.found
    errors = np.abs(found.audit.measurements.cls_norms - found.measurements.head(256).cls_norms)[:, -1]
    assert "Computed in bfloat16. Compared with float32 on 256 sentences" in texts(page)
    assert f"{words.number(errors.mean())} on average and {words.number(errors.max())} at most" in texts(page)
    assert len(chart(page)["data"][0]["text"]) == 300


@needs_bfloat16
def test_a_layer_that_varies_less_than_the_error_is_marked_and_not_drawn(
    open_page: Callable[..., AppTest], monkeypatch: pytest.MonkeyPatch
) -> None:
    page = finish(open_page(precision="fast"))
    assert page.select_slider(key="layer_2").options == ["0", "1", "last"]
    monkeypatch.setattr(statistics.Audit, "is_measurable", property(lambda audit: audit.largest_error == 0))
    page.select_slider(key="layer_2").set_value(1).run()
    assert page.select_slider(key="layer_2").options == ["0", "1 (not measurable)", "last (not measurable)"]
    assert answer(page).startswith("Not measurable in the fast precision: the norm varies by ")
    assert figures(page)["R²"] == ""
    assert not any(len(trace.get("text") or []) for trace in chart(page)["data"])


def test_a_constant_norm_is_explained(open_page: Callable[..., AppTest]) -> None:
    page = finish(open_page(layer="0"))
    assert "The norm is the same for all 300 sentences" in answer(page)
    assert figures(page)["R²"] == ""
    assert len(chart(page)["data"][0]["text"]) == 300


def test_nothing_under_the_cutoff_is_explained(open_page: Callable[..., AppTest], tmp_path: Path) -> None:
    long = corpora.keep_upload(io.BytesIO(b"the cat sat on the mat\n" * 5), "long.txt", tmp_path / "store" / "corpora")
    page = finish(open_page(corpus=long, length_cutoff="3"))
    assert "No whole sentence is shorter than the length cutoff" in answer(page)


def test_a_corpus_smaller_than_the_sample_says_so(open_page: Callable[..., AppTest]) -> None:
    page = finish(open_page(sample_size="5000"))
    assert "has only 400 sentences" in texts(page)
    assert figures(page)["Sentences"] == "400"


def test_a_link_names_what_it_could_not_restore_and_restores_the_rest(open_page: Callable[..., AppTest]) -> None:
    page = finish(open_page(length_cutoff="20", seed="minus one", colour="red", layer="77", segmentation="no-such-way"))
    warnings = [warning.value for warning in page.warning]
    assert any("colour" in warning for warning in warnings)
    assert any("minus one" in warning for warning in warnings)
    assert any("no\\-such\\-way" in warning for warning in warnings)
    assert any("no layer 77" in warning for warning in warnings)
    assert page.session_state.length_cutoff == 20
    assert page.session_state.seed == 0
    assert page.query_params["length_cutoff"] == "20"
    assert "colour" not in page.query_params
    page.select_slider(key="length_cutoff").set_value(25).run()
    assert not page.warning


def test_a_path_in_a_link_is_opened_only_on_the_same_machine(
    open_page: Callable[..., AppTest], monkeypatch: pytest.MonkeyPatch, text_file: Path
) -> None:
    assert figures(finish(open_page(corpus=str(text_file))))["Sentences"] == "300"
    browse_from(monkeypatch, "example.org")
    page = finish(open_page(model="minilm", corpus="/etc/passwd"))
    assert "/etc/passwd" in page.warning[0].value
    assert page.session_state.corpus == "python-docs"


def test_what_takes_long_states_its_cost_and_waits_for_run(
    open_page: Callable[..., AppTest], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Extraction, "look_up", lambda self, progress: Cost(240.0))
    page = finish(open_page())
    assert job_of(page).state is State.WAITING
    assert page.button(key="run").label == "Run · about 4 min"
    assert "Press Run" in answer(page)
    page.button(key="run").click().run()
    finish(page)
    assert figures(page)["Sentences"] == "300"


def test_a_model_that_has_to_be_downloaded_waits_for_run(open_page: Callable[..., AppTest]) -> None:
    page = finish(open_page(model="bert-base-uncased"))
    assert re.fullmatch(r"Run · about \d+ (s|min)", page.button(key="run").label)
    assert "Downloads about 441 MB first." in texts(page)


def test_cancelling_keeps_the_picture(open_page: Callable[..., AppTest], monkeypatch: pytest.MonkeyPatch) -> None:
    measure = Encoder.measure

    def slow(self: Encoder, sentences: list[str], on_batch: Callable[[int], None] | None = None) -> Any:
        while on_batch and len(sentences) > 32:
            on_batch(0)
            time.sleep(0.01)
        return measure(self, sentences, on_batch)

    monkeypatch.setattr(Encoder, "measure", slow)
    page = open_page()
    job = job_of(page)
    while job.work.found is None or len(job.work.found.measurements) < 64:
        time.sleep(0.01)
    page.run()
    page.button(key="cancel").click().run()
    assert not page.exception
    assert job.state is State.CANCELLED
    assert "64 of 300 sentences measured so far." in texts(page)
    assert figures(page)["Sentences"] == "64"
    monkeypatch.setattr(Encoder, "measure", measure)
    page.button(key="run").click().run()
    finish(page)
    assert figures(page)["Sentences"] == "300"


def test_two_visitors_share_one_job(open_page: Callable[..., AppTest]) -> None:
    one, other = open_page(), open_page(length_cutoff="10")
    assert job_of(one) is job_of(other)
    finish(one)
    finish(other)


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
    assert polled[0]  # the browser comes back for it, although the job has ended
    page.run()
    for place in (page.sidebar, page.main):  # the main column says it to phones
        assert [error.value for error in place.error] == ["The model is gone."]


def test_a_folder_is_opened_only_for_a_visitor_on_the_same_machine(
    open_page: Callable[..., AppTest], monkeypatch: pytest.MonkeyPatch
) -> None:
    browse_from(monkeypatch, "example.org")
    page = finish(open_page())
    assert "Folders can be opened only" in page.warning[0].value
    assert page.session_state.model == "minilm"


def test_an_uploaded_text_becomes_the_corpus(open_page: Callable[..., AppTest]) -> None:
    page = finish(open_page())
    content = "\n".join(["", "the cat", *random_sentences(50, seed=4), "  "]).encode()
    page.file_uploader(key="upload").upload("mine.txt", content)
    page.run()
    assert corpora.is_upload(page.session_state.corpus)
    finish(page)
    assert job_of(page).state is State.WAITING  # until the visitor has seen how it is read
    assert plain(page.main.expander[0].label) == "How **mine.txt** is read: 51 sentences"
    assert plain(page.main.expander[0].markdown[0].value) == "Each line is taken as one sentence."
    assert answer(page).startswith("See above how your file is read.")
    elements = list(page.main)
    assert elements.index(page.main.expander[0].markdown[0]) < elements.index(page.title[0])
    page.button(key="measure").click().run()
    finish(page)
    assert figures(page)["Sentences"] == "51"
    assert page.query_params["corpus"] == page.session_state.corpus


@pytest.mark.parametrize("setting", ["corpus", "model"])
def test_a_forged_message_opens_no_file(
    open_page: Callable[..., AppTest], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, setting: str
) -> None:
    """As a browser may send what no control offers: no link, and no callback, has seen it."""
    (tmp_path / "secret.txt").write_text("one secret\ntwo secrets now\nthree secrets right here\n")
    page = finish(open_page(model="minilm", sample_size="20"))
    before = job_of(page)
    browse_from(monkeypatch, "example.org")
    forged = replace(session.Experiment(), **{setting: str(tmp_path / "secret.txt")})
    monkeypatch.setattr(session, "experiment", lambda: forged)  # AppTest cannot send what is not on offer
    page.run()
    assert not page.exception
    assert len(page.error) == 1
    assert job_of(page) is before
    assert not page.get("plotly_chart")


def test_a_link_with_many_faults_is_answered_in_a_few_lines(open_page: Callable[..., AppTest]) -> None:
    page = open_page(**{f"nothing_{index}": "1" for index in range(200)})
    assert len(page.warning) == 6
    assert "195 more settings" in page.warning[-1].value


def test_an_upload_without_sentences_says_so(open_page: Callable[..., AppTest], corpus: str) -> None:
    page = finish(open_page())
    page.file_uploader(key="upload").upload("empty.txt", b"\n\n")
    page.run()
    assert "empty.txt holds no text" in page.sidebar.error[0].value
    assert page.session_state.corpus == corpus


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


def test_a_layer_that_the_model_turns_out_not_to_have_is_never_drawn(
    open_page: Callable[..., AppTest], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The look-up ends between the controls, which could not know, and the picture."""
    finish(open_page())
    st.cache_resource.clear()
    drawn = threading.Event()
    look_up, draw = Extraction.look_up, controls.view.fit

    def look_up_when_drawn(extraction: Extraction, progress: Progress) -> Cost:
        assert drawn.wait(10)
        return look_up(extraction, progress)

    def draw_and_wait(found: Found | None) -> None:
        draw(found)
        drawn.set()
        while server.jobs().open(session.experiment()).state.is_active:
            time.sleep(0.01)

    monkeypatch.setattr(Extraction, "look_up", look_up_when_drawn)
    monkeypatch.setattr("clsviz.ui.controls.view.fit", draw_and_wait)
    page = open_page(layer="77", text="the cat")
    assert not page.exception
    assert "has no layer 77" in texts(page.run())


def test_a_reload_finds_what_was_measured(open_page: Callable[..., AppTest], monkeypatch: pytest.MonkeyPatch) -> None:
    first = figures(finish(open_page()))
    server.jobs().close()
    st.cache_resource.clear()  # as a restart of the server does
    monkeypatch.setattr(Encoder, "__init__", None)
    assert figures(finish(open_page())) == first


def test_a_public_demo_has_the_catalogue_alone_and_smaller_samples(
    open_page: Callable[..., AppTest], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLSVIZ_PUBLIC", "1")
    st.cache_resource.clear()
    page = open_page(sample_size="100000", probe_size="10000")
    assert not page.exception
    warnings = " ".join(warning.value for warning in page.warning)
    assert "public demo" in warnings
    assert "at most 20,000" in warnings
    assert page.session_state.model == "minilm"
    assert "at most 5,000" in warnings
    assert (page.session_state.sample_size, page.session_state.probe_size) == (20_000, 5_000)
    assert "/" not in "".join(page.selectbox(key="model").options)
    job_of(page).cancel()


@pytest.fixture
def original(hub: Hub, tiny_folder: Path, tmp_path: Path) -> Hub:
    """The Hub with small things in the place of the original experiment's."""
    hub.add("google-bert/bert-base-uncased", tiny_folder)
    (tmp_path / "script").mkdir()
    (tmp_path / "script" / "bookcorpus.py").write_text("raise SystemExit")
    hub.add("bookcorpus/bookcorpus", tmp_path / "script", kind="dataset")
    converted = write_dataset(tmp_path / "books", {"plain_text": {"train": random_sentences(600, seed=8)}})
    hub.add("bookcorpus/bookcorpus", converted, kind="dataset", revision="refs/convert/parquet")
    return hub


@pytest.fixture
def newcomer(monkeypatch: pytest.MonkeyPatch) -> AppTest:
    """A page opened with the defaults, except that fewer sentences are measured."""
    monkeypatch.setattr(presets, "INSTANT", replace(presets.INSTANT, sample_size=300))
    return linked({"sample_size": "300"}).run()


def test_a_cold_page_asks_nothing_of_the_network(original: Hub, newcomer: AppTest) -> None:
    page = finish(newcomer)
    if job_of(page).state is State.WAITING:  # a busy machine
        page.button(key="run").click().run()
        finish(page)
    assert figures(page)["R²"]
    for name, value in {"model": "bert-base-uncased", "corpus": "bookcorpus"}.items():  # nor does choosing
        page.selectbox(key=name).select(value).run()
    finish(page)
    assert job_of(page).state is State.WAITING
    assert not original.requests


def test_the_original_is_two_clicks_away_with_its_cost_stated_before(original: Hub, newcomer: AppTest) -> None:
    page = finish(newcomer)
    deadline = time.monotonic() + 30
    while server.jobs().estimate(presets.ORIGINAL) is None:
        assert time.monotonic() < deadline
        time.sleep(0.02)
    page.run()
    assert re.search(r"The original downloads 4\d\d MB and takes about [\d.]+ (s|min|h)", texts(page))
    next(button for button in page.button if button.label == "The original").click().run()
    asked = job_of(page).work.experiment
    assert (asked.model, asked.corpus, asked.sample_size, asked.length_cutoff) == (
        *("bert-base-uncased", "bookcorpus", 100_000, 80),
    )
    finish(page)
    assert not original.requests
    page.button(key="run").click().run()
    page = finish(page)
    page.session_state["how_measured"] = True
    page.run()
    assert "Does BERT base, uncased encode" in texts(page)
    assert "BookCorpus has only 600 sentences" in texts(page)
    how = next(plain(markdown.value) for markdown in page.markdown if "Sample:" in markdown.value)
    assert "of 6 row groups" in how
    assert "MB were read" in how
    next(button for button in page.button if button.label == "Instant").click().run()
    assert job_of(page).work.experiment == presets.INSTANT


def test_the_copied_link_pins_what_the_hub_gave(original: Hub, open_page: Callable[..., AppTest]) -> None:
    page = finish(open_page(model="bert-base-uncased", corpus="bookcorpus", sample_size="100"))
    page.button(key="run").click().run()
    found = job_of(finish(page)).work.found
    link = export.link(job_of(page).work.experiment, found)
    assert link["model"] == f"bert-base-uncased@{found.weights.commit}"
    assert link["corpus"].startswith("bookcorpus@")
    assert link["model_fingerprint"] == found.weights.fingerprint[:12]
    original.requests.clear()
    again = finish(open_page(**link))
    assert figures(again) == figures(page)
    assert not again.warning
    assert not original.requests  # all of it is here
    assert "model_fingerprint" not in again.query_params
    other = finish(open_page(**link | {"corpus_fingerprint": "0" * 12}))
    assert "not the sentences the link was made with" in plain(other.warning[0].value)
    other.select_slider(key="length_cutoff").set_value(25).run()
    assert other.warning  # the view has nothing to do with it
    other.select_slider(key="sample_size").set_value(200).run()
    assert not finish(other).warning


def test_a_dataset_offers_what_it_declares(hub: Hub, open_page: Callable[..., AppTest], tmp_path: Path) -> None:
    texts_of = {
        "one": {"train": random_sentences(50, seed=1), "test": random_sentences(50, seed=2)},
        "two": {"dev": random_sentences(50, seed=3)},
    }
    hub.add("owner/corpus", write_dataset(tmp_path / "data", texts_of), kind="dataset")
    page = finish(open_page(corpus="owner/corpus", sample_size="50"))
    assert job_of(page).state is State.WAITING  # to be downloaded
    offered = {box.label: box.options for box in page.selectbox}
    assert offered["Configuration"] == ["one", "two"]
    assert sorted(offered["Split"]) == ["test", "train"]
    assert "Column" not in offered  # as there is only one
    page.selectbox(key="chosen_split_owner/corpus").select("test").run()
    finish(page)
    page.button(key="run").click().run()
    assert set(job_of(finish(page)).work.found.sentences) == set(texts_of["one"]["test"])
    assert page.query_params["split"] == "test"
    page.selectbox(key="chosen_configuration_owner/corpus").select("two").run()
    finish(page)
    page.button(key="run").click().run()
    assert set(job_of(finish(page)).work.found.sentences) == set(texts_of["two"]["dev"])
    page.selectbox(key="corpus").select("python-docs").run()
    assert not finish(page).exception
    assert not page.run().exception  # also the second time, without the controls of a dataset
    assert page.session_state.configuration == page.session_state.split == ""


def test_a_setting_that_a_built_in_corpus_lacks_can_be_forgotten(open_page: Callable[..., AppTest]) -> None:
    page = finish(open_page(corpus="python-docs", column="x", sample_size="50"))
    assert "no column “x”" in plain(page.sidebar.error[0].value)
    next(button for button in page.button if "defaults" in button.label).click().run()
    assert not finish(page).error


def test_settings_that_a_dataset_lacks_can_be_forgotten(
    hub: Hub, open_page: Callable[..., AppTest], tmp_path: Path
) -> None:
    sentences = random_sentences(50, seed=1)
    hub.add("owner/corpus", write_dataset(tmp_path / "data", {"one": {"train": sentences}}), kind="dataset")
    page = finish(open_page(corpus="owner/corpus", configuration="three", sample_size="50"))
    assert "no configuration “three”. Choose one" in plain(page.sidebar.error[0].value)
    next(button for button in page.button if "defaults" in button.label).click().run()
    finish(page)
    assert not page.error
    page.button(key="run").click().run()
    assert set(job_of(finish(page)).work.found.sentences) == set(sentences)


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


def test_an_uploaded_table_has_its_columns_offered(
    open_page: Callable[..., AppTest], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(presets, "INSTANT", replace(presets.INSTANT, sample_size=300))
    page = finish(open_page())
    sentences = random_sentences(60, seed=4)
    rows = ["title;remark", *(f"the cat;{sentence}" for sentence in sentences)]
    page.file_uploader(key="upload").upload("mine.csv", "\n".join(rows).encode())
    page.run()
    finish(page)
    name = page.session_state.corpus
    column = page.selectbox(key=f"chosen_column_{name}")
    assert (column.value, column.options) == ("title", ["title", "remark"])
    column.select("remark").run()
    assert set(job_of(finish(page)).work.found.sentences) == set(sentences)
    assert page.query_params["column"] == "remark"
    session_back = {name: value for name, value in page.query_params.items() if name != "column"}
    page.session_state.column = ""  # as after the browser's Back
    page.run()
    finish(page)
    assert page.selectbox(key=f"chosen_column_{name}").value == "title"
    assert dict(page.query_params) == session_back
    next(button for button in page.button if button.label == "Instant").click().run()
    assert not finish(page).run().exception


def test_texts_are_cut_into_sentences_if_so_asked(open_page: Callable[..., AppTest]) -> None:
    page = finish(open_page())
    page.file_uploader(key="upload").upload(
        "mine.txt", b"The cat sat. The dog ran home.\nThe tree is big. A cat saw it.\n"
    )
    page.run()
    finish(page).button(key="run").click().run()  # the button in the sidebar does as well
    assert len(job_of(finish(page)).work.found.sentences) == 2
    page.segmented_control(key="segmentation").set_value(Segmentation.SENTENCES).run()
    finish(page).button(key="measure").click().run()
    assert set(job_of(finish(page)).work.found.sentences) == {
        *("The cat sat.", "The dog ran home.", "The tree is big.", "A cat saw it.")
    }


def test_an_untrained_model_is_a_choice(open_page: Callable[..., AppTest]) -> None:
    page = finish(open_page(model="untrained:minilm", sample_size="100", pooling="pooler"))
    assert "Does untrained MiniLM-L6 encode" in texts(page)
    assert figures(page)["R²"]
    page.segmented_control(key="pooling").set_value(Pooling.CLS).run()
    assert "until it is trained" in texts(page)


def test_a_public_demo_takes_links_but_no_revisions_of_them(
    original: Hub, open_page: Callable[..., AppTest], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLSVIZ_PUBLIC", "1")
    st.cache_resource.clear()
    page = finish(open_page(model=f"bert-base-uncased@{'a' * 40}", corpus=f"bookcorpus@{'b' * 40}"))
    assert page.session_state.model == "bert-base-uncased"
    assert page.session_state.corpus == "bookcorpus"
    page = finish(open_page(model="owner/any", corpus="owner/any"))
    assert len(page.warning) == 2
    assert (page.session_state.model, page.session_state.corpus) == ("minilm", "python-docs")


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
    page = finish(open_page())
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


def test_lengths_are_shuffled_by_a_button_and_back_by_another_click(open_page: Callable[..., AppTest]) -> None:
    page = finish(open_page())
    before = figures(page)
    page.button(key="control-Shuffle lengths").click().run()
    assert page.query_params["lengths"] == "shuffled"
    assert "lengths are shuffled across sentences" in texts(page)
    assert float(figures(page)["R²"]) < 0.1
    page.button(key="control-Shuffle lengths").click().run()
    assert "lengths" not in page.query_params
    assert figures(page) == before
