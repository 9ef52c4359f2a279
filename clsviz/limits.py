"""What one server allows its visitors: decided once, when it starts, and handed to whoever needs it."""

import math
from collections.abc import Mapping
from dataclasses import Field, dataclass, fields, replace
from pathlib import Path
from typing import Any

from clsviz.errors import SettingError

PREFIX = "CLSVIZ_LIMIT_"
"""What the name of the environment variable begins with that sets a limit."""


@dataclass(frozen=True)
class Limits:
    """The limits of a server.

    is_public: strangers may visit, so only models and corpora of the catalogue and uploads are open to them, without
        revisions, and no path of this machine.
    sample_size, probe_size: most sentences of a sample, and most of those whose vectors are measured.
    task_size: most sentences that are measured of the file of a published task.
    n_encoders: models that are kept in memory at the same time.
    unwatched_seconds: how long a run goes on once nobody watches it, so that reloading the page does not stop it; None
        means to its end.
    """

    is_public: bool
    sample_size: int
    probe_size: int
    task_size: int
    n_encoders: int
    unwatched_seconds: float | None
    visitor_jobs: int | None
    job_seconds: float | None
    sessions: int | None
    sentences_per_minute: int | None
    trusted_proxies: int


LOCAL = Limits(
    is_public=False,
    sample_size=1_000_000,
    probe_size=20_000,
    task_size=1_000_000,
    n_encoders=2,
    unwatched_seconds=None,
    visitor_jobs=None,
    job_seconds=None,
    sessions=None,
    sentences_per_minute=None,
    trusted_proxies=0,
)
PUBLIC = Limits(
    is_public=True,
    sample_size=20_000,
    probe_size=5_000,
    task_size=5_000,
    n_encoders=1,
    unwatched_seconds=15.0,
    visitor_jobs=3,
    job_seconds=300.0,
    sessions=120,
    sentences_per_minute=1_200,
    trusted_proxies=0,
)

_FROM_ZERO = ("trusted_proxies",)
"""Limits that may be zero."""


def limits_of(environment: Mapping[str, str], checkout: Path = Path(__file__).parents[1]) -> Limits:
    """PUBLIC where CLSVIZ_PUBLIC is set to anything but 0, LOCAL where it is 0; where it is not set, the host decides.

    CLSVIZ_LIMIT_SESSIONS and so on set single limits; raises SettingError if one of these cannot be used.

    Hosts that show an app to strangers are public on their own. Hugging Face Spaces say who they are. Streamlit
    Community Cloud documents no sign, so any one of three counts that are seen there: the name of the machine, the
    home folder, and where the repository is checked out.
    """
    return _adjusted(LOCAL if _is_local(environment, checkout) else PUBLIC, environment)


def _is_local(environment: Mapping[str, str], checkout: Path) -> bool:
    if told := environment.get("CLSVIZ_PUBLIC"):
        return told == "0"
    is_space = "SPACE_ID" in environment
    is_community_cloud = (
        environment.get("HOSTNAME") == "streamlit"
        or environment.get("HOME") == "/home/appuser"
        or checkout.is_relative_to("/mount/src")
    )
    return not (is_space or is_community_cloud)


def _adjusted(limits: Limits, environment: Mapping[str, str]) -> Limits:
    """The limits with those that the environment sets; raises SettingError."""
    by_name = {f"{PREFIX}{field.name.upper()}": field for field in fields(Limits) if field.type is not bool}
    told = {name: text.strip() for name, text in environment.items() if name.startswith(PREFIX) and text.strip()}
    if unknown := sorted(told.keys() - by_name.keys()):
        raise SettingError(f"{unknown[0]} is no limit. There are {', '.join(sorted(by_name))}.")
    changes: dict[str, Any] = {by_name[name].name: _read(name, text, by_name[name]) for name, text in told.items()}
    return replace(limits, **changes) if changes else limits


def _read(name: str, text: str, field: Field[Any]) -> float | None:
    """The value of a limit; raises SettingError if the text says none."""
    may_be_none, is_whole = field.type not in (int, float), field.type in (int, int | None)
    if may_be_none and text.lower() == "none":
        return None
    least = 0 if field.name in _FROM_ZERO else 1
    try:
        value = int(text) if is_whole else float(text)
    except ValueError:
        value = math.nan
    if not least <= value < math.inf:
        kind = f"a {'whole ' if is_whole else ''}number from {least}"
        raise SettingError(f"{name} is “{text}”. It must be {kind}{', or none' if may_be_none else ''}.")
    return value
