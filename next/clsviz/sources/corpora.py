"""Corpora: names, files and texts in memory become a table of sentences."""

import hashlib
import json
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from clsviz.errors import CorpusError, SettingError, quote
from clsviz.experiment import Experiment
from clsviz.files import replacing
from clsviz.progress import Progress, silent
from clsviz.sources import sentences, tables, text_files
from clsviz.sources.tables import Lines, Table

SHIPPED = {
    "python-docs": (
        "Python docstrings",
        "86db4cec32865e4ec6c4e431453b7cc9295ccbf9a0bcb61376a477ce74731c59",
    ),
    "python-api": (
        "Python docstrings with titles",
        "37f6b0b8e1e171f97ad340cbf287e74b929c24de3684d1757f98cda7fe7294e1",
    ),
}
"""Label and fingerprint of the corpora that come with the program."""

RECIPE = 1
"""Increased when the same file may become another table."""

MOST_COLUMNS, LONGEST_VALUE = 8, 1000
"""Columns that come along, and characters of their values: not other texts."""


@dataclass(frozen=True)
class Reading:
    """The way a corpus was read.

    column: that was taken; "" where there is none. encoding: of a file of text. segmentation: sentences,
    lines or paragraphs. n_texts: before they were cut. columns: others that hold text. caveats: sentences
    on what was left out or is doubtful. revision: commit of a dataset of the Hub.
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
    """Sentences.

    fingerprint: of the sentences and their order, so that a file that changes is another corpus.
    table: the column `sentence` (large_string), and short columns that came along (large_string).
    """

    name: str
    label: str
    fingerprint: str
    table: pa.Table
    reading: Reading


def is_on_hub(name: str) -> bool:
    """True if the name of a corpus means a dataset of the Hub."""
    return name not in SHIPPED and not is_file(name)


def is_file(name: str) -> bool:
    """True if the name of a corpus means a file."""
    suffixes = tuple(f"{suffix}{packed}" for suffix in tables.SUFFIXES for packed in ("", ".gz"))
    is_path = name.startswith(("/", "./", "../", "~", "\\")) or name.lower().endswith(suffixes)
    return name not in SHIPPED and (is_path or Path(name).exists())


def open_corpus(experiment: Experiment, root: Path, progress: Progress = silent) -> Corpus:
    """The corpus of an experiment; root: folder of the store, which gets a copy of what was read.

    Raises CorpusError where there is none or it cannot be read, SettingError where a setting does not
    apply to it, HubError, and StoreError.
    """
    name = experiment.corpus
    if name in SHIPPED:
        for setting in ("configuration", "split", "column", "encoding", "segmentation"):
            _refuse(experiment, setting)
        return _shipped(name)
    if is_file(name):
        path = Path(name).expanduser()
        return open_file(path, path.name, experiment, root, progress)
    from clsviz.sources import hub_datasets

    return hub_datasets.draw(experiment, root, progress)


def _refuse(experiment: Experiment, setting: str) -> None:
    """Raise SettingError if a setting is not its default: it would not change anything."""
    value = getattr(experiment, setting)
    if value not in ("", "auto"):
        reason = f"{quote(experiment.corpus)} has no {setting}, which is {quote(value)}."
        raise SettingError(reason, f"Leave {setting} out.")


@lru_cache(maxsize=2)
def _shipped(name: str) -> Corpus:
    label, fingerprint = SHIPPED[name]
    file = files("clsviz") / "sources" / "data" / f"{name}.parquet"
    try:
        with file.open("rb") as stream:
            table = pq.ParquetFile(stream).read()
    except (OSError, pa.ArrowException):
        raise CorpusError(
            f"{quote(file)} is missing or damaged.", "Install clsviz again."
        ) from None
    table = table.cast(pa.schema([(column, pa.large_string()) for column in table.column_names]))
    return Corpus(
        name, label, fingerprint, table, Reading(segmentation="lines", n_texts=table.num_rows)
    )


# --- Files -------------------------------------------------------------------------------------


def open_file(
    path: Path, label: str, experiment: Experiment, root: Path, progress: Progress = silent
) -> Corpus:
    """The corpus in a file, whose `label` has the ending that tells its format.

    It is read and cut only once: the store gets a copy, which is another one when the file has changed.
    """
    for setting in ("configuration", "split"):
        _refuse(experiment, setting)
    status = text_files.check_file(path)
    settings = experiment.column, experiment.encoding, experiment.segmentation
    place = str(path.resolve()), label, status.st_size, status.st_mtime_ns
    key = json.dumps([*place, *settings, RECIPE, sentences.RECIPE])
    copy = root / "corpora" / f"{hashlib.sha256(key.encode()).hexdigest()[:32]}.arrow"
    opened = _open_copy(copy, key)
    if opened is None:
        source = tables.open_table(path, label, experiment.encoding, progress)
        _write_copy(copy, key, source, label, experiment, progress)
        opened = _open_copy(copy, key)
        if opened is None:
            raise CorpusError(
                f"The copy of {quote(label)} in the store cannot be read.", "Run it again."
            )
    table, about = opened
    return Corpus(experiment.corpus, label, about["fingerprint"], table, _reading(about))


def _reading(about: dict[str, Any]) -> Reading:
    reading = about["reading"]
    return Reading(
        **{**reading, "columns": tuple(reading["columns"]), "caveats": tuple(reading["caveats"])}
    )


def _open_copy(path: Path, key: str) -> tuple[pa.Table, dict[str, Any]] | None:
    """A copy in the store; None where there is none, or it is damaged."""
    try:
        status = text_files.check_file(path)
    except CorpusError:
        return None
    return _opened(path, key, status.st_mtime_ns, status.st_ino)


@lru_cache(maxsize=8)
def _opened(
    path: Path, key: str, modified: int, inode: int
) -> tuple[pa.Table, dict[str, Any]] | None:
    """modified, inode: so that a copy that is replaced is opened again."""
    try:
        # Nobody else truncates our own copy, which would kill a process that has mapped it.
        reader = pa.ipc.open_file(pa.memory_map(str(path)))
        last = reader.num_record_batches - 1
        about = json.loads(reader.get_batch_with_custom_metadata(last).custom_metadata[b"clsviz"])
        table = reader.read_all()
        table.validate(full=True)
        digest = Fingerprint()
        digest.add(table["sentence"])
        is_sound = about["key"] == key and about["fingerprint"] == str(digest)
    except (OSError, pa.ArrowException, ValueError, LookupError, TypeError):
        return None
    return (table, about) if is_sound else None


def _write_copy(
    path: Path, key: str, source: Table, label: str, experiment: Experiment, progress: Progress
) -> None:
    """Write the sentences of a file, and in a last batch without rows how it was read."""
    plan = _plan(source, label, experiment, progress)
    doubts: Counter[str] = Counter()
    digest = Fingerprint()
    with replacing(path) as file, pa.ipc.new_file(file, plan.schema) as writer:
        for batch in plan.source.batches(doubts, progress):
            table = plan.sentences(batch, doubts).combine_chunks()
            digest.add(table["sentence"])
            writer.write_table(table)
        if not digest.n:
            raise text_files.no_text(label)
        about = {"key": key, "fingerprint": str(digest), "reading": asdict(plan.reading(doubts))}
        end = pa.RecordBatch.from_pylist([], plan.schema)
        writer.write_batch(end, custom_metadata={"clsviz": json.dumps(about)})


# --- From rows to sentences --------------------------------------------------------------------


@dataclass(frozen=True)
class Plan:
    """The way to read a table: its column of texts, segmentation, and the columns that come along."""

    source: Table
    column: str
    segmentation: str
    columns: tuple[str, ...]
    extras: tuple[str, ...]

    @property
    def schema(self) -> pa.Schema:
        return pa.schema([(name, pa.large_string()) for name in ("sentence", *self.extras)])

    def sentences(self, batch: pa.Table, doubts: Counter[str]) -> pa.Table:
        """The sentences in some rows; `doubts` gets the number of texts, and of pieces that are left out."""
        if self.column not in batch.column_names:
            doubts["blank"] += batch.num_rows
            return self.schema.empty_table()
        blank = tables.is_blank(batch[self.column])
        n_blank = pc.sum(blank).as_py() or 0
        doubts["blank"] += n_blank
        doubts["texts"] += batch.num_rows - n_blank
        batch = batch.filter(pc.invert(blank))
        texts = batch[self.column]
        if self.segmentation == "sentences":
            rows: list[int] = []
            pieces: list[str] = []
            for row, text in enumerate(texts.to_pylist()):
                for piece in sentences.cut(text):
                    if any(map(str.isalpha, piece)):
                        rows.append(row)
                        pieces.append(piece)
                    else:
                        doubts["letterless"] += 1
            batch, texts = (
                batch.take(pa.array(rows, pa.int64())),
                pa.array(pieces, pa.large_string()),
            )
        missing = pa.nulls(len(texts), pa.large_string())
        extras = [
            tables.as_strings(batch[name]) if name in batch.column_names else missing
            for name in self.extras
        ]
        return pa.table([texts, *extras], schema=self.schema)

    def reading(self, doubts: Counter[str]) -> Reading:
        """The account of it, once all rows are cut."""
        text = getattr(self.source, "text", None)
        caveats = [
            one if doubts[key] == 1 else many.format(n=doubts[key])
            for key, (one, many) in DOUBTS.items()
            if doubts[key]
        ]
        if text is not None and text.n_damaged:
            caveats.append(
                f"{text.n_damaged:,} damaged characters are read as {text_files.REPLACED}."
            )
        if text is not None and text.is_guess:
            caveats.append(
                f"The encoding {text.encoding} is a guess: set another one if letters look wrong."
            )
        return Reading(
            self.column,
            text.encoding if text is not None else "",
            self.segmentation,
            doubts["texts"],
            self.columns,
            tuple(caveats),
        )


DOUBTS = {
    "blank": ("1 row without text is left out.", "{n:,} rows without text are left out."),
    "letterless": (
        "1 piece without letters is left out.",
        "{n:,} pieces without letters are left out.",
    ),
    "ragged": (
        "1 row has not as many fields as the header: what is over is read as part of its last field.",
        "{n:,} rows have not as many fields as the header: what is over is read as part of the last field.",
    ),
    "unclosed": (
        "1 quotation mark opens a field and is never closed: it is read as part of the text.",
        "{n:,} quotation marks open fields and are never closed: they are read as part of the text.",
    ),
    "doubtful": (
        "1 text in quotation marks runs over lines that could be rows: look whether a mark is missing.",
        "{n:,} texts in quotation marks run over lines that could be rows: look whether marks are missing.",
    ),
}
"""Caveats by what is counted: for one, and for several."""


def _plan(source: Table, label: str, experiment: Experiment, progress: Progress = silent) -> Plan:
    """Decide what the experiment leaves open by all rows of a table."""
    how: str = experiment.segmentation
    if isinstance(source, Lines):
        _refuse(experiment, "column")
        if how in ("auto", "sentences"):
            source = replace(source, is_joined=sentences.is_wrapped(source.beginning()))
        else:
            source = replace(source, is_joined=how == "paragraphs")
    elif how == "paragraphs":
        reason = f"{quote(label)} is a table, which has no paragraphs."
        raise SettingError(reason, "Choose auto, sentences or lines as segmentation.")
    columns = tables.survey(source.batches(Counter(), progress))
    column = tables.choose_column(columns, experiment.column, label)
    if how == "auto":
        is_long = columns[column].mean_length > sentences.LONG_TEXT
        how = "sentences" if is_long or getattr(source, "is_joined", False) else "lines"
    others = tuple(name for name in tables.text_columns(columns) if name != column)
    short = (name for name in columns if columns[name].longest <= LONGEST_VALUE)
    extras = tuple(name for name in short if name not in (column, "sentence"))[:MOST_COLUMNS]
    return Plan(source, column, how, others, extras)


class Fingerprint:
    """SHA-256 of sentences in their order, however they come in pieces: of all lengths, then all bytes."""

    def __init__(self) -> None:
        self.n = 0
        self._lengths, self._bytes = hashlib.sha256(), hashlib.sha256()

    def add(self, sentences: pa.ChunkedArray) -> None:
        """Add sentences, large_string without nulls."""
        for chunk in filter(len, sentences.chunks):
            self.n += len(chunk)
            offsets = np.frombuffer(chunk.buffers()[1], "<i8")[chunk.offset :][: len(chunk) + 1]
            self._lengths.update(np.diff(offsets).tobytes())
            if offsets[-1] > offsets[0]:
                self._bytes.update(memoryview(chunk.buffers()[2])[offsets[0] : offsets[-1]])

    def __str__(self) -> str:
        return hashlib.sha256(self._lengths.digest() + self._bytes.digest()).hexdigest()


# --- Texts in memory ---------------------------------------------------------------------------


def from_texts(texts: Any, experiment: Experiment) -> Corpus:
    """The corpus of texts in memory, in their order, with a column `index`.

    texts: strings, or a Series, DataFrame or Dataset, whose column the experiment may name. The index
    is that of pandas, else the position. Raises CorpusError where they are no texts.
    """
    for setting in ("configuration", "split", "encoding"):
        _refuse(experiment, setting)
    columns, index = _columns_of(texts)
    table = pa.table({**columns, "index": [str(n) for n in range(len(index))]})
    plan = _plan(InMemory(table), "your texts", experiment)
    names = (name for name in plan.extras if name != "index")
    plan = replace(plan, extras=("index", *names))
    doubts: Counter[str] = Counter()
    cut = plan.sentences(table, doubts)
    if not cut.num_rows:
        raise CorpusError("The texts are all empty.", "Give some with words in them.")
    digest = Fingerprint()
    digest.add(cut["sentence"])
    rows = cut["index"].cast(pa.int64())
    cut = cut.set_column(1, "index", index.take(rows))
    return Corpus(f"texts-{str(digest)[:8]}", "your texts", str(digest), cut, plan.reading(doubts))


@dataclass(frozen=True)
class InMemory:
    """A table that is in memory."""

    table: pa.Table

    def batches(self, doubts: Counter[str], progress: Progress = silent) -> Iterator[pa.Table]:
        yield self.table


def _columns_of(texts: Any) -> tuple[dict[str, pa.Array], pa.Array]:
    """The columns of texts in memory, and their index."""
    if isinstance(texts, str):
        raise CorpusError("The texts are a single string.", "Give a list of strings.")
    if isinstance(texts, Mapping):
        choice = f", such as {quote(next(iter(texts)))}" if texts else ""
        reason = f"The texts are a {type(texts).__name__}, which holds several parts."
        raise CorpusError(reason, f"Choose a split{choice}, and pass it alone.")
    pandas, datasets = sys.modules.get("pandas"), sys.modules.get("datasets")
    if pandas and isinstance(texts, pandas.DataFrame):
        columns = {str(name): list(texts[name]) for name in texts.columns.unique()}
        index = list(texts.index)
    elif pandas and isinstance(texts, pandas.Series):
        columns, index = {"": list(texts)}, list(texts.index)
    elif datasets and isinstance(texts, datasets.Dataset):
        names = [
            name for name, kind in texts.features.items() if getattr(kind, "dtype", "") == "string"
        ]
        columns = texts.select_columns(names).with_format(None)[:]
        index = list(range(len(texts)))
    else:
        columns = {"": list(texts)}
        index = list(range(len(columns[""])))
    try:
        numbers = pa.array(index)
    except pa.ArrowException:
        numbers = pa.array(map(str, index))
    return {name: _strings(name, values) for name, values in columns.items()}, numbers


def _strings(name: str, values: list[Any]) -> pa.Array:
    """The values of a column as large_string; or as string if they are no texts, which only texts alone may not be."""
    try:
        return pa.array(values, pa.large_string(), from_pandas=True)
    except UnicodeEncodeError:
        at = next(
            n
            for n, v in enumerate(values)
            if isinstance(v, str) and tables.LONE_SURROGATE.search(v)
        )
        reason = f"Text {at:,} (from 0) holds half a character: a surrogate without the other one."
        raise CorpusError(
            reason, "Leave it out, or decode the text with errors='replace'."
        ) from None
    except (pa.ArrowException, TypeError):
        if name:
            return pa.array(
                [None if value is None else str(value) for value in values], pa.string()
            )
        at = next(
            n for n, v in enumerate(values) if not isinstance(v, str) and v is not None and v == v
        )
        reason = (
            f"Text {at:,} (from 0) is {quote(values[at])}, of type {type(values[at]).__name__}."
        )
        raise CorpusError(reason, "Give strings.") from None
