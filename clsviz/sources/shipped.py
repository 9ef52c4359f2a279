"""Writes the corpora that come with clsviz: ``python -m clsviz.sources.shipped``, run with the Python they are of."""

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from clsviz.atomic import new_file
from clsviz.progress import Progress
from clsviz.sources import docstrings, local_files
from clsviz.sources.catalogue import CORPORA, Shipped, python_library

_TITLE_WORDS, _TEXT_WORDS = 4, 8
"""The fewest words of a summary line and of what follows it."""


def main() -> None:
    """Write the files, and say what they hold."""
    if sys.version_info[:2] != (3, 11):
        sys.exit("The corpora are of Python 3.11: run this with it.")
    files = python_library()
    docs, api = CORPORA["python-docs"], CORPORA["python-api"]
    assert isinstance(docs, Shipped)
    assert isinstance(api, Shipped)
    about = local_files.write_sentences([docstrings.gather(files, Progress())], docs.file)
    print(f"{about.n_sentences:,} sentences of Python {sys.version.split()[0]}, fingerprint {about.fingerprint}")
    titles, texts = zip(*summaries(files), strict=True)
    about = local_files.write_sentences([list(texts)], api.file)
    metadata = pq.read_metadata(api.file).metadata
    table = pq.read_table(api.file).append_column("title", pa.array(titles, pa.large_string()))
    table = table.replace_schema_metadata(None)
    with new_file(api.file) as temporary, pq.ParquetWriter(temporary, table.schema) as writer:
        writer.write_table(table)
        writer.add_key_value_metadata({key: value for key, value in metadata.items() if key.startswith(b"clsviz")})
    print(f"{about.n_sentences:,} summaries with what follows them, fingerprint {about.fingerprint}")


def summaries(files: Sequence[str]) -> Iterator[tuple[str, str]]:
    """The summary line of each docstring and what follows it, where there is a blank line between them.

    Runs of white space become one space. A pair whose summary or text came before is left out, and one in which either
    has very few words.
    """
    known: set[str] = set()
    for file in files:
        for docstring in docstrings.docstrings(Path(file).read_bytes()):
            summary, _, rest = docstring.strip().partition("\n")
            blank, _, text = rest.partition("\n")
            title, text = " ".join(summary.split()), " ".join(text.split())
            is_enough = len(title.split()) >= _TITLE_WORDS and len(text.split()) >= _TEXT_WORDS
            if is_enough and not blank.strip() and title not in known and text not in known:
                known |= {title, text}
                yield title, text


if __name__ == "__main__":
    main()
