"""What measures on many machines says what it should, in flags that there are."""

import argparse
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from packaging.requirements import Requirement

from clsviz.cli import arguments
from clsviz.settings import ALL

DEPLOY = Path(__file__).parents[2] / "deploy"


def content(path: str) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((DEPLOY / path).read_text(encoding="utf-8"))
    return found


def parsed(command: str, **variables: str) -> argparse.Namespace:
    """The options of the command of ours in a line of the shell."""
    for name, value in variables.items():
        command = re.sub(rf"\${name}\b", value, command)
    words = shlex.split(command.replace("\\\n", " "))
    return arguments.parse(words[words.index("measure") :])


def commands_in(readme: str) -> list[str]:
    blocks = re.findall(r"```shell\n(.*?)```", (DEPLOY / readme).read_text(encoding="utf-8"), re.DOTALL)
    return [re.sub(r"\s+done\s*$", "", block) for block in blocks]


def check_pod(pod: dict[str, Any]) -> None:
    """It has what it mounts, asks for memory, and runs no other than the one container."""
    (container,) = pod["containers"]
    assert {mount["name"] for mount in container["volumeMounts"]} == {volume["name"] for volume in pod["volumes"]}
    assert [mount["mountPath"] for mount in container["volumeMounts"]] == ["/data"]
    assert container["resources"]["limits"]["memory"]
    assert container["image"].startswith("REGISTRY/")


@pytest.mark.parametrize("readme", ["jobs/README.md", "ray/README.md"])
def test_the_commands_of_the_readme_are_understood(readme: str) -> None:
    commands = commands_in(readme)
    assert len(commands) == 2
    assert [parsed(command, rank="3").sample_size for command in commands] == ["all", "all"]


def test_the_job_numbers_as_many_workers_as_it_says_there_are() -> None:
    job = content("jobs/kubernetes-indexed-job.yaml")
    assert (job["apiVersion"], job["kind"]) == ("batch/v1", "Job")
    spec = job["spec"]
    assert spec["completionMode"] == "Indexed"
    pod = spec["template"]["spec"]
    check_pod(pod)
    assert pod["restartPolicy"] == "Never"
    shell, flag, command = pod["containers"][0]["command"]
    assert (shell, flag) == ("sh", "-c")
    options = parsed(command, JOB_COMPLETION_INDEX="3")
    assert (options.rank, options.of) == (3, spec["completions"])
    experiment, _ = arguments.experiment_of(options)
    assert experiment.sample_size == ALL


def test_the_array_gives_each_task_its_rank(tmp_path: Path) -> None:
    python = tmp_path / "python3"
    python.write_text(f'#!/bin/sh\nexec {sys.executable} -c "import sys; print(*sys.argv[1:], sep=chr(10))" "$@"\n')
    python.chmod(0o755)
    slurm = {"SLURM_ARRAY_TASK_ID": "2", "SLURM_ARRAY_TASK_COUNT": "4", "SLURM_CPUS_PER_TASK": "8"}
    ran = subprocess.run(
        [DEPLOY / "jobs/slurm.sh", "--corpus", "my corpus.txt", "--sample-size=all"],
        env=os.environ | slurm | {"PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=True,
    )
    module, name, *words = ran.stdout.splitlines()
    assert (module, name) == ("-m", "clsviz")
    options = arguments.parse(words)
    assert (options.corpus, options.rank, options.of) == ("my corpus.txt", 2, 4)


def test_the_ray_job_has_a_head_that_measures_nothing_and_nodes_of_the_pinned_version() -> None:
    job = content("ray/rayjob.yaml")
    assert (job["apiVersion"], job["kind"]) == ("ray.io/v1", "RayJob")
    cluster = job["spec"]["rayClusterSpec"]
    (pin,) = Requirement((DEPLOY / "requirements-ray.txt").read_text().splitlines()[-1]).specifier
    assert cluster["rayVersion"] == pin.version
    assert f"FROM rayproject/ray:{pin.version}-" in (DEPLOY / "ray/Dockerfile").read_text(encoding="utf-8")
    head, (nodes,) = cluster["headGroupSpec"], cluster["workerGroupSpecs"]
    assert head["rayStartParams"] == {"num-cpus": "0"}
    assert nodes["minReplicas"] <= nodes["replicas"] <= nodes["maxReplicas"]
    for group in (head, nodes):
        check_pod(group["template"]["spec"])


def test_the_ray_job_runs_a_command_that_there_is() -> None:
    options = parsed(content("ray/rayjob.yaml")["spec"]["entrypoint"])
    assert (options.engine, options.ray_address, options.progress) == ("ray", "auto", "json")


def test_the_linter_has_nothing_to_say_of_the_image_of_the_nodes() -> None:
    ran = subprocess.run([Path(sys.executable).parent / "hadolint", DEPLOY / "ray/Dockerfile"], capture_output=True)
    assert (ran.returncode, ran.stdout) == (0, b"")
