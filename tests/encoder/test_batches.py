import platform
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from support.tiny import random_sentences

from clsviz.encoder import Encoder
from clsviz.encoder.batches import BatchRunner, n_workers, plan_batches, side_by_side, token_budget_of
from clsviz.errors import ModelError
from clsviz.sources.models import Weights

CPU = torch.device("cpu")
LENGTHS = np.random.default_rng(0).integers(3, 60, 400).astype(np.int32)
BATCHES = [np.array([index, index + 1]) for index in range(0, 40, 2)]
SECONDS = 60
NO_MEMORY = {
    "RuntimeError": RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling cublasCreate(handle)"),
    "OutOfMemoryError": torch.OutOfMemoryError("CUDA out of memory."),
    "MemoryError": MemoryError(),
}


@pytest.fixture(params=[2, 3])
def n_threads(request: pytest.FixtureRequest) -> Iterator[int]:
    before = torch.get_num_threads()
    torch.set_num_threads(request.param)
    yield request.param
    torch.set_num_threads(before)


def test_batches_keep_the_token_budget_and_hold_every_sentence_once() -> None:
    lengths = np.random.default_rng(0).integers(3, 60, 500)
    batches = plan_batches(lengths, token_budget=256)
    assert sorted(np.concatenate(batches)) == list(range(500))
    assert all(lengths[batch].max() * len(batch) <= 256 for batch in batches)
    assert [lengths[batch].max() for batch in batches] == sorted(
        (lengths[batch].max() for batch in batches), reverse=True
    )


def test_without_padding_a_batch_holds_as_many_tokens_as_the_budget() -> None:
    lengths = np.random.default_rng(0).integers(3, 60, 500)
    batches = plan_batches(lengths, token_budget=256, pads=False)
    assert sorted(np.concatenate(batches)) == list(range(500))
    assert all(lengths[batch].sum() <= 256 for batch in batches)
    for batch, following in pairwise(batches):
        assert lengths[batch].sum() + lengths[following[0]] > 256
    assert plan_batches(np.array([300, 5]), 256, pads=False)[0].tolist() == [0]


