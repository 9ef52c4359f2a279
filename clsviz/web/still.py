"""Pages that stand still: the answer and the picture that a page opens with, shown until the page itself is drawn.

A browser has the server’s HTML a second or two before it has run Streamlit’s scripts and Plotly’s. What comes along
with clsviz is drawn in that HTML. `make showcase` makes it, of the figures that the pages send.
"""

import os
from pathlib import Path

from clsviz.experiment import Experiment
from clsviz.limits import limits_of
from clsviz.ui.state import serving

STILLS = Path(__file__).parent / "stills"

_END = "</body>"


def script() -> str:
    """What takes a still away, as it stands in a page."""
    return f"<script>{serving.of_ui('still.js')}</script>"


def shells(shell: str) -> dict[str, str]:
    """The page that Streamlit sends with a still in it, by the path of the page; none where no page opens with that."""
    default, limits = Experiment(), limits_of(os.environ)
    if default.sample_size > limits.sample_size or default.probe_size > limits.probe_size:
        return {}
    font = serving.address_of_font()
    style = serving.of_ui("still.css").replace("FONT", font or "")
    before = f'<style>\n{style}</style>\n    <div id="still" aria-hidden="true">'
    after = f"</div>\n    {script()}\n  {_END}"
    stills = {path: STILLS / f"{path or 'norm_vs_length'}.html" for path in serving.PATHS}
    logo = f'<div class="side">{serving.of_ui("logo.svg")}</div>'
    return {
        path: shell.replace(
            _END,
            f'{before}{logo}<div class="column"><div class="page page-{path}">'
            f"{file.read_text(encoding='utf-8')}</div></div>{after}",
        )
        for path, file in stills.items()
        if file.is_file()
    }
