import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from clsviz.encoder import Encoder
from clsviz.errors import ClsvizError, CorpusError, ModelError, SettingError
from clsviz.experiment import Experiment
from clsviz.jobs import Encoders, Extraction, Found, Import, import_rows, imports, list_imports
from clsviz.measurements import Kind
from clsviz.progress import Progress
from clsviz.settings import Pooling, Precision, Unit
from clsviz.sources import sampling
from clsviz.sources.models import Imported
from clsviz.sources.own_vectors import Rows
from clsviz.store import Store

N, WIDTH = 700, 5
RANDOM = np.random.default_rng(0)
VECTORS = RANDOM.normal(3, 2, size=(N, WIDTH)).astype(np.float32)
NORMS = np.sqrt((VECTORS.astype(float) ** 2).sum(axis=1))
TEXTS = [f"The same text {row % 100}." if row < 200 else f"Text {row}" + " and so on" * (row % 9) for row in range(N)]
"""The first 200 occur twice, with other vectors each time."""
TOKENS = RANDOM.integers(0, 700, N).astype(np.int32)


def rows(
    values: NDArray[np.float32] = VECTORS, n_tokens: NDArray[np.int32] | None = TOKENS, n: int = 64
) -> Iterator[Rows]:
    for start in range(0, len(values), n):
        here = slice(start, start + n)
        yield Rows(
            TEXTS[: len(values)][here], values[here], None if n_tokens is None else n_tokens[: len(values)][here]
        )


def measured(imported: Import | Experiment, store: Store, kind: Kind = Kind.NORMS, **changes: Any) -> Found:
    """What is measured without any model: of an import, or of an experiment."""
    asked = imported.experiment if isinstance(imported, Import) else imported
    return Extraction(replace(asked, **changes), store, Encoders(), kind=kind).run(Progress())


