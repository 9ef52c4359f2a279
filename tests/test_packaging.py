"""The package as it is installed: what it depends on, what it brings along, and its command."""

import os
import re
import socket
import subprocess
import sys
import time
import tomllib
import urllib.request
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from support.programs import BRIEF

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def pins() -> dict[str, Requirement]:
    lines = (ROOT / "requirements.txt").read_text(encoding="utf-8").splitlines()
    found = [Requirement(text) for line in lines if (text := line.partition("#")[0].strip())]
    return {canonicalize_name(requirement.name): requirement for requirement in found}


def ranges() -> dict[str, Requirement]:
    return {canonicalize_name(Requirement(text).name): Requirement(text) for text in PROJECT["dependencies"]}


def test_the_pins_and_the_ranges_are_of_the_same_packages() -> None:
    assert list(pins()) == sorted(pins())
    assert pins().keys() == ranges().keys()


@pytest.mark.parametrize("name", sorted(ranges()))
def test_each_pin_is_inside_its_range(name: str) -> None:
    (pin,) = pins()[name].specifier
    assert pin.operator == "=="
    assert ranges()[name].specifier, "a range says at least the lowest version"
    assert ranges()[name].specifier.contains(pin.version)


def test_the_pin_of_each_extra_is_inside_its_range() -> None:
    for extra, (text,) in PROJECT["optional-dependencies"].items():
        lines = (ROOT / "deploy" / f"requirements-{extra}.txt").read_text(encoding="utf-8").splitlines()
        (pinned,) = [Requirement(line) for line in lines if not line.startswith("#")]
        asked = Requirement(text)
        assert (pinned.name, pinned.extras) == (asked.name, asked.extras)
        assert asked.specifier.contains(str(pinned.specifier).removeprefix("=="))


def test_every_python_that_is_supported_is_said_in_one_way() -> None:
    lowest = re.fullmatch(r">=(3\.\d+)", PROJECT["requires-python"])
    assert lowest is not None
    tools = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]
    assert tools["ruff"]["target-version"] == "py" + lowest[1].replace(".", "")
    assert f"Python {lowest[1]} or newer" in (ROOT / "Makefile").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder into which the package was installed as a user installs it; what it depends on is there already."""
    folder = tmp_path_factory.mktemp("installed")
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps"]
    subprocess.run([*pip, "--no-build-isolation", "--no-index", f"--target={folder / 'site'}", ROOT], check=True)
    return folder / "site"


def environment(site: Path) -> dict[str, str]:
    return os.environ | {"PYTHONPATH": str(site), "PYTHONWARNINGS": "error"}


def test_everything_that_is_needed_at_run_time_is_installed(site: Path) -> None:
    source, installed = ROOT / "clsviz", site / "clsviz"
    for path in source.rglob("*"):
        if path.is_file() and path.suffix != ".pyc":
            assert (installed / path.relative_to(source)).read_bytes() == path.read_bytes()
    config = Path(".streamlit/config.toml")
    assert (installed / "dashboard" / config).read_bytes() == (ROOT / config).read_bytes()
    assert not [path for path in site.iterdir() if path.name in ("tests", "docs", "benchmarks", "app.py")]


def test_the_command_runs_from_anywhere(site: Path, tmp_path: Path) -> None:
    ran = subprocess.run([site / "bin" / "clsviz", "--help"], cwd=tmp_path, env=environment(site), capture_output=True)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.startswith(b"usage: clsviz ")
    assert b"compare" in ran.stdout


def test_the_library_finds_its_lazy_parts(site: Path, tmp_path: Path) -> None:
    program = "import clsviz; print(clsviz.__file__, *(getattr(clsviz, name) for name in clsviz.__all__))"
    ran = subprocess.run(
        [sys.executable, "-c", BRIEF + program], cwd=tmp_path, env=environment(site), capture_output=True, text=True
    )
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.startswith(str(site))


def test_the_command_alone_starts_the_dashboard_with_its_settings(site: Path, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    address = f"http://127.0.0.1:{port}"
    flags = [f"--server.port={port}", "--server.headless=true", "--server.address=127.0.0.1"]
    with (tmp_path / "log").open("w") as log:
        process = subprocess.Popen(
            [site / "bin" / "clsviz", *flags],
            cwd=tmp_path,
            env=environment(site) | {"CLSVIZ_STORE": str(tmp_path / "store"), "PYTHONWARNINGS": "default"},
            stdout=log,
            stderr=subprocess.STDOUT,
        )
        try:
            deadline = time.monotonic() + 60
            while not _is_healthy(address):
                assert process.poll() is None, (tmp_path / "log").read_text()
                assert time.monotonic() < deadline, (tmp_path / "log").read_text()
                time.sleep(0.1)
            with urllib.request.urlopen(address) as page:
                assert page.status == 200
        finally:
            process.terminate()
            status = process.wait(30)
    printed = (tmp_path / "log").read_text()
    assert status in (0, -15), printed
    assert f":{port}" in printed
    assert "usage statistics" not in printed  # what Streamlit says unless its settings are found
    assert "Traceback" not in printed


def _is_healthy(address: str) -> bool:
    try:
        with urllib.request.urlopen(f"{address}/_stcore/health", timeout=5) as answer:
            return answer.status == 200
    except OSError:
        return False
