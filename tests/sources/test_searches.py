from pathlib import Path

import pandas as pd
import pytest

from clsviz.errors import ClsvizError
from clsviz.experiment import Experiment
from clsviz.sources import searches
from clsviz.sources.searches import Searches, id_of


@pytest.mark.parametrize(
    ("spellings", "expected"),
    [
        (["0", "0.0", "00", " 0 "], "0"),
        (["1e+16", "10000000000000000", "10000000000000000.0"], "1" + "0" * 16),
        *(([text], text) for text in ("12345678901234567890123456789012", "doc-1", "0.5", "12e5")),
    ],
)
def test_whole_numbers_are_alike_and_everything_else_is_text(
    spellings: list[str], expected: str
) -> None:
    assert {id_of(spelling) for spelling in spellings} == {expected}


def find(frame: pd.DataFrame, folder: Path, judged: pd.DataFrame | None = None, **options):
    """The searches of two tables in files."""
    frame.to_csv(folder / "texts.csv", index=False)
    if judged is not None:
        options["judged"] = folder / "judged.jsonl"
        judged.to_json(options["judged"], orient="records", lines=True)
    names = ("sample_size", "seed", "column", "segmentation")
    settings = {name: options.pop(name) for name in names if name in options}
    corpus = str(folder / "texts.csv")
    experiment = Experiment(corpus=corpus, **{"sample_size": "all", **settings})
    return searches.find(experiment, folder, **options)


def texts_of(made: Searches) -> list[str]:
    return made.texts.table["sentence"].to_pylist()


def queries_of(made: Searches) -> list[str]:
    return made.queries.table["sentence"].to_pylist()


def right_of(made: Searches, place: int) -> list[str]:
    return [texts_of(made)[text] for text in made.right[place]]


def table(n: int = 40) -> pd.DataFrame:
    """Rows with an id, a title and a text."""
    rows = range(n)
    texts = [f"The text of number {row} is here." for row in rows]
    return pd.DataFrame({"id": rows, "title": [f"Title {row}" for row in rows], "text": texts})


def test_titles_search_for_their_texts(tmp_path: Path) -> None:
    made = find(table(), tmp_path)
    assert made.task == "titles"
    assert queries_of(made)[7] == "Title 7"
    assert right_of(made, 7) == ["The text of number 7 is here."]


def test_equal_titles_are_one_search_and_copies_of_a_right_text_are_right(tmp_path: Path) -> None:
    frame = table(80)
    frame.loc[40:, "title"] = [f"  title   {row} " for row in range(40)]
    frame.loc[1, "text"] = frame.loc[0, "text"]
    made = find(frame, tmp_path)
    assert len(made.right) == 40
    assert list(made.right[0]) == [0, 1, 40]
    assert right_of(made, 3) == [frame["text"][3], frame["text"][43]]


def test_rows_without_title_or_text_are_counted(tmp_path: Path) -> None:
    frame = table()
    frame.loc[[3, 4], "title"] = [" ", None]
    frame.loc[5, "text"] = ""
    made = find(frame, tmp_path)
    assert len(texts_of(made)) == 37
    assert "Rows without a title, which are left out: 2." in made.caveats
    assert "Rows without text, which are left out: 1." in made.caveats


def test_every_text_with_a_right_id_is_right_and_the_rest_is_counted(tmp_path: Path) -> None:
    frame = table(80)
    frame["id"] = [row % 40 for row in range(80)]
    queries = [f"Query {row}" for row in range(40)]
    judged = pd.DataFrame({"query": queries, "ids": [f"{row}.0" for row in range(40)]})
    judged.loc[0, "ids"] = "0 1 999"
    judged.loc[len(judged)] = ["Nobody", "999 998"]
    made = find(frame, tmp_path, judged)
    assert [list(right) for right in made.right[:3]] == [[0, 1, 40, 41], [1, 41], [2, 42]]
    assert (made.n_unknown_ids, made.n_without_text, len(made.right)) == (2, 1, 40)


