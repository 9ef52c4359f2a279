"""What a table of one's own has in another column, beside the sentences that were drawn from it."""

from pathlib import Path

import numpy as np

from clsviz.corpora import formats
from clsviz.corpora.catalogue import is_on_hub
from clsviz.corpora.drawing import Sample
from clsviz.corpora.local import make_corpus
from clsviz.corpora.own_file import place_of
from clsviz.errors import CorpusError
from clsviz.experiment import Selection
from clsviz.progress import Progress
from clsviz.settings import printable, shown


def values_beside(
    sample: Sample, selection: Selection, field: str, folder: Path, progress: Progress
) -> list[str | None]:
    """What is in the column `field` of the file beside each of the n sentences; None where it is blank.

    selection: which the sample was drawn from. The file is gone through once; nothing but these values is held. Raises
    CorpusError if it has no such column, or is another one by now.
    """
    corpus = sample.corpus
    if is_on_hub(selection.corpus):
        raise CorpusError(
            f"Of {printable(corpus.label)}, which is on the Hub, only the texts are read. Download its table and open "
            f"it as a file to colour by “{shown(field)}”."
        )
    if sample.rows is None or field not in corpus.fields:
        raise CorpusError(f"{printable(corpus.label)} has no other column “{shown(field)}” to colour by.")
    if make_corpus(selection, folder, progress)[1].fingerprint != corpus.fingerprint:
        raise CorpusError(f"{printable(corpus.label)} has changed since its sentences were read. Load the page again.")
    file, name = place_of(selection, folder)
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
