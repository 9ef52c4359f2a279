"""Searches whose right texts are known: from titles, from halves of texts, from sentences of a book, or given.

Texts are taken whole: they are not cut into sentences, and whatever the model does not read of them is cut off there.
"""

import contextlib
import functools
import hashlib
import itertools
import json
import random
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow.parquet as pq

from clsviz.errors import CorpusError, UnsearchableError
from clsviz.experiment import Selection
from clsviz.progress import Progress
from clsviz.settings import Reading, Segmentation, Task, printable, shown
from clsviz.sources import segmentation, tables
from clsviz.sources.catalogue import CORPORA, Corpus, Shipped, is_own, is_upload, label
from clsviz.sources.files import Table
from clsviz.sources.local_files import place_of
from clsviz.sources.sampling import find_sample, values_beside
from clsviz.sources.uploads import upload_label

FEWEST_SEARCHES = 100
"""Fewer tell nothing of fifths."""

MOST_TEXTS, MOST_SEARCHES = 100_000, 5_000
"""The most texts that are indexed, and the most searches among them; of more, so many are drawn."""

WINDOWS = 2, 3, 5, 9
"""Sentences of a window of an inverse cloze, the one that searches included."""

TITLE_COLUMNS = ("title", "headline", "heading", "subject", "summary", "name", "question")
"""Names of columns that are taken for titles, likeliest first."""

ID_COLUMN = "id"


@dataclass(frozen=True, eq=False)
class Searches:
    """Queries, the texts that they search, and the places of the right ones for each query.

    selection: of the corpus, with what was left open decided. label: of the corpus. queries: one each.
    texts: in the order of the corpus, with repetitions. right: for each query, places in `texts`; copies of a right
    text are right. titles: the column that searches, if there is one.
    """

    task: Task
    selection: Selection
    label: str
    queries: list[str]
    texts: list[str]
    right: list[list[int]]
    titles: str = ""

    @functools.cached_property
    def corpus(self) -> Corpus:
        """The corpus that the texts are; its fingerprint is of texts, queries and what is right."""
        content = json.dumps([self.task, self.queries, self.texts, self.right]).encode()
        digest = hashlib.sha256(content).hexdigest()
        return Corpus(self.selection, self.label, digest, len(self.texts), self.selection.corpus)


def find_searches(
    selection: Selection,
    folder: Path,
    progress: Progress,
    *,
    titles: str = "",
    judged: Path | None = None,
    seed: int = 0,
    most_texts: int = MOST_TEXTS,
) -> Searches:
    """The searches that a corpus gives, or that `judged` names right texts of the corpus for.

    titles: the column that searches; by default one that is called as titles tend to be. judged: a table of `query` and
    `text`, or of `query` and `ids`, separated by spaces, of the corpus's column `id`. seed: of what is drawn.
    most_texts: that are indexed. Raises CorpusError where a file or a column cannot be used, and UnsearchableError
    where the texts give no searches, or too few.
    """
    progress.begin("Reading the texts")
    name, shipped = label(selection.corpus), CORPORA.get(selection.corpus)
    if isinstance(shipped, Shipped) and "title" in pq.read_schema(shipped.file).names:
        table = pq.read_table(shipped.file)
        texts, columns = table["sentence"].to_pylist(), {"title": table["title"].to_pylist()}
    elif is_own(selection.corpus):
        opened = tables.open_table(*place_of(selection, folder), reading=selection.reading)
        name, column = opened.name, selection.column or next(iter(opened.columns), "")
        selection = replace(selection, column=column, reading=opened.reading)
        titles = titles or ("" if judged else _title_column(opened.columns, column))
        texts = _filled(opened, column, progress)
        columns = {found: _cells(opened, found, progress) for found in {titles, ID_COLUMN} & {*opened.fields}}
        if not (titles or judged or opened.columns):
            return _capped(_in_order(selection, [*filter(None, texts)], name, seed, progress), seed, most_texts)
    else:
        whole = replace(selection, segmentation=Segmentation.NONE)
        sample = find_sample(whole, most_texts, seed, folder, progress, online=True)
        selection, texts, fields = sample.corpus.selection, sample.sentences, sample.corpus.fields
        titles = titles or ("" if judged else _title_column(fields, selection.column))
        beside = {titles, ID_COLUMN if judged else ""} & {*fields}
        columns = {one: values_beside(sample, whole, seed, one, folder, progress) for one in beside}
    selection = replace(selection, segmentation=Segmentation.NONE)
    if judged is not None:
        found = _judged(selection, judged, texts, columns.get(ID_COLUMN), name, progress)
    elif titles and titles not in columns:
        raise CorpusError(f"{printable(name)} has no column “{shown(titles)}”. Give a table that has one.")
    elif titles or "title" in columns:
        titles = titles or "title"
        rows = [(title, text) for title, text in zip(columns[titles], texts, strict=False) if title and text]
        found = replace(of_pairs(Task.TITLES, rows, selection, name), titles=titles)
    else:
        found = of_halves([*filter(None, texts)], selection, name, progress)
    return _capped(found, seed, most_texts)


