import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("command", [["streamlit", "run", "app.py"], ["clsviz", "app"]])
def test_a_server_whose_settings_cannot_be_used_says_so_and_does_not_start(command: list[str], tmp_path: Path) -> None:
    ran = subprocess.run(
        [sys.executable, "-m", *command, "--server.headless=true", "--server.address=127.0.0.1"],
        cwd=ROOT,
        env=os.environ | {"CLSVIZ_METRICS": "everybody", "CLSVIZ_STORE": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert ran.returncode == 1
    said = (ran.stdout + ran.stderr).strip().splitlines()
    assert any(line.startswith("CLSVIZ_METRICS is “everybody”; it must be loopback, none, all") for line in said)
    assert not any("Traceback" in line for line in said)
