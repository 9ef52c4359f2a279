"""Corpora: names, files and texts in memory become tables of sentences."""

import hashlib
import json
import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from clsviz.errors import CorpusError, SettingError, quote
from clsviz.experiment import Experiment
from clsviz.files import remove
from clsviz.progress import Progress, silent
from clsviz.sources import copies, hub, in_memory, sentences, tables, text_files, uploads
from clsviz.sources.tables import Lines, Table

SHIPPED: Final = {"python-docs": "Python docstrings", "python-api": "Python docstrings with titles"}
"""Labels of the corpora that come with the program."""

FINGERPRINTS: Final = {
    "python-docs": "86db4cec32865e4ec6c4e431453b7cc9295ccbf9a0bcb61376a477ce74731c59",
    "python-api": "37f6b0b8e1e171f97ad340cbf287e74b929c24de3684d1757f98cda7fe7294e1",
}

RECIPE: Final = 2
"""Raised when the same file becomes another table."""

MOST_EXTRAS: Final = 8
LONGEST_VALUE: Final = 1000
"""Columns that come along with the sentences, and characters of their values: no other texts."""

DOUBTS: Final = {
    "blank": "Rows without text, which are left out: {:,}.",
    "letterless": "Pieces without letters, which are left out: {:,}.",
    "damaged": f"Damaged characters, which are read as {text_files.DAMAGED}: {{:,}}.",
    "ragged": "Rows with fewer or more fields than the header, a surplus read with the last: {:,}.",
    "unclosed": "Rows with a quotation mark that is never closed, and is part of a text: {:,}.",
    "doubtful": "Texts in quotation marks over lines that could be rows; is a mark missing? {:,}.",
    "damaged_groups": "Row groups that are damaged, and are left out: {:,}.",
    "unread_files": "Files without the column of text, or damaged, which are left out: {:,}.",
}
"""Caveats about what is counted while a file is read."""


@dataclass(frozen=True)
class Reading:
    """The way in which a corpus was read.

    column: the one that was taken; "" where there is none. encoding: of a file of text.
    segmentation: sentences, lines or paragraphs. n_texts: before they were cut. columns: others
    that hold text. caveats: sentences on what was left out or is doubtful. revision: of the Hub.
    """

    column: str = ""
    encoding: str = ""
    segmentation: str = ""
    n_texts: int = 0
    columns: tuple[str, ...] = ()
    caveats: tuple[str, ...] = ()
    revision: str = ""


@dataclass(frozen=True, eq=False)
class Corpus:
    """Sentences in their order.

    fingerprint: of the sentences, so that a file that changes is another corpus.
    table: the column `sentence` (large_string), and short columns that came along.
    """

    name: str
    label: str
    fingerprint: str
    table: pa.Table
    reading: Reading


def is_file(name: str) -> bool:
    """True if the name of a corpus means a file, also one that was uploaded.

    The disk is not looked at: visitors must not learn what is there.
    """
    suffixes = tuple(f"{suffix}{packed}" for suffix in tables.SUFFIXES for packed in ("", ".gz"))
    is_path = name.startswith(("/", "./", "../", "~", "\\", uploads.PREFIX))
    return name not in SHIPPED and (is_path or name.lower().endswith(suffixes))


def is_on_hub(name: str) -> bool:
    """True if the name of a corpus means a dataset of the Hub."""
    return name not in SHIPPED and not is_file(name)


def open_corpus(
    experiment: Experiment, root: Path, progress: Progress = silent, names: Sequence[str] = ()
) -> Corpus:
    """The corpus of an experiment; a file is read once, and copied into the store at `root`.

    names: of columns for a search, in small letters too: its texts are not cut, and those come
    along.

    Raises CorpusError where there is none or it cannot be read, SettingError where a setting does
    not apply to it, HubError, and StoreError.
    """
    name = experiment.corpus
    if is_on_hub(name):
        from clsviz.sources import hub_datasets

        return hub_datasets.draw(experiment, root, progress)
    if name in SHIPPED:
        _refuse(experiment, "configuration", "split", "column", "encoding", "segmentation")
        return _shipped(name)
    return open_file(path_of(name, root), experiment, root, progress, names)


def check(name: str, root: Path) -> None:
    """Raise CorpusError where no corpus can have the name, or its file is not there.

    It takes no time: for use before long work. The Hub is not asked.
    """
    if is_on_hub(name):
        hub.split_name(name, "dataset")
    elif is_file(name):
        path = path_of(name, root)
        text_files.check_file(path)
        tables.suffix_of(path.name)


