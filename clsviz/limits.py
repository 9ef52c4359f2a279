"""What one server allows its visitors, and who may reach what of it beside its pages: decided once, when it starts."""

import ipaddress
import re
from collections.abc import Mapping
from dataclasses import Field, dataclass, fields, replace
from pathlib import Path
from typing import Any

from clsviz.errors import SettingError
from clsviz.settings import shown

PREFIX = "CLSVIZ_LIMIT_"
"""What the name of the environment variable begins with that sets a limit."""


@dataclass(frozen=True)
class Limits:
    """The limits of a server; by default of one on the machine of whoever uses it.

    is_public: strangers may visit, so only models and corpora of the catalogue and uploads are open to them, without
        revisions, and no path of this machine.
    sample_size, probe_size: most sentences of a sample, and most of those whose vectors are measured.
    n_encoders: models that are kept in memory at the same time.
    unwatched_seconds: how long a run goes on once nobody watches it, so that reloading the page does not stop it; None
        means to its end.
    visitor_jobs: how many measurements of one visitor may run or wait; None means any number.
    job_seconds: how long a measurement may run; it keeps what it has measured by then. None means to its end.
    sessions: how many pages may be open at the same time; None means any number.
    sentences_per_minute: how many sentences of their own a visitor may have measured in a minute; None: any number.
    requests_per_minute, previews_per_minute: how many answers a visitor gets in a minute, and how many of them may be
        pictures and summaries of links, which take a third of a second each; None: any number.
    trusted_proxies: how many proxies before this server are believed when they say whom they forward.
    upload_bytes, unpacked_bytes: the largest file that can be uploaded, and the most that it may hold when unpacked.
    upload_memory_bytes: how large the uploads of ten minutes may be together, which are in memory while their pages are
        open; one address may have a quarter. More are refused. None means as they will.
    upload_seconds: how long an upload is kept once nobody who looks at it is there; None means for good.
    store_bytes: how large the store may become before what was longest unused is deleted; None means as it will.
    """

    is_public: bool = False
    sample_size: int = 1_000_000
    probe_size: int = 20_000
    n_encoders: int = 2
    unwatched_seconds: float | None = None
    visitor_jobs: int | None = None
    job_seconds: float | None = None
    sessions: int | None = None
    sentences_per_minute: int | None = None
    requests_per_minute: int | None = None
    previews_per_minute: int | None = None
    trusted_proxies: int = 0
    upload_bytes: int = 200 * 2**20
    unpacked_bytes: int = 2 * 2**30
    upload_memory_bytes: int | None = None
    upload_seconds: float | None = None
    store_bytes: int | None = None


LOCAL = Limits()

PUBLIC = Limits(
    is_public=True,
    sample_size=20_000,
    probe_size=5_000,
    n_encoders=1,
    unwatched_seconds=15.0,
    visitor_jobs=3,
    job_seconds=300.0,
    sessions=120,
    sentences_per_minute=1_200,
    requests_per_minute=1_200,
    previews_per_minute=60,
    trusted_proxies=0,
    upload_bytes=20 * 2**20,
    unpacked_bytes=200 * 2**20,
    upload_memory_bytes=200 * 2**20,
    upload_seconds=120.0,
    store_bytes=5 * 2**30,
)

_FROM_ZERO = ("trusted_proxies",)
"""Limits that may be zero."""

_VARIABLES = {"store_bytes": "CLSVIZ_STORE_LIMIT"}
"""The variables that are not called PREFIX and the name of the limit."""

_UNITS = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}


def limits_of(environment: Mapping[str, str], checkout: Path = Path(__file__).parents[1]) -> Limits:
    """PUBLIC where CLSVIZ_PUBLIC is set to anything but 0, LOCAL where it is 0; where it is not set, the host decides.

    CLSVIZ_LIMIT_SESSIONS and so on, and CLSVIZ_STORE_LIMIT, set single limits; raises SettingError if one of these
    cannot be used.

    Hosts that show an app to strangers are public on their own. Hugging Face Spaces say who they are. Streamlit
    Community Cloud documents no sign, so any one of three counts that are seen there: the name of the machine, the
    home folder, and where the repository is checked out.
    """
    told = environment.get("CLSVIZ_PUBLIC")
    is_space = "SPACE_ID" in environment
    is_community_cloud = (
        environment.get("HOSTNAME") == "streamlit"
        or environment.get("HOME") == "/home/appuser"
        or checkout.is_relative_to("/mount/src")
    )
    is_public = told != "0" if told else is_space or is_community_cloud
    limits = PUBLIC if is_public else LOCAL
    settable = [field for field in fields(Limits) if field.type is not bool]
    by_name = {_VARIABLES.get(field.name, f"{PREFIX}{field.name.upper()}"): field for field in settable}
    set_here = {name: text.strip() for name, text in environment.items() if name.startswith(PREFIX) or name in by_name}
    set_here = {name: text for name, text in set_here.items() if text}
    if unknown := sorted(set_here.keys() - by_name.keys()):
        raise SettingError(f"{unknown[0]} is no limit. There are {', '.join(sorted(by_name))}.")
    changes: dict[str, Any] = {by_name[name].name: _read(name, text, by_name[name]) for name, text in set_here.items()}
    return replace(limits, **changes) if changes else limits


