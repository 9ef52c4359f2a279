"""Texts as users read them: a file for the cases of a page, which is read like one."""

import os
from collections.abc import Iterable, Mapping
from pathlib import Path

SAID = Path(__file__).parents[1] / "words" / "said"


def assert_said(name: str, cases: Mapping[str, str | Mapping[str, str] | Iterable[str]]) -> None:
    """That the cases say what the file of this name has; `SNAPSHOTS=write pytest tests/words` writes it: read the diff.

    A case is one text, several in turn, or several by name.
    """
    path = SAID / f"{name}.txt"
    found = "\n".join(f"[{case}]\n{_text(said)}\n" for case, said in cases.items())
    if os.environ.get("SNAPSHOTS") == "write":
        path.parent.mkdir(exist_ok=True)
        path.write_text(found, encoding="utf-8")
    assert found.split("\n\n") == path.read_text(encoding="utf-8").split("\n\n")


def _text(said: str | Mapping[str, str] | Iterable[str]) -> str:
    if isinstance(said, str):
        return said
    if isinstance(said, Mapping):
        return "\n".join(f"{name}: {text}" for name, text in said.items())
    return "\n".join(said)
