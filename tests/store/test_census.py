"""All sentences counted part by part: the same numbers as from all in memory, and each part read once."""

import os
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from threading import Thread

import numpy as np
import pytest
from support.lines import sample
from support.tiny import random_sentences

from clsviz.encoder import Encoder
from clsviz.errors import CancelledError
from clsviz.measurements import POOLED, Kind, Measurements
from clsviz.progress import Progress
from clsviz.settings import Pooling
from clsviz.statistics import line
from clsviz.statistics.summary import NormBins
from clsviz.store import Counted, Key, Store, census, take_census
from clsviz.store.parts import Part

KEY = Key("m" * 64, "c" * 64, 0, 512, "float32")
N = 20_000
BORDERS = [0, 32, 64, 128, 5000, 5001, 16_380, 17_000, N]


@pytest.fixture(scope="module")
def measured() -> Measurements:
    """Of [CLS] after three layers and of a pooler; some sentences were not read whole."""
    lengths, norms = sample(N)
    lengths = lengths.astype(np.int32)
    lengths[::97] = 520
    layers = [norms, 30 - norms, np.float32(8) + np.float32(5e-5) * norms]
    return Measurements(lengths, lengths > 512, np.stack(layers, axis=1), norms[:, None] / 2)


def cut(measured: Measurements, start: int, stop: int) -> Measurements:
    return Measurements(**{name: array[start:stop] for name, array in measured.to_arrays().items()})


def add(store: Store, measured: Measurements, *borders: int) -> list[Part]:
    return [store.append(KEY, start, cut(measured, start, stop), seconds=1) for start, stop in pairwise(borders)]


class Reading(Store):
    """A store that notes which parts are read."""

    def __init__(self, root: Path, shipped: Path | None = None) -> None:
        super().__init__(root, shipped)
        self.n_read: list[int] = []

    def read(self, part: Part) -> Measurements | None:
        self.n_read.append(part.start)
        return super().read(part)

    def starts(self) -> list[int]:
        """Where the parts begin that were read since this was last asked."""
        starts, self.n_read = sorted(self.n_read), []
        return starts


@pytest.fixture
def reading(tmp_path: Path) -> Reading:
    return Reading(tmp_path / "store")


def count(store: Store, n: int = N) -> Counted | None:
    return take_census(store, KEY, n, Progress())


def assert_counted(counted: Counted | None, measured: Measurements) -> None:
    assert counted is not None
    assert counted.n == len(measured)
    whole = ~measured.truncated
    for pooling, layer in [(Pooling.CLS, 0), (Pooling.CLS, 1), (Pooling.CLS, None), (Pooling.POOLER, None)]:
        norms, found = measured.norms(pooling, layer), counted.vector(pooling, layer)
        for cutoff in (513, 30):
            shown = whole & (measured.n_tokens < cutoff)
            fit, expected = found.fit(cutoff), line.fit(measured.n_tokens[shown], norms[shown])
            assert fit.n == expected.n
            for name in ("slope", "intercept", "r_squared", "norm_sd", "slope_interval"):
                np.testing.assert_allclose(
                    getattr(fit, name), getattr(expected, name), rtol=1e-9, atol=1e-12, err_msg=name
                )
            assert fit.spearman == pytest.approx(expected.spearman, abs=3e-6 + 0.3 / fit.n)
    for cutoff in (512, 513, 20):
        assert counted.n_truncated(cutoff) == (measured.truncated & (measured.n_tokens < cutoff)).sum()


def test_what_is_counted_is_as_of_all_in_memory(reading: Reading, measured: Measurements) -> None:
    add(reading, measured, *BORDERS)
    with Store(reading.root).writer(KEY):  # another process measures
        counted = count(reading)
    assert_counted(counted, measured)
    assert (counted.shape.n_layers, counted.shape.has_pooler) == (2, True)
    assert reading.starts() == BORDERS[:-1]  # each once, although the first ones decide the bins
    assert_counted(count(reading), measured)
    assert reading.starts() == []
    (path,) = reading.root.rglob("census-*")
    assert path.stat().st_size < 4 * N * 12 + 200_000  # it could not be more if all sentences were apart
    path.unlink()
    assert_counted(counted, measured)  # each vector can still be read


