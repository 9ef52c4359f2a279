"""Judgements of people: queries, the texts that they call right, and grades; and ids of texts."""

import ast
import contextlib
import json
import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa

from clsviz.errors import CorpusError, quote
from clsviz.progress import Progress, silent
from clsviz.sources import corpora, tables, text_files
from clsviz.sources.csv_records import simple

Columns = Mapping[str, Sequence[Any]]

IDS: Final = ("id", "_id", "doc_id", "docid", "docno", "document_id", "corpus_id", "pid")
"""Names of a column with the ids of texts, likeliest first, in small letters."""

NAMED: Final = ("ids", "doc_ids", *IDS[2:])
QUERY_IDS: Final = ("query_id", "qid", "topic_id", "topic")
GRADES: Final = (
    *("score", "label", "relevance", "grade", "rel", "rating", "judgement", "judgment"),
    *("relevance_label", "relevance_score", "scores", "labels", "grades"),
)
"""Names, in judgements, of the ids of texts, of those of queries, and of grades."""

TREC: Final = re.compile(r"(\S+)\s+\S+\s+(\S+)\s+(-?\d+)\s*")
"""A line of TREC's qrels: the query, an iteration, the text, and its grade."""

QRELS: Final = ("query_id", "corpus_id", "score")

NUMBER: Final = re.compile(r"[+-]?(0|[1-9]\d*)(\.0*)?|\d(\.\d+)?e\+\d\d")
"""A number that may be whole, as tables write it; with zeros in front it is none."""

AS_NUMBERS: Final = "No id is equal as text: ids are compared as numbers, so that 0.0 is 0."
FORMS: Final = "Give columns query and ids, or query and text, and a grade if you have some."


@dataclass(frozen=True)
class Judgements:
    """Different queries, and for each the cells that name its texts, with grades above 0.

    is_by_text: True if the cells are texts, and not ids, of which a cell may have several.
    counts: caveats, each with the number of what it is about.
    """

    name: str
    queries: list[str]
    cells: list[list[tuple[Any, float]]]
    is_by_text: bool
    counts: dict[str, int]


def read(source: Any, queries: Any = None, progress: Progress = silent) -> Judgements:
    """The judgements in a file, in a folder of BEIR's layout, or in what pandas and datasets have.

    queries: a table of the ids and texts of queries, where the judgements have ids of them; it is
    also found as queries.jsonl beside them. Raises CorpusError where a column is missing, or a
    grade is no number.
    """
    path = Path(source).expanduser() if isinstance(source, str | Path) else None
    if path and path.is_dir():
        path = _qrels_in(path)
    content = _content(path or source, progress)
    if isinstance(content, Mapping) and "relevant_docs" in content:
        queries = content.get("queries") if queries is None else queries
    columns = _by_query(content) or _columns(content)
    name = path.name if path else "your searches"
    if path and queries is None and not find_column(columns, ["query"]):
        near = (folder / "queries.jsonl" for folder in (path.parent, path.parent.parent))
        queries = next(filter(Path.is_file, near), None)
    texts = None if queries is None else _texts_of(queries, progress)
    return of_columns(name, columns, texts)


def _qrels_in(folder: Path) -> Path:
    """The qrels in a folder of BEIR's layout: those of the test, or the only ones."""
    paths = [*folder.glob("qrels/*.tsv"), *folder.glob("qrels.*")]
    chosen = [path for path in paths if path.stem == "test"] or paths
    if len(chosen) != 1:
        names = " and ".join(quote(path.relative_to(folder)) for path in chosen) or "no qrels"
        remedy = "Name one file: qrels/test.tsv or qrels.tsv is found by itself."
        raise CorpusError(f"{quote(folder)} has {names}.", remedy)
    return chosen[0]