@pytest.fixture(autouse=True)
def _no_model(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a model was loaded")

    monkeypatch.setattr(Encoder, "__init__", refuse)


def test_every_text_keeps_its_vector_though_it_occurs_twice(store: Store) -> None:
    imported = import_rows(rows(), N, "mine", store)
    assert (imported.n, imported.width) == (N, WIDTH)
    order = sampling.sample_order(N, 0)
    norms, vectors = measured(imported, store), measured(imported, store, Kind.VECTORS)
    assert norms.sentences == vectors.sentences == [" ".join(TEXTS[row].split()) for row in order]
    assert not norms.n_missing
    np.testing.assert_allclose(norms.measurements.cls_norms[:, 0], NORMS[order], rtol=1e-6)
    assert norms.measurements.n_tokens.tolist() == TOKENS[order].tolist()
    assert not norms.measurements.truncated.any()
    of_cls = vectors.vectors.of(Pooling.CLS, None)
    np.testing.assert_allclose(of_cls, VECTORS[order], atol=np.ptp(VECTORS) * 2**-11)
    np.testing.assert_array_equal(vectors.measurements.cls_norms, norms.measurements.cls_norms)
    assert vectors.vectors.poolings == (Pooling.CLS,)
    smaller = measured(imported, store, Kind.VECTORS, sample_size=90, probe_size=40)
    assert smaller.sentences == norms.sentences[:40]
    assert smaller.vectors.of(Pooling.CLS, None).shape == (40, WIDTH)
    for pooling in (Pooling.MEAN, Pooling.POOLER):
        with pytest.raises(IndexError):
            vectors.vectors.of(pooling, None)


def test_norms_alone_have_no_vectors(store: Store) -> None:
    imported = import_rows(rows(NORMS.astype(np.float32)), N, "mine", store)
    assert imported.width == 0
    order = sampling.sample_order(N, 0)
    np.testing.assert_allclose(measured(imported, store).measurements.cls_norms[:, 0], NORMS[order], rtol=1e-6)
    with pytest.raises(ModelError, match="only norms were imported: there are no vectors, and no model to run"):
        measured(imported, store, Kind.VECTORS)


def test_without_tokens_lengths_are_words(store: Store) -> None:
    imported = import_rows(rows(n_tokens=None), N, "mine", store)
    assert imported.experiment.unit is Unit.WORDS
    found = measured(imported, store)
    assert found.measurements.n_tokens.tolist() == [len(sentence.split()) for sentence in found.sentences]


def test_the_name_is_made_of_the_content(tmp_path: Path) -> None:
    names = [import_rows(rows(n=n), N, label, Store(tmp_path / label)).model for n, label in ((64, "a"), (700, "b"))]
    first, second = (Imported.parse(name) for name in names)
    assert first
    assert second
    assert (first.label, second.label) == ("a", "b")
    assert first.fingerprint == second.fingerprint
    changed = VECTORS.copy()
    changed[-1, -1] += 1
    others = [rows(changed), rows(n_tokens=TOKENS + 1), rows(VECTORS[:, :4]), rows(NORMS.astype(np.float32))]
    found = {Imported.parse(import_rows(other, N, "c", Store(tmp_path / "c")).model) for other in others}
    assert len(found | {replace(first, label="c")}) == 5


def test_the_same_again_is_found_again(store: Store) -> None:
    first = import_rows(rows(), N, "mine", store)
    files = {path.relative_to(store.root) for path in store.root.rglob("*.safetensors")}
    second = import_rows(rows(), N, "renamed", store)
    assert {path.relative_to(store.root) for path in store.root.rglob("*.safetensors")} == files
    assert list_imports(store) == [second]
    assert (measured(first, store).measurements.cls_norms == measured(second, store).measurements.cls_norms).all()


def test_large_files_make_several_parts(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(imports, "_PART_SIZES", {Kind.NORMS: 300, Kind.VECTORS: 256})
    monkeypatch.setattr(imports, "RANGES", {"probe_size": (1, 600)})
    imported = import_rows(rows(), N, "mine", store)
    order = sampling.sample_order(N, 0)
    assert sorted(path.name[:19] for path in store.root.glob("norms-*/*.safetensors")) == [
        "000000000-000000300",
        "000000300-000000600",
        "000000600-000000700",
    ]
    assert len(list(store.root.glob("vectors-*/*.safetensors"))) == 3
    np.testing.assert_allclose(measured(imported, store).measurements.cls_norms[:, 0], NORMS[order], rtol=1e-6)
    found = measured(imported, store, Kind.VECTORS, probe_size=600)
    np.testing.assert_allclose(found.vectors.of(Pooling.CLS, None), VECTORS[order[:600]], atol=0.02)
    with pytest.raises(ModelError, match="not in this store"):
        measured(imported, store, Kind.VECTORS, probe_size=601)


@pytest.mark.parametrize(
    ("changes", "error", "problem"),
    [
        ({"seed": 1}, SettingError, "seed is 1, but mine was imported in one order. Choose seed 0"),
        ({"precision": Precision.FAST}, SettingError, "precision is fast, but mine was imported as it is"),
        ({"corpus": "python-docs"}, ModelError, "there is no model to run. Choose the texts that it was imported with"),
    ],
)
def test_what_only_a_model_could_give_is_refused(
    changes: dict[str, Any], error: type[ClsvizError], problem: str, store: Store
) -> None:
    imported = import_rows(rows(), N, "mine", store)
    with pytest.raises(error, match=problem):
        measured(imported, store, **changes)
    with pytest.raises(error, match=problem):
        Extraction(replace(imported.experiment, **changes), store, Encoders()).look_up(Progress())


def test_other_texts_are_refused(store: Store) -> None:
    mine = import_rows(rows(), N, "mine", store)
    other = import_rows(
        (Rows([f"{text} Indeed."], run, None) for text, run in zip(TEXTS, VECTORS[:, None], strict=True)),
        N,
        "other",
        store,
    )
    assert mine.corpus != other.corpus
    with pytest.raises(ModelError, match="Those of these texts are not in this store"):
        measured(mine, store, corpus=other.corpus)
    assert Extraction(replace(mine.experiment, corpus=other.corpus), store, Encoders()).find_stored(Progress()) is None


def test_a_damaged_part_is_told_and_the_file_brings_it_back(store: Store) -> None:
    imported = import_rows(rows(), N, "mine", store)
    (part,) = store.root.glob("norms-*/*.safetensors")
    content = bytearray(part.read_bytes())
    content[-1] ^= 1
    part.write_bytes(content)
    with pytest.raises(ModelError, match="import its file again"):
        measured(imported, store)
    import_rows(rows(), N, "mine", store)
    assert not measured(imported, store).n_missing


def broken() -> Iterator[Rows]:
    yield from rows(VECTORS[:300])
    raise CorpusError("Row 301 cannot be used.")


@pytest.mark.parametrize("n", [N - 1, N + 1, None])
def test_nothing_is_kept_of_what_cannot_be_imported(n: int | None, store: Store) -> None:
    with pytest.raises(CorpusError, match=r"Give it again|cannot be used"):
        import_rows(broken() if n is None else rows(), n or N, "mine", store)
    assert not [path for path in store.root.rglob("*") if path.is_file()]
    assert list_imports(store) == []
    with pytest.raises(ModelError, match="1 to 60 letters"):
        import_rows(rows(), N, "no name", store)
    stopped = Progress()
    stopped.cancel()
    with pytest.raises(ClsvizError, match="Stopped"):
        import_rows(rows(), N, "mine", store, stopped)
    assert not store.root.exists()
    assert list_imports(Store(store.root / ("x" * 300))) == []  # which cannot be looked into


def test_a_list_that_was_tampered_with_is_read_as_far_as_it_is_sound(store: Store) -> None:
    imported = import_rows(rows(), N, "mine", store)
    folder = store.root / "imported"
    for number, text in enumerate(("", "[]", "{}", '{"model": 1, "corpus": 2, "n": 3, "width": 4}', "[" * 100_000)):
        (folder / f"{number}.json").write_text(text)
    path = next(path for path in folder.glob("*.json") if len(path.stem) > 1)
    (folder / "6.json").write_text(path.read_text().replace("upload-", "/etc/pa"))
    os.mkfifo(folder / "7.json")
    assert list_imports(store) == [imported]
