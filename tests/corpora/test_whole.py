from pathlib import Path

import numpy as np
import pytest
from support.corpora import SENTENCES, opened, shrink

from clsviz.errors import CorpusError
from clsviz.experiment import Selection
from clsviz.progress import Progress
from clsviz.settings import ALL
from clsviz.sources import sampling
from clsviz.sources.whole_corpus import Files, Whole, sample_order


@pytest.fixture
def few_shuffled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a hundred sentences 40 are shuffled, and 10 of these are in memory."""
    shrink(monkeypatch, 40, 10)


@pytest.mark.usefixtures("few_shuffled")
@pytest.mark.parametrize("step", [1, 7, 33, 100])
def test_a_whole_corpus_begins_like_a_sample_and_goes_on_as_it_is(hundred: str, kept: Path, step: int) -> None:
    sample = sampling.find_sample(Selection(hundred), ALL, 3, kept, Progress())
    read = [sentence for start in range(0, 100, step) for sentence in sample.read(start, min(start + step, 100))]
    order = np.random.RandomState(3).permutation(100)[:40]
    assert read == [SENTENCES[number] for number in order] + [
        sentence for number, sentence in enumerate(SENTENCES) if number not in set(order)
    ]
    assert sample.n_sentences == 100
    assert sample.drawn == "all of the corpus, the first 40 in random order, seed 3"
    assert sample.sentences == read[:10]


@pytest.mark.usefixtures("few_shuffled")
def test_the_order_is_that_of_the_numbers_of_all(hundred: str, kept: Path) -> None:
    sample = sampling.find_sample(Selection(hundred), ALL, 5, kept, Progress())
    assert sample.read(0, 100) == [SENTENCES[number] for number in sample_order(100, 5)]


def test_all_of_a_small_corpus_is_a_sample_of_it(hundred: str, kept: Path) -> None:
    sample = sampling.find_sample(Selection(hundred), ALL, 0, kept, Progress())
    assert sample.whole is None
    assert sample.sentences == sampling.find_sample(Selection(hundred), 100, 0, kept, Progress()).sentences
    assert sample.read(20, 30) == sample.sentences[20:30]


def test_a_corpus_that_vanishes_while_it_is_read_is_named(hundred: str, kept: Path) -> None:
    opened(hundred, kept)
    (path,) = kept.glob("file-*")
    whole = Whole(Files([(path, 100)]), 0)
    path.unlink()
    with pytest.raises(CorpusError, match="was changed or deleted while it was being read"):
        whole.read(0, 10)
