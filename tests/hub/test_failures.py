"""Failures of the Hub: one sentence each, in time, for models and datasets."""

import time

import pytest
from hub import standin
from hub.client import IMPATIENCE, PATIENCE, dataset, model
from hub.conftest import Hub

from clsviz.errors import ClsvizError, CorpusError, HubError, ModelError
from clsviz.progress import Cancelled

pytestmark = pytest.mark.slow

PROMPT = 30
"""Seconds of a failure on a busy machine: clients left to themselves try for minutes."""

FILES = {"model": model(), "dataset": dataset(100) | {"README.md": b"Hello " * 100}}


def fetch(hub: Hub, kind: str, name: str = "{}", **options: object) -> object:
    return hub.find(name, **options) if kind == "model" else hub.draw(name, **options)


@pytest.mark.parametrize(
    ("kind", "where", "how", "reason"),
    [
        ("model", "/api/*", "stall", "does not answer"),
        ("model", "*.safetensors", "stall", "does not answer"),
        ("model", "*.safetensors", "stall midway", "does not answer"),
        ("model", "*.safetensors", "cut", "does not answer|cannot be reached"),
        ("model", "/api/*", "401", r"does not serve .* now \(401\)"),
        ("model", "*.safetensors", "403", r"\(403\)"),
        ("model", "*/config.json", "429", r"\(429\).* counts too many requests"),
        ("model", "*.safetensors", "500", r"\(500\)"),
        ("dataset", "*/tree/*", "stall", "does not answer"),
        ("dataset", "*/README.md", "stall midway", "does not answer"),
        ("dataset", "*.parquet", "stall midway", "does not answer"),
        ("dataset", "*/README.md", "cut", "does not answer"),
        ("dataset", "*.parquet", "cut", "does not answer"),
        ("dataset", "*/README.md", "401", r"\(401\)"),
        ("dataset", "*.parquet", "401", r"\(401\).* log in"),
        ("dataset", "*/tree/*", "429", r"\(429\)"),
        ("dataset", "*.parquet", "429", r"\(429\)"),
        ("dataset", "*/tree/*", "endless", "has no end"),
        ("dataset", "*/tree/*", "500", r"\(500\)"),
        ("dataset", "*.parquet", "500", r"\(500\)"),
    ],
)
def test_failures_are_one_sentence_in_time(hub, kind, where, how, reason) -> None:
    hub.add(FILES[kind], kind=kind)
    hub.serving.fault(where, how)
    patience = IMPATIENCE if how in ("stall", "stall midway", "cut", "500") else PATIENCE
    start = time.monotonic()
    with pytest.raises(HubError, match=reason) as failed:
        fetch(hub, kind, patience=patience)
    assert time.monotonic() - start < PROMPT
    assert "\n" not in str(failed.value)
    hub.serving.mend()
    fetch(hub, kind)


@pytest.mark.parametrize("tag", ["../../../evil", "/tmp/evil", "..\\\\evil"])
def test_no_file_is_stored_outside_the_cache(hub, monkeypatch, tag) -> None:
    hub.add(FILES["model"], kind="model")
    monkeypatch.setattr(standin, "digest", lambda _: tag)
    with pytest.raises(HubError, match="outside the cache"):
        hub.find()


@pytest.mark.parametrize(("kind", "error"), [("model", ModelError), ("dataset", CorpusError)])
def test_what_is_gated_or_missing_is_named(hub: Hub, kind: str, error: type[ClsvizError]) -> None:
    hub.add(FILES[kind], kind=kind, is_gated=True)
    for name, reason in [
        ("{}", "is gated"),
        ("{}-none", rf"has no {kind} {hub.name}-none, .* \(a (folder begins|file ends)"),
        ("{}@v9", "has no revision “v9”"),
    ]:
        with pytest.raises(error, match=reason):
            fetch(hub, kind, name)


@pytest.mark.parametrize("kind", ["model", "dataset"])
@pytest.mark.parametrize(
    "name", ["https://huggingface.co/a/b", "a/b/c", "a b", "a/b@", "@", "a\\b", "a;b", "a/..b"]
)
def test_odd_names_are_refused_without_asking(hub: Hub, kind: str, name: str) -> None:
    with pytest.raises(ClsvizError, match="cannot be the name") as refused:
        fetch(hub, kind, f"untrained:{name}" if kind == "model" else name)
    assert f"“{name}”" in str(refused.value)  # as it was typed
    assert not hub.serving.requests


@pytest.mark.parametrize("kind", ["model", "dataset"])
def test_renamed_repository_is_stored_under_its_old_name(hub: Hub, kind: str) -> None:
    hub.add(FILES[kind], "{}-new", kind=kind)
    hub.serving.new_names[hub.name] = f"{hub.name}-new"
    assert fetch(hub, kind)
    assert not hub.requests_of(fetch, hub, kind)[1]


@pytest.mark.parametrize("n", [1, 4, 8])
def test_a_draw_is_cancelled_and_begun_again(hub: Hub, n: int) -> None:
    hub.add(FILES["dataset"])
    with pytest.raises(Cancelled):
        hub.draw(n_calls=n)
    hub.draw()


@pytest.mark.parametrize("kind", ["model", "dataset"])
def test_dead_hub_leaves_what_is_on_this_machine(hub: Hub, dead: Hub, kind: str) -> None:
    hub.add(FILES[kind], kind=kind)
    assert repr(fetch(hub, kind)) == repr(fetch(dead, kind))
    start = time.monotonic()
    with pytest.raises(HubError, match="cannot be reached"):
        fetch(dead, kind, "{}-none")
    assert time.monotonic() - start < PROMPT
