"""Messages that no browser of ours sends: each ends in a sentence, and nothing outside the catalogue is opened."""

import gzip
import json
import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
import streamlit as st
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st_
from streamlit.proto.WidgetStates_pb2 import WidgetState, WidgetStates
from streamlit.runtime.scriptrunner import ScriptRunner
from streamlit.runtime.state.session_state import STREAMLIT_INTERNAL_KEY_PREFIX
from streamlit.testing.v1 import AppTest
from support.app import browse_from, figures, finish, linked, plain, settle, texts, unfold
from support.hub import Hub
from support.logs import logged

from clsviz.errors import SettingError, UnexpectedError
from clsviz.experiment import Experiment
from clsviz.settings import Unit
from clsviz.ui import failures
from clsviz.ui.state import server, visitor

PAGES = ("", "where_length_lives", "compare_models")
"""Those that have between them every control that names what is opened; the others have the main page's."""

OUTSIDE = ("bert-base-uncased@refs/pr/1", "untrained:bert-base-uncased@main", "owner/any", "./secret", "/etc/passwd")

JSON = st_.recursive(
    st_.none() | st_.booleans() | st_.integers() | st_.floats() | st_.text(max_size=5),
    lambda inner: st_.lists(inner, max_size=5) | st_.dictionaries(st_.sampled_from(["of", "ends", "event"]), inner),
    max_leaves=6,
)
NUMBER = st_.one_of(st_.integers(-3, 50), st_.floats(), st_.sampled_from([1e29, -1e29, 1e-300])).map(str)
MARKS = st_.builds(
    "{}:{}".format, st_.sampled_from(["points", "box", "lasso", "x"]), st_.lists(NUMBER, max_size=9).map(",".join)
)


