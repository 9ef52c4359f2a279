import subprocess
import sys
from pathlib import Path

import pytest
from starlette.testclient import TestClient
from support.programs import BRIEF

from clsviz import models
from clsviz.errors import ModelError
from clsviz.measuring import Jobs, State, Store
from clsviz.web.ready import Readiness


def test_a_server_that_can_work_is_ready(site: TestClient, tmp_path: Path) -> None:
    answer = site.get("/ready")
    assert answer.status_code == 200
    assert answer.json() == {"ready": True, "store_is_writable": True, "model_is_whole": True, "queue_length": 0}
    assert answer.headers["Cache-Control"] == "no-store"
    assert list((tmp_path / "store").iterdir()) == []  # what was written there is gone


def test_a_server_whose_store_cannot_be_written_is_not(site: TestClient, tmp_path: Path) -> None:
    (tmp_path / "store").touch()
    answer = site.get("/ready")
    assert answer.status_code == 503
    assert answer.json() == {"ready": False, "store_is_writable": False, "model_is_whole": True, "queue_length": 0}
    assert str(tmp_path) not in answer.text


def test_a_server_without_its_model_is_not(site: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        raise ModelError(f"{name} is damaged.")

    monkeypatch.setattr(models, "find", missing)
    answer = site.get("/ready")
    assert (answer.status_code, answer.json()["model_is_whole"]) == (503, False)


def test_it_is_found_out_anew_only_after_a_while_and_the_queue_is_always_new(store: Store) -> None:
    jobs = Jobs(store)
    try:
        lasting, fresh = Readiness(lambda: jobs, fresh_seconds=3600), Readiness(lambda: jobs, fresh_seconds=0)
        assert lasting.state()["ready"]
        assert fresh.state()["ready"]
        store.root.rmdir()
        store.root.touch()
        assert (lasting.state()["ready"], fresh.state()["ready"]) == (True, False)
        waiting = jobs.analyse("a", lambda: iter(()), lambda: 1)
        waiting.state = State.QUEUED
        assert lasting.state()["queue_length"] == 1
    finally:
        jobs.close()


def test_neither_readiness_nor_a_preview_loads_torch(tmp_path: Path) -> None:
    program = """
import sys
from starlette.applications import Starlette
from starlette.testclient import TestClient
from clsviz import web
site = TestClient(Starlette(routes=web.routes(patience_seconds=120), middleware=web.middleware()))
for path in ("/ready", "/", "/where_length_lives", "/preview.png", "/metrics"):
    print(path, site.get(path).status_code)
print(*{"torch", "transformers", "statsmodels", "sklearn", "scipy", "datasets"} & sys.modules.keys())
import os; os._exit(0)
"""
    ran = subprocess.run(
        [sys.executable, "-uc", BRIEF + program],
        cwd=Path(__file__).parents[2],
        env={"PATH": "", "CLSVIZ_STORE": str(tmp_path), "HF_HUB_OFFLINE": "1"},
        capture_output=True,
        text=True,
    )
    *lines, loaded = ran.stdout.splitlines()
    assert [line.split()[1] for line in lines] == ["200"] * 4 + ["403"], ran.stderr  # the client has no address
    assert loaded == ""
