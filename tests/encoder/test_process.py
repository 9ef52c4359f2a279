import gc
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import psutil
import pytest
from support.tiny import random_sentences
from support.waiting import wait_for

from clsviz.encoder import AnyEncoder, Encoder, Process
from clsviz.encoder.serving import Shelf
from clsviz.errors import CancelledError, ModelError
from clsviz.measurements import Kind
from clsviz.measuring import Encoders
from clsviz.settings import Alteration, Precision
from clsviz.sources.models import Weights

SENTENCES = [*random_sentences(60, seed=3, longest=40), "cat", "", "Ünïcödé \N{ZERO WIDTH SPACE}", "the " * 200, "cat"]
PARTS = [SENTENCES[:10], SENTENCES[10:30], SENTENCES[30:]]


@pytest.fixture(scope="module")
def process() -> Iterator[Process]:
    process = Process()
    yield process
    process.close()


@pytest.fixture(scope="module")
def apart(process: Process, tiny_weights: Weights) -> AnyEncoder:
    return process.encoder(tiny_weights)


@pytest.fixture(scope="module")
def here(tiny_weights: Weights) -> Encoder:
    return Encoder(tiny_weights, device="cpu")


@pytest.mark.parametrize("kind", Kind)
def test_the_numbers_are_those_of_an_encoder_in_this_process(apart: AnyEncoder, here: Encoder, kind: Kind) -> None:
    done: list[int] = []
    measured = [*apart.stream(PARTS, done.append, kind)]
    expected = [*here.stream(PARTS, kind=kind)]
    assert len(measured) == 3
    for some, others in zip(measured, expected, strict=True):
        assert type(some) is type(others)
        np.testing.assert_allclose(some.cls_norms, others.cls_norms, rtol=1e-6)
        np.testing.assert_array_equal(some.n_tokens, others.n_tokens)
    assert done == sorted(done)
    assert done[-1] == len(SENTENCES)


