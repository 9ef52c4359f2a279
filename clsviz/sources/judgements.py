"""Judgements of people: queries, the texts that they call right, and grades; and ids of texts."""

import ast
import contextlib
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from math import isfinite
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa

from clsviz.errors import CorpusError, quote
from clsviz.progress import Progress, silent
from clsviz.sources import corpora, tables, text_files
from clsviz.sources.csv_records import simple

Columns = Mapping[str, Sequence[Any]]
Cells = list[tuple[Any, float]]

IDS: Final = ("id", "_id", "doc_id", "docid", "docno", "document_id", "corpus_id", "pid")
"""Names of a column with the ids of texts, likeliest first, in small letters."""

NAMED: Final = ("ids", "doc_ids", *IDS[2:])
QUERY_IDS: Final = ("query_id", "qid", "topic_id", "topic")
GRADES: Final = (
    *("score", "label", "relevance", "grade", "rel", "rating", "judgement", "judgment"),
    *("relevance_label", "relevance_score", "scores", "labels", "grades", "relevant"),
    "is_relevant",
)
"""Names, in judgements, of the ids of texts, of those of queries, and of grades."""

# query, iteration, text, grade
TREC: Final = re.compile(r"(\S+)\s+\S+\s+(\S+)\s+(-?\d+(?:\.\d+)?)\s*")
TEXTS: Final = ("text", "positive", "passage", "document")
QRELS: Final = ("query_id", "corpus_id", "score")

NUMBER: Final = re.compile(r"[+-]?(0|[1-9]\d*)(\.0*)?|\d(\.\d+)?e\+\d\d")  # no zeros in front
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
    cells: list[Cells]
    is_by_text: bool
    counts: dict[str, int]


def read(source: Any, queries: Any = None, progress: Progress = silent) -> Judgements:
    """The judgements in a file, in a folder of BEIR's layout, or in what pandas and datasets have.

    queries: a table of the ids and texts of queries, where the judgements have ids of them; it is
    also found as queries.jsonl beside them. Raises CorpusError where a column is missing, or a
    grade is no number.
    """
    name = "your searches"
    if isinstance(source, str | Path):
        source = Path(source).expanduser()
        source = _qrels_in(source) if source.is_dir() else source
        name = source.name
    columns = _columns(source, progress)
    if queries is None and isinstance(source, Path) and not find_column(columns, ["query"]):
        near = (folder / "queries.jsonl" for folder in source.parents[:2])
        queries = next(filter(Path.is_file, near), None)
    return of_columns(name, columns, None if queries is None else _texts_of(queries, progress))


def _qrels_in(folder: Path) -> Path:
    """The qrels in a folder of BEIR's layout: those of the test, or the only ones."""
    paths = [*folder.glob("qrels/*.tsv"), *folder.glob("qrels.*")]
    chosen = [path for path in paths if path.stem == "test"] or paths
    if len(chosen) != 1:
        names = " and ".join(quote(path.relative_to(folder)) for path in chosen) or "no qrels"
        remedy = "Name one file: qrels/test.tsv or qrels.tsv is found by itself."
        raise CorpusError(f"{quote(folder)} has {names}.", remedy)
    return chosen[0]


def _columns(source: Any, progress: Progress) -> Columns:
    """The columns of a file, TREC's qrels too, or of what is in memory."""
    if not isinstance(source, str | Path):
        frame = corpora.frame_of(source)
        return {str(name): values.tolist() for name, values in frame.items()}
    path = Path(source).expanduser()
    if path.suffix == ".parquet":  # whose ids may be lists
        return dict(tables.read_parquet(path, without="vector").to_pydict())
    if qrels := _trec(path.name, text_files.open_text(path, path.name).lines()):
        return qrels
    rows = tables.open_table(path, path.name, "", progress).batches(Counter(), progress)
    columns = dict(pa.concat_tables(rows, promote_options="permissive").to_pydict())
    is_bare = [*columns] == ["1", "2", "3"]  # qrels without a header
    return dict(zip(QRELS, columns.values(), strict=True)) if is_bare else columns


def _trec(name: str, lines: Iterable[str]) -> Columns:
    """The columns of TREC's qrels, none where the first line is of another layout."""
    rows = list[tuple[str, ...]]()
    for n, line in enumerate(lines, 1):
        if fields := TREC.fullmatch(line):
            rows.append(fields.groups())
        elif line.strip():
            if not rows:
                break
            reason = f"Line {n:,} of {quote(name)} is {quote(line)}, unlike those before."
            raise CorpusError(reason, "Write a query, an iteration, the id of a text and a grade.")
    return dict(zip(QRELS, zip(*rows, strict=True), strict=True)) if rows else {}


