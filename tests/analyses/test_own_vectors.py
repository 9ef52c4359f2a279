from collections.abc import Callable
from pathlib import Path

import datasets
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import clsviz
from clsviz.analyses import own_vectors
from clsviz.errors import ClsvizError

N = 60
VECTORS = np.random.RandomState(0).normal(size=(N, 6)).astype(np.float32)


@pytest.fixture
def texts() -> pd.DataFrame:
    """Texts of 1 to 60 words."""
    words = [" ".join([f"w{row}"] * (row + 1)) for row in range(N)]
    return pd.DataFrame(
        {"text": words, "vector": list(VECTORS), "id": [f"a {n}" for n in range(N)]}
    )


@pytest.fixture
def queries() -> pd.DataFrame:
    """Queries with the vectors of their texts."""
    names = [f"query {row}" for row in range(N)]
    ids = [[f"a {row}"] for row in range(N)]
    return pd.DataFrame({"query": names, "vector": list(VECTORS), "ids": ids})


@pytest.fixture
def search(tmp_path: Path):
    """Writes frames as Parquet, and searches."""

    def search(texts: pd.DataFrame, queries: pd.DataFrame) -> clsviz.Result:
        for name, frame in (("texts", texts), ("queries", queries)):
            frame.to_parquet(tmp_path / f"{name}.parquet")
        names = tmp_path / "texts.parquet", tmp_path / "queries.parquet"
        return clsviz.search_test(vectors=names[0], query_vectors=names[1])

    return search


def test_queries_find_the_texts_of_their_ids(texts, queries, search) -> None:
    result = search(texts, queries)
    assert result.fact("recall_at_10") == 1
    assert list(result.table["first"]) == list(texts["text"])
    assert list(result.table["first_tokens"]) == list(range(1, N + 1))
    assert result.about["model"] == "texts.parquet"


@pytest.mark.parametrize("column", ["_id", "docno", "Document ID"])
def test_ids_have_many_names_or_are_rows(column, texts, queries, search) -> None:
    mixed = texts.rename(columns={"id": column}).sample(frac=1, random_state=1)
    result = search(mixed, queries)
    assert result.fact("recall_at_10") == 1
    assert not any("numbered" in caveat for caveat in result.caveats)
    result = search(texts.drop(columns="id"), queries.assign(ids=range(N)))
    assert "“texts.parquet” has no column of ids: its rows are numbered from 0." in result.caveats