def path_of(name: str, root: Path) -> Path:
    """The place of a corpus that is a file, also of one uploaded to the store at `root`."""
    if name.startswith(uploads.PREFIX):
        return uploads.find(root, name)
    return Path(os.path.expanduser(name))  # Path.expanduser raises for users that do not exist


def _refuse(experiment: Experiment, *settings: str) -> None:
    """Raise SettingError if one of the settings is set: it would change nothing."""
    for setting in settings:
        value = getattr(experiment, setting)
        if value not in ("", "auto"):
            reason = f"{setting} is {quote(value)}, which this corpus does not have."
            raise SettingError(reason, f"Leave {setting} out.")


@lru_cache(maxsize=len(SHIPPED))
def _shipped(name: str) -> Corpus:
    file = files("clsviz") / "sources" / "data" / f"{name}.parquet"
    try:
        with file.open("rb") as stream:
            table = pq.ParquetFile(stream).read()
    except (OSError, pa.ArrowException):
        raise CorpusError(
            f"{quote(file)} is missing or damaged.", "Install clsviz again."
        ) from None
    reading = Reading(segmentation="lines", n_texts=table.num_rows)
    return Corpus(name, SHIPPED[name], FINGERPRINTS[name], table, reading)


def open_file(
    path: Path,
    experiment: Experiment,
    root: Path,
    progress: Progress = silent,
    names: Sequence[str] = (),
) -> Corpus:
    """The corpus in a file, from its copy in the store, which is another when the file changed."""
    _refuse(experiment, "configuration", "split")
    status = text_files.check_file(path)
    place = str(path.resolve()), status.st_size, status.st_mtime_ns
    settings = experiment.column, experiment.encoding, experiment.segmentation, *names
    key = json.dumps([*place, *settings, RECIPE, sentences.RECIPE])
    is_upload = experiment.corpus.startswith(uploads.PREFIX)
    folder = path.parent if is_upload else root / "corpora"  # deleted with the upload
    copy = folder / f".{hashlib.sha256(key.encode()).hexdigest()[:32]}.arrow"
    if copies.read(copy) is None:
        source = tables.open_table(path, path.name, experiment.encoding, progress)
        plan = make_plan(source, path.name, experiment, progress, names)
        doubts: Counter[str] = Counter()
        cut = plan.tables(doubts, progress)
        copies.write(copy, plan.schema, cut, lambda: asdict(plan.reading(doubts)))
    stored = copies.read(copy)
    if stored is None:
        raise CorpusError(f"The copy of {quote(path.name)} cannot be read.", "Run it again.")
    table, fingerprint, about = stored
    if not len(table):
        remove(copy)
        raise text_files.no_text(path.name)
    lists = {name: tuple(about[name]) for name in ("columns", "caveats")}
    return Corpus(experiment.corpus, path.name, fingerprint, table, Reading(**{**about, **lists}))


def from_texts(texts: Any, experiment: Experiment, names: Sequence[str] = ()) -> Corpus:
    """The corpus of texts in memory, in their order, with a column `index`.

    texts: strings, or what holds columns or rows of them: what pandas and datasets have, a dict of
    lists, dicts; the experiment may name a column and a split. The index is that of pandas, else
    the position. names: as of `open_corpus`. Raises CorpusError where they are no texts.
    """
    _refuse(experiment, "configuration", "encoding")
    table, index = in_memory.table_of(texts, experiment.split)
    plan = make_plan(in_memory.InMemory(table), "your texts", experiment, names=names)
    columns = {name: table[name] for name in table.column_names} | {in_memory.INDEX: index}
    extras = dict.fromkeys((in_memory.INDEX, *plan.extras))
    plan = replace(plan, source=in_memory.InMemory(pa.table(columns)), extras=tuple(extras))
    doubts: Counter[str] = Counter()
    cut = plan.cut(pa.table(columns), doubts)
    if not cut.num_rows:
        raise CorpusError("The texts are all empty.", "Give some with words in them.")
    digest = copies.fingerprint(cut)
    return Corpus(f"texts-{digest[:8]}", "your texts", digest, cut, plan.reading(doubts))


