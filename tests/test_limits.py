import dataclasses

import pytest

from clsviz.limits import LOCAL, PUBLIC, limits_of


@pytest.mark.parametrize("value", [None, "", "0"])
def test_a_server_is_local_unless_told_otherwise(value: str | None) -> None:
    assert limits_of({} if value is None else {"CLSVIZ_PUBLIC": value}) is LOCAL


@pytest.mark.parametrize("value", ["1", "yes", "true"])
def test_a_server_is_public_when_told_so(value: str) -> None:
    assert limits_of({"CLSVIZ_PUBLIC": value}) is PUBLIC


def test_a_public_server_allows_less() -> None:
    assert PUBLIC.is_public
    assert not LOCAL.is_public
    for name in ("sample_size", "probe_size", "n_encoders"):
        assert getattr(PUBLIC, name) < getattr(LOCAL, name)


def test_limits_do_not_change() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        PUBLIC.sample_size = 10**9  # type: ignore[misc]
