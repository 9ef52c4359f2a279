"""Which queries search for which texts."""

from pathlib import Path

import pandas as pd
import pyarrow as pa
import pytest
from support.datasets import publish
from support.hub import Hub

from clsviz.errors import CorpusError, UnsearchableError
from clsviz.experiment import Selection
from clsviz.progress import Progress
from clsviz.settings import Task
from clsviz.sources.searches import Searches, find_searches
from clsviz.sources.shipped import summaries

N = 120


def searched(path: Path, **settings: object) -> Searches:
    return find_searches(Selection(str(path)), path.parent, Progress(), **settings)


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "table.csv"
    rows = [(f"d{i}", f"Title {i}", f"Text {i} says this. It also says that {i} is a number.") for i in range(N)]
    pd.DataFrame(rows, columns=["id", "title", "text"]).to_csv(path, index=False)
    return path


def test_titles_search_for_their_texts(table: Path) -> None:
    found = searched(table)
    assert (found.task, found.titles) == (Task.TITLES, "title")
    assert found.queries[3] == "Title 3"
    assert [found.texts[place] for place in found.right[3]] == ["Text 3 says this. It also says that 3 is a number."]
    assert searched(table, titles="id").queries[3] == "d3"
    with pytest.raises(CorpusError, match="no column “nothing”"):
        searched(table, titles="nothing")


def test_titles_of_a_dataset_on_the_hub_search_for_their_texts(hub: Hub, tmp_path: Path) -> None:
    texts = [f"Text {i} says this. It also says that {i} is a number." for i in range(N)]
    table = pa.table({"title": [f"Title {i}" for i in range(N)], "text": texts, "id": [f"d{i}" for i in range(N)]})
    publish(hub, "people/pages", tmp_path / "own", table)
    found = find_searches(Selection("people/pages"), tmp_path, Progress())
    assert (found.task, found.titles, len(found.texts)) == (Task.TITLES, "title", N)
    for query, (right,) in zip(found.queries, found.right, strict=True):
        assert found.texts[right].startswith(query.replace("Title", "Text") + " ")
    judged = tmp_path / "judged.csv"
    pd.DataFrame({"query": [f"About {i}" for i in range(N)], "ids": [f"d{i}" for i in range(N)]}).to_csv(judged)
    found = find_searches(Selection("people/pages"), tmp_path, Progress(), judged=judged)
    assert {found.texts[right] for (right,) in found.right[:3]} == {*texts[:3]}


def test_copies_of_a_text_are_right(tmp_path: Path) -> None:
    path = tmp_path / "copies.csv"
    rows = [(f"title {i // 2}", f"The text number {i % 200} is here.") for i in range(300)]
    pd.DataFrame(rows, columns=["title", "text"]).to_csv(path, index=False)
    found = searched(path)
    assert len(found.queries) == len(found.texts) == 300
    assert found.right[:2] == [[0, 200], [1, 201]]
    judged = tmp_path / "judged.csv"
    pd.DataFrame(rows, columns=["query", "text"]).to_csv(judged, index=False)
    found = searched(path, judged=judged)
    assert len(found.queries) == 150  # a query with several right texts is one search
    assert found.right[0] == [0, 1, 200, 201]


def test_halves_are_cut_at_the_boundary_nearest_the_middle(tmp_path: Path) -> None:
    path = tmp_path / "halves.csv"
    texts = [f"Short one {i}. A much longer second sentence follows it here. The last is {i}." for i in range(N)]
    pd.DataFrame({"text": [*texts, "Only one sentence.", "Only one sentence again."]}).to_csv(path, index=False)
    found = searched(path)
    assert found.task is Task.HALVES
    assert len(found.texts) == N
    assert found.queries[5] == "Short one 5. A much longer second sentence follows it here."
    assert found.texts[found.right[5][0]] == "The last is 5."


def test_sentences_of_a_book_search_for_what_was_around_them(tmp_path: Path) -> None:
    path = tmp_path / "book.txt"
    sentences = [f"This is sentence number {i} of the book." for i in range(1000)]
    path.write_text("\n".join(sentences))
    found = searched(path)
    assert found.task is Task.INVERSE_CLOZE
    windows = []
    for query, (place,) in zip(found.queries, found.right, strict=True):
        numbers = [int(word) for word in f"{query} {found.texts[place]}".split() if word.isdecimal()]
        assert sorted(numbers) == [*range(min(numbers), max(numbers) + 1)]
        windows.append(sorted(numbers))
    assert {len(window) for window in windows} == {2, 3, 5, 9}
    joined = [number for window in windows for number in window]
    assert joined == [*range(len(joined))]  # windows follow each other and have nothing in common
    assert len(joined) > 990
    assert searched(path, seed=1).queries != found.queries == searched(path).queries


@pytest.mark.parametrize("kind", ["ids", "text"])
def test_judged_searches_name_right_texts(table: Path, kind: str) -> None:
    texts = pd.read_csv(table)["text"]
    right = [f"d{i} d{(i + 1) % N} unknown" for i in range(N)] if kind == "ids" else texts
    path = table.with_name("searches.csv")
    pd.DataFrame({"query": [f"What is {i}?" for i in range(N)], kind: right}).to_csv(path, index=False)
    found = searched(table, judged=path)
    assert found.task is Task.JUDGED
    assert found.queries[7] == "What is 7?"
    assert found.right[7] == ([7, 8] if kind == "ids" else [7])


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"query": ["a b"], "answer": ["c d"]}, "must have a column query, and one named text or ids"),
        ({"query": ["a b"], "text": ["not there at all"]}, "The text in row 1 of searches.csv is not in table.csv"),
        ({"query": ["a b"], "ids": ["d1"]}, "Only 1 search can be made of these texts, and 100 are needed"),
    ],
)
def test_searches_that_cannot_be_used_are_told(table: Path, columns: dict[str, list[str]], message: str) -> None:
    path = table.with_name("searches.csv")
    pd.DataFrame(columns).to_csv(path, index=False)
    with pytest.raises((CorpusError, UnsearchableError), match=message):
        searched(table, judged=path)


def test_what_has_no_searches_says_why(tmp_path: Path) -> None:
    with pytest.raises(UnsearchableError, match="Only 6 of these texts have two sentences"):
        find_searches(Selection("python-docs"), tmp_path, Progress())
    words = tmp_path / "words.txt"
    words.write_text("\n".join(f"word{i}" for i in range(2000)))
    with pytest.raises(UnsearchableError, match=r"single words|Only \d+ search"):
        searched(words)


def test_of_more_texts_so_many_are_drawn(table: Path) -> None:
    found = searched(table, most_texts=110)
    assert len(found.texts) == len(found.queries) == 110
    for query, (place,) in zip(found.queries, found.right, strict=True):
        assert found.texts[place].startswith(f"Text {query.split()[1]} says")


def test_python_api_is_what_the_docstrings_say(tmp_path: Path) -> None:
    found = find_searches(Selection("python-api"), tmp_path, Progress())
    assert (found.task, len(found.texts), len(found.queries)) == (Task.TITLES, 2328, 2328)
    assert found.corpus.fingerprint == "6b41fb575a75985d7731cf3c5c93ee2bc64c1abfde03592a14088bd21aff0e6c"
    module = tmp_path / "module.py"
    module.write_text('"""Do this and that now.\n\n  What follows has eight words\n\nor even more.\n"""\n')
    assert [*summaries([str(module)])] == [("Do this and that now.", "What follows has eight words or even more.")]