@pytest.fixture(autouse=True)
def public(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A public server, visited from afar, that answers as app.py tells Streamlit to."""
    monkeypatch.setenv("CLSVIZ_PUBLIC", "1")
    browse_from(monkeypatch, "example.org", "192.0.2.1")
    st.cache_resource.clear()
    init = ScriptRunner.__init__

    def with_answer(self: ScriptRunner, *args: Any, **named: Any) -> None:
        init(self, *args, **named | {"on_script_error": failures.answer})

    monkeypatch.setattr(ScriptRunner, "__init__", with_answer)
    yield
    server.jobs().close()


@pytest.fixture
def log() -> Iterator[StringIO]:
    """What the server logs of errors."""
    failures.keep_out_of_the_log()
    with logged(*failures._LOGGERS) as said:
        yield said


def ids(page: AppTest) -> dict[str, str]:
    """The controls of a page: what Streamlit knows each by, by its key."""
    protos = [getattr(node, "proto", None) for node in page._tree]
    found = [proto.id for proto in protos if getattr(proto, "id", "")]
    return {name.rpartition("-")[2]: name for name in found}


def send(page: AppTest, *forged: WidgetState) -> AppTest:
    """Run the page with these in the place of what its controls hold."""
    names = {state.id for state in forged}
    honest = [state for state in page._tree.get_widget_states().widgets if state.id not in names]
    return page._run(WidgetStates(widgets=[*honest, *forged]))


def send_nothing(page: AppTest) -> AppTest:
    """Run the page with what its session holds alone: AppTest cannot send for a control what it does not offer."""
    return page._run(WidgetStates())


def of_every_type(name: str) -> list[WidgetState]:
    """A control's value in every type that a message can have, none of which is right for all."""
    arrays = WidgetState(id=name), WidgetState(id=name), WidgetState(id=name)
    arrays[0].double_array_value.data.extend([1e9, -5])
    arrays[1].int_array_value.data.extend([99, -3])
    arrays[2].string_array_value.data.extend(["nonsense", *OUTSIDE])
    file = WidgetState(id=name)
    info = file.file_uploader_state_value.uploaded_file_info.add()
    info.file_id, info.name = "../../secret", "../../etc/passwd"
    return [
        *arrays,
        file,
        WidgetState(id=name, bool_value=True),
        WidgetState(id=name, double_value=float("nan")),
        WidgetState(id=name, int_value=2**62),
        WidgetState(id=name, string_value=OUTSIDE[0]),
        WidgetState(id=name, json_value="nonsense"),
        WidgetState(id=name, trigger_value=True),
    ]


def opened(name: str = "") -> AppTest:
    page = linked({"sample_size": "200", "probe_size": "200"}, name).run()
    assert not page.exception
    return page


@pytest.mark.parametrize("name", PAGES)
def test_values_of_every_type_end_in_a_sentence(name: str, hub: Hub, log: StringIO) -> None:
    controls = ids(opened(name))
    keys = controls.keys() & {"model", "models", "scatter", "pooling"}
    assert keys
    page = opened(name)
    for key in keys:
        for forged in of_every_type(controls[key]):
            if key not in ids(page):  # what was forged before has left the page without its controls
                page = opened(name)
            page = send(page, forged)
            assert not page.exception, (key, forged)
            assert page.error or page.title
    assert not hub.requests
    assert not any(part in log.getvalue() for part in ("Traceback", "nonsense", *OUTSIDE))


@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(ends=st_.lists(st_.floats() | st_.integers(), min_size=4, max_size=4) | JSON, marks=MARKS | JSON, other=JSON)
def test_whatever_a_chart_tells_the_page_is_drawn(ends: object, marks: object, other: object) -> None:
    page = finish(opened())
    events = f"{STREAMLIT_INTERNAL_KEY_PREFIX}_{ids(page)['scatter']}__events"

    def tell(*said: object) -> None:
        send(page, WidgetState(id=events, json_trigger_value=json.dumps(said)))
        assert not page.exception
        assert not page.error

    def zoomed(ends: object) -> dict[str, object]:
        return {"event": "zoomed", "value": {"of": page.session_state.marked_in, "ends": ends}}

    tell(other, {"event": "zoomed", "value": other}, {"event": "selected", "value": other})
    tell(zoomed(ends), {"event": "selected", "value": marks})
    tell(zoomed([1, 2, 3, 4]), {"event": "selected", "value": "points:3"})
    assert (page.session_state.zoom, page.session_state.selected) == ((1, 2, 3, 4), "points:3")


@pytest.mark.parametrize("name", PAGES)
def test_nothing_outside_the_catalogue_is_asked_for(name: str, hub: Hub) -> None:
    """As if a control held it, with no callback before, whose check could be passed by."""
    page = opened(name)
    for outside in OUTSIDE:
        page.session_state.model = outside
        page.session_state.models = [outside]
        send_nothing(page)
        assert not page.exception
        page.session_state.model = "minilm"
        page.session_state.models = ["minilm"]
        page.session_state.corpus = outside.replace("bert-base-uncased", "bookcorpus")
        page.session_state.travel_to = page.session_state.corpus
        send_nothing(page)
        assert not page.exception
    asked = [job.work.experiment for job in server.jobs()._measurements.values()]
    assert {experiment.model for experiment in asked} <= {"minilm", "untrained:minilm"}
    assert {experiment.corpus for experiment in asked} <= {"python-docs"}
    assert not hub.requests


@pytest.mark.parametrize("outside", OUTSIDE)
def test_the_check_is_where_the_request_is_carried_out(outside: str) -> None:
    default = Experiment()
    visitor.check(default)
    visitor.check(replace(default, model="untrained:bert-base-uncased", corpus="bookcorpus"))
    for experiment in (
        replace(default, model=outside),
        replace(default, corpus=outside.replace("bert-base-uncased", "bookcorpus")),
        replace(default, sample_size=20_001),
        replace(default, probe_size=5_001),
    ):
        with pytest.raises(SettingError):
            visitor.check(experiment)


def test_settings_of_the_wrong_kind_go_back_to_their_defaults_and_it_is_said() -> None:
    page = settle(opened())
    drawn = figures(page)
    forged = {"unit": None, "overlays": ["x"], "colour": "x", "find": ["x"], "seed": "x", "zoom": [{}]}
    for name, value in forged.items():
        page.session_state[name] = value
    send_nothing(page)
    assert not page.exception
    assert not page.error
    assert (page.session_state.unit, page.session_state.seed, page.session_state.colour) == (Unit.TOKENS, 0, None)
    assert figures(page) == drawn
    (warning,) = page.warning
    assert "a value that seed, unit, overlays, zoom, colour, find cannot have" in plain(warning.value)


def test_an_upload_that_is_too_large_or_unpacks_to_too_much_is_refused_in_a_sentence(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("CLSVIZ_LIMIT_UPLOAD_BYTES", "1MB")
    monkeypatch.setenv("CLSVIZ_LIMIT_UNPACKED_BYTES", "2MB")
    st.cache_resource.clear()
    page = unfold(opened(), "own_file")
    assert "deleted from this server" in texts(page)
    for name, content, problem in (
        ("large.txt", b"word\n" * 300_000, "large.txt is larger than 1 MB"),
        ("bomb.txt.gz", gzip.compress(b"word\n" * 600_000), "bomb.txt.gz holds over 2 MB when unpacked"),
    ):
        page.file_uploader(key="upload").upload(name, content)
        page.run()
        assert problem in plain(page.sidebar.error[0].value)
        assert page.session_state.corpus == "python-docs"
    assert not list((tmp_path / "store" / "corpora").glob("upload-*"))


def test_what_a_visitor_typed_is_in_no_log(
    monkeypatch: pytest.MonkeyPatch, log: StringIO, open_page: Callable[..., AppTest]
) -> None:
    private = "".join(["se", "cret"])  # which the line of the source that a log shows does not have

    def fail(*_: object) -> None:
        raise ValueError(private)

    monkeypatch.setattr("clsviz.ui.parts.own.typed", fail)
    page = opened()
    assert not page.exception
    assert str(UnexpectedError()) in plain(page.error[0].value)
    assert "ValueError" in log.getvalue()
    assert os.path.basename(__file__) in log.getvalue()  # where it was raised
    assert private not in log.getvalue()
