"""Opening a corpus: what it holds, with everything the user left open decided."""

from pathlib import Path

from clsviz.corpora import datasets
from clsviz.corpora.catalogue import is_on_hub
from clsviz.corpora.corpus import Corpus
from clsviz.corpora.local import make_corpus
from clsviz.corpora.on_hub import open_split
from clsviz.experiment import Selection
from clsviz.progress import Progress


def find_corpus(selection: Selection, folder: Path, progress: Progress) -> Corpus:
    """The corpus, without using the network; a local one that has to be built first is, and is kept in `folder`.

    Raises NotDownloadedError where the Hugging Face Hub would have to be asked, CorpusError where there is no such
    corpus or it cannot be read, and CancelledError as soon as `progress` is told to stop.
    """
    if is_on_hub(selection.corpus):
        return open_split(selection, datasets.Offline(folder), progress)[1]
    return make_corpus(selection, folder, progress)[1]


def fetch_corpus(selection: Selection, folder: Path, progress: Progress) -> Corpus:
    """The corpus, as `find_corpus` gives it; what is not yet kept in `folder` is fetched from the Hugging Face Hub."""
    if is_on_hub(selection.corpus):
        return open_split(selection, datasets.Online(folder), progress)[1]
    return make_corpus(selection, folder, progress)[1]
