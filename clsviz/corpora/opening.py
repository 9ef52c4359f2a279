"""Opening a corpus: what it holds, with everything the user left open decided."""

from pathlib import Path

from clsviz.corpora.catalogue import is_on_hub
from clsviz.corpora.corpus import Corpus
from clsviz.corpora.hub_dataset import open_split
from clsviz.corpora.local import make_corpus
from clsviz.corpora.whole_dataset import whole_dataset
from clsviz.experiment import Selection
from clsviz.progress import Progress
from clsviz.settings import ALL


def find_corpus(selection: Selection, folder: Path, progress: Progress, size: int = 0) -> Corpus:
    """The corpus, without using the network; a local one that has to be built first is, and is kept in `folder`.

    size: of the sample that it is for: ALL of a dataset on the Hub is another corpus than its samples are of. Raises
    NotDownloadedError where the Hugging Face Hub would have to be asked, CorpusError where there is no such corpus or
    it cannot be read, and CancelledError as soon as `progress` is told to stop.
    """
    if is_on_hub(selection.corpus):
        if size == ALL:
            return whole_dataset(selection, folder, progress, online=False)[1]
        return open_split(selection, folder, progress, online=False)[1]
    return make_corpus(selection, folder, progress)[1]


def fetch_corpus(selection: Selection, folder: Path, progress: Progress) -> Corpus:
    """The corpus, as `find_corpus` gives it; what is not yet kept in `folder` is fetched from the Hugging Face Hub.

    Of a dataset there, that is not its sentences: only what its files say of themselves, and its first texts.
    """
    if is_on_hub(selection.corpus):
        return open_split(selection, folder, progress, online=True)[1]
    return make_corpus(selection, folder, progress)[1]
