from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from clsviz.errors import CorpusError
from clsviz.sources import text_files
from clsviz.sources.arrays import column_batches, columns_of

VECTORS = np.random.default_rng(0).normal(size=(50, 4)).astype(np.float32)
LISTS = VECTORS.tolist()
TYPES = {
    "list": pa.list_(pa.float64()),
    "large": pa.large_list(pa.float32()),
    "fixed": pa.list_(pa.float32(), 4),
    "halves": pa.list_(pa.float16(), 4),
    "integers": pa.list_(pa.int8()),
}


def written(path: Path, **columns: object) -> "text_files.TextFile":
    pq.write_table(pa.table(columns), path, row_group_size=20)
    return text_files.TextFile(path, path.name, is_packed=False, limits=text_files.Limits())


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
    values = np.round(10 * VECTORS).astype(np.int8) if kind == "integers" else VECTORS
    if kind == "halves":
        values = values.astype(np.float16)
    file = written(tmp_path / "a.parquet", vector=pa.array(values.tolist(), TYPES[kind]), n=list(range(50)))
    batches = list(column_batches(file, ["n", "vector", "n"], 16))
    assert len(batches) > 3  # the last of a row group may be short
    np.testing.assert_array_equal(np.concatenate([vectors for _, vectors, _ in batches]), values)
    assert np.concatenate([first for first, _, _ in batches]).tolist() == list(range(50))
    assert all((first == again).all() for first, _, again in batches)


def test_a_tensor_column_is_one_of_vectors(tmp_path: Path) -> None:
    tensors = pa.FixedShapeTensorArray.from_numpy_ndarray(VECTORS)
    file = written(tmp_path / "a.parquet", vector=tensors)
    assert columns_of(file).vectors == ("vector",)
    np.testing.assert_array_equal(np.concatenate([run for (run,) in column_batches(file, ["vector"], 9)]), VECTORS)


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
        columns_of(text_files.TextFile(tmp_path / "a.parquet", "a.parquet", False, text_files.Limits()))
