import subprocess
import sys
from pathlib import Path

import pytest

import clsviz
from clsviz import programs


def test_a_program_finds_this_very_package_from_anywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "own"))
    program = "import clsviz, sys; print(clsviz.__file__); print(*sys.path, sep='\\n')"
    command = [sys.executable, "-c", program]
    ended = subprocess.run(
        command, env=programs.environment(), cwd=tmp_path, capture_output=True, text=True, check=True
    )
    found, *places = ended.stdout.splitlines()
    assert found == clsviz.__file__
    assert str(tmp_path / "own") in places