def _content(source: Any, progress: Progress) -> Any:
    """What a file holds: columns of a table or of TREC's qrels, or the value of a JSON document.

    What is in memory is returned as it is.
    """
    if not isinstance(source, str | Path):
        return source
    path = Path(source).expanduser()
    text_files.check_file(path)
    if path.suffix == ".parquet":
        return tables.read_parquet(path, without="vector").to_pydict()
    text = text_files.open_text(path, path.name, "", progress)
    if path.suffix == ".json":
        with contextlib.suppress(ValueError, RecursionError):
            return json.loads("".join(text.lines()))
    if rows := _trec(text.lines()):
        return dict(zip(QRELS, zip(*rows, strict=True), strict=True))
    batches = tables.open_table(path, path.name, "", progress).batches(Counter(), progress)
    columns = pa.concat_tables(batches, promote_options="permissive").to_pydict()
    is_bare = [*columns] == ["1", "2", "3"]  # qrels without a header
    return dict(zip(QRELS, columns.values(), strict=True)) if is_bare else columns


def _trec(lines: Iterable[str]) -> list[tuple[str, ...]]:
    """Rows of TREC's qrels; [] if a line is none of theirs."""
    rows = []
    for line in filter(str.strip, lines):
        if not (match := TREC.fullmatch(line)):
            return []
        rows.append(match.groups())
    return rows


def _by_query(content: Any) -> Columns | None:
    """The columns of grades by text, or of lists of texts, by query; None of other values."""
    if not isinstance(content, Mapping):
        return None
    lists = content.get("relevant_docs", {})
    qrels = {query: dict.fromkeys(some, 1) for query, some in lists.items()} or content
    if not all(isinstance(some, Mapping) for some in qrels.values()):
        return None
    rows = [(query, key, n) for query, some in qrels.items() for key, n in some.items()]
    if not all(isinstance(n, int | float) for *_, n in rows):
        return None
    return dict(zip(QRELS, zip(*rows, strict=True), strict=True))


def _columns(content: Any) -> Columns:
    frame = corpora.frame_of(content)
    return {str(name): values.tolist() for name, values in frame.items()}


def find_column(columns: Iterable[str], names: Sequence[str]) -> str | None:
    """The column of the first of some names that there is, however it is written."""
    written = {simple(name): name for name in [*columns][::-1]}
    return next((written[name] for name in names if name in written), None)


def of_columns(name: str, columns: Columns, texts: Mapping[str, str] | None = None) -> Judgements:
    """The judgements in columns; texts: of queries by id, where the columns have ids of them."""
    query, ids, text = (find_column(columns, some) for some in (["query"], NAMED, ["text"]))
    if texts is not None or not query:
        query = find_column(columns, QUERY_IDS) or query
        if query and texts is None:
            reason = f"{quote(name)} names queries by {quote(query)}, and lacks their texts."
            raise CorpusError(reason, "Name a table of them, with columns id and text, as queries.")
    if ids and not any(map(text_of, columns[ids])):
        ids = None
    cell = ids or text
    if not query or not cell:
        raise CorpusError(f"{quote(name)} lacks a column query, or one of ids or text.", FORMS)
    grade = find_column(columns, GRADES)
    grades: list[float | None] = [1.0] * len(columns[query])
    if grade:
        grades = [_grade(one, grade, name) for one in columns[grade]]
    judged: dict[str, list[tuple[Any, float]]] = defaultdict(list)
    n: Counter[str] = Counter()
    for key, named, value in zip(columns[query], columns[cell], grades, strict=True):
        known = text_of(key)
        if texts is not None and known not in texts:
            n["unknown"] += 1
            continue
        right = judged[known]
        n["ungraded"] += value is None
        n["wrong"] += value is not None and value <= 0
        if value is not None and value > 0:
            right.append((named, value))
    others = [quote(one) for one in columns if one not in (query, cell, grade, "vector")]
    counts = {
        f"Column {quote(grade)} holds grades, which nDCG takes as gains.": bool(grade),
        f"Judgements of grade 0 or below, which are not right: {n['wrong']:,}.": n["wrong"],
        f"Rows without a grade, which are left out: {n['ungraded']:,}.": n["ungraded"],
        f"Judgements of queries without a text, left out: {n['unknown']:,}.": n["unknown"],
        f"Columns of {quote(name)} that change nothing: {', '.join(others[:5])}.": len(others),
    }
    asked = [*judged] if texts is None else [texts[key] for key in judged]
    return Judgements(name, asked, [*judged.values()], cell == text, counts)


