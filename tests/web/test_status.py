import os
import subprocess
import sys
import threading
from pathlib import Path

import psutil
import pytest
from prometheus_client.parser import text_string_to_metric_families
from starlette.applications import Starlette
from starlette.testclient import TestClient
from support.measured import measurements
from support.programs import BRIEF

from clsviz.errors import ModelError
from clsviz.jobs import JobQueue, State
from clsviz.sources import models
from clsviz.store import Key, Store
from clsviz.web import routes
from clsviz.web.status import Readiness, exposition


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
    jobs = JobQueue(store)
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


def test_a_server_answers_while_it_gets_ready_and_ends_after_that(monkeypatch: pytest.MonkeyPatch) -> None:
    asked, is_ready = threading.Event(), threading.Event()

    def make_ready() -> None:
        asked.wait(120)
        is_ready.set()

    monkeypatch.setattr(routes, "make_ready", make_ready)
    before = sys.getswitchinterval()
    with TestClient(Starlette(routes=routes.routes(), lifespan=routes.lifespan)) as site:
        assert site.get("/ready").status_code in (200, 503)
        assert not is_ready.is_set()
        asked.set()
    assert is_ready.is_set()
    sys.setswitchinterval(before)


def test_neither_readiness_nor_a_preview_loads_torch(tmp_path: Path) -> None:
    program = """
import sys, threading
threading.Timer.start = lambda timer: None  # what is loaded later, which comes earlier on a busy machine
from starlette.applications import Starlette
from starlette.testclient import TestClient
from clsviz.web import routes
site = TestClient(Starlette(routes=routes.routes(patience_seconds=120), middleware=routes.middleware()))
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


def numbers(text: str) -> dict[str, float]:
    return {sample.name: sample.value for family in text_string_to_metric_families(text) for sample in family.samples}


def test_they_are_in_the_format_of_prometheus(site: TestClient) -> None:
    answer = site.get("/metrics")
    assert answer.headers["Content-Type"].startswith("text/plain; version=0.0.4")
    found = numbers(answer.text)
    assert all(name.startswith("clsviz_") for name in found)
    assert found["clsviz_jobs_running"] == found["clsviz_queue_length"] == found["clsviz_sessions"] == 0
    memory = psutil.Process(os.getpid()).memory_info().rss
    assert memory / 2 < found["clsviz_memory_bytes"] < memory * 2


def test_they_count_jobs_by_state_and_sentences_that_were_kept(store: Store) -> None:
    jobs = JobQueue(store)
    try:
        states = [State.RUNNING, State.QUEUED, State.QUEUED, State.DONE]
        for number, state in enumerate(states):
            jobs.analyse(number, lambda: iter(()), lambda: 1).state = state
        key = Key("model", "corpus", 0, 512, "float32")
        store.append(key, 0, measurements(10), 1.0)
        store.own.append(key, 10, measurements(7, start=10), 1.0)
        found = numbers(exposition(jobs, 3).decode())
        assert (found["clsviz_jobs_running"], found["clsviz_queue_length"], found["clsviz_sessions"]) == (1, 2, 3)
        assert found["clsviz_sentences_measured_total"] == 17
        assert numbers(exposition(jobs, 3).decode())["clsviz_sentences_measured_total"] == 17
    finally:
        jobs.close()


@pytest.mark.parametrize("command", [["streamlit", "run", "app.py"], ["clsviz", "app"]])
def test_a_server_whose_settings_cannot_be_used_says_so_and_does_not_start(command: list[str], tmp_path: Path) -> None:
    ran = subprocess.run(
        [sys.executable, "-m", *command, "--server.headless=true", "--server.address=127.0.0.1"],
        cwd=Path(__file__).parents[2],
        env=os.environ | {"CLSVIZ_METRICS": "everybody", "CLSVIZ_STORE": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert ran.returncode == 1
    said = (ran.stdout + ran.stderr).strip().splitlines()
    assert any(line.startswith("CLSVIZ_METRICS is “everybody”; it must be loopback, none, all") for line in said)
    assert not any("Traceback" in line for line in said)
