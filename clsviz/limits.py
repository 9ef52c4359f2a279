"""Limits of a server: one environment variable each.

CLSVIZ_LIMIT_SAMPLE_SIZE=50000 sets `sample_size`, and so on. With CLSVIZ_PUBLIC=1 each limit has a
default; at home only those of `AT_HOME` have one.
"""

import os
from typing import Final

from clsviz.errors import SettingError, quote

PREFIX: Final = "CLSVIZ_LIMIT_"

LIMITS: Final = {
    "sample_size": 20_000,  # sentences or texts of a sample
    "job_seconds": 600,  # of the server that a job may have
    "jobs": 4,  # active ones of a session; a further one cancels the oldest
    "redraws": 120,  # of a page by a session in a minute
    "requests": 1200,  # of an address in a minute, behind `proxies`
    "sessions": 200,  # at once
    "address_sessions": 20,  # of an address at once, behind `proxies`
    "proxies": 0,  # in front that add to X-Forwarded-For; 0: no addresses
    "upload_bytes": 20_000_000,  # of an uploaded file
    "upload_hours": 24,  # that an upload is stored after its last use
    "uploads_bytes": 2_000_000_000,  # of all uploads together
    "store_bytes": 20_000_000_000,  # of the store; what was unused longest goes
}
"""The default of each in public mode."""

AT_HOME: Final = {"proxies": 0, "upload_hours": 24}

NAMES: Final = {
    "models": "minilm",  # that may be measured
    "corpora": "python-docs,python-api",  # that may be measured, besides uploads
    "origins": "",  # of other sites whose pages may talk to the server, such as https://a.org
    "embedders": "",  # that may show the page in a frame, such as https://huggingface.co
}
"""Limits that are lists, separated by commas: their defaults in public mode."""


def is_public() -> bool:
    """True if the server is for visitors from anywhere."""
    return os.environ.get("CLSVIZ_PUBLIC", "") not in ("", "0")


def number(name: str) -> float:
    """The value of a limit of `LIMITS`, infinite where there is none; raises SettingError."""
    variable = f"{PREFIX}{name.upper()}"
    text = os.environ.get(variable, "").strip()
    if not text:
        return LIMITS[name] if is_public() else AT_HOME.get(name, float("inf"))
    if not text.isascii() or not text.isdecimal():
        raise SettingError(f"{variable} is {quote(text)}.", "Write a whole number from 0.")
    return int(text)


def names(name: str) -> tuple[str, ...]:
    """The entries of a limit of `NAMES`."""
    text = os.environ.get(f"{PREFIX}{name.upper()}", NAMES[name])
    return tuple(entry.strip() for entry in text.split(",") if entry.strip())


def check() -> None:
    """Raise SettingError where a variable is misspelt, or has no value that it can have."""
    known = [*LIMITS, *NAMES]
    for variable in os.environ:
        if variable.startswith(PREFIX) and variable.removeprefix(PREFIX).lower() not in known:
            reason = f"There is no limit {quote(variable)}."
            raise SettingError(reason, f"The limits are {', '.join(known)}.")
    for name in LIMITS:
        number(name)
