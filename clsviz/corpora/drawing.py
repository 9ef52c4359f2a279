"""The sample drawn from a corpus."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from clsviz.corpora import kept
from clsviz.corpora.catalogue import is_on_hub
from clsviz.corpora.opening import Corpus, make_corpus, not_downloaded, open_split
from clsviz.errors import CorpusError
from clsviz.experiment import Selection
from clsviz.progress import Progress
from clsviz.settings import Segmentation


@dataclass(frozen=True, eq=False)
class Sample:
    """Sentences of a corpus in random order; a larger sample begins with a smaller one. drawn: how, in words."""

    corpus: Corpus
    sentences: list[str]
    drawn: str


def draw(selection: Selection, size: int, seed: int, folder: Path, progress: Progress, *, download: bool) -> Sample:
    """The first `size` sentences of a corpus, or all if there are fewer, in the order that `seed` draws.

    A larger sample of the same seed begins with the smaller one. Keeps, fetches and raises as `open_corpus` does.
    """
    if is_on_hub(selection.corpus):
        split, corpus = open_split(selection, folder, progress, download)
        cut = corpus.selection.segmentation is Segmentation.SENTENCES
        found = split.draw(size, seed, corpus.selection.column, progress, cut=cut, download=download)
        if found is None:
            raise not_downloaded(selection.corpus)
        files = f" in {found.n_files:,} of {len(split.files):,} files" if found.n_files < len(split.files) else ""
        source = " of the Hub's conversion" if split.is_conversion else ""
        source += ", which is of the beginning only," if split.split.startswith("partial-") else ""
        groups = f"{found.n_row_groups:,} of {found.n_row_groups_known:,} row groups{files}{source}"
        megabytes = f"{found.n_bytes / 1e6:,.1f} of {split.n_bytes / 1e6:,.1f} MB were read"
        drawn = f"from {groups} in random order, each round of them shuffled, seed {seed}; {megabytes}"
        return Sample(corpus, found.sentences, drawn)
    for _ in range(2):
        path, corpus = make_corpus(selection, folder, progress)
        assert corpus.n_sentences is not None  # as they are all here
        # NumPy keeps the stream of RandomState the same in all its versions, which it does not of Generator: what the
        # store holds stays true after an upgrade.
        order = np.random.RandomState(seed).permutation(corpus.n_sentences)[:size]
        sentences = kept.rows(path, order)
        if sentences is not None:
            return Sample(corpus, sentences, f"drawn at random from {corpus.n_sentences:,}, seed {seed}")
        path.unlink(missing_ok=True)  # damaged: it is made again
    raise CorpusError(f"{corpus.label} cannot be kept in {folder}. Choose another place for the store.")