def test_bins_are_decided_by_the_first_sentences_wherever_parts_end(tmp_path: Path, measured: Measurements) -> None:
    stores = [Store(tmp_path / name) for name in "ab"]
    add(stores[0], measured, *BORDERS)
    add(stores[1], measured, 0, N)
    one, other = (count(store).vector(Pooling.CLS, 1) for store in stores)
    assert one.bins == other.bins
    np.testing.assert_array_equal(one.counts, other.counts)
    first = measured.cls_norms[: census.FIRST, 1][~measured.truncated[: census.FIRST]].astype(float)
    assert one.bins == NormBins.of(first)


def test_no_such_vector_is_an_index_error(reading: Reading, measured: Measurements) -> None:
    add(reading, replace(measured, pooler_norms=measured.pooler_norms[:, :0]), 0, N)
    counted = count(reading)
    assert not counted.shape.has_pooler
    for pooling, layer in [(Pooling.CLS, 3), (Pooling.CLS, -1), (Pooling.POOLER, None), (Pooling.MEAN, 1)]:
        with pytest.raises(IndexError, match="was not measured"):
            counted.vector(pooling, layer)


def test_while_some_are_missing_nothing_is_read(reading: Reading, measured: Measurements) -> None:
    assert count(reading) is None
    assert count(reading, 0) is None
    add(reading, measured, 0, 5000)
    add(reading, measured, 6000, N)
    assert count(reading) is None
    assert reading.starts() == []
    add(reading, measured, 5000, 6000)
    assert_counted(count(reading), measured)


def test_only_parts_that_are_added_later_are_read(reading: Reading, measured: Measurements) -> None:
    add(reading, measured, 0, 17_000, 17_500)
    assert_counted(count(reading, 17_500), measured.head(17_500))
    reading.starts()
    add(reading, measured, 17_500, 19_000, N)
    assert_counted(count(reading), measured)
    assert reading.starts() == [17_500, 19_000]
    assert_counted(count(reading, 17_500), measured.head(17_500))
    assert reading.starts() == []


def test_more_than_a_few_sentences_decide_the_bins_anew(reading: Reading, measured: Measurements) -> None:
    add(reading, measured, 0, 10, 17_000, N)
    assert count(reading, 10).vector(Pooling.CLS, 0).fit().n == 10 - 1
    assert_counted(count(reading, 17_000), measured.head(17_000))
    assert reading.starts() == [0, 0, 10]
    assert_counted(count(reading), measured)
    assert reading.starts() == [17_000]


def test_parts_may_overlap_and_reach_beyond_the_sample(reading: Reading, measured: Measurements) -> None:
    add(reading, measured, 0, 3000)
    add(reading, measured, 1000, 2000)
    add(reading, measured, 2500, 18_000)
    add(reading, measured, 17_000, N)
    assert_counted(count(reading, 17_500), measured.head(17_500))
    assert_counted(count(reading), measured)
    assert 1000 not in reading.starts()  # all that is in it is elsewhere


def test_what_was_counted_before_a_stop_is_kept(reading: Reading, measured: Measurements) -> None:
    add(reading, measured, *BORDERS)
    progress = Progress()
    advance = progress.advance

    def stop_late(done: int) -> None:
        if done >= 17_000:
            progress.cancel()
        advance(done)

    progress.advance = stop_late
    with pytest.raises(CancelledError):
        take_census(reading, KEY, N, progress)
    assert progress.total == N
    reading.starts()
    assert_counted(count(reading), measured)
    assert reading.starts() == [17_000]


def test_parts_that_came_with_clsviz_count(tmp_path: Path, measured: Measurements) -> None:
    add(Store(tmp_path / "shipped"), measured, 0, 17_000)
    reading = Reading(tmp_path / "own", shipped=tmp_path / "shipped")
    add(reading, measured, 17_000, N)
    assert_counted(count(reading), measured)
    assert count(reading) is not None
    assert reading.starts() == [0, 17_000]
    assert not [*(tmp_path / "shipped").rglob("census*")]


