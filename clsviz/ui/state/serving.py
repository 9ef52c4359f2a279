"""What Streamlit knows of the server it runs in: its settings, its sessions, and the page it sends to browsers."""

import html
import json
import os
from importlib.metadata import version
from pathlib import Path

import streamlit as st
from starlette.requests import Request
from starlette.responses import Response
from streamlit import file_util
from streamlit.runtime import exists, get_instance
from streamlit.web.server.starlette.starlette_routes import _ensure_xsrf_cookie
from streamlit.web.server.starlette.starlette_server_config import STATIC_ASSET_CACHE_MAX_AGE_SECONDS

from clsviz.hosting import Hosting, hosting_of
from clsviz.limits import limits_of

_UI = Path(__file__).parents[1]

PATHS = "", "where_length_lives", "length_and_search", "try_a_sentence", "compare_models", "inside_the_model"
"""Of the pages."""

SCRIPTS_STAY_SECONDS = STATIC_ASSET_CACHE_MAX_AGE_SECONDS
"""How long a browser keeps a script or a style, whose name changes with what is in it."""

TITLE = "<title>clsviz</title>"
"""Of the page that a browser is sent, before it draws anything."""

_STREAMLITS_TITLE = "<title>Streamlit</title>"
_ROOT, _END_OF_HEAD = '<div id="root">', "</head>"


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


def n_sessions() -> int:
    """How many browsers are connected."""
    return get_instance()._session_mgr.num_active_sessions() if exists() else 0


def give_cookie(request: Request, answer: Response) -> None:
    """Give a browser the cookie that tells visitors apart, or the one that it has.

    Streamlit gives it with the answer to a question that the browser asks only while it connects.
    """
    _ensure_xsrf_cookie(request, answer)


def static_folder() -> Path:
    """Where Streamlit has the files that it sends to browsers."""
    return Path(file_util.get_static_dir())


def shell(*, is_embedded: bool = False) -> str:
    """The page that Streamlit sends, whatever the path, with the app's style: a browser draws everything else in it.

    There the style is before what it applies to, which would move if it came later; and in the body, after Streamlit's
    own. The script of charts is fetched before it is asked for, but not run: a browser that runs it cannot ask for what
    the page shows. is_embedded: shown in a frame of another page.

    The browser is told where the server is, and what it would ask it first: so it connects at once.
    """
    page = (static_folder() / "index.html").read_text(encoding="utf-8")
    names = ("style.css", "embedded.css") if is_embedded else ("style.css",)
    style = "".join(map(of_ui, names))
    script = script_of_charts()
    ahead = f'<link rel="preload" as="script" href="./{html.escape(script)}">\n  '
    page = page.replace(_STREAMLITS_TITLE, TITLE, 1)
    page = page.replace(_END_OF_HEAD, f"{ahead}<script>{_told()}</script>\n  {_END_OF_HEAD}", 1)
    return page.replace(_ROOT, f"<style>\n{style}</style>\n    {_ROOT}", 1)


def of_ui(name: str) -> str:
    """What is in a file of the app’s own that goes to the browser as it is."""
    return (_UI / name).read_text(encoding="utf-8")


def _told() -> str:
    """Where the server is, and the answer of its /_stcore/host-config, for Streamlit's script.

    Behind a proxy that puts something before all paths, the browser finds both out as it always does.
    """
    base, pages = json.dumps(base_path()), "|".join(filter(None, PATHS))
    config = {"allowedOrigins": list(st.get_option("client.allowedOrigins")), "useExternalAuthToken": False}
    told = json.dumps(config).replace("<", "\\u003c")
    return (
        f'if (location.pathname.replace(/\\/(?:{pages})?\\/?$/, "") === {base}) '
        f'window.__streamlit = {{BACKEND_BASE_URL: location.origin + {base} + "/", HOST_CONFIG: {told}}};'
    )


def font() -> Path | None:
    """The file of the font that the pages are set in, if it is where it was."""
    return next(static_folder().glob("static/media/SourceSansVF-Upright*.woff2"), None)


def address_of_font() -> str | None:
    """Where the page that Streamlit sends finds that font."""
    file = font()
    return f"./{file.relative_to(static_folder()).as_posix()}" if file else None


def script_of_charts() -> str:
    """Where the page finds Plotly, from its own folder; the name changes with what it is."""
    return f"plotly-{version('plotly')}.js"