def find_column(columns: Iterable[str], names: Sequence[str]) -> str | None:
    """The column of the first of some names that there is, however it is written."""
    written = {simple(name): name for name in [*columns][::-1]}
    return next((written[name] for name in names if name in written), None)


def of_columns(name: str, columns: Columns, texts: Mapping[str, str] | None = None) -> Judgements:
    """The judgements in columns; texts: of queries by id, where the columns have ids of them."""
    query, ids, text = (find_column(columns, some) for some in (["query"], NAMED, TEXTS))
    if texts is not None or not query:
        query = find_column(columns, QUERY_IDS) or query
        if query and texts is None:
            reason = f"{quote(name)} names queries by {quote(query)}, and lacks their texts."
            raise CorpusError(reason, "Name a table of them, with columns id and text, as queries.")
    cell = ids if ids and any(map(text_of, columns[ids])) else text
    if not query or not cell:
        raise CorpusError(f"{quote(name)} lacks a column query, or one of ids or text.", FORMS)
    judged: defaultdict[str, Cells] = defaultdict(list)
    n: Counter[str] = Counter()
    grade = find_column(columns, GRADES)
    grades = columns[grade] if grade else [1] * len(columns[query])
    for key, named, given in zip(map(text_of, columns[query]), columns[cell], grades, strict=True):
        value = _grade(given, f"Column {quote(grade)} of {quote(name)}")
        if texts is not None and key not in texts:
            n["unknown"] += 1
            continue
        right = judged[key]
        n["ungraded" if value is None else "right" if value > 0 else "wrong"] += 1
        if value and value > 0:
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
    columns = _columns(queries, progress)
    names = [*columns]
    key = find_column(columns, (*QUERY_IDS, *IDS)) or names[0]
    text = find_column(columns, ("query", "text", "question", "title")) or names[-1]
    if key == text:
        raise CorpusError("The queries have no ids.", "Give columns id and text.")
    return dict(zip(map(text_of, columns[key]), map(text_of, columns[text]), strict=True))


def _grade(cell: Any, place: str) -> float | None:
    """The grade in a cell, None where it is empty; raises CorpusError where it is no number."""
    if not (text := text_of(cell).casefold()):
        return None
    with contextlib.suppress(ValueError):
        grade = float({"true": "1", "false": "0"}.get(text, text))
        if isfinite(grade):
            return grade
    remedy = "Write numbers, 0 for texts that are not right, or rename it."
    raise CorpusError(f"{place} holds {quote(cell)}, which is no grade.", remedy)


def text_of(cell: Any) -> str:
    """A cell as text; "" where it is missing."""
    return "" if cell is None or (isinstance(cell, float) and cell != cell) else str(cell).strip()


def number_of(cell: Any) -> str:
    """A cell as text, where whole numbers are equal however they are written."""
    text = text_of(cell)
    whole = Decimal(text).to_integral_value() if NUMBER.fullmatch(text) else Decimal("nan")
    return f"{whole:f}" if whole == whole and whole == Decimal(text) else text


def match(
    ids: Sequence[Any], cells: Sequence[Cells]
) -> tuple[list[str], list[dict[str, float]], bool]:
    """Ids of texts, and the grades of each query by id; True if they are compared as numbers.

    Ids are text: numbers are equal in other spellings only where no id is equal as text.
    """
    for form in (text_of, number_of):
        keys = list(map(form, ids))
        known = {*keys} - {""}
        pairs = (sorted(_split(some, known, form), key=lambda pair: pair[1]) for some in cells)
        named = list(map(dict, pairs))  # the last of an id, which is the highest, stays
        if any(key in known for some in named for key in some):
            return keys, named, form is number_of
    return keys, named, False


def _split(
    cells: Cells, known: Collection[str], form: Callable[[Any], str]
) -> Iterator[tuple[str, float]]:
    """The ids in some cells: the cell, those of a list, or its parts by the marks that fit best."""
    for cell, grade in cells:
        several, text = cell, text_of(cell)
        if form(cell) in known:  # one may have spaces in it
            several = [cell]
        elif text[:1] == "[" and text[-1:] == "]" and isinstance(cell, str):
            with contextlib.suppress(ValueError, SyntaxError, RecursionError, MemoryError):
                several = list(ast.literal_eval(text))
        if not isinstance(several, list | tuple | set | np.ndarray):
            ways = [re.split(marks, text) for marks in (r"[\s,;|]+", r"\s*[,;|]\s*", r"\s+")]
            several = max(ways, key=lambda way: sum(form(p) in known for p in way) / len(way))
        yield from ((form(one), grade) for one in several if text_of(one))
