"""Judgements of people: grades, ids and layouts of files."""

import json
from typing import Any

import numpy as np
import pandas as pd
import pytest

from clsviz.errors import CorpusError
from clsviz.sources import judgements
from clsviz.sources.judgements import match

FRAME = pd.DataFrame({"query": ["a", "a", "b"], "ids": ["1", "2", "3"], "score": [2, 0, 1]})
PAIRS = {"a": [("1", 2.0)], "b": [("3", 1.0)]}
QUERIES = "".join(json.dumps({"_id": f"q{n}", "text": text}) + "\n" for n, text in enumerate("ab"))


def pairs_of(*source: Any) -> dict[str, list[tuple[Any, float]]]:
    """Each query, with what is right for it and the grades."""
    judged = judgements.read(*source)
    return dict(zip(judged.queries, judged.cells, strict=True))


@pytest.mark.parametrize("name", ["score", "Relevance", "relevance-label", "rating"])
def test_rows_of_grade_0_are_judged_and_not_right(name: str) -> None:
    frame = FRAME.rename(columns={"score": name}).assign(split="test")
    assert pairs_of(frame) == PAIRS
    assert [text for text, n in judgements.read(frame).counts.items() if n] == [
        f"Column “{name}” holds grades, which nDCG takes as gains.",
        "Judgements of grade 0 or below, which are not right: 1.",
        "Columns of “your searches” that change nothing: “split”.",
    ]
    truths = {**FRAME.to_dict("list"), "score": [True, False, None]}
    assert pairs_of(truths) == {"a": [("1", 1.0)], "b": []}


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("qrels/test.tsv", "query-id\tcorpus-id\tscore\nq0\t1\t2\nq0\t2\t0\nq1\t3\t1\n"),
        ("qrels.txt", "q0 0 1 2\nq0 0 2 0\nq1 0 3 1\n"),
        ("qrels.tsv", "q0\t1\t2\nq0\t2\t-1\nq1\t3\t1\n"),
    ],
)
def test_qrels_name_queries_of_another_file(name, content, tmp_path) -> None:
    (tmp_path / "qrels").mkdir()
    (tmp_path / name).write_text(content)
    with pytest.raises(CorpusError, match="lacks their texts"):
        judgements.read(tmp_path / name)
    assert pairs_of(tmp_path / name, {"q0": "a", "q1": "b", "q2": "c"}) == PAIRS
    (tmp_path / "queries.jsonl").write_text(QUERIES)
    assert pairs_of(tmp_path / name) == pairs_of(tmp_path) == PAIRS
    (tmp_path / "torn.txt").write_text("q0 0 1 2\n\nq0 0 2\nq1 0 3 1\n")
    with pytest.raises(CorpusError, match="Line 3 of “torn"):
        judgements.read(tmp_path / "torn.txt")
    frame = FRAME.assign(query=["q0", "q0", "q9"])
    assert pairs_of(frame, tmp_path / "queries.jsonl") == {"a": PAIRS["a"]}


IDS = ["7", "007", "Los Angeles 1", "Doe, Jane", "[x y]", "a", "b"]


@pytest.mark.parametrize(
    ("cell", "ids"),
    [
        *((text, [text]) for text in ("7", "007", "Doe, Jane", "[x y]")),
        *(
            (text, ["a", "b"])
            for text in ("a b", "a,b", " a; b ", ["a", "b"], np.array(["a", "b"]))
        ),
        *(
            (text, ["Los Angeles 1", "a"])
            for text in ("Los Angeles 1, a", '["Los Angeles 1", "a"]')
        ),
        ("['a', 7]", ["a", "7"]),
        (7, ["7"]),
        ("none, known", ["none", "known"]),
    ],
    ids=str,
)
def test_ids_are_text_in_any_kind_of_list(cell: Any, ids: list[str]) -> None:
    graded = match(IDS, [[(cell, 1.0), ("a", 2.0)]])
    assert graded == (IDS, [{**dict.fromkeys(ids, 1.0), "a": 2.0}], False)


LONG = "12345678901234567890123456789012"


@pytest.mark.parametrize(
    ("key", "equal", "other"),
    [
        ("0", "0.0", "00"),
        ("10000000000000000", 1e16, "010000000000000000"),
        (LONG, f"{LONG}.0", LONG[:-1] + "3.0"),
    ],
)
def test_numbers_are_equal_where_no_id_is_equal_as_text(key: str, equal: Any, other: str) -> None:
    assert match([key, "x"], [[(equal, 1.0)]]) == ([key, "x"], [{key: 1.0}], True)
    assert key not in match([key, "x"], [[(other, 1.0)]])[1][0]
    assert match([key, "x"], [[(equal, 1.0), ("x", 1.0)]])[2] is False
