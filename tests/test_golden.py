"""Commands whose answers are recorded in golden.json; golden.py makes their inputs."""

import json
from pathlib import Path

import golden
import pytest

from clsviz import cli

EXPECTED = json.loads((Path(__file__).parent / "golden.json").read_text())

TOLERANCES = {"probe": 4e-3, "search_dot": 2e-3}
"""Rounding, which batches change, decides the norms of middle layers, and which of two texts with
all but equal calibrated scores is the tenth; of others 1e-4.
"""

CPU = Path("/proc/cpuinfo")
HAS_BFLOAT16 = CPU.exists() and "_bf16" in CPU.read_text()

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


def difference(answer, expected):
    """The largest difference of all numbers, in relation to those below 1; all else is equal."""
    if isinstance(expected, dict):
        pairs = ((answer[key], value) for key, value in expected.items())
        return max((difference(*pair) for pair in pairs), default=0)
    if isinstance(expected, list):
        return max((difference(*pair) for pair in zip(answer, expected, strict=True)), default=0)
    if isinstance(expected, float) and answer is not None:
        return abs(answer - expected) / min(1, abs(expected) + 0.01)
    assert answer == expected
    return 0


@pytest.mark.parametrize("name", [name for name in EXPECTED if name != "fast"])
def test_answers_are_the_recorded_ones(name, run):
    status, answer = run(name)
    assert status == 0, answer
    differences = {key: difference(answer[key], value) for key, value in EXPECTED[name].items()}
    assert max(differences.values()) < TOLERANCES.get(name, 1e-4), differences


def test_fast_precision_is_bfloat16_or_refused(run):
    status, answer = run("fast")
    if not HAS_BFLOAT16:
        assert status == 2
        return
    assert answer["n_used"] == EXPECTED["fast"]["n_used"]
    assert answer["r_squared"] == pytest.approx(EXPECTED["fast"]["r_squared"], abs=1e-4)
    exact = EXPECTED["json_lines"]["r_squared"]
    assert abs(answer["r_squared"] - exact) > 1e-6  # the exact precision would give this
