"""Limits of a server: one environment variable each.

CLSVIZ_LIMIT_SAMPLE_SIZE=50000 sets `sample_size`, and so on. With CLSVIZ_PUBLIC=1 each limit has a
default; at home only the lifetime of uploads has one.
"""

import os
from typing import Final, NamedTuple

from clsviz.errors import SettingError, quote

PREFIX: Final = "CLSVIZ_LIMIT_"


class Limit(NamedTuple):
    """default: in public mode. meaning: the thing that is counted. at_home: without public mode."""

    default: int
    meaning: str
    at_home: float = float("inf")


LIMITS: Final = {
    "sample_size": Limit(20_000, "sentences or texts of a sample"),
    "job_seconds": Limit(600, "seconds of the server that a job may have"),
    "jobs": Limit(4, "jobs of a session at once on each queue; another one ends the first"),
    "redraws": Limit(120, "redraws of a page by a session in a minute"),
    "requests": Limit(1200, "requests of an address in a minute, behind `proxies`"),
    "sessions": Limit(200, "sessions at once"),
    "address_sessions": Limit(20, "sessions of an address at once, behind `proxies`"),
    "proxies": Limit(0, "proxies in front that add to X-Forwarded-For; 0: no addresses", 0),
    "upload_bytes": Limit(20_000_000, "bytes of an uploaded file"),
    "upload_hours": Limit(24, "hours that an upload is stored after its last use", 24),
    "uploads_bytes": Limit(2_000_000_000, "bytes of all uploads together"),
    "store_bytes": Limit(20_000_000_000, "bytes of the store; what was unused longest goes"),
}

NAMES: Final = {
    "models": ("minilm", "models that may be measured"),
    "corpora": ("python-docs,python-api", "corpora that may be measured, besides uploads"),
    "origins": ("", "other origins whose pages may talk to the server, such as https://a.org"),
    "embedders": ("", "origins that may show the page in a frame, such as https://huggingface.co"),
}
"""Limits that are lists, separated by commas: their defaults in public mode, and their meaning."""


def is_public() -> bool:
    """True if the server is for visitors from anywhere."""
    return os.environ.get("CLSVIZ_PUBLIC", "") not in ("", "0")


def number(name: str) -> float:
    """The value of a limit of `LIMITS`, infinite where there is none; raises SettingError."""
    variable = f"{PREFIX}{name.upper()}"
    text = os.environ.get(variable, "").strip()
    if not text:
        return LIMITS[name].default if is_public() else LIMITS[name].at_home
    if not text.isascii() or not text.isdecimal():
        raise SettingError(f"{variable} is {quote(text)}.", "Write a whole number from 0.")
    return int(text)


def names(name: str) -> tuple[str, ...]:
    """The entries of a limit of `NAMES`."""
    text = os.environ.get(f"{PREFIX}{name.upper()}", NAMES[name][0])
    return tuple(entry.strip() for entry in text.split(",") if entry.strip())


def check() -> None:
    """Raise SettingError where a variable is misspelt, or has no value that it can have."""
    for variable in os.environ:
        name = variable.removeprefix(PREFIX).lower()
        if variable.startswith(PREFIX) and name not in {**LIMITS, **NAMES}:
            remedy = f"The limits are {', '.join({**LIMITS, **NAMES})}."
            raise SettingError(f"There is no limit {quote(variable)}.", remedy)
    for name in LIMITS:
        number(name)