def test_several_may_count_at_once(tmp_path: Path, measured: Measurements) -> None:
    add(Store(tmp_path), measured, *BORDERS)
    found: list[Counted | None] = []
    threads = [Thread(target=lambda: found.append(count(Store(tmp_path)))) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for counted in found:
        assert_counted(counted, measured)
    assert len(found) == 3
    assert not [*tmp_path.rglob(".new-*")]
    reading = Reading(tmp_path)
    assert_counted(count(reading), measured)
    assert reading.starts() == []


Damage = Callable[[Path], object]


def flip(at: float) -> Damage:
    def flip(path: Path) -> None:
        content = bytearray(path.read_bytes())
        content[int(at * (len(content) - 1))] ^= 4
        path.write_bytes(content)

    return flip


def pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


@pytest.mark.parametrize(
    "damage",
    [*map(flip, (0, 0.0003, 0.001, 0.3, 0.6, 0.999, 1)), lambda path: path.write_bytes(path.read_bytes()[:-100]),
     lambda path: path.write_bytes(b""), Path.unlink, pipe],
)  # fmt: skip
def test_damage_of_what_is_kept_is_counted_anew(reading: Reading, measured: Measurements, damage: Damage) -> None:
    measured = measured.head(2000)
    add(reading, measured, 0, 1000, 2000)
    count(reading, 2000)
    (path,) = reading.root.rglob("census-*")
    damage(path)
    reading.starts()
    assert_counted(count(reading, 2000), measured)
    assert reading.starts() == [0, 1000]
    assert_counted(count(reading, 2000), measured)
    assert reading.starts() == []


def test_what_is_kept_of_another_key_or_version_is_not_believed(
    reading: Reading, measured: Measurements, monkeypatch: pytest.MonkeyPatch
) -> None:
    measured = measured.head(2000)
    other = replace(KEY, model="another")
    reading.append(other, 0, replace(measured, cls_norms=2 * measured.cls_norms), seconds=1)
    take_census(reading, other, 2000, Progress())
    (path,) = reading.root.rglob("census-*")
    add(reading, measured, 0, 2000)
    path.rename(reading.root / KEY.folder_name / path.name)
    reading.starts()
    assert_counted(count(reading, 2000), measured)
    assert reading.starts() == [0]
    monkeypatch.setattr("clsviz.store.census.VERSION", 0)
    assert_counted(count(reading, 2000), measured)
    assert reading.starts() == [0]


@pytest.mark.parametrize("start", [0, 100, 17_000])
@pytest.mark.parametrize("how", ["damaged", "of another model"])
def test_a_part_that_cannot_be_counted_is_dropped_and_those_before_it_stay_counted(
    reading: Reading, measured: Measurements, start: int, how: str
) -> None:
    other = replace(measured, cls_norms=measured.cls_norms[:, :2])
    for first, stop in pairwise(borders := [0, 100, 17_000, N]):
        (part,) = add(reading, other if (first, how) == (start, "of another model") else measured, first, stop)
        if (first, how) == (start, "damaged"):
            part.path.write_bytes(part.path.read_bytes()[:-1])
    assert count(reading) is None
    dropped = 100 if (start, how) == (0, "of another model") else start  # the second does not go with the first
    assert sorted(reading.parts(KEY)) == [first for first in borders[:-1] if first != dropped]
    if start == 17_000:
        reading.starts()
        add(reading, measured, start, N)
        assert_counted(count(reading), measured)
        assert reading.starts() == [start]


def test_a_part_that_vanished_is_missing_and_one_that_was_replaced_makes_void_what_was_counted(
    reading: Reading, measured: Measurements
) -> None:
    *_, last = add(reading, measured, 0, 17_000, N)
    count(reading)
    content = last.path.read_bytes()
    last.path.unlink()
    assert count(reading) is None
    last.path.write_bytes(content)
    reading.starts()
    assert_counted(count(reading), measured)
    assert reading.starts() == []
    last.path.unlink()
    other = replace(measured, cls_norms=np.concatenate([measured.cls_norms[:17_000], measured.cls_norms[:16_999:-1]]))
    add(reading, other, 17_000, N)
    assert_counted(count(reading), other)
    assert reading.starts() == [0, 17_000]


def test_of_vectors_the_norms_of_all_poolings_are_counted_and_what_an_earlier_version_kept_again(
    tiny_encoder: Encoder, store: Store
) -> None:
    key = replace(KEY, kind=Kind.VECTORS)
    vectors, progress = tiny_encoder.vectors(random_sentences(60, seed=1)), Progress()
    store.append(key, 0, vectors, seconds=1)
    old = store.root / key.folder_name / f"census-{60:09d}.safetensors"
    old.write_bytes(b"of another format")
    counted = take_census(store, key, 60, progress)
    assert progress.stage.startswith("Counting all sentences again")
    assert not old.exists()
    for pooling in POOLED:
        for layer in range(counted.shape.n_layers + 1):
            found, norms = counted.vector(pooling, layer), vectors.norms(pooling, layer)
            assert (found.lowest.min(), found.highest.max()) == (norms.min(), norms.max())
    assert counted.vector(Pooling.POOLER, None).highest.max() == vectors.norms(Pooling.POOLER, None).max()
