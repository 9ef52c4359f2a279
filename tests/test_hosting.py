import pytest

from clsviz.errors import SettingError
from clsviz.limits import hosting_of


def test_a_public_server_may_be_shown_anywhere_and_a_local_one_on_its_machine() -> None:
    assert hosting_of({}, is_public=True).frame_ancestors == "*"
    local = hosting_of({}, is_public=False).frame_ancestors.split()
    assert "'self'" in local
    assert "http://localhost:*" in local
    assert "*" not in local


@pytest.mark.parametrize(
    "text", ["'none'", "'self' https://huggingface.co https://*.hf.space", "http://[::1]:8888", "*"]
)
def test_frames_are_as_the_setting_says(text: str) -> None:
    hosting = hosting_of({"CLSVIZ_FRAME_ANCESTORS": f" {text} "}, is_public=True)
    assert hosting.frame_ancestors == text
    assert hosting.may_be_framed == (text != "'none'")


@pytest.mark.parametrize("text", ["*; script-src *", "a,b", "https://a\r\nX: y", "https://a b;", "\N{BULLET}"])
def test_frames_cannot_smuggle_in_another_directive(text: str) -> None:
    with pytest.raises(SettingError, match="CLSVIZ_FRAME_ANCESTORS"):
        hosting_of({"CLSVIZ_FRAME_ANCESTORS": text}, is_public=True)


@pytest.mark.parametrize(
    ("setting", "address", "is_forwarded", "may_read"),
    [
        (None, "127.0.0.1", False, True),
        (None, "::ffff:127.0.0.1", False, True),
        (None, "::1", False, True),
        (None, "127.0.0.1", True, False),  # a proxy on this machine asks for somebody
        (None, "10.1.2.3", False, False),
        ("", "10.1.2.3", False, False),
        ("loopback", "127.0.0.1", False, True),
        ("none", "127.0.0.1", False, False),
        ("all", "203.0.113.9", True, True),
        ("all", "2001:db8::1", False, True),
        ("10.0.0.0/8, 192.0.2.7", "10.1.2.3", False, True),
        ("10.0.0.0/8, 192.0.2.7", "192.0.2.7", False, True),
        ("10.0.0.0/8, 192.0.2.7", "192.0.2.8", False, False),
        ("10.0.0.0/8", "127.0.0.1", False, False),
        ("all", "testclient", False, False),
    ],
)
def test_metrics_are_for_whom_the_setting_says(
    setting: str | None, address: str, is_forwarded: bool, may_read: bool
) -> None:
    hosting = hosting_of({} if setting is None else {"CLSVIZ_METRICS": setting}, is_public=True)
    assert hosting.shows_metrics(address, is_forwarded=is_forwarded) == may_read


@pytest.mark.parametrize("text", ["everybody", "10.0.0.0/40", "10.1.2.3/8", ","])
def test_metrics_for_nobody_known_are_refused(text: str) -> None:
    with pytest.raises(SettingError, match="CLSVIZ_METRICS"):
        hosting_of({"CLSVIZ_METRICS": text}, is_public=False)
