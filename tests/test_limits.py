import dataclasses
import re
from pathlib import Path

import pytest

from clsviz.errors import SettingError
from clsviz.limits import LOCAL, PUBLIC, Limits, limits_of


@pytest.mark.parametrize("value", [None, "", "0"])
def test_a_server_is_local_unless_told_otherwise(value: str | None) -> None:
    assert limits_of({} if value is None else {"CLSVIZ_PUBLIC": value}) is LOCAL


@pytest.mark.parametrize("value", ["1", "yes", "true"])
def test_a_server_is_public_when_told_so(value: str) -> None:
    assert limits_of({"CLSVIZ_PUBLIC": value}) is PUBLIC


@pytest.mark.parametrize(
    ("environment", "checkout"),
    [
        ({"SPACE_ID": "owner/name"}, "/app"),
        ({"HOSTNAME": "streamlit"}, "/app"),
        ({"HOME": "/home/appuser"}, "/app"),
        ({}, "/mount/src/clsviz"),
    ],
)
def test_a_host_that_shows_apps_to_strangers_is_public_unless_told_otherwise(
    environment: dict[str, str], checkout: str
) -> None:
    assert limits_of(environment, Path(checkout)) is PUBLIC
    assert limits_of(environment | {"CLSVIZ_PUBLIC": ""}, Path(checkout)) is PUBLIC
    assert limits_of(environment | {"CLSVIZ_PUBLIC": "0"}, Path(checkout)) is LOCAL


def test_a_machine_of_ones_own_is_no_such_host() -> None:
    environment = {"HOSTNAME": "streamlit-box", "HOME": "/home/appuser2"}
    assert limits_of(environment, Path("/home/me/mount/src/clsviz")) is LOCAL


def test_the_environment_sets_single_limits() -> None:
    environment = {
        "CLSVIZ_PUBLIC": "1",
        "CLSVIZ_LIMIT_SESSIONS": " 7 ",
        "CLSVIZ_LIMIT_JOB_SECONDS": "12.5",
        "CLSVIZ_LIMIT_VISITOR_JOBS": "none",
        "CLSVIZ_LIMIT_TRUSTED_PROXIES": "0",
        "CLSVIZ_LIMIT_SAMPLE_SIZE": "",
    }
    expected = dataclasses.replace(PUBLIC, sessions=7, job_seconds=12.5, visitor_jobs=None, trusted_proxies=0)
    assert limits_of(environment) == expected
    assert limits_of({"CLSVIZ_LIMIT_SESSIONS": "7"}) == dataclasses.replace(LOCAL, sessions=7)


@pytest.mark.parametrize("name", [field.name for field in dataclasses.fields(PUBLIC) if field.name != "is_public"])
@pytest.mark.parametrize("value", ["many", "-1", "nan", "inf", "1e400", "1,000", "0x10", "٣٤٥x"])
def test_a_limit_that_makes_no_sense_is_refused_with_what_it_may_be(name: str, value: str) -> None:
    variable = "CLSVIZ_STORE_LIMIT" if name == "store_bytes" else f"CLSVIZ_LIMIT_{name.upper()}"
    kind = "a size such as 20MB" if name.endswith("_bytes") else "a (whole number from [01]|number above 0)"
    with pytest.raises(SettingError, match=f"^{variable} is “{value}”. It must be {kind}(, or none)?.$"):
        limits_of({variable: value})


def test_a_limit_that_there_is_not_is_refused_with_those_there_are() -> None:
    with pytest.raises(SettingError, match=r"^CLSVIZ_LIMIT_SESSION is no limit. There are .*CLSVIZ_LIMIT_SESSIONS"):
        limits_of({"CLSVIZ_LIMIT_SESSION": "7"})
    with pytest.raises(SettingError, match=r"^CLSVIZ_LIMIT_IS_PUBLIC is no limit"):
        limits_of({"CLSVIZ_LIMIT_IS_PUBLIC": "1"})


def test_what_there_has_to_be_cannot_be_left_open() -> None:
    with pytest.raises(SettingError, match=r"It must be a whole number from 1.$"):
        limits_of({"CLSVIZ_LIMIT_N_ENCODERS": "none"})
    with pytest.raises(SettingError):
        limits_of({"CLSVIZ_LIMIT_SESSIONS": "0"})


def test_the_table_of_limits_is_complete_and_true() -> None:
    text = (Path(__file__).parents[1] / "docs/hosting.md").read_text("utf-8")
    rows = re.findall(r"^\| `([A-Z_]+)` \| ([^|]+) \| ([^|]+) \|", text, re.MULTILINE)
    told = {name.lower(): (local, public) for name, local, public in rows if hasattr(PUBLIC, name.lower())}

    def written(limits: Limits, name: str) -> str:
        value = getattr(limits, name)
        if value is None:
            return "none"
        sizes = [(2**30, " GB"), (2**20, " MB")] if name.endswith("_bytes") else []
        size, unit = next(((size, unit) for size, unit in sizes if value >= size), (1, ""))
        return f"{value / size:,.0f}{unit}"

    names = [field.name for field in dataclasses.fields(PUBLIC) if field.name != "is_public"]
    assert told == {name: (written(LOCAL, name), written(PUBLIC, name)) for name in names}


@pytest.mark.parametrize(
    ("variable", "text", "name", "value"),
    [
        ("CLSVIZ_LIMIT_SAMPLE_SIZE", "5000", "sample_size", 5000),
        ("CLSVIZ_LIMIT_UPLOAD_BYTES", "20MB", "upload_bytes", 20 * 2**20),
        ("CLSVIZ_LIMIT_UPLOAD_MEMORY_BYTES", "none", "upload_memory_bytes", None),
        ("CLSVIZ_LIMIT_UNPACKED_BYTES", "1.5 GiB", "unpacked_bytes", 3 * 2**29),
        ("CLSVIZ_LIMIT_UNWATCHED_SECONDS", "2.5", "unwatched_seconds", 2.5),
        ("CLSVIZ_LIMIT_UPLOAD_SECONDS", "none", "upload_seconds", None),
        ("CLSVIZ_STORE_LIMIT", "2gb", "store_bytes", 2 * 2**30),
        ("CLSVIZ_STORE_LIMIT", "none", "store_bytes", None),
        ("CLSVIZ_STORE_LIMIT", "", "store_bytes", 5 * 2**30),
    ],
)
def test_each_limit_can_be_set(variable: str, text: str, name: str, value: float | None) -> None:
    limits = limits_of({"CLSVIZ_PUBLIC": "1", variable: text})
    assert limits == dataclasses.replace(PUBLIC, **{name: value})


@pytest.mark.parametrize(
    ("variable", "text"),
    [
        ("CLSVIZ_LIMIT_SAMPLE_SIZE", "2MB"),
        ("CLSVIZ_LIMIT_SAMPLE_SIZE", "2.5"),
        ("CLSVIZ_LIMIT_UPLOAD_BYTES", "none"),
        ("CLSVIZ_STORE_LIMIT", "2 parsecs"),
    ],
)
def test_only_what_is_of_bytes_has_a_size(variable: str, text: str) -> None:
    with pytest.raises(SettingError, match=f"^{variable} is “{text}”. It must be a (size such as 20MB|whole number)"):
        limits_of({variable: text})