def test_ids_are_text_and_grades_of_0_are_not_right(texts, queries, search) -> None:
    ids = [str(n) for n in range(N // 2)] + [f"{n:04}" for n in range(N // 2)]
    wrong = queries.assign(ids=ids[::-1], score=0)
    judged = pd.concat([wrong, queries.assign(ids=ids, score=1)], ignore_index=True)
    result = search(texts.assign(id=ids), judged)
    assert (result.fact("recall_at_10"), list(result.table["n_right"])) == (1, [1] * N)


def test_frames_dicts_and_datasets_are_read_as_files_are(texts, queries, tmp_path: Path) -> None:
    texts.to_parquet(path := tmp_path / "texts.parquet")
    expected = own_vectors.read(path)
    np.savez(tmp_path / "a.npz", vector=VECTORS, text=texts["text"].to_numpy().astype(str))
    array = {**texts.to_dict("list"), "vector": VECTORS}
    frames = texts, texts.to_dict("list"), array, datasets.Dataset.from_pandas(texts)
    for source in (*frames, tmp_path / "a.npz"):
        assert own_vectors.read(source).fingerprint == expected.fingerprint
    result = clsviz.search_test(vectors=texts, query_vectors=queries, unit="characters")
    assert (result.fact("recall_at_10"), result.command) == (1, "")
    assert list(result.table["first_tokens"]) == list(texts["text"].map(len))
    assert clsviz.measure(vectors=texts, store=tmp_path).about["corpus"] == "your vectors"


@pytest.mark.parametrize("kind", [pa.list_, pa.large_list, lambda kind: pa.list_(kind, 6)])
def test_lists_of_every_type_are_read_in_blocks(kind, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(own_vectors, "BLOCK_BYTES", 500)
    columns = {"text": ["a"] * N, "vector": pa.array(VECTORS.tolist(), kind(pa.float64()))}
    pq.write_table(pa.table(columns), tmp_path / "a.parquet", row_group_size=25)
    np.testing.assert_array_equal(own_vectors.read(tmp_path / "a.parquet").vectors, VECTORS)


def test_zero_vectors_and_bytes_are_named_and_packed_bits_refused(texts, search, queries) -> None:
    result = search(texts.assign(vector=list(VECTORS * (np.arange(N) > 6)[:, None])), queries)
    assert any("are zero, which have no direction: 7." in one for one in result.caveats)
    values = np.random.RandomState(0).randint(-120, 120, (N, 300))
    for kind in (np.int8, np.int64):
        own = own_vectors.read({"text": texts["text"], "vector": values.astype(kind)})
        assert "whole numbers of a byte" in own.caveats[0]
        with pytest.raises(ClsvizError, match="48 whole numbers of a byte, as packed bits are"):
            own_vectors.read({"text": texts["text"], "vector": values[:, :48].astype(kind)})
    assert own_vectors.read({"text": texts["text"], "vector": values > 0}).caveats == ()


def test_equal_queries_have_the_vector_of_the_first(texts, queries, search) -> None:
    queries.loc[1, "query"] = " QUERY  0"
    table = search(texts, queries).table
    assert list(table["n_right"]) == [2, *[1] * (N - 2)]
    assert list(table["first"][:2]) == [texts["text"][0], texts["text"][2]]


def test_norms_of_own_vectors_are_fitted_on_words(texts, tmp_path: Path) -> None:
    texts.to_parquet(path := tmp_path / "texts.parquet")
    result = clsviz.measure(vectors=path, length_cutoff=40, store=tmp_path)
    norms = np.linalg.norm(VECTORS[:39], axis=1)
    assert result.fact("r_squared") == pytest.approx(np.corrcoef(range(39), norms)[0, 1] ** 2)
    assert result.question.startswith("Do the norms of the vectors in “texts.parquet”")
    with pytest.raises(ClsvizError, match="pooling"):
        clsviz.measure(vectors=path, pooling="mean", store=tmp_path)


def with_seventh(vector: np.ndarray) -> list[np.ndarray]:
    return [*VECTORS[:7], vector, *VECTORS[8:]]


SPOILED: dict[str, Callable[[pd.DataFrame], pd.DataFrame]] = {
    "texts.parquet” holds no lists of numbers": lambda f: f.assign(vector=list(map(str, VECTORS))),
    "row 8 has 5 numbers, row 1 has 6": lambda f: f.assign(vector=with_seventh(VECTORS[7, :5])),
    "Row 8 of .* has no vector": lambda f: f.assign(vector=with_seventh(None)),
    "row 8 .* not finite": lambda f: f.assign(vector=with_seventh(VECTORS[7] * np.inf)),
    "row 8 .* is not finite": lambda f: f.assign(vector=with_seventh(np.full(6, 3e38, "f4"))),
    "Row 4 .* no text": lambda f: f.assign(text=[*f["text"][:3], " ", *f["text"][4:]]),
    "no column “vector”": lambda f: f.drop(columns="vector"),
    "4 numbers, queries of 6": lambda f: f.assign(vector=list(VECTORS[:, :4])),
}


@pytest.mark.parametrize("words", SPOILED)
def test_an_error_names_the_column_or_the_row(words: str, texts, queries, search) -> None:
    with pytest.raises(ClsvizError, match=words):
        search(SPOILED[words](texts), queries)


def test_a_file_that_cannot_be_read_is_an_error(tmp_path: Path) -> None:
    np.savez(tmp_path / "objects.npz", text=np.array(["a"], object), vector=VECTORS[:1])
    (tmp_path / "damaged.parquet").write_bytes(b"PAR1 nothing")
    (tmp_path / "texts.csv").write_text("text,vector")
    cases = {"objects.npz": "read", "damaged.parquet": "damaged", "texts.csv": "no vectors"}
    for name, words in cases.items():
        with pytest.raises(ClsvizError, match=words):
            own_vectors.read(tmp_path / name)
