"""What Streamlit knows of the server it runs in: its settings."""

import functools
import os
from importlib.metadata import version

import streamlit as st

from clsviz.limits import Hosting, hosting_of, limits_of

PATHS = "", "where_length_lives", "length_and_search", "compare_models", "try_a_sentence", "inside_the_model"
"""Of the pages."""


def base_path() -> str:
    """What stands before the path of every page: "" or “/name”."""
    path = str(st.get_option("server.baseUrlPath") or "").strip("/")
    return f"/{path}" if path else ""


def allowed_hosts() -> list[str]:
    """The names by which the server may be asked for, none for any: Streamlit's server.allowedHosts."""
    return [str(host).strip().rstrip(".") for host in st.get_option("server.allowedHosts") or ()]


def allowed_origins() -> list[str] | None:
    """The other sites whose pages may talk to the server; None for all: Streamlit's own settings of CORS.

    A proxy may ask by another name than the browser does: browser.serverAddress is the browser's.
    """
    if not st.get_option("server.enableCORS"):
        return None
    address, port = st.get_option("browser.serverAddress"), st.get_option("browser.serverPort")
    own = [f"{scheme}://{address}{end}" for scheme in ("http", "https") for end in ("", f":{port}")]
    others = [str(origin).strip() for origin in st.get_option("server.corsAllowedOrigins") or ()]
    return others if address == "localhost" else others + own  # as it is where nobody says otherwise


def hosting() -> Hosting:
    """Who may reach what, as the environment says; raises SettingError where that cannot be used."""
    return hosting_of(os.environ, is_public=limits_of(os.environ).is_public)


@functools.cache
def script_of_charts() -> str:
    """Where the page finds Plotly, from its own folder; the name changes with what it is."""
    return f"plotly-{version('plotly')}.js"
