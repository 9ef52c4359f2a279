import subprocess
import sys
import threading
from pathlib import Path

import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient
from support.programs import BRIEF

from clsviz import web
from clsviz.web import readying

ROOT = Path(__file__).parents[2]

BEGIN = """
import sys, threading
from clsviz.web import readying
interval = sys.getswitchinterval()
readying.make_ready()
assert sys.getswitchinterval() == interval
assert {"clsviz.ui.app", "pandas", "plotly.graph_objs"} <= sys.modules.keys()
assert "torch" not in sys.modules
"""


def test_it_loads_what_a_page_takes_and_no_model(tmp_path: Path) -> None:
    environment = {"CLSVIZ_STORE": str(tmp_path), "PYTHONPATH": str(ROOT), "PATH": ""}
    done = subprocess.run([sys.executable, "-c", BRIEF + BEGIN], capture_output=True, text=True, env=environment)
    assert not done.returncode, done.stderr


def test_a_server_answers_while_it_gets_ready_and_ends_after_that(monkeypatch: pytest.MonkeyPatch) -> None:
    asked, is_ready = threading.Event(), threading.Event()

    def make_ready() -> None:
        asked.wait(120)
        is_ready.set()

    monkeypatch.setattr(readying, "make_ready", make_ready)
    before = sys.getswitchinterval()
    with TestClient(Starlette(routes=web.routes(), lifespan=web.lifespan)) as site:
        assert site.get("/ready").status_code in (200, 503)
        assert not is_ready.is_set()
        assert sys.getswitchinterval() == pytest.approx(0.001)  # whatever it is changed to while it gets ready
        asked.set()
    assert is_ready.is_set()
    sys.setswitchinterval(before)