def of_pairs(task: Task, rows: Sequence[tuple[str, str]], selection: Selection, name: str) -> Searches:
    """Searches by queries, each for a text of its own, among all these texts."""
    return of_right_texts(task, [(query, {text}) for query, text in rows], [text for _, text in rows], selection, name)


def of_right_texts(
    task: Task, rows: Sequence[tuple[str, Iterable[str]]], texts: Sequence[str], selection: Selection, name: str
) -> Searches:
    """Searches among texts by queries, each with the texts that are right; so are all their copies.

    Raises UnsearchableError where there are under 100, or most texts are single words.
    """
    if len(rows) < FEWEST_SEARCHES:
        only = "Only 1 search" if len(rows) == 1 else f"Only {len(rows):,} searches"
        raise UnsearchableError(
            f"{only} can be made of these texts, and {FEWEST_SEARCHES} are needed. Give more texts or searches."
        )
    _refuse_words(texts)
    places: dict[str, list[int]] = defaultdict(list)
    for place, text in enumerate(texts):
        places[text].append(place)
    right = [sorted(place for text in of for place in places[text]) for _, of in rows]
    return Searches(task, selection, name, [query for query, _ in rows], [*texts], right)


def of_halves(texts: Sequence[str], selection: Selection, name: str, progress: Progress) -> Searches:
    """First halves search second halves: each text is cut at the boundary of sentences that is nearest its middle."""
    rows = []
    for text in texts:
        progress.check()
        sentences = segmentation.sentences([text], cut=True)
        if len(sentences) > 1:
            starts = list(itertools.accumulate(len(sentence) + 1 for sentence in sentences))
            middle = min(range(len(sentences) - 1), key=lambda i: abs(starts[i] - starts[-1] / 2)) + 1
            rows.append((" ".join(sentences[:middle]), " ".join(sentences[middle:])))
    if len(rows) < FEWEST_SEARCHES:
        raise UnsearchableError(
            f"Only {len(rows):,} of these texts have two sentences or more, and {FEWEST_SEARCHES} are needed for one "
            "half to search for the other. Give titles or searches, or choose python-api."
        )
    return of_pairs(Task.HALVES, rows, selection, name)


def of_windows(sentences: Sequence[str], selection: Selection, name: str, seed: int) -> Searches:
    """Inverse cloze: a sentence searches for the window of sentences that it was taken out of.

    Windows follow each other; their sizes, and the sentence that is taken out of each, are drawn by the seed.
    """
    _refuse_words(sentences)
    rng = random.Random(seed)  # noqa: S311  (nothing is secret)
    rows, start = [], 0
    while start + (size := rng.choice(WINDOWS)) <= len(sentences):
        window = list(sentences[start : start + size])
        query = window.pop(rng.randrange(size))
        rows.append((query, " ".join(window)))
        start += size
    return of_pairs(Task.INVERSE_CLOZE, rows, selection, name)


