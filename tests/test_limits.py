import dataclasses
from pathlib import Path

import pytest

from clsviz.errors import SettingError
from clsviz.limits import LOCAL, PUBLIC, limits_of


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


def test_a_public_server_allows_less() -> None:
    assert PUBLIC.is_public
    assert not LOCAL.is_public
    for name in ("sample_size", "probe_size", "task_size", "n_encoders"):
        assert getattr(PUBLIC, name) < getattr(LOCAL, name)


def test_limits_do_not_change() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        PUBLIC.sample_size = 10**9  # type: ignore[misc]


@pytest.mark.parametrize(
    ("variable", "text", "name", "value"),
    [
        ("CLSVIZ_LIMIT_SAMPLE_SIZE", "5000", "sample_size", 5000),
        ("CLSVIZ_LIMIT_UPLOAD_BYTES", "20MB", "upload_bytes", 20 * 2**20),
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
        ("CLSVIZ_LIMIT_SAMPLE_SIZE", "many"),
        ("CLSVIZ_LIMIT_SAMPLE_SIZE", "none"),
        ("CLSVIZ_LIMIT_SAMPLE_SIZE", "0"),
        ("CLSVIZ_LIMIT_SAMPLE_SIZE", "-5"),
        ("CLSVIZ_LIMIT_UNWATCHED_SECONDS", "2MB"),
        ("CLSVIZ_STORE_LIMIT", "2 parsecs"),
        ("CLSVIZ_STORE_LIMIT", "inf"),
    ],
)
def test_a_limit_that_cannot_be_used_says_which_and_what_it_must_be(variable: str, text: str) -> None:
    with pytest.raises(SettingError, match=f"{variable} is “{text}”; it must be a number"):
        limits_of({variable: text})