def test_batches_that_are_computed_side_by_side_end_with_small_ones() -> None:
    lengths = np.random.default_rng(0).integers(3, 60, 500)
    batches = plan_batches(lengths, token_budget=2048, pads=False, n_workers=2)
    assert sorted(np.concatenate(batches)) == list(range(500))
    tokens = [int(lengths[batch].sum()) for batch in batches]
    assert max(tokens) <= 2048
    left = np.cumsum(tokens[::-1])[::-1]
    assert all(size <= max(256, before // 2) for size, before in zip(tokens, left, strict=True))
    assert tokens[0] > 2048 - 60
    assert tokens[-1] <= 256


def test_attention_is_never_planned_anew_for_every_shape() -> None:
    before = torch.backends.cuda.cudnn_sdp_enabled()
    enabled, _ = BatchRunner("Model", CPU, 256, pads=True).run(
        LENGTHS, lambda _: torch.backends.cuda.cudnn_sdp_enabled()
    )
    assert not any(enabled)
    assert torch.backends.cuda.cudnn_sdp_enabled() == before


def test_a_sentence_longer_than_the_budget_is_a_batch_of_its_own() -> None:
    assert [batch.tolist() for batch in plan_batches(np.array([5, 300, 5]), token_budget=256)] == [[1], [0, 2]]


@pytest.mark.parametrize("gigabytes", [100, 8, 0.001])
def test_the_budget_of_a_gpu_follows_its_free_memory(monkeypatch: pytest.MonkeyPatch, gigabytes: float) -> None:
    """A token of BERT base takes 4 * (8 * 768 + 2 * 3072 + 512 * 12) / 1e3 = 73.7 kB at the widest, four times."""
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda device: (int(gigabytes * 1e9), int(200e9)))
    budget = token_budget_of(transformers.BertConfig(), torch.device("cuda"))
    assert budget == pytest.approx(min(131_072, max(512, gigabytes * 1e9 / 4 / 73_728)), abs=1)


def test_every_sentence_is_computed_once_and_its_place_known() -> None:
    seen: list[int] = []
    results, done = BatchRunner("Model", CPU, 256, pads=True).run(
        LENGTHS, lambda batch: 2 * LENGTHS[batch], seen.append
    )
    np.testing.assert_array_equal(np.concatenate(results), 2 * LENGTHS[done])
    assert sorted(done) == list(range(len(LENGTHS)))
    assert seen == np.cumsum([len(result) for result in results]).tolist()
    assert seen[-1] == len(LENGTHS)


@pytest.mark.parametrize("pads", [True, False])
def test_running_out_of_memory_halves_the_budget_and_goes_on(n_threads: int, pads: bool) -> None:
    def small_memory(batch: np.ndarray) -> np.ndarray:
        if LENGTHS[batch].sum() > 200:
            raise torch.OutOfMemoryError("CUDA out of memory.")
        return 2 * LENGTHS[batch]

    runner = BatchRunner("Model", CPU, 4096, pads=pads)
    results, done = runner.run(LENGTHS, small_memory)
    np.testing.assert_array_equal(np.concatenate(results), 2 * LENGTHS[done])
    assert sorted(done) == list(range(len(LENGTHS)))
    assert runner.budget < 400


@pytest.mark.parametrize("kind", NO_MEMORY)
def test_too_little_memory_is_explained(tiny_weights: Weights, kind: str) -> None:
    def run_out(*_: Any) -> None:
        raise NO_MEMORY[kind]

    with pytest.raises(ModelError, match="Model needs more memory than the cpu device has for a sentence of 59 tokens"):
        BatchRunner("Model", CPU, 2048, pads=True).run(LENGTHS, run_out)
    hook = torch.nn.modules.module.register_module_forward_pre_hook(run_out)
    try:
        with pytest.raises(ModelError, match="does not fit into the memory of the cpu device"):
            Encoder(tiny_weights, device="cpu")
    finally:
        hook.remove()


@pytest.mark.parametrize("pads", [True, False])
def test_another_fault_is_not_taken_for_memory(n_threads: int, pads: bool) -> None:
    def fault(batch: np.ndarray) -> None:
        raise RuntimeError("shapes do not match")

    with pytest.raises(RuntimeError, match="shapes"):
        BatchRunner("Model", CPU, 2048, pads=pads).run(LENGTHS, fault)


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


def test_an_encoder_gives_the_same_with_any_number_of_threads(tiny_weights: Weights, n_threads: int) -> None:
    sentences = random_sentences(300, seed=6, longest=40)
    encoder = Encoder(tiny_weights, device="cpu", token_budget=256)
    reported: list[tuple[int, int]] = []
    several = encoder.measure(sentences, lambda done: reported.append((done, threading.get_ident())))
    assert len(reported) > n_threads
    assert [done for done, _ in reported] == sorted(done for done, _ in reported)
    assert reported[-1][0] == len(sentences)
    assert {thread for _, thread in reported} == {threading.get_ident()}
    torch.set_num_threads(1)
    np.testing.assert_allclose(several.cls_norms, encoder.measure(sentences).cls_norms, rtol=1e-6)


PROGRAM = """
import ctypes, torch
from clsviz.encoder.batches import keep_freed_memory

class Info(ctypes.Structure):
    names = "arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks", "uordblks", "fordblks", "keepcost"
    _fields_ = [(name, ctypes.c_size_t) for name in names]

info = ctypes.CDLL(None).mallinfo2
info.restype = Info
for prepare in (lambda: None, keep_freed_memory):
    prepare()
    before = info().hblks
    batch = [torch.empty(30 * 2**20, dtype=torch.uint8) for _ in range(3)]
    print(info().hblks - before)
    del batch
"""
"""How many blocks of a batch are mapped each on its own: such a block goes back to the system when it is freed."""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="other allocators keep what they like")
def test_what_a_batch_frees_serves_the_next_one() -> None:
    run = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    assert run.stdout.split() == ["3", "0"]
