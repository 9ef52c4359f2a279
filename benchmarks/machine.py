"""The machine that a benchmark runs on, and what its process takes of it."""

import os
import platform
from pathlib import Path
from typing import Any

import torch


def n_cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def status_megabytes(name: str) -> float:
    """What Linux reports for this process: VmRSS, memory in use, or VmHWM, its peak."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith(f"{name}:"))


def device_name(device: str) -> str:
    """What it is called, with its cores."""
    if device == "cuda":
        return torch.cuda.get_device_name()
    capabilities: Any = torch.cpu.get_capabilities()
    return f"{capabilities.get('cpu_name') or platform.machine()}, {os.cpu_count()} cores"