@dataclass(frozen=True)
class Plan:
    """The way to read a table.

    column, segmentation, columns: as in `Reading`. extras: the columns that come along.
    is_guess: the column was not named, and others hold text too.
    """

    source: Table
    column: str
    is_guess: bool
    segmentation: str
    columns: tuple[str, ...]
    extras: tuple[str, ...]

    @property
    def schema(self) -> pa.Schema:
        """The columns of the corpus, all of them large_string."""
        return pa.schema([(name, pa.large_string()) for name in ("sentence", *self.extras)])

    def tables(self, doubts: Counter[str], progress: Progress) -> Iterator[pa.Table]:
        """The sentences of all rows, some at a time."""
        for batch in self.source.batches(doubts, progress):
            yield self.cut(batch, doubts).cast(self.schema).combine_chunks()

    def cut(self, batch: pa.Table, doubts: Counter[str]) -> pa.Table:
        """The sentences in some rows."""
        return cut(batch, self.column, self.extras, self.segmentation, doubts)

    def reading(self, doubts: Counter[str]) -> Reading:
        """The account of it, once all rows are read."""
        text = getattr(self.source, "text", None)
        counts = {**doubts, "damaged": text.n_damaged if text else 0}
        caveats = caveats_of(counts)
        if text and text.is_guess:
            guess = f"The encoding {text.encoding} is a guess"
            caveats.append(f"{guess}: set another one if letters look wrong.")
        if self.is_guess:
            choice = " or ".join(map(quote, self.columns[:3]))
            guess = f"The column {quote(self.column)} is a guess"
            caveats.append(f"{guess}: set column to {choice} for other texts.")
        encoding = text.encoding if text else ""
        how = self.segmentation
        return Reading(self.column, encoding, how, doubts["texts"], self.columns, tuple(caveats))


def cut(
    batch: pa.Table, column: str, extras: Sequence[str], segmentation: str, doubts: Counter[str]
) -> pa.Table:
    """The sentences in a column of some rows, and extra columns, null where they are missing.

    doubts: gets the number of texts, and of what is left out.
    """
    missing = pa.nulls(batch.num_rows, pa.large_string())
    names = [column, *extras]
    columns = [batch[name] if name in batch.column_names else missing for name in names]
    is_filled = pc.invert(tables.is_blank(columns[0]))
    texts, *others = (values.filter(is_filled) for values in columns)
    doubts["blank"] += batch.num_rows - len(texts)
    doubts["texts"] += len(texts)
    if segmentation == "sentences":
        pieces: list[str] = []
        origins: list[int] = []
        for row, text in enumerate(texts.to_pylist()):
            some = sentences.cut(text)
            lettered = [piece for piece in some if any(map(str.isalpha, piece))]
            doubts["letterless"] += len(some) - len(lettered)
            pieces += lettered
            origins += [row] * len(lettered)
        texts = pa.array(pieces, pa.large_string())
        others = [values.take(pa.array(origins, pa.int64())) for values in others]
    return pa.table([texts.cast(pa.large_string()), *others], names=["sentence", *extras])


def caveats_of(doubts: Mapping[str, int]) -> list[str]:
    """A sentence for each kind of doubt that was counted."""
    return [words.format(doubts[kind]) for kind, words in DOUBTS.items() if doubts.get(kind)]


def make_plan(
    source: Table,
    name: str,
    experiment: Experiment,
    progress: Progress = silent,
    names: Sequence[str] = (),
) -> Plan:
    """Decide by all rows what the experiment leaves open; raises SettingError and CorpusError."""
    how: str = experiment.segmentation
    if isinstance(source, Lines):
        _refuse(experiment, "column")
        is_wrapped = how in ("auto", "sentences") and sentences.is_wrapped(source.beginning())
        source = replace(source, is_joined=is_wrapped or how == "paragraphs")
    elif how == "paragraphs":
        reason = f"{quote(name)} is a table, which has no paragraphs."
        raise SettingError(reason, "Set segmentation to auto, sentences or lines.")
    columns = tables.survey(source.batches(Counter(), progress))
    column = tables.choose_column(columns, experiment.column, name)
    if names:
        how = "paragraphs" if isinstance(source, Lines) and source.is_joined else "lines"
    elif how == "auto":
        is_long = columns[column].mean_length > sentences.LONG_TEXT
        is_joined = isinstance(source, Lines) and source.is_joined
        how = "sentences" if is_long or is_joined else "lines"
    others = tuple(other for other in tables.text_columns(columns) if other != column)
    short = [name for name in columns if columns[name].longest <= LONGEST_VALUE][:MOST_EXTRAS]
    named = [name for name in columns if {name, name.strip().casefold()} & set(names)]
    extras = [name for name in (named if names else short) if name not in (column, "sentence")]
    is_guess = bool(others) and not experiment.column
    return Plan(source, column, is_guess, how, others, tuple(extras))
