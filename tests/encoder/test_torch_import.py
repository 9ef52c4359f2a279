import os
import subprocess
import sys

import pytest

PROGRAM = """
import sys, threading, time
from clsviz.encoder.torch_import import guard_torch
guard_torch()
guard_torch()
from scipy import stats
importing = threading.Thread(target=lambda: __import__("torch"))
importing.start()
n = 0
while importing.is_alive():
    if "torch" in sys.modules:
        stats.norm.cdf([0.5])
        stats.ttest_1samp([1.0, 2.0, 4.0], 1.0).confidence_interval()
        n += 1
    time.sleep(0.05)
importing.join()
import torch
assert torch.ones(2).sum() == 2 and isinstance(torch.ones(1), torch.Tensor)
assert torch.Tensor.__module__.startswith("torch"), torch.Tensor
print(n, sum(type(finder).__name__ == "_Finder" for finder in sys.meta_path))
"""


def test_statistics_go_on_while_torch_is_imported() -> None:
    run = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    n, n_finders = map(int, run.stdout.split())
    assert n > 3
    assert n_finders == 1


@pytest.mark.parametrize(
    ("own", "expected"),
    [({}, "passive None"), ({"OMP_WAIT_POLICY": "active"}, "active None"), ({"GOMP_SPINCOUNT": "9"}, "None 9")],
)
def test_threads_that_wait_sleep_unless_the_user_says_otherwise(own: dict[str, str], expected: str) -> None:
    names = ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT")
    program = f"import os, clsviz.encoder; print(*(os.environ.get(name) for name in {names}))"
    environment = {name: value for name, value in os.environ.items() if name not in names}
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=environment | own)
    assert run.stdout.strip() == expected, run.stderr
