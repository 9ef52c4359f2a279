import platform
import subprocess
import sys
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


PROGRAM = """
import resource, sys, torch
torch.set_num_threads(1)
from clsviz.encoder.memory import keep_freed_memory
if sys.argv[1] == "keeps":
    keep_freed_memory()
def batch():
    return [torch.zeros(15 * 2**20, dtype=torch.uint8) for _ in range(3)]
for _ in range(3):
    batch()
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(5):
    batch()
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="other allocators keep what they like")
def test_what_a_batch_frees_serves_the_next_one() -> None:
    faults = {}
    for keeps in ("keeps", "does not"):
        run = subprocess.run([sys.executable, "-c", PROGRAM, keeps], capture_output=True, text=True)
        assert run.returncode == 0, run.stderr
        faults[keeps] = int(run.stdout)
    assert faults["keeps"] < faults["does not"] / 10
