import os
from pathlib import Path

import pytest

from clsviz.atomic import NotRegularError, new_file, open_regular, remove_temporary
from clsviz.errors import StoreError


def test_a_new_file_is_there_when_the_block_ends_and_not_before(tmp_path: Path) -> None:
    path = tmp_path / "folder" / "file.bin"
    with new_file(path) as temporary:
        temporary.write_bytes(b"content")
        assert not path.exists()
    assert path.read_bytes() == b"content"
    assert os.listdir(path.parent) == ["file.bin"]


def test_what_was_there_stays_when_the_block_fails(tmp_path: Path) -> None:
    path = tmp_path / "file.bin"
    path.write_bytes(b"old")

    def write_half() -> None:
        with new_file(path) as temporary:
            temporary.write_bytes(b"half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_half()
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["file.bin"]


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    with pytest.raises(StoreError, match="file/below"), new_file(tmp_path / "file" / "below"):
        pass


def test_too_long_a_name_is_shortened(tmp_path: Path) -> None:
    with (
        pytest.raises(StoreError, match=r"^The name of the file, .{60}…, is too long\."),
        new_file(tmp_path / ("x" * 300)),
    ):
        pass
    assert os.listdir(tmp_path) == []


def test_a_full_disk_is_reported_and_leaves_nothing(tmp_path: Path) -> None:
    def fill() -> None:
        with new_file(tmp_path / "file.bin") as temporary:
            temporary.write_bytes(b"half")
            raise OSError(28, "No space left on device")

    with pytest.raises(StoreError, match="No space left on device"):
        fill()
    assert os.listdir(tmp_path) == []


def test_only_regular_files_are_opened(tmp_path: Path) -> None:
    """Whatever else may lie there, nobody waits for it."""
    path = tmp_path / "file.bin"
    path.write_bytes(b"content")
    (tmp_path / "link").symlink_to(path)
    for name in ("file.bin", "link"):
        with open_regular(tmp_path / name) as file:
            assert file.read() == b"content"
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "device").symlink_to("/dev/zero")
    for name in ("pipe", "device", "."):
        with pytest.raises(NotRegularError, match="Not a regular file"):
            open_regular(tmp_path / name)
    with pytest.raises(FileNotFoundError):
        open_regular(tmp_path / "nothing")


def test_what_killed_processes_left_is_removed_once_it_is_old(tmp_path: Path) -> None:
    (tmp_path / "file.bin").write_bytes(b"content")
    with new_file(tmp_path / "new.bin"), new_file(tmp_path / "old.bin") as old:
        os.utime(old, (0, 0))
        os.utime(tmp_path / "file.bin", (0, 0))
        assert remove_temporary(tmp_path, 3600) == 1
        assert not old.exists()
        old.touch()
    assert {path.name for path in tmp_path.iterdir()} == {"file.bin", "new.bin", "old.bin"}


def test_what_was_written_is_on_the_disk_before_it_has_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, order, fsync, replace = tmp_path / "file.bin", [], os.fsync, os.replace

    def noted_fsync(handle: int) -> None:
        order.append(("sync", os.fstat(handle).st_ino))
        fsync(handle)

    def noted_replace(source: Path, target: Path) -> None:
        order.append(("rename", os.stat(source).st_ino))
        replace(source, target)

    monkeypatch.setattr(os, "fsync", noted_fsync)
    monkeypatch.setattr(os, "replace", noted_replace)
    with new_file(path) as temporary:
        temporary.write_bytes(b"content")
    file, folder = path.stat().st_ino, tmp_path.stat().st_ino
    assert order == [("sync", file), ("rename", file), ("sync", folder)]
