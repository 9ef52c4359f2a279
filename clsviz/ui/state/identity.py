"""Which visitor this is: address and cookie, as far as they can be believed."""

import functools
import hashlib
import hmac
import ipaddress
import secrets
from collections.abc import Hashable, Mapping, Sequence

import streamlit as st

from clsviz.limits import Limits

COOKIE = "clsviz_visitor"
"""The server gives it to every browser with the first page."""

_MOST_CHARACTERS = 64


def of(limits: Limits) -> Hashable:
    """What tells this visitor from others; where strangers do not visit, everybody is the same.

    Without the cookie, as in a frame on another site, it is the address alone.
    """
    if not limits.is_public:
        return ""
    forwarded = st.context.headers.get("X-Forwarded-For", "")
    address = address_of(st.context.ip_address or "", forwarded.split(","), limits.trusted_proxies)
    return address, name_in(st.context.cookies)


def new_cookie() -> str:
    """The cookie of a new visitor: a random name, and a signature that only this server can make."""
    name = secrets.token_hex(16)
    return f"{name}.{_signature(name)}"


def name_in(cookies: Mapping[str, str]) -> str:
    """The name in a cookie that this server gave; "" where there is none."""
    name, _, signature = cookies.get(COOKIE, "").partition(".")
    return name if hmac.compare_digest(signature.encode(), _signature(name).encode()) else ""


@functools.cache
def _secret() -> bytes:
    """Streamlit's own secret, which replicas share; else one that lasts as long as the server."""
    return str(st.get_option("server.cookieSecret") or "").encode() or secrets.token_bytes(32)


def _signature(name: str) -> str:
    return hmac.new(_secret(), f"{COOKIE} {name}".encode(), hashlib.sha256).hexdigest()[:32]


def address_of(peer: str, forwarded: Sequence[str], n_trusted: int) -> str:
    """The visitor's address: the peer's, or what the first of the trusted proxies says.

    peer: who is connected to this server. forwarded: whom proxies say that they forward, each at the end of what it
        got; what stands before the last n_trusted anybody can have written.
    """
    named = [name.strip() for name in forwarded if name.strip()]
    address = named[-n_trusted] if 0 < n_trusted <= len(named) else peer
    try:
        known = ipaddress.ip_address(address.removeprefix("::ffff:"))
    except ValueError:
        return address[:_MOST_CHARACTERS]
    # Whoever has one IPv6 address has all of its network.
    return str(known if known.version == 4 else ipaddress.ip_network((known, 64), strict=False))
