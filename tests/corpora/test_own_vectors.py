from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from clsviz.errors import CorpusError
from clsviz.sources.own_vectors import Chosen, Rows, VectorFile, checked, open_vectors

N = 2500
VECTORS = np.random.default_rng(0).normal(size=(N, 3)).astype(np.float32)
TEXTS = [f"Text  number {row}.\t" for row in range(N)]
CLEAN = [f"Text number {row}." for row in range(N)]


@pytest.fixture
def table(tmp_path: Path) -> VectorFile:
    columns = {"text": TEXTS, "v": VECTORS.tolist(), "norm": np.linalg.norm(VECTORS, axis=1), "tokens": range(N)}
    pq.write_table(pa.table({name: list(values) for name, values in columns.items()}), tmp_path / "a.parquet")
    return open_vectors(tmp_path / "a.parquet")


@pytest.fixture
def array(tmp_path: Path) -> VectorFile:
    np.save(tmp_path / "a.npy", VECTORS)
    return open_vectors(tmp_path / "a.npy")


def joined(rows: Sequence[Rows]) -> tuple[list[str], Any, Any]:
    texts = [text for run in rows for text in run.texts]
    tokens = None if rows[0].n_tokens is None else np.concatenate([run.n_tokens for run in rows])
    return texts, np.concatenate([run.values for run in rows]), tokens


def test_texts_vectors_and_lengths_of_a_table_stay_together(table: VectorFile) -> None:
    chosen = table.decided(Chosen(tokens="tokens"))
    assert (chosen.text, chosen.vectors, chosen.norms) == ("text", "v", "")
    assert table.n_rows(chosen) == N
    texts, values, n_tokens = joined(list(table.rows(chosen)))
    assert texts == CLEAN
    np.testing.assert_array_equal(values, VECTORS)
    assert n_tokens.tolist() == list(range(N))


def test_norms_can_be_taken_in_place_of_vectors(table: VectorFile) -> None:
    texts, values, n_tokens = joined(list(table.rows(table.decided(Chosen(norms="norm")))))
    assert (texts, n_tokens) == (CLEAN, None)
    np.testing.assert_array_equal(values, np.linalg.norm(VECTORS, axis=1).astype(np.float32))


@pytest.mark.parametrize("name", ["texts.txt", "texts.csv", "texts.jsonl"])
def test_texts_may_be_in_a_file_of_their_own(name: str, array: VectorFile, tmp_path: Path) -> None:
    lines = {"texts.txt": TEXTS, "texts.csv": ["text", *TEXTS], "texts.jsonl": [f'{{"text": "{t}"}}' for t in CLEAN]}
    (tmp_path / name).write_text("\n".join(lines[name]) + "\n\n")  # a blank line at the end is none
    chosen = array.decided(Chosen(texts_file=tmp_path / name))
    texts, values, _ = joined(list(array.rows(chosen)))
    assert texts == CLEAN
    np.testing.assert_array_equal(values, VECTORS)


def test_an_archive_may_hold_the_texts(tmp_path: Path) -> None:
    np.savez_compressed(tmp_path / "a.npz", vectors=VECTORS, texts=np.array(TEXTS))
    file = open_vectors(tmp_path / "a.npz")
    assert joined(list(file.rows(file.decided(Chosen()))))[0] == CLEAN


def test_as_many_texts_as_rows_are_wanted(array: VectorFile, tmp_path: Path) -> None:
    for n, problem in (
        (N - 1, "texts.txt has 2,499 texts, and a.npy has 2,500 rows"),
        (N + 1, "more than 2,500 texts"),
    ):
        (tmp_path / "texts.txt").write_text("\n".join([*CLEAN, "One more."][:n]))
        with pytest.raises(CorpusError, match=problem):
            list(array.rows(array.decided(Chosen(texts_file=tmp_path / "texts.txt"))))


def test_a_blank_line_among_the_texts_is_named(array: VectorFile, tmp_path: Path) -> None:
    (tmp_path / "texts.txt").write_text("\n".join([*CLEAN[:1699], " ", *CLEAN[1700:]]))
    with pytest.raises(CorpusError, match=r"Row 1,700 of texts\.txt has no text"):
        list(array.rows(array.decided(Chosen(texts_file=tmp_path / "texts.txt"))))


@pytest.mark.parametrize(
    ("chosen", "problem"),
    [
        (Chosen(vectors="w"), "a.parquet has no vectors under “w”. There is v."),
        (Chosen(norms="v"), "no norms under “v”. There are norm, tokens."),
        (Chosen(tokens="text"), "no numbers of tokens under “text”. There are norm, tokens."),
        (Chosen(text="title"), "no texts under “title”. There is text."),
        (Chosen(vectors="v", norms="norm"), "not both"),
    ],
)
def test_what_a_file_lacks_is_named_with_what_it_has(chosen: Chosen, problem: str, table: VectorFile) -> None:
    with pytest.raises(CorpusError, match=problem):
        table.decided(chosen)


