from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import clsviz
from clsviz.errors import ClsvizError
from clsviz.jobs import own_vectors

N = 60


@pytest.fixture
def frames() -> tuple[pd.DataFrame, pd.DataFrame]:
    """Texts of 1 to 60 words, and queries with the vector of their text."""
    vectors = np.random.RandomState(0).normal(size=(N, 6)).astype(np.float32)
    texts = [" ".join(f"w{row}" for _ in range(row + 1)) for row in range(N)]
    queries = [f"query {row}" for row in range(N)]
    return (
        pd.DataFrame({"text": texts, "vector": list(vectors), "id": [f"a {n}" for n in range(N)]}),
        pd.DataFrame(
            {"query": queries, "vector": list(vectors), "ids": [[f"a {n}"] for n in range(N)]}
        ),
    )


def write(frame: pd.DataFrame, path: Path) -> Path:
    if path.suffix == ".parquet":
        frame.to_parquet(path)
    elif path.suffix == ".csv":
        frame.to_csv(path)
    else:
        arrays = {name: np.stack(frame[name]) for name in frame if name != "ids"}
        np.savez(
            path, **{name: a.astype(str) if a.dtype == object else a for name, a in arrays.items()}
        )
    return path


def test_queries_find_the_texts_of_their_ids(frames, tmp_path: Path) -> None:
    texts, queries = (write(frame, tmp_path / f"{n}.parquet") for n, frame in enumerate(frames))
    result = clsviz.search_test(vectors=texts, query_vectors=queries)
    assert result.fact("recall_at_10") == 1
    assert list(result.table["first"]) == list(frames[0]["text"])
    assert list(result.table["first_tokens"]) == list(range(1, N + 1))
    assert result.about["model"] == "0.parquet"


def test_norms_of_own_vectors_are_fitted_on_words(frames, tmp_path: Path) -> None:
    texts = write(frames[0], tmp_path / "texts.parquet")
    result = clsviz.measure(vectors=texts, length_cutoff=40, store=tmp_path)
    norms = [np.linalg.norm(vector) for vector in frames[0]["vector"][:39]]
    assert result.fact("r_squared") == pytest.approx(np.corrcoef(range(39), norms)[0, 1] ** 2)
    assert result.question.startswith("Do the norms of the vectors in “texts.parquet”")
    with pytest.raises(ClsvizError, match="pooling"):
        clsviz.measure(vectors=texts, pooling="mean", store=tmp_path)


def test_without_ids_the_rows_count_from_0(frames, tmp_path: Path) -> None:
    texts = write(frames[0].drop(columns="id"), tmp_path / "texts.parquet")
    queries = write(frames[1].assign(ids=range(N)), tmp_path / "queries.parquet")
    assert clsviz.search_test(vectors=texts, query_vectors=queries).fact("recall_at_10") == 1


def test_equal_queries_have_the_vector_of_the_first(frames, tmp_path: Path) -> None:
    frames[1].loc[1, "query"] = " QUERY  0"
    texts, queries = (write(frame, tmp_path / f"{n}.parquet") for n, frame in enumerate(frames))
    table = clsviz.search_test(vectors=texts, query_vectors=queries).table
    assert list(table["n_right"]) == [2, *[1] * (N - 2)]
    assert list(table["first"][:2]) == [frames[0]["text"][0], frames[0]["text"][2]]


def test_both_formats_hold_the_same(frames, tmp_path: Path) -> None:
    files = [write(frames[0], tmp_path / f"texts.{ending}") for ending in ("parquet", "npz")]
    first, second = map(own_vectors.read, files)
    assert first.fingerprint == second.fingerprint
    assert first.ids == second.ids


def spoiled(frame: pd.DataFrame, name: str, folder: Path) -> Path:
    vectors = list(frame["vector"])
    match name:
        case "text in CSV":
            return write(frame, folder / "texts.csv")
        case "text in Parquet":
            frame["vector"] = [str(list(vector)) for vector in vectors]
        case "several widths":
            frame["vector"] = [vectors[0][:5], *vectors[1:]]
        case "infinite":
            vectors[7] = vectors[7] * np.inf
            frame["vector"] = vectors
        case "infinite norm":
            vectors[7] = np.full(6, 3e38, np.float32)
            frame["vector"] = vectors
        case "no text":
            frame.loc[3, "text"] = " "
        case "no vectors":
            frame = frame.drop(columns="vector")
        case "other queries":
            frame["vector"] = [vector[:4] for vector in vectors]
        case "objects":
            np.savez(folder / "texts.npz", text=frame["text"].to_numpy(), vector=np.stack(vectors))
            return folder / "texts.npz"
        case _:
            (folder / "texts.parquet").write_bytes(b"PAR1 nothing")
            return folder / "texts.parquet"
    return write(frame, folder / "texts.parquet")


SPOILED = {
    "text in CSV": "Column vector of “texts.csv” holds text, not numbers",
    "text in Parquet": "Column vector of “texts.parquet” holds text, not numbers",
    "several widths": "several widths",
    "infinite": "row 8 .* not finite",
    "infinite norm": "row 8 .* not finite",
    "no text": "Row 4 .* no text",
    "no vectors": "no column “vector”",
    "other queries": "4 numbers, queries of 6",
    "objects": "cannot be read",
    "damaged": "cannot be read",
}


@pytest.mark.parametrize("name", SPOILED)
def test_an_error_names_the_column_or_the_row(name: str, frames, tmp_path: Path) -> None:
    queries = write(frames[1], tmp_path / "queries.parquet")
    texts = spoiled(frames[0], name, tmp_path)
    with pytest.raises(ClsvizError, match=SPOILED[name]):
        clsviz.search_test(vectors=texts, query_vectors=queries)
