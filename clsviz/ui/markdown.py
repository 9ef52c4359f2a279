"""Text that somebody else wrote, for places where Streamlit reads Markdown."""

import re

_SPECIAL = re.compile(r"[\\`*_{}\[\]<>#|~$&+\-=!]")

_ACTIVE = re.compile(r"[:@](?=\S)|(?<=www)(?=\.)", re.IGNORECASE)

_WORD_JOINER = "\u2060"


def escape(text: object) -> str:
    """`text` on one line, escaped so that Markdown and Streamlit's directives show it as it is.

    Bare links and icons such as :material/check: are recognised after backslashes have been removed, so an invisible
    character, the word joiner, breaks them up.
    """
    escaped = _SPECIAL.sub(r"\\\g<0>", " ".join(str(text).split()))
    return _ACTIVE.sub(rf"\g<0>{_WORD_JOINER}", escaped)
