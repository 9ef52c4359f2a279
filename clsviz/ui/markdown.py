"""Text that somebody else wrote, for places where Streamlit reads Markdown."""

import re

_SPECIAL = re.compile(r"""[\\`*_{}\[\]<>#|~$:&+\-=!@]|(?<=www)\.""")


def escape(text: object) -> str:
    """`text` so that Markdown and Streamlit's directives show it as it is, on one line."""
    return _SPECIAL.sub(r"\\\g<0>", " ".join(str(text).split()))
