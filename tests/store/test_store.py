import json
from pathlib import Path

import filelock
import numpy as np
import pytest
from support.measured import measurements

from clsviz.atomic import open_regular
from clsviz.errors import StoreError
from clsviz.store import Key, Store, parts

KEY = Key(model="m" * 64, corpus="c" * 64, seed=0, max_length=512, precision="float32")


def test_a_part_comes_back_as_it_was(store: Store) -> None:
    store.append(KEY, 0, measurements(32), seconds=1)
    store.append(KEY, 32, measurements(10, start=32), seconds=1)
    parts = store.parts(KEY)
    assert [(part.start, part.stop) for part in parts.values()] == [(0, 32), (32, 42)]
    read = store.read(parts[32])
    assert read is not None
    for name in ("n_tokens", "truncated", "cls_norms", "pooler_norms"):
        expected = getattr(measurements(10, start=32), name)
        np.testing.assert_array_equal(getattr(read, name), expected)
        assert getattr(read, name).dtype == expected.dtype


def test_measurements_without_pooler_come_back(store: Store) -> None:
    whole = measurements(5)
    part = store.append(
        KEY, 0, type(whole)(whole.n_tokens, whole.truncated, whole.cls_norms, np.empty((5, 0), "f4")), 1
    )
    read = store.read(part)
    assert read is not None
    assert not read.has_pooler


@pytest.mark.parametrize(
    "change",
    [{"model": "x"}, {"corpus": "x"}, {"seed": 1}, {"max_length": 128}, {"precision": "bfloat16"}, {"schema": 0}],
)
def test_what_was_computed_from_anything_else_is_elsewhere(store: Store, change: dict[str, object]) -> None:
    store.append(KEY, 0, measurements(3), seconds=1)
    assert not store.parts(Key(**{**vars(KEY), **change}))


@pytest.mark.parametrize("position", [0, 8, 60, -1])
def test_a_damaged_part_is_dropped(store: Store, position: int) -> None:
    part = store.append(KEY, 0, measurements(100), seconds=1)
    content = bytearray(part.path.read_bytes())
    content[position] ^= 1
    part.path.write_bytes(content)
    assert store.read(part) is None
    assert not store.parts(KEY)


def test_a_part_cut_short_is_dropped(store: Store) -> None:
    part = store.append(KEY, 0, measurements(100), seconds=1)
    part.path.write_bytes(part.path.read_bytes()[:50])
    assert store.read(part) is None
    assert not part.path.exists()


def test_a_part_that_cannot_be_read_just_now_is_kept(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    part = store.append(KEY, 0, measurements(100), seconds=1)
    with monkeypatch.context() as patch:
        patch.setattr(parts, "open_regular", lambda path: open_regular(path / "below"))
        with pytest.raises(StoreError, match="Not a directory"):
            store.read(part)
    assert store.read(part) is not None
    part.path.unlink()
    assert store.read(part) is None


def test_a_whole_file_that_is_no_part_is_dropped(store: Store) -> None:
    import hashlib

    content = b"whole, but not what it should be"
    part = store.append(KEY, 0, measurements(3), seconds=1)
    path = part.path.with_name(f"000000000-000000003-{hashlib.sha256(content).hexdigest()[:16]}.safetensors")
    path.write_bytes(content)
    assert store.read(part._replace(path=path)) is None


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


def test_a_store_below_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="file"), Store(tmp_path / "file").writer(KEY):
        pass


def test_a_store_that_cannot_be_looked_into_is_refused(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    with pytest.raises(StoreError, match="Choose another folder"), Store(tmp_path / "loop").writer(KEY):
        pass


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


def test_a_part_that_does_not_hold_what_its_name_says_is_dropped(store: Store) -> None:
    with store.writer(KEY):
        part = store.append(KEY, 0, measurements(10), seconds=1)
        store.append(KEY, 10, measurements(0), seconds=1)
    lies = part.path.with_name(part.path.name.replace("000000010", "000000020"))
    part.path.rename(lies)
    assert store.read(part._replace(stop=20, path=lies)) is None
    assert not lies.exists()
    assert store.parts(KEY) == {}


def test_a_lock_that_cannot_be_had_is_a_store_error(store: Store) -> None:
    (store.root / KEY.folder_name / "writer.lock").mkdir(parents=True)
    with pytest.raises(StoreError, match="cannot be used"), store.writer(KEY):
        pass
