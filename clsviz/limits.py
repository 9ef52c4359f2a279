"""What one server allows its visitors: decided once, when it starts, and handed to whoever needs it."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from clsviz.errors import SettingError


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
    reconnect_seconds: how long what a visitor did is kept for when their browser, which lost the connection, is back.
    upload_bytes, unpacked_bytes: the largest file that can be uploaded, and the most that it may hold when unpacked.
    upload_seconds: how long an upload is kept once nobody who looks at it is there; None means for good.
    store_bytes: how large the store may become before what was longest unused is deleted; None means as it will.
    """

    is_public: bool
    sample_size: int
    probe_size: int
    task_size: int
    n_encoders: int
    unwatched_seconds: float | None
    reconnect_seconds: float
    upload_bytes: int
    unpacked_bytes: int
    upload_seconds: float | None
    store_bytes: int | None


LOCAL = Limits(
    is_public=False,
    sample_size=1_000_000,
    probe_size=20_000,
    task_size=1_000_000,
    n_encoders=2,
    unwatched_seconds=None,
    reconnect_seconds=100.0,
    upload_bytes=200 * 2**20,
    unpacked_bytes=2 * 2**30,
    upload_seconds=None,
    store_bytes=None,
)
PUBLIC = Limits(
    is_public=True,
    sample_size=20_000,
    probe_size=5_000,
    task_size=5_000,
    n_encoders=1,
    unwatched_seconds=15.0,
    reconnect_seconds=60.0,
    upload_bytes=20 * 2**20,
    unpacked_bytes=200 * 2**20,
    upload_seconds=120.0,
    store_bytes=5 * 2**30,
)

_VARIABLES = {"store_bytes": "CLSVIZ_STORE_LIMIT"}
"""The variables that are not called CLSVIZ_LIMIT_ and the name of the limit."""

_UNITS = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}


def limits_of(environment: Mapping[str, str], checkout: Path = Path(__file__).parents[1]) -> Limits:
    """PUBLIC where CLSVIZ_PUBLIC is set to anything but 0, LOCAL where it is 0; where it is not set, the host decides.

    Hosts that show an app to strangers are public on their own. Hugging Face Spaces say who they are. Streamlit
    Community Cloud documents no sign, so any one of three counts that are seen there: the name of the machine, the
    home folder, and where the repository is checked out.

    Single limits are those of variables such as CLSVIZ_LIMIT_SAMPLE_SIZE, and CLSVIZ_STORE_LIMIT. Raises SettingError
    where one cannot be used.
    """
    limits = _by_host(environment, checkout)
    told: dict[str, Any] = {}
    for field in fields(Limits):
        variable = _VARIABLES.get(field.name, f"CLSVIZ_LIMIT_{field.name.upper()}")
        if field.name != "is_public" and (text := environment.get(variable, "").strip()):
            told[field.name] = _number(variable, text, field.type)
    return replace(limits, **told) if told else limits


def _number(variable: str, text: str, kind: Any) -> float | None:
    """What a variable says: a number, a size such as 20MB or 2.5GB, or “none” where a limit can be left out."""
    is_optional, is_whole = kind in (int | None, float | None), kind in (int, int | None)
    if is_optional and text.casefold() == "none":
        return None
    unit = r"([KMGT]?)i?B?" if is_whole else "()"
    match = re.fullmatch(rf"(\d{{1,15}}(?:\.\d{{1,9}})?) ?{unit}", text, re.ASCII | re.IGNORECASE)
    value = float(match[1]) * _UNITS[match[2].upper()] if match else 0.0
    if not value or (is_whole and value < 1):
        must = "a number" + (", or a size such as 20MB" if is_whole else "") + (", or none" if is_optional else "")
        raise SettingError(f"{variable} is “{text[:60]}”; it must be {must}.")
    return int(value) if is_whole else value


def _by_host(environment: Mapping[str, str], checkout: Path) -> Limits:
    if told := environment.get("CLSVIZ_PUBLIC"):
        return LOCAL if told == "0" else PUBLIC
    is_space = "SPACE_ID" in environment
    is_community_cloud = (
        environment.get("HOSTNAME") == "streamlit"
        or environment.get("HOME") == "/home/appuser"
        or checkout.is_relative_to("/mount/src")
    )
    return PUBLIC if is_space or is_community_cloud else LOCAL
