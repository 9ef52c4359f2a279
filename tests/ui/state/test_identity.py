"""Which visitor it is."""

from dataclasses import replace

import pytest
from support.app import browse_from

from clsviz.limits import LOCAL, PUBLIC
from clsviz.ui.state import identity

ALICE, BOB = (identity.new_cookie() for _ in range(2))


@pytest.mark.parametrize(
    ("peer", "forwarded", "n_trusted", "address"),
    [
        ("192.0.2.1", "", 0, "192.0.2.1"),
        ("192.0.2.1", "203.0.113.9", 0, "192.0.2.1"),  # anybody can write that
        ("192.0.2.1", "203.0.113.9", 1, "203.0.113.9"),
        ("192.0.2.1", "198.51.100.7, 203.0.113.9", 1, "203.0.113.9"),  # of which the visitor wrote the first
        ("192.0.2.1", "198.51.100.7, 203.0.113.9", 2, "198.51.100.7"),
        ("192.0.2.1", "203.0.113.9", 2, "192.0.2.1"),  # did not come by both proxies
        ("192.0.2.1", "", 1, "192.0.2.1"),
        ("::ffff:192.0.2.1", "", 0, "192.0.2.1"),
        ("2001:db8:1:2:3:4:5:6", "", 0, "2001:db8:1:2::/64"),
        ("2001:db8:1:2:ffff::1", "", 0, "2001:db8:1:2::/64"),
        ("2001:db8:1:3::1", "", 0, "2001:db8:1:3::/64"),
        ("", "", 0, ""),
        ("x" * 1000, "", 0, "x" * 64),
    ],
)
def test_an_address_counts_as_far_as_it_can_be_believed(
    peer: str, forwarded: str, n_trusted: int, address: str
) -> None:
    assert identity.address_of(peer, forwarded.split(","), n_trusted) == address


def visitor(monkeypatch: pytest.MonkeyPatch, address: str, cookie: str = "", **headers: str) -> object:
    browse_from(monkeypatch, "example.org", address, cookie=cookie, **headers)
    return identity.of(PUBLIC)


def test_a_visitor_is_address_and_cookie(monkeypatch: pytest.MonkeyPatch) -> None:
    alice = visitor(monkeypatch, "192.0.2.1", ALICE)
    assert visitor(monkeypatch, "192.0.2.1", ALICE) == alice
    others = [
        visitor(monkeypatch, "192.0.2.1", BOB),
        visitor(monkeypatch, "192.0.2.2", ALICE),
        visitor(monkeypatch, "192.0.2.1"),
    ]
    assert len({alice, *others}) == 4


def test_a_forged_cookie_counts_for_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    without = visitor(monkeypatch, "192.0.2.1")
    name, _, signature = ALICE.partition(".")
    forged = [f"{'0' * 32}.{signature}", f"{name}.{'0' * 32}", name, f"{name}.", f".{signature}", "x" * 10_000, "é.ü"]
    for cookie in forged:
        assert visitor(monkeypatch, "192.0.2.1", cookie) == without, cookie
    assert visitor(monkeypatch, "192.0.2.1", ALICE) != without


def test_a_forwarded_address_counts_behind_trusted_proxies_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    forwarded = {"X-Forwarded-For": "203.0.113.9"}
    assert visitor(monkeypatch, "192.0.2.1", ALICE, **forwarded) == visitor(monkeypatch, "192.0.2.1", ALICE)
    behind_one = replace(PUBLIC, trusted_proxies=1)
    browse_from(monkeypatch, "example.org", "192.0.2.1", **forwarded)
    assert identity.of(behind_one) == ("203.0.113.9", "")


def test_locally_everybody_is_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    browse_from(monkeypatch, "localhost")
    here = identity.of(LOCAL)
    browse_from(monkeypatch, "example.org", "192.0.2.1")
    assert identity.of(LOCAL) == here
