import contextlib
import io
import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from safetensors import SafetensorError
from safetensors import numpy as safetensors

from clsviz.errors import CorpusError
from clsviz.sources.own_vectors import Chosen, VectorFile, checked, open_vectors

N = 2500
VECTORS = np.random.default_rng(0).normal(size=(N, 3)).astype(np.float32)
NORMS = np.linalg.norm(VECTORS, axis=1).astype(np.float32)
TEXTS = [f"Text  number {row}, ärger.\t" for row in range(N)]
CLEAN = [f"Text number {row}, ärger." for row in range(N)]


def write_table(path: Path, **columns: Any) -> VectorFile:
    named = {name: values.tolist() if isinstance(values, np.ndarray) else values for name, values in columns.items()}
    pq.write_table(pa.table(named), path, row_group_size=1000)
    return open_vectors(path)


@pytest.fixture
def table(tmp_path: Path) -> VectorFile:
    return write_table(tmp_path / "a.parquet", text=TEXTS, v=VECTORS, norm=NORMS, tokens=range(N), done=[True] * N)


@pytest.fixture
def array(tmp_path: Path) -> VectorFile:
    np.save(tmp_path / "a.npy", VECTORS)
    return open_vectors(tmp_path / "a.npy")


@pytest.fixture
def texts_file(tmp_path: Path) -> Path:
    (tmp_path / "texts.txt").write_text("\n".join(TEXTS))
    return tmp_path / "texts.txt"


def read(file: VectorFile, **chosen: Any) -> tuple[list[str], Any, Any]:
    """Texts, vectors or norms, and numbers of tokens of all rows."""
    rows = list(file.rows(file.decided(Chosen(**chosen))))
    assert all(len(run.values) <= 1024 for run in rows)
    tokens = None if rows[0].n_tokens is None else np.concatenate([run.n_tokens for run in rows]).tolist()
    return [text for run in rows for text in run.texts], np.concatenate([run.values for run in rows]), tokens


def test_texts_vectors_norms_and_lengths_of_a_table_stay_together(table: VectorFile) -> None:
    assert (table.texts, table.vectors, table.numbers) == (("text",), ("v",), ("norm", "tokens"))
    chosen = table.decided(Chosen(tokens="tokens"))
    assert (chosen.text, chosen.vectors, chosen.norms, table.n_rows(chosen)) == ("text", "v", "", N)
    texts, values, n_tokens = read(table, tokens="tokens")
    assert (texts, n_tokens) == (CLEAN, list(range(N)))
    np.testing.assert_array_equal(values, VECTORS)
    texts, values, n_tokens = read(table, norms="norm")
    assert (texts, n_tokens) == (CLEAN, None)
    np.testing.assert_array_equal(values, NORMS)


@pytest.mark.parametrize("name", ["texts.txt", "texts.csv", "texts.jsonl"])
def test_texts_may_be_in_a_file_of_their_own(name: str, array: VectorFile, tmp_path: Path) -> None:
    lines = {"texts.txt": TEXTS, "texts.csv": ["text", *(f'"{text}"' for text in TEXTS)]}
    lines["texts.jsonl"] = [f'{{"text": "{text}"}}' for text in CLEAN]
    (tmp_path / name).write_text("\n".join(lines[name]) + "\n\n")  # a blank line at the end is none
    texts, values, _ = read(array, texts_file=tmp_path / name)
    assert texts == CLEAN
    np.testing.assert_array_equal(values, VECTORS)


