"""Corpora: names, files and texts in memory become tables of sentences."""

import contextlib
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from importlib.resources import as_file, files
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from clsviz import limits
from clsviz.errors import CorpusError, SettingError, quote
from clsviz.progress import Progress, silent
from clsviz.settings import Experiment
from clsviz.sources import (
    copies,
    hub,
    json_shapes,
    languages,
    sentences,
    tables,
    text_files,
    uploads,
)
from clsviz.sources.csv_records import simple

if TYPE_CHECKING:
    import pandas as pd

SHIPPED: Final = {"python-docs": "Python docstrings", "python-api": "Python docstrings with titles"}
"""Labels of the corpora that come with the program."""

INDEX: Final = "index"  # the column with the index of texts in memory, in the place of others
RECIPE: Final = 3  # raised when the same file becomes another table

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
    language: by whose rules sentences are cut, or `languages.SEVERAL`.
    """

    column: str = ""
    encoding: str = ""
    segmentation: str = ""
    n_texts: int = 0
    columns: tuple[str, ...] = ()
    caveats: tuple[str, ...] = ()
    revision: str = ""
    language: str = ""


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

    Others do where there is such a file, or folder. A public server does not look: visitors must
    not learn what is there.
    """
    suffixes = tuple(f"{suffix}{packed}" for suffix in tables.SUFFIXES for packed in ("", ".gz"))
    is_path = name.startswith(("/", "./", "../", "~", "\\")) or uploads.is_upload(name)
    is_file = is_path or name.lower().endswith(suffixes)
    return name not in SHIPPED and (is_file or (not limits.is_public() and os.path.exists(name)))


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
        parts = ("configuration", "split", "column", "encoding", "language", "segmentation")
        _refuse(experiment, *parts)
        return _shipped(name)
    _refuse(experiment, "configuration", "split")
    return _open_file(path_of(name, root), experiment, root, progress, names)


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
    if uploads.is_upload(name):
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
    with as_file(files("clsviz.sources") / "data" / f"{name}.parquet") as path:
        table = pq.ParquetFile(path).read()
    texts = {"n_texts": table.num_rows, "language": languages.ENGLISH}
    reading = Reading(segmentation="lines", **texts)
    return Corpus(name, SHIPPED[name], copies.fingerprint(table), table, reading)


def _open_file(
    path: Path, experiment: Experiment, root: Path, progress: Progress, names: Sequence[str]
) -> Corpus:
    """The corpus in a file, from its copy in the store, which is another when the file changed.

    Where there is none, one reading of the file decides how to cut it, and another one cuts.
    """
    status = text_files.check_file(path)
    place = str(path.resolve()), status.st_size, status.st_mtime_ns
    column, encoding, how = experiment.column, experiment.encoding, experiment.segmentation
    recipe = experiment.language, RECIPE, sentences.RECIPE
    key = copies.digest(*place, column, encoding, how, *names, *recipe)
    is_upload = uploads.is_upload(experiment.corpus)
    folder = path.parent if is_upload else root / "corpora"  # deleted with the upload
    copy = folder / f".{key[:32]}.arrow"
    if copies.read(copy, Reading) is None:
        if is_upload:
            uploads.check_space(root)
        rows = tables.open_table(path, path.name, encoding, progress, how)
        columns = tables.survey(rows.batches(Counter(), progress))
        reading, extras = _plan(columns, path.name, experiment, names, rows)
        schema = pa.schema([(name, pa.large_string()) for name in ("sentence", *extras)])
        doubts: Counter[str] = Counter()
        cuts = (cut(batch, reading, extras, doubts) for batch in rows.batches(doubts, progress))
        tidy = (cut_text.cast(schema).combine_chunks() for cut_text in cuts)
        copies.write(copy, schema, tidy, lambda: asdict(_counted(reading, doubts)))
    stored = copies.read(copy, Reading)
    if stored is None:
        raise CorpusError(f"The copy of {quote(path.name)} cannot be read.", "Run it again.")
    table, fingerprint, reading = stored
    if not len(table):
        raise text_files.no_text(path.name)
    return Corpus(experiment.corpus, path.name, fingerprint, table, reading)