def _read(name: str, text: str, field: Field[Any]) -> float | None:
    """The value of a limit: a number, or where it is of bytes a size such as 20MB; raises SettingError."""
    may_be_none, is_whole = field.type not in (int, float), field.type in (int, int | None)
    is_size = field.name.endswith("_bytes")
    if may_be_none and text.casefold() == "none":
        return None
    fraction = "" if is_whole and not is_size else r"(?:\.\d{1,9})?"
    unit = "([KMGT]?)i?B?" if is_size else "()"
    match = re.fullmatch(rf"(\d{{1,15}}{fraction}) ?{unit}", text, re.ASCII | re.IGNORECASE)
    value = float(match[1]) * _UNITS[match[2].upper()] if match else -1.0
    least = 0 if field.name in _FROM_ZERO else 1
    if (value < least) if is_whole else (value <= 0):
        number = f"a whole number from {least}" if is_whole else "a number above 0"
        kind = "a size such as 20MB" if is_size else number
        raise SettingError(f"{name} is “{text[:60]}”. It must be {kind}{', or none' if may_be_none else ''}.")
    return int(value) if is_whole else value


Network = ipaddress.IPv4Network | ipaddress.IPv6Network

LOOPBACK: tuple[Network, ...] = (ipaddress.ip_network("127.0.0.0/8"), ipaddress.ip_network("::1"))
"""This machine."""

_LOCAL_FRAMES = "'self' http://localhost:* http://127.0.0.1:*"
"""Pages on the same machine, such as a notebook."""

_WORDS: dict[str, tuple[Network, ...]] = {
    "loopback": LOOPBACK,
    "none": (),
    "all": (ipaddress.ip_network("0.0.0.0/0"), ipaddress.ip_network("::/0")),
}


@dataclass(frozen=True)
class Hosting:
    """What a server shows to whom.

    frame_ancestors: which sites may show it in a frame, as the directive of a Content-Security-Policy has it.
    metrics: the networks from which /metrics may be read.
    """

    frame_ancestors: str
    metrics: tuple[Network, ...] = LOOPBACK

    @property
    def may_be_framed(self) -> bool:
        """Whether any page may show it in a frame."""
        return self.frame_ancestors != "'none'"

    def shows_metrics(self, address: str, *, is_forwarded: bool) -> bool:
        """Whether whoever asks from `address` may read the metrics.

        is_forwarded: whether a proxy asks on behalf of somebody. What it says of them may be forged, so this machine
        itself does not count then.
        """
        if is_forwarded and is_this_machine(address):
            return False
        asking = _address(address)
        return asking is not None and any(asking in network for network in self.metrics)


def is_this_machine(address: str) -> bool:
    """Whether whoever asks from `address` is on the same machine, as a proxy may be."""
    asking = _address(address)
    return asking is not None and asking.is_loopback


def _address(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(text.removeprefix("::ffff:"))  # an IPv4 address on an IPv6 socket
    except ValueError:
        return None


def hosting_of(environment: Mapping[str, str], *, is_public: bool) -> Hosting:
    """As CLSVIZ_FRAME_ANCESTORS and CLSVIZ_METRICS say; raises SettingError where one of them cannot be used.

    Where they are not set, a public server may be shown by any site, a local one by pages on this machine, and metrics
    are for this machine alone.
    """
    frames = environment.get("CLSVIZ_FRAME_ANCESTORS", "").strip() or ("*" if is_public else _LOCAL_FRAMES)
    if not re.fullmatch(r"[\w:/.*'\[\]-]+( +[\w:/.*'\[\]-]+)*", frames, re.ASCII):
        raise SettingError(
            f"CLSVIZ_FRAME_ANCESTORS is “{shown(frames)}”; it must be sites with spaces between them, such as "
            "“'self' https://example.org”, or * or 'none'."
        )
    return Hosting(frames, _networks(environment.get("CLSVIZ_METRICS", "").strip() or "loopback"))


def _networks(text: str) -> tuple[Network, ...]:
    if text in _WORDS:
        return _WORDS[text]
    try:
        return tuple(ipaddress.ip_network(part.strip()) for part in text.split(","))
    except ValueError:
        raise SettingError(
            f"CLSVIZ_METRICS is “{shown(text)}”; it must be {', '.join(_WORDS)}, or networks with commas between them, "
            "such as 10.0.0.0/8."
        ) from None