@pytest.mark.parametrize(
    ("texts", "problem"),
    [
        (CLEAN[:-1], "texts.txt has 2,499 texts, and a.npy has 2,500 rows"),
        ([*CLEAN, "One more."], "more than 2,500 texts"),
        ([*CLEAN[:1699], " ", *CLEAN[1700:]], r"Row 1,700 of texts\.txt has no text"),
    ],
)
def test_one_text_for_each_row_is_wanted(array: VectorFile, tmp_path: Path, texts: list[str], problem: str) -> None:
    (tmp_path / "texts.txt").write_text("\n".join(texts))
    with pytest.raises(CorpusError, match=problem):
        read(array, texts_file=tmp_path / "texts.txt")


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
    table = write_table(tmp_path / "b.parquet", v=VECTORS, title=TEXTS, body=TEXTS)
    with pytest.raises(CorpusError, match=r"Say which column holds the texts\. There are title, body\."):
        table.decided(Chosen())
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
        (np.asfortranarray(VECTORS), "ascontiguousarray"),
    ],
)
def test_arrays_of_another_shape_or_type_are_refused(values: Any, problem: str, tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", values)
    with pytest.raises(CorpusError, match=problem):
        open_vectors(tmp_path / "a.npy")


def test_a_file_without_rows_or_of_another_kind_is_refused(tmp_path: Path, texts_file: Path) -> None:
    np.save(tmp_path / "a.npy", VECTORS[:0])
    with pytest.raises(CorpusError, match="holds no rows"):
        read(open_vectors(tmp_path / "a.npy"), texts_file=texts_file)
    (tmp_path / "a.pt").touch()
    with pytest.raises(CorpusError, match=r"in no format of vectors\. Give a file ending in \.parquet, \.npy"):
        open_vectors(tmp_path / "a.pt")
    with pytest.raises(CorpusError, match="There is no file"):
        open_vectors(tmp_path / "b.npy")
    np.savez(tmp_path / "a.npz", v=VECTORS, texts=np.array(TEXTS[:-1]))
    with pytest.raises(CorpusError, match="“v” has 2,500 rows, “texts” 2,499"):
        read(open_vectors(tmp_path / "a.npz"))


@pytest.mark.parametrize(
    ("texts", "values", "tokens", "problem"),
    [
        (["a", " \n"], [[1.0], [2.0]], None, "Row 12 of x has no text"),
        (["a", "b" * 100_001], [[1.0], [2.0]], None, "Row 12 of x has a text of over 100,000 characters"),
        (["a", "b"], [[1.0, 2.0], [3.0, np.nan]], None, "Row 12 of x has NaN, infinity"),
        (["a", "b"], [[np.inf], [3.0]], None, "Row 11 of x has NaN, infinity"),
        (["a", "b"], [[1e30], [1.0]], None, "Row 11 of x has NaN, infinity, or a number too large"),
        (["a", "b"], [[1.0], [1e300]], None, "Row 12 of x has NaN, infinity, or a number too large"),
        (["a", "b"], [1.0, -1e-9], None, "Row 12 of x has a norm below 0"),
        (["a", "b"], [1.0, 2.0], [3, -1], "Row 12 of x has a wrong number of tokens"),
        (["a", "b"], [1.0, 2.0], [2.5, 1], "Row 11 of x has a wrong number of tokens"),
        (["a", "b"], [1.0, 2.0], [2, 2**40], "Row 12 of x has a wrong number of tokens"),
    ],
)
def test_a_row_that_cannot_be_used_is_named(texts: list[str], values: Any, tokens: Any, problem: str) -> None:
    counts = None if tokens is None else np.array(tokens)
    with pytest.raises(CorpusError, match=problem):
        checked(texts, np.array(values), counts, "x", 10)


@pytest.mark.parametrize("dtype", ["<f2", "<f4", ">f4", "<f8", "<i4", "u1"])
@pytest.mark.parametrize("save", [np.save, np.savez, np.savez_compressed])
def test_arrays_of_numpy_of_every_type_are_read(dtype: str, save: Any, tmp_path: Path, texts_file: Path) -> None:
    values = (10 * np.abs(VECTORS)).astype(dtype)
    if save is np.save:
        np.save(tmp_path / "a.npy", values)
        found = read(open_vectors(tmp_path / "a.npy"), texts_file=texts_file)
    else:
        save(tmp_path / "a.npz", vectors=values, norms=np.arange(N), texts=np.array(TEXTS))
        found = read(open_vectors(tmp_path / "a.npz"), tokens="norms")
        assert found[2] == list(range(N))
    assert found[0] == CLEAN
    np.testing.assert_array_equal(found[1], values.astype(np.float32))


def test_tensors_are_read_from_safetensors_and_bfloat16_as_float32(tmp_path: Path, texts_file: Path) -> None:
    halved = (VECTORS.view("<u4") >> 16).astype("<u2")  # bfloat16 is the upper half
    size = halved.nbytes
    header = {
        "half": {"dtype": "BF16", "shape": [N, 3], "data_offsets": [0, size]},
        "full": {"dtype": "F32", "shape": [N, 3], "data_offsets": [size, 3 * size]},
        "__metadata__": {"format": "np"},
    }
    text = json.dumps(header).encode()
    path = tmp_path / "a.safetensors"
    path.write_bytes(len(text).to_bytes(8, "little") + text + halved.tobytes() + VECTORS.tobytes())
    full, half = (read(open_vectors(path), vectors=name, texts_file=texts_file)[1] for name in ("full", "half"))
    np.testing.assert_array_equal(full, VECTORS)
    np.testing.assert_array_equal(half, (halved.astype("<u4") << 16).view("<f4"))


class Bomb:
    def __reduce__(self) -> tuple[object, ...]:
        return (Path.touch, (Path("exploded"),))


def test_objects_are_never_unpickled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    np.save(tmp_path / "a.npy", np.array([Bomb(), Bomb()], object), allow_pickle=True)
    with pytest.raises(CorpusError, match="holds Python objects"):
        open_vectors(tmp_path / "a.npy")
    (tmp_path / "b.npy").write_bytes(pickle.dumps(Bomb()))
    with pytest.raises(CorpusError, match=r"b\.npy cannot be read"):
        open_vectors(tmp_path / "b.npy")
    assert not (tmp_path / "exploded").exists()


@pytest.mark.parametrize("ending", [".npy", ".npz", ".safetensors"])
@pytest.mark.parametrize("left", [0, 5, 60, -1])
def test_a_file_that_was_cut_short_is_refused(ending: str, left: int, tmp_path: Path) -> None:
    path = tmp_path / f"a{ending}"
    if ending == ".npy":
        np.save(path, VECTORS)
    elif ending == ".npz":
        np.savez(path, vectors=VECTORS)
    else:
        safetensors.save_file({"vectors": VECTORS}, path)
    path.write_bytes(path.read_bytes()[:left])
    with pytest.raises(CorpusError, match=r"cut short|cannot be read"):
        open_vectors(path)


def test_a_file_that_changes_while_it_is_read_ends_in_a_sentence(array: VectorFile, texts_file: Path) -> None:
    array.path.write_bytes(array.path.read_bytes()[:500])
    with pytest.raises(CorpusError, match="ends before its last row"):
        read(array, texts_file=texts_file)
    path = array.path.with_suffix(".npz")
    np.savez(path, vectors=VECTORS)
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 0xFF
    path.write_bytes(content)
    with pytest.raises(CorpusError, match="cannot be read"):
        read(open_vectors(path), texts_file=texts_file)


@pytest.mark.parametrize(
    "kind",
    [pa.list_(pa.float64()), pa.large_list(pa.float32()), pa.list_(pa.float16(), 3), pa.list_(pa.int8()), "tensor"],
)
def test_vectors_of_every_kind_of_list_are_read(kind: Any, tmp_path: Path) -> None:
    values = np.round(10 * VECTORS)
    if kind == "tensor":
        column = pa.FixedShapeTensorArray.from_numpy_ndarray(values)
    else:
        number = np.float16 if kind.value_type == pa.float16() else np.float32
        column = pa.array((values.astype(number) if number is np.float16 else values.astype(int)).tolist(), kind)
    file = write_table(tmp_path / "a.parquet", vector=column, text=TEXTS, n=range(N), tags=[["a"]] * N)
    assert file.vectors == ("vector",)
    _, vectors, n_tokens = read(file, tokens="n")
    np.testing.assert_array_equal(vectors, values)
    assert n_tokens == list(range(N))


@pytest.mark.parametrize(
    ("row", "value", "problem"),
    [
        (30, None, "Row 31 of a.parquet has nothing in “v”"),
        (1045, [1.0, 2.0], "Row 1,046 of a.parquet has 2 numbers in “v”, the first row 3"),
        (3, [1.0, None, 3.0], "A vector in “v” of a.parquet lacks a number"),
    ],
)
def test_a_vector_that_is_not_whole_is_named(row: int, value: Any, problem: str, tmp_path: Path) -> None:
    lists: list[Any] = VECTORS.tolist()
    lists[row] = value
    with pytest.raises(CorpusError, match=problem):
        read(write_table(tmp_path / "a.parquet", v=lists, text=TEXTS))


def test_a_damaged_table_is_named(tmp_path: Path) -> None:
    (tmp_path / "a.parquet").write_bytes(b"PAR1 and nothing else")
    with pytest.raises(CorpusError, match=r"a\.parquet is not a Parquet file"):
        open_vectors(tmp_path / "a.parquet")


DTYPES = [np.dtype(code) for code in ("f2", "f4", "f8", ">f4", "i1", "i8", "u2", "?", "c8", "U5", "S3", "M8[s]", "O")]
ARRAYS = st.sampled_from(DTYPES).flatmap(
    lambda dtype: arrays.arrays(
        dtype,
        arrays.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=6),
        elements=st.none() if dtype.hasobject else None,
        fill=st.nothing(),
    )
)
DAMAGES = st.lists(st.tuples(st.floats(0, 1, exclude_max=True), st.binary(max_size=3), st.integers(0, 3)), max_size=3)
"""Where, as a share of the file, which bytes come there, and instead of how many."""


