import asyncio
import gc
import time
import weakref
from pathlib import Path

import psutil
import pytest
import websockets
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager
from streamlit.runtime.uploaded_file_manager import UploadedFileRec
from support import coroutines
from support.visit import serve

from clsviz.ui.state.sessions import Left, drop_oldest, settle

N_VISITORS = 12


class _Held:
    """Something that holds itself."""

    itself: object = None


async def _visit(address: str) -> None:
    """Open the main page as a browser does, and leave once it is drawn."""
    place = address.removeprefix("http")
    async with websockets.connect(f"ws{place}_stcore/stream", origin=address.rstrip("/"), max_size=None) as socket:  # type: ignore[arg-type]
        message = BackMsg()
        message.rerun_script.query_string = "sample_size=200"
        await socket.send(message.SerializeToString())
        answer = ForwardMsg()
        while answer.WhichOneof("type") != "script_finished":
            answer.ParseFromString(await asyncio.wait_for(socket.recv(), 60))


def server_process(address: str) -> psutil.Process:
    port = f"--server.port={address.rstrip('/').rpartition(':')[2]}"
    (process,) = [child for child in psutil.Process().children() if port in child.cmdline()]
    return process


@pytest.mark.skipif(not hasattr(psutil.Process, "num_fds"), reason="counts files as Unix does")
def test_no_files_stay_open_after_the_browsers_that_left(tmp_path: Path) -> None:
    with serve(tmp_path, CLSVIZ_PUBLIC="1", CLSVIZ_LIMIT_RECONNECT_SECONDS="0.6") as address:
        process = server_process(address)
        coroutines.run(_visit(address))
        deadline = time.monotonic() + 120
        coroutines.run(_visit(address))
        before = process.num_fds()
        for _ in range(N_VISITORS):
            coroutines.run(_visit(address))
        while process.num_fds() > before:
            assert time.monotonic() < deadline, f"{process.num_fds()} files are open, {before} were before"
            time.sleep(0.05)


def test_of_uploads_that_take_too_much_memory_the_oldest_are_dropped() -> None:
    files = MemoryUploadedFileManager("/upload")
    for session, name, size in (("a", "1", 50), ("b", "2", 30), ("a", "3", 40), ("c", "4", 20)):
        files.add_file(session, UploadedFileRec(name, f"{name}.txt", "text/plain", bytes(size)))

    def names() -> set[str]:
        return {name for of_session in files.file_storage.values() for name in of_session}

    drop_oldest(files, 140)
    assert names() == {"1", "2", "3", "4"}
    drop_oldest(files, 95)
    assert names() == {"2", "3", "4"}
    drop_oldest(files, 20)
    assert names() == {"4"}
    drop_oldest(files, 10)
    assert not names()


def test_what_is_loaded_is_not_looked_through_until_sessions_were_closed() -> None:
    thresholds, left = gc.get_threshold(), Left(0.0)
    try:
        gc.unfreeze()  # what another test’s server has
        settle()
        assert gc.get_freeze_count() > 10_000
        there = weakref.ref(held := _Held())
        held.itself = held
        gc.freeze()
        del held
        gc.collect()
        assert there() is not None
        left._n_closed = 1
        left.close()
        assert there() is None
        assert gc.get_freeze_count() > 10_000  # what is there is out of the way again
    finally:
        gc.freeze()  # as it was before
        gc.set_threshold(*thresholds)