def from_texts(texts: Any, experiment: Experiment, names: Sequence[str] = ()) -> Corpus:
    """The corpus of texts in memory, in their order, with a column `index`.

    texts: strings, or what holds columns or rows of them: what pandas and datasets have, a dict of
    lists, dicts; the experiment may name a column and a split. The index is that of pandas, else
    the position. names: as of `open_corpus`. Raises CorpusError where they are no texts.
    """
    _refuse(experiment, "configuration", "encoding")
    frame = frame_of(_split(texts, experiment))
    table = pa.table({str(name): _strings(str(name), values) for name, values in frame.items()})
    try:
        index = pa.array(frame.index.tolist())
    except pa.ArrowException:  # labels of several types
        index = pa.array(map(str, frame.index), pa.string())
    reading, extras = _plan(tables.survey([table]), "your texts", experiment, names)
    columns = {name: table[name] for name in table.column_names} | {INDEX: index}
    extras = [INDEX, *(name for name in extras if name != INDEX)]
    doubts: Counter[str] = Counter()
    cuts = cut(pa.table(columns), reading, extras, doubts)
    if not cuts.num_rows:
        raise CorpusError("The texts are all empty.", "Give some with words in them.")
    digest = copies.fingerprint(cuts)
    reading = _counted(reading, doubts)
    return Corpus(f"texts-{digest[:8]}", "your texts", digest, cuts, reading)


def _split(texts: Any, experiment: Experiment) -> Any:
    """The split of a DatasetDict that is set, or the only one; of others all."""
    parts = list(texts.values()) if isinstance(texts, Mapping) else []
    if not parts or not all(hasattr(part, "features") for part in parts):
        _refuse(experiment, "split")
        return texts
    return texts[choose("The DatasetDict", "split", experiment.split, list(texts), [])]


def frame_of(texts: Any) -> "pd.DataFrame":
    """The columns of texts; texts alone have one without a name. Raises CorpusError."""
    import pandas as pd

    if features := getattr(texts, "features", None):  # of datasets, whose pictures stay unread
        names = [name for name, kind in features.items() if not hasattr(kind, "decode_example")]
        texts = texts.select_columns(names)
    if hasattr(texts, "to_pandas"):
        texts = texts.to_pandas()
    if isinstance(texts, pd.DataFrame):
        return texts
    if isinstance(texts, pd.Series):
        return texts.to_frame("")
    if isinstance(texts, Mapping) and any(isinstance(v, str | Mapping) for v in texts.values()):
        texts = json_shapes.rows_of(texts, "your texts")
    if isinstance(texts, Mapping):
        columns: Any = {name: _values(column) for name, column in texts.items()}
        if len(set(map(len, columns.values()))) > 1:
            raise CorpusError("The columns of texts have different lengths.", "Give one of them.")
    else:
        rows = _values(texts)
        columns = rows if rows and all(isinstance(row, Mapping) for row in rows) else {"": rows}
    return pd.DataFrame(columns, dtype=object)


def choose(owner: str, part: str, name: str, names: list[str], preferred: list[str]) -> str:
    """The name of a part of a dataset; where it is "", a preferred one, or the only one.

    Raises SettingError where there is no such part, or it has to be named.
    """
    only = names if len(names) == 1 else []
    name = name or next((one for one in [*preferred, *only] if one in names), "")
    if name in names:
        return name
    reason = f"has no {part} {quote(name)}" if name else f"has several {part}s"
    others = f" or one of {len(names) - 12:,} others" if len(names) > 12 else ""
    remedy = f"Choose {', '.join(map(quote, names[:12]))}{others} as {part}."
    raise SettingError(f"{owner} {reason}.", remedy)


def _values(texts: Any) -> list[Any]:
    """Texts in a list; raises CorpusError where they are a single value."""
    if not isinstance(texts, str | bytes | Mapping):
        with contextlib.suppress(TypeError):
            return list(texts)
    reason = f"{quote(texts)} is a single value, of type {type(texts).__name__}."
    raise CorpusError(reason, "Give a list of strings.")


def _strings(name: str, column: "pd.Series[Any]") -> pa.Array:
    """A column as strings; those of texts alone must be texts."""
    values = column.astype(object).where(column.notna(), None).tolist()
    for at, value in enumerate(values):
        place = f"Text {at:,}, from 0,"
        if not name and not isinstance(value, str | None):
            reason = f"{place} is {quote(value)}, of type {type(value).__name__}."
            raise CorpusError(reason, "Give strings.")
    try:
        return tables.strings(values)
    except UnicodeEncodeError as error:
        place = f"Text {values.index(error.object):,}, from 0,"
        raise tables.half_character(place, error) from None


