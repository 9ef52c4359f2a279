"""What a table has in another column, beside the sentences that were drawn from it."""

from pathlib import Path

import numpy as np

from clsviz.corpora import formats
from clsviz.corpora.catalogue import is_on_hub
from clsviz.corpora.drawing import Sample
from clsviz.corpora.hub_dataset import open_split
from clsviz.corpora.local import make_corpus
from clsviz.corpora.own_file import place_of
from clsviz.errors import CorpusError
from clsviz.experiment import Selection
from clsviz.progress import Progress
from clsviz.settings import Segmentation, printable, shown


def values_beside(
    sample: Sample, selection: Selection, seed: int, field: str, folder: Path, progress: Progress
) -> list[str | None]:
    """What is in the column `field` of the table beside each of the n sentences; None where it is blank.

    selection, seed: by which the sample was drawn. A file is gone through once. Of a dataset on the Hub the column is
    fetched of the row groups that were drawn, and kept in `folder`. Raises CorpusError if the table has no such column,
    is another one by now, or cannot be reached.
    """
    if field not in sample.corpus.fields:
        raise CorpusError(f"{printable(sample.corpus.label)} has no other column “{shown(field)}” to colour by.")
    if is_on_hub(selection.corpus):
        return _on_hub(sample, selection, seed, field, folder, progress)
    return _in_file(sample, selection, field, folder, progress)


def _in_file(sample: Sample, selection: Selection, field: str, folder: Path, progress: Progress) -> list[str | None]:
    _refuse_another(make_corpus(selection, folder, progress)[1].fingerprint, sample)
    file, name = place_of(selection, folder)
    assert sample.rows is not None  # of a corpus with fields
    rows, places = np.unique(sample.rows, return_inverse=True)
    found = np.full(len(rows), None, object)
    n_before = 0
    for values in formats.open_table(file, name, reading=selection.reading).values(field):
        progress.check()
        start, stop = np.searchsorted(rows, [n_before, n_before + len(values)])
        found[start:stop] = [values[row - n_before] for row in rows[start:stop].tolist()]
        n_before += len(values)
        if stop == len(rows):
            break
    return list(found[places].tolist())


def _on_hub(
    sample: Sample, selection: Selection, seed: int, field: str, folder: Path, progress: Progress
) -> list[str | None]:
    split, corpus = open_split(selection, folder, progress, online=True)
    _refuse_another(corpus.fingerprint, sample)
    cut = corpus.selection.segmentation is Segmentation.SENTENCES
    return split.values(field, len(sample.sentences), seed, corpus.selection.column, progress, cut=cut)


def _refuse_another(fingerprint: str, sample: Sample) -> None:
    """Raise CorpusError if the table is no longer that of the sample."""
    if fingerprint != sample.corpus.fingerprint:
        raise CorpusError(
            f"{printable(sample.corpus.label)} has changed since its sentences were read. Load the page again."
        )
