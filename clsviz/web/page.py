"""The page that Streamlit sends to browsers, and what is changed in it; where nothing matches, it is Streamlit's."""

import functools
import html
import os
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from urllib.parse import urlencode

from clsviz import words
from clsviz.experiment import Experiment
from clsviz.limits import limits_of
from clsviz.ui.state import serving

_UI = Path(__file__).parents[1] / "ui"

PICTURE, SIZE = "/preview.png", (1200, 630)
"""Where the picture of a link is, and its pixels, as social networks show it in full."""

PAGE_PARAMETER = "page"
"""Which page a picture is of, beside the settings of the link."""

TITLE = "<title>clsviz</title>"
"""Of the page before it is drawn, in the place of Streamlit's."""


FIRST = Path(__file__).parent / "first"
"""What pages open with, as `python -m docs.first_pictures` found it in a browser."""

MENU = """<script>
  document.addEventListener("click", event => { // on a phone the menu covers the page that was chosen from it
    if (innerWidth <= 768 && event.target.closest('[data-testid="stSidebar"] [data-testid="stPageLink-NavLink"]')) {
      document.querySelector('[data-testid="stSidebarCollapseButton"] button')?.click()
    }
  })
</script>"""
"""Streamlit's own menu goes away so, but would drop the settings from its links."""

LEAVE = """<script>
  try { // a visitor who chose a theme, or put the sidebar away, has another page than the one that is stored
    for (const [name, value] of Object.entries(localStorage)) { // that of the system is noted of all who were here
      const isPutAway = /^stSidebarCollapsed/.test(name) && value === "true" && innerWidth > 768
      if (/^stActiveTheme/.test(name) && value !== '"System"' || isPutAway) {
        document.getElementById("first").remove()
        break
      }
    }
  } catch {}
</script>"""


@functools.cache
def shell(*, is_embedded: bool = False) -> str:
    """The page, whatever the path, with the app's style; is_embedded: shown in a frame of another page.

    There the style is before what it applies to, which would move if it came later; and in the body, after Streamlit's
    own. The script of charts is ours, so Streamlit's is not fetched ahead.
    """
    page = (files("streamlit") / "static" / "index.html").read_text(encoding="utf-8")
    names = ("style.css", "embedded.css") if is_embedded else ("style.css",)
    style = "".join((_UI / name).read_text(encoding="utf-8") for name in names)
    ahead = f'<link rel="preload" as="script" href="./{html.escape(serving.script_of_charts())}">'
    page = page.replace("<title>Streamlit</title>", TITLE, 1)
    page = page.replace("</head>", f"  {ahead}\n  </head>", 1).replace("</body>", f"  {MENU}\n  </body>", 1)
    return page.replace('<div id="root">', f'<style>\n{style}</style>\n    <div id="root">', 1)


@functools.cache
def with_first_picture(shell: str, path: str) -> str:
    """The page with its answer and its first picture in a layer above it, until the chart takes that away.

    A browser has the HTML a second before it has run Streamlit's scripts. The page as it is where it would open with
    less than what is stored.
    """
    default, limits, file = Experiment(), limits_of(os.environ), FIRST / f"{path or 'norm_vs_length'}.html"
    if default.sample_size > limits.sample_size or default.probe_size > limits.probe_size or not file.is_file():
        return shell
    style = (FIRST / "first.css").read_text(encoding="utf-8")
    layer = f"<style>\n{style}</style>\n{file.read_text(encoding='utf-8')}{LEAVE}\n  </body>"
    return shell.replace("</body>", layer, 1)


def tags(query: Mapping[str, str], question: str, answer: str, alt: str, address: str, path: str) -> str:
    """What a link to a page is shown as, by Open Graph and as X reads it, in the place of TITLE.

    query: of the link, as URL parameters. alt: its picture in words. address: where the server's paths begin.
    """
    picture = urlencode({**query} | ({PAGE_PARAMETER: path} if path else {}))
    description = answer or words.sharing.ABOUT
    properties = {
        "og:type": "website",
        "og:site_name": words.sharing.SITE,
        "og:title": question,
        "og:description": description,
        "og:image": f"{address}{PICTURE}" + (f"?{picture}" if picture else ""),
        "og:image:type": "image/png",
        "og:image:width": str(SIZE[0]),
        "og:image:height": str(SIZE[1]),
        "og:image:alt": alt,
    }
    named = {"description": description, "twitter:card": "summary_large_image"}
    named |= {f"twitter:{name}": properties[f"og:{name}"] for name in ("title", "description", "image", "image:alt")}
    lines = [f"<title>{html.escape(question)}</title>"]
    lines += [f'<meta name="{name}" content="{html.escape(text)}" />' for name, text in named.items()]
    lines += [f'<meta property="{name}" content="{html.escape(text)}" />' for name, text in properties.items()]
    return "\n    ".join(lines)
