"""The app on a port of this machine, and a browser to visit it: for the browser tests and the benchmarks."""

import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, Playwright

_FLAGS = [
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync"),
]


def launch(playwright: Playwright, *flags: str) -> Browser:
    """Playwright's own Chromium where it is installed, else the system's; the headless one, which needs less time."""
    names = ["chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"]
    system = next(filter(None, map(shutil.which, names)), None)
    has_own = Path(playwright.chromium.executable_path).exists()
    return playwright.chromium.launch(executable_path=None if has_own else system, args=[*_FLAGS, *flags])


@contextmanager
def serve(folder: Path, **environment: str) -> Iterator[str]:
    """The address of the app, started as the README says, with its store and its log in `folder`."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "streamlit", "run", "app.py", "--server.headless=true"]
    with (folder / "log").open("w") as log:
        process = subprocess.Popen(
            [*command, "--server.address=127.0.0.1", f"--server.port={port}"],
            cwd=Path(__file__).parents[2],
            env=os.environ | {"CLSVIZ_STORE": str(folder / "store")} | environment,
            stdout=log,
            stderr=subprocess.STDOUT,
        )
        try:
            deadline = time.monotonic() + 180
            while not _answers(port):
                assert time.monotonic() < deadline, (folder / "log").read_text()
                time.sleep(0.05)
            yield f"http://127.0.0.1:{port}/"
        finally:
            process.terminate()
            process.wait(30)


def _answers(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except OSError:
        return False
    return True