def _refuse_words(texts: Sequence[str]) -> None:
    if sum(len(text.split()) > 1 for text in texts) < len(texts) / 2:
        raise UnsearchableError("Most of these texts are single words, which say too little to be searched for.")


def _capped(searches: Searches, seed: int, most_texts: int) -> Searches:
    """The same with no more texts and searches than are looked at, drawn by the seed."""
    rng = random.Random(seed)  # noqa: S311  (nothing is secret)
    texts, right, queries = searches.texts, searches.right, searches.queries
    if len(texts) > most_texts:
        kept = sorted(rng.sample(range(len(texts)), most_texts))
        new_place = {old: new for new, old in enumerate(kept)}
        texts = [texts[old] for old in kept]
        right = [[new_place[old] for old in of if old in new_place] for of in right]
    some = [index for index, of in enumerate(right) if of]
    if len(some) > MOST_SEARCHES:
        some = sorted(rng.sample(some, MOST_SEARCHES))
    return replace(searches, queries=[queries[i] for i in some], texts=texts, right=[right[i] for i in some])


def _in_order(selection: Selection, texts: Sequence[str], name: str, seed: int, progress: Progress) -> Searches:
    """Of plain text: halves of its lines, or, where these are sentences or were joined to paragraphs, inverse cloze."""
    if selection.reading is not Reading.PARAGRAPHS:
        with contextlib.suppress(UnsearchableError):
            return of_halves(texts, selection, name, progress)
    sentences = [text for text in segmentation.sentences(texts, cut=True) if any(map(str.isalpha, text))]
    return of_windows(sentences, selection, name, seed)


def _title_column(columns: Iterable[str], text: str) -> str:
    """The column that is called as titles tend to be, or ""; text: the one that is searched."""
    names = {name.strip().casefold(): name for name in columns if name != text}
    return next((names[name] for name in TITLE_COLUMNS if name in names), "")


def _filled(opened: Table, column: str, progress: Progress) -> list[str]:
    """The text of every row up to the last that has one, "" of those without."""
    found: list[str] = []
    for texts, rows in opened.numbered_texts(column):
        progress.check()
        for text, row in zip(texts, rows, strict=True):
            found += [""] * (row - len(found))
            found.append(text)
    return found


def _cells(opened: Table, column: str, progress: Progress) -> list[str]:
    found = []
    for values in opened.cells(column):
        progress.check()
        found += [" ".join((value or "").split()) for value in values]
    return found


def _judged(
    selection: Selection,
    path: Path,
    texts: Sequence[str],
    ids: Sequence[str | None] | None,
    name: str,
    progress: Progress,
) -> Searches:
    """Searches of a file for texts of a corpus; ids: of the texts, if it has them."""
    opened = tables.open_table(path, upload_label(path.name, path.parent) if is_upload(path.name) else "")
    if "query" not in opened.fields or not {"text", "ids"} & {*opened.fields}:
        raise CorpusError(f"{opened.name} must have a column query, and one named text or ids.")
    queries = _cells(opened, "query", progress)
    asked: dict[str, set[str]] = defaultdict(set)  # a query that comes several times is one search
    if "ids" in opened.fields:
        if ids is None:
            raise CorpusError(f"{printable(name)} has no column “{ID_COLUMN}”, which {opened.name} refers to.")
        of_id = {one: text for one, text in zip(ids, texts, strict=False) if text}
        for query, right in zip(queries, _cells(opened, "ids", progress), strict=True):
            asked[query] |= {of_id[one] for one in right.split() if one in of_id}
    else:
        there = {*texts}
        for row, (query, text) in enumerate(zip(queries, _cells(opened, "text", progress), strict=True), 1):
            if text not in there:
                raise CorpusError(f"The text in row {row:,} of {opened.name} is not in {printable(name)}. Add it.")
            asked[query] |= {text} - {""}
    rows = [(query, found) for query, found in asked.items() if query and found]
    return of_right_texts(Task.JUDGED, rows, [*filter(None, texts)], selection, name)
