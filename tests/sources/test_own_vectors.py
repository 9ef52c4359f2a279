import json
import pickle
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from numpy.typing import NDArray
from safetensors import numpy as safetensors

from clsviz.errors import CorpusError
from clsviz.sources import files
from clsviz.sources.own_vectors import (
    Array,
    Chosen,
    Rows,
    VectorFile,
    checked,
    column_batches,
    columns_of,
    open_npy,
    open_npz,
    open_safetensors,
    open_vectors,
)

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


ARRAYS_VECTORS = np.random.default_rng(0).normal(size=(50, 7))


def whole(array: "Array", n: int = 16) -> NDArray[np.generic]:
    batches = list(array.batches(n))
    assert all(len(batch) <= n for batch in batches)
    return np.concatenate(batches)


@pytest.mark.parametrize("dtype", ["<f2", "<f4", ">f4", "<f8", "<i4", "u1"])
def test_an_array_of_numpy_is_read_a_few_rows_at_a_time(dtype: str, tmp_path: Path) -> None:
    values = (10 * np.abs(ARRAYS_VECTORS)).astype(dtype)
    np.save(tmp_path / "a.npy", values)
    (array,) = open_npy(tmp_path / "a.npy", "a.npy")
    assert (array.name, array.shape, array.problem) == ("array", (50, 7), "")
    np.testing.assert_array_equal(whole(array), values)


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_several_arrays_are_read_from_an_archive(save: object, tmp_path: Path) -> None:
    texts = np.array([f"Text {row}, ärger" for row in range(50)])
    save(tmp_path / "a.npz", vectors=ARRAYS_VECTORS, norms=np.arange(50), texts=texts)  # type: ignore[operator]
    arrays = {array.name: array for array in open_npz(tmp_path / "a.npz", "a.npz")}
    np.testing.assert_array_equal(whole(arrays["vectors"]), ARRAYS_VECTORS)
    np.testing.assert_array_equal(whole(arrays["norms"]), np.arange(50))
    assert whole(arrays["texts"]).tolist() == texts.tolist()


def test_tensors_are_read_from_safetensors_and_bfloat16_as_float32(tmp_path: Path) -> None:
    values = ARRAYS_VECTORS.astype("<f4")
    halved = (values.view("<u4") >> 16).astype("<u2")  # bfloat16 is the upper half
    header = {
        "half": {"dtype": "BF16", "shape": [50, 7], "data_offsets": [0, 700]},
        "full": {"dtype": "F32", "shape": [50, 7], "data_offsets": [700, 2100]},
        "__metadata__": {"format": "np"},
    }
    text = json.dumps(header).encode()
    path = tmp_path / "a.safetensors"
    path.write_bytes(len(text).to_bytes(8, "little") + text + halved.tobytes() + values.tobytes())
    arrays = {array.name: array for array in open_safetensors(path, "a.safetensors")}
    np.testing.assert_array_equal(whole(arrays["full"]), values)
    np.testing.assert_array_equal(whole(arrays["half"]), (halved.astype("<u4") << 16).view("<f4"))


class Bomb:
    def __reduce__(self) -> tuple[object, ...]:
        return (Path.touch, (Path("exploded"),))


def test_objects_are_never_unpickled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    np.save(tmp_path / "a.npy", np.array([Bomb(), Bomb()], object), allow_pickle=True)
    (array,) = open_npy(tmp_path / "a.npy", "a.npy")
    assert "holds Python objects" in array.problem
    (tmp_path / "b.npy").write_bytes(pickle.dumps(Bomb()))
    with pytest.raises(CorpusError, match=r"b\.npy cannot be read"):
        open_npy(tmp_path / "b.npy", "b.npy")
    assert not (tmp_path / "exploded").exists()


def test_an_array_in_columns_is_named(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.asfortranarray(ARRAYS_VECTORS))
    (array,) = open_npy(tmp_path / "a.npy", "a.npy")
    assert "ascontiguousarray" in array.problem


@pytest.mark.parametrize("ending", [".npy", ".npz", ".safetensors"])
@pytest.mark.parametrize("left", [0, 5, 60, -1])
def test_a_file_that_was_cut_short_is_refused(ending: str, left: int, tmp_path: Path) -> None:
    path = tmp_path / f"a{ending}"
    if ending == ".npy":
        np.save(path, ARRAYS_VECTORS)
    elif ending == ".npz":
        np.savez(path, vectors=ARRAYS_VECTORS)
    else:
        safetensors.save_file({"vectors": ARRAYS_VECTORS}, path)
    path.write_bytes(path.read_bytes()[:left])
    opened = {".npy": open_npy, ".npz": open_npz, ".safetensors": open_safetensors}[ending]
    with pytest.raises(CorpusError, match=r"cut short|cannot be read"):
        opened(path, path.name)


