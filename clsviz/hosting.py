"""Who may reach what of a server beside its pages, and which sites may show it: decided once, when it starts."""

import ipaddress
import re
from collections.abc import Mapping
from dataclasses import dataclass

from clsviz.errors import SettingError
from clsviz.settings import shown

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
