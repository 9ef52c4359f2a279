"""What deploys the demo agrees with itself and with the repository."""

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import yaml

from clsviz.cli.files import read_wanted
from clsviz.experiment import Experiment
from clsviz.limits import PUBLIC, limits_of
from clsviz.measurements import Kind

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"


def instructions(dockerfile: Path) -> list[tuple[str, str]]:
    """Each instruction and its arguments, on one line."""
    text = re.sub(r"\\\n\s*", "", re.sub(r"^#.*\n", "", dockerfile.read_text(encoding="utf-8"), flags=re.MULTILINE))
    return [(word, rest) for line in text.splitlines() if line for word, _, rest in [line.partition(" ")]]


def last(name: str) -> str:
    return [rest for word, rest in instructions(DEPLOY / "Dockerfile") if word == name][-1]


def environment() -> dict[str, str]:
    return dict(word.split("=", 1) for word in shlex.split(last("ENV")))


def compose() -> dict[str, Any]:
    return yaml.safe_load((DEPLOY / "compose.yaml").read_text(encoding="utf-8"))


def front_matter(readme: Path) -> dict[str, Any]:
    return yaml.safe_load(readme.read_text(encoding="utf-8").split("---\n")[1])


def test_the_linter_has_nothing_to_say_of_the_dockerfile() -> None:
    ran = subprocess.run([Path(sys.executable).parent / "hadolint", DEPLOY / "Dockerfile"], capture_output=True)
    assert (ran.returncode, ran.stdout) == (0, b"")


def test_the_image_is_a_public_server_of_an_ordinary_user_that_writes_to_its_volume_alone() -> None:
    settings = environment()
    assert limits_of(settings) is PUBLIC
    assert last("USER") == "1000"
    volume = last("VOLUME")
    run = "\n".join(rest for word, rest in instructions(DEPLOY / "Dockerfile") if word == "RUN")
    for name in ("HOME", "HF_HOME", "CLSVIZ_STORE"):
        assert Path(settings[name]).is_relative_to(volume)
    assert f"useradd --uid 1000 --no-create-home --home-dir {volume} " in run
    health = json.loads(last("HEALTHCHECK").partition("CMD ")[2])
    port = settings["STREAMLIT_SERVER_PORT"]
    assert f"http://127.0.0.1:{port}/ready" in health[-1]
    assert last("EXPOSE") == port
    assert json.loads(last("CMD")) == ["streamlit", "run", "app.py"]


def test_what_the_image_copies_exists_and_is_sent_to_the_builder() -> None:
    sent = [line[1:] for line in (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines() if line[:1] == "!"]
    copied = [
        rest.split()[0] for word, rest in instructions(DEPLOY / "Dockerfile") if word == "COPY" and rest[0] != "-"
    ]
    assert sorted(copied) == sorted(sent)
    assert all((ROOT / name).exists() for name in copied)


def test_compose_runs_the_image_read_only_behind_caddy() -> None:
    services, port = compose()["services"], environment()["STREAMLIT_SERVER_PORT"]
    demo, caddy = services["clsviz"], services["caddy"]
    assert (DEPLOY / demo["build"]["context"]).resolve() == ROOT
    assert (ROOT / demo["build"]["dockerfile"]).is_file()
    assert demo["read_only"]
    assert demo["volumes"] == [f"data:{last('VOLUME')}"]
    assert [path.partition(":")[0] for path in demo["tmpfs"]] == ["/tmp"]
    assert demo["expose"] == [port]
    assert "ports" not in demo  # only Caddy is reached from outside
    assert {"80:80", "443:443"} < set(caddy["ports"])
    named = {volume.partition(":")[0] for service in services.values() for volume in service["volumes"]}
    assert named - {"./Caddyfile"} == set(compose()["volumes"])


def test_caddy_leads_to_the_port_and_lets_uploads_of_the_stated_size_through() -> None:
    text, settings = (DEPLOY / "Caddyfile").read_text(encoding="utf-8"), environment()
    assert f"dynamic a clsviz {settings['STREAMLIT_SERVER_PORT']} {{" in text
    largest = re.search(r"max_size (\d+)MB", text)
    assert largest is not None
    assert 0 < int(largest[1]) - int(settings["STREAMLIT_SERVER_MAX_UPLOAD_SIZE"]) <= 1


def test_a_public_server_lets_visitors_ask_for_everything_in_the_showcase() -> None:
    wanted = read_wanted(DEPLOY / "showcase.toml")
    assert len(set(wanted)) == len(wanted)
    for one in wanted:
        assert one.experiment.sample_size <= PUBLIC.sample_size
        assert one.experiment.probe_size <= PUBLIC.probe_size
        assert one.experiment != Experiment() or one.kind is Kind.VECTORS  # those norms come with clsviz
    assert {one.needs_hub for one in wanted} == {True, False}


def make_space(folder: Path) -> subprocess.CompletedProcess[str]:
    command = ["make", "--silent", "space", f"DIR={folder}", f"PYTHON={sys.executable}"]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True)


def test_a_space_is_what_the_repository_is(tmp_path: Path) -> None:
    space = tmp_path / "space"
    assert make_space(space).returncode == 0
    (space / ".git").mkdir()
    (space / "clsviz" / "old.py").touch()
    assert make_space(space).returncode == 0
    assert (space / ".git").is_dir()
    for name in ("app.py", "requirements.txt", ".dockerignore", ".streamlit/config.toml", "deploy/showcase.toml"):
        assert (space / name).read_bytes() == (ROOT / name).read_bytes()
    package = [path for path in (ROOT / "clsviz").rglob("*") if path.is_file() and path.suffix != ".pyc"]
    assert {path.relative_to(ROOT) for path in package} == {
        path.relative_to(space) for path in (space / "clsviz").rglob("*") if path.is_file()
    }
    about = front_matter(space / "README.md")
    assert (about["sdk"], str(about["app_port"])) == ("docker", environment()["STREAMLIT_SERVER_PORT"])
    assert len(about["short_description"]) <= 60
    added = set(instructions(space / "Dockerfile")) - set(instructions(DEPLOY / "Dockerfile"))
    assert added == {("ENV", "STREAMLIT_SERVER_XSRF_COOKIE_SAME_SITE=none")}
    copied = [rest.split()[0] for word, rest in instructions(space / "Dockerfile") if word == "COPY" and rest[0] != "-"]
    assert all((space / name).exists() for name in copied)


def test_a_space_is_not_written_over_anything_else(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").touch()
    for folder in (Path("."), tmp_path):
        ran = make_space(folder)
        assert ran.returncode != 0
        assert f"{folder} holds something else than a Space" in ran.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]