def _plan(
    columns: Mapping[str, tables.Column],
    name: str,
    experiment: Experiment,
    names: Sequence[str],
    rows: tables.Rows | tables.Parquet | None = None,
) -> tuple[Reading, list[str]]:
    """The way to read a table of these columns, and the columns that come along.

    name: of the file. rows: of the file; None in memory. Raises SettingError and CorpusError.
    """
    how: str = experiment.segmentation
    unit, text = (rows.segmentation, rows.text) if rows else ("lines", None)
    if how == "paragraphs" != unit:
        reason = f"{quote(name)} is a table, which has no paragraphs."
        raise SettingError(reason, "Set segmentation to auto, sentences or lines.")
    column = tables.choose_column(columns, experiment.column, name)
    if names:
        how = unit
    elif how == "auto":
        is_long = unit == "paragraphs" or columns[column].mean_length > sentences.LONG_TEXT
        how = "sentences" if is_long else "lines"
    others = tuple(other for other in tables.text_columns(columns) if other != column)
    short = [key for key in columns if columns[key].longest <= LONGEST_VALUE][:MOST_EXTRAS]
    named = [key for key in columns if {key, simple(key)} & set(names)]
    extras = [key for key in (named if names else short) if key not in (column, "sentence")]
    caveats = [rows.note] if rows and rows.note else []
    if text and text.is_guess:
        guess = f"The encoding {text.encoding} is a guess"
        caveats.append(f"{guess}: set another one if letters look wrong.")
    if others and not experiment.column:
        choice = " or ".join(map(quote, others[:3]))
        guess = f"The column {quote(column)} is a guess"
        caveats.append(f"{guess}: set column to {choice} for other texts.")
    encoding, language = text.encoding if text else "", experiment.language
    language = language or languages.of_texts(columns[column].sample)
    if not names:
        caveats += caveats_on(language, experiment, how)
    return Reading(column, encoding, how, 0, others, tuple(caveats), "", language), extras


def caveats_on(language: str, experiment: Experiment, how: str = "sentences") -> list[str]:
    """A caveat where the rules by which sentences are cut are a guess, and not the English ones.

    Raises SettingError where a language is set, and the texts are not cut into sentences.
    """
    languages.check(experiment.language)
    if experiment.language and how != "sentences":
        reason = f"language is {quote(language)}, and the texts are not cut into sentences."
        raise SettingError(reason, "Leave language out, or set segmentation to sentences.")
    if experiment.language or language == languages.ENGLISH or how != "sentences":
        return []
    if language == languages.SEVERAL:
        return ["The texts are of several languages: each is cut by the rules of the likeliest."]
    return [f"Sentences are cut by the rules of the language {language}, a guess: set another."]


def _counted(reading: Reading, doubts: Mapping[str, int]) -> Reading:
    """The reading with what was counted meanwhile."""
    caveats = (*caveats_of(doubts), *reading.caveats)
    return replace(reading, n_texts=doubts["texts"], caveats=caveats)


def cut(batch: pa.Table, reading: Reading, extras: Sequence[str], doubts: Counter[str]) -> pa.Table:
    """The sentences of some rows, and extra columns, null where they are missing.

    reading: its column, segmentation and language count. doubts: gets the number of texts, and of
    what is left out.
    """
    missing = pa.nulls(batch.num_rows, pa.large_string())
    names = [reading.column, *extras]
    columns = [batch[name] if name in batch.column_names else missing for name in names]
    is_filled = pc.invert(tables.is_blank(columns[0]))
    texts, *others = (values.filter(is_filled) for values in columns)
    doubts["blank"] += batch.num_rows - len(texts)
    doubts["texts"] += len(texts)
    if reading.segmentation == "sentences":
        cuts = [sentences.cut(text, reading.language) for text in texts.to_pylist()]
        lettered = [[one for one in some if any(map(str.isalpha, one))] for some in cuts]
        doubts["letterless"] += sum(map(len, cuts)) - sum(map(len, lettered))
        cuts = pa.array(lettered, pa.large_list(pa.large_string()))
        texts, origins = pc.list_flatten(cuts), pc.list_parent_indices(cuts)
        others = [values.take(origins) for values in others]
    return pa.table([texts.cast(pa.large_string()), *others], names=["sentence", *extras])


def caveats_of(doubts: Mapping[str, int]) -> list[str]:
    """A sentence for each kind of doubt that was counted."""
    return [words.format(doubts[kind]) for kind, words in DOUBTS.items() if doubts.get(kind)]
