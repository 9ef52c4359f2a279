from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from clsviz.encoder import Encoder
from clsviz.encoder.memory import container_memory
from clsviz.errors import ModelError
from clsviz.models import Weights

NO_MEMORY = {
    "RuntimeError": RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling cublasCreate(handle)"),
    "OutOfMemoryError": torch.OutOfMemoryError("CUDA out of memory."),
    "MemoryError": MemoryError(),
}


@pytest.fixture(params=NO_MEMORY)
def full_memory(request: pytest.FixtureRequest) -> Iterator[None]:
    """Every module of PyTorch runs out of memory."""

    def run_out(*_: Any) -> None:
        raise NO_MEMORY[request.param]

    hook = torch.nn.modules.module.register_module_forward_pre_hook(run_out)
    yield
    hook.remove()


def test_too_little_memory_for_the_model_is_explained(tiny_weights: Weights, full_memory: None) -> None:
    with pytest.raises(ModelError, match="does not fit into the memory of the cpu device"):
        Encoder(tiny_weights, device="cpu")


def test_the_memory_that_a_container_leaves_is_counted(tmp_path: Path) -> None:
    assert container_memory(tmp_path) == float("inf")
    (tmp_path / "memory.max").write_text("1000\n")
    (tmp_path / "memory.current").write_text("700\n")
    (tmp_path / "memory.stat").write_text("anon 500\ninactive_file 150\n")
    assert container_memory(tmp_path) == 450
    (tmp_path / "memory.max").write_text("max\n")
    assert container_memory(tmp_path) == float("inf")
