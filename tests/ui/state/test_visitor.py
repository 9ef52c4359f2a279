import pytest
from support.app import browse_from

from clsviz.limits import PUBLIC
from clsviz.ui.state import visitor


@pytest.mark.parametrize(
    ("address", "host", "headers", "is_local"),
    [
        (None, "localhost:8501", {}, True),
        (None, "127.0.0.1:8501", {}, True),
        ("::ffff:127.0.0.1", "127.0.0.1:8501", {}, True),  # of a server that listens on all addresses
        ("::ffff:192.0.2.1", "localhost:8501", {}, False),
        ("192.0.2.1", "localhost:8501", {}, False),
        (None, "example.org", {}, False),
        (None, "localhost", {"X-Forwarded-For": "192.0.2.1"}, False),
    ],
)
def test_a_visitor_on_the_same_machine_is_told_from_others(
    address: str | None, host: str, headers: dict[str, str], is_local: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    browse_from(monkeypatch, host, address, **headers)
    assert visitor.is_local() is is_local


def test_a_link_to_an_upload_is_let_through_to_the_error_that_says_what_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    browse_from(monkeypatch, "example.org")
    monkeypatch.setattr(visitor.server, "limits", lambda: PUBLIC)
    for name in (f"upload-{'0' * 32}", "upload-0123", f"upload-{'0' * 32}@main"):
        assert visitor.corpus_problem(name) == ""
    assert "does not offer" in visitor.corpus_problem("upload-notes.txt")  # which would be a file of this machine
