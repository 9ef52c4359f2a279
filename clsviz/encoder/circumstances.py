"""What the numbers of an encoder depend on, besides its weights: this machine, the libraries, and our own code."""

import hashlib
import importlib.metadata
import platform
from pathlib import Path

import torch

_LIBRARIES = ("numpy", "safetensors", "tokenizers", "torch", "transformers")


def circumstances(device: torch.device) -> dict[str, str]:
    """All of them by name; where they are the same, so are the numbers."""
    if device.type == "cuda":
        processor = torch.cuda.get_device_name(device)
    else:
        processor = " ".join(sorted(name for name, has in torch.cpu.get_capabilities().items() if has is True))
    code = hashlib.sha256()
    for path in sorted(Path(__file__).parent.glob("*.py")):
        code.update(path.read_bytes())
    return {
        "device": device.type,
        "machine": platform.machine(),
        "processor": processor,
        "code": code.hexdigest(),
        **{name: importlib.metadata.version(name) for name in _LIBRARIES},
    }
