"""Searches: their queries, their texts, and those that are right."""

from pathlib import Path

import pandas as pd
import pytest

from clsviz.errors import ClsvizError
from clsviz.settings import Experiment
from clsviz.sources import judgements, searches
from clsviz.sources.searches import Searches

from .conftest import texts


def find(frame: pd.DataFrame, folder: Path, judged: pd.DataFrame | None = None, **options):
    """The searches of two tables in files."""
    frame.to_csv(folder / "texts.csv", index=False)
    if judged is not None:
        judged.to_json(folder / "judged.jsonl", orient="records", lines=True)
        options["judged"] = judgements.read(folder / "judged.jsonl")
    names = {"sample_size", "seed", "column"} & options.keys()
    settings = {"sample_size": "all", **{name: options.pop(name) for name in names}}
    experiment = Experiment(corpus=str(folder / "texts.csv"), **settings)
    return searches.find(experiment, folder, **options)


def right_of(made: Searches) -> list[tuple[str, str]]:
    """Each query, and the texts that are right for it."""
    rows = zip(texts(made.queries), made.relevant, strict=True)
    return [(query, " / ".join(texts(made.texts)[n] for n in places)) for query, places in rows]


def table(n: int = 40) -> pd.DataFrame:
    """Rows with an id, a title and a text."""
    rows = range(n)
    lines = [f"The text of number {row} is here." for row in rows]
    return pd.DataFrame({"id": rows, "title": [f"Title {row}" for row in rows], "text": lines})


FRAME = table()
JUDGED = pd.DataFrame({"query": [f"Query {n}" for n in range(40)], "ids": FRAME["id"]})


def test_titles_search_for_their_texts_and_rows_without_either_are_counted(tmp_path: Path) -> None:
    frame = table()
    frame.loc[[3, 4], "title"] = [" ", None]
    frame.loc[5, "text"] = ""
    made = find(frame, tmp_path)
    assert (made.task, len(made.relevant)) == ("titles", 37)
    assert right_of(made)[4] == ("Title 7", "The text of number 7 is here.")
    assert "Rows without a title, which are left out: 2." in made.caveats
    assert "Rows without text, which are left out: 1." in made.caveats


def test_equal_titles_are_one_search_and_copies_of_a_right_text_are_right(tmp_path: Path) -> None:
    frame = table(80)
    frame.loc[40:, "title"] = [f"  title   {row} " for row in range(40)]
    frame.loc[1, "text"] = frame.loc[0, "text"]
    made = find(frame, tmp_path)
    assert len(made.relevant) == 40
    assert [list(relevant) for relevant in made.relevant[:3]] == [[0, 1, 40], [0, 1, 41], [2, 42]]


def test_every_text_with_a_right_id_is_right_and_the_rest_is_counted(tmp_path: Path) -> None:
    judged = JUDGED.assign(ids=[*map(str, range(40))])
    judged.loc[0, "ids"] = "0 1 999"
    judged.loc[len(judged)] = ["Nobody", "999 998"]
    made = find(table(80).assign(id=[row % 40 for row in range(80)]), tmp_path, judged)
    assert [list(relevant) for relevant in made.relevant[:3]] == [[0, 1, 40, 41], [1, 41], [2, 42]]
    assert (made.n_unknown_ids, made.n_without_text, len(made.relevant)) == (2, 1, 40)


def test_right_texts_may_be_named_themselves(tmp_path: Path) -> None:
    judged = JUDGED.assign(text=FRAME["text"].str.replace(" ", "  ").str.upper(), ids=None)
    made = find(FRAME, tmp_path, judged)
    assert [list(relevant) for relevant in made.relevant] == [[place] for place in range(40)]


def test_first_halves_search_second_halves(tmp_path: Path) -> None:
    lines = [f"One {row} is. Two is it. {'Three ' * 9}end {row}." for row in range(40)]
    made = find(pd.DataFrame({"text": lines}), tmp_path)
    assert made.task == "halves"
    assert right_of(made)[2] == ("One 2 is. Two is it.", "Three " * 9 + "end 2.")


def test_sentences_of_a_book_search_for_their_neighbours(tmp_path: Path) -> None:
    (tmp_path / "book.txt").write_text("\n".join(f"It is sentence {n}." for n in range(300)))
    experiment = Experiment(corpus=str(tmp_path / "book.txt"), sample_size="all", seed=3)
    made = searches.find(experiment, tmp_path)
    assert made.task == "cloze"
    for query, window in right_of(made):
        pieces = f"{window} {query}".split(".")[:-1]
        numbers = sorted(int(piece.split()[-1]) for piece in pieces)
        assert numbers == list(range(numbers[0], numbers[0] + len(numbers)))
        assert query not in window


def test_of_many_texts_the_seed_draws_some_and_their_searches(tmp_path: Path) -> None:
    made = find(table(200), tmp_path, sample_size=50, seed=1)
    assert len(texts(made.texts)) == len(made.relevant) == 50
    for title, text in right_of(made):
        assert text == f"The text of number {title.split()[1]} is here."
    assert "50 of 200 texts are searched, drawn by the seed." in made.caveats
    assert texts(made.texts) != texts(find(table(200), tmp_path, sample_size=50, seed=2).texts)


def test_any_column_may_hold_the_titles(tmp_path: Path) -> None:
    frame = table().rename(columns={"title": "Betreff"})
    frame["Betreff"] += " lang" * 400
    wide = frame.assign(**{f"other{n}": "x" for n in range(12)})
    made = find(wide[[*wide.columns[::-1]]], tmp_path, titles="Betreff", column="text")
    assert (made.task, made.titles) == ("titles", "Betreff")


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
        ("“good”, which is no grade", FRAME, JUDGED.assign(label="good"), {}),
        ("lacks a column", FRAME, JUDGED.drop(columns="ids"), {}),
    ],
    ids=range(10),
)
def test_an_error_names_its_cause(reason, frame, judged, options, tmp_path) -> None:
    with pytest.raises(ClsvizError, match=reason):
        find(frame, tmp_path, judged, **options)
