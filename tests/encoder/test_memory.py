import platform
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from clsviz.encoder import Encoder
from clsviz.encoder.load import container_memory
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
import ctypes, sys, torch
from clsviz.encoder.batches import keep_freed_memory

class Info(ctypes.Structure):
    names = "arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks", "uordblks", "fordblks", "keepcost"
    _fields_ = [(name, ctypes.c_size_t) for name in names]

info = ctypes.CDLL(None).mallinfo2
info.restype = Info
if sys.argv[1] == "keeps":
    keep_freed_memory()
before = info().hblks
batch = [torch.empty(30 * 2**20, dtype=torch.uint8) for _ in range(3)]
print(info().hblks - before)
"""
"""Says how many blocks of a batch are mapped each on its own: such a block goes back to the system when it is freed."""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="other allocators keep what they like")
@pytest.mark.parametrize(("how", "n_mapped"), [("keeps", 0), ("does not", 3)])
def test_what_a_batch_frees_serves_the_next_one(how: str, n_mapped: int) -> None:
    run = subprocess.run([sys.executable, "-c", PROGRAM, how], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    assert int(run.stdout) == n_mapped
