from pathlib import Path

import numpy as np
import pytest

from clsviz import analysis, export, jobs, words
from clsviz.jobs import Encoders, Extraction, Found, Import
from clsviz.measurements import Kind
from clsviz.progress import Progress
from clsviz.settings import Unit
from clsviz.sources.own_vectors import Rows
from clsviz.store import Store

N = 300
RANDOM = np.random.default_rng(0)
LENGTHS = RANDOM.integers(2, 40, N)
TEXTS = [" ".join(f"w{number}" for number in RANDOM.integers(0, 500, length)) for length in LENGTHS]
VECTORS = np.column_stack([LENGTHS, RANDOM.normal(size=(N, 3))]).astype(np.float32)


def imported(folder: Path, n_tokens: np.ndarray | None = None) -> Import:
    return jobs.import_rows([Rows(TEXTS, VECTORS, n_tokens)], N, "mine", Store(folder))


def found(one: Import, folder: Path, kind: Kind = Kind.NORMS) -> Found:
    return Extraction(one.experiment, Store(folder), Encoders(), kind=kind).run(Progress())


@pytest.mark.parametrize("in_words", [True, False])
def test_nothing_is_said_of_a_model_of_which_nothing_is_known(in_words: bool, tmp_path: Path) -> None:
    one = imported(tmp_path, None if in_words else (LENGTHS + 1).astype(np.int32))
    experiment, of_norms = one.experiment, found(one, tmp_path)
    shown = analysis.select(of_norms, experiment.view)
    settings = words.settings(experiment, of_norms, shown)
    profile = list(analysis.layers.profiles(found(one, tmp_path, Kind.VECTORS), experiment.view))[-1]
    texts = [
        words.question(experiment),
        words.question_of_layers(experiment),
        words.axis_title(experiment),
        words.result(shown, experiment, N),
        words.in_numbers(shown, experiment, N),
        *(text for name, text in settings.items() if name != "Line"),
        *words.probe_settings(experiment, of_norms, N, 0).values(),
        words.sharing.caption(experiment, of_norms, shown),
        words.sharing.bibtex(experiment, of_norms),
        words.profile.headline(profile, experiment),
        words.profile.in_numbers(profile, experiment),
        *words.profile.in_full(profile, experiment),
        words.vector_name(experiment),
        words.sharing.alt(experiment, N),
        words.about_cutoff(experiment),
        export.report(experiment, of_norms, shown).decode().partition("<body>")[2].partition("<script")[0],
    ]
    for text in texts:
        assert "[CLS]" not in text
        assert "layer" not in text
        assert ("token" in text) <= (not in_words), text
    assert "mine (imported vectors, imported:mine@" in settings["Model"]
    assert settings["Vector"] == "L2 norm of the imported vector"
    assert "uploaded" not in words.sharing.bibtex(experiment, of_norms)
    assert words.cutoff_unit(experiment) is (Unit.WORDS if in_words else Unit.TOKENS)


def test_an_import_is_told_in_a_sentence_or_two(tmp_path: Path) -> None:
    assert words.reading.imported(imported(tmp_path, LENGTHS.astype(np.int32))) == (
        "mine: 300 vectors of 4 numbers, with their texts."
    )
    assert words.reading.imported(imported(tmp_path)).endswith(words.reading.ABOUT_WORDS)
    one = jobs.import_rows([Rows(["A text."], np.ones(1, np.float32), None)], 1, "one", Store(tmp_path))
    assert words.reading.imported(one).startswith("one: 1 norm, with its text.")


@pytest.mark.parametrize(
    ("file_name", "label"),
    [("a.npy", "a"), ("my vectors (2).parquet", "my-vectors-2"), ("..npy", "vectors"), ("x" * 99 + ".npz", "x" * 60)],
)
def test_vectors_are_called_as_their_file(file_name: str, label: str) -> None:
    assert words.reading.label_of(file_name) == label