def test_it_has_and_does_what_an_encoder_in_this_process_does(apart: AnyEncoder, here: Encoder) -> None:
    names = "max_length", "n_layers", "has_pooler", "slow_path_reason"
    assert [getattr(apart, name) for name in names] == [getattr(here, name) for name in names]
    np.testing.assert_array_equal(apart.layer_norms, here.layer_norms)
    assert apart.anatomy.architecture == here.anatomy.architecture
    assert apart.tokens("the cat") == here.tokens("the cat")
    assert apart.framed_tokens("the cat") == here.framed_tokens("the cat")
    np.testing.assert_allclose(apart.measure(SENTENCES).cls_norms, here.measure(SENTENCES).cls_norms, rtol=1e-6)
    np.testing.assert_allclose(apart.vectors(["cat"]).cls_norms, here.vectors(["cat"]).cls_norms, rtol=1e-6)
    (cls, pooler), (cls_here, pooler_here) = apart.cls_and_pooler(SENTENCES), here.cls_and_pooler(SENTENCES)
    np.testing.assert_allclose(cls, cls_here, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(pooler, pooler_here, rtol=1e-5, atol=1e-6)
    for layer, layer_here in zip(apart.cls_by_layer(["cat"]), here.cls_by_layer(["cat"]), strict=True):
        np.testing.assert_allclose(layer, layer_here, rtol=1e-5, atol=1e-6)
    steps, steps_here = apart.pooler_steps(cls), here.pooler_steps(cls)
    assert steps is not None
    assert steps_here is not None
    np.testing.assert_allclose(steps[1], steps_here[1], rtol=1e-5, atol=1e-6)


def test_encoders_there_are_compared_and_altered_there(
    process: Process, apart: AnyEncoder, here: Encoder, tiny_weights: Weights
) -> None:
    shuffled, shuffled_here = apart.altered(Alteration.SHUFFLED, 5), here.altered(Alteration.SHUFFLED, 5)
    sentence = "the big cat sat on a mat"
    assert shuffled.framed_tokens(sentence) == shuffled_here.framed_tokens(sentence)
    np.testing.assert_allclose(
        shuffled.measure([sentence]).cls_norms, shuffled_here.measure([sentence]).cls_norms, rtol=1e-6
    )


def test_what_it_raises_is_raised_here(process: Process, apart: AnyEncoder, tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}")
    broken = Weights("broken", "broken", tmp_path, "0" * 64)
    with pytest.raises(ModelError):
        process.encoder(broken)
    with pytest.raises(RuntimeError, match="In the process of the encoders"):
        apart.pooler_steps(np.zeros((1, 3), np.float32))  # of a wrong shape: a fault of whoever asks
    assert not apart.is_gone


def test_whoever_stops_listening_ends_the_work_and_others_go_on(apart: AnyEncoder) -> None:
    def stop(_: int) -> None:
        raise CancelledError("Stopped.")

    with pytest.raises(CancelledError):
        [*apart.stream([SENTENCES] * 1000, stop)]
    listening = apart.stream([SENTENCES] * 1000)
    assert len(next(listening)) == len(SENTENCES)
    assert len(apart.measure(["cat"])) == 1  # meanwhile
    listening.close()  # type: ignore[attr-defined]  # it is a generator
    assert len([*apart.stream([SENTENCES])]) == 1


def test_neither_side_waits_for_the_other_where_both_send_more_than_a_connection_holds(apart: AnyEncoder) -> None:
    parts = [["cat " * 60 * n] * 20_000 for n in (1, 2, 3)]  # megabytes of each, once for all copies that are measured
    ended: list[int] = []
    thread = threading.Thread(
        target=lambda: ended.extend(map(len, apart.stream(parts, kind=Kind.VECTORS))), daemon=True
    )
    thread.start()
    thread.join(300)
    assert ended == [20_000] * 3


def test_one_that_ended_is_told_in_a_sentence_and_another_one_comes(tiny_weights: Weights) -> None:
    process = Process()
    encoders = Encoders(process=process)
    first = encoders.get(tiny_weights)
    listening = first.stream([SENTENCES] * 1000)
    next(listening)
    assert process.pid is not None
    psutil.Process(process.pid).kill()
    with pytest.raises(ModelError, match="memory ran out"):
        list(listening)
    wait_for(lambda: first.is_gone)
    with pytest.raises(ModelError, match="memory ran out"):
        first.tokens("cat")
    assert encoders.pid is None
    assert not encoders.has(tiny_weights)
    assert encoders.get(tiny_weights).tokens("cat") == ["cat"]
    running = psutil.Process(encoders.pid)
    encoders.close()
    assert not running.is_running()


def test_it_ends_with_the_process_that_started_it() -> None:
    program = (
        "from clsviz.encoder import Process; import os; p = Process(); p._start(); print(p.pid, flush=True); input()"
    )
    with subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        running = psutil.Process(int(parent.stdout.readline()))
        parent.kill()
    wait_for(lambda: not running.is_running() or running.status() == psutil.STATUS_ZOMBIE)


def test_one_without_memory_ends_so_that_another_can_come() -> None:
    program = (
        "from multiprocessing import Pipe\n"
        "from clsviz.encoder import serving\n"
        "class Full(serving.Shelf):\n"
        "    def load(self, *_): raise MemoryError\n"
        "here, there = Pipe()\n"
        "here.send(([], 'load'))\n"
        "serving.answer(there, Full())"
    )
    ended = subprocess.run([sys.executable, "-c", program], stderr=subprocess.PIPE, text=True)
    assert ended.returncode == 1
    assert ended.stderr.endswith("MemoryError\n")


def test_it_ends_cleanly_in_the_middle_of_work() -> None:
    process = Process()
    process.product_rate(0.1)
    assert process._running is not None
    running = psutil.Process(process.pid)
    told: list[ModelError] = []

    def ask() -> None:
        with pytest.raises(ModelError) as error:
            process.product_rate(3600)
        told.append(error.value)

    asking, began = threading.Thread(target=ask), running.cpu_times().user
    ended = process._running._process
    asking.start()
    wait_for(lambda: running.cpu_times().user > began + 0.1)
    process.close()
    asking.join()
    assert ended.returncode == 0
    assert len(told) == 1


def test_an_encoder_that_is_dropped_here_is_dropped_there(
    process: Process, apart: AnyEncoder, tiny_weights: Weights
) -> None:
    more = process.encoder(tiny_weights, Precision.EXACT)
    number = more._number
    assert more.tokens("cat") == ["cat"]
    del more
    gc.collect()
    with pytest.raises(RuntimeError, match="KeyError"):
        apart._running.ask("call", number, "tokens", "cat")  # type: ignore[attr-defined]


def test_a_shelf_forgets_what_it_is_told_to(tiny_weights: Weights) -> None:
    shelf = Shelf()
    number, facts = shelf.load(tiny_weights, Precision.EXACT, False)
    assert facts["n_layers"] == shelf.call(number, "cls_by_layer", ["cat"]).__len__() - 1
    shelf.forget([number])
    with pytest.raises(KeyError):
        shelf.call(number, "tokens", "cat")
