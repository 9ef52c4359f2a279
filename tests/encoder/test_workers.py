import threading
import time
from collections.abc import Iterator
from contextlib import closing

import numpy as np
import pytest
import torch
from support.tiny import random_sentences

from clsviz.encoder import Encoder
from clsviz.encoder.batches import BatchRunner, n_workers, side_by_side
from clsviz.models import Weights

BATCHES = [np.array([index, index + 1]) for index in range(0, 40, 2)]
SENTENCES = random_sentences(300, seed=6, longest=40)
SECONDS = 60


@pytest.fixture(params=[2, 3])
def n_threads(request: pytest.FixtureRequest) -> Iterator[int]:
    before = torch.get_num_threads()
    torch.set_num_threads(request.param)
    yield request.param
    torch.set_num_threads(before)


def test_every_batch_is_computed_once(n_threads: int) -> None:
    assert n_workers() == n_threads
    computed = [(batch.tolist(), result()) for batch, result in side_by_side(BATCHES, lambda batch: int(batch.sum()))]
    assert sorted(computed) == [(batch.tolist(), batch.sum()) for batch in BATCHES]


def test_as_many_batches_as_threads_are_computed_at_a_time(n_threads: int) -> None:
    together = threading.Barrier(n_threads)  # passed by all of them at once, or by none
    results = [result() for _, result in side_by_side(BATCHES[:n_threads], lambda _: together.wait(SECONDS))]
    assert sorted(results) == list(range(n_threads))


def test_a_thread_divides_nothing(n_threads: int) -> None:
    def threads_of_torch(_: object) -> tuple[int, bool]:
        return torch.get_num_threads(), torch.is_inference_mode_enabled()

    assert {result() for _, result in side_by_side(BATCHES, threads_of_torch)} == {(1, True)}
    assert torch.get_num_threads() == n_threads  # here it is as it was


def test_whoever_stops_listening_drops_what_is_left(n_threads: int) -> None:
    begun: list[int] = []
    ended: list[int] = []

    def compute(batch: np.ndarray) -> None:
        begun.append(int(batch[0]))
        time.sleep(0.01)
        ended.append(int(batch[0]))

    many = BATCHES * 50
    with closing(side_by_side(many, compute)) as computed:
        next(computed)
    assert sorted(begun) == sorted(ended)  # nothing goes on
    assert len(begun) < len(many) // 2


def test_what_was_raised_is_raised_by_the_result(n_threads: int) -> None:
    def fault(batch: np.ndarray) -> None:
        raise RuntimeError(f"batch {batch[0]}")

    for batch, result in side_by_side(BATCHES[:3], fault):
        with pytest.raises(RuntimeError, match=f"batch {batch[0]}"):
            result()


def test_running_out_of_memory_halves_the_budget_and_goes_on(n_threads: int) -> None:
    lengths = np.random.default_rng(0).integers(3, 60, 400).astype(np.int32)

    def small_memory(batch: np.ndarray) -> np.ndarray:
        if lengths[batch].sum() > 200:
            raise RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 8 bytes.")
        return 2 * lengths[batch]

    runner = BatchRunner("Model", torch.device("cpu"), 2048, pads=False)
    results, done = runner.run(lengths, small_memory)
    np.testing.assert_array_equal(np.concatenate(results), 2 * lengths[done])
    assert sorted(done) == list(range(400))
    assert runner.budget <= 200


def test_an_encoder_gives_the_same_with_any_number_of_threads(tiny_weights: Weights, n_threads: int) -> None:
    encoder = Encoder(tiny_weights, device="cpu", token_budget=256)
    reported: list[tuple[int, int]] = []
    several = encoder.measure(SENTENCES, lambda done: reported.append((done, threading.get_ident())))
    assert len(reported) > n_threads
    assert [done for done, _ in reported] == sorted(done for done, _ in reported)
    assert reported[-1][0] == len(SENTENCES)
    assert {thread for _, thread in reported} == {threading.get_ident()}
    torch.set_num_threads(1)
    np.testing.assert_allclose(several.cls_norms, encoder.measure(SENTENCES).cls_norms, rtol=1e-6)


def test_what_is_raised_after_a_batch_ends_the_work(tiny_weights: Weights, n_threads: int) -> None:
    def stop(done: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Encoder(tiny_weights, device="cpu", token_budget=256).measure(SENTENCES, stop)
