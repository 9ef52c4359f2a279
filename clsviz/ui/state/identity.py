"""Which visitor this is: address and cookie, as far as they can be believed."""

import ipaddress
from collections.abc import Hashable, Sequence

import streamlit as st
from streamlit.web.server.starlette.starlette_app_utils import decode_xsrf_token_string

from clsviz.limits import Limits

_COOKIE = "_streamlit_xsrf"
"""Streamlit gives it to every browser before the first page."""

_MOST_CHARACTERS = 64


def of(limits: Limits) -> Hashable:
    """What tells this visitor from others; where strangers do not visit, everybody is the same.

    Without the cookie, as in a frame on another site, it is the address alone.
    """
    if not limits.is_public:
        return ""
    forwarded = st.context.headers.get("X-Forwarded-For", "")
    address = address_of(st.context.ip_address or "", forwarded.split(","), limits.trusted_proxies)
    token, _ = decode_xsrf_token_string(st.context.cookies.get(_COOKIE, ""))
    return address, (token or b"").hex()


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
