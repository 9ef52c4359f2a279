import io
from pathlib import Path

import numpy as np
import pytest

from clsviz.experiment import Selection
from clsviz.progress import Progress
from clsviz.sources import sampling, uploads, whole_corpus


@pytest.mark.parametrize("seed", [0, 7])
def test_it_is_the_order_of_a_sample(seed: int, tmp_path: Path) -> None:
    texts = [f"Sentence number {number}." for number in range(500)]
    name = uploads.keep_upload(io.BytesIO("\n".join(texts).encode()), "a.txt", tmp_path)
    sample = sampling.find_sample(Selection(name), 300, seed, tmp_path, Progress())
    assert [texts[row] for row in whole_corpus.sample_order(500, seed)[:300]] == sample.sentences


def test_what_is_not_drawn_follows_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(whole_corpus, "N_SHUFFLED", 10)
    found = whole_corpus.sample_order(25, 3)
    assert found[:10].tolist() == np.random.RandomState(3).permutation(25)[:10].tolist()
    assert (np.diff(found[10:]) > 0).all()
    assert sorted(found) == list(range(25))