def test_what_is_not_clear_has_to_be_said(tmp_path: Path, array: VectorFile) -> None:
    np.savez(tmp_path / "a.npz", first=VECTORS, second=VECTORS, texts=np.array(TEXTS))
    with pytest.raises(CorpusError, match=r"Say which vectors to take\. There are first, second\."):
        open_vectors(tmp_path / "a.npz").decided(Chosen())
    pq.write_table(pa.table({"v": VECTORS.tolist(), "title": TEXTS, "body": TEXTS}), tmp_path / "b.parquet")
    with pytest.raises(CorpusError, match=r"Say which column holds the texts\. There are title, body\."):
        open_vectors(tmp_path / "b.parquet").decided(Chosen())
    with pytest.raises(CorpusError, match=r"a\.npy holds no texts\. Give them in a file of their own"):
        array.decided(Chosen())


@pytest.mark.parametrize(
    ("values", "problem"),
    [
        (VECTORS[None], "has the shape 1 × 2,500 × 3"),
        (np.float32(1), "has the shape a single number"),
        (np.array(["a", "b"]), "holds neither vectors nor norms"),
        (np.array([1 + 1j]), "holds complex128"),
        (np.empty((5, 0)), "vectors of 0 numbers"),
        (np.empty((1, 20_000)), "vectors of 20,000 numbers; they must be 1 to 16,384"),
    ],
)
def test_arrays_of_another_shape_or_type_are_refused(values: Any, problem: str, tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", values)
    with pytest.raises(CorpusError, match=problem):
        open_vectors(tmp_path / "a.npy")


def test_a_file_without_rows_or_of_another_kind_is_refused(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", VECTORS[:0])
    file = open_vectors(tmp_path / "a.npy")
    (tmp_path / "texts.txt").write_text("A text.")
    with pytest.raises(CorpusError, match="holds no rows"):
        list(file.rows(file.decided(Chosen(texts_file=tmp_path / "texts.txt"))))
    (tmp_path / "a.pt").touch()
    with pytest.raises(CorpusError, match=r"in no format of vectors\. Give a file ending in \.parquet, \.npy"):
        open_vectors(tmp_path / "a.pt")
    with pytest.raises(CorpusError, match="There is no file"):
        open_vectors(tmp_path / "b.npy")


def test_arrays_of_other_lengths_are_refused(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", v=VECTORS, texts=np.array(TEXTS[:-1]))
    file = open_vectors(tmp_path / "a.npz")
    with pytest.raises(CorpusError, match="“v” has 2,500 rows, “texts” 2,499"):
        list(file.rows(file.decided(Chosen())))


@pytest.mark.parametrize(
    ("texts", "values", "tokens", "problem"),
    [
        (["a", " \n"], [[1.0], [2.0]], None, "Row 12 of x has no text"),
        (["a", "b" * 100_001], [[1.0], [2.0]], None, "Row 12 of x has a text of over 100,000 characters"),
        (["a", "b"], [[1.0, 2.0], [3.0, np.nan]], None, "Row 12 of x has a number that is not finite"),
        (["a", "b"], [[np.inf], [3.0]], None, "Row 11 of x has a number that is not finite"),
        (["a", "b"], [[1e30], [1.0]], None, "Row 11 of x has a number that is not finite, or too large"),
        (["a", "b"], [[1.0], [1e300]], None, "Row 12 of x has a number that is not finite, or too large"),
        (["a", "b"], [1.0, -1e-9], None, "Row 12 of x has a norm below 0"),
        (["a", "b"], [1.0, 2.0], [3, -1], "Row 12 of x has no number of tokens"),
        (["a", "b"], [1.0, 2.0], [2.5, 1], "Row 11 of x has no number of tokens"),
        (["a", "b"], [1.0, 2.0], [2, 2**40], "Row 12 of x has no number of tokens"),
    ],
)
def test_a_row_that_cannot_be_used_is_named(texts: list[str], values: Any, tokens: Any, problem: str) -> None:
    counts = None if tokens is None else np.array(tokens)
    with pytest.raises(CorpusError, match=problem):
        checked(texts, np.array(values), counts, "x", 10)


def test_whole_numbers_may_be_written_as_fractions() -> None:
    assert checked(["a"], np.array([2]), np.array([3.0]), "x").n_tokens == np.array([3])