def test_right_texts_may_be_named_themselves(tmp_path: Path) -> None:
    frame = table()
    judged = pd.DataFrame({"query": [f"Query {n}" for n in range(40)], "text": frame["text"]})
    judged["text"] = judged["text"].str.replace(" ", "  ").str.upper()
    made = find(frame, tmp_path, judged)
    assert [list(right) for right in made.right] == [[place] for place in range(40)]


def test_first_halves_search_second_halves(tmp_path: Path) -> None:
    frame = table()[["text"]]
    frame["text"] = [f"One {row} is. Two is it. {'Three ' * 9}end {row}." for row in range(40)]
    made = find(frame, tmp_path)
    assert made.task == "halves"
    assert queries_of(made)[2] == "One 2 is. Two is it."
    assert right_of(made, 2) == ["Three " * 9 + "end 2."]


def test_sentences_of_a_book_search_for_their_neighbours(tmp_path: Path) -> None:
    sentences = [f"Here is sentence number {n}." for n in range(300)]
    (tmp_path / "book.txt").write_text("\n".join(sentences))
    experiment = Experiment(corpus=str(tmp_path / "book.txt"), sample_size="all", seed=3)
    made = searches.find(experiment, tmp_path)
    assert made.task == "cloze"
    for place, query in enumerate(queries_of(made)):
        (window,) = right_of(made, place)
        numbers = sorted(
            int(piece.rsplit(maxsplit=1)[-1]) for piece in f"{window} {query}".split(".")[:-1]
        )
        assert numbers == list(range(numbers[0], numbers[0] + len(numbers)))
        assert query not in window


def test_of_many_texts_the_seed_draws_some_and_their_searches(tmp_path: Path) -> None:
    frame = table(200)
    made = find(frame, tmp_path, sample_size=50, seed=1)
    assert len(texts_of(made)) == len(made.right) == 50
    assert [right_of(made, place) for place in range(50)] == [
        [f"The text of number {title.split()[1]} is here."] for title in queries_of(made)
    ]
    assert "50 of 200 texts are searched, drawn by the seed." in made.caveats
    assert texts_of(made) != texts_of(find(frame, tmp_path, sample_size=50, seed=2))


def test_any_column_may_hold_the_titles(tmp_path: Path) -> None:
    frame = table().rename(columns={"title": "Betreff"})
    frame["Betreff"] += " lang" * 400
    wide = frame.assign(**{f"other{n}": "x" for n in range(12)})
    made = find(wide[[*wide.columns[::-1]]], tmp_path, titles="Betreff", column="text")
    assert (made.task, made.titles) == ("titles", "Betreff")


FRAME = table()
JUDGED = pd.DataFrame({"query": [f"Query {n}" for n in range(40)], "ids": FRAME["id"]})


@pytest.mark.parametrize(
    ("reason", "frame", "judged", "options"),
    [
        ("Only 29 different searches", table(29), None, {}),
        ("All titles in column “title” of “texts.csv” are", FRAME.assign(title=""), None, {}),
        ("no column “heading”", FRAME, None, {"titles": "heading"}),
        ("takes no titles", FRAME, None, {"titles": "title", "task": "halves"}),
        ("Leave task", FRAME, JUDGED, {"task": "titles"}),
        ("“riddles”", FRAME, None, {"task": "riddles"}),
        ("no column “id”", FRAME.drop(columns="id"), JUDGED, {}),
        ("None of the texts", FRAME, JUDGED.assign(ids="x"), {}),
        ("ids in row 1 of “judged.jsonl” are lists", FRAME, JUDGED.assign(ids=[[1]] * 40), {}),
        ("lacks a column", FRAME, JUDGED.drop(columns="ids"), {}),
    ],
    ids=range(10),
)
def test_an_error_names_its_cause(
    reason: str, frame: pd.DataFrame, judged: pd.DataFrame | None, options: dict, tmp_path: Path
) -> None:
    with pytest.raises(ClsvizError, match=reason):
        find(frame, tmp_path, judged, **options)
