"""Commands whose answers are recorded in golden.json; golden.py makes their inputs."""

import json
import os
import platform
import subprocess
import sys
from pathlib import Path

import golden
import pytest

from clsviz import cli

EXPECTED = json.loads((Path(__file__).parent / "golden.json").read_text())

OLDER = {
    "ATEN_CPU_CAPABILITY": "avx2",
    "MKL_ENABLE_INSTRUCTIONS": "AVX2",
    "NPY_DISABLE_CPU_FEATURES": "X86_V4 AVX512_ICL AVX512_SPR",
    "ONEDNN_MAX_CPU_ISA": "AVX2",
    "OPENBLAS_CORETYPE": "Haswell",
    "OMP_NUM_THREADS": "1",
}
"""Variables with which PyTorch, NumPy and their libraries compute as on a processor of 2013."""

IS_OLDER = OLDER.items() <= os.environ.items()

ROUNDING, ROUNDING_OF_FLAT = 1e-4, 3e-3
"""What rounding on another processor moves, in relation to numbers below 1, and at least to .01.

A norm is rounded by 1e-7 of itself, and differs between sentences by 1e-3 or more: R² and slopes
move by up to 1e-4. Vectors whose norms are nearly constant differ between sentences in the fourth
to sixth digit, and errors of their probes move by up to 1e-3 if what AVX2 changes in each dimension
is drawn at random; R² of such norms has no digit that counts, and is not recorded.
"""

STEPS = {
    **dict.fromkeys(("recall_at_10", "ndcg_at_10", "difference"), 1.0),
    **dict.fromkeys(("recall_interval", "interval"), 2.0),
    "exposure": 0.1,
    "exposure_interval": 0.3,
}
"""What a search moves, in n-ths of n searches, if vectors that round otherwise change its tenth
text: a share by one, an exposure by one of its ten places, an end of an interval by what draws
repeat of it. BM25 has no vectors.
"""

CPU = Path("/proc/cpuinfo")
HAS_BFLOAT16 = (
    CPU.exists() and "_bf16" in CPU.read_text() and "ONEDNN_MAX_CPU_ISA" not in os.environ
)

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("golden")
    golden.make_inputs(folder)
    return folder


@pytest.fixture
def run(folder, monkeypatch, capsys):
    """The status of a command, and its JSON object or its error."""

    def answer(name):
        monkeypatch.chdir(folder)
        status = cli.main([*golden.COMMANDS[name], "--json", "--store", str(folder / "store")])
        output, error = capsys.readouterr()
        return status, error if status else json.loads(output)

    return answer


def differences(answer, expected, path=()):
    """Numbers that differ, and values that do, by their paths."""
    if isinstance(expected, dict | list):
        if isinstance(expected, list):
            answer, expected = (dict(enumerate(values)) for values in (answer, expected))
            assert len(answer) == len(expected), path
        for key, value in expected.items():
            yield from differences(answer[key], value, (*path, key))
    elif answer != expected:
        yield path, answer, expected


def tolerance(path, expected, record):
    """What a number of a record may differ by."""
    n = record.get("n_searches")
    step = next((STEPS[key] for key in path[::-1] if key in STEPS), None)
    if n and step and "bm25" not in path:
        is_of_fifth = {"fifths", "exposure", "exposure_interval"} & {*path}
        n = min(fifth["n_texts"] for fifth in record["fifths"]) if is_of_fifth else n
        return 1.01 * step / n
    is_flat = path[0] == "layers" and record["layers"][path[1]]["is_nearly_constant"]
    share = ROUNDING_OF_FLAT if is_flat else ROUNDING
    return share * min(1, abs(expected) + 0.01)


@pytest.mark.parametrize("name", [name for name in EXPECTED if name != "fast"])
def test_answers_are_the_recorded_ones(name, run):
    status, answer = run(name)
    assert status == 0, answer
    beyond = [
        (path, value, expected)
        for path, value, expected in differences(answer, EXPECTED[name])
        if not isinstance(expected, float)
        or value is None
        or abs(value - expected) > tolerance(path, expected, EXPECTED[name])
    ]
    assert beyond == []


def test_fast_precision_is_bfloat16_or_refused(run):
    status, answer = run("fast")
    if not HAS_BFLOAT16:
        assert status == 2
        return
    assert answer["n_used"] == EXPECTED["fast"]["n_used"]
    assert answer["r_squared"] == pytest.approx(EXPECTED["fast"]["r_squared"], abs=1e-4)
    exact = EXPECTED["json_lines"]["r_squared"]
    assert abs(answer["r_squared"] - exact) > 1e-6  # the exact precision would give this


@pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="It is no x86.")
@pytest.mark.timeout(1200)
def test_an_older_processor_with_one_thread_gives_them_too():
    of_them = "layer or probe or search or compare or refused or kernels"
    command = [sys.executable, "-m", "pytest", "-n", "0", "-k", of_them, __file__]
    done = subprocess.run(
        [*command, "-W", "ignore::ImportWarning", "-p", "no:cacheprovider"],
        cwd=Path(__file__).parents[1],
        env=os.environ | OLDER,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert done.returncode == 0, done.stdout
    assert " passed" in done.stdout
    assert "skipped" not in done.stdout


@pytest.mark.skipif(not IS_OLDER, reason="This is the processor as it is.")
def test_kernels_are_those_of_the_older_processor():
    import numpy as np
    import torch

    assert torch.backends.cpu.get_cpu_capability() == "AVX2"
    assert torch.get_num_threads() == 1
    assert "X86_V4" not in np.show_config("dicts")["SIMD Extensions"]["found"]
