import json
from pathlib import Path

import filelock
import pytest
from support.measured import KEY, measurements

from clsviz.atomic import open_regular
from clsviz.errors import StoreError
from clsviz.measurements import Kind
from clsviz.store import Key, Store, borders, missing, part_stop, parts
from clsviz.store.parts import Part


@pytest.mark.parametrize(
    "change",
    [{"model": "x"}, {"corpus": "x"}, {"seed": 1}, {"max_length": 128}, {"precision": "bfloat16"}, {"schema": 0}],
)
def test_what_was_computed_from_anything_else_is_elsewhere(store: Store, change: dict[str, object]) -> None:
    store.append(KEY, 0, measurements(3), seconds=1)
    assert not store.parts(Key(**{**vars(KEY), **change}))


def test_a_part_that_cannot_be_read_just_now_is_kept(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    part = store.append(KEY, 0, measurements(100), seconds=1)
    with monkeypatch.context() as patch:
        patch.setattr(parts, "open_regular", lambda path: open_regular(path / "below"))
        with pytest.raises(StoreError, match="Not a directory"):
            store.read(part)
    assert store.read(part) is not None
    part.path.unlink()
    assert store.read(part) is None


def test_files_that_are_no_parts_are_left_alone(store: Store) -> None:
    part = store.append(KEY, 0, measurements(3), seconds=1)
    stranger = part.path.with_name(".new-x.safetensors")
    stranger.write_text("half written when the power went")
    assert list(store.parts(KEY)) == [0]
    assert stranger.exists()


def test_one_writer_at_a_time(store: Store) -> None:
    with store.writer(KEY):
        with pytest.raises(filelock.Timeout), store.writer(KEY):
            pass
        other = Key(**{**vars(KEY), "seed": 1})
        with store.writer(other):
            pass
    with store.writer(KEY):
        pass
    about = json.loads((store.root / KEY.folder_name / "key.json").read_text())
    assert Key(**about) == KEY


def test_the_store_is_where_it_is_said_to_be(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLSVIZ_STORE", str(tmp_path / "said"))
    assert Store().root == tmp_path / "said"
    assert Store(tmp_path / "other").root == tmp_path / "other"
    monkeypatch.delenv("CLSVIZ_STORE")
    assert "clsviz" in Store().root.parts


@pytest.mark.parametrize("name", ["x" * 300, "/".join(["x" * 100] * 60)])
def test_a_store_with_too_long_a_name_is_refused(tmp_path: Path, name: str) -> None:
    store = Store(tmp_path / name)
    for use in (
        lambda: store.parts(KEY),
        lambda: store.append(KEY, 0, measurements(3), 1),
        lambda: store.describe(KEY),
        lambda: store.writer(KEY).__enter__(),
    ):
        with pytest.raises(StoreError, match=r"^The name of the (store|file), .{60}…, is too long\. Choose a shorter"):
            use()
    assert store.rate("a", "float32") is None
    assert not [*tmp_path.glob("*/*.json")]


def test_the_rate_is_of_the_largest_part_of_the_model(store: Store) -> None:
    assert store.rate(KEY.model, KEY.precision) is None
    with store.writer(KEY):
        store.append(KEY, 0, measurements(10), seconds=10)
        store.append(KEY, 10, measurements(100), seconds=5)
    assert store.rate(KEY.model, KEY.precision) == pytest.approx(20)
    assert store.rate("another model", KEY.precision) is None
    assert store.rate(KEY.model, "another precision") is None


@pytest.mark.parametrize("content", ["", "{", "[]", "{}"])
def test_a_damaged_key_is_no_obstacle_to_an_estimate(store: Store, content: str) -> None:
    with store.writer(KEY):
        store.append(KEY, 0, measurements(10), seconds=10)
    (store.root / KEY.folder_name / "key.json").write_text(content)
    assert store.rate(KEY.model, KEY.precision) is None


@pytest.mark.parametrize(
    "content", ["", "{", "[]", "{}", "[10]", '["a", "b"]', "[10, 0]", "[10, NaN]", "[-1, 1]", "[1e999, 1]"]
)
def test_a_damaged_note_of_the_speed_is_no_obstacle_to_an_estimate(store: Store, content: str) -> None:
    with store.writer(KEY):
        store.append(KEY, 0, measurements(10), seconds=10)
        (store.root / KEY.folder_name / "speed.json").write_text(content)
        assert store.rate(KEY.model, KEY.precision) is None
        store.append(KEY, 10, measurements(10), seconds=2)
    assert store.rate(KEY.model, KEY.precision) == pytest.approx(5)


def test_a_part_measured_again_is_the_same_file(store: Store, tmp_path: Path) -> None:
    for root, seconds in ((tmp_path / "one", 1.0), (tmp_path / "other", 2.5)):
        Store(root).append(KEY, 0, measurements(100), seconds)
    one, other = sorted(tmp_path.glob("*/*/*.safetensors"))
    assert (one.name, one.read_bytes()) == (other.name, other.read_bytes())


@pytest.mark.parametrize("place", ["a file", "a loop", "no lock"])
def test_a_store_that_cannot_be_used_is_refused(tmp_path: Path, place: str) -> None:
    (tmp_path / "a file").write_text("")
    (tmp_path / "a loop").symlink_to(tmp_path / "a loop")
    (tmp_path / "no lock" / KEY.folder_name / "writer.lock").mkdir(parents=True)
    with pytest.raises(StoreError, match=r"cannot be used.*Choose another folder"), Store(tmp_path / place).writer(KEY):
        pass


def part(start: int, stop: int) -> Part:
    return Part(start, stop, Path("part"), KEY)


def test_parts_double_up_to_a_bound() -> None:
    starts = [start for start, _ in borders(0, 5000)]
    assert starts == [0, 32, 64, 128, 256, 512, 1024, 2048, 3072, 4096]
    assert max(stop - start for start, stop in borders(0, 16_384)) == 1024


def test_a_million_sentences_are_in_hundreds_of_files() -> None:
    parts = [*borders(0, 1_000_000)]
    assert 100 < len(parts) < 300
    assert max(stop - start for start, stop in parts) == 16_384
    assert all(stop - start <= max(start / 16, 1024) for start, stop in parts)
    assert [stop for _, stop in parts[:-1]] == [start for start, _ in parts[1:]]


def test_parts_of_vectors_stay_small() -> None:
    assert max(stop - start for start, stop in borders(0, 20_000, Kind.VECTORS)) == 256


@pytest.mark.parametrize("cut", [32, 1024, 15_360, 36_864])
def test_a_run_that_goes_on_makes_the_parts_that_it_would_have_made(cut: int) -> None:
    assert [*borders(0, cut), *borders(cut, 100_000)] == [*borders(0, 100_000)]
    assert part_stop(cut) == next(borders(cut, 10**9))[1]


def test_what_is_missing_are_the_gaps_between_parts() -> None:
    assert missing([], 100) == [(0, 32), (32, 64), (64, 100)]
    assert missing([part(0, 100)], 100) == []
    assert missing([part(0, 200)], 100) == []
    assert missing([part(64, 128), part(32, 64)], 200) == [(0, 32), (128, 200)]
    assert missing([part(0, 50), part(30, 40)], 60) == [(50, 60)]
    assert missing([part(0, 50), part(30, 70)], 90) == [(50, 90)]  # which whoever reads part after part does not meet
