from itertools import pairwise

import numpy as np
import pytest
import torch
import transformers

from clsviz.encoder.batches import BatchRunner, plan_batches, token_budget_of
from clsviz.errors import ModelError

CPU = torch.device("cpu")
LENGTHS = np.random.default_rng(0).integers(3, 60, 200).astype(np.int32)


def test_batches_keep_the_token_budget_and_hold_every_sentence_once() -> None:
    lengths = np.random.default_rng(0).integers(3, 60, 500)
    batches = plan_batches(lengths, token_budget=256)
    assert sorted(np.concatenate(batches)) == list(range(500))
    assert all(lengths[batch].max() * len(batch) <= 256 for batch in batches)
    assert [lengths[batch].max() for batch in batches] == sorted(
        (lengths[batch].max() for batch in batches), reverse=True
    )


@pytest.mark.parametrize("gigabytes", [100, 8, 0.001])
def test_the_budget_of_a_gpu_follows_its_free_memory(monkeypatch: pytest.MonkeyPatch, gigabytes: float) -> None:
    """A token of BERT base takes 4 * (8 * 768 + 2 * 3072 + 512 * 12) / 1e3 = 73.7 kB at the widest, four times."""
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda device: (int(gigabytes * 1e9), int(200e9)))
    budget = token_budget_of(transformers.BertConfig(), torch.device("cuda"))
    assert budget == pytest.approx(min(131_072, max(512, gigabytes * 1e9 / 4 / 73_728)), abs=1)


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


def test_a_sentence_longer_than_the_budget_is_a_batch_of_its_own() -> None:
    assert [batch.tolist() for batch in plan_batches(np.array([5, 300, 5]), token_budget=256)] == [[1], [0, 2]]


def runner(budget: int) -> BatchRunner:
    return BatchRunner("Model", CPU, budget, pads=True)


def test_every_sentence_is_computed_once_and_its_place_known() -> None:
    seen: list[int] = []
    results, done = runner(256).run(LENGTHS, lambda batch: 2 * LENGTHS[batch], seen.append)
    np.testing.assert_array_equal(np.concatenate(results), 2 * LENGTHS[done])
    assert sorted(done) == list(range(len(LENGTHS)))
    assert seen == np.cumsum([len(result) for result in results]).tolist()
    assert seen[-1] == len(LENGTHS)


def test_of_no_sentences_there_are_no_results() -> None:
    results, done = runner(256).run(LENGTHS[:0], lambda batch: batch)
    assert (results, len(done)) == ([], 0)


def test_running_out_of_memory_halves_the_budget_and_goes_on() -> None:
    sizes: list[int] = []

    def small_memory(batch: np.ndarray) -> np.ndarray:
        sizes.append(int(LENGTHS[batch].max()) * len(batch))
        if sizes[-1] > 200:
            raise torch.OutOfMemoryError("CUDA out of memory.")
        return batch

    small = runner(4096)
    results, done = small.run(LENGTHS, small_memory)
    assert sorted(np.concatenate(results)) == sorted(done) == list(range(len(LENGTHS)))
    np.testing.assert_array_equal(np.concatenate(results), done)
    assert max(sizes) > 200
    assert sizes[-1] <= 200
    assert small.budget <= 200


def test_too_little_memory_for_one_sentence_is_explained() -> None:
    def no_memory(batch: np.ndarray) -> np.ndarray:
        raise RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 8 bytes.")

    with pytest.raises(ModelError, match="Model needs more memory than the cpu device has for a sentence of 59 tokens"):
        runner(2048).run(LENGTHS, no_memory)


def test_another_fault_is_not_taken_for_memory() -> None:
    def fault(batch: np.ndarray) -> np.ndarray:
        raise RuntimeError("shapes do not match")

    with pytest.raises(RuntimeError, match="shapes"):
        runner(2048).run(LENGTHS, fault)