def test_a_file_that_shrinks_while_it_is_read_ends_in_a_sentence(tmp_path: Path) -> None:
    path = tmp_path / "a.npy"
    np.save(path, ARRAYS_VECTORS)
    (array,) = open_npy(path, "a.npy")
    path.write_bytes(path.read_bytes()[:500])
    with pytest.raises(CorpusError, match="ends before its last row"):
        whole(array)


def test_an_archive_whose_bytes_were_changed_ends_in_a_sentence(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    np.savez(path, vectors=ARRAYS_VECTORS)
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 0xFF
    path.write_bytes(content)
    with pytest.raises(CorpusError, match="cannot be read"):
        [whole(array) for array in open_npz(path, "a.npz")]


VECTOR_COLUMNS_VECTORS = np.random.default_rng(0).normal(size=(50, 4)).astype(np.float32)
LISTS = VECTOR_COLUMNS_VECTORS.tolist()
TYPES = {
    "list": pa.list_(pa.float64()),
    "large": pa.large_list(pa.float32()),
    "fixed": pa.list_(pa.float32(), 4),
    "halves": pa.list_(pa.float16(), 4),
    "integers": pa.list_(pa.int8()),
}


def written(path: Path, **columns: object) -> "files.TextFile":
    pq.write_table(pa.table(columns), path, row_group_size=20)
    return files.TextFile(path, path.name, is_packed=False, limits=files.Limits())


def test_columns_are_told_apart_by_what_they_may_be(tmp_path: Path) -> None:
    file = written(
        tmp_path / "a.parquet",
        id=list(range(50)),
        text=["a"] * 50,
        norm=[1.5] * 50,
        vector=LISTS,
        tags=[["a"]] * 50,
        done=[True] * 50,
    )
    assert columns_of(file) == (50, ("text",), ("vector",), ("id", "norm"))


@pytest.mark.parametrize("kind", TYPES)
def test_vectors_of_every_kind_of_list_are_read(kind: str, tmp_path: Path) -> None:
    values = np.round(10 * VECTOR_COLUMNS_VECTORS).astype(np.int8) if kind == "integers" else VECTOR_COLUMNS_VECTORS
    if kind == "halves":
        values = values.astype(np.float16)
    file = written(tmp_path / "a.parquet", vector=pa.array(values.tolist(), TYPES[kind]), n=list(range(50)))
    batches = list(column_batches(file, ["n", "vector", "n"], 16))
    assert len(batches) > 3  # the last of a row group may be short
    np.testing.assert_array_equal(np.concatenate([vectors for _, vectors, _ in batches]), values)
    assert np.concatenate([first for first, _, _ in batches]).tolist() == list(range(50))
    assert all((first == again).all() for first, _, again in batches)


def test_a_tensor_column_is_one_of_vectors(tmp_path: Path) -> None:
    tensors = pa.FixedShapeTensorArray.from_numpy_ndarray(VECTOR_COLUMNS_VECTORS)
    file = written(tmp_path / "a.parquet", vector=tensors)
    assert columns_of(file).vectors == ("vector",)
    np.testing.assert_array_equal(
        np.concatenate([run for (run,) in column_batches(file, ["vector"], 9)]), VECTOR_COLUMNS_VECTORS
    )


@pytest.mark.parametrize(
    ("column", "problem"),
    [
        ([*LISTS[:30], None, *LISTS[31:]], "Row 31 of a.parquet has nothing in “v”"),
        ([*LISTS[:45], [1.0, 2.0], *LISTS[46:]], "Row 46 of a.parquet has 2 numbers in “v”, the first row 4"),
        ([*LISTS[:3], [1.0, None, 3.0, 4.0], *LISTS[4:]], "A vector in “v” of a.parquet lacks a number"),
    ],
)
def test_a_row_that_is_unlike_the_others_is_named(column: list[object], problem: str, tmp_path: Path) -> None:
    file = written(tmp_path / "a.parquet", v=pa.array(column, pa.list_(pa.float32())))
    with pytest.raises(CorpusError, match=problem):
        list(column_batches(file, ["v"], 16))


def test_what_is_no_parquet_file_ends_in_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "a.parquet").write_bytes(b"PAR1 and no more")
    with pytest.raises(CorpusError, match="not a Parquet file"):
        columns_of(files.TextFile(tmp_path / "a.parquet", "a.parquet", False, files.Limits()))