def _texts_of(queries: Any, progress: Progress) -> dict[str, str]:
    """The texts of queries by their ids."""
    columns = _columns(_content(queries, progress))
    names = [*columns]
    key = find_column(columns, (*QUERY_IDS, *IDS)) or names[0]
    text = find_column(columns, ("query", "text", "question", "title")) or names[-1]
    if key == text:
        raise CorpusError("The queries have no ids.", "Give columns id and text.")
    return dict(zip(map(text_of, columns[key]), map(text_of, columns[text]), strict=True))


def _grade(cell: Any, column: str, name: str) -> float | None:
    """The grade in a cell, None where it is empty; raises CorpusError where it is no number."""
    text = text_of(cell).casefold()
    with contextlib.suppress(ValueError):
        grade = float({"true": "1", "false": "0"}.get(text, text or "nan"))
        if not text or math.isfinite(grade):
            return grade if text else None
    reason = f"Column {quote(column)} of {quote(name)} holds {quote(cell)}, which is no grade."
    raise CorpusError(reason, "Write numbers, 0 for texts that are not right, or rename it.")


def text_of(cell: Any) -> str:
    """A cell as text; "" where it is missing."""
    return "" if cell is None or (isinstance(cell, float) and cell != cell) else str(cell).strip()


def number_of(cell: Any) -> str:
    """A cell as text, where whole numbers are equal however they are written."""
    text = text_of(cell)
    is_whole = NUMBER.fullmatch(text) and Decimal(text) == Decimal(text).to_integral_value()
    return f"{Decimal(text).to_integral_value():f}" if is_whole else text


def match(
    ids: Sequence[Any], cells: Sequence[Sequence[tuple[Any, float]]]
) -> tuple[list[str], list[dict[str, float]], bool]:
    """Ids of texts, and the grades of each query by id; True if they are compared as numbers.

    Ids are text: numbers are equal in other spellings only where no id is equal as text.
    """
    for form in (text_of, number_of):
        keys = list(map(form, ids))
        known = {*keys} - {""}
        pairs = (sorted(_split_all(some, known, form), key=lambda one: one[1]) for some in cells)
        named = list(map(dict, pairs))  # the last of an id, which is the highest, stays
        if any(key in known for some in named for key in some):
            return keys, named, form is number_of
    return keys, named, False


def _split_all(
    cells: Iterable[tuple[Any, float]], known: Collection[str], form: Callable[[Any], str]
) -> Iterator[tuple[str, float]]:
    """The ids in some cells: the cell, those of a list, or its parts by the marks that fit best."""
    for cell, grade in cells:
        text = text_of(cell)
        listed = cell if isinstance(cell, list | tuple | set | np.ndarray) else _listed(text)
        if listed is not None:
            parts: Iterable[Any] = listed
        elif form(cell) in known:  # one may have spaces in it
            parts = [cell]
        else:
            ways = [re.split(marks, text) for marks in (r"[\s,;|]+", r"\s*[,;|]\s*", r"\s+")]
            parts = max(ways, key=lambda way: sum(form(p) in known for p in way) / len(way))
        yield from ((form(part), grade) for part in parts if text_of(part))


def _listed(text: str) -> list[Any] | None:
    """A list that is written as JSON or by Python; None of other texts."""
    if text[:1] == "[" and text[-1:] == "]":
        for parse in (json.loads, ast.literal_eval):
            with contextlib.suppress(ValueError, SyntaxError, RecursionError, MemoryError):
                return list(parse(text))
    return None
