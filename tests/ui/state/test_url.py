"""Links, reloads, and what visitors share."""

from collections.abc import Callable

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest
from support.app import figures, finish, job_of, plain, unfold
from support.hub import Hub

from clsviz import export
from clsviz.encoder import Encoder
from clsviz.errors import ModelError
from clsviz.ui.state import server


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


def test_a_link_with_many_faults_is_answered_in_a_few_lines(open_page: Callable[..., AppTest]) -> None:
    page = open_page(**{f"nothing_{index}": "1" for index in range(200)})
    assert len(page.warning) == 6
    assert "195 more settings" in page.warning[-1].value


def test_a_reload_finds_what_was_measured(open_page: Callable[..., AppTest], monkeypatch: pytest.MonkeyPatch) -> None:
    first = figures(finish(open_page()))
    server.jobs().close()
    st.cache_resource.clear()  # as a restart of the server does

    def refuse(*_: object) -> None:
        raise ModelError("Nothing is measured here.")

    monkeypatch.setattr(Encoder, "__init__", refuse)
    assert figures(finish(open_page())) == first


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
    other = unfold(finish(open_page(**link | {"corpus_fingerprint": "0" * 12})), "settings")
    assert "not the sentences the link was made with" in plain(other.warning[0].value)
    assert "draw from more files of a dataset" in plain(other.warning[0].value)
    other.select_slider(key="length_cutoff").set_value(25).run()
    assert other.warning  # the view has nothing to do with it
    other.select_slider(key="sample_size").set_value(200).run()
    assert not finish(other).warning
