"""Whatever stands on the command line or in the store: a result, or one sentence."""

import contextlib
import io
import json
import shutil
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.tiny import random_sentences

from clsviz.cli import arguments
from clsviz.cli.main import main
from clsviz.errors import ClsvizError
from clsviz.experiment import Experiment

COMMANDS = ["measure", "probe", "similarity", "search-test", "compare", "preview", "import", "warm"]
SETTINGS = [field.name.replace("_", "-") for field in fields(Experiment)]
OTHERS = ["colour", "engine", "json", "length-power", "max-exposure", "models", "origin", "query", "rank", "search"]
VALUES = st.one_of(
    st.text(max_size=8),
    st.integers().map(str),
    st.floats().map(str),
    st.sampled_from(
        ["", "all", "last", "none", "mean", "@", "untrained:", "s3://", "?layer=x&layer=9", "../x", "x.csv"]
    ),
)
FLAG = st.sampled_from(SETTINGS + OTHERS).map("--{}".format)
WORDS = st.lists(st.one_of(VALUES, FLAG, st.builds("{}={}".format, FLAG, VALUES)))


@settings(deadline=None)
@given(command=st.sampled_from(COMMANDS), words=WORDS)
def test_any_words_are_understood_or_refused_in_a_sentence(command: str, words: list[str]) -> None:
    ended: object = 0
    with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(ClsvizError):
        try:
            arguments.experiment_of(arguments.parse([command, *words]))
        except SystemExit as help_was_asked_for:
            ended = help_was_asked_for.code
    assert ended == 0


Run = Callable[..., dict[str, Any]]


@pytest.fixture
def run(tiny_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """What a command on 60 sentences prints, but for times; {} where it ends in one sentence instead."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "texts.txt").write_text("\n".join(random_sentences(60, seed=1)))
    monkeypatch.setenv("CLSVIZ_STORE", str(tmp_path / "store"))

    def run(command: str, *words: str) -> dict[str, Any]:
        of = [f"--model={tiny_folder}", "--corpus=texts.txt", "--probe-size=60", "--json"]
        printed, said = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(said):
            status = main([command, *of, *words])
        if status == 0:
            found = json.loads(printed.getvalue())
            return {name: value for name, value in found.items() if name not in ("seconds", "sentences_per_second")}
        (line,) = said.getvalue().splitlines()
        assert status == 2
        assert line.startswith("clsviz: ")
        assert line.isprintable()
        return {}

    return run


QUICK = [*sorted({*SETTINGS} - {"model", "corpus", "precision"}), "output", "plot", "query"]


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(flags=st.dictionaries(st.sampled_from(QUICK), VALUES, min_size=1, max_size=3))
def test_any_values_give_a_result_or_one_sentence(run: Run, flags: dict[str, str]) -> None:
    run("measure", *(f"--{flag}={value}" for flag, value in flags.items()))


@pytest.fixture
def whole(run: Run, tmp_path: Path) -> tuple[Path, dict[str, Any]]:
    """A store, and what a command prints from it."""
    run("probe")
    printed = run("probe")
    return (tmp_path / "store").rename(tmp_path / "whole"), printed


BYTES = st.one_of(st.binary(max_size=20), st.just(b"[" * 100_000))


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(file=st.integers(0, 50), place=st.floats(0, 1), rest=BYTES)
def test_any_bytes_in_the_store_give_the_same_numbers_or_one_sentence(
    run: Run, whole: tuple[Path, dict[str, Any]], tmp_path: Path, file: int, place: float, rest: bytes
) -> None:
    """What comes after some place in one of its files is replaced."""
    kept, expected = whole
    store = tmp_path / "store"
    shutil.rmtree(store, ignore_errors=True)
    shutil.copytree(kept, store)
    paths = sorted(path for path in store.rglob("*") if path.is_file())
    path = paths[file % len(paths)]
    content = path.read_bytes()
    path.write_bytes(content[: int(place * len(content))] + rest)
    assert run("probe") in ({}, expected)
