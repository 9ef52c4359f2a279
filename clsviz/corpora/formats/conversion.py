"""How to turn files of other kinds into one that is read here."""

import shlex
from pathlib import PurePath

from clsviz.settings import printable

_TO_TEXT = "pandoc {file} --to plain --wrap none --output {text}"

_TO_TABLE = "soffice --headless --convert-to csv {file}"

_COMMANDS = {
    **dict.fromkeys([".md", ".markdown", ".rst", ".tex", ".docx", ".odt", ".rtf", ".epub"], _TO_TEXT),
    **dict.fromkeys([".html", ".htm", ".xhtml", ".ipynb"], _TO_TEXT),
    ".pdf": "pdftotext {file} {text}",
    ".doc": "soffice --headless --convert-to txt:Text {file}",
    **dict.fromkeys([".xlsx", ".xls", ".ods"], _TO_TABLE),
    ".json": "jq --compact-output '.[]' {file} > {lines}",
    ".zip": "unzip {file}",
    ".bz2": "bunzip2 {file}",
    ".xz": "unxz {file}",
    ".zst": "unzstd {file}",
    **dict.fromkeys([".tar", ".tar.gz", ".tgz"], "tar --extract --file {file}"),
}
"""Commands that convert a file, by the ending of its name."""

_SAVED_AS = {
    **dict.fromkeys([".docx", ".doc", ".odt", ".rtf"], "plain text"),
    **dict.fromkeys([".xlsx", ".xls", ".ods"], "CSV"),
}
"""What the program that such a file is from can save instead."""


def remedy_for(name: str) -> str:
    """What to do with a file of this name, in a sentence; "" where that is not known."""
    file = PurePath(printable(name)).name
    ending = next((ending for ending in _COMMANDS if file.lower().endswith(ending)), None)
    if ending is None:
        return ""
    stem = file[: -len(ending)] or "text"
    command = _COMMANDS[ending].format(
        file=shlex.quote(file), text=shlex.quote(f"{stem}.txt"), lines=shlex.quote(f"{stem}.jsonl")
    )
    kind = _SAVED_AS.get(ending)
    how = f"Save it as {kind} in the program that it is from, or convert it" if kind else "Convert it first"
    return f"{how}, for example with: {command}"
