from dataclasses import replace

import numpy as np
import pytest
from support.lines import sample

from clsviz.measurements import Kind
from clsviz.measuring import Key, Store
from clsviz.measuring.census_file import Piece, Tally, kept_tallies, read_tally, vectors_of, write_tally
from clsviz.measuring.soundness import Shape
from clsviz.settings import Pooling
from clsviz.statistics import Census

KEY = Key("m" * 64, "c" * 64, 0, 512, "float32")


@pytest.fixture
def tally() -> Tally:
    lengths, norms = sample(500)
    truncated = np.arange(514)
    pieces = (Piece("one", 0, 300), Piece("two", 300, 500))
    return Tally(
        Shape(1, True), pieces, 500, truncated, [Census.of(lengths, norms * (1 + times)) for times in range(3)]
    )


def test_vectors_are_counted_by_pooling_and_layer() -> None:
    assert vectors_of(Shape(1, True), Kind.NORMS) == [(Pooling.CLS, 0), (Pooling.CLS, 1), (Pooling.POOLER, None)]
    of_all = vectors_of(Shape(1, False, 16), Kind.VECTORS)
    assert of_all == [(pooling, layer) for pooling in Pooling if pooling is not Pooling.POOLER for layer in (0, 1)]


def test_what_is_kept_comes_back(store: Store, tally: Tally) -> None:
    found = read_tally(write_tally(store, KEY, 500, tally), KEY)
    assert (found.shape, found.pieces, found.n_decided) == (tally.shape, tally.pieces, tally.n_decided)
    np.testing.assert_array_equal(found.truncated, tally.truncated)
    assert len(found.censuses) == 3
    for one, other in zip(found.censuses, tally.censuses, strict=True):
        assert one.bins == other.bins
        for name in ("n", "counts", "sums", "squares", "lowest", "highest"):
            np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
            assert getattr(one, name).dtype == getattr(other, name).dtype


def test_the_largest_is_found_first(store: Store, tally: Tally) -> None:
    assert not [*kept_tallies(store, KEY, 10**12)]
    paths = {n: write_tally(store, KEY, n, tally) for n in (20, 1_000_000_000_000, 500)}
    assert [*kept_tallies(store, KEY, 10**12)] == [paths[n] for n in (10**12, 500, 20)]
    assert [*kept_tallies(store, KEY, 10**12 - 1)] == [paths[n] for n in (500, 20)]
    assert not [*kept_tallies(store, replace(KEY, seed=1), 10**12)]
    assert not store.parts(KEY)  # none of it is taken for a part


def test_what_is_said_is_that_of_this_key(store: Store, tally: Tally) -> None:
    path = write_tally(store, KEY, 500, tally)
    assert read_tally(path, replace(KEY, seed=1)) is None
    assert read_tally(path.with_name("nothing"), KEY) is None