def as_file(ending: str, array: Any) -> bytes:
    """An array with a text for each row, as a file has them; b"" where that is not possible."""
    rows = len(array) if array.ndim else 1
    texts, stream = [f"Text {row}." for row in range(rows)], io.BytesIO()
    if ending == ".npy":
        np.save(stream, array)
    elif ending == ".npz":
        np.savez_compressed(stream, v=array, text=np.array(texts))
    elif ending == ".parquet":
        with contextlib.suppress(pa.ArrowException, TypeError):
            pq.write_table(pa.table({"v": array.tolist(), "text": texts}), stream)
    else:
        with contextlib.suppress(KeyError, TypeError, ValueError, SafetensorError):
            stream.write(safetensors.save({"v": array}))
    return stream.getvalue()


@pytest.mark.filterwarnings("ignore:Reading `.npy` or `.npz` file required additional header parsing")
@pytest.mark.parametrize("ending", [".npy", ".npz", ".parquet", ".safetensors"])
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(array=ARRAYS, damages=DAMAGES)
@example(array=np.zeros((), "f4"), damages=[(0.078125, b"", 1)])
@example(array=np.zeros((), "f4"), damages=[(0.5, b"\0\1\1", 3)])
def test_any_file_is_read_or_refused_in_a_sentence(
    tmp_path: Path, ending: str, array: Any, damages: list[tuple[float, bytes, int]]
) -> None:
    content = as_file(ending, array)
    for place, instead, n_less in damages:
        start = int(place * len(content))
        content = content[:start] + instead + content[start + n_less :]
    path, texts = tmp_path / f"a{ending}", tmp_path / "texts.txt"
    path.write_bytes(content)
    texts.write_text("\n".join(f"Text {row}." for row in range(len(array) if array.ndim else 1)))
    with contextlib.suppress(CorpusError):
        file = open_vectors(path)
        found, values, _ = read(file, **({} if file.texts else {"texts_file": texts}))
        assert len(found) == len(values)
        assert np.isfinite(values).all()
