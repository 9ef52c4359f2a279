import os

import psutil
from prometheus_client.parser import text_string_to_metric_families
from starlette.testclient import TestClient
from support.measured import measurements

from clsviz.measuring import Jobs, Key, State, Store
from clsviz.ui.state import serving
from clsviz.web.metrics import exposition


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
    jobs = Jobs(store)
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


def test_without_a_server_there_are_no_sessions() -> None:
    assert serving.n_sessions() == 0
